#include "trace/timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

const char *const event_group_names[N_GROUPS] = {
	[GROUP_DEVICE] = "device",
	[GROUP_OPERATOR] = "operator",
	[GROUP_CALL] = "call",
	[GROUP_SYNC] = "sync",
	[GROUP_ANNOTATION] = "annotation",
	[GROUP_DEVICE_ANNOTATION] = "device_annotation",
	[GROUP_PYTHON] = "python",
	[GROUP_MEMORY] = "memory",
	[GROUP_OVERHEAD] = "overhead",
	[GROUP_RANGE] = "range",
	[GROUP_INSTANT] = "instant",
	[GROUP_OTHER] = "other",
};

void timeline_init(struct timeline *t, const char *path, const char *format)
{
	*t = (struct timeline){
		.path = path,
		.format = format,
		.base_unix_ns = TRACE_NONE,
		.has_shapes = -1,
		.has_stack = -1,
		.has_memory = -1,
		.rank = -1,
		.world_size = -1,
		.span_start_ns = INT64_MAX,
		.span_end_ns = INT64_MIN,
	};
}

void timeline_release(struct timeline *t)
{
	intern_release(&t->names);
	intern_release(&t->tracks);
	for (int i = 0; i < N_DETAIL_TYPES; i++)
		intern_release(&t->details[i]);
	for (int g = 0; g < N_GROUPS; g++)
		free(t->lists[g].v);
	free(t->counters);
	free(t->devices);
	free(t->launches);
	free(t->summaries);
	free(t->lines);
	tallies_release(&t->categories);
	tallies_release(&t->rows);
	arena_release(&t->arena);
	timeline_init(t, NULL, NULL);
}

/* Room for one more behind n in an array that doubles. */
static void *room(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? *cap + *cap / 2 : 64;
	return mem_realloc(v, *cap * size);
}

void timeline_span(struct timeline *t, int64_t start_ns, int64_t dur_ns)
{
	if (start_ns < t->span_start_ns)
		t->span_start_ns = start_ns;
	if (start_ns + dur_ns > t->span_end_ns)
		t->span_end_ns = start_ns + dur_ns;
}

int64_t timeline_length_ns(const struct timeline *t)
{
	return t->span_end_ns > t->span_start_ns ? t->span_end_ns - t->span_start_ns : 0;
}

static void list_add(struct event_list *list, const struct event *e)
{
	list->v = room(list->v, list->n, &list->cap, sizeof *list->v);
	list->v[list->n++] = *e;
}

void timeline_add(struct timeline *t, enum event_group group, const struct event *e)
{
	/* Instants have no extent: they do not say how long the trace is. */
	if (group != GROUP_INSTANT && group != GROUP_MEMORY)
		timeline_span(t, e->start_ns, e->dur_ns);
	list_add(&t->lists[group], e);
}

bool timeline_add_checked(struct timeline *t, enum event_group group, const struct event *e)
{
	enum loss loss = N_LOSSES;
	if (e->start_ns > TRACE_MAX_TIME_NS || e->start_ns < -TRACE_MAX_TIME_NS ||
	        e->dur_ns > TRACE_MAX_DUR_NS)
		loss = LOST_TOO_LONG;
	else if (e->dur_ns < 0)
		loss = LOST_NEGATIVE;
	else if (group == GROUP_DEVICE && e->start_ns == 0)
		loss = LOST_ZERO_TIME;
	if (loss != N_LOSSES) {
		t->lost[loss]++;
		return false;
	}
	timeline_add(t, group, e);
	return true;
}

uint32_t timeline_name(struct timeline *t, struct str name)
{
	return intern_add(&t->names, name);
}

uint32_t timeline_track(struct timeline *t, const struct track *track)
{
	return intern_add(&t->tracks, (struct str){ (const char *)track, sizeof *track });
}

static const size_t detail_sizes[N_DETAIL_TYPES] = {
	[DETAIL_KERNEL] = sizeof(struct kernel_detail),
	[DETAIL_COPY] = sizeof(struct copy_detail),
	[DETAIL_OPERATOR] = sizeof(struct operator_detail),
	[DETAIL_MEMORY] = sizeof(struct memory_detail),
	[DETAIL_SYNC] = sizeof(struct sync_detail),
};

uint32_t timeline_detail(struct timeline *t, enum detail_type type, const void *detail)
{
	return intern_add(&t->details[type], (struct str){ detail, detail_sizes[type] });
}

enum detail_type detail_type_of(enum event_group group, uint32_t kind)
{
	switch (group) {
	case GROUP_DEVICE:
		return kind == DEVICE_KERNEL ? DETAIL_KERNEL : DETAIL_COPY;
	case GROUP_OPERATOR:
		return DETAIL_OPERATOR;
	case GROUP_MEMORY:
		return DETAIL_MEMORY;
	case GROUP_SYNC:
		return DETAIL_SYNC;
	default:
		return DETAIL_NONE;
	}
}

static const void *detail_of(const struct timeline *t, enum detail_type type, const struct event *e)
{
	return e->detail ? intern_str(&t->details[type], e->detail).s : NULL;
}

const struct kernel_detail *timeline_kernel(const struct timeline *t, const struct event *e)
{
	return detail_of(t, DETAIL_KERNEL, e);
}

