/*
 * The screen of a trace: the answer, what it rests on, the lists, the file.
 */
#include "report/trace_parts.h"

void report_trace_text(
        const struct trace_run *r, const struct report_trace_options *options, struct buf *out)
{
	struct arena tmp = { 0 };
	if (options->part)
		layout_wrap(out, options->part, 0, 0);
	trace_verdict(r, &tmp, out);
	trace_devices(r, &tmp, out);
	trace_findings(r, options, &tmp, out);
	trace_lists(r, options, &tmp, out);
	trace_files(r, &tmp, out);
	arena_release(&tmp);
}
