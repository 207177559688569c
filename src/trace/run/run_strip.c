#include "trace/run/run_parts.h"

#include <math.h>

/* A page is some hundred points wide; more pieces than that cannot be told apart. */
enum { STRIP_BUCKETS = 240 };

/* Adds the length that intervals have in each bucket to sums. */
static void add_lengths(
        const struct intervals *u, int64_t start_ns, int64_t bucket_ns, double *sums, size_t n)
{
	for (size_t i = 0; i < u->n; i++) {
		int64_t from = u->v[i].start_ns - start_ns, to = u->v[i].end_ns - start_ns;
		for (size_t b = (size_t)(from / bucket_ns); b < n && from < to; b++) {
			int64_t end = (int64_t)(b + 1) * bucket_ns;
			int64_t stop = to < end ? to : end;
			sums[b] += (double)(stop - from);
			from = stop;
		}
	}
}

struct trace_strip run_strip(const struct device_view *d, struct arena *run)
{
	struct trace_strip strip = { 0 };
	int64_t span_ns = d->end_ns - d->start_ns;
	if (d->n == 0 || span_ns <= 0)
		return strip;
	strip.bucket_ns = span_ns / STRIP_BUCKETS + (span_ns % STRIP_BUCKETS != 0);
	strip.n = (size_t)((span_ns + strip.bucket_ns - 1) / strip.bucket_ns);
	strip.buckets = arena_new_n(run, struct trace_bucket, strip.n);
	double busy[STRIP_BUCKETS] = { 0 }, kernels[STRIP_BUCKETS] = { 0 };
	add_lengths(&d->busy, d->start_ns, strip.bucket_ns, busy, strip.n);
	add_lengths(&d->kernel_busy, d->start_ns, strip.bucket_ns, kernels, strip.n);
	for (size_t i = 0; i < strip.n; i++) {
		/* The last piece may be shorter: its shares are of what there is of it. */
		int64_t left = span_ns - (int64_t)i * strip.bucket_ns;
		double length = (double)(left < strip.bucket_ns ? left : strip.bucket_ns);
		strip.buckets[i] = (struct trace_bucket){
			.compute_ratio = kernels[i] / length,
			.copy_ratio = fmax(0, busy[i] - kernels[i]) / length,
		};
	}
	return strip;
}
