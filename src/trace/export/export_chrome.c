/*
 * A timeline as a Chrome trace in the dialect of Kineto.
 */
#include "trace/export/export.h"
#include "trace/export/export_args.h"

#include <stdlib.h>

/* Pieces are written when they have grown to this. */
enum { PIECE_BYTES = 1 << 20 };
/* The first event starts a microsecond after 0: at 0 a device event would count as one without a
 * time. */
enum { FIRST_EVENT_NS = 1000 };

struct export
{
	const struct trace_view *v;
	const struct timeline *t;
	const struct trace_out *out;
	struct err *err;
	int64_t origin_ns; /* subtracted from times */
	struct buf piece, name;
	struct arena names;
	bool any;    /* an event was written: the next one needs a comma */
	bool failed; /* to write; err says why */
};

static const struct {
	const char *cat, *ph;
} groups[N_GROUPS] = {
	[GROUP_DEVICE] = { "kernel", "X" },
	[GROUP_OPERATOR] = { "cpu_op", "X" },
	[GROUP_CALL] = { "cuda_runtime", "X" },
	[GROUP_SYNC] = { "cuda_sync", "X" },
	[GROUP_ANNOTATION] = { "user_annotation", "X" },
	[GROUP_DEVICE_ANNOTATION] = { "gpu_user_annotation", "X" },
	[GROUP_PYTHON] = { "python_function", "X" },
	[GROUP_MEMORY] = { "cpu_instant_event", "i" },
	[GROUP_OVERHEAD] = { "overhead", "X" },
	[GROUP_RANGE] = { "cuda_profiler_range", "X" },
	[GROUP_INSTANT] = { "cpu_instant_event", "i" },
	[GROUP_OTHER] = { "other", "X" },
};

/* ---- pieces ---- */

static void flush(struct export *x)
{
	if (!x->failed && !x->out->write(x->out->ctx, buf_str(&x->piece), x->err))
		x->failed = true;
	buf_clear(&x->piece);
}

/* One event a line: files that are cut stay readable, and lines can be searched. */
static void begin_event(struct export *x, struct json *j)
{
	if (x->piece.len >= PIECE_BYTES)
		flush(x);
	buf_add_c(&x->piece, x->any ? ",\n" : "\n");
	x->any = true;
	json_init(j, &x->piece, false);
	json_object_open(j);
}

static void put_us(struct json *j, const char *key, int64_t ns)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%lld.%03d", (long long)(ns / 1000), (int)(ns % 1000));
	json_key(j, key);
	json_raw(j, (struct str){ text, (size_t)n });
}

static void put_time(struct export *x, struct json *j, int64_t ns)
{
	put_us(j, "ts", ns - x->origin_ns);
}

/* ---- the head ---- */

static void put_device(struct json *j, const struct timeline *t, const struct device_info *d)
{
	const struct {
		const char *key;
		int64_t value;
	} numbers[] = {
		{ "totalGlobalMem", d->memory_bytes },
		{ "computeMajor", d->compute_major },
		{ "computeMinor", d->compute_minor },
		{ "maxThreadsPerBlock", d->max_threads_per_block },
		{ "maxThreadsPerMultiprocessor", d->max_threads_per_sm },
		{ "regsPerMultiprocessor", d->registers_per_sm },
		{ "warpSize", d->warp_size },
		{ "sharedMemPerMultiprocessor", d->shared_bytes_per_sm },
		{ "numSms", d->n_sm },
	};
	json_object_open(j);
	json_put_int(j, "id", d->id);
	json_key(j, "name");
	json_str(j, timeline_name_of(t, d->name));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].value >= 0)
			json_put_int(j, numbers[i].key, numbers[i].value);
	json_object_close(j);
}

static void put_flags(struct json *j, const struct timeline *t)
{
	if (t->has_shapes > 0)
		json_put_int(j, "record_shapes", 1);
	if (t->has_stack > 0)
		json_put_int(j, "with_stack", 1);
	if (t->has_memory > 0)
		json_put_int(j, "profile_memory", 1);
	if (t->rank >= 0) {
		json_key(j, "distributedInfo");
		json_object_open(j);
		json_put_int(j, "rank", t->rank);
		if (t->world_size >= 0)
			json_put_int(j, "world_size", t->world_size);
		json_object_close(j);
	}
}

