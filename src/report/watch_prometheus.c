/*
 * What a watch sees now, in Prometheus's text format.
 *
 * A rate is exported as what it is the growth of, a counter: Prometheus makes rates itself, over
 * any time. Units are Prometheus's base units, which the names say.
 *
 * Source: Prometheus, "Text-based format" 0.0.4, "Metric and label naming".
 */
#include "report/watch.h"

#include "base/attr.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A unit of ours, and what the name and the value become. */
struct unit {
	const char *unit;
	const char *ending;  /* of our name, which goes */
	const char *suffix;  /* what comes in its place */
	const char *counter; /* likewise for what is counted */
	double scale;
};

static const struct unit units[] = {
	{ "ratio", "_ratio", "_ratio", "_seconds", 1 },
	{ "bytes/s", "_bytes_per_s", "_bytes_per_second", "_bytes", 1 },
	{ "tokens/s", "_tokens_per_s", "_tokens_per_second", "_tokens", 1 },
	{ "1/s", "_per_s", "_per_second", "", 1 },
	{ "ms", "_ms", "_seconds", "_seconds", 1e-3 },
	{ "s", "_s", "_seconds", "_seconds", 1 },
	{ "MHz", "_mhz", "_hertz", "_hertz", 1e6 },
	{ "W", "_w", "_watts", "_joules", 1 },
	{ "C", "_c", "_celsius", "_celsius", 1 },
};

enum kind { GAUGE, COUNTER, SUMMARY, WORDS };

static enum kind kind_of(const struct signal *s)
{
	if (s->text)
		return WORDS;
	if (!isnan(s->total) || !isnan(s->delta))
		return COUNTER;
	/* Of a distribution only the mean and quantiles are known. */
	return s->page && isnan(s->min) && !isnan(s->mean) ? SUMMARY : GAUGE;
}

static const struct unit *unit_of(const struct signal *s)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(units[i].unit, s->unit) == 0)
			return &units[i];
	return NULL;
}

/* Letters, digits and '_' are a name. */
static void add_name(struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		buf_add_char(out, isalnum((unsigned char)name.s[i]) ? name.s[i] : '_');
}

static void add_metric(struct buf *out, const struct signal *s, enum kind kind)
{
	const struct unit *unit = unit_of(s);
	struct str name = str_of(s->name);
	const char *suffix = "";
	if (unit && str_ends(name, str_of(unit->ending)))
		name.len -= strlen(unit->ending);
	if (unit)
		suffix = kind == COUNTER ? unit->counter : unit->suffix;
	buf_add_c(out, "venturi_");
	add_name(out, name);
	buf_add_c(out, suffix);
	buf_add_c(out, kind == COUNTER ? "_total" : kind == WORDS ? "_info" : "");
}

static void add_escaped(struct buf *out, const char *text, bool quotes)
{
	for (; *text; text++) {
		if (*text == '\n')
			buf_add_c(out, "\\n");
		else if (*text == '\\' || (*text == '"' && quotes))
			buf_printf(out, "\\%c", *text);
		else
			buf_add_char(out, *text);
	}
}

static void add_label(struct buf *out, bool *first, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(out, "%s%s=\"", *first ? "{" : ",", name);
	add_escaped(out, value, true);
	buf_add_char(out, '"');
	*first = false;
}

static void add_labels(struct buf *out, const struct signal *s, bool words)
{
	bool first = true;
	add_label(out, &first, "of", s->instance);
	add_label(out, &first, "page", s->page);
	if (words)
		add_label(out, &first, "text", s->text);
	if (!first)
		buf_add_char(out, '}');
}

static void add_value(struct buf *out, double value)
{
	if (value == floor(value) && fabs(value) < 1e15)
		buf_printf(out, " %.0f\n", value);
	else
		buf_printf(out, " %.9g\n", value);
}

static void add_head(struct buf *out, const struct signal *s, enum kind kind)
{
	static const char *const types[] = { "gauge", "counter", "summary", "gauge" };
	buf_add_c(out, "# HELP ");
	add_metric(out, s, kind);
	buf_add_char(out, ' ');
	add_escaped(out, s->source ? s->source : "-", false);
	buf_add_c(out, "\n# TYPE ");
	add_metric(out, s, kind);
	buf_printf(out, " %s\n", types[kind]);
}

