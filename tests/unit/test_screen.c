#include "tap.h"

#include "base/i18n.h"
#include "base/utf8.h"
#include "report/screen.h"
#include "report/screen_series.h"

enum { SIGNALS_MAX = 96, THREADS_MAX = 256, POINTS = 60 };

/* A machine that has been watched for a minute, once a second. */
struct seen {
	struct arena run;
	struct signal signals[SIGNALS_MAX];
	struct signal_thread threads[THREADS_MAX];
	struct signal_system system;
	struct screen_view view;
};

static struct seen *seen_new(int rows, int columns)
{
	struct arena run = { 0 };
	struct seen *m = arena_new(&run, struct seen);
	m->run = run;
	m->system = (struct signal_system){ .signals = m->signals,
		.threads = m->threads,
		.from_s = 0,
		.to_s = POINTS,
		.interval_s = 1,
		.n_samples = POINTS + 1 };
	m->view = (struct screen_view){ .rows = rows,
		.columns = columns,
		.zoom = SCREEN_ZOOM_DEFAULT,
		.title = "llama-server (4711)" };
	return m;
}

static void seen_free(struct seen *m)
{
	struct arena run = m->run;
	arena_release(&run);
}

/* Values that rise evenly from 0, exclusively, to last. */
static struct signal *add(
        struct seen *m, const char *name, const char *unit, const char *instance, double last)
{
	struct signal *s = &m->signals[m->system.n_signals++];
	struct signal_point *points = arena_new_n(&m->run, struct signal_point, POINTS);
	for (int i = 0; i < POINTS; i++)
		points[i] = (struct signal_point){ i + 1, last * (i + 1) / POINTS };
	*s = (struct signal){
		.name = name,
		.unit = unit,
		.instance = instance,
		.n = POINTS,
		.mean = last * (POINTS + 1) / 2 / POINTS,
		.min = last / POINTS,
		.p50 = NAN,
		.p95 = NAN,
		.max = last,
		.last = last,
		.delta = NAN,
		.total = NAN,
		.series = points,
		.n_series = POINTS,
		.recent = points + POINTS / 2,
		.n_recent = POINTS / 2,
	};
	return s;
}

static void add_text(struct seen *m, const char *name, const char *instance, const char *text)
{
	struct signal *s = add(m, name, "1", instance, NAN);
	s->text = text;
	s->n_series = s->n_recent = 0;
}

static void add_missing(struct seen *m, const char *name, const char *reason)
{
	m->signals[m->system.n_signals++] = (struct signal){
		.name = name,
		.unit = "1",
		.state = SIGNAL_NOT_SUPPORTED,
		.reason = reason,
		.mean = NAN,
		.min = NAN,
		.p50 = NAN,
		.p95 = NAN,
		.max = NAN,
		.last = NAN,
		.delta = NAN,
		.total = NAN,
	};
}

static void add_threads(struct seen *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double *recent = arena_new_n(&m->run, double, 8);
		for (int k = 0; k < 8; k++)
			recent[k] = (double)(n - i) / (double)n * (k + 1) / 8;
		m->threads[i] = (struct signal_thread){
			.pid = 4711,
			.tid = 4711 + (int)i,
			.name = arena_printf(&m->run, "worker-%zu", i),
			.cpu_ratio = (double)(n - i) / (double)n * 9 / 16,
			.cpu_ratio_max = (double)(n - i) / (double)n,
			.run_queue_ratio = (double)i / (double)n / 5,
			.voluntary_per_s = 100 * (double)i,
			.involuntary_per_s = (double)i,
			.cpus = "0-1",
			.state = i == 0 ? 'R' : 'S',
			.recent = recent,
			.n_recent = 8,
			.n = POINTS,
		};
	}
	m->system.n_threads = n;
	m->system.n_threads_seen = (int64_t)n;
}

