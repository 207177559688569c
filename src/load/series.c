#include "load/series.h"

#include "base/clock.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void series_release(struct series *s)
{
	for (int64_t i = 0; i < s->n; i++)
		free(s->seconds[i].latencies);
	free(s->seconds);
	*s = (struct series){ 0 };
}

static int64_t second_of(int64_t t_ns)
{
	int64_t i = t_ns / NS_PER_S;
	return i < SERIES_MAX_S ? i : SERIES_MAX_S - 1;
}

static struct series_second *at(struct series *s, int64_t i)
{
	if (i >= s->cap) {
		int64_t cap = s->cap ? s->cap : 64;
		while (cap <= i)
			cap *= 2;
		s->seconds = mem_realloc(s->seconds, (size_t)cap * sizeof(*s->seconds));
		s->cap = cap;
	}
	while (s->n <= i)
		s->seconds[s->n++] = (struct series_second){ 0 };
	return &s->seconds[i];
}

struct series_second *series_at(struct series *s, int64_t t_ns)
{
	return at(s, second_of(t_ns));
}

/* Keeps what the open second's buckets hold, and begins the latencies of another. */
static void open_second(struct series *s, int64_t i)
{
	int first = 0, end = SERIES_N_BUCKETS;
	while (first < end && s->counts[first] == 0)
		first++;
	while (end > first && s->counts[end - 1] == 0)
		end--;
	if (end > first) {
		size_t bytes = (size_t)(end - first) * sizeof(s->counts[0]);
		struct series_latencies *l = mem_realloc(NULL, sizeof(*l) + bytes);
		l->first = first;
		l->n = end - first;
		memcpy(l->counts, s->counts + first, bytes);
		memset(s->counts + first, 0, bytes);
		at(s, s->open)->latencies = l;
	}
	s->open = i;
}

static int bucket_of(int64_t value)
{
	if (value < 0)
		value = 0;
	if (value > HIST_TOP)
		value = HIST_TOP;
	int shift = 63 - SERIES_SUB_BITS -
		__builtin_clzll((uint64_t)value | (UINT64_C(1) << SERIES_SUB_BITS));
	return (shift << SERIES_SUB_BITS) + (int)(value >> shift);
}

/* The middle of a bucket. */
static double value_of(int bucket)
{
	int shift = bucket >> SERIES_SUB_BITS;
	int64_t sub = bucket & ((1 << SERIES_SUB_BITS) - 1);
	if (shift == 0)
		return (double)sub;
	/* bucket = (shift << bits) + (value >> shift), and the latter has its top bit set. */
	shift--;
	sub += 1 << SERIES_SUB_BITS;
	return ((double)sub + 0.5) * (double)(INT64_C(1) << shift);
}

void series_record(struct series *s, int64_t t_ns, bool ok, int64_t latency_ns)
{
	int64_t i = second_of(t_ns);
	if (i > s->open)
		open_second(s, i);
	struct series_second *second = at(s, s->open);
	second->requests++;
	if (!ok) {
		second->errors++;
		return;
	}
	second->ok_latency_s += (double)latency_ns / 1e9;
	s->counts[bucket_of(latency_ns)]++;
}

void series_in_flight(struct series *s, int64_t from_ns, int64_t to_ns, int64_t level)
{
	while (from_ns < to_ns) {
		int64_t end = (from_ns / NS_PER_S + 1) * NS_PER_S;
		if (end > to_ns)
			end = to_ns;
		series_at(s, from_ns)->in_flight_s += (double)level * (double)(end - from_ns) / 1e9;
		from_ns = end;
	}
}

static double quantile_ms(const uint32_t *counts, int64_t n, double q)
{
	if (!quantile_enough(n, q))
		return NAN;
	int64_t rank = quantile_rank(n, q), seen = 0;
	for (int i = 0; i < SERIES_N_BUCKETS; i++) {
		seen += counts[i];
		if (seen >= rank)
			return value_of(i) / 1e6;
	}
	return NAN;
}

/* Seconds of several threads added up. */
struct sum {
	struct series_second second;
	uint32_t counts[SERIES_N_BUCKETS];
};

static void add(struct sum *to, const struct series *s, int64_t i)
{
	const struct series_second *from = &s->seconds[i];
	const struct series_latencies *l = from->latencies;
	to->second.requests += from->requests;
	to->second.errors += from->errors;
	to->second.token_events += from->token_events;
	to->second.body_tokens += from->body_tokens;
	to->second.in_flight_s += from->in_flight_s;
	to->second.ok_latency_s += from->ok_latency_s;
	for (int k = 0; l && k < l->n; k++)
		to->counts[l->first + k] += l->counts[k];
	for (int k = 0; i == s->open && k < SERIES_N_BUCKETS; k++)
		to->counts[k] += s->counts[k];
}

struct load_second *series_merge(const struct series *const *all, int n_threads, double duration_s,
	double tokens_per_event, struct arena *run, int64_t *ret_n)
{
	int64_t n = (int64_t)ceil(duration_s - 1e-6);
	n = n < 1 ? 1 : n > SERIES_MAX_S ? SERIES_MAX_S : n;
	struct load_second *out = arena_new_n(run, struct load_second, (size_t)n);
	for (int64_t i = 0; i < n; i++) {
		struct sum sum = { 0 };
		double end = fmin((double)(i + 1), duration_s), length = end - (double)i;
		/* An answer that comes at the very end of the window belongs to its last second. */
		for (int t = 0; t < n_threads; t++)
			for (int64_t k = i; k < all[t]->n && (k == i || i == n - 1); k++)
				add(&sum, all[t], k);
		int64_t ok = sum.second.requests - sum.second.errors;
		out[i] = (struct load_second){
			.t_s = end,
			.requests = sum.second.requests,
			.errors = sum.second.errors,
			.in_flight = length > 0 ? sum.second.in_flight_s / length : 0,
			.mean_ms = ok > 0 ? sum.second.ok_latency_s / (double)ok * 1e3 : NAN,
			.p50_ms = quantile_ms(sum.counts, ok, 0.5),
			.p99_ms = quantile_ms(sum.counts, ok, 0.99),
			.output_tokens = sum.second.body_tokens +
				llround((double)sum.second.token_events * tokens_per_event),
		};
	}
	*ret_n = n;
	return out;
}
