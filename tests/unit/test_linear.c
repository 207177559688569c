#include "engine/linear.h"
#include "engine/pool.h"
#include "engine/region.h"

#include "base/clock.h"
#include "base/rng.h"
#include "tap.h"

/* Nearest even, from the definition of bfloat16: the upper half of a float32. */
static uint16_t bf16_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float of_bf16(uint16_t x)
{
	uint32_t bits = (uint32_t)x << 16;
	float f;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static void to_bf16(uint16_t *out, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = bf16_of(x[i]);
}

/* As kernels.h says, slowly; of the activations only the simplest. */
static void epilogue(const struct epilogue *e, const void *acc, int ld_acc, void *out, int ld_out,
        int rows, int cols)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++) {
			ptrdiff_t at = (ptrdiff_t)i * ld_acc + j, to = (ptrdiff_t)i * ld_out + j;
			double v =
			        e->row_scale
			                ? (double)(((const int32_t *)acc)[at] - e->col_offset[j]) *
			                          e->row_scale[i] * e->col_scale[j]
			                : ((const float *)acc)[at];
			v += e->bias ? e->bias[j] : 0;
			if (e->activation == ACTIVATION_RELU && v < 0)
				v = 0;
			if (e->out_type == DTYPE_BF16)
				((uint16_t *)out)[to] = bf16_of((float)v);
			else
				((float *)out)[to] = (float)v;
		}
}

static void from_bf16(float *out, const uint16_t *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = of_bf16(x[i]);
}

static const struct kernels slow_kernels = {
	.epilogue = epilogue, .to_bf16 = to_bf16, .from_bf16 = from_bf16
};

struct product {
	int m, n_in, n_out;
	enum dtype weights, out_type;
	bool bias, relu;
	int spread; /* columns of out beyond n_out */
	struct engine_faults faults;
};

static enum dtype input_of(const struct product *p)
{
	if (p->faults.dequantize || p->faults.wide)
		return DTYPE_F32;
	return p->weights == DTYPE_S8 ? DTYPE_U8 : p->weights;
}

struct values {
	float *w, *bias;
	void *x; /* [m + LINEAR_ROWS_PADDING, n_in] */
	float *row_scale;
};

enum { SCALE_STEPS = 127 };

static void *zeroed(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);
	if (!p)
		abort();
	return p;
}

/* Weights are such that all types hold them exactly: whole steps, the largest of a channel 127. */
static struct values values_of(const struct product *p, struct rng *rng)
{
	size_t n_in = (size_t)p->n_in, n_out = (size_t)p->n_out, m = (size_t)p->m;
	size_t n_x = (m + LINEAR_ROWS_PADDING) * n_in;
	struct values v = {
		.w = zeroed(n_out * n_in, sizeof(float)),
		.bias = zeroed(n_out, sizeof(float)),
		.x = zeroed(n_x, sizeof(float)),
		.row_scale = zeroed(m + LINEAR_ROWS_PADDING, sizeof(float)),
	};
	for (size_t j = 0; j < n_out; j++) {
		for (size_t i = 0; i < n_in; i++)
			v.w[j * n_in + i] =
			        (float)((int)rng_below(rng, 2 * SCALE_STEPS + 1) - SCALE_STEPS) /
			        64;
		v.w[j * n_in + rng_below(rng, n_in)] = -SCALE_STEPS / 64.0f;
		v.bias[j] = (float)rng_normal(rng);
	}
	for (size_t i = 0; i < m; i++)
		v.row_scale[i] = 0.01f + (float)rng_uniform(rng);
	for (size_t i = 0; i < n_x; i++) /* what is beyond the last row is no number */
		if (input_of(p) == DTYPE_U8)
			((uint8_t *)v.x)[i] = (uint8_t)rng_below(rng, 256);
		else if (input_of(p) == DTYPE_BF16)
			((uint16_t *)v.x)[i] =
			        i < m * n_in ? bf16_of((float)rng_normal(rng)) : 0x7fff;
		else
			((float *)v.x)[i] = i < m * n_in ? (float)rng_normal(rng) : NAN;
	return v;
}

