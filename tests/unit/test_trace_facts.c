/*
 * What a trace says of a cause, on findings written down by hand.
 */
#include "tap.h"

#include "diagnose/cause.h"
#include "record/trace_run.h"

#include <math.h>
#include <string.h>

static struct arena run;

/* The finding of one cause under a trace whose finding `id` has this fact and a state. */
static struct cause_finding examined_as(enum trace_finding_state state, const char *cause,
        const char *id, const char *fact, double value, double threshold)
{
	static struct cause_finding findings[CAUSE_COUNT];
	static double gains[CAUSE_COUNT];
	struct trace_file file = { .path = "a.json", .format = "kineto" };
	struct fact facts[] = {
		{ .name = "beside", .value = 7, .unit = "1", .threshold = NAN },
		{ .name = fact, .value = value, .unit = "ratio", .threshold = threshold, .n = 3 },
	};
	struct trace_finding found = { .id = id,
		.state = state,
		.text = "seen",
		.reason = "no launches recorded",
		.facts = facts,
		.n_facts = 2 };
	struct trace_run trace = {
		.files = &file, .n_files = 1, .findings = &found, .n_findings = 1
	};
	struct evidence ev = { .trace = &trace };
	struct figures fig = { 0 };
	causes_examine(&ev, &fig, &run, findings, gains);
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		if (strcmp(findings[i].id, cause) == 0)
			return findings[i];
	return (struct cause_finding){ .id = NULL };
}

static struct cause_finding examined(
        const char *cause, const char *id, const char *fact, double value, double threshold)
{
	return examined_as(TRACE_FOUND, cause, id, fact, value, threshold);
}

static void a_fact_at_its_threshold_makes_the_cause_probable_with_amdahls_limit(void)
{
	struct cause_finding f =
	        examined("per_step_copies", "copies", "exposed_copy_ratio", 0.2, 0.1);
	CHECK_INT(f.state, CAUSE_PROBABLE);
	CHECK_STR(f.why, "seen");
	CHECK_INT(f.n_facts, 2);
	CHECK_STR(f.facts[0].name, "exposed_copy_ratio");
	CHECK_STR(f.facts[0].source, "trace 'a.json'");
	CHECK_NEAR(f.facts[0].threshold, 0.1, 0);
	CHECK_NEAR(f.predicted.low, 1, 0);
	CHECK_NEAR(f.predicted.high, 1.25, 1e-12);
	CHECK_STR(f.predicted.rule, "G10");
	CHECK(f.needs == NULL);
}

static void a_share_below_noise_excludes_it(void)
{
	struct cause_finding f =
	        examined("tp_comm_bound", "streams", "exposed_communication_ratio", 0.04, 0.15);
	CHECK_INT(f.state, CAUSE_EXCLUDED);
	CHECK(f.why && strstr(f.why, "4.0 %"));
	CHECK(!f.predicted.present);
}

static void between_noise_and_threshold_nothing_is_said(void)
{
	struct cause_finding f =
	        examined("tp_comm_bound", "streams", "exposed_communication_ratio", 0.1, 0.15);
	CHECK_INT(f.state, CAUSE_NOT_EXAMINED);
	CHECK_INT(f.n_facts, 2);
}

static void what_has_no_share_of_time_is_never_excluded(void)
{
	struct cause_finding f = examined(
	        "dynamic_shape_recompile", "shape_churn", "first_of_shape_over_repeats", 0.01, 3);
	CHECK_INT(f.state, CAUSE_NOT_EXAMINED);
}

static void a_fact_of_a_finding_that_is_clear_accuses_nobody(void)
{
	struct cause_finding f = examined_as(TRACE_CLEAR, "gpu_mem_fragmentation", "allocations",
	        "growing_unused_ratio", 0.5, 0.2);
	CHECK_INT(f.state, CAUSE_NOT_EXAMINED);
	CHECK(f.needs && strstr(f.needs, "experiment"));
	f = examined("gpu_mem_fragmentation", "allocations", "growing_unused_ratio", 0.5, 0.2);
	CHECK_INT(f.state, CAUSE_PROBABLE);
}

static void either_of_two_facts_can_accuse(void)
{
	struct cause_finding f = examined(
	        "gpu_mem_fragmentation", "allocations", "steady_allocation_ratio", 0.5, 0.01);
	CHECK_INT(f.state, CAUSE_PROBABLE);
	CHECK_STR(f.facts[0].name, "steady_allocation_ratio");
}

static void an_abstention_says_why_it_cannot_tell(void)
{
	struct cause_finding f =
	        examined("launch_bound", "launch_bound", "launch_gap_ratio", NAN, 0.3);
	CHECK_INT(f.state, CAUSE_NOT_EXAMINED);
	CHECK(f.needs && strstr(f.needs, "no launches recorded"));
}

static void another_finding_says_nothing_of_the_cause(void)
{
	struct cause_finding f = examined("launch_bound", "copies", "launch_gap_ratio", 0.9, 0.3);
	CHECK_INT(f.state, CAUSE_NOT_EXAMINED);
	CHECK_INT(f.n_facts, 0);
}

int main(void)
{
	TAP_RUN(a_fact_at_its_threshold_makes_the_cause_probable_with_amdahls_limit);
	TAP_RUN(a_share_below_noise_excludes_it);
	TAP_RUN(between_noise_and_threshold_nothing_is_said);
	TAP_RUN(what_has_no_share_of_time_is_never_excluded);
	TAP_RUN(a_fact_of_a_finding_that_is_clear_accuses_nobody);
	TAP_RUN(either_of_two_facts_can_accuse);
	TAP_RUN(an_abstention_says_why_it_cannot_tell);
	TAP_RUN(another_finding_says_nothing_of_the_cause);
	arena_release(&run);
	return tap_done();
}
