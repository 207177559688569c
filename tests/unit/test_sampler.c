#include "engine/sampler.h"

#include "base/attr.h"
#include "tap.h"

#include <math.h>

enum { N_DRAWS = 200000, N_TOKENS = 5 };

/* Shares 0.4, 0.1, 0.3, 0.15, 0.05, as logits. */
static const double shares[N_TOKENS] = { 0.4, 0.1, 0.3, 0.15, 0.05 };

static void fill_logits(float logits[N_TOKENS])
{
	for (int i = 0; i < N_TOKENS; i++)
		logits[i] = (float)(log(shares[i]) + 3);
}

static void at_temperature_zero_the_first_of_the_best_wins(void)
{
	static const struct {
		float logits[4];
		int32_t want;
	} cases[] = {
		{ { 1, 3, 2, 3 }, 1 },
		{ { -5, -5, -5, -5 }, 0 },
		{ { -INFINITY, -1, -INFINITY, -2 }, 1 },
		{ { 0, 0, 0, 1e-30f }, 3 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sampler s;
		sampler_init(&s, 0, 1, i);
		CHECK_INT(sampler_pick(&s, cases[i].logits, 4), cases[i].want);
		sampler_release(&s);
	}
}

/*
 * Draws and compares the frequencies with the expected shares. A frequency of n draws has the
 * deviation sqrt(p (1 - p) / n); five of them are a false alarm in 1.7 million.
 */
static void check_shares(double temperature, double top_p, const double want[N_TOKENS])
{
	struct sampler s;
	float logits[N_TOKENS];
	int counts[N_TOKENS] = { 0 };
	fill_logits(logits);
	sampler_init(&s, temperature, top_p, 42);
	for (int i = 0; i < N_DRAWS; i++) {
		int32_t id = sampler_pick(&s, logits, N_TOKENS);
		if (!CHECK(id >= 0 && id < N_TOKENS))
			return;
		counts[id]++;
	}
	for (int i = 0; i < N_TOKENS; i++) {
		double p = want[i];
		CHECK_NEAR((double)counts[i] / N_DRAWS, p, 5 * sqrt(p * (1 - p) / N_DRAWS));
	}
	sampler_release(&s);
}

static void tokens_come_as_often_as_their_probability(void)
{
	check_shares(1, 1, shares);
}

static void temperature_is_an_exponent_of_the_probabilities(void)
{
	static const double temperatures[] = { 0.5, 2 };
	for (size_t t = 0; t < ARRAY_LEN(temperatures); t++) {
		double want[N_TOKENS], sum = 0;
		for (int i = 0; i < N_TOKENS; i++)
			sum += want[i] = pow(shares[i], 1 / temperatures[t]);
		for (int i = 0; i < N_TOKENS; i++)
			want[i] /= sum;
		check_shares(temperatures[t], 1, want);
	}
}

static void top_p_keeps_the_fewest_tokens_that_reach_it(void)
{
	static const struct {
		double top_p;
		double want[N_TOKENS];
	} cases[] = {
		{ 0, { 1, 0, 0, 0, 0 } },
		{ 0.39, { 1, 0, 0, 0, 0 } },
		{ 0.41, { 0.4 / 0.7, 0, 0.3 / 0.7, 0, 0 } },
		{ 0.69, { 0.4 / 0.7, 0, 0.3 / 0.7, 0, 0 } },
		{ 0.8, { 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85, 0 } },
		{ 0.9999, { 0.4, 0.1, 0.3, 0.15, 0.05 } },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_shares(1, cases[i].top_p, cases[i].want);
}

static void of_equal_tokens_top_p_keeps_the_first(void)
{
	struct sampler s;
	const float logits[6] = { 1, 1, 1, 1, 1, 1 };
	sampler_init(&s, 1, 0.45, 1);
	for (int i = 0; i < 1000; i++)
		CHECK(sampler_pick(&s, logits, 6) < 3);
	sampler_release(&s);
}

static void the_same_seed_gives_the_same_tokens(void)
{
	float logits[N_TOKENS];
	struct sampler a, b, c;
	int n_other = 0;
	fill_logits(logits);
	sampler_init(&a, 0.8, 0.95, 7);
	sampler_init(&b, 0.8, 0.95, 7);
	sampler_init(&c, 0.8, 0.95, 8);
	for (int i = 0; i < 1000; i++) {
		int32_t id = sampler_pick(&a, logits, N_TOKENS);
		CHECK_INT(sampler_pick(&b, logits, N_TOKENS), id);
		n_other += sampler_pick(&c, logits, N_TOKENS) != id;
	}
	CHECK(n_other > 100);
	sampler_release(&a);
	sampler_release(&b);
	sampler_release(&c);
}

static void extreme_values_give_a_token_of_the_vocabulary(void)
{
	static const struct {
		double temperature, top_p;
		float logits[3];
		int32_t want; /* -1: any */
	} cases[] = {
		{ 1e-300, 1, { 1, 2, 3 }, 2 },
		{ 1e-300, 0.9, { 3, 2, 3 }, -1 },
		{ 1e300, 1, { 1, 2, 3 }, -1 },
		{ 1, 1, { -INFINITY, 5, -INFINITY }, 1 },
		{ 1, 0.5, { -INFINITY, 5, -INFINITY }, 1 },
		{ 1, 1, { NAN, NAN, NAN }, -1 },
		{ 1, 0.5, { NAN, 1, NAN }, -1 },
		{ 0, 1, { NAN, 1, 2 }, -1 },
		{ 1, 0.5, { INFINITY, 1, INFINITY }, -1 },
		{ 1, 0.5, { 3e38f, -3e38f, 0 }, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sampler s;
		sampler_init(&s, cases[i].temperature, cases[i].top_p, i);
		for (int draw = 0; draw < 100; draw++) {
			int32_t id = sampler_pick(&s, cases[i].logits, 3);
			CHECK(id >= 0 && id < 3);
			CHECK(cases[i].want < 0 || id == cases[i].want);
		}
		sampler_release(&s);
	}
}

static void a_vocabulary_may_grow_and_be_of_one(void)
{
	static float many[5000];
	struct sampler s;
	many[4321] = 100;
	sampler_init(&s, 1, 0.9, 3);
	CHECK_INT(sampler_pick(&s, many, 1), 0);
	CHECK_INT(sampler_pick(&s, many, ARRAY_LEN(many)), 4321);
	CHECK_INT(sampler_pick(&s, many, 1), 0);
	sampler_release(&s);
	sampler_release(&s);
}

int main(void)
{
	TAP_RUN(at_temperature_zero_the_first_of_the_best_wins);
	TAP_RUN(tokens_come_as_often_as_their_probability);
	TAP_RUN(temperature_is_an_exponent_of_the_probabilities);
	TAP_RUN(top_p_keeps_the_fewest_tokens_that_reach_it);
	TAP_RUN(of_equal_tokens_top_p_keeps_the_first);
	TAP_RUN(the_same_seed_gives_the_same_tokens);
	TAP_RUN(extreme_values_give_a_token_of_the_vocabulary);
	TAP_RUN(a_vocabulary_may_grow_and_be_of_one);
	return tap_done();
}
