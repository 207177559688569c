#include "report/screen_threads.h"

#include "base/i18n.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column {
	COLUMN_TID,
	COLUMN_NAME,
	COLUMN_STATE,
	COLUMN_NOW,
	COLUMN_MEAN,
	COLUMN_MAX,
	COLUMN_QUEUE,
	COLUMN_WAITS,
	COLUMN_PREEMPTIONS,
	COLUMN_PID,
	COLUMN_CPUS,
	COLUMN_SPARK,
	N_COLUMNS,
};

static const struct screen_column columns[N_COLUMNS] = {
	[COLUMN_TID] = { N_("thread"), 7, true, 0 },
	[COLUMN_NAME] = { N_("name"), 16, false, 0 },
	[COLUMN_STATE] = { "S", 1, false, 0 },
	[COLUMN_NOW] = { "CPU", 6, true, 0 },
	[COLUMN_MEAN] = { N_("mean"), 6, true, 96 },
	[COLUMN_MAX] = { N_("most"), 6, true, 0 },
	[COLUMN_QUEUE] = { N_("queued"), 7, true, 0 },
	[COLUMN_WAITS] = { N_("waits"), 8, true, 70 },
	[COLUMN_PREEMPTIONS] = { N_("preempted"), 9, true, 72 },
	[COLUMN_PID] = { N_("process"), 7, true, 96 },
	[COLUMN_CPUS] = { N_("may run on"), 11, false, 108 },
	[COLUMN_SPARK] = { "", 0, false, 78 },
};

const char *const screen_sort_names[SCREEN_N_SORTS] = {
	[SCREEN_BY_CPU] = N_("by CPU"),
	[SCREEN_BY_RUN_QUEUE] = N_("by time in the run queue"),
	[SCREEN_BY_SWITCHES] = N_("by switches"),
	[SCREEN_BY_NAME] = N_("by name"),
};

/* Of one core. A thread that has no more to give; one that waits for cores. */
static const double cpu_bad = 0.9, queue_bad = 0.1;

struct ranked {
	const struct signal_thread *thread;
	double now, key;
};

/* The mean of the samples of the newest second; NAN: it is gone. */
static double now_of(const struct signal_thread *t, double interval_s)
{
	int64_t n = interval_s > 0 ? llround(1 / interval_s) : 1;
	double sum = 0;
	n = n < 1 ? 1 : n;
	if (!t->state)
		return NAN;
	if (t->n_recent == 0)
		return t->cpu_ratio;
	n = n < t->n_recent ? n : t->n_recent;
	for (int64_t i = t->n_recent - n; i < t->n_recent; i++)
		sum += t->recent[i];
	return sum / (double)n;
}

static double key_of(const struct ranked *r, enum screen_sort sort)
{
	const struct signal_thread *t = r->thread;
	const double keys[SCREEN_N_SORTS] = {
		[SCREEN_BY_CPU] = r->now,
		[SCREEN_BY_RUN_QUEUE] = t->run_queue_ratio,
		[SCREEN_BY_SWITCHES] = fmax(t->voluntary_per_s, 0) + fmax(t->involuntary_per_s, 0),
	};
	return isnan(keys[sort]) ? -1 : keys[sort];
}

/* The largest first; those that are alike by name, then by number. */
static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	int by_name = strcmp(x->thread->name, y->thread->name);
	return by_name ? by_name
	               : (x->thread->tid > y->thread->tid) - (x->thread->tid < y->thread->tid);
}

void screen_threads_make(struct screen_list *l)
{
	const struct signal_system *system = l->system;
	struct ranked *ranked = arena_new_n(l->tmp, struct ranked, system->n_threads + 1);
	for (size_t i = 0; i < system->n_threads; i++) {
		ranked[i].thread = &system->threads[i];
		ranked[i].now = now_of(ranked[i].thread, system->interval_s);
		ranked[i].key = key_of(&ranked[i], l->view->sort);
	}
	qsort(ranked, system->n_threads, sizeof(*ranked), compare);
	l->items = ranked;
	l->n = system->n_threads;
	l->nothing = _("no process is watched: --pid names one");
	l->said = _(screen_sort_names[l->view->sort]);
	if (system->n_threads_seen > (int64_t)system->n_threads)
		l->said = arena_printf(l->tmp, _("the busiest of %lld, %s"),
		        (long long)system->n_threads_seen, l->said);
}

void screen_threads_heads(const struct screen_list *l, struct screen *s, int row)
{
	(void)l;
	screen_column_heads(columns, N_COLUMNS, s, row);
}

static void put_number(
        struct screen *s, int row, enum column column, double value, const char *unit, double bad)
{
	char text[SCREEN_VALUE];
	bool past = bad > 0 && value >= bad;
	screen_column_put(columns, column, s, row, past ? SCREEN_MARKED : SCREEN_PLAIN,
	        screen_value(value, unit, text));
	int at = screen_column_at(columns, column, s->columns);
	if (past && at >= 0)
		screen_put(s, row, at + columns[column].width, 1, SCREEN_MARKED, "!");
}

static void put_spark(const struct signal_thread *t, struct screen *s, int row)
{
	int at = screen_column_at(columns, COLUMN_SPARK, s->columns);
	if (at < 0)
		return;
	int64_t n = s->columns - at;
	int64_t first = t->n_recent > n ? t->n_recent - n : 0;
	for (int64_t i = first; i < t->n_recent; i++)
		screen_put_bar(s, row, at + (int)(n - t->n_recent + i),
		        t->recent[i] >= cpu_bad ? SCREEN_MARKED : SCREEN_SPARK, t->recent[i], 1);
}

void screen_threads_draw(const struct screen_list *l, size_t i, struct screen *s, int row)
{
	const struct ranked *r = (const struct ranked *)l->items + i;
	const struct signal_thread *t = r->thread;
	char number[16], state[2] = { t->state ? t->state : '-', '\0' };
	snprintf(number, sizeof(number), "%d", t->tid);
	screen_column_put(columns, COLUMN_TID, s, row, SCREEN_PLAIN, number);
	screen_column_put(columns, COLUMN_NAME, s, row, SCREEN_STRONG, t->name ? t->name : "");
	screen_column_put(columns, COLUMN_STATE, s, row, SCREEN_PLAIN, state);
	put_number(s, row, COLUMN_NOW, r->now, "ratio", cpu_bad);
	put_number(s, row, COLUMN_MEAN, t->cpu_ratio, "ratio", 0);
	put_number(s, row, COLUMN_MAX, t->cpu_ratio_max, "ratio", 0);
	put_number(s, row, COLUMN_QUEUE, t->run_queue_ratio, "ratio", queue_bad);
	put_number(s, row, COLUMN_WAITS, t->voluntary_per_s, "1/s", 0);
	put_number(s, row, COLUMN_PREEMPTIONS, t->involuntary_per_s, "1/s", 0);
	snprintf(number, sizeof(number), "%d", t->pid);
	screen_column_put(columns, COLUMN_PID, s, row, SCREEN_PLAIN, number);
	screen_column_put(columns, COLUMN_CPUS, s, row, SCREEN_PLAIN, t->cpus ? t->cpus : "-");
	put_spark(t, s, row);
	if (!t->state)
		screen_paint(s, row, 0, s->columns, SCREEN_DIM);
}
