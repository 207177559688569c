#include "record/diagnosis.h"
#include "record/fact.h"
#include "record/fingerprint.h"
#include "record/load_run.h"

#include "tap.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

static void an_entry_is_set_and_replaced_in_its_place(void)
{
	struct arena run = { 0 };
	struct fingerprint fp = { 0 };
	char name[] = "a";
	CHECK(fingerprint_set(&fp, &run, name, "%d", 1));
	name[0] = 'b';
	CHECK(fingerprint_set(&fp, &run, name, "%s", "two"));
	CHECK(fingerprint_set(&fp, &run, "a", "%s", ""));
	CHECK_INT(fp.n, 2);
	CHECK_STR(fp.entries[0].name, "a");
	CHECK_STR(fp.entries[0].value, "");
	CHECK_STR(fingerprint_get(&fp, "b"), "two");
	CHECK(fingerprint_get(&fp, "c") == NULL);
	arena_release(&run);
}

static void a_full_list_takes_no_new_name_but_new_values(void)
{
	struct arena run = { 0 };
	struct fingerprint fp = { 0 };
	char name[16];
	for (int i = 0; i < FINGERPRINT_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		CHECK(fingerprint_set(&fp, &run, name, "%d", i));
	}
	CHECK(!fingerprint_set(&fp, &run, "one more", "1"));
	CHECK_INT(fp.n, FINGERPRINT_MAX);
	CHECK(fingerprint_set(&fp, &run, "n95", "new"));
	CHECK_STR(fingerprint_get(&fp, "n95"), "new");
	CHECK(fingerprint_get(&fp, "one more") == NULL);
	arena_release(&run);
}

