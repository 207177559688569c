#include "text/table.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum { COLUMN_GAP = 2 };

void table_init(struct table *t, struct arena *tmp, const char *align)
{
	size_t n = strlen(align);
	assert(n > 0 && n <= TABLE_MAX_COLUMNS);
	*t = (struct table){ .tmp = tmp, .n_columns = (int)n };
	for (size_t i = 0; i < n; i++)
		t->align[i] = align[i] == 'r' ? TABLE_RIGHT : TABLE_LEFT;
}

static void append(struct table *t, const char *cell)
{
	if (t->n_cells == t->cap_cells) {
		size_t cap = t->cap_cells ? 2 * t->cap_cells : 64;
		const char **cells = arena_new_n(t->tmp, const char *, cap);
		if (t->n_cells)
			memcpy(cells, t->cells, t->n_cells * sizeof(*cells));
		t->cells = cells;
		t->cap_cells = cap;
	}
	t->cells[t->n_cells++] = cell;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	AUTO(auto_buf) struct buf raw = { 0 };
	AUTO(auto_buf) struct buf clean = { 0 };
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	utf8_add_line(&clean, buf_str(&raw));
	append(t, str_c(buf_str(&clean), t->tmp));
}

static int cell_width(const struct table *t, size_t i)
{
	return utf8_width(str_of(t->cells[i]));
}

/* widths are 0 before. */
static void column_widths(const struct table *t, int *widths)
{
	for (size_t i = 0; i < t->n_cells; i++) {
		int *width = &widths[i % (size_t)t->n_columns];
		int w = cell_width(t, i);
		*width = w > *width ? w : *width;
	}
}

static void print_row(const struct table *t, size_t first, const int *widths, struct buf *out)
{
	/* Blanks are owed until something stands behind them: no line ends in any. */
	int owed = t->indent;
	for (int column = 0; column < t->n_columns; column++) {
		size_t i = first + (size_t)column;
		if (i >= t->n_cells)
			break;
		int room = widths[column] - cell_width(t, i);
		owed += t->align[column] == TABLE_RIGHT ? room : 0;
		if (t->cells[i][0]) {
			buf_add_blanks(out, owed);
			buf_add_c(out, t->cells[i]);
			owed = 0;
		}
		owed += t->align[column] == TABLE_RIGHT ? 0 : room;
		owed += COLUMN_GAP;
	}
	buf_add_char(out, '\n');
}

void table_print(const struct table *t, struct buf *out)
{
	int widths[TABLE_MAX_COLUMNS] = { 0 };
	column_widths(t, widths);
	for (size_t i = 0; i < t->n_cells; i += (size_t)t->n_columns)
		print_row(t, i, widths, out);
}

static void add_markdown(struct buf *out, const char *cell)
{
	for (; *cell; cell++) {
		if (*cell == '|' || *cell == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, *cell);
	}
}

static void markdown_row(const struct table *t, size_t first, struct buf *out)
{
	for (int column = 0; column < t->n_columns; column++) {
		size_t i = first + (size_t)column;
		buf_add_c(out, "| ");
		if (i < t->n_cells && t->cells[i][0]) {
			add_markdown(out, t->cells[i]);
			buf_add_char(out, ' ');
		}
	}
	buf_add_c(out, "|\n");
}

void table_markdown(const struct table *t, struct buf *out)
{
	for (size_t i = 0; i < t->n_cells; i += (size_t)t->n_columns) {
		markdown_row(t, i, out);
		if (i > 0)
			continue;
		for (int column = 0; column < t->n_columns; column++)
			buf_add_c(out, t->align[column] == TABLE_RIGHT ? "| ---: " : "| --- ");
		buf_add_c(out, "|\n");
	}
}
