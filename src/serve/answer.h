/*
 * answer.h - answers in OpenAI's JSON: whole ones, chunks of a stream, errors.
 *
 * Pure text in, text out. What is written about a job is read under its lock, which the caller
 * holds (or the job has ended).
 */
#ifndef VENTURI_SERVE_ANSWER_H
#define VENTURI_SERVE_ANSWER_H

#include "base/str.h"
#include "serve/api.h"
#include "serve/job.h"

#include <stdint.h>

/* {"error": {"message", "type", "param", "code"}} */
void answer_error(struct buf *out, const struct api_error *error);

/* The answer to a request without stream: completion, chat or embeddings, with usage. */
void answer_whole(struct buf *out, const struct job *job, const char *model);

/* /v1/models */
void answer_models(struct buf *out, const char *model, int64_t n_ctx, int64_t created_s);

enum answer_delta { ANSWER_ROLE, ANSWER_TEXT, ANSWER_REASONING, ANSWER_FINISH, ANSWER_USAGE };

struct answer_chunk {
	enum answer_delta delta;
	struct str text;
	bool with_role; /* of a chat that has no chunk for it */
};

/* One JSON object of a stream, without its frame. */
void answer_chunk(struct buf *out, const struct job *job, const char *model,
        const struct answer_chunk *chunk);

#endif
