#include "report/screen_devices.h"

#include "base/i18n.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

enum { FIGURES_MAX = 8, NAME_WIDTH = 16, FIGURE_WIDTH = 11 };

struct figure {
	const char *head;  /* N_() */
	const char *names; /* "a|b" */
};

/* Things of one kind. */
struct section {
	const char *title; /* N_() */
	struct figure figures[FIGURES_MAX];
};

/* The first figure of a section tells which instances there are. */
static const struct section sections[] = {
	{ "GPU", { { N_("busy"), "gpu_util_ratio" }, { N_("memory"), "gpu_memory_used_bytes" },
	                 { N_("power"), "gpu_power_w" }, { N_("clock"), "gpu_sm_clock_mhz" },
	                 { N_("heat"), "gpu_temperature_c" },
	                 { N_("held back"), "gpu_throttle_reasons" } } },
	{ N_("NUMA node"),
	        { { N_("size"), "numa_node_bytes" }, { N_("free"), "numa_node_free_bytes" },
	                { N_("process"), "numa_pages_bytes" } } },
	{ N_("interface"), { { N_("received"), "host_net_rx_bytes_per_s" },
	                           { N_("sent"), "host_net_tx_bytes_per_s" },
	                           { N_("dropped"), "host_net_dropped_per_s" } } },
	{ N_("disk"), { { N_("busy"), "host_disk_busy_ratio" },
	                      { N_("read"), "host_disk_read_bytes_per_s" },
	                      { N_("written"), "host_disk_write_bytes_per_s" } } },
};

/* A line of the list: the heads of a section, or one of its things. */
struct line {
	const struct section *section;
	const struct signal *key; /* NULL: the heads */
};

static bool has_values(const struct signal *s)
{
	return s->n > 0 || s->n_recent > 0;
}

void screen_devices_make(struct screen_list *l)
{
	struct line *lines = arena_new_n(l->tmp, struct line, l->signals->n + ARRAY_LEN(sections));
	l->n = 0;
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct screen_group *g =
		        screen_find(l->signals, sections[i].figures[0].names);
		if (!g || !g->has_data)
			continue;
		lines[l->n++] = (struct line){ &sections[i], NULL };
		for (size_t k = 0; k < g->n; k++)
			if (has_values(g->items[k]))
				lines[l->n++] = (struct line){ &sections[i], g->items[k] };
	}
	l->items = lines;
	l->nothing = _("nothing here is told of single devices");
}

static const struct signal *of_instance(const struct screen_group *g, const char *instance)
{
	for (size_t i = 0; g && i < g->n; i++)
		if (g->items[i]->instance == instance ||
		        (instance && g->items[i]->instance &&
		                strcmp(g->items[i]->instance, instance) == 0))
			return g->items[i];
	return NULL;
}

static void draw_heads(const struct section *section, struct screen *s, int row)
{
	screen_put(s, row, 0, NAME_WIDTH, SCREEN_DIM, _(section->title));
	for (int i = 0; i < FIGURES_MAX && section->figures[i].names; i++)
		screen_put_right(s, row, NAME_WIDTH + 1 + i * (FIGURE_WIDTH + 1), FIGURE_WIDTH,
		        SCREEN_DIM, _(section->figures[i].head));
}

static void draw_figure(
        const struct screen_list *l, const struct line *line, int i, struct screen *s, int row)
{
	const struct signal *f = of_instance(
	        screen_find(l->signals, line->section->figures[i].names), line->key->instance);
	int at = NAME_WIDTH + 1 + i * (FIGURE_WIDTH + 1);
	char text[SCREEN_VALUE];
	if (f && f->text)
		screen_put(s, row, at + 1, s->columns - at - 1, SCREEN_PLAIN, f->text);
	else if (at + FIGURE_WIDTH <= s->columns)
		screen_put_right(s, row, at, FIGURE_WIDTH, SCREEN_PLAIN,
		        screen_value(f ? screen_now_of(f) : NAN, f ? f->unit : NULL, text));
}

/* What is left of the line shows the first figure's newest values. */
static void draw_spark(
        const struct screen_list *l, const struct line *line, int from, struct screen *s, int row)
{
	int n = s->columns - from;
	if (n <= 0)
		return;
	double *columns = arena_new_n(l->tmp, double, (size_t)n);
	struct screen_axis axis = screen_axis_of(l->system, l->system->interval_s * n, n);
	screen_columns_of(line->key, &axis, columns);
	bool is_ratio = line->key->unit && strcmp(line->key->unit, "ratio") == 0;
	double full = is_ratio ? 1 : screen_largest(columns, n);
	for (int i = 0; i < n; i++)
		screen_put_bar(s, row, from + i, SCREEN_SPARK, columns[i], full);
}

void screen_devices_draw(const struct screen_list *l, size_t i, struct screen *s, int row)
{
	const struct line *line = (const struct line *)l->items + i;
	if (!line->key) {
		draw_heads(line->section, s, row);
		return;
	}
	const char *name = line->key->instance ? line->key->instance : _(line->section->title);
	int n = 0;
	screen_put(s, row, 0, NAME_WIDTH, SCREEN_STRONG, name);
	for (; n < FIGURES_MAX && line->section->figures[n].names; n++)
		draw_figure(l, line, n, s, row);
	if (!line->section->figures[n - 1].names)
		return;
	draw_spark(l, line, NAME_WIDTH + 2 + n * (FIGURE_WIDTH + 1), s, row);
}

bool screen_devices_want(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		struct str rest = str_of(sections[i].figures[0].names);
		while (rest.len)
			if (str_eq(str_cut(rest, '|', &rest), str_of(name)))
				return true;
	}
	return false;
}
