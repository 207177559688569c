#include "engine/cpus.h"

#include "base/attr.h"
#include "tap.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/venturi-cpus-XXXXXX";

/* Writes a file of the made-up machine and the folders above it. */
static void put(const char *path, const char *text)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s/%s", root, path);
	for (int i = (int)strlen(root) + 1; i < n; i++)
		if (full[i] == '/') {
			full[i] = 0;
			mkdir(full, 0700);
			full[i] = '/';
		}
	FILE *f = fopen(full, "w");
	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static void the_tightest_group_of_version_2_counts(void)
{
	put("proc/self/cgroup", "0::/a/b\n");
	put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	CHECK_NEAR(cpus_quota(root), 0, 0);
	put("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
	CHECK_NEAR(cpus_quota(root), 2.5, 1e-12);
	put("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
	CHECK_NEAR(cpus_quota(root), 0.5, 1e-12);
	put("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
	CHECK_NEAR(cpus_quota(root), 2.5, 1e-12);
}

static void a_group_of_version_1_has_its_quota_in_two_files(void)
{
	put("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/c\n1:name=systemd:/y\n");
	put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
	put("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
	CHECK_NEAR(cpus_quota(root), 0, 0);
	put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "150000\n");
	CHECK_NEAR(cpus_quota(root), 1.5, 1e-12);
}

static void what_is_not_there_or_not_understood_is_no_limit(void)
{
	static const char *const broken[] = { "", "garbage", "0::", "::", "4:cpu", "0::/../..\n",
		"4:cpuset,cp,cpu2:/c\n" };
	CHECK_NEAR(cpus_quota("/nowhere"), 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		put("proc/self/cgroup", broken[i]);
		CHECK_NEAR(cpus_quota(root), 0, 0);
	}
	put("proc/self/cgroup", "0::/z\n");
	put("sys/fs/cgroup/z/cpu.max", "x y z\n");
	CHECK_NEAR(cpus_quota(root), 0, 0);
	put("sys/fs/cgroup/z/cpu.max", "100 0\n");
	CHECK_NEAR(cpus_quota(root), 0, 0);
}

static void this_process_may_use_at_least_one(void)
{
	CHECK(cpus_usable() >= 1);
}

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	TAP_RUN(the_tightest_group_of_version_2_counts);
	TAP_RUN(a_group_of_version_1_has_its_quota_in_two_files);
	TAP_RUN(what_is_not_there_or_not_understood_is_no_limit);
	TAP_RUN(this_process_may_use_at_least_one);
	char command[PATH_MAX];
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command) == 0 ? tap_done() : 1;
}
