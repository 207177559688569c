#include "trace/analyses/compile_events.h"

#include "trace/kinds/call_kind.h"

#include <stdlib.h>

enum place { STARTS, HOLDS, ENDS };

/* Names of compilers, tuners and loaders; calls of the runtime are known by their kind. */
static const struct rule {
	enum place place;
	struct str text;
	const char *kind;
} rules[] = {
	{ ENDS, STR_INIT("(dynamo_timed)"), "compile" },
	{ HOLDS, STR_INIT("torch/_dynamo/convert_frame.py"), "compile" },
	{ HOLDS, STR_INIT("triton/compiler/compiler.py"), "compile" },
	{ HOLDS, STR_INIT("backend_compile"), "compile" },
	{ STARTS, STR_INIT("XlaCompile"), "compile" },
	{ STARTS, STR_INIT("nvrtcCompileProgram"), "compile" },
	{ STARTS, STR_INIT("hiprtcCompileProgram"), "compile" },
	{ STARTS, STR_INIT("Lazy Function Loading"), "module_load" },
	{ STARTS, STR_INIT("Runtime Triggered Module Loading"), "module_load" },
	{ STARTS, STR_INIT("cudnnFind"), "tuning" },
	{ STARTS, STR_INIT("miopenFind"), "tuning" },
};

static bool meets(const struct rule *rule, struct str name)
{
	switch (rule->place) {
	case STARTS:
		return str_starts(name, rule->text);
	case HOLDS:
		return str_find(name, rule->text) >= 0;
	case ENDS:
		return str_ends(name, rule->text);
	}
	return false;
}

/* What an event of this name does, NULL: none of these. */
static const char *kind_of(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (meets(&rules[i], name))
			return rules[i].kind;
	switch (call_kind_of(name)) {
	case CALL_LOAD:
		return "module_load";
	case CALL_CAPTURE:
		return "graph_capture";
	default:
		return NULL;
	}
}

/* Groups in which such events show. */
static const enum event_group watched[] = { GROUP_CALL, GROUP_OPERATOR, GROUP_ANNOTATION,
	GROUP_OVERHEAD, GROUP_PYTHON };

/* The events of one name. */
struct name_sum {
	bool known;
	const char *kind; /* once known; NULL: of no interest */
	int64_t n, total_ns;
};

static size_t count_watched(const struct timeline *t)
{
	size_t n = 0;
	for (size_t g = 0; g < ARRAY_LEN(watched); g++)
		n += t->lists[watched[g]].n;
	return n;
}

/* Sums by name, and all of them as intervals. */
static size_t collect(
        const struct timeline *t, int64_t from_ns, struct name_sum *sums, struct interval *spans)
{
	size_t n = 0;
	for (size_t g = 0; g < ARRAY_LEN(watched); g++) {
		const struct event_list *list = &t->lists[watched[g]];
		for (size_t i = 0; i < list->n; i++) {
			const struct event *e = &list->v[i];
			struct name_sum *sum = &sums[e->name];
			if (!sum->known)
				sum->kind = kind_of(timeline_name_of(t, e->name));
			sum->known = true;
			if (!sum->kind || e->start_ns < from_ns)
				continue;
			sum->n++;
			sum->total_ns += e->dur_ns;
			spans[n++] = (struct interval){ e->start_ns, e->start_ns + e->dur_ns };
		}
	}
	return n;
}

static void fill_table(const struct timeline *t, const struct name_sum *sums,
        struct trace_finding *f, struct arena *run)
{
	struct trace_table *table = finding_table(f, run, "compile_events");
	table_column(table, run, "event", "");
	table_column(table, run, "kind", "");
	table_column(table, run, "calls", "");
	table_column(table, run, "total_ns", "ns");
	for (uint32_t i = 1; i < t->names.n; i++) {
		if (sums[i].n == 0)
			continue;
		table_text(table, run, str_dup(timeline_name_of(t, i), run));
		table_text(table, run, str_of(sums[i].kind));
		table_number(table, run, (double)sums[i].n);
		table_number(table, run, (double)sums[i].total_ns);
	}
}

struct compile_events compile_events_find(
        const struct trace_view *v, int64_t from_ns, struct trace_finding *f, struct arena *run)
{
	struct arena tmp = { 0 };
	struct name_sum *sums = mem_zeroed((size_t)v->t->names.n + 1, sizeof *sums);
	struct interval *spans = mem_zeroed(count_watched(v->t) + 1, sizeof *spans);
	struct compile_events found = { 0 };
	size_t n = collect(v->t, from_ns, sums, spans);
	found.n = (int64_t)n;
	found.total_ns = intervals_length_ns(intervals_union(spans, n, &tmp));
	fill_table(v->t, sums, f, run);
	free(spans);
	free(sums);
	arena_release(&tmp);
	return found;
}
