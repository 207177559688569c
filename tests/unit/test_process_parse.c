#include "tap.h"

#include "watch/process/process_parse.h"

#include <string.h>

/* After proc(5): 52 fields, the numbers of some of them telling which they are. */
#define STAT_REST                                                                                  \
	" S 17 1 1 34816 -1 4194560 1012 5 13 6 140014 140015 18 19 20 -5 21 0 22 1000000 333 "    \
	"18446744073709551615 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 "  \
	"26\n"

static void a_name_may_hold_whatever_it_likes(void)
{
	static const char *const names[] = { "cat", "a) b", "(a) b)", "a b c", "x\ny", ") S 1 2 3",
		"", "\xe4\xb8\xad" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char text[512];
		struct process_stat stat;
		snprintf(text, sizeof(text), "4711 (%s)%s", names[i], STAT_REST);
		if (!CHECK(process_parse_stat(str_of(text), &stat)))
			continue;
		CHECK(str_eq(stat.name, str_of(names[i])));
		CHECK_INT(stat.state, 'S');
		CHECK_INT(stat.parent, 17);
		CHECK_INT(stat.minor_faults, 1012);
		CHECK_INT(stat.major_faults, 13);
		CHECK_INT(stat.user_ticks, 140014);
		CHECK_INT(stat.system_ticks, 140015);
		CHECK_INT(stat.n_threads, 21);
		CHECK_INT(stat.start_ticks, 22);
	}
}

static void a_line_that_was_cut_gives_nothing_wrong(void)
{
	static const char whole[] = "4711 (a) b)" STAT_REST;
	struct process_stat stat;
	size_t n_read = 0;
	for (size_t len = 0; len < sizeof(whole); len++) {
		if (!process_parse_stat((struct str){ whole, len }, &stat))
			continue;
		n_read++;
		CHECK_INT(stat.start_ticks, 22);
		CHECK_INT(stat.n_threads, 21);
	}
	/* Read as soon as the word behind the last one that is needed has begun. */
	CHECK_INT(n_read, (const char *)strchr(whole, '\0') - strstr(whole, "1000000"));

	static const char times[] = "123456789 987654321 42\n";
	struct process_schedstat s;
	for (size_t len = 0; len < sizeof(times) - 1; len++)
		CHECK(!process_parse_schedstat((struct str){ times, len }, &s));
	CHECK(process_parse_schedstat(str_of(times), &s));
	CHECK_INT(s.cpu_ns, 123456789);
	CHECK_INT(s.wait_ns, 987654321);
	CHECK_INT(s.n_runs, 42);
	CHECK(!process_parse_schedstat(str_of("-1 2 3\n"), &s));
	CHECK(!process_parse_schedstat(str_of("99999999999999999999 2 3\n"), &s));
}

static const char status_text[] =
        "Name:\tworker\\n1\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t5\nPid:\t6\nVmPeak:\t  9 "
        "kB\n"
        "VmLck:\t       4 kB\nVmRSS:\t    1764 kB\nRssAnon:\t     112 kB\nRssFile:\t    1652 kB\n"
        "RssShmem:\t       8 kB\nVmSwap:\t       16 kB\nHugetlbPages:\t    2048 kB\nThreads:\t1\n"
        "Cpus_allowed:\tf\nCpus_allowed_list:\t0-3,8\nMems_allowed_list:\t0-1\n"
        "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";

static bool is_or_absent(uint64_t got, uint64_t want)
{
	return got == want || got == PROCESS_ABSENT;
}

