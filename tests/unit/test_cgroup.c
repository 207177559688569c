#include "tree_sampler.h"

#include "watch/cgroup/cgroup_tree.h"
#include "watch/sources.h"

#define CPU_1 "sys/fs/cgroup/cpu,cpuacct/kubepods/pod1"
#define MEM_1 "sys/fs/cgroup/memory/kubepods/pod1/c1"
#define SERVICE "sys/fs/cgroup/system.slice/llm.service"

static const char own[] = "/kubepods/pod1/c1";

static void a_parents_quota_binds_and_its_throttling_is_seen(void)
{
	/* pod1: 75 of 50 ms is 1.5 cores; in 2 s 30 of 40 periods, 3 s held back on two cores */
	static const struct tree_want wants[] = {
		{ "cgroup_quota_cores", own, 1.5 },
		{ "cgroup_level_quota_cores", own, 2 },
		{ "cgroup_level_quota_cores", "/kubepods/pod1", 1.5 },
		{ "cgroup_throttled_ratio", "/kubepods/pod1", 0.75 },
		{ "cgroup_throttled_ratio", own, 0 },
		{ "cgroup_throttled_time_ratio", "/kubepods/pod1", 1.5 },
		{ "cgroup_throttled_periods_per_s", "/kubepods/pod1", 15 },
		{ "cgroup_cpu_ratio", own, 1.2 },
	};
	struct tree t;
	tree_open(&t, "cgroup-v1");
	tree_watch(&t, &cgroup_cpu_source, 100);
	tree_step(&t, 10);
	tree_put(CPU_1 "/cpu.stat",
	        "nr_periods 1040\nnr_throttled 130\nthrottled_time 8000000000\n");
	tree_put(CPU_1 "/c1/cpu.stat", "nr_periods 520\nnr_throttled 0\nthrottled_time 0\n");
	tree_put(CPU_1 "/c1/cpuacct.usage", "62400000000\n");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	CHECK_STR(tree_signal(&t, "cgroup_quota_level", own)->text, "/kubepods/pod1");
	CHECK_STR(tree_signal(&t, "cgroup_cpu_path", "100")->text, own);
	CHECK_INT(tree_signal(&t, "cgroup_quota_cores", own)->state, SIGNAL_MEASURED);
	tree_expect_absent(
	        &t, "cgroup_level_quota_cores", "/kubepods", SIGNAL_NOT_SUPPORTED, "no quota");
	tree_expect_absent(&t, "cgroup_throttled_ratio", "/", SIGNAL_NOT_SUPPORTED, "no quota");

	/* the quota is taken away: what was seen stays, and what is not seen any more is said */
	tree_put(CPU_1 "/cpu.cfs_quota_us", "-1\n");
	tree_put(CPU_1 "/c1/cpu.cfs_quota_us", "-1\n");
	tree_step(&t, 13);
	const struct signal *s = tree_signal(&t, "cgroup_quota_cores", own);
	CHECK_NEAR(s->mean, 1.5, 1e-9);
	CHECK(s->reason && strstr(s->reason, "no group up to the top"));
	tree_close(&t);
}

static void memory_of_version_1_has_limits_up_the_tree_and_a_count_of_failures(void)
{
	/* /kubepods is fuller than the container, whose limit is the lesser */
	static const struct tree_want wants[] = {
		{ "cgroup_memory_limit_bytes", own, 4e9 },
		{ "cgroup_memory_used_ratio", own, 0.9875 },
		{ "cgroup_memory_room_bytes", own, 1e8 },
		{ "cgroup_memory_used_bytes", own, 3e9 },
		{ "cgroup_memory_used_bytes", "/kubepods", 7.9e9 },
		{ "cgroup_memory_peak_bytes", own, 3.9e9 },
		{ "cgroup_swap_bytes", own, 500000 },
		{ "cgroup_level_memory_limit_bytes", "/kubepods", 8e9 },
		{ "cgroup_memory_at_limit_per_s", own, 10 },
		{ "cgroup_memory_at_limit_per_s", "/kubepods", 0 },
		{ "cgroup_oom_kills_per_s", own, 1 },
		{ "cgroup_anon_bytes", own, 2e9 },
		{ "cgroup_file_bytes", own, 1e9 },
		{ "cgroup_anon_hugepage_bytes", own, 41943040 },
		{ "cgroup_refault_pages_per_s", own, (20 + 30) / 2.0 },
		{ "cgroup_major_faults_per_s", own, 1.5 },
	};
	struct tree t;
	tree_open(&t, "cgroup-v1");
	tree_watch(&t, &cgroup_memory_source, 100);
	tree_step(&t, 10);
	tree_put(MEM_1 "/memory.failcnt", "60\n");
	tree_put(MEM_1 "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	tree_put(MEM_1 "/memory.stat",
	        "cache 1\ntotal_cache 1000000000\ntotal_rss 2000000000\ntotal_rss_huge 41943040\n"
	        "total_workingset_refault_anon 30\ntotal_workingset_refault_file 120\n"
	        "total_pgmajfault 10\n");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	CHECK_STR(tree_signal(&t, "cgroup_memory_limit_level", own)->text, own);
	tree_expect_absent(
	        &t, "cgroup_level_memory_limit_bytes", "/", SIGNAL_NOT_SUPPORTED, "no limit");
	tree_expect_absent(
	        &t, "cgroup_memory_at_high_per_s", own, SIGNAL_NOT_SUPPORTED, "version 1");
	tree_close(&t);
}

