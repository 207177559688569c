/*
 * The tables of rocprofv3 (kernel_trace.csv, memory_copy_trace.csv, hip_api_trace.csv,
 * counter_collection.csv ...) and the one of rocprof (results.csv). Columns differ from release to
 * release, so that they are found by their names; tables that were put one behind the other are
 * read as one.
 */
#include "trace/readers/rocprof.h"

#include "text/csv.h"
#include "trace/readers/readers.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The text is held whole: about 250 bytes for each kernel. */
static const int64_t max_bytes = INT64_C(8) << 30;

struct row_text {
	struct str start, end, kind, name, pid, thread, queue, stream, correlation, dispatch;
	struct str agent, from_agent, to_agent, bytes, address;
	struct str lds, vgpr, accum, grid[3], block[3];
	struct str counter, value;
};

enum { NOT_WANTED = -1, N_KNOWN = 64 };

/* What a column is: names of rocprofv3's releases first, then those of rocprof. */
static const struct column_name {
	struct str name;
	ptrdiff_t offset; /* of a struct str in row_text */
} column_names[] = {
	{ STR_INIT("Start_Timestamp"), offsetof(struct row_text, start) },
	{ STR_INIT("End_Timestamp"), offsetof(struct row_text, end) },
	{ STR_INIT("Kind"), offsetof(struct row_text, kind) },
	{ STR_INIT("Domain"), offsetof(struct row_text, kind) },
	{ STR_INIT("Kernel_Name"), offsetof(struct row_text, name) },
	{ STR_INIT("Function"), offsetof(struct row_text, name) },
	{ STR_INIT("Direction"), offsetof(struct row_text, name) },
	{ STR_INIT("Operation"), offsetof(struct row_text, name) },
	{ STR_INIT("Process_Id"), offsetof(struct row_text, pid) },
	{ STR_INIT("Thread_Id"), offsetof(struct row_text, thread) },
	{ STR_INIT("Queue_Id"), offsetof(struct row_text, queue) },
	{ STR_INIT("Stream_Id"), offsetof(struct row_text, stream) },
	{ STR_INIT("Correlation_Id"), offsetof(struct row_text, correlation) },
	{ STR_INIT("Dispatch_Id"), offsetof(struct row_text, dispatch) },
	{ STR_INIT("Agent_Id"), offsetof(struct row_text, agent) },
	{ STR_INIT("Source_Agent_Id"), offsetof(struct row_text, from_agent) },
	{ STR_INIT("Destination_Agent_Id"), offsetof(struct row_text, to_agent) },
	{ STR_INIT("Allocation_Size"), offsetof(struct row_text, bytes) },
	{ STR_INIT("Address"), offsetof(struct row_text, address) },
	{ STR_INIT("Group_Segment_Size"), offsetof(struct row_text, lds) },
	{ STR_INIT("LDS_Block_Size"), offsetof(struct row_text, lds) },
	{ STR_INIT("VGPR_Count"), offsetof(struct row_text, vgpr) },
	{ STR_INIT("Accum_VGPR_Count"), offsetof(struct row_text, accum) },
	{ STR_INIT("Grid_Size_X"), offsetof(struct row_text, grid[0]) },
	{ STR_INIT("Grid_Size_Y"), offsetof(struct row_text, grid[1]) },
	{ STR_INIT("Grid_Size_Z"), offsetof(struct row_text, grid[2]) },
	{ STR_INIT("Workgroup_Size_X"), offsetof(struct row_text, block[0]) },
	{ STR_INIT("Workgroup_Size_Y"), offsetof(struct row_text, block[1]) },
	{ STR_INIT("Workgroup_Size_Z"), offsetof(struct row_text, block[2]) },
	/* The products of the three, where only those are told. */
	{ STR_INIT("Grid_Size"), offsetof(struct row_text, grid[0]) },
	{ STR_INIT("Workgroup_Size"), offsetof(struct row_text, block[0]) },
	{ STR_INIT("Counter_Name"), offsetof(struct row_text, counter) },
	{ STR_INIT("Counter_Value"), offsetof(struct row_text, value) },
	{ STR_INIT("KernelName"), offsetof(struct row_text, name) },
	{ STR_INIT("Index"), offsetof(struct row_text, dispatch) },
	{ STR_INIT("gpu-id"), offsetof(struct row_text, agent) },
	{ STR_INIT("queue-id"), offsetof(struct row_text, queue) },
	{ STR_INIT("pid"), offsetof(struct row_text, pid) },
	{ STR_INIT("tid"), offsetof(struct row_text, thread) },
	{ STR_INIT("grd"), offsetof(struct row_text, grid[0]) },
	{ STR_INIT("wgr"), offsetof(struct row_text, block[0]) },
	{ STR_INIT("lds"), offsetof(struct row_text, lds) },
	{ STR_INIT("arch_vgpr"), offsetof(struct row_text, vgpr) },
	{ STR_INIT("vgpr"), offsetof(struct row_text, vgpr) },
	{ STR_INIT("accum_vgpr"), offsetof(struct row_text, accum) },
	{ STR_INIT("BeginNs"), offsetof(struct row_text, start) },
	{ STR_INIT("EndNs"), offsetof(struct row_text, end) },
	{ STR_INIT("queue-index"), NOT_WANTED },
	{ STR_INIT("scr"), NOT_WANTED },
	{ STR_INIT("sgpr"), NOT_WANTED },
	{ STR_INIT("wave_size"), NOT_WANTED },
	{ STR_INIT("fbar"), NOT_WANTED },
	{ STR_INIT("sig"), NOT_WANTED },
	{ STR_INIT("obj"), NOT_WANTED },
	{ STR_INIT("DispatchNs"), NOT_WANTED },
	{ STR_INIT("CompleteNs"), NOT_WANTED },
	{ STR_INIT("DurationNs"), NOT_WANTED },
};
_Static_assert(ARRAY_LEN(column_names) <= N_KNOWN, "the places of the columns have room");

