/*
 * engine_run - the encoder engine as bench/engine measures it: a line "BATCHxLENGTH SECONDS", or
 * "LENGTH,LENGTH,... SECONDS" in batches of 16, is answered by a line of JSON with the time of each
 * run over all of it.
 *
 * usage: engine_run --shape NAME --weights f32|bf16|int8 --threads N [--padded] [--unfused]
 */
#include "base/clock.h"
#include "base/opt.h"
#include "engine/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SEQUENCES_MAX = 4096,
	LENGTH_MAX = 512,
	RUNS_LEAST = 3,
	RUNS_MAX = 100000,
	MIXED_BATCH = 16
};

struct options {
	const char *shape, *weights;
	int64_t threads;
	bool padded, unfused;
};

static const struct opt rows[] = {
	{ OPT(struct options, shape, OPT_STRING, 0, "shape", "NAME", "shape of the model") },
	{ OPT(struct options, weights, OPT_CHOICE, 0, "weights", "f32|bf16|int8", "precision"),
	        .choices = "f32|bf16|int8" },
	{ OPT(struct options, threads, OPT_INT, 0, "threads", "N", "threads"), .min = 1,
	        .max = 1024 },
	{ OPT(struct options, padded, OPT_FLAG, 0, "padded", NULL,
	        "pad to the longest of a batch") },
	{ OPT(struct options, unfused, OPT_FLAG, 0, "unfused", NULL, "one operator at a time") },
};

struct work {
	int lengths[SEQUENCES_MAX];
	int n, batch;
	double seconds;
};

/* False: not understood. */
static bool read_work(char *line, struct work *w)
{
	int batch, length;
	*w = (struct work){ .batch = MIXED_BATCH };
	if (sscanf(line, "%dx%d %lf", &batch, &length, &w->seconds) == 3) {
		w->n = w->batch = batch;
		for (int i = 0; i < batch && i < SEQUENCES_MAX; i++)
			w->lengths[i] = length;
		return batch >= 1 && batch <= SEQUENCES_MAX && length >= 1 && length <= LENGTH_MAX;
	}
	char *end = line;
	do {
		w->lengths[w->n++] = (int)strtol(end, &end, 10);
	} while (*end++ == ',' && w->n < SEQUENCES_MAX);
	w->seconds = strtod(end, NULL);
	return w->seconds > 0;
}

static int longest(const int *lengths, int n)
{
	int most = 0;
	for (int i = 0; i < n; i++)
		most = lengths[i] > most ? lengths[i] : most;
	return most;
}

static bool run_once(struct encoder_session *session, const struct work *w,
        const int32_t *const *ids, bool padded, float *out, struct err *err)
{
	for (int i = 0; i < w->n; i += w->batch) {
		int n = w->n - i < w->batch ? w->n - i : w->batch;
		struct encoder_batch batch = { .n = n, .ids = ids, .lengths = w->lengths + i };
		batch.pad_to = padded ? longest(batch.lengths, n) : 0;
		if (!encoder_run(session, &batch, ENCODER_EMBEDDING, out, err))
			return false;
	}
	return true;
}

static bool answer(struct encoder_session *session, const struct work *w, const int32_t *const *ids,
        bool padded, float *out, struct err *err)
{
	if (!run_once(session, w, ids, padded, out, err))
		return false;
	int64_t cpu = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	int64_t until = clock_now_ns() + (int64_t)(w->seconds * (double)NS_PER_S);
	printf("{\"times_ms\":[");
	for (int i = 0; i < RUNS_MAX && (i < RUNS_LEAST || clock_now_ns() < until); i++) {
		int64_t start = clock_now_ns();
		if (!run_once(session, w, ids, padded, out, err))
			return false;
		printf("%s%.4f", i ? "," : "", (double)(clock_now_ns() - start) / 1e6);
	}
	printf("],\"cpu_ms\":%.3f}\n",
	        (double)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e6);
	fflush(stdout);
	return true;
}

static bool serve_lines(
        struct encoder_session *session, const struct options *o, int dim, struct err *err)
{
	static int32_t tokens[SEQUENCES_MAX][LENGTH_MAX];
	static const int32_t *ids[SEQUENCES_MAX];
	static char line[SEQUENCES_MAX * 8];
	float *out = mem_zeroed((size_t)SEQUENCES_MAX * (size_t)dim, sizeof(*out));
	struct work w;
	for (int i = 0; i < SEQUENCES_MAX; i++) {
		ids[i] = tokens[i];
		for (int k = 0; k < LENGTH_MAX; k++)
			tokens[i][k] = 1000 + (int32_t)((int64_t)(i * LENGTH_MAX + k) * 7919 % 20000);
	}
	printf("ready\n");
	fflush(stdout);
	bool ok = true;
	while (ok && fgets(line, sizeof(line), stdin))
		ok = read_work(line, &w) ? answer(session, &w, ids, o->padded, out, err)
		                         : err_set(err, ERR_INPUT, "not understood: '%s'", line);
	free(out);
	return ok;
}

static bool run(const struct options *o, struct err *err)
{
	struct encoder_options eo = {
		.weights = o->weights[0] == 'f'   ? DTYPE_F32
		           : o->weights[0] == 'b' ? DTYPE_BF16
		                                  : DTYPE_S8,
		.fuse = !o->unfused,
		.huge_pages = true,
		.node = -1,
	};
	struct pool_options po = { .n_threads = (int)o->threads, .spin_us = 50 };
	struct encoder *encoder;
	struct pool *pool;
	struct encoder_session *session;
	/* What is open is given back by the end of the process. */
	return encoder_open_synthetic(o->shape, &eo, &encoder, err) && pool_open(&po, &pool, err) &&
	       encoder_session_open(encoder, pool, MIXED_BATCH * LENGTH_MAX, NULL, &session, err) &&
	       serve_lines(session, o, encoder_info(encoder).dim, err);
}

int main(int argc, char **argv)
{
	struct options o = { .shape = "bert-base", .weights = "f32", .threads = 1 };
	const struct opt_table table = { rows, ARRAY_LEN(rows), &o };
	struct arena arena = { 0 };
	struct opt_list args = { 0 };
	struct err err;
	bool ok = opt_parse(&table, 1, argc - 1, argv + 1, &arena, &args, &err) && run(&o, &err);
	if (!ok)
		fprintf(stderr, "engine_run: error: %s\n", err.text);
	arena_release(&arena);
	return ok ? 0 : 1;
}
