#include "report/screen_series.h"

#include "base/str.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t count_signals(const struct signal_system *system, const struct signal_server *server)
{
	size_t n = system->n_signals;
	for (size_t i = 0; server && i < server->n_pages; i++)
		n += server->pages[i].n_signals;
	return n;
}

static bool has_data(const struct signal *s)
{
	return s->n > 0 || s->n_recent > 0 || s->text;
}

static struct screen_group *group_of(struct screen_group *groups, size_t n, const char *name)
{
	for (size_t i = n; i-- > 0;)
		if (strcmp(groups[i].name, name) == 0)
			return &groups[i];
	return NULL;
}

/*
 * Makes the groups of signals of one origin; belongs[i] becomes the group of signal i.
 *
 * returns  how many groups there are
 */
static size_t make_groups(const struct signal **flat, size_t n, struct screen_group *groups,
        struct screen_group **belongs)
{
	size_t n_groups = 0;
	for (size_t i = 0; i < n; i++) {
		struct screen_group *g = group_of(groups, n_groups, flat[i]->name);
		if (!g) {
			g = &groups[n_groups++];
			g->name = flat[i]->name;
		}
		g->n++;
		g->has_data |= has_data(flat[i]);
		belongs[i] = g;
	}
	return n_groups;
}

void screen_signals_init(struct screen_signals *s, const struct signal_system *system,
        const struct signal_server *server, struct arena *run)
{
	size_t n = count_signals(system, server), at = 0;
	const struct signal **flat = arena_new_n(run, const struct signal *, n + 1);
	const struct signal **sorted = arena_new_n(run, const struct signal *, n + 1);
	struct screen_group *groups = arena_new_n(run, struct screen_group, n + 1);
	struct screen_group **belongs = arena_new_n(run, struct screen_group *, n + 1);
	for (size_t i = 0; i < system->n_signals; i++)
		flat[at++] = &system->signals[i];
	for (size_t i = 0; server && i < server->n_pages; i++)
		for (size_t j = 0; j < server->pages[i].n_signals; j++)
			flat[at++] = &server->pages[i].signals[j];
	*s = (struct screen_signals){ .all = sorted, .n = n, .groups = groups };
	s->has_pages = server && server->n_pages > 0;
	for (size_t i = 0; server && i < server->n_pages && !s->page_reason; i++)
		s->page_reason = server->pages[i].reason;
	/* What a page says of another machine is not added to what this one does. */
	size_t of_system = system->n_signals;
	s->n_groups = make_groups(flat, of_system, groups, belongs);
	s->n_groups += make_groups(
	        flat + of_system, n - of_system, groups + s->n_groups, belongs + of_system);
	at = 0;
	for (size_t i = 0; i < s->n_groups; i++) {
		groups[i].items = &sorted[at];
		at += groups[i].n;
		groups[i].n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct screen_group *g = belongs[i];
		sorted[(size_t)(g->items - sorted) + g->n++] = flat[i];
	}
}

const struct screen_group *screen_find_one(const struct screen_signals *s, struct str name)
{
	const struct screen_group *first = NULL;
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct screen_group *g = &s->groups[i];
		if (strncmp(g->name, name.s, name.len) != 0 || g->name[name.len] != '\0')
			continue;
		if (g->has_data)
			return g;
		first = first ? first : g;
	}
	return first;
}

const struct screen_group *screen_find(const struct screen_signals *s, const char *names)
{
	const struct screen_group *first = NULL;
	struct str rest = str_of(names);
	while (rest.len) {
		const struct screen_group *g = screen_find_one(s, str_cut(rest, '|', &rest));
		if (g && g->has_data)
			return g;
		first = first ? first : g;
	}
	return first;
}

struct screen_axis screen_axis_of(const struct signal_system *system, double span_s, int n)
{
	double end = isnan(system->to_s) ? 0 : system->to_s;
	double from = isnan(system->from_s) ? 0 : system->from_s;
	if (!isfinite(span_s))
		span_s = fmax(end - from, n * system->interval_s);
	double column_s = fmax(span_s, 1e-3) / n;
	return (struct screen_axis){
		.end_s = ceil(end / column_s) * column_s,
		.column_s = column_s,
		.n = n,
	};
}

