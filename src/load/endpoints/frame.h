/*
 * frame.h - what the events of one stream have in common, so that a token event is compared instead
 * of parsed.
 *
 * Within a stream, most events differ in one JSON string only, the text of the token. An event that
 * was parsed and said nothing but that its one text bears a token is kept as a frame: the bytes
 * before the text and those behind it. An event of the same bytes around another text is the same
 * JSON with the same fields, so it says the same, or, with an empty text, nothing.
 *
 * Always: whether a frame is used shows in nothing but time.
 */
#ifndef VENTURI_LOAD_ENDPOINTS_FRAME_H
#define VENTURI_LOAD_ENDPOINTS_FRAME_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	FRAME_MAX = 496,      /* bytes around the text; longer ones are parsed each time */
	FRAME_MISSES_MAX = 8, /* kept in vain so often one after the other, it is given up */
};

struct frame {
	const void *fields;          /* the table by which it was parsed */
	uint16_t n_before, n_behind; /* bytes of the two parts; n_before 0: no frame */
	uint8_t n_misses;
	bool visible; /* the text is no reasoning */
	char bytes[FRAME_MAX];
};

/* Forgets what another stream had; the bytes stay as they are. */
void frame_reset(struct frame *f);

/* Keeps data, parsed by fields, in which text is the one that bears the token. */
void frame_keep(
        struct frame *f, const void *fields, struct str data, struct str text, bool visible);

/*
 * Whether data fits the frame that was kept by fields.
 *
 * ret_filled  whether its text is not empty
 */
bool frame_fits(struct frame *f, const void *fields, struct str data, bool *ret_filled);

/* The text of data that fits, escapes unresolved. */
static inline struct str frame_text(const struct frame *f, struct str data)
{
	return (struct str){ data.s + f->n_before, data.len - f->n_before - f->n_behind };
}

#endif