static double newest(const struct signal *s)
{
	if (!isnan(s->last))
		return s->last;
	return s->n_series > 0 ? s->series[s->n_series - 1].value : NAN;
}

/* A signal's value now; what it has not got is not exported. */
static bool value_of(const struct signal *s, enum kind kind, double *ret)
{
	const struct unit *unit = unit_of(s);
	double value = kind == COUNTER ? (isnan(s->total) ? s->delta : s->total) : newest(s);
	*ret = value * (unit ? unit->scale : 1);
	return kind == WORDS || kind == SUMMARY || !isnan(value);
}

static bool has_values(const struct signal *s)
{
	return s->state == SIGNAL_MEASURED || s->state == SIGNAL_ESTIMATED;
}

static void add_summary(struct buf *out, const struct signal *s)
{
	const struct unit *unit = unit_of(s);
	const double scale = unit ? unit->scale : 1;
	static const char *const parts[] = { "_sum", "_count" };
	const double values[] = { s->mean * (double)s->n * scale, (double)s->n };
	for (int i = 0; i < 2; i++) {
		add_metric(out, s, SUMMARY);
		buf_add_c(out, parts[i]);
		add_labels(out, s, false);
		add_value(out, values[i]);
	}
}

static void add_sample(struct buf *out, const struct signal *s, enum kind kind, double value)
{
	if (kind == SUMMARY) {
		add_summary(out, s);
		return;
	}
	add_metric(out, s, kind);
	add_labels(out, s, kind == WORDS);
	add_value(out, kind == WORDS ? 1 : value);
}

/* Samples of one metric stand together, whichever page they are from. */
static void add_all_of(
        struct buf *out, const struct signal *const *all, size_t n, size_t at, bool *done)
{
	bool headed = false;
	enum kind kind = kind_of(all[at]);
	for (size_t i = at; i < n; i++) {
		const struct signal *s = all[i];
		double value;
		if (done[i] || strcmp(s->name, all[at]->name) != 0)
			continue;
		done[i] = true;
		if (!has_values(s) || kind_of(s) != kind || !value_of(s, kind, &value))
			continue;
		if (!headed)
			add_head(out, s, kind);
		headed = true;
		add_sample(out, s, kind, value);
	}
}

static void add_missing(struct buf *out, const struct signal *const *all, size_t n)
{
	bool headed = false;
	for (size_t i = 0; i < n; i++) {
		const struct signal *s = all[i];
		bool first = true;
		if (has_values(s))
			continue;
		if (!headed)
			buf_add_c(out, "# HELP venturi_signal_missing a signal that there is not, "
			               "and why\n# TYPE venturi_signal_missing gauge\n");
		headed = true;
		buf_add_c(out, "venturi_signal_missing");
		add_label(out, &first, "signal", s->name);
		add_label(out, &first, "of", s->instance);
		add_label(out, &first, "page", s->page);
		add_label(out, &first, "state", signal_state_names[s->state]);
		add_label(out, &first, "reason", s->reason);
		buf_add_c(out, "} 1\n");
	}
}

void report_watch_prometheus(const struct watch_run *r, struct buf *out)
{
	struct arena tmp = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < r->n_pages; i++)
		n += r->pages[i].n_signals;
	n += r->system.n_signals;
	const struct signal **all = arena_new_n(&tmp, const struct signal *, n + 1);
	bool *done = arena_new_n(&tmp, bool, n + 1);
	n = 0;
	for (size_t i = 0; i < r->system.n_signals; i++)
		all[n++] = &r->system.signals[i];
	for (size_t i = 0; i < r->n_pages; i++)
		for (size_t k = 0; k < r->pages[i].n_signals; k++)
			all[n++] = &r->pages[i].signals[k];
	for (size_t i = 0; i < n; i++)
		if (!done[i] && has_values(all[i]))
			add_all_of(out, all, n, i, done);
	add_missing(out, all, n);
	arena_release(&tmp);
}
