#include "text/chart.h"

#include "base/utf8.h"

#include <math.h>

enum { EIGHTHS = 8 };

/* The largest finite value, or 0. */
static double larger(double largest, double value)
{
	return isfinite(value) && value > largest ? value : largest;
}

/* The share of value in largest, 0 to 1; an infinite value is full. */
static double share(double value, double largest)
{
	if (!(value > 0) || largest <= 0)
		return isinf(value) && value > 0;
	return fmin(value / largest, 1);
}

void chart_spark(struct buf *out, const double *values, size_t n)
{
	static const char *const levels[EIGHTHS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	double largest = 0;
	for (size_t i = 0; i < n; i++)
		largest = larger(largest, values[i]);
	for (size_t i = 0; i < n; i++) {
		long level = lround(share(values[i], largest) * (EIGHTHS - 1));
		buf_add_c(out, isnan(values[i]) ? " " : levels[level]);
	}
}

static void add_bar(struct buf *out, double ratio, int width)
{
	static const char *const parts[EIGHTHS] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	long eighths = lround(ratio * width * EIGHTHS);
	if (eighths == 0 && ratio > 0)
		eighths = 1;
	for (long i = 0; i < eighths / EIGHTHS; i++)
		buf_add_c(out, "█");
	buf_add_c(out, parts[eighths % EIGHTHS]);
}

void chart_bars(struct buf *out, const struct chart_bar *bars, size_t n, int width, int indent)
{
	double largest = 0;
	int label_width = 0;
	for (size_t i = 0; i < n; i++) {
		int w = utf8_width(str_of(bars[i].label));
		label_width = w > label_width ? w : label_width;
		largest = larger(largest, bars[i].value);
	}
	for (size_t i = 0; i < n; i++) {
		double ratio = share(bars[i].value, largest);
		bool noted = bars[i].note && bars[i].note[0];
		buf_add_blanks(out, indent + label_width - utf8_width(str_of(bars[i].label)));
		buf_add_c(out, bars[i].label);
		if (ratio > 0 || noted)
			buf_add_char(out, ' ');
		add_bar(out, ratio, width);
		if (noted)
			buf_printf(out, ratio > 0 ? " %s" : "%s", bars[i].note);
		buf_add_char(out, '\n');
	}
}
