/*
 * How much of the time reads prompts and how much writes tokens, and what a token takes.
 *
 * The steps and their phases come from, in this order: ranges whose names tell (phases.h); kernels
 * made for one phase, in the steps of the trace; the rows of the matrix products of the steps,
 * where some have PROMPT_ROWS times those of others. Without any of these it cannot be told.
 *
 * time of a step     from its start to the end of its last device work (or of its range, if later),
 *     at most to the start of the next step of either phase
 * device work of a step   what was launched in it
 * decode_ns_per_token   time of the decode steps / their tokens, one for each sequence and step
 * attention_ratio    kernels of class attention / all kernels, of the decode steps
 */
#include "trace/analyses/analyses.h"

#include "base/i18n.h"
#include "base/units.h"
#include "stats/select.h"
#include "trace/kinds/kernel_class.h"
#include "trace/kinds/phases.h"
#include "trace/view/warm_steps.h"

#include <math.h>
#include <stdlib.h>

/* A prompt has more tokens than a batch of decoding sequences; by less than this they are not told
 * apart. A choice of ours: typical batches are below 64 and prompts above 512. */
#define PROMPT_ROWS 8
/* Attention that grows by half over the trace limits the length of contexts: a choice of ours. */
#define GROWTH_ANCHOR 1.5

/* A step of the engine. */
struct part {
	int64_t start_ns, end_ns;
	int64_t device_end_ns; /* of its last work; INT64_MIN: none */
	int64_t kernel_ns, attention_ns;
	int64_t rows; /* of its largest matrix product; -1: none */
	struct phase_name is;
	bool kernel_phases[N_PHASES]; /* it has kernels made for this phase */
};

struct parts {
	const struct trace_view *v;
	struct part *list; /* [n], in order of time, disjoint */
	size_t n;
	const char *from; /* "annotation", "kernel_names", "gemm_rows"; NULL: cannot be told */
};

struct phase_sum {
	int64_t n, ns, median_ns, kernel_ns, attention_ns;
	int64_t tokens; /* -1: not told by each of the steps */
};

static int by_start(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Ranges within others are parts of them: only the outermost stay. */
static void keep_outermost(struct parts *p)
{
	size_t n = 0;
	qsort(p->list, p->n, sizeof *p->list, by_start);
	for (size_t i = 0; i < p->n; i++)
		if (n == 0 || p->list[i].start_ns >= p->list[n - 1].end_ns)
			p->list[n++] = p->list[i];
	p->n = n;
}

/* The steps by the ranges whose names tell, of the best source that there is. */
static bool parts_of_names(struct parts *p)
{
	const struct timeline *t = p->v->t;
	const struct event_list *list = &t->lists[GROUP_ANNOTATION];
	struct phase_name *names = mem_zeroed((size_t)t->names.n + 1, sizeof *names);
	enum phase_source best = N_PHASE_SOURCES;
	for (size_t i = 0; i < list->n; i++) {
		uint32_t name = list->v[i].name;
		if (names[name].source == PHASE_FROM_NONE)
			names[name] = phase_of_name(timeline_name_of(t, name));
		if (names[name].phase != PHASE_NONE && names[name].source < best)
			best = names[name].source;
	}
	p->list = mem_zeroed(list->n + 1, sizeof *p->list);
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (names[e->name].source == best && names[e->name].phase != PHASE_NONE)
			p->list[p->n++] = (struct part){ .start_ns = e->start_ns,
				.end_ns = e->start_ns + e->dur_ns,
				.device_end_ns = INT64_MIN,
				.rows = -1,
				.is = names[e->name] };
	}
	free(names);
	keep_outermost(p);
	p->from = "annotation";
	return p->n > 0;
}

/* The steps of the trace, whose phase has yet to be found. */
static void parts_of_steps(struct parts *p)
{
	free(p->list);
	p->list = mem_zeroed(p->v->n_steps + 1, sizeof *p->list);
	p->n = p->v->n_steps;
	for (size_t i = 0; i < p->n; i++)
		p->list[i] = (struct part){ .start_ns = p->v->steps[i].start_ns,
			.end_ns = p->v->steps[i].end_ns,
			.device_end_ns = INT64_MIN,
			.rows = -1,
			.is = { .prefill_tokens = -1, .decode_tokens = -1 } };
	keep_outermost(p);
}

