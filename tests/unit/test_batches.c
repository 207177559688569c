/*
 * Series whose true quantile and true worth are known: independent values, a Gaussian AR(1), the
 * waiting times of an M/M/1 queue, and values that come in equal groups, as the gaps of a stream
 * do.
 */
#include "stats/batches.h"

#include "base/rng.h"
#include "stats/quantile.h"
#include "tap.h"

static const double UNIT = 1e6; /* of the values in a histogram, which are whole numbers */

struct source {
	struct rng rng;
	double (*next)(struct source *s);
	double memory; /* AR(1): correlation of neighbours; M/M/1: utilisation; groups: their size
	                */
	double state;
	int left;
};

static double independent(struct source *s)
{
	return rng_exponential(&s->rng);
}

static double autoregressive(struct source *s)
{
	s->state = s->memory * s->state + sqrt(1 - s->memory * s->memory) * rng_normal(&s->rng);
	return exp(s->state);
}

/* Lindley's recursion; mean service 1. */
static double waiting(struct source *s)
{
	double w = s->state;
	s->state = fmax(0, w + rng_exponential(&s->rng) - rng_exponential(&s->rng) / s->memory);
	return w;
}

static double grouped(struct source *s)
{
	if (s->left-- == 0) {
		s->left = (int)s->memory - 1;
		s->state = rng_exponential(&s->rng);
	}
	return s->state;
}

struct run {
	struct hist h;
	struct batches b;
};

static void record(struct run *r, struct source *s, int n, int n_slices, struct arena *arena)
{
	hist_init(&r->h, arena);
	batches_init(&r->b, arena);
	for (int i = 0, slice = 0; i < n; i++) {
		hist_record(&r->h, (int64_t)(s->next(s) * UNIT));
		for (; (int64_t)(slice + 1) * n <= (int64_t)(i + 1) * n_slices; slice++)
			batches_take(&r->b, &r->h, slice);
	}
}

static double n_eff_of(const struct run *r, double q)
{
	const struct batches *all[] = { &r->b };
	return batches_n_eff(all, 1, &r->h, q);
}

static struct source source_of(
        double (*next)(struct source *), double memory, double state, uint64_t seed)
{
	struct source s = { .next = next, .memory = memory, .state = state };
	rng_init(&s.rng, seed);
	return s;
}

enum { TRIALS = 300 };

struct outcome {
	double worth;     /* mean of n_eff / n */
	double held;      /* share of the intervals that hold the true quantile */
	double held_by_n; /* the same with n instead of n_eff */
};

static struct outcome try_often(
        double (*next)(struct source *), double memory, int n, int n_slices, double q, double truth)
{
	struct outcome o = { 0 };
	for (uint64_t seed = 1; seed <= TRIALS; seed++) {
		AUTO(arena_release) struct arena arena = { 0 };
		struct source s = source_of(next, memory, 0, seed);
		struct quantile_interval with = { 0 }, without = { 0 };
		struct run r;
		for (int i = 0; i < 1000; i++)
			s.next(&s);
		s.left = 0;
		record(&r, &s, n, n_slices, &arena);
		double n_eff = n_eff_of(&r, q), at = truth * UNIT;
		o.worth += n_eff / n / TRIALS;
		if (quantile_ci_hist(&r.h, q, 0.95, n_eff, &with))
			o.held += (with.low <= at && at <= with.high) / (double)TRIALS;
		CHECK(quantile_ci_hist(&r.h, q, 0.95, NAN, &without));
		o.held_by_n += (without.low <= at && at <= without.high) / (double)TRIALS;
		batches_release(&r.b);
	}
	return o;
}

/* 300 trials know a share of 0.95 to 0.0126. */
static void independent_values_are_worth_about_their_number(void)
{
	static const double shares[] = { 0.5, 0.9, 0.99 };
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		double q = shares[i];
		struct outcome o = try_often(independent, 0, 4000, 100, q, -log1p(-q));
		printf("# q %g: worth %.3f, held %.3f, by n %.3f\n", q, o.worth, o.held,
		        o.held_by_n);
		CHECK(o.worth >= 0.8 && o.worth <= 1);
		CHECK(o.held >= 0.92);
	}
}

/*
 * The median of a Gaussian series: signs of values with correlation r are correlated by 2/pi asin
 * r, so n values are worth n / (1 + 2 sum_k 2/pi asin(memory^k)).
 */
static void correlated_values_are_worth_what_their_autocorrelation_says(void)
{
	static const double memories[] = { 0.5, 0.8, 0.9 };
	for (size_t i = 0; i < ARRAY_LEN(memories); i++) {
		double inflation = 1;
		for (int k = 1; k < 500; k++)
			inflation += 2 * 2 / M_PI * asin(pow(memories[i], k));
		struct outcome o = try_often(autoregressive, memories[i], 8000, 100, 0.5, 1);
		printf("# memory %g: worth %.3f of %.3f, held %.3f, by n %.3f\n", memories[i],
		        o.worth, 1 / inflation, o.held, o.held_by_n);
		CHECK_NEAR(o.worth, 1 / inflation, 0.25 / inflation);
		CHECK(o.held >= 0.9);
		CHECK(o.held_by_n < o.held - 0.04);
	}
}

