/*
 * summarize.c - from what the workers counted to the figures of a run.
 */
#include "load/internal.h"

#include "base/clock.h"
#include "load/session_counts.h"

#include <math.h>
#include <string.h>

/* Histograms of the run, next to those of a worker. */
static void merge_histograms(struct load_run *r, const struct load_counts *c)
{
	for (int m = 0; m < LOAD_N_METRICS; m++)
		hist_merge(&r->metrics[m], &c->metrics[m]);
	hist_merge(&r->failed_latency, &c->failed_latency);
	hist_merge(&r->client.lateness, &c->lateness);
	hist_merge(&r->client.receive_delay, &c->receive_delay);
	hist_merge(&r->transport.connect, &c->connect);
	hist_merge(&r->transport.body_delay, &c->body_delay);
	hist_merge(&r->transport.stream_share_pm, &c->stream_share_pm);
}

static void init_histograms(struct load_run *r, struct arena *run)
{
	struct hist *const all[] = { &r->failed_latency, &r->client.lateness,
		&r->client.receive_delay, &r->transport.connect, &r->transport.body_delay,
		&r->transport.stream_share_pm, &r->whole.latency };
	for (int m = 0; m < LOAD_N_METRICS; m++)
		hist_init(&r->metrics[m], run);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		hist_init(all[i], run);
}

/* Sums over all workers. */
struct totals {
	struct load_counts c; /* numbers only */
	double busiest_ratio;
	int64_t connections_served;
	int64_t first_error_ns;
};

static void add_counts(struct totals *t, const struct worker *w, struct load_run *r,
	struct arena *run)
{
	const struct load_counts *from = &w->counts;
	struct load_counts *to = &t->c;
	to->warmup_requests += from->warmup_requests;
	to->attempted += from->attempted;
	to->ok += from->ok;
	to->censored += from->censored;
	to->retried += from->retried;
	to->blocked += from->blocked;
	to->good += from->good;
	for (int i = 0; i < LOAD_N_FAILURES; i++)
		to->failures[i] += from->failures[i];
	to->early_ok += from->early_ok;
	to->window_completions += from->window_completions;
	to->window_ok += from->window_ok;
	to->window_latency_s += from->window_latency_s;
	to->window_token_events += from->window_token_events;
	to->window_input_tokens += from->window_input_tokens;
	to->window_body_tokens += from->window_body_tokens;
	for (int i = 0; i < LOAD_N_TOKEN_SOURCES; i++)
		to->by_source[i] += from->by_source[i];
	to->told_tokens += from->told_tokens;
	to->told_events += from->told_events;
	to->n_with_input += from->n_with_input;
	to->n_input_checked += from->n_input_checked;
	to->meant_input_tokens += from->meant_input_tokens;
	to->counted_input_tokens += from->counted_input_tokens;
	to->reads_with_tokens += from->reads_with_tokens;
	to->token_events += from->token_events;
	to->connections_opened += from->connections_opened;
	to->server_closes += from->server_closes;
	to->in_flight_integral_s += from->in_flight_integral_s;
	to->streams_integral_s += from->streams_integral_s;
	to->streams_max += from->streams_max;
	to->cpu_ns += from->cpu_ns;
	t->connections_served += w->connections_served;
	double busy = from->wall_ns > 0 ? (double)from->cpu_ns / (double)from->wall_ns : 0;
	t->busiest_ratio = fmax(t->busiest_ratio, busy);
	if (from->first_error[0] && (!r->first_error || from->first_error_ns < t->first_error_ns)) {
		r->first_error = arena_strdup(run, from->first_error);
		t->first_error_ns = from->first_error_ns;
	}
}

static void fill_requests(struct load_run *r, const struct load_counts *c)
{
	r->window.warmup_requests = c->warmup_requests;
	r->requests = (struct load_requests){
		.attempted = c->attempted,
		.ok = c->ok,
		.censored = c->censored,
		.retried = c->retried,
		.blocked = c->blocked,
	};
	memcpy(r->requests.failures, c->failures, sizeof(c->failures));
	for (int i = 0; i < LOAD_N_FAILURES; i++)
		r->requests.failed += c->failures[i];
}

