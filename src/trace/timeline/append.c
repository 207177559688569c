/*
 * Joining two pieces of one file: the numbers of the later piece become those of the first.
 */
#include "trace/timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

/* From the numbers of the part to those of the whole. */
struct remap {
	uint32_t *names, *tracks; /* [n of the part] */
	uint32_t *details[N_DETAIL_TYPES];
};

static uint32_t *remap_names(struct timeline *t, const struct timeline *part)
{
	uint32_t *map = mem_zeroed((size_t)part->names.n + 1, sizeof *map);
	for (uint32_t i = 0; i < part->names.n; i++)
		map[i] = intern_add(&t->names, part->names.items[i]);
	return map;
}

static uint32_t *remap_tracks(
        struct timeline *t, const struct timeline *part, const uint32_t *names)
{
	uint32_t *map = mem_zeroed((size_t)part->tracks.n + 1, sizeof *map);
	for (uint32_t i = 1; i < part->tracks.n; i++) {
		struct track k;
		memcpy(&k, part->tracks.items[i].s, sizeof k);
		k.pid = names[k.pid];
		k.tid = names[k.tid];
		k.stream = names[k.stream];
		k.label = names[k.label];
		map[i] = timeline_track(t, &k);
	}
	return map;
}

/* The fields of a detail that are numbers in names. */
static const struct {
	enum detail_type type;
	size_t offset;
} named_fields[] = {
	{ DETAIL_KERNEL, offsetof(struct kernel_detail, op) },
	{ DETAIL_KERNEL, offsetof(struct kernel_detail, category) },
	{ DETAIL_KERNEL, offsetof(struct kernel_detail, graph) },
	{ DETAIL_COPY, offsetof(struct copy_detail, kind_name) },
	{ DETAIL_OPERATOR, offsetof(struct operator_detail, dims) },
	{ DETAIL_OPERATOR, offsetof(struct operator_detail, types) },
	{ DETAIL_OPERATOR, offsetof(struct operator_detail, strides) },
	{ DETAIL_OPERATOR, offsetof(struct operator_detail, values) },
	{ DETAIL_OPERATOR, offsetof(struct operator_detail, op_type) },
	{ DETAIL_OPERATOR, offsetof(struct operator_detail, provider) },
	{ DETAIL_SYNC, offsetof(struct sync_detail, waits_on_stream) },
};

static void remap_detail(enum detail_type type, char *detail, const uint32_t *names)
{
	for (size_t i = 0; i < sizeof named_fields / sizeof *named_fields; i++) {
		uint32_t number;
		if (named_fields[i].type != type)
			continue;
		memcpy(&number, detail + named_fields[i].offset, sizeof number);
		memcpy(detail + named_fields[i].offset, &names[number], sizeof number);
	}
}

static uint32_t *remap_details(struct timeline *t, const struct timeline *part,
        enum detail_type type, const uint32_t *names)
{
	const struct intern *from = &part->details[type];
	uint32_t *map = mem_zeroed((size_t)from->n + 1, sizeof *map);
	for (uint32_t i = 1; i < from->n; i++) {
		/* The part is given up afterwards, so that its own bytes may be changed. */
		char *bytes = (char *)from->items[i].s;
		remap_detail(type, bytes, names);
		map[i] = timeline_detail(t, type, bytes);
	}
	return map;
}

static struct event remap_event(
        const struct event *from, enum event_group group, const struct remap *map)
{
	struct event e = *from;
	e.name = map->names[e.name];
	e.track = map->tracks[e.track];
	if (e.detail)
		e.detail = map->details[detail_type_of(group, e.kind)][e.detail];
	return e;
}

/* Room for n events in all, and no more. */
static void reserve_exactly(struct event_list *list, size_t n)
{
	if (n > list->cap) {
		list->cap = n;
		list->v = mem_realloc(list->v, n * sizeof *list->v);
	}
}

static void append_events(
        struct timeline *t, struct timeline *part, enum event_group group, const struct remap *map)
{
	struct event_list *to = &t->lists[group], *from = &part->lists[group];
	reserve_exactly(to, to->n + from->n);
	for (size_t i = 0; i < from->n; i++)
		to->v[to->n++] = remap_event(&from->v[i], group, map);
	/* Given back list by list, so that the two copies never stand side by side as a whole. */
	free(from->v);
	*from = (struct event_list){ 0 };
}

static void append_tallies(struct tallies *to, const struct tallies *from, const uint32_t *names)
{
	for (size_t i = 0; i < from->n; i++)
		tallies_add(to, names[from->v[i].name], from->v[i].n);
}

static void append_counters(
        struct timeline *t, const struct counter_sample *samples, size_t n, const uint32_t *names)
{
	for (size_t i = 0; i < n; i++) {
		struct counter_sample s = samples[i];
		s.name = names[s.name];
		timeline_counter(t, &s);
	}
}

static void append_devices(struct timeline *t, const struct timeline *part, const uint32_t *names)
{
	for (size_t i = 0; i < part->n_devices; i++) {
		struct device_info *d = timeline_device(t, part->devices[i].id);
		*d = part->devices[i];
		d->name = names[d->name];
	}
}

