/*
 * Scalars of the schema are always there, null when absent; objects without data are left out.
 * Rows of numbers stay on one line, so that a person can read the file too.
 */
#include "report/report.h"

#include "base/clock.h"
#include "report/layout.h"
#include "report/load_sessions.h"
#include "report/server.h"
#include "report/watch.h"
#include "stats/quantile.h"
#include "text/json.h"

#include <math.h>
#include <stdio.h>

enum { METRIC_NAME = 32, HISTOGRAM_BUCKETS_MAX = 128 };

static const double CONFIDENCE = 0.95;

static void put_ms(struct json *j, const char *name, double ns)
{
	json_put_double(j, name, ns / (double)NS_PER_MS);
}

static void put_interval(
        struct json *j, const char *name, const struct hist *h, double q, double n_eff)
{
	struct quantile_interval interval;
	json_key(j, name);
	if (!quantile_enough(h->n, q) || !quantile_ci_hist(h, q, CONFIDENCE, n_eff, &interval)) {
		json_nil(j);
		return;
	}
	json_array_open(j);
	j->pretty = false;
	json_double(j, (double)interval.low / (double)NS_PER_MS);
	json_double(j, (double)interval.high / (double)NS_PER_MS);
	json_array_close(j);
	j->pretty = true;
}

/* How many values each percentile needs that has too few. */
static void put_needs(struct json *j, const struct hist *h)
{
	bool open = false;
	for (int i = 0; i < LOAD_N_PERCENTILES; i++) {
		if (quantile_enough(h->n, load_percentiles[i].q))
			continue;
		if (!open) {
			json_key(j, "needs");
			json_object_open(j);
			j->pretty = false;
			open = true;
		}
		json_put_int(j, load_percentiles[i].name, quantile_floor(load_percentiles[i].q));
	}
	if (open) {
		json_object_close(j);
		j->pretty = true;
	}
}

/* So many independent values are those worth that each given percentile rests on. */
static void put_n_eff(struct json *j, const struct hist *h, const double *n_eff)
{
	json_key(j, "n_eff");
	json_object_open(j);
	j->pretty = false;
	for (int i = 0; i < LOAD_N_PERCENTILES; i++)
		if (quantile_enough(h->n, load_percentiles[i].q))
			json_put_double_present(j, load_percentiles[i].name, n_eff[i]);
	json_object_close(j);
	j->pretty = true;
}

/* n_eff: [LOAD_N_PERCENTILES], or NULL where it was not counted. */
static void put_hist(struct json *j, const char *name, const struct hist *h, const double *n_eff)
{
	if (h->n == 0)
		return;
	json_key(j, name);
	json_object_open(j);
	json_put_int(j, "n", h->n);
	put_ms(j, "mean", hist_mean(h));
	put_ms(j, "sd", hist_sd(h));
	put_ms(j, "min", (double)h->min);
	for (int i = 0; i < LOAD_N_PERCENTILES; i++) {
		double q = load_percentiles[i].q;
		put_ms(j, load_percentiles[i].name,
		        quantile_enough(h->n, q) ? (double)hist_quantile(h, q) : NAN);
	}
	put_ms(j, "max", (double)h->max);
	json_key(j, "ci");
	json_object_open(j);
	for (int i = 0; i < LOAD_N_PERCENTILES; i++)
		put_interval(j, load_percentiles[i].name, h, load_percentiles[i].q,
		        n_eff ? n_eff[i] : NAN);
	json_object_close(j);
	if (n_eff && !isnan(n_eff[0]))
		put_n_eff(j, h, n_eff);
	put_needs(j, h);
	json_object_close(j);
}

void load_json_hist(struct json *j, const char *name, const struct hist *h)
{
	put_hist(j, name, h, NULL);
}

static const char *metric_name(enum load_metric metric, char out[METRIC_NAME])
{
	snprintf(out, METRIC_NAME, "%s_ms", load_metric_names[metric]);
	return out;
}

static void put_config(struct json *j, const struct load_run *r)
{
	json_key(j, "config");
	json_object_open(j);
	if (r->concurrency > 0)
		json_put_int(j, "concurrency", r->concurrency);
	json_put_double_present(j, "rate", r->rate_per_s);
	json_put_string(j, "arrival", r->arrival);
	json_put_string_present(j, "balance", r->balance);
	json_put_int(j, "seed", r->seed);
	if (r->max_in_flight > 0)
		json_put_int(j, "max_in_flight", r->max_in_flight);
	json_put_bool(j, "stream", r->stream);
	json_put_string_present(j, "input", r->input);
	json_put_string_present(j, "output", r->output);
	json_put_double_present(j, "timeout_s", r->timeout_s);
	json_object_close(j);
}