static void the_rest_of_version_1_is_read_too(void)
{
	static const struct tree_want wants[] = {
		{ "cgroup_cpus_count", own, 5 },
		{ "cgroup_tasks", own, 230 },
		{ "cgroup_tasks_limit", own, 512 },
		{ "cgroup_io_read_bytes_per_s", own, 1000 },
		{ "cgroup_io_write_bytes_per_s", own, 0 },
	};
	struct tree t;
	tree_open(&t, "cgroup-v1");
	tree_watch(&t, &cgroup_other_source, 100);
	tree_step(&t, 10);
	tree_put("sys/fs/cgroup/blkio/kubepods/pod1/c1/blkio.throttle.io_service_bytes_recursive",
	        "8:0 Read 2000\n8:0 Write 2000\n8:0 Total 4000\n259:0 Read 1050\n259:0 Write 60\n");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	CHECK_STR(tree_signal(&t, "cgroup_cpus", own)->text, "0-3,8");
	CHECK_STR(tree_signal(&t, "cgroup_memory_nodes", own)->text, "0");
	CHECK_STR(tree_signal(&t, "cgroup_tasks_limit_level", own)->text, "/kubepods/pod1");
	tree_expect_absent(
	        &t, "cgroup_psi_cpu_some_ratio", NULL, SIGNAL_NOT_SUPPORTED, "version 2 only");
	tree_close(&t);
}

static void version_2_has_all_in_one_hierarchy(void)
{
	static const char service[] = "/system.slice/llm.service";
	static const struct tree_want cpu[] = {
		{ "cgroup_quota_cores", service, 4 },
		{ "cgroup_throttled_ratio", service, 0.25 },
		{ "cgroup_throttled_time_ratio", service, 0.25 },
		{ "cgroup_cpu_ratio", service, 0.5 },
		{ "cgroup_cpu_ratio", "/", 0.75 },
	};
	static const struct tree_want memory[] = {
		{ "cgroup_memory_limit_bytes", service, 4e9 },
		{ "cgroup_memory_used_ratio", service, 0.75 },
		{ "cgroup_swap_bytes", service, 5000 },
		{ "cgroup_memory_at_limit_per_s", service, 2 },
		{ "cgroup_memory_at_high_per_s", service, 5 },
		{ "cgroup_oom_kills_per_s", service, 0.5 },
		{ "cgroup_anon_bytes", service, 2e9 },
		{ "cgroup_refault_pages_per_s", service, 0 },
	};
	static const struct tree_want other[] = {
		{ "cgroup_cpus_count", service, 8 },
		{ "cgroup_tasks_limit", service, 512 },
		{ "cgroup_io_read_bytes_per_s", service, 100 },
		{ "cgroup_io_write_bytes_per_s", service, 200 },
		{ "cgroup_psi_cpu_some_ratio", service, 0.25 },
		{ "cgroup_psi_cpu_full_ratio", service, 0.125 },
		{ "cgroup_psi_memory_full_ratio", service, 0 },
	};
	struct tree t;
	tree_open(&t, "cgroup-v2");
	tree_watch(&t, &cgroup_cpu_source, 100);
	tree_step(&t, 10);
	tree_put(SERVICE "/cpu.stat",
	        "usage_usec 71000000\nuser_usec 1\nsystem_usec 1\nnr_periods 1020\n"
	        "nr_throttled 105\nthrottled_usec 5500000\n");
	tree_put("sys/fs/cgroup/cpu.stat", "usage_usec 901500000\n");
	tree_step(&t, 12);
	tree_expect(&t, cpu, ARRAY_LEN(cpu));
	tree_expect_absent(
	        &t, "cgroup_throttled_time_ratio", "/", SIGNAL_NOT_SUPPORTED, "cpu.stat");
	CHECK_INT(tree_signal(&t, "cgroup_quota_cores", service)->state, SIGNAL_MEASURED);
	tree_close(&t);

	tree_open(&t, "cgroup-v2");
	tree_watch(&t, &cgroup_memory_source, 100);
	tree_step(&t, 10);
	tree_put(SERVICE "/memory.events", "low 0\nhigh 19\nmax 44\noom 1\noom_kill 2\n");
	tree_step(&t, 12);
	tree_expect(&t, memory, ARRAY_LEN(memory));
	tree_close(&t);

	tree_open(&t, "cgroup-v2");
	tree_watch(&t, &cgroup_other_source, 100);
	tree_step(&t, 10);
	tree_put(SERVICE "/io.stat", "8:0 rbytes=1200 wbytes=2400 rios=3 wios=4 dbytes=0 dios=0\n"
	                             "259:0 rbytes=50 wbytes=60 rios=1 wios=1 dbytes=0 dios=0\n");
	tree_put(SERVICE "/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"
	                                  "full avg10=0.00 avg60=0.00 avg300=0.00 total=750000\n");
	tree_step(&t, 12);
	tree_expect(&t, other, ARRAY_LEN(other));
	CHECK_STR(tree_signal(&t, "cgroup_memory_nodes", service)->text, "0-1");
	tree_close(&t);
}

