#include "report/trace_words.h"

#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct word {
	const char *id, *text;
};

static const struct word classes[] = {
	{ "gemm", N_("matrix product") },
	{ "attention", N_("attention") },
	{ "convolution", N_("convolution") },
	{ "elementwise", N_("elementwise") },
	{ "normalisation", N_("normalisation") },
	{ "softmax", N_("softmax") },
	{ "reduction", N_("reduction") },
	{ "indexing", N_("indexing") },
	{ "sampling", N_("sampling") },
	{ "quantisation", N_("quantisation") },
	{ "copy_layout", N_("copy, layout") },
	{ "communication", N_("communication") },
	{ "view", N_("view") },
	{ "allocation", N_("allocation") },
	{ "other", N_("other") },
};

static const struct word step_sources[] = {
	{ "profiler_step", N_("as the profiler marked them") },
	{ "annotation", N_("by a range of the program that repeats") },
	{ "graph", N_("by launches of a graph") },
	{ "run", N_("by runs of the model") },
	{ "period", N_("by kernels that repeat") },
};

static const char *word_of(const struct word *words, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i].id, id) == 0)
			return _(words[i].text);
	return id;
}

const char *trace_class_word(const char *id)
{
	return word_of(classes, ARRAY_LEN(classes), id);
}

const char *trace_steps_word(const char *id)
{
	return word_of(step_sources, ARRAY_LEN(step_sources), id);
}

/* ---- names ---- */

/* What says nothing to a reader; the longest first where one begins with another. */
static const struct str noise[] = {
	STR_INIT("void "),
	STR_INIT("at::native::"),
	STR_INIT("(anonymous namespace)::"),
	STR_INIT("<unnamed>::"),
	STR_INIT("::operator()() const"),
	STR_INIT("c10::"),
	STR_INIT("at::"),
	STR_INIT("cutlass::"),
	STR_INIT("cub::"),
	STR_INIT("std::"),
};

/* Groups of brackets that say nothing: parameters, lambdas, and the pointers that ATen passes. */
static const struct str noise_groups[] = {
	STR_INIT("("),
	STR_INIT("::{"),
	STR_INIT("::[lambda"),
	STR_INIT(", std::array<char"),
	STR_INIT(", at::detail::Array<char"),
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == ':';
}

/*
 * Behind the bracket that closes the first one at or after i. Only brackets of its own kind count,
 * since the others need not be pairs: "enable_if<((8) > 0)>".
 */
static size_t group_end(struct str name, size_t i)
{
	static const char opening[] = "({[<", closing[] = ")}]>";
	const char *kind = NULL;
	int depth = 0;
	for (; i < name.len; i++) {
		char c = name.s[i];
		if (!kind && c != '\0')
			kind = strchr(opening, c);
		if (!kind)
			continue;
		if (c == *kind)
			depth++;
		else if (c == closing[kind - opening] && --depth == 0)
			return i + 1;
	}
	return name.len;
}

/* How many bytes at i are noise. */
static size_t noise_at(struct str name, size_t i)
{
	struct str rest = { name.s + i, name.len - i };
	bool is_inside = i > 0 && is_word(name.s[i]) && is_word(name.s[i - 1]);
	for (size_t k = 0; k < ARRAY_LEN(noise); k++)
		if (str_starts(rest, noise[k]) && (!is_inside || noise[k].s[0] == ':'))
			return noise[k].len;
	for (size_t k = 0; i > 0 && k < ARRAY_LEN(noise_groups); k++)
		if (str_starts(rest, noise_groups[k]))
			return group_end(name, i) - i;
	return 0;
}

static void add_without_noise(struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len;) {
		size_t n = noise_at(name, i);
		if (n == 0)
			buf_add_char(out, name.s[i++]);
		else
			i += n;
	}
}

/* As many characters as fit into columns; from the end when columns is below 0. */
static struct str fitting(struct str text, int columns)
{
	size_t n = 0;
	int room = columns < 0 ? -columns : columns;
	while (n < text.len && room > 0) {
		size_t at = columns < 0 ? text.len - n - 1 : n;
		size_t step = 1;
		if (columns < 0) {
			while (at > 0 && (text.s[at] & 0xC0) == 0x80)
				at--;
			step = text.len - n - at;
		} else {
			uint32_t c;
			step = utf8_decode((struct str){ text.s + at, text.len - at }, &c);
			step = step ? step : 1;
		}
		int width = utf8_width((struct str){ text.s + at, step });
		if (width > room)
			break;
		room -= width;
		n += step;
	}
	return columns < 0 ? (struct str){ text.s + text.len - n, n } : (struct str){ text.s, n };
}

