/*
 * Unigram: of all ways to cut a text into pieces the one with the highest sum of scores.
 *
 * Source: Kudo 2018, by the Viterbi algorithm; what is unknown scores 10 below the lowest and is
 * one token as long as it goes on, as in SentencePiece.
 */
#include "token/internal.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static void offer(
        struct unigram_cell *cell, uint32_t start, double score, int32_t id, uint32_t none)
{
	if (cell->start == none || score > cell->score)
		*cell = (struct unigram_cell){ score, id, start };
}

/* Goes on from a place by every piece that the rest begins with. */
static void go_on(const struct tokenizer *t, struct str text, uint32_t at, uint32_t step,
        struct unigram_cell *cells)
{
	uint32_t none = (uint32_t)text.len + 1;
	uint64_t hash = vocab_hash_of_nothing();
	bool has_char = false;
	size_t n_max = text.len - at;
	if (n_max > t->vocab.key_bytes_max)
		n_max = t->vocab.key_bytes_max;
	for (uint32_t n = 1; n <= n_max; n++) {
		hash = vocab_hash_byte(hash, text.s[at + n - 1]);
		/* A piece is whole characters. */
		if (n < step || (at + n < text.len && (text.s[at + n] & 0xC0) == 0x80))
			continue;
		int32_t id = vocab_find_hashed(&t->vocab, hash, (struct str){ text.s + at, n });
		if (id == NO_ID)
			continue;
		offer(&cells[at + n], at, cells[at].score + t->pieces[id].score, id, none);
		has_char = has_char || n == step;
	}
	if (!has_char)
		offer(&cells[at + step], at, cells[at].score + t->unigram.unknown_score, t->unknown,
		        none);
}

/* The tokens of a stretch that is unknown. */
static void add_unknown(const struct tokenizer *t, struct str stretch, struct encoding *e)
{
	int32_t whole = vocab_find(&t->vocab, stretch);
	bool bytes = t->unigram.byte_fallback && whole == NO_ID;
	for (size_t i = 0; bytes && i < stretch.len; i++)
		bytes = t->byte_ids[(unsigned char)stretch.s[i]] != NO_ID;
	for (size_t i = 0; bytes && i < stretch.len; i++)
		encoding_add(e, t->byte_ids[(unsigned char)stretch.s[i]]);
	if (!bytes && (whole != NO_ID || t->unknown != NO_ID))
		encoding_add(e, whole != NO_ID ? whole : t->unknown);
}

/* Turns the cells of the best way around: each one's start becomes its end. */
static void turn_around(struct unigram_cell *cells, uint32_t end)
{
	int32_t id = cells[end].id;
	uint32_t at = end, start = cells[end].start;
	while (at > 0) {
		int32_t next_id = cells[start].id;
		uint32_t next_start = cells[start].start;
		cells[start].id = id;
		cells[start].start = at;
		at = start;
		id = next_id;
		start = next_start;
	}
}

void unigram_encode(const struct tokenizer *t, struct str part, struct encoding *e)
{
	uint32_t end = (uint32_t)part.len, none = end + 1;
	if (e->n_cells < part.len + 1) {
		e->n_cells = 2 * (part.len + 1);
		e->cells = mem_realloc(e->cells, e->n_cells * sizeof(*e->cells));
	}
	for (uint32_t i = 0; i <= end; i++)
		e->cells[i].start = none;
	e->cells[0] = (struct unigram_cell){ 0, NO_ID, 0 };
	for (uint32_t at = 0; at < end;) {
		int n = utf8_char(part.s + at, part.len - at);
		uint32_t step = n > 0 ? (uint32_t)n : 1;
		go_on(t, part, at, step, e->cells);
		at += step;
	}
	turn_around(e->cells, end);
	for (uint32_t at = 0; at < end;) {
		uint32_t to = e->cells[at].start;
		bool unknown = e->cells[at].id == t->unknown;
		while (unknown && to < end && e->cells[to].id == t->unknown)
			to = e->cells[to].start;
		if (unknown)
			add_unknown(t, (struct str){ part.s + at, to - at }, e);
		else
			encoding_add(e, e->cells[at].id);
		at = to;
	}
}
