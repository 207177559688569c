/*
 * Where an event starts, told by what it looks like: the only way on behind damage, and into the
 * middle of a file.
 */
#include "trace/scan/scan.h"

#include <string.h>

/* The members that writers begin an event with. */
static const struct str first_members[] = {
	STR_INIT("\"ph\""),
	STR_INIT("\"name\""),
	STR_INIT("\"cat\""),
	STR_INIT("\"pid\""),
	STR_INIT("\"ts\""),
	/* Where members are sorted by their names. */
	STR_INIT("\"args\""),
	STR_INIT("\"dur\""),
};

static enum scan_result is_first_member(const char *p, const char *end)
{
	enum scan_result result = SCAN_BROKEN;
	for (size_t i = 0; i < sizeof first_members / sizeof *first_members; i++) {
		struct str key = first_members[i];
		size_t left = (size_t)(end - p);
		if (memcmp(p, key.s, left < key.len ? left : key.len) != 0)
			continue;
		if (left < key.len) {
			result = SCAN_MORE;
			continue;
		}
		p = scan_blanks(p + key.len, end);
		if (p == end)
			return SCAN_MORE;
		return *p == ':' ? SCAN_OK : SCAN_BROKEN;
	}
	return result;
}

enum scan_result scan_is_start(const char *text, const char *p, const char *end)
{
	const char *before = p;
	while (before > text && (unsigned char)before[-1] <= ' ')
		before--;
	/* The value of a member: "args": {"name": "python"} */
	if (before > text && before[-1] == ':')
		return SCAN_BROKEN;
	p = scan_blanks(p + 1, end);
	return is_first_member(p, end);
}

const char *scan_next_start(const char *text, const char *p, const char *end)
{
	for (; p < end; p++) {
		p = memchr(p, '{', (size_t)(end - p));
		if (!p)
			return end;
		if (scan_is_start(text, p, end) != SCAN_BROKEN)
			return p;
	}
	return end;
}

const char *scan_last_start(const char *text, const char *end)
{
	for (const char *p = end;;) {
		p = p > text + 1 ? memrchr(text + 1, '{', (size_t)(p - text - 1)) : NULL;
		if (!p || scan_is_start(text, p, end) == SCAN_OK)
			return p;
	}
}