static void free_values(struct values *v)
{
	free(v->w);
	free(v->bias);
	free(v->x);
	free(v->row_scale);
}

static double x_at(const struct product *p, const struct values *v, size_t row, size_t i)
{
	size_t at = row * (size_t)p->n_in + i;
	switch (input_of(p)) {
	case DTYPE_U8:
		return (((const uint8_t *)v->x)[at] - 128) * (double)v->row_scale[row];
	case DTYPE_BF16:
		return of_bf16(((const uint16_t *)v->x)[at]);
	default:
		return ((const float *)v->x)[at];
	}
}

/* The largest difference from the sum in float64, in parts of what rounding could make. */
static double worst(const struct product *p, const struct values *v, const void *out)
{
	double worst_ratio = 0;
	for (size_t r = 0; r < (size_t)p->m; r++)
		for (size_t j = 0; j < (size_t)p->n_out; j++) {
			double sum = p->bias ? v->bias[j] : 0, size = fabs(sum);
			for (size_t i = 0; i < (size_t)p->n_in; i++) {
				double term = x_at(p, v, r, i) * v->w[j * (size_t)p->n_in + i];
				sum += term;
				size += fabs(term);
			}
			if (p->relu && sum < 0)
				sum = 0;
			size_t at = r * (size_t)(p->n_out + p->spread) + j;
			double got = p->out_type == DTYPE_BF16
			                     ? of_bf16(((const uint16_t *)out)[at])
			                     : ((const float *)out)[at];
			double allowed = size * 0x1p-21 + 1e-30;
			allowed += p->out_type == DTYPE_BF16 ? fabs(sum) * 0x1p-8 : 0;
			double ratio = fabs(got - sum) / allowed;
			if (!(ratio <= worst_ratio))
				worst_ratio = ratio;
		}
	return worst_ratio;
}

static struct pool *pool_of(int n)
{
	struct pool *pool;
	struct err err;
	if (!pool_open(&(struct pool_options){ .n_threads = n }, &pool, &err))
		abort();
	return pool;
}

static struct region *some_region(void)
{
	struct region *region;
	struct err err;
	struct region_options options = { .bytes = 64 << 20, .node = -1 };
	if (!region_open(&options, &region, &err))
		abort();
	return region;
}

static struct linear *linear_of(
        const struct product *p, const struct values *v, struct region *region)
{
	struct linear *l;
	struct err err;
	struct linear_spec spec = {
		.n_in = p->n_in,
		.n_out = p->n_out,
		.w = v->w,
		.bias = p->bias ? v->bias : NULL,
		.weights = p->weights,
		.activation = p->relu ? ACTIVATION_RELU : ACTIVATION_NONE,
		.kernels = &slow_kernels,
		.faults = &p->faults,
		.region = region,
	};
	if (!linear_new(&spec, &l, &err)) {
		printf("# %s\n", err.text);
		abort();
	}
	return l;
}

