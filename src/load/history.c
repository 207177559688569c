#include "load/history.h"

#include "text/json.h"
#include "text/json_scan.h"

#include <string.h>

static void separate(struct buf *h, bool messages)
{
	if (h->len)
		buf_add(h, messages ? STR(",") : STR("\\n"));
}

void history_add(struct buf *h, bool messages, struct str part)
{
	if (!part.len)
		return;
	separate(h, messages);
	buf_add(h, part);
}

void history_add_text(struct buf *h, bool messages, const char *role, struct str text)
{
	if (messages) {
		struct json j;
		separate(h, true);
		json_init(&j, h, false);
		json_object_open(&j);
		json_put_string(&j, "role", role);
		json_key(&j, "content");
		json_str(&j, text);
		json_object_close(&j);
		return;
	}
	if (!text.len)
		return;
	separate(h, false);
	size_t start = h->len;
	json_escape(h, text);
	/* the inside of the literal */
	memmove(h->s + start, h->s + start + 1, h->len - start - 2);
	h->len -= 2;
	h->s[h->len] = '\0';
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

/* The number of "\uXXXX" at the beginning of text, or -1. */
static int unit_at(struct str text)
{
	int unit = 0;
	if (text.len < 6 || text.s[0] != '\\' || text.s[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = hex_digit(text.s[i]);
		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* How much of raw, which begins with a backslash, is one good escape; 0 when none is. */
static size_t escape_length(struct str raw)
{
	int unit = unit_at(raw);
	if (unit < 0)
		return raw.len > 1 && strchr("\"\\/bfnrt", raw.s[1]) ? 2 : 0;
	if (unit < 0xd800 || unit > 0xdfff)
		return 6;
	int low = unit < 0xdc00 ? unit_at((struct str){ raw.s + 6, raw.len - 6 }) : -1;
	return low >= 0xdc00 && low <= 0xdfff ? 12 : 0;
}

/* Appends raw with nothing but good escapes: half a pair becomes U+FFFD, others a backslash. */
static void mend(struct str raw, struct buf *out)
{
	while (raw.len) {
		size_t used = raw.s[0] == '\\' ? escape_length(raw) : 1;
		if (used) {
			buf_add(out, (struct str){ raw.s, used });
		} else if (unit_at(raw) >= 0) {
			buf_add(out, STR("\\ufffd"));
			used = 6;
		} else {
			buf_add(out, STR("\\\\"));
			used = 1;
		}
		raw = (struct str){ raw.s + used, raw.len - used };
	}
}

void history_add_answer(struct buf *h, bool messages, struct str raw, struct buf *scratch)
{
	buf_clear(scratch);
	if (!json_unescape(raw, scratch)) {
		AUTO(auto_buf) struct buf mended = { 0 };
		mend(raw, &mended);
		if (!json_unescape(buf_str(&mended), scratch))
			buf_clear(scratch);
	}
	history_add_text(h, messages, "assistant", buf_str(scratch));
}
