#include "token/chars.h"

#include "base/utf8.h"

#include <string.h>
#include <utf8proc.h>

static bool has_category(uint32_t c, uint32_t categories)
{
	return categories >> utf8proc_category((utf8proc_int32_t)c) & 1;
}

#define IN(category) (1u << UTF8PROC_CATEGORY_##category)

bool char_is_space(uint32_t c)
{
	return (c >= '\t' && c <= '\r') || c == 0x85 || has_category(c, IN(ZS) | IN(ZL) | IN(ZP));
}

bool char_is_number(uint32_t c)
{
	return has_category(c, IN(ND) | IN(NL) | IN(NO));
}

bool char_is_punctuation(uint32_t c)
{
	if (c < 0x80)
		return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
		       (c >= '{' && c <= '~');
	return has_category(c, IN(PC) | IN(PD) | IN(PS) | IN(PE) | IN(PI) | IN(PF) | IN(PO));
}

bool char_is_mark(uint32_t c)
{
	return has_category(c, IN(MN) | IN(MC) | IN(ME));
}

bool char_is_nonspacing(uint32_t c)
{
	return has_category(c, IN(MN));
}

bool char_is_word(uint32_t c)
{
	return char_is_mark(c) || has_category(c, IN(LU) | IN(LL) | IN(LT) | IN(LM) | IN(LO) |
	                                                  IN(ND) | IN(NL) | IN(PC));
}

bool char_is_control(uint32_t c)
{
	if (c == '\t' || c == '\n' || c == '\r')
		return false;
	return has_category(c, IN(CC) | IN(CF) | IN(CO) | IN(CS));
}

bool char_is_chinese(uint32_t c)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = { { 0x4E00, 0x9FFF }, { 0x3400, 0x4DBF }, { 0x20000, 0x2A6DF },
		{ 0x2A700, 0x2B73F }, { 0x2B740, 0x2B81F }, { 0x2B920, 0x2CEAF },
		{ 0xF900, 0xFAFF }, { 0x2F800, 0x2FA1F } };
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

void char_add_lower(struct buf *out, uint32_t c)
{
	if (c == 0x130) /* the only one that takes two characters */
		buf_add_c(out, "i\xCC\x87");
	else
		utf8_encode(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
}

static const utf8proc_option_t form_options[] = {
	[CHAR_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
	[CHAR_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
	[CHAR_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
	[CHAR_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};

/* Bytes at the start that are UTF-8; *ret_plain: they are ASCII, which is in every form. */
static size_t whole_text(struct str text, bool *ret_plain)
{
	size_t n = 0;
	*ret_plain = true;
	while (n < text.len) {
		int step = utf8_char(text.s + n, text.len - n);
		if (step <= 0)
			break;
		*ret_plain = *ret_plain && step == 1;
		n += (size_t)step;
	}
	return n;
}

/*
 * Appends n bytes of UTF-8 in a normal form. The code points are laid out behind what is in the
 * buffer and turned into bytes where they are.
 */
static bool make_form(struct buf *out, const char *s, size_t n, enum char_form form)
{
	const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)s;
	size_t n_chars = n;
	for (;;) {
		const size_t align = sizeof(utf8proc_int32_t);
		/* One more, because the bytes end in a NUL. */
		buf_reserve(out, (n_chars + 2) * align);
		size_t at = (out->len + align - 1) / align * align;
		utf8proc_int32_t *chars = (utf8proc_int32_t *)(void *)(out->s + at);
		utf8proc_ssize_t got = utf8proc_decompose(text, (utf8proc_ssize_t)n, chars,
		        (utf8proc_ssize_t)n_chars, form_options[form]);
		if (got < 0)
			return false;
		if ((size_t)got > n_chars) {
			n_chars = (size_t)got;
			continue;
		}
		got = utf8proc_reencode(chars, got, form_options[form]);
		if (got < 0)
			return false;
		memmove(out->s + out->len, chars, (size_t)got);
		out->len += (size_t)got;
		out->s[out->len] = '\0';
		return true;
	}
}

void char_normalize(struct buf *out, struct str text, enum char_form form)
{
	while (text.len > 0) {
		bool plain;
		size_t n = whole_text(text, &plain);
		if (plain || !make_form(out, text.s, n, form))
			buf_add(out, (struct str){ text.s, n });
		if (n < text.len)
			buf_add_char(out, text.s[n++]);
		text.s += n;
		text.len -= n;
	}
}
