#include "trace/readers/rocprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rocprof_record rocprof_record_none(void)
{
	return (struct rocprof_record){
		.start_ns = TRACE_NONE,
		.end_ns = TRACE_NONE,
		.correlation = TRACE_NONE,
		.device = TRACE_NONE,
		.bytes = TRACE_NONE,
		.address = TRACE_NONE,
		.grid = { TRACE_NONE, TRACE_NONE, TRACE_NONE },
		.block = { TRACE_NONE, TRACE_NONE, TRACE_NONE },
		.lds_bytes = TRACE_NONE,
		.registers = TRACE_NONE,
	};
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

int64_t rocprof_int(struct str text)
{
	int64_t value;
	text = str_trim(text);
	if (!str_starts(text, STR("0x")))
		return str_to_i64(text, &value) ? value : TRACE_NONE;
	if (text.len == 2 || text.len > 18)
		return TRACE_NONE;
	uint64_t bits = 0;
	for (size_t i = 2; i < text.len; i++) {
		int digit = digit_of(text.s[i]);
		if (digit > 15)
			return TRACE_NONE;
		bits = bits << 4 | (uint64_t)digit;
	}
	/* An address of the upper half is only compared, never added to. */
	return (int64_t)bits;
}

/* Addresses that are allocated, in a hash with open addressing; a freed one keeps its slot. */
struct live_block {
	int64_t address, bytes, device;
	bool used, live;
};

static struct live_block *block_slot(struct live_block *slots, size_t n_slots, int64_t address)
{
	size_t at = (size_t)(((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15)) >> 20);
	while (slots[at & (n_slots - 1)].used && slots[at & (n_slots - 1)].address != address)
		at++;
	return &slots[at & (n_slots - 1)];
}

static void grow(struct rocprof_state *state)
{
	size_t n_slots = state->n_slots ? state->n_slots * 2 : 256;
	struct live_block *slots = mem_zeroed(n_slots, sizeof *slots);
	state->n_live = 0;
	for (size_t i = 0; i < state->n_slots; i++) {
		if (!state->live[i].live)
			continue;
		*block_slot(slots, n_slots, state->live[i].address) = state->live[i];
		state->n_live++;
	}
	free(state->live);
	state->live = slots;
	state->n_slots = n_slots;
}

static struct live_block *block_of(struct rocprof_state *state, int64_t address)
{
	if (state->n_live * 2 >= state->n_slots)
		grow(state);
	struct live_block *b = block_slot(state->live, state->n_slots, address);
	if (!b->used) {
		*b = (struct live_block){ .address = address, .used = true };
		state->n_live++;
	}
	return b;
}

void rocprof_state_release(struct rocprof_state *state)
{
	free(state->live);
	*state = (struct rocprof_state){ 0 };
}

static uint32_t track_of(struct timeline *t, const struct rocprof_record *r, bool on_device)
{
	struct track k;
	memset(&k, 0, sizeof k);
	k.device = on_device ? r->device : TRACE_NONE;
	k.pid = timeline_name(t, r->pid);
	k.tid = timeline_name(t, on_device ? r->queue : r->thread);
	if (on_device)
		k.stream = timeline_name(t, r->stream.len ? r->stream : r->queue);
	return timeline_track(t, &k);
}

static int64_t told(int64_t value)
{
	return value == TRACE_NONE ? -1 : value;
}

static uint32_t kernel_of(struct timeline *t, const struct rocprof_record *r)
{
	struct kernel_detail d = kernel_detail_none();
	for (int i = 0; i < 3; i++) {
		d.grid[i] = told(r->grid[i]);
		d.block[i] = told(r->block[i]);
	}
	d.shared_bytes = told(r->lds_bytes);
	d.registers = told(r->registers);
	d.grid_in_items = 1;
	return timeline_detail(t, DETAIL_KERNEL, &d);
}

static const struct copy_direction {
	struct str name, kind_name;
	enum copy_kind kind;
	enum memory_kind from, to;
} directions[] = {
	/* Of the host's memory it is not told whether it is pinned. */
	{ STR_INIT("HOST_TO_DEVICE"), STR_INIT("HtoD"), COPY_HTOD, MEMORY_UNKNOWN, MEMORY_DEVICE },
	{ STR_INIT("DEVICE_TO_HOST"), STR_INIT("DtoH"), COPY_DTOH, MEMORY_DEVICE, MEMORY_UNKNOWN },
	{ STR_INIT("DEVICE_TO_DEVICE"), STR_INIT("DtoD"), COPY_DTOD, MEMORY_DEVICE, MEMORY_DEVICE },
	{ STR_INIT("HOST_TO_HOST"), STR_INIT("HtoH"), COPY_HTOH, MEMORY_UNKNOWN, MEMORY_UNKNOWN },
	{ STR_INIT(""), STR_INIT("?"), COPY_OTHER, MEMORY_UNKNOWN, MEMORY_UNKNOWN },
};

static uint32_t copy_of(struct timeline *t, const struct rocprof_record *r)
{
	const struct copy_direction *dir = directions;
	struct copy_detail d;
	while (!str_ends(r->name, dir->name))
		dir++;
	memset(&d, 0, sizeof d);
	d.bytes = told(r->bytes);
	d.kind = dir->kind;
	d.kind_name = timeline_name(t, dir->kind_name);
	d.from = dir->from;
	d.to = dir->to;
	return timeline_detail(t, DETAIL_COPY, &d);
}

/* Of a record with a start and an end; what cannot be true is counted. */
static bool times_of(struct timeline *t, const struct rocprof_record *r, struct event *e)
{
	enum loss loss = N_LOSSES;
	if (r->start_ns == TRACE_NONE || r->end_ns == TRACE_NONE)
		loss = LOST_NO_TIME;
	else if (__builtin_sub_overflow(r->end_ns, r->start_ns, &e->dur_ns))
		loss = LOST_TOO_LONG;
	if (loss != N_LOSSES) {
		t->lost[loss]++;
		return false;
	}
	e->start_ns = r->start_ns;
	return true;
}

/* An allocation or a free; a free does not say how much, so that its allocation has to. */
static void add_memory(
        struct timeline *t, struct rocprof_state *state, const struct rocprof_record *r)
{
	struct event e = { 0 };
	struct memory_detail d;
	if (!times_of(t, r, &e))
		return;
	memset(&d, 0, sizeof d);
	struct live_block *b = block_of(state, r->address);
	if (str_ends(r->name, STR("FREE"))) {
		if (!b->live) {
			t->lost[LOST_UNMATCHED]++;
			return;
		}
		b->live = false;
		d.bytes = -b->bytes;
	} else if (r->bytes < 0) {
		t->lost[LOST_BAD_NUMBER]++;
		return;
	} else {
		b->live = true;
		b->bytes = d.bytes = r->bytes;
		b->device = r->device;
	}
	bool of_host = b->device == TRACE_NONE;
	d.address = r->address;
	d.total_allocated = d.total_reserved = -1;
	d.device_type = of_host ? 0 : 6;
	d.device = of_host ? 0 : b->device;
	e.name = timeline_name(t, r->name);
	e.track = track_of(t, r, false);
	e.detail = timeline_detail(t, DETAIL_MEMORY, &d);
	e.dur_ns = 0;
	timeline_add_checked(t, GROUP_MEMORY, &e);
}

/* The name of a kernel without what the code object adds to it. */
static uint32_t kernel_name(struct timeline *t, struct str name)
{
	static const struct str additions[] = { STR_INIT(" [clone .kd]"), STR_INIT(".kd") };
	for (size_t i = 0; i < ARRAY_LEN(additions); i++)
		if (str_ends(name, additions[i]))
			name.len -= additions[i].len;
	return timeline_name(t, name);
}

enum record_form { FORM_KERNEL, FORM_COPY, FORM_MEMORY, FORM_HOST };

/* By the start of the kind; the first that fits. */
static const struct record_kind {
	struct str prefix;
	enum record_form form;
	enum event_group group;
} kinds[] = {
	{ STR_INIT("KERNEL_DISPATCH"), FORM_KERNEL, GROUP_DEVICE },
	{ STR_INIT("MEMORY_COPY"), FORM_COPY, GROUP_DEVICE },
	{ STR_INIT("MEMORY_ALLOCATION"), FORM_MEMORY, GROUP_MEMORY },
	{ STR_INIT("MARKER_CORE"), FORM_HOST, GROUP_ANNOTATION },
	{ STR_INIT("MARKER"), FORM_HOST, GROUP_INSTANT },
	{ STR_INIT("HIP_STREAM"), FORM_HOST, GROUP_OTHER },
	{ STR_INIT("HIP_"), FORM_HOST, GROUP_CALL },
	{ STR_INIT("HSA_"), FORM_HOST, GROUP_CALL },
	{ STR_INIT("RCCL_"), FORM_HOST, GROUP_CALL },
	{ STR_INIT("ROCDECODE_"), FORM_HOST, GROUP_CALL },
	{ STR_INIT("ROCJPEG_"), FORM_HOST, GROUP_CALL },
	{ STR_INIT(""), FORM_HOST, GROUP_OTHER },
};

void rocprof_add(struct timeline *t, struct rocprof_state *state, const struct rocprof_record *r)
{
	const struct record_kind *kind = kinds;
	struct event e = { 0 };
	while (!str_starts(r->kind, kind->prefix))
		kind++;
	if (kind->form == FORM_MEMORY) {
		add_memory(t, state, r);
		return;
	}
	if (!times_of(t, r, &e))
		return;
	if (r->correlation > 0)
		e.link = (uint64_t)r->correlation;
	e.track = track_of(t, r, kind->group == GROUP_DEVICE);
	if (kind->form == FORM_KERNEL) {
		e.name = kernel_name(t, r->name);
		e.kind = DEVICE_KERNEL;
		e.detail = kernel_of(t, r);
	} else if (kind->form == FORM_COPY) {
		e.kind = DEVICE_MEMCPY;
		e.name = timeline_name(t, r->name);
		e.detail = copy_of(t, r);
	} else {
		e.name = timeline_name(t, r->name);
	}
	/* A mark has no extent; a range that short does not exist. */
	enum event_group group = kind->group;
	if (group == GROUP_ANNOTATION && e.dur_ns == 0)
		group = GROUP_INSTANT;
	timeline_add_checked(t, group, &e);
}

void rocprof_counters_add(struct rocprof_counters *c, uint32_t name, double value)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].name == name) {
			c->v[i].value += value;
			return;
		}
	}
	if (c->n == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 16;
		c->v = mem_realloc(c->v, c->cap * sizeof *c->v);
	}
	c->v[c->n++] = (struct launch_metric){ .name = name, .value = value };
}

