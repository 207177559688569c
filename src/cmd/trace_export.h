/*
 * trace_export.h - files that venturi trace writes for other tools.
 */
#ifndef VENTURI_CMD_TRACE_EXPORT_H
#define VENTURI_CMD_TRACE_EXPORT_H

#include "trace/export/export.h"

/*
 * Writes what the options leave of the trace to a file, or to stdout for "-"; a file that could not
 * be written whole is removed.
 *
 * write  trace_export_chrome or trace_export_folded
 */
bool cmd_trace_export(const char *path, const struct trace *trace,
        const struct trace_options *options,
        bool (*write)(const struct trace_view *, const struct trace_out *, struct err *),
        struct err *err) NODISCARD;

#endif
