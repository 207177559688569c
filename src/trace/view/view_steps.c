/*
 * Where a step of the model begins and ends: the first of several ways that finds any.
 */
#include "trace/kinds/call_kind.h"
#include "trace/view/view_parts.h"

#include <stdlib.h>
#include <string.h>

/* Ranges that say "a step" in words, the outer before the inner; a service may have two words. */
static const struct step_words {
	struct str first, second;
	enum step_source from;
} step_words[] = {
	{ STR_INIT("ProfilerStep#"), STR_INIT(""), STEPS_PROFILER },
	{ STR_INIT("step["), STR_INIT(""), STEPS_ANNOTATION },                     /* SGLang */
	{ STR_INIT("execute_"), STR_INIT(""), STEPS_ANNOTATION },                  /* vLLM, xDiT */
	{ STR_INIT("gpu_model_runner: forward"), STR_INIT(""), STEPS_ANNOTATION }, /* vLLM V1 */
	{ STR_INIT("[Executor] _forward_step"), STR_INIT(""), STEPS_ANNOTATION }, /* TensorRT-LLM */
	{ STR_INIT("prefill("), STR_INIT("decode("), STEPS_ANNOTATION }, /* venturi-serve */
	{ STR_INIT("model_run"), STR_INIT(""), STEPS_RUN },              /* ONNX Runtime */
};

/* Annotations that repeat, but are no steps of a model. */
static const struct str no_steps[] = {
	STR_INIT("nccl:"),
	STR_INIT("Optimizer."),
	STR_INIT("enumerate("),
	STR_INIT("## Call CompiledFxGraph"),
	STR_INIT("Torch-Compiled Region"),
	STR_INIT("aten::"),
};

/* A range that repeats is taken for the step when it fills this share of the trace. */
static const double REPEATED_COVER_RATIO = 0.5;
/* ... and most of them last at least the mean by this: a prefill may be far longer than a step of
 * decoding, but ranges that now take long and now nothing are a wait. */
enum { REPEATED_SHORTEST = 10 };
/* Fewer repetitions say nothing of a period. */
enum { PERIOD_MIN_REPEATS = 3 };
/* Of the distances from one to the next, this share is the mean one, give or take 1 in 50. */
static const double PERIOD_REGULAR_RATIO = 0.8;
enum { PERIOD_TOLERANCE = 50 };
static const double PERIOD_COVER_RATIO = 0.5;
/* A step of a model takes this many kernels at least; shorter periods are loops. */
enum { PERIOD_MIN_KERNELS = 8 };

struct step_list {
	struct step *v;
	size_t n, cap;
};

static void add_step(struct step_list *l, int64_t start_ns, int64_t end_ns, uint32_t name)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->v = mem_realloc(l->v, l->cap * sizeof *l->v);
	}
	l->v[l->n++] = (struct step){ start_ns, end_ns, name };
}

static int by_start(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Takes over the list: in order of time, without those that lie within another. */
static bool keep_steps(struct trace_view *v, struct step_list *l, enum step_source from)
{
	size_t n = 0;
	if (l->n)
		qsort(l->v, l->n, sizeof *l->v, by_start);
	for (size_t i = 0; i < l->n; i++) {
		if (n == 0 || l->v[i].end_ns > l->v[n - 1].end_ns)
			l->v[n++] = l->v[i];
	}
	if (n) {
		v->steps = arena_new_n(&v->arena, struct step, n);
		memcpy(v->steps, l->v, n * sizeof *l->v);
		v->n_steps = n;
		v->steps_from = from;
	}
	free(l->v);
	*l = (struct step_list){ 0 };
	return n > 0;
}

static void add_marked(struct step_list *l, const struct event_list *list, const uint8_t *marked)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (marked[e->name])
			add_step(l, e->start_ns, e->start_ns + e->dur_ns, e->name);
	}
}

/* Ranges of the host whose names begin so; in the files of 2021 steps are operators. */
static bool steps_named(struct trace_view *v, const struct step_words *words)
{
	const struct timeline *t = v->t;
	static const enum event_group groups[] = { GROUP_ANNOTATION, GROUP_OPERATOR, GROUP_OTHER };
	uint8_t *marked = mem_zeroed((size_t)t->names.n + 1, 1);
	bool any = false;
	struct step_list steps = { 0 };
	for (uint32_t i = 0; i < t->names.n; i++) {
		struct str name = timeline_name_of(t, i);
		marked[i] = str_starts(name, words->first) ||
		            (words->second.len && str_starts(name, words->second));
		any |= marked[i];
	}
	for (size_t g = 0; any && g < ARRAY_LEN(groups) && steps.n == 0; g++)
		add_marked(&steps, &t->lists[groups[g]], marked);
	free(marked);
	return keep_steps(v, &steps, words->from);
}

