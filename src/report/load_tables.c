/*
 * load_tables.c - the tables and charts of a load test on a terminal.
 */
#include "report/load_tables.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "report/layout.h"
#include "stats/quantile.h"
#include "text/chart.h"

#include <math.h>
#include <string.h>

enum { CELL = 24, N_BARS = 10, BAR_COLUMNS = 40, SPARK_COLUMNS = 60 };

static const double CONFIDENCE = 0.95;

enum { P50 = 0, P99 = 3 }; /* of load_percentiles */

struct row_unit {
	const char *name;
	double ns;
};

/* The unit in which the largest value of a row has at most five digits before the point. */
static struct row_unit unit_for(int64_t max_ns)
{
	static const struct row_unit units[] = {
		{ "ms", 1e6 },
		{ "s", 1e9 },
		{ "h", 3600e9 },
	};
	size_t i = 0;
	while (i + 1 < ARRAY_LEN(units) && (double)max_ns >= 1e5 * units[i].ns)
		i++;
	return units[i];
}

/* Five columns, so that ten of them fit on a line: "1.234", "12.34", "123.4", "12345". */
static const char *cell_number(double ns, double unit_ns, char out[CELL])
{
	double v = ns / unit_ns;
	int decimals = v >= 1000 ? 0 : v >= 100 ? 1 : v >= 10 ? 2 : 3;
	if (v > 0 && v < 0.001)
		snprintf(out, CELL, "<.001");
	else
		snprintf(out, CELL, "%.*f", decimals, v);
	return out;
}

struct metrics_table {
	struct table table;
	bool has_dash;
};

static void add_dash(struct metrics_table *m)
{
	table_cell(&m->table, "-");
	m->has_dash = true;
}

static void add_percentile(struct metrics_table *m, const struct hist *h, double q, double unit_ns)
{
	char text[CELL];
	if (quantile_enough(h->n, q))
		table_cell(
		        &m->table, "%s", cell_number((double)hist_quantile(h, q), unit_ns, text));
	else
		add_dash(m);
}

/* In ms. */
static const char *percentile_or_dash(const struct hist *h, double q, char text[CELL])
{
	return quantile_enough(h->n, q) ? cell_number((double)hist_quantile(h, q), NS_PER_MS, text) :
					  "-";
}

/* i_q: of load_percentiles. */
static void add_interval(struct metrics_table *m, const struct hist *h, const double *n_eff, int i_q,
        double unit_ns)
{
	double q = load_percentiles[i_q].q;
	struct quantile_interval i;
	char low[CELL], high[CELL];
	if (quantile_enough(h->n, q) && quantile_ci_hist(h, q, CONFIDENCE, n_eff ? n_eff[i_q] : NAN, &i))
		table_cell(&m->table, "%s..%s", cell_number((double)i.low, unit_ns, low),
		        cell_number((double)i.high, unit_ns, high));
	else
		add_dash(m);
}

static void add_metric(
        struct metrics_table *m, const char *name, const struct hist *h, const double *n_eff)
{
	struct row_unit unit = unit_for(h->max);
	char text[CELL];
	table_cell(&m->table, "%s, %s", name, unit.name);
	table_cell(&m->table, "%lld", (long long)h->n);
	table_cell(&m->table, "%s", cell_number(hist_mean(h), unit.ns, text));
	add_percentile(m, h, 0.5, unit.ns);
	add_interval(m, h, n_eff, P50, unit.ns);
	add_percentile(m, h, 0.9, unit.ns);
	add_percentile(m, h, 0.99, unit.ns);
	add_interval(m, h, n_eff, P99, unit.ns);
	add_percentile(m, h, 0.999, unit.ns);
	table_cell(&m->table, "%s", cell_number((double)h->max, unit.ns, text));
}

static bool same_times(const struct hist *a, const struct hist *b)
{
	return a->n == b->n && a->sum == b->sum;
}

/*
 * What would repeat another row is left out: in a closed loop a request is sent when it is planned,
 * and where nothing is hidden the first token is the first output.
 */
static bool is_shown(const struct load_run *r, enum load_metric metric)
{
	const struct hist *h = &r->metrics[metric];
	if (metric == LOAD_RESPONSE)
		return h->n > 0 && r->concurrency == 0;
	if (metric == LOAD_TTFO)
		return h->n > 0 && !same_times(h, &r->metrics[LOAD_TTFT]);
	return h->n > 0;
}

