/*
 * What the profiler's own rules advise, by the speed-up that they estimate themselves.
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/ncu.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

/* A rule speaks of one launch; types of rules that advise something. */
struct said {
	const struct launch_rule *rule;
	const struct profiled_launch *launch;
};

static bool advises(const struct timeline *t, const struct launch_rule *r)
{
	struct str type = timeline_name_of(t, r->type);
	return str_eq(type, STR("OPT")) || str_eq(type, STR("Optimization"));
}

static double speedup(const struct said *s)
{
	return isnan(s->rule->speedup_percent) ? -1 : s->rule->speedup_percent;
}

static int by_speedup(const void *a, const void *b)
{
	const struct said *x = a, *y = b;
	if (speedup(x) != speedup(y))
		return speedup(x) > speedup(y) ? -1 : 1;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static size_t collect(const struct timeline *t, struct arena *tmp, struct said **ret)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n_launches; i++)
		n += t->launches[i].n_rules;
	*ret = arena_new_n(tmp, struct said, n + 1);
	n = 0;
	for (size_t i = 0; i < t->n_launches; i++)
		for (size_t k = 0; k < t->launches[i].n_rules; k++)
			if (advises(t, &t->launches[i].rules[k]))
				(*ret)[n++] =
				        (struct said){ &t->launches[i].rules[k], &t->launches[i] };
	qsort(*ret, n, sizeof **ret, by_speedup);
	return n;
}

static void add_table(struct trace_finding *f, struct arena *run, const struct timeline *t,
        const struct said *said, size_t n)
{
	struct trace_table *table = finding_table(f, run, "rules");
	table_column(table, run, "rule", "");
	table_column(table, run, "estimated_speedup", "%");
	table_column(table, run, "speedup_of", "");
	table_column(table, run, "kernel", "");
	table_column(table, run, "text", "");
	for (size_t i = 0; i < n; i++) {
		const struct launch_rule *r = said[i].rule;
		table_text(table, run, timeline_name_of(t, r->name));
		table_number(table, run, r->speedup_percent);
		table_text(table, run, timeline_name_of(t, r->speedup_of));
		table_text(table, run, timeline_name_of(t, said[i].launch->kernel));
		table_text(table, run, timeline_name_of(t, r->text));
	}
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct arena tmp = { 0 };
	struct said *said;
	size_t n_rules = 0, n = collect(v->t, &tmp, &said);
	for (size_t i = 0; i < v->t->n_launches; i++)
		n_rules += v->t->launches[i].n_rules;
	if (n_rules == 0) {
		finding_abstain(
		        f, _("the file has no rules of the profiler; they are on the page of "
		             "details (--csv --page details)"));
	} else if (n == 0) {
		finding_clear(f, arena_printf(run,
		                         _("none of %zu rules of the profiler advises "
		                           "anything"),
		                         n_rules));
	} else {
		finding_found(f, NAN,
		        arena_printf(run, _("%zu of %zu rules of the profiler advise something"), n,
		                n_rules),
		        _("Its estimates are of each kernel alone, and not of the service: begin "
		          "with "
		          "kernels that take much of the trace's time."));
		finding_fact(f, run, "rule_speedup_max_percent", said[0].rule->speedup_percent, "%",
		        (int64_t)n, "ncu, its own estimate");
		add_table(f, run, v->t, said, (int64_t)n < limits->top ? n : (size_t)limits->top);
	}
	arena_release(&tmp);
}

const struct trace_analysis ncu_rules_analysis = {
	.id = "ncu_rules", .of = ANALYSIS_OF_NCU, .analyse = analyse
};
