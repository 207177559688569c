/*
 * metrics_report.c - the looks of a metrics_window as signals.
 */
#include "watch/pages/metrics_looks.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two looks closer than this share of the period make no rate: a few events would be thousands. */
static const double interval_min = 0.5;

static const char *const no_metric =
        N_("the page of metrics does not show it; some counters appear with their first event");

/* What the report of one signal needs. */
struct report {
	const struct metrics_window *w;
	enum metrics_signal signal;
	int64_t start_ns, end_ns;
	struct arena *run;
	struct signal *to;
};

static void set_state(struct signal *s, enum signal_state state, const char *reason)
{
	s->state = state;
	s->reason = reason;
}

static bool is_of(const struct report *r, size_t row)
{
	return metrics_rows[row].software == r->w->software &&
	       metrics_rows[row].signal == r->signal;
}

static void add_name(struct buf *out, const char *name, const char *between)
{
	if (!name)
		return;
	buf_add_c(out, out->len ? between : "");
	buf_add_c(out, name);
}

static void add_role(const struct report *r, enum metrics_role role, struct buf *out)
{
	for (size_t i = 0; i < metrics_n_rows; i++)
		if (is_of(r, i) && metrics_rows[i].role == role)
			add_name(out, r->w->rows[i].name[METRICS_PART_VALUE], " + ");
}

/* The histogram's name without the suffix of its parts. */
static void add_histogram(const struct report *r, struct buf *out)
{
	for (size_t i = 0; i < metrics_n_rows; i++) {
		const char *sum = r->w->rows[i].name[METRICS_PART_SUM];
		if (!is_of(r, i) || metrics_rows[i].role != METRICS_HISTOGRAM || !sum ||
		        !r->w->rows[i].name[METRICS_PART_COUNT])
			continue;
		add_name(out, sum, " + ");
		out->len -= strlen("_sum");
		out->s[out->len] = 0;
	}
}

/* What the signal was read from; NULL when the page does not have all that it takes. */
static const char *source_of(const struct report *r)
{
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf count = { 0 };
	if (metrics_signals[r->signal].kind != METRICS_DISTRIBUTION) {
		add_role(r, METRICS_VALUE, &text);
	} else {
		add_histogram(r, &text);
		if (text.len == 0) {
			add_role(r, METRICS_SUM, &text);
			add_role(r, METRICS_COUNT, &count);
			if (text.len == 0 || count.len == 0)
				return NULL;
			add_name(&text, count.s, strchr(count.s, '+') ? " / (" : " / ");
			buf_add_c(&text, strchr(count.s, '+') ? ")" : "");
		}
	}
	return text.len ? str_c(buf_str(&text), r->run) : NULL;
}

static double seconds(const struct report *r, size_t look)
{
	return (double)(r->w->looks[look].at_ns - r->start_ns) / 1e9;
}

static const struct look_value *value_at(const struct report *r, size_t look)
{
	return &r->w->looks[look].signals[r->signal];
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Series, and what can be said of its values taken one by one. */
static void set_points(const struct report *r, struct signal_point *points, size_t n)
{
	struct signal *s = r->to;
	double *sorted = arena_new_n(r->run, double, n ? n : 1), sum = 0;
	s->series = points;
	s->n_series = (int64_t)n;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = points[i].value;
		sum += points[i].value;
	}
	if (n == 0)
		return;
	qsort(sorted, n, sizeof(*sorted), compare);
	s->n = (int64_t)n;
	s->mean = sum / (double)n;
	s->min = sorted[0];
	s->max = sorted[n - 1];
	if (quantile_enough(s->n, 0.5))
		s->p50 = quantile_sorted(sorted, n, 0.5);
	if (quantile_enough(s->n, 0.95))
		s->p95 = quantile_sorted(sorted, n, 0.95);
}

static void report_gauge(const struct report *r)
{
	const struct metrics_window *w = r->w;
	struct signal_point *points = arena_new_n(r->run, struct signal_point, w->n_kept + 1);
	size_t n = 0;
	for (size_t i = 0; i < w->n_kept; i++) {
		double value = value_at(r, i)->value;
		if (w->looks[i].at_ns < r->start_ns || w->looks[i].at_ns > r->end_ns ||
		        isnan(value))
			continue;
		points[n++] = (struct signal_point){ seconds(r, i), value };
	}
	set_points(r, points, n);
	set_state(r->to, n ? SIGNAL_MEASURED : SIGNAL_NOT_COUNTED,
	        n ? NULL : _("the page was not read inside the window"));
}

