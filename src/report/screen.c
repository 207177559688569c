#include "report/screen.h"

#include "base/i18n.h"
#include "base/utf8.h"
#include "report/screen_pages.h"
#include "report/screen_strips.h"

#include <math.h>
#include <string.h>

static const struct {
	double span_s;
	const char *name; /* N_() */
} zooms[SCREEN_N_ZOOMS] = {
	{ 10, N_("last 10 s") },
	{ 30, N_("last 30 s") },
	{ 60, N_("last minute") },
	{ 300, N_("last 5 minutes") },
	{ 900, N_("last 15 minutes") },
	{ 3600, N_("last hour") },
	{ INFINITY, N_("whole window") },
};

/* Rows that are always there: the head, the heads of the strips and of the list, and the keys. */
enum {
	ROWS_HEAD = 1,
	ROWS_STRIP_HEADS = 1,
	ROWS_TABS = 1,
	ROWS_LIST_HEADS = 1,
	ROWS_KEYS = 1,
	LIST_LEAST = 4,
	ROWS_ROOMY = 30, /* from here on an empty row sets the list off */
};

/* "1:02:03" */
static const char *clock_text(double s, struct arena *run)
{
	long long all = isnan(s) || s < 0 ? 0 : (long long)s;
	if (all >= 3600)
		return arena_printf(run, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
	return arena_printf(run, "%lld:%02lld", all / 60, all % 60);
}

static void draw_head(struct screen *s, const struct signal_system *system,
        const struct screen_view *view, struct arena *run)
{
	double ms = system->interval_s * 1e3;
	const char *interval =
	        arena_printf(run, ms < 1e3 ? "%g ms" : "%g s", ms < 1e3 ? ms : ms / 1e3);
	const char *state =
	        arena_printf(run, view->paused ? _("PAUSED  %s, every %s") : _("%s, every %s"),
	                clock_text(system->to_s - system->from_s, run), interval);
	int width = utf8_width(str_of(state));
	screen_clear(s, 0, 0, s->columns, SCREEN_BAR);
	int taken = screen_put(s, 0, 0, s->columns, SCREEN_BAR, "venturi watch");
	screen_put(s, 0, taken + 2, s->columns - taken - width - 4, SCREEN_BAR,
	        view->title ? view->title : "");
	screen_put_right(s, 0, s->columns - width, width, SCREEN_BAR, state);
}

/* "Threads  Symbols  ..." with the shown one marked, and which part of it is shown. */
static void draw_tabs(struct screen *s, int row, const struct screen_list *list, int rows)
{
	const struct screen_view *view = list->view;
	int at = 0;
	for (int i = 0; i < SCREEN_N_PAGES; i++) {
		bool is_shown = (int)view->page == i;
		const char *title = _(screen_page_rows[i].title);
		if (is_shown)
			title = arena_printf(list->tmp, "[%s]", title);
		at += screen_put(s, row, at, s->columns - at, is_shown ? SCREEN_STRONG : SCREEN_DIM,
		              title) +
		      1;
	}
	long long last = s->scroll + rows;
	last = last < (long long)list->n ? last : (long long)list->n;
	const char *part = list->n == 0
	                           ? ""
	                           : arena_printf(list->tmp, _("%lld-%lld of %lld"),
	                                     (long long)s->scroll + 1, last, (long long)list->n);
	if (list->n > 0 && list->said)
		part = arena_printf(list->tmp, _("%s, %s"), part, list->said);
	screen_put_right(s, row, at + 1, s->columns - at - 1, SCREEN_DIM, part);
}

static void draw_list(struct screen *s, int row, struct screen_list *list)
{
	const struct screen_page_row *page = &screen_page_rows[list->view->page];
	int first = row + ROWS_TABS + (page->heads ? ROWS_LIST_HEADS : 0);
	int rows = s->rows - ROWS_KEYS - first;
	page->make(list);
	int most = (int)list->n - rows;
	s->list_rows = rows;
	s->scroll = list->view->scroll < most ? list->view->scroll : most;
	s->scroll = s->scroll > 0 ? s->scroll : 0;
	draw_tabs(s, row, list, rows);
	if (list->n == 0) {
		screen_put(s, row + 1, 0, s->columns, SCREEN_DIM, list->nothing);
		return;
	}
	if (page->heads)
		page->heads(list, s, row + ROWS_TABS);
	for (int i = 0; i < rows && s->scroll + i < (int)list->n; i++)
		page->draw(list, (size_t)(s->scroll + i), s, first + i);
}

struct key {
	const char *key, *what; /* N_() */
};

static const struct key keys[] = {
	{ "q", N_("quit") },
	{ N_("space"), N_("pause") },
	{ "+ -", N_("zoom") },
	{ "Tab", N_("list") },
	{ "s", N_("sort") },
	{ "r", N_("begin anew") },
	{ "h", N_("help") },
};

static void draw_keys(struct screen *s)
{
	int row = s->rows - 1, at = 0;
	screen_clear(s, row, 0, s->columns, SCREEN_DIM);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		at += screen_put(s, row, at, s->columns - at, SCREEN_STRONG, _(keys[i].key)) + 1;
		at += screen_put(s, row, at, s->columns - at, SCREEN_DIM, _(keys[i].what)) + 2;
	}
}

