/*
 * openai.h - what the OpenAI endpoints share: the parts of their requests and answers.
 */
#ifndef VENTURI_LOAD_ENDPOINTS_OPENAI_H
#define VENTURI_LOAD_ENDPOINTS_OPENAI_H

#include "load/endpoint.h"
#include "text/json.h"

/* Opens the object and writes "model" when there is one. */
void openai_open(struct json *j, struct buf *out, const struct endpoint_options *options);

/* Writes max_tokens, temperature 0 and the stream fields, and closes the object. */
void openai_close(struct json *j, const struct prompt *p, const struct endpoint_options *options);

/*
 * Reads one event or one whole body of a generation: tokens on any channel (content, reasoning,
 * tool calls, text), finish_reason, usage in any place, errors with status 200.
 */
void openai_read_generation(struct reply *reply, struct str data);

/* Reads "usage" and "error" of any answer, and counts the elements of "data". */
void openai_read_embeddings(struct reply *reply, struct str body);

#endif