static bool steps_in_words(struct trace_view *v)
{
	for (size_t i = 0; i < ARRAY_LEN(step_words); i++) {
		if (steps_named(v, &step_words[i]))
			return true;
	}
	return false;
}

/* XLA draws its steps, or at least its modules, on a line of each device: those of the first. */
static bool steps_labelled(struct trace_view *v, struct str label)
{
	const struct event_list *list = &v->t->lists[GROUP_DEVICE_ANNOTATION];
	struct step_list steps = { 0 };
	uint32_t line = NONE32;
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		const struct track *track = timeline_track_of(v->t, e->track);
		if (line == NONE32 && str_eq(timeline_name_of(v->t, track->label), label))
			line = e->track;
		if (line == e->track)
			add_step(&steps, e->start_ns, e->start_ns + e->dur_ns, e->name);
	}
	v->steps_on_device = steps.n > 0;
	return keep_steps(v, &steps, STEPS_RUN);
}

/* Names that differ by their numbers only are one class: "iteration 12". */
static uint32_t class_of(struct intern *classes, struct str name, struct buf *tmp)
{
	buf_clear(tmp);
	for (size_t i = 0; i < name.len; i++) {
		bool digit = name.s[i] >= '0' && name.s[i] <= '9';
		if (!digit)
			buf_add_char(tmp, name.s[i]);
		else if (i == 0 || tmp->s[tmp->len - 1] != '#')
			buf_add_char(tmp, '#');
	}
	return intern_add(classes, buf_str(tmp));
}

static bool never_a_step(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(no_steps); i++) {
		if (str_starts(name, no_steps[i]))
			return true;
	}
	return name.len == 0;
}

struct range_class {
	size_t n;
	int64_t total_ns;
	size_t n_long;
};

/* The class of ranges that fills most of the trace; 0: none fills enough of it. */
static uint32_t fullest_class(
        const struct trace_view *v, const uint32_t *of_name, uint32_t n_classes)
{
	const struct event_list *list = &v->t->lists[GROUP_ANNOTATION];
	struct range_class *c = mem_zeroed(n_classes, sizeof *c);
	for (size_t i = 0; i < list->n; i++) {
		c[of_name[list->v[i].name]].n++;
		c[of_name[list->v[i].name]].total_ns += list->v[i].dur_ns;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct range_class *k = &c[of_name[list->v[i].name]];
		int64_t mean_ns = k->total_ns / (int64_t)k->n;
		k->n_long += list->v[i].dur_ns >= mean_ns / REPEATED_SHORTEST;
	}
	uint32_t best = 0;
	double least = REPEATED_COVER_RATIO * (double)timeline_length_ns(v->t);
	for (uint32_t k = 1; k < n_classes; k++) {
		if (c[k].n < 2 || (double)c[k].total_ns < least || 2 * c[k].n_long <= c[k].n)
			continue;
		if (!best || c[k].total_ns > c[best].total_ns)
			best = k;
	}
	free(c);
	return best;
}

/* The class of each name of an annotation, and how many classes there are; 0: never a step. */
static uint32_t *class_names(const struct trace_view *v, uint32_t *ret_n)
{
	const struct event_list *list = &v->t->lists[GROUP_ANNOTATION];
	uint32_t *of_name = mem_realloc(NULL, ((size_t)v->t->names.n + 1) * sizeof *of_name);
	struct intern classes = { 0 };
	struct buf tmp = { 0 };
	memset(of_name, 0xff, ((size_t)v->t->names.n + 1) * sizeof *of_name);
	intern_add(&classes, STR(""));
	for (size_t i = 0; i < list->n; i++) {
		struct str name = timeline_name_of(v->t, list->v[i].name);
		uint32_t *class = &of_name[list->v[i].name];
		if (*class == NONE32)
			*class = never_a_step(name) ? 0 : class_of(&classes, name, &tmp);
	}
	*ret_n = classes.n;
	intern_release(&classes);
	buf_release(&tmp);
	return of_name;
}

