/*
 * pulse.h - how a measurement goes along: what was sent, ended and in flight in each of up to 512
 * equal slices of time since its start, warm-up included; and what that says of its steadiness.
 *
 * The controller samples the shared counters at every tick, so workers pay one more addition per
 * request. One user, the controller's thread. When there are too many slices two become one, so
 * memory does not grow with the run.
 */
#ifndef VENTURI_LOAD_PULSE_H
#define VENTURI_LOAD_PULSE_H

#include "record/load_run.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	PULSE_SLICES_MAX = 512,
	PULSE_POINTS_MAX = 128, /* that slices are drawn together to */
};

/* Since the start of the measurement, but in_flight, which is now. */
struct pulse_sample {
	int64_t sent, done, ok;
	double ok_latency_s; /* sum over those that were ok */
	int64_t in_flight;
};

struct pulse_slice {
	double span_s, in_flight_s; /* the second: integral of the number in flight */
	double sent, done, ok, ok_latency_s;
};

struct pulse {
	int64_t start_ns, last_ns;
	int64_t slice_ns;
	struct pulse_sample last;
	struct pulse_slice slices[PULSE_SLICES_MAX];
	int n; /* slices so far, the last of them in the making */
};

void pulse_init(struct pulse *p, int64_t start_ns);
void pulse_take(struct pulse *p, int64_t now_ns, const struct pulse_sample *now);

/* Slices drawn together. */
struct pulse_point {
	double at_s; /* its beginning, since the start of the measurement */
	double span_s, sent, done;
	double requests_per_s; /* that were ok */
	double in_flight;      /* mean */
	double latency_ms;     /* mean of those that were ok; NAN without any */
};

/*
 * The slices that lie inside a time, drawn together to at most n_max points of equal length; the
 * last may be shorter and is then left out.
 *
 * returns  how many
 */
int pulse_points(const struct pulse *p, int64_t from_ns, int64_t to_ns, int n_max,
	struct pulse_point *ret_points);

/*
 * Have throughput and the number in flight settled since the start? MSER-5 of both, as for latency
 * (stats/steady.h).
 */
bool pulse_has_settled(const struct pulse *p);

/*
 * Where throughput, the number in flight and latency leave their level inside the window: by more
 * than 5 % of their mean, with a probability below 0.1 % for chance (stats/change.h).
 *
 * window_ns  since the start of the measurement, as at_s is since that of the window
 * returns    false when there is too little to judge
 */
bool pulse_drift(const struct pulse *p, int64_t from_ns, int64_t to_ns, struct load_window *w);

/*
 * Does a backlog grow without end? In an open loop, that is, when over the last half of the run, 30 s
 * at the most,
 * - more was sent than ended, beyond the chance of arrivals and answers (3.1 deviations), and
 * - the number in flight and the latency rise, both slopes above 0 at 99.9 % (t-interval).
 *
 * A service that keeps up looks alike while it fills: nothing is said before the first requests of
 * the run have all ended, and of the time before that.
 *
 * filled_ns  when that was
 * cv         of the gaps between arrivals
 * source     slopes of concurrency and TTFT with their intervals: the idea of GuideLLM's
 *            over-saturation constraint; the balance of flows is ours
 */
bool pulse_is_saturated(const struct pulse *p, int64_t now_ns, int64_t filled_ns, double cv,
	struct load_saturation *ret);

#endif
