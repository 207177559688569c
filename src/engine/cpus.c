#include "engine/cpus.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int of_mask(void)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
	int n = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 1;
	CPU_FREE(set);
	return n;
}

/* The two numbers of one file or of two; 0 where there is none or it says "max" or -1. */
static double ratio_of(const char *folder, const char *quota_file, const char *period_file)
{
	char path[PATH_MAX];
	double quota = 0, period = 0;
	if (snprintf(path, sizeof(path), "%s/%s", folder, quota_file) >= (int)sizeof(path))
		return 0;
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	int n = fscanf(f, "%lf %lf", &quota, &period);
	fclose(f);
	if (n == 1 && period_file &&
	        snprintf(path, sizeof(path), "%s/%s", folder, period_file) < (int)sizeof(path) &&
	        (f = fopen(path, "re"))) {
		n += fscanf(f, "%lf", &period);
		fclose(f);
	}
	return n == 2 && quota > 0 && period > 0 ? quota / period : 0;
}

static double least(double a, double b)
{
	return a > 0 && (b <= 0 || a < b) ? a : b;
}

/* From the group up to the root of its hierarchy. */
static double of_group(const char *mount, char *group, const char *quota, const char *period)
{
	double limit = 0;
	char folder[PATH_MAX];
	for (;;) {
		if (snprintf(folder, sizeof(folder), "%s%s", mount, group) < (int)sizeof(folder))
			limit = least(ratio_of(folder, quota, period), limit);
		char *slash = strrchr(group, '/');
		if (!slash)
			return limit;
		*slash = 0;
	}
}

/* Whether one of the names between commas is "cpu". */
static bool has_cpu(const char *controllers)
{
	for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == 0))
			return true;
	return false;
}

double cpus_quota(const char *root)
{
	char path[PATH_MAX], line[PATH_MAX], mount[PATH_MAX];
	double limit = 0;
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = 0;
		controllers++;
		if (*controllers == 0) {
			snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
			limit = least(of_group(mount, group, "cpu.max", NULL), limit);
		} else if (has_cpu(controllers)) {
			snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/cpu", root);
			limit = least(
			        of_group(mount, group, "cpu.cfs_quota_us", "cpu.cfs_period_us"),
			        limit);
		}
	}
	fclose(f);
	return limit;
}

int cpus_usable(void)
{
	int n = of_mask();
	double quota = cpus_quota("");
	if (quota > 0 && quota < n)
		n = (int)ceil(quota);
	return n > 1 ? n : 1;
}
