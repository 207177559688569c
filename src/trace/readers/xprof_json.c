/*
 * xprof_json.c - trace.json of the profilers of JAX, TensorFlow and XLA, as the trace viewer shows
 * it: devices and streams are known by the names of their processes and threads alone. The last
 * element of the array is empty, and viewers cap it at about a million events.
 *
 * What a line is follows the reader of the same profilers' XPlane files (xplane_event.c).
 *
 * Source: tsl/profiler/convert/trace_events_to_json.cc.
 */
#include "trace/kinds/call_kind.h"
#include "trace/readers/chrome_event.h"
#include "trace/readers/readers.h"
#include "trace/readers/track_names.h"

#include <stddef.h>
#include <string.h>

struct xprof {
	struct track_names names;
	struct buf tmp;
};

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)ph, (void)cat, (void)name;
	return true;
}

struct arguments {
	struct str kernel, copy, set, correlation, op, category, flops, bytes;
};

static const struct {
	struct str key;
	size_t offset;
} argument_fields[] = {
	{ STR_INIT("kernel_details"), offsetof(struct arguments, kernel) },
	{ STR_INIT("memcpy_details"), offsetof(struct arguments, copy) },
	{ STR_INIT("memset_details"), offsetof(struct arguments, set) },
	{ STR_INIT("correlation_id"), offsetof(struct arguments, correlation) },
	{ STR_INIT("hlo_op"), offsetof(struct arguments, op) },
	{ STR_INIT("tf_op"), offsetof(struct arguments, op) },
	{ STR_INIT("hlo_category"), offsetof(struct arguments, category) },
	{ STR_INIT("flops"), offsetof(struct arguments, flops) },
	{ STR_INIT("model_flops"), offsetof(struct arguments, flops) },
	{ STR_INIT("bytes_accessed"), offsetof(struct arguments, bytes) },
};

static struct arguments arguments_of(struct str args)
{
	struct arguments a = { 0 };
	struct chrome_members m = chrome_members_of(args);
	struct str key, value;
	while (chrome_members_next(&m, &key, &value)) {
		for (size_t i = 0; i < ARRAY_LEN(argument_fields); i++) {
			struct str *to = (struct str *)((char *)&a + argument_fields[i].offset);
			if (str_eq(key, argument_fields[i].key) && to->len == 0)
				*to = value;
		}
	}
	return a;
}

/* " grid:1280,1,1 block:256,1,1 private_mem:0": the value of a key. */
static struct str detail_value(struct str details, struct str key)
{
	while (details.len) {
		struct str value, word = str_cut(details, ' ', &details);
		if (str_eq(str_cut(word, ':', &value), key))
			return value;
	}
	return STR("");
}

static void read_xyz(struct timeline *t, struct str text, int64_t ret[3])
{
	for (int i = 0; i < 3 && text.len; i++)
		ret[i] = chrome_number(t, str_cut(text, ',', &text), -1);
}

/* Static and dynamic memory of a block; -1 when neither is told. */
static int64_t shared_of(struct timeline *t, struct str details)
{
	int64_t fixed = chrome_number(t, detail_value(details, STR("static_shared")), -1);
	int64_t dynamic = chrome_number(t, detail_value(details, STR("dynamic_shared")), -1);
	int64_t sum;
	if (fixed < 0 || dynamic < 0)
		return fixed < 0 ? dynamic : fixed;
	return __builtin_add_overflow(fixed, dynamic, &sum) ? -1 : sum;
}

static uint32_t kernel_detail(struct timeline *t, const struct arguments *a)
{
	struct kernel_detail d = kernel_detail_none();
	read_xyz(t, detail_value(a->kernel, STR("grid")), d.grid);
	read_xyz(t, detail_value(a->kernel, STR("block")), d.block);
	d.registers = chrome_number(t, detail_value(a->kernel, STR("regs")), -1);
	d.shared_bytes = shared_of(t, a->kernel);
	d.flops = chrome_number(t, a->flops, -1);
	d.bytes = chrome_number(t, a->bytes, -1);
	d.op = chrome_text(t, a->op);
	d.category = chrome_text(t, a->category);
	return timeline_detail(t, DETAIL_KERNEL, &d);
}

