/*
 * nsys_device.c - the tables of Nsight Systems about devices: kernels, copies, memsets, graphs,
 * synchronisations, events.
 */
#include "trace/readers/nsys.h"

#include <string.h>

/* Start, duration, queue and launch. */
static bool begin(struct nsys *n, const struct nsys_scan *s, struct event *e)
{
	*e = (struct event){ 0 };
	if (!nsys_times(n, s, e))
		return false;
	e->link = nsys_link(n, s, nsys_int(s, NSYS_GLOBAL_PID, 0));
	e->track = nsys_device_track(n, s);
	return true;
}

/* A number that the old schemas write as 0 or below where there is none. */
static int64_t above_zero(const struct nsys_scan *s, enum nsys_column column)
{
	int64_t value = nsys_int(s, (int)column, -1);
	return value > 0 ? value : -1;
}

static int64_t shared_bytes(const struct nsys_scan *s)
{
	int64_t fixed = nsys_int(s, NSYS_STATIC_SHARED, -1);
	int64_t dynamic = nsys_int(s, NSYS_DYNAMIC_SHARED, -1);
	bool known = fixed >= 0 && fixed <= UINT32_MAX && dynamic >= 0 && dynamic <= UINT32_MAX;
	return known ? fixed + dynamic : -1;
}

/* The upper half of a node's id is its graph's: what CUPTI does, before there was a column. */
static uint32_t graph_name(struct nsys *n, const struct nsys_scan *s)
{
	int64_t id;
	if (nsys_number(s, NSYS_GRAPH, &id) && id > 0)
		return nsys_number_name(n, id);
	if (nsys_number(s, NSYS_GRAPH_NODE, &id) && id > 0)
		return nsys_number_name(n, id >> 32 ? id >> 32 : id);
	return 0;
}

static uint32_t kernel_name(struct nsys *n, const struct nsys_scan *s)
{
	static const enum nsys_column columns[] = { NSYS_DEMANGLED, NSYS_SHORT, NSYS_MANGLED };
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		uint32_t name = nsys_name_at(n, s, columns[i]);
		if (name)
			return name;
	}
	return timeline_name(n->t, STR("unknown"));
}

static void kernel_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	struct kernel_detail detail = kernel_detail_none();
	for (int i = 0; i < 3; i++) {
		detail.grid[i] = above_zero(s, (enum nsys_column)(NSYS_GRID_X + i));
		detail.block[i] = above_zero(s, (enum nsys_column)(NSYS_BLOCK_X + i));
	}
	detail.registers = above_zero(s, NSYS_REGISTERS);
	detail.shared_bytes = shared_bytes(s);
	detail.graph = graph_name(n, s);
	e.kind = DEVICE_KERNEL;
	e.name = kernel_name(n, s);
	e.detail = timeline_detail(n->t, DETAIL_KERNEL, &detail);
	timeline_add_checked(n->t, GROUP_DEVICE, &e);
}

/* A graph traced as a whole: the kernels in it are not in the file. */
static void graph_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	struct kernel_detail detail = kernel_detail_none();
	detail.graph = graph_name(n, s);
	buf_clear(&n->scratch);
	buf_printf(&n->scratch, "CUDA graph %lld", (long long)nsys_int(s, NSYS_GRAPH, 0));
	e.kind = DEVICE_KERNEL;
	e.name = timeline_name(n->t, buf_str(&n->scratch));
	e.detail = timeline_detail(n->t, DETAIL_KERNEL, &detail);
	timeline_add_checked(n->t, GROUP_DEVICE, &e);
}

struct copy_word {
	const char *name;
	enum copy_kind kind;
};

