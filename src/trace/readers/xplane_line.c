/*
 * A line of a plane: its events in order of time, their exact sums, and their way into the
 * timeline.
 *
 * Sums are made in ps from the line's own start, so that they are exact, and rounded once: see
 * struct trace_line.
 */
#include "trace/readers/xplane.h"

#include <stdlib.h>

enum { PS_PER_NS = 1000 };
/* Differences within a line stay within int64: so many ps are 26 days. */
static const int64_t max_ps = INT64_C(1) << 61;

/* Why the event cannot stand on the line, or N_LOSSES. */
static enum loss event_loss(const struct xevent *e, bool is_timed)
{
	if (!is_timed)
		return LOST_NO_TIME;
	if (e->dur_ps < 0)
		return LOST_NEGATIVE;
	if (e->dur_ps > TRACE_MAX_DUR_NS * PS_PER_NS || e->offset_ps < -max_ps ||
	        e->offset_ps > max_ps)
		return LOST_TOO_LONG;
	return N_LOSSES;
}

static void add_event(
        struct xplane *p, struct xline *line, struct xline_scratch *scratch, struct str message)
{
	struct xevent e = { .stats = message, .is_instant = true };
	/* Without an offset it starts with the line; with a count instead it is many events. */
	bool is_timed = true;
	struct pb r = pb_of(message);
	struct pb_field f;
	while (pb_next(&r, &f)) {
		if (f.wire != PB_VARINT)
			continue;
		if (f.number == 1) {
			e.id = f.value;
		} else if (f.number == 2) {
			e.offset_ps = pb_i64(&f);
		} else if (f.number == 3) {
			e.dur_ps = pb_i64(&f);
			e.is_instant = false;
		} else if (f.number == 5) {
			is_timed = false;
		}
	}
	p->t->n_events++;
	enum loss loss = r.broken || r.cut ? LOST_BROKEN : event_loss(&e, is_timed);
	if (loss != N_LOSSES) {
		p->t->lost[loss]++;
		return;
	}
	if (line->n == scratch->cap) {
		scratch->cap = scratch->cap ? scratch->cap * 2 : 256;
		scratch->events = mem_realloc(scratch->events, scratch->cap * sizeof e);
	}
	scratch->events[line->n++] = e;
}

static void parse(
        struct xplane *p, struct xline *line, struct str message, struct xline_scratch *scratch)
{
	struct pb r = pb_of(message);
	struct pb_field f;
	while (pb_next(&r, &f)) {
		if (f.number == 1 && f.wire == PB_VARINT)
			line->id = f.value;
		else if (f.number == 3 && f.wire == PB_VARINT)
			line->timestamp_ns = pb_i64(&f);
		else if (f.wire != PB_BYTES)
			continue;
		else if (f.number == 2)
			line->name = f.bytes;
		else if (f.number == 4)
			add_event(p, line, scratch, f.bytes);
		else if (f.number == 11)
			line->display = f.bytes;
	}
	p->t->lost[LOST_BROKEN] += r.broken;
	line->events = scratch->events;
}

static int by_start(const void *a, const void *b)
{
	const struct xevent *x = a, *y = b;
	if (x->offset_ps != y->offset_ps)
		return x->offset_ps < y->offset_ps ? -1 : 1;
	if (x->dur_ps != y->dur_ps)
		return x->dur_ps > y->dur_ps ? -1 : 1;
	/* The message's place is its order in the file. */
	return x->stats.s < y->stats.s ? -1 : x->stats.s > y->stats.s;
}

static void sort(struct xline *line)
{
	for (size_t i = 1; i < line->n; i++) {
		if (by_start(&line->events[i - 1], &line->events[i]) > 0) {
			qsort(line->events, line->n, sizeof *line->events, by_start);
			return;
		}
	}
}

/* Adds the event's time to that of its name. */
static void add_total(struct xline_scratch *s, uint32_t name, int64_t dur_ps, size_t *n_list)
{
	if (name >= s->n_totals) {
		uint32_t wider = (name + 1) * 2;
		s->totals = mem_realloc(s->totals, wider * sizeof *s->totals);
		memset(s->totals + s->n_totals, 0, (wider - s->n_totals) * sizeof *s->totals);
		s->n_totals = wider;
	}
	struct line_name *total = &s->totals[name];
	if (total->n++ == 0) {
		if (*n_list == s->cap_list) {
			s->cap_list = s->cap_list ? s->cap_list * 2 : 64;
			s->list = mem_realloc(s->list, s->cap_list * sizeof *s->list);
		}
		total->name = name;
		s->list[(*n_list)++].name = name;
	}
	/* Saturates where the durations of a damaged file add up to years. */
	if (__builtin_add_overflow(total->total_ns, dur_ps, &total->total_ns))
		total->total_ns = INT64_MAX;
}

