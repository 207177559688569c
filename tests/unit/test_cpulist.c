#include "tap.h"

#include "watch/cpulist.h"

static void a_list_is_read_counted_and_written_as_the_kernel_does(void)
{
	static const struct {
		const char *text;
		unsigned n;
		const char *written;
	} cases[] = {
		{ "0", 1, "0" },
		{ "0-3,8", 5, "0-3,8" },
		{ " 62-65,4095\n", 5, "62-65,4095" },
		{ "3,1,2", 3, "1-3" },
		{ "", 0, "" },
		{ "\n", 0, "" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cpulist set = { 0 };
		char buf[64];
		CHECK(cpulist_add(&set, str_of(cases[i].text)));
		CHECK_INT(cpulist_count(&set), cases[i].n);
		cpulist_print(&set, buf, sizeof(buf));
		CHECK_STR(buf, cases[i].written);
	}
}

static void what_is_no_list_is_refused(void)
{
	static const char *const cases[] = { "a", "0-", "3-1", "4096", "0-4096", "-1", "1,,2",
		"0 1", "99999999999999999999" };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cpulist set = { 0 };
		CHECK(!cpulist_add(&set, str_of(cases[i])));
	}
}

static void a_list_that_does_not_fit_says_so(void)
{
	struct cpulist set = { 0 };
	char buf[32];
	for (unsigned cpu = 1000; cpu < 1100; cpu += 2) {
		char one[8];
		snprintf(one, sizeof(one), "%u", cpu);
		CHECK(cpulist_add(&set, str_of(one)));
	}
	cpulist_print(&set, buf, sizeof(buf));
	CHECK_STR(buf, "1000,1002,1004,...");
}

int main(void)
{
	TAP_RUN(a_list_is_read_counted_and_written_as_the_kernel_does);
	TAP_RUN(what_is_no_list_is_refused);
	TAP_RUN(a_list_that_does_not_fit_says_so);
	return tap_done();
}