static const struct key helps[] = {
	{ "q", N_("quit") },
	{ N_("space"), N_("hold the picture; sampling goes on") },
	{ "+ -", N_("a shorter or longer time in the curves") },
	{ "Tab", N_("threads, symbols, devices, all signals, missing ones") },
	{ "s", N_("sort threads by CPU, run queue, switches, name") },
	{ N_("arrows"), N_("scroll the list; also page up and down, home, end") },
	{ "r", N_("begin anew: means and largest values count from now") },
	{ "h ?", N_("this help") },
	{ "", N_("A column of a curve is the mean of its time; a blank: nothing seen.") },
	{ "", N_("'!': past the point where it is worth a look.") },
};

static void draw_help(struct screen *s)
{
	enum { KEY_WIDTH = 8, MARGIN = 2, TEXT_MAX = 70 };
	int n = (int)ARRAY_LEN(helps), height = n + 2;
	int width = s->columns < TEXT_MAX + 2 * MARGIN ? s->columns : TEXT_MAX + 2 * MARGIN;
	int top = (s->rows - height) / 2, left = (s->columns - width) / 2;
	for (int i = 0; i < height; i++)
		screen_clear(s, top + i, left, width,
		        i == 0 || i == height - 1 ? SCREEN_BAR : SCREEN_PLAIN);
	screen_put(s, top, left + MARGIN, width - 2 * MARGIN, SCREEN_BAR, _("Keys"));
	for (int i = 0; i < n; i++) {
		bool is_key = helps[i].key[0];
		int at = left + MARGIN, row = top + 1 + i;
		if (is_key)
			screen_put(s, row, at, KEY_WIDTH, SCREEN_STRONG, _(helps[i].key));
		at += is_key ? KEY_WIDTH + 1 : 0;
		screen_put(s, row, at, left + width - MARGIN - at, SCREEN_PLAIN, _(helps[i].what));
	}
}

static void draw_too_small(struct screen *s, struct arena *run)
{
	const char *text = arena_printf(run, _("too small: %d x %d is needed, this is %d x %d"),
	        SCREEN_MIN_COLUMNS, SCREEN_MIN_ROWS, s->columns, s->rows);
	for (int row = 0; row < s->rows && *text; row++) {
		/* As much as fits on a line, wherever that cuts. */
		int width = 0;
		struct str rest = str_of(text);
		while (rest.len) {
			uint32_t c;
			size_t n = utf8_decode(rest, &c);
			if (width + utf8_char_width(c) > s->columns)
				break;
			width += utf8_char_width(c);
			rest = (struct str){ rest.s + (n ? n : 1), rest.len - (n ? n : 1) };
		}
		screen_put(s, row, 0, s->columns, SCREEN_PLAIN,
		        str_c((struct str){ text, strlen(text) - rest.len }, run));
		text = rest.s;
	}
}

/* Rows that strips may take, so that the list keeps three of ten. */
static int rows_for_strips(const struct screen *s, bool missing)
{
	int rest = s->rows - ROWS_HEAD - ROWS_STRIP_HEADS - missing - (s->rows >= ROWS_ROOMY) -
	           ROWS_TABS - ROWS_LIST_HEADS - ROWS_KEYS;
	int list = s->rows * 3 / 10;
	list = list > LIST_LEAST ? list : LIST_LEAST;
	return rest - list;
}

void screen_draw(const struct signal_system *system, const struct signal_server *server,
        const struct screen_view *view, struct arena *run, struct screen *ret_screen)
{
	int rows = view->rows < SCREEN_MAX_ROWS ? view->rows : SCREEN_MAX_ROWS;
	int columns = view->columns < SCREEN_MAX_COLUMNS ? view->columns : SCREEN_MAX_COLUMNS;
	struct screen *s = ret_screen;
	struct screen_signals signals;
	struct screen_strips strips;
	screen_init(s, rows > 0 ? rows : 0, columns > 0 ? columns : 0, view->ascii, run);
	if (rows < SCREEN_MIN_ROWS || columns < SCREEN_MIN_COLUMNS) {
		draw_too_small(s, run);
		return;
	}
	screen_signals_init(&signals, system, server, run);
	/* At first every rate is missing: it takes two samples. */
	const char *missing = system->n_samples < 3 ? NULL : screen_strips_missing(&signals, run);
	screen_strips_choose(&signals, rows_for_strips(s, missing), run, &strips);
	const struct screen_time time = { system, zooms[view->zoom].span_s,
		_(zooms[view->zoom].name) };
	struct screen_list list = { system, &signals, view, run };
	int row = ROWS_HEAD;
	draw_head(s, system, view, run);
	screen_strips_draw(s, row, &strips, &signals, &time, run);
	row += ROWS_STRIP_HEADS + (int)strips.n;
	if (missing) {
		const char *line = arena_printf(run, _("Missing: %s"), missing);
		screen_put(s, row++, 0, s->columns, SCREEN_DIM, line);
	}
	row += s->rows >= ROWS_ROOMY;
	draw_list(s, row, &list);
	draw_keys(s);
	if (view->help)
		draw_help(s);
}

bool screen_wants(const char *name)
{
	return screen_strips_want(name) || screen_pages_want(name);
}
