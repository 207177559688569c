/*
 * nsys_stats.c - the CSV of nsys stats: one report or several, with or without the lines between
 * them ("** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):", "Processing [...]").
 *
 * The traces (cuda_gpu_trace, cuda_api_trace, cuda_kern_exec_trace, nvtx_*_trace) are events. The
 * summaries have no times: they become rows of sums, and no event is made up for them. What two
 * reports tell of the same kind is taken from the first, and from events before sums.
 *
 * Sizes are printed in MB with three decimals: they are read as printed, a printed 0 as not told.
 */
#include "trace/readers/nsys_stats_columns.h"
#include "trace/readers/nsys_words.h"
#include "trace/readers/readers.h"

#include <string.h>

static const int64_t max_bytes = INT64_C(2) << 30;

enum { N_KINDS = DEVICE_MEMSET + 1, MAX_MEMORY_ROWS = 32 };

struct stats;

struct report {
	const char *name; /* as in the title; the first that fits of those without one */
	enum stats_column needs[4];
	void (*row)(struct stats *s, const struct csv_row *row);
};

struct stats {
	struct timeline *t;
	struct stats_columns columns;
	const struct report *report; /* NULL: between reports */
	struct str title;            /* "cuda_gpu_kern_sum" */
	bool is_titled;              /* the title is that of the next report */
	int n_reports;
	int owner[2][N_GROUPS][N_KINDS]; /* which report tells of events, of sums; 0: none yet */
	size_t memory[MAX_MEMORY_ROWS];  /* summaries of copies and memsets */
	size_t n_memory;
	struct intern devices; /* those that have no number */
	int64_t n_pairs;
};

enum { EVENTS, SUMS };

/* Whether this report is the one that tells of a kind. */
static bool owns(struct stats *s, int of, enum event_group group, uint32_t kind)
{
	int *owner = &s->owner[of][group][kind];
	if (*owner == 0)
		*owner = s->n_reports;
	return *owner == s->n_reports;
}

static struct str text_of(const struct stats *s, const struct csv_row *row, enum stats_column c)
{
	return stats_text(&s->columns, row, c);
}

static int64_t number_of(
        const struct stats *s, const struct csv_row *row, enum stats_column c, int64_t otherwise)
{
	int64_t value;
	return stats_number(&s->columns, row, c, &value) ? value : otherwise;
}

static bool times_of(struct stats *s, const struct csv_row *row, enum stats_column start,
        enum stats_column duration, struct event *e)
{
	*e = (struct event){ 0 };
	if (stats_number(&s->columns, row, start, &e->start_ns) &&
	        stats_number(&s->columns, row, duration, &e->dur_ns))
		return true;
	s->t->lost[LOST_NO_TIME]++;
	return false;
}

/* ---- names and places ---- */

struct operation {
	bool is_copy, is_memset;
	const struct nsys_copy_word *word;
};

/* "[CUDA memcpy Host-to-Device]", "[CUDA memset]", "[CUDA Unified Memory memcpy HtoD]". */
static struct operation operation_of(struct str name)
{
	struct operation o = { .word = nsys_copy_word(0) };
	struct str rest = name, inner;
	if (!str_starts(name, STR("[CUDA ")))
		return o;
	o.is_memset = str_find(name, STR("memset")) >= 0;
	ptrdiff_t at = str_find(name, STR("memcpy "));
	o.is_copy = !o.is_memset && str_find(name, STR("memcpy")) >= 0;
	if (!o.is_copy || at < 0)
		return o;
	inner = str_cut((struct str){ name.s + at + 7, name.len - (size_t)at - 7 }, ']', &rest);
	o.word = nsys_copy_word_find(inner);
	if (str_find(name, STR("Unified")) >= 0) {
		char unified[64];
		snprintf(unified, sizeof unified, "UVM %s", o.word->name);
		o.word = nsys_copy_word_find(str_of(unified));
	}
	return o;
}