static void a_long_value_is_kept_whole(void)
{
	struct arena run = { 0 };
	struct fingerprint fp = { 0 };
	char value[5000];
	memset(value, 'x', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	CHECK(fingerprint_set(&fp, &run, "long", "%s", value));
	CHECK_STR(fingerprint_get(&fp, "long"), value);
	arena_release(&run);
}

/* NULL: the entry must be absent. */
struct host_case {
	const char *tree;
	const char *cpu, *cores, *allowed, *nodes, *memory, *kernel, *governor, *quota;
};

static void same(const struct fingerprint *fp, const char *tree, const char *name, const char *want)
{
	const char *got = fingerprint_get(fp, name);
	if (want ? !CHECK_STR(got, want) : !CHECK(got == NULL))
		printf("#   %s of %s\n", name, tree);
}

static void the_host_is_read_from_a_tree_and_what_makes_no_sense_is_left_out(void)
{
	/* memory: kB of the fixture times 1024, by hand */
	static const struct host_case cases[] = {
		{ "vm", "AMD EPYC", "2", "2", "1", "25276026880", "6.1.0-26-cloud-amd64", NULL,
		        "none" },
		{ "two_sockets", "Intel(R) Xeon(R) Gold 6430", "4", "3", "2", "540622680064",
		        "5.14.0-427.13.1.el9_4.x86_64", "performance", "1.5" },
		{ "arm", "implementer 0x41 part 0xd0c", "2", "1", NULL, "3977580544", "6.6.31-rpi",
		        "mixed", "0.4" },
		{ "broken" },
		{ "there is no such tree" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct host_case *c = &cases[i];
		struct arena run = { 0 };
		struct fingerprint fp = { 0 };
		fingerprint_host(
		        &fp, &run, arena_printf(&run, "%s/%s", tap_data("hosts"), c->tree));
		same(&fp, c->tree, "host.cpu", c->cpu);
		same(&fp, c->tree, "host.cores", c->cores);
		same(&fp, c->tree, "host.cores_allowed", c->allowed);
		same(&fp, c->tree, "host.numa_nodes", c->nodes);
		same(&fp, c->tree, "host.memory_bytes", c->memory);
		same(&fp, c->tree, "host.kernel", c->kernel);
		same(&fp, c->tree, "host.governor", c->governor);
		same(&fp, c->tree, "host.cpu_quota", c->quota);
		same(&fp, c->tree, "tool.version", VENTURI_VERSION);
		arena_release(&run);
	}
}

static void this_machine_is_what_the_kernel_says_it_is(void)
{
	struct arena run = { 0 };
	struct fingerprint fp = { 0 };
	struct utsname u;
	cpu_set_t allowed;
	char text[32];
	fingerprint_host(&fp, &run, "");
	if (!fingerprint_get(&fp, "host.cores")) {
		tap_skip("no /sys here");
		arena_release(&run);
		return;
	}
	uname(&u);
	CHECK_STR(fingerprint_get(&fp, "host.kernel"), u.release);
	snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	CHECK_STR(fingerprint_get(&fp, "host.cores"), text);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	snprintf(text, sizeof(text), "%d", CPU_COUNT(&allowed));
	CHECK_STR(fingerprint_get(&fp, "host.cores_allowed"), text);
	arena_release(&run);
}

/* The names of the interfaces page: a change here is a change of the schema. */
static void names_are_those_of_the_schemas(void)
{
	static const char *const failures[] = { "connect", "tls", "status", "stream_cut",
		"error_event", "empty", "timeout", "client" };
	static const char *const metrics[] = { "latency", "response", "ttfb", "ttft", "ttfo",
		"itl", "worst_gap", "tpot" };
	CHECK_INT(LOAD_N_FAILURES, ARRAY_LEN(failures));
	for (size_t i = 0; i < ARRAY_LEN(failures); i++)
		CHECK_STR(load_failure_names[i], failures[i]);
	CHECK_INT(LOAD_N_METRICS, ARRAY_LEN(metrics));
	for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
		CHECK_STR(load_metric_names[i], metrics[i]);
	CHECK_STR(verdict_name(VERDICT_HEALTHY), "healthy");
	CHECK_STR(verdict_name(VERDICT_BOTTLENECK), "bottleneck");
	CHECK_STR(verdict_name(VERDICT_INVALID), "invalid_measurement");
	CHECK_STR(verdict_name(VERDICT_INCONCLUSIVE), "inconclusive");
	CHECK_STR(slow_kind_name(SLOW_ALONE), "slow_alone");
	CHECK_STR(slow_kind_name(SLOW_UNDER_LOAD), "slow_under_load");
	CHECK_STR(slow_kind_name(SLOW_THROUGHPUT_STUCK), "throughput_stuck");
	CHECK_STR(slow_kind_name(SLOW_HEALTHY), "healthy");
	CHECK(slow_kind_name(SLOW_UNKNOWN) == NULL);
	CHECK_STR(cause_state_name(CAUSE_CONFIRMED), "confirmed");
	CHECK_STR(cause_state_name(CAUSE_PROBABLE), "probable");
	CHECK_STR(cause_state_name(CAUSE_EXCLUDED), "excluded");
	CHECK_STR(cause_state_name(CAUSE_NOT_EXAMINED), "not_examined");
	CHECK_STR(fact_state_name(FACT_MEASURED), "measured");
	CHECK_STR(fact_state_name(FACT_ESTIMATED), "estimated");
	CHECK_STR(fact_state_name(FACT_NOT_SUPPORTED), "not_supported");
	CHECK_STR(fact_state_name(FACT_NOT_COUNTED), "not_counted");
}

int main(void)
{
	TAP_RUN(an_entry_is_set_and_replaced_in_its_place);
	TAP_RUN(a_full_list_takes_no_new_name_but_new_values);
	TAP_RUN(a_long_value_is_kept_whole);
	TAP_RUN(the_host_is_read_from_a_tree_and_what_makes_no_sense_is_left_out);
	TAP_RUN(this_machine_is_what_the_kernel_says_it_is);
	TAP_RUN(names_are_those_of_the_schemas);
	return tap_done();
}
