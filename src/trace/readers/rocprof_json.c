/*
 * The JSON of rocprofv3: one object for each process, with its agents, symbols and records. Names
 * stand beside the records, under the numbers of kernels and of operations.
 */
#include "trace/readers/rocprof.h"

#include "trace/readers/readers.h"
#include "trace/readers/rocprof_fields.h"
#include "trace/readers/rocprof_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The text is held whole: about 850 bytes for each kernel. */
static const int64_t max_bytes = INT64_C(8) << 30;

enum {
	HEAD_BYTES = 256, /* within which the only member of the document is named */
	LATE_MAX = 2,     /* callback_records, buffer_records */
};

struct reading {
	struct rocprof_names names;
	struct rocprof_state state;
	struct loose_json late[LATE_MAX]; /* records that stand before the names */
	size_t n_late;
};

struct record_text {
	struct str start, end, kind, operation, thread, correlation, stream, queue;
	struct str agent, from_agent, to_agent, bytes, address;
	struct str kernel, lds, grid[3], block[3], counters;
};

static const struct rocprof_field record_fields[] = {
	{ STR_INIT("start_timestamp"), SHAPE_PLAIN, offsetof(struct record_text, start) },
	{ STR_INIT("end_timestamp"), SHAPE_PLAIN, offsetof(struct record_text, end) },
	{ STR_INIT("kind"), SHAPE_PLAIN, offsetof(struct record_text, kind) },
	{ STR_INIT("operation"), SHAPE_PLAIN, offsetof(struct record_text, operation) },
	{ STR_INIT("thread_id"), SHAPE_PLAIN, offsetof(struct record_text, thread) },
	{ STR_INIT("correlation_id"), SHAPE_HANDLE, offsetof(struct record_text, correlation) },
	{ STR_INIT("dispatch_info"), SHAPE_GROUP, 0 },
	{ STR_INIT("dispatch_data"), SHAPE_GROUP, 0 },
	{ STR_INIT("stream_id"), SHAPE_HANDLE, offsetof(struct record_text, stream) },
	{ STR_INIT("queue_id"), SHAPE_HANDLE, offsetof(struct record_text, queue) },
	{ STR_INIT("agent_id"), SHAPE_HANDLE, offsetof(struct record_text, agent) },
	{ STR_INIT("src_agent_id"), SHAPE_HANDLE, offsetof(struct record_text, from_agent) },
	{ STR_INIT("dst_agent_id"), SHAPE_HANDLE, offsetof(struct record_text, to_agent) },
	{ STR_INIT("kernel_id"), SHAPE_PLAIN, offsetof(struct record_text, kernel) },
	{ STR_INIT("group_segment_size"), SHAPE_PLAIN, offsetof(struct record_text, lds) },
	{ STR_INIT("workgroup_size"), SHAPE_XYZ, offsetof(struct record_text, block) },
	{ STR_INIT("grid_size"), SHAPE_XYZ, offsetof(struct record_text, grid) },
	{ STR_INIT("bytes"), SHAPE_PLAIN, offsetof(struct record_text, bytes) },
	{ STR_INIT("allocation_size"), SHAPE_PLAIN, offsetof(struct record_text, bytes) },
	{ STR_INIT("address"), SHAPE_HANDLE, offsetof(struct record_text, address) },
	{ STR_INIT("records"), SHAPE_PLAIN, offsetof(struct record_text, counters) },
};

/* Reads one record; false when the text ends inside it. */
static bool read_record(struct reading *r, struct loose_json *j, struct record_text *ret)
{
	*ret = (struct record_text){ 0 };
	rocprof_read_object(j, record_fields, ARRAY_LEN(record_fields), ret);
	r->names.t->lost[LOST_BROKEN] += j->cut;
	r->names.t->n_events += !j->cut;
	return !j->cut;
}

