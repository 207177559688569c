#include "report/screen_strips.h"

#include "base/i18n.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* A group of one, or the whole. */
static const struct screen_group *only(const struct screen_group *g, size_t item, struct arena *run)
{
	struct screen_group *one = arena_new(run, struct screen_group);
	*one = (struct screen_group){ g->name, &g->items[item], 1, true };
	return one;
}

/* What could be shown: a strip, and after it its parts, which matter less. */
struct candidate {
	struct screen_strip_shown shown;
	int rank;
	bool is_chosen;
};

enum { PART_RANK = 4, MISSING_RANK = 2 };

static size_t list_candidates(
        const struct screen_signals *signals, struct candidate *list, struct arena *run)
{
	size_t n = 0;
	for (size_t i = 0; i < screen_n_strips; i++) {
		const struct screen_strip *strip = &screen_strip_table[i];
		const struct screen_group *g = screen_find(signals, strip->names);
		if (!g || !g->has_data)
			continue;
		list[n++] = (struct candidate){ { strip, g, false }, strip->rank, false };
		for (size_t k = 0; strip->each && g->n > 1 && k < g->n; k++)
			list[n++] = (struct candidate){ { strip, only(g, k, run), true }, PART_RANK,
				false };
	}
	return n;
}

void screen_strips_choose(const struct screen_signals *signals, int rows, struct arena *run,
        struct screen_strips *ret_strips)
{
	struct candidate *list = arena_new_n(run, struct candidate, signals->n + screen_n_strips);
	size_t n = list_candidates(signals, list, run);
	for (int rank = 1; rank <= SCREEN_RANKS; rank++)
		for (size_t i = 0; i < n && rows > 0; i++)
			if (list[i].rank == rank) {
				list[i].is_chosen = true;
				rows--;
			}
	*ret_strips =
	        (struct screen_strips){ arena_new_n(run, struct screen_strip_shown, n + 1), 0 };
	for (size_t i = 0; i < n; i++)
		if (list[i].is_chosen)
			ret_strips->items[ret_strips->n++] = list[i].shown;
}

/* Where the parts of a strip are. */
struct places {
	int label, label_width;
	int spark, n_spark;
	int now, max; /* columns of VALUE_WIDTH, and one for the mark */
	int notes, notes_width;
};

enum {
	VALUE_WIDTH = 10,
	LABEL_MAX = 16,
	NOTES_LEAST = 16, /* narrower ones are left out */
	SPARK_LEAST = 10,
};

static const char *label_of(const struct screen_strip_shown *shown, struct arena *tmp)
{
	const struct signal *s = shown->group->items[0];
	const char *name = _(shown->strip->label);
	if (!shown->is_part)
		return name;
	return arena_printf(tmp, " %s %s", name,
	        s->instance ? s->instance
	        : s->page   ? s->page
	                    : "");
}

static struct places place(
        const struct screen *s, const struct screen_strips *strips, struct arena *tmp)
{
	struct places p = { 0 };
	for (size_t i = 0; i < strips->n; i++) {
		int width = utf8_width(str_of(label_of(&strips->items[i], tmp)));
		p.label_width = width > p.label_width ? width : p.label_width;
	}
	p.label_width = p.label_width < LABEL_MAX ? p.label_width : LABEL_MAX;
	p.spark = p.label_width + 1;
	int values = 1 + 2 * (VALUE_WIDTH + 1) + 1;
	int rest = s->columns - p.spark - values;
	/* Four parts of nine: a phrase says more than another column of a curve. */
	p.n_spark = rest * 4 / 9;
	if (p.n_spark < SPARK_LEAST || rest - p.n_spark < NOTES_LEAST)
		p.n_spark = rest;
	p.now = p.spark + p.n_spark + 1;
	p.max = p.now + VALUE_WIDTH + 1;
	p.notes = p.max + VALUE_WIDTH + 2;
	p.notes_width = s->columns - p.notes;
	return p;
}

static void draw_heads(
        struct screen *s, int row, const struct places *p, const struct screen_time *time)
{
	screen_put(s, row, p->spark, p->n_spark, SCREEN_DIM, time->name);
	screen_put_right(s, row, p->now, VALUE_WIDTH, SCREEN_DIM, _("now"));
	screen_put_right(s, row, p->max, VALUE_WIDTH, SCREEN_DIM, _("most"));
}

/* The least of the limits that are told; NAN: none is. */
static double full_of(const struct screen_strip *strip, const struct screen_signals *signals)
{
	double least = NAN;
	struct str rest = str_of(strip->full ? strip->full : "");
	while (rest.len) {
		const struct screen_group *g = screen_find_one(signals, str_cut(rest, '|', &rest));
		double limit = g && g->has_data ? screen_now(g, strip->over) : NAN;
		least = limit > 0 ? fmin(least, limit) : least;
	}
	return least;
}