/* Which counts of tokens the figures rest on: "usage", "usage,events". */
static const char *tokens_source(const struct load_counts *c, struct arena *run)
{
	const char *text = NULL;
	for (int i = 0; i < LOAD_N_TOKEN_SOURCES; i++)
		if (c->by_source[i] > 0)
			text = text ? arena_printf(run, "%s,%s", text, load_token_source_names[i]) :
				      load_token_source_names[i];
	/* Embeddings have a usage without output tokens. */
	if (!text && c->n_with_input > 0)
		text = load_token_source_names[LOAD_TOKENS_USAGE];
	return text ? text : "none";
}

static void fill_tokens(const struct load *load, struct arena *run, struct load_run *r, const struct load_counts *c)
{
	double n = (double)c->n_input_checked;
	r->input_check = (struct load_input_check){
		.n = c->n_input_checked,
		.meant_per_request = n > 0 ? (double)c->meant_input_tokens / n : NAN,
		.counted_per_request = n > 0 ? (double)c->counted_input_tokens / n : NAN,
		.exact = load->targets->workload.has_tokenizer,
	};
	r->tokens_source = tokens_source(c, run);
	r->tokens_per_event =
		c->told_events > 0 ? (double)c->told_tokens / (double)c->told_events : NAN;
}

static void fill_throughput(const struct load *load, const struct load_shape *shape,
	struct load_run *r, const struct load_counts *c)
{
	double s = r->window.duration_s;
	double per_event = isnan(r->tokens_per_event) ? 1 : r->tokens_per_event;
	/* A run by number has all its answers; one by time has those that came in time. */
	int64_t ok = load_ends_by_number(shape) ? c->ok : c->window_ok;
	bool speaks_of_output = c->window_token_events > 0 || c->window_body_tokens > 0;
	r->throughput = (struct load_throughput){
		.requests_per_s = s > 0 ? (double)ok / s : 0,
		.input_tokens_per_s = c->n_with_input > 0 ? (double)c->window_input_tokens / s : NAN,
		.output_tokens_per_s = speaks_of_output ?
			((double)c->window_token_events * per_event +
				(double)c->window_body_tokens) / s :
			NAN,
		.events_per_s = c->window_token_events > 0 ? (double)c->window_token_events / s : NAN,
	};
	r->goodput = (struct load_goodput){ NAN, NAN };
	if (load->slo.present && c->attempted > 0) {
		r->goodput.requests_per_s = (double)c->good / s;
		r->goodput.attainment_ratio = (double)c->good / (double)c->attempted;
	}
}

/* Of the window: a rate that changes offers another load in the window than in the whole run. */
static double offered_per_s(const struct load_shape *shape, const struct load_run *r)
{
	const struct load_window *w = &r->window;
	if (shape->rate_per_s <= 0 || w->duration_s <= 0)
		return shape->rate_per_s > 0 ? shape->rate_per_s : NAN;
	return arrival_expected(&shape->arrival, shape->rate_per_s, w->warmup_s,
		       w->warmup_s + w->duration_s) /
		w->duration_s;
}

static void fill_client(const struct load_shape *shape, const struct load_shared *shared,
	struct load_run *r, const struct totals *t)
{
	const struct load_counts *c = &t->c;
	double s = r->window.duration_s;
	struct load_client *client = &r->client;
	client->cpu_s = (double)c->cpu_ns / 1e9;
	client->cpu_us_per_request = c->window_completions > 0 ?
		(double)c->cpu_ns / 1e3 / (double)c->window_completions :
		NAN;
	client->busiest_thread_ratio = t->busiest_ratio;
	client->threads = shared->n_threads;
	client->offered_per_s = offered_per_s(shape, r);
	/* What an open loop plans is when sessions begin, where there are any. */
	int64_t begun = r->sessions && shape->rate_per_s > 0 ? r->sessions->started : c->attempted;
	client->achieved_per_s = s > 0 ? (double)begun / s : 0;
	client->little_ratio =
		c->window_latency_s > 0 ? c->in_flight_integral_s / c->window_latency_s : NAN;
	client->null_ceiling_per_s = NAN;
}

static void fill_transport(const struct load_shape *shape, struct load_run *r,
	const struct totals *t)
{
	const struct load_counts *c = &t->c;
	struct load_transport *transport = &r->transport;
	double s = r->window.duration_s;
	transport->connections_opened = c->connections_opened;
	transport->connections_served = t->connections_served;
	transport->connections = shape->rate_per_s > 0 ? 0 : shape->concurrency;
	transport->server_closes = c->server_closes;
	transport->streams_active_mean = s > 0 ? c->streams_integral_s / s : 0;
	transport->streams_active_max = c->streams_max;
	transport->reads_with_tokens = c->reads_with_tokens;
	transport->token_events = c->token_events;
}