/*
 * Looks between which rates are taken: all but those too close to the one before. The last look is
 * always one of them, in the place of the one before it where that is too close.
 *
 * ret_edges  room for all looks
 */
static size_t find_edges(const struct report *r, size_t *ret_edges)
{
	const struct metrics_window *w = r->w;
	size_t n = 0;
	for (size_t i = 0; i < w->n_kept; i++) {
		bool close =
		        n > 0 && (double)(w->looks[i].at_ns - w->looks[ret_edges[n - 1]].at_ns) <
		                         interval_min * (double)w->period_ns;
		if (close && i + 1 < w->n_kept)
			continue;
		if (close && n > 1)
			n--;
		ret_edges[n++] = i;
	}
	return n;
}

/* Growth a second of a counter, or the mean of a distribution, for each interval. */
static struct signal_point *intervals(const struct report *r, bool rates, size_t *ret_n)
{
	const struct metrics_window *w = r->w;
	size_t *edges = arena_new_n(r->run, size_t, w->n_kept + 1);
	struct signal_point *points = arena_new_n(r->run, struct signal_point, w->n_kept + 1);
	size_t n_edges = find_edges(r, edges), n = 0;
	for (size_t i = 1; i < n_edges; i++) {
		const struct look_value *a = value_at(r, edges[i - 1]), *b = value_at(r, edges[i]);
		double t = seconds(r, edges[i]);
		double by = rates ? t - seconds(r, edges[i - 1]) : b->count - a->count;
		if (by > 0)
			points[n++] = (struct signal_point){ t, (b->value - a->value) / by };
	}
	*ret_n = n;
	return points;
}

/* False, with the reason in the signal, when the counters give no difference. */
static bool differs(const struct report *r)
{
	int n_resets = r->w->signals[r->signal].n_resets;
	if (r->w->n_kept < 2)
		set_state(r->to, SIGNAL_NOT_COUNTED,
		        _("the page could not be read twice, at the start and at the end of the "
		          "window"));
	else if (n_resets > 1)
		set_state(r->to, SIGNAL_NOT_COUNTED,
		        _("its counter went back more than once: several servers seem to answer at "
		          "this address in turn"));
	else if (n_resets == 1)
		set_state(r->to, SIGNAL_ESTIMATED,
		        _("its counter started anew inside the window; what it counted between "
		          "then "
		          "and the look before is missing"));
	else
		set_state(r->to, SIGNAL_MEASURED, NULL);
	return r->to->state != SIGNAL_NOT_COUNTED;
}

static void report_counter(const struct report *r)
{
	const struct metrics_window *w = r->w;
	size_t n;
	if (!differs(r))
		return;
	double span = seconds(r, w->n_kept - 1) - seconds(r, 0);
	struct signal_point *points = intervals(r, true, &n);
	set_points(r, points, n);
	r->to->delta = value_at(r, w->n_kept - 1)->value - value_at(r, 0)->value;
	r->to->mean = span > 0 ? r->to->delta / span : NAN;
}

/* An upper edge and how many values of the window lie at or below it. */
struct bucket {
	double edge, below;
};

static int compare_buckets(const void *a, const void *b)
{
	return compare(&((const struct bucket *)a)->edge, &((const struct bucket *)b)->edge);
}

/* The buckets of all label sets, edges in our unit, merged where the edge is the same. */
static size_t merge_buckets(const struct report *r, double **ret_edges, double **ret_below)
{
	const struct metrics_window *w = r->w;
	struct bucket *buckets = arena_new_n(r->run, struct bucket, w->n_series + 1);
	size_t n = 0, merged = 0;
	for (size_t i = 0; i < w->n_series; i++) {
		const struct series *s = &w->series[i];
		if (!is_of(r, s->match.row) || s->match.part != METRICS_PART_BUCKET ||
		        s->match.alternative != w->rows[s->match.row].alternative)
			continue;
		double scale = metrics_rows[s->match.row].scale;
		buckets[n++] = (struct bucket){ s->le * scale, s->grown };
	}
	qsort(buckets, n, sizeof(*buckets), compare_buckets);
	*ret_edges = arena_new_n(r->run, double, n + 1);
	*ret_below = arena_new_n(r->run, double, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (merged > 0 && (*ret_edges)[merged - 1] == buckets[i].edge) {
			(*ret_below)[merged - 1] += buckets[i].below;
			continue;
		}
		(*ret_edges)[merged] = buckets[i].edge;
		(*ret_below)[merged++] = buckets[i].below;
	}
	return merged;
}

