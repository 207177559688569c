#include "kernels_sets.h"

#include <float.h>

static const int sizes[] = { 1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 100, 312, 768, 1023 };

/* The largest |got - want|, NAN when one of them is no number and the other is. */
static double worst(double so_far, double got, double want)
{
	if (isnan(got) != isnan(want))
		return NAN;
	double error = isnan(want) || got == want ? 0 : fabs(got - want);
	return error > so_far ? error : so_far;
}

static double activated(double x, enum activation activation)
{
	switch (activation) {
	case ACTIVATION_NONE:
		return x;
	case ACTIVATION_GELU:
		return x * 0.5 * erfc(-x / sqrt(2));
	case ACTIVATION_GELU_TANH:
		return x == -INFINITY
		               ? 0
		               : 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
	case ACTIVATION_RELU:
		return x < 0 ? 0 : x;
	case ACTIVATION_TANH:
		return tanh(x);
	case ACTIVATION_SILU:
		return x / (1 + exp(-x));
	}
	abort();
}

static void activations_are_within_two_millionths(void)
{
	enum { N = 40001 };
	float *x = exactly(N, sizeof(*x));
	FOR_EACH_SET(k)
	{
		for (int activation = 0; activation <= ACTIVATION_SILU; activation++) {
			double error = 0;
			for (int i = 0; i < N; i++)
				x[i] = (float)(i - N / 2) / 1000;
			k->activate(x, N, activation);
			for (int i = 0; i < N; i++) {
				double want = activated((float)(i - N / 2) / 1000, activation);
				error = worst(error, x[i] / fmax(1, fabs(want)),
				        want / fmax(1, fabs(want)));
			}
			CHECK_NEAR(error, 0, 2e-6);
		}
	}
	free(x);
}

static void activations_of_extreme_values_have_their_limits(void)
{
	static const struct {
		float x, gelu, relu, tanh, silu;
	} cases[] = {
		{ 0, 0, 0, 0, 0 },
		{ 1e30f, 1e30f, 1e30f, 1, 1e30f },
		{ -1e30f, 0, 0, -1, 0 },
		{ -1e4f, 0, 0, -1, 0 },
		{ FLT_MAX, FLT_MAX, FLT_MAX, 1, FLT_MAX },
		{ -FLT_MAX, 0, 0, -1, 0 },
		{ 1e-40f, 0, 0, 0, 0 },
		{ INFINITY, INFINITY, INFINITY, 1, INFINITY },
		{ NAN, NAN, NAN, NAN, NAN },
	};
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			const float want[] = { cases[i].x, cases[i].gelu, cases[i].gelu,
				cases[i].relu, cases[i].tanh, cases[i].silu };
			for (int activation = 0; activation <= ACTIVATION_SILU; activation++) {
				float x = cases[i].x;
				k->activate(&x, 1, activation);
				if (!CHECK(worst(0, x, want[activation]) <= 1e-6))
					printf("#   %s: activation %d of %g is %g\n", k->name,
					        activation, (double)cases[i].x, (double)x);
			}
		}
	}
}

/* More than the rows that one pass takes at once. */
enum { TILE_ROWS = 6 };

/* A tile of sums of int8 as it comes from a product, with gaps between its rows. */
struct tile {
	int cols, ld;
	int32_t *acc, *col_offset;
	float *bias, *col_scale;
	float row_scale[TILE_ROWS];
};

static struct tile tile_make(struct rng *rng, int cols)
{
	struct tile t = { cols, cols + 3, .row_scale = { 0.1f, 0, 3, 1e-3f, 0.5f, 1e-20f } };
	size_t n = (size_t)cols;
	t.acc = exactly((size_t)t.ld * TILE_ROWS, sizeof(*t.acc));
	t.col_offset = exactly(n, sizeof(*t.col_offset));
	t.bias = random_floats(rng, n, 1);
	t.col_scale = random_floats(rng, n, 0.01);
	for (int j = 0; j < cols; j++)
		t.col_offset[j] = (int32_t)rng_below(rng, 100000000) - 50000000;
	for (int i = 0; i < t.ld * TILE_ROWS; i++)
		if (i % t.ld < cols)
			t.acc[i] = t.col_offset[i % t.ld] + (int32_t)rng_below(rng, 2000) - 1000;
	return t;
}

