#include "trace/analyses/analyses.h"

#include "finding_of.h"
#include "tap.h"
#include "timeline_make.h"
#include "trace/view/warm_steps.h"

/* Steps that follow one another without a gap. */
static void put_steps(struct timeline *t, const int64_t *ns, size_t n)
{
	int64_t at = 1000;
	for (size_t i = 0; i < n; i++) {
		char name[40];
		snprintf(name, sizeof name, "ProfilerStep#%zu", i);
		put(t, GROUP_ANNOTATION, host_track(t, "1"), name, at, at + ns[i], 0);
		at += ns[i];
	}
}

static size_t warm_steps_of(const int64_t *ns, size_t n)
{
	struct timeline t;
	struct trace_view v;
	timeline_init(&t, "x", "test");
	put_steps(&t, ns, n);
	trace_view_init(&v, &t);
	size_t warm = trace_warm_steps(&v);
	trace_view_release(&v);
	timeline_release(&t);
	return warm;
}

/* Median and deviation of the later half decide: of 100 102 98 100 they are 100 and 0 or 2. */
static void steps_beyond_what_is_usual_later_are_warm_up(void)
{
	static const struct {
		int64_t ns[8];
		size_t n, warm;
	} cases[] = {
		{ { 900, 400, 101, 99, 100, 102, 98, 100 }, 8, 2 },
		{ { 100, 100, 100, 100, 100, 100, 100, 900 }, 8, 0 },
		{ { 105, 100, 100, 100 }, 4, 0 }, /* within a tenth */
		{ { 150, 100, 100, 100 }, 4, 1 }, { { 900, 800, 700, 100, 100, 100 }, 6, 3 },
		{ { 900, 800, 700, 600, 100, 100 }, 6, 0 }, /* no steady state to be seen */
		{ { 900, 100, 100 }, 3, 1 }, { { 900, 100 }, 2, 0 },
		{ { 130, 100, 90, 80, 140, 100, 60, 110 }, 8, 0 }, /* they always vary so */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_INT(warm_steps_of(cases[i].ns, cases[i].n), cases[i].warm);
}

static void a_step_that_reads_a_prompt_is_no_warm_up(void)
{
	struct timeline t;
	struct trace_view v;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	put(&t, GROUP_ANNOTATION, host, "step[EXTEND bs=1 toks=900]", 0, 900, 0);
	for (int64_t i = 1; i < 6; i++)
		put(&t, GROUP_ANNOTATION, host, "step[DECODE bs=1]", i * 1000, i * 1000 + 100, 0);
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 6);
	CHECK_INT(trace_warm_steps(&v), 0);
	trace_view_release(&v);
	timeline_release(&t);
}

static void the_steady_part_always_leaves_out_the_first_step(void)
{
	static const int64_t even[] = { 100, 100, 100, 100 }, warm[] = { 900, 500, 100, 100, 100 };
	struct timeline t;
	struct trace_view v;
	timeline_init(&t, "x", "test");
	put_steps(&t, even, 4);
	trace_view_init(&v, &t);
	struct steady_part part = trace_steady_part(&v);
	CHECK(part.by_steps);
	CHECK_INT(part.first_step, 1);
	CHECK_INT(part.start_ns, 1100);
	CHECK_INT(part.end_ns, 1400);
	trace_view_release(&v);
	timeline_release(&t);
	timeline_init(&t, "x", "test");
	put_steps(&t, warm, 5);
	trace_view_init(&v, &t);
	part = trace_steady_part(&v);
	CHECK_INT(part.first_step, 2);
	CHECK_INT(part.start_ns, 2400);
	trace_view_release(&v);
	timeline_release(&t);
	timeline_init(&t, "x", "test");
	trace_view_init(&v, &t);
	part = trace_steady_part(&v);
	CHECK(!part.by_steps);
	CHECK_INT(part.end_ns - part.start_ns, 0);
	trace_view_release(&v);
	timeline_release(&t);
}

static void warm_up_is_told_with_its_share_of_the_steps(void)
{
	static const int64_t ns[] = { 900, 120, 100, 101, 99, 100 };
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_steps(&t, ns, 6);
	found_open(&x, &warm_up_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_INT(found_value(&x, "warm_up_steps"), 2);
	CHECK_NEAR(x.f.share_ratio, 1020.0 / 1420.0, 1e-12);
	CHECK_NEAR(found_value(&x, "first_step_over_steady"), 9, 1e-12);
	CHECK_INT(found_value(&x, "steady_median_ns"), 100);
	CHECK_NEAR(found_value(&x, "steady_mean_ns"), 100, 1e-12);
	CHECK_NEAR(found_value(&x, "all_mean_ns"), 1420.0 / 6, 1e-9);
	found_close(&x, &t);
}

static void even_steps_are_clear_and_two_steps_cannot_tell(void)
{
	static const int64_t ns[] = { 100, 100, 100 };
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_steps(&t, ns, 3);
	found_open(&x, &warm_up_analysis, &t);
	CHECK_INT(x.f.state, TRACE_CLEAR);
	found_close(&x, &t);
	timeline_init(&t, "x", "test");
	put_steps(&t, ns, 2);
	found_open(&x, &warm_up_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	found_close(&x, &t);
}

int main(void)
{
	TAP_RUN(steps_beyond_what_is_usual_later_are_warm_up);
	TAP_RUN(a_step_that_reads_a_prompt_is_no_warm_up);
	TAP_RUN(the_steady_part_always_leaves_out_the_first_step);
	TAP_RUN(warm_up_is_told_with_its_share_of_the_steps);
	TAP_RUN(even_steps_are_clear_and_two_steps_cannot_tell);
	return tap_done();
}
