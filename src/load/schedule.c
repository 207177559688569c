#include "load/schedule.h"

#include "base/i18n.h"
#include "text/json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 64, FIELD_SHOWN_MAX = 40 };

enum column { COLUMN_TIME, COLUMN_INPUT, COLUMN_OUTPUT, N_COLUMNS };

/* A row before it is placed in time. */
struct raw_row {
	double t_s;
	size_t order; /* in the file */
	struct schedule_row row;
};

struct reader {
	struct raw_row *rows;
	size_t n, cap;
	int64_t *blocks;
	size_t n_blocks, cap_blocks;
	int column[N_COLUMNS]; /* of a CSV; -1: it has none */
	bool has_lengths;
	bool from_first; /* moments count from the first row */
	const char *format;
};

static bool wrong_field(const char *what, struct str field, struct err *err)
{
	if (field.len > FIELD_SHOWN_MAX)
		field.len = FIELD_SHOWN_MAX;
	return err_set(err, ERR_INPUT, what, STR_ARG(field));
}

/* ---- moments ---- */

/* Days from 1970-01-01. Source: Hinnant, chrono-compatible low-level date algorithms. */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;
	int64_t era = y / 400, year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * 146097 + day_of_era - 719468;
}

/* n digits at the start of *text, which moves on. */
static bool take_digits(struct str *text, size_t n, int64_t *ret)
{
	int64_t value = 0;
	if (text->len < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text->s[i] < '0' || text->s[i] > '9')
			return false;
		value = value * 10 + (text->s[i] - '0');
	}
	*text = (struct str){ text->s + n, text->len - n };
	*ret = value;
	return true;
}

static bool take_char(struct str *text, const char *one_of)
{
	if (text->len == 0 || !strchr(one_of, text->s[0]) || text->s[0] == '\0')
		return false;
	*text = (struct str){ text->s + 1, text->len - 1 };
	return true;
}

static bool take_fraction(struct str *text, double *ret_s)
{
	double scale = 1;
	*ret_s = 0;
	if (!take_char(text, ".,"))
		return true;
	int64_t digit;
	if (text->len == 0 || text->s[0] < '0' || text->s[0] > '9')
		return false;
	while (take_digits(text, 1, &digit)) {
		scale /= 10;
		*ret_s += (double)digit * scale;
	}
	return true;
}

/* "Z", "+02:00", "+0200", "+02" or nothing. */
static bool take_zone(struct str *text, int64_t *ret_s)
{
	int64_t hours, minutes = 0;
	*ret_s = 0;
	if (text->len == 0 || take_char(text, "Zz"))
		return true;
	int64_t sign = text->s[0] == '-' ? -1 : 1;
	if (!take_char(text, "+-") || !take_digits(text, 2, &hours))
		return false;
	take_char(text, ":");
	if (text->len && !take_digits(text, 2, &minutes))
		return false;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* "2023-11-16 18:17:03.9799600", in seconds since 1970. */
static bool parse_date(struct str text, double *ret_s)
{
	int64_t y, mo, d, h, mi, s, zone_s;
	double fraction;
	if (!take_digits(&text, 4, &y) || !take_char(&text, "-") || !take_digits(&text, 2, &mo) ||
	        !take_char(&text, "-") || !take_digits(&text, 2, &d) || !take_char(&text, " T") ||
	        !take_digits(&text, 2, &h) || !take_char(&text, ":") ||
	        !take_digits(&text, 2, &mi) || !take_char(&text, ":") ||
	        !take_digits(&text, 2, &s) || !take_fraction(&text, &fraction) ||
	        !take_zone(&text, &zone_s) || text.len)
		return false;
	if (mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || s > 60)
		return false;
	*ret_s = (double)(days_from_civil(y, mo, d) * 86400 + h * 3600 + mi * 60 + s - zone_s) +
	         fraction;
	return true;
}

/* ---- rows ---- */

static bool add_row(struct reader *r, double t_s, int64_t input, int64_t output, size_t first_block,
        struct err *err)
{
	if (!(t_s >= 0) || t_s > 1e12)
		return err_set(err, ERR_INPUT, _("%.15g s is no moment of a schedule"), t_s);
	if (input < 0 || input > SCHEDULE_TOKENS_MAX || output < 0 || output > SCHEDULE_TOKENS_MAX)
		return err_set(err, ERR_INPUT, _("a length of %lld tokens is not between 0 and %d"),
		        (long long)(input < 0 || input > SCHEDULE_TOKENS_MAX ? input : output),
		        SCHEDULE_TOKENS_MAX);
	if (r->n == SCHEDULE_ROWS_MAX)
		return err_set(err, ERR_INPUT, _("more than %d requests"), SCHEDULE_ROWS_MAX);
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 1024;
		r->rows = mem_realloc(r->rows, r->cap * sizeof(*r->rows));
	}
	r->rows[r->n] = (struct raw_row){
		.t_s = t_s,
		.order = r->n,
		.row = {
			/* A request that failed when it was recorded has an answer of 0. */
			.input_tokens = input > 0 ? input : 1,
			.output_tokens = output > 0 ? output : 1,
			.first_block = first_block,
			.n_blocks = (uint32_t)(r->n_blocks - first_block),
		},
	};
	r->n++;
	return true;
}

