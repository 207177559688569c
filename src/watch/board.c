#include "watch/board.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An interval below this share of the one before is a rest. */
#define REST_RATIO 0.5

/* No counter that is read is behind by more: the kernel sums pressure up every 2 s. */
#define AHEAD_MAX_S 2

struct point {
	int64_t at_ns;
	double value;
};

struct channel {
	struct board *board;
	const struct watch_row *row;
	const char *instance;
	size_t number;
	struct channel *next_of_row; /* the next instance of the row */

	/* what the channel says of itself */
	enum signal_state absent; /* SIGNAL_MEASURED: nothing said */
	char reason[BOARD_REASON_BYTES];
	const char *from;    /* NULL: its row's */
	const char *assumed; /* why its values are estimates */
	char text[BOARD_TEXT_BYTES];
	bool has_text;

	/* for who writes every sample down */
	bool is_new; /* something was said since the news before */
	bool is_seen, forgot;
	double told;       /* the newest value, also when there is none any more */
	bool forgot_since; /* behind what was seen: told with the next news */

	/* of a counter */
	bool has_total;
	uint64_t total, whole; /* whole: of a share */
	int64_t total_ns;
	double grown_ever;
	double ahead;      /* grown beyond what its interval can have */
	double interval_s; /* the newest */

	/* since the begin */
	int64_t n, n_resets;
	/* of values times their weights: a rate's is its interval in s, a share's what whole grew
	 */
	double sum, weight;
	double grown;
	double min, max, last;
	int64_t seen_ns; /* when there was something to see */
	struct point *points;
	size_t n_points;
	int64_t keep_every; /* values */

	struct point *recent; /* a ring */
	size_t n_recent, recent_at;
};

struct board {
	struct arena memory;
	struct channel **channels; /* [BOARD_CHANNELS_MAX], in the order of their making */
	size_t n;
	int64_t now_ns;
};

struct board *board_new(void)
{
	struct board *b = mem_zeroed(1, sizeof(*b));
	b->channels = mem_zeroed(BOARD_CHANNELS_MAX, sizeof(struct channel *));
	return b;
}

void board_free(struct board *b)
{
	if (!b)
		return;
	arena_release(&b->memory);
	free(b->channels);
	free(b);
}

void board_at(struct board *b, int64_t now_ns)
{
	b->now_ns = now_ns;
}

int64_t board_now_ns(const struct board *b)
{
	return b->now_ns;
}

static void reset_window(struct channel *c)
{
	c->n = c->n_resets = 0;
	c->sum = c->weight = c->grown = c->ahead = 0;
	c->min = INFINITY;
	c->max = -INFINITY;
	c->n_points = 0;
	c->keep_every = 1;
}

static bool same_instance(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

struct channel *board_channel(struct board *b, const struct watch_row *row, const char *instance)
{
	struct channel *last = NULL;
	for (size_t i = 0; i < b->n && !last; i++)
		if (b->channels[i]->row == row)
			last = b->channels[i];
	for (struct channel *c = last; c; c = c->next_of_row) {
		if (same_instance(c->instance, instance))
			return c;
		last = c;
	}
	if (b->n == BOARD_CHANNELS_MAX)
		return NULL;
	struct channel *c = arena_new(&b->memory, struct channel);
	c->board = b;
	c->row = row;
	c->instance = instance ? arena_strdup(&b->memory, instance) : NULL;
	c->last = NAN;
	c->is_new = true;
	c->points = arena_new_n(&b->memory, struct point, BOARD_POINTS);
	c->recent = arena_new_n(&b->memory, struct point, BOARD_RECENT);
	reset_window(c);
	if (last)
		last->next_of_row = c;
	c->number = b->n;
	b->channels[b->n++] = c;
	return c;
}

static void thin(struct channel *c)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->n_points; i += 2)
		c->points[kept++] = c->points[i];
	c->n_points = kept;
	c->keep_every *= 2;
}

static void keep_point(struct channel *c, double value)
{
	const struct point p = { c->board->now_ns, value };
	c->recent[c->recent_at] = p;
	c->recent_at = (c->recent_at + 1) % BOARD_RECENT;
	c->n_recent += c->n_recent < BOARD_RECENT;
	if (c->n % c->keep_every != 0)
		return;
	if (c->n_points == BOARD_POINTS)
		thin(c);
	/* The thinned ones are the 0th, 2nd, ...: the next to keep may be another. */
	if (c->n % c->keep_every == 0)
		c->points[c->n_points++] = p;
}

