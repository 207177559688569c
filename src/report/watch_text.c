#include "report/watch.h"

#include "base/i18n.h"
#include "report/layout.h"
#include "text/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a signal with more instances than the first number, as many as the second are shown. */
enum { INSTANCES_MAX = 8, INSTANCES_SHOWN = 4, THREADS_SHOWN = 5 };

static bool has_values(const struct signal *s)
{
	return s->state == SIGNAL_MEASURED || s->state == SIGNAL_ESTIMATED;
}

/* All signals of a watch, those of the pages last. */
struct all {
	const struct signal **items;
	size_t n;
	bool several_pages;
};

static struct all all_signals(const struct watch_run *r, struct arena *tmp)
{
	size_t n = r->system.n_signals;
	for (size_t i = 0; i < r->n_pages; i++)
		n += r->pages[i].n_signals;
	struct all all = { arena_new_n(tmp, const struct signal *, n + 1), 0, r->n_pages > 1 };
	for (size_t i = 0; i < r->system.n_signals; i++)
		all.items[all.n++] = &r->system.signals[i];
	for (size_t i = 0; i < r->n_pages; i++)
		for (size_t k = 0; k < r->pages[i].n_signals; k++)
			all.items[all.n++] = &r->pages[i].signals[k];
	return all;
}

static const char *instance_of(const struct all *all, const struct signal *s)
{
	if (s->instance)
		return s->instance;
	return s->page && all->several_pages ? s->page : "";
}

/* ---- the head ---- */

static void add_watched(struct fields *f, const struct watch_run *r)
{
	for (size_t i = 0; i < r->n_processes && f->n < FIELDS_MAX / 2; i++) {
		const struct watch_process *p = &r->processes[i];
		const char *name = p->name ? p->name : "?";
		char at[LAYOUT_NUMBER];
		if (isnan(p->ended_s))
			fields_add(f, _("Watched"), _("process %d (%s)"), p->pid, name);
		else
			fields_add(f, _("Watched"), _("process %d (%s), which ended after %s s"),
			        p->pid, name, layout_number(round(p->ended_s * 1e3) / 1e3, at));
	}
	if (r->command && r->command_status >= 0)
		fields_add(f, _("Command"), _("%s: exit status %d"), r->command, r->command_status);
}

static void add_cost(struct fields *f, const struct signal_system *s)
{
	char cpu[LAYOUT_NUMBER], late[LAYOUT_NUMBER];
	const struct signal *cost = NULL, *lateness = NULL;
	for (size_t i = 0; i < s->n_signals; i++) {
		if (strcmp(s->signals[i].name, "watch_cpu_ratio") == 0)
			cost = &s->signals[i];
		if (strcmp(s->signals[i].name, "watch_late_ms") == 0)
			lateness = &s->signals[i];
	}
	if (!cost || !lateness || !has_values(cost) || !has_values(lateness))
		return;
	fields_add(f, _("Cost"),
	        _("the sampler took %s %% of a core; 95 %% of its samples came at "
	          "most %s ms late"),
	        layout_number(100 * cost->mean, cpu), layout_number(lateness->p95, late));
}

static void add_record(struct fields *f, const struct watch_run *r)
{
	const struct watch_record_info *record = &r->record;
	if (r->replayed)
		fields_add(f, _("Replayed"), "%s", r->replayed);
	if (record->path)
		fields_add(f, _("Recorded"), _("%lld samples in %s"), (long long)record->n_samples,
		        record->path);
}

static void print_head(const struct watch_run *r, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	char length[LAYOUT_NUMBER], interval[LAYOUT_NUMBER];
	fields_add(&f, _("Seen"),
	        r->system.n_samples == 1 ? _("%lld sample in %s s, one every %s s")
	                                 : _("%lld samples in %s s, one every %s s"),
	        (long long)r->system.n_samples,
	        layout_number(round(r->duration_s * 1e3) / 1e3, length),
	        layout_number(r->system.interval_s, interval));
	add_watched(&f, r);
	add_cost(&f, &r->system);
	add_record(&f, r);
	fields_print(&f, 0, out);
}

/* ---- tables ---- */