double metrics_quantile(const double *edges, const double *below, size_t n, double q)
{
	double total = 0, low = 0, before = 0;
	for (size_t i = 0; i < n; i++)
		total = fmax(total, below[i]);
	if (!(total > 0))
		return NAN;
	for (size_t i = 0; i < n; i++) {
		double now = fmax(below[i], before);
		if (now >= q * total && now > before) {
			if (isinf(edges[i]))
				return NAN;
			/* Nothing is known of where a first bucket below 0 begins. */
			if (i == 0 && edges[i] <= 0)
				return edges[i];
			return low + (edges[i] - low) * (q * total - before) / (now - before);
		}
		before = now;
		low = edges[i];
	}
	return NAN;
}

/*
 * A quantile of a signal's buckets. What is counted in whole numbers lies on one of them. In a wide
 * bucket the mean says more than the edges do: a share 1 - q of values that are not negative cannot
 * lie above mean / (1 - q).
 *
 * source   Markov's inequality
 */
static double bucket_quantile(
        const struct report *r, const double *edges, const double *below, size_t n, double q)
{
	bool whole = strcmp(r->to->unit, "1") == 0 || strcmp(r->to->unit, "tokens") == 0;
	double value = metrics_quantile(edges, below, n, q);
	if (!quantile_enough(r->to->n, q) || isnan(value))
		return NAN;
	if (whole)
		value = ceil(value);
	return edges[0] >= 0 ? fmin(value, r->to->mean / (1 - q)) : value;
}

static void set_quantiles(const struct report *r)
{
	struct signal *s = r->to;
	double *edges, *below;
	size_t n = merge_buckets(r, &edges, &below);
	if (n < 2) {
		if (s->state == SIGNAL_MEASURED)
			s->reason = _("sum over count: only the mean can be told");
		return;
	}
	s->p50 = bucket_quantile(r, edges, below, n, 0.5);
	s->p95 = bucket_quantile(r, edges, below, n, 0.95);
	if (s->state == SIGNAL_MEASURED)
		set_state(s, SIGNAL_ESTIMATED,
		        _("percentiles by linear interpolation inside the service's buckets; n and "
		          "mean are exact"));
}

static void report_distribution(const struct report *r)
{
	const struct metrics_window *w = r->w;
	struct signal *s = r->to;
	size_t n;
	if (!differs(r))
		return;
	double sum = value_at(r, w->n_kept - 1)->value - value_at(r, 0)->value;
	double count = value_at(r, w->n_kept - 1)->count - value_at(r, 0)->count;
	if (!(count > 0)) {
		set_state(s, SIGNAL_NOT_COUNTED, _("it did not happen inside the window"));
		return;
	}
	s->n = llround(fmin(count, 9e18));
	s->mean = sum / count;
	s->series = intervals(r, false, &n);
	s->n_series = (int64_t)n;
	set_quantiles(r);
}

/* What a signal showed between two looks, or, of a gauge, at the newer one; NAN: nothing. */
static double value_between(enum metrics_kind kind, const struct look_value *old,
        const struct look_value *new, double s)
{
	switch (kind) {
	case METRICS_GAUGE_SUM:
	case METRICS_GAUGE_MAX:
		return new->value;
	case METRICS_COUNTER:
		return old && s > 0 ? (new->value - old->value) / s : NAN;
	case METRICS_DISTRIBUTION:
		return old && new->count > old->count
		               ? (new->value - old->value) / (new->count - old->count)
		               : NAN;
	}
	return NAN;
}

