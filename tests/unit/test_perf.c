#include "tap.h"

#include "child.h"

#include "base/clock.h"
#include "watch/perf/perf_open.h"
#include "watch/perf/perf_pmu.h"
#include "watch/perf/perf_scale.h"
#include "watch/sampler.h"
#include "watch/sources.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

static const struct signal *find(const struct signal_system *s, const char *name)
{
	for (size_t i = 0; i < s->n_signals; i++)
		if (strcmp(s->signals[i].name, name) == 0)
			return &s->signals[i];
	return NULL;
}

struct watch {
	struct arena run;
	struct sampler *sampler;
	struct watch_config config;
	int64_t now_ns;
	int pid;
	struct signal_system got;
};

static const struct watch_source *const perf_only[] = { &perf_counts_source };

static bool watch_open(struct watch *w, int pid)
{
	struct err err;
	*w = (struct watch){ .pid = pid };
	w->config = (struct watch_config){
		.root = "",
		.pids = &w->pid,
		.n_pids = 1,
		.interval_ns = 2 * NS_PER_S,
		.sources = perf_only,
		.n_sources = 1,
	};
	return sampler_open(&w->config, &w->run, &w->sampler, &err);
}

/* The clock is the test's: totals do not depend on it. */
static void watch_step(struct watch *w)
{
	w->now_ns += 2 * NS_PER_S;
	sampler_step(w->sampler, w->now_ns);
	sampler_report(w->sampler, INT64_MIN, &w->run, &w->got);
}

static void watch_close(struct watch *w)
{
	sampler_close(w->sampler);
	arena_release(&w->run);
}

static void growth_is_scaled_by_the_time_that_was_counted(void)
{
	struct perf_reading before = { 0 };
	double by[PERF_GROUP_MAX];
	struct perf_reading now = { 2, 1000000, 1000000, { 500, 700 } };
	CHECK_INT(perf_scale(&now, sizeof(now), 2, &before, by), PERF_EXACT);
	CHECK_NEAR(by[0], 500, 0);
	/* Of the next 4 ms only 1 was counted. */
	now = (struct perf_reading){ 2, 5000000, 2000000, { 600, 710 } };
	CHECK_INT(perf_scale(&now, sizeof(now), 2, &before, by), PERF_SCALED);
	CHECK_NEAR(by[0], 100 * 4.0, 1e-9);
	CHECK_NEAR(by[1], 10 * 4.0, 1e-9);
	/* Not at all: what comes later stands for this time, too: 8 ms, of which 2 were counted. */
	now = (struct perf_reading){ 2, 9000000, 2000000, { 600, 710 } };
	CHECK_INT(perf_scale(&now, sizeof(now), 2, &before, by), PERF_NOTHING);
	now = (struct perf_reading){ 2, 13000000, 4000000, { 650, 711 } };
	CHECK_INT(perf_scale(&now, sizeof(now), 2, &before, by), PERF_SCALED);
	CHECK_NEAR(by[0], 50 * 4.0, 1e-9);
	/* Short reads, other groups, counters that go back. */
	now.running_ns++;
	CHECK_INT(perf_scale(&now, 8, 2, &before, by), PERF_NOTHING);
	CHECK_INT(perf_scale(&now, sizeof(now), 3, &before, by), PERF_NOTHING);
	now.values[0] = 0;
	CHECK_INT(perf_scale(&now, sizeof(now), 2, &before, by), PERF_EXACT);
	CHECK_NEAR(by[0], 0, 0);
}

static void values_go_where_a_format_says(void)
{
	static const struct {
		const char *format;
		uint64_t value, config, config1;
		bool ok;
	} cases[] = {
		{ "config:0-7", 0x3c, 0x3c, 0, true },
		{ "config:8-15\n", 0x3c, 0x3c00, 0, true },
		{ "config:23", 1, 1 << 23, 0, true },
		{ "config:0-7,32-35", 0xa3c, 0xa0000003cu, 0, true },
		{ "config1:0-63", UINT64_MAX, 0, UINT64_MAX, true },
		{ "config:0-7", 0x100, 0, 0, false },
		{ "config:7-0", 1, 0, 0, false },
		{ "config:0-64", 1, 0, 0, false },
		{ "config9:0-7", 1, 0, 0, false },
		{ "config:", 0, 0, 0, false },
		{ "", 1, 0, 0, false },
		{ "config:a-b", 1, 0, 0, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct perf_event_attr attr = { 0 };
		bool ok = perf_pmu_place(&attr, str_of(cases[i].format), cases[i].value);
		if (!CHECK(ok == cases[i].ok))
			printf("#   %s\n", cases[i].format);
		if (cases[i].ok) {
			CHECK(attr.config == cases[i].config);
			CHECK(attr.config1 == cases[i].config1);
		}
	}
}

static void events_of_a_processor_are_found_by_name(void)
{
	struct perf_event_attr attr = { 0 };
	char root[4096];
	snprintf(root, sizeof(root), "%s", tap_data("trees/pmu-icelake"));
	CHECK(perf_pmu_find(root, "topdown-be-bound", &attr));
	CHECK_INT(attr.type, 4);
	CHECK_INT(attr.config, 0x8300);
	attr = (struct perf_event_attr){ 0 };
	CHECK(perf_pmu_find(root, "mem-loads", &attr));
	CHECK_INT(attr.config, 0x1cd);
	CHECK_INT(attr.config1, 3);
	errno = 0;
	CHECK(!perf_pmu_find(root, "no-such", &attr) && errno == ENOENT);
	CHECK(!perf_pmu_find(root, "broken", &attr) && errno == EINVAL);
	CHECK(!perf_pmu_find(tap_data("trees/none"), "slots", &attr) && errno == ENOENT);
}

enum { N_FLIPS = 300 };

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		_exit(1);
}

