/*
 * chrome.c - Chrome traces whose writer is not known: spans are kept as what they are called,
 * nothing is work of a device.
 *
 * Source: Trace Event Format, the document of Chromium.
 */
#include "trace/readers/chrome_event.h"
#include "trace/readers/readers.h"
#include "trace/readers/span_pairs.h"
#include "trace/readers/track_names.h"

#include <string.h>

struct chrome {
	struct span_pairs threads, async;
	struct intern async_ids;
	struct track_names names;
	struct buf tmp;
};

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)cat, (void)name;
	return ph.len == 1 && (ph.s[0] == 'M' || ph.s[0] == 'C');
}

static void add_mark(struct chrome_part *part, const struct raw_event *e, bool is_end)
{
	struct chrome *state = part->state;
	struct event at = { 0 };
	if (!chrome_start(&part->t, e, &at))
		return;
	struct span_mark mark = { .time_ns = at.start_ns, .is_end = is_end };
	mark.name = e->name.len ? chrome_name(&part->t, e, &state->tmp) : 0;
	mark.track = mark.key = chrome_host_track(&part->t, e);
	span_pairs_add(&state->threads, &mark);
}

/* Spans that begin and end anywhere, joined by category and id. */
static void add_async(struct chrome_part *part, const struct raw_event *e, bool is_end)
{
	struct chrome *state = part->state;
	const struct str parts[] = { e->cat, e->id, e->pid };
	struct event at = { 0 };
	if (!chrome_start(&part->t, e, &at))
		return;
	struct span_mark mark = { .time_ns = at.start_ns, .is_end = is_end };
	mark.name = e->name.len ? chrome_name(&part->t, e, &state->tmp) : 0;
	mark.track = chrome_host_track(&part->t, e);
	buf_clear(&state->tmp);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		buf_add(&state->tmp, parts[i]);
		buf_add_char(&state->tmp, '\0');
	}
	mark.key = intern_add(&state->async_ids, buf_str(&state->tmp));
	span_pairs_add(&state->async, &mark);
}

static void add_span(struct chrome_part *part, const struct raw_event *e)
{
	struct chrome *state = part->state;
	struct event event = { 0 };
	if (!chrome_span(&part->t, e, &event))
		return;
	event.name = chrome_name(&part->t, e, &state->tmp);
	event.track = chrome_host_track(&part->t, e);
	timeline_add(&part->t, GROUP_OTHER, &event);
}

static void chrome_event(struct chrome_part *part, const struct raw_event *e)
{
	struct chrome *state = part->state;
	switch (e->ph.len == 1 ? e->ph.s[0] : '\0') {
	case 'X':
		add_span(part, e);
		break;
	case 'B':
	case 'E':
		add_mark(part, e, e->ph.s[0] == 'E');
		break;
	case 'b':
	case 'e':
		add_async(part, e, e->ph.s[0] == 'e');
		break;
	/* The same, as written until 2014. */
	case 'S':
	case 'F':
		add_async(part, e, e->ph.s[0] == 'F');
		break;
	case 'i':
	case 'I':
	case 'R':
	case 'n':
	case 'T':
	case 'p':
		chrome_instant(&part->t, e, &state->tmp);
		break;
	case 'C':
		chrome_counters(&part->t, e, &state->tmp);
		break;
	case 'M':
		track_names_add(&state->names, &part->t, e);
		break;
	default:
		break; /* flows, objects and samples are counted by their ph */
	}
}

static struct track_use use_of(struct str process, struct str thread, struct str labels)
{
	(void)process, (void)thread, (void)labels;
	return (struct track_use){ .group = GROUP_OTHER, .device = TRACE_NONE };
}

static void chrome_finish(struct chrome_part *part)
{
	struct chrome *state = part->state;
	span_pairs_close(&state->threads, &part->t);
	span_pairs_close(&state->async, &part->t);
	track_names_apply(&state->names, &part->t, use_of, NULL);
}

static void chrome_release(struct chrome_part *part)
{
	struct chrome *state = part->state;
	span_pairs_release(&state->threads);
	span_pairs_release(&state->async);
	intern_release(&state->async_ids);
	track_names_release(&state->names);
	buf_release(&state->tmp);
}

static const struct chrome_dialect chrome_dialect = {
	.name = "chrome",
	.state_bytes = sizeof(struct chrome),
	.wants_args = wants_args,
	.event = chrome_event,
	.finish = chrome_finish,
	.release = chrome_release,
};

/* Text in which events or their array are named. */
static bool recognises(const struct source *source)
{
	struct str head = source->head;
	if (!source_is_text(source))
		return false;
	return str_find(head, STR("\"ph\"")) >= 0 || str_find(head, STR("\"traceEvents\"")) >= 0;
}

static bool read_chrome(struct source *source, struct timeline *t, struct err *err)
{
	return chrome_read(source, &chrome_dialect, t, err);
}

const struct trace_reader chrome_reader = { "chrome", recognises, read_chrome };
