#include "serve/stop.h"

#include <string.h>

bool stop_find(
        struct str text, size_t from, const struct str *stops, size_t n_stops, size_t *ret_at)
{
	bool found = false;
	for (size_t i = 0; i < n_stops && from < text.len; i++) {
		struct str rest = { text.s + from, text.len - from };
		ptrdiff_t at = str_find(rest, stops[i]);
		if (at < 0 || (found && from + (size_t)at >= *ret_at))
			continue;
		*ret_at = from + (size_t)at;
		found = true;
	}
	return found;
}

size_t stop_held(struct str text, const struct str *stops, size_t n_stops)
{
	size_t held = 0;
	for (size_t i = 0; i < n_stops; i++) {
		size_t n = stops[i].len - 1 < text.len ? stops[i].len - 1 : text.len;
		while (n > held && memcmp(text.s + text.len - n, stops[i].s, n) != 0)
			n--;
		held = n > held ? n : held;
	}
	return held;
}