static struct seen *busy_machine(int rows, int columns)
{
	struct seen *m = seen_new(rows, columns);
	add(m, "host_cpu_ratio", "ratio", NULL, 0.8);
	add(m, "host_user_ratio", "ratio", NULL, 0.7);
	add(m, "host_system_ratio", "ratio", NULL, 0.1);
	add(m, "host_steal_ratio", "ratio", NULL, 0.04);
	add(m, "host_iowait_ratio", "ratio", NULL, 0);
	add(m, "host_cores", "1", NULL, 0)->last = 4;
	m->signals[m->system.n_signals - 1].n_recent = 0;
	add(m, "host_core_ratio", "ratio", "cpu0", 0.25);
	add(m, "host_core_ratio", "ratio", "cpu1", 0.5);
	add(m, "host_core_ratio", "ratio", "cpu2", 0.75);
	add(m, "host_core_ratio", "ratio", "cpu3", 1);
	add_text(m, "host_busiest_core", NULL, "cpu3");
	add(m, "process_cpu_ratio", "ratio", NULL, 2);
	add(m, "process_run_queue_share_ratio", "ratio", NULL, 0.15);
	add(m, "process_rss_bytes", "bytes", NULL, 3 * 0x1p30);
	add(m, "host_memory_bytes", "bytes", NULL, 0)->last = 16 * 0x1p30;
	m->signals[m->system.n_signals - 1].n_recent = 0;
	add(m, "host_disk_read_bytes_per_s", "bytes/s", "sda", 0x1p20);
	add(m, "host_disk_read_bytes_per_s", "bytes/s", "sdb", 0x1p20);
	add(m, "host_disk_write_bytes_per_s", "bytes/s", "sda", 0);
	add(m, "host_net_rx_bytes_per_s", "bytes/s", "eth0", 512 * 0x1p10);
	add(m, "host_net_tx_bytes_per_s", "bytes/s", "eth0", 0x1p30);
	add(m, "host_tcp_retransmits_per_s", "1/s", NULL, 2);
	add(m, "port_established", "1", "8080", 64);
	add(m, "server_requests_running", "1", NULL, 16);
	add(m, "server_requests_waiting", "1", NULL, 0);
	add(m, "server_kv_used_ratio", "ratio", NULL, 0.96);
	add_missing(m, "gpu_util_ratio", "there is no libnvidia-ml.so.1");
	add_threads(m, 12);
	return m;
}

/* ---- the screen as a whole ---- */

static char *text_of(struct seen *m, const struct signal_server *server)
{
	struct screen s;
	struct buf out = { 0 };
	screen_draw(&m->system, server, &m->view, &m->run, &s);
	m->view.scroll = s.scroll;
	screen_text(&s, &out);
	return out.s;
}

/* Compares with tests/data/screens/NAME.txt, which were read by eye against what was put in. */
static void check_screen(struct seen *m, const char *name)
{
	char file[64], want[1 << 16] = "";
	AUTO(auto_free) char *got = text_of(m, NULL);
	snprintf(file, sizeof(file), "screens/%s.txt", name);
	FILE *f = fopen(tap_data(file), "re");
	if (f) {
		want[fread(want, 1, sizeof(want) - 1, f)] = '\0';
		fclose(f);
	}
	if (!CHECK(strcmp(got, want) == 0))
		printf("# it is not %s:\n%s", file, got);
	seen_free(m);
}

static void a_screen_of_80_by_24_shows_a_busy_machine(void)
{
	check_screen(busy_machine(24, 80), "80x24");
}

static void a_larger_screen_shows_more_strips(void)
{
	check_screen(busy_machine(40, 120), "120x40");
}

static void a_small_one_leaves_out_what_is_told_beside_the_curves(void)
{
	struct seen *m = busy_machine(15, 60);
	m->view.ascii = true;
	check_screen(m, "60x15-ascii");
}

static void a_screen_that_is_too_small_says_so(void)
{
	check_screen(busy_machine(10, 40), "40x10");
}

static void help_lies_over_the_picture(void)
{
	struct seen *m = busy_machine(24, 80);
	m->view.help = m->view.paused = true;
	check_screen(m, "help");
}

