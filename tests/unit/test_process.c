/*
 * test_process.c - the source of processes on trees of a test, where every number is known.
 */
#include "tap.h"
#include "watch_tree.h"

#include "base/clock.h"
#include "watch/sampler.h"
#include "watch/sources.h"

#include <math.h>

static struct arena memory;
static struct sampler *sampler;
static struct signal_system got;

static void put_stat(int pid, int tid, const char *name, char state, int parent, unsigned user,
        unsigned system, unsigned n_threads, unsigned start)
{
	char path[64];
	if (tid)
		snprintf(path, sizeof(path), "proc/%d/task/%d/stat", pid, tid);
	else
		snprintf(path, sizeof(path), "proc/%d/stat", pid);
	tree_put(path,
	        "%d (%s) %c %d 1 1 0 -1 4194560 %u 0 %u 0 %u %u 0 0 20 0 %u 0 %u 1000 300 1 2 3\n",
	        tid ? tid : pid, name, state, parent, 10 * user, system, user, system, n_threads,
	        start);
}

static void put_status(int pid, int tid, const char *name, char state, const char *cpus,
        unsigned voluntary, unsigned involuntary)
{
	char path[64];
	if (tid)
		snprintf(path, sizeof(path), "proc/%d/task/%d/status", pid, tid);
	else
		snprintf(path, sizeof(path), "proc/%d/status", pid);
	tree_put(path,
	        "Name:\t%s\nState:\t%c (x)\nVmRSS:\t%u kB\nRssAnon:\t%u "
	        "kB\nCpus_allowed_list:\t%s\n"
	        "Mems_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t%u\n"
	        "nonvoluntary_ctxt_switches:\t%u\n",
	        name, state, 100u * (unsigned)pid, 40u * (unsigned)pid, cpus, voluntary,
	        involuntary);
}

static void put_times(int pid, int tid, unsigned cpu_ms, unsigned wait_ms, unsigned n_runs)
{
	char path[64];
	snprintf(path, sizeof(path), "proc/%d/task/%d/schedstat", pid, tid);
	tree_put(path, "%u000000 %u000000 %u\n", cpu_ms, wait_ms, n_runs);
	if (tid == pid) {
		snprintf(path, sizeof(path), "proc/%d/schedstat", pid);
		tree_put(path, "%u000000 %u000000 %u\n", cpu_ms, wait_ms, n_runs);
	}
}

static void watch(int first, int second)
{
	static const struct watch_source *const sources[] = { &process_source };
	static int pids[2];
	struct err err;
	pids[0] = first;
	pids[1] = second;
	const struct watch_config config = {
		.root = tree_root,
		.pids = pids,
		.n_pids = second ? 2 : 1,
		.interval_ns = NS_PER_S,
		.sources = sources,
		.n_sources = 1,
	};
	if (!CHECK(sampler_open(&config, &memory, &sampler, &err)))
		abort();
}

static void step(int at_s)
{
	sampler_step(sampler, at_s * NS_PER_S);
}

static const struct signal *report(const char *name)
{
	sampler_report(sampler, INT64_MIN, &memory, &got);
	return tree_find(&got, name, NULL);
}

static void end(void)
{
	sampler_close(sampler);
	arena_release(&memory);
	tree_remove();
}

static void put_service(unsigned s)
{
	put_stat(10, 0, "(serve) r)", 'S', 1, 100 + 50 * s, 7 + 10 * s, 3, 5000);
	put_status(10, 0, "serve", 'S', "0-3", 9, 9);
	put_status(10, 10, "serve", 'S', "0-3", 100 + 2 * s, 5);
	put_status(10, 11, "hot", 'R', "0-1", 7, 100 + 30 * s);
	put_status(10, 12, "disk", 'D', "0-3", 100 + 3 * s, 1);
	put_times(10, 10, 1000 + 10 * s, 5, 10 + s);
	put_times(10, 11, 2000 + 500 * s, 200 + 250 * s, 100 + 30 * s);
	put_times(10, 12, 30 + 90 * s, 0, 50 + 3 * s);
	tree_put("proc/10/io",
	        "rchar: %u\nwchar: %u\nsyscr: %u\nsyscw: %u\nread_bytes: %u\nwrite_bytes: %u\n",
	        1000 * s, 2000 * s, 3 * s, 4 * s, 4096 * s, 8192 * s);
}

