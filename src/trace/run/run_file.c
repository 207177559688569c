#include "trace/run/run_parts.h"

#include "base/i18n.h"

#include <stdlib.h>
#include <string.h>

/* What became of what could not be read: the same order as enum loss. */
static const struct {
	const char *id, *text;
	bool loses_event;
} losses[N_LOSSES] = {
	[LOST_BROKEN] = { "broken", N_("could not be read: the text is damaged there"), true },
	[LOST_NO_TIME] = { "no_time", N_("spans without a start or a duration that is a number"),
	        true },
	[LOST_ZERO_TIME] = { "zero_time",
	        N_("device operations at time 0: the profiler never completed their record"),
	        true },
	[LOST_NEGATIVE] = { "negative_duration", N_("negative durations"), true },
	[LOST_TOO_LONG] = { "too_long",
	        N_("durations of more than a week, or times beyond 73 years"), true },
	[LOST_NOT_FINITE] = { "not_finite", N_("times that are not finite numbers"), true },
	[LOST_DUPLICATE] = { "duplicate", N_("events that are there twice"), true },
	[LOST_UNMATCHED] = { "unmatched", N_("begins without an end, or ends without a begin"),
	        true },
	[LOST_BAD_NUMBER] = { "bad_number",
	        N_("numbers that do not fit; the events themselves are kept"), false },
	[LOST_BAD_ESCAPE] = { "bad_escape",
	        N_("escapes that JSON does not know, read as they stand"), false },
};

static void fill_losses(const struct timeline *t, struct arena *run, struct trace_file *ret)
{
	ret->losses = arena_new_n(run, struct trace_loss, N_LOSSES);
	for (int i = 0; i < N_LOSSES; i++) {
		if (t->lost[i] == 0)
			continue;
		ret->losses[ret->n_losses++] =
		        (struct trace_loss){ losses[i].id, _(losses[i].text), t->lost[i] };
		if (losses[i].loses_event)
			ret->skipped += t->lost[i];
	}
}

static void fill_phases(const struct timeline *t, struct arena *run, struct trace_file *ret)
{
	const int n = (int)ARRAY_LEN(t->phases);
	ret->phases = arena_new_n(run, struct trace_count, (size_t)n);
	for (int i = 0; i < n; i++) {
		const char letter = (char)i;
		if (t->phases[i])
			ret->phases[ret->n_phases++] =
			        (struct trace_count){ str_dup((struct str){ &letter, i > 0 }, run),
				        t->phases[i] };
	}
}

/* The largest first: the order in which several threads met the names says nothing. */
static int by_count(const void *a, const void *b)
{
	const struct trace_count *x = a, *y = b;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return str_compare(x->name, y->name);
}

static struct trace_count *fill_tallies(
        const struct timeline *t, const struct tallies *from, struct arena *run, size_t *ret_n)
{
	struct trace_count *to = arena_new_n(run, struct trace_count, from->n + 1);
	for (size_t i = 0; i < from->n; i++)
		to[i] = (struct trace_count){ str_dup(timeline_name_of(t, from->v[i].name), run),
			from->v[i].n };
	qsort(to, from->n, sizeof *to, by_count);
	*ret_n = from->n;
	return to;
}

static void count_events(const struct timeline *t, struct trace_file *ret)
{
	const struct event_list *device = &t->lists[GROUP_DEVICE];
	for (int g = 0; g < N_GROUPS; g++)
		ret->kept += (int64_t)t->lists[g].n;
	for (size_t i = 0; i < device->n; i++)
		ret->zero_duration += device->v[i].dur_ns == 0;
}

void run_file(const struct timeline *t, struct arena *run, struct trace_file *ret)
{
	struct str software = timeline_name_of(t, t->software);
	bool has_span = t->span_start_ns <= t->span_end_ns;
	*ret = (struct trace_file){
		.path = arena_strdup(run, t->path),
		.format = t->format,
		.software = software.len ? str_c(software, run) : NULL,
		.bytes = t->n_bytes,
		.events = t->n_events,
		.truncated = t->truncated,
		.capped = t->capped,
		.start_ns = has_span ? t->span_start_ns : 0,
		.span_ns = has_span ? t->span_end_ns - t->span_start_ns : -1,
		.rank = t->rank,
		.world_size = t->world_size,
	};
	count_events(t, ret);
	fill_losses(t, run, ret);
	fill_phases(t, run, ret);
	ret->categories = fill_tallies(t, &t->categories, run, &ret->n_categories);
	ret->rows = fill_tallies(t, &t->rows, run, &ret->n_rows);
}

static struct str text_of(const struct timeline *t, uint32_t name, struct arena *run)
{
	return str_dup(timeline_name_of(t, name), run);
}

static void fill_launch(const struct timeline *t, const struct profiled_launch *from,
        struct arena *run, struct trace_launch *ret)
{
	ret->kernel = text_of(t, from->kernel, run);
	ret->device = text_of(t, from->device, run);
	memcpy(ret->grid, from->grid, sizeof ret->grid);
	memcpy(ret->block, from->block, sizeof ret->block);
	ret->n_metrics = from->n_metrics;
	ret->metrics = arena_new_n(run, struct trace_launch_metric, from->n_metrics + 1);
	for (size_t i = 0; i < from->n_metrics; i++) {
		const struct launch_metric *m = &from->metrics[i];
		ret->metrics[i] = (struct trace_launch_metric){ text_of(t, m->section, run),
			text_of(t, m->name, run), text_of(t, m->unit, run),
			text_of(t, m->text, run), m->value };
	}
	ret->n_rules = from->n_rules;
	ret->rules = arena_new_n(run, struct trace_launch_rule, from->n_rules + 1);
	for (size_t i = 0; i < from->n_rules; i++)
		ret->rules[i] = (struct trace_launch_rule){ text_of(t, from->rules[i].name, run),
			text_of(t, from->rules[i].type, run),
			text_of(t, from->rules[i].text, run) };
}

void run_launches(const struct timeline *t, size_t file, struct arena *run, struct trace_run *ret)
{
	struct trace_launch *all =
	        arena_new_n(run, struct trace_launch, ret->n_launches + t->n_launches + 1);
	if (ret->n_launches)
		memcpy(all, ret->launches, ret->n_launches * sizeof *all);
	ret->launches = all;
	for (size_t i = 0; i < t->n_launches; i++) {
		struct trace_launch *to = &ret->launches[ret->n_launches++];
		to->file = file;
		fill_launch(t, &t->launches[i], run, to);
	}
}

void run_unread(const struct trace_unread *unread, struct arena *run, struct trace_file *ret)
{
	*ret = (struct trace_file){ .path = arena_strdup(run, unread->path),
		.error = arena_strdup(run, unread->reason),
		.span_ns = -1,
		.rank = -1,
		.world_size = -1 };
}
