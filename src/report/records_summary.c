#include "report/records.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "report/layout.h"
#include "stats/quantile.h"
#include "text/json.h"

#include <math.h>
#include <stdlib.h>

/* ---- counting ---- */

static void add_value(struct records_values *v, int64_t ns)
{
	v->n_all++;
	v->sum += (double)ns;
	if (v->n_all == 1 || ns > v->max)
		v->max = ns;
	if (v->n == REPORT_RECORDS_VALUES_MAX)
		return;
	if (v->n == v->cap) {
		v->cap = v->cap ? 2 * v->cap : 1024;
		v->ns = mem_realloc(v->ns, v->cap * sizeof(*v->ns));
	}
	v->ns[v->n++] = ns;
}

static void add_gaps(struct records_summary *s, struct records_gaps gaps)
{
	int64_t gap;
	while (records_gap_next(&gaps, &gap))
		add_value(&s->metrics[LOAD_ITL], gap);
}

static void add_request(struct records_summary *s, const struct records_request *r)
{
	int64_t ns;
	s->outcomes[r->outcome]++;
	s->retried += r->retried;
	for (int m = 0; m < LOAD_N_METRICS && r->outcome == RECORDS_OK; m++)
		if (records_metric_ns(r, m, &ns))
			add_value(&s->metrics[m], ns);
	if (r->outcome >= RECORDS_FAILED)
		add_value(&s->failed_latency, r->end_ns - r->sent_ns);
	add_gaps(s, r->gaps);
}

void records_summary_add(struct records_summary *s, const struct records_entry *entry)
{
	const struct records_request *r = &entry->request;
	if (entry->kind == RECORDS_PIECE) {
		if (entry->piece.in_window)
			add_gaps(s, entry->piece.gaps);
		return;
	}
	s->n_requests++;
	if (r->in_window)
		add_request(s, r);
	else
		s->warmup_requests++;
}

void records_summary_release(struct records_summary *s)
{
	for (int m = 0; m < LOAD_N_METRICS; m++)
		free(s->metrics[m].ns);
	free(s->failed_latency.ns);
	*s = (struct records_summary){ 0 };
}

static int64_t failed(const struct records_summary *s)
{
	int64_t n = 0;
	for (int i = RECORDS_FAILED; i < RECORDS_N_OUTCOMES; i++)
		n += s->outcomes[i];
	return n;
}

static int64_t attempted(const struct records_summary *s)
{
	return failed(s) + s->outcomes[RECORDS_OK] + s->outcomes[RECORDS_CENSORED];
}

/* ---- percentiles ---- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static void sort(struct records_values *v)
{
	if (v->n)
		qsort(v->ns, v->n, sizeof(*v->ns), by_value);
}

/* Of sorted values, nearest rank; NAN where it cannot be told from the largest. */
static double quantile(const struct records_values *v, double q)
{
	int64_t n = v->n_all;
	if (n == 0 || v->n < (size_t)n || !quantile_enough(n, q))
		return NAN;
	return (double)v->ns[quantile_rank(n, q) - 1];
}

/* ---- JSON ---- */

static void put_ms(struct json *j, const char *name, double ns)
{
	json_put_double(j, name, ns / (double)NS_PER_MS);
}

static void put_metric(struct json *j, const char *name, struct records_values *v)
{
	AUTO(auto_buf) struct buf key = { 0 };
	if (v->n_all == 0)
		return;
	sort(v);
	buf_printf(&key, "%s_ms", name);
	json_key(j, key.s);
	json_object_open(j);
	json_put_int(j, "n", v->n_all);
	put_ms(j, "mean", v->sum / (double)v->n_all);
	for (int i = 0; i < LOAD_N_PERCENTILES; i++)
		put_ms(j, load_percentiles[i].name, quantile(v, load_percentiles[i].q));
	put_ms(j, "max", (double)v->max);
	json_object_close(j);
}

static void put_requests(struct json *j, const struct records_summary *s)
{
	json_key(j, "requests");
	json_object_open(j);
	json_put_int(j, "attempted", attempted(s));
	json_put_int(j, "ok", s->outcomes[RECORDS_OK]);
	json_put_int(j, "failed", failed(s));
	json_put_int(j, "censored", s->outcomes[RECORDS_CENSORED]);
	json_put_int(j, "retried", s->retried);
	json_key(j, "failures");
	json_object_open(j);
	for (int i = 0; i < LOAD_N_FAILURES; i++)
		json_put_int(j, load_failure_names[i], s->outcomes[RECORDS_FAILED + i]);
	json_object_close(j);
	json_object_close(j);
}

