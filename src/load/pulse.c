#include "load/pulse.h"

#include "base/attr.h"
#include "base/clock.h"
#include "stats/change.h"
#include "stats/steady.h"

#include <math.h>
#include <string.h>

static const int64_t first_slice_ns = 20 * NS_PER_MS;

enum {
	SETTLE_POINTS = STEADY_BATCH * STEADY_BATCHES_MIN,
	DRIFT_POINTS = 64,
	DONE_PER_POINT = 4, /* of the drift: with fewer, a point is chance */
	SLOPE_POINTS_MAX = 24,
	SLOPE_POINTS_MIN = 12,
	FLOW_MIN = 50, /* requests sent during the span of a backlog */
};

static const double drift_tolerance = 0.05;
static const double drift_p = 0.001;
static const int64_t span_max_ns = 30 * NS_PER_S;
static const int64_t span_min_ns = NS_PER_S;
static const double flow_deviations = 3.1;
/* The 99.9 % quantile of Student's t with SLOPE_POINTS_MIN - 2 degrees of freedom. */
static const double t_ten = 4.144;

void pulse_init(struct pulse *p, int64_t start_ns)
{
	*p = (struct pulse){ .start_ns = start_ns, .last_ns = start_ns, .slice_ns = first_slice_ns };
}

static void add(struct pulse_slice *to, const struct pulse_slice *from)
{
	to->span_s += from->span_s;
	to->in_flight_s += from->in_flight_s;
	to->sent += from->sent;
	to->done += from->done;
	to->ok += from->ok;
	to->ok_latency_s += from->ok_latency_s;
}

static void halve(struct pulse *p)
{
	for (int i = 0; i < PULSE_SLICES_MAX / 2; i++) {
		struct pulse_slice sum = p->slices[2 * i];
		add(&sum, &p->slices[2 * i + 1]);
		p->slices[i] = sum;
	}
	memset(&p->slices[PULSE_SLICES_MAX / 2], 0, sizeof(p->slices) / 2);
	p->slice_ns *= 2;
	p->n = (p->n + 1) / 2;
}

static struct pulse_slice share_of(const struct pulse_slice *s, double share)
{
	return (struct pulse_slice){
		.span_s = s->span_s * share,
		.in_flight_s = s->in_flight_s * share,
		.sent = s->sent * share,
		.done = s->done * share,
		.ok = s->ok * share,
		.ok_latency_s = s->ok_latency_s * share,
	};
}

/* What happened between two looks is spread evenly over the slices between them. */
static void spread(struct pulse *p, int64_t from_ns, int64_t to_ns, const struct pulse_slice *news)
{
	for (int64_t at = from_ns, next; at < to_ns; at = next) {
		int64_t place = at / p->slice_ns;
		next = (place + 1) * p->slice_ns < to_ns ? (place + 1) * p->slice_ns : to_ns;
		struct pulse_slice part =
			share_of(news, (double)(next - at) / (double)(to_ns - from_ns));
		add(&p->slices[place], &part);
	}
}

void pulse_take(struct pulse *p, int64_t now_ns, const struct pulse_sample *now)
{
	double span_s = (double)(now_ns - p->last_ns) / 1e9;
	int64_t from = p->last_ns - p->start_ns, to = now_ns - p->start_ns;
	if (to <= from)
		return;
	while ((to - 1) / p->slice_ns >= PULSE_SLICES_MAX)
		halve(p);
	const struct pulse_slice news = {
		.span_s = span_s,
		.in_flight_s = (double)(p->last.in_flight + now->in_flight) / 2 * span_s,
		.sent = (double)(now->sent - p->last.sent),
		.done = (double)(now->done - p->last.done),
		.ok = (double)(now->ok - p->last.ok),
		.ok_latency_s = now->ok_latency_s - p->last.ok_latency_s,
	};
	spread(p, from, to, &news);
	p->n = (int)((to - 1) / p->slice_ns) + 1;
	p->last = *now;
	p->last_ns = now_ns;
}

static struct pulse_point point_of(const struct pulse_slice *s, double at_s)
{
	return (struct pulse_point){
		.at_s = at_s,
		.span_s = s->span_s,
		.sent = s->sent,
		.done = s->done,
		.requests_per_s = s->ok / s->span_s,
		.in_flight = s->in_flight_s / s->span_s,
		.latency_ms = s->ok > 0 ? s->ok_latency_s / s->ok * 1e3 : NAN,
	};
}

int pulse_points(const struct pulse *p, int64_t from_ns, int64_t to_ns, int n_max,
	struct pulse_point *ret_points)
{
	int64_t first = (from_ns - p->start_ns + p->slice_ns - 1) / p->slice_ns;
	int64_t end = (to_ns - p->start_ns) / p->slice_ns;
	end = end < p->n - 1 ? end : p->n - 1; /* the last is in the making */
	int64_t each = (end - first + n_max - 1) / n_max;
	int n = 0;
	for (int64_t i = first; i + each <= end && each > 0; i += each) {
		struct pulse_slice sum = { 0 };
		for (int64_t k = i; k < i + each; k++)
			add(&sum, &p->slices[k]);
		ret_points[n++] = point_of(&sum, (double)(i * p->slice_ns) / 1e9);
	}
	return n;
}