static void a_status_gives_what_it_has(void)
{
	struct process_status s;
	process_parse_status(str_of(status_text), &s);
	CHECK(str_eq(s.name, STR("worker\\n1")));
	CHECK_INT(s.state, 'D');
	CHECK(str_eq(s.cpus, STR("0-3,8")));
	CHECK(str_eq(s.mems, STR("0-1")));
	CHECK_INT(s.locked, 4 * 1024);
	CHECK_INT(s.rss, 1764 * 1024);
	CHECK_INT(s.anonymous, 112 * 1024);
	CHECK_INT(s.file, 1652 * 1024);
	CHECK_INT(s.shared, 8 * 1024);
	CHECK_INT(s.swap, 16 * 1024);
	CHECK_INT(s.hugetlb, 2048 * 1024);
	CHECK_INT(s.voluntary, 150);
	CHECK_INT(s.involuntary, 545);
	for (size_t len = 0; len < sizeof(status_text) - 1; len++) {
		process_parse_status((struct str){ status_text, len }, &s);
		CHECK(is_or_absent(s.rss, 1764 * 1024) && is_or_absent(s.swap, 16 * 1024) &&
		        is_or_absent(s.voluntary, 150) && is_or_absent(s.involuntary, 545));
	}
	process_parse_status(str_of("VmRSS:\t18446744073709551615 kB\nVmSwap:\tmany kB\n"), &s);
	CHECK(s.rss == PROCESS_ABSENT && s.swap == PROCESS_ABSENT && s.state == '\0');
}

static void io_rollup_and_limits_give_what_they_have(void)
{
	struct process_io io;
	struct process_rollup rollup;
	process_parse_io(STR("rchar: 6995\nwchar: 19\nsyscr: 12\nsyscw: 1\nread_bytes: 4096\n"
	                     "write_bytes: 8192\ncancelled_write_bytes: 7\n"),
	        &io);
	CHECK_INT(io.rchar, 6995);
	CHECK_INT(io.wchar, 19);
	CHECK_INT(io.n_reads, 12);
	CHECK_INT(io.n_writes, 1);
	CHECK_INT(io.read_bytes, 4096);
	CHECK_INT(io.write_bytes, 8192);
	process_parse_io(STR("rchar: 6995\nwchar: 1"), &io);
	CHECK_INT(io.rchar, 6995);
	CHECK(io.wchar == PROCESS_ABSENT && io.read_bytes == PROCESS_ABSENT);
	process_parse_rollup(STR("5573063d5000-7ffc169fb000 ---p 00000000 00:00 0    [rollup]\n"
	                         "Rss:   1772 kB\nPss:   209 kB\nPss_Dirty:  112 kB\n"
	                         "Private_Dirty:   96 kB\nAnonHugePages:  2048 kB\n"),
	        &rollup);
	CHECK_INT(rollup.pss, 209 * 1024);
	CHECK_INT(rollup.private_dirty, 96 * 1024);
	CHECK_INT(rollup.anonymous_huge, 2048 * 1024);
	static const char limits[] =
	        "Limit                     Soft Limit           Hard Limit           Units     \n"
	        "Max processes             96364                96364                processes \n"
	        "Max open files            1024                 20000                files     \n";
	CHECK_INT(process_parse_files_limit(str_of(limits)), 1024);
	CHECK(process_parse_files_limit((struct str){ limits, strlen(limits) - 1 }) ==
	        PROCESS_ABSENT);
	CHECK(process_parse_files_limit(STR("Max open files            unlimited  x\n")) ==
	        PROCESS_ABSENT);
}

static void a_name_is_safe_to_show_on_one_line(void)
{
	static const struct {
		const char *name, *shown;
	} cases[] = {
		{ "worker 1", "worker 1" },
		{ "\033[2J", "?[2J" },
		{ "a\nb\tc", "a?b?c" },
		{ "\xff\xe4\xb8", "???" },
		{ "\xe4\xb8\xad\xe6\x96\x87", "\xe4\xb8\xad\xe6\x96\x87" },
		{ "", "" },
	};
	char buf[16];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		process_name(buf, sizeof(buf), str_of(cases[i].name));
		CHECK_STR(buf, cases[i].shown);
	}
	/* Cut between characters. */
	process_name(buf, 6, str_of("abc\xe4\xb8\xad"));
	CHECK_STR(buf, "abc");
}

int main(void)
{
	TAP_RUN(a_name_may_hold_whatever_it_likes);
	TAP_RUN(a_line_that_was_cut_gives_nothing_wrong);
	TAP_RUN(a_status_gives_what_it_has);
	TAP_RUN(io_rollup_and_limits_give_what_they_have);
	TAP_RUN(a_name_is_safe_to_show_on_one_line);
	return tap_done();
}
