/*
 * A whole file: its text, piece by piece, through a scan into a timeline.
 */
#include "trace/scan/scan.h"

#include <stdlib.h>

static void part_init(
        struct chrome_part *part, const struct chrome_dialect *dialect, const struct timeline *t)
{
	*part = (struct chrome_part){ .dialect = dialect };
	timeline_init(&part->t, t->path, t->format);
	if (dialect->state_bytes)
		part->state = mem_zeroed(1, dialect->state_bytes);
}

static void part_finish(struct chrome_part *part)
{
	if (part->dialect->finish)
		part->dialect->finish(part);
	if (part->dialect->release)
		part->dialect->release(part);
	free(part->state);
}

bool chrome_read(struct source *source, const struct chrome_dialect *dialect, struct timeline *t,
        struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	if (!source_read_all(source, INT64_MAX, &text, err))
		return false;
	struct chrome_part part;
	struct scan scan;
	part_init(&part, dialect, t);
	scan_init(&scan, scan_ops_best(), &part);
	scan_feed(&scan, buf_str(&text), true);
	part.t.n_bytes = (int64_t)text.len;
	part_finish(&part);
	*t = part.t;
	return true;
}
