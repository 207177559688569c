/*
 * The work of each device in order of time, and the union of it.
 */
#include "trace/view/view_parts.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Tracks that bear device work, and which device each belongs to. */
struct owners {
	size_t *events;   /* [n tracks]: how many */
	uint32_t *device; /* [n tracks]: its index among ids */
	int64_t *ids;     /* ascending */
	size_t n_tracks, n_ids;
};

static struct owners find_owners(const struct timeline *t)
{
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	struct owners o = { .n_tracks = t->tracks.n ? t->tracks.n : 1 };
	o.events = mem_zeroed(o.n_tracks, sizeof *o.events);
	o.device = mem_zeroed(o.n_tracks, sizeof *o.device);
	o.ids = mem_zeroed(o.n_tracks, sizeof *o.ids);
	for (size_t i = 0; i < list->n; i++)
		o.events[list->v[i].track]++;
	for (uint32_t k = 0; k < o.n_tracks; k++) {
		if (o.events[k])
			o.ids[o.n_ids++] = timeline_track_of(t, k)->device;
	}
	qsort(o.ids, o.n_ids, sizeof *o.ids, by_id);
	size_t n = 0;
	for (size_t i = 0; i < o.n_ids; i++) {
		if (n == 0 || o.ids[i] != o.ids[n - 1])
			o.ids[n++] = o.ids[i];
	}
	o.n_ids = n;
	for (uint32_t k = 0; k < o.n_tracks; k++) {
		int64_t id = timeline_track_of(t, k)->device;
		int64_t *at = bsearch(&id, o.ids, o.n_ids, sizeof id, by_id);
		o.device[k] = at ? (uint32_t)(at - o.ids) : 0;
	}
	return o;
}

static void release_owners(struct owners *o)
{
	free(o->events);
	free(o->device);
	free(o->ids);
}

struct stream_key {
	uint32_t device;
	int64_t stream;
};

static int by_device_and_stream(const void *a, const void *b)
{
	const struct stream_key *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->stream > y->stream) - (x->stream < y->stream);
}

/* Streams by their names: two processes may draw the same one. All devices at once, since damaged
 * files may name as many of them as they have tracks. */
static void count_streams(const struct timeline *t, const struct owners *o, struct device_view *v)
{
	struct stream_key *keys = mem_zeroed(o->n_tracks, sizeof *keys);
	size_t n = 0;
	for (uint32_t k = 0; k < o->n_tracks; k++) {
		if (o->events[k])
			keys[n++] = (struct stream_key){ o->device[k],
				timeline_track_of(t, k)->stream };
	}
	qsort(keys, n, sizeof *keys, by_device_and_stream);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || by_device_and_stream(&keys[i], &keys[i - 1]) != 0)
			v[keys[i].device].n_streams++;
	}
	free(keys);
}

/* The union of a device's work, or of its kernels; order is by start. */
static struct intervals cover(
        const struct event *v, const struct device_view *d, bool kernels_only, struct arena *arena)
{
	struct interval *all = mem_realloc(NULL, (d->n + 1) * sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &v[d->order[i]];
		if (kernels_only && e->kind != DEVICE_KERNEL)
			continue;
		int64_t end = e->start_ns + e->dur_ns;
		if (n && e->start_ns <= all[n - 1].end_ns) {
			if (end > all[n - 1].end_ns)
				all[n - 1].end_ns = end;
		} else if (e->dur_ns > 0) {
			all[n++] = (struct interval){ e->start_ns, end };
		}
	}
	struct intervals u = { arena_new_n(arena, struct interval, n), n };
	for (size_t i = 0; i < n; i++)
		u.v[i] = all[i];
	free(all);
	return u;
}

static const struct device_info *info_of(const struct timeline *t, int64_t id)
{
	for (size_t i = 0; i < t->n_devices; i++) {
		if (t->devices[i].id == id)
			return &t->devices[i];
	}
	return NULL;
}

static void sum_up(struct device_view *d, const struct event *v, struct arena *arena)
{
	d->start_ns = v[d->order[0]].start_ns;
	d->end_ns = INT64_MIN;
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &v[d->order[i]];
		if (e->start_ns + e->dur_ns > d->end_ns)
			d->end_ns = e->start_ns + e->dur_ns;
		if (e->kind != DEVICE_KERNEL)
			continue;
		d->n_kernels++;
		d->kernel_ns += e->dur_ns;
	}
	d->busy = cover(v, d, false, arena);
	d->busy_ns = intervals_length_ns(d->busy);
	d->kernel_busy = cover(v, d, true, arena);
	d->kernel_busy_ns = intervals_length_ns(d->kernel_busy);
}

void view_devices(struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_DEVICE];
	if (list->n == 0)
		return;
	struct owners o = find_owners(v->t);
	v->n_devices = o.n_ids;
	v->devices = arena_new_n(&v->arena, struct device_view, o.n_ids);
	for (uint32_t k = 0; k < o.n_tracks; k++) {
		if (o.events[k])
			v->devices[o.device[k]].n += o.events[k];
	}
	uint32_t *order = arena_new_n(&v->arena, uint32_t, list->n);
	for (size_t i = 0; i < v->n_devices; i++) {
		v->devices[i].id = o.ids[i];
		v->devices[i].info = info_of(v->t, o.ids[i]);
		v->devices[i].order = order;
		order += v->devices[i].n;
		v->devices[i].n = 0;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct device_view *d = &v->devices[o.device[list->v[i].track]];
		d->order[d->n++] = (uint32_t)i;
	}
	count_streams(v->t, &o, v->devices);
	release_owners(&o);
	for (size_t i = 0; i < v->n_devices; i++) {
		struct device_view *d = &v->devices[i];
		view_sort_by_time(list->v, d->order, d->n, false);
		sum_up(d, list->v, &v->arena);
	}
}
