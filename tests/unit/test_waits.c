#include "tap.h"

#include "child.h"

#include "base/clock.h"
#include "watch/sampler.h"
#include "watch/sources.h"
#include "watch/perf/wait_kind.h"

#include <pthread.h>
#include <sys/syscall.h>

static void a_call_says_what_is_waited_for(void)
{
	static const struct {
		long number;
		enum wait_kind kind;
	} calls[] = {
		{ SYS_futex, WAIT_LOCK },
		{ SYS_epoll_pwait, WAIT_EVENTS },
		{ SYS_recvfrom, WAIT_NETWORK },
		{ SYS_read, WAIT_IO },
		{ SYS_fsync, WAIT_STORAGE },
		{ SYS_clock_nanosleep, WAIT_SLEEP },
		{ SYS_munmap, WAIT_MEMORY },
		{ SYS_ioctl, WAIT_DEVICE },
		{ SYS_wait4, WAIT_OTHER },
		{ 99999, WAIT_OTHER },
		{ -1, WAIT_MEMORY },
	};
	enum wait_kind kind;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		char text[128];
		snprintf(text, sizeof(text), "%ld 0x7ffc 0x80 0x0 0x7ffc\n", calls[i].number);
		CHECK(wait_kind_of_syscall(str_of(text), &kind));
		CHECK_INT(kind, calls[i].kind);
	}
	CHECK(wait_kind_of_syscall(STR("running\n"), &kind) && kind == WAIT_CPU);
	CHECK(!wait_kind_of_syscall(STR(""), &kind));
	CHECK(!wait_kind_of_syscall(STR("runn"), &kind));
	CHECK(!wait_kind_of_syscall(STR("99999999999999999999 0x0"), &kind));
	/* kthreadd: 0 is no read */
	CHECK(wait_kind_of_syscall(STR("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"), &kind));
	CHECK_INT(kind, WAIT_OTHER);
	CHECK(wait_kind_of_syscall(STR("0 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc0 0x7f00\n"), &kind));
	CHECK_INT(kind, WAIT_IO);
	CHECK(wait_kind_of_wchan(STR("futex_wait_queue"), &kind) && kind == WAIT_LOCK);
	CHECK(wait_kind_of_wchan(STR("ep_poll\n"), &kind) && kind == WAIT_EVENTS);
	CHECK(wait_kind_of_wchan(STR("folio_wait_bit_common"), &kind) && kind == WAIT_STORAGE);
	CHECK(wait_kind_of_wchan(STR("do_wait"), &kind) && kind == WAIT_OTHER);
	CHECK(!wait_kind_of_wchan(STR("0"), &kind) && !wait_kind_of_wchan(STR(""), &kind));
}

/* Of a child's thread: the time that it ran, waited as it was meant to, and all of it. */
struct spent {
	double cpu_s, waited_s, wall_s;
	int64_t begin_ns, end_ns;
};

static uint64_t random_state = 1;

