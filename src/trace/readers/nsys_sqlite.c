/*
 * nsys_sqlite.c - Nsight Systems databases (nsys export --type sqlite): finds the tables, their
 * strings and how things hang together; what the rows mean is in nsys_device.c, nsys_host.c and
 * nsys_info.c.
 */
#include "trace/readers/nsys.h"
#include "trace/reader.h"

#include "base/i18n.h"

#include <stdlib.h>
#include <string.h>

static const char *const column_names[N_NSYS_COLUMNS] = {
	[NSYS_START] = "start",
	[NSYS_END] = "end",
	[NSYS_TIMESTAMP] = "timestamp",
	[NSYS_DEVICE] = "deviceId",
	[NSYS_STREAM] = "streamId",
	[NSYS_CORRELATION] = "correlationId",
	[NSYS_GLOBAL_PID] = "globalPid",
	[NSYS_GLOBAL_TID] = "globalTid",
	[NSYS_NAME_ID] = "nameId",
	[NSYS_DEMANGLED] = "demangledName",
	[NSYS_SHORT] = "shortName",
	[NSYS_MANGLED] = "mangledName",
	[NSYS_REGISTERS] = "registersPerThread",
	[NSYS_GRID_X] = "gridX",
	[NSYS_GRID_Y] = "gridY",
	[NSYS_GRID_Z] = "gridZ",
	[NSYS_BLOCK_X] = "blockX",
	[NSYS_BLOCK_Y] = "blockY",
	[NSYS_BLOCK_Z] = "blockZ",
	[NSYS_STATIC_SHARED] = "staticSharedMemory",
	[NSYS_DYNAMIC_SHARED] = "dynamicSharedMemory",
	[NSYS_GRAPH] = "graphId",
	[NSYS_GRAPH_NODE] = "graphNodeId",
	[NSYS_BYTES] = "bytes",
	[NSYS_COPY_KIND] = "copyKind",
	[NSYS_SRC_KIND] = "srcKind",
	[NSYS_DST_KIND] = "dstKind",
	[NSYS_MEM_KIND] = "memKind",
	[NSYS_SYNC_TYPE] = "syncType",
	[NSYS_EVENT] = "eventId",
	[NSYS_EVENT_TYPE] = "eventType",
	[NSYS_TEXT] = "text",
	[NSYS_TEXT_ID] = "textId",
	[NSYS_ADDRESS] = "address",
	[NSYS_MEMORY_OPERATION] = "memoryOperationType",
};

_Static_assert((int)N_NSYS_COLUMNS <= (int)NSYS_MAX_COLUMNS, "a scan holds all columns");

