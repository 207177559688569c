#include "base/opt.h"

#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/wrap.h"

#include <string.h>

enum { HELP_COLUMN = 34, HELP_WIDTH = 100 };

/* An option as it was written, for messages, and what stands after its name. */
struct given {
	const struct opt *opt;
	void *values;
	const char *written;
	bool negated;
};

static bool find_long(
        const struct opt_table *tables, size_t n_tables, struct str name, struct given *g)
{
	for (size_t t = 0; t < n_tables; t++) {
		for (size_t i = 0; i < tables[t].n; i++) {
			const struct opt *o = &tables[t].rows[i];
			if (o->type == OPT_HEADING || !o->name)
				continue;
			bool plain = str_eq(name, str_of(o->name));
			bool negated =
			        !plain && o->type == OPT_FLAG && str_starts(name, STR("no-")) &&
			        str_eq((struct str){ name.s + 3, name.len - 3 }, str_of(o->name));
			if (!plain && !negated)
				continue;
			g->opt = o;
			g->values = tables[t].values;
			g->negated = negated;
			return true;
		}
	}
	return false;
}

static bool find_letter(
        const struct opt_table *tables, size_t n_tables, char letter, struct given *g)
{
	for (size_t t = 0; t < n_tables; t++) {
		for (size_t i = 0; i < tables[t].n; i++) {
			const struct opt *o = &tables[t].rows[i];
			if (o->type == OPT_HEADING || o->letter != letter)
				continue;
			g->opt = o;
			g->values = tables[t].values;
			g->negated = false;
			return true;
		}
	}
	return false;
}

static bool is_choice(const char *choices, struct str value)
{
	struct str rest = str_of(choices);
	while (rest.len)
		if (str_eq(str_cut(rest, '|', &rest), value))
			return true;
	return false;
}

/* What stands for the value in --help and in messages. */
static const char *value_name(const struct opt *o)
{
	return o->arg ? o->arg : o->type == OPT_CHOICE ? o->choices : "VALUE";
}

static bool in_range(const struct given *g, double value, struct err *err)
{
	const struct opt *o = g->opt;
	if ((o->min == 0 && o->max == 0) || (value >= o->min && value <= o->max))
		return true;
	if (o->type == OPT_DURATION)
		return err_set(err, ERR_USAGE, _("'%s' must be between %.15g s and %.15g s"),
		        g->written, o->min, o->max);
	return err_set(err, ERR_USAGE, _("'%s' must be between %.15g and %.15g"), g->written,
	        o->min, o->max);
}

static void append(struct opt_list *list, const char *item, struct arena *run)
{
	const char **items = arena_new_n(run, const char *, list->n + 1);
	if (list->n)
		memcpy(items, list->items, list->n * sizeof(*items));
	items[list->n] = item;
	*list = (struct opt_list){ items, list->n + 1 };
}

static bool set_value(const struct given *g, const char *text, struct arena *run, struct err *err)
{
	void *at = (char *)g->values + g->opt->offset;
	struct str value = str_of(text);
	switch (g->opt->type) {
	case OPT_INT:
		if (!str_to_i64(value, at))
			return err_set(err, ERR_USAGE, _("'%s' takes a whole number, not '%s'"),
			        g->written, text);
		return in_range(g, (double)*(int64_t *)at, err);
	case OPT_DOUBLE:
		if (!str_to_double(value, at))
			return err_set(err, ERR_USAGE, _("'%s' takes a number, not '%s'"),
			        g->written, text);
		return in_range(g, *(double *)at, err);
	case OPT_DURATION:
		if (!units_parse_duration(value, at))
			return err_set(err, ERR_USAGE,
			        _("'%s' takes a duration such as 500ms, 10s or 5m, not '%s'"),
			        g->written, text);
		return in_range(g, (double)*(int64_t *)at / 1e9, err);
	case OPT_SIZE:
		if (!units_parse_size(value, at))
			return err_set(err, ERR_USAGE,
			        _("'%s' takes a size such as 64KiB or 4GiB, not '%s'"), g->written,
			        text);
		return true;
	case OPT_CHOICE:
		if (!is_choice(g->opt->choices, value))
			return err_set(err, ERR_USAGE, _("'%s' takes one of %s, not '%s'"),
			        g->written, g->opt->choices, text);
		*(const char **)at = text;
		return true;
	case OPT_LIST:
		append(at, text, run);
		return true;
	case OPT_STRING:
		*(const char **)at = text;
		return true;
	case OPT_FLAG:
	case OPT_HEADING:
		break;
	}
	return err_set(err, ERR_USAGE, _("'%s' takes no value"), g->written);
}

/* One option with the value that was attached to it, if any; *ret_next when the next word was
 * taken. */
static bool apply(struct given *g, const char *attached, const char *next, struct arena *run,
        bool *ret_next, struct err *err)
{
	*ret_next = false;
	if (g->opt->type == OPT_FLAG) {
		if (attached)
			return err_set(err, ERR_USAGE, _("'%s' takes no value"), g->written);
		*(bool *)((char *)g->values + g->opt->offset) = !g->negated;
		return true;
	}
	if (!attached) {
		if (!next)
			return err_set(err, ERR_USAGE, _("'%s' needs a value (%s)"), g->written,
			        value_name(g->opt));
		*ret_next = true;
	}
	return set_value(g, attached ? attached : next, run, err);
}

