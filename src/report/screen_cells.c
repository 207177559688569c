#include "report/screen_cells.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

void screen_init(struct screen *s, int rows, int columns, bool ascii, struct arena *run)
{
	*s = (struct screen){ .rows = rows, .columns = columns, .ascii = ascii };
	s->cells = arena_new_n(run, struct screen_cell, (size_t)rows * (size_t)columns + 1);
	for (int i = 0; i < rows * columns; i++)
		s->cells[i].width = 1;
}

static struct screen_cell *cell(const struct screen *s, int row, int column)
{
	return &s->cells[row * s->columns + column];
}

const struct screen_cell *screen_at(const struct screen *s, int row, int column)
{
	return cell(s, row, column);
}

static void blank(struct screen_cell *c, enum screen_attr attr)
{
	*c = (struct screen_cell){ .width = 1, .attr = (uint8_t)attr };
}

/* Half a wide character cannot stay when its other half goes. */
static void part_from(struct screen *s, int row, int column)
{
	struct screen_cell *c = cell(s, row, column);
	if (c->width == 0 && column > 0)
		blank(c - 1, (c - 1)->attr);
	if (c->width == 2 && column + 1 < s->columns)
		blank(c + 1, (c + 1)->attr);
}

static void set_cell(
        struct screen *s, int row, int column, enum screen_attr attr, struct str text, int width)
{
	struct screen_cell *c = cell(s, row, column);
	for (int i = 0; i < width; i++)
		part_from(s, row, column + i);
	blank(c, attr);
	memcpy(c->text, text.s, text.len);
	c->width = (uint8_t)width;
	if (width == 2) {
		blank(c + 1, attr);
		c[1].width = 0;
	}
}

/* A character that combines joins the one before, as long as there is room. */
static void join(struct screen_cell *c, struct str text)
{
	size_t len = strlen(c->text);
	if (len > 0 && len + text.len < SCREEN_CELL_BYTES)
		memcpy(c->text + len, text.s, text.len);
}

/* What may be written at all: from the first row and column to the last. */
static bool clip(const struct screen *s, int row, int column, int *width)
{
	if (row < 0 || row >= s->rows || column < 0 || column >= s->columns)
		return false;
	if (*width > s->columns - column)
		*width = s->columns - column;
	return *width > 0;
}

static void set_ellipsis(struct screen *s, int row, int column, enum screen_attr attr)
{
	set_cell(s, row, column, attr, s->ascii ? STR("~") : STR("…"), 1);
}

static int put_safe(
        struct screen *s, int row, int column, int width, enum screen_attr attr, struct str text)
{
	struct screen_cell *last = NULL;
	int at = 0;
	while (text.len) {
		uint32_t c;
		size_t n = utf8_decode(text, &c);
		struct str one = { text.s, n ? n : 1 };
		int w = utf8_char_width(c);
		text = (struct str){ text.s + one.len, text.len - one.len };
		if (s->ascii && c >= 0x80) {
			one = STR("?");
			w = w ? 1 : 0;
		}
		if (w == 0) {
			if (last && !s->ascii)
				join(last, one);
			continue;
		}
		if (at + w > width) {
			if (at == width)
				at--;
			set_ellipsis(s, row, column + at, attr);
			return at + 1;
		}
		set_cell(s, row, column + at, attr, one, w);
		last = cell(s, row, column + at);
		at += w;
	}
	return at;
}

int screen_put(
        struct screen *s, int row, int column, int width, enum screen_attr attr, const char *text)
{
	AUTO(auto_buf) struct buf safe = { 0 };
	if (!clip(s, row, column, &width))
		return 0;
	utf8_add_line(&safe, str_of(text));
	return put_safe(s, row, column, width, attr, buf_str(&safe));
}

void screen_put_right(
        struct screen *s, int row, int column, int width, enum screen_attr attr, const char *text)
{
	int taken = utf8_width(str_of(text));
	int before = taken < width ? width - taken : 0;
	screen_put(s, row, column + before, width - before, attr, text);
}

void screen_paint(struct screen *s, int row, int column, int width, enum screen_attr attr)
{
	if (!clip(s, row, column, &width))
		return;
	for (int i = 0; i < width; i++)
		cell(s, row, column + i)->attr = (uint8_t)attr;
}

void screen_clear(struct screen *s, int row, int column, int width, enum screen_attr attr)
{
	if (!clip(s, row, column, &width))
		return;
	for (int i = 0; i < width; i++) {
		part_from(s, row, column + i);
		blank(cell(s, row, column + i), attr);
	}
}

void screen_put_bar(
        struct screen *s, int row, int column, enum screen_attr attr, double value, double full)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const letters[] = { "_", ".", ":", "-", "=", "+", "*", "#", "%", "@" };
	size_t n = s->ascii ? ARRAY_LEN(letters) : ARRAY_LEN(blocks);
	int width = 1;
	if (isnan(value) || !clip(s, row, column, &width))
		return;
	double share = full > 0 ? fmin(value / full, 1) : 0;
	size_t level = share > 0 ? 1 + (size_t)lround(share * (double)(n - 2)) : 0;
	screen_put(s, row, column, 1, attr, (s->ascii ? letters : blocks)[level]);
}

void screen_text(const struct screen *s, struct buf *out)
{
	for (int row = 0; row < s->rows; row++) {
		int end = s->columns;
		while (end > 0 && cell(s, row, end - 1)->width == 1 &&
		        (cell(s, row, end - 1)->text[0] == '\0' ||
		                cell(s, row, end - 1)->text[0] == ' '))
			end--;
		for (int column = 0; column < end; column++) {
			const struct screen_cell *c = cell(s, row, column);
			if (c->width > 0)
				buf_add_c(out, c->text[0] ? c->text : " ");
		}
		buf_add_char(out, '\n');
	}
}