static int by_total(const void *a, const void *b, void *timeline)
{
	const struct line_name *x = a, *y = b;
	const struct timeline *t = timeline;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return str_compare(timeline_name_of(t, x->name), timeline_name_of(t, y->name));
}

/* The largest names of the line, in ps until here; clears the totals. */
static void keep_names(
        struct timeline *t, struct trace_line *sums, struct xline_scratch *s, size_t n_list)
{
	for (size_t i = 0; i < n_list; i++) {
		struct line_name *total = &s->totals[s->list[i].name];
		s->list[i] = *total;
		s->list[i].total_ns = xplane_ns(total->total_ns);
		*total = (struct line_name){ 0 };
	}
	if (n_list == 0)
		return;
	qsort_r(s->list, n_list, sizeof *s->list, by_total, t);
	sums->n_names = n_list < LINE_NAMES_MAX ? n_list : LINE_NAMES_MAX;
	sums->names = arena_new_n(&t->arena, struct line_name, sums->n_names);
	memcpy(sums->names, s->list, sums->n_names * sizeof *s->list);
}

static void add_sums(struct xplane *p, const struct xline *line, struct xline_scratch *scratch)
{
	struct trace_line sums = { .plane = p->name,
		.device = p->device,
		.name = timeline_name(p->t, line->display.len ? line->display : line->name),
		.n_events = (int64_t)line->n };
	int64_t busy_ps = 0, total_ps = 0, end_ps = INT64_MIN;
	size_t n_list = 0;
	for (size_t i = 0; i < line->n; i++) {
		const struct xevent *e = &line->events[i];
		int64_t start = e->offset_ps > end_ps ? e->offset_ps : end_ps;
		if (e->offset_ps + e->dur_ps > start)
			busy_ps += e->offset_ps + e->dur_ps - start;
		if (e->offset_ps + e->dur_ps > end_ps)
			end_ps = e->offset_ps + e->dur_ps;
		if (__builtin_add_overflow(total_ps, e->dur_ps, &total_ps))
			total_ps = INT64_MAX;
		add_total(scratch, xplane_event_name(p, e->id), e->dur_ps, &n_list);
	}
	sums.busy_ns = xplane_ns(busy_ps);
	sums.total_ns = xplane_ns(total_ps);
	if (line->n)
		sums.span_ns = xplane_ns(end_ps - line->events[0].offset_ps);
	keep_names(p->t, &sums, scratch, n_list);
	*timeline_line(p->t) = sums;
}

static enum xline_use use_of(const struct xplane *p, struct str name)
{
	static const struct str ranges[] = { STR_INIT("XLA Modules"), STR_INIT("Steps") };
	if (p->use == XPLANE_HOST)
		return XLINE_HOST;
	if (p->use != XPLANE_DEVICE || p->device == TRACE_NONE)
		return XLINE_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (str_eq(name, ranges[i]))
			return XLINE_RANGES;
	if (p->has_streams)
		return str_starts(name, STR("Stream #")) ? XLINE_KERNELS : XLINE_OTHER;
	return str_eq(name, STR("XLA Ops")) ? XLINE_OPS : XLINE_OTHER;
}

/* "Stream #17(Kernel)" is stream 17; other lines are streams by their names. */
static struct str stream_of(struct str name)
{
	static const struct str prefix = STR_INIT("Stream #");
	if (!str_starts(name, prefix))
		return name;
	size_t end = prefix.len;
	while (end < name.len && name.s[end] >= '0' && name.s[end] <= '9')
		end++;
	return (struct str){ name.s + prefix.len, end - prefix.len };
}

static uint32_t track_of(struct xplane *p, const struct xline *line)
{
	struct track track;
	char id[24];
	int n = snprintf(id, sizeof id, "%llu", (unsigned long long)line->id);
	memset(&track, 0, sizeof track);
	track.device = line->use == XLINE_HOST ? TRACE_NONE : p->device;
	track.pid = p->name;
	track.tid = timeline_name(p->t, (struct str){ id, (size_t)n });
	track.label = timeline_name(p->t, line->name);
	if (track.device != TRACE_NONE)
		track.stream = timeline_name(p->t, stream_of(line->name));
	return timeline_track(p->t, &track);
}

void xline_read(struct xplane *p, struct str message, struct xline_scratch *scratch)
{
	struct xline line = { .name = { "", 0 } };
	parse(p, &line, message, scratch);
	sort(&line);
	add_sums(p, &line, scratch);
	if (line.timestamp_ns > TRACE_MAX_TIME_NS || line.timestamp_ns < -TRACE_MAX_TIME_NS) {
		p->t->lost[LOST_TOO_LONG] += (int64_t)line.n;
		return;
	}
	line.use = use_of(p, line.name);
	line.track = track_of(p, &line);
	for (size_t i = 0; i < line.n; i++)
		xevent_add(p, &line, i);
}

void xline_scratch_release(struct xline_scratch *scratch)
{
	free(scratch->events);
	free(scratch->totals);
	free(scratch->list);
}
