/* What a load thread tells of itself, and what the controller sees. */
#include "load/gauge.h"
#include "load/observer.h"

#include "tap.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static struct arena arena;

/* Each row: the loop waits from, until at the latest, and comes back; the turn ends at the next. */
static void a_turn_lasts_from_when_it_should_have_begun_to_the_next_wait(void)
{
	static const struct {
		int64_t from, deadline, back, turn; /* turn: -1 for none yet */
	} rows[] = {
		{ 1000, 2000, 1500, -1 },
		{ 1600, 3000, 1700, 100 },  /* came back before the deadline: the turn from 1500 */
		{ 1900, 2500, 9000, 200 },  /* stopped: came back 6500 late */
		{ 9100, 9050, 9100, 6600 }, /* from 2500 on others had to wait */
		{ 9300, 9900, 9400, 200 },  /* a deadline that had passed: from the wait itself */
	};
	struct load_shared shared = { .window_start_ns = 0, .window_end_ns = INT64_MAX };
	struct gauge g;
	gauge_init(&g, &arena);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t n = g.loop_lag.n;
		hist_sum_t sum = g.loop_lag.sum;
		gauge_turn(&g, &shared, rows[i].from, rows[i].deadline, rows[i].back);
		CHECK_INT(g.loop_lag.n - n, rows[i].turn >= 0);
		if (rows[i].turn >= 0)
			CHECK_INT(g.loop_lag.sum - sum, rows[i].turn);
	}
}

static void turns_outside_the_window_do_not_count(void)
{
	struct load_shared shared = { .window_start_ns = 5000, .window_end_ns = 6000 };
	struct gauge g;
	gauge_init(&g, &arena);
	for (int64_t t = 4000; t < 7000; t += 100)
		gauge_turn(&g, &shared, t, t + 50, t + 10);
	CHECK_INT(g.loop_lag.n, 10);
	CHECK_INT(g.loop_lag.max, 90);
}

static void waiting_for_a_core_is_told_where_the_kernel_counts_it(void)
{
	struct gauge g;
	gauge_init(&g, &arena);
	CHECK_INT(g.wait_ns, -1);
	gauge_open_window(&g);
	g.bytes_read = 500;
	gauge_close_window(&g);
	CHECK_INT(g.window_bytes, 500);
	CHECK(g.wait_ns >= -1);
	if (g.wait_ns < 0)
		tap_skip("this kernel has no schedstat");
}

/* Two ends of a TCP connection over loopback. */
static bool connect_pair(int *ret_near, int *ret_far)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*ret_near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0 &&
	          getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
	          connect(*ret_near, (struct sockaddr *)&at, len) == 0;
	*ret_far = ok ? accept(listener, NULL, NULL) : -1;
	close(listener);
	return ok && *ret_far >= 0;
}

static void bytes_are_compared_with_the_kernels_count(void)
{
	char data[1000] = { 0 };
	int near, far;
	struct gauge g;
	gauge_init(&g, &arena);
	if (!CHECK(connect_pair(&near, &far)))
		return;
	CHECK_INT(send(far, data, 1000, 0), 1000);
	CHECK_INT(recv(near, data, 600, MSG_WAITALL), 600);
	gauge_compare_bytes(&g, near, 600);
	if (g.n_compared == 0) {
		tap_skip("this kernel does not count the bytes of a connection");
	} else {
		CHECK_INT(g.bytes_apart, 0); /* 600 read, 400 unread */
		gauge_compare_bytes(&g, near, 590);
		CHECK_INT(g.bytes_apart, 10);
		close(far);
		CHECK_INT(recv(near, data, 400, MSG_WAITALL), 400);
		CHECK_INT(recv(near, data, 1, 0), 0);
		gauge_compare_bytes(&g, near, 1000);
		CHECK_INT(g.bytes_apart, 10); /* the end of the stream is no byte */
		CHECK_INT(g.n_compared, 3);
	}
	close(near);
}

static void the_line_of_all_cpus_is_read_and_nothing_else(void)
{
	static const char *const wrong[] = { "", "cpu", "cpu0 1 2 3 4 5 6 7 8",
		"cpu  1 2 3 4 5 6 7", "cpu  a b c d e f g h", "intr 1 2 3" };
	struct cpu_times t = { 0 };
	CHECK(observer_parse_cpu(STR("cpu  10 20 30 40 50 60 70 80 5 6\ncpu0 1 2\n"), &t));
	CHECK_NEAR(t.all, 360, 0);
	CHECK_NEAR(t.stolen, 80, 0);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (!CHECK(!observer_parse_cpu(str_of(wrong[i]), &t)))
			printf("#   '%s'\n", wrong[i]);
}

int main(void)
{
	TAP_RUN(a_turn_lasts_from_when_it_should_have_begun_to_the_next_wait);
	TAP_RUN(turns_outside_the_window_do_not_count);
	TAP_RUN(waiting_for_a_core_is_told_where_the_kernel_counts_it);
	TAP_RUN(bytes_are_compared_with_the_kernels_count);
	TAP_RUN(the_line_of_all_cpus_is_read_and_nothing_else);
	arena_release(&arena);
	return tap_done();
}