enum table { TABLE_NONE, TABLE_TRACE, TABLE_COUNTERS, TABLE_V1 };

struct reading {
	struct timeline *t;
	struct rocprof_state state;
	struct rocprof_counters counters;
	enum table table;
	struct csv_row header;
	bool *is_counter;                   /* [header.n]: TABLE_V1 */
	ptrdiff_t columns[N_KNOWN];         /* of column_names; -1: the table has none */
	struct rocprof_record last;         /* TABLE_COUNTERS: of the rows before */
	struct str last_pid, last_dispatch; /* by which rows belong together */
};

static bool has(const struct csv_row *row, struct str a, struct str b)
{
	return csv_column(row, a) >= 0 && csv_column(row, b) >= 0;
}

static enum table table_of(const struct csv_row *row)
{
	if (has(row, STR("Counter_Name"), STR("Counter_Value")))
		return TABLE_COUNTERS;
	if (has(row, STR("Start_Timestamp"), STR("End_Timestamp")) &&
	        (csv_column(row, STR("Kind")) >= 0 || csv_column(row, STR("Domain")) >= 0))
		return TABLE_TRACE;
	return has(row, STR("KernelName"), STR("gpu-id")) ? TABLE_V1 : TABLE_NONE;
}

static bool recognises(const struct source *source)
{
	struct csv c = csv_of(source->head, ',');
	struct csv_row row = { 0 };
	bool known = csv_next(&c, &row) && table_of(&row) != TABLE_NONE;
	csv_row_release(&row);
	csv_release(&c);
	return known;
}

static struct row_text text_of(const struct reading *r, const struct csv_row *row)
{
	struct row_text text = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(column_names); i++)
		if (r->columns[i] >= 0 && column_names[i].offset != NOT_WANTED)
			*(struct str *)((char *)&text + column_names[i].offset) =
			        csv_field(row, r->columns[i]);
	return text;
}

/* "1", "Agent 7", "GPU 0"; TRACE_NONE for "CPU 0" and for none. */
static int64_t agent_number(struct str agent)
{
	size_t start = agent.len;
	if (agent.len == 0 || str_starts(agent, STR("CPU")))
		return TRACE_NONE;
	while (start && agent.s[start - 1] >= '0' && agent.s[start - 1] <= '9')
		start--;
	return rocprof_int((struct str){ agent.s + start, agent.len - start });
}

/* The GPU of a row. Of a copy it is the one that is written to, unless that is the host; of an
 * allocation agent 0 is the host, since processors are counted first. */
static int64_t device_of(const struct row_text *text)
{
	if (text->to_agent.len)
		return agent_number(
		        str_ends(text->name, STR("TO_HOST")) ? text->from_agent : text->to_agent);
	int64_t agent = agent_number(text->agent);
	bool memory = str_starts(text->kind, STR("MEMORY"));
	return memory && agent == 0 && !str_starts(text->agent, STR("GPU")) ? TRACE_NONE : agent;
}

static struct rocprof_record record_of(const struct row_text *text)
{
	struct rocprof_record r = rocprof_record_none();
	int64_t vgpr = rocprof_int(text->vgpr), accum = rocprof_int(text->accum), sum;
	r.start_ns = rocprof_int(text->start);
	r.end_ns = rocprof_int(text->end);
	r.correlation = rocprof_int(text->correlation);
	r.device = device_of(text);
	r.bytes = rocprof_int(text->bytes);
	r.address = rocprof_int(text->address);
	r.lds_bytes = rocprof_int(text->lds);
	if (vgpr > 0 && !__builtin_add_overflow(vgpr, accum > 0 ? accum : 0, &sum))
		r.registers = sum;
	for (int i = 0; i < 3; i++) {
		/* One number is the product. */
		bool product = i > 0 && text->grid[1].len == 0 && text->grid[0].len;
		r.grid[i] = product ? 1 : rocprof_int(text->grid[i]);
		r.block[i] = product ? 1 : rocprof_int(text->block[i]);
	}
	r.pid = text->pid;
	r.thread = text->thread;
	r.queue = text->queue;
	r.stream = text->stream;
	r.name = text->name;
	r.kind = text->kind.len ? text->kind : STR("KERNEL_DISPATCH");
	return r;
}