static void write_head(struct export *x)
{
	const struct timeline *t = x->t;
	struct json j;
	json_init(&j, &x->piece, false);
	json_object_open(&j);
	json_put_int(&j, "schemaVersion", 1);
	json_key(&j, "deviceProperties");
	json_array_open(&j);
	for (size_t i = 0; i < t->n_devices; i++)
		put_device(&j, t, &t->devices[i]);
	json_array_close(&j);
	put_flags(&j, t);
	if (t->base_unix_ns != TRACE_NONE)
		json_put_int(&j, "baseTimeNanoseconds", t->base_unix_ns + x->origin_ns);
	json_put_string(&j, "displayTimeUnit", "ms");
	json_key(&j, "traceEvents");
	json_array_open(&j);
}

/* ---- events ---- */

/* Where an event is drawn: what the trace says, else the device and its stream. */
static void put_place(struct export *x, struct json *j, const struct track *k)
{
	struct str pid = timeline_name_of(x->t, k->pid), tid = timeline_name_of(x->t, k->tid);
	json_key(j, "pid");
	if (pid.len)
		export_id(j, pid);
	else
		json_int(j, k->device == TRACE_NONE ? 0 : k->device);
	json_key(j, "tid");
	if (tid.len)
		export_id(j, tid);
	else
		export_id(j, k->stream ? timeline_name_of(x->t, k->stream) : STR("0"));
}

static const char *category_of(enum event_group group, const struct event *e)
{
	if (group == GROUP_DEVICE && e->kind != DEVICE_KERNEL)
		return e->kind == DEVICE_MEMCPY ? "gpu_memcpy" : "gpu_memset";
	return groups[group].cat;
}

/* Kineto's readers know a grid of work-items by the call of AMD's runtime that launched it. */
static bool grid_is_of_items(const struct export *x, enum event_group group, size_t i)
{
	if (group != GROUP_DEVICE || !x->t->is_amd || x->v->launch[i] == NONE32)
		return false;
	uint32_t name = x->t->lists[GROUP_CALL].v[x->v->launch[i]].name;
	return str_starts(timeline_name_of(x->t, name), STR("hipExtModuleLaunchKernel"));
}

static void write_event(struct export *x, enum event_group group, size_t i)
{
	const struct event *e = &x->t->lists[group].v[i];
	struct json j;
	bool span = groups[group].ph[0] == 'X';
	begin_event(x, &j);
	json_put_string(&j, "ph", groups[group].ph);
	json_put_string(&j, "cat", category_of(group, e));
	json_key(&j, "name");
	json_str(&j, export_name(x->t, group, e, &x->name));
	put_place(x, &j, timeline_track_of(x->t, e->track));
	put_time(x, &j, e->start_ns);
	if (span)
		put_us(&j, "dur", e->dur_ns);
	else
		json_put_string(&j, "s", "t");
	json_key(&j, "args");
	json_object_open(&j);
	export_args(&j, x->t, group, e, grid_is_of_items(x, group, i));
	json_object_close(&j);
	json_object_close(&j);
}

static void write_flow_end(struct export *x, const char *ph, uint64_t id, const struct event *e)
{
	struct json j;
	begin_event(x, &j);
	json_put_string(&j, "ph", ph);
	json_put_string(&j, "cat", "ac2g");
	json_put_string(&j, "name", "ac2g");
	json_put_int(&j, "id", (int64_t)id);
	put_place(x, &j, timeline_track_of(x->t, e->track));
	put_time(x, &j, e->start_ns);
	if (ph[0] == 'f')
		json_put_string(&j, "bp", "e");
	json_object_close(&j);
}

/* From a launch to each piece of its work. Their number is the launch's place in its list: a link
 * may be too large for JSON. */