/* What an array of records is of, where the numbers of the kinds are not explained. */
static const struct {
	struct str array, kind;
} arrays[] = {
	{ STR_INIT("kernel_dispatch"), STR_INIT("KERNEL_DISPATCH") },
	{ STR_INIT("memory_copy"), STR_INIT("MEMORY_COPY") },
	{ STR_INIT("memory_allocation"), STR_INIT("MEMORY_ALLOCATION") },
	{ STR_INIT("marker_api"), STR_INIT("MARKER_CORE_API") },
	{ STR_INIT("hip_api"), STR_INIT("HIP_RUNTIME_API") },
	{ STR_INIT("hsa_api"), STR_INIT("HSA_CORE_API") },
	{ STR_INIT("rccl_api"), STR_INIT("RCCL_API") },
};

static struct str kind_of(struct str array, const struct rocprof_kind *kind)
{
	if (kind)
		return kind->name;
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		if (str_eq(arrays[i].array, array))
			return arrays[i].kind;
	return array;
}

static void name_kernel(struct rocprof_names *names, struct str id, struct rocprof_record *r)
{
	const struct rocprof_symbol *symbol = rocprof_names_symbol(names, rocprof_int(id));
	if (symbol) {
		r->name = rocprof_names_text(names, symbol->name);
		r->registers = symbol->registers;
		return;
	}
	buf_clear(&names->tmp);
	buf_printf(&names->tmp, "kernel %.*s", STR_ARG(id));
	r->name = buf_str(&names->tmp);
}

/* A marker by its message, anything else by its operation. */
static struct str name_of(struct rocprof_names *names, const struct rocprof_kind *kind,
        const struct record_text *text, struct str array)
{
	int64_t operation = rocprof_int(text->operation);
	struct str message = { 0 };
	if (kind && str_starts(kind->name, STR("MARKER_CORE")))
		message = rocprof_names_label(&names->messages, rocprof_int(text->correlation));
	if (message.len)
		return rocprof_names_text(names, message);
	if (kind && operation >= 0 && (uint64_t)operation < kind->n)
		return kind->operations[operation];
	return array;
}

/* The GPU that a copy is of: the one that is written to, unless that is the host. */
static int64_t device_of(const struct rocprof_names *names, const struct record_text *text)
{
	struct str handles[] = { text->agent, text->to_agent, text->from_agent };
	for (size_t i = 0; i < ARRAY_LEN(handles); i++) {
		int64_t gpu = rocprof_names_gpu(names, handles[i]);
		if (gpu != TRACE_NONE)
			return gpu;
	}
	return TRACE_NONE;
}

static struct rocprof_record record_of(
        struct rocprof_names *names, const struct record_text *text, struct str array)
{
	const struct rocprof_kind *kind = rocprof_names_kind(names, rocprof_int(text->kind));
	struct rocprof_record r = rocprof_record_none();
	r.start_ns = rocprof_int(text->start);
	r.end_ns = rocprof_int(text->end);
	r.correlation = rocprof_int(text->correlation);
	r.device = device_of(names, text);
	r.bytes = rocprof_int(text->bytes);
	r.address = rocprof_int(text->address);
	r.lds_bytes = rocprof_int(text->lds);
	for (int i = 0; i < 3; i++) {
		r.grid[i] = rocprof_int(text->grid[i]);
		r.block[i] = rocprof_int(text->block[i]);
	}
	r.pid = names->pid;
	r.thread = text->thread;
	r.queue = text->queue;
	r.stream = text->stream;
	r.kind = kind_of(array, kind);
	if (text->kernel.len)
		name_kernel(names, text->kernel, &r);
	else
		r.name = name_of(names, kind, text, array);
	return r;
}

/* One array of buffer_records. Samples of the program counter have no extent; they are counted. */
static void read_array(struct reading *r, struct str array, struct loose_json *j)
{
	struct record_text text;
	int64_t n = 0;
	bool samples = str_starts(array, STR("pc_sample"));
	while (loose_json_element(j) && read_record(r, j, &text)) {
		n++;
		if (samples)
			continue;
		struct rocprof_record record = record_of(&r->names, &text, array);
		rocprof_add(r->names.t, &r->state, &record);
	}
	tallies_add(&r->names.t->rows, timeline_name(r->names.t, array), n);
}

struct counter_text {
	struct str id, value;
};

