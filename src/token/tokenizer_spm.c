#include "token/tokenizer_spm.h"

#include "base/arena.h"
#include "base/i18n.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* How SentencePiece writes a space inside a piece: U+2581. */
#define SPACE_MARK STR("\xE2\x96\x81")

enum { N_BYTES = 256, NO_ID = -1, NO_SYMBOL = -1 };

/* tokenizer.ggml.token_type */
enum piece_type {
	PIECE_NORMAL = 1,
	PIECE_UNKNOWN = 2,
	PIECE_CONTROL = 3,
	PIECE_USER = 4,
	PIECE_UNUSED = 5,
	PIECE_BYTE = 6,
};

struct piece {
	struct str key;  /* as in the vocabulary, spaces marked */
	struct str text; /* as in a text */
	float score;
	enum piece_type type;
};

struct tokenizer {
	struct arena run;
	struct piece *pieces;
	int n;
	size_t key_bytes_max; /* of pieces that merging can make */
	int32_t *slots;       /* hash table of those pieces: ids, or NO_ID */
	size_t n_slots;       /* a power of two, at least twice the pieces */
	int32_t byte_ids[N_BYTES];
	int32_t bos, unknown;
	int32_t ends[3];
	bool add_bos;
	bool add_space;
};

/* A run of bytes that is one token so far; runs form a list in the order of the text. */
struct symbol {
	size_t start;
	size_t len; /* 0: merged into the one before */
	int32_t prev, next;
};

/* A pair of neighbours that may be merged. It is stale when either has changed since. */
struct pair {
	float score;
	int32_t left, right;
	size_t len; /* of both when the pair was found */
};

/* Pairs as a binary heap, the next to merge at the root. */
struct heap {
	struct pair *pairs;
	size_t n;
};

struct encoder {
	const struct tokenizer *t;
	const char *text; /* spaces marked */
	struct symbol *symbols;
	int32_t n_symbols;
	struct heap heap;
};