const struct copy_detail *timeline_copy(const struct timeline *t, const struct event *e)
{
	return detail_of(t, DETAIL_COPY, e);
}

const struct operator_detail *timeline_operator(const struct timeline *t, const struct event *e)
{
	return detail_of(t, DETAIL_OPERATOR, e);
}

const struct memory_detail *timeline_memory(const struct timeline *t, const struct event *e)
{
	return detail_of(t, DETAIL_MEMORY, e);
}

const struct sync_detail *timeline_sync(const struct timeline *t, const struct event *e)
{
	return detail_of(t, DETAIL_SYNC, e);
}

const struct track *timeline_track_of(const struct timeline *t, uint32_t track)
{
	static const struct track none = { .device = TRACE_NONE };
	return track ? (const struct track *)intern_str(&t->tracks, track).s : &none;
}

struct str timeline_name_of(const struct timeline *t, uint32_t name)
{
	return intern_str(&t->names, name);
}

void timeline_counter(struct timeline *t, const struct counter_sample *sample)
{
	t->counters = room(t->counters, t->n_counters, &t->cap_counters, sizeof *t->counters);
	t->counters[t->n_counters++] = *sample;
}

struct device_info *timeline_device(struct timeline *t, int64_t id)
{
	t->devices = room(t->devices, t->n_devices, &t->cap_devices, sizeof *t->devices);
	struct device_info *d = &t->devices[t->n_devices++];
	*d = (struct device_info){ .id = id,
		.n_sm = -1,
		.memory_bytes = -1,
		.compute_major = -1,
		.compute_minor = -1,
		.max_threads_per_sm = -1,
		.max_threads_per_block = -1,
		.registers_per_sm = -1,
		.shared_bytes_per_sm = -1,
		.warp_size = -1 };
	return d;
}

struct profiled_launch *timeline_launch(struct timeline *t)
{
	t->launches = room(t->launches, t->n_launches, &t->cap_launches, sizeof *t->launches);
	struct profiled_launch *l = &t->launches[t->n_launches++];
	*l = (struct profiled_launch){ .grid = { -1, -1, -1 }, .block = { -1, -1, -1 } };
	return l;
}

struct trace_line *timeline_line(struct timeline *t)
{
	t->lines = room(t->lines, t->n_lines, &t->cap_lines, sizeof *t->lines);
	struct trace_line *l = &t->lines[t->n_lines++];
	*l = (struct trace_line){ 0 };
	return l;
}

/* Of the few that there are nearly always, searching is as fast as hashing. */
enum { TALLIES_SEARCHED = 32 };

/* The slot of a name: its own, or the empty one where it would go. */
static uint32_t *tally_slot(const struct tallies *list, uint32_t name)
{
	size_t at = name * UINT32_C(0x9e3779b1);
	for (;; at++) {
		uint32_t *slot = &list->slots[at & (list->n_slots - 1)];
		if (*slot == 0 || list->v[*slot - 1].name == name)
			return slot;
	}
}

static void tallies_hash(struct tallies *list)
{
	free(list->slots);
	list->n_slots = list->n_slots ? list->n_slots * 2 : (size_t)TALLIES_SEARCHED * 4;
	list->slots = mem_zeroed(list->n_slots, sizeof *list->slots);
	for (size_t i = 0; i < list->n; i++)
		*tally_slot(list, list->v[i].name) = (uint32_t)i + 1;
}

static struct tally *tallies_find(const struct tallies *list, uint32_t name)
{
	if (list->n_slots) {
		uint32_t place = *tally_slot(list, name);
		return place ? &list->v[place - 1] : NULL;
	}
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].name == name)
			return &list->v[i];
	return NULL;
}

struct summary_row *timeline_summary(struct timeline *t)
{
	t->summaries = room(t->summaries, t->n_summaries, &t->cap_summaries, sizeof *t->summaries);
	struct summary_row *row = &t->summaries[t->n_summaries++];
	*row = (struct summary_row){ .calls = -1, .total_ns = -1, .max_ns = -1, .bytes = -1 };
	return row;
}

void tallies_add(struct tallies *list, uint32_t name, int64_t n)
{
	struct tally *known = tallies_find(list, name);
	if (known) {
		known->n += n;
		return;
	}
	list->v = room(list->v, list->n, &list->cap, sizeof *list->v);
	list->v[list->n++] = (struct tally){ name, n };
	if (list->n_slots)
		*tally_slot(list, name) = (uint32_t)list->n;
	if (list->n > TALLIES_SEARCHED && list->n * 2 > list->n_slots)
		tallies_hash(list);
}

void tallies_release(struct tallies *list)
{
	free(list->v);
	free(list->slots);
	*list = (struct tallies){ 0 };
}

struct kernel_detail kernel_detail_none(void)
{
	return (struct kernel_detail){
		.grid = { -1, -1, -1 },
		.block = { -1, -1, -1 },
		.registers = -1,
		.shared_bytes = -1,
		.occupancy_percent = -1,
		.flops = -1,
		.bytes = -1,
	};
}

struct operator_detail operator_detail_none(void)
{
	return (struct operator_detail){ .sequence = -1, .output_bytes = -1 };
}