static void *flip(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		pin(1 - i % 2);
	return NULL;
}

/* One thread that is there from the begin, one that comes later and ends. */
static void flip_cpus(int go_fd, int answer_fd)
{
	int half = N_FLIPS / 2;
	pthread_t thread;
	pin(0);
	child_put(answer_fd, &half, sizeof(half));
	child_wait(go_fd);
	flip(&half);
	pin(0);
	if (pthread_create(&thread, NULL, flip, &half) != 0)
		_exit(1);
	pthread_join(thread, NULL);
	child_put(answer_fd, &half, sizeof(half));
	child_wait(go_fd);
}

static bool has_cpus_0_and_1(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_ISSET(0, &set) &&
	       CPU_ISSET(1, &set);
}

static void each_move_to_another_cpu_is_counted(void)
{
	struct watch w;
	int half;
	if (!has_cpus_0_and_1()) {
		tap_skip("there are no CPUs 0 and 1");
		return;
	}
	struct child c = child_start(flip_cpus);
	CHECK(child_get(&c, &half, sizeof(half)));
	CHECK(watch_open(&w, c.pid));
	watch_step(&w);
	child_go(&c);
	CHECK(child_get(&c, &half, sizeof(half)));
	watch_step(&w);
	const struct signal *s = find(&w.got, "perf_migrations_per_s");
	if (s && s->state != SIGNAL_NOT_SUPPORTED)
		CHECK_INT(s->delta, N_FLIPS);
	else
		tap_skip("the kernel does not let us count migrations");
	watch_close(&w);
	child_end(&c);
}

static double cpu_s(int who)
{
	struct rusage u;
	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void burn(double seconds)
{
	for (int64_t end = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + (int64_t)(seconds * 1e9);
	        clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
		;
}

static void *burn_a_little(void *arg)
{
	(void)arg;
	burn(0.01);
	return NULL;
}

/* Threads and a process that begin and end between two looks. */
static void burn_in_many_places(int go_fd, int answer_fd)
{
	double before = cpu_s(RUSAGE_SELF), used;
	child_put(answer_fd, &before, sizeof(before));
	child_wait(go_fd);
	before = cpu_s(RUSAGE_SELF);
	for (int i = 0; i < 10; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, burn_a_little, NULL) != 0)
			_exit(1);
		pthread_join(thread, NULL);
	}
	int pid = fork();
	if (pid == 0) {
		burn(0.1);
		_exit(0);
	}
	burn(0.1);
	waitpid(pid, NULL, 0);
	used = cpu_s(RUSAGE_SELF) - before + cpu_s(RUSAGE_CHILDREN);
	child_put(answer_fd, &used, sizeof(used));
	child_wait(go_fd);
}

static void the_task_clock_has_what_ended_between_two_looks(void)
{
	struct watch w;
	double used;
	struct child c = child_start(burn_in_many_places);
	CHECK(child_get(&c, &used, sizeof(used)));
	CHECK(watch_open(&w, c.pid));
	watch_step(&w);
	child_go(&c);
	CHECK(child_get(&c, &used, sizeof(used)));
	watch_step(&w);
	const struct signal *s = find(&w.got, "perf_task_clock_ratio");
	if (s && s->state != SIGNAL_NOT_SUPPORTED)
		CHECK_NEAR(s->delta, used, 0.02 * used + 0.003);
	else
		tap_skip("the kernel does not let us count the task clock");
	child_end(&c);
	watch_step(&w);
	s = find(&w.got, "perf_task_clock_ratio");
	CHECK(s && s->reason && strstr(s->reason, "has ended"));
	watch_close(&w);
}