enum { MAX_DEVICE_ID = 4096 };

/* "NVIDIA A100 (0)", or a name alone, which then stands for one more device. */
static int64_t device_of(struct stats *s, struct str text, struct str *ret_name)
{
	struct str number, rest;
	int64_t id;
	ptrdiff_t at = -1;
	for (size_t i = 0; i < text.len; i++)
		if (text.s[i] == '(')
			at = (ptrdiff_t)i;
	*ret_name = text;
	if (str_to_i64(text, &id) && id >= 0 && id < MAX_DEVICE_ID) {
		*ret_name = STR("");
		return id;
	}
	if (at >= 0) {
		number = (struct str){ text.s + at + 1, text.len - (size_t)at - 1 };
		if (str_to_i64(str_cut(number, ')', &rest), &id) && id >= 0 && id < MAX_DEVICE_ID) {
			*ret_name = str_trim((struct str){ text.s, (size_t)at });
			return id;
		}
	}
	return text.len ? (int64_t)intern_add(&s->devices, text) - 1 : 0;
}

static void describe_device(struct timeline *t, int64_t id, struct str name)
{
	enum { MAX_DESCRIBED = 64 };
	if (name.len == 0 || t->n_devices >= MAX_DESCRIBED)
		return;
	for (size_t i = 0; i < t->n_devices; i++)
		if (t->devices[i].id == id)
			return;
	timeline_device(t, id)->name = timeline_name(t, name);
}

static uint32_t device_track(struct stats *s, const struct csv_row *row)
{
	struct track track;
	struct str name;
	memset(&track, 0, sizeof track);
	track.device = device_of(s, text_of(s, row, STATS_DEVICE), &name);
	track.pid = timeline_name(s->t, text_of(s, row, STATS_PROCESS));
	track.stream = timeline_name(s->t, text_of(s, row, STATS_STREAM));
	track.tid = track.stream;
	describe_device(s->t, track.device, name);
	return timeline_track(s->t, &track);
}

static uint32_t thread_track(struct stats *s, const struct csv_row *row)
{
	struct track track;
	memset(&track, 0, sizeof track);
	track.device = TRACE_NONE;
	track.pid = timeline_name(s->t, text_of(s, row, STATS_PROCESS));
	track.tid = timeline_name(s->t, text_of(s, row, STATS_THREAD));
	return timeline_track(s->t, &track);
}

/* ---- traces ---- */

static uint64_t link_of(struct stats *s, const struct csv_row *row)
{
	int64_t correlation = number_of(s, row, STATS_CORRELATION, 0);
	return correlation > 0 ? (uint64_t)correlation : 0;
}

static void set_kernel(struct stats *s, const struct csv_row *row, struct event *e)
{
	struct kernel_detail detail = kernel_detail_none();
	for (int i = 0; i < 3; i++) {
		detail.grid[i] = number_of(s, row, (enum stats_column)(STATS_GRID_X + i), -1);
		detail.block[i] = number_of(s, row, (enum stats_column)(STATS_BLOCK_X + i), -1);
	}
	detail.registers = number_of(s, row, STATS_REGISTERS, -1);
	e->kind = DEVICE_KERNEL;
	e->name = timeline_name(s->t, text_of(s, row, STATS_NAME));
	e->detail = timeline_detail(s->t, DETAIL_KERNEL, &detail);
}

