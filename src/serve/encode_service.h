/*
 * encode_service.h - an encoder and its executor as the options of the command line want them.
 */
#ifndef VENTURI_SERVE_ENCODE_SERVICE_H
#define VENTURI_SERVE_ENCODE_SERVICE_H

#include "base/attr.h"
#include "base/err.h"
#include "base/opt.h"
#include "engine/encoder.h"
#include "engine/pool.h"
#include "serve/batcher.h"
#include "serve/executor.h"
#include "serve/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* What the user wrote. */
struct encode_args {
	const char *synthetic; /* a shape instead of a folder */
	const char *batching, *lanes, *buckets, *packed, *tokenize, *weights, *fuse, *pooling,
	        *warmup, *huge_pages, *pin, *numa;
	bool check_precision;
	int64_t max_batch, max_batch_tokens, max_wait_ns, deadline_ns, tokenize_threads, threads;
};

extern const struct encode_args encode_args_default;

/* The rows of struct encode_args. */
const struct opt *encode_opt_rows(size_t *ret_n);

/*
 * The name of an option that was given, for those whom it does not concern; NULL: none was.
 *
 * batches  those about batches do concern it
 */
const char *encode_args_given(const struct encode_args *args, bool batches);

/* What they mean. */
struct encode_plan {
	struct batcher_options batching;
	struct encode_options serving; /* its batching is not in there */
	struct encoder_options engine; /* its pooling is not in there */
	struct machine_options machine;
	enum encoder_pooling pooling;
	bool has_pooling;
};

/* errors   ERR_USAGE that names the option */
bool encode_plan_make(
        const struct encode_args *args, struct encode_plan *ret_plan, struct err *err) NODISCARD;

/* Whether the path is a model for an encoder rather than for the decoder: a folder. */
bool encode_is_encoder(const char *path);

struct encode_setup {
	const char *folder, *synthetic; /* one of them */
	const struct encode_plan *plan;
	const struct pool_options *pool;
	struct metrics *metrics;
};

struct encode_service {
	struct encoder *encoder;
	struct pool *pool;
};

/* Loads the model and starts its executor, which is to be closed before the service. */
bool encode_service_open(const struct encode_setup *setup, struct encode_service *ret_service,
        struct executor **ret_x, struct err *err) NODISCARD;
void encode_service_close(struct encode_service *s);

#endif
