#include "tap.h"

#include "base/clock.h"
#include "watch/sampler.h"

#include <math.h>
#include <string.h>

static const struct watch_row gauge = { .name = "a_gauge", .unit = "1", .kind = WATCH_GAUGE };
static const struct watch_row rate = {
	.name = "a_rate", .unit = "ratio", .kind = WATCH_RATE, .scale = 1e-9
};
static const struct watch_row narrow = {
	.name = "a_narrow", .unit = "bytes/s", .kind = WATCH_RATE, .bits = 32
};

static const struct watch_row bounded = {
	.name = "a_bounded", .unit = "ratio", .kind = WATCH_RATE, .scale = 1e-9, .most = 1
};

static const struct watch_row share = { .name = "a_share", .unit = "ratio", .kind = WATCH_SHARE };

static const struct signal *find(const struct signal_system *s, const char *name)
{
	for (size_t i = 0; i < s->n_signals; i++)
		if (strcmp(s->signals[i].name, name) == 0)
			return &s->signals[i];
	return NULL;
}

static void a_rate_weighs_its_intervals_by_their_length(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &rate, NULL);
	/* 0.5 of a core for 1 s, then 0.25 for 3 s: the mean weighs by time. */
	const uint64_t totals[] = { 7000000000, 7500000000, 8250000000 };
	const int64_t at_s[] = { 10, 11, 14 };
	for (int i = 0; i < 3; i++) {
		board_at(b, at_s[i] * NS_PER_S);
		channel_total(c, totals[i]);
	}
	board_report(b, 10 * NS_PER_S, run, &got);
	const struct signal *s = find(&got, "a_rate");
	CHECK_INT(s->n, 2);
	CHECK_NEAR(s->mean, 1.25 / 4, 1e-12);
	CHECK_NEAR(s->delta, 1.25, 1e-12);
	CHECK_NEAR(s->max, 0.5, 1e-12);
	CHECK_NEAR(s->series[1].t_s, 4, 1e-12);
	board_begin(b);
	board_at(b, 15 * NS_PER_S);
	channel_total(c, 9250000000);
	board_report(b, 14 * NS_PER_S, run, &got);
	s = find(&got, "a_rate");
	CHECK_INT(s->n, 1);
	CHECK_NEAR(s->mean, 1, 1e-12);
	CHECK_NEAR(s->total, 2.25, 1e-12);
	board_free(b);
	arena_release(run);
}

static void what_a_bounded_rate_has_too_much_goes_to_the_next_interval(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &bounded, NULL);
	/* Full for three seconds, read 0.05 s late at the second one; then for 0.4 of a second. */
	const uint64_t totals[] = { 0, 1000000000, 2050000000, 3000000000, 3400000000 };
	for (int i = 0; i < 5; i++) {
		board_at(b, (10 + i) * NS_PER_S);
		channel_total(c, totals[i]);
	}
	board_report(b, 10 * NS_PER_S, run, &got);
	const struct signal *s = find(&got, "a_bounded");
	CHECK_INT(s->n, 4);
	for (int i = 0; i < 3; i++)
		CHECK_NEAR(s->series[i].value, 1, 1e-12);
	CHECK_NEAR(s->series[3].value, 0.4, 1e-12);
	CHECK_NEAR(s->mean, 3.4 / 4, 1e-12);
	CHECK_NEAR(s->delta, 3.4, 1e-12);
	/* A lump of 2.6 s is shown in the three seconds that follow; the mean is exact. */
	for (int at_s = 15; at_s <= 18; at_s++) {
		board_at(b, at_s * NS_PER_S);
		channel_total(c, 6000000000);
	}
	board_report(b, 10 * NS_PER_S, run, &got);
	s = find(&got, "a_bounded");
	CHECK_NEAR(s->series[4].value, 1, 1e-12);
	CHECK_NEAR(s->series[5].value, 1, 1e-12);
	CHECK_NEAR(s->series[6].value, 0.6, 1e-12);
	CHECK_NEAR(s->series[7].value, 0, 1e-12);
	CHECK_NEAR(s->mean, 6.0 / 8, 1e-12);
	/* What jumps cannot have been so: it is not shown for long, and no mean is above the most.
	 */
	for (int at_s = 19; at_s <= 22; at_s++) {
		board_at(b, at_s * NS_PER_S);
		channel_total(c, 60000000000);
	}
	board_report(b, 10 * NS_PER_S, run, &got);
	s = find(&got, "a_bounded");
	CHECK_NEAR(s->series[10].value, 1, 1e-12);
	CHECK_NEAR(s->series[11].value, 0, 1e-12);
	CHECK_NEAR(s->mean, 1, 1e-12);
	board_free(b);
	arena_release(run);
}