/*
 * Names as the linker knows them: "_ZN5aiter7rmsnormI..." is "aiter::rmsnorm<I...". Only the path
 * of the name is resolved, its arguments stay as they are.
 *
 * source  Itanium C++ ABI, 5.1.2: <nested-name> is a row of <source-name>s, each its length and
 * text
 */
static bool add_mangled(struct buf *out, struct str name)
{
	bool is_nested = str_starts(name, STR("_ZN"));
	size_t i = is_nested ? 3 : 2, before = out->len;
	if (!str_starts(name, STR("_Z")))
		return false;
	while (i < name.len && name.s[i] >= '0' && name.s[i] <= '9') {
		size_t n = 0;
		while (i < name.len && name.s[i] >= '0' && name.s[i] <= '9' && n < name.len)
			n = n * 10 + (size_t)(name.s[i++] - '0');
		if (n > name.len - i)
			break;
		buf_printf(out, "%s%.*s", out->len > before ? "::" : "", (int)n, name.s + i);
		i += n;
		if (!is_nested)
			break;
	}
	if (out->len == before)
		return false;
	if (i < name.len && name.s[i] == 'I')
		buf_printf(out, "<%.*s>", (int)(name.len - i - 1), name.s + i + 1);
	return true;
}

void trace_short_name(struct buf *out, struct str name, int columns)
{
	AUTO(auto_buf) struct buf plain = { 0 };
	AUTO(auto_buf) struct buf line = { 0 };
	if (!add_mangled(&plain, name))
		add_without_noise(&plain, name);
	utf8_add_line(&line, plain.len ? buf_str(&plain) : name);
	struct str text = str_trim(buf_str(&line));
	if (utf8_width(text) <= columns) {
		buf_add(out, text);
		return;
	}
	int tail = columns / 3;
	buf_add(out, fitting(text, columns - tail - 3));
	buf_add_c(out, "...");
	buf_add(out, fitting(text, -tail));
}

/* ---- values ---- */

const char *trace_percent(double ratio, char out[LAYOUT_NUMBER])
{
	double percent = ratio * 100;
	double size = fabs(percent);
	if (isnan(ratio))
		snprintf(out, LAYOUT_NUMBER, "-");
	else if (size >= 9.95 || size == 0)
		snprintf(out, LAYOUT_NUMBER, "%.0f %%", percent);
	else if (size >= 0.05)
		snprintf(out, LAYOUT_NUMBER, "%.1f %%", percent);
	else
		snprintf(out, LAYOUT_NUMBER, "%s0.1 %%", percent < 0 ? "> -" : "< ");
	return out;
}

static const struct {
	const char *unit;
	double ns;
} time_units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

/* A value as a person writes it: shares in percent, times and sizes with a fitting unit. */
static const char *value_text(double value, const char *unit, char out[LAYOUT_NUMBER])
{
	char text[UNITS_TEXT];
	if (unit && strcmp(unit, "ratio") == 0)
		return trace_percent(value, out);
	for (size_t i = 0; unit && i < ARRAY_LEN(time_units); i++) {
		if (strcmp(unit, time_units[i].unit) != 0 || isnan(value))
			continue;
		snprintf(out, LAYOUT_NUMBER, "%s", units_duration(value * time_units[i].ns, text));
		return out;
	}
	if (unit && (strcmp(unit, "bytes") == 0 || strcmp(unit, "B") == 0) && !isnan(value)) {
		snprintf(out, LAYOUT_NUMBER, "%s", units_size(value, text));
		return out;
	}
	return layout_quantity(value, unit, out);
}

bool trace_unit_is_written(const char *unit)
{
	static const char *const written[] = { "ratio", "bytes", "B", "ns", "us", "ms", "s" };
	for (size_t i = 0; unit && i < ARRAY_LEN(written); i++)
		if (strcmp(unit, written[i]) == 0)
			return true;
	return false;
}

const char *trace_value(double value, const char *unit, char out[LAYOUT_NUMBER])
{
	return trace_unit_is_written(unit) ? value_text(value, unit, out)
	                                   : layout_number(value, out);
}

const char *trace_fact(const struct fact *f, struct arena *tmp)
{
	char value[LAYOUT_NUMBER], anchor[LAYOUT_NUMBER];
	if (f->state == FACT_NOT_SUPPORTED || f->state == FACT_NOT_COUNTED)
		return arena_printf(tmp, "%s - (%s)", f->name, f->reason ? f->reason : "-");
	value_text(f->value, f->unit, value);
	const char *about = f->state == FACT_ESTIMATED ? "~" : "";
	if (isnan(f->threshold))
		return arena_printf(tmp, "%s %s%s", f->name, about, value);
	return arena_printf(tmp, _("%s %s%s (anchor %s)"), f->name, about, value,
	        value_text(f->threshold, f->unit, anchor));
}
