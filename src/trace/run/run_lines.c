/*
 * The tracks of a file that is made of named lines: their sums stand in the timeline.
 */
#include "trace/run/run_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct str text_of(const struct timeline *t, uint32_t name, struct arena *run)
{
	return str_dup(timeline_name_of(t, name), run);
}

static void fill_top(const struct timeline *t, const struct trace_line *line, int64_t top,
        struct arena *run, struct trace_track *ret)
{
	ret->n_top = (int64_t)line->n_names < top ? line->n_names : (size_t)top;
	ret->top = arena_new_n(run, struct trace_group, ret->n_top);
	for (size_t i = 0; i < ret->n_top; i++) {
		const struct line_name *name = &line->names[i];
		ret->top[i] = (struct trace_group){
			.name = text_of(t, name->name, run),
			.calls = name->n,
			.total_ns = name->total_ns,
			.ratio = line->total_ns > 0
			                 ? (double)name->total_ns / (double)line->total_ns
			                 : NAN,
		};
	}
}

static int by_busy(const void *a, const void *b)
{
	const struct trace_track *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->busy_ns < y->busy_ns) - (x->busy_ns > y->busy_ns);
}

void run_lines(const struct timeline *t, size_t file, int64_t top, struct arena *run,
        struct trace_run *ret)
{
	struct trace_track *all =
	        arena_new_n(run, struct trace_track, ret->n_tracks + t->n_lines + 1);
	if (ret->n_tracks)
		memcpy(all, ret->tracks, ret->n_tracks * sizeof *all);
	ret->tracks = all;
	for (size_t i = 0; i < t->n_lines; i++) {
		const struct trace_line *line = &t->lines[i];
		struct trace_track *to = &ret->tracks[ret->n_tracks++];
		*to = (struct trace_track){
			.file = file,
			.process = text_of(t, line->plane, run),
			.thread = text_of(t, line->name, run),
			.label = text_of(t, line->name, run),
			.device = line->device,
			.events = line->n_events,
			.busy_ns = line->busy_ns,
			.span_ns = line->span_ns,
			.total_ns = line->total_ns,
		};
		fill_top(t, line, top, run, to);
	}
	qsort(ret->tracks, ret->n_tracks, sizeof *ret->tracks, by_busy);
}