static const struct {
	struct str in_name, kind_name;
	enum copy_kind kind;
} copies[] = {
	{ STR_INIT("H2D"), STR_INIT("HtoD"), COPY_HTOD },
	{ STR_INIT("D2H"), STR_INIT("DtoH"), COPY_DTOH },
	{ STR_INIT("D2D"), STR_INIT("DtoD"), COPY_DTOD },
	{ STR_INIT("P2P"), STR_INIT("PtoP"), COPY_PTOP },
	{ STR_INIT("H2H"), STR_INIT("HtoH"), COPY_HTOH },
};

static enum memory_kind memory_of(struct str word)
{
	static const struct {
		struct str word;
		enum memory_kind kind;
	} words[] = {
		{ STR_INIT("pageable"), MEMORY_PAGEABLE },
		{ STR_INIT("pinned"), MEMORY_PINNED },
		{ STR_INIT("device"), MEMORY_DEVICE },
		{ STR_INIT("array"), MEMORY_DEVICE },
		{ STR_INIT("managed"), MEMORY_MANAGED },
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq(word, words[i].word))
			return words[i].kind;
	return MEMORY_UNKNOWN;
}

/* "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"; the direction is in the name. */
static uint32_t copy_detail(struct timeline *t, struct str name, struct str details)
{
	struct copy_detail d = { .kind = COPY_OTHER };
	for (size_t i = 0; i < ARRAY_LEN(copies); i++) {
		if (str_find(name, copies[i].in_name) < 0)
			continue;
		d.kind = copies[i].kind;
		d.kind_name = timeline_name(t, copies[i].kind_name);
		break;
	}
	struct str bytes = detail_value(details, STR("size"));
	d.bytes = chrome_number(t, bytes.len ? bytes : detail_value(details, STR("num_bytes")), -1);
	d.from = memory_of(detail_value(details, STR("kind_src")));
	d.to = memory_of(detail_value(details, STR("kind_dst")));
	return timeline_detail(t, DETAIL_COPY, &d);
}

/* What a span would be on a device; on the host this is forgotten. */
static void read_work(struct timeline *t, const struct raw_event *e, struct event *event)
{
	struct arguments a = arguments_of(e->args);
	int64_t link = chrome_number(t, a.correlation, 0);
	event->link = link > 0 ? (uint64_t)link : 0;
	if (a.set.len || str_starts(e->name, STR("Memset")))
		event->kind = DEVICE_MEMSET;
	else if (a.copy.len || str_starts(e->name, STR("Memcpy")))
		event->kind = DEVICE_MEMCPY;
	if (event->kind != DEVICE_KERNEL)
		event->detail = copy_detail(t, e->name, a.copy.len ? a.copy : a.set);
	else if (a.kernel.len || a.op.len || a.category.len)
		event->detail = kernel_detail(t, &a);
}

static void xprof_event(struct chrome_part *part, const struct raw_event *e)
{
	struct xprof *state = part->state;
	struct timeline *t = &part->t;
	struct event event = { 0 };
	char ph = e->ph.len == 1 ? e->ph.s[0] : '\0';
	if (ph == 'M')
		track_names_add(&state->names, t, e);
	else if (ph == 'C')
		chrome_counters(t, e, &state->tmp);
	else if (ph == 'i' || ph == 'I')
		chrome_instant(t, e, &state->tmp);
	if (ph != 'X' || !chrome_span(t, e, &event))
		return;
	event.name = chrome_name(t, e, &state->tmp);
	event.track = chrome_host_track(t, e);
	read_work(t, e, &event);
	timeline_add(t, GROUP_OTHER, &event);
}