static void eight_gpus_are_one_strip_and_a_line_each_in_the_list(void)
{
	static const char *const ids[] = { "0", "1", "2", "3", "4", "5", "6", "7" };
	struct seen *m = seen_new(30, 100);
	for (int i = 0; i < 8; i++)
		add(m, "gpu_util_ratio", "ratio", ids[i], i == 7 ? 0.2 : 1);
	for (int i = 0; i < 8; i++)
		add(m, "gpu_memory_used_bytes", "bytes", ids[i], 60 * 0x1p30);
	for (int i = 0; i < 8; i++)
		add(m, "gpu_power_w", "W", ids[i], 312);
	for (int i = 0; i < 8; i++)
		add_text(m, "gpu_throttle_reasons", ids[i], i == 3 ? "power cap" : "");
	m->view.page = SCREEN_DEVICES;
	check_screen(m, "8-gpus");
}

static void two_hundred_threads_are_scrolled_to_their_end_and_not_beyond(void)
{
	struct seen *m = seen_new(24, 80);
	add_threads(m, 200);
	m->view.scroll = 1000;
	m->view.sort = SCREEN_BY_RUN_QUEUE;
	check_screen(m, "200-threads");
}

static void names_can_neither_steer_the_terminal_nor_shift_the_columns(void)
{
	struct seen *m = seen_new(20, 80);
	add_threads(m, 4);
	m->threads[0].name = "a\033[2Jb\nc";
	m->threads[1].name = "\345\274\240\344\270\211\347\232\204\347\272\277\347\250\213\345\237"
	                     "\267\350\241\214\345\231\250"; /* nine wide characters */
	m->threads[2].name = "e\314\201te\314\201";          /* accents that combine */
	m->threads[3].name = "\xff\xfe";
	m->view.title = "\033]0;title\007";
	check_screen(m, "names");
}

static void chinese_has_its_columns_below_each_other(void)
{
	struct seen *m = busy_machine(24, 80);
	i18n_init("zh");
	if (strcmp(_("network"), "network") == 0 && strcmp(_("Threads"), "Threads") == 0) {
		tap_skip("no Chinese messages beside the program");
		seen_free(m);
	} else {
		check_screen(m, "zh");
	}
	i18n_init("en");
}

static void pages_of_services_are_strips_like_all_others(void)
{
	struct seen *m = seen_new(24, 80), *of = seen_new(24, 80);
	add(of, "server_requests_running", "1", NULL, 8);
	add(of, "server_requests_waiting", "1", NULL, 3);
	struct signal_page pages[2] = { { .signals = of->signals, .n_signals = 2 },
		{ .signals = of->signals, .n_signals = 1 } };
	const struct signal_server server = { .pages = pages, .n_pages = 2 };
	AUTO(auto_free) char *got = text_of(m, &server);
	/* Two pages tell of 8 requests each. */
	CHECK(strstr(got, "        16         16"));
	CHECK(strstr(got, "         3!         3!"));
	seen_free(m);
	seen_free(of);
}

static void what_is_missing_is_named_with_its_reason_and_has_no_zeros(void)
{
	struct seen *m = seen_new(24, 130);
	add_missing(m, "process_cpu_ratio", "no process is watched");
	add_missing(m, "process_rss_bytes", "no process is watched");
	add_missing(m, "gpu_util_ratio", "there is no libnvidia-ml.so.1");
	AUTO(auto_free) char *got = text_of(m, NULL);
	CHECK(strstr(got, "Missing: CPU cores, memory: no process is watched; GPU: there is no "
	                  "libnvidia-ml.so.1; running"));
	CHECK(!strstr(got, "0 "));
	struct signal_page page = { .reason = "connection refused" };
	const struct signal_server server = { .pages = &page, .n_pages = 1 };
	AUTO(auto_free) char *unread = text_of(m, &server);
	CHECK(strstr(unread, "libnvidia-ml.so.1; running: connection refused"));
	seen_free(m);
}

static void a_page_of_another_machine_is_not_added_to_this_one(void)
{
	struct seen *m = seen_new(24, 80), *of = seen_new(24, 80);
	add(m, "host_cpu_ratio", "ratio", NULL, 0.25);
	add_missing(m, "process_rss_bytes", "no process is watched");
	add(of, "host_cpu_ratio", "ratio", NULL, 0.5);
	add(of, "process_rss_bytes", "bytes", NULL, 0x1p30);
	struct signal_page page = { .signals = of->signals, .n_signals = 2 };
	const struct signal_server server = { .pages = &page, .n_pages = 1 };
	AUTO(auto_free) char *got = text_of(m, &server);
	CHECK(strstr(got, "      25 %       25 %"));
	CHECK(strstr(got, "  1.00 GiB   1.00 GiB"));
	seen_free(m);
	seen_free(of);
}

