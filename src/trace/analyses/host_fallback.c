#include "trace/analyses/host_fallback.h"

#include "base/i18n.h"
#include "trace/analyses/measures.h"

#include <stdlib.h>

/* Less than a hundredth of the time is not worth a change: no comparison of runs would show it. */
#define WORTH_RATIO 0.01

/* What the lookups go along. */
struct search {
	const struct trace_view *v;
	uint8_t *launches; /* [n calls]: it began work of a device */
	struct name_sum *names;
	size_t n_names, cap_names;
	size_t n; /* fallbacks */
	int64_t gaps_ns, copies_ns;
};

static int64_t end_of(const struct event *e)
{
	return e->start_ns + e->dur_ns;
}

bool trace_shows_host_fallback(const struct trace_view *v)
{
	if (v->t->lists[GROUP_OPERATOR].n == 0)
		return false;
	for (size_t i = 0; i < v->t->lists[GROUP_DEVICE].n; i++)
		if (v->launch[i] != NONE32)
			return true;
	return false;
}

static bool is_copy(const struct trace_view *v, uint32_t device_event, enum copy_kind kind)
{
	const struct event *e = &v->t->lists[GROUP_DEVICE].v[device_event];
	const struct copy_detail *c = e->kind == DEVICE_MEMCPY ? timeline_copy(v->t, e) : NULL;
	return c && c->kind == kind;
}

/* The place of the first event of a track, in order of start, that starts at a time or later. */
static uint32_t first_from(const struct event *v, const uint32_t *order, uint32_t first,
        uint32_t last, int64_t time_ns)
{
	while (first < last) {
		uint32_t m = first + (last - first) / 2;
		if (v[order[m]].start_ns < time_ns)
			first = m + 1;
		else
			last = m;
	}
	return first;
}

static bool launches_nothing(const struct search *s, const struct event *operator)
{
	const struct trace_view *v = s->v;
	const struct event *calls = v->t->lists[GROUP_CALL].v;
	uint32_t last = v->calls_first[operator->track + 1];
	uint32_t i = first_from(calls, v->calls_by_thread, v->calls_first[operator->track], last,
	        operator->start_ns);
	for (; i < last && calls[v->calls_by_thread[i]].start_ns < end_of(operator); i++) {
		if (s->launches[v->calls_by_thread[i]])
			return false;
	}
	return true;
}

static void add_name(struct search *s, const struct event *operator)
{
	if (s->n_names == s->cap_names) {
		s->cap_names = s->cap_names ? s->cap_names * 2 : 16;
		s->names = mem_realloc(s->names, s->cap_names * sizeof *s->names);
	}
	s->names[s->n_names++] =
	        (struct name_sum){ .name = operator->name, .n = 1, .ns = operator->dur_ns };
}

static void look_at_gap(struct search *s, const struct gap *g)
{
	const struct trace_view *v = s->v;
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	const struct event *operators = v->t->lists[GROUP_OPERATOR].v;
	uint32_t launch = v->launch[g->after];
	if (g->between_steps || launch == NONE32 || !is_copy(v, g->before, COPY_DTOH) ||
	        !is_copy(v, g->after, COPY_HTOD))
		return;
	const struct event *call = &v->t->lists[GROUP_CALL].v[launch];
	uint32_t last = v->operators_first[call->track + 1];
	uint32_t i = first_from(operators, v->operators_by_thread, v->operators_first[call->track],
	        last, g->start_ns);
	size_t n_before = s->n_names;
	int64_t filled_ns = 0, until_ns = g->start_ns;
	for (; i < last; i++) {
		const struct event *o = &operators[v->operators_by_thread[i]];
		if (o->start_ns >= call->start_ns)
			break;
		if (o->start_ns < until_ns || end_of(o) > call->start_ns || !launches_nothing(s, o))
			continue;
		filled_ns += o->dur_ns;
		until_ns = end_of(o);
		add_name(s, o);
	}
	if (filled_ns == 0 || 2 * filled_ns < call->start_ns - g->start_ns) {
		s->n_names = n_before;
		return;
	}
	s->n++;
	s->gaps_ns += g->end_ns - g->start_ns;
	s->copies_ns += work[g->before].dur_ns + work[g->after].dur_ns;
}

static void table_of_names(struct search *s, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct trace_table *t = finding_table(f, run, "operators");
	table_column(t, run, "operator", "");
	table_column(t, run, "calls", "");
	table_column(t, run, "time", "ns");
	size_t n = name_sums_join(s->v->t, s->names, s->n_names);
	for (size_t i = 0; i < n && i < (size_t)limits->top; i++) {
		table_text(t, run, timeline_name_of(s->v->t, s->names[i].name));
		table_number(t, run, (double)s->names[i].n);
		table_number(t, run, (double)s->names[i].ns);
	}
}

static void tell(const struct search *s, double share, struct arena *run, struct trace_finding *f)
{
	if (s->n == 0) {
		/* Not 0: where host and device share their memory, it would need no copies. */
		finding_fact_absent(f, run, "cpu_fallback_ratio", "ratio",
		        _("no operator was seen to run on the host between two copies"));
		finding_clear(f,
		        arena_printf(run, _("no operator runs on the host between a copy from the "
		                            "device and the next one to it")));
		return;
	}
	int64_t n = (int64_t)s->n;
	finding_fact_anchor(f, run, "cpu_fallback_ratio", share, "ratio", WORTH_RATIO, n,
	        "gaps between a copy to the host and one from it");
	finding_fact(f, run, "cpu_fallback_calls", (double)n, "1", n, "trace");
	finding_fact(f, run, "cpu_fallback_ns", (double)s->gaps_ns, "ns", n, "trace");
	finding_fact(f, run, "copy_nodes_ns", (double)s->copies_ns, "ns", 2 * n, "trace");
	char *text = arena_printf(run,
	        _("the device waits %lld times for operators that run on the host, between a copy "
	          "from the device and one back to it: with these copies %.1f %% of its time"),
	        (long long)n, 100 * share);
	if (share >= WORTH_RATIO)
		finding_found(f, share, text,
		        _("Choose operators that have kernels for the device, or a version of the "
		          "framework that does, and keep their inputs on the device."));
	else
		finding_clear(f, text);
}

void analyse_host_fallback(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct search s = { .v = v, .launches = mem_zeroed(v->t->lists[GROUP_CALL].n + 1, 1) };
	for (size_t i = 0; i < v->t->lists[GROUP_DEVICE].n; i++)
		if (v->launch[i] != NONE32)
			s.launches[v->launch[i]] = 1;
	for (size_t d = 0; d < v->n_devices; d++)
		for (size_t i = 0; i < v->devices[d].n_gaps; i++)
			look_at_gap(&s, &v->devices[d].gaps[i]);
	double share = ratio_of(s.gaps_ns + s.copies_ns, device_sums_of(v).span_ns);
	tell(&s, share, run, f);
	if (s.n)
		table_of_names(&s, limits, run, f);
	free(s.launches);
	free(s.names);
}