/* From which value on it is marked. */
static double limit_of(const struct screen_strip *strip, double full)
{
	if (!(strip->bad > 0) || (strip->full && isnan(full)))
		return INFINITY;
	return strip->full ? strip->bad * full : strip->bad;
}

static bool is_past(double value, double limit)
{
	return !isnan(value) && value >= limit;
}

static void draw_value(
        struct screen *s, int row, int column, double value, const char *unit, double limit)
{
	char text[SCREEN_VALUE];
	bool past = is_past(value, limit);
	screen_put_right(s, row, column, VALUE_WIDTH, past ? SCREEN_MARKED : SCREEN_STRONG,
	        screen_value(value, unit, text));
	if (past)
		screen_put(s, row, column + VALUE_WIDTH, 1, SCREEN_MARKED, "!");
}

/* One column for each instance; where there are more, for the largest of some beside each other. */
static int spread(const struct screen_group *g, int n, double *columns)
{
	size_t per = (g->n + (size_t)n - 1) / (size_t)n;
	int at = 0;
	for (size_t i = 0; i < g->n; i += per, at++) {
		columns[at] = NAN;
		for (size_t k = i; k < i + per && k < g->n; k++)
			columns[at] = fmax(columns[at], screen_now_of(g->items[k]));
	}
	return at;
}

static void draw_spark(struct screen *s, int row, int column, const double *values, int n,
        double top, double limit)
{
	for (int i = 0; i < n; i++)
		screen_put_bar(s, row, column + i,
		        is_past(values[i], limit) ? SCREEN_MARKED : SCREEN_SPARK, values[i], top);
}

/* The group of the note's names: of a part of a strip, the signal of the same instance. */
static const struct screen_group *group_of_note(const struct screen_note *note,
        const struct screen_strip_shown *shown, const struct screen_signals *signals,
        struct arena *tmp)
{
	const struct screen_group *g = screen_find(signals, note->names);
	if (!g || !g->has_data || !shown->is_part)
		return g && g->has_data ? g : NULL;
	const char *instance = shown->group->items[0]->instance;
	for (size_t i = 0; i < g->n; i++)
		if (instance && g->items[i]->instance &&
		        strcmp(g->items[i]->instance, instance) == 0)
			return only(g, i, tmp);
	return NULL;
}

/* What is told in words: of several instances, what the first that has something to say says. */
static const char *words_of(const struct screen_group *g, struct arena *tmp)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct signal *s = g->items[i];
		if (s->text && s->text[0])
			return g->n > 1 && s->instance
			               ? arena_printf(tmp, "%s: %s", s->instance, s->text)
			               : s->text;
	}
	return NULL;
}

/* What a note says now; NULL: nothing. */
static const char *say(const struct screen_note *note, const struct screen_group *g,
        struct arena *tmp, bool *ret_past)
{
	char text[SCREEN_VALUE];
	*ret_past = false;
	if (g->items[0]->text) {
		const char *words = words_of(g, tmp);
		return words ? arena_printf(tmp, _(note->fmt), words) : NULL;
	}
	double now = screen_now(g, note->over);
	if (isnan(now) || (!note->always && !(screen_max(g, &now, 1) > 0)))
		return NULL;
	*ret_past = note->bad > 0 && now >= note->bad;
	return arena_printf(tmp, *ret_past ? "%s!" : "%s",
	        arena_printf(tmp, _(note->fmt), screen_value(now, g->items[0]->unit, text)));
}

/* Is what the note of a strip would tell told by a strip of its own, or beside a later one? */
static bool is_told_elsewhere(const struct screen_strips *strips,
        const struct screen_strip_shown *of, const struct screen_note *note)
{
	for (size_t i = 0; i < strips->n; i++) {
		const struct screen_strip *other = strips->items[i].strip;
		if (strcmp(other->names, note->names) == 0)
			return true;
		if (&strips->items[i] <= of || other == of->strip)
			continue;
		for (size_t k = 0; k < SCREEN_NOTES_MAX && other->notes[k].names; k++)
			if (strcmp(other->notes[k].names, note->names) == 0)
				return true;
	}
	return false;
}

struct said {
	const char *text;
	bool past;
};

/* Writes those that are past their limit, or the others; returns the column after them. */
static int put_notes(struct screen *s, int row, int at, int end, const struct said *said, bool past)
{
	for (size_t i = 0; i < SCREEN_NOTES_MAX; i++) {
		if (!said[i].text || said[i].past != past)
			continue;
		int width = utf8_width(str_of(said[i].text));
		/* A phrase that does not fit whole leaves its place to a shorter one. */
		if (at + width > end)
			continue;
		screen_put(s, row, at, width, past ? SCREEN_MARKED : SCREEN_PLAIN, said[i].text);
		at += width + 2;
	}
	return at;
}

