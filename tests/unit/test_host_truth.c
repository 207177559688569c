/*
 * The machine's signals against programs that know what they did: threads of known CPU time on a
 * known core, known bytes and connections in a network of their own.
 *
 * Others use the machine at the same time, so that a core may be busier than by the test's own
 * thread; what must not be is that it looks less busy, or busier on a quiet machine. A disturbed
 * attempt is made again.
 */
#include "child.h"
#include "tree_sampler.h"

#include "watch/sources.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

enum { ATTEMPTS = 3 };

/* A real watch of one source and process. */
static struct sampler *watch(struct arena *run, const struct watch_source *source, const int *pid)
{
	static const struct watch_source *one[1];
	struct err err;
	struct sampler *s = NULL;
	one[0] = source;
	const struct watch_config config = {
		.root = "",
		.interval_ns = 100 * NS_PER_MS,
		.pids = pid,
		.n_pids = pid ? 1 : 0,
		.sources = one,
		.n_sources = 1,
	};
	if (!sampler_open(&config, run, &s, &err) || !sampler_start(s, &err))
		printf("# %s\n", err.text);
	return s;
}

/* Opens the window and waits until it is open. */
static void begin(struct sampler *s, struct arena *run)
{
	struct signal_system nothing;
	sampler_begins(s);
	sampler_report(s, INT64_MIN, run, &nothing);
}

static double thread_cpu_s(void)
{
	return (double)clock_thread_cpu_ns() / 1e9;
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Of the CPUs that this process may use. */
static int last_cpu(void)
{
	cpu_set_t set;
	int last = 0;
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			last = i;
	return last;
}

/* Burns for 100 ms and rests for 100 ms until its pipe is closed or the test says stop. */
static void burn_half_the_time(int go_fd, int answer_fd)
{
	child_wait(go_fd);
	pin(last_cpu());
	double before = thread_cpu_s();
	int64_t begin_ns = clock_now_ns();
	for (int i = 0; i < 10; i++) {
		while (clock_now_ns() < begin_ns + (2 * i + 1) * 100 * NS_PER_MS)
			;
		clock_sleep_until(begin_ns + (2 * i + 2) * 100 * NS_PER_MS);
	}
	double used = thread_cpu_s() - before;
	child_put(answer_fd, &used, sizeof(used));
	child_wait(go_fd);
}

/* true: nobody disturbed, and the core shows what its program used within 2 % of the time. */
static bool core_shows_what_was_used(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct signal_system got;
	char core[32];
	double used_s = 0;
	struct child c = child_start(burn_half_the_time);
	struct sampler *s = watch(run, &host_cpu_source, NULL);
	snprintf(core, sizeof(core), "cpu%d", last_cpu());
	begin(s, run);
	child_go(&c);
	CHECK(child_get(&c, &used_s, sizeof(used_s)));
	sampler_ends(s);
	sampler_report(s, INT64_MIN, run, &got);
	double length_s = got.to_s - got.from_s, share = used_s / length_s;
	const struct signal *user = system_signal(&got, "host_core_user_ratio", core);
	const struct signal *all = system_signal(&got, "host_core_ratio", core);
	const struct signal *idle = system_signal(&got, "host_core_idle_ratio", core);
	const struct signal *busiest = system_signal(&got, "host_busiest_core_ratio", NULL);
	printf("# of %.3f s: program %.4f, core %.4f (user %.4f), idle %.4f\n", length_s, share,
	        all->mean, user->mean, idle->mean);
	/* always, however busy the machine is */
	CHECK(all->mean > share - 0.02);
	CHECK(idle->mean < 1 - share + 0.02);
	CHECK(user->mean <= all->mean + 1e-9 && all->mean + idle->mean <= 1 + 1e-9);
	CHECK(busiest->max > share - 0.05);
	CHECK_NEAR(system_signal(&got, "host_cores", NULL)->last, sysconf(_SC_NPROCESSORS_ONLN), 0);
	sampler_close(s);
	child_end(&c);
	bool is_true = fabs(all->mean - share) < 0.02 && share > 0.45;
	arena_release(run);
	return is_true;
}

static void a_core_is_as_busy_as_its_only_program(void)
{
	for (int i = 0; i < ATTEMPTS; i++)
		if (core_shows_what_was_used())
			return;
	tap_skip("others use the core all the time: only the lower bound was checked");
}

/* ---- a network of its own ---- */

enum { CONNECTIONS = 25, PAYLOAD = 64 << 20 };

static bool bring_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
	close(fd);
	return ok;
}

static int listen_here(struct sockaddr_in *ret_at)
{
	socklen_t len = sizeof(*ret_at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*ret_at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (bind(fd, (struct sockaddr *)ret_at, sizeof(*ret_at)) != 0 ||
	        listen(fd, CONNECTIONS) != 0 ||
	        getsockname(fd, (struct sockaddr *)ret_at, &len) != 0)
		_exit(1);
	return fd;
}

static int connect_to(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) != 0)
		_exit(1);
	return fd;
}