/* What only the last block knows: null where that is missing. */
static void put_done(struct json *j, const struct records_reader *reader)
{
	const struct records_done *done = &reader->done;
	double window_ns = (double)(done->window_end_ns - done->window_start_ns);
	double missing = reader->is_whole ? 0 : NAN;
	json_key(j, "lost");
	json_object_open(j);
	json_put_double(j, "requests", (double)done->lost_requests + missing);
	json_put_double(j, "token_events", (double)done->lost_gaps + missing);
	json_object_close(j);
	json_key(j, "window");
	json_object_open(j);
	json_put_double(j, "start_s", (double)done->window_start_ns / 1e9 + missing);
	json_put_double(j, "duration_s", window_ns / 1e9 + missing);
	json_object_close(j);
}

void report_records_json(
        struct records_summary *s, const struct records_reader *reader, struct buf *out)
{
	struct json j;
	json_init(&j, out, true);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.records/1");
	json_put_string(&j, "file", reader->name);
	json_put_bool(&j, "whole", reader->is_whole);
	json_put_bool(&j, "partial", !reader->is_whole || reader->done.partial);
	json_key(&j, "header");
	json_raw(&j, reader->head.json);
	put_done(&j, reader);
	json_put_int(&j, "warmup_requests", s->warmup_requests);
	put_requests(&j, s);
	for (int m = 0; m < LOAD_N_METRICS; m++)
		put_metric(&j, load_metric_names[m], &s->metrics[m]);
	put_metric(&j, "failed_latency", &s->failed_latency);
	json_object_close(&j);
	buf_add_char(out, '\n');
}

/* ---- text ---- */

/* Of load_percentiles. */
static const char *const heads[LOAD_N_PERCENTILES] = { "P50", "P90", "P95", "P99", "P99.9",
	"P99.99" };

/* A time, or a dash for NAN. */
static void add_time(struct table *t, double ns)
{
	char text[UNITS_TEXT];
	table_cell(t, "%s", isnan(ns) ? "-" : units_duration(ns, text));
}

static void add_metric(struct table *t, const char *name, struct records_values *v)
{
	if (v->n_all == 0)
		return;
	sort(v);
	table_cell(t, "%s", name);
	table_cell(t, "%lld", (long long)v->n_all);
	add_time(t, v->sum / (double)v->n_all);
	for (int i = 0; i < LOAD_N_PERCENTILES; i++)
		add_time(t, quantile(v, load_percentiles[i].q));
	add_time(t, (double)v->max);
}

static void print_metrics(struct records_summary *s, struct arena *tmp, struct buf *out)
{
	struct table t;
	if (attempted(s) == s->outcomes[RECORDS_CENSORED])
		return;
	table_init(&t, tmp, "lrrrrrrrrr");
	table_cell(&t, "%s", "");
	table_cell(&t, "n");
	table_cell(&t, "%s", _("mean"));
	for (int i = 0; i < LOAD_N_PERCENTILES; i++)
		table_cell(&t, "%s", heads[i]);
	table_cell(&t, "%s", _("max"));
	for (int m = 0; m < LOAD_N_METRICS; m++)
		add_metric(&t, load_metric_names[m], &s->metrics[m]);
	add_metric(&t, "failed_latency", &s->failed_latency);
	buf_add_char(out, '\n');
	table_print(&t, out);
}

static void list_failures(const struct records_summary *s, struct fields *f)
{
	AUTO(auto_buf) struct buf classes = { 0 };
	for (int i = 0; i < LOAD_N_FAILURES; i++)
		if (s->outcomes[RECORDS_FAILED + i])
			buf_printf(&classes, classes.len ? ", %s %lld" : "%s %lld",
			        load_failure_names[i], (long long)s->outcomes[RECORDS_FAILED + i]);
	if (classes.len)
		fields_add_present(f, _("Failures"), classes.s);
}

void report_records_text(
        struct records_summary *s, const struct records_reader *reader, struct buf *out)
{
	struct arena tmp = { 0 };
	struct fields f = { .tmp = &tmp };
	const struct records_head *head = &reader->head;
	fields_add(&f, _("Target"), "%.*s", STR_ARG(head->url));
	fields_add(&f, _("Started"), "%.*s", STR_ARG(head->started_at));
	fields_add(&f, _("Records"), _("%lld requests, of these %lld outside the window"),
	        (long long)s->n_requests, (long long)s->warmup_requests);
	fields_add(&f, _("Requests"),
	        _("%lld attempted: %lld ok, %lld failed, %lld censored (under way at the end); "
	          "%lld "
	          "retried"),
	        (long long)attempted(s), (long long)s->outcomes[RECORDS_OK], (long long)failed(s),
	        (long long)s->outcomes[RECORDS_CENSORED], (long long)s->retried);
	list_failures(s, &f);
	fields_print(&f, 0, out);
	print_metrics(s, &tmp, out);
	arena_release(&tmp);
}