static void write_flows(struct export *x)
{
	const struct event_list *calls = &x->t->lists[GROUP_CALL];
	const struct event_list *device = &x->t->lists[GROUP_DEVICE];
	bool *begun = mem_zeroed(calls->n + 1, sizeof *begun);
	for (size_t i = 0; i < device->n; i++) {
		uint32_t launch = x->v->launch[i];
		if (launch == NONE32)
			continue;
		if (!begun[launch])
			write_flow_end(x, "s", launch + UINT64_C(1), &calls->v[launch]);
		begun[launch] = true;
		write_flow_end(x, "f", launch + UINT64_C(1), &device->v[i]);
	}
	free(begun);
}

static void write_counters(struct export *x)
{
	for (size_t i = 0; i < x->t->n_counters; i++) {
		const struct counter_sample *c = &x->t->counters[i];
		struct str name = timeline_name_of(x->t, c->name);
		struct json j;
		begin_event(x, &j);
		json_put_string(&j, "ph", "C");
		json_key(&j, "name");
		json_str(&j, name);
		json_put_int(&j, "pid", c->device == TRACE_NONE ? 0 : c->device);
		put_time(x, &j, c->time_ns);
		json_key(&j, "args");
		json_object_open(&j);
		buf_clear(&x->name);
		buf_add(&x->name, name);
		json_key(&j, x->name.s ? x->name.s : "");
		json_double(&j, c->value);
		json_object_close(&j);
		json_object_close(&j);
	}
}

/* ---- names of tracks ---- */

static void write_track_name(struct export *x, const struct track *k, const char *what,
        const char *key, const char *text)
{
	struct json j;
	begin_event(x, &j);
	json_put_string(&j, "ph", "M");
	json_put_string(&j, "name", what);
	put_place(x, &j, k);
	json_key(&j, "args");
	json_object_open(&j);
	json_put_string(&j, key, text);
	json_object_close(&j);
	json_object_close(&j);
}

/* Viewers want a name for each process and thread: a device is a process, a stream a thread. */
static void write_tracks(struct export *x)
{
	for (uint32_t i = 1; i < x->t->tracks.n; i++) {
		const struct track *k = timeline_track_of(x->t, i);
		struct str label = timeline_name_of(x->t, k->label);
		struct str stream = timeline_name_of(x->t, k->stream);
		if (k->device != TRACE_NONE) {
			write_track_name(x, k, "process_labels", "labels",
			        arena_printf(&x->names, "device %lld", (long long)k->device));
			write_track_name(x, k, "thread_name", "name",
			        label.len
			                ? str_c(label, &x->names)
			                : arena_printf(&x->names, "stream %.*s", STR_ARG(stream)));
		} else {
			write_track_name(x, k, "process_labels", "labels", "host");
			if (label.len)
				write_track_name(
				        x, k, "thread_name", "name", str_c(label, &x->names));
		}
	}
}

static int64_t first_ns(const struct timeline *t)
{
	int64_t first = INT64_MAX;
	for (int g = 0; g < N_GROUPS; g++)
		for (size_t i = 0; i < t->lists[g].n; i++)
			if (t->lists[g].v[i].start_ns < first)
				first = t->lists[g].v[i].start_ns;
	for (size_t i = 0; i < t->n_counters; i++)
		if (t->counters[i].time_ns < first)
			first = t->counters[i].time_ns;
	return first == INT64_MAX ? 0 : first;
}

bool trace_export_chrome(const struct trace_view *v, const struct trace_out *out, struct err *err)
{
	struct export x = { .v = v, .t = v->t, .out = out, .err = err };
	x.origin_ns = first_ns(v->t) - FIRST_EVENT_NS;
	write_head(&x);
	write_tracks(&x);
	for (int g = 0; g < N_GROUPS; g++)
		for (size_t i = 0; i < v->t->lists[g].n && !x.failed; i++)
			write_event(&x, g, i);
	write_flows(&x);
	write_counters(&x);
	buf_add_c(&x.piece, "\n]}\n");
	flush(&x);
	buf_release(&x.piece);
	buf_release(&x.name);
	arena_release(&x.names);
	return !x.failed;
}