static void take_value(struct channel *c, double value, double weight)
{
	keep_point(c, value);
	c->n++;
	c->sum += value * weight;
	c->weight += weight;
	c->min = fmin(c->min, value);
	c->max = fmax(c->max, value);
	c->last = value;
}

/* Something was seen, whether it makes a value or not. */
static void see(struct channel *c)
{
	c->absent = SIGNAL_MEASURED;
	c->is_new = c->is_seen = true;
	c->seen_ns = c->board->now_ns;
}

void channel_value(struct channel *c, double value)
{
	if (!c || !isfinite(value))
		return;
	see(c);
	c->told = value;
	take_value(c, value, 1);
}

/* By how much a counter grew; false when it went back. */
static bool growth(const struct channel *c, uint64_t total, uint64_t *ret_growth)
{
	*ret_growth = total - c->total;
	if (total >= c->total)
		return true;
	if (c->row->bits == 0 || c->row->bits >= 64)
		return false;
	uint64_t range = UINT64_C(1) << c->row->bits;
	*ret_growth = total + (range - c->total);
	return c->total < range && *ret_growth < range / 2;
}

/*
 * The end of a window comes at any moment after the sample before. What little lies between counts
 * in the mean; as a value of its own it would show the grain of the counter, not the thing.
 */
static void add_rest(struct channel *c, double grown, double interval_s)
{
	c->sum += grown;
	c->weight += interval_s;
}

/*
 * What an interval shows of what its counter grew by. The kernel reads its clock a moment before or
 * after ours, and may count in lumps, so that a resource that is always short would be short 101 %
 * of the time, and then 99 %: the excess waits for the next interval. The mean has it at once.
 */
static double level(struct channel *c, double grown, double interval_s)
{
	double most = c->row->most;
	if (!(most > 0))
		return grown;
	double shown = fmin(c->ahead + grown, most * interval_s);
	c->ahead = fmin(c->ahead + grown - shown, most * AHEAD_MAX_S);
	return shown;
}

void channel_total(struct channel *c, uint64_t total)
{
	if (!c)
		return;
	int64_t now = c->board->now_ns;
	double scale = c->row->scale > 0 ? c->row->scale : 1;
	uint64_t by = 0;
	bool had = c->has_total;
	bool went_on = had && growth(c, total, &by);
	double interval_s = (double)(now - c->total_ns) / 1e9;
	c->has_total = true;
	c->total = total;
	c->total_ns = now;
	c->n_resets += had && !went_on;
	see(c);
	if (!went_on)
		c->ahead = 0;
	if (!went_on || interval_s <= 0)
		return;
	c->grown += (double)by * scale;
	c->grown_ever += (double)by * scale;
	bool is_rest = c->n > 0 && interval_s < REST_RATIO * c->interval_s;
	c->interval_s = interval_s;
	double shown = level(c, (double)by * scale, interval_s);
	if (is_rest)
		add_rest(c, shown, interval_s);
	else
		take_value(c, shown / interval_s, interval_s);
	c->sum += (double)by * scale - shown;
}

void channel_share(struct channel *c, uint64_t part, uint64_t whole)
{
	if (!c)
		return;
	double scale = c->row->scale > 0 ? c->row->scale : 1;
	bool had = c->has_total;
	bool went_on = had && part >= c->total && whole >= c->whole;
	uint64_t by = part - c->total, of = whole - c->whole;
	c->has_total = true;
	c->n_resets += had && !went_on;
	see(c);
	/* What part grows until whole does belongs to the interval in which it does. */
	if (went_on && of == 0)
		return;
	c->total = part;
	c->whole = whole;
	if (went_on)
		take_value(c, (double)by * scale / (double)of, (double)of);
}

static void forget(struct channel *c)
{
	if (c->has_total)
		*(c->is_seen ? &c->forgot_since : &c->forgot) = true;
	c->is_new |= c->has_total;
	c->has_total = false;
	c->ahead = 0;
}

void channel_forget(struct channel *c)
{
	if (c)
		forget(c);
}