void rocprof_counters_launch(
        struct rocprof_counters *c, struct timeline *t, const struct rocprof_record *r)
{
	struct profiled_launch *launch = timeline_launch(t);
	char text[32];
	launch->kernel = kernel_name(t, r->name);
	for (int i = 0; i < 3; i++) {
		/* In blocks, as for other profilers; the last one of a row may be partly empty. */
		bool known = r->block[i] > 0 && r->grid[i] > 0;
		launch->grid[i] = known ? (r->grid[i] - 1) / r->block[i] + 1 : -1;
		launch->block[i] = told(r->block[i]);
	}
	if (r->device != TRACE_NONE) {
		int n = snprintf(text, sizeof text, "%lld", (long long)r->device);
		launch->device = timeline_name(t, (struct str){ text, (size_t)n });
	}
	launch->metrics = arena_new_n(&t->arena, struct launch_metric, c->n);
	for (size_t i = 0; i < c->n; i++) {
		int n = snprintf(text, sizeof text, "%.15g", c->v[i].value);
		c->v[i].text = timeline_name(t, (struct str){ text, (size_t)n });
		launch->metrics[i] = c->v[i];
	}
	launch->n_metrics = c->n;
	c->n = 0;
}

void rocprof_counters_release(struct rocprof_counters *c)
{
	free(c->v);
	*c = (struct rocprof_counters){ 0 };
}
