#include "tap.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/clock.h"
#include "watch/numa/numa_maps.h"
#include "watch/sampler.h"
#include "watch/sources.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct signal *find(
        const struct signal_system *s, const char *name, const char *instance)
{
	for (size_t i = 0; i < s->n_signals; i++) {
		const struct signal *it = &s->signals[i];
		if (strcmp(it->name, name) == 0 &&
		        (instance ? it->instance && strcmp(it->instance, instance) == 0
		                  : !it->instance))
			return it;
	}
	printf("# no signal %s of %s\n", name, instance ? instance : "all");
	CHECK(!"the signal is there");
	static const struct signal none = { .name = "none" };
	return &none;
}

/* Two samples, a second apart, of some sources and processes below a root. */
static void look(const char *root, const int *pids, size_t n_pids,
        const struct watch_source *source, struct arena *run, struct signal_system *got)
{
	const struct watch_source *const all[] = { source };
	const struct watch_config config = { .root = root,
		.pids = pids,
		.n_pids = n_pids,
		.interval_ns = NS_PER_S,
		.sources = all,
		.n_sources = 1 };
	struct sampler *s;
	struct err err;
	if (!CHECK(sampler_open(&config, run, &s, &err))) {
		printf("# %s\n", err.text);
		return;
	}
	sampler_step(s, 1 * NS_PER_S);
	sampler_step(s, 2 * NS_PER_S);
	sampler_report(s, INT64_MIN, run, got);
	sampler_close(s);
}

struct want {
	const char *name, *instance;
	double value;
};

static void check_all(const struct signal_system *got, const struct want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct signal *s = find(got, wants[i].name, wants[i].instance);
		if (!CHECK(fabs(s->last - wants[i].value) < 1e-9))
			printf("# %s of %s: got %g, want %g\n", wants[i].name,
			        wants[i].instance ? wants[i].instance : "all", s->last,
			        wants[i].value);
	}
}

/*
 * By hand, in KiB. Process 100 may run on CPUs 0, 1 and 4, all of node 0, and has there 100 pages
 * of 4 and 1024 of 4, on node 1 300 of 4 and 2 of 2048. Process 200 may run everywhere, and has 10
 * pages of 4 on each node.
 */
enum { NEAR_KIB = 4 * (100 + 1024), FAR_KIB = 4 * 300 + 2 * 2048, FREE_KIB = 40 };

static void pages_far_from_the_cpus_of_their_process_are_remote(void)
{
	struct arena memory = { 0 }, *run = &memory;
	static const int pids[] = { 100, 200 };
	struct signal_system got = { 0 };
	const struct want one[] = {
		{ "numa_nodes", NULL, 2 },
		{ "numa_node_bytes", "node0", 33554432.0 * 1024 },
		{ "numa_node_free_bytes", "node1", 16777216.0 * 1024 },
		{ "numa_pages_bytes", "node0", NEAR_KIB * 1024.0 },
		{ "numa_pages_bytes", "node1", FAR_KIB * 1024.0 },
		{ "numa_remote_pages_ratio", NULL, (double)FAR_KIB / (NEAR_KIB + FAR_KIB) },
		{ "numa_miss_per_s", "node1", 0 },
		{ "numa_other_node_per_s", "node0", 0 },
	};
	const struct want both[] = {
		{ "numa_pages_bytes", "node0", (NEAR_KIB + FREE_KIB) * 1024.0 },
		{ "numa_pages_bytes", "node1", (FAR_KIB + FREE_KIB) * 1024.0 },
		{ "numa_remote_pages_ratio", NULL,
		        (double)FAR_KIB / (NEAR_KIB + FAR_KIB + 2 * FREE_KIB) },
	};
	const struct want free_one[] = { { "numa_remote_pages_ratio", NULL, 0 } };
	look(tap_data("trees/two-sockets"), pids, 1, &numa_source, run, &got);
	check_all(&got, one, ARRAY_LEN(one));
	/* 4096 KiB each of bind and prefer, the first that was seen first; 1600 of default */
	CHECK_STR(find(&got, "numa_policy", NULL)->text, "bind:1, prefer (many):0, default");
	CHECK_STR(find(&got, "numa_cpu_nodes", NULL)->text, "0");
	look(tap_data("trees/two-sockets"), pids, 2, &numa_source, run, &got);
	check_all(&got, both, ARRAY_LEN(both));
	CHECK_STR(find(&got, "numa_cpu_nodes", NULL)->text, "0-1");
	look(tap_data("trees/two-sockets"), pids + 1, 1, &numa_source, run, &got);
	check_all(&got, free_one, ARRAY_LEN(free_one));
	CHECK_STR(find(&got, "numa_policy", NULL)->text, "interleave:0-1");
	arena_release(run);
}

