#include "serve/gateway_core.h"

#include "base/clock.h"
#include "text/json.h"

#include <assert.h>

static const double times_s[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
	5, 10, 20, 40, 80, 160 };

static_assert(ARRAY_LEN(times_s) + 1 == UPSTREAM_TIMES, "one more above the last edge");

static const struct {
	const char *name, *label, *help;
} counts[] = {
	{ "venturi_gateway_requests_total", "kind=\"merged\"",
	        "Requests taken: merged with others, or passed through." },
	{ "venturi_gateway_requests_total", "kind=\"passed\"", NULL },
	{ "venturi_gateway_merged_calls_total", NULL, "Calls of upstreams for merged requests." },
	{ "venturi_gateway_merged_inputs_total", NULL, "Inputs in merged calls." },
	{ "venturi_gateway_shared_calls_total", NULL, "Calls that served more than one request." },
	{ "venturi_gateway_taken_apart_total", NULL,
	        "Shared calls that failed, each of whose requests was then sent alone." },
	{ "venturi_gateway_merged_tokens_total", NULL, "Tokens of inputs in merged calls." },
};

static_assert(ARRAY_LEN(counts) == GATEWAY_N_COUNTS, "a row for each");

/* Counters of an upstream; those with the same name stand together. */
static const struct {
	const char *name, *label, *help;
} upstream_counts[] = {
	[UPSTREAM_CALLS] = { "venturi_gateway_upstream_calls_total", NULL, "Calls sent." },
	[UPSTREAM_2XX] = { "venturi_gateway_upstream_answers_total", "code=\"2xx\"",
	        "Calls answered, by status." },
	[UPSTREAM_3XX] = { "venturi_gateway_upstream_answers_total", "code=\"3xx\"", NULL },
	[UPSTREAM_4XX] = { "venturi_gateway_upstream_answers_total", "code=\"4xx\"", NULL },
	[UPSTREAM_5XX] = { "venturi_gateway_upstream_answers_total", "code=\"5xx\"", NULL },
	[UPSTREAM_UNREACHED] = { "venturi_gateway_upstream_errors_total", "kind=\"unreached\"",
	        "Calls without a complete answer." },
	[UPSTREAM_LOST] = { "venturi_gateway_upstream_errors_total", "kind=\"broken\"", NULL },
	[UPSTREAM_TIMEOUTS] = { "venturi_gateway_upstream_errors_total", "kind=\"timeout\"", NULL },
	[UPSTREAM_RETRIES] = { "venturi_gateway_upstream_retries_total", NULL,
	        "Calls that were a second try." },
	[UPSTREAM_EJECTIONS] = { "venturi_gateway_upstream_ejections_total", NULL,
	        "How often it was left because it did not answer." },
	[UPSTREAM_CONNECTS] = { "venturi_gateway_upstream_connects_total", NULL,
	        "Connections opened." },
};

static_assert(ARRAY_LEN(upstream_counts) == UPSTREAM_N_COUNTS, "a row for each");

void upstream_observe(struct upstream *up, int64_t took_ns)
{
	size_t i = 0;
	while (i < ARRAY_LEN(times_s) && (double)took_ns > times_s[i] * (double)NS_PER_S)
		i++;
	atomic_fetch_add_explicit(&up->took_counts[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&up->took_ns, (unsigned long long)took_ns, memory_order_relaxed);
}

static void print_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* The label upstream="...", ready to stand in braces. */
static void add_label(struct buf *out, const struct upstream *up)
{
	buf_add(out, STR("{upstream="));
	json_escape(out, str_of(up->url.text)); /* a label's quoting is a part of JSON's */
}

static void print_counts(const struct gateway *g, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		unsigned long long n = atomic_load(&g->counts[i]);
		if (counts[i].help)
			print_head(out, counts[i].name, "counter", counts[i].help);
		if (counts[i].label)
			buf_printf(out, "%s{%s} %llu\n", counts[i].name, counts[i].label, n);
		else
			buf_printf(out, "%s %llu\n", counts[i].name, n);
	}
}

static void print_upstream_counts(const struct upstreams *u, struct buf *out)
{
	for (size_t k = 0; k < UPSTREAM_N_COUNTS; k++) {
		if (upstream_counts[k].help)
			print_head(
			        out, upstream_counts[k].name, "counter", upstream_counts[k].help);
		for (int i = 0; i < u->n; i++) {
			buf_add_c(out, upstream_counts[k].name);
			add_label(out, &u->at[i]);
			if (upstream_counts[k].label)
				buf_printf(out, ",%s", upstream_counts[k].label);
			buf_printf(out, "} %llu\n",
			        (unsigned long long)atomic_load(&u->at[i].counts[k]));
		}
	}
}

