/*
 * Groups that the test makes itself, with a known quota and a known limit, against what the program
 * in them saw: its own CPU clock, the gaps in which it could not run, the signal that ended it.
 *
 * Needs root and groups of version 1 or 2 that can be written; skips elsewhere.
 */
#include "child.h"
#include "tree_sampler.h"

#include "watch/sources.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

enum {
	PERIOD_US = 100000,
	QUOTA_US = 20000,
	THREADS = 2,
	GAP_MS = 40, /* longer than turns of other programs, shorter than being held back */
	ATTEMPTS = 3,
	HIGHEST_SHARES = 262144,
	HIGHEST_WEIGHT = 10000,
	LIMIT_BYTES = 32 << 20,
};

/* ---- groups ---- */

static char group_name[64];

static bool put(const char *dir, const char *file, const char *fmt, long long number)
{
	char path[256], text[64];
	snprintf(path, sizeof(path), "%s/%s/%s", dir, group_name, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	int len = snprintf(text, sizeof(text), fmt, number);
	bool ok = write(fd, text, (size_t)len) == len;
	close(fd);
	return ok;
}

/* Makes the group below a mount; false where that cannot be. */
static bool make_group(const char *dir)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, group_name);
	return mkdir(path, 0755) == 0 || errno == EEXIST;
}

static void remove_group(const char *dir)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, group_name);
	for (int i = 0; i < 100 && rmdir(path) != 0 && errno == EBUSY; i++)
		clock_sleep_until(clock_now_ns() + 10 * NS_PER_MS);
}

/* Mounts on which groups can be made: of cpu, cpuacct and memory. NULL: version 2 has it. */
struct mounts {
	const char *cpu, *acct, *memory;
};

static const struct mounts first = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct",
	"/sys/fs/cgroup/memory" };
static const struct mounts second = { "/sys/fs/cgroup", NULL, "/sys/fs/cgroup" };

/*
 * The quota, and a weight that lets the group's threads go before all others: held back by nothing
 * but their quota they feel what the kernel counts.
 */
static bool set_quota(const struct mounts *m)
{
	if (m->acct)
		return make_group(m->cpu) && make_group(m->acct) &&
		       put(m->cpu, "cpu.shares", "%lld", HIGHEST_SHARES) &&
		       put(m->cpu, "cpu.cfs_period_us", "%lld", PERIOD_US) &&
		       put(m->cpu, "cpu.cfs_quota_us", "%lld", QUOTA_US);
	return make_group(m->cpu) && put(m->cpu, "cpu.weight", "%lld", HIGHEST_WEIGHT) &&
	       put(m->cpu, "cpu.max", "%lld 100000", QUOTA_US);
}

static const struct mounts *find_quota(void)
{
	const struct mounts *found = set_quota(&first)    ? &first
	                             : set_quota(&second) ? &second
	                                                  : NULL;
	return found;
}

static bool set_limit(const struct mounts *m)
{
	return make_group(m->memory) &&
	       put(m->memory, m->acct ? "memory.limit_in_bytes" : "memory.max", "%lld",
	               LIMIT_BYTES);
}

/* ---- a program that burns all it gets ---- */

struct seen {
	_Atomic int64_t n_gaps, gaps_ns; /* of one thread */
};
static struct seen *seen; /* [THREADS], shared with the parent */

/* Each on a core of its own: the kernel counts the cores that are held back, not the threads. */
static void *burn(void *arg)
{
	struct seen *mine = arg;
	cpu_set_t own;
	CPU_ZERO(&own);
	CPU_SET(mine - seen, &own);
	sched_setaffinity(0, sizeof(own), &own);
	for (int64_t last_ns = clock_now_ns();;) {
		int64_t now_ns = clock_now_ns(), gap_ns = now_ns - last_ns;
		if (gap_ns > GAP_MS * NS_PER_MS) {
			mine->n_gaps++;
			mine->gaps_ns += gap_ns;
		}
		last_ns = now_ns;
	}
	return NULL;
}

static void burn_on_all(int go_fd, int answer_fd)
{
	pthread_t threads[THREADS];
	child_wait(go_fd);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, burn, &seen[i]);
	child_put(answer_fd, "", 1);
	pthread_join(threads[0], NULL);
}

