#include "text/csv.h"

#include <stdlib.h>
#include <string.h>

struct csv csv_of(struct str text, char separator)
{
	const char *start = text.s ? text.s : "";
	return (struct csv){
		.p = start,
		.end = start + text.len,
		.separator = separator,
		.none_until = start,
	};
}

void csv_release(struct csv *c)
{
	arena_release(&c->plain);
	*c = (struct csv){ 0 };
}

void csv_row_release(struct csv_row *row)
{
	free(row->fields);
	*row = (struct csv_row){ 0 };
}

/* The line feed that ends the line of p, or the end of the text. */
static const char *line_end(const struct csv *c, const char *p)
{
	const char *at = p < c->end ? memchr(p, '\n', (size_t)(c->end - p)) : NULL;
	return at ? at : c->end;
}

/* What may follow a field: a separator, or a line end. */
static bool ends_field(const struct csv *c, const char *p)
{
	if (p == c->end || *p == c->separator || *p == '\n')
		return true;
	return *p == '\r' && (p + 1 == c->end || p[1] == '\n');
}

static const char *quotes_end(const struct csv *c, const char *p)
{
	while (p < c->end && *p == '"')
		p++;
	return p;
}

/* Of a run of quotes all but one odd one are doubled. */
static bool run_closes(const struct csv *c, const char *run, const char *run_end)
{
	return (run_end - run) % 2 == 1 && ends_field(c, run_end);
}

/*
 * The closing quote of the field whose text begins at p, NULL for none. A run of quotes reads the
 * same from wherever one comes, save the one that follows the opening quote: so a search that
 * found nothing need not be made again from a later start, and the sum of all is linear.
 */
static const char *closing_quote(struct csv *c, const char *p)
{
	const char *limit = c->end - p > CSV_MAX_QUOTED ? p + CSV_MAX_QUOTED : c->end;
	const char *run_end = quotes_end(c, p);
	if (run_closes(c, p, run_end))
		return run_end - 1;
	const char *at = run_end > c->none_until ? run_end : c->none_until;
	while (at < limit && (at = memchr(at, '"', (size_t)(limit - at))) != NULL) {
		run_end = quotes_end(c, at);
		if (run_closes(c, at, run_end))
			return run_end - 1;
		at = run_end;
	}
	const char *seen = at ? at : limit;
	if (seen > c->none_until)
		c->none_until = seen;
	return NULL;
}

/* Doubled quotes made single; others stand for themselves and are counted. */
static struct str undouble(struct csv *c, struct str raw)
{
	if (raw.len == 0 || !memchr(raw.s, '"', raw.len))
		return raw;
	char *out = arena_alloc(&c->plain, raw.len);
	size_t n = 0;
	for (size_t i = 0; i < raw.len; i++) {
		out[n++] = raw.s[i];
		if (raw.s[i] != '"')
			continue;
		if (i + 1 < raw.len && raw.s[i + 1] == '"')
			i++;
		else
			c->n_broken++;
	}
	return (struct str){ out, n };
}

static struct str between(const char *start, const char *end)
{
	return (struct str){ start, (size_t)(end - start) };
}

/* The part of a line before its carriage return. */
static const char *without_return(const char *start, const char *end)
{
	return end > start && end[-1] == '\r' ? end - 1 : end;
}

/* One field; c->p is then behind it, at what ends it. *eol is the end of the line that holds it. */
static struct str next_field(struct csv *c, const char **eol)
{
	const char *start = c->p;
	if (start < c->end && *start == '"') {
		const char *close = closing_quote(c, start + 1);
		if (close) {
			if (close > *eol)
				*eol = line_end(c, close);
			c->p = close + 1;
			return undouble(c, between(start + 1, close));
		}
		c->n_broken++;
		if (*eol == c->end) {
			c->cut = true;
			c->p = c->end;
			return undouble(c, between(start + 1, c->end));
		}
	}
	const char *stop = without_return(start, *eol);
	const char *at = memchr(start, c->separator, (size_t)(stop - start));
	c->p = at ? at : stop;
	return between(start, c->p);
}

static void keep_field(struct csv *c, struct csv_row *row, struct str field)
{
	if (row->n == CSV_MAX_COLUMNS) {
		c->n_dropped++;
		return;
	}
	if (row->n == row->cap) {
		row->cap = row->cap ? row->cap * 2 : 32;
		row->fields = mem_realloc(row->fields, row->cap * sizeof *row->fields);
	}
	row->fields[row->n++] = field;
}

static void skip_empty_lines(struct csv *c)
{
	for (; c->p < c->end; c->p++) {
		bool is_return = *c->p == '\r' && (c->p + 1 == c->end || c->p[1] == '\n');
		if (*c->p != '\n' && !is_return)
			return;
	}
}

bool csv_next(struct csv *c, struct csv_row *row)
{
	row->n = 0;
	skip_empty_lines(c);
	if (c->p == c->end)
		return false;
	const char *start = c->p, *eol = line_end(c, start);
	for (;;) {
		keep_field(c, row, next_field(c, &eol));
		if (c->p == c->end || *c->p != c->separator)
			break;
		c->p++;
	}
	row->raw = between(start, c->p);
	c->p = eol < c->end ? eol + 1 : c->end;
	return true;
}

ptrdiff_t csv_column(const struct csv_row *header, struct str name)
{
	for (size_t i = 0; i < header->n; i++)
		if (str_eq(str_trim(header->fields[i]), name))
			return (ptrdiff_t)i;
	return -1;
}

struct str csv_field(const struct csv_row *row, ptrdiff_t column)
{
	return column >= 0 && (size_t)column < row->n ? row->fields[column] : STR("");
}
