/*
 * export.h - a timeline for other tools: Chrome JSON that Perfetto and chrome://tracing load, and
 * folded stacks for flame graphs.
 */
#ifndef VENTURI_TRACE_EXPORT_H
#define VENTURI_TRACE_EXPORT_H

#include "base/err.h"
#include "trace/trace.h"
#include "trace/view/view.h"

/* Where pieces of text go, of a megabyte at most. */
struct trace_out {
	bool (*write)(void *ctx, struct str piece, struct err *err);
	void *ctx;
};

/*
 * The events that are kept, in the dialect of Kineto: what was dropped (short frames of Python,
 * arguments without a use here) is what makes it slim. A launch and its work are joined by flows.
 * Read again, it gives the same numbers; but what Kineto has no place for, the lines of XLA and the
 * types of ONNX Runtime's nodes, does not come back, and a grid of work-items becomes one of
 * blocks.
 *
 * Times are from the beginning of the first event, so that the doubles of a viewer hold whole
 * nanoseconds; baseTimeNanoseconds is moved with them where it is known.
 */
bool trace_export_chrome(
        const struct trace_view *v, const struct trace_out *out, struct err *err) NODISCARD;

/*
 * One line a stack, "frame;frame;frame nanoseconds", in the format of Gregg's flamegraph.pl.
 *
 * Stacks of the host begin with "host" and the thread: ranges, operators and calls around one
 * another, with their own time. Stacks of devices begin with "device N": the host's stack that
 * launched the work, then the work, with its duration; work whose launch is not known stands under
 * "(not linked)". A semicolon in a name becomes a colon. Stacks deeper than FOLDED_DEPTH_MAX are
 * cut there.
 */
enum { FOLDED_DEPTH_MAX = 256 };
bool trace_export_folded(
        const struct trace_view *v, const struct trace_out *out, struct err *err) NODISCARD;

/*
 * One of the above, of what the options leave of the trace; ERR_USAGE unless that is one file.
 *
 * write  trace_export_chrome or trace_export_folded
 */
bool trace_export(const struct trace *trace, const struct trace_options *options,
        bool (*write)(const struct trace_view *, const struct trace_out *, struct err *),
        const struct trace_out *out, struct err *err) NODISCARD;

#endif
