/*
 * Databases of Nsight Systems made here: old, new and lazy schemas, values of the wrong type, and
 * damage. Expected numbers are those of the statements that made them.
 */
#include "trace/reader.h"

#include "trace_text.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <zlib.h>

static char folder[] = "/tmp/venturi_nsys_XXXXXX";
static char path[128];

/* A new database in path. */
static void make(const char *sql)
{
	sqlite3 *db;
	char *message = NULL;
	unlink(path);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA journal_mode = MEMORY", NULL, NULL, NULL);
	if (!CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK))
		printf("#   %s\n", message);
	sqlite3_free(message);
	sqlite3_close(db);
}

static bool read_made(struct timeline *t)
{
	struct err err = { 0 };
	bool ok = trace_read_file(path, t, &err);
	if (!CHECK(ok))
		printf("#   %s\n", err.text);
	return ok;
}

static const struct event *nth(const struct timeline *t, enum event_group group, size_t i)
{
	static const struct event none;
	return CHECK(i < t->lists[group].n) ? &t->lists[group].v[i] : &none;
}

static struct str file_text(struct arena *arena)
{
	struct str text = { 0 };
	struct err err;
	CHECK(str_read_file(path, 64 << 20, arena, &text, &err));
	return text;
}

static void write_file(struct str text)
{
	FILE *f = fopen(path, "we");
	CHECK(f && fwrite(text.s, 1, text.len, f) == text.len);
	if (f)
		fclose(f);
}

#define STRINGS                                                                                    \
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"           \
	"INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'void gemm<float>(T1)'),"                   \
	"(3, 'cudaLaunchKernel_v7000'), (4, 'step'), (5, '_Z4gemm'), (900, 'poll');"
/* Process 7, thread 9, and process 8, thread 9, of one machine. */
#define PROCESS_7 "117440512"
#define PROCESS_8 "134217728"
#define THREAD_7 "117440521"
#define THREAD_8 "134217737"
#define RUNTIME                                                                                    \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL,"          \
	" globalTid INT NOT NULL, correlationId INT NOT NULL, nameId INT NOT NULL,"                \
	" returnValue INT NOT NULL);"
#define KERNEL                                                                                     \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL,"           \
	" deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL,"                   \
	" correlationId INT NOT NULL, globalPid INT, demangledName INT NOT NULL,"                  \
	" shortName INT NOT NULL, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT,"        \
	" blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT, registersPerThread INT);"

/* All tables are there, most are empty, what is missing is 0, texts of ranges stand in the row. */
static void an_old_schema_is_read(void)
{
	struct timeline t;
	make(STRINGS RUNTIME KERNEL
	        "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
	        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT);"
	        "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT NOT NULL, eventType INT NOT "
	        "NULL, text TEXT NOT NULL, globalTid INT NOT NULL);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1400, " THREAD_7
	        ", 5, 3, 0);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 2500, 1, 1, 13, 5, " PROCESS_7
	        ", 2, 1, 8, 4, 2, 128, 2, 1, 100, 28, 40);"
	        "INSERT INTO NVTX_EVENTS VALUES (900, 3000, 59, 'outer', " THREAD_7 "),"
	        "(950, 0, 34, 'here', " THREAD_7 "), (960, 0, 59, 'open', " THREAD_7 "),"
	        "(0, 0, 75, 'domain', " THREAD_7 ");");
	if (!read_made(&t))
		return;
	const struct event *e = nth(&t, GROUP_DEVICE, 0), *call = nth(&t, GROUP_CALL, 0);
	const struct kernel_detail *k = timeline_kernel(&t, e);
	const struct track *at = timeline_track_of(&t, e->track);
	CHECK_STR(event_name(&t, e), "void gemm<float>(T1)");
	CHECK_INT(e->start_ns, 2000);
	CHECK_INT(e->dur_ns, 500);
	CHECK(e->link != 0 && e->link == call->link);
	CHECK_INT(k->grid[0], 8);
	CHECK_INT(k->grid[2], 2);
	CHECK_INT(k->block[1], 2);
	CHECK_INT(k->shared_bytes, 128);
	CHECK_INT(k->registers, 40);
	CHECK_INT(at->device, 1);
	CHECK_STR(timeline_name_of(&t, at->stream).s, "13");
	at = timeline_track_of(&t, call->track);
	CHECK_INT(at->device, TRACE_NONE);
	CHECK_STR(timeline_name_of(&t, at->pid).s, "7");
	CHECK_STR(timeline_name_of(&t, at->tid).s, "9");
	CHECK_STR(event_name(&t, call), "cudaLaunchKernel_v7000");
	CHECK_STR(event_name(&t, nth(&t, GROUP_ANNOTATION, 0)), "outer");
	CHECK_STR(event_name(&t, nth(&t, GROUP_INSTANT, 0)), "here");
	CHECK_INT(t.lists[GROUP_ANNOTATION].n, 1);
	CHECK_INT(t.lost[LOST_UNMATCHED], 1);
	CHECK_INT(t.n_events, 1 + 1 + 4);
	CHECK_STR(timeline_name_of(&t, t.software).s, "Nsight Systems");
	timeline_release(&t);
}