static bool wants_gauges(const char *name)
{
	return strcmp(name, "a_gauge") == 0;
}

static void a_glance_has_points_of_what_is_wanted_and_no_quantiles(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &gauge, NULL), *d = board_channel(b, &rate, NULL);
	for (int i = 1; i <= 3; i++) {
		board_at(b, i * NS_PER_S);
		channel_value(c, i);
		channel_total(d, (uint64_t)i * 1000000000);
	}
	board_glance(b, NS_PER_S, wants_gauges, run, &got);
	CHECK_INT(got.n_signals, 2);
	const struct signal *s = find(&got, "a_gauge"), *r = find(&got, "a_rate");
	CHECK_INT(s->n_series, 3);
	CHECK_INT(s->n_recent, 3);
	CHECK_NEAR(s->recent[2].t_s, 2, 1e-12);
	CHECK_NEAR(s->mean, 2, 1e-12);
	CHECK_NEAR(s->max, 3, 1e-12);
	CHECK(isnan(s->p50) && isnan(s->p95));
	CHECK_INT(r->n_series + r->n_recent, 0);
	CHECK_NEAR(r->last, 1, 1e-12);
	CHECK_NEAR(r->mean, 1, 1e-12);
	board_free(b);
	arena_release(run);
}

static void no_mean_is_beyond_the_largest_value(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &rate, NULL);
	/* 20 ms of 100, and then 10 ms in a rest of 1 ms. */
	const int64_t at_ms[] = { 0, 100, 101 };
	const uint64_t totals_ms[] = { 0, 20, 30 };
	for (int i = 0; i < 3; i++) {
		board_at(b, (1000 + at_ms[i]) * NS_PER_MS);
		channel_total(c, totals_ms[i] * 1000000);
	}
	board_report(b, 0, run, &got);
	const struct signal *s = find(&got, "a_rate");
	CHECK_INT(s->n, 1);
	CHECK_NEAR(s->mean, 0.030 / 0.101, 1e-12);
	CHECK_NEAR(s->max, s->mean, 0);
	CHECK_NEAR(s->min, 0.2, 1e-12);
	board_free(b);
	arena_release(run);
}

static void a_rest_before_the_end_counts_in_the_mean_alone(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &rate, NULL);
	/* A quarter of a core, told by ticks of 10 ms; the last look is 1 ms after the one before.
	 */
	const int64_t at_ms[] = { 0, 100, 200, 300, 301 };
	const uint64_t totals_ms[] = { 0, 20, 50, 70, 80 };
	for (int i = 0; i < 5; i++) {
		board_at(b, (1000 + at_ms[i]) * NS_PER_MS);
		channel_total(c, totals_ms[i] * 1000000);
	}
	board_report(b, 0, run, &got);
	const struct signal *s = find(&got, "a_rate");
	CHECK_INT(s->n, 3);
	CHECK_NEAR(s->max, 0.3, 1e-12);
	CHECK_NEAR(s->mean, 0.080 / 0.301, 1e-12);
	CHECK_NEAR(s->delta, 0.080, 1e-12);
	/* Nothing is on the average more than ever. */
	board_at(b, 1301 * NS_PER_MS + 300000);
	channel_total(c, 180000000);
	board_report(b, 0, run, &got);
	s = find(&got, "a_rate");
	CHECK_INT(s->n, 3);
	CHECK_NEAR(s->mean, 0.180 / 0.3013, 1e-12);
	CHECK_NEAR(s->max, s->mean, 0);
	CHECK_NEAR(s->min, 0.2, 1e-12);
	/* A sample that was late makes one rest of the next, not of all that follow. */
	board_at(b, 3000 * NS_PER_MS);
	channel_total(c, 0);
	board_begin(b);
	for (int i = 1; i <= 10; i++) {
		board_at(b, (3900 + 100 * i) * NS_PER_MS);
		channel_total(c, (uint64_t)(900 + 100 * i) * 250000);
	}
	board_report(b, 0, run, &got);
	CHECK_INT(find(&got, "a_rate")->n, 9);
	CHECK_NEAR(find(&got, "a_rate")->mean, 0.25, 1e-12);
	board_free(b);
	arena_release(run);
}