static void cores_and_threads_of_two_sockets_are_counted(void)
{
	struct arena memory = { 0 }, *run = &memory;
	static const int pids[] = { 100, 200 };
	struct signal_system got = { 0 };
	/* 2 sockets of 2 cores of 2 hyper-threads, CPU n and n + 4 on one core */
	static const struct want machine[] = {
		{ "topology_packages", NULL, 2 },
		{ "topology_cores", NULL, 4 },
		{ "topology_cpus", NULL, 8 },
		{ "topology_smt", NULL, 2 },
		{ "topology_l1d_bytes", NULL, 48 * 1024 },
		{ "topology_l2_bytes", NULL, 2048 * 1024 },
		{ "topology_l3_bytes", NULL, 32768 * 1024 },
		{ "topology_l3_caches", NULL, 2 },
		/* CPUs 0, 1, 4: two cores, and 0 and 4 share one of them */
		{ "affinity_cpus", NULL, 3 },
		{ "affinity_cores", NULL, 2 },
		{ "affinity_smt_cpus", NULL, 2 },
		{ "affinity_packages", NULL, 1 },
		{ "affinity_l3_caches", NULL, 1 },
	};
	static const struct want all[] = {
		{ "affinity_cpus", NULL, 8 },
		{ "affinity_cores", NULL, 4 },
		{ "affinity_smt_cpus", NULL, 8 },
		{ "affinity_packages", NULL, 2 },
	};
	look(tap_data("trees/two-sockets"), pids, 1, &topology_source, run, &got);
	if (got.signals[0].reason && strstr(got.signals[0].reason, "built without")) {
		tap_skip("built without hwloc");
	} else {
		check_all(&got, machine, ARRAY_LEN(machine));
		look(tap_data("trees/two-sockets"), pids, 2, &topology_source, run, &got);
		check_all(&got, all, ARRAY_LEN(all));
	}
	arena_release(run);
}

static void devices_are_near_the_cpus_of_their_node(void)
{
	struct arena memory = { 0 }, *run = &memory;
	static const int pids[] = { 100, 200 };
	struct signal_system got = { 0 };
	static const struct want near[] = {
		{ "pci_numa_node", "0000:17:00.0", 0 },
		{ "pci_local_cpus_ratio", "0000:17:00.0", 1 },
		{ "pci_numa_node", "0000:98:00.0", 1 },
		{ "pci_local_cpus_ratio", "0000:98:00.0", 0 },
		{ "pci_local_cpus_ratio", "0000:e3:00.0", 0 },
	};
	static const struct want half[] = {
		{ "pci_local_cpus_ratio", "0000:17:00.0", 0.5 },
		{ "pci_local_cpus_ratio", "0000:e3:00.0", 0.5 },
	};
	look(tap_data("trees/two-sockets"), pids, 1, &pci_source, run, &got);
	check_all(&got, near, ARRAY_LEN(near));
	CHECK_STR(find(&got, "pci_kind", "0000:17:00.0")->text, "display");
	CHECK_STR(find(&got, "pci_kind", "0000:e3:00.0")->text, "accelerator");
	/* of the network card the firmware does not tell; the bridge is of no interest */
	CHECK_INT(find(&got, "pci_local_cpus_ratio", "0000:31:00.0")->state, SIGNAL_NOT_SUPPORTED);
	CHECK_INT(got.n_signals, 4 * 3 + 2);
	look(tap_data("trees/two-sockets"), pids + 1, 1, &pci_source, run, &got);
	check_all(&got, half, ARRAY_LEN(half));
	arena_release(run);
}

static void a_machine_that_hides_its_nodes_is_told(void)
{
	struct arena memory = { 0 }, *run = &memory;
	static const struct watch_source *const sources[] = { &numa_source, &pci_source };
	struct signal_system got = { 0 };
	char root[] = "/tmp/venturi-numa-XXXXXX";
	CHECK(mkdtemp(root) != NULL);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		look(root, NULL, 0, sources[i], run, &got);
		CHECK(got.n_signals >= 3 && got.signals[0].state == SIGNAL_NOT_SUPPORTED);
		CHECK(got.signals[0].reason && strstr(got.signals[0].reason, "/sys/") &&
		        strstr(got.signals[0].reason, "No such file"));
	}
	rmdir(root);
	/* a tree whose process has no numa_maps: what else there is, is told */
	look(tap_data("trees/two-sockets"), NULL, 0, &numa_source, run, &got);
	CHECK_STR(find(&got, "numa_remote_pages_ratio", NULL)->reason, "no process was named");
	CHECK(find(&got, "numa_node_bytes", "node1")->n == 2);
	arena_release(run);
}

