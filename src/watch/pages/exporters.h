/*
 * exporters.h - the samples of pages of exporters, summed up by signal and instance at each look,
 * on a board of their own.
 *
 * One thread at a time. A zeroed struct has seen nothing and takes no memory.
 */
#ifndef VENTURI_WATCH_EXPORTERS_H
#define VENTURI_WATCH_EXPORTERS_H

#include "watch/pages/exporter_map.h"

#include "text/prometheus.h"

#include <stdint.h>

enum {
	EXPORTER_CELLS_MAX = 8192,
	EXPORTER_INSTANCE_BYTES = 64,
};

/* A signal of an instance. */
struct exporter_cell {
	uint64_t key; /* 0: the place is free */
	size_t row;
	struct channel *channel;
	double part, whole; /* of the look at hand */
	bool has_part, has_whole;
};

struct exporters {
	struct board *board;         /* NULL: nothing seen yet */
	struct exporter_cell *cells; /* open addressing */
	size_t n_cells, cap;
	bool seen[EXPORTER_N];
	/* rows of the metric at hand, which stands in many lines one after the other */
	struct str metric;
	struct exporter_match matches[EXPORTER_MATCHES_MAX];
	size_t n_matches;
};

void exporters_release(struct exporters *e);

/* A look begins; samples of a look that was given up are forgotten. */
void exporters_look(struct exporters *e);
void exporters_sample(struct exporters *e, const struct prometheus_sample *s);
/* The look is over, and was at this moment. */
void exporters_tell(struct exporters *e, int64_t at_ns);

bool exporters_any(const struct exporters *e);
/* Differences count from the newest look on. */
void exporters_begin(struct exporters *e);
/* Signals as board_report gives them; none when no exporter was seen. */
void exporters_report(
        const struct exporters *e, int64_t zero_ns, struct arena *run, struct signal_system *to);

#endif