static void a_reset_makes_no_value_and_a_wrap_does(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &rate, NULL), *d = board_channel(b, &narrow, NULL);
	const uint64_t totals[] = { 1000, 5, 1000000005 };
	for (int i = 0; i < 3; i++) {
		board_at(b, (i + 1) * NS_PER_S);
		channel_total(c, totals[i]);
		channel_total(d, (0xfffffff0u + 0x10u * (unsigned)i) & 0xffffffffu);
	}
	board_report(b, 0, run, &got);
	const struct signal *s = find(&got, "a_rate");
	CHECK_INT(s->n, 1);
	CHECK_NEAR(s->mean, 1, 1e-12);
	CHECK(s->reason && strstr(s->reason, "anew"));
	s = find(&got, "a_narrow");
	CHECK_INT(s->n, 2);
	CHECK_NEAR(s->mean, 16, 1e-12);
	board_free(b);
	arena_release(run);
}

static void a_share_weighs_its_intervals_by_the_growth_of_the_whole(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &share, NULL);
	/* 1 of 2, then 1 of 0 and 1 of 8 (2 of 8): 3 of 10; then a reset, then 0 of 10. */
	static const uint64_t parts[] = { 5, 6, 7, 8, 0, 0 }, wholes[] = { 9, 11, 11, 19, 1, 11 };
	for (int i = 0; i < 4; i++) {
		board_at(b, (i + 1) * NS_PER_S);
		channel_share(c, parts[i], wholes[i]);
	}
	board_report(b, 0, run, &got);
	const struct signal *s = find(&got, "a_share");
	CHECK_INT(s->n, 2);
	CHECK_NEAR(s->mean, 0.3, 1e-12);
	CHECK_NEAR(s->min, 0.25, 1e-12);
	CHECK_NEAR(s->max, 0.5, 1e-12);
	CHECK(isnan(s->delta));
	for (int i = 4; i < 6; i++)
		channel_share(c, parts[i], wholes[i]);
	board_report(b, 0, run, &got);
	s = find(&got, "a_share");
	CHECK_INT(s->n, 3);
	CHECK_NEAR(s->mean, 0.15, 1e-12);
	CHECK(s->reason && strstr(s->reason, "anew"));
	board_free(b);
	arena_release(run);
}

static void a_long_window_is_thinned_evenly_and_counted_whole(void)
{
	struct arena memory = { 0 }, *run = &memory;
	enum { N = 5000 };
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &gauge, "x");
	for (int i = 0; i < N; i++) {
		board_at(b, (i + 1) * NS_PER_MS);
		channel_value(c, i);
	}
	board_report(b, 0, run, &got);
	const struct signal *s = find(&got, "a_gauge");
	CHECK_INT(s->n, N);
	CHECK(s->n_series <= BOARD_POINTS && s->n_series >= BOARD_POINTS / 2);
	CHECK_NEAR(s->mean, (N - 1) / 2.0, 1e-9);
	CHECK_NEAR(s->max, N - 1, 0);
	CHECK_NEAR(s->p95, 0.95 * N, N / 100.0);
	double step = s->series[1].value - s->series[0].value;
	bool even = true;
	for (int64_t i = 1; i < s->n_series; i++)
		even &= s->series[i].value - s->series[i - 1].value == step;
	CHECK(even);
	CHECK_INT(s->n_recent, BOARD_RECENT);
	CHECK_NEAR(s->recent[BOARD_RECENT - 1].value, N - 1, 0);
	CHECK_STR(s->instance, "x");
	board_free(b);
	arena_release(run);
}