static void put_targets(struct json *j, const struct load_run *r)
{
	if (!r->targets)
		return;
	json_key(j, "targets");
	json_array_open(j);
	for (int i = 0; i < r->n_targets; i++) {
		const struct load_target_run *t = &r->targets[i];
		json_object_open(j);
		json_put_string(j, "url", t->url);
		json_put_int(j, "attempted", t->attempted);
		json_put_int(j, "ok", t->ok);
		json_put_int(j, "failed", t->failed);
		json_put_int(j, "censored", t->censored);
		put_hist(j, "latency_ms", &t->latency, NULL);
		json_object_close(j);
	}
	json_array_close(j);
}

static void put_drift(struct json *j, const struct load_drift *d)
{
	json_object_open(j);
	j->pretty = false;
	json_put_string(j, "signal", load_signal_names[d->signal]);
	json_put_string(j, "kind", d->is_shift ? "level_shift" : "trend");
	json_put_double(j, "at_s", d->at_s);
	json_put_double(j, "from", d->from);
	json_put_double(j, "to", d->to);
	json_put_double(j, "p", d->p);
	json_object_close(j);
	j->pretty = true;
}

static void put_window(struct json *j, const struct load_window *w)
{
	json_key(j, "window");
	json_object_open(j);
	json_put_int(j, "warmup_requests", w->warmup_requests);
	json_put_double(j, "warmup_s", w->warmup_s);
	json_put_double(j, "duration_s", w->duration_s);
	json_put_bool(j, "steady", w->steady);
	json_key(j, "drift");
	if (w->judged) {
		json_array_open(j);
		for (int i = 0; i < w->n_drift; i++)
			put_drift(j, &w->drift[i]);
		json_array_close(j);
	} else {
		json_nil(j);
	}
	json_object_close(j);
}

static void put_whole(struct json *j, const struct load_whole *w)
{
	if (!(w->duration_s > 0))
		return;
	json_key(j, "whole_run");
	json_object_open(j);
	json_put_double(j, "duration_s", w->duration_s);
	json_put_int(j, "ok", w->ok);
	json_put_double(j, "requests_per_s", w->requests_per_s);
	put_hist(j, "latency_ms", &w->latency, NULL);
	json_object_close(j);
}

static void put_saturation(struct json *j, const struct load_saturation *s)
{
	json_put_string(j, "stopped", s->stopped ? "oversaturated" : NULL);
	if (!s->present)
		return;
	json_key(j, "saturation");
	json_object_open(j);
	json_put_double(j, "from_s", s->from_s);
	json_put_double(j, "at_s", s->at_s);
	json_put_double(j, "offered_per_s", s->offered_per_s);
	json_put_double(j, "completed_per_s", s->completed_per_s);
	json_put_double(j, "in_flight_from", s->in_flight_from);
	json_put_double(j, "in_flight_to", s->in_flight_to);
	json_put_double(j, "latency_ms_from", s->latency_ms_from);
	json_put_double(j, "latency_ms_to", s->latency_ms_to);
	json_object_close(j);
}

static void put_requests(struct json *j, const struct load_run *r)
{
	json_key(j, "requests");
	json_object_open(j);
	json_put_int(j, "attempted", r->requests.attempted);
	json_put_int(j, "ok", r->requests.ok);
	json_put_int(j, "failed", r->requests.failed);
	json_put_int(j, "censored", r->requests.censored);
	json_put_int(j, "retried", r->requests.retried);
	if (r->max_in_flight > 0)
		json_put_int(j, "blocked", r->requests.blocked);
	json_key(j, "failures");
	json_object_open(j);
	for (int i = 0; i < LOAD_N_FAILURES; i++)
		json_put_int(j, load_failure_names[i], r->requests.failures[i]);
	json_object_close(j);
	json_put_string_present(j, "first_error", r->first_error);
	json_object_close(j);
}

static void put_input_check(struct json *j, const struct load_input_check *c)
{
	if (c->n == 0)
		return;
	json_key(j, "input_tokens");
	json_object_open(j);
	json_put_int(j, "n", c->n);
	json_put_double(j, "meant_per_request", c->meant_per_request);
	json_put_double(j, "counted_per_request", c->counted_per_request);
	json_put_bool(j, "exact", c->exact);
	json_object_close(j);
}

