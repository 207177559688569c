#include "watch/cpulist.h"

#include "watch/procfile.h"

#include <stdio.h>
#include <string.h>

static void add_range(struct cpulist *set, uint64_t first, uint64_t last)
{
	for (uint64_t cpu = first; cpu <= last; cpu++)
		set->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

bool cpulist_add(struct cpulist *set, struct str text)
{
	text = str_trim(text);
	while (text.len) {
		struct str range = str_cut(text, ',', &text);
		struct str upper, lower = str_cut(range, '-', &upper);
		uint64_t first, last;
		if (!procfile_u64(lower, &first))
			return false;
		last = first;
		if (lower.len < range.len && !procfile_u64(upper, &last))
			return false;
		if (last < first || last >= CPULIST_MAX)
			return false;
		add_range(set, first, last);
	}
	return true;
}

bool cpulist_has(const struct cpulist *set, unsigned cpu)
{
	return cpu < CPULIST_MAX && (set->words[cpu / 64] >> cpu % 64 & 1);
}

unsigned cpulist_count(const struct cpulist *set)
{
	unsigned n = 0;
	for (size_t i = 0; i < ARRAY_LEN(set->words); i++)
		n += (unsigned)__builtin_popcountll(set->words[i]);
	return n;
}

void cpulist_print(const struct cpulist *set, char *buf, size_t size)
{
	enum { RANGE_BYTES = 16, MORE_BYTES = 5 };
	size_t len = 0;
	buf[0] = '\0';
	for (unsigned cpu = 0; cpu < CPULIST_MAX; cpu++) {
		if (!cpulist_has(set, cpu))
			continue;
		unsigned first = cpu;
		while (cpulist_has(set, cpu + 1))
			cpu++;
		if (len + RANGE_BYTES + MORE_BYTES > size) {
			snprintf(buf + len, size - len, "%s...", len ? "," : "");
			return;
		}
		len += (size_t)snprintf(buf + len, size - len, "%s%u", len ? "," : "", first);
		if (cpu > first)
			len += (size_t)snprintf(buf + len, size - len, "-%u", cpu);
	}
}