/* "/device:GPU:3" is 3. */
static int64_t device_of(struct str process)
{
	size_t start = process.len;
	int64_t device;
	if (!str_starts(process, STR("/device:")) || str_starts(process, STR("/device:CPU")))
		return TRACE_NONE;
	while (start && process.s[start - 1] >= '0' && process.s[start - 1] <= '9')
		start--;
	struct str digits = { process.s + start, process.len - start };
	return str_to_i64(digits, &device) ? device : 0;
}

/* Lines of a device that are no work, but what the work belongs to. */
static bool is_range(struct str thread)
{
	static const struct str ranges[] = { STR_INIT("XLA Modules"), STR_INIT("Steps"),
		STR_INIT("Framework Name Scope"), STR_INIT("Framework Ops"),
		STR_INIT("Source code"), STR_INIT("TensorFlow Name Scope"),
		STR_INIT("TensorFlow Ops") };
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (str_eq(thread, ranges[i]))
			return true;
	return false;
}

/*
 * Of a GPU the streams are work, and "XLA Ops" sums them up; a TPU has no streams, and there it is
 * the work.
 */
static struct track_use use_of(struct str process, struct str thread, struct str labels)
{
	static const struct str stream = STR_INIT("Stream #");
	struct track_use use = { .group = GROUP_OTHER, .device = device_of(process) };
	bool gpu = str_find(process, STR("GPU")) >= 0;
	(void)labels;
	if (str_starts(process, STR("/host:")))
		use.group = GROUP_OPERATOR;
	if (use.device == TRACE_NONE)
		return use;
	if (gpu && str_starts(thread, stream)) {
		struct str rest, number = { thread.s + stream.len, thread.len - stream.len };
		use.stream = str_cut(number, '(', &rest);
		use.group = GROUP_DEVICE;
	} else if (!gpu && str_eq(thread, STR("XLA Ops"))) {
		use.stream = thread;
		use.group = GROUP_DEVICE;
	} else if (is_range(thread) || str_eq(thread, STR("XLA Ops"))) {
		use.group = GROUP_DEVICE_ANNOTATION;
	}
	return use;
}

static enum event_group group_of(
        const struct timeline *t, enum event_group group, const struct event *e)
{
	struct str name = timeline_name_of(t, e->name);
	if (group != GROUP_OPERATOR)
		return group;
	if (str_starts(name, STR("$")))
		return GROUP_PYTHON;
	return call_is_runtime(name) ? GROUP_CALL : GROUP_OPERATOR;
}

static void xprof_finish(struct chrome_part *part)
{
	struct xprof *state = part->state;
	track_names_apply(&state->names, &part->t, use_of, group_of);
}

static void xprof_release(struct chrome_part *part)
{
	struct xprof *state = part->state;
	track_names_release(&state->names);
	buf_release(&state->tmp);
}

static const struct chrome_dialect xprof_dialect = {
	.name = "xprof-json",
	.state_bytes = sizeof(struct xprof),
	.wants_args = wants_args,
	.event = xprof_event,
	.finish = xprof_finish,
	.release = xprof_release,
};

static bool recognises(const struct source *source)
{
	static const struct str marks[] = { STR_INIT("\"highres-ticks\""),
		STR_INIT("\"/device:GPU:"), STR_INIT("\"/device:TPU:"), STR_INIT("\"/host:CPU\"") };
	/* A trace of another format that was written out again in Kineto's dialect. */
	if (str_find(source->head, STR("\"schemaVersion\"")) >= 0)
		return false;
	if (!source_is_text(source) || str_find(source->head, STR("\"ph\"")) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (str_find(source->head, marks[i]) >= 0)
			return true;
	return false;
}

static bool read_xprof(struct source *source, struct timeline *t, struct err *err)
{
	if (!chrome_read(source, &xprof_dialect, t, err))
		return false;
	t->has_shapes = t->has_memory = 0;
	if (t->has_stack < 0)
		t->has_stack = 0;
	return true;
}

const struct trace_reader xprof_json_reader = { "xprof-json", recognises, read_xprof };
