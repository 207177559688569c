#include "report/trace_parts.h"

#include "base/i18n.h"
#include "base/units.h"

#include <string.h>

enum { INDENT = 3 };

const char *trace_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void print_mark(const char *text, struct buf *out)
{
	buf_add_blanks(out, INDENT);
	buf_add_c(out, "! ");
	layout_wrap(out, text, INDENT + 2, INDENT + 2);
}

static const char *head_of(const struct trace_file *f, struct arena *tmp)
{
	char size[UNITS_TEXT], span[UNITS_TEXT];
	const char *name = trace_base_name(f->path);
	const char *writer =
	        f->software ? arena_printf(tmp, _("%s, %s"), f->format, f->software) : f->format;
	units_size((double)f->bytes, size);
	if (f->span_ns < 0)
		return arena_printf(tmp, _("%s: %s, %s, %lld events"), name, writer, size,
		        (long long)f->events);
	return arena_printf(tmp, _("%s: %s, %s, %lld events over %s"), name, writer, size,
	        (long long)f->events, units_duration((double)f->span_ns, span));
}

static void print_file(const struct trace_file *f, struct arena *tmp, struct buf *out)
{
	if (f->error) {
		layout_wrap(out,
		        arena_printf(
		                tmp, _("%s: not read: %s"), trace_base_name(f->path), f->error),
		        0, INDENT);
		return;
	}
	layout_wrap(out, head_of(f, tmp), 0, INDENT);
	if (f->truncated)
		print_mark(
		        _("the file ends in the middle: what follows is missing from all figures"),
		        out);
	if (f->capped)
		print_mark(_("the profiler stopped at its own limit of events: what came after was "
		             "never written"),
		        out);
	for (size_t i = 0; i < f->n_losses; i++)
		print_mark(arena_printf(
		                   tmp, _("%lld %s"), (long long)f->losses[i].n, f->losses[i].text),
		        out);
	if (f->zero_duration)
		print_mark(arena_printf(tmp,
		                   _("device operations that took no time by the profiler's clock: "
		                     "%lld; they are counted as calls"),
		                   (long long)f->zero_duration),
		        out);
}

void trace_files(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	buf_add_char(out, '\n');
	for (size_t i = 0; i < r->n_files; i++)
		print_file(&r->files[i], tmp, out);
}