static void gpu_trace_row(struct stats *s, const struct csv_row *row)
{
	struct event e;
	struct operation o = operation_of(text_of(s, row, STATS_NAME));
	if (!times_of(s, row, STATS_START, STATS_DURATION, &e))
		return;
	int64_t bytes = number_of(s, row, STATS_BYTES, -1);
	const struct nsys_memory_word *from = nsys_memory_word_find(text_of(s, row, STATS_FROM));
	const struct nsys_memory_word *to = nsys_memory_word_find(text_of(s, row, STATS_TO));
	if (o.is_copy)
		nsys_name_copy(s->t, &e, o.word, from, to, bytes > 0 ? bytes : -1);
	else if (o.is_memset)
		nsys_name_memset(s->t, &e, from->name ? from : to, bytes > 0 ? bytes : -1);
	else
		set_kernel(s, row, &e);
	e.link = link_of(s, row);
	e.track = device_track(s, row);
	if (owns(s, EVENTS, GROUP_DEVICE, e.kind))
		timeline_add_checked(s->t, GROUP_DEVICE, &e);
}

static void api_trace_row(struct stats *s, const struct csv_row *row)
{
	struct event e;
	if (!owns(s, EVENTS, GROUP_CALL, 0) || !times_of(s, row, STATS_START, STATS_DURATION, &e))
		return;
	e.link = link_of(s, row);
	e.track = thread_track(s, row);
	e.name = timeline_name(s->t, text_of(s, row, STATS_NAME));
	timeline_add_checked(s->t, GROUP_CALL, &e);
}

/* A launch and its kernel in one row, which is what links them. */
static void exec_trace_row(struct stats *s, const struct csv_row *row)
{
	struct event e;
	s->n_pairs++;
	if (owns(s, EVENTS, GROUP_CALL, 0) &&
	        times_of(s, row, STATS_API_START, STATS_API_DURATION, &e)) {
		e.link = (uint64_t)s->n_pairs;
		e.track = thread_track(s, row);
		e.name = timeline_name(s->t, text_of(s, row, STATS_API_NAME));
		timeline_add_checked(s->t, GROUP_CALL, &e);
	}
	if (owns(s, EVENTS, GROUP_DEVICE, DEVICE_KERNEL) &&
	        times_of(s, row, STATS_KERNEL_START, STATS_KERNEL_DURATION, &e)) {
		set_kernel(s, row, &e);
		e.link = (uint64_t)s->n_pairs;
		e.track = device_track(s, row);
		timeline_add_checked(s->t, GROUP_DEVICE, &e);
	}
}

static void nvtx_trace_row(struct stats *s, const struct csv_row *row)
{
	struct event e;
	if (!owns(s, EVENTS, GROUP_ANNOTATION, 0) ||
	        !times_of(s, row, STATS_START, STATS_DURATION, &e))
		return;
	e.track = thread_track(s, row);
	e.name = timeline_name(s->t, text_of(s, row, STATS_NAME));
	timeline_add_checked(s->t, GROUP_ANNOTATION, &e);
}

/* ---- summaries ---- */

/* The row of a copy or memset; there are few, and two reports tell of each: time, and size. */
static struct summary_row *memory_summary(struct stats *s, const struct event *as)
{
	for (size_t i = 0; i < s->n_memory; i++) {
		struct summary_row *row = &s->t->summaries[s->memory[i]];
		if (row->as.name == as->name)
			return row;
	}
	if (s->n_memory == MAX_MEMORY_ROWS)
		return NULL;
	s->memory[s->n_memory++] = s->t->n_summaries;
	struct summary_row *row = timeline_summary(s->t);
	row->group = GROUP_DEVICE;
	row->as = *as;
	return row;
}

static bool memory_of(struct stats *s, const struct csv_row *row, struct event *as)
{
	const struct nsys_memory_word *unknown = nsys_memory_word(-1);
	struct operation o = operation_of(text_of(s, row, STATS_NAME));
	*as = (struct event){ 0 };
	if (o.is_copy)
		nsys_name_copy(s->t, as, o.word, unknown, unknown, -1);
	else if (o.is_memset)
		nsys_name_memset(s->t, as, unknown, -1);
	return o.is_copy || o.is_memset;
}