static void draw_notes(struct screen *s, int row, const struct places *p,
        const struct screen_strip_shown *shown, const struct screen_strips *strips,
        const struct screen_signals *signals, struct arena *tmp)
{
	struct said said[SCREEN_NOTES_MAX] = { 0 };
	for (size_t i = 0; i < SCREEN_NOTES_MAX && shown->strip->notes[i].names; i++) {
		const struct screen_note *note = &shown->strip->notes[i];
		if (is_told_elsewhere(strips, shown, note))
			continue;
		const struct screen_group *g = group_of_note(note, shown, signals, tmp);
		said[i].text = g ? say(note, g, tmp, &said[i].past) : NULL;
	}
	int end = p->notes + p->notes_width;
	int at = put_notes(s, row, p->notes, end, said, true);
	put_notes(s, row, at, end, said, false);
}

static void draw_strip(struct screen *s, int row, const struct places *p,
        const struct screen_strip_shown *shown, const struct screen_signals *signals,
        const struct screen_axis *axis, struct arena *tmp)
{
	const struct screen_strip *strip = shown->strip;
	const struct screen_group *g = shown->group;
	double *columns = arena_new_n(tmp, double, (size_t)axis->n + 1);
	double full = full_of(strip, signals), limit = limit_of(strip, full);
	const char *unit = strip->unit ? strip->unit : g->items[0]->unit;
	int n = axis->n;
	if (strip->across)
		n = spread(g, n, columns);
	else
		screen_columns(g, strip->over, axis, tmp, columns);
	screen_put(s, row, p->label, p->label_width, SCREEN_PLAIN, label_of(shown, tmp));
	double top = isnan(full) ? fmax(strip->top, screen_largest(columns, n)) : full;
	draw_spark(s, row, p->spark, columns, n, top, limit);
	double now = screen_now(g, strip->over);
	draw_value(s, row, p->now, now, unit, limit);
	draw_value(s, row, p->max, fmax(now, screen_max(g, columns, n)), unit, limit);
}

void screen_strips_draw(struct screen *s, int row, const struct screen_strips *strips,
        const struct screen_signals *signals, const struct screen_time *time, struct arena *tmp)
{
	struct places p = place(s, strips, tmp);
	struct screen_axis axis = screen_axis_of(time->system, time->span_s, p.n_spark);
	draw_heads(s, row, &p, time);
	for (size_t i = 0; i < strips->n; i++) {
		draw_strip(s, row + 1 + (int)i, &p, &strips->items[i], signals, &axis, tmp);
		draw_notes(s, row + 1 + (int)i, &p, &strips->items[i], strips, signals, tmp);
	}
}

/* Why a strip has no values; NULL: that goes without saying. */
static const char *reason_of(const struct screen_strip *strip, const struct screen_signals *signals)
{
	const struct screen_group *g = screen_find(signals, strip->names);
	if (strip->rank > MISSING_RANK || (g && g->has_data))
		return NULL;
	if (g && g->items[0]->reason)
		return g->items[0]->reason;
	if (!strip->otherwise || !signals->has_pages)
		return strip->otherwise ? _(strip->otherwise) : NULL;
	return signals->page_reason ? signals->page_reason : _("no page that is read tells of it");
}

const char *screen_strips_missing(const struct screen_signals *signals, struct arena *run)
{
	AUTO(auto_buf) struct buf out = { 0 };
	AUTO(auto_buf) struct buf labels = { 0 };
	for (size_t i = 0; i < screen_n_strips; i++) {
		const char *reason = reason_of(&screen_strip_table[i], signals), *next = NULL;
		if (!reason)
			continue;
		buf_printf(&labels, "%s%s", labels.len ? ", " : "", _(screen_strip_table[i].label));
		/* Those of one reason stand together. */
		for (size_t k = i + 1; k < screen_n_strips && !next; k++)
			next = reason_of(&screen_strip_table[k], signals);
		if (next && strcmp(next, reason) == 0)
			continue;
		buf_add_c(&out, out.len ? "; " : "");
		buf_printf(&out, _("%s: %s"), labels.s, reason);
		buf_clear(&labels);
	}
	return out.len ? arena_strdup(run, out.s) : NULL;
}

/* Is name one of "a|b"? */
static bool is_among(const char *names, const char *name)
{
	struct str rest = str_of(names ? names : "");
	while (rest.len)
		if (str_eq(str_cut(rest, '|', &rest), str_of(name)))
			return true;
	return false;
}

bool screen_strips_want(const char *name)
{
	for (size_t i = 0; i < screen_n_strips; i++) {
		const struct screen_strip *strip = &screen_strip_table[i];
		if (is_among(strip->names, name) || is_among(strip->full, name))
			return true;
		for (size_t k = 0; k < SCREEN_NOTES_MAX && strip->notes[k].names; k++)
			if (is_among(strip->notes[k].names, name))
				return true;
	}
	return false;
}
