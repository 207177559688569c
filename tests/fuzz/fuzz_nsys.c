/*
 * fuzz_nsys.c - any bytes as a database of Nsight Systems, and as the CSV of nsys stats: reading
 * ends, every time lies within its bounds, and no more events come out than bytes went in.
 */
#include "trace/readers/readers.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check(const struct timeline *t, size_t size)
{
	size_t n = 0;
	for (int g = 0; g < N_GROUPS; g++) {
		const struct event_list *list = &t->lists[g];
		n += list->n;
		for (size_t i = 0; i < list->n; i++) {
			const struct event *e = &list->v[i];
			need(e->dur_ns >= 0 && e->dur_ns <= TRACE_MAX_DUR_NS);
			need(e->start_ns <= TRACE_MAX_TIME_NS && e->start_ns >= -TRACE_MAX_TIME_NS);
			need(e->name < t->names.n || e->name == 0);
			timeline_track_of(t, e->track);
		}
	}
	need(n <= size + (1 << 17));
}

static void read_with(const struct trace_reader *reader, const char *path, size_t size)
{
	struct source source;
	struct timeline t;
	struct err err;
	if (!source_open(&source, path, &err))
		return;
	if (!source.packed && reader->recognises(&source)) {
		timeline_init(&t, path, reader->name);
		if (reader->read(&source, &t, &err))
			check(&t, size);
		timeline_release(&t);
	}
	source_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);
	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	read_with(&nsys_sqlite_reader, path, size);
	read_with(&nsys_stats_reader, path, size);
	close(fd);
	return 0;
}
