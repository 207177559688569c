#include "trace/analyses/stream_load.h"

#include <stdlib.h>
#include <string.h>

/* A stream gets its first busy interval, or ends one: +1 or -1 at a time. */
struct edge {
	int64_t at_ns;
	int step;
};

struct loading {
	const struct trace_view *v;
	struct stream_loads *loads;
	struct interval *open; /* [n streams]: the busy interval that may still grow */
	struct edge *edges;
	size_t n_edges;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static void close_interval(struct loading *l, uint32_t stream)
{
	struct interval *open = &l->open[stream];
	if (open->end_ns <= open->start_ns)
		return;
	l->loads->v[stream].busy_ns += open->end_ns - open->start_ns;
	l->edges[l->n_edges++] = (struct edge){ open->start_ns, 1 };
	l->edges[l->n_edges++] = (struct edge){ open->end_ns, -1 };
}

static void add_work(struct loading *l, uint32_t stream, const struct event *e)
{
	struct stream_load *s = &l->loads->v[stream];
	struct interval *open = &l->open[stream];
	int64_t end_ns = e->start_ns + e->dur_ns;
	bool first = s->n++ == 0;
	s->ns += e->dur_ns;
	if (!first && e->start_ns <= open->end_ns) {
		open->end_ns = end_ns > open->end_ns ? end_ns : open->end_ns;
		return;
	}
	if (!first)
		close_interval(l, stream);
	*open = (struct interval){ e->start_ns, end_ns };
}

/* The streams of a device by the tracks that bear them: [n tracks], NONE32 for other tracks. */
static uint32_t *find_streams(const struct trace_view *v, const struct device_view *d,
        struct stream_loads *loads, struct arena *arena)
{
	const struct timeline *t = v->t;
	size_t n_tracks = t->tracks.n ? t->tracks.n : 1;
	uint32_t *of_track = mem_realloc(NULL, n_tracks * sizeof *of_track);
	uint32_t *of_name = mem_realloc(NULL, ((size_t)t->names.n + 1) * sizeof *of_name);
	memset(of_track, 0xff, n_tracks * sizeof *of_track);
	memset(of_name, 0xff, ((size_t)t->names.n + 1) * sizeof *of_name);
	loads->v = arena_new_n(arena, struct stream_load, d->n_streams + 1);
	for (size_t i = 0; i < d->n; i++) {
		uint32_t track = t->lists[GROUP_DEVICE].v[d->order[i]].track;
		if (of_track[track] != NONE32)
			continue;
		uint32_t name = timeline_track_of(t, track)->stream;
		if (of_name[name] == NONE32) {
			of_name[name] = (uint32_t)loads->n;
			loads->v[loads->n++].name = name;
		}
		of_track[track] = of_name[name];
	}
	free(of_name);
	return of_track;
}

static int64_t time_of_two(struct edge *edges, size_t n)
{
	int64_t sum = 0;
	int level = 0;
	qsort(edges, n, sizeof *edges, by_time);
	for (size_t i = 0; i < n; i++) {
		if (level >= 2)
			sum += edges[i].at_ns - edges[i - 1].at_ns;
		level += edges[i].step;
	}
	return sum;
}

struct stream_loads stream_loads_of(
        const struct trace_view *v, const struct device_view *d, struct arena *arena)
{
	struct stream_loads loads = { 0 };
	uint32_t *of_track = find_streams(v, d, &loads, arena);
	struct loading l = { .v = v,
		.loads = &loads,
		.open = mem_zeroed(loads.n, sizeof *l.open),
		.edges = mem_realloc(NULL, (2 * d->n + 1) * sizeof *l.edges) };
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &v->t->lists[GROUP_DEVICE].v[d->order[i]];
		add_work(&l, of_track[e->track], e);
	}
	for (uint32_t s = 0; s < loads.n; s++)
		close_interval(&l, s);
	if (loads.n > 1)
		loads.overlap_ns = time_of_two(l.edges, l.n_edges);
	free(of_track);
	free(l.open);
	free(l.edges);
	return loads;
}