/* The part that holds a moment, or NULL. */
static struct part *part_at(const struct parts *p, int64_t time_ns)
{
	size_t low = 0, high = p->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->list[middle].start_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && time_ns < p->list[low - 1].end_ns ? &p->list[low - 1] : NULL;
}

static void add_device_work(struct parts *p, struct arena *tmp)
{
	const struct timeline *t = p->v->t;
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	struct kernel_classes classes;
	kernel_classes_init(&classes, t, tmp);
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		struct part *part = part_at(p, trace_asked_ns(p->v, (uint32_t)i));
		if (!part)
			continue;
		if (e->start_ns + e->dur_ns > part->device_end_ns)
			part->device_end_ns = e->start_ns + e->dur_ns;
		if (e->kind != DEVICE_KERNEL)
			continue;
		part->kernel_ns += e->dur_ns;
		if (kernel_classes_device(&classes, e) == CLASS_ATTENTION)
			part->attention_ns += e->dur_ns;
	}
}

static bool phases_of_kernels(struct parts *p, struct arena *tmp)
{
	const struct timeline *t = p->v->t;
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	/* By name, phase + 1; 0 is not looked at yet. */
	uint8_t *phases = arena_new_n(tmp, uint8_t, (size_t)t->names.n + 1);
	size_t n_known = 0;
	for (size_t i = 0; i < list->n; i++) {
		uint32_t name = list->v[i].name;
		struct part *part = part_at(p, trace_asked_ns(p->v, (uint32_t)i));
		if (!part || list->v[i].kind != DEVICE_KERNEL)
			continue;
		if (phases[name] == 0)
			phases[name] = (uint8_t)(phase_of_kernel(timeline_name_of(t, name)) + 1);
		part->kernel_phases[phases[name] - 1] = true;
	}
	for (size_t i = 0; i < p->n; i++) {
		const bool *has = p->list[i].kernel_phases;
		if (has[PHASE_DECODE])
			p->list[i].is.phase = has[PHASE_PREFILL] ? PHASE_MIXED : PHASE_DECODE;
		else if (has[PHASE_PREFILL])
			p->list[i].is.phase = PHASE_PREFILL;
		n_known += p->list[i].is.phase != PHASE_NONE;
	}
	p->from = "kernel_names";
	return n_known > 0;
}

static void measure_rows(struct parts *p)
{
	const struct timeline *t = p->v->t;
	const struct event_list *list = &t->lists[GROUP_OPERATOR];
	for (size_t i = 0; i < list->n; i++) {
		const struct operator_detail *d = timeline_operator(t, &list->v[i]);
		if (!d || !d->dims)
			continue;
		int64_t rows =
		        phase_rows(timeline_name_of(t, d->op_type ? d->op_type : list->v[i].name),
		                timeline_name_of(t, d->dims));
		struct part *part = rows > 0 ? part_at(p, list->v[i].start_ns) : NULL;
		if (part && rows > part->rows)
			part->rows = rows;
	}
}

static bool phases_of_rows(struct parts *p)
{
	int64_t least = INT64_MAX, most = 0;
	measure_rows(p);
	for (size_t i = 0; i < p->n; i++) {
		int64_t rows = p->list[i].rows;
		if (rows > 0 && rows < least)
			least = rows;
		if (rows > most)
			most = rows;
	}
	if (most / PROMPT_ROWS < least)
		return false;
	for (size_t i = 0; i < p->n; i++) {
		struct part *part = &p->list[i];
		if (part->rows <= 0)
			continue;
		bool prompt = part->rows / PROMPT_ROWS >= least;
		part->is.phase = prompt ? PHASE_PREFILL : PHASE_DECODE;
		*(prompt ? &part->is.prefill_tokens : &part->is.decode_tokens) = part->rows;
	}
	p->from = "gemm_rows";
	return true;
}

static bool find_parts(struct parts *p, struct arena *tmp)
{
	if (!parts_of_names(p)) {
		parts_of_steps(p);
		if (!phases_of_kernels(p, tmp) && !phases_of_rows(p))
			return false;
	}
	add_device_work(p, tmp);
	return true;
}

static int64_t part_ns(const struct parts *p, size_t i)
{
	const struct part *part = &p->list[i];
	int64_t end_ns = part->end_ns > part->device_end_ns ? part->end_ns : part->device_end_ns;
	if (i + 1 < p->n && end_ns > p->list[i + 1].start_ns)
		end_ns = p->list[i + 1].start_ns;
	return end_ns - part->start_ns;
}