static bool is_right(const struct product *p, struct rng *rng, struct pool *pool)
{
	struct values v = values_of(p, rng);
	struct region *region = some_region();
	struct linear *l = linear_of(p, &v, region);
	int ld = p->n_out + p->spread;
	size_t n = (size_t)p->m * (size_t)ld, bytes = dtype_bytes(p->out_type);
	char *out = zeroed(n, bytes);
	memset(out, 0x55, n * bytes);
	CHECK_INT(linear_input_type(l), input_of(p));
	const struct matrix x = { input_of(p), v.x, v.row_scale, p->m, p->n_in, p->n_in };
	struct matrix y = { p->out_type, out, NULL, p->m, p->n_out, ld };
	linear_rows(l, &x, &y);
	double alone = worst(p, &v, out);
	memset(out, 0x55, n * bytes);
	linear_run(l, pool, &x, &y);
	double ratio = worst(p, &v, out);
	ratio = alone <= ratio ? ratio : alone;
	bool kept = true;
	for (int r = 0; r < p->m; r++) /* between the rows nothing was written */
		for (size_t i = (size_t)p->n_out * bytes; i < (size_t)ld * bytes; i++)
			kept &= out[(size_t)r * (size_t)ld * bytes + i] == 0x55;
	if (!(ratio <= 1) || !kept)
		printf("# %d x %d x %d, weights %s, output %s: error %g of the allowed, %s\n", p->m,
		        p->n_out, p->n_in, dtype_name(p->weights), dtype_name(p->out_type), ratio,
		        kept ? "gaps kept" : "gaps overwritten");
	free(out);
	linear_close(l);
	region_close(region);
	free_values(&v);
	return ratio <= 1 && kept;
}

static const enum dtype weight_types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_S8 };

/* Every number of rows up to 130, each with another odd shape. */
static void products_of_odd_shapes_are_the_sums_of_float64(void)
{
	struct rng rng;
	rng_init(&rng, 1);
	struct pool *pool = pool_of(2);
	for (int m = 1; m <= 130; m++)
		for (size_t t = 0; t < ARRAY_LEN(weight_types); t++) {
			struct product p = {
				.m = m,
				.n_in = 1 + (int)rng_below(&rng, 300),
				.n_out = 1 + (int)rng_below(&rng, 150),
				.weights = weight_types[t],
				.out_type = rng_below(&rng, 2) ? DTYPE_BF16 : DTYPE_F32,
				.bias = rng_below(&rng, 2),
				.relu = rng_below(&rng, 2),
				.spread = (int)rng_below(&rng, 3),
			};
			CHECK(is_right(&p, &rng, pool));
		}
	pool_close(pool);
}

static void products_of_the_shapes_of_encoders_are_the_sums_of_float64(void)
{
	static const int shapes[][3] = {
		{ 3, 384, 1536 },
		{ 70, 1536, 384 },
		{ 33, 768, 300 },
		{ 5, 3072, 768 },
		{ 1, 1, 1 },
		{ 200, 64, 1 },
		{ 1, 5000, 3 },
		{ 300, 128, 384 },
	};
	struct rng rng;
	rng_init(&rng, 2);
	struct pool *pool = pool_of(3);
	for (size_t s = 0; s < ARRAY_LEN(shapes); s++)
		for (size_t t = 0; t < ARRAY_LEN(weight_types); t++) {
			struct product p = {
				.m = shapes[s][0],
				.n_in = shapes[s][1],
				.n_out = shapes[s][2],
				.weights = weight_types[t],
				.out_type = DTYPE_F32,
				.bias = true,
			};
			CHECK(is_right(&p, &rng, pool));
		}
	pool_close(pool);
}

static void every_instruction_set_gives_the_same_products(void)
{
	static const char *const sets[] = { "onednn", "plain", "avx2", "avx512", "avx512_vnni",
		"avx512_bf16" };
	struct rng rng;
	rng_init(&rng, 3);
	struct pool *pool = pool_of(1);
	for (size_t s = 0; s < ARRAY_LEN(sets); s++)
		for (int m = 1; m <= 27; m += 1 + (m > 13))
			for (size_t t = 0; t < ARRAY_LEN(weight_types); t++) {
				struct product p = {
					.m = m,
					.n_in = 1 + (int)rng_below(&rng, 1100),
					.n_out = 1 + (int)rng_below(&rng, 80),
					.weights = weight_types[t],
					.out_type = DTYPE_F32,
					.faults = { .isa = sets[s] },
				};
				CHECK(is_right(&p, &rng, pool));
			}
	pool_close(pool);
}

