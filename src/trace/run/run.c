/*
 * trace_analyse: one view after the other, each given back before the next is made.
 */
#include "trace/trace.h"

#include "base/i18n.h"
#include "trace/analysis.h"
#include "trace/run/run_parts.h"

#include <math.h>
#include <string.h>

struct run_state {
	const struct trace_options *options;
	struct arena *run;
	struct trace_run *ret;
	struct run_sums sums;
	struct run_operators *operators;
};

static size_t count_analyses(void)
{
	size_t n = 0;
	while (trace_analyses[n])
		n++;
	return n;
}

static void run_findings(struct run_state *s, const struct trace_view *v, size_t file)
{
	const struct analysis_limits limits = { .top = s->options->top,
		.peak_flop_per_s = s->options->peak_flop_per_s,
		.peak_bytes_per_s = s->options->peak_bytes_per_s };
	for (size_t i = 0; trace_analyses[i]; i++) {
		if (!trace_analysis_applies(trace_analyses[i], v->t))
			continue;
		struct trace_finding *f = &s->ret->findings[s->ret->n_findings++];
		*f = (struct trace_finding){
			.id = trace_analyses[i]->id, .file = file, .share_ratio = NAN
		};
		trace_analyses[i]->analyse(v, &limits, s->run, f);
	}
}

static void run_view(struct run_state *s, const struct timeline *t, size_t file)
{
	struct trace_view v;
	trace_view_init(&v, t);
	run_devices(&v, file, s->run, s->ret);
	run_launches(t, file, s->run, s->ret);
	run_steps(&v, s->run, s->ret);
	run_sums_add(&s->sums, &v, s->ret);
	run_operators_add(s->operators, &v);
	if (t->n_lines)
		run_lines(t, file, s->options->top, s->run, s->ret);
	else if (strcmp(s->options->by, "stream") == 0 || strncmp(t->format, "xplane", 6) == 0)
		run_tracks(&v, file, s->options->top, s->run, s->ret);
	run_findings(s, &v, file);
	trace_view_release(&v);
}

static bool run_files(struct run_state *s, const struct trace *trace, struct err *err)
{
	size_t n_without_step = 0;
	for (size_t i = 0; i < trace->n; i++) {
		struct window w;
		run_file(&trace->timelines[i], s->run, &s->ret->files[i]);
		const struct timeline *t = window_open(&w, &trace->timelines[i], s->options);
		if (t)
			run_view(s, t, i);
		else
			n_without_step++;
		window_close(&w);
	}
	if (n_without_step < trace->n || trace->n == 0)
		return true;
	err_set(err, ERR_USAGE, _("there is no step %lld in '%s'"), (long long)s->options->step,
	        trace->timelines[0].path);
	return err_hint(err, _("steps are counted from 0; without --step their number is shown"));
}

bool trace_analyse(const struct trace *trace, const struct trace_options *options,
        struct arena *run, struct trace_run *ret, struct err *err)
{
	struct run_state s = { .options = options, .run = run, .ret = ret };
	*ret = (struct trace_run){
		.steps = { .source = step_source_names[STEPS_NONE],
		        .mean_ns = NAN,
		        .median_ns = NAN,
		        .gap_mean_ns = NAN,
		        .gap_ratio = NAN },
	};
	ret->files = arena_new_n(run, struct trace_file, trace->n + trace->n_unread);
	ret->n_files = trace->n + trace->n_unread;
	ret->findings =
	        arena_new_n(run, struct trace_finding, trace->n * (count_analyses() + 1) + 1);
	s.operators = run_operators_new(options);
	bool ok = run_files(&s, trace, err);
	for (size_t i = 0; ok && i < trace->n; i++)
		run_join_launches(trace, i, options->top, run, ret);
	for (size_t i = 0; i < trace->n_unread; i++)
		run_unread(&trace->unread[i], run, &ret->files[trace->n + i]);
	run_sums_finish(&s.sums, run, ret);
	run_operators_finish(s.operators, run, ret);
	return ok;
}