static bool add_block(struct reader *r, int64_t id)
{
	if (r->n_blocks == SCHEDULE_BLOCKS_MAX)
		return false;
	if (r->n_blocks == r->cap_blocks) {
		r->cap_blocks = r->cap_blocks ? 2 * r->cap_blocks : 4096;
		r->blocks = mem_realloc(r->blocks, r->cap_blocks * sizeof(*r->blocks));
	}
	r->blocks[r->n_blocks++] = id;
	return true;
}

/* ---- JSON lines ---- */

static bool read_blocks(struct reader *r, struct json_scan *s)
{
	int64_t id;
	if (!json_scan_array(s))
		return false;
	while (json_scan_element(s))
		if (!json_scan_int(s, &id) || !add_block(r, id))
			return false;
	return true;
}

static bool read_json_line(struct reader *r, struct str line, struct err *err)
{
	struct json_scan s = json_scan_of(line);
	struct str key;
	double ms = -1;
	int64_t input = -1, output = -1;
	size_t first_block = r->n_blocks;
	bool ok = json_scan_object(&s);
	while (ok && json_scan_key(&s, &key)) {
		if (str_eq(key, STR("timestamp")))
			ok = json_scan_double(&s, &ms);
		else if (str_eq(key, STR("input_length")))
			ok = json_scan_int(&s, &input);
		else if (str_eq(key, STR("output_length")))
			ok = json_scan_int(&s, &output);
		else if (str_eq(key, STR("hash_ids")) && r->n_blocks == first_block)
			ok = read_blocks(r, &s);
		else
			json_scan_skip(&s);
	}
	if (!ok || !json_scan_ended(&s) || ms < 0 || input < 0 || output < 0)
		return err_set(err, ERR_INPUT,
		        _("not a JSON object with 'timestamp' in milliseconds, 'input_length' and "
		          "'output_length'"));
	return add_row(r, ms / 1e3, input, output, first_block, err);
}

/* ---- CSV ---- */

/* The next field, without the quotes around it; a comma inside them does not end it. */
static struct str next_field(struct str *rest)
{
	struct str line = *rest;
	size_t i = 0;
	bool quoted = line.len && line.s[0] == '"';
	if (quoted)
		for (i = 1; i < line.len && line.s[i] != '"'; i++)
			;
	while (i < line.len && line.s[i] != ',')
		i++;
	struct str field = str_trim((struct str){ line.s, i });
	i += i < line.len;
	*rest = (struct str){ line.s + i, line.len - i };
	if (quoted && field.len >= 2 && field.s[field.len - 1] == '"')
		field = (struct str){ field.s + 1, field.len - 2 };
	return field;
}

