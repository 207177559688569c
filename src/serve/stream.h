/*
 * stream.h - turns a job's tokens into server-sent events, one at a time.
 *
 * All functions are called with the job's lock held, by the one thread that serves the connection.
 * Events bear text; a token that completes no character yet waits for the next one.
 */
#ifndef VENTURI_SERVE_STREAM_H
#define VENTURI_SERVE_STREAM_H

#include "base/str.h"
#include "serve/job.h"
#include "serve/wire.h"

#include <stdbool.h>
#include <stddef.h>

enum stream_stage {
	STREAM_ROLE,
	STREAM_TOKENS,
	STREAM_FINISH,
	STREAM_USAGE,
	STREAM_DONE,
	STREAM_OVER
};

struct stream {
	const struct job *job;
	const struct wire *wire;
	const char *model;
	enum stream_stage stage;
	bool said_role;
	size_t i_token; /* the first token not in an event yet */
	size_t i_text;  /* the first byte of text not in one */
};

void stream_init(
        struct stream *s, const struct job *job, const struct wire *wire, const char *model);

enum stream_next { STREAM_EVENT, STREAM_WAIT, STREAM_END, STREAM_BREAK };

/*
 * Appends the next event to out, if there is one yet.
 *
 * returns  STREAM_EVENT: appended; STREAM_WAIT: not yet; STREAM_END: that was all;
 *          STREAM_BREAK: the connection is to break off here
 */
enum stream_next stream_next(struct stream *s, struct buf *out);

#endif