static void a_lazy_schema_has_only_what_was_used(void)
{
	struct timeline t;
	make("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId "
	     "INTEGER,"
	     " streamId INTEGER, demangledName INTEGER, extra TEXT);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 2, 'x');");
	if (!read_made(&t))
		return;
	const struct event *e = nth(&t, GROUP_DEVICE, 0);
	CHECK_STR(event_name(&t, e), "unknown");
	CHECK_INT(e->link, 0);
	CHECK_INT(timeline_kernel(&t, e)->grid[0], -1);
	CHECK_INT(timeline_kernel(&t, e)->shared_bytes, -1);
	CHECK_INT(t.base_unix_ns, TRACE_NONE);
	timeline_release(&t);
	/* The short name stands in for one that is not there. */
	make(STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, shortName);"
	             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 1);");
	if (!read_made(&t))
		return;
	CHECK_STR(event_name(&t, nth(&t, GROUP_DEVICE, 0)), "gemm");
	timeline_release(&t);
}

static void the_same_correlation_in_two_processes_is_two_links(void)
{
	struct timeline t;
	make(STRINGS RUNTIME KERNEL
	        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, " THREAD_7 ", 5, 3, 0),"
	        "(1, 2, " THREAD_8 ", 5, 3, 0);"
	        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,"
	        " correlationId, globalPid, demangledName, shortName) VALUES"
	        "(3, 4, 0, 1, 7, 5, " PROCESS_8 ", 2, 1), (3, 4, 0, 1, 7, 0, " PROCESS_8 ", 2, 1),"
	        "(3, 4, 0, 1, 7, 9999999999, " PROCESS_7 ", 2, 1);");
	if (!read_made(&t))
		return;
	CHECK(nth(&t, GROUP_CALL, 0)->link != nth(&t, GROUP_CALL, 1)->link);
	CHECK(nth(&t, GROUP_DEVICE, 0)->link == nth(&t, GROUP_CALL, 1)->link);
	CHECK_INT(nth(&t, GROUP_DEVICE, 1)->link, 0);
	CHECK_INT(nth(&t, GROUP_DEVICE, 2)->link, 0);
	timeline_release(&t);
}

static void copies_say_their_memory(void)
{
	struct timeline t;
	make("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, bytes,"
	     " copyKind, srcKind, dstKind);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, bytes,"
	     " memKind);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 7, 4096, 1, 0, 2),"
	     "(2, 3, 0, 7, 8, 2, 2, 1), (3, 4, 0, 7, NULL, 11, 4, 4), (4, 5, 0, 7, 1, 99, 7, 2);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 2, 0, 7, 16, 2);");
	if (!read_made(&t))
		return;
	const struct event *e = nth(&t, GROUP_DEVICE, 0);
	CHECK_STR(event_name(&t, e), "Memcpy HtoD (Pageable -> Device)");
	CHECK_INT(timeline_copy(&t, e)->bytes, 4096);
	CHECK_INT(timeline_copy(&t, e)->kind, COPY_HTOD);
	CHECK_INT(timeline_copy(&t, e)->from, MEMORY_PAGEABLE);
	CHECK_INT(timeline_copy(&t, e)->to, MEMORY_DEVICE);
	e = nth(&t, GROUP_DEVICE, 1);
	CHECK_STR(event_name(&t, e), "Memcpy DtoH (Device -> Pinned)");
	e = nth(&t, GROUP_DEVICE, 2);
	CHECK_STR(event_name(&t, e), "Memcpy UVM HtoD (Managed -> Managed)");
	CHECK_INT(timeline_copy(&t, e)->bytes, -1);
	e = nth(&t, GROUP_DEVICE, 3);
	CHECK_STR(event_name(&t, e), "Memcpy unknown");
	CHECK_INT(timeline_copy(&t, e)->kind, COPY_OTHER);
	CHECK_INT(timeline_copy(&t, e)->from, MEMORY_UNKNOWN);
	e = nth(&t, GROUP_DEVICE, 4);
	CHECK_INT(e->kind, DEVICE_MEMSET);
	CHECK_STR(event_name(&t, e), "Memset (Device)");
	timeline_release(&t);
}

