/*
 * The second generator against a service that counts what it is sent: it answers one request of a
 * connection after the other, each after 2 ms, so that by Little's law N connections get N / 2 ms
 * from it, however many generators send them.
 */
#include "load/second.h"

#include "base/clock.h"
#include "tap.h"

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONCURRENCY = 7 };

struct seen {
	_Atomic int under_way, most;
	_Atomic int64_t requests;
};

static struct seen *seen;
static struct arena arena;
static pid_t server;
static int port;

static void *answer(void *arg)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	int fd = (int)(intptr_t)arg;
	char data[4096];
	while (recv(fd, data, sizeof(data), 0) > 0) {
		int now = atomic_fetch_add(&seen->under_way, 1) + 1, most = seen->most;
		while (now > most && !atomic_compare_exchange_weak(&seen->most, &most, now))
			;
		atomic_fetch_add(&seen->requests, 1);
		usleep(2000);
		atomic_fetch_sub(&seen->under_way, 1);
		if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void serve(int listener)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		pthread_t thread;
		if (fd >= 0 && pthread_create(&thread, NULL, answer, (void *)(intptr_t)fd) == 0)
			pthread_detach(thread);
	}
}

static bool start_server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || bind(fd, (struct sockaddr *)&at, len) != 0 ||
	        listen(fd, 64) != 0 || getsockname(fd, (struct sockaddr *)&at, &len) != 0)
		return false;
	port = ntohs(at.sin_port);
	server = fork();
	if (server == 0)
		serve(fd);
	close(fd);
	return server > 0;
}

static struct load *open_load(void)
{
	struct load *load = NULL;
	struct err err;
	const struct load_config config = {
		.url = arena_printf(&arena, "http://127.0.0.1:%d/", port),
		.api = "http",
		.timeout_ns = 10 * NS_PER_S,
	};
	if (!load_open(&config, &arena, &load, &err))
		printf("# %s\n", err.text);
	return load;
}

static const struct load_shape shape = { .concurrency = CONCURRENCY, .duration_ns = NS_PER_S };

/* What the run before looked like, which says how long the windows have to be. */
static struct load_run run_before(double latency_ms, double rate_per_s)
{
	struct load_run r = { .throughput.requests_per_s = rate_per_s };
	hist_init(&r.metrics[LOAD_LATENCY], &arena);
	hist_record_n(&r.metrics[LOAD_LATENCY], (int64_t)(latency_ms * NS_PER_MS), 1000);
	return r;
}

static void two_halves_send_no_more_at_a_time_than_one_whole_and_as_fast(void)
{
	const struct load_run before = run_before(2, 1000 * CONCURRENCY / 2.0);
	struct load_halved h = { 0 };
	struct load *load = open_load();
	if (!CHECK(load != NULL))
		return;
	second_measure(load, &shape, &before, 2 * NS_PER_S, NULL, &arena, &h);
	load_close(load);
	CHECK_INT(h.n, 3);
	CHECK(h.why && h.why[0]);
	CHECK(seen->most <= CONCURRENCY);
	CHECK(seen->most > CONCURRENCY / 2 + 1); /* both sent at the same time */
	/* A whole and two halves: a missing half would make it 3/7 or 4/7. */
	CHECK(h.alone_per_s > 0 && h.ratio > 0.75);
	CHECK_NEAR(h.ratio, h.requests_per_s / h.alone_per_s, 1e-9);
	/* In all measurements together not more than in their time at the most that is possible. */
	CHECK((double)seen->requests <= 2.5 * 1000 * CONCURRENCY / 2.0);
}

static void what_cannot_be_measured_in_time_is_not_and_says_why(void)
{
	static const struct {
		double latency_ms, rate_per_s;
		int64_t budget_ns;
	} cases[] = {
		{ 2, 3500, 100 * NS_PER_MS }, /* windows below 100 ms */
		{ 2000, 10, 2 * NS_PER_S },   /* answers that take longer than the window */
		{ 2, 20, 2 * NS_PER_S },      /* a handful of requests */
	};
	struct load *load = open_load();
	int64_t requests = seen->requests;
	if (!CHECK(load != NULL))
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct load_run before = run_before(cases[i].latency_ms, cases[i].rate_per_s);
		struct load_halved h = { 0 };
		second_measure(load, &shape, &before, cases[i].budget_ns, NULL, &arena, &h);
		CHECK_INT(h.n, 0);
		CHECK(h.why && h.why[0]);
	}
	load_close(load);
	CHECK_INT(seen->requests, requests);
}

static void a_stop_ends_it_without_figures_and_leaves_no_process_behind(void)
{
	const struct load_run before = run_before(2, 3500);
	const atomic_bool stop = true;
	const struct load_hooks hooks = { .stop = &stop };
	struct load_halved h = { 0 };
	struct load *load = open_load();
	if (!CHECK(load != NULL))
		return;
	int64_t from = clock_now_ns();
	second_measure(load, &shape, &before, 6 * NS_PER_S, &hooks, &arena, &h);
	load_close(load);
	CHECK_INT(h.n, 0);
	CHECK(clock_now_ns() - from < 3 * NS_PER_S);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), 0); /* the service, and it runs */
}

int main(void)
{
	if (!start_server())
		return 1;
	TAP_RUN(two_halves_send_no_more_at_a_time_than_one_whole_and_as_fast);
	TAP_RUN(what_cannot_be_measured_in_time_is_not_and_says_why);
	TAP_RUN(a_stop_ends_it_without_figures_and_leaves_no_process_behind);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	arena_release(&arena);
	return tap_done();
}
