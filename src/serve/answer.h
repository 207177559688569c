/*
 * answer.h - answers in the JSON of the API that asked: whole ones, chunks of a stream, errors.
 *
 * Pure text in, text out. What is written about a job is read under its lock, which the caller
 * holds (or the job has ended).
 */
#ifndef VENTURI_SERVE_ANSWER_H
#define VENTURI_SERVE_ANSWER_H

#include "base/str.h"
#include "serve/api.h"
#include "serve/executor.h"
#include "serve/job.h"

#include <stdint.h>

/*
 * OpenAI: {"error": {"message", "type", "param", "code"}}; TEI: {"error", "error_type"}; KServe:
 * {"error"}.
 */
void answer_error(struct buf *out, const struct api_error *error, enum api_family family);

/*
 * The answer to a request without stream.
 *
 * returns  the bytes of JSON appended, where others follow them: 0: all is JSON
 */
size_t answer_whole(
        struct buf *out, const struct job *job, enum api_family family, const struct executor *x);

/* /v1/models */
void answer_models(struct buf *out, const char *model, int64_t n_ctx, int64_t created_s);

/* TEI's /info, and KServe's descriptions of the service and of the model. */
void answer_info(struct buf *out, const struct executor *x, int64_t queue_max);
void answer_kserve_service(struct buf *out);
void answer_kserve_model(struct buf *out, const struct executor *x);

/* The name of the one tensor that an inference has as its answer. */
struct str answer_output_name(bool scores);

/* Private to answer*.c: the answer to one kind of request. */
void answer_embeddings(struct buf *out, const struct job *job, const char *model);
void answer_tei_embeddings(struct buf *out, const struct job *job);
void answer_rerank(struct buf *out, const struct job *job, const char *model);
void answer_tei_rerank(struct buf *out, const struct job *job);
void answer_classify(struct buf *out, const struct job *job, const struct executor *x);
void answer_tei_predict(struct buf *out, const struct job *job, const struct executor *x);
size_t answer_infer(struct buf *out, const struct job *job, const char *model);

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