/* P(W <= t) = 1 - rho exp(-(1 - rho) t), so the quantile is ln(rho / (1 - q)) / (1 - rho). */
static void intervals_of_waiting_times_hold_the_true_quantile(void)
{
	static const struct {
		double rho, q;
	} cases[] = { { 0.5, 0.9 }, { 0.7, 0.9 }, { 0.7, 0.99 }, { 0.8, 0.9 } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double rho = cases[i].rho, q = cases[i].q;
		double truth = log(rho / (1 - q)) / (1 - rho);
		struct outcome o = try_often(waiting, rho, 20000, 120, q, truth);
		printf("# rho %g, q %g: worth %.3f, held %.3f, by n %.3f\n", rho, q, o.worth,
		        o.held, o.held_by_n);
		CHECK(o.held >= 0.88);
		CHECK(o.held_by_n < o.held - 0.1);
		CHECK(o.worth < 0.5);
	}
}

/* Forty equal values are worth one. */
static void values_that_come_in_groups_are_worth_the_number_of_groups(void)
{
	struct outcome o = try_often(grouped, 40, 40000, 100, 0.9, log(10));
	printf("# worth %.4f, held %.3f, by n %.3f\n", o.worth, o.held, o.held_by_n);
	CHECK_NEAR(o.worth, 1.0 / 40, 0.25 / 40);
	CHECK(o.held >= 0.91);
	CHECK(o.held_by_n < 0.5);
}

/* One of them ends early, so that its slices are half as long as the other's. */
static void threads_together_are_worth_what_one_thread_is(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	struct source s = source_of(autoregressive, 0.9, 0, 3);
	struct run one, two[2];
	const struct batches *single[] = { &one.b }, *both[] = { &two[0].b, &two[1].b };
	struct run *const all[] = { &one, &two[0], &two[1] };
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		hist_init(&all[i]->h, &arena);
		batches_init(&all[i]->b, &arena);
	}
	for (int i = 0; i < 10000; i++) {
		int64_t v = (int64_t)(s.next(&s) * UNIT);
		struct run *r = i < 4000 ? &two[i % 2] : &two[0];
		hist_record(&one.h, v);
		hist_record(&r->h, v);
		for (size_t k = 0; i % 20 == 19 && k < ARRAY_LEN(all); k++)
			if (i < 4000 || k < 2)
				batches_take(&all[k]->b, &all[k]->h, i / 20);
	}
	CHECK_INT(one.b.doublings, 2);
	CHECK_INT(one.b.n, 125);
	CHECK_INT(two[1].b.doublings, 1);
	for (double q = 0.5; q < 0.96; q += 0.15) {
		double n_eff = batches_n_eff(single, 1, &one.h, q);
		CHECK(n_eff > 100 && n_eff < 5000);
		CHECK_NEAR(batches_n_eff(both, 2, &one.h, q), n_eff, 1e-6);
	}
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		batches_release(&all[i]->b);
}

static void too_little_gets_no_figure(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	struct source s = source_of(independent, 0, 0, 1);
	struct run r;
	record(&r, &s, 1000, BATCHES_SLICES_MIN - 1, &arena);
	CHECK(isnan(n_eff_of(&r, 0.5)));
	batches_release(&r.b);
	record(&r, &s, 1000, BATCHES_SLICES_MIN, &arena);
	CHECK(n_eff_of(&r, 0.5) > 0);
	batches_release(&r.b);
	record(&r, &s, 2 * BATCHES - 1, 50, &arena);
	CHECK(isnan(n_eff_of(&r, 0.5)));
	batches_release(&r.b);
	hist_init(&r.h, &arena);
	batches_init(&r.b, &arena);
	CHECK(isnan(n_eff_of(&r, 0.5)));
	/* all values equal */
	for (int i = 0; i < 100; i++) {
		hist_record(&r.h, 5);
		batches_take(&r.b, &r.h, i);
	}
	CHECK(isnan(n_eff_of(&r, 0.5)));
	CHECK_INT(r.b.n, 100);
	batches_release(&r.b);
}

int main(void)
{
	TAP_RUN(independent_values_are_worth_about_their_number);
	TAP_RUN(correlated_values_are_worth_what_their_autocorrelation_says);
	TAP_RUN(intervals_of_waiting_times_hold_the_true_quantile);
	TAP_RUN(values_that_come_in_groups_are_worth_the_number_of_groups);
	TAP_RUN(threads_together_are_worth_what_one_thread_is);
	TAP_RUN(too_little_gets_no_figure);
	return tap_done();
}