static void where_both_are_mounted_each_controller_is_found_in_its_own(void)
{
	static const struct tree_want wants[] = {
		{ "cgroup_quota_cores", "/a", 0.5 },
		{ "cgroup_throttled_ratio", "/a", 0.5 },
		{ "cgroup_cpu_ratio", "/b", 0.4 },
	};
	struct tree t;
	tree_open(&t, "cgroup-hybrid");
	tree_watch(&t, &cgroup_cpu_source, 100);
	tree_step(&t, 10);
	tree_put("sys/fs/cgroup/cpu/a/cpu.stat",
	        "nr_periods 30\nnr_throttled 15\nthrottled_time 2000000000\n");
	tree_put("sys/fs/cgroup/cpuacct/b/cpuacct.usage", "5800000000\n");
	tree_step(&t, 12);
	tree_expect(&t, wants, ARRAY_LEN(wants));
	tree_close(&t);

	tree_open(&t, "cgroup-hybrid");
	tree_watch(&t, &cgroup_other_source, 100);
	tree_step(&t, 10);
	tree_put("sys/fs/cgroup/unified/u/cpu.pressure", "some total=1200000\n");
	tree_step(&t, 12);
	CHECK_NEAR(tree_signal(&t, "cgroup_psi_cpu_some_ratio", "/u")->mean, 0.1, 1e-12);
	tree_expect_absent(&t, "cgroup_psi_io_some_ratio", "/u", SIGNAL_NOT_SUPPORTED, "pressure");
	tree_expect_absent(&t, "cgroup_tasks", "/u", SIGNAL_NOT_SUPPORTED, "pids.current");
	tree_close(&t);
}

