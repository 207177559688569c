#include "trace/run/run_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An event, to be sorted by track. */
struct placed {
	uint32_t track, name;
	int64_t start_ns, end_ns;
};

static int by_track(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool has_extent(int group)
{
	return group != GROUP_MEMORY && group != GROUP_INSTANT && group != GROUP_PYTHON;
}

static size_t place_all(const struct timeline *t, struct placed **ret)
{
	size_t n = 0;
	for (int g = 0; g < N_GROUPS; g++)
		n += has_extent(g) ? t->lists[g].n : 0;
	struct placed *v = mem_zeroed(n + 1, sizeof *v);
	n = 0;
	for (int g = 0; g < N_GROUPS; g++) {
		for (size_t i = 0; has_extent(g) && i < t->lists[g].n; i++) {
			const struct event *e = &t->lists[g].v[i];
			v[n++] = (struct placed){ e->track, e->name, e->start_ns,
				e->start_ns + e->dur_ns };
		}
	}
	qsort(v, n, sizeof *v, by_track);
	*ret = v;
	return n;
}

static int by_total(const void *a, const void *b)
{
	const struct trace_group *x = a, *y = b;
	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static void fill_top(const struct timeline *t, const struct placed *v, size_t n, int64_t top,
        struct arena *run, struct trace_track *ret)
{
	struct aggregate names = { 0 };
	for (size_t i = 0; i < n; i++)
		aggregate_add(&names, v[i].name, 0, v[i].end_ns - v[i].start_ns, 0);
	struct trace_group *rows = mem_zeroed(names.n, sizeof *rows);
	for (size_t i = 0; i < names.n; i++) {
		ret->total_ns = add_held(ret->total_ns, names.rows[i].total_ns);
		rows[i] = (struct trace_group){
			.name = timeline_name_of(t, (uint32_t)names.rows[i].key),
			.calls = names.rows[i].calls,
			.total_ns = names.rows[i].total_ns,
		};
	}
	qsort(rows, names.n, sizeof *rows, by_total);
	ret->n_top = (int64_t)names.n < top ? names.n : (size_t)top;
	ret->top = arena_new_n(run, struct trace_group, ret->n_top);
	for (size_t i = 0; i < ret->n_top; i++) {
		ret->top[i] = rows[i];
		ret->top[i].name = str_dup(rows[i].name, run);
		ret->top[i].ratio =
		        ret->total_ns > 0 ? (double)rows[i].total_ns / (double)ret->total_ns : NAN;
	}
	free(rows);
	aggregate_release(&names);
}

static struct str text_of(const struct timeline *t, uint32_t name, struct arena *run)
{
	return str_dup(timeline_name_of(t, name), run);
}

/* One track, whose events are in order of start. */
static void fill_track(const struct timeline *t, const struct placed *v, size_t n, int64_t top,
        struct arena *run, struct trace_track *ret)
{
	const struct track *track = timeline_track_of(t, v[0].track);
	int64_t end_ns = v[0].start_ns;
	for (size_t i = 0; i < n; i++) {
		int64_t from_ns = v[i].start_ns > end_ns ? v[i].start_ns : end_ns;
		if (v[i].end_ns > from_ns)
			ret->busy_ns += v[i].end_ns - from_ns;
		if (v[i].end_ns > end_ns)
			end_ns = v[i].end_ns;
	}
	ret->process = text_of(t, track->pid, run);
	ret->thread = text_of(t, track->stream ? track->stream : track->tid, run);
	ret->label = text_of(t, track->label, run);
	ret->device = track->device;
	ret->events = (int64_t)n;
	ret->span_ns = end_ns - v[0].start_ns;
	fill_top(t, v, n, top, run, ret);
}

/* The device that a line is of. */
static int64_t device_of(const struct timeline *t, const struct trace_line *line)
{
	for (uint32_t i = 1; i < t->tracks.n; i++) {
		const struct track *track = timeline_track_of(t, i);
		if (track->pid == line->plane && track->label == line->name)
			return track->device;
	}
	return TRACE_NONE;
}

/* A line whose sums the reader worked out in finer time. */
static void fill_line(const struct timeline *t, const struct trace_line *line, int64_t top,
        struct arena *run, struct trace_track *ret)
{
	ret->process = text_of(t, line->plane, run);
	ret->thread = ret->label = text_of(t, line->name, run);
	ret->device = device_of(t, line);
	ret->events = line->n_events;
	ret->busy_ns = line->busy_ns;
	ret->span_ns = line->span_ns;
	ret->total_ns = line->total_ns;
	ret->n_top = (int64_t)line->n_names < top ? line->n_names : (size_t)top;
	ret->top = arena_new_n(run, struct trace_group, ret->n_top + 1);
	for (size_t i = 0; i < ret->n_top; i++)
		ret->top[i] = (struct trace_group){
			.name = text_of(t, line->names[i].name, run),
			.calls = line->names[i].n,
			.total_ns = line->names[i].total_ns,
			.ratio = line->total_ns > 0
			                 ? (double)line->names[i].total_ns / (double)line->total_ns
			                 : NAN,
		};
}

static int by_busy(const void *a, const void *b)
{
	const struct trace_track *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->busy_ns < y->busy_ns) - (x->busy_ns > y->busy_ns);
}

/* One track after the other from the events themselves. */
static void add_tracks(const struct timeline *t, size_t file, int64_t top, struct arena *run,
        struct trace_run *ret)
{
	struct placed *events;
	size_t n = place_all(t, &events);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && events[end].track == events[first].track;)
			end++;
		struct trace_track *to = &ret->tracks[ret->n_tracks++];
		to->file = file;
		fill_track(t, events + first, end - first, top, run, to);
	}
	free(events);
}

void run_tracks(const struct trace_view *v, size_t file, int64_t top, struct arena *run,
        struct trace_run *ret)
{
	const struct timeline *t = v->t;
	struct trace_track *all =
	        arena_new_n(run, struct trace_track, ret->n_tracks + t->tracks.n + t->n_lines + 1);
	if (ret->n_tracks)
		memcpy(all, ret->tracks, ret->n_tracks * sizeof *all);
	ret->tracks = all;
	for (size_t i = 0; i < t->n_lines; i++) {
		struct trace_track *to = &ret->tracks[ret->n_tracks++];
		to->file = file;
		fill_line(t, &t->lines[i], top, run, to);
	}
	if (t->n_lines == 0)
		add_tracks(t, file, top, run, ret);
	qsort(ret->tracks, ret->n_tracks, sizeof *ret->tracks, by_busy);
}
