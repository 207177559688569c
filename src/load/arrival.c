#include "load/arrival.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "load/schedule.h"

#include <math.h>
#include <string.h>

static const double rate_min = 1e-3;

static const char *const kind_names[] = {
	[ARRIVAL_CONSTANT] = "constant",
	[ARRIVAL_POISSON] = "poisson",
	[ARRIVAL_GAMMA] = "gamma",
	[ARRIVAL_SCHEDULE] = "schedule",
};

static bool parse_gamma(struct str cv, struct arrival_law *law, struct err *err)
{
	law->kind = ARRIVAL_GAMMA;
	if (str_to_double(cv, &law->cv) && law->cv >= 0 && law->cv <= ARRIVAL_CV_MAX)
		return true;
	return err_set(err, ERR_USAGE,
	        _("'--arrival gamma:CV' takes a coefficient of variation from 0 to %g, not '%.*s'"),
	        ARRIVAL_CV_MAX, STR_ARG(cv));
}

bool arrival_parse(const char *text, double speed, struct arena *run, struct arrival_law *ret_law,
        struct err *err)
{
	struct arrival_law law = { .text = arena_strdup(run, text) };
	struct str value;
	struct str name = str_cut(str_of(text), ':', &value);
	bool has_value = name.len < strlen(text);
	if (str_eq(str_of(text), STR("constant"))) {
		law.kind = ARRIVAL_CONSTANT;
	} else if (str_eq(str_of(text), STR("poisson"))) {
		law.kind = ARRIVAL_POISSON;
	} else if (has_value && str_eq(name, STR("gamma"))) {
		if (!parse_gamma(value, &law, err))
			return false;
	} else if (value.len && str_eq(name, STR("schedule"))) {
		law.kind = ARRIVAL_SCHEDULE;
		if (!schedule_read(str_c(value, run), speed, run, &law.schedule, err))
			return false;
	} else {
		return err_set(err, ERR_USAGE,
		        _("'--arrival' takes constant, poisson, gamma:CV or schedule:FILE, not "
		          "'%s'"),
		        text);
	}
	*ret_law = law;
	return true;
}

/* ---- a rate that changes ---- */

/* Requests expected between a knot and t_s after it, on the line to a rate at another moment. */
static double under_line(double rate, double slope, double t_s)
{
	return (rate + slope * t_s / 2) * t_s;
}

static double slope_between(const struct arrival_knot *a, const struct arrival_knot *b)
{
	return b->t_s > a->t_s ? (b->rate_per_s - a->rate_per_s) / (b->t_s - a->t_s) : 0;
}

static bool bad_rate(const char *text, struct err *err)
{
	err_set(err, ERR_USAGE, _("'--rate' takes R, FROM..TO or R@TIME,R@TIME,..., not '%s'"),
	        text);
	return err_hint(err,
	        _("rates are requests a second from 0 to %g, not all of them 0; times are "
	          "durations from the start, in their order"),
	        ARRIVAL_RATE_MAX);
}

static bool parse_one_rate(struct str text, double *ret_rate)
{
	return str_to_double(str_trim(text), ret_rate) && *ret_rate >= 0 &&
	       *ret_rate <= ARRIVAL_RATE_MAX;
}

/* Adds a knot behind the others; false when it lies before the last. */
static bool add_knot(struct arrival_knot *knots, size_t *n, double t_s, double rate_per_s)
{
	struct arrival_knot *k = &knots[*n];
	*k = (struct arrival_knot){ t_s, rate_per_s, rate_per_s * t_s };
	if (*n > 0) {
		const struct arrival_knot *last = k - 1;
		if (t_s < last->t_s)
			return false;
		k->expected = last->expected +
		              under_line(last->rate_per_s, slope_between(last, k), t_s - last->t_s);
	}
	++*n;
	return true;
}

static bool parse_knots(struct str rest, struct arrival_knot *knots, size_t *n)
{
	while (rest.len) {
		struct str time;
		struct str rate = str_cut(str_cut(rest, ',', &rest), '@', &time);
		double rate_per_s;
		int64_t t_ns;
		if (*n == ARRIVAL_KNOTS_MAX || !parse_one_rate(rate, &rate_per_s) ||
		        !units_parse_duration(str_trim(time), &t_ns) ||
		        !add_knot(knots, n, (double)t_ns / 1e9, rate_per_s))
			return false;
	}
	return *n > 0;
}

