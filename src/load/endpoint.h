/*
 * endpoint.h - the protocols that the load generator speaks: one file each in endpoints/, one row
 * each in the table. An adapter writes the body of a request and reads what an answer says; it
 * knows nothing of sockets, time or threads.
 */
#ifndef VENTURI_LOAD_ENDPOINT_H
#define VENTURI_LOAD_ENDPOINT_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is asked for in one request. */
struct prompt {
	struct str text;     /* empty when messages or body is given */
	struct str messages; /* a JSON array of chat messages, verbatim */
	struct str body;     /* a whole request body, verbatim */
	int64_t output_tokens; /* 0: the service decides */
};

struct endpoint_options {
	const char *model; /* NULL: none */
	bool stream;
};

/* What the answer to one request has said so far; reset before each request. */
struct reply {
	int64_t input_tokens;  /* from usage; -1: not said */
	int64_t output_tokens; /* from usage; -1: not said */
	int64_t token_events;  /* events, or parts of a body, that bear a token of any channel */
	bool finished;         /* the protocol's finish marker was seen */
	bool error;            /* an error inside a good HTTP status */
	char error_text[200];
};

struct endpoint {
	const char *name;
	const char *path;   /* of the API, appended to a base address; NULL: the URL's own */
	bool can_stream;
	bool makes_tokens;  /* success needs a finish marker and at least one token */
	bool needs_model;
	void (*write_body)(struct buf *out, const struct prompt *p,
		const struct endpoint_options *options);
	/* One event of a stream; NULL when the protocol has none. */
	void (*read_event)(struct reply *reply, struct str data);
	/* A whole body; NULL when it does not matter. */
	void (*read_body)(struct reply *reply, struct str body);
};

extern const struct endpoint endpoint_openai_chat;
extern const struct endpoint endpoint_openai_completions;
extern const struct endpoint endpoint_openai_embeddings;
extern const struct endpoint endpoint_http;

/* All of them, in the order in which they are tried when guessing; ends with NULL. */
extern const struct endpoint *const endpoint_table[];

/* By name, or NULL. */
const struct endpoint *endpoint_find(const char *name);

/* "openai-chat|openai-completions|...": for the option's choices. */
#define ENDPOINT_CHOICES "openai-chat|openai-completions|openai-embeddings|http"

void reply_reset(struct reply *reply);

#endif
