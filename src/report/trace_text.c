#include "report/trace.h"

#include "base/i18n.h"
#include "base/units.h"
#include "report/layout.h"

void report_trace_text(
        const struct trace_run *r, const struct report_trace_options *options, struct buf *out)
{
	if (options->part)
		layout_wrap(out, options->part, 0, 0);
	for (size_t i = 0; i < r->n_findings; i++)
		if (r->findings[i].state == TRACE_FOUND)
			layout_wrap(out, r->findings[i].text, 0, 4);
}
