/* The CSV of nsys stats. Expected numbers stand in the texts that are read. */
#include "trace/reader.h"
#include "trace/trace.h"

#include "trace_text.h"

static bool read_own(const char *name, struct timeline *t)
{
	struct err err;
	return CHECK(trace_read_file(tap_data(name), t, &err));
}

static const struct event *nth(const struct timeline *t, enum event_group group, size_t i)
{
	static const struct event none;
	return CHECK(i < t->lists[group].n) ? &t->lists[group].v[i] : &none;
}

static void traces_are_events(void)
{
	struct timeline t;
	if (!read_own("traces/nsys_stats_trace.csv", &t))
		return;
	CHECK_STR(t.format, "nsys-stats");
	CHECK_INT(t.lists[GROUP_DEVICE].n, 5);
	CHECK_INT(t.lists[GROUP_CALL].n, 4);
	CHECK_INT(t.n_summaries, 0);
	const struct event *e = nth(&t, GROUP_DEVICE, 0);
	CHECK_STR(event_name(&t, e), "Memcpy HtoD (Pageable -> Device)");
	CHECK_INT(timeline_copy(&t, e)->bytes, 8389000);
	CHECK_INT(timeline_copy(&t, e)->from, MEMORY_PAGEABLE);
	e = nth(&t, GROUP_DEVICE, 1);
	CHECK_STR(event_name(&t, e), "gemm_fp64_kernel(double *, double *, int)");
	CHECK_INT(e->start_ns, 60000);
	CHECK_INT(e->dur_ns, 443520);
	CHECK_INT(timeline_kernel(&t, e)->grid[1], 64);
	CHECK_INT(timeline_kernel(&t, e)->block[0], 256);
	CHECK(e->link != 0 && e->link == nth(&t, GROUP_CALL, 1)->link);
	e = nth(&t, GROUP_DEVICE, 3);
	CHECK_INT(timeline_track_of(&t, e->track)->device, 1);
	CHECK_STR(timeline_name_of(&t, timeline_track_of(&t, e->track)->stream).s, "9");
	e = nth(&t, GROUP_DEVICE, 4);
	CHECK_STR(event_name(&t, e), "Memset (Device)");
	CHECK_INT(timeline_copy(&t, e)->bytes, -1);
	CHECK_INT(t.n_devices, 2);
	CHECK_STR(timeline_name_of(&t, t.devices[0].name).s, "NVIDIA A100-SXM4-40GB");
	CHECK_INT(t.n_events, 9);
	for (int i = 0; i < N_LOSSES; i++)
		CHECK_INT(t.lost[i], 0);
	timeline_release(&t);
}

static const struct summary_row *summary(
        const struct timeline *t, enum event_group group, const char *name)
{
	for (size_t i = 0; i < t->n_summaries; i++)
		if (t->summaries[i].group == group &&
		        str_eq(timeline_name_of(t, t->summaries[i].as.name), str_of(name)))
			return &t->summaries[i];
	static const struct summary_row none;
	CHECK(!"a row of this name");
	return &none;
}

static void summaries_are_sums_without_events(void)
{
	struct timeline t;
	if (!read_own("traces/nsys_stats_sum.csv", &t))
		return;
	for (int g = 0; g < N_GROUPS; g++)
		CHECK_INT(t.lists[g].n, 0);
	CHECK(t.span_start_ns > t.span_end_ns);
	CHECK_INT(t.n_summaries, 3 + 2 + 2 + 1);
	const struct summary_row *row =
	        summary(&t, GROUP_DEVICE, "gemm_fp64_kernel(double *, double *, int)");
	CHECK_INT(row->as.kind, DEVICE_KERNEL);
	CHECK_INT(row->calls, 24);
	CHECK_INT(row->total_ns, 10644480);
	CHECK_INT(row->max_ns, 447968);
	CHECK_INT(row->bytes, -1);
	row = summary(&t, GROUP_CALL, "cudaLaunchKernel");
	CHECK_INT(row->calls, 72);
	row = summary(&t, GROUP_OTHER, "poll");
	CHECK_INT(row->total_ns, 12000000);
	/* two reports, one row */
	row = summary(&t, GROUP_DEVICE, "Memcpy HtoD");
	CHECK_INT(row->as.kind, DEVICE_MEMCPY);
	CHECK_INT(row->calls, 48);
	CHECK_INT(row->total_ns, 2411520);
	CHECK_INT(row->bytes, 402653000);
	timeline_release(&t);
}

