#include "diagnose/evidence.h"

#include "base/clock.h"
#include "diagnose/anchors.h"
#include "stats/quantile.h"

#include <math.h>
#include <string.h>

void evidence_add_point(struct evidence *ev, const struct load_run *r)
{
	if (ev->n_points == EVIDENCE_MAX_POINTS || evidence_point(ev, r->concurrency))
		return;
	int i = ev->n_points++;
	for (; i > 0 && ev->points[i - 1]->concurrency > r->concurrency; i--)
		ev->points[i] = ev->points[i - 1];
	ev->points[i] = r;
}

const struct load_run *evidence_point(const struct evidence *ev, int64_t concurrency)
{
	for (int i = 0; i < ev->n_points; i++)
		if (ev->points[i]->concurrency == concurrency)
			return ev->points[i];
	return NULL;
}

double run_throughput(const struct load_run *r)
{
	return r && r->requests.ok > 0 ? r->throughput.requests_per_s : NAN;
}

double run_mean_ms(const struct load_run *r, enum load_metric metric)
{
	return r ? hist_mean(&r->metrics[metric]) / NS_PER_MS : NAN;
}

int64_t run_n(const struct load_run *r, enum load_metric metric)
{
	return r ? r->metrics[metric].n : 0;
}

double tail_of(int64_t n_a, int64_t n_b)
{
	static const double tails[] = { 0.99, 0.95, 0.9, 0.5 };
	for (size_t i = 0; i < ARRAY_LEN(tails); i++)
		if (quantile_enough(n_a < n_b ? n_a : n_b, tails[i]))
			return tails[i];
	return NAN;
}

double run_quantile_ms(const struct load_run *r, enum load_metric metric, double q)
{
	if (run_n(r, metric) == 0 || isnan(q))
		return NAN;
	return (double)hist_quantile(&r->metrics[metric], q) / NS_PER_MS;
}

double run_latency_ms(const struct load_run *r)
{
	return run_mean_ms(r, LOAD_LATENCY);
}

/* The mean of a signal, of an instance or, with NULL, of the instance where pick prefers it. */
static double mean_signal(const struct signal_system *system, const char *name,
        const char *instance, double (*pick)(double, double))
{
	double mean = NAN;
	for (size_t i = 0; i < system->n_signals; i++) {
		const struct signal *s = &system->signals[i];
		bool is_it = strcmp(s->name, name) == 0 &&
		             (!instance || (s->instance && strcmp(s->instance, instance) == 0));
		mean = is_it ? pick(mean, s->mean) : mean;
	}
	return mean;
}

/* Of the GPUs on which the watched processes work. */
static double busiest_gpu_ratio(const struct signal_system *system)
{
	double busiest = NAN;
	for (size_t i = 0; i < system->n_signals; i++) {
		const struct signal *s = &system->signals[i];
		if (strcmp(s->name, "gpu_util_ratio") == 0 &&
		        mean_signal(system, "gpu_own_processes", s->instance, fmax) > 0)
			busiest = fmax(busiest, s->mean);
	}
	return busiest;
}

double run_device_ratio(const struct load_run *r)
{
	if (!r || !r->system)
		return NAN;
	double gpu = busiest_gpu_ratio(r->system);
	double cores = fmin(mean_signal(r->system, "process_cpus_allowed_count", NULL, fmax),
	        mean_signal(r->system, "cgroup_quota_cores", NULL, fmin));
	return isnan(gpu) ? mean_signal(r->system, "process_cpu_ratio", NULL, fmax) / cores : gpu;
}

