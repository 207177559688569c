#include "record/fingerprint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The place of a name, or fp->n. */
static size_t find(const struct fingerprint *fp, const char *name)
{
	size_t i = 0;
	while (i < fp->n && strcmp(fp->entries[i].name, name) != 0)
		i++;
	return i;
}

bool fingerprint_set(
        struct fingerprint *fp, struct arena *run, const char *name, const char *fmt, ...)
{
	size_t i = find(fp, name);
	va_list ap, again;
	if (i == FINGERPRINT_MAX)
		return false;
	if (i == fp->n) {
		fp->entries[i].name = arena_strdup(run, name);
		fp->n++;
	}
	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	size_t size = (size_t)(len > 0 ? len : 0) + 1;
	char *value = arena_alloc(run, size);
	vsnprintf(value, size, fmt, again);
	va_end(again);
	fp->entries[i].value = value;
	return true;
}

const char *fingerprint_get(const struct fingerprint *fp, const char *name)
{
	size_t i = find(fp, name);
	return i < fp->n ? fp->entries[i].value : NULL;
}
