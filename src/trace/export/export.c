#include "trace/export/export.h"

#include "base/i18n.h"
#include "trace/run/run_parts.h"

bool trace_export(const struct trace *trace, const struct trace_options *options,
        bool (*write)(const struct trace_view *, const struct trace_out *, struct err *),
        const struct trace_out *out, struct err *err)
{
	if (trace->n != 1)
		return err_set(err, ERR_USAGE,
		        _("one trace can be exported at a time, %zu were read"), trace->n);
	struct window w;
	const struct timeline *t = window_open(&w, &trace->timelines[0], options);
	bool ok;
	if (t) {
		struct trace_view v;
		trace_view_init(&v, t);
		ok = write(&v, out, err);
		trace_view_release(&v);
	} else {
		ok = err_set(err, ERR_USAGE, _("there is no step %lld in '%s'"),
		        (long long)options->step, trace->timelines[0].path);
	}
	window_close(&w);
	return ok;
}