static bool unknown(const char *written, struct err *err)
{
	err_set(err, ERR_USAGE, _("unknown option '%s'"), written);
	return err_hint(err, _("'--help' lists the options"));
}

static bool parse_long(const struct opt_table *tables, size_t n_tables, char **argv, int argc,
        int *i, struct arena *run, struct err *err)
{
	struct given g = { 0 };
	struct str after;
	struct str word = str_of(argv[*i] + 2);
	struct str name = str_cut(word, '=', &after);
	const char *attached = name.len < word.len ? after.s : NULL;
	bool took_next;
	g.written = arena_printf(run, "--%.*s", STR_ARG(name));
	if (!find_long(tables, n_tables, name, &g))
		return unknown(g.written, err);
	if (!apply(&g, attached, *i + 1 < argc ? argv[*i + 1] : NULL, run, &took_next, err))
		return false;
	*i += took_next;
	return true;
}

/* A cluster such as -qv, or -c8, or -c 8. */
static bool parse_letters(const struct opt_table *tables, size_t n_tables, char **argv, int argc,
        int *i, struct arena *run, struct err *err)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		struct given g = { 0 };
		bool took_next;
		/* Whole, though no option is named so, if it is not ASCII: the message shows it. */
		uint32_t c;
		size_t n = utf8_decode(str_of(p), &c);
		g.written = arena_printf(run, "-%.*s", n ? (int)n : 1, p);
		if (!find_letter(tables, n_tables, *p, &g))
			return unknown(g.written, err);
		if (g.opt->type == OPT_FLAG) {
			if (!apply(&g, NULL, NULL, run, &took_next, err))
				return false;
			continue;
		}
		const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
		if (!apply(&g, p[1] ? p + 1 : NULL, next, run, &took_next, err))
			return false;
		*i += took_next;
		return true;
	}
	return true;
}

bool opt_parse(const struct opt_table *tables, size_t n_tables, int argc, char **argv,
        struct arena *run, struct opt_list *args, struct err *err)
{
	bool options_ended = false;
	*args = (struct opt_list){ 0 };
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		if (options_ended || word[0] != '-' || word[1] == '\0') {
			append(args, word, run);
		} else if (strcmp(word, "--") == 0) {
			options_ended = true;
		} else if (word[1] == '-') {
			if (!parse_long(tables, n_tables, argv, argc, &i, run, err))
				return false;
		} else if (!parse_letters(tables, n_tables, argv, argc, &i, run, err)) {
			return false;
		}
	}
	return true;
}

static bool parse_line(const struct opt_table *tables, size_t n_tables, struct str line,
        struct arena *run, struct err *err)
{
	size_t end = 0;
	struct given g = { 0 };
	bool took_next;
	if (str_starts(line, STR("--")))
		line = (struct str){ line.s + 2, line.len - 2 };
	while (end < line.len && line.s[end] != '=' && line.s[end] != ' ' && line.s[end] != '\t')
		end++;
	struct str name = { line.s, end };
	struct str value = str_trim((struct str){ line.s + end, line.len - end });
	if (str_starts(value, STR("=")))
		value = str_trim((struct str){ value.s + 1, value.len - 1 });
	g.written = str_c(name, run);
	if (!find_long(tables, n_tables, name, &g))
		return unknown(g.written, err);
	return apply(&g, value.len ? str_c(value, run) : NULL, NULL, run, &took_next, err);
}

bool opt_parse_text(const struct opt_table *tables, size_t n_tables, struct str text,
        const char *source, struct arena *run, struct err *err)
{
	for (int number = 1; text.len; number++) {
		struct str line = str_trim(str_cut(text, '\n', &text));
		if (line.len == 0 || line.s[0] == '#')
			continue;
		if (!parse_line(tables, n_tables, line, run, err))
			return err_wrap(err, _("'%s', line %d"), source, number);
	}
	return true;
}

static void help_row(const struct opt *o, struct buf *out)
{
	size_t start = out->len;
	if (o->type == OPT_HEADING) {
		buf_printf(out, "\n%s\n", _(o->help));
		return;
	}
	if (o->letter)
		buf_printf(out, "  -%c, --%s", o->letter, o->name);
	else
		buf_printf(out, "      --%s", o->name);
	if (o->type != OPT_FLAG)
		buf_printf(out, " %s", value_name(o));
	int used = utf8_width((struct str){ out->s + start, out->len - start });
	if (used > HELP_COLUMN - 2) {
		buf_add_char(out, '\n');
		used = 0;
	}
	buf_add_blanks(out, HELP_COLUMN - used);
	wrap_text(out, str_of(_(o->help)), HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
}

void opt_help(const struct opt_table *tables, size_t n_tables, struct buf *out)
{
	for (size_t t = 0; t < n_tables; t++)
		for (size_t i = 0; i < tables[t].n; i++)
			help_row(&tables[t].rows[i], out);
}