static bool steps_repeated(struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_ANNOTATION];
	uint32_t n_classes;
	uint32_t *of_name = class_names(v, &n_classes);
	uint32_t best = fullest_class(v, of_name, n_classes);
	struct step_list steps = { 0 };
	for (size_t i = 0; best && i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (of_name[e->name] == best)
			add_step(&steps, e->start_ns, e->start_ns + e->dur_ns, e->name);
	}
	free(of_name);
	return keep_steps(v, &steps, STEPS_ANNOTATION);
}

/* How often a word stands in a sequence, and how regularly. */
struct beat {
	size_t n, first, last, regular;
};

static bool is_regular(const struct beat *b, size_t n, size_t shortest)
{
	if (b->n < PERIOD_MIN_REPEATS)
		return false;
	size_t reach = b->last - b->first;
	return reach >= shortest * (b->n - 1) &&
	       (double)b->regular >= PERIOD_REGULAR_RATIO * (double)(b->n - 1) &&
	       (double)(reach + reach / (b->n - 1)) >= PERIOD_COVER_RATIO * (double)n;
}

/*
 * The word that marks the beginning of a period: of those that come at even distances and reach
 * over most of the sequence the rarest, and of equally rare ones the first. The rarest, because
 * what a step does for each layer is even too, but more frequent.
 *
 * seq       [n] words below n_words
 * shortest  mean distances below this are none
 * returns   NONE32: nothing repeats evenly
 */
static uint32_t find_beat(const uint32_t *seq, size_t n, uint32_t n_words, size_t shortest)
{
	struct beat *beats = mem_zeroed(n_words, sizeof *beats);
	size_t *previous = mem_zeroed(n_words, sizeof *previous);
	for (size_t i = 0; i < n; i++) {
		struct beat *b = &beats[seq[i]];
		if (b->n++ == 0)
			b->first = i;
		b->last = i;
	}
	for (size_t i = 0; i < n; i++) {
		struct beat *b = &beats[seq[i]];
		size_t mean = b->n > 1 ? (b->last - b->first) / (b->n - 1) : 0;
		size_t distance = i - previous[seq[i]], slack = mean / PERIOD_TOLERANCE;
		if (i > b->first && distance + slack >= mean && distance <= mean + slack)
			b->regular++;
		previous[seq[i]] = i;
	}
	uint32_t best = NONE32;
	for (uint32_t k = 0; k < n_words; k++) {
		if (!is_regular(&beats[k], n, shortest))
			continue;
		if (best == NONE32 || beats[k].n < beats[best].n ||
		        (beats[k].n == beats[best].n && beats[k].first < beats[best].first))
			best = k;
	}
	free(beats);
	free(previous);
	return best;
}

/* Launches of graphs in order of time, and what each began and ended on the device. */
struct graph_launch {
	uint32_t call, word;
	size_t n_work;
	uint32_t first_work;
	int64_t end_ns;
};

static int by_call_start(const void *a, const void *b, void *calls)
{
	const struct event *v = calls;
	int64_t x = v[((const struct graph_launch *)a)->call].start_ns;
	int64_t y = v[((const struct graph_launch *)b)->call].start_ns;
	return (x > y) - (x < y);
}

static void note_work(const struct trace_view *v, struct graph_launch *graphs, const uint32_t *at)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	for (uint32_t i = 0; i < v->t->lists[GROUP_DEVICE].n; i++) {
		if (v->launch[i] == NONE32 || at[v->launch[i]] == NONE32)
			continue;
		struct graph_launch *g = &graphs[at[v->launch[i]]];
		int64_t end_ns = work[i].start_ns + work[i].dur_ns;
		if (g->n_work++ == 0 || work[i].start_ns < work[g->first_work].start_ns)
			g->first_work = i;
		g->end_ns = end_ns > g->end_ns ? end_ns : g->end_ns;
	}
}

