/*
 * parts.h - signals as a list of phrases in one field: "4.1 running (at most 8), 2 waiting".
 */
#ifndef VENTURI_REPORT_PARTS_H
#define VENTURI_REPORT_PARTS_H

#include "record/signal.h"
#include "report/layout.h"

#include <stdbool.h>
#include <stddef.h>

/* What several instances of a signal make together, where none without one stands for all. */
enum part_fold {
	PART_LARGEST, /* the one with the largest mean */
	PART_SUM,     /* their sum; then there is no second figure */
};

/* One signal in a list of them. */
struct part {
	const char *name;
	const char *fmt;  /* N_() phrase with two quantities, the mean and the second figure */
	const char *bare; /* likewise with the mean alone; NULL: there always is a second one */
	double (*second)(const struct signal *s); /* NULL: none */
	double scale;                             /* of both numbers */
	bool only_above_0;
	bool is_bytes; /* both numbers are sizes */
	enum part_fold fold;
};

double part_max(const struct signal *s);
double part_p95(const struct signal *s);
double part_delta(const struct signal *s);

/*
 * What a part shows of the signals: false when none of that name has values.
 *
 * ret_second  NAN when there is none
 */
bool part_values(const struct part *part, const struct signal *signals, size_t n, double *ret_mean,
        double *ret_second);

/* One field with the phrases of all parts that have values; none when there are none. */
void parts_add(struct fields *f, const char *label, const struct signal *signals, size_t n,
        const struct part *parts, size_t n_parts);

#endif