static double mean_of(const double *v, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

/* Sample deviation over mean; 0 for one value. */
static double spread_of(const double *v, int n)
{
	double mean = mean_of(v, n), sum = 0;
	for (int i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return n < 2 ? 0 : sqrt(sum / (n - 1)) / mean;
}

static double noise_of(const double *a, int n)
{
	return fmax(anchor(ANCHOR_NOISE), anchor(ANCHOR_NOISE_SPREADS) * spread_of(a, n));
}

struct effect evidence_effect(
        const struct evidence_pairs *pairs, double (*figure)(const struct load_run *r))
{
	double a[EVIDENCE_MAX_PAIRS], b[EVIDENCE_MAX_PAIRS];
	int n = 0;
	for (int i = 0; i < pairs->n; i++) {
		a[n] = figure(pairs->a[i]);
		b[n] = figure(pairs->b[i]);
		n += isfinite(a[n]) && isfinite(b[n]);
	}
	struct effect e = { .n = n, .ratio = NAN, .noise = NAN };
	if (n == 0)
		return e;
	e.ratio = mean_of(b, n) / mean_of(a, n);
	e.noise = noise_of(a, n);
	e.beyond_noise = n >= (int)anchor(ANCHOR_PAIRS) && fabs(e.ratio - 1) > e.noise;
	return e;
}

/* The largest relative error of R(N) = max(R(1), N R(1)/K) over the points beyond one request. */
static double slots_misfit(const struct evidence *ev, double r_alone_ms, double k)
{
	double worst = NAN;
	for (int i = 0; i < ev->n_points; i++) {
		double n = (double)ev->points[i]->concurrency;
		double want = r_alone_ms * fmax(1, n / k);
		double error = fabs(run_latency_ms(ev->points[i]) / want - 1);
		if (n > 1 && isfinite(error))
			worst = fmax(worst, error);
	}
	return worst;
}

static const struct load_run *largest_at_most(const struct evidence *ev, double concurrency)
{
	const struct load_run *found = NULL;
	for (int i = 0; i < ev->n_points; i++)
		if ((double)ev->points[i]->concurrency <= concurrency)
			found = ev->points[i];
	return found;
}

static bool near_integer(double k)
{
	double nearest = fmax(1, round(k));
	return nearest > anchor(ANCHOR_SLOTS_INTEGER) ||
	       fabs(k - nearest) <= anchor(ANCHOR_SLOTS_PINNED) * nearest;
}

/* A stream whose events arrive all at once at its end shows nothing of what is under work. */
static bool streams_tell(const struct load_run *alone, const struct load_run *r)
{
	double buffered_pm = 1000 * anchor(ANCHOR_BUFFERED_TTFT);
	const struct hist *share = &alone->transport.stream_share_pm;
	return r->transport.streams_active_max > 0 && isfinite(r->transport.streams_active_mean) &&
	       !(share->n > 0 && (double)hist_quantile(share, 0.5) >= buffered_pm);
}

static void slots_by_streams(const struct evidence *ev, const struct load_run *low,
        const struct load_run *high, double parallelism, struct slots *s)
{
	s->streamed = true;
	s->active_low = low->transport.streams_active_mean;
	s->active_high = high->transport.streams_active_mean;
	s->itl_ratio =
	        run_quantile_ms(high, LOAD_ITL, 0.5) / run_quantile_ms(ev->alone, LOAD_ITL, 0.5);
	s->queue_ratio = (run_mean_ms(high, LOAD_TTFT) - run_mean_ms(ev->alone, LOAD_TTFT)) /
	                 run_latency_ms(high);
	s->queue = s->queue_ratio >= anchor(ANCHOR_SLOTS_QUEUE);
	bool same = fabs(s->active_high / s->active_low - 1) <= anchor(ANCHOR_SLOTS_PINNED) ||
	            high->transport.streams_active_max == low->transport.streams_active_max;
	s->pinned = same && s->queue;
	s->unslowed = s->itl_ratio <= anchor(ANCHOR_SLOTS_ITL);
	bool whole = fabs(parallelism - round(parallelism)) <=
	             anchor(ANCHOR_SLOTS_PINNED) * round(parallelism);
	s->k = s->unslowed && whole ? fmax(1, round(parallelism))
	                            : (double)high->transport.streams_active_max;
}

static void slots_by_curve(const struct evidence *ev, const struct load_run *high,
        const struct figures *fig, struct slots *s)
{
	double r_high = run_latency_ms(high);
	s->queue_ratio = (r_high - fig->r_alone_ms) / r_high;
	s->queue = s->queue_ratio >= anchor(ANCHOR_SLOTS_QUEUE);
	s->k = fmax(1, round(fig->parallelism));
	s->misfit = slots_misfit(ev, fig->r_alone_ms, fig->parallelism);
	s->unslowed = s->misfit <= anchor(ANCHOR_SLOTS_PINNED);
	s->pinned = s->queue && s->unslowed && near_integer(fig->parallelism);
}

static struct slots slots_derive(const struct evidence *ev, const struct figures *fig)
{
	struct slots s = { .k = NAN,
		.active_low = NAN,
		.active_high = NAN,
		.itl_ratio = NAN,
		.queue_ratio = NAN,
		.misfit = NAN };
	const struct load_run *high = fig->top;
	const struct load_run *low =
	        high ? largest_at_most(ev, (double)high->concurrency / 2) : NULL;
	if (!low || low->concurrency < 2 || !isfinite(fig->parallelism) ||
	        !isfinite(run_latency_ms(high)))
		return s;
	s.examined = true;
	s.n_low = low->concurrency;
	s.n_high = high->concurrency;
	if (streams_tell(ev->alone, low) && streams_tell(ev->alone, high))
		slots_by_streams(ev, low, high, fig->parallelism, &s);
	else
		slots_by_curve(ev, high, fig, &s);
	return s;
}

static double noise_in_use(const struct evidence *ev)
{
	double x[2 * EVIDENCE_MAX_PAIRS + 1];
	int n = 0;
	for (int i = 0; i < ev->halved.n; i++)
		x[n++] = run_throughput(ev->halved.a[i]);
	for (int i = 0; i < ev->raised.n; i++)
		x[n++] = run_throughput(ev->raised.a[i]);
	double noise = n > 0 ? noise_of(x, n) : anchor(ANCHOR_NOISE);
	return isfinite(noise) ? noise : anchor(ANCHOR_NOISE);
}

static void find_maximum(const struct evidence *ev, struct figures *fig)
{
	for (int i = 0; i < ev->n_points; i++) {
		double x = run_throughput(ev->points[i]);
		if (isfinite(x) && !(x <= fig->x_max)) {
			fig->x_max = x;
			fig->x_max_at = ev->points[i]->concurrency;
		}
		if (isfinite(x))
			fig->top = ev->points[i];
	}
}

/* X in use over X at half of it: from interleaved runs where there are any. */
static double doubling_gain(const struct evidence *ev, const struct figures *fig)
{
	struct effect half = evidence_effect(&ev->halved, run_throughput);
	if (half.n >= (int)anchor(ANCHOR_PAIRS))
		return 1 / half.ratio;
	return run_throughput(ev->operating) / run_throughput(fig->half);
}

/* A cap that is known by its structure is not put in doubt by two noisy runs. */
static bool is_flat(const struct evidence *ev, const struct figures *fig)
{
	bool past_cap = fig->pinned && ev->operating &&
	                (double)ev->operating->concurrency >= 2 * fig->parallelism;
	return fig->doubling_gain < anchor(ANCHOR_FLAT) || past_cap;
}

void figures_derive(const struct evidence *ev, struct figures *ret)
{
	struct figures fig = { .x_max = NAN, .r_alone_ms = run_latency_ms(ev->alone) };
	const struct load_run *op = ev->operating;
	find_maximum(ev, &fig);
	fig.r_operating_ms = run_latency_ms(op);
	fig.parallelism = fig.x_max * fig.r_alone_ms / 1000;
	fig.waiting_ratio = (fig.r_operating_ms - fig.r_alone_ms) / fig.r_operating_ms;
	if (op && op->concurrency > 1)
		fig.half = largest_at_most(ev, (double)op->concurrency / 2);
	fig.doubling_gain = doubling_gain(ev, &fig);
	fig.follows_ratio =
	        op && op->concurrency > 0
	                ? run_throughput(op) / ((double)op->concurrency * run_throughput(ev->alone))
	                : NAN;
	fig.noise = noise_in_use(ev);
	fig.slots = slots_derive(ev, &fig);
	bool one_at_a_time = fig.top &&
	                     (double)fig.top->concurrency >= anchor(ANCHOR_BATCH_CONCURRENCY) &&
	                     fig.parallelism < anchor(ANCHOR_BATCH_MEAN);
	fig.pinned = one_at_a_time || (fig.slots.pinned && fig.slots.unslowed);
	fig.flat = is_flat(ev, &fig);
	*ret = fig;
}

/* The window of the n-th multiple of the delay. */
static int64_t ack_low_ns(int times)
{
	return (int64_t)(times * anchor(ANCHOR_ACK_LOW) * NS_PER_MS);
}

static int64_t ack_high_ns(int times)
{
	return (int64_t)(times * anchor(ANCHOR_ACK_HIGH) * NS_PER_MS);
}

enum { ACK_TIMES = 2 }; /* one side delays, or both do */

static int64_t ack_count(const struct hist *h)
{
	int64_t n = 0;
	for (int times = 1; times <= ACK_TIMES; times++)
		n += hist_count_at_or_below(h, ack_high_ns(times)) -
		     hist_count_at_or_below(h, ack_low_ns(times) - 1);
	return n;
}

/* Head and first token are known apart only as distributions: their medians have to do. */
static bool ack_after_head(const struct load_run *r)
{
	const struct hist *ttfb = &r->metrics[LOAD_TTFB], *ttft = &r->metrics[LOAD_TTFT];
	if (ttfb->n == 0 || ttft->n == 0)
		return false;
	int64_t gap = hist_quantile(ttft, 0.5) - hist_quantile(ttfb, 0.5);
	for (int times = 1; times <= ACK_TIMES; times++)
		if (gap >= ack_low_ns(times) && gap <= ack_high_ns(times))
			return true;
	return false;
}

double ack_hits_per_request(const struct load_run *r)
{
	const struct hist *itl = &r->metrics[LOAD_ITL], *body = &r->transport.body_delay;
	bool streamed = r->metrics[LOAD_TTFT].n > 0;
	if (r->requests.ok == 0 || (!streamed && body->n == 0))
		return NAN;
	if (!streamed)
		return (double)ack_count(body) / (double)body->n;
	return (double)ack_count(itl) / (double)r->requests.ok + ack_after_head(r);
}

double ack_bound_ratio(const struct load_run *r)
{
	return fmin(1, ack_hits_per_request(r) * anchor(ANCHOR_ACK) / run_latency_ms(r));
}