static const struct rocprof_field counter_fields[] = {
	{ STR_INIT("counter_id"), SHAPE_HANDLE, offsetof(struct counter_text, id) },
	{ STR_INIT("value"), SHAPE_PLAIN, offsetof(struct counter_text, value) },
};

/* The values of one launch. A counter has one for each part of the chip; rocprof sums them. */
static void read_counters(struct reading *r, struct str list, struct rocprof_counters *ret)
{
	struct loose_json j = loose_json_of(list);
	if (!loose_json_enter(&j, '['))
		return;
	while (loose_json_element(&j)) {
		struct counter_text text = { 0 };
		double value;
		rocprof_read_object(&j, counter_fields, ARRAY_LEN(counter_fields), &text);
		struct str name = rocprof_names_label(&r->names.counters, rocprof_int(text.id));
		if (!str_to_double(text.value, &value))
			value = NAN;
		rocprof_counters_add(
		        ret, timeline_name(r->names.t, name.len ? name : text.id), value);
	}
}

/* callback_records.counter_collection: launches with their counters. */
static void read_collection(struct reading *r, struct loose_json *j)
{
	struct timeline *t = r->names.t;
	struct rocprof_counters counters = { 0 };
	struct record_text text;
	int64_t n = 0;
	while (loose_json_element(j) && read_record(r, j, &text)) {
		struct rocprof_record record = record_of(&r->names, &text, STR("counters"));
		n++;
		read_counters(r, text.counters, &counters);
		rocprof_counters_launch(&counters, t, &record);
	}
	tallies_add(&t->rows, timeline_name(t, STR("counter_collection")), n);
	rocprof_counters_release(&counters);
}

/* The arrays of callback_records or of buffer_records. */
static void read_records(struct reading *r, struct loose_json *j)
{
	struct str key;
	if (!loose_json_enter(j, '{')) {
		loose_json_value(j);
		return;
	}
	while (loose_json_key(j, &key)) {
		if (!loose_json_enter(j, '['))
			loose_json_value(j);
		else if (str_eq(key, STR("counter_collection")))
			read_collection(r, j);
		else
			read_array(r, key, j);
	}
}

static void read_process(struct reading *r, struct loose_json *j)
{
	struct str key;
	if (!loose_json_enter(j, '{')) {
		loose_json_value(j);
		return;
	}
	while (loose_json_key(j, &key)) {
		bool records = str_ends(key, STR("_records"));
		if (rocprof_names_read(&r->names, key, j))
			continue;
		if (records && r->names.complete)
			read_records(r, j);
		else if (records && r->n_late < LATE_MAX)
			r->late[r->n_late++] = loose_json_of(loose_json_value(j));
		else
			loose_json_value(j);
	}
	for (size_t i = 0; i < r->n_late; i++) {
		read_records(r, &r->late[i]);
		r->names.t->lost[LOST_BROKEN] += r->late[i].broken;
	}
}

static void read_document(struct timeline *t, struct loose_json *j)
{
	struct str key;
	if (!loose_json_enter(j, '{') || !loose_json_key(j, &key) || !loose_json_enter(j, '['))
		return;
	while (loose_json_element(j)) {
		struct reading *r = mem_zeroed(1, sizeof *r);
		r->names.t = t;
		read_process(r, j);
		rocprof_names_release(&r->names);
		rocprof_state_release(&r->state);
		free(r);
	}
}

static bool recognises(const struct source *source)
{
	struct str head = source->head;
	if (head.len > HEAD_BYTES)
		head.len = HEAD_BYTES;
	return str_find(head, STR("\"rocprofiler-sdk-tool\"")) >= 0;
}

static bool read_json(struct source *source, struct timeline *t, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	if (!source_read_all(source, max_bytes, &text, err))
		return false;
	struct loose_json j = loose_json_of(buf_str(&text));
	read_document(t, &j);
	t->is_amd = true;
	t->lost[LOST_BROKEN] += j.broken;
	t->truncated = j.cut;
	return true;
}

const struct trace_reader rocprof_json_reader = { "rocprofv3-json", recognises, read_json };