/* Half a step of a channel at most, and the largest value exactly. */
static void weights_are_quantised_to_the_nearest_step_of_their_channel(void)
{
	enum { N = 50 };
	struct rng rng;
	rng_init(&rng, 4);
	struct product p = { .m = N, .n_in = N, .n_out = 3, .weights = DTYPE_S8 };
	float w[3 * N], out[N * 3], row_scale[N + LINEAR_ROWS_PADDING];
	uint8_t x[(N + LINEAR_ROWS_PADDING) * N];
	memset(x, 128, sizeof(x)); /* zeros but for the diagonal: each row reads one weight out */
	for (int i = 0; i < N; i++) {
		x[i * N + i] = 129;
		row_scale[i] = 1;
	}
	for (int i = 0; i < 2 * N; i++)
		w[i] = (float)rng_normal(&rng);
	for (int i = 2 * N; i < 3 * N; i++)
		w[i] = 0;
	struct region *region = some_region();
	struct pool *pool = pool_of(1);
	struct linear *l = linear_of(&p, &(struct values){ .w = w }, region);
	linear_run(l, pool, &(struct matrix){ DTYPE_U8, x, row_scale, N, N, N },
	        &(struct matrix){ DTYPE_F32, out, NULL, N, 3, 3 });
	for (int j = 0; j < 3; j++) {
		float max = 0;
		for (int i = 0; i < N; i++)
			max = fmaxf(max, fabsf(w[j * N + i]));
		for (int i = 0; i < N; i++) {
			float want = w[j * N + i], got = out[i * 3 + j];
			bool largest = fabsf(want) == max;
			CHECK_NEAR(got, want, largest ? max * 1e-6 : max / 127 * 0.5001);
		}
	}
	linear_close(l);
	pool_close(pool);
	region_close(region);
}

static void weights_are_counted_as_they_are_kept(void)
{
	struct rng rng;
	rng_init(&rng, 5);
	for (size_t t = 0; t < ARRAY_LEN(weight_types); t++) {
		struct product p = {
			.m = 1, .n_in = 256, .n_out = 256, .weights = weight_types[t]
		};
		struct values v = values_of(&p, &rng);
		struct region *region = some_region();
		struct linear *l = linear_of(&p, &v, region);
		CHECK_INT(linear_weight_bytes(l), 256 * 256 * dtype_bytes(weight_types[t]));
		CHECK_INT(region_used(region), linear_weight_bytes(l));
		linear_close(l);
		region_close(region);
		free_values(&v);
	}
}

static void a_full_region_is_an_error(void)
{
	struct linear *l = NULL;
	struct region *region;
	struct err err = { 0 };
	float *w = zeroed(4 << 20, sizeof(float));
	CHECK(region_open(&(struct region_options){ .bytes = 1, .node = -1 }, &region, &err));
	struct linear_spec spec = {
		.n_in = 2048, .n_out = 2048, .w = w, .kernels = &slow_kernels, .region = region
	};
	CHECK(!linear_new(&spec, &l, &err));
	CHECK_INT(err.kind, ERR_SYSTEM);
	CHECK(!l);
	region_close(region);
	free(w);
}

static void faults_change_no_product(void)
{
	static const struct engine_faults faults[] = {
		{ .recompile = 1 },
		{ .dequantize = true },
		{ .wide = true },
		{ .reorders = 2 },
		{ .pieces = 3 },
		{ .pieces = 50, .dispatch_ns = 1000 },
		{ .alloc_churn = true },
		{ .cold = 1 },
	};
	struct rng rng;
	rng_init(&rng, 6);
	struct pool *pool = pool_of(2);
	for (size_t f = 0; f < ARRAY_LEN(faults); f++)
		for (size_t t = 0; t < ARRAY_LEN(weight_types); t++) {
			struct product p = {
				.m = 1 + (int)rng_below(&rng, 130),
				.n_in = 1 + (int)rng_below(&rng, 300),
				.n_out = 1 + (int)rng_below(&rng, 300),
				.weights = weight_types[t],
				.out_type = DTYPE_F32,
				.bias = true,
				.faults = faults[f],
			};
			CHECK(is_right(&p, &rng, pool));
		}
	pool_close(pool);
}