/* The same rows as of events, in the account of the file. */
static void summaries_are_in_the_account(void)
{
	struct trace trace;
	struct trace_run run;
	struct arena arena = { 0 };
	struct err err;
	const char *path = tap_data("traces/nsys_stats_sum.csv");
	static const char *const by[] = { "name", "class", "shape", "stream", "step" };
	for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
		const struct trace_options options = {
			.top = 10,
			.from_ns = TRACE_NONE,
			.to_ns = TRACE_NONE,
			.step = -1,
			.by = by[i],
		};
		if (!CHECK(trace_open(&trace, &path, 1, NULL, &err)))
			return;
		CHECK(trace_analyse(&trace, &options, &arena, &run, &err));
		CHECK_STR(run.kinds[0].kind, "kernel");
		CHECK_INT(run.kinds[0].calls, 3 * 24);
		CHECK_INT(run.kinds[0].total_ns, 10644480 + 1357824 + 12288);
		CHECK_INT(run.kinds[0].names, 3);
		CHECK_INT(run.n_copies, 2);
		CHECK_INT(run.copies[0].bytes, 402653000);
		CHECK_INT(run.copies[0].calls, 48);
		CHECK_INT(run.n_devices, 0);
		CHECK_INT(run.operators[0].total_ns, 10644480);
		trace_close(&trace);
	}
	arena_release(&arena);
}

/* Time in other units, thousands apart, the names of 2020, no titles, and both kinds at once. */
static void other_versions_are_read(void)
{
	struct timeline t;
	if (CHECK(read_trace_text(STR("Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,"
	                              "Name\n70.0,\"1,500,000\",2,750000.0,1,\"800,000\",k\n"
	                              "\nStart(usec),Duration(usec),CorrId,GrdX,Bytes(KB),SrcMemKd,"
	                              "Device,Strm,Name\n1.5,2.0625,3,,4,Pinned,T4,7,[CUDA memcpy "
	                              "DtoH]\n"),
	            &t))) {
		CHECK_INT(t.n_summaries, 1);
		CHECK_INT(t.summaries[0].total_ns, 1500000);
		CHECK_INT(t.summaries[0].max_ns, 800000);
		const struct event *e = nth(&t, GROUP_DEVICE, 0);
		CHECK_INT(e->start_ns, 1500);
		CHECK_INT(e->dur_ns, 2063); /* 2062.5 */
		CHECK_INT(timeline_copy(&t, e)->bytes, 4000);
		CHECK_INT(timeline_copy(&t, e)->kind, COPY_DTOH);
		timeline_release(&t);
	}
	if (CHECK(read_trace_text(STR("API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),"
	                              "Kernel Start (ns),Kernel Dur (ns),Total Dur (ns),PID,TID,"
	                              "DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n"
	                              "100,10,,,200,50,150,1,2,3,cudaLaunchKernel, 8 1 1, 32 1 1,"
	                              "\"f<int, int>\"\n"),
	            &t))) {
		const struct event *e = nth(&t, GROUP_DEVICE, 0);
		CHECK_STR(event_name(&t, e), "f<int, int>");
		CHECK(e->link != 0 && e->link == nth(&t, GROUP_CALL, 0)->link);
		CHECK_INT(timeline_track_of(&t, e->track)->device, 3);
		CHECK_STR(event_name(&t, nth(&t, GROUP_CALL, 0)), "cudaLaunchKernel");
		timeline_release(&t);
	}
}

#define TRACE_HEADER "Start (ns),Duration (ns),CorrId,Device,Strm,Name\n"
#define SUM_HEADER "Time (%),Total Time (ns),Instances,Name\n"

static void nothing_is_counted_twice(void)
{
	struct timeline t;
	if (!CHECK(read_trace_text(STR(SUM_HEADER "100,50,5,k\n" SUM_HEADER "100,50,5,k\n"), &t)))
		return;
	CHECK_INT(t.n_summaries, 1);
	timeline_release(&t);
	if (!CHECK(read_trace_text(
	            STR(SUM_HEADER "100,50,5,k\n" TRACE_HEADER "10,5,1,T4 (0),7,k\n"), &t)))
		return;
	CHECK_INT(t.n_summaries, 0);
	CHECK_INT(t.lists[GROUP_DEVICE].n, 1);
	timeline_release(&t);
}

static void broken_rows_are_counted(void)
{
	struct timeline t;
	if (!CHECK(read_trace_text(STR(TRACE_HEADER "x,5,1,T4 (0),7,k\n10,-5,1,T4 (0),7,k\n"
	                                            "99999999999999999999,5,1,T4 (0),7,k\n"
	                                            "10,5,1,T4 (0)\n0,5,1,T4 (0),7,k\n"
	                                            "10,1e300,1,T4 (99999),7,k\n"
	                                            "10,5,-1,,,\"k<a, b"),
	            &t)))
		return;
	CHECK_INT(t.lists[GROUP_DEVICE].n, 1);
	CHECK_STR(event_name(&t, nth(&t, GROUP_DEVICE, 0)), "k<a, b");
	CHECK_INT(nth(&t, GROUP_DEVICE, 0)->link, 0);
	CHECK_INT(t.lost[LOST_NO_TIME], 3);
	CHECK_INT(t.lost[LOST_NEGATIVE], 1);
	CHECK_INT(t.lost[LOST_ZERO_TIME], 1);
	CHECK_INT(t.lost[LOST_BROKEN], 2); /* a short row, an open quote */
	CHECK(t.truncated);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(traces_are_events);
	TAP_RUN(summaries_are_sums_without_events);
	TAP_RUN(summaries_are_in_the_account);
	TAP_RUN(other_versions_are_read);
	TAP_RUN(nothing_is_counted_twice);
	TAP_RUN(broken_rows_are_counted);
	return tap_done();
}
