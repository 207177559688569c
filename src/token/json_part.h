/*
 * json_part.h - the fields of a tokenizer.json, whose parts are objects with a "type" each.
 */
#ifndef VENTURI_TOKEN_JSON_PART_H
#define VENTURI_TOKEN_JSON_PART_H

#include "base/str.h"
#include "token/internal.h"

#include <jansson.h>

enum { JSON_PART_DEPTH_MAX = 8 };

/* A string, or an empty one where there is none. */
struct str json_part_text(const json_t *part, const char *key);
bool json_part_flag(const json_t *part, const char *key, bool otherwise);

/* A row of a table of what a type does. */
struct json_part_row {
	const char *type;
	bool (*read)(struct tokenizer *t, const json_t *part, struct err *err);
};

/* A part that is one of the rows, or a sequence of such parts. */
struct json_part_kind {
	const char *list;        /* the key of a sequence's parts */
	const char *unsupported; /* N_() sentence with the type */
	const struct json_part_row *rows;
	size_t n_rows;
	/* Whether a type may stand here; ctx is the caller's. NULL: any. */
	bool (*admits)(struct str type, void *ctx, struct err *err);
};

/* Reads a part of that kind; one that is NULL or null does nothing. depth is 0 for the outermost.
 */
bool json_part_read(struct tokenizer *t, const struct json_part_kind *kind, const json_t *part,
        int depth, void *ctx, struct err *err) NODISCARD;

/* What pattern {"String": "..."} or {"Regex": "..."} is. */
bool json_part_pattern(struct tokenizer *t, const json_t *part, const struct pattern **ret,
        struct err *err) NODISCARD;

/* The parts of a tokenizer.json; a part that is NULL or null does nothing. */
bool json_normalizer_read(struct tokenizer *t, const json_t *part, struct err *err) NODISCARD;
/* *ret_byte_level becomes true where bytes are to be written in their alphabet. */
bool json_pretokenizer_read(
        struct tokenizer *t, const json_t *part, bool *ret_byte_level, struct err *err) NODISCARD;
/* The "post_processor". */
bool json_framing_read(struct tokenizer *t, const json_t *part, struct err *err) NODISCARD;
bool json_model_read(
        struct tokenizer *t, const json_t *model, bool byte_level, struct err *err) NODISCARD;

/* A tokenizer from all the parts of a tokenizer.json, which need not outlive it. */
bool tokenizer_open_parts(
        const json_t *all, struct tokenizer **ret_tokenizer, struct err *err) NODISCARD;

#endif
