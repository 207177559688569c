/* Where the computing threads go, on machines that hwloc makes up. */
#include "serve/machine.h"

#include "engine/cpus.h"
#include "tap.h"

#include <sched.h>

static bool same(const int *got, int n_got, const int *want, int n_want)
{
	bool ok = n_got == n_want;
	for (int i = 0; ok && i < n_want; i++)
		ok = got[i] == want[i];
	return ok;
}

static void lists_are_read_as_taskset_writes_them(void)
{
	static const struct {
		const char *text;
		int n, cpus[8]; /* n 0: not a list */
	} cases[] = {
		{ "0", 1, { 0 } },
		{ "0-3", 4, { 0, 1, 2, 3 } },
		{ "3,1", 2, { 3, 1 } },
		{ "0-1,8", 3, { 0, 1, 8 } },
		{ "0-6:2", 4, { 0, 2, 4, 6 } },
		{ "0,0", 2, { 0, 0 } },
		{ "", 0, { 0 } },
		{ ",", 0, { 0 } },
		{ "0,", 0, { 0 } },
		{ "1-0", 0, { 0 } },
		{ "-1", 0, { 0 } },
		{ "0-", 0, { 0 } },
		{ "0-4:0", 0, { 0 } },
		{ "0:2", 0, { 0 } },
		{ "8192", 0, { 0 } },
		{ "99999999999999999999", 0, { 0 } },
		{ "0-8191,0", 0, { 0 } }, /* one too many */
		{ "a", 0, { 0 } },
		{ " 0", 0, { 0 } },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		const int *cpus = NULL;
		int n = 0;
		bool ok = machine_parse_cpus(cases[i].text, &run, &cpus, &n);
		if (!CHECK(ok == (cases[i].n > 0) &&
		            (!ok || same(cpus, n, cases[i].cpus, cases[i].n))))
			printf("#   '%s'\n", cases[i].text);
		arena_release(&run);
	}
}

static void without_wishes_threads_run_anywhere(void)
{
	struct arena run = { 0 };
	struct machine_plan p;
	struct err err;
	CHECK(machine_plan(&(struct machine_options){ 0, "off", "off" }, &run, &p, &err));
	CHECK(p.n_threads == cpus_usable() && !p.cpus && p.node == -1);
	CHECK(machine_plan(&(struct machine_options){ 7, "off", "off" }, &run, &p, &err));
	CHECK_INT(p.n_threads, 7);
	arena_release(&run);
}

static int first_usable(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	(void)sched_getaffinity(0, sizeof(set), &set);
	int cpu = 0;
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)cpu, &set))
		cpu++;
	return cpu;
}

static void listed_cpus_are_taken_and_bound_the_threads(void)
{
	struct arena run = { 0 };
	struct machine_plan p;
	struct err err = { 0 };
	char one[16];
	int cpu = first_usable();
	snprintf(one, sizeof(one), "%d", cpu);
	CHECK(machine_plan(&(struct machine_options){ 0, one, "off" }, &run, &p, &err));
	CHECK(p.n_threads == 1 && p.n_cpus == 1 && p.cpus[0] == cpu);
	CHECK(machine_plan(&(struct machine_options){ 4, one, "off" }, &run, &p, &err));
	CHECK(p.n_threads == 4 && p.n_cpus == 1);
	CHECK(!machine_plan(&(struct machine_options){ 0, "8191", "off" }, &run, &p, &err));
	CHECK_STR(err.text, "CPU 8191 of '--pin' is not among those that this process may use");
	CHECK(!machine_plan(&(struct machine_options){ 0, "tight", "off" }, &run, &p, &err));
	CHECK_STR(err.text,
	        "'--pin' takes off, compact or a list of CPUs such as 0-3,8, not 'tight'");
	CHECK(!machine_plan(&(struct machine_options){ 0, "off", "-1" }, &run, &p, &err));
	CHECK_STR(err.text, "'--numa' takes off or the number of a memory node, not '-1'");
	arena_release(&run);
}

/* CPUs of hwloc's made-up machines are numbered core by core: 0 and 1 are the first core's. */
static void compact_fills_cores_before_their_second_threads(void)
{
	static const struct {
		const char *machine, *numa;
		int n, cpus[8];
	} cases[] = {
		{ "node:1 core:2 pu:2", "off", 4, { 0, 2, 1, 3 } },
		{ "node:2 core:2 pu:1", "off", 4, { 0, 1, 2, 3 } },
		{ "node:2 core:2 pu:2", "off", 8, { 0, 2, 4, 6, 1, 3, 5, 7 } },
		{ "node:2 core:2 pu:2", "1", 4, { 4, 6, 5, 7 } },
		{ "node:2 core:2 pu:2", "0", 4, { 0, 2, 1, 3 } },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		static const char *const pins[] = { "compact", "off" };
		for (size_t k = 0; k < ARRAY_LEN(pins); k++) {
			struct arena run = { 0 };
			struct machine_plan p = { 0 };
			struct err err = { 0 };
			struct machine_options o = { 0, pins[k], cases[i].numa };
			bool node = strcmp(cases[i].numa, "off") != 0;
			setenv("HWLOC_SYNTHETIC", cases[i].machine, 1);
			bool ok = machine_plan(&o, &run, &p, &err);
			unsetenv("HWLOC_SYNTHETIC");
			if (!ok && strstr(err.text, "no hwloc")) {
				tap_skip("built without hwloc");
				return;
			}
			bool placed = k == 0 || node;
			if (!CHECK(ok && p.node == (node ? atoi(cases[i].numa) : -1) &&
			            same(p.cpus, p.n_cpus, cases[i].cpus, placed ? cases[i].n : 0)))
				printf("#   %s, pin %s, numa %s: %s\n", cases[i].machine, pins[k],
				        cases[i].numa, err.text);
			arena_release(&run);
		}
	}
}

static void a_node_that_is_not_there_is_named_with_those_that_are(void)
{
	static const struct {
		const char *machine, *text;
	} cases[] = {
		{ "node:1 core:2 pu:1",
		        "there is no memory node 5: this machine has only one, node 0" },
		{ "node:2 core:1 pu:1", "there is no memory node 5: this machine has 0-1" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct machine_plan p;
		struct err err = { 0 };
		setenv("HWLOC_SYNTHETIC", cases[i].machine, 1);
		bool ok = machine_plan(&(struct machine_options){ 0, "off", "5" }, &run, &p, &err);
		unsetenv("HWLOC_SYNTHETIC");
		if (!ok && strstr(err.text, "no hwloc")) {
			tap_skip("built without hwloc");
			return;
		}
		CHECK(!ok);
		CHECK_STR(err.text, cases[i].text);
		arena_release(&run);
	}
}

int main(void)
{
	TAP_RUN(lists_are_read_as_taskset_writes_them);
	TAP_RUN(without_wishes_threads_run_anywhere);
	TAP_RUN(listed_cpus_are_taken_and_bound_the_threads);
	TAP_RUN(compact_fills_cores_before_their_second_threads);
	TAP_RUN(a_node_that_is_not_there_is_named_with_those_that_are);
	return tap_done();
}
