#include "token/charsmap.h"

#include "base/i18n.h"
#include "base/utf8.h"

#include <string.h>
#include <utf8proc.h>

enum { WHOLE_BYTES_MAX = 5 }; /* of a user-perceived character that is looked up as one */

/* The value of a digit, or -1. */
static int digit_of(char c)
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Source: RFC 4648, section 4; false for any other character. */
static bool decode(struct str text, unsigned char *out, size_t *ret_n)
{
	uint32_t bits = 0;
	int n_bits = 0;
	*ret_n = 0;
	while (text.len > 0 && text.s[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int digit = digit_of(text.s[i]);
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			out[(*ret_n)++] = (unsigned char)(bits >> n_bits);
		}
	}
	return true;
}

bool charsmap_read(struct charsmap *map, struct str base64, struct arena *run, struct err *err)
{
	unsigned char *bytes = arena_alloc(run, base64.len + sizeof(uint32_t));
	size_t n;
	uint32_t n_trie;
	if (!decode(base64, bytes, &n))
		return err_set(err, ERR_INPUT, _("the precompiled charsmap is not base64"));
	memcpy(&n_trie, bytes, sizeof(n_trie));
	if (n < sizeof(n_trie) || n_trie > n - sizeof(n_trie) || n_trie % sizeof(uint32_t) ||
	        n_trie == 0)
		return err_set(err, ERR_INPUT, _("the precompiled charsmap is cut off"));
	uint32_t *units = arena_alloc(run, n_trie);
	memcpy(units, bytes + sizeof(n_trie), n_trie);
	size_t at = sizeof(n_trie) + n_trie;
	*map = (struct charsmap){
		.units = units,
		.n_units = n_trie / sizeof(uint32_t),
		.replacements = { (const char *)bytes + at, n - at },
	};
	return true;
}

/* The unit of the trie that this one points to. */
static size_t offset_of(uint32_t unit)
{
	return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* The replacement of the shortest beginning of the text that has one. */
static bool find(const struct charsmap *map, struct str text, struct str *ret)
{
	size_t at = offset_of(map->units[0]);
	for (size_t i = 0; i < text.len && text.s[i]; i++) {
		unsigned char byte = (unsigned char)text.s[i];
		at ^= byte;
		if (at >= map->n_units || (map->units[at] & (1u << 31 | 0xFF)) != byte)
			return false;
		bool ends = map->units[at] >> 8 & 1;
		at ^= offset_of(map->units[at]);
		if (!ends)
			continue;
		size_t value = at < map->n_units ? map->units[at] & 0x7FFFFFFF : SIZE_MAX;
		if (value >= map->replacements.len)
			return false;
		ret->s = map->replacements.s + value;
		ret->len = strnlen(ret->s, map->replacements.len - value);
		return true;
	}
	return false;
}

static void apply_to_char(const struct charsmap *map, struct str c, struct buf *out)
{
	struct str replacement;
	buf_add(out, find(map, c, &replacement) ? replacement : c);
}

static void apply_to_whole(const struct charsmap *map, struct str whole, struct buf *out)
{
	struct str replacement;
	if (whole.len <= WHOLE_BYTES_MAX && find(map, whole, &replacement)) {
		buf_add(out, replacement);
		return;
	}
	while (whole.len > 0) {
		int step = utf8_char(whole.s, whole.len);
		size_t n = step > 0 ? (size_t)step : 1;
		apply_to_char(map, (struct str){ whole.s, n }, out);
		whole.s += n;
		whole.len -= n;
	}
}

void charsmap_apply(const struct charsmap *map, struct str text, struct buf *out)
{
	size_t from = 0;
	utf8proc_int32_t state = 0;
	uint32_t last = 0;
	for (size_t at = 0; at < text.len;) {
		uint32_t c;
		size_t step = utf8_decode((struct str){ text.s + at, text.len - at }, &c);
		if (at > from && utf8proc_grapheme_break_stateful(
		                         (utf8proc_int32_t)last, (utf8proc_int32_t)c, &state)) {
			apply_to_whole(map, (struct str){ text.s + from, at - from }, out);
			from = at;
		}
		last = c;
		at += step ? step : 1;
	}
	apply_to_whole(map, (struct str){ text.s + from, text.len - from }, out);
}