/* Calls of CUDA begin with its name; others are of the C library, OpenGL ... */
static enum event_group group_of(const struct stats *s, const struct csv_row *row)
{
	struct str category = text_of(s, row, STATS_CATEGORY);
	if (stats_has(&s->columns, STATS_RANGE))
		return GROUP_ANNOTATION;
	if (str_eq(category, STR("CUDA_API")) || stats_has(&s->columns, STATS_CALLS))
		return str_starts(text_of(s, row, STATS_NAME), STR("cu")) ? GROUP_CALL
		                                                          : GROUP_OTHER;
	return GROUP_DEVICE;
}

static bool count_of(const struct stats *s, const struct csv_row *row, int64_t *ret)
{
	bool calls = stats_has(&s->columns, STATS_CALLS);
	return stats_number(&s->columns, row, calls ? STATS_CALLS : STATS_COUNT, ret) && *ret > 0;
}

static void fill_times(struct stats *s, const struct csv_row *row, struct summary_row *to)
{
	int64_t total, calls;
	if (!stats_number(&s->columns, row, STATS_TOTAL_TIME, &total) || total < 0 ||
	        !count_of(s, row, &calls)) {
		s->t->lost[LOST_BAD_NUMBER]++;
		return;
	}
	to->calls = calls;
	to->total_ns = total;
	to->max_ns = number_of(s, row, STATS_MAX, -1);
}

static void time_sum_row(struct stats *s, const struct csv_row *row)
{
	struct event as;
	struct summary_row *to = NULL;
	if (memory_of(s, row, &as)) {
		if (owns(s, SUMS, GROUP_DEVICE, as.kind))
			to = memory_summary(s, &as);
	} else {
		enum event_group group = group_of(s, row);
		bool range = stats_has(&s->columns, STATS_RANGE);
		as.name = timeline_name(s->t, text_of(s, row, range ? STATS_RANGE : STATS_NAME));
		if (owns(s, SUMS, group, DEVICE_KERNEL))
			to = timeline_summary(s->t);
		if (to) {
			to->group = group;
			to->as = as;
		}
	}
	if (to)
		fill_times(s, row, to);
}

/* Beside the one by time: it owns nothing. */
static void size_sum_row(struct stats *s, const struct csv_row *row)
{
	struct event as;
	int64_t bytes, calls;
	struct summary_row *to = memory_of(s, row, &as) ? memory_summary(s, &as) : NULL;
	if (!to || !stats_number(&s->columns, row, STATS_TOTAL_SIZE, &bytes) || bytes < 0 ||
	        !count_of(s, row, &calls))
		return;
	to->bytes = bytes;
	if (to->calls < 0)
		to->calls = calls;
}

/* ---- the file ---- */

/* From the exact to the general. STATS_START behind the first stands for no more needs. */
static const struct report reports[] = {
	{ "cuda_kern_exec_trace", { STATS_API_START, STATS_KERNEL_START }, exec_trace_row },
	{ "cuda_gpu_trace", { STATS_START, STATS_DURATION, STATS_STREAM }, gpu_trace_row },
	{ "nvtx_trace", { STATS_START, STATS_END, STATS_DURATION }, nvtx_trace_row },
	{ "cuda_api_trace", { STATS_START, STATS_DURATION, STATS_CORRELATION }, api_trace_row },
	{ "cuda_sum", { STATS_TOTAL_TIME, STATS_COUNT }, time_sum_row },
	{ "cuda_api_sum", { STATS_TOTAL_TIME, STATS_CALLS }, time_sum_row },
	{ "cuda_gpu_mem_size_sum", { STATS_TOTAL_SIZE, STATS_COUNT }, size_sum_row },
};

/* Reports of Vulkan, MPI and others look like those of CUDA. */
static bool is_foreign(struct str title)
{
	static const char *const families[] = { "cuda", "nvtx", "osrt", "gpu", "kern", "api" };
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (str_starts(title, str_of(families[i])))
			return false;
	return true;
}

