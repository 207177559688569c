#include "trace/scan/scan.h"

#include <string.h>

void scan_init(struct scan *s, const struct scan_ops *ops, struct chrome_part *part)
{
	*s = (struct scan){ .ops = ops, .part = part };
}

void scan_begin_block(struct scan *s)
{
	s->state = SCAN_EVENTS;
	s->unsure = false;
}

/* One call of scan_feed. */
struct feed {
	struct scan *s;
	const char *text, *p, *end;
	bool last;
};

/*
 * What the steps return: whether to go on. false is the end of what can be read now; what is left
 * is given again.
 */

static bool lose(struct feed *f)
{
	f->s->part->t.lost[LOST_BROKEN]++;
	f->s->state = SCAN_LOST;
	return true;
}

static bool enter(struct feed *f, enum scan_state state)
{
	f->p++;
	f->s->state = state;
	return true;
}

static void count_event(struct chrome_part *part, const struct raw_event *e)
{
	unsigned char ph = e->ph.len == 1 ? (unsigned char)e->ph.s[0] : 0;
	part->t.phases[ph < 128 ? ph : 0]++;
	part->t.n_events++;
}

/*
 * A broken event: reading goes on at the next start behind its own. Where that would cost too much
 * in all, since one thing that is not closed can make every event look broken after a long way, it
 * goes on where it stopped.
 */
static bool lose_event(struct feed *f, const char *after)
{
	enum { RATE = 4 };
	struct scan *s = f->s;
	int64_t n = after - f->p;
	s->unsure |= n > SCAN_CHEAP_BYTES;
	bool dear = n > SCAN_CHEAP_BYTES && s->vain > RATE * s->taken + 32 * SCAN_EVENT_MAX;
	s->vain += n;
	f->p = dear ? after : f->p + 1;
	return lose(f);
}

/* The end of what may belong to a thing that starts at p and has at most max bytes. */
static const char *limit_of(const struct feed *f, int64_t max)
{
	return f->end - f->p > max ? f->p + max : f->end;
}

static bool read_event(struct feed *f)
{
	struct scan *s = f->s;
	struct raw_event e;
	const char *after, *limit = limit_of(f, SCAN_EVENT_MAX);
	enum scan_result result =
	        s->ops->event(f->p, limit, s->part->dialect->wants_args, &e, &after);
	if (result == SCAN_MORE && !f->last && limit == f->end)
		return false;
	if (result != SCAN_OK)
		return lose_event(f, after);
	/* The last element of some writers is empty. */
	if (e.whole.len > 2) {
		count_event(s->part, &e);
		s->part->dialect->event(s->part, &e);
	}
	f->p = after;
	return true;
}

static bool step_events(struct feed *f)
{
	switch (*f->p) {
	case '{':
		return read_event(f);
	case ',':
		f->p++;
		return true;
	case ']':
		return enter(f, SCAN_BEHIND);
	case '}':
		/* Of an object whose array was never closed. */
		return enter(f, SCAN_END);
	default:
		return lose(f);
	}
}

static bool step_head(struct feed *f)
{
	static const struct str byte_order_mark = STR_INIT("\xEF\xBB\xBF");
	struct str text = { f->p, (size_t)(f->end - f->p) };
	if (str_starts(text, byte_order_mark)) {
		f->p += byte_order_mark.len;
		return true;
	}
	if (*f->p == '[') {
		f->s->in_array = true;
		return enter(f, SCAN_EVENTS);
	}
	if (*f->p != '{')
		return lose(f);
	enum scan_result result = scan_is_start(f->p, f->p, f->end);
	if (result == SCAN_MORE && !f->last)
		return false;
	f->s->in_array = result == SCAN_OK;
	if (result == SCAN_OK) {
		f->s->state = SCAN_EVENTS;
		return true;
	}
	return enter(f, SCAN_MEMBERS);
}

/* A member that is too long to be kept. */
static bool step_skip(struct feed *f)
{
	const char *after = f->s->ops->skip(&f->s->skip, f->p, f->end);
	if (f->s->skip.broken)
		return lose(f);
	f->p = after ? after : f->end;
	if (after)
		f->s->state = SCAN_MEMBERS;
	return true;
}

static void show_member(struct feed *f, struct str key, struct str value)
{
	const struct chrome_dialect *dialect = f->s->part->dialect;
	if (dialect->member)
		dialect->member(f->s->part, key, value);
}

/* A member that does not end before limit: whether more of it may come. */
static bool may_wait(const struct feed *f, const char *limit)
{
	return !f->last && limit == f->end;
}