static void tile_release(struct tile *t)
{
	free(t->acc);
	free(t->col_offset);
	free(t->bias);
	free(t->col_scale);
}

/* The largest error of out, relative where values are large; what lies in the gaps must be 0. */
static double tile_error(const struct tile *t, const float *out, enum activation activation)
{
	double error = 0;
	for (int i = 0; i < TILE_ROWS; i++)
		for (int j = 0; j < t->ld; j++) {
			float got = out[i * t->ld + j];
			if (j >= t->cols) {
				error = worst(error, got, 0);
				continue;
			}
			double v = (t->acc[i * t->ld + j] - t->col_offset[j]) *
			                   (double)t->row_scale[i] * t->col_scale[j] +
			           t->bias[j];
			double size = fmax(1, fabs(v));
			error = worst(error, got / size, activated(v, activation) / size);
		}
	return error;
}

static void products_become_values_by_scale_bias_and_activation(void)
{
	struct rng rng;
	rng_init(&rng, 1);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			struct tile t = tile_make(&rng, sizes[i]);
			for (int activation = 0; activation <= ACTIVATION_SILU; activation++) {
				float *out = exactly((size_t)t.ld * TILE_ROWS, sizeof(*out));
				struct epilogue e = { t.row_scale, t.col_scale, t.col_offset,
					t.bias, activation, DTYPE_F32 };
				k->epilogue(&e, t.acc, t.ld, out, t.ld, TILE_ROWS, t.cols);
				CHECK_NEAR(tile_error(&t, out, activation), 0, 2e-6);
				free(out);
			}
			tile_release(&t);
		}
	}
}

static void float_products_need_no_scale_and_may_become_bf16_or_stay_in_place(void)
{
	struct rng rng;
	rng_init(&rng, 2);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			int cols = sizes[i];
			size_t n = (size_t)cols * TILE_ROWS;
			float *acc = random_floats(&rng, n, 10), *was = exactly(n, sizeof(*was));
			uint16_t *low = exactly(n, sizeof(*low));
			memcpy(was, acc, n * sizeof(*acc));
			struct epilogue e = { .activation = ACTIVATION_RELU,
				.out_type = DTYPE_BF16 };
			k->epilogue(&e, acc, cols, low, cols, TILE_ROWS, cols);
			e.out_type = DTYPE_F32;
			k->epilogue(&e, acc, cols, acc, cols, TILE_ROWS, cols);
			for (size_t j = 0; j < n; j++) {
				float want = was[j] > 0 ? was[j] : 0;
				CHECK(acc[j] == want);
				CHECK(float_of_bf16(low[j]) == bf16_rounded(want));
			}
			free(acc);
			free(was);
			free(low);
		}
	}
}

static double norm_error(const float *out, const float *x, const float *residual,
        const float *gamma, const float *beta, int dim, double eps)
{
	double sum = 0, squares = 0, error = 0;
	for (int j = 0; j < dim; j++)
		sum += (double)x[j] + (residual ? residual[j] : 0);
	double mean = sum / dim;
	for (int j = 0; j < dim; j++) {
		double v = (double)x[j] + (residual ? residual[j] : 0) - mean;
		squares += v * v;
	}
	for (int j = 0; j < dim; j++) {
		double v = (double)x[j] + (residual ? residual[j] : 0) - mean;
		v = v / sqrt(squares / dim + eps) * gamma[j] + beta[j];
		error = worst(error, out[j], v);
	}
	return error;
}