bool pulse_has_settled(const struct pulse *p)
{
	struct pulse_point points[PULSE_POINTS_MAX];
	double rate[PULSE_POINTS_MAX], in_flight[PULSE_POINTS_MAX];
	size_t cut;
	int n = pulse_points(p, p->start_ns, p->last_ns, PULSE_POINTS_MAX, points);
	if (n < SETTLE_POINTS)
		return false;
	for (int i = 0; i < n; i++) {
		rate[i] = points[i].requests_per_s;
		in_flight[i] = points[i].in_flight;
	}
	return steady_mser5(rate, (size_t)n, &cut) && steady_mser5(in_flight, (size_t)n, &cut);
}

/* ---- after the run: does the window stay at its level? ---- */

static double throughput_of(const struct pulse_point *p)
{
	return p->requests_per_s;
}

static double in_flight_of(const struct pulse_point *p)
{
	return p->in_flight;
}

static double latency_of(const struct pulse_point *p)
{
	return p->latency_ms;
}

static double (*const value_of[LOAD_N_SIGNALS])(const struct pulse_point *p) = {
	[LOAD_SIGNAL_THROUGHPUT] = throughput_of,
	[LOAD_SIGNAL_IN_FLIGHT] = in_flight_of,
	[LOAD_SIGNAL_LATENCY] = latency_of,
};

/* Points at which nothing was answered have no latency and are passed over. */
static int values_of(const struct pulse_point *points, int n, int signal, double *ret, double *ret_at)
{
	int kept = 0;
	for (int i = 0; i < n; i++) {
		double v = value_of[signal](&points[i]);
		if (isnan(v))
			continue;
		ret[kept] = v;
		ret_at[kept++] = points[i].at_s;
	}
	return kept;
}

bool pulse_drift(const struct pulse *p, int64_t from_ns, int64_t to_ns, struct load_window *w)
{
	struct pulse_point points[PULSE_POINTS_MAX];
	double done = 0, start_s = (double)(from_ns - p->start_ns) / 1e9;
	int n = pulse_points(p, from_ns, to_ns, DRIFT_POINTS, points);
	for (int i = 0; i < n; i++)
		done += points[i].done;
	if (done < DONE_PER_POINT * CHANGE_MIN)
		return false;
	if (done < DONE_PER_POINT * n)
		n = pulse_points(p, from_ns, to_ns, (int)done / DONE_PER_POINT, points);
	if (n < CHANGE_MIN)
		return false;
	w->n_drift = 0;
	for (int s = 0; s < LOAD_N_SIGNALS; s++) {
		double x[PULSE_POINTS_MAX], at[PULSE_POINTS_MAX], sum = 0;
		struct change c;
		int kept = values_of(points, n, s, x, at);
		for (int i = 0; i < kept; i++)
			sum += x[i];
		if (!change_find(x, (size_t)kept, &c) || c.p >= drift_p ||
			fabs(c.to - c.from) <= drift_tolerance * sum / kept)
			continue;
		w->drift[w->n_drift++] = (struct load_drift){
			.signal = (enum load_signal)s,
			.is_shift = c.is_shift,
			.at_s = c.is_shift ? at[c.at] - start_s : NAN,
			.from = c.from,
			.to = c.to,
			.p = c.p,
		};
	}
	return true;
}

/* ---- during the run: is there a backlog? ---- */

/* Rises for certain; the line's ends are the signal at the beginning and at the end. */
static bool rises(const double *x, int n, double *ret_from, double *ret_to)
{
	double slope, error, sum = 0;
	change_slope(x, (size_t)n, &slope, &error);
	for (int i = 0; i < n; i++)
		sum += x[i];
	*ret_from = sum / n - slope * (n - 1) / 2;
	*ret_to = sum / n + slope * (n - 1) / 2;
	return slope - t_ten * error > 0;
}

/* More was sent than ended, beyond the chance of arrivals and answers. */
static bool flows_differ(const struct pulse_point *points, int n, double cv, struct load_saturation *s)
{
	double sent = 0, done = 0, span_s = 0;
	for (int i = 0; i < n; i++) {
		sent += points[i].sent;
		done += points[i].done;
		span_s += points[i].span_s;
	}
	s->offered_per_s = sent / span_s;
	s->completed_per_s = done / span_s;
	return sent >= FLOW_MIN && sent - done > flow_deviations * sqrt(cv * cv * sent + done);
}

bool pulse_is_saturated(const struct pulse *p, int64_t now_ns, int64_t filled_ns, double cv,
	struct load_saturation *ret)
{
	struct pulse_point points[SLOPE_POINTS_MAX];
	double in_flight[SLOPE_POINTS_MAX], latency[SLOPE_POINTS_MAX], at[SLOPE_POINTS_MAX];
	struct load_saturation s = { .present = true };
	int64_t half = p->start_ns + (now_ns - p->start_ns) / 2;
	int64_t from = half > now_ns - span_max_ns ? half : now_ns - span_max_ns;
	if (from < filled_ns)
		from = filled_ns;
	if (now_ns - from < span_min_ns)
		return false;
	int n = pulse_points(p, from, now_ns, SLOPE_POINTS_MAX, points);
	if (n < SLOPE_POINTS_MIN || !flows_differ(points, n, cv, &s))
		return false;
	int n_latency = values_of(points, n, LOAD_SIGNAL_LATENCY, latency, at);
	values_of(points, n, LOAD_SIGNAL_IN_FLIGHT, in_flight, at);
	if (n_latency < SLOPE_POINTS_MIN ||
		!rises(in_flight, n, &s.in_flight_from, &s.in_flight_to) ||
		!rises(latency, n_latency, &s.latency_ms_from, &s.latency_ms_to))
		return false;
	s.from_s = points[0].at_s;
	s.at_s = (double)(now_ns - p->start_ns) / 1e9;
	*ret = s;
	return true;
}