static const struct {
	const char *name;
	enum column column;
} column_names[] = {
	{ "seconds", COLUMN_TIME },
	{ "timestamp", COLUMN_TIME },
	{ "contexttokens", COLUMN_INPUT },
	{ "request tokens", COLUMN_INPUT },
	{ "input_tokens", COLUMN_INPUT },
	{ "generatedtokens", COLUMN_OUTPUT },
	{ "response tokens", COLUMN_OUTPUT },
	{ "output_tokens", COLUMN_OUTPUT },
};

/* Formats by their name of the prompt's length. */
static const struct {
	const char *name, *format;
} csv_formats[] = {
	{ "contexttokens", "azure" },
	{ "request tokens", "burstgpt" },
};

static void read_heading(struct reader *r, struct str name, int i)
{
	for (size_t k = 0; k < ARRAY_LEN(column_names); k++)
		if (str_eq_nocase(name, str_of(column_names[k].name)) &&
		        r->column[column_names[k].column] < 0)
			r->column[column_names[k].column] = i;
	for (size_t k = 0; k < ARRAY_LEN(csv_formats); k++)
		if (str_eq_nocase(name, str_of(csv_formats[k].name)))
			r->format = csv_formats[k].format;
	if (str_eq_nocase(name, STR("timestamp")))
		r->from_first = true;
}

static bool read_header(struct reader *r, struct str line, struct err *err)
{
	for (int i = 0; i < N_COLUMNS; i++)
		r->column[i] = -1;
	r->format = "csv";
	for (int i = 0; line.len && i < COLUMNS_MAX; i++)
		read_heading(r, next_field(&line), i);
	r->has_lengths = r->column[COLUMN_INPUT] >= 0 && r->column[COLUMN_OUTPUT] >= 0;
	if (r->column[COLUMN_TIME] >= 0)
		return true;
	err_set(err, ERR_INPUT, _("not a schedule"));
	return err_hint(err,
	        _("schedules are Mooncake's JSON lines, the CSV of Azure's traces, of BurstGPT or "
	          "with "
	          "a heading such as '%s', or seconds, one number a line"),
	        SCHEDULE_CSV_LENGTHS);
}

static bool read_csv_line(struct reader *r, struct str line, struct err *err)
{
	struct str fields[N_COLUMNS] = { 0 };
	int64_t lengths[N_COLUMNS] = { 0 };
	double t_s;
	for (int i = 0; line.len && i < COLUMNS_MAX; i++) {
		struct str field = next_field(&line);
		for (int k = 0; k < N_COLUMNS; k++)
			if (r->column[k] == i)
				fields[k] = field;
	}
	if (!str_to_double(fields[COLUMN_TIME], &t_s) && !parse_date(fields[COLUMN_TIME], &t_s))
		return wrong_field(
		        _("'%.*s' is neither a number of seconds nor a date with a time"),
		        fields[COLUMN_TIME], err);
	for (int k = COLUMN_INPUT; r->has_lengths && k < N_COLUMNS; k++) {
		double value;
		if (!str_to_double(fields[k], &value) || !(fabs(value) < 1e15))
			return wrong_field(_("'%.*s' is not a number of tokens"), fields[k], err);
		lengths[k] = llround(value);
	}
	return add_row(r, t_s, lengths[COLUMN_INPUT], lengths[COLUMN_OUTPUT], r->n_blocks, err);
}

static bool read_number_line(struct reader *r, struct str line, struct err *err)
{
	double t_s;
	if (!str_to_double(line, &t_s))
		return wrong_field(_("'%.*s' is not a number of seconds"), line, err);
	return add_row(r, t_s, 0, 0, r->n_blocks, err);
}

/* ---- a whole file ---- */

typedef bool line_reader(struct reader *r, struct str line, struct err *err);

/* What the first line says; a heading is read. */
static line_reader *recognise(struct reader *r, struct str line, struct err *err)
{
	double number;
	if (line.s[0] == '{') {
		r->format = "mooncake";
		r->has_lengths = true;
		r->from_first = true;
		return read_json_line;
	}
	if (str_to_double(line, &number)) {
		r->format = "seconds";
		return read_number_line;
	}
	return read_header(r, line, err) ? read_csv_line : NULL;
}

