#include "trace/analysis.h"

#include <math.h>
#include <string.h>

void finding_found(struct trace_finding *f, double share_ratio, char *text, const char *advice)
{
	f->state = TRACE_FOUND;
	f->share_ratio = share_ratio;
	f->text = text;
	f->advice = advice;
}

void finding_clear(struct trace_finding *f, char *text)
{
	f->state = TRACE_CLEAR;
	f->share_ratio = NAN;
	f->text = text;
}

void finding_abstain(struct trace_finding *f, const char *reason)
{
	f->state = TRACE_ABSTAINED;
	f->share_ratio = NAN;
	f->reason = reason;
}

/* An array of the arena with room for one more; the old one stays in the arena. */
static void *grown(struct arena *run, void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	size_t wider = *cap ? *cap * 2 : 8;
	void *copy = arena_alloc_n(run, wider, size);
	if (n)
		memcpy(copy, v, n * size);
	*cap = wider;
	return copy;
}

static struct fact *add_fact(struct trace_finding *f, struct arena *run)
{
	f->facts = grown(run, f->facts, f->n_facts, &f->cap_facts, sizeof *f->facts);
	return &f->facts[f->n_facts++];
}

void finding_fact_anchor(struct trace_finding *f, struct arena *run, const char *name, double value,
        const char *unit, double threshold, int64_t n, const char *source)
{
	*add_fact(f, run) = (struct fact){ .name = name,
		.value = value,
		.unit = unit,
		.threshold = threshold,
		.source = source,
		.n = n,
		.state = FACT_MEASURED };
}

void finding_fact(struct trace_finding *f, struct arena *run, const char *name, double value,
        const char *unit, int64_t n, const char *source)
{
	finding_fact_anchor(f, run, name, value, unit, NAN, n, source);
}

void finding_fact_estimated(struct trace_finding *f, struct arena *run, const char *name,
        double value, const char *unit, int64_t n, const char *source)
{
	finding_fact(f, run, name, value, unit, n, source);
	f->facts[f->n_facts - 1].state = FACT_ESTIMATED;
}

void finding_fact_absent(struct trace_finding *f, struct arena *run, const char *name,
        const char *unit, const char *reason)
{
	*add_fact(f, run) = (struct fact){ .name = name,
		.value = NAN,
		.unit = unit,
		.threshold = NAN,
		.source = "trace",
		.state = FACT_NOT_COUNTED,
		.reason = reason };
}

struct trace_table *finding_table(struct trace_finding *f, struct arena *run, const char *name)
{
	f->tables = grown(run, f->tables, f->n_tables, &f->cap_tables, sizeof *f->tables);
	struct trace_table *t = arena_new(run, struct trace_table);
	t->name = name;
	f->tables[f->n_tables++] = t;
	return t;
}

void table_column(struct trace_table *t, struct arena *run, const char *name, const char *unit)
{
	t->columns = grown(run, t->columns, t->n_columns, &t->cap_columns, sizeof *t->columns);
	t->columns[t->n_columns++] = (struct trace_column){ name, unit };
}

static struct trace_cell *add_cell(struct trace_table *t, struct arena *run)
{
	t->cells = grown(run, t->cells, t->n_cells, &t->cap_cells, sizeof *t->cells);
	return &t->cells[t->n_cells++];
}

void table_text(struct trace_table *t, struct arena *run, struct str text)
{
	*add_cell(t, run) =
	        (struct trace_cell){ .is_text = true, .number = NAN, .text = str_dup(text, run) };
}

void table_number(struct trace_table *t, struct arena *run, double value)
{
	*add_cell(t, run) = (struct trace_cell){ .number = value };
}