static void a_container_sees_its_own_group_and_says_what_it_does_not_see(void)
{
	struct tree t;
	tree_open(&t, "cgroup-container");
	tree_watch(&t, &cgroup_cpu_source, 8);
	tree_step(&t, 10);
	tree_step(&t, 12);
	const struct signal *s = tree_signal(&t, "cgroup_quota_cores", "/worker");
	CHECK_NEAR(s->mean, 0.5, 1e-12);
	CHECK_INT(s->state, SIGNAL_ESTIMATED);
	CHECK(s->reason && strstr(s->reason, "hidden"));
	CHECK_STR(tree_signal(&t, "cgroup_quota_level", "/worker")->text, "/");
	tree_close(&t);

	tree_open(&t, "cgroup-container");
	tree_put("sys/fs/cgroup/memory.max", "max\n");
	tree_watch(&t, &cgroup_memory_source, 1);
	tree_step(&t, 10);
	tree_step(&t, 12);
	tree_expect_absent(
	        &t, "cgroup_memory_limit_bytes", "/", SIGNAL_NOT_SUPPORTED, "are hidden");
	CHECK_NEAR(tree_signal(&t, "cgroup_memory_used_bytes", "/")->mean, 9e8, 0);
	tree_close(&t);

	/* a group beside the container's: above what is mounted */
	tree_open(&t, "cgroup-container");
	tree_watch(&t, &cgroup_cpu_source, 7);
	tree_step(&t, 10);
	tree_expect_absent(&t, "cgroup_quota_cores", NULL, SIGNAL_NOT_SUPPORTED, "'/../sidecar'");
	tree_close(&t);

	/* version 1 as Docker mounts it: the mount begins at the container's group */
	tree_open(&t, NULL);
	tree_put("proc/1/cgroup", "2:cpu,cpuacct:/docker/abc\n");
	tree_put("proc/self/mountinfo",
	        "33 30 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro master:9 - cgroup cgroup "
	        "rw,cpu,cpuacct\n");
	tree_put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "30000\n");
	tree_put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	tree_put("sys/fs/cgroup/cpu,cpuacct/cpu.stat",
	        "nr_periods 1\nnr_throttled 1\nthrottled_time 1\n");
	tree_watch(&t, &cgroup_cpu_source, 1);
	tree_step(&t, 10);
	tree_step(&t, 12);
	s = tree_signal(&t, "cgroup_quota_cores", "/docker/abc");
	CHECK_NEAR(s->mean, 0.3, 1e-12);
	CHECK_INT(s->state, SIGNAL_ESTIMATED);
	tree_close(&t);
}

static void groups_that_only_the_process_sees_are_read_through_its_root(void)
{
	struct tree t;
	tree_open(&t, NULL);
	tree_put("proc/1/cgroup", "0::/x y\n");
	tree_put("proc/self/mountinfo", "22 1 254:0 / / rw - ext4 /dev/vda rw\n");
	tree_put("proc/1/mountinfo", "30 22 0:27 / /cg\\040two rw - cgroup2 cgroup2 rw\n");
	tree_put("proc/1/root/cg two/x y/cpu.max", "10000 40000\n");
	tree_put("proc/1/root/cg two/x y/cpu.stat", "usage_usec 1\n");
	tree_watch(&t, &cgroup_cpu_source, 1);
	tree_step(&t, 10);
	tree_step(&t, 11);
	CHECK_NEAR(tree_signal(&t, "cgroup_quota_cores", "/x y")->mean, 0.25, 1e-12);
	tree_close(&t);
}

static void a_process_that_is_moved_takes_its_signals_along(void)
{
	struct tree t;
	tree_open(&t, "cgroup-v2");
	tree_watch(&t, &cgroup_cpu_source, 100);
	tree_step(&t, 10);
	tree_put("sys/fs/cgroup/new/cpu.max", "20000 100000\n");
	tree_put("sys/fs/cgroup/new/cpu.stat", "usage_usec 500000\n");
	tree_put("proc/100/cgroup", "0::/new\n");
	tree_step(&t, 12);
	tree_put("sys/fs/cgroup/new/cpu.stat", "usage_usec 700000\n");
	tree_step(&t, 14);
	CHECK_NEAR(tree_signal(&t, "cgroup_quota_cores", "/new")->last, 0.2, 1e-12);
	CHECK_NEAR(tree_signal(&t, "cgroup_cpu_ratio", "/new")->mean, 0.1, 1e-12);
	CHECK_STR(tree_signal(&t, "cgroup_cpu_path", "100")->text, "/new");
	const struct signal *s = tree_signal(&t, "cgroup_quota_cores", "/system.slice/llm.service");
	CHECK(s->reason && strstr(s->reason, "another group"));
	/* what has ended has not moved */
	tree_drop("proc/100");
	tree_step(&t, 16);
	CHECK_NEAR(tree_signal(&t, "cgroup_quota_cores", "/new")->last, 0.2, 1e-12);
	tree_close(&t);
}

static void without_a_process_or_a_group_there_is_a_reason(void)
{
	static const struct watch_source *const sources[] = { &cgroup_cpu_source,
		&cgroup_memory_source, &cgroup_other_source };
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		struct tree t;
		tree_open(&t, "cgroup-v2");
		tree_watch(&t, sources[i], 0);
		tree_step(&t, 10);
		for (size_t k = 0; k < sources[i]->n_rows; k++)
			tree_expect_absent(&t, sources[i]->rows[k].name, NULL, SIGNAL_NOT_SUPPORTED,
			        "no process is named");
		tree_close(&t);

		tree_open(&t, NULL);
		tree_put("proc/5/cgroup", "%s", "");
		tree_watch(&t, sources[i], 5);
		tree_step(&t, 10);
		for (size_t k = 0; k < sources[i]->n_rows; k++)
			tree_expect_absent(&t, sources[i]->rows[k].name, NULL, SIGNAL_NOT_SUPPORTED,
			        "process");
		tree_close(&t);
	}
}

