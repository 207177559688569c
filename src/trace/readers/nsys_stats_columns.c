#include "trace/readers/nsys_stats_columns.h"

struct column_name {
	const char *name;
	enum stats_column column;
};

/* Without their units. What is not here, the averages for one, is not read. */
static const struct column_name column_names[] = {
	{ "Start", STATS_START },
	{ "Duration", STATS_DURATION },
	{ "End", STATS_END },
	{ "Name", STATS_NAME },
	{ "Kernel Name", STATS_NAME },
	{ "Operation", STATS_NAME },
	{ "Range", STATS_RANGE },
	{ "CorrId", STATS_CORRELATION },
	{ "CorrID", STATS_CORRELATION },
	{ "GrdX", STATS_GRID_X },
	{ "GrdY", STATS_GRID_Y },
	{ "GrdZ", STATS_GRID_Z },
	{ "BlkX", STATS_BLOCK_X },
	{ "BlkY", STATS_BLOCK_Y },
	{ "BlkZ", STATS_BLOCK_Z },
	{ "Reg/Trd", STATS_REGISTERS },
	{ "Bytes", STATS_BYTES },
	{ "SrcMemKd", STATS_FROM },
	{ "DstMemKd", STATS_TO },
	{ "Device", STATS_DEVICE },
	{ "DevId", STATS_DEVICE },
	{ "Strm", STATS_STREAM },
	{ "Pid", STATS_PROCESS },
	{ "PID", STATS_PROCESS },
	{ "Tid", STATS_THREAD },
	{ "TID", STATS_THREAD },
	{ "API Start", STATS_API_START },
	{ "API Dur", STATS_API_DURATION },
	{ "API Function", STATS_API_NAME },
	{ "Kernel Start", STATS_KERNEL_START },
	{ "Kernel Dur", STATS_KERNEL_DURATION },
	{ "Total Time", STATS_TOTAL_TIME },
	{ "Total", STATS_TOTAL_SIZE },
	{ "Instances", STATS_COUNT },
	{ "Count", STATS_COUNT },
	{ "Operations", STATS_COUNT },
	{ "Num Calls", STATS_CALLS },
	{ "Calls", STATS_CALLS },
	{ "Max", STATS_MAX },
	{ "Maximum", STATS_MAX },
	{ "Category", STATS_CATEGORY },
};

struct unit_name {
	const char *name;
	int64_t value;
};

static const struct unit_name unit_names[] = {
	{ "ns", 1 },
	{ "nsec", 1 },
	{ "us", 1000 },
	{ "usec", 1000 },
	{ "ms", 1000000 },
	{ "msec", 1000000 },
	{ "s", 1000000000 },
	{ "sec", 1000000000 },
	{ "B", 1 },
	{ "bytes", 1 },
	{ "KB", 1000 },
	{ "MB", 1000000 },
	{ "GB", 1000000000 },
	{ "KiB", 1 << 10 },
	{ "MiB", 1 << 20 },
	{ "GiB", 1 << 30 },
};

static int64_t unit_of(struct str text)
{
	for (size_t i = 0; i < ARRAY_LEN(unit_names); i++)
		if (str_eq(text, str_of(unit_names[i].name)))
			return unit_names[i].value;
	return 1;
}

/* The first words of all headers: a row of values starts with a number or a name. */
static bool may_be_header(const struct csv_row *row)
{
	static const char *const first[] = { "Time", "Start", "API Start", "Total", "Name" };
	struct str cell = row->fields[0];
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		if (str_starts(cell, str_of(first[i])))
			return row->n >= 3;
	return false;
}

static void take_column(struct stats_columns *c, struct str cell, ptrdiff_t at)
{
	struct str unit;
	struct str name = str_trim(str_cut(cell, '(', &unit));
	for (size_t i = 0; i < ARRAY_LEN(column_names); i++) {
		enum stats_column column = column_names[i].column;
		if (c->at[column] >= 0 || !str_eq(name, str_of(column_names[i].name)))
			continue;
		struct str rest;
		c->at[column] = at;
		c->unit[column] = unit_of(str_cut(unit, ')', &rest));
		return;
	}
}

bool stats_columns_of(const struct csv_row *row, struct stats_columns *ret)
{
	struct stats_columns c;
	for (int i = 0; i < N_STATS_COLUMNS; i++) {
		c.at[i] = -1;
		c.unit[i] = 1;
	}
	if (!may_be_header(row))
		return false;
	for (size_t i = 0; i < row->n; i++)
		take_column(&c, row->fields[i], (ptrdiff_t)i);
	bool is_named = stats_has(&c, STATS_NAME) || stats_has(&c, STATS_RANGE);
	bool is_timed = stats_has(&c, STATS_START) || stats_has(&c, STATS_API_START) ||
	                stats_has(&c, STATS_TOTAL_TIME) || stats_has(&c, STATS_TOTAL_SIZE);
	if (!is_named || !is_timed)
		return false;
	*ret = c;
	return true;
}

bool stats_has(const struct stats_columns *c, enum stats_column column)
{
	return c->at[column] >= 0;
}

struct str stats_text(
        const struct stats_columns *c, const struct csv_row *row, enum stats_column column)
{
	return str_trim(csv_field(row, c->at[column]));
}

/* A digit behind the ones that are there; false when the number gets too large. */
static bool add_digit(int64_t *value, char c)
{
	return !__builtin_mul_overflow(*value, 10, value) &&
	       !__builtin_add_overflow(*value, c - '0', value);
}

/* Digits with commas in them, up to something else; at least one. */
static bool take_digits(struct str *text, int64_t *ret)
{
	bool any = false;
	for (; text->len; text->s++, text->len--) {
		char c = text->s[0];
		if (c == ',' && any)
			continue;
		if (c < '0' || c > '9')
			break;
		if (!add_digit(ret, c))
			return false;
		any = true;
	}
	return any;
}

bool stats_number(const struct stats_columns *c, const struct csv_row *row,
        enum stats_column column, int64_t *ret)
{
	struct str text = stats_text(c, row, column);
	int64_t value = 0, fraction = 0, one = 1, unit = c->unit[column];
	bool negative = text.len && text.s[0] == '-';
	if (negative)
		text = (struct str){ text.s + 1, text.len - 1 };
	if (!take_digits(&text, &value) || __builtin_mul_overflow(value, unit, &value))
		return false;
	if (text.len && text.s[0] == '.') {
		struct str digits = { text.s + 1, text.len - 1 };
		for (; digits.len && digits.s[0] >= '0' && digits.s[0] <= '9'; digits.s++) {
			digits.len--;
			if (one < INT64_C(1000000000) && add_digit(&fraction, digits.s[0]))
				one *= 10;
		}
		text = digits;
	}
	/* Below 10^9 times at most 2^30: it fits. */
	int64_t part = (fraction * unit + one / 2) / one;
	if (text.len || __builtin_add_overflow(value, part, &value))
		return false;
	*ret = negative ? -value : value;
	return true;
}