static void send_all(int from, int to)
{
	static char block[64 << 10];
	for (size_t sent = 0, received = 0; received < PAYLOAD;) {
		ssize_t n = sent < PAYLOAD ? send(from, block, sizeof(block), MSG_DONTWAIT) : 0;
		sent += n > 0 ? (size_t)n : 0;
		n = recv(to, block, sizeof(block), MSG_DONTWAIT);
		received += n > 0 ? (size_t)n : 0;
	}
}

static uint32_t retransmits_of(const int *fds)
{
	uint32_t sum = 0;
	for (int i = 0; i < CONNECTIONS; i++) {
		struct tcp_info info = { 0 };
		socklen_t len = sizeof(info);
		getsockopt(fds[i], IPPROTO_TCP, TCP_INFO, &info, &len);
		sum += info.tcpi_total_retrans;
	}
	return sum;
}

/*
 * Says whether it has a network; opens connections and sends when told, then says what its sockets
 * had to send again; then waits.
 */
static void use_a_network(int go_fd, int answer_fd)
{
	struct sockaddr_in at;
	bool ok = unshare(CLONE_NEWNET) == 0 && bring_up_loopback();
	child_put(answer_fd, &ok, sizeof(ok));
	child_wait(go_fd);
	int listener = listen_here(&at), from[CONNECTIONS], to[CONNECTIONS];
	for (int i = 0; i < CONNECTIONS; i++) {
		from[i] = connect_to(&at);
		to[i] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	send_all(from[0], to[0]);
	uint32_t again = retransmits_of(from) + retransmits_of(to);
	child_put(answer_fd, &again, sizeof(again));
	child_wait(go_fd);
}

static void bytes_and_connections_of_a_network_of_its_own_are_counted(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct signal_system got;
	bool ok = false;
	uint32_t again = 0;
	struct child c = child_start(use_a_network);
	if (!child_get(&c, &ok, sizeof(ok)) || !ok) {
		tap_skip("no network namespace can be made here (needs root)");
		child_end(&c);
		return;
	}
	struct sampler *s = watch(run, &host_network_source, &c.pid);
	begin(s, run);
	child_go(&c);
	CHECK(child_get(&c, &again, sizeof(again)));
	sampler_ends(s);
	sampler_report(s, INT64_MIN, run, &got);
	const struct signal *rx = system_signal(&got, "host_net_rx_bytes_per_s", "lo");
	const struct signal *tx = system_signal(&got, "host_net_tx_bytes_per_s", "lo");
	/* the headers and acknowledgements are below 2 % with segments of tens of KiB */
	printf("# sent %d bytes, lo received %.0f\n", PAYLOAD, rx->delta);
	CHECK(rx->delta >= PAYLOAD && rx->delta <= 1.02 * PAYLOAD);
	CHECK_NEAR(tx->delta, rx->delta, 0);
	CHECK_NEAR(system_signal(&got, "host_tcp_accepts_per_s", NULL)->delta, CONNECTIONS, 0);
	CHECK_NEAR(system_signal(&got, "host_tcp_connects_per_s", NULL)->delta, CONNECTIONS, 0);
	CHECK_NEAR(system_signal(&got, "host_tcp_established", NULL)->last, 2 * CONNECTIONS, 0);
	/* both ends and the listener */
	CHECK_NEAR(system_signal(&got, "host_tcp_sockets", NULL)->last, 2 * CONNECTIONS + 1, 0);
	/* a probe of the last segment may still be sent after the sockets were asked */
	CHECK_NEAR(system_signal(&got, "host_tcp_retransmits_per_s", NULL)->delta, again + 1.0, 1);
	CHECK(strstr(system_signal(&got, "host_net_namespace", NULL)->text, "of process") != NULL);
	sampler_close(s);
	child_end(&c);
	arena_release(run);
}

/* What the kernel tells elsewhere must agree. */
static void this_machine_is_described_as_its_library_calls_do(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct signal_system got;
	struct sampler *s = watch(run, &host_memory_source, NULL);
	sampler_begins(s);
	sampler_ends(s);
	sampler_report(s, INT64_MIN, run, &got);
	double total = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	CHECK_NEAR(system_signal(&got, "host_memory_bytes", NULL)->last, total, 0);
	double free_now = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	/* available is at least about what is free, and less than all */
	double available = system_signal(&got, "host_memory_available_bytes", NULL)->last;
	CHECK(available > 0.8 * free_now && available < total);
	sampler_close(s);
	arena_release(run);
}

int main(void)
{
	TAP_RUN(a_core_is_as_busy_as_its_only_program);
	TAP_RUN(bytes_and_connections_of_a_network_of_its_own_are_counted);
	TAP_RUN(this_machine_is_described_as_its_library_calls_do);
	return tap_done();
}