/* The tokens that a step reads and writes. */
static int64_t part_tokens(const struct part *part)
{
	int64_t read = part->is.prefill_tokens, written = part->is.decode_tokens;
	switch (part->is.phase) {
	case PHASE_PREFILL:
		return read;
	case PHASE_DECODE:
		return written;
	default:
		return read < 0 || written < 0 ? -1 : read + written;
	}
}

static struct phase_sum sum_of(const struct parts *p, enum phase phase)
{
	struct phase_sum sum = { 0 };
	int64_t *ns = mem_zeroed(p->n + 1, sizeof *ns);
	for (size_t i = 0; i < p->n; i++) {
		const struct part *part = &p->list[i];
		if (part->is.phase != phase)
			continue;
		int64_t tokens = part_tokens(part);
		ns[sum.n++] = part_ns(p, i);
		sum.ns += part_ns(p, i);
		sum.kernel_ns += part->kernel_ns;
		sum.attention_ns += part->attention_ns;
		sum.tokens = tokens < 0 || sum.tokens < 0 ? -1 : sum.tokens + tokens;
	}
	if (sum.n)
		sum.median_ns = select_median(ns, (size_t)sum.n);
	free(ns);
	return sum;
}

static double over(int64_t part, int64_t whole)
{
	return whole > 0 && part >= 0 ? (double)part / (double)whole : NAN;
}

/* The share of attention in the kernels of the second half of the decode steps over that in the
 * first; NAN: fewer than two of them, or no attention. */
static double attention_growth(const struct parts *p, const struct phase_sum *decode)
{
	int64_t kernel_ns[2] = { 0 }, attention_ns[2] = { 0 }, seen = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (p->list[i].is.phase != PHASE_DECODE)
			continue;
		int half = seen++ >= decode->n / 2;
		kernel_ns[half] += p->list[i].kernel_ns;
		attention_ns[half] += p->list[i].attention_ns;
	}
	if (decode->n < 2 || attention_ns[0] == 0 || kernel_ns[1] == 0)
		return NAN;
	return over(attention_ns[1], kernel_ns[1]) / over(attention_ns[0], kernel_ns[0]);
}

static void phases_table(
        const struct phase_sum sums[N_PHASES], struct trace_finding *f, struct arena *run)
{
	static const char *const columns[][2] = {
		{ "phase", "" },
		{ "steps", "" },
		{ "tokens", "" },
		{ "total_ns", "ns" },
		{ "median_ns", "ns" },
		{ "ns_per_token", "ns" },
		{ "kernel_ns", "ns" },
		{ "attention_ratio", "ratio" },
	};
	struct trace_table *table = finding_table(f, run, "phases");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_column(table, run, columns[i][0], columns[i][1]);
	for (int i = PHASE_PREFILL; i < N_PHASES; i++) {
		const struct phase_sum *s = &sums[i];
		if (s->n == 0)
			continue;
		table_text(table, run, str_of(phase_names[i]));
		table_number(table, run, (double)s->n);
		table_number(table, run, s->tokens < 0 ? NAN : (double)s->tokens);
		table_number(table, run, (double)s->ns);
		table_number(table, run, (double)s->median_ns);
		table_number(table, run, over(s->ns, s->tokens));
		table_number(table, run, (double)s->kernel_ns);
		table_number(table, run, over(s->attention_ns, s->kernel_ns));
	}
}

static void facts_of_phase(const struct phase_sum *s, const char *const names[5],
        struct trace_finding *f, struct arena *run)
{
	finding_fact(f, run, names[0], (double)s->n, "1", s->n, "trace");
	if (s->n == 0)
		return;
	finding_fact(f, run, names[1], (double)s->median_ns, "ns", s->n, "trace");
	if (s->tokens > 0) {
		finding_fact(f, run, names[2], (double)s->tokens, "1", s->n, "trace");
		finding_fact(f, run, names[3], over(s->ns, s->tokens), "ns", s->tokens, "trace");
	} else {
		finding_fact_absent(f, run, names[3], "ns",
		        _("the trace does not tell how many tokens a step has"));
	}
	if (s->kernel_ns)
		finding_fact(f, run, names[4], over(s->attention_ns, s->kernel_ns), "ratio", s->n,
		        "trace");
}

