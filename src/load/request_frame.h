/*
 * request_frame.h - requests that differ in one text only: written out once before the run and cut
 * around the place of that text, so that while it runs nothing is left but copying. The length of
 * the body is written last.
 */
#ifndef VENTURI_LOAD_REQUEST_FRAME_H
#define VENTURI_LOAD_REQUEST_FRAME_H

#include "load/builder.h"

enum { REQUEST_LENGTH_DIGITS = 10 }; /* fewer get blanks before them, which HTTP allows */

/* SALT_LEN characters that stand where the text goes. */
#define REQUEST_FRAME_MARK "v3ntur1salt0"
extern const struct str request_frame_mark;

/*
 * One frame for each length of an answer, sorted by it, into w->frames.
 *
 * around       the prompt, with request_frame_mark in it; its output_tokens do not matter
 * lengths      [n], sorted in place
 * ret_framed   false: the API's requests are no frames around one text
 * errors       ERR_INPUT for more than WORKLOAD_FRAMES_MAX lengths; those of builder_item
 */
bool request_frames_build(struct builder *b, const struct prompt *around, uint32_t *lengths,
        size_t n, struct workload *w, bool *ret_framed, struct err *err) NODISCARD;

/* The frame for answers of that length, which is one of those that were built. */
uint32_t request_frame_find(const struct workload *w, uint32_t output_tokens);

/* Empties out and begins a request; the text is appended next. */
void request_frame_open(const struct workload_frame *f, struct buf *out);
/* Ends it; returns the whole request, in out. */
struct str request_frame_close(const struct workload_frame *f, struct buf *out);

#endif