static struct graph_launch *find_graphs(const struct trace_view *v, size_t *ret_n)
{
	const struct event_list *calls = &v->t->lists[GROUP_CALL];
	struct graph_launch *graphs = NULL;
	size_t n = 0, cap = 0;
	for (size_t i = 0; i < calls->n; i++) {
		if (v->call_kinds[calls->v[i].name] != CALL_GRAPH_LAUNCH)
			continue;
		if (n == cap) {
			cap = cap ? cap * 2 : 64;
			graphs = mem_realloc(graphs, cap * sizeof *graphs);
		}
		graphs[n++] = (struct graph_launch){ .call = (uint32_t)i,
			.end_ns = calls->v[i].start_ns + calls->v[i].dur_ns };
	}
	*ret_n = n;
	if (n == 0)
		return NULL;
	qsort_r(graphs, n, sizeof *graphs, by_call_start, calls->v);
	uint32_t *at = mem_realloc(NULL, calls->n * sizeof *at);
	memset(at, 0xff, calls->n * sizeof *at);
	for (size_t i = 0; i < n; i++)
		at[graphs[i].call] = (uint32_t)i;
	note_work(v, graphs, at);
	free(at);
	return graphs;
}

/* A step may be one graph or a series of them, one for each layer: the rarest one that comes evenly
 * begins it. Graphs are the same when they begin with the same kernel and hold as many. */
static uint32_t *graph_words(const struct trace_view *v, const struct graph_launch *graphs,
        size_t n, uint32_t *ret_n_words)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	uint32_t *seq = mem_zeroed(n, sizeof *seq);
	struct intern words = { 0 };
	intern_add(&words, STR(""));
	for (size_t i = 0; i < n; i++) {
		uint64_t key[2] = { graphs[i].n_work,
			graphs[i].n_work ? work[graphs[i].first_work].name : 0 };
		seq[i] = intern_add(&words, (struct str){ (const char *)key, sizeof key });
	}
	*ret_n_words = words.n;
	intern_release(&words);
	return seq;
}

static bool steps_graphs(struct trace_view *v)
{
	const struct event *calls = v->t->lists[GROUP_CALL].v;
	size_t n;
	uint32_t n_words;
	struct graph_launch *graphs = find_graphs(v, &n);
	if (n == 0)
		return false;
	uint32_t *seq = graph_words(v, graphs, n, &n_words);
	uint32_t beat = find_beat(seq, n, n_words, 1);
	struct step_list steps = { 0 };
	for (size_t i = 0; i < n; i++) {
		const struct event *call = &calls[graphs[i].call];
		if (steps.n)
			steps.v[steps.n - 1].end_ns = graphs[i].end_ns;
		if (beat != NONE32 && seq[i] != beat)
			continue;
		if (steps.n)
			steps.v[steps.n - 1].end_ns = call->start_ns;
		add_step(&steps, call->start_ns, graphs[i].end_ns, call->name);
	}
	free(seq);
	free(graphs);
	return keep_steps(v, &steps, STEPS_GRAPH);
}

/* The kernels of the device that has most of them. */
static uint32_t *kernel_names(const struct trace_view *v, size_t *ret_n, uint32_t **ret_order)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	const struct device_view *d = &v->devices[0];
	for (size_t i = 1; i < v->n_devices; i++) {
		if (v->devices[i].n_kernels > d->n_kernels)
			d = &v->devices[i];
	}
	uint32_t *seq = mem_zeroed(d->n_kernels, sizeof *seq);
	uint32_t *order = mem_zeroed(d->n_kernels, sizeof *order);
	size_t n = 0;
	for (size_t i = 0; i < d->n; i++) {
		if (work[d->order[i]].kind != DEVICE_KERNEL)
			continue;
		order[n] = d->order[i];
		seq[n++] = work[d->order[i]].name;
	}
	*ret_n = n;
	*ret_order = order;
	return seq;
}

/* Whole periods only: the last one has no end. */
static bool steps_period(struct trace_view *v)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	size_t n;
	uint32_t *order;
	if (v->n_devices == 0)
		return false;
	uint32_t *seq = kernel_names(v, &n, &order);
	uint32_t beat = find_beat(seq, n, v->t->names.n, PERIOD_MIN_KERNELS);
	struct step_list steps = { 0 };
	const struct event *begin = NULL;
	for (size_t i = 0; beat != NONE32 && i < n; i++) {
		if (seq[i] != beat)
			continue;
		if (begin)
			add_step(&steps, begin->start_ns, work[order[i]].start_ns, beat);
		begin = &work[order[i]];
	}
	free(seq);
	free(order);
	v->steps_on_device = steps.n > 0;
	return keep_steps(v, &steps, STEPS_PERIOD);
}

void view_steps(struct trace_view *v)
{
	(void)(steps_in_words(v) || steps_labelled(v, STR("Steps")) ||
	        steps_labelled(v, STR("XLA Modules")) || steps_repeated(v) || steps_graphs(v) ||
	        steps_period(v));
}
