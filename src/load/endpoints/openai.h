/*
 * openai.h - what the OpenAI endpoints share: the parts of their requests and answers.
 */
#ifndef VENTURI_LOAD_ENDPOINTS_OPENAI_H
#define VENTURI_LOAD_ENDPOINTS_OPENAI_H

#include "load/endpoint.h"
#include "text/json.h"

/* Opens the object and writes "model" when there is one. */
void openai_open(struct json *j, struct buf *out, const struct endpoint_options *options);

/* Writes "messages": as they are given, or the text as one message of the user. */
void openai_messages(struct json *j, const struct prompt *p);

/* Writes max_tokens, temperature 0 and the stream fields, and closes the object. */
void openai_close(struct json *j, const struct prompt *p, const struct endpoint_options *options);

/*
 * Reads one event or one whole body of a generation: tokens on any channel (content, reasoning,
 * tool calls, text), finish_reason, usage in any place, token ids (vLLM's return_token_ids) and
 * logprobs, errors with status 200.
 */
void openai_read_generation(struct reply *reply, struct str data);

/* Reads "usage" and "error" of any answer, and counts the elements of "data" or "results". */
void openai_read_results(struct reply *reply, struct str body);

#endif
