#include "load/endpoints/frame.h"

#include "text/json_scan.h"

#include <string.h>

void frame_reset(struct frame *f)
{
	f->n_before = 0;
	f->n_misses = 0;
}

void frame_keep(struct frame *f, const void *fields, struct str data, struct str text, bool visible)
{
	size_t n_before = (size_t)(text.s - data.s), n_behind = data.len - n_before - text.len;
	if (n_before + n_behind > FRAME_MAX || f->n_misses == FRAME_MISSES_MAX) {
		f->n_before = 0;
		return;
	}
	/* whoever keeps another has met an event that did not fit this one */
	f->n_misses++;
	memcpy(f->bytes, data.s, n_before);
	memcpy(f->bytes + n_before, text.s + text.len, n_behind);
	f->n_before = (uint16_t)n_before;
	f->n_behind = (uint16_t)n_behind;
	f->fields = fields;
	f->visible = visible;
}

bool frame_fits(struct frame *f, const void *fields, struct str data, bool *ret_filled)
{
	size_t around = (size_t)f->n_before + f->n_behind;
	if (f->n_before == 0 || f->fields != fields || data.len < around ||
	        memcmp(data.s, f->bytes, f->n_before) != 0)
		return false;
	const char *text = data.s + f->n_before, *end = data.s + data.len;
	const char *close = json_string_end(text, end);
	if (!close || end - close != f->n_behind ||
	        memcmp(close, f->bytes + f->n_before, f->n_behind) != 0)
		return false;
	f->n_misses = 0;
	*ret_filled = close > text;
	return true;
}