static void graphs_synchronisations_and_memory_are_read(void)
{
	struct timeline t;
	make("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId,"
	     " correlationId, globalPid, graphId);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, "
	     "graphNodeId);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, streamId,"
	     " syncType, eventId);"
	     "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp, deviceId, streamId);"
	     "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, deviceId, bytes, address,"
	     " memoryOperationType);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100, 200, 0, 7, 3, 0, 12);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (300, 400, 0, 7, 12884901893);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 2, 0, 7, 3, 4294967295),"
	     "(2, 3, 0, 7, 2, 44);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (5, 0, 7);"
	     "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (6, 0, 512, 4096, 0),"
	     "(7, 0, 512, 4096, 1);");
	if (!read_made(&t))
		return;
	const struct event *e = nth(&t, GROUP_DEVICE, 1);
	CHECK_STR(event_name(&t, e), "CUDA graph 12");
	CHECK_STR(timeline_name_of(&t, timeline_kernel(&t, e)->graph).s, "12");
	CHECK(e->link != 0);
	/* 3 << 32 | 5 */
	e = nth(&t, GROUP_DEVICE, 0);
	CHECK_STR(timeline_name_of(&t, timeline_kernel(&t, e)->graph).s, "3");
	const struct sync_detail *sync = timeline_sync(&t, nth(&t, GROUP_SYNC, 0));
	CHECK_INT(sync->kind, SYNC_STREAM);
	CHECK_INT(sync->event, -1);
	CHECK_STR(timeline_name_of(&t, sync->waits_on_stream).s, "7");
	sync = timeline_sync(&t, nth(&t, GROUP_SYNC, 1));
	CHECK_INT(sync->kind, SYNC_STREAM_WAIT);
	CHECK_INT(sync->event, 44);
	CHECK_INT(nth(&t, GROUP_INSTANT, 0)->start_ns, 5);
	CHECK_INT(timeline_memory(&t, nth(&t, GROUP_MEMORY, 0))->bytes, 512);
	CHECK_INT(timeline_memory(&t, nth(&t, GROUP_MEMORY, 1))->bytes, -512);
	timeline_release(&t);
}

static void counters_are_named_by_two_numbers(void)
{
	struct timeline t;
	make("CREATE TABLE GPU_METRICS (rawTimestamp, timestamp, typeId, metricId, value);"
	     "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId,"
	     " metricName);"
	     "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 1, 'a', 1, 'SMs Active'),"
	     "(513, 1, 'b', 1, 'DRAM Read'), (513, 1, 'b', 2, 'DRAM Write');"
	     "INSERT INTO GPU_METRICS VALUES (0, -5, 256, 1, 40), (0, 10, 513, 1, 50),"
	     "(0, 10, 513, 2, 60.5), (0, 10, 513, 9, 70), (0, NULL, 513, 1, 1);");
	if (!read_made(&t))
		return;
	static const char *const names[] = { "SMs Active", "DRAM Read", "DRAM Write", "9" };
	static const double values[] = { 40, 50, 60.5, 70 };
	CHECK_INT(t.n_counters, 4);
	for (size_t i = 0; i < 4 && i < t.n_counters; i++) {
		CHECK_STR(timeline_name_of(&t, t.counters[i].name).s, names[i]);
		CHECK_NEAR(t.counters[i].value, values[i], 0);
		CHECK_INT(t.counters[i].device, i == 0 ? 0 : 1);
	}
	CHECK_INT(t.counters[0].time_ns, -5);
	CHECK_INT(t.lost[LOST_NO_TIME], 1);
	timeline_release(&t);
}

