#include "cmd/watch_screen.h"

#include "cmd/watch_terminal.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "report/screen.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_MS = 250 };

struct live {
	struct sampler *sampler;
	const struct watch_screen_config *config;
	struct screen_view view;
	struct arena seen;    /* what is shown: kept while the picture is held */
	struct arena scratch; /* of one drawing */
	struct signal_system system;
	const struct signal_server *server;
	int list_rows;
	bool quits;
};

/* The language's own characters need UTF-8; else it is what the locale says of the terminal. */
static bool is_ascii_only(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	if (strcmp(i18n_lang(), "zh") == 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			return !strcasestr(value, "utf-8") && !strcasestr(value, "utf8");
	}
	return true;
}

bool watch_screen_is_possible(const char **ret_why)
{
	return watch_terminal_is_fit(ret_why);
}

static void look(struct live *l)
{
	arena_rewind(&l->seen);
	sampler_glance(l->sampler, INT64_MIN, screen_wants, &l->seen, &l->system);
	l->server = l->config->pages ? l->config->pages(l->config->ctx, &l->seen) : NULL;
}

static void draw(struct live *l)
{
	struct screen s;
	arena_rewind(&l->scratch);
	watch_terminal_size(&l->view.rows, &l->view.columns);
	screen_draw(&l->system, l->server, &l->view, &l->scratch, &s);
	l->view.scroll = s.scroll;
	l->list_rows = s.list_rows;
	watch_terminal_show(&s);
}

/* What keys do; by is the row's number. */
static void quit(struct live *l, int by)
{
	l->quits = by > 0;
}

static void hold(struct live *l, int by)
{
	l->view.paused = by > 0 && !l->view.paused;
}

static void zoom(struct live *l, int by)
{
	int next = l->view.zoom + by;
	if (next >= 0 && next < SCREEN_N_ZOOMS)
		l->view.zoom = next;
}

static void sort(struct live *l, int by)
{
	l->view.sort = (enum screen_sort)(((int)l->view.sort + by) % SCREEN_N_SORTS);
	l->view.page = SCREEN_THREADS;
	l->view.scroll = 0;
}

static void turn(struct live *l, int by)
{
	int page = (int)l->view.page + by + SCREEN_N_PAGES;
	l->view.page = (enum screen_page)(page % SCREEN_N_PAGES);
	l->view.scroll = 0;
}

static void scroll_rows(struct live *l, int by)
{
	l->view.scroll += by;
}

static void scroll_pages(struct live *l, int by)
{
	l->view.scroll += by * (l->list_rows > 1 ? l->list_rows - 1 : 1);
}

static void scroll_to(struct live *l, int by)
{
	l->view.scroll = by;
}

static void begin_anew(struct live *l, int by)
{
	(void)by;
	sampler_begins(l->sampler);
	l->view.paused = false;
	look(l);
}

static void help(struct live *l, int by)
{
	l->view.help = by > 0 && !l->view.help;
}

enum { SCROLL_END = 1 << 20, KEY_ESCAPE = 27, KEY_TABULATOR = '\t' };

static const struct binding {
	int key;
	void (*act)(struct live *l, int by);
	int by;
} bindings[] = {
	{ 'q', quit, 1 },
	{ 'Q', quit, 1 },
	{ ' ', hold, 1 },
	{ 'p', hold, 1 },
	{ '+', zoom, -1 },
	{ '=', zoom, -1 },
	{ '-', zoom, 1 },
	{ '_', zoom, 1 },
	{ 's', sort, 1 },
	{ 'S', sort, SCREEN_N_SORTS - 1 },
	{ KEY_TABULATOR, turn, 1 },
	{ KEY_RIGHT, turn, 1 },
	{ KEY_BTAB, turn, -1 },
	{ KEY_LEFT, turn, -1 },
	{ KEY_UP, scroll_rows, -1 },
	{ 'k', scroll_rows, -1 },
	{ KEY_DOWN, scroll_rows, 1 },
	{ 'j', scroll_rows, 1 },
	{ KEY_PPAGE, scroll_pages, -1 },
	{ KEY_NPAGE, scroll_pages, 1 },
	{ KEY_HOME, scroll_to, 0 },
	{ 'g', scroll_to, 0 },
	{ KEY_END, scroll_to, SCROLL_END },
	{ 'G', scroll_to, SCROLL_END },
	{ 'r', begin_anew, 1 },
	{ 'h', help, 1 },
	{ '?', help, 1 },
	{ KEY_ESCAPE, help, 0 },
};

static void press(struct live *l, int key)
{
	for (size_t i = 0; i < ARRAY_LEN(bindings); i++)
		if (bindings[i].key == key) {
			bindings[i].act(l, bindings[i].by);
			return;
		}
}

static bool is_over(const struct live *l, int64_t now_ns)
{
	const struct watch_screen_config *c = l->config;
	return l->quits || (c->stop && atomic_load(c->stop)) ||
	       (c->until_ns && now_ns >= c->until_ns) || (c->is_over && c->is_over(c->ctx));
}

/* Waits for the moment of the next picture, and draws anew for each key meanwhile. */
static void live_until(struct live *l, int64_t next_ns)
{
	int64_t now_ns = clock_now_ns();
	while (now_ns < next_ns && !is_over(l, now_ns)) {
		enum watch_event event =
		        watch_terminal_wait((int)((next_ns - now_ns) / NS_PER_MS) + 1);
		l->quits |= event == WATCH_END;
		for (int key; event == WATCH_KEY && (key = watch_terminal_key()) >= 0;)
			press(l, key);
		if (event == WATCH_KEY || event == WATCH_REDRAW)
			draw(l);
		now_ns = clock_now_ns();
	}
}

bool watch_screen_run(struct sampler *s, const struct watch_screen_config *config, struct err *err)
{
	struct live live = {
		.sampler = s,
		.config = config,
		.view = { .ascii = is_ascii_only(),
		        .zoom = SCREEN_ZOOM_DEFAULT,
		        .title = config->title },
	}, *l = &live;
	if (!watch_terminal_enter(err))
		return false;
	while (!is_over(l, clock_now_ns())) {
		int64_t next_ns = clock_now_ns() + FRAME_MS * NS_PER_MS;
		if (config->until_ns && next_ns > config->until_ns)
			next_ns = config->until_ns;
		if (!l->view.paused)
			look(l);
		draw(l);
		live_until(l, next_ns);
	}
	watch_terminal_leave();
	arena_release(&l->seen);
	arena_release(&l->scratch);
	return true;
}
