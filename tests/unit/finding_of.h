/*
 * finding_of.h - one analysis of one timeline, and looks into what it found.
 */
#ifndef VENTURI_TESTS_FINDING_OF_H
#define VENTURI_TESTS_FINDING_OF_H

#include "trace/analysis.h"

#include <math.h>
#include <string.h>

struct found {
	struct trace_view v;
	struct arena run;
	struct trace_finding f;
};

static inline void found_open(
        struct found *x, const struct trace_analysis *analysis, const struct timeline *t)
{
	const struct analysis_limits limits = { .top = 10 };
	*x = (struct found){ .f = { .id = analysis->id } };
	trace_view_init(&x->v, t);
	analysis->analyse(&x->v, &limits, &x->run, &x->f);
}

static inline void found_close(struct found *x, struct timeline *t)
{
	trace_view_release(&x->v);
	arena_release(&x->run);
	timeline_release(t);
}

static inline const struct fact *found_fact(const struct found *x, const char *name)
{
	for (size_t i = 0; i < x->f.n_facts; i++)
		if (strcmp(x->f.facts[i].name, name) == 0)
			return &x->f.facts[i];
	return NULL;
}

/* NAN: there is none, or it could not be had. */
static inline double found_value(const struct found *x, const char *name)
{
	const struct fact *fact = found_fact(x, name);
	return fact ? fact->value : NAN;
}

static inline const struct trace_table *found_table(const struct found *x, const char *name)
{
	for (size_t i = 0; i < x->f.n_tables; i++)
		if (strcmp(x->f.tables[i]->name, name) == 0)
			return x->f.tables[i];
	return NULL;
}

static inline size_t table_rows(const struct trace_table *t)
{
	return t ? t->n_cells / t->n_columns : 0;
}

/* A cell; an empty one beyond the table. */
static inline struct trace_cell table_cell(const struct trace_table *t, size_t row, size_t column)
{
	if (row >= table_rows(t) || column >= t->n_columns)
		return (struct trace_cell){ .number = NAN };
	return t->cells[row * t->n_columns + column];
}

static inline bool cell_is(struct trace_cell cell, const char *text)
{
	return cell.is_text && str_eq(cell.text, str_of(text));
}

#endif
