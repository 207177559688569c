#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	/* In a place of its own first: the arguments may be the old text of err. */
	struct err new = { .kind = kind };
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(new.text, sizeof(new.text), fmt, ap);
	va_end(ap);
	*err = new;
	return false;
}

bool err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->text)];
	va_list ap;
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", inner);
	return false;
}

bool err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return false;
}
