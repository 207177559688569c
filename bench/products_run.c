/*
 * products_run - speed of the engine's linear layers: products with bias, of packed weights, from
 * activations that are there to float32 that is written.
 *
 *	products_run THREADS f32|bf16|int8 ISA|best M N K [M N K ...]
 *
 * For each shape a line "M N K GFLOP/s" of the best of 15 samples of about two GFLOP each, which is
 * how the peer, shared/peers/dnnl_mm.c, measures.
 */
#include "base/clock.h"
#include "engine/linear.h"
#include "engine/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 15 };

static const double sample_flop = 2e9;

struct shape {
	int m, n, k;
};

/* Ones, as float32 and as bfloat16; as bytes no matter. Not what memset gives: denormals are slow.
 */
static void *filled(size_t bytes, enum dtype type)
{
	char *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
	const uint16_t half[] = { type == DTYPE_BF16 ? 0x3f80 : 0, 0x3f80 };
	if (!p)
		exit(1);
	for (size_t i = 0; i + sizeof(half) <= bytes; i += sizeof(half))
		memcpy(p + i, half, sizeof(half));
	return p;
}

static void stop(const struct err *err)
{
	fprintf(stderr, "products_run: %s\n", err->text);
	exit(1);
}

static struct linear *layer(
        const struct shape *s, enum dtype weights, const char *isa, struct region *region)
{
	static struct engine_faults faults;
	float *w = filled((size_t)s->n * (size_t)s->k * sizeof(*w), DTYPE_F32);
	float *bias = filled((size_t)s->n * sizeof(*bias), DTYPE_F32);
	faults.isa = isa;
	struct linear_spec spec = {
		.n_in = s->k,
		.n_out = s->n,
		.w = w,
		.bias = bias,
		.weights = weights,
		.faults = isa ? &faults : NULL,
		.kernels = kernels_best(),
		.region = region,
	};
	struct linear *l;
	struct err err;
	if (!linear_new(&spec, &l, &err))
		stop(&err);
	free(w);
	free(bias);
	return l;
}

static double best_sample(
        const struct linear *l, struct pool *pool, const struct matrix *x, struct matrix *out)
{
	double flop = 2.0 * x->rows * x->cols * out->cols, best = 0;
	int n = (int)(sample_flop / flop) + 1;
	for (int sample = -1; sample < SAMPLES; sample++) {
		int64_t start = clock_now_ns();
		for (int i = 0; i < n; i++)
			linear_run(l, pool, x, out);
		double speed = flop * n / (double)(clock_now_ns() - start);
		best = sample >= 0 && speed > best ? speed : best;
	}
	return best;
}

static void measure(const struct shape *s, enum dtype weights, const char *isa, struct pool *pool)
{
	struct region *region;
	struct err err;
	struct region_options options = {
		.bytes = (size_t)64 << 20, .huge_pages = true, .node = -1
	};
	if (!region_open(&options, &region, &err))
		stop(&err);
	struct linear *l = layer(s, weights, isa, region);
	size_t rows = (size_t)s->m + LINEAR_ROWS_PADDING;
	struct matrix x = {
		.type = linear_input_type(l),
		.data = filled(rows * (size_t)s->k * sizeof(float), linear_input_type(l)),
		.row_scale = filled(rows * sizeof(float), DTYPE_F32),
		.rows = s->m,
		.cols = s->k,
		.ld = s->k,
	};
	struct matrix out = {
		.type = DTYPE_F32,
		.data = filled(rows * (size_t)s->n * sizeof(float), DTYPE_F32),
		.rows = s->m,
		.cols = s->n,
		.ld = s->n,
	};
	printf("%d %d %d %.1f\n", s->m, s->n, s->k, best_sample(l, pool, &x, &out));
	free(x.data);
	free(x.row_scale);
	free(out.data);
	linear_close(l);
	region_close(region);
}

int main(int argc, char **argv)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_S8 };
	struct pool *pool;
	struct err err;
	size_t type = 0;
	while (type < ARRAY_LEN(types) && argc > 2 && strcmp(argv[2], dtype_name(types[type])) != 0)
		type++;
	if (argc < 7 || argc % 3 != 1 || type == ARRAY_LEN(types))
		return 2;
	const char *isa = strcmp(argv[3], "best") == 0 ? NULL : argv[3];
	struct pool_options options = { .n_threads = atoi(argv[1]), .spin_us = 50 };
	if (!pool_open(&options, &pool, &err))
		stop(&err);
	for (int i = 4; i < argc; i += 3) {
		struct shape s = { atoi(argv[i]), atoi(argv[i + 1]), atoi(argv[i + 2]) };
		measure(&s, types[type], isa, pool);
	}
	pool_close(pool);
}