static void what_is_seen_as_a_window_begins_lies_inside_it(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *before = board_channel(b, &gauge, "before"),
	               *at = board_channel(b, &gauge, "at"), *total = board_channel(b, &rate, NULL);
	board_at(b, 1 * NS_PER_S);
	channel_value(before, 5);
	channel_value(at, 5);
	channel_total(total, 1000000000);
	board_at(b, 2 * NS_PER_S);
	channel_value(at, 7);
	channel_total(total, 2000000000);
	board_begin(b);
	board_at(b, 3 * NS_PER_S);
	channel_value(at, 9);
	channel_total(total, 2500000000);
	board_report(b, 2 * NS_PER_S, run, &got);
	const struct signal *s = find(&got, "a_gauge");
	CHECK_INT(s[0].n, 0);
	CHECK_INT(s[1].n, 2);
	CHECK_NEAR(s[1].mean, 8, 0);
	CHECK_NEAR(s[1].min, 7, 0);
	CHECK_INT(s[1].n_series, 2);
	CHECK_NEAR(s[1].series[0].t_s, 0, 0);
	CHECK_INT(s[1].n_recent, 3);
	/* the growth up to the begin is none of the window's */
	CHECK_INT(find(&got, "a_rate")->n, 1);
	CHECK_NEAR(find(&got, "a_rate")->mean, 0.5, 1e-12);
	board_free(b);
	arena_release(run);
}

static void what_is_absent_says_why_and_has_no_value(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *b = board_new();
	struct signal_system got = { 0 };
	struct channel *c = board_channel(b, &gauge, NULL), *d = board_channel(b, &rate, NULL);
	channel_absent(c, SIGNAL_NOT_SUPPORTED, "no such file");
	board_at(b, 1);
	channel_total(d, 1);
	board_report(b, 0, run, &got);
	const struct signal *s = find(&got, "a_gauge");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	CHECK_STR(s->reason, "no such file");
	CHECK(isnan(s->mean) && isnan(s->last));
	s = find(&got, "a_rate");
	CHECK_INT(s->state, SIGNAL_NOT_COUNTED);
	channel_value(c, 4);
	channel_from(c, "another file");
	channel_absent(c, SIGNAL_NOT_COUNTED, "process gone");
	board_report(b, 0, run, &got);
	s = find(&got, "a_gauge");
	CHECK_INT(s->state, SIGNAL_MEASURED);
	CHECK(strstr(s->reason, "process gone") != NULL);
	CHECK_STR(s->source, "another file");
	board_free(b);
	arena_release(run);
}

static const struct watch_row words = { .name = "words", .unit = "1", .kind = WATCH_TEXT };

/* Says the news of one board again to the other. */
static void say_again(void *ctx, const struct board_news *news)
{
	struct channel *c = board_channel(ctx, news->row, news->instance);
	if (news->assumed)
		channel_estimated(c, news->assumed);
	if (news->from)
		channel_from(c, news->from);
	if (news->forgot)
		channel_forget(c);
	if (news->has_value && news->row->kind == WATCH_GAUGE)
		channel_value(c, news->value);
	else if (news->has_value && news->row->kind == WATCH_RATE)
		channel_total(c, news->total);
	else if (news->has_value && news->row->kind == WATCH_SHARE)
		channel_share(c, news->total, news->whole);
	else if (news->has_value)
		channel_text(c, str_of(news->text));
	if (news->absent != SIGNAL_MEASURED)
		channel_absent(c, news->absent, news->reason);
}