static void fill_targets(const struct load *load, const struct worker *workers, int n_workers,
	struct arena *run, struct load_run *r)
{
	static const char *const balances[] = {
		[LOAD_ROUND_ROBIN] = "round-robin",
		[LOAD_LEAST_OUTSTANDING] = "least",
	};
	r->n_targets = load->n_targets;
	if (load->n_targets == 1)
		return;
	r->balance = balances[load->balance];
	r->targets = arena_new_n(run, struct load_target_run, (size_t)load->n_targets);
	for (int i = 0; i < load->n_targets; i++) {
		struct load_target_run *to = &r->targets[i];
		to->url = load->targets[i].url.text;
		hist_init(&to->latency, run);
		for (int w = 0; w < n_workers; w++) {
			const struct target_counts *from = &workers[w].counts.targets[i];
			to->attempted += from->attempted;
			to->ok += from->ok;
			to->failed += from->failed;
			to->censored += from->censored;
			hist_merge(&to->latency, &from->latency);
		}
	}
}

static void fill_config(const struct load *load, const struct load_shape *shape,
	struct load_run *r)
{
	bool open_loop = shape->rate_per_s > 0;
	r->url = load->targets->url.text;
	r->api = load->endpoint->name;
	r->model = load->model;
	r->concurrency = open_loop ? 0 : shape->concurrency;
	r->rate_per_s = open_loop ? shape->rate_per_s : NAN;
	r->arrival = open_loop ? arrival_text(&shape->arrival) : "closed";
	r->seed = load->config.seed;
	r->max_in_flight = shape->max_in_flight;
	r->stream = load->streaming;
	r->input = load->targets->workload.input;
	r->output = load->targets->workload.output;
	r->timeout_s = (double)load->config.timeout_ns / 1e9;
}

/* Whose answers the requests of a session hold. */
static const char *history_text(const struct load *load)
{
	return load->targets->workload.sessions->own_answers ? "own" : "recorded";
}

static void fill_fingerprint(const struct load *load, struct arena *run, struct load_run *r)
{
	struct fingerprint *fp = &r->fingerprint;
	fingerprint_set(fp, run, "target.url", "%s", r->url);
	for (int i = 1; i < r->n_targets; i++)
		fingerprint_set(fp, run, arena_printf(run, "target.url.%d", i + 1), "%s",
			r->targets[i].url);
	if (r->balance)
		fingerprint_set(fp, run, "load.balance", "%s", r->balance);
	if (load->config.unix_socket)
		fingerprint_set(fp, run, "target.unix_socket", "%s", load->config.unix_socket);
	fingerprint_set(fp, run, "target.api", "%s", r->api);
	if (r->model)
		fingerprint_set(fp, run, "target.model", "%s", r->model);
	fingerprint_set(fp, run, "load.arrival", "%s", r->arrival);
	if (r->concurrency > 0)
		fingerprint_set(fp, run, "load.concurrency", "%lld", (long long)r->concurrency);
	else
		fingerprint_set(fp, run, "load.rate_per_s", "%.9g", r->rate_per_s);
	if (r->max_in_flight > 0)
		fingerprint_set(fp, run, "load.max_in_flight", "%lld", (long long)r->max_in_flight);
	fingerprint_set(fp, run, "load.input", "%s", r->input);
	if (load->config.tensors)
		fingerprint_set(fp, run, "load.tensors", "%s", load->config.tensors);
	fingerprint_set(fp, run, "load.output", "%s", r->output);
	fingerprint_set(fp, run, "load.salt", "%s", load->targets->workload.salted ? "yes" : "no");
	if (load->targets->workload.sessions) {
		fingerprint_set(fp, run, "load.turns", "%s", load->config.turns);
		fingerprint_set(fp, run, "load.think", "%s",
			load->config.think ? load->config.think : "none");
		fingerprint_set(fp, run, "load.history", "%s", history_text(load));
	}
	fingerprint_set(fp, run, "load.stream", "%s", r->stream ? "yes" : "no");
	fingerprint_set(fp, run, "load.seed", "%lld", (long long)r->seed);
	for (size_t i = 0; i < load->config.tags.n; i++) {
		struct str value;
		struct str key = str_cut(str_of(load->config.tags.items[i]), '=', &value);
		fingerprint_set(fp, run, arena_printf(run, "tag.%.*s", STR_ARG(key)), "%.*s",
			STR_ARG(value));
	}
	fingerprint_host(fp, run, "");
}

