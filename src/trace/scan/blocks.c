#include "trace/scan/blocks.h"

#include "trace/scan/scan.h"

#include <string.h>

enum {
	/* Without the start of an event in as much, there is none to cut at. */
	UNCUT_MAX = 4 * SCAN_EVENT_MAX,
};

void scan_blocks_init(struct scan_blocks *b, struct source *source, size_t block_bytes)
{
	*b = (struct scan_blocks){ .source = source, .block_bytes = block_bytes };
	pthread_mutex_init(&b->lock, NULL);
}

void scan_blocks_release(struct scan_blocks *b)
{
	pthread_mutex_destroy(&b->lock);
	buf_release(&b->rest);
}

/* More text behind what is there; false at the end of the source. */
static bool read_more(struct scan_blocks *b, struct buf *text)
{
	buf_reserve(text, b->block_bytes);
	size_t n = source_read(b->source, text->s + text->len, b->block_bytes);
	text->len += n;
	b->n_bytes += (int64_t)n;
	return n == b->block_bytes;
}

/* What lies behind the cut waits for the next block. */
static void cut_at(struct scan_blocks *b, struct buf *text, const char *cut)
{
	size_t n = (size_t)(cut - text->s);
	buf_clear(&b->rest);
	buf_add(&b->rest, (struct str){ cut, text->len - n });
	text->len = n;
}

static bool fill(struct scan_blocks *b, struct scan_block *block)
{
	struct buf *text = &block->text;
	buf_clear(text);
	buf_add(text, buf_str(&b->rest));
	buf_clear(&b->rest);
	for (;;) {
		if (!read_more(b, text)) {
			b->ended = block->last = true;
			return true;
		}
		const char *cut = scan_last_start(text->s, text->s + text->len);
		if (cut) {
			cut_at(b, text, cut);
			return true;
		}
		if (text->len > UNCUT_MAX) {
			b->given_up = true;
			return false;
		}
	}
}

bool scan_blocks_take(struct scan_blocks *b, struct scan_block *block)
{
	pthread_mutex_lock(&b->lock);
	block->last = false;
	bool ok = !b->ended && !b->given_up && fill(b, block);
	if (ok)
		block->number = b->n_taken++;
	pthread_mutex_unlock(&b->lock);
	return ok;
}

void scan_blocks_give_up(struct scan_blocks *b)
{
	pthread_mutex_lock(&b->lock);
	b->given_up = true;
	pthread_mutex_unlock(&b->lock);
}
