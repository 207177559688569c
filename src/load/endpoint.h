/*
 * endpoint.h - the protocols that the load generator speaks: one file each in endpoints/, one row
 * each in the table. An adapter writes the body of a request and reads what an answer says; it
 * knows nothing of sockets, time or threads.
 *
 * An API that has several operations has one row for each of them, all with the same name; the path
 * of the URL or the service itself says which is meant.
 */
#ifndef VENTURI_LOAD_ENDPOINT_H
#define VENTURI_LOAD_ENDPOINT_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "load/endpoints/frame.h"
#include "record/load_run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is asked for in one request. */
struct prompt {
	struct str text;       /* empty when messages, documents or body is given */
	struct str messages;   /* a JSON array of chat messages, verbatim */
	struct str body;       /* a whole request body, verbatim */
	struct str query;      /* for documents, which are reranked by it */
	struct str documents;  /* a JSON array of strings, verbatim */
	int64_t input_tokens;  /* that text stands for; 0: not known */
	int64_t output_tokens; /* 0: the service decides */
};

struct endpoint_options {
	const char *model; /* NULL: none */
	bool stream;
	bool binary;          /* tensors as bytes instead of JSON */
	const void *prepared; /* what prepare made; NULL: nothing */
};

/* What the answer to one request has said so far; reset before each request. */
struct reply {
	int64_t input_tokens;   /* from usage; -1: not said */
	int64_t output_tokens;  /* from usage, its latest word; -1: not said */
	int64_t usage_events;   /* events whose usage has output tokens; above 1: continuous usage */
	int64_t token_events;   /* events, or parts of a body, that bear a token of any channel */
	int64_t visible_events; /* of those: with text or the call of a tool, not reasoning alone */
	int64_t id_events;      /* of the token events: with token ids or logprobs */
	int64_t id_tokens;      /* tokens in those, by ids or logprobs */
	struct buf *text; /* where visible text goes, escapes unresolved; NULL: nowhere */
	bool text_cut;    /* it was longer than REPLY_TEXT_MAX */
	bool finished;          /* the protocol's finish marker was seen */
	bool error;             /* an error inside a good HTTP status */
	char error_text[200];
	struct frame frame; /* of the events of the stream; says nothing itself */
};

enum { REPLY_TEXT_MAX = 16 * 1024 * 1024 }; /* bytes kept of one answer's text */

enum { ENDPOINT_PATHS_MAX = 2, ENDPOINT_KEYS_MAX = 2 };

struct endpoint {
	const char *name; /* of the API */
	const char *base; /* what a base address may end with: "/v1"; NULL: nothing */
	/* Of the operation, begins with base, {model} stands for the model; NULL: the URL's own. */
	const char *path;
	const char *stream_path; /* the same for a stream, where that is another; or NULL */
	/* How the path of a URL ends that means this operation; after the last one NULL. */
	const char *known_by[ENDPOINT_PATHS_MAX + 1];
	/* The last part of path, where what stands before it describes the model; or NULL. */
	const char *operation;
	/* Where the service tells its models, and the keys that lead to the first one's name. */
	const char *models_path;
	const char *model_keys[ENDPOINT_KEYS_MAX + 1];
	bool can_stream;
	bool makes_tokens; /* success needs a finish marker and at least one token */
	bool needs_model;
	bool takes_messages;  /* chat messages as they are; the others get their text */
	bool takes_documents; /* to rerank by a query */
	const char *body_key; /* a line of the input that has this key is a body; or NULL */
	void (*write_body)(struct buf *out, const struct prompt *p,
		const struct endpoint_options *options);
	/* Header lines that follow from a body, its content-type among them, or none; NULL: none. */
	void (*write_head)(struct buf *out, struct str body);
	/* Whether write_body can write this prompt; errors ERR_USAGE, ERR_INPUT; NULL: always. */
	bool (*check)(const struct prompt *p, const struct endpoint_options *options,
		struct err *err);
	/* Reads the description of the model for options.prepared; NULL: there is none. */
	bool (*prepare)(struct str description, struct arena *run, const void **ret_prepared,
		struct err *err);
	/* One event of a stream; NULL when the protocol has none. */
	void (*read_event)(struct reply *reply, struct str data);
	/* A whole body; NULL when it does not matter. */
	void (*read_body)(struct reply *reply, struct str body);
};

extern const struct endpoint endpoint_openai_chat;
extern const struct endpoint endpoint_openai_completions;
extern const struct endpoint endpoint_openai_embeddings;
extern const struct endpoint endpoint_openai_rerank;
extern const struct endpoint endpoint_kserve_v2;
extern const struct endpoint endpoint_tei_embed;
extern const struct endpoint endpoint_tei_rerank;
extern const struct endpoint endpoint_tei_predict;
extern const struct endpoint endpoint_tgi;
extern const struct endpoint endpoint_ollama_chat;
extern const struct endpoint endpoint_ollama_generate;
extern const struct endpoint endpoint_llamacpp;
extern const struct endpoint endpoint_http;

/* All of them, in the order in which they are tried when guessing; ends with NULL. */
extern const struct endpoint *const endpoint_table[];

/* The first of that name, or NULL. */
const struct endpoint *endpoint_find(const char *name);

/* "openai-chat|openai-completions|...": for the option's choices. */
#define ENDPOINT_CHOICES                                                                           \
	"openai-chat|openai-completions|openai-embeddings|openai-rerank|kserve-v2|tei|tgi|ollama|" \
	"llamacpp|http"

/*
 * How much of the path of a URL speaks for this operation: bytes at its end, 0 when nothing does.
 */
size_t endpoint_match(const struct endpoint *e, const char *url_path);

/* Whether a URL's path is a base address: nothing, or what ends with e->base. */
bool endpoint_is_base(const struct endpoint *e, const char *url_path);

/* What stands before the API's own paths: "/proxy" in /proxy/v1 and /proxy/v1/chat/completions. */
struct str endpoint_prefix(const struct endpoint *e, const char *url_path);

/* The model that a URL's path names, or NULL. */
const char *endpoint_model(const struct endpoint *e, const char *url_path, struct arena *run);

/*
 * Whether requests stream: as wanted, unless the protocol has paths of its own for streams and the
 * URL names one of the two.
 */
bool endpoint_streams(const struct endpoint *e, const char *url_path, bool wanted);

/*
 * Where requests go: the path of the operation where the URL is a base address (http://host,
 * http://host/v1) or describes the model, else the URL's own.
 *
 * model    percent-encoded into the path, must not be NULL where the path has a place for it
 */
const char *endpoint_path(const struct endpoint *e, const char *url_path, const char *model,
	bool stream, struct arena *run);

/* For the next answer, whose text is not kept. */
void reply_reset(struct reply *reply);

/* Keeps the text of the answer that comes; the buffer is emptied. */
void reply_keep_text(struct reply *reply, struct buf *text);

/* Keeps a piece of the text, if text is kept at all. */
void reply_add_text(struct reply *reply, struct str raw);

/* Keeps an error; the latest one counts. */
void reply_fail(struct reply *reply, struct str text);

/*
 * The output tokens of an answer, by the best that it says: usage, token ids or logprobs (an event
 * without them counts as one token), events.
 */
int64_t reply_output_tokens(const struct reply *reply, enum load_token_source *ret_source);

#endif