static void fill_sessions(const struct load *load, const struct worker *workers, int n,
	struct arena *run, struct load_run *r)
{
	if (!workers[0].counts.sessions)
		return;
	struct session_counts *all = arena_new(run, struct session_counts);
	session_counts_init(all, run);
	for (int i = 0; i < n; i++)
		session_counts_merge(all, workers[i].counts.sessions);
	struct load_sessions *s = session_counts_figures(all, run);
	s->turns = load->config.turns;
	s->think = load->config.think;
	s->history = history_text(load);
	r->sessions = s;
}

static void fill_first_latencies(const struct load_shared *shared, struct arena *run,
	struct load_run *r)
{
	int64_t *latencies = arena_new_n(run, int64_t, LOAD_FIRST_LATENCIES);
	int64_t n = 0;
	for (int i = 0; i < LOAD_FIRST_LATENCIES; i++)
		if (shared->first_latencies[i] > 0)
			latencies[n++] = shared->first_latencies[i];
	r->first_latencies_ns = latencies;
	r->n_first_latencies = n;
}

static void fill_whole(const struct load_shape *shape, struct worker *workers, int n_threads,
	struct load_run *r, const struct load_counts *c)
{
	struct load_whole *whole = &r->whole;
	hist_merge(&whole->latency, &r->metrics[LOAD_LATENCY]);
	for (int i = 0; i < n_threads; i++)
		hist_merge(&whole->latency, &workers[i].counts.warmup_latency);
	whole->duration_s = r->window.warmup_s + r->window.duration_s;
	whole->ok = load_ends_by_number(shape) ? whole->latency.n : c->early_ok + c->window_ok;
	whole->requests_per_s = whole->duration_s > 0 ? (double)whole->ok / whole->duration_s : 0;
}

static void fill_n_eff(struct worker *workers, int n_threads, struct arena *run, struct load_run *r)
{
	for (int m = 0; m < LOAD_N_METRICS; m++) {
		const struct batches *all[LOAD_THREADS_MAX];
		double *n_eff = arena_new_n(run, double, LOAD_N_PERCENTILES);
		for (int i = 0; i < n_threads; i++)
			all[i] = &workers[i].counts.batches[m];
		for (int k = 0; k < LOAD_N_PERCENTILES; k++)
			n_eff[k] = batches_n_eff(all, n_threads, &r->metrics[m], load_percentiles[k].q);
		r->n_eff[m] = n_eff;
	}
}

void load_describe(const struct load *load, const struct load_shape *shape,
	const struct worker *workers, int n_workers, struct arena *run, struct load_run *r)
{
	fill_config(load, shape, r);
	fill_targets(load, workers, n_workers, run, r);
	fill_fingerprint(load, run, r);
}

void load_summarize(const struct load *load, const struct load_shared *shared,
	struct worker *workers, struct arena *run, struct load_run *r)
{
	struct totals t = { 0 };
	const struct series *series[LOAD_THREADS_MAX];
	init_histograms(r, run);
	for (int i = 0; i < shared->n_threads; i++) {
		merge_histograms(r, &workers[i].counts);
		add_counts(&t, &workers[i], r, run);
		series[i] = &workers[i].counts.series;
	}
	fill_n_eff(workers, shared->n_threads, run, r);
	r->window.warmup_s = (double)(shared->window_start_ns - shared->start_ns) / 1e9;
	r->window.duration_s = (double)(shared->window_end_ns - shared->window_start_ns) / 1e9;
	load_describe(load, shared->shape, workers, shared->n_threads, run, r);
	fill_requests(r, &t.c);
	fill_tokens(load, run, r, &t.c);
	fill_throughput(load, shared->shape, r, &t.c);
	fill_whole(shared->shape, workers, shared->n_threads, r, &t.c);
	fill_sessions(load, workers, shared->n_threads, run, r);
	fill_client(shared->shape, shared, r, &t);
	fill_transport(shared->shape, r, &t);
	fill_first_latencies(shared, run, r);
	r->series = series_merge(series, shared->n_threads, r->window.duration_s,
		isnan(r->tokens_per_event) ? 1 : r->tokens_per_event, run, &r->n_series);
}