/* The value of a member from its bracket on. */
static bool read_bracket_member(
        struct feed *f, struct str key, const char *value, const char *limit)
{
	struct scan_skip skip = { 0 };
	const char *after = f->s->ops->skip(&skip, value, limit);
	if (after) {
		show_member(f, key, (struct str){ value, (size_t)(after - value) });
		f->p = after;
		return true;
	}
	if (skip.broken) {
		f->p = value + 1;
		return lose(f);
	}
	if (may_wait(f, limit))
		return false;
	f->s->skip = skip;
	f->s->state = SCAN_SKIP;
	f->p = limit;
	return true;
}

/* The value of a member that is a string, a number or a word. */
static bool read_plain_member(struct feed *f, struct str key, const char *value, const char *limit)
{
	const char *after = value;
	struct str text;
	if (*value == '"') {
		bool escaped = false;
		const char *quote = scan_string_end(f->s->ops, value + 1, limit, &escaped);
		text = (struct str){ value + 1, quote ? (size_t)(quote - value - 1) : 0 };
		after = quote ? quote + 1 : limit;
	} else {
		while (after < limit && !scan_may_follow(*after))
			after++;
		text = (struct str){ value, (size_t)(after - value) };
	}
	if (after == limit) {
		if (may_wait(f, limit))
			return false;
		f->p = value;
		return lose(f);
	}
	show_member(f, key, text);
	f->p = after;
	return true;
}

static bool read_member(struct feed *f)
{
	bool escaped = false;
	const char *limit = limit_of(f, SCAN_MEMBER_MAX);
	const char *quote = scan_string_end(f->s->ops, f->p + 1, limit, &escaped);
	const char *colon = quote ? scan_blanks(quote + 1, limit) : limit;
	const char *value = colon < limit ? scan_blanks(colon + 1, limit) : limit;
	if (value == limit && may_wait(f, limit))
		return false;
	if (value == limit || *colon != ':') {
		f->p++;
		return lose(f);
	}
	struct str key = { f->p + 1, (size_t)(quote - f->p - 1) };
	if (*value == '[' && str_eq(key, STR("traceEvents"))) {
		f->p = value;
		return enter(f, SCAN_EVENTS);
	}
	if (*value == '{' || *value == '[')
		return read_bracket_member(f, key, value, limit);
	return read_plain_member(f, key, value, limit);
}

static bool step_members(struct feed *f)
{
	switch (*f->p) {
	case '"':
		return read_member(f);
	case ',':
		f->p++;
		return true;
	case '}':
		return enter(f, SCAN_END);
	default:
		return lose(f);
	}
}

static bool step_behind(struct feed *f)
{
	switch (*f->p) {
	case '}':
		return enter(f, SCAN_END);
	case ',':
	case '"':
		f->s->state = SCAN_MEMBERS;
		return true;
	default:
		return lose(f);
	}
}

/* Another document may follow, or what was in the file before it was written over. */
static bool step_end(struct feed *f)
{
	f->s->unsure = true;
	f->s->state = SCAN_HEAD;
	return true;
}

static bool step_lost(struct feed *f)
{
	const char *start = scan_next_start(f->text, f->p, f->end);
	bool undecided = start == f->end || scan_is_start(f->text, start, f->end) == SCAN_MORE;
	if (!undecided) {
		f->p = start;
		f->s->state = SCAN_EVENTS;
		return true;
	}
	if (f->last) {
		f->p = start < f->end ? start + 1 : start;
		return true;
	}
	/* What stands before a start has its say, too: it is given again. */
	while (start > f->p && (unsigned char)start[-1] <= ' ')
		start--;
	f->p = start > f->p ? start - 1 : start;
	return false;
}

static bool (*const steps[])(struct feed *f) = {
	[SCAN_HEAD] = step_head,
	[SCAN_MEMBERS] = step_members,
	[SCAN_SKIP] = step_skip,
	[SCAN_EVENTS] = step_events,
	[SCAN_BEHIND] = step_behind,
	[SCAN_END] = step_end,
	[SCAN_LOST] = step_lost,
};

bool scan_is_whole(const struct scan *s)
{
	return s->state == SCAN_END || (s->state == SCAN_BEHIND && s->in_array);
}

size_t scan_feed(struct scan *s, struct str text, bool last)
{
	struct feed f = { s, text.s, text.s, text.s + text.len, last };
	bool more = true;
	while (more) {
		/* Blanks inside of a member that is skipped may be in a string. */
		if (s->state != SCAN_SKIP)
			f.p = scan_blanks(f.p, f.end);
		if (f.p == f.end)
			break;
		more = steps[s->state](&f);
	}
	s->taken += f.p - text.s;
	return (size_t)(f.p - text.s);
}