/* copyKind. An array is memory of the device. */
static const struct copy_word copy_words[] = {
	{ "unknown", COPY_OTHER },
	{ "HtoD", COPY_HTOD },
	{ "DtoH", COPY_DTOH },
	{ "HtoA", COPY_HTOD },
	{ "AtoH", COPY_DTOH },
	{ "AtoA", COPY_DTOD },
	{ "AtoD", COPY_DTOD },
	{ "DtoA", COPY_DTOD },
	{ "DtoD", COPY_DTOD },
	{ "HtoH", COPY_HTOH },
	{ "PtoP", COPY_PTOP },
	{ "UVM HtoD", COPY_HTOD },
	{ "UVM DtoH", COPY_DTOH },
	{ "UVM DtoD", COPY_DTOD },
};

struct memory_word {
	const char *name;
	enum memory_kind kind;
};

/* srcKind, dstKind, memKind. */
static const struct memory_word memory_words[] = {
	{ "Pageable", MEMORY_PAGEABLE },
	{ "Pinned", MEMORY_PINNED },
	{ "Device", MEMORY_DEVICE },
	{ "Array", MEMORY_DEVICE },
	{ "Managed", MEMORY_MANAGED },
	{ "Device Static", MEMORY_DEVICE },
	{ "Managed Static", MEMORY_MANAGED },
	{ NULL, MEMORY_UNKNOWN },
};

enum { N_COPY_WORDS = sizeof copy_words / sizeof *copy_words };
enum { N_MEMORY_WORDS = sizeof memory_words / sizeof *memory_words };

static const struct copy_word *copy_word_of(const struct nsys_scan *s)
{
	int64_t kind = nsys_int(s, NSYS_COPY_KIND, 0);
	return &copy_words[kind > 0 && kind < N_COPY_WORDS ? kind : 0];
}

static const struct memory_word *memory_word_of(const struct nsys_scan *s, enum nsys_column column)
{
	int64_t kind = nsys_int(s, (int)column, N_MEMORY_WORDS - 1);
	bool known = kind >= 0 && kind < N_MEMORY_WORDS;
	return &memory_words[known ? kind : N_MEMORY_WORDS - 1];
}

static int64_t bytes_of(const struct nsys_scan *s)
{
	int64_t bytes = nsys_int(s, NSYS_BYTES, -1);
	return bytes >= 0 ? bytes : -1;
}

static void add_copy(struct nsys *n, struct event *e, struct copy_detail *detail)
{
	e->name = timeline_name(n->t, buf_str(&n->scratch));
	e->detail = timeline_detail(n->t, DETAIL_COPY, detail);
	timeline_add_checked(n->t, GROUP_DEVICE, e);
}

/* Named as CUPTI's other clients do: "Memcpy HtoD (Pageable -> Device)". */
static void copy_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	const struct copy_word *word = copy_word_of(s);
	const struct memory_word *from = memory_word_of(s, NSYS_SRC_KIND);
	const struct memory_word *to = memory_word_of(s, NSYS_DST_KIND);
	struct copy_detail detail;
	memset(&detail, 0, sizeof detail);
	detail.bytes = bytes_of(s);
	detail.kind = word->kind;
	detail.kind_name = timeline_name(n->t, str_of(word->name));
	detail.from = from->kind;
	detail.to = to->kind;
	e.kind = DEVICE_MEMCPY;
	buf_clear(&n->scratch);
	buf_printf(&n->scratch, "Memcpy %s", word->name);
	if (from->name && to->name)
		buf_printf(&n->scratch, " (%s -> %s)", from->name, to->name);
	add_copy(n, &e, &detail);
}

static void memset_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	const struct memory_word *to = memory_word_of(s, NSYS_MEM_KIND);
	struct copy_detail detail;
	memset(&detail, 0, sizeof detail);
	detail.bytes = bytes_of(s);
	detail.kind = COPY_OTHER;
	detail.to = to->kind;
	e.kind = DEVICE_MEMSET;
	buf_clear(&n->scratch);
	buf_add_c(&n->scratch, "Memset");
	if (to->name)
		buf_printf(&n->scratch, " (%s)", to->name);
	add_copy(n, &e, &detail);
}