static const struct report *report_of(const struct csv_row *row, struct stats_columns *ret)
{
	if (!stats_columns_of(row, ret))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(reports); i++) {
		bool all = true;
		for (size_t k = 0; k < ARRAY_LEN(reports[i].needs); k++) {
			enum stats_column needed = reports[i].needs[k];
			all = all && (stats_has(ret, needed) || (k > 0 && needed == STATS_START));
		}
		if (all)
			return &reports[i];
	}
	return NULL;
}

/* " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):" */
static bool take_title(struct stats *s, const struct csv_row *row)
{
	struct str line = str_trim(row->raw), id, rest;
	if (!str_starts(line, STR("** ")))
		return false;
	str_cut(line, '(', &id);
	while (str_find(id, STR("(")) >= 0)
		str_cut(id, '(', &id);
	s->title = str_cut(id, ')', &rest);
	s->is_titled = true;
	return true;
}

static void begin_report(
        struct stats *s, const struct report *report, const struct stats_columns *columns)
{
	if (!s->is_titled)
		s->title = str_of(report->name);
	s->is_titled = false;
	s->report = is_foreign(s->title) ? NULL : report;
	s->columns = *columns;
	s->n_reports++;
}

static void take_values(struct stats *s, const struct csv_row *row)
{
	bool is_range = stats_has(&s->columns, STATS_RANGE);
	tallies_add(&s->t->rows, timeline_name(s->t, s->title), 1);
	s->t->n_events++;
	if (text_of(s, row, is_range ? STATS_RANGE : STATS_NAME).len == 0)
		s->t->lost[LOST_BROKEN]++; /* the name is the last column: the row was cut */
	else
		s->report->row(s, row);
}

static void take_row(struct stats *s, const struct csv_row *row)
{
	struct stats_columns columns;
	const struct report *report = report_of(row, &columns);
	if (report)
		begin_report(s, report, &columns);
	else if (take_title(s, row) || row->n == 1)
		s->report = NULL; /* a line between two reports */
	else if (s->report)
		take_values(s, row);
}

/* Events tell more than sums of the same, and rows that could not be read are none. */
static void drop_told_twice(struct timeline *t)
{
	bool has[N_GROUPS][N_KINDS] = { 0 };
	for (int g = 0; g < N_GROUPS; g++)
		for (size_t i = 0; i < t->lists[g].n; i++)
			has[g][t->lists[g].v[i].kind] = true;
	size_t n = 0;
	for (size_t i = 0; i < t->n_summaries; i++) {
		const struct summary_row *row = &t->summaries[i];
		if (row->calls > 0 && !has[row->group][row->as.kind])
			t->summaries[n++] = *row;
	}
	t->n_summaries = n;
}

static bool nsys_stats_read(struct source *source, struct timeline *t, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	struct stats s = { .t = t };
	struct csv_row row = { 0 };
	if (!source_read_all(source, max_bytes, &text, err))
		return false;
	struct csv c = csv_of(buf_str(&text), ',');
	while (csv_next(&c, &row))
		take_row(&s, &row);
	drop_told_twice(t);
	t->truncated |= c.cut;
	t->lost[LOST_BROKEN] += c.n_broken + c.n_dropped;
	t->software = timeline_name(t, STR("Nsight Systems"));
	intern_release(&s.devices);
	csv_row_release(&row);
	csv_release(&c);
	return true;
}

/* Its first report may stand behind what was printed before it. */
static bool nsys_stats_recognises(const struct source *source)
{
	struct csv c = csv_of(source->head, ',');
	struct csv_row row = { 0 };
	struct stats_columns columns;
	bool found = false;
	while (!found && csv_next(&c, &row))
		found = report_of(&row, &columns) != NULL;
	csv_row_release(&row);
	csv_release(&c);
	return found;
}

const struct trace_reader nsys_stats_reader = {
	.name = "nsys-stats",
	.recognises = nsys_stats_recognises,
	.read = nsys_stats_read,
};