void channel_text(struct channel *c, struct str text)
{
	if (!c)
		return;
	size_t len = text.len < BOARD_TEXT_BYTES - 1 ? text.len : BOARD_TEXT_BYTES - 1;
	if (len)
		memcpy(c->text, text.s, len);
	c->text[len] = '\0';
	c->has_text = true;
	c->n++;
	see(c);
}

void channel_from(struct channel *c, const char *from)
{
	if (!c)
		return;
	c->is_new |= c->from != from;
	c->from = from;
}

void channel_estimated(struct channel *c, const char *reason)
{
	if (!c)
		return;
	c->is_new |= c->assumed != reason;
	c->assumed = reason;
}

void channel_absent(struct channel *c, enum signal_state state, const char *reason)
{
	if (!c)
		return;
	size_t len = strnlen(reason, sizeof(c->reason) - 1);
	forget(c);
	c->is_new |= c->absent != state || strncmp(c->reason, reason, len) != 0 || c->reason[len];
	c->absent = state;
	c->last = NAN;
	c->has_text = false;
	memmove(c->reason, reason, len);
	c->reason[len] = '\0';
}

void board_absent(struct board *b, const struct watch_row *rows, size_t n_rows,
        enum signal_state state, const char *reason)
{
	for (size_t i = 0; i < n_rows; i++)
		channel_absent(board_channel(b, &rows[i], NULL), state, reason);
}

/* What was seen at the moment of the begin lies inside; of what is looked at seldom it may be all.
 */
static void keep_edge(struct channel *c)
{
	/* What was told when its source was opened, before there was any time, still is so. */
	bool is_edge = c->seen_ns == c->board->now_ns || c->seen_ns == 0;
	if (!is_edge || c->absent != SIGNAL_MEASURED)
		return;
	if (c->row->kind == WATCH_TEXT)
		c->n = c->has_text;
	if (c->row->kind != WATCH_GAUGE || isnan(c->last))
		return;
	c->n = 1;
	c->weight = 1;
	c->sum = c->min = c->max = c->last;
	c->points[c->n_points++] = (struct point){ c->board->now_ns, c->last };
}