static void the_least_of_the_limits_is_the_top(void)
{
	struct seen *m = seen_new(24, 80);
	add(m, "process_cpu_ratio", "ratio", NULL, 0.48);
	add(m, "process_cpus_allowed_count", "1", NULL, 4)->n_recent = 0;
	add(m, "cgroup_quota_cores", "1", NULL, 0.5)->n_recent = 0;
	AUTO(auto_free) char *got = text_of(m, NULL);
	/* 0.48 of 0.5 is past 95 %, of 4 it would be nothing. */
	CHECK(strstr(got, "▇█       0.48!      0.48!"));
	seen_free(m);
}

static void a_thread_that_is_gone_comes_last(void)
{
	struct seen *m = seen_new(24, 80);
	add_threads(m, 3);
	m->threads[0].state = 0;
	AUTO(auto_free) char *got = text_of(m, NULL);
	CHECK(strstr(got, "\n   4713 worker-2         S   33 %   33 %    13 %!   200/s       2/s"));
	CHECK(strstr(got, "\n   4711 worker-0         -      -  100 %     0 %      0/s       0/s"));
	CHECK(strstr(got, "worker-2") < strstr(got, "worker-0"));
	seen_free(m);
}

static void a_value_that_is_gone_leaves_its_curve_and_a_dash(void)
{
	struct seen *m = seen_new(24, 80);
	add(m, "process_rss_bytes", "bytes", NULL, 0x1p30)->last = NAN;
	AUTO(auto_free) char *got = text_of(m, NULL);
	CHECK(strstr(got, "         -   1.00 GiB"));
	CHECK(strstr(got, "▇█"));
	seen_free(m);
}

/* ---- what always holds ---- */

static void check_row(const struct screen *s, int row)
{
	int columns = 0;
	for (int i = 0; i < s->columns; i++) {
		const struct screen_cell *c = screen_at(s, row, i);
		size_t len = strnlen(c->text, SCREEN_CELL_BYTES);
		CHECK(len < SCREEN_CELL_BYTES && utf8_valid(c->text, len));
		for (size_t k = 0; k < len; k++) {
			unsigned char byte = (unsigned char)c->text[k];
			CHECK(byte >= 0x20 && byte != 0x7f && (!s->ascii || byte < 0x80));
		}
		CHECK_INT(c->width == 0, i > 0 && screen_at(s, row, i - 1)->width == 2);
		CHECK(c->width == 0 || len == 0 || utf8_width(str_of(c->text)) == c->width);
		columns += c->width;
	}
	CHECK_INT(columns, s->columns);
}

static void a_grid_of_any_size_is_whole(void)
{
	static const int sizes[][2] = { { 0, 0 }, { 1, 1 }, { 1, 200 }, { 12, 50 }, { 13, 51 },
		{ 24, 79 }, { 24, 80 }, { 25, 81 }, { 33, 101 }, { 60, 237 }, { 700, 1200 } };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int how = 0; how < 2 * SCREEN_N_PAGES; how++) {
			struct seen *m = busy_machine(sizes[i][0], sizes[i][1]);
			struct screen s;
			m->threads[0].name = "\345\274\240\344\270\211\345\274\240\344\270\211\345"
			                     "\274\240\344\270\211\345\274\240\344\270\211\345\274"
			                     "\240";
			m->view.page = (enum screen_page)(how / 2);
			m->view.ascii = how % 2;
			m->view.help = how % 4 == 3;
			screen_draw(&m->system, NULL, &m->view, &m->run, &s);
			for (int row = 0; row < s.rows; row++)
				check_row(&s, row);
			seen_free(m);
		}
}