/* What a source might do in the i-th sample. */
static void say_something(struct board *b, int i)
{
	struct channel *g = board_channel(b, &gauge, i % 3 ? "x" : "y");
	struct channel *r = board_channel(b, &rate, NULL), *n = board_channel(b, &narrow, NULL);
	struct channel *w = board_channel(b, &words, NULL), *s = board_channel(b, &share, "z");
	if (i % 7)
		channel_value(g, i * i % 11);
	if (i % 10 == 9)
		channel_forget(r);
	channel_total(r, (uint64_t)(i % 50) * 1000000);
	channel_total(n, ((uint64_t)i << 28) & 0xffffffff);
	if (i % 10 == 5)
		channel_forget(r);
	channel_text(w, i % 20 < 10 ? STR("S") : STR("R"));
	channel_share(s, (uint64_t)(i / 2), (uint64_t)(i / 3 * 4));
	/* seen and gone again in one sample */
	if (i % 11 == 10)
		channel_absent(g, SIGNAL_NOT_COUNTED, "not any more");
	if (i % 17 == 16)
		channel_absent(w, SIGNAL_NOT_COUNTED, "silent");
	if (i % 13 == 12)
		channel_absent(s, SIGNAL_NOT_COUNTED, i % 2 ? "gone" : "not readable");
	if (i == 30)
		channel_estimated(n, "assumed");
	if (i == 31)
		channel_from(n, "elsewhere");
	if (i == 40)
		(void)board_channel(b, &gauge, "never said");
}

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void news_said_again_make_the_same_signals(void)
{
	struct arena memory = { 0 }, *run = &memory;
	struct board *a = board_new(), *b = board_new();
	struct signal_system x = { 0 }, y = { 0 };
	for (int i = 0; i < 1500; i++) {
		board_at(a, (i + 1) * NS_PER_MS);
		board_at(b, (i + 1) * NS_PER_MS);
		say_something(a, i);
		board_each_news(a, say_again, b);
		if (i == 100) {
			board_begin(a);
			board_begin(b);
		}
	}
	board_report(a, 0, run, &x);
	board_report(b, 0, run, &y);
	CHECK_INT(x.n_signals, 7);
	CHECK_INT(y.n_signals, x.n_signals);
	for (size_t i = 0; i < x.n_signals && i < y.n_signals; i++) {
		const struct signal *s = &x.signals[i], *t = &y.signals[i];
		CHECK_STR(t->name, s->name);
		CHECK(same_text(s->instance, t->instance) && same_text(s->reason, t->reason) &&
		        same_text(s->text, t->text) && same_text(s->source, t->source));
		CHECK_INT(t->state, s->state);
		CHECK_INT(t->n, s->n);
		CHECK(same_number(s->mean, t->mean) && same_number(s->p95, t->p95) &&
		        same_number(s->max, t->max) && same_number(s->delta, t->delta) &&
		        same_number(s->last, t->last) && same_number(s->total, t->total));
		CHECK_INT(t->n_series, s->n_series);
	}
	board_free(a);
	board_free(b);
	arena_release(run);
}

/* A source of the test: a counter that grows by 100 at each sample, and says when it was asked. */
static struct channel *source_channel;
static uint64_t source_total;
static int n_asked, n_slow_asked;

static bool source_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	(void)config, (void)run, (void)err;
	source_channel = board_channel(board, &narrow, NULL);
	*ret_self = &source_total;
	return true;
}

static void source_sample(void *self, int64_t now_ns)
{
	(void)now_ns;
	n_asked++;
	*(uint64_t *)self += 100;
	channel_total(source_channel, *(uint64_t *)self);
}

static bool slow_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	(void)config, (void)board, (void)run, (void)err;
	*ret_self = &n_slow_asked;
	return true;
}

static void slow_sample(void *self, int64_t now_ns)
{
	(void)now_ns;
	++*(int *)self;
}

static bool broken_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	(void)config, (void)board, (void)run, (void)ret_self;
	return err_set(err, ERR_SYSTEM, "it is not there");
}