/* The launch whose counters were read is complete. */
static void end_launch(struct reading *r)
{
	if (r->counters.n == 0)
		return;
	rocprof_counters_launch(&r->counters, r->t, &r->last);
	/* Early releases do not say when it ran. */
	if (r->last.start_ns != TRACE_NONE)
		rocprof_add(r->t, &r->state, &r->last);
}

static double number_of(struct str text)
{
	double value;
	return str_to_double(str_trim(text), &value) ? value : NAN;
}

static void read_counter(struct reading *r, const struct row_text *text)
{
	if (!str_eq(text->dispatch, r->last_dispatch) || !str_eq(text->pid, r->last_pid))
		end_launch(r);
	r->last = record_of(text);
	r->last_dispatch = text->dispatch;
	r->last_pid = text->pid;
	rocprof_counters_add(
	        &r->counters, timeline_name(r->t, text->counter), number_of(text->value));
}

static void read_v1(
        struct reading *r, const struct csv_row *row, const struct rocprof_record *record)
{
	for (size_t i = 0; i < r->header.n; i++)
		if (r->is_counter[i])
			rocprof_counters_add(&r->counters, timeline_name(r->t, r->header.fields[i]),
			        number_of(csv_field(row, (ptrdiff_t)i)));
	if (r->counters.n)
		rocprof_counters_launch(&r->counters, r->t, record);
	if (csv_column(&r->header, STR("BeginNs")) >= 0)
		rocprof_add(r->t, &r->state, record);
}

static void read_row(struct reading *r, const struct csv_row *row)
{
	struct row_text text = text_of(r, row);
	struct rocprof_record record = record_of(&text);
	static const struct str v1 = STR_INIT("results"), counters = STR_INIT("counter_collection");
	struct str table = r->table == TABLE_TRACE ? text.kind
	                   : r->table == TABLE_V1  ? v1
	                                           : counters;
	r->t->n_events++;
	tallies_add(&r->t->rows, timeline_name(r->t, table), 1);
	if (r->table == TABLE_COUNTERS)
		read_counter(r, &text);
	else if (r->table == TABLE_V1)
		read_v1(r, row, &record);
	else
		rocprof_add(r->t, &r->state, &record);
}

static void begin_table(struct reading *r, struct csv_row *row)
{
	struct csv_row old = r->header;
	end_launch(r);
	r->table = table_of(row);
	r->header = *row;
	*row = old;
	for (size_t i = 0; i < ARRAY_LEN(column_names); i++)
		r->columns[i] = csv_column(&r->header, column_names[i].name);
	if (r->table != TABLE_V1)
		return;
	/* rocprof gives each counter a column, behind those that it always has. */
	r->t->format = "rocprof-csv";
	free(r->is_counter);
	r->is_counter = mem_zeroed(r->header.n, sizeof *r->is_counter);
	memset(r->is_counter, true, r->header.n);
	for (size_t i = 0; i < ARRAY_LEN(column_names); i++)
		if (r->columns[i] >= 0)
			r->is_counter[r->columns[i]] = false;
}

/* Tables begin with one of these columns. */
static bool is_header(const struct csv_row *row)
{
	static const struct str firsts[] = { STR_INIT("Kind"), STR_INIT("Domain"),
		STR_INIT("Correlation_Id"), STR_INIT("Guid"), STR_INIT("Index"),
		STR_INIT("KernelName") };
	for (size_t i = 0; i < ARRAY_LEN(firsts); i++)
		if (str_eq(row->fields[0], firsts[i]))
			return table_of(row) != TABLE_NONE;
	return false;
}

static void read_rows(struct reading *r, struct csv *c, bool ends_in_line)
{
	struct csv_row row = { 0 };
	while (csv_next(c, &row)) {
		bool last = c->p == c->end && !ends_in_line;
		if (is_header(&row)) {
			begin_table(r, &row);
		} else if (row.n < r->header.n && last) {
			/* The file ends inside a row, where a number may have lost digits. */
			r->t->truncated = true;
			r->t->lost[LOST_BROKEN]++;
		} else {
			read_row(r, &row);
		}
	}
	end_launch(r);
	csv_row_release(&row);
}

static bool read_csv(struct source *source, struct timeline *t, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	struct reading r = { .t = t };
	if (!source_read_all(source, max_bytes, &text, err))
		return false;
	struct csv c = csv_of(buf_str(&text), ',');
	read_rows(&r, &c, text.len && text.s[text.len - 1] == '\n');
	t->is_amd = true;
	t->truncated |= c.cut;
	t->lost[LOST_BROKEN] += c.n_broken + c.n_dropped;
	csv_row_release(&r.header);
	csv_release(&c);
	free(r.is_counter);
	rocprof_counters_release(&r.counters);
	rocprof_state_release(&r.state);
	return true;
}

const struct trace_reader rocprof_csv_reader = { "rocprofv3-csv", recognises, read_csv };
