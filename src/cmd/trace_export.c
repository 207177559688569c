#include "cmd/trace_export.h"

#include "base/i18n.h"
#include "cmd/common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct target {
	const char *path;
	FILE *f;
};

static bool fail(const struct target *t, struct err *err)
{
	return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), t->path, strerror(errno));
}

static bool write_piece(void *ctx, struct str piece, struct err *err)
{
	const struct target *t = ctx;
	return fwrite(piece.s, 1, piece.len, t->f) == piece.len || fail(t, err);
}

/* A device or a pipe is not ours to remove. */
static void remove_partial(const char *path)
{
	struct stat st;
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		unlink(path);
}

bool cmd_trace_export(const char *path, const struct trace *trace,
        const struct trace_options *options,
        bool (*write)(const struct trace_view *, const struct trace_out *, struct err *),
        struct err *err)
{
	bool to_stdout = strcmp(path, "-") == 0;
	struct target target = { path, to_stdout ? stdout : fopen(path, "we") };
	const struct trace_out out = { write_piece, &target };
	if (!target.f)
		return fail(&target, err);
	if (to_stdout)
		cmd_progress_clear();
	bool ok = trace_export(trace, options, write, &out, err);
	if (ok && fflush(target.f) != 0)
		ok = fail(&target, err);
	if (!to_stdout) {
		if (fclose(target.f) != 0 && ok)
			ok = fail(&target, err);
		if (!ok)
			remove_partial(path);
	}
	return ok;
}
