/*
 * arrival.h - when requests are due in an open loop: absolute moments from the start of the run,
 * the same for every number of threads, never drifting.
 *
 * A law says how many requests are due by each moment (its rate, level or in straight lines from
 * knot to knot) and how the gaps between them vary. Gaps are drawn at a rate of 1 and then carried
 * through the inverse of the expected count: constant gaps put the k-th request exactly where k are
 * expected, exponential ones make a Poisson process of that rate, gamma ones keep their coefficient
 * of variation under any rate. The first request is due at the start. A schedule gives the moments
 * themselves instead.
 *
 * With n threads, thread i takes the arrivals i, i + n, ...
 *
 * Source: Cox and Lewis 1966, The statistical analysis of series of events (change of time);
 * Cinlar 1975, Introduction to stochastic processes, 4.7 (inversion).
 */
#ifndef VENTURI_LOAD_ARRIVAL_H
#define VENTURI_LOAD_ARRIVAL_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schedule;

enum {
	ARRIVAL_KNOTS_MAX = 1024,
	ARRIVAL_EXPORT_MAX = 10 * 1000 * 1000, /* moments written out */
};

#define ARRIVAL_RATE_MAX 1e7
#define ARRIVAL_CV_MAX 20.0

/* Moments later than this never come. */
#define ARRIVAL_NS_MAX 1e18

/* No request is left: the rate has gone to 0 for good, or the schedule is through. */
#define ARRIVAL_END INT64_MAX

enum arrival_kind { ARRIVAL_CONSTANT, ARRIVAL_POISSON, ARRIVAL_GAMMA, ARRIVAL_SCHEDULE };

/* A rate at a moment; between two knots it goes in a straight line. */
struct arrival_knot {
	double t_s;
	double rate_per_s;
	double expected; /* requests from the start until here */
};

/* Read-only once made; any number of threads may walk it. Zeroed but for the rate: constant. */
struct arrival_law {
	enum arrival_kind kind;
	double cv; /* ARRIVAL_GAMMA: of the gaps */
	/* Before the first knot and after the last the rate is level; no knots: level throughout.
	 */
	const struct arrival_knot *knots;
	size_t n_knots;
	const struct schedule *schedule; /* ARRIVAL_SCHEDULE */
	const char *text;                /* as a run reports it; NULL: the name of the kind */
};

/*
 * "constant", "poisson", "gamma:CV" or "schedule:FILE", which is read.
 *
 * speed    a schedule is played so many times as fast; 1 as it is
 * errors   ERR_USAGE; for the contents of a schedule ERR_INPUT that names file and line
 */
bool arrival_parse(const char *text, double speed, struct arena *run, struct arrival_law *ret_law,
        struct err *err) NODISCARD;

/*
 * The rate of a law: "20"; "10..200", from the start of the run to duration_ns after it; or
 * "10@0s,200@60s,200@90s", knots in the order of time, two at one moment for a step.
 *
 * duration_ns   0: unknown, and a rate in the second form is refused
 * ret_rate      the mean from the start to the last knot, at least 1e-3
 */
bool arrival_parse_rate(const char *text, int64_t duration_ns, struct arena *run,
        struct arrival_law *law, double *ret_rate, struct err *err) NODISCARD;

/* What a run calls its arrivals: "poisson", "gamma:2", "constant rate:10..200". */
const char *arrival_text(const struct arrival_law *law);

/*
 * Requests that are expected, or planned by a schedule, from one moment of the run until another:
 * times the gaps' variation, what a rate that changes should have offered.
 */
double arrival_expected(
        const struct arrival_law *law, double rate_per_s, double from_s, double to_s);

/* One thread's walk through a law. */
struct arrival {
	const struct arrival_law *law;
	double rate_per_s;
	struct rng rng;
	int64_t k;     /* the next of the whole process; of a schedule, of this thread */
	double count;  /* expected requests before the next one: the sum of the gaps at rate 1 */
	int64_t index; /* of this thread */
	int64_t n_threads;
};

/* rate_per_s is that of a law without knots. */
void arrival_init(struct arrival *a, const struct arrival_law *law, double rate_per_s,
        uint64_t seed, int64_t index, int64_t n_threads);

/*
 * The next moment of this thread, in ns from the start, or ARRIVAL_END.
 *
 * ret_k    its number in the whole process, from 0: the row of a schedule; may be NULL
 */
int64_t arrival_next_ns(struct arrival *a, int64_t *ret_k);

/*
 * The moments of a law as CSV, which schedule_read takes back: seconds and, where the schedule has
 * them, lengths.
 *
 * until_ns, n_max   whichever comes first; 0: no such end
 * errors            ERR_USAGE when it would be more than ARRIVAL_EXPORT_MAX, or has no end
 */
bool arrival_export(const struct arrival_law *law, double rate_per_s, uint64_t seed,
        int64_t until_ns, int64_t n_max, struct buf *out, struct err *err) NODISCARD;

#endif