struct sync_word {
	const char *name;
	enum sync_kind kind;
};

/* syncType, under the names of CUPTI's other clients. */
static const struct sync_word sync_words[] = {
	{ "Sync", SYNC_OTHER },
	{ "Event Sync", SYNC_EVENT },
	{ "Stream Wait Event", SYNC_STREAM_WAIT },
	{ "Stream Sync", SYNC_STREAM },
	{ "Context Sync", SYNC_CONTEXT },
};

enum { N_SYNC_WORDS = sizeof sync_words / sizeof *sync_words };

static void sync_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	int64_t type = nsys_int(s, NSYS_SYNC_TYPE, 0);
	const struct sync_word *word = &sync_words[type > 0 && type < N_SYNC_WORDS ? type : 0];
	int64_t event = nsys_int(s, NSYS_EVENT, -1);
	struct sync_detail detail;
	memset(&detail, 0, sizeof detail);
	detail.kind = word->kind;
	detail.event = event >= 0 && event < UINT32_MAX ? event : -1;
	if (word->kind == SYNC_STREAM)
		detail.waits_on_stream = timeline_track_of(n->t, e.track)->stream;
	e.name = timeline_name(n->t, str_of(word->name));
	e.detail = timeline_detail(n->t, DETAIL_SYNC, &detail);
	timeline_add_checked(n->t, GROUP_SYNC, &e);
}

static void event_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e = { 0 };
	if (!nsys_number(s, NSYS_TIMESTAMP, &e.start_ns) &&
	        !nsys_number(s, NSYS_START, &e.start_ns)) {
		n->t->lost[LOST_NO_TIME]++;
		return;
	}
	e.link = nsys_link(n, s, nsys_int(s, NSYS_GLOBAL_PID, 0));
	e.track = nsys_device_track(n, s);
	e.name = timeline_name(n->t, STR("CUDA event"));
	timeline_add_checked(n->t, GROUP_INSTANT, &e);
}

enum { MEMORY_DEVICE_TYPE_CUDA = 1, MEMORY_OPERATION_FREE = 1 };

/* Allocations and frees of device memory (--cuda-memory-usage). */
static void memory_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e = { 0 };
	struct memory_detail detail;
	memset(&detail, 0, sizeof detail);
	int64_t bytes = bytes_of(s);
	if (!nsys_number(s, NSYS_START, &e.start_ns)) {
		n->t->lost[LOST_NO_TIME]++;
		return;
	}
	bool frees = nsys_int(s, NSYS_MEMORY_OPERATION, 0) == MEMORY_OPERATION_FREE;
	detail.bytes = bytes < 0 ? 0 : frees ? -bytes : bytes;
	detail.address = nsys_int(s, NSYS_ADDRESS, 0);
	detail.total_allocated = detail.total_reserved = -1;
	detail.device_type = MEMORY_DEVICE_TYPE_CUDA;
	detail.device = nsys_int(s, NSYS_DEVICE, TRACE_NONE);
	e.link = nsys_link(n, s, nsys_int(s, NSYS_GLOBAL_PID, 0));
	e.track = nsys_device_track(n, s);
	e.name = nsys_name_at(n, s, NSYS_NAME_ID);
	e.detail = timeline_detail(n->t, DETAIL_MEMORY, &detail);
	timeline_add_checked(n->t, GROUP_MEMORY, &e);
	n->t->has_memory = 1;
}

const struct nsys_table nsys_device_tables[] = {
	{ "CUPTI_ACTIVITY_KIND_KERNEL", kernel_row },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY", copy_row },
	{ "CUPTI_ACTIVITY_KIND_MEMSET", memset_row },
	{ "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_row },
	{ "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync_row },
	{ "CUPTI_ACTIVITY_KIND_CUDA_EVENT", event_row },
	{ "CUDA_GPU_MEMORY_USAGE_EVENTS", memory_row },
	{ NULL },
};