static double cpu_of(int pid)
{
	clockid_t id;
	struct timespec now = { 0 };
	if (clock_getcpuclockid(pid, &id) == 0)
		clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct sampler *watch(
        struct arena *run, const struct watch_source *const *source, const int *pid)
{
	struct err err;
	struct sampler *s = NULL;
	const struct watch_config config = { .root = "",
		.interval_ns = 100 * NS_PER_MS,
		.pids = pid,
		.n_pids = 1,
		.sources = source,
		.n_sources = 1 };
	if (!sampler_open(&config, run, &s, &err) || !sampler_start(s, &err))
		printf("# %s\n", err.text);
	return s;
}

/* What the program saw between two moments. */
struct window {
	double cpu_s, length_s;
	int64_t n_gaps;
	double gaps_s;
};

static struct window look(int pid)
{
	struct window w = { .cpu_s = cpu_of(pid), .length_s = (double)clock_now_ns() / 1e9 };
	for (int i = 0; i < THREADS; i++) {
		w.n_gaps += seen[i].n_gaps;
		w.gaps_s += (double)seen[i].gaps_ns / 1e9;
	}
	return w;
}

/* Opens the window and waits until it is open. */
static void begin(struct sampler *s, struct arena *run)
{
	struct signal_system nothing;
	sampler_begins(s);
	sampler_report(s, INT64_MIN, run, &nothing);
}

/* Watches the burning program for a while. */
static struct window watch_burning(
        struct sampler *s, int pid, struct arena *run, struct signal_system *got)
{
	struct window a, b;
	begin(s, run);
	a = look(pid);
	clock_sleep_until(clock_now_ns() + 2500 * NS_PER_MS);
	b = look(pid);
	sampler_ends(s);
	sampler_report(s, INT64_MIN, run, got);
	return (struct window){ b.cpu_s - a.cpu_s, b.length_s - a.length_s, b.n_gaps - a.n_gaps,
		b.gaps_s - a.gaps_s };
}

static bool is_near(double got, double want, double tolerance)
{
	return fabs(got - want) <= tolerance;
}

/*
 * The signals are those of the program: CPU within 2 % or one period's quota, periods by the gaps
 * of its threads. On a machine where others take cores, gaps are also of other causes: then false.
 */
static bool signals_are_what_the_program_saw(
        struct sampler *s, int pid, const char *group, const char *acct_group)
{
	struct arena memory = { 0 }, *run = &memory;
	struct signal_system got;
	struct window w = watch_burning(s, pid, run, &got);
	const struct signal *use = system_signal(&got, "cgroup_cpu_ratio", acct_group);
	const struct signal *ratio = system_signal(&got, "cgroup_throttled_ratio", group);
	const struct signal *count = system_signal(&got, "cgroup_throttled_periods_per_s", group);
	const struct signal *time = system_signal(&got, "cgroup_throttled_time_ratio", group);
	const double quota = (double)QUOTA_US / PERIOD_US, one_period_s = QUOTA_US / 1e6;
	printf("# in %.2f s: CPU %.3f s (group %.3f), %lld gaps of %.2f s (periods %.0f, %.2f s), "
	       "share %.3f\n",
	        w.length_s, w.cpu_s, use->delta, (long long)w.n_gaps, w.gaps_s, count->delta,
	        time->delta, ratio->mean);
	CHECK_NEAR(use->delta, w.cpu_s, 0.02 * w.cpu_s + one_period_s);
	CHECK(use->mean <= 1.02 * quota + one_period_s / w.length_s);
	CHECK_NEAR(system_signal(&got, "cgroup_quota_cores", group)->last, quota, 1e-12);
	CHECK_STR(system_signal(&got, "cgroup_quota_level", group)->text, group);
	/* two threads on two cores: each is held back once a period; an edge may cut one off */
	double gaps_a_thread = (double)w.n_gaps / THREADS;
	bool is_true =
	        is_near(gaps_a_thread, count->delta, 2 + 0.05 * count->delta) &&
	        is_near(time->delta, w.gaps_s, 0.02 * w.gaps_s + THREADS * PERIOD_US / 1e6) &&
	        is_near(use->mean, quota, 0.02 * quota + one_period_s / w.length_s) &&
	        ratio->mean > 0.9;
	arena_release(run);
	return is_true;
}

static void throttling_is_what_a_program_under_a_quota_feels(void)
{
	static const struct watch_source *const cpu[] = { &cgroup_cpu_source };
	struct arena memory = { 0 };
	const struct mounts *m = find_quota();
	char group[80];
	if (!m) {
		tap_skip("no group with a CPU quota can be made here");
		return;
	}
	seen = mmap(NULL, sizeof(*seen) * THREADS, PROT_READ | PROT_WRITE,
	        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(group, sizeof(group), "/%s", group_name);
	struct child c = child_start(burn_on_all);
	CHECK(put(m->cpu, "cgroup.procs", "%lld", c.pid));
	CHECK(!m->acct || put(m->acct, "cgroup.procs", "%lld", c.pid));
	struct sampler *s = watch(&memory, cpu, &c.pid);
	char started;
	child_go(&c);
	CHECK(child_get(&c, &started, 1));
	bool is_true = false;
	for (int i = 0; i < ATTEMPTS && !is_true; i++)
		is_true = signals_are_what_the_program_saw(s, c.pid, group, group);
	if (!is_true)
		tap_skip("others use the cores: only the CPU time was compared");
	sampler_close(s);
	child_end(&c);
	remove_group(m->cpu);
	if (m->acct)
		remove_group(m->acct);
	arena_release(&memory);
}

/* ---- a program that takes more memory than it may have ---- */

static void take_too_much(int go_fd, int answer_fd)
{
	size_t size = (size_t)LIMIT_BYTES / 2;
	child_wait(go_fd);
	char *pages = mmap(NULL, (size_t)LIMIT_BYTES * 4, PROT_READ | PROT_WRITE,
	        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(pages, 1, size);
	child_put(answer_fd, "", 1);
	child_wait(go_fd);
	memset(pages, 1, (size_t)LIMIT_BYTES * 4);
	child_put(answer_fd, "", 1);
}

static void a_memory_limit_that_is_met_is_counted(void)
{
	static const struct watch_source *const source[] = { &cgroup_memory_source };
	struct arena memory = { 0 }, *run = &memory;
	struct signal_system got;
	const struct mounts *m = set_limit(&first) ? &first : set_limit(&second) ? &second : NULL;
	char group[80], half, whole;
	int status = 0;
	if (getenv("VENTURI_SANITIZED")) {
		tap_skip("what a sanitizer keeps beside each page counts against the limit, too");
		return;
	}
	if (!m) {
		tap_skip("no group with a memory limit can be made here");
		return;
	}
	snprintf(group, sizeof(group), "/%s", group_name);
	struct child c = child_start(take_too_much);
	CHECK(put(m->memory, "cgroup.procs", "%lld", c.pid));
	struct sampler *s = watch(run, source, &c.pid);
	begin(s, run);
	child_go(&c);
	CHECK(child_get(&c, &half, 1));
	sampler_ends(s);
	sampler_report(s, INT64_MIN, run, &got);
	/* 16 MiB and what the kernel needs for them */
	double anon = system_signal(&got, "cgroup_anon_bytes", group)->last;
	CHECK_NEAR(anon, LIMIT_BYTES / 2.0, 0.02 * LIMIT_BYTES);
	CHECK_NEAR(system_signal(&got, "cgroup_memory_limit_bytes", group)->last, LIMIT_BYTES, 0);
	CHECK_NEAR(system_signal(&got, "cgroup_memory_used_ratio", group)->last, 0.5, 0.05);
	CHECK_NEAR(system_signal(&got, "cgroup_oom_kills_per_s", group)->delta, 0, 0);

	begin(s, run);
	child_go(&c);
	CHECK(!child_get(&c, &whole, 1));
	CHECK(waitpid(c.pid, &status, 0) == c.pid && WIFSIGNALED(status) &&
	        WTERMSIG(status) == SIGKILL);
	sampler_ends(s);
	sampler_report(s, INT64_MIN, run, &got);
	const struct signal *hits = system_signal(&got, "cgroup_memory_at_limit_per_s", group);
	const struct signal *peak = system_signal(&got, "cgroup_memory_peak_bytes", group);
	printf("# limit met %.0f times, at most %.0f bytes\n", hits->delta, peak->last);
	CHECK(hits->delta >= 1);
	CHECK(peak->last <= LIMIT_BYTES && peak->last > 0.9 * LIMIT_BYTES);
	CHECK_NEAR(system_signal(&got, "cgroup_oom_kills_per_s", group)->delta, 1, 0);

	/* a group that is gone is not counted any more */
	remove_group(m->memory);
	sampler_begins(s);
	sampler_ends(s);
	sampler_report(s, INT64_MIN, run, &got);
	const struct signal *gone = system_signal(&got, "cgroup_memory_used_bytes", group);
	CHECK(gone->n == 0 && gone->reason && gone->state == SIGNAL_NOT_COUNTED);
	printf("# a group that is gone: %s\n", gone->reason ? gone->reason : "");
	sampler_close(s);
	close(c.go_fd);
	close(c.answer_fd);
	arena_release(run);
}

int main(void)
{
	snprintf(group_name, sizeof(group_name), "venturi-test-%d", (int)getpid());
	TAP_RUN(throttling_is_what_a_program_under_a_quota_feels);
	TAP_RUN(a_memory_limit_that_is_met_is_counted);
	return tap_done();
}
