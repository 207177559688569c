/*
 * finding_look.h - one analysis of one timeline, and what its finding says. For tests.
 */
#ifndef VENTURI_TESTS_FINDING_LOOK_H
#define VENTURI_TESTS_FINDING_LOOK_H

#include "trace/analyses/analyses.h"

#include <math.h>
#include <string.h>

struct look {
	struct trace_view view;
	struct arena run;
	struct trace_finding finding;
};

/* t must outlive it. */
static inline struct trace_finding *look_at(
        struct look *l, const struct timeline *t, const struct trace_analysis *analysis)
{
	memset(l, 0, sizeof *l);
	struct analysis_limits limits = { .top = 10 };
	trace_view_init(&l->view, t);
	l->finding.id = analysis->id;
	analysis->analyse(&l->view, &limits, &l->run, &l->finding);
	return &l->finding;
}

static inline void look_away(struct look *l)
{
	trace_view_release(&l->view);
	arena_release(&l->run);
}

static inline double fact_value(const struct trace_finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, name) == 0)
			return f->facts[i].value;
	return NAN;
}

static inline const struct trace_table *table_named(const struct trace_finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_tables; i++)
		if (strcmp(f->tables[i]->name, name) == 0)
			return f->tables[i];
	return NULL;
}

static inline const struct trace_cell *cell_of(
        const struct trace_finding *f, const char *table, size_t row, const char *column)
{
	static const struct trace_cell absent = { .number = NAN };
	const struct trace_table *t = table_named(f, table);
	for (size_t c = 0; t && c < t->n_columns; c++)
		if (strcmp(t->columns[c].name, column) == 0 && row * t->n_columns + c < t->n_cells)
			return &t->cells[row * t->n_columns + c];
	return &absent;
}

static inline double number_in(
        const struct trace_finding *f, const char *table, size_t row, const char *column)
{
	return cell_of(f, table, row, column)->number;
}

static inline const char *text_in(
        const struct trace_finding *f, const char *table, size_t row, const char *column)
{
	const struct trace_cell *c = cell_of(f, table, row, column);
	return c->is_text ? c->text.s : "(none)";
}

#endif
