#include "net/sse.h"

#include <string.h>

/* One call of sse_feed. */
struct feed {
	struct sse *sse;
	const char *at, *end; /* the input that is left */
	const char *lf;       /* the first LF in it, or end: found once, not once per line */
	struct str view;      /* the only data line so far of the event; not yet in sse->data */
	bool (*on_event)(void *ctx, struct sse_event event);
	void *ctx;
};

void sse_reset(struct sse *sse)
{
	buf_clear(&sse->data);
	buf_clear(&sse->line);
	buf_clear(&sse->type);
	sse->has_data = sse->after_cr = sse->started = sse->failed = false;
}

void sse_release(struct sse *sse)
{
	buf_release(&sse->data);
	buf_release(&sse->line);
	buf_release(&sse->type);
	*sse = (struct sse){ 0 };
}

bool sse_pending(const struct sse *sse)
{
	return sse->has_data || sse->line.len > 0;
}

/* Keeps data that are still in the input, or in a line that is about to be reused. */
static void keep_view(struct feed *feed)
{
	if (feed->view.s)
		buf_add(&feed->sse->data, feed->view);
	feed->view = (struct str){ 0 };
}

static bool add_data(struct feed *feed, struct str value)
{
	struct sse *sse = feed->sse;
	if (!sse->has_data) {
		feed->view = value;
		sse->has_data = true;
		return true;
	}
	keep_view(feed);
	if (sse->data.len + 1 + value.len > SSE_EVENT_MAX)
		return false;
	buf_add_char(&sse->data, '\n');
	buf_add(&sse->data, value);
	return true;
}

static bool dispatch(struct feed *feed)
{
	struct sse *sse = feed->sse;
	bool go_on = true;
	if (sse->has_data) {
		struct sse_event event = {
			.type = buf_str(&sse->type),
			.data = feed->view.s ? feed->view : buf_str(&sse->data),
		};
		go_on = feed->on_event(feed->ctx, event);
	}
	buf_clear(&sse->data);
	buf_clear(&sse->type);
	sse->has_data = false;
	feed->view = (struct str){ 0 };
	return go_on;
}

/* "field: value" without its line end. */
static bool on_line(struct feed *feed, struct str line)
{
	struct sse *sse = feed->sse;
	if (!sse->started) {
		const struct str mark = STR("\xEF\xBB\xBF");
		sse->started = true;
		if (str_starts(line, mark))
			line = (struct str){ line.s + mark.len, line.len - mark.len };
	}
	if (line.len == 0)
		return dispatch(feed);
	struct str value;
	struct str field = str_cut(line, ':', &value);
	if (value.len && value.s[0] == ' ')
		value = (struct str){ value.s + 1, value.len - 1 };
	if (str_eq(field, STR("data")))
		return add_data(feed, value);
	if (str_eq(field, STR("event"))) {
		buf_clear(&sse->type);
		buf_add(&sse->type, value);
	}
	return true;
}

/* Where the line that starts at feed->at ends in the input, or NULL. */
static const char *find_line_end(struct feed *feed)
{
	if (!feed->lf || feed->lf < feed->at) {
		feed->lf = memchr(feed->at, '\n', (size_t)(feed->end - feed->at));
		if (!feed->lf)
			feed->lf = feed->end;
	}
	const char *cr = memchr(feed->at, '\r', (size_t)(feed->lf - feed->at));
	return cr ? cr : feed->lf < feed->end ? feed->lf : NULL;
}

/* One line, or what there is of it. */
static bool step(struct feed *feed)
{
	struct sse *sse = feed->sse;
	if (sse->after_cr && *feed->at == '\n') {
		feed->at++;
		sse->after_cr = false;
		return true;
	}
	sse->after_cr = false;
	const char *eol = find_line_end(feed);
	struct str line = { feed->at, (size_t)((eol ? eol : feed->end) - feed->at) };
	if (sse->line.len + line.len > SSE_EVENT_MAX)
		return false;
	feed->at = eol ? eol + 1 : feed->end;
	sse->after_cr = eol && *eol == '\r';
	if (eol && !sse->line.len)
		return on_line(feed, line);
	if (!eol)
		keep_view(feed);
	buf_add(&sse->line, line);
	if (!eol)
		return true;
	/* the bytes stay where they are until the next unfinished line, before which keep_view runs
	 */
	line = buf_str(&sse->line);
	sse->line.len = 0;
	return on_line(feed, line);
}

bool sse_feed(struct sse *sse, struct str bytes,
        bool (*on_event)(void *ctx, struct sse_event event), void *ctx)
{
	struct feed feed = { .sse = sse,
		.at = bytes.s,
		.end = bytes.s + bytes.len,
		.on_event = on_event,
		.ctx = ctx };
	while (feed.at < feed.end && !sse->failed)
		sse->failed = !step(&feed);
	keep_view(&feed);
	return !sse->failed;
}