/* 0 to 1 (the factors: Knuth's MMIX) */
static double next_random(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static void burn(int64_t ns)
{
	for (int64_t end = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	        clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
		;
}

static void sleep_a_while(int64_t ns)
{
	struct timespec ts = clock_to_timespec(ns);
	nanosleep(&ts, NULL);
}

/* On a condition that nobody signals. */
static void wait_for_nobody(int64_t ns)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until = clock_to_timespec(clock_read_ns(CLOCK_REALTIME) + ns);
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
}

/* Runs and waits in turns of random length, at 3 to 7, until the test has seen enough. */
static void take_turns(int go_fd, int answer_fd, void (*wait)(int64_t ns))
{
	struct spent spent = { 0 };
	int64_t begin_ns = 0, cpu_ns = 0;
	/* Busy before it is looked at. */
	burn(60 * NS_PER_MS);
	child_put(answer_fd, &spent, sizeof(spent));
	child_wait(go_fd);
	begin_ns = clock_now_ns();
	cpu_ns = clock_thread_cpu_ns();
	while (clock_now_ns() - begin_ns < 2200 * NS_PER_MS) {
		burn((int64_t)(6e6 * next_random()));
		int64_t from_ns = clock_now_ns();
		wait((int64_t)(14e6 * next_random()));
		spent.waited_s += (double)(clock_now_ns() - from_ns) / 1e9;
	}
	spent.cpu_s = (double)(clock_thread_cpu_ns() - cpu_ns) / 1e9;
	spent.begin_ns = begin_ns;
	spent.end_ns = clock_now_ns();
	spent.wall_s = (double)(spent.end_ns - begin_ns) / 1e9;
	child_put(answer_fd, &spent, sizeof(spent));
	child_wait(go_fd);
}

static void run_and_sleep(int go_fd, int answer_fd)
{
	take_turns(go_fd, answer_fd, sleep_a_while);
}

static void run_and_wait(int go_fd, int answer_fd)
{
	take_turns(go_fd, answer_fd, wait_for_nobody);
}

static const struct signal *find(const struct signal_system *s, const char *name)
{
	for (size_t i = 0; i < s->n_signals; i++)
		if (strcmp(s->signals[i].name, name) == 0)
			return &s->signals[i];
	return NULL;
}

static const struct watch_source *const waits_only[] = { &waits_source };

/* Of the window, what is not of the child's turns, and of these what is not in the window. */
static double edges_ratio(const struct spent *spent, int64_t begin_ns, double window_s)
{
	double end_ns = (double)begin_ns + window_s * 1e9;
	double apart_ns =
	        fabs((double)(begin_ns - spent->begin_ns)) + fabs(end_ns - (double)spent->end_ns);
	return apart_ns / 1e9 / window_s;
}

/* What the watch saw of a child, beside what the child says. */
static void check_waits(void (*child)(int, int), const char *waited_for)
{
	struct arena run = { 0 };
	struct spent spent;
	struct sampler *s;
	struct signal_system got;
	struct err err;
	struct child c = child_start(child);
	CHECK(child_get(&c, &spent, sizeof(spent)));
	struct watch_config config = {
		.root = "",
		.pids = &c.pid,
		.n_pids = 1,
		.interval_ns = 11 * NS_PER_MS,
		.sources = waits_only,
		.n_sources = 1,
	};
	CHECK(sampler_open(&config, &run, &s, &err) && sampler_start(s, &err));
	child_go(&c);
	sampler_begins(s);
	CHECK(child_get(&c, &spent, sizeof(spent)));
	sampler_ends(s);
	sampler_report(s, INT64_MIN, &run, &got);
	const struct signal *waited = find(&got, waited_for),
	                    *cpu = find(&got, "thread_wait_cpu_ratio");
	const struct signal *blocked = find(&got, "thread_blocked_ratio");
	const struct signal *queued = find(&got, "thread_run_queue_ratio");
	if (waited->state == SIGNAL_NOT_SUPPORTED) {
		tap_skip("the kernel tells nobody what threads wait for");
	} else {
		/* Looks fall on waits as time does, within the binomial interval of 9999 in 10000;
		 * the wait as the child sees it ends only when it has a CPU again. */
		double p = spent.waited_s / spent.wall_s, n = waited->n;
		double width = 3.891 * sqrt(p * (1 - p) / n);
		/* On a busy machine the window opens and closes late. */
		double edges = edges_ratio(&spent, sampler_begin_ns(s), got.to_s - got.from_s);
		CHECK(edges < 0.2);
		CHECK(n > 50);
		CHECK_NEAR(waited->mean, p, width + queued->mean + edges);
		CHECK_NEAR(waited->mean + cpu->mean, 1, 0.05);
		CHECK_NEAR(
		        blocked->mean + queued->mean, 1 - spent.cpu_s / spent.wall_s, 0.03 + edges);
		CHECK(find(&got, "thread_wait_network_ratio")->mean == 0);
	}
	sampler_close(s);
	child_end(&c);
	arena_release(&run);
}

static void a_thread_that_sleeps_is_seen_to(void)
{
	check_waits(run_and_sleep, "thread_wait_sleep_ratio");
}

static void a_thread_that_waits_for_another_is_seen_to(void)
{
	check_waits(run_and_wait, "thread_wait_lock_ratio");
}

/* Sleeps through it all. */
static void be_idle(int go_fd, int answer_fd)
{
	int ready = 1;
	child_put(answer_fd, &ready, sizeof(ready));
	child_wait(go_fd);
}

static void threads_that_do_nothing_are_not_looked_at(void)
{
	struct arena run = { 0 };
	int ready;
	struct sampler *s;
	struct signal_system got;
	struct err err;
	struct child c = child_start(be_idle);
	CHECK(child_get(&c, &ready, sizeof(ready)));
	struct watch_config config = {
		.root = "",
		.pids = &c.pid,
		.n_pids = 1,
		.interval_ns = 100 * NS_PER_MS,
		.sources = waits_only,
		.n_sources = 1,
	};
	CHECK(sampler_open(&config, &run, &s, &err));
	for (int i = 1; i < 70; i++)
		sampler_step(s, i * 100 * NS_PER_MS);
	sampler_report(s, INT64_MIN, &run, &got);
	const struct signal *lock = find(&got, "thread_wait_lock_ratio");
	CHECK_INT(lock->state, SIGNAL_NOT_COUNTED);
	CHECK(strstr(lock->reason, "no thread is busy") != NULL && isnan(lock->mean));
	sampler_close(s);
	child_end(&c);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(a_call_says_what_is_waited_for);
	TAP_RUN(a_thread_that_sleeps_is_seen_to);
	TAP_RUN(a_thread_that_waits_for_another_is_seen_to);
	TAP_RUN(threads_that_do_nothing_are_not_looked_at);
	return tap_done();
}