static void lines_that_are_broken_add_nothing(void)
{
	static const char *const lines[] = {
		"",
		"7f00",
		"7f00 default",
		"7f00 default N0",
		"7f00 default N0= kernelpagesize_kB=4",
		"7f00 default N=5 kernelpagesize_kB=4",
		"7f00 default N0=-5 kernelpagesize_kB=4",
		"7f00 default N0=99999999999999999999 kernelpagesize_kB=4",
		"7f00 default N0=18446744073709551615 kernelpagesize_kB=4",
		"7f00 default Nx=5 anon=5 kernelpagesize_kB=4",
	};
	struct numa_maps m = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		numa_maps_line(&m, str_of(lines[i]));
	CHECK_INT(m.bytes[0], 0);
	CHECK_INT(m.n_policies, 0);
	numa_maps_line(&m, STR("7f00 weighted interleave:0-1 N300=1 N1=2 kernelpagesize_kB=4"));
	CHECK_INT(m.bytes[1], 8192);
	CHECK_INT(m.bytes_beyond, 4096);
	CHECK_STR(m.policies[0].name, "weighted interleave:0-1");
	/* before kernelpagesize_kB there were only pages of the machine's size */
	numa_maps_line(&m, STR("7f00 default N2=3"));
	CHECK_INT(m.bytes[2], 3 * sysconf(_SC_PAGESIZE));
}

/* Source: proc(5), statm, field 2. */
static double resident_bytes(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	CHECK(f && fscanf(f, "%*d %ld", &pages) == 1);
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double pages_bytes(struct arena *run, bool *ret_told)
{
	const int pid = getpid();
	struct signal_system got = { 0 };
	double bytes = 0;
	look("", &pid, 1, &numa_source, run, &got);
	*ret_told = find(&got, "numa_remote_pages_ratio", NULL)->n > 0;
	for (size_t i = 0; i < got.n_signals; i++)
		if (strcmp(got.signals[i].name, "numa_pages_bytes") == 0)
			bytes += got.signals[i].last;
	return bytes;
}

/*
 * Touched memory of this process is found again, on whatever node; 2 % is what a watch promises. By
 * how much the process grew says another counter of the kernel: a sanitizer touches more.
 */
static void pages_that_are_touched_are_found(void)
{
	enum { MIB = 96 };
	struct arena memory = { 0 }, *run = &memory;
	bool told;
	double before = pages_bytes(run, &told), resident = resident_bytes();
	if (!told) {
		tap_skip("this kernel has no numa_maps");
		return;
	}
	char *area =
	        mmap(NULL, MIB << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	memset(area, 1, MIB << 20);
	double grown = pages_bytes(run, &told) - before;
	double want = resident_bytes() - resident;
	CHECK(want >= 0.98 * (MIB << 20));
	CHECK_NEAR(grown, want, 0.02 * want);
	munmap(area, MIB << 20);
	arena_release(run);
}

static void this_machine_has_as_many_cpus_as_the_c_library_says(void)
{
	struct arena memory = { 0 }, *run = &memory;
	const int pid = getpid();
	struct signal_system got = { 0 };
	cpu_set_t allowed;
	look("", &pid, 1, &topology_source, run, &got);
	if (got.signals[0].state == SIGNAL_NOT_SUPPORTED) {
		tap_skip("hwloc is not built in, or cannot read this machine");
	} else {
		CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
		CHECK_NEAR(find(&got, "topology_cpus", NULL)->last,
		        (double)sysconf(_SC_NPROCESSORS_ONLN), 0);
		CHECK_NEAR(find(&got, "affinity_cpus", NULL)->last, CPU_COUNT(&allowed), 0);
	}
	arena_release(run);
}

int main(void)
{
	TAP_RUN(pages_far_from_the_cpus_of_their_process_are_remote);
	TAP_RUN(cores_and_threads_of_two_sockets_are_counted);
	TAP_RUN(devices_are_near_the_cpus_of_their_node);
	TAP_RUN(a_machine_that_hides_its_nodes_is_told);
	TAP_RUN(lines_that_are_broken_add_nothing);
	TAP_RUN(pages_that_are_touched_are_found);
	TAP_RUN(this_machine_has_as_many_cpus_as_the_c_library_says);
	return tap_done();
}