/* What is being put into the columns of one signal. */
struct filling {
	const struct screen_axis *axis;
	double *sums;
	double *counts;
	double before_s; /* of the point before; NAN: none */
	double gap_s;    /* points farther apart do not follow each other */
};

static int column_at(const struct screen_axis *axis, double t_s)
{
	double from = axis->end_s - axis->n * axis->column_s;
	double at = ceil((t_s - from) / axis->column_s) - 1;
	return at < -1 ? -1 : at > axis->n ? axis->n : (int)at;
}

static void fill(struct filling *f, double t_s, double value)
{
	int at = column_at(f->axis, t_s);
	if (!isnan(f->before_s) && t_s - f->before_s <= f->gap_s)
		for (int i = column_at(f->axis, f->before_s) + 1; i < at; i++) {
			f->sums[i] = value;
			f->counts[i] = 1;
		}
	if (at >= 0 && at < f->axis->n) {
		f->sums[at] += value;
		f->counts[at]++;
	}
	f->before_s = t_s;
}

/* Three times what usually lies between two points. */
static double gap_of(const struct signal_point *points, int64_t n)
{
	enum { SAMPLES_LOST = 3 };
	return n < 2 ? 0 : SAMPLES_LOST * (points[n - 1].t_s - points[0].t_s) / (double)(n - 1);
}

void screen_columns_of(const struct signal *s, const struct screen_axis *axis, double *ret_columns)
{
	enum { COLUMNS_MAX = 1024 };
	double counts[COLUMNS_MAX] = { 0 };
	struct screen_axis a = *axis;
	a.n = a.n < COLUMNS_MAX ? a.n : COLUMNS_MAX;
	struct filling f = { &a, ret_columns, counts, .before_s = NAN };
	double recent_s = s->n_recent > 0 ? s->recent[0].t_s : INFINITY;
	for (int i = 0; i < axis->n; i++)
		ret_columns[i] = 0;
	f.gap_s = gap_of(s->series, s->n_series);
	for (int64_t i = 0; i < s->n_series && s->series[i].t_s < recent_s; i++)
		fill(&f, s->series[i].t_s, s->series[i].value);
	f.gap_s = fmax(f.gap_s, gap_of(s->recent, s->n_recent));
	for (int64_t i = 0; i < s->n_recent; i++)
		fill(&f, s->recent[i].t_s, s->recent[i].value);
	/* What is still so is not yet over. */
	if (!isnan(s->last) && s->n_recent > 0)
		fill(&f, a.end_s + a.column_s, s->recent[s->n_recent - 1].value);
	for (int i = 0; i < axis->n; i++)
		ret_columns[i] = i < a.n && counts[i] > 0 ? ret_columns[i] / counts[i] : NAN;
}

/* Puts one more value to what the others made; NAN says nothing. */
static double together(enum screen_over over, double so_far, double more)
{
	if (isnan(so_far) || isnan(more))
		return isnan(so_far) ? more : so_far;
	return over == SCREEN_MAX ? fmax(so_far, more) : so_far + more;
}

void screen_columns(const struct screen_group *g, enum screen_over over,
        const struct screen_axis *axis, struct arena *tmp, double *ret_columns)
{
	double *one = arena_new_n(tmp, double, (size_t)axis->n + 1);
	int *counts = arena_new_n(tmp, int, (size_t)axis->n + 1);
	for (int i = 0; i < axis->n; i++)
		ret_columns[i] = NAN;
	for (size_t k = 0; k < g->n; k++) {
		screen_columns_of(g->items[k], axis, one);
		for (int i = 0; i < axis->n; i++) {
			counts[i] += !isnan(one[i]);
			ret_columns[i] = together(over, ret_columns[i], one[i]);
		}
	}
	for (int i = 0; i < axis->n && over == SCREEN_MEAN; i++)
		ret_columns[i] /= counts[i] > 0 ? counts[i] : 1;
}