/* Source: FNV-1a, 64 bits. */
static uint64_t hash(struct str key)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < key.len; i++)
		h = (h ^ (unsigned char)key.s[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

/* The slot that holds the key, or the empty one where it belongs. */
static int32_t *find_slot(const struct tokenizer *t, struct str key)
{
	size_t i = hash(key) & (t->n_slots - 1);
	while (t->slots[i] != NO_ID && !str_eq(t->pieces[t->slots[i]].key, key))
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

static int32_t find_piece(const struct tokenizer *t, struct str key)
{
	return key.len <= t->key_bytes_max ? *find_slot(t, key) : NO_ID;
}

static bool merges(const struct piece *p)
{
	return (p->type == PIECE_NORMAL || p->type == PIECE_USER) && p->key.len > 0;
}

/* Of pieces with the same key the first counts. */
static void index_pieces(struct tokenizer *t)
{
	t->n_slots = 2;
	while (t->n_slots < 2 * (size_t)t->n)
		t->n_slots *= 2;
	t->slots = arena_new_n(&t->run, int32_t, t->n_slots);
	memset(t->slots, 0xFF, t->n_slots * sizeof(*t->slots));
	for (int32_t id = 0; id < t->n; id++) {
		const struct piece *p = &t->pieces[id];
		if (!merges(p))
			continue;
		int32_t *slot = find_slot(t, p->key);
		if (*slot == NO_ID)
			*slot = id;
		if (p->key.len > t->key_bytes_max)
			t->key_bytes_max = p->key.len;
	}
}

/* "<0x0A>" is byte 10; -1 for anything else. */
static int byte_of_key(struct str key)
{
	static const char digits[] = "0123456789ABCDEF";
	if (key.len != 6 || memcmp(key.s, "<0x", 3) != 0 || key.s[5] != '>')
		return -1;
	const char *high = memchr(digits, key.s[3], 16), *low = memchr(digits, key.s[4], 16);
	return high && low ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

/* A copy with every space mark as a space. */
static struct str unmark(struct str key, struct arena *run)
{
	char *text = arena_alloc(run, key.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < key.len;) {
		if (str_starts((struct str){ key.s + i, key.len - i }, SPACE_MARK)) {
			text[n++] = ' ';
			i += SPACE_MARK.len;
		} else {
			text[n++] = key.s[i++];
		}
	}
	return (struct str){ text, n };
}

static bool set_text(struct tokenizer *t, int32_t id, struct err *err)
{
	struct piece *p = &t->pieces[id];
	char name[GGUF_QUOTE];
	if (p->type == PIECE_CONTROL || p->type == PIECE_UNKNOWN)
		return true;
	if (p->type != PIECE_BYTE) {
		p->text = unmark(p->key, &t->run);
		return true;
	}
	int byte = byte_of_key(p->key);
	if (byte < 0)
		return err_set(err, ERR_INPUT,
		        _("token %d is '%s', which is no byte although its type says so"), id,
		        gguf_quote(p->key, name));
	char *text = arena_alloc(&t->run, 1);
	*text = (char)byte;
	p->text = (struct str){ text, 1 };
	if (t->byte_ids[byte] == NO_ID)
		t->byte_ids[byte] = id;
	return true;
}

static bool load_pieces(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	const struct gguf_value *tokens, *scores, *types;
	if (!gguf_array(file, "tokenizer.ggml.tokens", GGUF_STRING, 0, &tokens, err))
		return false;
	if (tokens->n < 1 || tokens->n > TOKENIZER_VOCAB_MAX)
		return err_set(err, ERR_INPUT,
		        _("the vocabulary has %llu tokens, which is not within 1 to %d"),
		        (unsigned long long)tokens->n, TOKENIZER_VOCAB_MAX);
	if (!gguf_array(file, "tokenizer.ggml.scores", GGUF_F32, tokens->n, &scores, err) ||
	        !gguf_array(file, "tokenizer.ggml.token_type", GGUF_I32, tokens->n, &types, err))
		return false;
	t->n = (int)tokens->n;
	t->pieces = arena_new_n(&t->run, struct piece, tokens->n);
	const unsigned char *at = tokens->at;
	for (int32_t id = 0; id < t->n; id++) {
		struct piece *p = &t->pieces[id];
		struct str key = gguf_array_next_string(&at);
		int32_t type = gguf_array_i32(types, (uint64_t)id);
		if (key.len > TOKENIZER_PIECE_BYTES_MAX)
			return err_set(err, ERR_INPUT,
			        _("token %d has %zu bytes, more than the limit of %d"), id, key.len,
			        TOKENIZER_PIECE_BYTES_MAX);
		if (type < PIECE_NORMAL || type > PIECE_BYTE)
			return err_set(
			        err, ERR_INPUT, _("token %d has the unknown type %d"), id, type);
		p->key = str_dup(key, &t->run);
		p->score = gguf_array_f32(scores, (uint64_t)id);
		p->type = (enum piece_type)type;
		if (!(p->score == p->score))
			return err_set(
			        err, ERR_INPUT, _("the score of token %d is not a number"), id);
		if (!set_text(t, id, err))
			return false;
	}
	return true;
}

/* The id that an optional key names; NO_ID without the key. */
static bool load_id(const struct gguf *file, const char *key, int n, int32_t *ret, struct err *err)
{
	int64_t id = NO_ID;
	if (gguf_value(file, key) && !gguf_int(file, key, 0, n - 1, &id, err))
		return false;
	*ret = (int32_t)id;
	return true;
}

static bool load_ids(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	const struct {
		const char *key;
		int32_t *id;
	} rows[] = {
		{ "tokenizer.ggml.bos_token_id", &t->bos },
		{ "tokenizer.ggml.unknown_token_id", &t->unknown },
		{ "tokenizer.ggml.eos_token_id", &t->ends[0] },
		{ "tokenizer.ggml.eot_token_id", &t->ends[1] },
		{ "tokenizer.ggml.eom_token_id", &t->ends[2] },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!load_id(file, rows[i].key, t->n, rows[i].id, err))
			return false;
	return true;
}

static bool load_flags(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	const struct {
		const char *key;
		bool *flag;
	} rows[] = {
		{ "tokenizer.ggml.add_bos_token", &t->add_bos },
		{ "tokenizer.ggml.add_space_prefix", &t->add_space },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		*rows[i].flag = true;
		if (gguf_value(file, rows[i].key) &&
		        !gguf_bool(file, rows[i].key, rows[i].flag, err))
			return false;
	}
	return true;
}

static bool load(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	struct str model;
	char name[GGUF_QUOTE];
	if (!gguf_string(file, "tokenizer.ggml.model", &model, err))
		return false;
	if (!str_eq(model, STR("llama")))
		return err_set(err, ERR_INPUT,
		        _("the tokenizer is '%s'; only 'llama' (SentencePiece) is supported"),
		        gguf_quote(model, name));
	memset(t->byte_ids, 0xFF, sizeof(t->byte_ids));
	if (!load_pieces(t, file, err) || !load_ids(t, file, err) || !load_flags(t, file, err))
		return false;
	index_pieces(t);
	return true;
}

bool tokenizer_open(const struct gguf *file, struct tokenizer **ret_tokenizer, struct err *err)
{
	struct tokenizer *t = mem_realloc(NULL, sizeof(*t));
	*t = (struct tokenizer){ 0 };
	if (!load(t, file, err)) {
		tokenizer_close(t);
		return false;
	}
	*ret_tokenizer = t;
	return true;
}

void tokenizer_close(struct tokenizer *t)
{
	if (!t)
		return;
	arena_release(&t->run);
	free(t);
}

/* Whether a goes before b: the better score, then the place further left. */
static bool pair_before(const struct pair *a, const struct pair *b)
{
	return a->score != b->score ? a->score > b->score : a->left < b->left;
}

static void heap_push(struct heap *h, struct pair pair)
{
	size_t i = h->n++;
	while (i > 0 && pair_before(&pair, &h->pairs[(i - 1) / 2])) {
		h->pairs[i] = h->pairs[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->pairs[i] = pair;
}

static struct pair heap_pop(struct heap *h)
{
	struct pair top = h->pairs[0], last = h->pairs[--h->n];
	size_t i = 0;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= h->n)
			break;
		if (child + 1 < h->n && pair_before(&h->pairs[child + 1], &h->pairs[child]))
			child++;
		if (!pair_before(&h->pairs[child], &last))
			break;
		h->pairs[i] = h->pairs[child];
		i = child;
	}
	h->pairs[i] = last;
	return top;
}

/* Queues a pair of neighbours if they make a piece. */
static void consider(struct encoder *e, int32_t left, int32_t right)
{
	if (left == NO_SYMBOL || right == NO_SYMBOL)
		return;
	const struct symbol *a = &e->symbols[left], *b = &e->symbols[right];
	size_t len = a->len + b->len;
	int32_t id = find_piece(e->t, (struct str){ e->text + a->start, len });
	if (id != NO_ID)
		heap_push(&e->heap, (struct pair){ e->t->pieces[id].score, left, right, len });
}

static void merge_all(struct encoder *e)
{
	for (int32_t i = 1; i < e->n_symbols; i++)
		consider(e, i - 1, i);
	while (e->heap.n > 0) {
		struct pair p = heap_pop(&e->heap);
		struct symbol *left = &e->symbols[p.left], *right = &e->symbols[p.right];
		if (left->len == 0 || right->len == 0 || left->len + right->len != p.len)
			continue;
		left->len = p.len;
		left->next = right->next;
		right->len = 0;
		if (left->next != NO_SYMBOL)
			e->symbols[left->next].prev = p.left;
		consider(e, left->prev, p.left);
		consider(e, p.left, left->next);
	}
}

/* One symbol for each character, and for each byte that belongs to none. */
static void split(struct encoder *e, struct str text)
{
	for (size_t i = 0; i < text.len;) {
		int step = utf8_char(text.s + i, text.len - i);
		size_t len = step > 0 ? (size_t)step : 1;
		int32_t at = e->n_symbols++;
		e->symbols[at] = (struct symbol){ i, len, at - 1, at + 1 };
		i += len;
	}
	if (e->n_symbols > 0)
		e->symbols[e->n_symbols - 1].next = NO_SYMBOL;
}

static size_t emit_symbol(const struct tokenizer *t, struct str key, int32_t *ids)
{
	int32_t id = find_piece(t, key);
	size_t n = 0;
	if (id != NO_ID) {
		ids[0] = id;
		return 1;
	}
	for (size_t i = 0; i < key.len; i++) {
		int32_t byte = t->byte_ids[(unsigned char)key.s[i]];
		if (byte != NO_ID || t->unknown != NO_ID)
			ids[n++] = byte != NO_ID ? byte : t->unknown;
	}
	return n;
}

/* The text as pieces spell it: spaces marked, and one more in front. */
static void mark(const struct tokenizer *t, struct str text, struct buf *out)
{
	buf_reserve(out, text.len + SPACE_MARK.len);
	if (t->add_space && text.len > 0)
		buf_add(out, SPACE_MARK);
	while (text.len > 0) {
		struct str rest, word = str_cut(text, ' ', &rest);
		buf_add(out, word);
		if (word.len < text.len)
			buf_add(out, SPACE_MARK);
		text = rest;
	}
}

void tokenizer_encode(
        const struct tokenizer *t, struct str text, bool add_bos, int32_t **ret_ids, size_t *ret_n)
{
	assert(text.len <= TOKENIZER_TEXT_BYTES_MAX);
	AUTO(auto_buf) struct buf marked = { 0 };
	mark(t, text, &marked);
	AUTO(auto_free) struct symbol *symbols = mem_realloc(NULL, marked.len * sizeof(*symbols));
	struct encoder e = { .t = t, .text = marked.s, .symbols = symbols };
	split(&e, buf_str(&marked));
	/* Each merge takes a symbol away and queues two pairs at most. */
	size_t n_pairs_max = 3 * (size_t)e.n_symbols;
	AUTO(auto_free) struct pair *pairs = mem_realloc(NULL, n_pairs_max * sizeof(*pairs));
	e.heap.pairs = pairs;
	merge_all(&e);
	int32_t *ids = mem_realloc(NULL, (marked.len + 1) * sizeof(*ids));
	size_t n = 0;
	if (add_bos && t->add_bos && t->bos != NO_ID)
		ids[n++] = t->bos;
	for (int32_t i = 0; i < e.n_symbols; i++)
		if (symbols[i].len > 0)
			n += emit_symbol(t,
			        (struct str){ marked.s + symbols[i].start, symbols[i].len },
			        ids + n);
	*ret_ids = ids;
	*ret_n = n;
}

struct str tokenizer_piece(const struct tokenizer *t, int32_t id)
{
	return id >= 0 && id < t->n ? t->pieces[id].text : (struct str){ 0 };
}

int32_t tokenizer_bos(const struct tokenizer *t)
{
	return t->bos;
}

bool tokenizer_is_end(const struct tokenizer *t, int32_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(t->ends); i++)
		if (id != NO_ID && t->ends[i] == id)
			return true;
	return false;
}

int tokenizer_size(const struct tokenizer *t)
{
	return t->n;
}

bool tokenizer_adds_space(const struct tokenizer *t)
{
	return t->add_space;
}