static void a_sampler_counts_what_lies_inside_its_window(void)
{
	struct arena memory = { 0 }, *run = &memory;
	static const struct watch_source works = { .open = source_open, .sample = source_sample },
	                                 slow = { .open = slow_open,
		                                 .sample = slow_sample,
		                                 .period_ns = NS_PER_S },
	                                 broken = {
		                                 .open = broken_open, .rows = &gauge, .n_rows = 1
	                                 };
	static const struct watch_source *const all[] = { &works, &slow, &broken };
	struct watch_config config = {
		.root = "", .interval_ns = 100 * NS_PER_MS, .sources = all, .n_sources = 3
	};
	struct signal_system got;
	struct sampler *s;
	struct err err;
	CHECK(sampler_open(&config, run, &s, &err));
	for (int i = 0; i < 21; i++)
		sampler_step(s, (i + 1) * 100 * NS_PER_MS);
	sampler_report(s, INT64_MIN, run, &got);
	CHECK_INT(n_asked, 21);
	CHECK_INT(n_slow_asked, 3);
	CHECK_NEAR(find(&got, "a_narrow")->mean, 1000, 1e-9);
	CHECK_INT(find(&got, "a_gauge")->state, SIGNAL_NOT_SUPPORTED);
	CHECK_STR(find(&got, "a_gauge")->reason, "it is not there");
	sampler_close(s);

	n_asked = 0;
	config.interval_ns = 5 * NS_PER_MS;
	CHECK(sampler_open(&config, run, &s, &err) && sampler_start(s, &err));
	clock_sleep_until(clock_now_ns() + 30 * NS_PER_MS);
	int64_t begin_ns = clock_now_ns();
	sampler_begins(s);
	clock_sleep_until(begin_ns + 100 * NS_PER_MS);
	sampler_ends(s);
	int64_t end_ns = clock_now_ns();
	sampler_report(s, begin_ns, run, &got);
	double length_s = (double)(end_ns - begin_ns) / 1e9;
	CHECK(got.from_s >= 0 && got.from_s < 0.05);
	CHECK(got.to_s >= length_s - 0.001 && got.to_s < length_s + 0.05);
	/* the interval after a late sample, and the last one, may be rests: no values of their own
	 */
	int64_t n_rates = find(&got, "a_narrow")->n;
	CHECK(n_rates <= got.n_samples && n_rates >= got.n_samples / 2);
	int asked = n_asked;
	clock_sleep_until(clock_now_ns() + 30 * NS_PER_MS);
	CHECK_INT(n_asked, asked);
	const struct signal *late = find(&got, "watch_late_ms");
	CHECK(late && late->n > 0 && late->min >= 0);
	sampler_close(s);

	config.pids = (const int[]){ 0x7ffffff0 };
	config.n_pids = 1;
	CHECK(!sampler_open(&config, run, &s, &err));
	CHECK(strstr(err.text, "2147483632") != NULL);
	arena_release(run);
}

int main(void)
{
	TAP_RUN(a_rate_weighs_its_intervals_by_their_length);
	TAP_RUN(a_glance_has_points_of_what_is_wanted_and_no_quantiles);
	TAP_RUN(no_mean_is_beyond_the_largest_value);
	TAP_RUN(a_rest_before_the_end_counts_in_the_mean_alone);
	TAP_RUN(what_a_bounded_rate_has_too_much_goes_to_the_next_interval);
	TAP_RUN(a_reset_makes_no_value_and_a_wrap_does);
	TAP_RUN(a_share_weighs_its_intervals_by_the_growth_of_the_whole);
	TAP_RUN(a_long_window_is_thinned_evenly_and_counted_whole);
	TAP_RUN(what_is_seen_as_a_window_begins_lies_inside_it);
	TAP_RUN(what_is_absent_says_why_and_has_no_value);
	TAP_RUN(news_said_again_make_the_same_signals);
	TAP_RUN(a_sampler_counts_what_lies_inside_its_window);
	return tap_done();
}