/* "A..B" over the duration. */
static bool parse_ramp(
        struct str text, ptrdiff_t dots, int64_t duration_ns, struct arrival_knot *knots, size_t *n)
{
	double from, to;
	struct str after = { text.s + dots + 2, text.len - (size_t)dots - 2 };
	return parse_one_rate((struct str){ text.s, (size_t)dots }, &from) &&
	       parse_one_rate(after, &to) && add_knot(knots, n, 0, from) &&
	       add_knot(knots, n, (double)duration_ns / 1e9, to);
}

bool arrival_parse_rate(const char *text, int64_t duration_ns, struct arena *run,
        struct arrival_law *law, double *ret_rate, struct err *err)
{
	struct str all = str_of(text);
	struct arrival_knot *knots = arena_new_n(run, struct arrival_knot, ARRIVAL_KNOTS_MAX);
	size_t n = 0;
	double rate;
	ptrdiff_t dots = str_find(all, STR(".."));
	if (dots >= 0 && duration_ns <= 0)
		return err_set(err, ERR_USAGE,
		        _("'--rate %s' needs a '--duration' over which the rate changes"), text);
	if (str_find(all, STR("@")) >= 0 ? !parse_knots(all, knots, &n)
	        : dots >= 0              ? !parse_ramp(all, dots, duration_ns, knots, &n)
	                                 : !parse_one_rate(all, &rate))
		return bad_rate(text, err);
	if (n > 0) {
		const struct arrival_knot *last = &knots[n - 1];
		rate = last->t_s > 0 ? last->expected / last->t_s : last->rate_per_s;
		/* All that the rate is 0 before may still be followed by a level rate. */
		rate = fmax(rate, last->rate_per_s > 0 ? rate_min : 0);
		law->knots = knots;
		law->n_knots = n;
		law->text = arena_printf(run, "%s rate:%s", arrival_text(law), text);
	}
	if (rate < rate_min)
		return bad_rate(text, err);
	*ret_rate = rate;
	return true;
}

const char *arrival_text(const struct arrival_law *law)
{
	return law->text ? law->text : kind_names[law->kind];
}

/* The last knot in which the number at that offset is not above value; the first when all are. */
static const struct arrival_knot *knot_before(
        const struct arrival_law *law, size_t offset, double value)
{
	size_t low = 0, high = law->n_knots;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		const char *knot = (const char *)&law->knots[middle];
		if (*(const double *)(knot + offset) <= value)
			low = middle;
		else
			high = middle;
	}
	return &law->knots[low];
}

/* Of the line from a knot to the next; behind the last one the rate stays. */
static double slope_after(const struct arrival_law *law, const struct arrival_knot *a)
{
	return a + 1 < law->knots + law->n_knots ? slope_between(a, a + 1) : 0;
}

/* Requests expected from the start until t_s. */
static double expected_until(const struct arrival_law *law, double rate_per_s, double t_s)
{
	if (law->n_knots == 0)
		return rate_per_s * t_s;
	if (t_s <= law->knots[0].t_s)
		return law->knots[0].rate_per_s * t_s;
	const struct arrival_knot *a = knot_before(law, offsetof(struct arrival_knot, t_s), t_s);
	return a->expected + under_line(a->rate_per_s, slope_after(law, a), t_s - a->t_s);
}

double arrival_expected(
        const struct arrival_law *law, double rate_per_s, double from_s, double to_s)
{
	if (law->kind == ARRIVAL_SCHEDULE)
		return (double)schedule_count(
		        law->schedule, llround(from_s * 1e9), llround(to_s * 1e9));
	return expected_until(law, rate_per_s, to_s) - expected_until(law, rate_per_s, from_s);
}

/*
 * How long after a knot a number of requests is expected: the root of rate t + slope t^2 / 2 =
 * count in the form that loses no digits where the slope is small. Infinite when never.
 */
static double time_to(double rate, double slope, double count)
{
	if (count <= 0)
		return 0;
	double root = rate * rate + 2 * slope * count;
	double sum = rate + sqrt(fmax(root, 0));
	return sum > 0 ? 2 * count / sum : INFINITY;
}