/* What the file says once, wherever it stands. */
static void append_facts(struct timeline *t, const struct timeline *part, const uint32_t *names)
{
	if (part->base_unix_ns != TRACE_NONE)
		t->base_unix_ns = part->base_unix_ns;
	if (part->has_shapes >= 0)
		t->has_shapes = part->has_shapes;
	if (part->has_stack >= 0)
		t->has_stack = part->has_stack;
	if (part->has_memory >= 0)
		t->has_memory = part->has_memory;
	if (part->rank >= 0)
		t->rank = part->rank;
	if (part->world_size >= 0)
		t->world_size = part->world_size;
	if (part->software)
		t->software = names[part->software];
	t->is_amd |= part->is_amd;
	t->truncated |= part->truncated;
	t->capped |= part->capped;
}

static void append_counts(struct timeline *t, const struct timeline *part)
{
	t->n_bytes += part->n_bytes;
	t->n_events += part->n_events;
	t->n_python += part->n_python;
	for (int i = 0; i < N_LOSSES; i++)
		t->lost[i] += part->lost[i];
	for (int i = 0; i < 128; i++)
		t->phases[i] += part->phases[i];
	if (part->span_start_ns < t->span_start_ns)
		t->span_start_ns = part->span_start_ns;
	if (part->span_end_ns > t->span_end_ns)
		t->span_end_ns = part->span_end_ns;
}

static void remap_init(struct remap *map, struct timeline *t, struct timeline *part)
{
	map->names = remap_names(t, part);
	map->tracks = remap_tracks(t, part, map->names);
	for (int i = 0; i < N_DETAIL_TYPES; i++)
		map->details[i] = remap_details(t, part, i, map->names);
}

static void remap_release(struct remap *map)
{
	free(map->names);
	free(map->tracks);
	for (int i = 0; i < N_DETAIL_TYPES; i++)
		free(map->details[i]);
}

/* All but the lists, whose events have an order, and the bytes of the names. */
static void append_rest(struct timeline *t, const struct timeline *part, const uint32_t *names)
{
	append_tallies(&t->categories, &part->categories, names);
	append_tallies(&t->rows, &part->rows, names);
	append_devices(t, part, names);
	append_facts(t, part, names);
	append_counts(t, part);
}

void timeline_append(struct timeline *t, struct timeline *part)
{
	struct remap map;
	remap_init(&map, t, part);
	for (int g = 0; g < N_GROUPS; g++)
		append_events(t, part, g, &map);
	append_counters(t, part->counters, part->n_counters, map.names);
	append_rest(t, part, map.names);
	remap_release(&map);
	timeline_release(part);
}

/* Where the next run of a part begins in its lists. */
struct join_at {
	struct remap map;
	bool keeps_numbers; /* the numbers of the whole are those of this part */
	size_t n[N_GROUPS], n_counters;
};

static void join_run(struct event_list *to, const struct event *from, size_t n, enum event_group g,
        const struct join_at *at)
{
	if (at->keeps_numbers && n)
		memcpy(to->v + to->n, from, n * sizeof *from);
	else
		for (size_t i = 0; i < n; i++)
			to->v[to->n + i] = remap_event(&from[i], g, &at->map);
	to->n += n;
}

/* The whole, which is empty, begins with what one part has named. */
static void take_numbers(struct timeline *t, struct timeline *part, struct join_at *at)
{
	t->names = part->names;
	t->tracks = part->tracks;
	memcpy(t->details, part->details, sizeof t->details);
	at->keeps_numbers = true;
	at->map.names = mem_zeroed((size_t)t->names.n + 1, sizeof *at->map.names);
	for (uint32_t i = 0; i < t->names.n; i++)
		at->map.names[i] = i;
	part->names = part->tracks = (struct intern){ 0 };
	memset(part->details, 0, sizeof part->details);
}

static void join_group(struct timeline *t, struct timeline *const *parts, size_t n_parts,
        const struct timeline_run *runs, size_t n_runs, struct join_at *at, enum event_group g)
{
	struct event_list *to = &t->lists[g];
	size_t n = 0;
	for (size_t i = 0; i < n_parts; i++)
		n += parts[i]->lists[g].n;
	reserve_exactly(to, n);
	for (size_t r = 0; r < n_runs; r++) {
		struct join_at *a = &at[runs[r].part];
		const struct event *from = parts[runs[r].part]->lists[g].v;
		join_run(to, from ? from + a->n[g] : NULL, runs[r].n[g], g, a);
		a->n[g] += runs[r].n[g];
	}
	for (size_t i = 0; i < n_parts; i++) {
		free(parts[i]->lists[g].v);
		parts[i]->lists[g] = (struct event_list){ 0 };
	}
}

void timeline_join(struct timeline *t, struct timeline *const *parts, size_t n_parts,
        const struct timeline_run *runs, size_t n_runs)
{
	struct join_at *at = mem_zeroed(n_parts, sizeof *at);
	take_numbers(t, parts[0], &at[0]);
	for (size_t i = 1; i < n_parts; i++)
		remap_init(&at[i].map, t, parts[i]);
	for (int g = 0; g < N_GROUPS; g++)
		join_group(t, parts, n_parts, runs, n_runs, at, g);
	for (size_t r = 0; r < n_runs; r++) {
		struct join_at *a = &at[runs[r].part];
		if (runs[r].n_counters)
			append_counters(t, parts[runs[r].part]->counters + a->n_counters,
			        runs[r].n_counters, a->map.names);
		a->n_counters += runs[r].n_counters;
	}
	for (size_t i = 0; i < n_parts; i++) {
		append_rest(t, parts[i], at[i].map.names);
		remap_release(&at[i].map);
		timeline_release(parts[i]);
	}
	free(at);
}
