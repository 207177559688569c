/*
 * One event, from its '{' to its '}', as views into the text.
 */
#include "trace/scan/scan.h"

#include <string.h>

const char *scan_string_end(
        const struct scan_ops *ops, const char *p, const char *end, bool *ret_escaped)
{
	for (;;) {
		p = ops->quote(p, end);
		if (p == end)
			return NULL;
		if (*p == '"')
			return p;
		*ret_escaped = true;
		if (end - p < 2)
			return NULL;
		p += 2;
	}
}

/* The member of this name, NULL for one that is not kept. */
static struct str *field_of(struct raw_event *e, struct str key)
{
	switch (key.len) {
	case 1:
		return key.s[0] == 's' ? &e->s : NULL;
	case 2:
		if (key.s[0] == 't')
			return key.s[1] == 's' ? &e->ts : NULL;
		if (key.s[0] == 'p')
			return key.s[1] == 'h' ? &e->ph : NULL;
		if (key.s[0] == 'i')
			return key.s[1] == 'd' ? &e->id : NULL;
		return key.s[0] == 'b' && key.s[1] == 'p' ? &e->bp : NULL;
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
	case 5:
		return memcmp(key.s, "stack", 5) == 0 ? &e->stack : NULL;
	default:
		return NULL;
	}
}

/* What a member's value was read into. */
struct reading {
	const struct scan_ops *ops;
	const char *p, *end;
	enum scan_result result;
};

static bool stop(struct reading *r, enum scan_result result)
{
	r->result = result;
	return false;
}

/* A string, of which the opening quote is at p: between its quotes. */
static bool read_string(struct reading *r, struct str *ret_text, bool *ret_escaped)
{
	const char *from = r->p + 1;
	const char *quote = scan_string_end(r->ops, from, r->end, ret_escaped);
	if (!quote) {
		r->p = r->end;
		return stop(r, SCAN_MORE);
	}
	*ret_text = (struct str){ from, (size_t)(quote - from) };
	r->p = quote + 1;
	if (r->p < r->end && !scan_may_follow(*r->p))
		return stop(r, SCAN_BROKEN);
	return true;
}

/* An object or array, of which the opening bracket is at p. */
static bool read_brackets(struct reading *r, struct str *ret_text)
{
	struct scan_skip skip = { 0 };
	const char *from = r->p;
	const char *after = r->ops->skip(&skip, from, r->end);
	if (!after) {
		r->p = r->end;
		return stop(r, skip.broken ? SCAN_BROKEN : SCAN_MORE);
	}
	*ret_text = (struct str){ from, (size_t)(after - from) };
	r->p = after;
	return true;
}

/* A number or a word; one that is not there, and null, are no value. */
static bool read_word(struct reading *r, struct str *ret_text)
{
	const char *from = r->p;
	while (r->p < r->end && !scan_may_follow(*r->p))
		r->p++;
	if (r->p == r->end)
		return stop(r, SCAN_MORE);
	struct str text = { from, (size_t)(r->p - from) };
	*ret_text = text.len == 0 || str_eq(text, STR("null")) ? (struct str){ 0 } : text;
	return true;
}

static bool read_value(struct reading *r, struct str *ret_text, bool *ret_escaped)
{
	if (*r->p == '"')
		return read_string(r, ret_text, ret_escaped);
	if (*r->p == '{' || *r->p == '[')
		return read_brackets(r, ret_text);
	return read_word(r, ret_text);
}

static bool skip_blanks(struct reading *r)
{
	r->p = scan_blanks(r->p, r->end);
	return r->p < r->end || stop(r, SCAN_MORE);
}

/* "key": with p behind the colon's blanks. */
static bool read_key(struct reading *r, struct str *ret_key)
{
	bool escaped = false;
	if (!read_string(r, ret_key, &escaped) || !skip_blanks(r))
		return false;
	if (*r->p != ':')
		return stop(r, SCAN_BROKEN);
	r->p++;
	return skip_blanks(r);
}

static bool read_member(struct reading *r, scan_wants_args *wants_args, struct raw_event *e)
{
	struct str key, value = { 0 };
	bool escaped = false;
	if (!read_key(r, &key) || !read_value(r, &value, &escaped))
		return false;
	struct str *field = field_of(e, key);
	if (!field)
		return true;
	if (field == &e->name)
		e->name_escaped = escaped;
	if (field == &e->args && !wants_args(e->ph, e->cat, e->name))
		value = (struct str){ 0 };
	*field = value;
	return true;
}

enum scan_result scan_event(const struct scan_ops *ops, const char *p, const char *end,
        scan_wants_args *wants_args, struct raw_event *ret_event, const char **ret_after)
{
	struct reading r = { .ops = ops, .p = p + 1, .end = end };
	*ret_event = (struct raw_event){ 0 };
	for (;;) {
		if (!skip_blanks(&r))
			break;
		if (*r.p == '"') {
			if (!read_member(&r, wants_args, ret_event))
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
