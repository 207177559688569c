/*
 * Joining two pieces of one file: the numbers of the later piece become those of the first.
 */
#include "trace/timeline.h"

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

static void append_events(
        struct timeline *t, struct timeline *part, enum event_group group, const struct remap *map)
{
	struct event_list *to = &t->lists[group], *from = &part->lists[group];
	if (from->n == 0)
		return;
	if (to->n + from->n > to->cap) {
		to->cap = to->n + from->n;
		to->v = mem_realloc(to->v, to->cap * sizeof *to->v);
	}
	for (size_t i = 0; i < from->n; i++) {
		struct event e = from->v[i];
		e.name = map->names[e.name];
		e.track = map->tracks[e.track];
		if (e.detail)
			e.detail = map->details[detail_type_of(group, e.kind)][e.detail];
		to->v[to->n++] = e;
	}
	/* Given back list by list, so that the two copies never stand side by side as a whole. */
	free(from->v);
	*from = (struct event_list){ 0 };
}

static void append_tallies(struct tallies *to, const struct tallies *from, const uint32_t *names)
{
	for (size_t i = 0; i < from->n; i++)
		tallies_add(to, names[from->v[i].name], from->v[i].n);
}

static void append_counters(struct timeline *t, const struct timeline *part, const uint32_t *names)
{
	for (size_t i = 0; i < part->n_counters; i++) {
		struct counter_sample s = part->counters[i];
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

void timeline_append(struct timeline *t, struct timeline *part)
{
	struct remap map;
	map.names = remap_names(t, part);
	map.tracks = remap_tracks(t, part, map.names);
	for (int i = 0; i < N_DETAIL_TYPES; i++)
		map.details[i] = remap_details(t, part, i, map.names);
	for (int g = 0; g < N_GROUPS; g++)
		append_events(t, part, g, &map);
	append_tallies(&t->categories, &part->categories, map.names);
	append_tallies(&t->rows, &part->rows, map.names);
	append_counters(t, part, map.names);
	append_devices(t, part, map.names);
	append_facts(t, part, map.names);
	append_counts(t, part);
	free(map.names);
	free(map.tracks);
	for (int i = 0; i < N_DETAIL_TYPES; i++)
		free(map.details[i]);
	timeline_release(part);
}
