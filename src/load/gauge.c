#include "load/gauge.h"

#include "base/str.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

void gauge_init(struct gauge *g, struct arena *run)
{
	*g = (struct gauge){ .wait_ns = -1 };
	hist_init(&g->loop_lag, run);
	for (int i = 0; i < GAUGE_FDS; i++)
		atomic_init(&g->fds[i], -1);
}

/*
 * How long this thread has been ready to run without a core: by other threads, by its quota, by the
 * machine's host. -1 where the kernel keeps no such count.
 */
static int64_t waited_ns(void)
{
	long long running, waiting;
	AUTO(auto_file) FILE *f = fopen("/proc/thread-self/schedstat", "re");
	return f && fscanf(f, "%lld %lld", &running, &waiting) == 2 ? waiting : -1;
}

void gauge_open_window(struct gauge *g)
{
	g->wait_start_ns = waited_ns();
	g->bytes_start = g->bytes_read;
}

void gauge_close_window(struct gauge *g)
{
	int64_t now = waited_ns();
	g->wait_ns = now < 0 || g->wait_start_ns < 0 ? -1 : now - g->wait_start_ns;
	g->window_bytes = g->bytes_read - g->bytes_start;
}

void gauge_turn(struct gauge *g, const struct load_shared *shared, int64_t wait_from_ns,
        int64_t deadline_ns, int64_t now_ns)
{
	if (g->turn_from_ns && load_in_window(shared, g->turn_from_ns))
		hist_record(&g->loop_lag, wait_from_ns - g->turn_from_ns);
	int64_t due = deadline_ns > wait_from_ns ? deadline_ns : wait_from_ns;
	g->turn_from_ns = now_ns < due ? now_ns : due;
}

void gauge_opened(struct gauge *g, int64_t slot, int fd)
{
	g->opened++;
	if (slot < GAUGE_FDS)
		atomic_store_explicit(&g->fds[slot], fd, memory_order_relaxed);
}

void gauge_compare_bytes(struct gauge *g, int fd, int64_t read_bytes)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	const socklen_t needed =
	        offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
	int before, after;
	if (ioctl(fd, SIOCINQ, &before) != 0 ||
	        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 || len < needed ||
	        ioctl(fd, SIOCINQ, &after) != 0 || before != after)
		return;
	int64_t apart = (int64_t)info.tcpi_bytes_received - (read_bytes + after);
	g->n_compared++;
	g->bytes_apart += apart == 1 ? 0 : llabs(apart);
}