void load_table_metrics(const struct load_run *r, struct arena *tmp, struct buf *out)
{
	const char *heads[] = { "", "n", _("mean"), "P50", "[95 %]", "P90", "P99", "[95 %]",
		"P99.9", _("max") };
	struct metrics_table m = { 0 };
	if (r->requests.ok == 0)
		return;
	table_init(&m.table, tmp, "lrrrlrrlrr");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_cell(&m.table, "%s", heads[i]);
	for (int i = 0; i < LOAD_N_METRICS; i++)
		if (is_shown(r, i))
			add_metric(&m, load_metric_names[i], &r->metrics[i], r->n_eff[i]);
	buf_add_char(out, '\n');
	table_print(&m.table, out);
	const double *n_eff = r->n_eff[LOAD_LATENCY];
	layout_wrap(out,
	        n_eff && !isnan(n_eff[P50])
	                ? _("Of the requests that were ok; [95 %] is the confidence interval of the "
	                    "percentile before it, wider where values resemble their neighbours "
	                    "(n_eff in the JSON).")
	                : _("Of the requests that were ok; [95 %] is the confidence interval of the "
	                    "percentile before it, as if the values were independent: the run is "
	                    "too short to tell."),
	        0, 0);
	if (m.has_dash)
		layout_wrap(out,
		        arena_printf(tmp,
		                _("- too few samples (P50 needs %lld, P90 %lld, P99 %lld, P99.9 "
		                  "%lld), or too few independent ones."),
		                (long long)quantile_floor(0.5), (long long)quantile_floor(0.9),
		                (long long)quantile_floor(0.99), (long long)quantile_floor(0.999)),
		        0, 0);
}

void load_table_targets(const struct load_run *r, struct arena *tmp, struct buf *out)
{
	struct table table;
	char p50[CELL], p99[CELL];
	if (!r->targets)
		return;
	table_init(&table, tmp, "lrrrrr");
	table_cell(&table, "%s", _("target"));
	table_cell(&table, "%s", _("attempted"));
	table_cell(&table, "%s", _("ok"));
	table_cell(&table, "%s", _("failed"));
	table_cell(&table, "%s", _("P50 ms"));
	table_cell(&table, "%s", _("P99 ms"));
	for (int i = 0; i < r->n_targets; i++) {
		const struct load_target_run *t = &r->targets[i];
		const struct hist *h = &t->latency;
		table_cell(&table, "%s", t->url);
		table_cell(&table, "%lld", (long long)t->attempted);
		table_cell(&table, "%lld", (long long)t->ok);
		table_cell(&table, "%lld", (long long)t->failed);
		table_cell(&table, "%s", percentile_or_dash(h, 0.5, p50));
		table_cell(&table, "%s", percentile_or_dash(h, 0.99, p99));
	}
	buf_add_char(out, '\n');
	table_print(&table, out);
}

/* Bars of equal width on a logarithmic scale, so that the tail is seen beside the body. */
void load_table_histogram(const struct hist *h, struct arena *tmp, struct buf *out)
{
	if (h->n == 0)
		return;
	struct row_unit unit = unit_for(h->max);
	double low = h->min > 0 ? (double)h->min : 1;
	double span = (double)h->max / low;
	int n_bars = span > 1.001 ? N_BARS : 1;
	struct chart_bar bars[N_BARS];
	int64_t below = 0;
	for (int i = 0; i < n_bars; i++) {
		bool last = i + 1 == n_bars;
		double edge = last ? (double)h->max : low * pow(span, (i + 1.0) / n_bars);
		int64_t up_to = last ? h->n : hist_count_at_or_below(h, (int64_t)edge);
		char text[CELL];
		bars[i] = (struct chart_bar){
			.label = arena_printf(tmp, "%s", cell_number(edge, unit.ns, text)),
			.value = (double)(up_to - below),
			.note = arena_printf(tmp, "%lld", (long long)(up_to - below)),
		};
		below = up_to;
	}
	buf_add_char(out, '\n');
	layout_wrap(out,
	        arena_printf(tmp, _("Latency of %lld requests, each bar up to so many %s:"),
	                (long long)h->n, unit.name),
	        0, 0);
	chart_bars(out, bars, (size_t)n_bars, BAR_COLUMNS, 2);
}

/* Seconds are drawn together, per bar the same number of them, until they fit on the line. */
void load_table_spark(const struct load_run *r, struct arena *tmp, struct buf *out)
{
	if (r->n_series < 2)
		return;
	int64_t per_bar = (r->n_series + SPARK_COLUMNS - 1) / SPARK_COLUMNS;
	double rates[SPARK_COLUMNS], low = INFINITY, high = 0, start_s = 0;
	size_t n = 0;
	for (int64_t i = 0; i < r->n_series; i += per_bar) {
		int64_t requests = 0;
		int64_t end = i + per_bar < r->n_series ? i + per_bar : r->n_series;
		for (int64_t k = i; k < end; k++)
			requests += r->series[k].requests;
		double span_s = r->series[end - 1].t_s - start_s;
		start_s = r->series[end - 1].t_s;
		rates[n] = span_s > 0 ? (double)requests / span_s : NAN;
		low = fmin(low, rates[n]);
		high = fmax(high, rates[n++]);
	}
	AUTO(auto_buf) struct buf spark = { 0 };
	char low_text[LAYOUT_NUMBER], high_text[LAYOUT_NUMBER];
	chart_spark(&spark, rates, n);
	layout_wrap(out,
	        arena_printf(tmp, _("Throughput over time %s %s to %s req/s, a bar is %lld s"),
	                spark.s, layout_number(low, low_text), layout_number(high, high_text),
	                (long long)per_bar),
	        0, 0);
}