/* CPU time of a run of m rows. */
static double run_ns(const struct linear *l, struct pool *pool, const struct product *p,
        const struct values *v, int m)
{
	float *out = zeroed((size_t)m * (size_t)p->n_out, sizeof(float));
	struct matrix x = { input_of(p), v->x, v->row_scale, m, p->n_in, p->n_in };
	struct matrix y = { DTYPE_F32, out, NULL, m, p->n_out, p->n_out };
	int64_t start = clock_thread_cpu_ns();
	linear_run(l, pool, &x, &y);
	int64_t ns = clock_thread_cpu_ns() - start;
	free(out);
	return (double)ns;
}

/* How many times slower the worst of some runs, of the numbers of rows given, is than a good one.
 */
static double slowdown(struct engine_faults faults, const int *rows, int n, int skip)
{
	struct rng rng;
	rng_init(&rng, 7);
	struct product p = { .m = 8, .n_in = 256, .n_out = 256, .weights = DTYPE_S8 };
	struct values v = values_of(&p, &rng);
	struct region *region = some_region();
	struct pool *pool = pool_of(1);
	struct linear *good = linear_of(&p, &v, region);
	struct product bad_product = p;
	bad_product.faults = faults;
	struct values bad_v = values_of(&bad_product, &rng);
	struct linear *bad = linear_of(&bad_product, &bad_v, region);
	double best = INFINITY, least = INFINITY;
	for (int i = 0; i < 20; i++)
		best = fmin(best, run_ns(good, pool, &p, &v, 8));
	for (int i = 0; i < n; i++) {
		double ns = run_ns(bad, pool, &bad_product, &bad_v, rows[i]);
		least = i < skip ? least : fmin(least, ns);
	}
	linear_close(good);
	linear_close(bad);
	pool_close(pool);
	region_close(region);
	free_values(&v);
	free_values(&bad_v);
	return least / best;
}

/* Factors of ten and more where none of them is asked for: two to three times as the bar. */
static void faults_cost_what_they_are_to_cost(void)
{
	static const int same[] = { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 };
	static const int all_new[] = { 1, 2, 3, 4, 5, 6, 7, 8, 1, 2 };
	enum { N = ARRAY_LEN(same) };
	if (getenv("VENTURI_SANITIZED")) {
		tap_skip("a sanitizer slows some work more than other");
		return;
	}
	CHECK(slowdown((struct engine_faults){ 0 }, same, N, 1) < 2);
	CHECK(slowdown((struct engine_faults){ .recompile = 5 }, all_new, N, 0) > 3);
	CHECK(slowdown((struct engine_faults){ .recompile = 5 }, same, N, 1) < 2);
	CHECK(slowdown((struct engine_faults){ .dequantize = true }, same, N, 1) > 3);
	CHECK(slowdown((struct engine_faults){ .reorders = 20 }, same, N, 1) > 2);
	CHECK(slowdown((struct engine_faults){ .dispatch_ns = 1000000 }, same, N, 1) > 3);
	CHECK(slowdown((struct engine_faults){ .cold = N }, same, N, 0) > 2);
	CHECK(slowdown((struct engine_faults){ .cold = 1 }, same, N, 1) < 2);
}

int main(void)
{
	TAP_RUN(products_of_odd_shapes_are_the_sums_of_float64);
	TAP_RUN(products_of_the_shapes_of_encoders_are_the_sums_of_float64);
	TAP_RUN(every_instruction_set_gives_the_same_products);
	TAP_RUN(weights_are_quantised_to_the_nearest_step_of_their_channel);
	TAP_RUN(weights_are_counted_as_they_are_kept);
	TAP_RUN(a_full_region_is_an_error);
	TAP_RUN(faults_change_no_product);
	TAP_RUN(faults_cost_what_they_are_to_cost);
	return tap_done();
}