static void put_throughput(struct json *j, const struct load_run *r)
{
	json_key(j, "throughput");
	json_object_open(j);
	json_put_double(j, "requests_per_s", r->throughput.requests_per_s);
	json_put_double(j, "input_tokens_per_s", r->throughput.input_tokens_per_s);
	json_put_double(j, "output_tokens_per_s", r->throughput.output_tokens_per_s);
	json_put_double(j, "events_per_s", r->throughput.events_per_s);
	json_object_close(j);
	if (!isnan(r->goodput.requests_per_s)) {
		json_key(j, "goodput");
		json_object_open(j);
		json_put_double(j, "requests_per_s", r->goodput.requests_per_s);
		json_put_double(j, "attainment", r->goodput.attainment_ratio);
		json_object_close(j);
	}
	json_put_string(j, "tokens_source", r->tokens_source);
	json_put_double_present(j, "tokens_per_event", r->tokens_per_event);
	put_input_check(j, &r->input_check);
}

/* Of every thread, where there are several; the largest of them stands outside. */
static void put_threads(struct json *j, const struct load_client *c)
{
	json_put_double(j, "waiting_ratio", c->waiting_ratio);
	if (c->threads < 2 || !c->per_thread)
		return;
	json_key(j, "per_thread");
	json_array_open(j);
	for (int i = 0; i < c->threads; i++) {
		json_object_open(j);
		j->pretty = false;
		json_put_double(j, "cpu_ratio", c->per_thread[i].cpu_ratio);
		json_put_double(j, "waiting_ratio", c->per_thread[i].waiting_ratio);
		json_object_close(j);
		j->pretty = true;
	}
	json_array_close(j);
}

static void put_unread(struct json *j, const struct load_unread *u)
{
	if (u->n == 0)
		return;
	json_key(j, "unread_bytes");
	json_object_open(j);
	json_put_int(j, "n", u->n);
	json_put_double(j, "mean", u->mean_bytes);
	json_put_int(j, "max", u->max_bytes);
	json_put_double(j, "wait_ms", u->wait_ms);
	json_object_close(j);
}

static void put_halved(struct json *j, const struct load_halved *h)
{
	if (h->n == 0 && !h->why)
		return;
	json_key(j, "halved");
	json_object_open(j);
	json_put_int(j, "pairs", h->n);
	json_put_double(j, "requests_per_s", h->n > 0 ? h->requests_per_s : NAN);
	json_put_double(j, "alone_per_s", h->n > 0 ? h->alone_per_s : NAN);
	json_put_double(j, "ratio", h->n > 0 ? h->ratio : NAN);
	json_put_string(j, "why", h->why);
	json_object_close(j);
}

static void put_check(struct json *j, const struct load_check *c)
{
	json_object_open(j);
	j->pretty = false;
	json_put_string(j, "name", c->name);
	json_put_double(j, "value", c->value);
	json_put_string(j, "unit", c->unit);
	json_put_double(j, "limit", c->limit);
	json_put_string(j, "source", c->source);
	json_key(j, "ok");
	if (isnan(c->value))
		json_nil(j);
	else
		json_bool(j, c->ok);
	json_put_string_present(j, "why", c->why);
	json_object_close(j);
	j->pretty = true;
}

static void put_checks(struct json *j, const struct load_client *c)
{
	if (c->n_checks == 0)
		return;
	json_key(j, "checks");
	json_array_open(j);
	for (int i = 0; i < c->n_checks; i++)
		put_check(j, &c->checks[i]);
	json_array_close(j);
}

static void put_client(struct json *j, const struct load_client *c)
{
	json_key(j, "client");
	json_object_open(j);
	json_put_int(j, "threads", c->threads);
	json_put_double(j, "cpu_s", c->cpu_s);
	json_put_double(j, "cpu_us_per_request", c->cpu_us_per_request);
	json_put_double(j, "busiest_thread_ratio", c->busiest_thread_ratio);
	put_threads(j, c);
	json_put_double(j, "steal_ratio", c->steal_ratio);
	put_hist(j, "lateness_ms", &c->lateness, NULL);
	put_hist(j, "receive_delay_ms", &c->receive_delay, NULL);
	put_hist(j, "loop_lag_ms", &c->loop_lag, NULL);
	put_unread(j, &c->unread);
	json_put_double(j, "offered_per_s", c->offered_per_s);
	json_put_double(j, "achieved_per_s", c->achieved_per_s);
	json_put_double(j, "little_ratio", c->little_ratio);
	json_put_double(j, "null_ceiling_per_s", c->null_ceiling_per_s);
	put_halved(j, &c->halved);
	put_checks(j, c);
	json_put_string(j, "verdict", load_client_verdict_names[c->verdict]);
	json_put_string(j, "why", c->why);
	json_object_close(j);
}