static void print_threads(const struct signal_system *s, struct arena *tmp, struct buf *out)
{
	struct table t;
	char number[LAYOUT_NUMBER];
	if (s->n_threads == 0)
		return;
	table_init(&t, tmp, "lrrrrrrl");
	table_cell(&t, "%s", _("busiest threads"));
	table_cell(&t, "TID");
	table_cell(&t, "%s", _("cores"));
	table_cell(&t, "%s", _("at most"));
	table_cell(&t, "%s", _("queued"));
	table_cell(&t, "%s", _("vol/s"));
	table_cell(&t, "%s", _("invol/s"));
	table_cell(&t, "%s", _("may run on"));
	for (size_t i = 0; i < s->n_threads && i < THREADS_SHOWN; i++) {
		const struct signal_thread *thread = &s->threads[i];
		const double figures[] = { thread->cpu_ratio, thread->cpu_ratio_max,
			thread->run_queue_ratio, thread->voluntary_per_s,
			thread->involuntary_per_s };
		table_cell(&t, "%s", thread->name ? thread->name : "?");
		table_cell(&t, "%d", thread->tid);
		for (size_t k = 0; k < ARRAY_LEN(figures); k++)
			table_cell(&t, "%s", layout_number(figures[k], number));
		table_cell(&t, "%s", thread->cpus ? thread->cpus : "-");
	}
	buf_add_char(out, '\n');
	table_print(&t, out);
}

static void print_symbols(const struct signal_system *s, struct arena *tmp, struct buf *out)
{
	struct table t;
	char number[LAYOUT_NUMBER];
	if (s->n_symbols == 0)
		return;
	table_init(&t, tmp, "rrll");
	table_cell(&t, "%s", _("on CPU %"));
	table_cell(&t, "%s", _("samples"));
	table_cell(&t, "%s", _("symbol"));
	table_cell(&t, "%s", _("module"));
	for (size_t i = 0; i < s->n_symbols && i < THREADS_SHOWN; i++) {
		const struct signal_symbol *symbol = &s->symbols[i];
		table_cell(&t, "%s", layout_number(100 * symbol->ratio, number));
		table_cell(&t, "%lld", (long long)symbol->n);
		table_cell(&t, "%s", symbol->symbol);
		table_cell(&t, "%s", symbol->module);
	}
	buf_add_char(out, '\n');
	table_print(&t, out);
}

static void add_row(struct table *t, const struct all *all, const struct signal *s)
{
	char number[LAYOUT_NUMBER];
	bool guessed = s->state == SIGNAL_ESTIMATED;
	table_cell(t, "%s", s->name);
	table_cell(t, "%s", instance_of(all, s));
	table_cell(
	        t, "%s%s", guessed && !isnan(s->mean) ? "~" : "", layout_number(s->mean, number));
	table_cell(t, "%s", layout_number(s->p95, number));
	table_cell(t, "%s", layout_number(s->max, number));
	table_cell(t, "%s", s->unit);
}

/* Was it 0 from the first to the last? Many signals are, and say so in one place. */
static bool is_zero(const struct signal *s)
{
	return s->min == 0 && s->max == 0;
}

/* How many signals from i on have the name of the i-th. */
static size_t run_of(const struct all *all, size_t i)
{
	size_t n = 1;
	while (i + n < all->n && strcmp(all->items[i + n]->name, all->items[i]->name) == 0)
		n++;
	return n;
}

/* Is s among the INSTANCES_SHOWN of its n that have the largest means? */
static bool is_large(const struct signal *const *items, size_t n, size_t at)
{
	int n_larger = 0;
	for (size_t i = 0; i < n; i++)
		if (has_values(items[i]) && (items[i]->mean > items[at]->mean ||
		                                    (items[i]->mean == items[at]->mean && i < at)))
			n_larger++;
	return n_larger < INSTANCES_SHOWN;
}

static void add_instances(struct table *t, const struct all *all, size_t first, size_t n)
{
	const struct signal *const *items = &all->items[first];
	size_t n_left = 0;
	for (size_t i = 0; i < n; i++) {
		if (!has_values(items[i]) || items[i]->text || is_zero(items[i]))
			continue;
		if (n <= INSTANCES_MAX || is_large(items, n, i))
			add_row(t, all, items[i]);
		else
			n_left++;
	}
	if (n_left == 0)
		return;
	table_cell(t, "%s", items[0]->name);
	table_cell(t, _("and %zu more"), n_left);
	for (int i = 0; i < 4; i++)
		table_cell(t, "%s", "");
}

static void print_signals(const struct all *all, struct arena *tmp, struct buf *out)
{
	struct table t;
	table_init(&t, tmp, "llrrrl");
	table_cell(&t, "%s", _("signal"));
	table_cell(&t, "%s", _("of"));
	table_cell(&t, "%s", _("mean"));
	table_cell(&t, "P95");
	table_cell(&t, "%s", _("largest"));
	table_cell(&t, "%s", _("unit"));
	for (size_t i = 0; i < all->n; i += run_of(all, i))
		add_instances(&t, all, i, run_of(all, i));
	buf_add_char(out, '\n');
	table_print(&t, out);
}

