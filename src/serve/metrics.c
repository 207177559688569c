#include "serve/metrics.h"

#include "base/clock.h"
#include "text/json.h"

#include <assert.h>
#include <string.h>

static const struct {
	const char *name, *type, *help;
} values[METRIC_N_VALUES] = {
	[METRIC_RUNNING] = { "venturi_serve_num_requests_running", "gauge",
	        "Requests being served now." },
	[METRIC_WAITING] = { "venturi_serve_num_requests_waiting", "gauge",
	        "Requests waiting to be served." },
	[METRIC_PROMPT_TOKENS] = { "venturi_serve_prompt_tokens_total", "counter",
	        "Tokens of prompts accepted." },
	[METRIC_GENERATION_TOKENS] = { "venturi_serve_generation_tokens_total", "counter",
	        "Tokens generated." },
	[METRIC_BATCHES] = { "venturi_serve_batches_total", "counter", "Batches computed." },
	[METRIC_BATCHED_ITEMS] = { "venturi_serve_batched_items_total", "counter",
	        "Texts computed in batches." },
	[METRIC_BATCHED_TOKENS] = { "venturi_serve_batched_tokens_total", "counter",
	        "Tokens computed in batches, padding not counted." },
	[METRIC_PADDING_TOKENS] = { "venturi_serve_padding_tokens_total", "counter",
	        "Tokens of padding computed in batches." },
};

/* Upper edges, ascending; vLLM's, so that dashboards made for it fit. */
static const double request_s[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
	5, 10, 20, 40, 80, 160 };
static const double token_s[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
	0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5 };
static const double stage_s[] = { 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001,
	0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 };
static const double sizes[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 };
static const double tokens[] = { 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384 };

struct hist_kind {
	const char *name, *help;
	const double *edges;
	size_t n_edges;
	double unit; /* of the sum and of what is observed, in that of the edges */
};

static const double unit_ns = 1e-9;

static const struct hist_kind hists[METRIC_N_HISTS] = {
	[METRIC_QUEUE_TIME] = { "venturi_serve_request_queue_time_seconds",
	        "From arrival to the start of service.", request_s, ARRAY_LEN(request_s), unit_ns },
	[METRIC_TTFT] = { "venturi_serve_time_to_first_token_seconds",
	        "From arrival to the first token.", request_s, ARRAY_LEN(request_s), unit_ns },
	[METRIC_ITL] = { "venturi_serve_inter_token_latency_seconds",
	        "Between two tokens of a request.", token_s, ARRAY_LEN(token_s), unit_ns },
	[METRIC_E2E] = { "venturi_serve_e2e_request_latency_seconds",
	        "From arrival to the end of a complete answer.", request_s, ARRAY_LEN(request_s),
	        unit_ns },
	[METRIC_BATCH_SIZE] = { "venturi_serve_batch_size", "Requests served by one step.", sizes,
	        ARRAY_LEN(sizes), 1 },
	[METRIC_BATCH_TOKENS] = { "venturi_serve_batch_tokens",
	        "Tokens of one batch, padding among them.", tokens, ARRAY_LEN(tokens), 1 },
};

static const struct hist_kind stage_kind = { "venturi_serve_stage_duration_seconds",
	"Time of a request in a stage: waiting for a batch, or being worked on in the others.",
	stage_s, ARRAY_LEN(stage_s), unit_ns };

static const char *const stage_names[METRIC_N_STAGES] = {
	[STAGE_TOKENIZE] = "tokenize",
	[STAGE_BATCH] = "batch",
	[STAGE_COMPUTE] = "compute",
	[STAGE_FINISH] = "finish",
};

static const struct {
	const char *name, *label, *help;
} families[METRIC_N_FAMILIES] = {
	[METRIC_ENDED] = { "venturi_serve_requests_total", "finished_reason",
	        "Requests ended, by how." },
	[METRIC_REJECTED] = { "venturi_serve_requests_rejected_total", "reason",
	        "Requests refused for want of capacity, by why." },
};

static_assert(
        ARRAY_LEN(token_s) <= METRICS_BUCKETS_MAX && ARRAY_LEN(stage_s) <= METRICS_BUCKETS_MAX,
        "the longest list of edges must fit");

void metrics_init(struct metrics *m)
{
	memset(m, 0, sizeof(*m));
	m->model_name = "";
}

static void count(atomic_llong *at, int64_t by)
{
	atomic_fetch_add_explicit(at, by, memory_order_relaxed);
}

void metrics_add(struct metrics *m, enum metric which, int64_t by)
{
	count(&m->values[which], by);
}

int64_t metrics_get(struct metrics *m, enum metric which)
{
	return atomic_load_explicit(&m->values[which], memory_order_relaxed);
}

void metrics_count(struct metrics *m, enum metric_family family, const char *reason)
{
	for (size_t i = 0; i < METRICS_REASONS_MAX; i++) {
		const char *name = atomic_load(&m->reasons[family][i].name);
		/* An empty place is taken; who comes second sees whose it has become. */
		if (!name &&
		        atomic_compare_exchange_strong(&m->reasons[family][i].name, &name, reason))
			name = reason;
		if (strcmp(name, reason) == 0) {
			atomic_fetch_add(&m->reasons[family][i].n, 1);
			return;
		}
	}
	assert(!"more reasons than there are places");
}

static void observe(struct metrics_hist *h, const struct hist_kind *kind, int64_t value)
{
	double scaled = (double)value * kind->unit;
	size_t i = 0;
	while (i < kind->n_edges && scaled > kind->edges[i])
		i++;
	atomic_fetch_add_explicit(&h->counts[i], 1, memory_order_relaxed);
	count(&h->sum, value);
}

