/*
 * The names of a plane, and the stats that refer to them.
 */
#include "trace/readers/xplane.h"

#include <math.h>
#include <stdlib.h>

static const struct {
	struct str name;
	enum xstat which;
} known_stats[] = {
	{ STR_INIT("addr"), XSTAT_ADDRESS },
	{ STR_INIT("allocation_bytes"), XSTAT_ALLOCATION_BYTES },
	{ STR_INIT("allocator_name"), XSTAT_ALLOCATOR },
	{ STR_INIT("bytes_accessed"), XSTAT_BYTES_ACCESSED },
	{ STR_INIT("bytes_allocated"), XSTAT_BYTES_ALLOCATED },
	{ STR_INIT("core_count"), XSTAT_CORE_COUNT },
	{ STR_INIT("correlation_id"), XSTAT_CORRELATION },
	{ STR_INIT("index_on_host"), XSTAT_DEVICE_ON_HOST },
	{ STR_INIT("device_type_string"), XSTAT_DEVICE_TYPE },
	{ STR_INIT("device_vendor"), XSTAT_DEVICE_VENDOR },
	{ STR_INIT("flops"), XSTAT_FLOPS },
	{ STR_INIT("cuda_graph_id"), XSTAT_GRAPH },
	{ STR_INIT("hlo_category"), XSTAT_HLO_CATEGORY },
	{ STR_INIT("hlo_op"), XSTAT_HLO_OP },
	{ STR_INIT("_r"), XSTAT_IS_ROOT },
	{ STR_INIT("kernel_details"), XSTAT_KERNEL_DETAILS },
	{ STR_INIT("compute_cap_major"), XSTAT_MAJOR },
	{ STR_INIT("memcpy_details"), XSTAT_MEMCPY_DETAILS },
	{ STR_INIT("memory_size"), XSTAT_MEMORY_BYTES },
	{ STR_INIT("compute_cap_minor"), XSTAT_MINOR },
	{ STR_INIT("profile_start_time"), XSTAT_PROFILE_START },
	{ STR_INIT("step_num"), XSTAT_STEP },
	{ STR_INIT("tf_op"), XSTAT_TF_OP },
};

static enum xstat which_stat(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(known_stats); i++)
		if (str_eq(known_stats[i].name, name))
			return known_stats[i].which;
	return XSTAT_OTHER;
}

static uint32_t id_number(struct intern *ids, uint64_t id)
{
	return intern_add(ids, (struct str){ (const char *)&id, sizeof id });
}

/* Room for element n of an array, zeroed from there on. */
static void *room_at(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	size_t wider = (n + 1) * 2;
	char *bytes = mem_realloc(v, wider * size);
	memset(bytes + *cap * size, 0, (wider - *cap) * size);
	*cap = wider;
	return bytes;
}

static void add_event_meta(struct xplane *p, uint64_t id, struct str message)
{
	uint32_t i = id_number(&p->event_ids, id);
	p->events = room_at(p->events, i, &p->cap_events, sizeof *p->events);
	struct xevent_meta meta = { .message = message };
	struct pb r = pb_of(message);
	struct pb_field f;
	while (pb_next(&r, &f)) {
		if (f.number == 2)
			meta.name = f.bytes;
		else if (f.number == 4)
			meta.display = f.bytes;
	}
	p->events[i] = meta;
}

static void add_stat_meta(struct xplane *p, uint64_t id, struct str message)
{
	uint32_t i = id_number(&p->stat_ids, id);
	p->stats = room_at(p->stats, i, &p->cap_stats, sizeof *p->stats);
	struct pb r = pb_of(message);
	struct pb_field f;
	while (pb_next(&r, &f))
		if (f.number == 2)
			p->stats[i] = (struct xstat_meta){ f.bytes, which_stat(f.bytes) };
}

/* An entry of a map: 1 the key, 2 the value. */
static void add_entry(struct xplane *p, struct str entry, bool is_event)
{
	struct pb r = pb_of(entry);
	struct pb_field f;
	uint64_t id = 0;
	struct str message = { "", 0 };
	while (pb_next(&r, &f)) {
		if (f.number == 1)
			id = f.value;
		else if (f.number == 2)
			message = f.bytes;
	}
	if (is_event)
		add_event_meta(p, id, message);
	else
		add_stat_meta(p, id, message);
}

static const struct xstat_meta *stat_meta(const struct xplane *p, uint64_t id)
{
	int64_t i = intern_find(&p->stat_ids, (struct str){ (const char *)&id, sizeof id });
	return i > 0 ? &p->stats[i] : NULL;
}

