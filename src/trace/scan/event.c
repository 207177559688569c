/*
 * One event, from its '{' to its '}', as views into the text.
 */
#include "trace/scan/bytes_inline.h"

#include <string.h>

/* The member of this name, NULL for one that is not kept. */
static inline struct str *field_of(struct raw_event *e, struct str key)
{
	switch (key.len) {
	case 2:
		if (key.s[0] == 't')
			return key.s[1] == 's' ? &e->ts : NULL;
		if (key.s[0] == 'p')
			return key.s[1] == 'h' ? &e->ph : NULL;
		return key.s[0] == 'i' && key.s[1] == 'd' ? &e->id : NULL;
	case 3:
		if (memcmp(key.s, "dur", 3) == 0)
			return &e->dur;
		if (memcmp(key.s, "cat", 3) == 0)
			return &e->cat;
		if (memcmp(key.s, "pid", 3) == 0)
			return &e->pid;
		return memcmp(key.s, "tid", 3) == 0 ? &e->tid : NULL;
	case 4:
		if (memcmp(key.s, "args", 4) == 0)
			return &e->args;
		return memcmp(key.s, "name", 4) == 0 ? &e->name : NULL;
	default:
		return NULL;
	}
}

/* The loops that one way of reading is made of. */
struct loops {
	const char *(*quote)(const char *p, const char *end);
	const char *(*word)(const char *p, const char *end);
	const char *(*skip)(struct scan_skip *s, const char *p, const char *end);
};

/* Where reading stands. */
struct reading {
	const char *p, *end;
	enum scan_result result;
};

INLINE bool stop(struct reading *r, enum scan_result result)
{
	r->result = result;
	return false;
}

/* A string, of which the opening quote is at p: between its quotes. */
INLINE bool read_string(
        struct loops loops, struct reading *r, struct str *ret_text, bool *ret_escaped)
{
	const char *from = r->p + 1, *p = from;
	for (;;) {
		p = loops.quote(p, r->end);
		if (p < r->end && *p == '"')
			break;
		if (r->end - p < 2) {
			r->p = r->end;
			return stop(r, SCAN_MORE);
		}
		*ret_escaped = true;
		p += 2;
	}
	*ret_text = (struct str){ from, (size_t)(p - from) };
	r->p = p + 1;
	if (r->p < r->end && !scan_may_follow(*r->p))
		return stop(r, SCAN_BROKEN);
	return true;
}

/* An object or array, of which the opening bracket is at p. */
INLINE bool read_brackets(struct loops loops, struct reading *r, struct str *ret_text)
{
	struct scan_skip skip = { 0 };
	const char *from = r->p;
	const char *after = loops.skip(&skip, from, r->end);
	if (!after) {
		r->p = r->end;
		return stop(r, skip.broken ? SCAN_BROKEN : SCAN_MORE);
	}
	*ret_text = (struct str){ from, (size_t)(after - from) };
	r->p = after;
	return true;
}

/* A number or a word; one that is not there, and null, are no value. */
INLINE bool read_word(struct loops loops, struct reading *r, struct str *ret_text)
{
	const char *from = r->p;
	r->p = loops.word(from, r->end);
	if (r->p == r->end)
		return stop(r, SCAN_MORE);
	size_t n = (size_t)(r->p - from);
	bool absent = n == 0 || (n == 4 && memcmp(from, "null", 4) == 0);
	*ret_text = absent ? (struct str){ 0 } : (struct str){ from, n };
	return true;
}

INLINE bool skip_blanks(struct reading *r)
{
	r->p = scan_blanks(r->p, r->end);
	return r->p < r->end || stop(r, SCAN_MORE);
}

/* "key": with p behind the colon's blanks. */
INLINE bool read_key(struct loops loops, struct reading *r, struct str *ret_key)
{
	bool escaped = false;
	if (!read_string(loops, r, ret_key, &escaped) || !skip_blanks(r))
		return false;
	if (*r->p != ':')
		return stop(r, SCAN_BROKEN);
	r->p++;
	return skip_blanks(r);
}

INLINE bool read_member(
        struct loops loops, struct reading *r, scan_wants_args *wants_args, struct raw_event *e)
{
	struct str key, value = { 0 };
	bool escaped = false, ok;
	if (!read_key(loops, r, &key))
		return false;
	if (*r->p == '"')
		ok = read_string(loops, r, &value, &escaped);
	else if (*r->p == '{' || *r->p == '[')
		ok = read_brackets(loops, r, &value);
	else
		ok = read_word(loops, r, &value);
	struct str *field = ok ? field_of(e, key) : NULL;
	if (!field)
		return ok;
	if (field == &e->name)
		e->name_escaped = escaped;
	if (field == &e->args && !wants_args(e->ph, e->cat, e->name))
		value = (struct str){ 0 };
	*field = value;
	return true;
}

INLINE enum scan_result read_event(struct loops loops, const char *p, const char *end,
        scan_wants_args *wants_args, struct raw_event *ret_event, const char **ret_after)
{
	struct reading r = { .p = p + 1, .end = end };
	*ret_event = (struct raw_event){ 0 };
	while (skip_blanks(&r)) {
		if (*r.p == '"') {
			if (!read_member(loops, &r, wants_args, ret_event))
				break;
		} else if (*r.p == ',') {
			r.p++;
		} else {
			r.result = *r.p == '}' ? SCAN_OK : SCAN_BROKEN;
			r.p += *r.p == '}';
			break;
		}
	}
	*ret_after = r.p;
	ret_event->whole = (struct str){ p, (size_t)(r.p - p) };
	return r.result;
}

enum scan_result scan_event_portable(const char *p, const char *end, scan_wants_args *wants_args,
        struct raw_event *ret_event, const char **ret_after)
{
	const struct loops loops = { quote_portable, word_portable, skip_portable };
	return read_event(loops, p, end, wants_args, ret_event, ret_after);
}

#if defined(__x86_64__)

enum scan_result scan_event_sse2(const char *p, const char *end, scan_wants_args *wants_args,
        struct raw_event *ret_event, const char **ret_after)
{
	const struct loops loops = { quote_sse2, word_sse2, skip_sse2 };
	return read_event(loops, p, end, wants_args, ret_event, ret_after);
}

AVX2 enum scan_result scan_event_avx2(const char *p, const char *end, scan_wants_args *wants_args,
        struct raw_event *ret_event, const char **ret_after)
{
	const struct loops loops = { quote_sse2, word_sse2, skip_avx2 };
	return read_event(loops, p, end, wants_args, ret_event, ret_after);
}

#endif