static void put_series(struct json *j, const struct load_run *r)
{
	json_key(j, "series");
	json_array_open(j);
	for (int64_t i = 0; i < r->n_series; i++) {
		const struct load_second *s = &r->series[i];
		json_object_open(j);
		j->pretty = false;
		json_put_double(j, "t_s", s->t_s);
		json_put_int(j, "requests", s->requests);
		json_put_int(j, "errors", s->errors);
		json_put_double(j, "in_flight", s->in_flight);
		json_put_double(j, "mean_ms", s->mean_ms);
		json_put_double(j, "p50_ms", s->p50_ms);
		json_put_double(j, "p99_ms", s->p99_ms);
		if (!isnan(r->throughput.output_tokens_per_s))
			json_put_int(j, "output_tokens", s->output_tokens);
		json_object_close(j);
		j->pretty = true;
	}
	json_array_close(j);
}

/* Buckets are merged when their upper edges fall into the same part of an octave. */
static int64_t octave_part(int64_t upper, int parts)
{
	return upper < 1 ? -1 : (int64_t)floor(log2((double)upper) * parts);
}

/* The most parts of an octave, at most 2^HIST_SUB_BITS, that leave few enough buckets. */
static int parts_that_fit(const struct hist *h)
{
	for (int parts = 1 << HIST_SUB_BITS; parts > 1; parts /= 2) {
		int64_t upper, count, last = -2;
		int i = 0, n = 0;
		while (hist_next(h, &i, &upper, &count)) {
			n += octave_part(upper, parts) != last;
			last = octave_part(upper, parts);
		}
		if (n <= HISTOGRAM_BUCKETS_MAX)
			return parts;
	}
	return 1;
}

static void put_bucket(struct json *j, int64_t upper, int64_t count)
{
	json_array_open(j);
	j->pretty = false;
	json_double(j, (double)upper / (double)NS_PER_MS);
	json_int(j, count);
	json_array_close(j);
	j->pretty = true;
}

/* No value lies above the edge of the last bucket: that is the largest value. */
static void put_buckets(struct json *j, const struct hist *h)
{
	int parts = parts_that_fit(h);
	int64_t upper, count, edge = -1, sum = 0;
	int i = 0;
	json_array_open(j);
	while (hist_next(h, &i, &upper, &count)) {
		if (sum > 0 && octave_part(upper, parts) != octave_part(edge, parts)) {
			put_bucket(j, edge, sum);
			sum = 0;
		}
		edge = upper;
		sum += count;
	}
	if (sum > 0)
		put_bucket(j, h->max, sum);
	json_array_close(j);
}

static void put_histograms(struct json *j, const struct load_run *r)
{
	char name[METRIC_NAME];
	json_key(j, "histogram");
	json_object_open(j);
	for (int i = 0; i < LOAD_N_METRICS; i++) {
		if (r->metrics[i].n == 0)
			continue;
		json_key(j, metric_name(i, name));
		put_buckets(j, &r->metrics[i]);
	}
	json_object_close(j);
}

static void put_records(struct json *j, const struct load_records *r)
{
	if (!r->path)
		return;
	json_key(j, "records");
	json_object_open(j);
	json_put_string(j, "file", r->path);
	json_put_int(j, "bytes", r->bytes);
	json_put_int(j, "requests", r->requests);
	json_put_int(j, "lost_requests", r->lost_requests);
	json_put_int(j, "lost_token_events", r->lost_gaps);
	json_object_close(j);
}

void report_load_json(const struct load_run *r, struct buf *out)
{
	char name[METRIC_NAME];
	struct json j;
	json_init(&j, out, true);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.load/1");
	json_put_string(&j, "started_at", r->started_at);
	json_put_bool(&j, "partial", r->partial);
	layout_json_target(&j, r->url, r->api, r->model, &r->fingerprint);
	put_config(&j, r);
	put_targets(&j, r);
	put_saturation(&j, &r->saturation);
	put_window(&j, &r->window);
	put_whole(&j, &r->whole);
	put_requests(&j, r);
	for (int i = 0; i < LOAD_N_METRICS; i++)
		put_hist(&j, metric_name(i, name), &r->metrics[i], r->n_eff[i]);
	put_hist(&j, "failed_latency_ms", &r->failed_latency, NULL);
	put_throughput(&j, r);
	load_sessions_json(&j, r);
	put_client(&j, &r->client);
	report_server_json(&j, r->server);
	if (r->system) {
		json_key(&j, "system");
		report_system_json(&j, r->system, true);
	}
	put_records(&j, &r->records);
	put_series(&j, r);
	put_histograms(&j, r);
	json_object_close(&j);
	buf_add_char(out, '\n');
}
