#include "base/str.h"

#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct str str_of(const char *c_string)
{
	return (struct str){ c_string, c_string ? strlen(c_string) : 0 };
}

bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.s, b.s, a.len) == 0);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int str_compare(struct str a, struct str b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;
	int order = shorter ? memcmp(a.s, b.s, shorter) : 0;
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool str_eq_nocase(struct str a, struct str b)
{
	/* Not strncasecmp: that ends at a NUL and follows the locale. */
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (lower(a.s[i]) != lower(b.s[i]))
			return false;
	return true;
}

bool str_starts(struct str text, struct str prefix)
{
	return text.len >= prefix.len && str_eq((struct str){ text.s, prefix.len }, prefix);
}

bool str_ends(struct str text, struct str suffix)
{
	if (text.len < suffix.len || suffix.len == 0)
		return suffix.len == 0;
	return str_eq((struct str){ text.s + text.len - suffix.len, suffix.len }, suffix);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str text)
{
	while (text.len && is_space(text.s[0])) {
		text.s++;
		text.len--;
	}
	while (text.len && is_space(text.s[text.len - 1]))
		text.len--;
	return text;
}

struct str str_cut(struct str text, char sep, struct str *rest)
{
	const char *at = text.len ? memchr(text.s, sep, text.len) : NULL;
	if (!at) {
		*rest = (struct str){ text.s ? text.s + text.len : NULL, 0 };
		return text;
	}
	size_t before = (size_t)(at - text.s);
	*rest = (struct str){ at + 1, text.len - before - 1 };
	return (struct str){ text.s, before };
}

ptrdiff_t str_find(struct str text, struct str needle)
{
	const char *at = text.len ? memmem(text.s, text.len, needle.s, needle.len) : NULL;
	return at ? at - text.s : -1;
}

struct str str_dup(struct str text, struct arena *arena)
{
	return (struct str){ str_c(text, arena), text.len };
}

char *str_c(struct str text, struct arena *arena)
{
	char *copy = arena_alloc(arena, text.len + 1);
	if (text.len)
		memcpy(copy, text.s, text.len);
	return copy;
}

enum { NUMBER_BYTES = 64 };

/*
 * Numbers are short: a longer text is no number, and strtod wants a NUL. Only these characters:
 * strtod would also take blanks in front, hexadecimal, and "nan".
 */
static bool number_text(struct str text, const char *characters, char out[NUMBER_BYTES])
{
	if (text.len == 0 || text.len >= NUMBER_BYTES)
		return false;
	memcpy(out, text.s, text.len);
	out[text.len] = '\0';
	return strspn(out, characters) == text.len;
}

bool str_to_i64(struct str text, int64_t *ret_value)
{
	char number[NUMBER_BYTES], *end;
	if (!number_text(text, "+-0123456789", number))
		return false;
	errno = 0;
	long long value = strtoll(number, &end, 10);
	if (*end || end == number || errno)
		return false;
	*ret_value = value;
	return true;
}

bool str_to_double(struct str text, double *ret_value)
{
	char number[NUMBER_BYTES], *end;
	if (!number_text(text, "+-.0123456789eE", number))
		return false;
	double value = strtod(number, &end);
	if (*end || end == number || !isfinite(value))
		return false;
	*ret_value = value;
	return true;
}

bool str_read_file(const char *path, size_t max_bytes, struct arena *arena, struct str *ret_text,
        struct err *err)
{
	AUTO(auto_file) FILE *f = fopen(path, "re");
	AUTO(auto_buf) struct buf b = { 0 };
	if (!f)
		return err_set(err, ERR_INPUT, _("cannot open '%s': %s"), path, strerror(errno));
	if (!buf_read(&b, f, max_bytes, err))
		return err_wrap(err, "'%s'", path);
	*ret_text = str_dup(buf_str(&b), arena);
	return true;
}

void buf_release(struct buf *b)
{
	free(b->s);
	*b = (struct buf){ 0 };
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->s)
		b->s[0] = '\0';
}

void buf_reserve(struct buf *b, size_t more)
{
	size_t want;
	if (__builtin_add_overflow(b->len + 1, more, &want))
		want = SIZE_MAX; /* which mem_realloc refuses */
	if (want <= b->cap)
		return;
	size_t cap = b->cap ? b->cap : 256;
	while (cap < want)
		cap = cap > SIZE_MAX / 2 ? SIZE_MAX : cap * 2;
	b->s = mem_realloc(b->s, cap);
	b->cap = cap;
	b->s[b->len] = '\0';
}

void buf_add(struct buf *b, struct str text)
{
	buf_reserve(b, text.len);
	if (text.len)
		memcpy(b->s + b->len, text.s, text.len);
	b->len += text.len;
	b->s[b->len] = '\0';
}

void buf_add_c(struct buf *b, const char *text)
{
	buf_add(b, str_of(text));
}

void buf_add_char(struct buf *b, char c)
{
	buf_add(b, (struct str){ &c, 1 });
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n <= 0)
		return;
	buf_reserve(b, (size_t)n);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

void buf_add_blanks(struct buf *b, int n)
{
	for (int i = 0; i < n; i++)
		buf_add_char(b, ' ');
}

struct str buf_str(const struct buf *b)
{
	return (struct str){ b->s ? b->s : "", b->len };
}

bool buf_read(struct buf *b, FILE *f, size_t max_bytes, struct err *err)
{
	size_t start = b->len, n;
	do {
		buf_reserve(b, 64 * 1024);
		n = fread(b->s + b->len, 1, 64 * 1024, f);
		b->len += n;
		b->s[b->len] = '\0';
		if (b->len - start > max_bytes)
			return err_set(err, ERR_INPUT, _("more than %zu bytes, which is the limit"),
			        max_bytes);
	} while (n > 0);
	if (ferror(f))
		return err_set(err, ERR_INPUT, _("cannot read: %s"), strerror(errno));
	return true;
}

void auto_buf(struct buf *b)
{
	buf_release(b);
}

void auto_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void auto_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

void auto_free(void *p)
{
	free(*(void **)p);
}