static void each_zoom_and_each_order_can_be_shown(void)
{
	for (int zoom = 0; zoom < SCREEN_N_ZOOMS; zoom++)
		for (int sort = 0; sort < SCREEN_N_SORTS; sort++) {
			struct seen *m = busy_machine(24, 80);
			m->view.zoom = zoom;
			m->view.sort = (enum screen_sort)sort;
			AUTO(auto_free) char *got = text_of(m, NULL);
			/* The first has most CPU, the last waits and switches most. */
			const char *first = sort == SCREEN_BY_CPU || sort == SCREEN_BY_NAME
			                            ? "   4711 worker-0 "
			                            : "   4722 worker-11 ";
			const char *heads = strstr(got, " thread name");
			CHECK(heads && strncmp(strchr(heads, '\n') + 1, first, strlen(first)) == 0);
			seen_free(m);
		}
}

static void points_are_wanted_of_what_is_drawn(void)
{
	CHECK(screen_wants("process_cpu_ratio"));
	CHECK(screen_wants("host_memory_bytes"));
	CHECK(screen_wants("host_steal_ratio"));
	CHECK(screen_wants("gpu_util_ratio"));
	CHECK(!screen_wants("host_forks_per_s"));
	CHECK(!screen_wants("process_cpu"));
}

/* ---- its parts ---- */

static const struct screen_axis ten_seconds = { .end_s = 10, .column_s = 1, .n = 10 };

static void a_column_is_the_mean_of_its_time(void)
{
	/* Four in the second that ends at 3: 1, 2, 3 and 6; its edge belongs to it. */
	const struct signal_point points[] = { { 2.25, 1 }, { 2.5, 2 }, { 2.75, 3 }, { 3, 6 },
		{ 3.25, 10 } };
	const struct signal s = { .series = points, .n_series = 5, .last = NAN };
	double columns[10];
	screen_columns_of(&s, &ten_seconds, columns);
	CHECK(isnan(columns[1]));
	CHECK_NEAR(columns[2], 3, 1e-12);
	CHECK_NEAR(columns[3], 10, 1e-12);
	CHECK(isnan(columns[4]));
}

static void between_samples_that_follow_each_other_the_later_one_counts(void)
{
	/* Every 2 s, and none from 4 to 9: more than three times as long. */
	const struct signal_point points[] = { { 0.5, 1 }, { 1.5, 1 }, { 2.5, 1 }, { 3.5, 2 },
		{ 9.5, 5 } };
	const struct signal s = {
		.series = points, .n_series = 4, .recent = points + 4, .n_recent = 1, .last = NAN
	};
	const struct signal slow = { .series = points, .n_series = 5, .last = NAN };
	double columns[10];
	screen_columns_of(&s, &ten_seconds, columns);
	CHECK_NEAR(columns[3], 2, 1e-12);
	CHECK(isnan(columns[6]));
	CHECK_NEAR(columns[9], 5, 1e-12);
	/* The mean distance is 2.25 s here, and 6 s less than three of them. */
	screen_columns_of(&slow, &ten_seconds, columns);
	CHECK_NEAR(columns[6], 5, 1e-12);
}

static void what_is_still_so_reaches_the_edge(void)
{
	const struct signal_point points[] = { { 5, 1 }, { 6, 1 }, { 7, 1 }, { 8, 4 } };
	struct signal s = { .recent = points, .n_recent = 4, .last = 4 };
	double columns[10];
	screen_columns_of(&s, &ten_seconds, columns);
	CHECK_NEAR(columns[9], 4, 1e-12);
	s.last = NAN;
	screen_columns_of(&s, &ten_seconds, columns);
	CHECK(isnan(columns[8]));
}

static void an_axis_moves_by_whole_columns(void)
{
	struct signal_system system = { .from_s = 0, .to_s = 61, .interval_s = 0.1 };
	struct screen_axis a = screen_axis_of(&system, 60, 20);
	CHECK_NEAR(a.column_s, 3, 1e-12);
	CHECK_NEAR(a.end_s, 63, 1e-9);
	system.to_s = 62.5;
	CHECK_NEAR(screen_axis_of(&system, 60, 20).end_s, 63, 1e-9);
	a = screen_axis_of(&system, INFINITY, 25);
	CHECK_NEAR(a.column_s, 2.5, 1e-12);
}