static bool read_lines(struct reader *r, struct str text, const char *source, struct err *err)
{
	line_reader *read = NULL;
	if (str_starts(text, STR("\xEF\xBB\xBF")))
		text = (struct str){ text.s + 3, text.len - 3 };
	for (int number = 1; text.len; number++) {
		struct str line = str_trim(str_cut(text, '\n', &text));
		bool ok = true;
		if (line.len == 0)
			continue;
		if (!read) {
			read = recognise(r, line, err);
			ok = read != NULL;
			if (read == read_csv_line)
				continue;
		}
		if (!ok || !read(r, line, err))
			return err_wrap(err, _("'%s', line %d"), source, number);
	}
	if (r->n == 0)
		return err_set(err, ERR_INPUT, _("'%s' has no requests"), source);
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct raw_row *x = a, *y = b;
	if (x->t_s != y->t_s)
		return x->t_s < y->t_s ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/*
 * The least power of two that is enough for every prompt's blocks; traces do not say how many
 * tokens a block has.
 */
static int64_t block_size(const struct reader *r)
{
	int64_t size = 1;
	if (r->n_blocks == 0)
		return 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct schedule_row *row = &r->rows[i].row;
		while (row->n_blocks && size * (int64_t)row->n_blocks < row->input_tokens)
			size *= 2;
	}
	return size;
}

static bool place(const struct reader *r, const char *source, double speed, struct arena *run,
        const struct schedule **ret_schedule, struct err *err)
{
	struct schedule *s = arena_new(run, struct schedule);
	double origin = r->from_first ? r->rows[0].t_s : 0;
	if (r->rows[r->n - 1].t_s - origin > SCHEDULE_SPAN_MAX_S)
		return err_set(err, ERR_INPUT, _("'%s' reaches over more than %d hours"), source,
		        SCHEDULE_SPAN_MAX_S / 3600);
	*s = (struct schedule){
		.rows = arena_new_n(run, struct schedule_row, r->n),
		.n = r->n,
		.has_lengths = r->has_lengths,
		.n_blocks = r->n_blocks,
		.block_tokens = block_size(r),
		.format = r->format,
	};
	for (size_t i = 0; i < r->n; i++) {
		double t_s = (r->rows[i].t_s - origin) / speed;
		s->rows[i] = r->rows[i].row;
		s->rows[i].at_ns = llround(fmin(t_s * 1e9, SCHEDULE_NS_MAX));
	}
	if (r->n_blocks) {
		int64_t *blocks = arena_new_n(run, int64_t, r->n_blocks);
		memcpy(blocks, r->blocks, r->n_blocks * sizeof(*blocks));
		s->blocks = blocks;
	}
	*ret_schedule = s;
	return true;
}

bool schedule_parse(struct str text, const char *source, double speed, struct arena *run,
        const struct schedule **ret_schedule, struct err *err)
{
	struct reader r = { 0 };
	bool ok = read_lines(&r, text, source, err);
	if (ok) {
		qsort(r.rows, r.n, sizeof(*r.rows), by_time);
		ok = place(&r, source, speed, run, ret_schedule, err);
	}
	free(r.rows);
	free(r.blocks);
	return ok;
}

bool schedule_read(const char *path, double speed, struct arena *run,
        const struct schedule **ret_schedule, struct err *err)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	struct str text;
	return str_read_file(path, SCHEDULE_FILE_MAX, &tmp, &text, err) &&
	       schedule_parse(text, path, speed, run, ret_schedule, err);
}

/* The first row at or after a moment. */
static size_t first_at(const struct schedule *s, int64_t t_ns)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->rows[middle].at_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t schedule_count(const struct schedule *s, int64_t from_ns, int64_t to_ns)
{
	size_t from = first_at(s, from_ns), to = first_at(s, to_ns);
	return to > from ? to - from : 0;
}
