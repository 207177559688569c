/*
 * One line for each moment of a watch, with the columns of what there is: for who has no screen.
 */
#include "report/watch.h"

#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"
#include "report/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_EVERY = 20, MOMENT_WIDTH = 8 };

/* What several instances make where none stands for all of them. */
enum fold { FOLD_SUM, FOLD_LARGEST };

enum form { FORM_NUMBER, FORM_PERCENT, FORM_SIZE };

struct column {
	const char *name; /* of the signal */
	const char *head; /* N_() at most width columns wide */
	int width;
	enum form form;
	enum fold fold;
};

static const struct column columns[WATCH_LINES_COLUMNS] = {
	{ "process_cpu_ratio", N_("CPU%"), 7, FORM_PERCENT, FOLD_SUM },
	{ "thread_busiest_cpu_ratio", N_("top thr%"), 8, FORM_PERCENT, FOLD_LARGEST },
	{ "process_run_queue_ratio", N_("queued%"), 7, FORM_PERCENT, FOLD_SUM },
	{ "process_rss_bytes", N_("RSS"), 9, FORM_SIZE, FOLD_SUM },
	{ "process_major_faults_per_s", N_("majflt/s"), 8, FORM_NUMBER, FOLD_SUM },
	{ "cgroup_throttled_ratio", N_("throttl%"), 8, FORM_PERCENT, FOLD_LARGEST },
	{ "host_cpu_ratio", N_("host%"), 6, FORM_PERCENT, FOLD_LARGEST },
	{ "host_iowait_ratio", N_("iowait%"), 7, FORM_PERCENT, FOLD_LARGEST },
	{ "host_psi_cpu_some_ratio", N_("psi-cpu%"), 8, FORM_PERCENT, FOLD_LARGEST },
	{ "host_psi_memory_some_ratio", N_("psi-mem%"), 8, FORM_PERCENT, FOLD_LARGEST },
	{ "host_psi_io_some_ratio", N_("psi-io%"), 7, FORM_PERCENT, FOLD_LARGEST },
	{ "port_established", N_("conns"), 6, FORM_NUMBER, FOLD_SUM },
	{ "gpu_util_ratio", N_("GPU%"), 6, FORM_PERCENT, FOLD_LARGEST },
	{ "gpu_memory_used_bytes", N_("GPU-mem"), 9, FORM_SIZE, FOLD_LARGEST },
	{ "server_requests_running", N_("running"), 7, FORM_NUMBER, FOLD_SUM },
	{ "server_requests_waiting", N_("waiting"), 7, FORM_NUMBER, FOLD_SUM },
	{ "server_kv_used_ratio", N_("KV%"), 6, FORM_PERCENT, FOLD_LARGEST },
	{ "server_generation_tokens_per_s", N_("tokens/s"), 8, FORM_NUMBER, FOLD_SUM },
};

bool watch_lines_wants(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (strcmp(columns[i].name, name) == 0)
			return true;
	return false;
}

/* The points of a signal that say most of now. */
struct points {
	const struct signal_point *items;
	int64_t n; /* up to the moment of the line; later ones are not counted */
};

static struct points points_of(const struct signal *s, double to_s)
{
	struct points p = { s->recent, s->n_recent };
	if (p.n == 0)
		p = (struct points){ s->series, s->n_series };
	while (p.n > 0 && p.items[p.n - 1].t_s > to_s)
		p.n--;
	return p;
}

/* The mean of what was seen after from_s; of what is looked at seldom, the last. */
static double mean_since(const struct signal *s, const struct points *p, double from_s)
{
	double sum = 0;
	int n = 0;
	for (int64_t i = p->n; i > 0 && p->items[i - 1].t_s > from_s; i--) {
		sum += p->items[i - 1].value;
		n++;
	}
	if (n > 0)
		return sum / n;
	/* A signal of a page does not tell its last value apart. */
	return s->page && p->n > 0 ? p->items[p->n - 1].value : s->last;
}

/* A column while a line is made. */
struct cell {
	bool exists; /* there is such a signal, whether it has a value now or not */
	bool whole;  /* one without an instance stands for all */
	double value;
};

static void fold_in(struct cell *cell, const struct column *column, const struct signal *s,
        double from_s, double to_s)
{
	const struct points points = points_of(s, to_s);
	if (s->state > SIGNAL_ESTIMATED || cell->whole || points.n == 0)
		return;
	double value = mean_since(s, &points, from_s);
	cell->exists = true;
	cell->whole = !s->instance && !s->page;
	if (isnan(value))
		return;
	if (isnan(cell->value) || cell->whole)
		cell->value = value;
	else if (column->fold == FOLD_SUM)
		cell->value += value;
	else
		cell->value = fmax(cell->value, value);
}

static void fold_all(struct cell cells[WATCH_LINES_COLUMNS], const struct signal *signals, size_t n,
        double from_s, double to_s)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ARRAY_LEN(columns); k++)
			if (strcmp(columns[k].name, signals[i].name) == 0)
				fold_in(&cells[k], &columns[k], &signals[i], from_s, to_s);
}

static void add_right(struct buf *out, const char *text, int width)
{
	buf_add_blanks(out, width - utf8_width(str_of(text)));
	buf_add_c(out, text);
}

static void add_head(const struct watch_lines *l, struct buf *out)
{
	add_right(out, _("time s"), MOMENT_WIDTH);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (!l->shown[i])
			continue;
		buf_add_char(out, ' ');
		add_right(out, _(columns[i].head), columns[i].width);
	}
	buf_add_char(out, '\n');
}

static void add_cell(const struct column *column, double value, struct buf *out)
{
	char text[LAYOUT_NUMBER];
	if (isnan(value))
		snprintf(text, sizeof(text), "-");
	else if (column->form == FORM_SIZE)
		units_size(value, text);
	else
		snprintf(text, sizeof(text), "%.1f",
		        column->form == FORM_PERCENT ? 100 * value : value);
	buf_add_char(out, ' ');
	add_right(out, text, column->width);
}

void watch_lines_add(struct watch_lines *l, const struct watch_run *now, double from_s, double to_s,
        struct buf *out)
{
	struct cell cells[WATCH_LINES_COLUMNS];
	bool changed = l->n_lines == 0;
	char moment[LAYOUT_NUMBER];
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		cells[i] = (struct cell){ .value = NAN };
	fold_all(cells, now->system.signals, now->system.n_signals, from_s, to_s);
	for (size_t i = 0; i < now->n_pages; i++)
		fold_all(cells, now->pages[i].signals, now->pages[i].n_signals, from_s, to_s);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		changed |= cells[i].exists && !l->shown[i];
		l->shown[i] |= cells[i].exists;
	}
	if (changed || l->n_lines >= HEAD_EVERY) {
		add_head(l, out);
		l->n_lines = 0;
	}
	l->n_lines++;
	snprintf(moment, sizeof(moment), "%.1f", to_s);
	add_right(out, moment, MOMENT_WIDTH);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		if (l->shown[i])
			add_cell(&columns[i], cells[i].value, out);
	buf_add_char(out, '\n');
}
