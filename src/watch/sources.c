#include "watch/sources.h"

#include "base/attr.h"

#include <stddef.h>

/* In the order in which they are shown; the last is no source. */
const struct watch_source *const watch_sources[] = {
	&process_source,
	&host_cpu_source,
	&host_psi_source,
	&host_memory_source,
	&host_disk_source,
	&host_network_source,
	&host_softirq_source,
	&host_clock_source,
	&cgroup_cpu_source,
	&cgroup_memory_source,
	&cgroup_other_source,
	&topology_source,
	&numa_source,
	&pci_source,
	&connections_source,
	&perf_counts_source,
	&profile_source,
	&waits_source, /* adds to the threads of process_source */
	&gpu_source,
	NULL,
};
const size_t watch_n_sources = ARRAY_LEN(watch_sources) - 1;
