/*
 * synthetic.h - prompts that nobody wrote: of the lengths that were asked for or recorded, each
 * unlike all others unless they shall have something in common.
 *
 * Where a body is a frame around one text, frames are made before the run and the text when it is
 * sent; for the other APIs a pool of requests is written out, with a place for a salt in each.
 */
#ifndef VENTURI_LOAD_SYNTHETIC_H
#define VENTURI_LOAD_SYNTHETIC_H

#include "load/builder.h"
#include "stats/dist.h"

/*
 * Fills the frames and prompts of a workload, or its items.
 *
 * errors   ERR_INPUT for answers of too many lengths, ERR_USAGE for options that do not fit the API
 */
bool synthetic_build(struct builder *b, const struct dist *input, const struct dist *output,
        struct workload *w, struct err *err) NODISCARD;

/* What a text is, for its key. */
enum prompt_part {
	PROMPT_UNIQUE,
	PROMPT_PREFIX,
	PROMPT_BLOCK,
	PROMPT_LATER, /* of a later turn */
};

/*
 * Appends the text of prompt i: what it shares with others, then what it has alone.
 *
 * number   makes it unlike the other texts of this measurement
 */
void synthetic_text(const struct workload *w, size_t i, uint64_t number, uint64_t nonce,
	struct buf *out);

/* Prompt i in its frame; the rest as workload_request. */
struct str synthetic_framed(
        const struct workload *w, size_t i, int64_t ticket, uint64_t nonce, struct buf *out);

/* A request with a salt, which makes it unlike all others; item->salt_at is not negative. */
struct str synthetic_salted(
        const struct workload_item *item, int64_t ticket, uint64_t nonce, struct buf *out);

#endif