static void ranges_of_pytorch_tell_shapes(void)
{
	struct timeline t;
	make("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid);"
	     "INSERT INTO NVTX_EVENTS VALUES"
	     "(1, 9, 59, 'aten::addmm, seq = 3, op_id = 7, sizes = [[8, 64], [], [64, 2]], "
	     "input_op_ids = [[1, 0]]', NULL, " THREAD_7 "),"
	     "(2, 3, 59, 'my range, quite long', NULL, " THREAD_7 ");");
	if (!read_made(&t))
		return;
	CHECK_INT(t.lists[GROUP_ANNOTATION].n, 2);
	CHECK_INT(t.lists[GROUP_OPERATOR].n, 1);
	const struct event *e = nth(&t, GROUP_OPERATOR, 0);
	const struct operator_detail *detail = timeline_operator(&t, e);
	CHECK_STR(event_name(&t, e), "aten::addmm");
	CHECK_INT(detail->sequence, 3);
	CHECK_STR(timeline_name_of(&t, detail->dims).s, "[[8,64],[],[64,2]]");
	CHECK_INT(t.has_shapes, 1);
	timeline_release(&t);
}

/* What is a number in another type is read; what is none is counted and enters no sum. */
static void values_of_the_wrong_type_are_counted(void)
{
	struct timeline t;
	make("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, gridX);"
	     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('100', 200.0, 0, 'many'),"
	     "(NULL, 5, 0, 1), (x'00ff', 5, 0, 1), ('now', 5, 0, 1), (9e99, 5, 0, 1),"
	     "(5, 9223372036854775807, 0, 1), (-9223372036854775808, 5, 0, 1), (50, 40, 0, 1),"
	     "(0, 0, 0, 1), (1, 700000000000000, 0, 1);");
	if (!read_made(&t))
		return;
	CHECK_INT(t.lists[GROUP_DEVICE].n, 1);
	CHECK_INT(nth(&t, GROUP_DEVICE, 0)->start_ns, 100);
	CHECK_INT(nth(&t, GROUP_DEVICE, 0)->dur_ns, 100);
	CHECK_INT(t.lost[LOST_BAD_NUMBER], 1);
	CHECK_INT(t.lost[LOST_NO_TIME], 4);
	CHECK_INT(t.lost[LOST_TOO_LONG], 3);
	CHECK_INT(t.lost[LOST_NEGATIVE], 1);
	CHECK_INT(t.lost[LOST_ZERO_TIME], 1);
	CHECK_INT(t.n_events, 10);
	timeline_release(&t);
}

static void nothing_of_a_database_is_run(void)
{
	static const char *const hostile[] = {
		"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start) AS (SELECT 1"
		" UNION ALL SELECT start + 1 FROM c) SELECT start, start + 1 AS end FROM c;"
		"CREATE TABLE other (a);",
		"CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end);"
		"DROP TABLE IF EXISTS x; CREATE TABLE other (a);",
	};
	for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
		struct timeline t;
		struct err err = { 0 };
		make(hostile[i]);
		CHECK(!trace_read_file(path, &t, &err));
		CHECK_INT(err.kind, ERR_INPUT);
		CHECK(strstr(err.text, path) != NULL);
		CHECK_INT(t.lists[GROUP_DEVICE].n, 0);
		timeline_release(&t);
	}
}

/* A kernel a row, 100 bytes a row: about 40 rows a page. */
enum { MANY = 5000 };

static void make_many(void)
{
	make("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, pad);"
	     "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 5000)"
	     " INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 10, i * 10 + 5, 0,"
	     " hex(zeroblob(40)) FROM c;");
}

