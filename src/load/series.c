#include "load/series.h"

#include "base/clock.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void series_release(struct series *s)
{
	for (int64_t i = 0; i < s->n; i++)
		free(s->seconds[i]);
	free(s->seconds);
	*s = (struct series){ 0 };
}

struct series_second *series_at(struct series *s, int64_t t_ns)
{
	int64_t i = t_ns / NS_PER_S;
	if (i >= SERIES_MAX_S)
		i = SERIES_MAX_S - 1;
	if (i >= s->cap) {
		int64_t cap = s->cap ? s->cap : 64;
		while (cap <= i)
			cap *= 2;
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): it holds pointers */
		s->seconds = mem_realloc(s->seconds, (size_t)cap * sizeof(*s->seconds));
		s->cap = cap;
	}
	for (; s->n <= i; s->n++) {
		s->seconds[s->n] = mem_realloc(NULL, sizeof(struct series_second));
		memset(s->seconds[s->n], 0, sizeof(struct series_second));
	}
	return s->seconds[i];
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
	struct series_second *second = series_at(s, t_ns);
	second->requests++;
	if (!ok) {
		second->errors++;
		return;
	}
	second->ok_latency_s += (double)latency_ns / 1e9;
	second->counts[bucket_of(latency_ns)]++;
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

static void add(struct series_second *to, const struct series_second *from)
{
	to->requests += from->requests;
	to->errors += from->errors;
	to->token_events += from->token_events;
	to->body_tokens += from->body_tokens;
	to->in_flight_s += from->in_flight_s;
	to->ok_latency_s += from->ok_latency_s;
	for (int i = 0; i < SERIES_N_BUCKETS; i++)
		to->counts[i] += from->counts[i];
}

struct load_second *series_merge(const struct series *const *all, int n_threads, double duration_s,
	double tokens_per_event, struct arena *run, int64_t *ret_n)
{
	int64_t n = (int64_t)ceil(duration_s - 1e-6);
	n = n < 1 ? 1 : n > SERIES_MAX_S ? SERIES_MAX_S : n;
	struct load_second *out = arena_new_n(run, struct load_second, (size_t)n);
	for (int64_t i = 0; i < n; i++) {
		struct series_second sum = { 0 };
		double end = fmin((double)(i + 1), duration_s), length = end - (double)i;
		/* An answer that comes at the very end of the window belongs to its last second. */
		for (int t = 0; t < n_threads; t++)
			for (int64_t k = i; k < all[t]->n && (k == i || i == n - 1); k++)
				add(&sum, all[t]->seconds[k]);
		int64_t ok = sum.requests - sum.errors;
		out[i] = (struct load_second){
			.t_s = end,
			.requests = sum.requests,
			.errors = sum.errors,
			.in_flight = length > 0 ? sum.in_flight_s / length : 0,
			.mean_ms = ok > 0 ? sum.ok_latency_s / (double)ok * 1e3 : NAN,
			.p50_ms = quantile_ms(sum.counts, ok, 0.5),
			.p99_ms = quantile_ms(sum.counts, ok, 0.99),
			.output_tokens = sum.body_tokens +
				llround((double)sum.token_events * tokens_per_event),
		};
	}
	*ret_n = n;
	return out;
}
