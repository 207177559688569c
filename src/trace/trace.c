#include "trace/trace.h"

#include "base/i18n.h"
#include "trace/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FOLDER_DEPTH = 4,
	MAX_FILES = 10000, /* of one call: a folder that holds more was not meant */
};

/* The files to be read, in order. */
struct paths {
	const char **v;
	size_t n, cap;
	struct arena *arena;
};

static void add_path(struct paths *list, const char *path)
{
	if (list->n == list->cap) {
		list->cap = list->cap ? list->cap * 2 : 16;
		list->v = mem_realloc(list->v, list->cap * sizeof *list->v);
	}
	list->v[list->n++] = path;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* What of a folder is recognised; links to folders are followed, so the depth has a limit. */
static bool add_folder(struct paths *list, const char *folder, int depth, struct err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, not_hidden, alphasort);
	if (n < 0)
		return err_set(err, ERR_INPUT, _("cannot open '%s': %s"), folder, strerror(errno));
	bool ok = true;
	for (int i = 0; i < n; i++) {
		char *path = arena_printf(list->arena, "%s/%s", folder, entries[i]->d_name);
		if (ok && is_folder(path)) {
			if (depth < FOLDER_DEPTH)
				ok = add_folder(list, path, depth + 1, err);
		} else if (ok && trace_is_known(path)) {
			add_path(list, path);
		}
		if (ok && list->n > MAX_FILES)
			ok = err_set(err, ERR_INPUT, _("'%s' holds more than %d traces"), folder,
			        MAX_FILES);
		free(entries[i]);
	}
	free(entries);
	return ok;
}

static bool add_argument(struct paths *list, const char *path, struct err *err)
{
	if (!is_folder(path)) {
		add_path(list, arena_strdup(list->arena, path));
		return true;
	}
	size_t before = list->n;
	if (!add_folder(list, path, 1, err))
		return false;
	if (list->n > before)
		return true;
	err_set(err, ERR_INPUT, _("'%s' holds no trace of a profiler that is known"), path);
	return err_hint(
	        err, _("folders are searched %d levels deep; name the file itself"), FOLDER_DEPTH);
}

static void add_unread(struct trace *trace, const char *path, const char *reason)
{
	if (trace->n_unread == trace->cap_unread) {
		trace->cap_unread = trace->cap_unread ? trace->cap_unread * 2 : 8;
		trace->unread =
		        mem_realloc(trace->unread, trace->cap_unread * sizeof *trace->unread);
	}
	trace->unread[trace->n_unread++] =
	        (struct trace_unread){ path, arena_strdup(&trace->arena, reason) };
}

static struct timeline *next_timeline(struct trace *trace)
{
	if (trace->n == trace->cap) {
		trace->cap = trace->cap ? trace->cap * 2 : 4;
		trace->timelines =
		        mem_realloc(trace->timelines, trace->cap * sizeof *trace->timelines);
	}
	return &trace->timelines[trace->n];
}

/* False, with the first error, when none of the files could be read. */
static bool read_files(struct trace *trace, const struct paths *list,
        const struct trace_hooks *hooks, struct err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		struct err one = { 0 };
		struct timeline *t = next_timeline(trace);
		timeline_init(t, list->v[i], NULL);
		if (hooks)
			hooks->reading(hooks->ctx, list->v[i]);
		if (trace_read_file(list->v[i], t, &one)) {
			trace->n++;
			continue;
		}
		timeline_release(t);
		if (trace->n_unread == 0)
			*err = one;
		add_unread(trace, list->v[i], one.text);
	}
	return trace->n > 0;
}

bool trace_open(struct trace *trace, const char *const *paths, size_t n_paths,
        const struct trace_hooks *hooks, struct err *err)
{
	*trace = (struct trace){ 0 };
	struct paths list = { .arena = &trace->arena };
	bool ok = true;
	for (size_t i = 0; ok && i < n_paths; i++)
		ok = add_argument(&list, paths[i], err);
	ok = ok && read_files(trace, &list, hooks, err);
	free(list.v);
	if (!ok)
		trace_close(trace);
	return ok;
}

void trace_close(struct trace *trace)
{
	for (size_t i = 0; i < trace->n; i++)
		timeline_release(&trace->timelines[i]);
	free(trace->timelines);
	free(trace->unread);
	arena_release(&trace->arena);
	*trace = (struct trace){ 0 };
}
