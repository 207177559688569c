/*
 * sources.h - the sources that there are; sources.c lists them in the order in which they are
 * shown.
 */
#ifndef VENTURI_WATCH_SOURCES_H
#define VENTURI_WATCH_SOURCES_H

#include "watch/source.h"

extern const struct watch_source process_source;       /* /proc/PID and its threads */
extern const struct watch_source connections_source;   /* TCP connections of the watched ports */
extern const struct watch_source perf_counts_source;   /* counters by perf_event_open */
extern const struct watch_source gpu_source;           /* NVIDIA's and AMD's devices */
extern const struct watch_source host_clock_source;    /* cpufreq, thermal_throttle */
extern const struct watch_source host_cpu_source;      /* /proc/stat, /proc/loadavg */
extern const struct watch_source host_disk_source;     /* /proc/diskstats */
extern const struct watch_source host_memory_source;   /* /proc/meminfo, /proc/vmstat */
extern const struct watch_source host_network_source;  /* /proc/net */
extern const struct watch_source host_psi_source;      /* /proc/pressure */
extern const struct watch_source host_softirq_source;  /* /proc/softirqs */
extern const struct watch_source numa_source;          /* memory nodes, and where pages lie */
extern const struct watch_source pci_source;           /* which node devices are at */
extern const struct watch_source topology_source;      /* packages, cores, caches */
extern const struct watch_source cgroup_cpu_source;    /* quota, throttling, CPU use of groups */
extern const struct watch_source cgroup_memory_source; /* limits, use and events of groups */
extern const struct watch_source cgroup_other_source;  /* cpuset, pids, io, pressure of groups */
extern const struct watch_source waits_source;         /* what busy threads wait for */
extern const struct watch_source profile_source;       /* where CPU time goes, by symbol */

#endif
