/*
 * str.h - text as a view (struct str) and as a growing buffer (struct buf).
 *
 * A view owns nothing and need not end in NUL. A buffer owns its bytes, keeps a NUL after the last
 * of them, and is empty when zeroed.
 */
#ifndef VENTURI_BASE_STR_H
#define VENTURI_BASE_STR_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct str {
	const char *s;
	size_t len;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
/* The same as an initializer, for tables that are static. */
#define STR_INIT(literal)                                                                          \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}
/* The two arguments of "%.*s". */
#define STR_ARG(v) (int)(v).len, (v).s

struct str str_of(const char *c_string);
bool str_eq(struct str a, struct str b);
/* Below, at or above 0: by bytes, what another begins with before it. */
int str_compare(struct str a, struct str b);
bool str_eq_nocase(struct str a, struct str b);
bool str_starts(struct str text, struct str prefix);
bool str_ends(struct str text, struct str suffix);
struct str str_trim(struct str text);
/* The part before the first sep; *rest becomes the part after it, empty when there is none. */
struct str str_cut(struct str text, char sep, struct str *rest);
/* The first place of needle in text, or -1. */
ptrdiff_t str_find(struct str text, struct str needle);
/* A copy in the arena, NUL after it. */
struct str str_dup(struct str text, struct arena *arena);
char *str_c(struct str text, struct arena *arena);

/*
 * Whole numbers and decimals in the notation of C, without blanks and hexadecimal; false when any
 * byte is left over, the value does not fit or the text has 64 bytes or more.
 */
bool str_to_i64(struct str text, int64_t *ret_value) NODISCARD;
bool str_to_double(struct str text, double *ret_value) NODISCARD;

/*
 * The whole of a file into the arena, NUL after it.
 *
 * max_bytes  a larger file is an ERR_INPUT that names the limit
 */
bool str_read_file(const char *path, size_t max_bytes, struct arena *arena, struct str *ret_text,
        struct err *err) NODISCARD;

struct buf {
	char *s;
	size_t len;
	size_t cap;
};

void buf_release(struct buf *b);
void buf_clear(struct buf *b);
void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, struct str text);
void buf_add_c(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) PRINTF(2, 0);
/* n blanks; none when n is not above 0. */
void buf_add_blanks(struct buf *b, int n);
struct str buf_str(const struct buf *b);
/* Appends all that is left in f, at most max_bytes; the rest is an ERR_INPUT. */
bool buf_read(struct buf *b, FILE *f, size_t max_bytes, struct err *err) NODISCARD;

/* For AUTO(). */
void auto_buf(struct buf *b);
void auto_fd(int *fd);
void auto_file(FILE **f);
void auto_free(void *p);

#endif