/* The moment at which count requests are expected. */
static double moment_of(const struct arrival_law *law, double rate_per_s, double count)
{
	if (law->n_knots == 0)
		return count / rate_per_s;
	if (count < law->knots[0].expected)
		return count / law->knots[0].rate_per_s;
	/* The last of knots with the same number: a request falls behind a stretch without any. */
	const struct arrival_knot *a =
		knot_before(law, offsetof(struct arrival_knot, expected), count);
	return a->t_s + time_to(a->rate_per_s, slope_after(law, a), count - a->expected);
}

/* ---- the walk ---- */

void arrival_init(struct arrival *a, const struct arrival_law *law, double rate_per_s,
        uint64_t seed, int64_t index, int64_t n_threads)
{
	*a = (struct arrival){
		.law = law,
		.rate_per_s = rate_per_s,
		.k = law->kind == ARRIVAL_SCHEDULE ? index : 0,
		.index = index,
		.n_threads = n_threads,
	};
	rng_init(&a->rng, seed ^ UINT64_C(0x6172726976616c73));
}

/* A gap at a rate of 1. */
static double draw_gap(struct arrival *a)
{
	double variance = a->law->cv * a->law->cv;
	switch (a->law->kind) {
	case ARRIVAL_POISSON:
		return rng_exponential(&a->rng);
	case ARRIVAL_GAMMA:
		/* Too even to be told from constant, and 1 / variance would not be finite. */
		if (variance < 1e-12)
			break;
		return variance * rng_gamma(&a->rng, 1 / variance);
	case ARRIVAL_CONSTANT:
	case ARRIVAL_SCHEDULE:
		break;
	}
	return 1;
}

static int64_t next_scheduled(struct arrival *a, int64_t *ret_k)
{
	const struct schedule *s = a->law->schedule;
	*ret_k = a->k;
	a->k += a->n_threads;
	return (uint64_t)*ret_k < s->n ? s->rows[*ret_k].at_ns : ARRIVAL_END;
}

int64_t arrival_next_ns(struct arrival *a, int64_t *ret_k)
{
	int64_t ignored;
	if (!ret_k)
		ret_k = &ignored;
	if (a->law->kind == ARRIVAL_SCHEDULE)
		return next_scheduled(a, ret_k);
	/* Every thread walks the whole process, so that the moments do not depend on the threads.
	 */
	for (;;) {
		*ret_k = a->k++;
		double count = a->count;
		a->count += draw_gap(a);
		if (*ret_k % a->n_threads != a->index)
			continue;
		double t_ns = moment_of(a->law, a->rate_per_s, count) * 1e9;
		return t_ns < ARRIVAL_NS_MAX ? llround(t_ns) : ARRIVAL_END;
	}
}

static bool too_many(struct err *err)
{
	return err_set(err, ERR_USAGE, _("the schedule to export has more than %d requests"),
	        ARRIVAL_EXPORT_MAX);
}

bool arrival_export(const struct arrival_law *law, double rate_per_s, uint64_t seed,
        int64_t until_ns, int64_t n_max, struct buf *out, struct err *err)
{
	struct arrival a;
	const struct schedule *s = law->kind == ARRIVAL_SCHEDULE ? law->schedule : NULL;
	bool lengths = s && s->has_lengths;
	arrival_init(&a, law, rate_per_s, seed, 0, 1);
	buf_add_c(out, lengths ? SCHEDULE_CSV_LENGTHS "\n" : SCHEDULE_CSV "\n");
	for (int64_t n = 0; n_max == 0 || n < n_max; n++) {
		int64_t k, t = arrival_next_ns(&a, &k);
		if (t == ARRIVAL_END || (until_ns > 0 && t >= until_ns))
			break;
		if (n == ARRIVAL_EXPORT_MAX)
			return too_many(err);
		buf_printf(
		        out, "%lld.%09lld", (long long)(t / NS_PER_S), (long long)(t % NS_PER_S));
		if (lengths)
			buf_printf(out, ",%lld,%lld", (long long)s->rows[k].input_tokens,
			        (long long)s->rows[k].output_tokens);
		buf_add_char(out, '\n');
	}
	return true;
}