static int by_id(const void *a, const void *b)
{
	const struct nsys_string *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

enum { STRING_ID, STRING_VALUE };

static void read_strings(struct nsys *n)
{
	static const char *const columns[] = { [STRING_ID] = "id", [STRING_VALUE] = "value" };
	struct nsys_scan s;
	size_t cap = 0;
	if (!nsys_scan_open(&s, &n->db, "StringIds", columns, 2))
		return;
	while (nsys_scan_next(&s)) {
		int64_t id;
		if (!nsys_number(&s, STRING_ID, &id))
			continue;
		if (n->n_strings == cap) {
			cap = cap ? cap * 2 : 1024;
			n->strings = mem_realloc(n->strings, cap * sizeof *n->strings);
		}
		struct str text = str_dup(nsys_text(&s, STRING_VALUE), &n->db.arena);
		n->strings[n->n_strings++] = (struct nsys_string){ id, text, UINT32_MAX };
	}
	tallies_add(&n->t->rows, timeline_name(n->t, STR("StringIds")), s.n_rows);
	nsys_scan_close(&s);
	if (n->n_strings)
		qsort(n->strings, n->n_strings, sizeof *n->strings, by_id);
}

uint32_t nsys_string(struct nsys *n, int64_t id)
{
	struct nsys_string key = { .id = id };
	struct nsys_string *found =
	        n->n_strings ? bsearch(&key, n->strings, n->n_strings, sizeof *n->strings, by_id)
	                     : NULL;
	if (!found)
		return 0;
	if (found->name == UINT32_MAX)
		found->name = timeline_name(n->t, found->text);
	return found->name;
}

uint32_t nsys_name_at(struct nsys *n, const struct nsys_scan *s, enum nsys_column column)
{
	int64_t id;
	return nsys_number(s, (int)column, &id) ? nsys_string(n, id) : 0;
}

uint32_t nsys_number_name(struct nsys *n, int64_t number)
{
	buf_clear(&n->scratch);
	buf_printf(&n->scratch, "%lld", (long long)number);
	return timeline_name(n->t, buf_str(&n->scratch));
}

static bool in_bounds(int64_t time_ns)
{
	return time_ns <= TRACE_MAX_TIME_NS && time_ns >= -TRACE_MAX_TIME_NS;
}

bool nsys_times(struct nsys *n, const struct nsys_scan *s, struct event *e)
{
	int64_t start, end;
	enum loss loss = N_LOSSES;
	if (!nsys_number(s, NSYS_START, &start) || !nsys_number(s, NSYS_END, &end))
		loss = LOST_NO_TIME;
	else if (!in_bounds(start) || !in_bounds(end))
		loss = LOST_TOO_LONG;
	if (loss != N_LOSSES) {
		n->t->lost[loss]++;
		return false;
	}
	e->start_ns = start;
	e->dur_ns = end - start;
	return true;
}

/* globalTid is, from the top: 8 bits of hypervisor and 8 of machine, 24 of process, 24 of thread.
 */
enum { THREAD_BITS = 24, ID_MASK = (1 << 24) - 1 };

int64_t nsys_process_of(int64_t global_tid)
{
	return global_tid & ~(int64_t)ID_MASK;
}

uint64_t nsys_link(struct nsys *n, const struct nsys_scan *s, int64_t global_pid)
{
	int64_t correlation;
	if (!nsys_number(s, NSYS_CORRELATION, &correlation) || correlation <= 0 ||
	        correlation > UINT32_MAX)
		return 0;
	struct str key = { (const char *)&global_pid, sizeof global_pid };
	uint64_t process = (uint64_t)intern_add(&n->processes, key);
	return (process << 32) | (uint64_t)correlation;
}

static uint32_t process_name(struct nsys *n, int64_t global_tid)
{
	return nsys_number_name(n, (global_tid >> THREAD_BITS) & ID_MASK);
}

uint32_t nsys_device_track(struct nsys *n, const struct nsys_scan *s)
{
	struct track track;
	memset(&track, 0, sizeof track);
	track.device = nsys_int(s, NSYS_DEVICE, TRACE_NONE);
	track.pid = process_name(n, nsys_int(s, NSYS_GLOBAL_PID, 0));
	track.stream = nsys_number_name(n, nsys_int(s, NSYS_STREAM, 0));
	track.tid = track.stream;
	return timeline_track(n->t, &track);
}

uint32_t nsys_thread_track(struct nsys *n, int64_t global_tid)
{
	struct track track;
	memset(&track, 0, sizeof track);
	track.device = TRACE_NONE;
	track.pid = process_name(n, global_tid);
	track.tid = nsys_number_name(n, global_tid & ID_MASK);
	return timeline_track(n->t, &track);
}

/* The number of tables of this list that the database has. */
static int read_tables(struct nsys *n, const struct nsys_table *tables)
{
	int n_found = 0;
	for (; tables->name; tables++) {
		struct nsys_scan s;
		n_found += nsys_db_has(&n->db, tables->name);
		if (!nsys_scan_open(&s, &n->db, tables->name, column_names, N_NSYS_COLUMNS))
			continue;
		while (nsys_scan_next(&s))
			tables->row(n, &s);
		nsys_scan_close(&s);
		tallies_add(&n->t->rows, timeline_name(n->t, str_of(tables->name)), s.n_rows);
		n->t->n_events += s.n_rows;
	}
	return n_found;
}

static bool read_all(struct nsys *n, const char *path, struct err *err)
{
	read_strings(n);
	nsys_read_info(n);
	int n_tables = read_tables(n, nsys_device_tables) + read_tables(n, nsys_host_tables);
	nsys_read_gpu_metrics(n);
	if (n->t->n_events == 0 && n->t->lost[LOST_BROKEN] > 0)
		return err_set(err, ERR_INPUT,
		        _("'%s' is a damaged database from which no event can be read"), path);
	if (n_tables == 0 && n->t->software == 0 && n->t->n_counters == 0)
		return err_set(err, ERR_INPUT,
		        _("'%s' is a database, but not one that Nsight Systems exported"), path);
	return true;
}

static bool nsys_read(struct source *source, struct timeline *t, struct err *err)
{
	struct nsys n = { .t = t };
	bool ok = nsys_db_open(&n.db, source, t, err) && read_all(&n, source->path, err);
	nsys_db_close(&n.db);
	free(n.strings);
	intern_release(&n.processes);
	buf_release(&n.scratch);
	return ok;
}

static bool nsys_recognises(const struct source *source)
{
	return str_starts(source->head, (struct str){ "SQLite format 3", 16 });
}

const struct trace_reader nsys_sqlite_reader = {
	.name = "nsys-sqlite",
	.recognises = nsys_recognises,
	.read = nsys_read,
};