static void what_a_process_did_is_what_its_files_grew_by(void)
{
	tree_new();
	put_service(0);
	tree_put("proc/10/smaps_rollup", "0-1 ---p 0 0 0 [rollup]\nRss: 9 kB\nPss: 7 kB\n"
	                                 "Private_Dirty: 5 kB\nAnonHugePages: 4 kB\n");
	tree_put("proc/10/fd/0", "%s", "");
	tree_put("proc/10/limits", "Max open files            8      9     files\n");
	char link[128];
	snprintf(link, sizeof(link), "%s/proc/10/fd/1", tree_root);
	CHECK(symlink("socket:[77]", link) == 0);
	watch(10, 0);
	for (unsigned s = 0; s <= 4; s++) {
		put_service(s);
		step(1 + (int)s);
	}
	static const struct {
		const char *name;
		double mean;
	} cases[] = {
		{ "process_cpu_ratio", 0.6 },
		{ "process_cpu_user_ratio", 0.5 },
		{ "process_cpu_system_ratio", 0.1 },
		{ "process_minor_faults_per_s", 500 },
		{ "process_major_faults_per_s", 10 },
		{ "process_run_queue_ratio", 0.25 },
		{ "process_run_queue_share_ratio", 250.0 / (250 + 600) },
		{ "process_voluntary_switches_per_s", 5 },
		{ "process_involuntary_switches_per_s", 30 },
		{ "process_count", 1 },
		{ "process_threads", 3 },
		{ "process_threads_running", 1 },
		{ "process_threads_sleeping", 1 },
		{ "process_threads_blocked", 1 },
		{ "process_cpus_allowed_count", 4 },
		{ "process_threads_confined", 1 },
		{ "process_rss_bytes", 1000 * 1024 },
		{ "process_anon_bytes", 400 * 1024 },
		{ "process_pss_bytes", 7 * 1024 },
		{ "process_private_dirty_bytes", 5 * 1024 },
		{ "process_anon_hugepage_bytes", 4 * 1024 },
		{ "process_read_bytes_per_s", 1000 },
		{ "process_write_bytes_per_s", 2000 },
		{ "process_reads_per_s", 3 },
		{ "process_writes_per_s", 4 },
		{ "process_storage_read_bytes_per_s", 4096 },
		{ "process_storage_write_bytes_per_s", 8192 },
		{ "process_files", 2 },
		{ "process_sockets", 1 },
		{ "process_files_ratio", 0.25 },
		{ "thread_busiest_cpu_ratio", 0.5 },
		{ "thread_busiest_run_queue_ratio", 0.25 },
		{ "threads_busy", 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct signal *s = report(cases[i].name);
		if (!CHECK(s && s->state == SIGNAL_MEASURED) ||
		        !CHECK_NEAR(s->mean, cases[i].mean, 1e-9 * cases[i].mean))
			printf("#   %s: %s\n", cases[i].name, s && s->reason ? s->reason : "");
	}
	CHECK_STR(report("thread_busiest_name")->text, "11 hot");
	CHECK_STR(report("process_cpus_allowed")->text, "0-3");
	CHECK_STR(report("process_mems_allowed")->text, "0-1");
	CHECK_INT(report("process_swap_bytes")->state, SIGNAL_NOT_SUPPORTED);
	CHECK(strstr(report("process_swap_bytes")->reason, "/proc/10/status") != NULL);
	CHECK_INT(got.n_threads, 3);
	CHECK_INT(got.n_threads_seen, 3);
	const struct signal_thread *t = &got.threads[0];
	CHECK(t->pid == 10 && t->tid == 11 && t->state == 'R' && t->n == 4 && t->n_recent == 4);
	CHECK_STR(t->name, "hot");
	CHECK_STR(t->cpus, "0-1");
	CHECK_NEAR(t->cpu_ratio, 0.5, 1e-9);
	CHECK_NEAR(t->cpu_ratio_max, 0.5, 1e-9);
	CHECK_NEAR(t->run_queue_ratio, 0.25, 1e-9);
	CHECK_NEAR(t->involuntary_per_s, 30, 1e-9);
	CHECK_NEAR(t->recent[3], 0.5, 1e-6);
	CHECK_INT(got.threads[1].tid, 12);
	end();
}

static void a_pid_that_is_used_again_is_another_process(void)
{
	tree_new();
	put_service(0);
	watch(10, 0);
	step(1);
	put_service(1);
	step(2);
	put_stat(10, 0, "other", 'S', 1, 999999, 7, 3, 6000);
	step(3);
	step(4);
	const struct signal *cpu = report("process_cpu_ratio");
	CHECK_INT(cpu->n, 1);
	CHECK_NEAR(cpu->mean, 0.6, 1e-9);
	CHECK_STR(cpu->reason, "not to the end: process 10 ((serve) r)) has ended");
	CHECK_STR(report("process_ended")->text, "process 10 ((serve) r)) has ended");
	CHECK(isnan(report("process_threads")->last));
	CHECK_INT(got.n_threads, 3);
	CHECK_INT(got.threads[0].state, 0);
	end();
}

static void a_zombie_has_ended_and_the_others_go_on(void)
{
	tree_new();
	put_service(0);
	put_stat(20, 0, "b", 'S', 1, 0, 0, 1, 1);
	put_status(20, 20, "b", 'S', "0", 0, 0);
	put_status(20, 0, "b", 'S', "0", 0, 0);
	put_times(20, 20, 1, 1, 1);
	watch(10, 20);
	for (unsigned s = 0; s <= 6; s++) {
		put_service(s);
		put_stat(20, 0, "b", s < 4 ? 'S' : 'Z', 1, 20 * s, 0, 1, 1);
		step(1 + (int)s);
	}
	const struct signal *cpu = report("process_cpu_ratio");
	/* What the other used until it ended stays in the sum. */
	CHECK_NEAR(cpu->delta, 6 * 0.6 + 3 * 0.2, 1e-9);
	CHECK(!cpu->reason || !strstr(cpu->reason, "ended"));
	CHECK_NEAR(report("process_count")->last, 1, 0);
	CHECK_STR(report("process_ended")->text, "process 20 (b) has ended");
	const struct signal *own = tree_find(&got, "process_cpu_ratio", "20 b");
	CHECK(own && own->reason && strstr(own->reason, "process 20 (b) has ended"));
	own = tree_find(&got, "process_cpu_ratio", "10 (serve) r)");
	CHECK(own && fabs(own->mean - 0.6) < 1e-9 && !own->reason);
	end();
}

static void children_are_followed_without_a_list_of_them(void)
{
	tree_new();
	put_service(0);
	put_stat(31, 0, "other", 'S', 1, 0, 0, 1, 1);
	watch(10, 0);
	for (unsigned s = 0; s <= 6; s++) {
		put_service(s);
		if (s >= 2) {
			put_stat(30, 0, "child", 'S', 10, 1000 + 100 * s, 0, 1, 1);
			put_times(30, 30, 1, 1, 1);
		}
		step(1 + (int)s);
	}
	CHECK_NEAR(report("process_count")->last, 2, 0);
	/* It was born earlier, for all that is known: counted from where it was found. */
	CHECK_NEAR(report("process_cpu_ratio")->delta, 6 * 0.6 + 4, 1e-9);
	CHECK(tree_find(&got, "process_cpu_ratio", "30 child") != NULL);
	end();
}

static void children_that_are_listed_are_followed(void)
{
	tree_new();
	put_service(0);
	tree_put("proc/10/task/10/children", "%s", "");
	tree_put("proc/10/task/11/children", "%s", "");
	watch(10, 0);
	for (unsigned s = 0; s <= 12; s++) {
		put_service(s);
		put_stat(30, 0, "child", 'S', 10, 1000 + 100 * s, 0, 1, 1);
		put_times(30, 30, 1, 1, 1);
		put_stat(32, 0, "grandchild", 'S', 30, 0, 0, 1, 1);
		put_times(32, 32, 1, 1, 1);
		tree_put("proc/30/task/30/children", "32 ");
		/* "3" may be the beginning of 30 only. */
		tree_put("proc/10/task/11/children", s == 0 ? "3" : "30 ");
		step(1 + (int)s);
	}
	CHECK_NEAR(report("process_count")->last, 3, 0);
	CHECK_NEAR(report("process_count")->min, 1, 0);
	end();
}

static void what_is_half_written_or_goes_back_is_left_out(void)
{
	tree_new();
	put_service(0);
	watch(10, 0);
	for (unsigned s = 0; s <= 6; s++) {
		put_service(s);
		if (s == 2) {
			tree_put("proc/10/task/11/schedstat", "99");
			tree_put("proc/10/io", "rchar: 9999999999\nwchar: 4");
			tree_put("proc/10/stat", "10 ((serve) r)) S 1 1");
		}
		if (s == 4)
			put_times(10, 11, 100, 100, 3);
		step(1 + (int)s);
	}
	/* Half-written at 2 s: told at 3 s. Back at 4 s: not told, and 2000 + 2500 - 100 at 5 s. */
	sampler_report(sampler, INT64_MIN, &memory, &got);
	const struct signal *busiest = tree_find(&got, "thread_busiest_cpu_ratio", NULL);
	CHECK_NEAR(busiest->max, 4.4, 1e-9);
	CHECK_NEAR(tree_find(&got, "process_cpu_ratio", NULL)->delta, 6 * 0.6, 1e-9);
	CHECK_NEAR(tree_find(&got, "process_write_bytes_per_s", NULL)->delta, 6 * 2000, 1e-6);
	end();
}

static void after_a_late_sample_threads_are_told_as_before(void)
{
	static const unsigned at_s[] = { 0, 1, 7, 8, 9, 10 };
	tree_new();
	put_service(0);
	watch(10, 0);
	for (size_t i = 0; i < ARRAY_LEN(at_s); i++) {
		put_service(at_s[i]);
		step(1 + (int)at_s[i]);
	}
	/* The one behind the late one counts in the sums alone. */
	CHECK_NEAR(report("thread_busiest_cpu_ratio")->mean, 0.5, 1e-9);
	CHECK_INT(got.threads[0].n, 4);
	CHECK_NEAR(got.threads[0].cpu_ratio, 0.5, 1e-9);
	CHECK_NEAR(report("process_run_queue_ratio")->mean, 0.25, 1e-9);
	CHECK_INT(report("process_run_queue_ratio")->n, 4);
	end();
}

static void a_kernel_without_schedstat_gives_ticks_and_no_waiting(void)
{
	tree_new();
	put_stat(10, 0, "old", 'S', 1, 0, 0, 2, 1);
	put_stat(10, 10, "old", 'S', 1, 0, 0, 2, 1);
	put_stat(10, 11, "hot", 'R', 1, 0, 0, 2, 1);
	put_status(10, 10, "old", 'S', "0", 0, 0);
	put_status(10, 11, "hot", 'R', "0", 0, 0);
	watch(10, 0);
	for (unsigned s = 0; s <= 3; s++) {
		put_stat(10, 0, "old", 'S', 1, 70 * s, 25 * s, 2, 1);
		put_stat(10, 11, "hot", 'R', 1, 70 * s, 25 * s, 2, 1);
		step(1 + (int)s);
	}
	CHECK_NEAR(report("thread_busiest_cpu_ratio")->mean, 0.95, 1e-9);
	CHECK_NEAR(report("threads_busy")->mean, 1, 0);
	CHECK_STR(report("thread_busiest_name")->text, "11 hot");
	CHECK_INT(report("process_run_queue_ratio")->state, SIGNAL_NOT_SUPPORTED);
	CHECK(strstr(report("process_run_queue_ratio")->reason, "schedstat") != NULL);
	CHECK_INT(report("thread_busiest_run_queue_ratio")->state, SIGNAL_NOT_SUPPORTED);
	end();
}

static void what_cannot_be_read_says_why(void)
{
	tree_new();
	put_service(0);
	tree_put("proc/10/io", "%s", "");
	char path[128];
	snprintf(path, sizeof(path), "%s/proc/10/io", tree_root);
	/* A folder cannot be read either, also not by root. */
	CHECK(remove(path) == 0);
	tree_put("proc/10/io/x", "%s", "");
	watch(10, 0);
	step(1);
	step(2);
	const struct signal *s = report("process_read_bytes_per_s");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	CHECK_STR(s->reason, "cannot read '/proc/10/io': Is a directory");
	CHECK(isnan(s->mean));
	s = report("process_pss_bytes");
	CHECK_STR(s->reason, "cannot read '/proc/10/smaps_rollup': No such file or directory");
	s = report("process_files");
	CHECK_STR(s->reason, "cannot read '/proc/10/fd': No such file or directory");
	end();
}

static void a_source_without_a_process_is_not_opened(void)
{
	static const struct watch_source *const sources[] = { &process_source };
	const struct watch_config config = {
		.root = "", .interval_ns = NS_PER_S, .sources = sources, .n_sources = 1
	};
	struct err err;
	CHECK(sampler_open(&config, &memory, &sampler, &err));
	step(1);
	const struct signal *s = report("process_cpu_ratio");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	CHECK_STR(s->reason, "no process was named to watch");
	sampler_close(sampler);
	arena_release(&memory);
}

int main(void)
{
	TAP_RUN(what_a_process_did_is_what_its_files_grew_by);
	TAP_RUN(a_pid_that_is_used_again_is_another_process);
	TAP_RUN(a_zombie_has_ended_and_the_others_go_on);
	TAP_RUN(children_are_followed_without_a_list_of_them);
	TAP_RUN(children_that_are_listed_are_followed);
	TAP_RUN(what_is_half_written_or_goes_back_is_left_out);
	TAP_RUN(after_a_late_sample_threads_are_told_as_before);
	TAP_RUN(a_kernel_without_schedstat_gives_ticks_and_no_waiting);
	TAP_RUN(what_cannot_be_read_says_why);
	TAP_RUN(a_source_without_a_process_is_not_opened);
	return tap_done();
}
