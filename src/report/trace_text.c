/*
 * The screen of a trace: the answer, what it rests on, the lists, the file.
 */
#include "report/trace_parts.h"

#include "base/i18n.h"

void report_trace_text(
        const struct trace_run *r, const struct report_trace_options *options, struct buf *out)
{
	struct arena tmp = { 0 };
	if (options->part)
		layout_wrap(out, options->part, 0, 0);
	if (options->part && r->n_devices == 0 && r->n_operators == 0 && r->n_launches == 0)
		layout_wrap(out, _("Nothing of the trace starts there."), 0, 0);
	else
		trace_verdict(r, &tmp, out);
	trace_devices(r, &tmp, out);
	trace_findings(r, options, &tmp, out);
	trace_lists(r, options, &tmp, out);
	trace_files(r, &tmp, out);
	arena_release(&tmp);
}
