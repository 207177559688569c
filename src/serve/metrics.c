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
};

/* Upper edges, ascending; vLLM's, so that dashboards made for it fit. */
static const double request_s[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
	5, 10, 20, 40, 80, 160 };
static const double token_s[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
	0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5 };
static const double sizes[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 };

static const struct {
	const char *name, *help;
	const double *edges;
	size_t n_edges;
} hists[METRIC_N_HISTS] = {
	[METRIC_QUEUE_TIME] = { "venturi_serve_request_queue_time_seconds",
	        "From arrival to the start of service.", request_s, ARRAY_LEN(request_s) },
	[METRIC_TTFT] = { "venturi_serve_time_to_first_token_seconds",
	        "From arrival to the first token.", request_s, ARRAY_LEN(request_s) },
	[METRIC_ITL] = { "venturi_serve_inter_token_latency_seconds",
	        "Between two tokens of a request.", token_s, ARRAY_LEN(token_s) },
	[METRIC_E2E] = { "venturi_serve_e2e_request_latency_seconds",
	        "From arrival to the end of a complete answer.", request_s, ARRAY_LEN(request_s) },
	[METRIC_BATCH_SIZE] = { "venturi_serve_batch_size", "Requests served by one step.", sizes,
	        ARRAY_LEN(sizes) },
};

static_assert(ARRAY_LEN(token_s) <= METRICS_BUCKETS_MAX, "the longest list of edges must fit");

void metrics_init(struct metrics *m)
{
	*m = (struct metrics){ .model_name = "" };
	pthread_mutex_init(&m->lock, NULL);
}

void metrics_add(struct metrics *m, enum metric which, double by)
{
	pthread_mutex_lock(&m->lock);
	m->values[which] += by;
	pthread_mutex_unlock(&m->lock);
}

double metrics_get(struct metrics *m, enum metric which)
{
	pthread_mutex_lock(&m->lock);
	double value = m->values[which];
	pthread_mutex_unlock(&m->lock);
	return value;
}

void metrics_count_end(struct metrics *m, const char *name)
{
	pthread_mutex_lock(&m->lock);
	size_t i = 0;
	while (i < METRICS_ENDS_MAX && m->ends[i].name && strcmp(m->ends[i].name, name) != 0)
		i++;
	assert(i < METRICS_ENDS_MAX);
	m->ends[i].name = name;
	m->ends[i].n++;
	pthread_mutex_unlock(&m->lock);
}

void metrics_observe(struct metrics *m, enum metric_hist which, double value)
{
	size_t i = 0;
	while (i < hists[which].n_edges && value > hists[which].edges[i])
		i++;
	pthread_mutex_lock(&m->lock);
	m->hists[which].counts[i]++;
	m->hists[which].n++;
	m->hists[which].sum += value;
	pthread_mutex_unlock(&m->lock);
}

void metrics_observe_ns(struct metrics *m, enum metric_hist which, int64_t ns)
{
	metrics_observe(m, which, (double)ns / (double)NS_PER_S);
}

static void print_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_hist(const struct metrics *m, size_t i, const char *model, struct buf *out)
{
	const char *name = hists[i].name;
	uint64_t below = 0;
	print_head(out, name, "histogram", hists[i].help);
	for (size_t k = 0; k < hists[i].n_edges; k++) {
		below += m->hists[i].counts[k];
		buf_printf(out, "%s_bucket{model_name=%s,le=\"%.15g\"} %llu\n", name, model,
		        hists[i].edges[k], (unsigned long long)below);
	}
	buf_printf(out, "%s_bucket{model_name=%s,le=\"+Inf\"} %llu\n", name, model,
	        (unsigned long long)m->hists[i].n);
	buf_printf(out, "%s_sum{model_name=%s} %.9g\n", name, model, m->hists[i].sum);
	buf_printf(out, "%s_count{model_name=%s} %llu\n", name, model,
	        (unsigned long long)m->hists[i].n);
}

void metrics_print(struct metrics *m, struct buf *out)
{
	static const char total[] = "venturi_serve_requests_total";
	AUTO(auto_buf) struct buf model = { 0 };
	json_escape(&model, str_of(m->model_name)); /* a label's quoting is a part of JSON's */
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < METRIC_N_VALUES; i++) {
		print_head(out, values[i].name, values[i].type, values[i].help);
		buf_printf(out, "%s{model_name=%s} %.15g\n", values[i].name, model.s, m->values[i]);
	}
	print_head(out, total, "counter", "Requests ended, by how.");
	for (size_t i = 0; i < METRICS_ENDS_MAX && m->ends[i].name; i++)
		buf_printf(out, "%s{model_name=%s,finished_reason=\"%s\"} %llu\n", total, model.s,
		        m->ends[i].name, (unsigned long long)m->ends[i].n);
	for (size_t i = 0; i < METRIC_N_HISTS; i++)
		print_hist(m, i, model.s, out);
	pthread_mutex_unlock(&m->lock);
}
