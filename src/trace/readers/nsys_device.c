/*
 * nsys_device.c - the tables of Nsight Systems about devices: kernels, copies, memsets, graphs,
 * synchronisations, events.
 */
#include "trace/readers/nsys.h"
#include "trace/readers/nsys_words.h"

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

static const struct nsys_memory_word *memory_at(const struct nsys_scan *s, enum nsys_column column)
{
	return nsys_memory_word(nsys_int(s, (int)column, -1));
}

static int64_t bytes_of(const struct nsys_scan *s)
{
	int64_t bytes = nsys_int(s, NSYS_BYTES, -1);
	return bytes >= 0 ? bytes : -1;
}

static void copy_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	nsys_name_copy(n->t, &e, nsys_copy_word(nsys_int(s, NSYS_COPY_KIND, 0)),
	        memory_at(s, NSYS_SRC_KIND), memory_at(s, NSYS_DST_KIND), bytes_of(s));
	timeline_add_checked(n->t, GROUP_DEVICE, &e);
}

static void memset_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	nsys_name_memset(n->t, &e, memory_at(s, NSYS_MEM_KIND), bytes_of(s));
	timeline_add_checked(n->t, GROUP_DEVICE, &e);
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
