/*
 * The counters of profiled launches as they are, by kernel: for profilers whose counters have no
 * analysis of their own (rocprof). No judgement, only means over launches.
 */
#include "trace/analyses/analyses.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

struct counted {
	uint32_t kernel, counter;
	double value;
};

static int by_kernel(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;
	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	if (x->counter != y->counter)
		return x->counter < y->counter ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static struct counted *collect(const struct timeline *t, struct arena *tmp, size_t *ret_n)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n_launches; i++)
		n += t->launches[i].n_metrics;
	struct counted *v = arena_new_n(tmp, struct counted, n + 1);
	n = 0;
	for (size_t i = 0; i < t->n_launches; i++) {
		const struct profiled_launch *l = &t->launches[i];
		for (size_t k = 0; k < l->n_metrics; k++)
			if (isfinite(l->metrics[k].value))
				v[n++] = (struct counted){ l->kernel, l->metrics[k].name,
					l->metrics[k].value };
	}
	qsort(v, n, sizeof *v, by_kernel);
	*ret_n = n;
	return v;
}

static void add_row(struct trace_table *table, struct arena *run, const struct timeline *t,
        const struct counted *v, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i].value;
	table_text(table, run, timeline_name_of(t, v[0].kernel));
	table_text(table, run, timeline_name_of(t, v[0].counter));
	table_number(table, run, (double)n);
	table_number(table, run, sum / (double)n);
	table_number(table, run, v[0].value);
	table_number(table, run, v[n - 1].value);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	static const char *const columns[] = { "kernel", "counter", "launches", "mean", "min",
		"max" };
	struct arena tmp = { 0 };
	size_t n, n_rows = 0;
	const struct counted *all = collect(v->t, &tmp, &n);
	struct trace_table *table = finding_table(f, run, "counters");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_column(table, run, columns[i], "");
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && all[end].kernel == all[first].kernel &&
		                      all[end].counter == all[first].counter;)
			end++;
		if ((int64_t)n_rows++ < limits->top)
			add_row(table, run, v->t, all + first, end - first);
	}
	if (n == 0)
		finding_abstain(f, _("no counter of the profiled launches has a number"));
	else
		finding_clear(f, arena_printf(run,
		                         _("%zu profiled launches carry counters: %zu values "
		                           "of %zu pairs of kernel and counter"),
		                         v->t->n_launches, n, n_rows));
	arena_release(&tmp);
}

const struct trace_analysis launch_counters_analysis = {
	.id = "launch_counters", .of = ANALYSIS_OF_COUNTERS, .analyse = analyse
};
