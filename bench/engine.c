/*
 * How fast an encoder of a known shape computes: one line of JSON.
 *
 *	engine_speed [shape=bert-base] [precision=f32|bf16|int8] [batch=16] [length=128|tail]
 *	             [threads=2] [fuse=1] [packed=1] [seconds=5] [huge=1]
 *
 * length=tail: as texts of users are, lognormal with mean 40 and a standard deviation of 60, at
 * most 512. best and median are over the batches of the run, after three that are not counted.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/encoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH_MAX = 1024, RUNS_MAX = 1 << 16, WARM_UP = 3 };

struct setup {
	const char *shape;
	enum dtype weights;
	const char *precision;
	int batch, length, threads;
	bool fuse, packed, tail, huge;
	double seconds;
	const char *profile;
};

/* Lognormal with mean 40 and a standard deviation of 1.5 times that. */
static int tail_length(struct rng *rng, int max)
{
	double sigma2 = log(1 + 1.5 * 1.5);
	int n = (int)lround(exp(log(40) - sigma2 / 2 + sqrt(sigma2) * rng_normal(rng)));
	return n < 3 ? 3 : n > max ? max : n;
}

static void usage(void)
{
	fputs("usage: engine_speed [shape=S] [precision=f32|bf16|int8] [batch=N] [length=N|tail]\n"
	      "                    [threads=N] [fuse=0|1] [packed=0|1] [seconds=S] [huge=0|1]\n"
	      "                    [profile=FILE]\n",
	        stderr);
	exit(2);
}

static void set(struct setup *s, const char *key, const char *value)
{
	if (strcmp(key, "shape") == 0)
		s->shape = value;
	else if (strcmp(key, "precision") == 0)
		s->precision = value;
	else if (strcmp(key, "batch") == 0)
		s->batch = atoi(value);
	else if (strcmp(key, "length") == 0)
		s->tail = strcmp(value, "tail") == 0, s->length = atoi(value);
	else if (strcmp(key, "threads") == 0)
		s->threads = atoi(value);
	else if (strcmp(key, "fuse") == 0)
		s->fuse = atoi(value);
	else if (strcmp(key, "packed") == 0)
		s->packed = atoi(value);
	else if (strcmp(key, "huge") == 0)
		s->huge = atoi(value);
	else if (strcmp(key, "seconds") == 0)
		s->seconds = atof(value);
	else if (strcmp(key, "profile") == 0)
		s->profile = value;
	else
		usage();
}

static void parse(struct setup *s, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			usage();
		*value = '\0';
		set(s, argv[i], value + 1);
	}
	if (strcmp(s->precision, "f32") == 0)
		s->weights = DTYPE_F32;
	else if (strcmp(s->precision, "bf16") == 0)
		s->weights = DTYPE_BF16;
	else if (strcmp(s->precision, "int8") == 0)
		s->weights = DTYPE_S8;
	else
		usage();
	if (s->batch < 1 || s->batch > BATCH_MAX || (!s->tail && s->length < 1))
		usage();
}

static int64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Seeded texts; the rows that they take. */
static int make_batch(const struct setup *s, const struct encoder_info *info,
        struct encoder_batch *batch, int32_t **ids, int *lengths)
{
	struct rng rng;
	int longest = 0, total = 0;
	rng_init(&rng, 1);
	for (int i = 0; i < s->batch; i++) {
		lengths[i] = s->tail ? tail_length(&rng, info->n_positions) : s->length;
		longest = lengths[i] > longest ? lengths[i] : longest;
		total += lengths[i];
		ids[i] = malloc((size_t)lengths[i] * sizeof(**ids));
		for (int j = 0; j < lengths[i]; j++)
			ids[i][j] = (int32_t)rng_below(&rng, (uint64_t)info->n_vocab);
	}
	*batch = (struct encoder_batch){ .n = s->batch,
		.ids = (const int32_t *const *)ids,
		.lengths = lengths,
		.pad_to = s->packed ? 0 : longest };
	return s->packed ? total : longest * s->batch;
}