void board_begin(struct board *b)
{
	for (size_t i = 0; i < b->n; i++) {
		reset_window(b->channels[i]);
		keep_edge(b->channels[i]);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t n, double q)
{
	size_t rank = (size_t)ceil(q * (double)n);
	return sorted[rank > 0 ? rank - 1 : 0];
}

static void set_quantiles(const struct channel *c, struct signal *s)
{
	AUTO(auto_free) double *sorted = mem_zeroed(c->n_points, sizeof(*sorted));
	for (size_t i = 0; i < c->n_points; i++)
		sorted[i] = c->points[i].value;
	qsort(sorted, c->n_points, sizeof(*sorted), compare);
	s->p50 = quantile(sorted, c->n_points, 0.5);
	s->p95 = quantile(sorted, c->n_points, 0.95);
}

static void set_moments(const struct channel *c, struct signal *s)
{
	s->mean = c->sum / c->weight;
	if (c->row->most > 0)
		s->mean = fmin(s->mean, c->row->most);
	/* A rest, which is in the mean alone, may have drawn it beyond all values. */
	s->min = fmin(c->min, s->mean);
	s->max = fmax(c->max, s->mean);
}

static void set_points(
        const struct channel *c, int64_t zero_ns, struct arena *run, struct signal *s)
{
	struct signal_point *series = arena_new_n(run, struct signal_point, c->n_points + 1);
	struct signal_point *recent = arena_new_n(run, struct signal_point, c->n_recent + 1);
	for (size_t i = 0; i < c->n_points; i++)
		series[i] = (struct signal_point){ (double)(c->points[i].at_ns - zero_ns) / 1e9,
			c->points[i].value };
	size_t first = (c->recent_at + BOARD_RECENT - c->n_recent) % BOARD_RECENT;
	for (size_t i = 0; i < c->n_recent; i++) {
		const struct point *p = &c->recent[(first + i) % BOARD_RECENT];
		recent[i] = (struct signal_point){ (double)(p->at_ns - zero_ns) / 1e9, p->value };
	}
	s->series = series;
	s->n_series = (int64_t)c->n_points;
	s->recent = recent;
	s->n_recent = (int64_t)c->n_recent;
}

/* What is said of a signal's values, or of their absence. */
static void set_state(const struct channel *c, struct arena *run, struct signal *s)
{
	const char *said = c->reason[0] ? arena_strdup(run, c->reason) : NULL;
	if (c->n == 0 && !c->has_text) {
		bool told = c->absent != SIGNAL_MEASURED;
		s->state = told ? c->absent : SIGNAL_NOT_COUNTED;
		s->reason = told              ? said
		            : c->n_resets > 0 ? _("its counter began anew")
		            : c->has_total && c->row->kind == WATCH_SHARE
		                    ? _("what it is a share of did not grow")
		                    : _("it takes two samples, and there were fewer");
		return;
	}
	s->state = c->assumed ? SIGNAL_ESTIMATED : SIGNAL_MEASURED;
	s->reason = c->assumed;
	if (c->absent != SIGNAL_MEASURED)
		s->reason = arena_printf(run, _("not to the end: %s"), said);
	else if (c->n_resets > 0)
		s->reason = arena_printf(
		        run, _("its counter began anew %lld times"), (long long)c->n_resets);
}

static void report_channel(const struct channel *c, struct arena *run, struct signal *s)
{
	bool is_rate = c->row->kind == WATCH_RATE;
	*s = (struct signal){
		.name = c->row->name,
		.unit = c->row->unit,
		.source = c->from ? c->from : c->row->from,
		.instance = c->instance ? arena_strdup(run, c->instance) : NULL,
		.n = c->n,
		.delta = is_rate && c->n > 0 ? c->grown : NAN,
		.mean = NAN,
		.min = NAN,
		.p50 = NAN,
		.p95 = NAN,
		.max = NAN,
		.last = c->last,
		.total = is_rate ? c->grown_ever : NAN,
		.text = c->has_text ? arena_strdup(run, c->text) : NULL,
	};
	set_state(c, run, s);
	if (c->n_points > 0)
		set_moments(c, s);
}

/* What takes time: a full report, of every channel. */
static void add_all(const struct channel *c, int64_t zero_ns, struct arena *run, struct signal *s)
{
	set_points(c, zero_ns, run, s);
	if (c->n_points > 0)
		set_quantiles(c, s);
}

/* add is called for the signals of the rows that are wanted; NULL: all are. */
static void report(const struct board *b, int64_t zero_ns, bool (*wants)(const char *name),
        void (*add)(const struct channel *, int64_t, struct arena *, struct signal *),
        struct arena *run, struct signal_system *to)
{
	AUTO(auto_free) bool *done = mem_zeroed(b->n + 1, sizeof(*done));
	to->signals = arena_new_n(run, struct signal, b->n + 1);
	to->n_signals = 0;
	for (size_t i = 0; i < b->n; i++) {
		if (done[i])
			continue;
		bool wanted = !wants || wants(b->channels[i]->row->name);
		for (struct channel *c = b->channels[i]; c; c = c->next_of_row) {
			struct signal *s = &to->signals[to->n_signals++];
			done[c->number] = true;
			report_channel(c, run, s);
			if (wanted)
				add(c, zero_ns, run, s);
		}
	}
}

void board_report(
        const struct board *b, int64_t zero_ns, struct arena *run, struct signal_system *to)
{
	report(b, zero_ns, NULL, add_all, run, to);
}

void board_glance(const struct board *b, int64_t zero_ns, bool (*wants)(const char *name),
        struct arena *run, struct signal_system *to)
{
	report(b, zero_ns, wants, set_points, run, to);
}

void board_each_news(
        struct board *b, void (*on_news)(void *ctx, const struct board_news *news), void *ctx)
{
	for (size_t i = 0; i < b->n; i++) {
		struct channel *c = b->channels[i];
		if (!c->is_new)
			continue;
		const struct board_news news = {
			.row = c->row,
			.instance = c->instance,
			.from = c->from,
			.assumed = c->assumed,
			.number = c->number,
			.forgot = c->forgot,
			.has_value = c->is_seen,
			.value = c->told,
			.total = c->total,
			.whole = c->whole,
			.text = c->row->kind == WATCH_TEXT ? c->text : NULL,
			.absent = c->absent,
			.reason = c->reason,
		};
		c->is_new = c->forgot = c->forgot_since;
		c->is_seen = c->forgot_since = false;
		on_news(ctx, &news);
	}
}
