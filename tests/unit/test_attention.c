#include "kernels_sets.h"

/* q, k and v stand side by side in rows, as one product of all three writes them. */
struct heads {
	int n_q, n_keys, dim, ld;
	float *x;      /* [rows][ld] */
	uint16_t *low; /* the same rounded */
	double *want;  /* [n_q][dim] */
};

static void expect(struct heads *h, double scale)
{
	double *p = exactly((size_t)h->n_keys, sizeof(*p));
	for (int i = 0; i < h->n_q; i++) {
		double top = -INFINITY, sum = 0;
		for (int key = 0; key < h->n_keys; key++) {
			p[key] = 0;
			for (int d = 0; d < h->dim; d++)
				p[key] += (double)h->x[i * h->ld + d] *
				          h->x[key * h->ld + h->dim + d] * scale;
			top = fmax(top, p[key]);
		}
		for (int key = 0; key < h->n_keys; key++)
			sum += p[key] = exp(p[key] - top);
		for (int d = 0; d < h->dim; d++) {
			double value = 0;
			for (int key = 0; key < h->n_keys; key++)
				value += p[key] / sum * h->x[key * h->ld + 2 * h->dim + d];
			h->want[i * h->dim + d] = value;
		}
	}
	free(p);
}

static struct heads heads_make(int n_q, int n_keys, int dim, double deviation, bool low)
{
	struct heads h = { .n_q = n_q, .n_keys = n_keys, .dim = dim, .ld = 3 * dim };
	size_t n = (size_t)(n_q > n_keys ? n_q : n_keys) * (size_t)h.ld;
	struct rng rng;
	rng_init(&rng, (uint64_t)(n_q * 1000 + n_keys * 10 + dim));
	h.x = random_floats(&rng, n, deviation);
	h.low = exactly(n, sizeof(*h.low));
	kernels_named("plain")->to_bf16(h.low, h.x, n);
	for (size_t i = 0; low && i < n; i++)
		h.x[i] = float_of_bf16(h.low[i]);
	h.want = exactly((size_t)n_q * (size_t)dim, sizeof(*h.want));
	expect(&h, 1 / sqrt(dim));
	return h;
}

static void heads_release(struct heads *h)
{
	free(h->x);
	free(h->low);
	free(h->want);
}

typedef void attention_fn(const struct attention *a, void *scratch);

/* The largest error; NAN when something is none that should be a number, or beside out. */
static double attention_error(const struct heads *h, attention_fn *fn, enum dtype type)
{
	size_t bytes = dtype_bytes(type);
	const char *rows = type == DTYPE_F32 ? (const char *)h->x : (const char *)h->low;
	int ld_out = h->dim + 5;
	size_t n_out = (size_t)h->n_q * (size_t)ld_out;
	float *out = exactly(n_out, sizeof(*out));
	void *scratch = exactly(attention_scratch_bytes(h->n_q, h->n_keys, h->dim), 1);
	memset(scratch, 0xff, attention_scratch_bytes(h->n_q, h->n_keys, h->dim));
	struct attention a = {
		.type = type,
		.q = rows,
		.k = rows + (size_t)h->dim * bytes,
		.v = rows + (size_t)(2 * h->dim) * bytes,
		.ld = h->ld,
		.n_q = h->n_q,
		.n_keys = h->n_keys,
		.dim = h->dim,
		.scale = (float)(1 / sqrt(h->dim)),
		.out = out,
		.ld_out = ld_out,
	};
	fn(&a, scratch);
	double error = 0;
	for (int i = 0; i < h->n_q; i++)
		for (int j = 0; j < ld_out; j++) {
			size_t at = (size_t)(i * ld_out + j);
			double got =
			        type == DTYPE_F32 ? out[at] : float_of_bf16(((uint16_t *)out)[at]);
			double want = j < h->dim ? h->want[i * h->dim + j] : 0;
			if (!(fabs(got - want) <= error))
				error = isnan(error) ? error : fabs(got - want);
		}
	free(out);
	free(scratch);
	return error;
}

static const struct {
	int n_q, n_keys, dim;
} shapes[] = {
	{ 1, 1, 1 },
	{ 1, 1, 64 },
	{ 3, 5, 64 },
	{ 8, 16, 32 },
	{ 7, 33, 64 },
	{ 33, 33, 32 },
	{ 64, 130, 64 },
	{ 17, 100, 24 },
	{ 9, 31, 80 },
	{ 5, 63, 128 },
	{ 31, 2, 48 },
	{ 2, 515, 64 },
	{ 20, 20, 7 },
};

static void attention_of_floats_is_that_of_float64(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct heads h =
		        heads_make(shapes[i].n_q, shapes[i].n_keys, shapes[i].dim, 1, false);
		FOR_EACH_SET(k)
		{
			double error = attention_error(&h, k->attention, DTYPE_F32);
			if (!CHECK_NEAR(error, 0, 3e-6))
				printf("#   %s: %d %d %d\n", k->name, h.n_q, h.n_keys, h.dim);
		}
		CHECK_NEAR(attention_error(&h, attention_wide, DTYPE_F32), 0, 3e-7);
		CHECK_NEAR(attention_error(&h, attention_naive, DTYPE_F32), 0, 3e-6);
		heads_release(&h);
	}
}

/* Values are below 5; one of them rounded is 2^-8 of itself off at most, probabilities likewise. */
static void attention_of_bf16_is_within_its_rounding(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct heads h =
		        heads_make(shapes[i].n_q, shapes[i].n_keys, shapes[i].dim, 1, true);
		FOR_EACH_SET(k)
		{
			double error = attention_error(&h, k->attention, DTYPE_BF16);
			if (!CHECK_NEAR(error, 0, 0.02))
				printf("#   %s: %d %d %d\n", k->name, h.n_q, h.n_keys, h.dim);
		}
		CHECK_NEAR(attention_error(&h, attention_wide, DTYPE_BF16), 0, 0.02);
		CHECK_NEAR(attention_error(&h, attention_naive, DTYPE_BF16), 0, 0.02);
		heads_release(&h);
	}
}

static void scores_of_any_size_neither_overflow_nor_vanish(void)
{
	static const double deviations[] = { 0, 1e-20, 30 };
	for (size_t i = 0; i < ARRAY_LEN(deviations); i++) {
		struct heads h = heads_make(9, 40, 64, deviations[i], false);
		FOR_EACH_SET(k)
		CHECK_NEAR(attention_error(&h, k->attention, DTYPE_F32), 0, 2e-3 * deviations[i]);
		heads_release(&h);
	}
}

static void what_is_no_number_shows_in_the_rows_that_saw_it(void)
{
	static const int columns[] = { 3, 64 + 3, 128 + 3 }; /* of q, of k, of v */
	FOR_EACH_SET(k)
	{
		for (int i = 0; i < 6; i++) {
			struct heads h = heads_make(9, 40, 64, 1, true);
			enum dtype type = i < 3 ? DTYPE_F32 : DTYPE_BF16;
			h.x[8 * h.ld + columns[i % 3]] = NAN;
			h.low[8 * h.ld + columns[i % 3]] = 0x7fc0;
			CHECK(isnan(attention_error(&h, k->attention, type)));
			heads_release(&h);
		}
	}
}

int main(void)
{
	TAP_RUN(attention_of_floats_is_that_of_float64);
	TAP_RUN(attention_of_bf16_is_within_its_rounding);
	TAP_RUN(scores_of_any_size_neither_overflow_nor_vanish);
	TAP_RUN(what_is_no_number_shows_in_the_rows_that_saw_it);
	return tap_done();
}
