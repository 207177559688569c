/*
 * A whole file: its text, piece by piece, through a scan into a timeline.
 */
#include "trace/scan/blocks.h"
#include "trace/scan/parallel.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_THREADS = 8,
	/* Smaller files are read before a second thread has begun. */
	PARALLEL_BYTES = 4 * SCAN_BLOCK_BYTES,
	/* A packed file has several times as many bytes as it looks. */
	PARALLEL_BYTES_PACKED = PARALLEL_BYTES / 8,
};

void chrome_part_init(
        struct chrome_part *part, const struct chrome_dialect *dialect, const struct timeline *t)
{
	*part = (struct chrome_part){ .dialect = dialect };
	timeline_init(&part->t, t->path, t->format);
	if (dialect->state_bytes)
		part->state = mem_zeroed(1, dialect->state_bytes);
}

void chrome_part_finish(struct chrome_part *part)
{
	if (part->dialect->finish)
		part->dialect->finish(part);
	if (part->dialect->release)
		part->dialect->release(part);
	free(part->state);
	part->state = NULL;
}

/* Gives the scan all of the source; what it cannot read yet is given again with more behind it. */
static int64_t feed_all(struct source *source, struct scan *scan, size_t block_bytes)
{
	struct buf text = { 0 };
	int64_t n_bytes = 0;
	for (bool last = false; !last;) {
		/* As much again as is waiting, so that a long wait costs no more than its length.
		 */
		size_t n = block_bytes > text.len ? block_bytes : text.len;
		buf_reserve(&text, n);
		size_t got = source_read(source, text.s + text.len, n);
		text.len += got;
		n_bytes += (int64_t)got;
		last = got < n;
		size_t used = scan_feed(scan, buf_str(&text), last);
		memmove(text.s, text.s + used, text.len - used);
		text.len -= used;
	}
	buf_release(&text);
	return n_bytes;
}

static void read_serial(struct source *source, const struct chrome_dialect *dialect,
        const struct scan_way *way, struct timeline *t)
{
	struct chrome_part part;
	struct scan scan;
	chrome_part_init(&part, dialect, t);
	scan_init(&scan, way->ops, &part);
	part.t.n_bytes = feed_all(source, &scan, way->block_bytes);
	part.t.truncated = !scan_is_whole(&scan);
	chrome_part_finish(&part);
	*t = part.t;
}

bool scan_read(struct source *source, const struct chrome_dialect *dialect,
        const struct scan_way *way, struct timeline *t, struct err *err)
{
	if (!source_rewind(source, err))
		return false;
	if (way->n_threads > 1 && dialect->parallel) {
		if (scan_parallel(source, dialect, way, t))
			return true;
		if (!source_rewind(source, err))
			return false;
	}
	read_serial(source, dialect, way, t);
	return true;
}

struct scan_way scan_way_best(void)
{
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	int n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
	return (struct scan_way){
		.ops = scan_ops_best(),
		.n_threads = (size_t)(n > MAX_THREADS ? MAX_THREADS : n),
		.block_bytes = SCAN_BLOCK_BYTES,
	};
}

bool chrome_read(struct source *source, const struct chrome_dialect *dialect, struct timeline *t,
        struct err *err)
{
	struct scan_way way = scan_way_best();
	if (source->size < (source->packed ? PARALLEL_BYTES_PACKED : PARALLEL_BYTES))
		way.n_threads = 1;
	return scan_read(source, dialect, &way, t, err);
}
