/*
 * cpus.h - how many CPUs this process may keep busy.
 *
 * More threads than that wait for one another: an affinity mask hides CPUs, and a quota of the
 * control group stops all threads of the group for the rest of each period once it is used up.
 */
#ifndef VENTURI_ENGINE_CPUS_H
#define VENTURI_ENGINE_CPUS_H

enum { CPUS_MAX = 8192 }; /* as many as Linux can be built for */

/* Of the affinity mask, and not more than the quota gives, rounded up; at least 1. */
int cpus_usable(void);

/*
 * What the group of a process and all above it allow, in CPUs; 0: no limit.
 *
 * root     "" for this machine's own /proc and /sys; a test brings its own
 * source   the kernel's documentation of cpu.max (version 2) and cpu.cfs_quota_us (version 1)
 */
double cpus_quota(const char *root);

#endif