static void rows_are_added_and_normalised(void)
{
	/* A mean of 100 deviations loses seven bits of x itself, and no more. */
	static const struct {
		double mean, deviation, tolerance;
	} cases[] = { { 0, 1, 2e-5 }, { 100, 1, 1e-3 }, { 0, 1e-3, 2e-5 }, { 0, 0, 0 } };
	struct rng rng;
	rng_init(&rng, 3);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(cases); i++) {
			size_t n = (size_t)sizes[i / ARRAY_LEN(cases)],
			       i_case = i % ARRAY_LEN(cases);
			int dim = (int)n;
			float *x = random_floats(&rng, 2 * n, cases[i_case].deviation);
			float *residual = random_floats(&rng, 2 * n, cases[i_case].deviation);
			float *gamma = random_floats(&rng, n, 1), *beta = random_floats(&rng, n, 1);
			float *out = exactly(2 * n, sizeof(*out));
			uint16_t *low = exactly(2 * n, sizeof(*low));
			for (size_t j = 0; j < 2 * n; j++)
				x[j] += (float)cases[i_case].mean;

			k->add_norm(out, low, x, residual, gamma, beta, 2, dim, 1e-5f);
			double error =
			        norm_error(out + n, x + n, residual + n, gamma, beta, dim, 1e-5f);
			CHECK_NEAR(error, 0, cases[i_case].tolerance);
			for (size_t j = 0; j < 2 * n; j++)
				CHECK(float_of_bf16(low[j]) == bf16_rounded(out[j]));

			memcpy(out, x, 2 * n * sizeof(*x));
			k->add_norm(out, NULL, out, NULL, gamma, beta, 2, dim, 1e-5f);
			error = norm_error(out, x, NULL, gamma, beta, dim, 1e-5f);
			CHECK_NEAR(error, 0, cases[i_case].tolerance);
			free(x);
			free(residual);
			free(gamma);
			free(beta);
			free(out);
			free(low);
		}
	}
}

static void quantised_rows_are_half_a_step_off_at_most(void)
{
	static const double deviations[] = { 1, 0, 1e-30, 1e-40, 1e30 };
	struct rng rng;
	rng_init(&rng, 4);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(deviations); i++) {
			size_t n = (size_t)sizes[i / ARRAY_LEN(deviations)];
			float *x =
			        random_floats(&rng, 2 * n, deviations[i % ARRAY_LEN(deviations)]);
			uint8_t *u = exactly(2 * n, 1);
			float scales[2];
			k->quantize(u, scales, x, DTYPE_F32, 2, (int)n);
			for (size_t j = 0; j < 2 * n; j++) {
				double scale = scales[j / n];
				double top = 0;
				for (size_t l = j / n * n; l < j / n * n + n; l++)
					top = fmax(top, fabs((double)x[l]));
				CHECK_NEAR(scale, top / 127, 1e-6 * top / 127 + 1e-37);
				CHECK(u[j] >= 1);
				CHECK_NEAR((u[j] - 128) * scale, x[j], 0.50001 * scale + 1e-36);
			}
			free(x);
			free(u);
		}
	}
}

static void bf16_rows_quantise_as_the_same_floats_do(void)
{
	struct rng rng;
	rng_init(&rng, 5);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			size_t n = (size_t)sizes[i];
			float *x = random_floats(&rng, n, 1);
			uint16_t *low = exactly(n, sizeof(*low));
			uint8_t *u = exactly(n, 1), *u_low = exactly(n, 1);
			float scale, scale_low;
			k->to_bf16(low, x, n);
			k->from_bf16(x, low, n);
			k->quantize(u, &scale, x, DTYPE_F32, 1, (int)n);
			k->quantize(u_low, &scale_low, low, DTYPE_BF16, 1, (int)n);
			CHECK(scale == scale_low);
			CHECK(memcmp(u, u_low, n) == 0);
			free(x);
			free(low);
			free(u);
			free(u_low);
		}
	}
}

/* What a row is used in shows it: a scale that is no number makes the product none. */
static void rows_that_are_no_numbers_quantise_to_such(void)
{
	static const float bad[] = { NAN, -NAN, INFINITY, -INFINITY };
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(bad); i++)
			for (int at = 0; at < 21; at += 5) {
				float x[21] = { 1, 2, 3 }, scale;
				uint8_t u[21];
				x[at] = bad[i];
				k->quantize(u, &scale, x, DTYPE_F32, 1, 21);
				CHECK(!isfinite(scale));
				CHECK(isnan((float)(u[at] - 128) * scale));
			}
	}
}

