/*
 * api.h - the requests of the APIs that this service speaks: bytes from the network in, plain data
 * out.
 *
 * A request is refused rather than half understood: what would change the answer and is not
 * implemented (n > 1, logprobs, tools ...) is an error; what only annotates it is ignored.
 * Nothing here knows who executes the request. Pure functions, callable from any thread.
 *
 * Source: OpenAI API reference; vLLM's extension ignore_eos, its /rerank and /classify; Cohere's
 * and Jina's rerank; Text Embeddings Inference; KServe, Open Inference Protocol, HTTP/REST, with
 * its binary tensor data extension.
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
	API_INPUTS_MAX = 2048,      /* texts of one request to an encoder */
	API_STOPS_MAX = 16,         /* stop sequences */
	API_STOP_BYTES_MAX = 1024,  /* of one of them */
	API_TOKENS_MAX = 100000000, /* what max_tokens may ask for */
	API_NAME_BYTES_MAX = 256,   /* of a model, an input, an id of the client's */
	API_DIMENSIONS_MAX = 65536, /* what dimensions may ask for */
	API_TENSORS_MAX = 8,        /* inputs or outputs of one inference */
	/* Texts of the pairs of one rerank, the query counted in each: a small body makes many. */
	API_PAIRS_BYTES_MAX = 64 * 1024 * 1024,
};

enum api_endpoint {
	API_COMPLETIONS,
	API_CHAT,
	API_EMBEDDINGS,
	API_RERANK,
	API_CLASSIFY,
	API_INFER,
	API_FORWARDED, /* by a gateway: what it is only the upstream knows */
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
	const struct str *stops;
	size_t n_stops;

	/*
	 * Of encoders. An input that is too long is refused (0), or cut behind so many tokens, the
	 * special ones counted.
	 */
	int64_t truncate_tokens;
	bool scores;      /* job->vectors are to be scores of the classes rather than embeddings */
	struct str query; /* of a rerank; also in each input */
	bool cosine;      /* of a rerank: the first input is the query, the others its documents */
	int64_t dimensions; /* of the embeddings that are answered; 0: all */
	bool normalize;     /* each embedding to length 1 */
	int64_t top_n;      /* of a rerank: so many results; 0: all */
	bool return_texts;  /* of a rerank: each result with its document */
	bool raw_scores;    /* not made probabilities */
	bool single;        /* one input that was no list: its result is none either */
	struct str id;      /* the client's own; s NULL: none */
	struct str output;  /* the name of the tensor wanted; s NULL: not said */
	bool binary;        /* the tensor as bytes behind the JSON */
};

/* Once, before threads exist: or two of them could be the first to seed the JSON library. */
void api_init(void);

/* Fills e and returns false. code may be NULL. */
bool api_error_set(struct api_error *e, int status, const char *code, const char *fmt, ...)
        PRINTF(4, 5);

/* What a body is taken for. */
struct api_form {
	enum api_endpoint endpoint;
	enum api_family family;
	bool either;       /* of a rerank: the body tells whether it is TEI's */
	size_t json_bytes; /* of an inference: tensors follow after so many; 0: all is JSON */
};

/*
 * Understands a request body.
 *
 * Chat messages become one prompt: their texts in order, a newline between two of them. A base
 * model has no template of its own, and this one adds no words that it never saw.
 * The inputs of a rerank are pairs of query and document.
 *
 * form     family follows the body where either is set, also when the request is refused
 * body     what is understood points into it
 * run      the rest of the request lives there
 * errors   status 400, or 413 for too many inputs, with a message that names the field
 */
bool api_parse(struct api_form *form, struct str body, struct arena *run,
        struct api_request *ret_request, struct api_error *error) NODISCARD;

/* Turns the pairs of a rerank into its query and its documents, each an input of its own. */
void api_rerank_by_cosine(struct api_request *r, struct arena *run);

#endif
