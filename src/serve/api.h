/*
 * api.h - the requests of an OpenAI-compatible service: bytes from the network in, plain data out.
 *
 * A request is refused rather than half understood: what would change the answer and is not
 * implemented (n > 1, logprobs, tools ...) is an error; what only annotates it is ignored.
 * Nothing here knows who executes the request. Pure functions, callable from any thread.
 *
 * Source: OpenAI API reference; vLLM's extension ignore_eos.
 */
#ifndef VENTURI_SERVE_API_H
#define VENTURI_SERVE_API_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	API_DEPTH_MAX = 64,         /* nested brackets of a body */
	API_MESSAGES_MAX = 10000,   /* of one chat */
	API_INPUTS_MAX = 2048,      /* of one embeddings request */
	API_STOPS_MAX = 16,         /* stop sequences */
	API_STOP_BYTES_MAX = 1024,  /* of one of them */
	API_TOKENS_MAX = 100000000, /* what max_tokens may ask for */
};

enum api_endpoint {
	API_COMPLETIONS,
	API_CHAT,
	API_EMBEDDINGS,
	API_RERANK,
	API_CLASSIFY,
	API_INFER
};

/* Whose manners: the form of the errors, and of answers that several APIs have. */
enum api_family { API_OPENAI, API_TEI, API_KSERVE };

/* The answer to a request that is refused. */
struct api_error {
	int status;            /* HTTP */
	int64_t retry_after_s; /* when trying again may help; 0: not said */
	const char *type;      /* follows from the status */
	const char *code;      /* for programs; NULL is sent as null */
	char message[512];
};

/* A prompt, or one text to embed or classify: either text or ids. */
struct api_input {
	struct str text;
	struct str
	        pair; /* a second text behind the first, as a reranker reads query and document */
	bool has_pair;
	const int32_t *ids; /* NULL: text */
	size_t n_ids;
	const int32_t *types; /* token types of the ids; NULL: all 0 */
};

/* Of truncate_tokens: as many tokens as the model takes. */
#define API_TRUNCATE_TO_MODEL INT64_MAX

struct api_request {
	enum api_endpoint endpoint;
	const char *model;              /* NULL: not said */
	const struct api_input *inputs; /* exactly one unless it is about embeddings */
	size_t n_inputs;
	int64_t max_tokens; /* 0: not said */
	double temperature; /* 0 to 2 */
	double top_p;       /* 0 to 1 */
	int64_t seed;
	bool has_seed;
	bool stream;
	bool include_usage;
	bool ignore_eos;
	bool base64; /* embeddings as base64 of little-endian floats */
	/*
	 * Of encoders. An input that is too long is refused (0), or cut behind so many tokens, the
	 * special ones counted.
	 */
	int64_t truncate_tokens;
	bool scores; /* job->vectors are to be scores of the classes rather than embeddings */
	const struct str *stops;
	size_t n_stops;
};

/* Once, before threads exist: or two of them could be the first to seed the JSON library. */
void api_init(void);

/* Fills e and returns false. code may be NULL. */
bool api_error_set(struct api_error *e, int status, const char *code, const char *fmt, ...)
        PRINTF(4, 5);

/*
 * Understands a request body.
 *
 * Chat messages become one prompt: their texts in order, a newline between two of them. A base
 * model has no template of its own, and this one adds no words that it never saw.
 *
 * run      the request lives there
 * errors   status 400 with a message that names the field
 */
bool api_parse(enum api_endpoint endpoint, struct str body, struct arena *run,
        struct api_request *ret_request, struct api_error *error) NODISCARD;

#endif