static void the_file_stays_as_it_is(void)
{
	struct arena arena = { 0 };
	struct timeline t;
	struct stat before, after;
	make_many();
	struct str text = file_text(&arena);
	CHECK(chmod(path, 0400) == 0 && stat(path, &before) == 0);
	if (read_made(&t))
		timeline_release(&t);
	CHECK(stat(path, &after) == 0 && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
	CHECK(str_eq(file_text(&arena), text));
	arena_release(&arena);
}

static void a_packed_database_is_read_the_same(void)
{
	struct arena arena = { 0 };
	struct timeline t;
	make_many();
	struct str text = file_text(&arena);
	gzFile f = gzopen(path, "wb");
	CHECK(gzwrite(f, text.s, (unsigned)text.len) == (int)text.len);
	gzclose(f);
	if (read_made(&t)) {
		CHECK_INT(t.lists[GROUP_DEVICE].n, MANY);
		CHECK_INT(t.n_bytes, text.len);
		CHECK(!t.truncated);
		timeline_release(&t);
	}
	/* and cut, as far as it goes */
	text = file_text(&arena);
	write_file((struct str){ text.s, text.len / 2 });
	if (read_made(&t)) {
		CHECK(t.lists[GROUP_DEVICE].n > MANY / 4 && t.lists[GROUP_DEVICE].n < MANY);
		CHECK(t.truncated);
		timeline_release(&t);
	}
	arena_release(&arena);
}

/* Pages were written in order, so that half the file has about half the rows. */
static void a_cut_database_is_read_as_far_as_it_goes(void)
{
	struct arena arena = { 0 };
	make_many();
	struct str text = file_text(&arena);
	for (size_t eighth = 1; eighth < 8; eighth++) {
		struct timeline t;
		write_file((struct str){ text.s, text.len * eighth / 8 });
		if (!read_made(&t))
			continue;
		size_t n = t.lists[GROUP_DEVICE].n;
		CHECK(n > MANY * eighth / 8 - MANY / 20 && n < MANY * eighth / 8 + MANY / 20);
		CHECK(t.truncated && t.lost[LOST_BROKEN] > 0);
		timeline_release(&t);
	}
	for (size_t bytes = 1; bytes < 4096; bytes += 37) {
		struct timeline t;
		struct err err = { 0 };
		write_file((struct str){ text.s, bytes });
		CHECK(!trace_read_file(path, &t, &err));
		CHECK(strstr(err.text, path) != NULL);
		if (bytes >= 16)
			timeline_release(&t);
	}
	arena_release(&arena);
}

static void a_broken_page_costs_its_own_rows_only(void)
{
	enum { PAGE = 4096, BROKEN = 20, ROWS_OF_A_PAGE = 60 };
	struct arena arena = { 0 };
	struct timeline t;
	make_many();
	struct str text = file_text(&arena);
	memset((char *)text.s + BROKEN * PAGE, 0xff, PAGE);
	write_file(text);
	if (read_made(&t)) {
		size_t n = t.lists[GROUP_DEVICE].n;
		CHECK(n > MANY - ROWS_OF_A_PAGE && n < MANY);
		CHECK_INT(t.lost[LOST_BROKEN], 1);
		/* the last one is there */
		CHECK_INT(nth(&t, GROUP_DEVICE, n - 1)->start_ns, MANY * 10);
		timeline_release(&t);
	}
	arena_release(&arena);
}

static unsigned be16(const char *p)
{
	return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

/* The root of the table, page 2, has all its children replaced by the first one. */
static void pages_that_point_in_circles_end(void)
{
	enum { PAGE = 4096, AT_CELLS = 12, INTERIOR = 5 };
	struct arena arena = { 0 };
	struct timeline t;
	make_many();
	char *root = (char *)file_text(&arena).s + PAGE;
	CHECK_INT(root[0], INTERIOR);
	char child[4];
	memcpy(child, root + be16(root + AT_CELLS), sizeof child);
	for (unsigned i = 0; i < be16(root + 3); i++)
		memcpy(root + be16(root + AT_CELLS + 2 * i), child, sizeof child);
	struct stat st;
	CHECK(stat(path, &st) == 0);
	write_file((struct str){ root - PAGE, (size_t)st.st_size });
	if (read_made(&t)) {
		CHECK(t.lists[GROUP_DEVICE].n > 0 && t.lists[GROUP_DEVICE].n < 200);
		CHECK(t.lost[LOST_BROKEN] > 0 && t.truncated);
		timeline_release(&t);
	}
	arena_release(&arena);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	/* a name with what a URI would take for its own */
	snprintf(path, sizeof path, "%s/a%%20?mode=rwc#.sqlite", folder);
	TAP_RUN(an_old_schema_is_read);
	TAP_RUN(a_lazy_schema_has_only_what_was_used);
	TAP_RUN(the_same_correlation_in_two_processes_is_two_links);
	TAP_RUN(copies_say_their_memory);
	TAP_RUN(graphs_synchronisations_and_memory_are_read);
	TAP_RUN(counters_are_named_by_two_numbers);
	TAP_RUN(ranges_of_pytorch_tell_shapes);
	TAP_RUN(values_of_the_wrong_type_are_counted);
	TAP_RUN(nothing_of_a_database_is_run);
	TAP_RUN(the_file_stays_as_it_is);
	TAP_RUN(a_packed_database_is_read_the_same);
	TAP_RUN(a_cut_database_is_read_as_far_as_it_goes);
	TAP_RUN(a_broken_page_costs_its_own_rows_only);
	TAP_RUN(pages_that_point_in_circles_end);
	unlink(path);
	CHECK(rmdir(folder) == 0); /* nothing was left beside the file */
	return tap_done();
}
