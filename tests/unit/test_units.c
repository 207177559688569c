#include "base/units.h"

#include "tap.h"

static void durations_need_a_unit_except_after_zero(void)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t want;
	} cases[] = {
		{ "0", true, 0 },
		{ "0s", true, 0 },
		{ "1ns", true, 1 },
		{ "250us", true, 250000 },
		{ "500ms", true, 500000000 },
		{ "1.5s", true, 1500000000 },
		{ ".5s", true, 500000000 },
		{ "0.1s", true, 100000000 },
		{ "2m", true, INT64_C(120000000000) },
		{ "2min", true, INT64_C(120000000000) },
		{ "1h", true, INT64_C(3600000000000) },
		{ "10000h", true, INT64_C(36000000000000000) },
		{ "10001h", false, 0 },
		{ "5", false, 0 },
		{ "", false, 0 },
		{ "s", false, 0 },
		{ "-1s", false, 0 },
		{ "+1s", false, 0 },
		{ "1 s", false, 0 },
		{ "1S", false, 0 },
		{ "1.2.3s", false, 0 },
		{ "1e3s", false, 0 },
		{ "1ms2", false, 0 },
		{ "1d", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t got = 77;
		if (!CHECK(units_parse_duration(str_of(cases[i].text), &got) == cases[i].ok) ||
		        !CHECK_INT(got, cases[i].ok ? cases[i].want : 77))
			printf("#   '%s'\n", cases[i].text);
	}
}

static void sizes_are_bytes_or_powers_of_1024_or_1000(void)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t want;
	} cases[] = {
		{ "0", true, 0 },
		{ "1000", true, 1000 },
		{ "512B", true, 512 },
		{ "64KiB", true, 65536 },
		{ "1.5MiB", true, 1572864 },
		{ "4GiB", true, INT64_C(4294967296) },
		{ "1TiB", true, INT64_C(1099511627776) },
		{ "2KB", true, 2000 },
		{ "3MB", true, 3000000 },
		{ "4GB", true, INT64_C(4000000000) },
		{ "5TB", true, INT64_C(5000000000000) },
		{ "2000000TiB", false, 0 },
		{ "1kib", false, 0 },
		{ "-1", false, 0 },
		{ "x", false, 0 },
		{ "", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t got = 77;
		if (!CHECK(units_parse_size(str_of(cases[i].text), &got) == cases[i].ok) ||
		        !CHECK_INT(got, cases[i].ok ? cases[i].want : 77))
			printf("#   '%s'\n", cases[i].text);
	}
}

static void durations_are_shown_with_three_digits(void)
{
	static const struct {
		double ns;
		const char *want;
	} cases[] = {
		{ 0, "0 ns" },
		{ 834, "834 ns" },
		{ 999.4, "999 ns" },
		{ 999.6, "1.00 us" },
		{ 1234, "1.23 us" },
		{ 12.34e6, "12.3 ms" },
		{ 9.996e6, "10.0 ms" },
		{ 99.96e6, "100 ms" },
		{ 999.6e6, "1.00 s" },
		{ 2.5e9, "2.50 s" },
		{ 599e9, "599 s" },
		{ 600e9, "10.0 min" },
		{ 7200e9, "120 min" },
		{ -123.4e6, "-123 ms" },
		{ -5e6, "-5.00 ms" },
	};
	char out[UNITS_TEXT];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(units_duration(cases[i].ns, out), cases[i].want);
}

static void sizes_are_shown_in_powers_of_1024(void)
{
	char out[UNITS_TEXT];
	CHECK_STR(units_size(512, out), "512 B");
	CHECK_STR(units_size(65536, out), "64.0 KiB");
	CHECK_STR(units_size(4.2 * 0x1p30, out), "4.20 GiB");
	CHECK_STR(units_size(-3 * 0x1p20, out), "-3.00 MiB");
	CHECK_STR(units_size(2048 * 0x1p40, out), "2048 TiB");
}

int main(void)
{
	TAP_RUN(durations_need_a_unit_except_after_zero);
	TAP_RUN(sizes_are_bytes_or_powers_of_1024_or_1000);
	TAP_RUN(durations_are_shown_with_three_digits);
	TAP_RUN(sizes_are_shown_in_powers_of_1024);
	return tap_done();
}