/* Names of which all instances that have values were 0, or only some of them. */
static void print_zeros(const struct all *all, bool wholly, const char *fmt, struct buf *out)
{
	AUTO(auto_buf) struct buf names = { 0 };
	for (size_t i = 0; i < all->n; i += run_of(all, i)) {
		size_t n = 0, n_zero = 0;
		for (size_t k = i; k < i + run_of(all, i); k++) {
			n += has_values(all->items[k]);
			n_zero += has_values(all->items[k]) && is_zero(all->items[k]);
		}
		if (n_zero > 0 && (n_zero == n) == wholly)
			buf_printf(&names, names.len ? ", %s" : "%s", all->items[i]->name);
	}
	if (names.len == 0)
		return;
	AUTO(auto_buf) struct buf line = { 0 };
	buf_printf(&line, fmt, names.s);
	buf_add_char(out, '\n');
	layout_wrap(out, line.s, 0, 0);
}

static void print_words(const struct all *all, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	for (size_t i = 0; i < all->n && f.n < FIELDS_MAX; i++) {
		const struct signal *s = all->items[i];
		if (!has_values(s) || !s->text)
			continue;
		const char *instance = instance_of(all, s);
		const char *label =
		        arena_printf(tmp, instance[0] ? "%s (%s)" : "%s", s->name, instance);
		fields_add(&f, label, "%s", s->text);
	}
	if (f.n == 0)
		return;
	buf_add_char(out, '\n');
	fields_print(&f, 0, out);
}

/* ---- what is missing, and what is said of the rest ---- */

static bool is_missing(const struct signal *s)
{
	return !has_values(s);
}

static bool same_reason(const struct signal *a, const struct signal *b)
{
	return a->state == b->state && a->reason && b->reason && strcmp(a->reason, b->reason) == 0;
}

static bool is_first_of_reason(const struct all *all, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (same_reason(all->items[i], all->items[at]))
			return false;
	return true;
}

/* The names with this reason, each once. */
static void add_names(const struct all *all, size_t at, struct buf *out)
{
	const char *before = NULL;
	for (size_t i = at; i < all->n; i++) {
		const struct signal *s = all->items[i];
		if (!same_reason(s, all->items[at]) || (before && strcmp(before, s->name) == 0))
			continue;
		if (before)
			buf_add_c(out, _(", "));
		buf_add_c(out, s->name);
		before = s->name;
	}
}

static void print_reasons(const struct all *all, bool missing, const char *title, struct buf *out)
{
	bool titled = false;
	for (size_t i = 0; i < all->n; i++) {
		AUTO(auto_buf) struct buf line = { 0 };
		const struct signal *s = all->items[i];
		if (!s->reason || is_missing(s) != missing || !is_first_of_reason(all, i))
			continue;
		if (!titled)
			buf_printf(out, "\n%s\n", title);
		titled = true;
		add_names(all, i, &line);
		/* TRANSLATORS: names of signals, then why they are missing. */
		AUTO(auto_buf) struct buf whole = { 0 };
		buf_printf(&whole, _("%s: %s"), line.s, s->reason);
		buf_add_c(out, "- ");
		layout_wrap(out, whole.s, 2, 2);
	}
}

static void print_pages(const struct watch_run *r, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	for (size_t i = 0; i < r->n_pages && f.n < FIELDS_MAX; i++) {
		const struct signal_page *page = &r->pages[i];
		const char *software = page->software ? page->software : "-";
		if (page->reason)
			fields_add(&f, page->url, _("%s, read %lld times, failed %lld times: %s"),
			        software, (long long)page->n_read, (long long)page->n_failed,
			        page->reason);
		else
			fields_add(&f, page->url, _("%s, read %lld times"), software,
			        (long long)page->n_read);
	}
	if (f.n == 0)
		return;
	buf_add_char(out, '\n');
	fields_print(&f, 0, out);
}

void report_watch_text(const struct watch_run *r, struct buf *out)
{
	struct arena tmp = { 0 };
	struct all all = all_signals(r, &tmp);
	print_head(r, &tmp, out);
	struct fields f = { .tmp = &tmp };
	report_system_fields(&r->system, &f);
	fields_print(&f, 0, out);
	print_pages(r, &tmp, out);
	print_threads(&r->system, &tmp, out);
	print_symbols(&r->system, &tmp, out);
	print_signals(&all, &tmp, out);
	print_zeros(&all, true, _("Not in the table, since they were 0 all the time: %s"), out);
	print_zeros(&all, false, _("In the table without those that were 0 all the time: %s"), out);
	print_words(&all, &tmp, out);
	print_reasons(&all, true, _("Missing, and why:"), out);
	print_reasons(&all, false, _("To be known of the others:"), out);
	arena_release(&tmp);
}