enum gauge { GAUGE_UP, GAUGE_IN_FLIGHT, GAUGE_CONNECTIONS };

static const struct {
	const char *name, *help;
} gauges[] = {
	[GAUGE_UP] = { "venturi_gateway_upstream_up", "1 while it gets calls." },
	[GAUGE_IN_FLIGHT] = { "venturi_gateway_upstream_in_flight", "Calls under way." },
	[GAUGE_CONNECTIONS] = { "venturi_gateway_upstream_connections", "Open connections." },
};

static int64_t gauge_value(const struct upstream *up, size_t which)
{
	switch (which) {
	case GAUGE_UP:
		return atomic_load(&up->state) == UPSTREAM_UP;
	case GAUGE_IN_FLIGHT:
		return atomic_load(&up->in_flight);
	default:
		return atomic_load(&up->connections);
	}
}

static void print_gauges(const struct upstreams *u, struct buf *out)
{
	for (size_t k = 0; k < ARRAY_LEN(gauges); k++) {
		print_head(out, gauges[k].name, "gauge", gauges[k].help);
		for (int i = 0; i < u->n; i++) {
			buf_add_c(out, gauges[k].name);
			add_label(out, &u->at[i]);
			buf_printf(out, "} %lld\n", (long long)gauge_value(&u->at[i], k));
		}
	}
}

static void print_times(const struct upstreams *u, struct buf *out)
{
	static const char name[] = "venturi_gateway_upstream_time_seconds";
	print_head(out, name, "histogram", "From sending a call to the end of its answer.");
	for (int i = 0; i < u->n; i++) {
		const struct upstream *up = &u->at[i];
		unsigned long long below = 0;
		AUTO(auto_buf) struct buf label = { 0 };
		add_label(&label, up);
		for (size_t k = 0; k < UPSTREAM_TIMES; k++) {
			below += atomic_load(&up->took_counts[k]);
			if (k < ARRAY_LEN(times_s))
				buf_printf(out, "%s_bucket%s,le=\"%.15g\"} %llu\n", name, label.s,
				        times_s[k], below);
			else
				buf_printf(out, "%s_bucket%s,le=\"+Inf\"} %llu\n", name, label.s,
				        below);
		}
		buf_printf(out, "%s_sum%s} %.9g\n%s_count%s} %llu\n", name, label.s,
		        (double)atomic_load(&up->took_ns) / (double)NS_PER_S, name, label.s, below);
	}
}

static struct batcher_lane_state sum_lane(const struct gateway *g, int i)
{
	struct batcher_lane_state sum = g->past[i];
	for (int k = 0; k < g->n_groups; k++) {
		struct batcher_lane_state lane = batcher_lane(g->groups[k]->batcher, i);
		sum.waiting += lane.waiting;
		sum.waiting_tokens += lane.waiting_tokens;
		sum.batches += lane.batches;
		sum.items += lane.items;
		sum.tokens += lane.tokens;
	}
	return sum;
}

static void print_lanes(struct gateway *g, struct buf *out)
{
	struct batcher_lane_state lanes[BATCHER_LANES_MAX];
	int n = g->options.batching.lanes.n + 1;
	pthread_mutex_lock(&g->lock);
	for (int i = 0; i < n; i++)
		lanes[i] = sum_lane(g, i);
	pthread_mutex_unlock(&g->lock);
	print_head(out, "venturi_gateway_lane_waiting", "gauge", "Inputs that wait.");
	for (int i = 0; i < n; i++)
		buf_printf(out, "venturi_gateway_lane_waiting{lane=\"%d\"} %lld\n", i,
		        (long long)lanes[i].waiting);
	print_head(out, "venturi_gateway_lane_inputs_total", "counter", "Inputs sent.");
	for (int i = 0; i < n; i++)
		buf_printf(out, "venturi_gateway_lane_inputs_total{lane=\"%d\"} %llu\n", i,
		        (unsigned long long)lanes[i].items);
	print_head(out, "venturi_gateway_lane_calls_total", "counter", "Calls made of them.");
	for (int i = 0; i < n; i++)
		buf_printf(out, "venturi_gateway_lane_calls_total{lane=\"%d\"} %llu\n", i,
		        (unsigned long long)lanes[i].batches);
}

void gateway_print_metrics(struct executor *x, struct buf *out)
{
	struct gateway *g = (struct gateway *)x;
	static const char tokens[] = "venturi_gateway_tokens_estimated";
	print_counts(g, out);
	print_head(out, tokens, "gauge",
	        "1 where tokens are estimated from bytes, 0 where a tokenizer counts them.");
	buf_printf(out, "%s %d\n", tokens, !g->tokenizer);
	print_lanes(g, out);
	print_gauges(&g->upstreams, out);
	print_upstream_counts(&g->upstreams, out);
	print_times(&g->upstreams, out);
}