static void of_several_processes_each_and_their_sum_is_told(void)
{
	struct arena run = { 0 };
	struct sampler *sampler;
	struct signal_system got;
	struct err err;
	double used, sum = 0, of_sum = NAN;
	int n = 0;
	struct child c[] = { child_start(burn_in_many_places), child_start(burn_in_many_places) };
	const int pids[] = { c[0].pid, c[1].pid };
	const struct watch_config config = {
		.root = "",
		.pids = pids,
		.n_pids = 2,
		.interval_ns = 2 * NS_PER_S,
		.sources = perf_only,
		.n_sources = 1,
	};
	for (int i = 0; i < 2; i++)
		CHECK(child_get(&c[i], &used, sizeof(used)));
	CHECK(sampler_open(&config, &run, &sampler, &err));
	sampler_step(sampler, 2 * NS_PER_S);
	child_go(&c[1]);
	CHECK(child_get(&c[1], &used, sizeof(used)));
	sampler_step(sampler, 4 * NS_PER_S);
	sampler_report(sampler, INT64_MIN, &run, &got);
	for (size_t i = 0; i < got.n_signals; i++) {
		const struct signal *s = &got.signals[i];
		if (strcmp(s->name, "perf_task_clock_ratio") != 0 || s->state == SIGNAL_NOT_SUPPORTED)
			continue;
		n++;
		if (!s->instance)
			of_sum = s->delta;
		else
			sum += s->delta;
		if (s->instance && atoi(s->instance) == c[0].pid)
			CHECK_NEAR(s->delta, 0, 0.002);
	}
	if (n == 0)
		tap_skip("the kernel does not let us count the task clock");
	else
		CHECK(n == 3 && fabs(of_sum - sum) < 1e-6 && of_sum > 0.9 * used);
	sampler_close(sampler);
	child_end(&c[0]);
	child_end(&c[1]);
	arena_release(&run);
}

static void what_this_machine_has_no_counter_for_says_so(void)
{
	struct watch w;
	CHECK(watch_open(&w, getpid()));
	watch_step(&w);
	watch_step(&w);
	const struct signal *ipc = find(&w.got, "perf_ipc");
	CHECK(ipc != NULL);
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE };
	if (access("/sys/bus/event_source/devices/cpu", F_OK) == 0)
		CHECK(ipc->state <= SIGNAL_ESTIMATED ? ipc->mean > 0 : ipc->reason != NULL);
	else
		CHECK(ipc->state == SIGNAL_NOT_SUPPORTED && isnan(ipc->mean) &&
		        strstr(ipc->reason, "not passed on"));
	char why[BOARD_REASON_BYTES];
	perf_why_not(ENOENT, &attr, tap_data("trees/pmu-icelake"), why);
	CHECK(strstr(why, "no such counter") != NULL);
	perf_why_not(EACCES, &attr, tap_data("trees/pmu-icelake"), why);
	CHECK(strstr(why, "perf_event_paranoid is 3") != NULL);
	watch_close(&w);
}

/* Runs as another user, and writes what it could see of its parent and of itself. */
static void watch_without_rights(int go_fd, int answer_fd)
{
	struct watch w;
	enum signal_state states[3] = { 0 };
	(void)go_fd;
	if (setgid(65534) != 0 || setuid(65534) != 0)
		_exit(1);
	const int pids[] = { getppid(), getpid() };
	for (int i = 0; i < 2; i++) {
		if (!watch_open(&w, pids[i]))
			_exit(1);
		burn(0.01);
		watch_step(&w);
		burn(0.01);
		watch_step(&w);
		const struct signal *clock = find(&w.got, "perf_task_clock_ratio");
		const struct signal *moves = find(&w.got, "perf_migrations_per_s");
		states[i] = clock->state;
		if (clock->state == SIGNAL_NOT_SUPPORTED && !strstr(clock->reason, "paranoid"))
			_exit(1);
		if (i == 1)
			states[2] = moves->state;
		watch_close(&w);
	}
	child_put(answer_fd, states, sizeof(states));
}

static void who_may_not_count_is_told_so_and_shown_no_zero(void)
{
	enum signal_state states[3];
	char text[8] = "";
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = f && fgets(text, sizeof(text), f) ? atoi(text) : 9;
	if (f)
		fclose(f);
	if (getuid() != 0 || level != 2) {
		tap_skip("it takes root and kernel.perf_event_paranoid = 2");
		return;
	}
	struct child c = child_start(watch_without_rights);
	CHECK(child_get(&c, states, sizeof(states)));
	CHECK_INT(states[0], SIGNAL_NOT_SUPPORTED); /* root's process */
	CHECK_INT(states[1], SIGNAL_MEASURED);      /* its own */
	CHECK_INT(states[2], SIGNAL_NOT_SUPPORTED); /* what only the kernel sees */
	child_end(&c);
}

int main(void)
{
	TAP_RUN(growth_is_scaled_by_the_time_that_was_counted);
	TAP_RUN(values_go_where_a_format_says);
	TAP_RUN(events_of_a_processor_are_found_by_name);
	TAP_RUN(each_move_to_another_cpu_is_counted);
	TAP_RUN(the_task_clock_has_what_ended_between_two_looks);
	TAP_RUN(of_several_processes_each_and_their_sum_is_told);
	TAP_RUN(what_this_machine_has_no_counter_for_says_so);
	TAP_RUN(who_may_not_count_is_told_so_and_shown_no_zero);
	return tap_done();
}