static void facts(const struct phase_sum sums[N_PHASES], double growth, struct trace_finding *f,
        struct arena *run)
{
	static const char *const of_prefill[] = { "prefill_steps", "prefill_step_ns_median",
		"prefill_tokens", "prefill_ns_per_token", "prefill_attention_ratio" };
	static const char *const of_decode[] = { "decode_steps", "decode_step_ns_median",
		"decode_tokens", "decode_ns_per_token", "decode_attention_ratio" };
	int64_t all_ns = sums[PHASE_PREFILL].ns + sums[PHASE_DECODE].ns + sums[PHASE_MIXED].ns;
	int64_t n = sums[PHASE_PREFILL].n + sums[PHASE_DECODE].n + sums[PHASE_MIXED].n;
	facts_of_phase(&sums[PHASE_PREFILL], of_prefill, f, run);
	facts_of_phase(&sums[PHASE_DECODE], of_decode, f, run);
	finding_fact(f, run, "mixed_steps", (double)sums[PHASE_MIXED].n, "1", n, "trace");
	finding_fact(f, run, "decode_time_ratio", over(sums[PHASE_DECODE].ns, all_ns), "ratio", n,
	        "trace");
	if (!isnan(growth))
		finding_fact_anchor(f, run, "attention_growth", growth, "ratio", GROWTH_ANCHOR,
		        sums[PHASE_DECODE].n, "trace");
}

/* What happened in the steps: a sentence for each of the cases. */
static char *phases_text(const struct phase_sum sums[N_PHASES], struct arena *run)
{
	const struct phase_sum *prefill = &sums[PHASE_PREFILL], *decode = &sums[PHASE_DECODE];
	char read[UNITS_TEXT], step[UNITS_TEXT];
	units_duration((double)prefill->ns, read);
	units_duration((double)decode->median_ns, step);
	if (decode->n && prefill->n)
		return arena_printf(run,
		        _("steps that read prompts: %lld, %s in all; steps that write tokens: "
		          "%lld, the median takes %s, and they are %.1f %% of the time of all "
		          "steps"),
		        (long long)prefill->n, read, (long long)decode->n, step,
		        100 * over(decode->ns, prefill->ns + decode->ns + sums[PHASE_MIXED].ns));
	if (decode->n)
		return arena_printf(run,
		        _("steps that write tokens: %lld, the median takes %s; none reads a prompt "
		          "alone"),
		        (long long)decode->n, step);
	if (prefill->n)
		return arena_printf(run,
		        _("steps that read prompts: %lld, %s in all; none writes tokens alone"),
		        (long long)prefill->n, read);
	return arena_printf(run, _("each of %lld steps reads prompts and writes tokens"),
	        (long long)sums[PHASE_MIXED].n);
}

static void tell(const struct phase_sum sums[N_PHASES], double growth, struct trace_finding *f,
        struct arena *run)
{
	const struct phase_sum *decode = &sums[PHASE_DECODE];
	char *text = phases_text(sums, run);
	if (!(growth >= GROWTH_ANCHOR)) {
		finding_clear(f, text);
		return;
	}
	finding_found(f, NAN,
	        arena_printf(run,
	                _("in the later half of the steps that write tokens, attention has %.1f "
	                  "times the share that it has in the earlier half; over all of them it "
	                  "is %.1f %% of the time of kernels"),
	                growth, 100 * over(decode->attention_ns, decode->kernel_ns)),
	        _("Contexts grow into the time of a token: an attention that splits the keys "
	          "(flash decoding), a KV cache of fewer bits or heads, or a shorter context."));
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	struct parts parts = { .v = v };
	struct arena tmp = { 0 };
	if (find_parts(&parts, &tmp)) {
		struct phase_sum sums[N_PHASES] = { 0 };
		for (int i = PHASE_PREFILL; i < N_PHASES; i++)
			sums[i] = sum_of(&parts, i);
		double growth = attention_growth(&parts, &sums[PHASE_DECODE]);
		phases_table(sums, f, run);
		facts(sums, growth, f, run);
		tell(sums, growth, f, run);
	} else {
		finding_abstain(
		        f, _("neither names of ranges or kernels nor the sizes of matrix products "
		             "tell steps that read prompts from steps that write tokens"));
	}
	free(parts.list);
	arena_release(&tmp);
}

const struct trace_analysis prefill_decode_analysis = { "prefill_decode", analyse };
