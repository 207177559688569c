/*
 * gateway_merge.h - the APIs whose requests can share one call of the service behind a gateway:
 * requests are taken apart into their inputs, inputs put together into one request, and its answer
 * split into what belongs to each of them.
 *
 * Nothing is decoded that need not be: inputs, parameters and results travel as the JSON that they
 * came as. What is not understood is not merged. Pure functions, callable from any thread.
 *
 * Source: OpenAI API reference (embeddings), Cohere's and Jina's (rerank), Hugging Face's
 * text-embeddings-inference 1.x (embed, predict, rerank).
 */
#ifndef VENTURI_SERVE_GATEWAY_MERGE_H
#define VENTURI_SERVE_GATEWAY_MERGE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MERGE_INPUTS_MAX = 16384,      /* of one request */
	MERGE_PARAMS_MAX = 256 * 1024, /* bytes of what is no input */
};

struct merge_api {
	const char *path;    /* what the path of a request ends in */
	const char *inputs;  /* the member with the inputs */
	const char *top;     /* the member that cuts the results; NULL: none. Applied here */
	const char *results; /* the member of the answer; NULL: the answer is the array */
	const char *score;   /* results come sorted by it; NULL: in the order of the inputs */
	bool indexed;        /* each result says which input it is of */
	bool lone;           /* one input may stand without an array around it */
	bool pairs;          /* ["a", "b"] is one input, and a lone input has a lone result */
};

/* A request understood. All of it points into its body, or lives in the arena. */
struct merge_request {
	const struct merge_api *api;
	struct str params; /* the other members, each '"name":value', a comma between */
	const struct str *inputs;
	size_t n_inputs;
	int64_t top; /* at most so many results; -1: all */
	bool ids;    /* the inputs are arrays of token ids */
	bool is_lone;
};

/* May requests to this path be merged at all? */
bool merge_knows(struct str path);

/*
 * returns  false: leave it as it is, also where the service will refuse it
 */
bool merge_parse(struct str path, struct str body, struct arena *arena,
        struct merge_request *ret_request) NODISCARD;

/* Of one input, by its bytes: 4 letters of ASCII a token, 1 character of others. Ids are counted.
 */
int64_t merge_estimate_tokens(struct str input);

/* The bytes of a text in JSON, or of both of a pair, a blank between. False: ids, or broken. */
bool merge_text(struct str input, struct buf *out) NODISCARD;

/* Begins, adds to and ends the request of a call. */
void merge_write_begin(const struct merge_request *like, struct buf *out);
void merge_write_input(
        const struct merge_request *of, struct str input, bool first, struct buf *out);
void merge_write_end(struct buf *out);

struct merge_usage {
	int64_t prompt_tokens, total_tokens; /* -1: not said */
};

/* Where a result lies, relative to the text given to whoever made it. */
struct merge_result {
	size_t at, len;
	size_t index_at, index_len; /* the number, relative to at */
	double score;
};

struct merge_answer {
	struct merge_result *results; /* [n_inputs], in the order of the inputs */
	struct str frame;             /* the other members but usage, as params */
	struct merge_usage usage;
};

/*
 * returns  false: it is not an answer to n_inputs inputs with a result for each
 */
bool merge_split(const struct merge_api *api, struct str text, size_t n_inputs, struct arena *arena,
        struct merge_answer *ret_answer) NODISCARD;

/*
 * The answer of one request.
 *
 * text     what the results are relative to
 * results  [n_inputs] of the request; sorted inside where the API wants that
 */
void merge_compose(const struct merge_request *request, struct str text,
        const struct merge_result *results, struct str frame, struct merge_usage usage,
        struct arena *arena, struct buf *out);

/* Shares of a whole number by weights, which add up to it; each is off by less than 1. n >= 1. */
void merge_share(int64_t whole, const int64_t *weights, size_t n, int64_t *ret_shares);

#endif
