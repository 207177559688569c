#include "base/units.h"

#include "base/clock.h"

#include <math.h>

struct unit {
	const char *name;
	double factor;
};

static const struct unit durations[] = {
	{ "ns", 1 },
	{ "us", 1e3 },
	{ "ms", 1e6 },
	{ "s", 1e9 },
	{ "m", 60e9 },
	{ "min", 60e9 },
	{ "h", 3600e9 },
};

static const struct unit sizes[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "KiB", 0x1p10 },
	{ "MiB", 0x1p20 },
	{ "GiB", 0x1p30 },
	{ "TiB", 0x1p40 },
	{ "KB", 1e3 },
	{ "MB", 1e6 },
	{ "GB", 1e9 },
	{ "TB", 1e12 },
};

static bool parse(struct str text, const struct unit *units, size_t n, double max, double *ret)
{
	size_t digits = 0;
	double value;
	while (digits < text.len &&
	        ((text.s[digits] >= '0' && text.s[digits] <= '9') || text.s[digits] == '.'))
		digits++;
	if (!str_to_double((struct str){ text.s, digits }, &value))
		return false;
	struct str name = { text.s + digits, text.len - digits };
	for (size_t i = 0; i < n; i++) {
		if (!str_eq(name, str_of(units[i].name)))
			continue;
		*ret = value * units[i].factor;
		return *ret <= max;
	}
	*ret = 0;
	return name.len == 0 && value == 0;
}

bool units_parse_duration(struct str text, int64_t *ret_ns)
{
	double ns;
	if (!parse(text, durations, ARRAY_LEN(durations), 1e4 * 3600e9, &ns))
		return false;
	*ret_ns = llround(ns);
	return true;
}

bool units_parse_size(struct str text, int64_t *ret_bytes)
{
	double bytes;
	if (!parse(text, sizes, ARRAY_LEN(sizes), 0x1p60, &bytes))
		return false;
	*ret_bytes = llround(bytes);
	return true;
}

/* Three significant digits, without the exponent that %g would fall back to. */
static const char *three_digits(double value, const char *unit, char out[UNITS_TEXT])
{
	int decimals = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
	snprintf(out, UNITS_TEXT, "%.*f %s", decimals, value, unit);
	return out;
}

const char *units_duration(double ns, char out[UNITS_TEXT])
{
	static const struct unit shown[] = { { "min", 60e9 }, { "s", 1e9 }, { "ms", 1e6 },
		{ "us", 1e3 } };
	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		/* 100 s reads better than 1.67 min. */
		double from = i == 0 ? 600e9 : shown[i].factor * 0.9995;
		if (fabs(ns) >= from)
			return three_digits(ns / shown[i].factor, shown[i].name, out);
	}
	snprintf(out, UNITS_TEXT, "%.0f ns", ns);
	return out;
}

const char *units_size(double bytes, char out[UNITS_TEXT])
{
	static const struct unit shown[] = { { "TiB", 0x1p40 }, { "GiB", 0x1p30 },
		{ "MiB", 0x1p20 }, { "KiB", 0x1p10 } };
	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		if (fabs(bytes) >= shown[i].factor)
			return three_digits(bytes / shown[i].factor, shown[i].name, out);
	snprintf(out, UNITS_TEXT, "%.0f B", bytes);
	return out;
}
