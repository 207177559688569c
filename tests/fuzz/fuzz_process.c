/*
 * fuzz_process.c - any bytes as each file of a process in /proc: what a file gives that was cut
 * anywhere is what the whole one gives, or nothing.
 */
#include "watch/cpulist.h"
#include "watch/process/process_parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* What a cut text gives: nothing, or the same. */
static void check_number(uint64_t cut, uint64_t whole)
{
	check(cut == PROCESS_ABSENT || cut == whole);
}

static void inside(struct str part, struct str text)
{
	check(part.len == 0 || (part.s >= text.s && part.s + part.len <= text.s + text.len));
}

static void check_stat(struct str text)
{
	struct process_stat stat;
	if (!process_parse_stat(text, &stat))
		return;
	inside(stat.name, text);
	check(stat.state != '\0' || memchr(text.s, '\0', text.len));
}

static void check_status(struct str text, struct str cut)
{
	struct process_status a, b;
	process_parse_status(text, &a);
	process_parse_status(cut, &b);
	inside(a.name, text);
	inside(a.cpus, text);
	inside(a.mems, text);
	check_number(b.rss, a.rss);
	check_number(b.anonymous, a.anonymous);
	check_number(b.hugetlb, a.hugetlb);
	check_number(b.voluntary, a.voluntary);
	check_number(b.involuntary, a.involuntary);
	check(b.cpus.len == 0 || str_eq(a.cpus, b.cpus));
}

static void check_io(struct str text, struct str cut)
{
	struct process_io a, b;
	process_parse_io(text, &a);
	process_parse_io(cut, &b);
	check_number(b.rchar, a.rchar);
	check_number(b.n_writes, a.n_writes);
	check_number(b.write_bytes, a.write_bytes);
}

static void check_rollup(struct str text, struct str cut)
{
	struct process_rollup a, b;
	process_parse_rollup(text, &a);
	process_parse_rollup(cut, &b);
	check_number(b.pss, a.pss);
	check_number(b.private_dirty, a.private_dirty);
	check_number(b.anonymous_huge, a.anonymous_huge);
}

static void check_schedstat(struct str text)
{
	struct process_schedstat s;
	if (process_parse_schedstat(text, &s))
		check(text.s[text.len - 1] == '\n');
}

/* What was printed of a list is read as the same list. */
static void check_cpulist(struct str text)
{
	char buf[32768];
	struct cpulist a = { 0 }, b = { 0 };
	if (!cpulist_add(&a, text))
		return;
	cpulist_print(&a, buf, sizeof(buf));
	check(cpulist_add(&b, str_of(buf)) && memcmp(&a, &b, sizeof(a)) == 0);
	cpulist_print(&a, buf, 24);
	check(strlen(buf) < 24);
}

static void check_name(struct str text)
{
	char buf[24];
	process_name(buf, sizeof(buf), text);
	for (const char *c = buf; *c; c++)
		check((unsigned char)*c >= ' ' && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of its own, so that reading beyond the end is found. */
	char *copy = malloc(size + 1);
	memcpy(copy, data, size);
	struct str text = { copy, size };
	for (size_t len = size; len <= size; len = len > 64 ? len - 37 : len - 1) {
		struct str cut = { copy, len };
		check_status(text, cut);
		check_io(text, cut);
		check_rollup(text, cut);
		check_number(process_parse_files_limit(cut), process_parse_files_limit(text));
	}
	check_stat(text);
	check_schedstat(text);
	check_cpulist(text);
	check_name(text);
	free(copy);
	return 0;
}