static void bf16_is_the_nearest_and_of_two_the_even(void)
{
	static const struct {
		uint32_t bits;
		uint16_t want;
	} cases[] = {
		{ 0x3f800000, 0x3f80 },
		{ 0x3f808000, 0x3f80 }, /* half way: to the even one */
		{ 0x3f818000, 0x3f82 },
		{ 0x3f808001, 0x3f81 },
		{ 0xbf817fff, 0xbf81 },
		{ 0x7f7fffff, 0x7f80 }, /* over the largest: infinite */
		{ 0x7f800000, 0x7f80 },
		{ 0xff800000, 0xff80 },
		{ 0x80000000, 0x8000 },
	};
	FOR_EACH_SET(k)
	{
		for (size_t n = 1; n <= 40; n++) {
			float x[40], back[40];
			uint16_t low[41] = { 0 };
			for (size_t i = 0; i < n; i++)
				memcpy(&x[i], &cases[i % ARRAY_LEN(cases)].bits, sizeof(x[i]));
			k->to_bf16(low, x, n);
			k->from_bf16(back, low, n);
			for (size_t i = 0; i < n; i++) {
				CHECK_INT(low[i], cases[i % ARRAY_LEN(cases)].want);
				CHECK(back[i] == float_of_bf16(low[i]));
			}
			CHECK_INT(low[n], 0);
		}
		const uint32_t nans[] = { 0x7f800001, 0xffffffff, 0x7fc00000 };
		for (size_t i = 0; i < ARRAY_LEN(nans); i++) {
			float x;
			uint16_t low;
			memcpy(&x, &nans[i], sizeof(x));
			k->to_bf16(&low, &x, 1);
			CHECK(isnan(float_of_bf16(low)));
		}
	}
}

static void softmax_is_that_of_float64(void)
{
	static const double deviations[] = { 0, 1, 30, 1e4, 1e30 };
	struct rng rng;
	rng_init(&rng, 6);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(deviations); i++) {
			int n = sizes[i / ARRAY_LEN(deviations)];
			float *x = random_floats(
			        &rng, 2 * (size_t)n, deviations[i % ARRAY_LEN(deviations)]);
			double *want = exactly((size_t)n, sizeof(*want));
			double top = -INFINITY, sum = 0, error = 0;
			for (int j = 0; j < n; j++)
				top = fmax(top, x[n + j]);
			for (int j = 0; j < n; j++)
				sum += want[j] = exp((float)(x[n + j] - (float)top));
			k->softmax(x, 2, n);
			for (int j = 0; j < n; j++)
				error = worst(error, x[n + j], want[j] / sum);
			CHECK_NEAR(error, 0, 2e-6);
			free(x);
			free(want);
		}
	}
}

static void softmax_hides_nothing_that_is_no_number(void)
{
	FOR_EACH_SET(k)
	{
		for (int at = 0; at < 37; at += 4) {
			float x[37] = { 0 };
			x[at] = NAN;
			k->softmax(x, 1, 37);
			for (int j = 0; j < 37; j++)
				CHECK(isnan(x[j]));
		}
		float masked[] = { -INFINITY, 0, -INFINITY, 0, 0 };
		k->softmax(masked, 1, 5);
		CHECK_NEAR(masked[0], 0, 1e-30);
		CHECK_NEAR(masked[4], 1 / 3.0, 2e-7);
	}
}

