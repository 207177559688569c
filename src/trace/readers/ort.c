/*
 * ort.c - profiles of ONNX Runtime: one event a line, whole microseconds since the session began,
 * numbers of arguments as strings, names as they are, without any escape.
 *
 * The writer stops at a million events and says nothing.
 *
 * Source: onnxruntime/core/common/profiler.cc; of a GPU: core/providers/cuda/cupti_manager.cc.
 */
#include "trace/readers/chrome_event.h"
#include "trace/readers/readers.h"

#include <stddef.h>
#include <string.h>

enum { ORT_MAX_EVENTS = 1000 * 1000 };

/* The end of the names of what a node computes. */
static const struct str kernel_time = STR_INIT("_kernel_time");

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)ph, (void)name;
	return !str_eq(cat, STR("Session"));
}

struct arguments {
	struct str op_name, provider, shapes, output_bytes, index;
	struct str stream, grid[3], block[3];
};

static const struct {
	struct str key;
	size_t offset;
} argument_fields[] = {
	{ STR_INIT("op_name"), offsetof(struct arguments, op_name) },
	{ STR_INIT("provider"), offsetof(struct arguments, provider) },
	{ STR_INIT("input_type_shape"), offsetof(struct arguments, shapes) },
	{ STR_INIT("output_size"), offsetof(struct arguments, output_bytes) },
	{ STR_INIT("stream"), offsetof(struct arguments, stream) },
	{ STR_INIT("grid_x"), offsetof(struct arguments, grid[0]) },
	{ STR_INIT("grid_y"), offsetof(struct arguments, grid[1]) },
	{ STR_INIT("grid_z"), offsetof(struct arguments, grid[2]) },
	{ STR_INIT("block_x"), offsetof(struct arguments, block[0]) },
	{ STR_INIT("block_y"), offsetof(struct arguments, block[1]) },
	{ STR_INIT("block_z"), offsetof(struct arguments, block[2]) },
};

static struct arguments arguments_of(struct str args)
{
	struct arguments a = { 0 };
	struct chrome_members m = chrome_members_of(args);
	struct str key, value;
	while (chrome_members_next(&m, &key, &value))
		for (size_t i = 0; i < ARRAY_LEN(argument_fields); i++)
			if (str_eq(key, argument_fields[i].key))
				*(struct str *)((char *)&a + argument_fields[i].offset) = value;
	return a;
}

static void add_node(struct timeline *t, const struct raw_event *e, struct event *event)
{
	struct arguments a = arguments_of(e->args);
	struct operator_detail d = operator_detail_none();
	struct str node = { e->name.s, e->name.len - kernel_time.len };
	d.op_type = chrome_text(t, a.op_name);
	d.provider = chrome_text(t, a.provider);
	d.dims = chrome_text(t, a.shapes);
	d.output_bytes = chrome_number(t, a.output_bytes, -1);
	if (d.dims)
		t->has_shapes = 1;
	event->name = timeline_name(t, node);
	event->detail = timeline_detail(t, DETAIL_OPERATOR, &d);
	timeline_add(t, GROUP_OPERATOR, event);
}

static const struct copy_name {
	struct str name, kind_name;
	enum copy_kind kind;
	enum memory_kind from, to;
} copy_names[] = {
	{ STR_INIT("MemcpyHostToDevice"), STR_INIT("HtoD"), COPY_HTOD, MEMORY_UNKNOWN,
	        MEMORY_DEVICE },
	{ STR_INIT("MemcpyDeviceToHost"), STR_INIT("DtoH"), COPY_DTOH, MEMORY_DEVICE,
	        MEMORY_UNKNOWN },
	{ STR_INIT("MemcpyDeviceToDevice"), STR_INIT("DtoD"), COPY_DTOD, MEMORY_DEVICE,
	        MEMORY_DEVICE },
	{ STR_INIT("Memcpy"), STR_INIT("?"), COPY_OTHER, MEMORY_UNKNOWN, MEMORY_UNKNOWN },
};

static uint32_t copy_detail(struct timeline *t, struct str name)
{
	const struct copy_name *c = copy_names;
	while (!str_starts(name, c->name))
		c++;
	struct copy_detail d = { .bytes = -1, .kind = c->kind, .from = c->from, .to = c->to };
	d.kind_name = timeline_name(t, c->kind_name);
	return timeline_detail(t, DETAIL_COPY, &d);
}

static uint32_t kernel_detail(struct timeline *t, const struct arguments *a)
{
	struct kernel_detail d = kernel_detail_none();
	for (int i = 0; i < 3; i++) {
		d.grid[i] = chrome_number(t, a->grid[i], -1);
		d.block[i] = chrome_number(t, a->block[i], -1);
	}
	d.op = chrome_text(t, a->op_name);
	return timeline_detail(t, DETAIL_KERNEL, &d);
}

/* The device itself is not told. */
static void add_device(struct timeline *t, const struct raw_event *e, struct event *event)
{
	struct arguments a = arguments_of(e->args);
	bool copies = str_starts(e->name, STR("Memcpy"));
	event->track = chrome_device_track(t, e, 0, a.stream);
	event->kind = copies ? DEVICE_MEMCPY : DEVICE_KERNEL;
	event->detail = copies ? copy_detail(t, e->name) : kernel_detail(t, &a);
	timeline_add_checked(t, GROUP_DEVICE, event);
}

/* Nodes have a time before and after that they wait, too, in old releases. */
static enum event_group group_of(const struct raw_event *e)
{
	if (str_eq(e->cat, STR("Node")))
		return str_ends(e->name, kernel_time) ? GROUP_OPERATOR : GROUP_OTHER;
	if (str_eq(e->cat, STR("Session")))
		return GROUP_ANNOTATION;
	if (str_eq(e->cat, STR("Kernel")))
		return GROUP_DEVICE;
	return str_eq(e->cat, STR("Api")) ? GROUP_CALL : GROUP_OTHER;
}

static void ort_event(struct chrome_part *part, const struct raw_event *e)
{
	struct timeline *t = &part->t;
	struct event event = { 0 };
	if (!str_eq(e->ph, STR("X")) || !chrome_span(t, e, &event))
		return;
	enum event_group group = group_of(e);
	event.name = timeline_name(t, e->name);
	if (group == GROUP_DEVICE) {
		add_device(t, e, &event);
		return;
	}
	event.track = chrome_host_track(t, e);
	if (group == GROUP_OPERATOR)
		add_node(t, e, &event);
	else
		timeline_add(t, group, &event);
}

static const struct chrome_dialect ort_dialect = {
	.name = "ort",
	.parallel = true,
	.wants_args = wants_args,
	.event = ort_event,
};

static bool recognises(const struct source *source)
{
	static const struct str marks[] = { STR_INIT("_kernel_time\""),
		STR_INIT("\"session_initialization\""), STR_INIT("\"model_loading_") };
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (str_find(source->head, marks[i]) >= 0)
			return true;
	return false;
}

static bool read_ort(struct source *source, struct timeline *t, struct err *err)
{
	if (!chrome_read(source, &ort_dialect, t, err))
		return false;
	/* Those of the device are added when the session ends, beyond the limit. */
	t->capped = t->n_events - (int64_t)t->lists[GROUP_DEVICE].n == ORT_MAX_EVENTS;
	t->has_stack = t->has_memory = 0;
	return true;
}

const struct trace_reader ort_reader = { "ort", recognises, read_ort };
