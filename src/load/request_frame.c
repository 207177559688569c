#include "load/request_frame.h"

#include "base/i18n.h"

#include <stdlib.h>
#include <string.h>

const struct str request_frame_mark = STR_INIT(REQUEST_FRAME_MARK);
_Static_assert(sizeof(REQUEST_FRAME_MARK) == SALT_LEN + 1, "the mark is as long as a salt");

/* Cuts a request around its length and its text; false when it is no frame around one text. */
static bool cut_frame(struct str request, struct workload_frame *f)
{
	static const struct str name = STR_INIT("\r\nContent-Length: ");
	ptrdiff_t head = str_find(request, STR("\r\n\r\n"));
	ptrdiff_t length = str_find(request, name), text = str_find(request, request_frame_mark);
	if (head < 0 || length < 0 || length > head || text < head)
		return false;
	size_t from = (size_t)length + name.len, to = from;
	while (request.s[to] >= '0' && request.s[to] <= '9')
		to++;
	size_t end = (size_t)text + request_frame_mark.len;
	f->before = (struct str){ request.s, from };
	f->middle = (struct str){ request.s + to, (size_t)text - to };
	f->after = (struct str){ request.s + end, request.len - end };
	f->head_rest = (size_t)head + 4 - to;
	return str_find(f->after, request_frame_mark) < 0;
}

static bool build_frame(struct builder *b, struct prompt around, int64_t output_tokens,
        struct workload_frame *f, bool *ret_framed, struct err *err)
{
	struct workload_item item;
	around.output_tokens = f->output_tokens = output_tokens;
	if (!builder_item(b, &around, &item, err))
		return false;
	*ret_framed = !b->endpoint->write_head && cut_frame(item.request, f);
	return true;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Sorted, each once; returns how many. */
static size_t distinct(uint32_t *numbers, size_t n)
{
	size_t kept = 0;
	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	return kept;
}

bool request_frames_build(struct builder *b, const struct prompt *around, uint32_t *lengths,
        size_t n, struct workload *w, bool *ret_framed, struct err *err)
{
	n = distinct(lengths, n);
	if (n > WORKLOAD_FRAMES_MAX)
		return err_set(err, ERR_INPUT, _("answers have more than %d different lengths"),
		        WORKLOAD_FRAMES_MAX);
	w->frames = arena_new_n(b->run, struct workload_frame, n);
	w->n_frames = n;
	*ret_framed = true;
	for (size_t i = 0; i < n && *ret_framed; i++)
		if (!build_frame(b, *around, lengths[i], &w->frames[i], ret_framed, err))
			return false;
	return true;
}

static int by_output_tokens(const void *key, const void *frame)
{
	int64_t x = *(const uint32_t *)key,
	        y = ((const struct workload_frame *)frame)->output_tokens;
	return (x > y) - (x < y);
}

uint32_t request_frame_find(const struct workload *w, uint32_t output_tokens)
{
	const struct workload_frame *f = bsearch(
	        &output_tokens, w->frames, w->n_frames, sizeof(*w->frames), by_output_tokens);
	return (uint32_t)(f - w->frames);
}

void request_frame_open(const struct workload_frame *f, struct buf *out)
{
	buf_clear(out);
	buf_add(out, f->before);
	buf_add_blanks(out, REQUEST_LENGTH_DIGITS);
	buf_add(out, f->middle);
}

struct str request_frame_close(const struct workload_frame *f, struct buf *out)
{
	char digits[REQUEST_LENGTH_DIGITS + 1];
	size_t length_at = f->before.len,
	       body_at = length_at + REQUEST_LENGTH_DIGITS + f->head_rest;
	buf_add(out, f->after);
	snprintf(digits, sizeof(digits), "%*u", REQUEST_LENGTH_DIGITS,
	        (unsigned)(out->len - body_at));
	memcpy(out->s + length_at, digits, REQUEST_LENGTH_DIGITS);
	return buf_str(out);
}