static void the_unfused_ones_do_what_they_are_called(void)
{
	struct rng rng;
	rng_init(&rng, 7);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			size_t n = (size_t)sizes[i];
			float *x = random_floats(&rng, 2 * n, 1),
			      *y = random_floats(&rng, 2 * n, 1);
			float *was = exactly(2 * n, sizeof(*was));
			memcpy(was, x, 2 * n * sizeof(*x));
			k->add(x, y, 2 * n);
			for (size_t j = 0; j < 2 * n; j++)
				CHECK(x[j] == was[j] + y[j]);
			memcpy(x, was, 2 * n * sizeof(*x));
			k->add_bias(x, y, 2, (int)n);
			for (size_t j = 0; j < 2 * n; j++)
				CHECK(x[j] == was[j] + y[j % n]);
			memcpy(x, was, 2 * n * sizeof(*x));
			k->scale(x, 0.3f, 2 * n);
			for (size_t j = 0; j < 2 * n; j++)
				CHECK(x[j] == was[j] * 0.3f);
			free(x);
			free(y);
			free(was);
		}
	}
}

static void rows_have_their_mean(void)
{
	struct rng rng;
	rng_init(&rng, 8);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			int dim = sizes[i], rows = 1 + (int)i * 9;
			float *x = random_floats(&rng, (size_t)rows * (size_t)dim, 1);
			float *mean = exactly((size_t)dim, sizeof(*mean));
			k->mean_rows(mean, x, rows, dim);
			double error = 0;
			for (int j = 0; j < dim; j++) {
				double sum = 0;
				for (int r = 0; r < rows; r++)
					sum += x[r * dim + j];
				error = worst(error, mean[j], sum / rows);
			}
			CHECK_NEAR(error, 0, 1e-6);
			free(x);
			free(mean);
		}
	}
}

static void rows_are_scaled_to_length_one(void)
{
	static const double deviations[] = { 1, 1e-30, 1e30, 1e-42 };
	struct rng rng;
	rng_init(&rng, 9);
	FOR_EACH_SET(k)
	{
		for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(deviations); i++) {
			int dim = sizes[i / ARRAY_LEN(deviations)];
			float *x = random_floats(
			        &rng, (size_t)dim, deviations[i % ARRAY_LEN(deviations)]);
			x[0] += (float)deviations[i % ARRAY_LEN(deviations)];
			k->unit(x, 1, dim);
			double squares = 0;
			for (int j = 0; j < dim; j++)
				squares += (double)x[j] * x[j];
			CHECK_NEAR(squares, 1, 1e-5);
			free(x);
		}
		float zero[20] = { 0 }, bad[20] = { 1, 2, NAN };
		k->unit(zero, 1, 20);
		k->unit(bad, 1, 20);
		for (int j = 0; j < 20; j++) {
			CHECK(zero[j] == 0);
			CHECK(isnan(bad[j]));
		}
	}
}

static void a_set_is_found_by_its_name_where_the_machine_runs_it(void)
{
	CHECK(kernels_named("plain"));
	CHECK(!kernels_named("sse9"));
	CHECK(kernels_named(kernels_best()->name) == kernels_best());
	FOR_EACH_SET(k)
	CHECK(kernels_named(k->name) == k);
}

int main(void)
{
	TAP_RUN(activations_are_within_two_millionths);
	TAP_RUN(activations_of_extreme_values_have_their_limits);
	TAP_RUN(products_become_values_by_scale_bias_and_activation);
	TAP_RUN(float_products_need_no_scale_and_may_become_bf16_or_stay_in_place);
	TAP_RUN(rows_are_added_and_normalised);
	TAP_RUN(quantised_rows_are_half_a_step_off_at_most);
	TAP_RUN(bf16_rows_quantise_as_the_same_floats_do);
	TAP_RUN(rows_that_are_no_numbers_quantise_to_such);
	TAP_RUN(bf16_is_the_nearest_and_of_two_the_even);
	TAP_RUN(softmax_is_that_of_float64);
	TAP_RUN(softmax_hides_nothing_that_is_no_number);
	TAP_RUN(the_unfused_ones_do_what_they_are_called);
	TAP_RUN(rows_have_their_mean);
	TAP_RUN(rows_are_scaled_to_length_one);
	TAP_RUN(a_set_is_found_by_its_name_where_the_machine_runs_it);
	return tap_done();
}