void metrics_observe(struct metrics *m, enum metric_hist which, int64_t value)
{
	observe(&m->hists[which], &hists[which], value);
}

void metrics_observe_ns(struct metrics *m, enum metric_hist which, int64_t ns)
{
	metrics_observe(m, which, ns);
}

void metrics_stage_queued(struct metrics *m, enum metric_stage stage, int64_t by)
{
	count(&m->stages[stage].queued, by);
}

void metrics_stage_time(struct metrics *m, enum metric_stage stage, int64_t ns)
{
	observe(&m->stages[stage].time, &stage_kind, ns);
}

void metrics_stage_busy(struct metrics *m, enum metric_stage stage, int64_t ns)
{
	count(&m->stages[stage].busy_ns, ns);
}

void metrics_print_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* label: what stands between the braces besides le. */
static void print_hist(const struct metrics_hist *h, const struct hist_kind *kind,
        const char *label, struct buf *out)
{
	uint64_t below = 0;
	for (size_t k = 0; k < kind->n_edges; k++) {
		below += atomic_load(&h->counts[k]);
		buf_printf(out, "%s_bucket{%s,le=\"%.15g\"} %llu\n", kind->name, label,
		        kind->edges[k], (unsigned long long)below);
	}
	below += atomic_load(&h->counts[kind->n_edges]);
	buf_printf(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", kind->name, label,
	        (unsigned long long)below);
	buf_printf(out, "%s_sum{%s} %.9g\n", kind->name, label,
	        (double)atomic_load(&h->sum) * kind->unit);
	buf_printf(out, "%s_count{%s} %llu\n", kind->name, label, (unsigned long long)below);
}

static bool is_shown(struct metrics *m, size_t value)
{
	return value < METRIC_BATCHES || metrics_get(m, METRIC_BATCHES) > 0;
}

static void print_values(struct metrics *m, const char *label, struct buf *out)
{
	for (size_t i = 0; i < METRIC_N_VALUES; i++) {
		if (!is_shown(m, i))
			continue;
		metrics_print_head(out, values[i].name, values[i].type, values[i].help);
		buf_printf(out, "%s{%s} %lld\n", values[i].name, label,
		        (long long)metrics_get(m, (enum metric)i));
	}
}

static void print_families(struct metrics *m, const char *label, struct buf *out)
{
	for (size_t f = 0; f < METRIC_N_FAMILIES; f++) {
		metrics_print_head(out, families[f].name, "counter", families[f].help);
		for (size_t i = 0; i < METRICS_REASONS_MAX; i++) {
			const char *name = atomic_load(&m->reasons[f][i].name);
			if (name)
				buf_printf(out, "%s{%s,%s=\"%s\"} %llu\n", families[f].name, label,
				        families[f].label, name,
				        (unsigned long long)atomic_load(&m->reasons[f][i].n));
		}
	}
}

/* What a stage's line shows; of seconds: in ns. */
static double stage_figure(const struct metrics *m, size_t stage, size_t figure)
{
	const double figures[] = {
		(double)atomic_load(&m->stages[stage].busy_ns) * unit_ns,
		(double)atomic_load(&m->stages[stage].queued),
		m->stages[stage].n_workers,
	};
	return figures[figure];
}

static void print_stages(const struct metrics *m, const char *label, struct buf *out)
{
	static const struct {
		const char *name, *type, *help;
	} figures[] = {
		{ "venturi_serve_stage_busy_seconds_total", "counter",
		        "Time that the workers of a stage were at work, added up." },
		{ "venturi_serve_stage_queue_length", "gauge",
		        "What waits for a stage now: requests for tokenize, texts for batch, "
		        "batches for finish." },
		{ "venturi_serve_stage_workers", "gauge", "Threads of a stage." },
	};
	AUTO(auto_buf) struct buf with_stage = { 0 };
	if (m->stages[STAGE_COMPUTE].n_workers == 0)
		return;
	metrics_print_head(out, stage_kind.name, "histogram", stage_kind.help);
	for (size_t s = 0; s < METRIC_N_STAGES; s++) {
		buf_clear(&with_stage);
		buf_printf(&with_stage, "%s,stage=\"%s\"", label, stage_names[s]);
		print_hist(&m->stages[s].time, &stage_kind, with_stage.s, out);
	}
	for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
		metrics_print_head(out, figures[f].name, figures[f].type, figures[f].help);
		for (size_t s = 0; s < METRIC_N_STAGES; s++)
			buf_printf(out, "%s{%s,stage=\"%s\"} %.9g\n", figures[f].name, label,
			        stage_names[s], stage_figure(m, s, f));
	}
}

void metrics_print(struct metrics *m, struct buf *out)
{
	AUTO(auto_buf) struct buf label = { 0 };
	buf_printf(&label, "model_name=");
	json_escape(&label, str_of(m->model_name)); /* a label's quoting is a part of JSON's */
	print_values(m, label.s, out);
	print_families(m, label.s, out);
	for (size_t i = 0; i < METRIC_N_HISTS; i++) {
		if (i == METRIC_BATCH_TOKENS && !is_shown(m, METRIC_BATCHES))
			continue;
		metrics_print_head(out, hists[i].name, "histogram", hists[i].help);
		print_hist(&m->hists[i], &hists[i], label.s, out);
	}
	print_stages(m, label.s, out);
	if (m->more)
		m->more(m->more_ctx, label.s, out);
}