double screen_now_of(const struct signal *s)
{
	double sum = 0;
	int64_t n = 0;
	/* Pages that are read seldom have no recent values. */
	if (s->n_recent == 0)
		return isnan(s->last) && s->n_series > 0 ? s->series[s->n_series - 1].value
		                                         : s->last;
	if (isnan(s->last))
		return NAN;
	double from = s->recent[s->n_recent - 1].t_s - 1;
	for (int64_t i = s->n_recent; i-- > 0 && s->recent[i].t_s > from; n++)
		sum += s->recent[i].value;
	return sum / (double)n;
}

double screen_now(const struct screen_group *g, enum screen_over over)
{
	double now = NAN;
	int n = 0;
	for (size_t i = 0; i < g->n; i++) {
		double one = screen_now_of(g->items[i]);
		n += !isnan(one);
		now = together(over, now, one);
	}
	return over == SCREEN_MEAN && n > 0 ? now / n : now;
}

double screen_largest(const double *values, int n)
{
	double largest = NAN;
	for (int i = 0; i < n; i++)
		largest = fmax(largest, values[i]);
	return largest;
}

double screen_max(const struct screen_group *g, const double *columns, int n)
{
	return g->n == 1 ? g->items[0]->max : screen_largest(columns, n);
}

/* Three digits that matter; thousands and more with their letter. */
static const char *three_digits(double value, char out[SCREEN_VALUE])
{
	static const struct {
		double from;
		const char *letter;
	} steps[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e4, "k" } };
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (fabs(value) < steps[i].from * 0.9995)
			continue;
		double unit = i + 1 < ARRAY_LEN(steps) ? steps[i].from : 1e3;
		double v = value / unit;
		snprintf(out, SCREEN_VALUE, "%.*f%s",
		        fabs(v) < 9.995   ? 2
		        : fabs(v) < 99.95 ? 1
		                          : 0,
		        v, steps[i].letter);
		return out;
	}
	bool whole = value == round(value);
	int decimals = whole || fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
	snprintf(out, SCREEN_VALUE, "%.*f", decimals, value);
	return out;
}

static void show_unit(double value, const char *unit, char out[SCREEN_VALUE])
{
	char number[SCREEN_VALUE];
	snprintf(out, SCREEN_VALUE, "%s %.8s", three_digits(value, number), unit);
}

static void show_number(double value, const char *unit, char out[SCREEN_VALUE])
{
	(void)unit;
	three_digits(value, out);
}

static void show_percent(double value, const char *unit, char out[SCREEN_VALUE])
{
	double p = 100 * value;
	snprintf(out, SCREEN_VALUE, "%.*f %.1s", p == 0 || fabs(p) >= 9.95 ? 0 : 1, p, unit);
}

static void show_size(double value, const char *unit, char out[SCREEN_VALUE])
{
	char text[UNITS_TEXT];
	snprintf(out, SCREEN_VALUE, "%s%.2s", units_size(value, text), unit);
}

static void show_time(double value, const char *unit, char out[SCREEN_VALUE])
{
	char text[UNITS_TEXT];
	(void)unit;
	snprintf(out, SCREEN_VALUE, "%s", units_duration(value * 1e6, text));
}

static void show_rate(double value, const char *unit, char out[SCREEN_VALUE])
{
	char number[SCREEN_VALUE];
	snprintf(out, SCREEN_VALUE, "%.30s%s", three_digits(value, number), unit);
}

static void show_clock(double value, const char *unit, char out[SCREEN_VALUE])
{
	bool giga = fabs(value) >= 999.5;
	show_unit(giga ? value / 1e3 : value, giga ? "GHz" : unit, out);
}

const char *screen_value(double value, const char *unit, char out[SCREEN_VALUE])
{
	static const struct {
		const char *unit;
		void (*show)(double value, const char *unit, char out[SCREEN_VALUE]);
		const char *shown;
	} units[] = {
		{ "1", show_number, "" },
		{ "ratio", show_percent, "%" },
		{ "bytes", show_size, "" },
		{ "bytes/s", show_size, "/s" },
		{ "ms", show_time, "" },
		{ "1/s", show_rate, "/s" },
		{ "MHz", show_clock, "MHz" },
	};
	if (isnan(value)) {
		snprintf(out, SCREEN_VALUE, "-");
		return out;
	}
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(units[i].unit, unit ? unit : "1") == 0) {
			units[i].show(value, units[i].shown, out);
			return out;
		}
	show_unit(value, unit, out);
	return out;
}
