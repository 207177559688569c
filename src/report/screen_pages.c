#include "report/screen_pages.h"

#include "base/i18n.h"
#include "report/screen_devices.h"
#include "report/screen_threads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int screen_column_at(const struct screen_column *columns, size_t i, int screen_columns)
{
	int at = 0;
	if (screen_columns < columns[i].from_columns)
		return -1;
	for (size_t k = 0; k < i; k++)
		if (screen_columns >= columns[k].from_columns)
			at += columns[k].width + 1;
	return at < screen_columns ? at : -1;
}

void screen_column_put(const struct screen_column *columns, size_t i, struct screen *s, int row,
        enum screen_attr attr, const char *text)
{
	int at = screen_column_at(columns, i, s->columns);
	if (at < 0)
		return;
	if (columns[i].right)
		screen_put_right(s, row, at, columns[i].width, attr, text);
	else
		screen_put(s, row, at, columns[i].width, attr, text);
}

void screen_column_heads(const struct screen_column *columns, size_t n, struct screen *s, int row)
{
	for (size_t i = 0; i < n; i++)
		screen_column_put(columns, i, s, row, SCREEN_DIM,
		        columns[i].head[0] ? _(columns[i].head) : "");
}

enum symbol_column { SYMBOL_SHARE, SYMBOL_SAMPLES, SYMBOL_PID, SYMBOL_MODULE, SYMBOL_NAME };

static const struct screen_column symbol_columns[] = {
	[SYMBOL_SHARE] = { N_("share"), 7, true, 0 },
	[SYMBOL_SAMPLES] = { N_("samples"), 8, true, 0 },
	[SYMBOL_PID] = { N_("process"), 7, true, 80 },
	[SYMBOL_MODULE] = { N_("module"), 20, false, 0 },
	[SYMBOL_NAME] = { N_("symbol"), SCREEN_MAX_COLUMNS, false, 0 },
};

static void make_symbols(struct screen_list *l)
{
	l->n = l->system->n_symbols;
	l->nothing = _("no stacks were taken: --profile takes them");
}

static void head_symbols(const struct screen_list *l, struct screen *s, int row)
{
	(void)l;
	screen_column_heads(symbol_columns, ARRAY_LEN(symbol_columns), s, row);
}

static void draw_symbol(const struct screen_list *l, size_t i, struct screen *s, int row)
{
	const struct signal_symbol *symbol = &l->system->symbols[i];
	const struct screen_column *c = symbol_columns;
	char text[SCREEN_VALUE];
	screen_column_put(
	        c, SYMBOL_SHARE, s, row, SCREEN_STRONG, screen_value(symbol->ratio, "ratio", text));
	screen_column_put(c, SYMBOL_SAMPLES, s, row, SCREEN_PLAIN,
	        screen_value((double)symbol->n, "1", text));
	snprintf(text, sizeof(text), "%d", symbol->pid);
	screen_column_put(c, SYMBOL_PID, s, row, SCREEN_PLAIN, text);
	screen_column_put(
	        c, SYMBOL_MODULE, s, row, SCREEN_DIM, symbol->module ? symbol->module : "-");
	screen_column_put(
	        c, SYMBOL_NAME, s, row, SCREEN_PLAIN, symbol->symbol ? symbol->symbol : "-");
}

/* "host_core_busy_ratio cpu3": several of a name differ by what they are of. */
static const char *full_name(const struct signal *s, struct arena *tmp)
{
	const char *of = s->instance ? s->instance : s->page;
	return of ? arena_printf(tmp, "%s %s", s->name, of) : s->name;
}

static bool has_values(const struct signal *s)
{
	return s->n > 0 || s->n_recent > 0 || s->text;
}

/* Those that have values, or those that have none. */
static void list_signals(struct screen_list *l, bool with_values)
{
	const struct signal **list = arena_new_n(l->tmp, const struct signal *, l->signals->n + 1);
	for (size_t i = 0; i < l->signals->n; i++)
		if (has_values(l->signals->all[i]) == with_values)
			list[l->n++] = l->signals->all[i];
	l->items = list;
}

static const struct signal *signal_at(const struct screen_list *l, size_t i)
{
	return ((const struct signal *const *)l->items)[i];
}

enum signal_column { SIGNAL_NOW, SIGNAL_MEAN, SIGNAL_MAX, SIGNAL_NAME };

static const struct screen_column signal_columns[] = {
	[SIGNAL_NOW] = { N_("now"), 12, true, 0 },
	[SIGNAL_MEAN] = { N_("mean"), 12, true, 0 },
	[SIGNAL_MAX] = { N_("most"), 12, true, 0 },
	[SIGNAL_NAME] = { N_("signal"), SCREEN_MAX_COLUMNS, false, 0 },
};

static void make_signals(struct screen_list *l)
{
	list_signals(l, true);
	l->nothing = _("nothing has been seen yet");
}

static void head_signals(const struct screen_list *l, struct screen *s, int row)
{
	(void)l;
	screen_column_heads(signal_columns, ARRAY_LEN(signal_columns), s, row);
}

static void draw_signal(const struct screen_list *l, size_t i, struct screen *s, int row)
{
	const struct signal *signal = signal_at(l, i);
	const double values[] = { [SIGNAL_NOW] = screen_now_of(signal),
		[SIGNAL_MEAN] = signal->mean,
		[SIGNAL_MAX] = signal->max };
	char text[SCREEN_VALUE];
	const char *name = full_name(signal, l->tmp);
	for (size_t c = 0; c < ARRAY_LEN(values) && !signal->text; c++)
		screen_column_put(signal_columns, c, s, row, SCREEN_PLAIN,
		        screen_value(values[c], signal->unit, text));
	if (signal->text)
		name = arena_printf(l->tmp, "%s: %s", name, signal->text);
	screen_column_put(signal_columns, SIGNAL_NAME, s, row, SCREEN_PLAIN, name);
}

enum { MISSING_NAME = 32 };

static void make_missing(struct screen_list *l)
{
	list_signals(l, false);
	l->nothing = _("nothing is missing");
}

static void head_missing(const struct screen_list *l, struct screen *s, int row)
{
	(void)l;
	screen_put(s, row, 0, MISSING_NAME, SCREEN_DIM, _("signal"));
	screen_put(s, row, MISSING_NAME + 1, s->columns, SCREEN_DIM, _("why it is missing"));
}

static void draw_missing(const struct screen_list *l, size_t i, struct screen *s, int row)
{
	const struct signal *signal = signal_at(l, i);
	screen_put(s, row, 0, MISSING_NAME, SCREEN_PLAIN, full_name(signal, l->tmp));
	screen_put(s, row, MISSING_NAME + 1, s->columns, SCREEN_DIM,
	        signal->reason ? signal->reason : "-");
}

const struct screen_page_row screen_page_rows[SCREEN_N_PAGES] = {
	[SCREEN_THREADS] = { N_("Threads"), screen_threads_make, screen_threads_heads,
	        screen_threads_draw },
	[SCREEN_SYMBOLS] = { N_("Symbols"), make_symbols, head_symbols, draw_symbol },
	[SCREEN_DEVICES] = { N_("Devices"), screen_devices_make, NULL, screen_devices_draw },
	[SCREEN_SIGNALS] = { N_("Signals"), make_signals, head_signals, draw_signal },
	[SCREEN_MISSING] = { N_("Missing"), make_missing, head_missing, draw_missing },
};

bool screen_pages_want(const char *name)
{
	return screen_devices_want(name);
}