/* The value of a stat as a number, if it is one and fits. */
static bool stat_number(const struct pb_field *f, int64_t *ret_number)
{
	if (f->wire == PB_VARINT) {
		*ret_number = pb_i64(f);
		/* Field 3 is unsigned: what is beyond int64 is no number to us. */
		return f->number == 4 || *ret_number >= 0;
	}
	if (f->wire != PB_FIXED64)
		return false;
	double real = pb_double(f);
	if (!(fabs(real) < 9e18))
		return false;
	*ret_number = (int64_t)real;
	return true;
}

static void add_stat(struct xstats *s, const struct xplane *p, struct str message)
{
	struct pb r = pb_of(message);
	struct pb_field f;
	const struct xstat_meta *meta = NULL;
	while (pb_next(&r, &f)) {
		if (f.number == 1) {
			meta = stat_meta(p, f.value);
			if (!meta || meta->which == XSTAT_OTHER)
				return;
			continue;
		}
		if (!meta)
			continue;
		int64_t number = INT64_MIN;
		struct str text = f.bytes;
		if (f.number == 7) {
			const struct xstat_meta *named = stat_meta(p, f.value);
			text = named ? named->name : (struct str){ "", 0 };
		} else if (f.wire != PB_BYTES && !stat_number(&f, &number)) {
			p->t->lost[LOST_BAD_NUMBER]++;
			return;
		}
		s->present |= UINT64_C(1) << meta->which;
		s->number[meta->which] = number;
		s->text[meta->which] = text;
	}
}

void xstats_add(struct xstats *s, const struct xplane *p, struct str message, uint64_t field)
{
	struct pb r = pb_of(message);
	struct pb_field f;
	while (pb_next(&r, &f))
		if (f.number == field && f.wire == PB_BYTES)
			add_stat(s, p, f.bytes);
}

bool xstats_has(const struct xstats *s, enum xstat which)
{
	return s->present >> which & 1;
}

int64_t xstats_number(const struct xstats *s, enum xstat which, int64_t absent)
{
	return xstats_has(s, which) && s->number[which] != INT64_MIN ? s->number[which] : absent;
}

uint32_t xstats_name(const struct xstats *s, enum xstat which, struct timeline *t)
{
	return xstats_has(s, which) && s->text[which].len ? timeline_name(t, s->text[which]) : 0;
}

struct xevent_meta *xplane_event_meta(struct xplane *p, uint64_t id)
{
	int64_t i = intern_find(&p->event_ids, (struct str){ (const char *)&id, sizeof id });
	return i > 0 ? &p->events[i] : NULL;
}

uint32_t xplane_event_name(struct xplane *p, uint64_t id)
{
	struct xevent_meta *meta = xplane_event_meta(p, id);
	if (!meta) {
		char text[24];
		int n = snprintf(text, sizeof text, "#%llu", (unsigned long long)id);
		return timeline_name(p->t, (struct str){ text, (size_t)n });
	}
	if (!meta->is_named) {
		meta->name_number = timeline_name(p->t, meta->name);
		meta->is_named = true;
	}
	return meta->name_number;
}

/* Whether a line is a queue of a GPU: "Stream #17(Kernel)". */
static bool is_stream(struct str line)
{
	struct pb r = pb_of(line);
	struct pb_field f;
	while (pb_next(&r, &f) && f.number < 4)
		if (f.number == 2)
			return str_starts(f.bytes, STR("Stream #"));
	return false;
}

/* "/device:GPU:3" is device 3. */
static void name_plane(struct xplane *p, struct str name)
{
	p->name = timeline_name(p->t, name);
	if (str_starts(name, STR("/host:")))
		p->use = XPLANE_HOST;
	if (!str_starts(name, STR("/device:")))
		return;
	p->use = XPLANE_DEVICE;
	size_t at = name.len;
	while (at > 0 && name.s[at - 1] >= '0' && name.s[at - 1] <= '9')
		at--;
	struct str digits = { name.s + at, name.len - at };
	if (at == 0 || name.s[at - 1] != ':' || !str_to_i64(digits, &p->device))
		p->device = TRACE_NONE;
}

void xplane_read_meta(struct xplane *p, struct str message)
{
	struct pb r = pb_of(message);
	struct pb_field f;
	p->use = XPLANE_OTHER;
	p->device = TRACE_NONE;
	while (pb_next(&r, &f)) {
		if (f.wire != PB_BYTES)
			continue;
		if (f.number == 2)
			name_plane(p, f.bytes);
		else if (f.number == 3)
			p->has_streams |= is_stream(f.bytes);
		else if (f.number == 4 || f.number == 5)
			add_entry(p, f.bytes, f.number == 4);
	}
	p->t->truncated |= r.cut;
	p->t->lost[LOST_BROKEN] += r.broken;
	xstats_add(&p->own, p, message, 6);
}

void xplane_release(struct xplane *p)
{
	intern_release(&p->event_ids);
	intern_release(&p->stat_ids);
	free(p->events);
	free(p->stats);
}