static void instances_are_added_or_the_largest_or_their_mean(void)
{
	const struct signal_point a[] = { { 1, 2 } }, b[] = { { 1, 6 } };
	const struct signal one = { .name = "x", .recent = a, .n_recent = 1, .last = 2, .n = 1 };
	const struct signal two = { .name = "x", .recent = b, .n_recent = 1, .last = 6, .n = 1 };
	const struct signal gone = { .name = "x", .last = NAN };
	const struct signal *const items[] = { &one, &two, &gone };
	const struct screen_group g = { "x", items, 3, true };
	CHECK_NEAR(screen_now(&g, SCREEN_SUM), 8, 1e-12);
	CHECK_NEAR(screen_now(&g, SCREEN_MAX), 6, 1e-12);
	CHECK_NEAR(screen_now(&g, SCREEN_MEAN), 4, 1e-12);
	struct arena run = { 0 };
	double columns[10];
	screen_columns(&g, SCREEN_MEAN, &ten_seconds, &run, columns);
	CHECK_NEAR(columns[0], 4, 1e-12);
	CHECK(isnan(columns[5]));
	arena_release(&run);
}

static void a_bar_above_0_is_never_the_lowest(void)
{
	static const struct {
		double value, full;
		const char *bar, *letter;
	} cases[] = {
		{ 0, 1, "▁", "_" },
		{ 1e-6, 1, "▂", "." },
		{ 0.5, 1, "▅", "+" },
		{ 1, 1, "█", "@" },
		{ 7, 1, "█", "@" },
		{ 0, 0, "▁", "_" },
		{ -1, 1, "▁", "_" },
		{ NAN, 1, "", "" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int ascii = 0; ascii < 2; ascii++) {
			struct screen s;
			screen_init(&s, 1, 1, ascii, &run);
			screen_put_bar(&s, 0, 0, SCREEN_SPARK, cases[i].value, cases[i].full);
			CHECK_STR(
			        screen_at(&s, 0, 0)->text, ascii ? cases[i].letter : cases[i].bar);
		}
	arena_release(&run);
}

static void a_text_is_cut_at_its_width(void)
{
	static const struct {
		const char *text;
		int width;
		bool ascii;
		const char *shown;
		int taken;
	} cases[] = {
		{ "abcdef", 6, false, "abcdef\n", 6 },
		{ "abcdef", 5, false, "abcd…\n", 5 },
		{ "abcdef", 5, true, "abcd~\n", 5 },
		{ "中文字", 6, false, "中文字\n", 6 },
		{ "中文字", 5, false, "中文…\n", 5 },
		{ "中文字", 4, false, "中 …\n", 4 },
		{ "中文字", 1, false, "…\n", 1 },
		{ "中文", 6, true, "??\n", 2 },
		{ "a\x1b[1mb", 8, false, "a?[1mb\n", 6 },
		{ "\xcc\x81x", 8, false, "x\n", 1 },
		{ "\xff", 8, false, "?\n", 1 },
		{ "abc", 0, false, "\n", 0 },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		struct screen s;
		screen_init(&s, 1, 10, cases[i].ascii, &run);
		int taken = screen_put(&s, 0, 0, cases[i].width, SCREEN_PLAIN, cases[i].text);
		screen_text(&s, &out);
		CHECK_STR(out.s, cases[i].shown);
		CHECK_INT(taken, cases[i].taken);
	}
	arena_release(&run);
}

static void half_a_wide_character_goes_with_its_other_half(void)
{
	struct arena run = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct screen s;
	screen_init(&s, 1, 8, false, &run);
	screen_put(&s, 0, 0, 8, SCREEN_PLAIN, "中文中文");
	screen_put(&s, 0, 1, 4, SCREEN_PLAIN, "abcd");
	screen_text(&s, &out);
	CHECK_STR(out.s, " abcd 文\n");
	arena_release(&run);
}

static void nothing_is_written_outside_the_grid(void)
{
	struct arena run = { 0 };
	struct screen s;
	screen_init(&s, 2, 4, false, &run);
	CHECK_INT(screen_put(&s, 2, 0, 4, SCREEN_PLAIN, "x"), 0);
	CHECK_INT(screen_put(&s, -1, 0, 4, SCREEN_PLAIN, "x"), 0);
	CHECK_INT(screen_put(&s, 0, 4, 4, SCREEN_PLAIN, "x"), 0);
	CHECK_INT(screen_put(&s, 0, 3, 100, SCREEN_PLAIN, "中"), 1);
	screen_put_right(&s, 1, 0, 100, SCREEN_PLAIN, "x");
	screen_paint(&s, 0, 2, 100, SCREEN_BAR);
	screen_clear(&s, 5, 0, 1, SCREEN_BAR);
	check_row(&s, 0);
	check_row(&s, 1);
	arena_release(&run);
}

static void values_have_three_digits_and_their_unit(void)
{
	static const struct {
		double value;
		const char *unit, *text;
	} cases[] = {
		{ NAN, "ratio", "-" },
		{ 0, "ratio", "0 %" },
		{ 0.0312, "ratio", "3.1 %" },
		{ 0.954, "ratio", "95 %" },
		{ 1.846, "1", "1.85" },
		{ 12.34, "1", "12.3" },
		{ 123.4, "1", "123" },
		{ 16, "1", "16" },
		{ 9995, "1", "10.0k" },
		{ 1234567, "1", "1.23M" },
		{ 12345, "1/s", "12.3k/s" },
		{ 0.5, "1/s", "0.50/s" },
		{ 1536, "bytes", "1.50 KiB" },
		{ 1536, "bytes/s", "1.50 KiB/s" },
		{ 0.25, "ms", "250 us" },
		{ 2410, "MHz", "2.41 GHz" },
		{ 800, "MHz", "800 MHz" },
		{ 312.4, "W", "312 W" },
		{ 7, "tokens/s", "7 tokens/s" },
		{ 3, NULL, "3" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[SCREEN_VALUE];
		CHECK_STR(screen_value(cases[i].value, cases[i].unit, text), cases[i].text);
	}
}

/* The messages of the build, wherever this program lies. */
static void find_messages(void)
{
	static char dir[4096];
	const char *build = getenv("VENTURI_BUILD");
	snprintf(dir, sizeof(dir), "%s/po", build ? build : "build");
	setenv("VENTURI_LOCALEDIR", dir, 0);
}

int main(void)
{
	find_messages();
	i18n_init("en");
	TAP_RUN(a_screen_of_80_by_24_shows_a_busy_machine);
	TAP_RUN(a_larger_screen_shows_more_strips);
	TAP_RUN(a_small_one_leaves_out_what_is_told_beside_the_curves);
	TAP_RUN(a_screen_that_is_too_small_says_so);
	TAP_RUN(help_lies_over_the_picture);
	TAP_RUN(eight_gpus_are_one_strip_and_a_line_each_in_the_list);
	TAP_RUN(two_hundred_threads_are_scrolled_to_their_end_and_not_beyond);
	TAP_RUN(names_can_neither_steer_the_terminal_nor_shift_the_columns);
	TAP_RUN(chinese_has_its_columns_below_each_other);
	TAP_RUN(pages_of_services_are_strips_like_all_others);
	TAP_RUN(what_is_missing_is_named_with_its_reason_and_has_no_zeros);
	TAP_RUN(a_page_of_another_machine_is_not_added_to_this_one);
	TAP_RUN(the_least_of_the_limits_is_the_top);
	TAP_RUN(a_thread_that_is_gone_comes_last);
	TAP_RUN(a_value_that_is_gone_leaves_its_curve_and_a_dash);
	TAP_RUN(a_grid_of_any_size_is_whole);
	TAP_RUN(each_zoom_and_each_order_can_be_shown);
	TAP_RUN(points_are_wanted_of_what_is_drawn);
	TAP_RUN(a_column_is_the_mean_of_its_time);
	TAP_RUN(between_samples_that_follow_each_other_the_later_one_counts);
	TAP_RUN(what_is_still_so_reaches_the_edge);
	TAP_RUN(an_axis_moves_by_whole_columns);
	TAP_RUN(instances_are_added_or_the_largest_or_their_mean);
	TAP_RUN(a_bar_above_0_is_never_the_lowest);
	TAP_RUN(a_text_is_cut_at_its_width);
	TAP_RUN(half_a_wide_character_goes_with_its_other_half);
	TAP_RUN(nothing_is_written_outside_the_grid);
	TAP_RUN(values_have_three_digits_and_their_unit);
	return tap_done();
}