/* The newest values, in the window or not. */
static void set_recent(const struct report *r)
{
	const struct metrics_window *w = r->w;
	enum metrics_kind kind = metrics_signals[r->signal].kind;
	struct signal_point *points = arena_new_n(r->run, struct signal_point, w->n_recent + 1);
	size_t first = (w->recent_at + METRICS_RECENT - w->n_recent) % METRICS_RECENT, n = 0;
	const struct look *old = NULL;
	for (size_t i = 0; i < w->n_recent; i++) {
		const struct look *look = &w->recent[(first + i) % METRICS_RECENT];
		double s = old ? (double)(look->at_ns - old->at_ns) / 1e9 : 0;
		/* Two looks that are close make no rate. */
		bool close = old && kind == METRICS_COUNTER && s * 1e9 < interval_min * NS_PER_S &&
		             i + 1 < w->n_recent;
		if (close)
			continue;
		double value = value_between(
		        kind, old ? &old->signals[r->signal] : NULL, &look->signals[r->signal], s);
		old = look;
		/* What happens seldom happened last in an earlier interval. */
		if (!isnan(value) || kind != METRICS_DISTRIBUTION)
			r->to->last = value;
		if (!isnan(value))
			points[n++] =
			        (struct signal_point){ (double)(look->at_ns - r->start_ns) / 1e9,
				        value };
	}
	r->to->recent = points;
	r->to->n_recent = (int64_t)n;
	if (kind == METRICS_COUNTER)
		r->to->total = w->signals[r->signal].value_ever;
}

/* Why there is no metric to read a signal from. */
static void report_none(const struct report *r)
{
	bool no_number = false;
	for (size_t i = 0; i < metrics_n_rows; i++)
		no_number |= is_of(r, i) && r->w->rows[i].no_number;
	if (no_number)
		set_state(r->to, SIGNAL_NOT_COUNTED,
		        _("what the page shows for it is no number, or too large"));
	else
		set_state(r->to, SIGNAL_NOT_SUPPORTED, _(no_metric));
}

static void report_signal(const struct report *r)
{
	struct signal *s = r->to;
	s->source = source_of(r);
	if (s->source)
		set_recent(r);
	if (!s->source)
		report_none(r);
	else if (metrics_signals[r->signal].kind == METRICS_COUNTER)
		report_counter(r);
	else if (metrics_signals[r->signal].kind == METRICS_DISTRIBUTION)
		report_distribution(r);
	else
		report_gauge(r);
}

/* "vllm", "node_exporter", or several that share a page: "vllm, node_exporter". */
static const char *software_of(const struct metrics_window *w, struct arena *run)
{
	AUTO(auto_buf) struct buf text = { 0 };
	if (w->software < METRICS_N_SOFTWARE)
		buf_add_c(&text, metrics_software_names[w->software]);
	for (int i = 0; i < EXPORTER_N; i++)
		if (w->exporters.seen[i] && !str_eq(buf_str(&text), str_of(exporter_names[i])))
			add_name(&text, exporter_names[i], ", ");
	return str_c(buf_str(&text), run);
}

static void add_service(const struct metrics_window *w, const char *url, int64_t start_ns,
        int64_t end_ns, struct arena *run, struct signal_page *page)
{
	page->n_signals = METRICS_N_SIGNALS;
	for (int i = 0; i < METRICS_N_SIGNALS; i++) {
		struct report r = { w, i, start_ns, end_ns, run, &page->signals[i] };
		page->signals[i] = (struct signal){
			.name = metrics_signals[i].name,
			.unit = metrics_signals[i].unit,
			.page = url,
			.delta = NAN,
			.mean = NAN,
			.min = NAN,
			.p50 = NAN,
			.p95 = NAN,
			.max = NAN,
			.last = NAN,
			.total = NAN,
		};
		report_signal(&r);
	}
}

void metrics_window_report(const struct metrics_window *w, const char *url, int64_t start_ns,
        int64_t end_ns, struct arena *run, struct signal_page *page)
{
	page->n_broken = (int64_t)w->n_broken;
	page->from_s = page->to_s = NAN;
	if (w->n_kept > 1) {
		page->from_s = (double)(w->looks[0].at_ns - start_ns) / 1e9;
		page->to_s = (double)(w->looks[w->n_kept - 1].at_ns - start_ns) / 1e9;
	}
	if (!metrics_window_knows(w)) {
		page->reason = w->n_looks
		                       ? _("no metric on the page is of a software that is known "
		                           "here")
		                       : page->reason;
		return;
	}
	struct signal_system hosts;
	exporters_report(&w->exporters, start_ns, run, &hosts);
	page->software = software_of(w, run);
	page->signals = arena_new_n(run, struct signal, METRICS_N_SIGNALS + hosts.n_signals);
	if (w->software < METRICS_N_SOFTWARE)
		add_service(w, url, start_ns, end_ns, run, page);
	for (size_t i = 0; i < hosts.n_signals; i++) {
		hosts.signals[i].page = url;
		page->signals[page->n_signals++] = hosts.signals[i];
	}
}