static void report(const struct setup *s, int64_t *ns, int n, int64_t cpu, int tokens, int rows,
        const struct encoder_info *info)
{
	qsort(ns, (size_t)n, sizeof(*ns), compare);
	double best = (double)ns[0] / 1e9, median = (double)ns[n / 2] / 1e9;
	printf("{\"shape\":\"%s\",\"precision\":\"%s\",\"batch\":%d,\"length\":%d,\"tokens\":%d,"
	       "\"rows\":%d,\"threads\":%d,\"fuse\":%s,\"packed\":%s,\"runs\":%d,"
	       "\"ms_best\":%.3f,\"ms_median\":%.3f,\"cpu_ms\":%.3f,\"seq_per_s_best\":%.2f,"
	       "\"seq_per_s_median\":%.2f,\"weight_bytes\":%lld}\n",
	        s->shape, s->precision, s->batch, s->tail ? 0 : s->length, tokens, rows, s->threads,
	        s->fuse ? "true" : "false", s->packed ? "true" : "false", n, best * 1e3,
	        median * 1e3, (double)cpu / 1e6 / n, s->batch / best, s->batch / median,
	        (long long)info->weight_bytes);
}

static bool measure(const struct setup *s, struct err *err)
{
	const struct encoder_options options = {
		.weights = s->weights, .fuse = s->fuse, .huge_pages = s->huge, .node = -1
	};
	static int64_t ns[RUNS_MAX];
	static int32_t *ids[BATCH_MAX];
	static int lengths[BATCH_MAX];
	struct encoder *e;
	struct pool *pool;
	struct encoder_session *session;
	struct encoder_batch batch;
	struct profile *profile = NULL;
	if (!encoder_open_synthetic(s->shape, &options, &e, err) ||
	        !pool_open(&(struct pool_options){ .n_threads = s->threads, .spin_us = 50 }, &pool,
	                err) ||
	        (s->profile && !profile_open(s->profile, &profile, err)))
		return false;
	struct encoder_info info = encoder_info(e);
	int rows = make_batch(s, &info, &batch, ids, lengths), n = 0, tokens = 0;
	for (int i = 0; i < s->batch; i++)
		tokens += lengths[i];
	if (!encoder_session_open(e, pool, rows, profile, &session, err))
		return false;
	float *out = malloc((size_t)s->batch * (size_t)info.dim * sizeof(*out));
	for (int i = 0; i < WARM_UP; i++)
		if (!encoder_run(session, &batch, ENCODER_EMBEDDING, out, err))
			return false;
	int64_t begin = clock_now_ns(), cpu = cpu_ns(), end = begin + (int64_t)(s->seconds * 1e9);
	while (n < RUNS_MAX && (n < 3 || clock_now_ns() < end)) {
		int64_t start = clock_now_ns();
		if (!encoder_run(session, &batch, ENCODER_EMBEDDING, out, err))
			return false;
		ns[n++] = clock_now_ns() - start;
	}
	report(s, ns, n, cpu_ns() - cpu, tokens, rows, &info);
	for (int i = 0; i < s->batch; i++)
		free(ids[i]);
	free(out);
	encoder_session_close(session);
	pool_close(pool);
	encoder_close(e);
	return profile_close(profile, err);
}

int main(int argc, char **argv)
{
	struct setup s = { .shape = "bert-base",
		.precision = "f32",
		.batch = 16,
		.length = 128,
		.threads = 2,
		.fuse = true,
		.packed = true,
		.huge = true,
		.seconds = 5 };
	struct err err;
	parse(&s, argc, argv);
	if (!measure(&s, &err)) {
		fprintf(stderr, "engine_speed: error: %s\n", err.text);
		return err.kind;
	}
	return 0;
}