static void paths_of_groups_are_found_whatever_the_lines_look_like(void)
{
	static const struct {
		const char *text, *controller;
		int version;
		const char *path; /* NULL: none */
	} cases[] = {
		{ "0::/\n", "cpu", 2, "/" },
		{ "0::/a:b\n", "", 2, "/a:b" },
		{ "3:cpu,cpuacct:/x\n", "cpuacct", 1, "/x" },
		{ "3:cpu,cpuacct:/x\n", "acct", 1, NULL },
		{ "3:cpuset:/x\n2:cpu:/y\n", "cpu", 1, "/y" },
		{ "1:name=systemd:/s\n", "systemd", 1, NULL },
		{ "0::/a (deleted)\n", "", 2, NULL },
		{ "0::/cut", "", 2, NULL },
		{ "\n:\n::\n0:\n0::\n0::x\n", "", 2, NULL },
		{ "", "", 2, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str path;
		bool found = cgroup_path_of(
		        str_of(cases[i].text), cases[i].controller, cases[i].version, &path);
		if (!CHECK(found == (cases[i].path != NULL)))
			printf("#   case %zu\n", i);
		if (found && cases[i].path)
			CHECK(str_eq(path, str_of(cases[i].path)));
	}
}

static void the_mount_that_shows_most_parents_is_taken(void)
{
	static const char mounts[] = "1 0 0:1 / / rw - ext4 /dev/x rw\n"
	                             "2 1 0:2 /a/b /narrow rw - cgroup2 none rw\n"
	                             "3 1 0:2 /a /wide rw opt:1 opt:2 - cgroup2 none rw\n"
	                             "4 1 0:3 / /v1 rw - cgroup cgroup rw,cpu,cpuacct\n"
	                             "5 1 0:2 /.. /above rw - cgroup2 none rw\n"
	                             "6 1 0:2 broken\n"
	                             "7 1 0:2 / /cut rw - cgroup2 none rw";
	static const struct {
		int version;
		const char *path, *top, *dir, *below; /* top NULL: none */
	} cases[] = {
		{ 2, "/a/b/c", "/a", "/wide", "/b/c" },
		{ 2, "/a", "/a", "/wide", "" },
		{ 2, "/ab", NULL, NULL, NULL },
		{ 2, "/", NULL, NULL, NULL },
		{ 2, "/../x", "/..", "/above", "/x" },
		{ 2, "/../../x", NULL, NULL, NULL },
		{ 1, "/a/b", "/", "/v1", "/a/b" },
		{ 1, "/", "/", "/v1", "" },
		{ 1, "/../x", NULL, NULL, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char top[CGROUP_PATH_MAX], dir[CGROUP_PATH_MAX];
		struct str below;
		bool found = cgroup_mount_of(str_of(mounts), "cpu", cases[i].version,
		        str_of(cases[i].path), top, dir, &below);
		if (!CHECK(found == (cases[i].top != NULL)))
			printf("#   %s\n", cases[i].path);
		if (!found || !cases[i].top)
			continue;
		CHECK_STR(top, cases[i].top);
		CHECK_STR(dir, cases[i].dir);
		CHECK(str_eq(below, str_of(cases[i].below)));
	}
}

int main(void)
{
	TAP_RUN(a_parents_quota_binds_and_its_throttling_is_seen);
	TAP_RUN(memory_of_version_1_has_limits_up_the_tree_and_a_count_of_failures);
	TAP_RUN(the_rest_of_version_1_is_read_too);
	TAP_RUN(version_2_has_all_in_one_hierarchy);
	TAP_RUN(where_both_are_mounted_each_controller_is_found_in_its_own);
	TAP_RUN(a_container_sees_its_own_group_and_says_what_it_does_not_see);
	TAP_RUN(groups_that_only_the_process_sees_are_read_through_its_root);
	TAP_RUN(a_process_that_is_moved_takes_its_signals_along);
	TAP_RUN(without_a_process_or_a_group_there_is_a_reason);
	TAP_RUN(paths_of_groups_are_found_whatever_the_lines_look_like);
	TAP_RUN(the_mount_that_shows_most_parents_is_taken);
	return tap_done();
}
