#include "text/chart.h"

#include "tap.h"

static void a_spark_is_scaled_from_zero_to_the_largest(void)
{
	static const struct {
		double values[10];
		size_t n;
		const char *want;
	} cases[] = {
		{ { 0, 1, 2, 3, 4, 5, 6, 7 }, 8, "▁▂▃▄▅▆▇█" },
		{ { 700, 0, 350 }, 3, "█▁▅" },
		{ { 1, NAN, 1 }, 3, "█ █" },
		{ { 0, 0 }, 2, "▁▁" },
		{ { -5, 5 }, 2, "▁█" },
		{ { 1, INFINITY, -INFINITY }, 3, "██▁" },
		{ { NAN }, 1, " " },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		chart_spark(&out, cases[i].values, cases[i].n);
		CHECK_STR(out.s, cases[i].want);
	}
	AUTO(auto_buf) struct buf none = { 0 };
	chart_spark(&none, NULL, 0);
	CHECK_INT(none.len, 0);
}

static void bars_are_as_long_as_their_values_to_an_eighth(void)
{
	static const struct chart_bar bars[] = {
		{ "10 ms", 8, "80 %" },
		{ "中", 4, NULL },
		{ "100 ms", 1.25, "12.5 %" },
		{ "rare", 1e-9, "once" },
		{ "none", 0, "0" },
		{ "absent", NAN, NULL },
	};
	AUTO(auto_buf) struct buf out = { 0 };
	chart_bars(&out, bars, ARRAY_LEN(bars), 8, 2);
	CHECK_STR(out.s, "   10 ms ████████ 80 %\n"
	                 "      中 ████\n"
	                 "  100 ms █▎ 12.5 %\n"
	                 "    rare ▏ once\n"
	                 "    none 0\n"
	                 "  absent\n");
}

static void bars_without_a_value_are_none(void)
{
	static const struct chart_bar bars[] = { { "a", 0, NULL }, { "b", -3, "" } };
	AUTO(auto_buf) struct buf out = { 0 };
	chart_bars(&out, bars, ARRAY_LEN(bars), 10, 0);
	CHECK_STR(out.s, "a\nb\n");
	buf_clear(&out);
	chart_bars(&out, NULL, 0, 10, 0);
	CHECK_STR(out.s, "");
}

int main(void)
{
	TAP_RUN(a_spark_is_scaled_from_zero_to_the_largest);
	TAP_RUN(bars_are_as_long_as_their_values_to_an_eighth);
	TAP_RUN(bars_without_a_value_are_none);
	return tap_done();
}
