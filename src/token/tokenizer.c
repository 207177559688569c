#include "token/internal.h"

#include "base/i18n.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES_MAX = 4 << 20 /* of an encoding, from text to text */ };

struct tokenizer *tokenizer_new(void)
{
	struct tokenizer *t = mem_realloc(NULL, sizeof(*t));
	*t = (struct tokenizer){ .bos = NO_ID, .unknown = NO_ID };
	memset(t->byte_ids, 0xFF, sizeof(t->byte_ids));
	memset(t->ends, 0xFF, sizeof(t->ends));
	return t;
}

void tokenizer_close(struct tokenizer *t)
{
	if (!t)
		return;
	pattern_release(t->patterns);
	arena_release(&t->run);
	free(t);
}

bool tokenizer_take_pieces(struct tokenizer *t, uint64_t n, struct err *err)
{
	if (n < 1 || n > TOKENIZER_VOCAB_MAX)
		return err_set(err, ERR_INPUT,
		        _("the vocabulary has %llu tokens, which is not within 1 to %d"),
		        (unsigned long long)n, TOKENIZER_VOCAB_MAX);
	t->n = (int)n;
	t->pieces = arena_new_n(&t->run, struct piece, n);
	vocab_init(&t->vocab, t->pieces, t->n, &t->run);
	return true;
}

int tokenizer_byte_of_key(struct str key)
{
	static const char digits[] = "0123456789ABCDEF";
	if (key.len != 6 || memcmp(key.s, "<0x", 3) != 0 || key.s[5] != '>')
		return -1;
	const char *high = memchr(digits, key.s[3], 16), *low = memchr(digits, key.s[4], 16);
	return high && low ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

struct str tokenizer_unmark(struct str key, struct arena *run)
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

struct normalize_step *normalizer_add(struct normalizer *n, enum normalize_kind kind)
{
	if (n->n == NORMALIZE_STEPS_MAX)
		return NULL;
	n->steps[n->n].kind = kind;
	return &n->steps[n->n++];
}

struct pretokenize_step *pretokenizer_add(struct pretokenizer *p, enum pretokenize_kind kind)
{
	if (p->n == PRETOKENIZE_STEPS_MAX)
		return NULL;
	p->steps[p->n].kind = kind;
	return &p->steps[p->n++];
}

bool tokenizer_split_by(struct tokenizer *t, struct str expression, enum split_behavior behavior,
        bool invert, struct err *err)
{
	struct pattern *pattern;
	if (!pattern_compile(expression, &t->run, &t->patterns, &pattern, err))
		return false;
	struct pretokenize_step *step = pretokenizer_add(&t->pretokenizer, PRETOKENIZE_SPLIT);
	if (!step)
		return err_set(err, ERR_INPUT, _("there are more than %d pre-tokenizers"),
		        PRETOKENIZE_STEPS_MAX);
	step->pattern = pattern;
	step->behavior = behavior;
	step->invert = invert;
	return true;
}

void tokenizer_add_bert_steps(struct tokenizer *t)
{
	normalizer_add(&t->normalizer, NORMALIZE_CLEAN);
	normalizer_add(&t->normalizer, NORMALIZE_CHINESE);
	normalizer_add(&t->normalizer, NORMALIZE_FORM)->form = CHAR_NFD;
	normalizer_add(&t->normalizer, NORMALIZE_DROP)->drop = char_is_nonspacing;
	normalizer_add(&t->normalizer, NORMALIZE_LOWER);
	struct pretokenize_step *spaces = pretokenizer_add(&t->pretokenizer, PRETOKENIZE_SPLIT);
	spaces->pattern = pattern_of_kind(char_is_space, &t->run);
	spaces->behavior = SPLIT_REMOVED;
	struct pretokenize_step *marks = pretokenizer_add(&t->pretokenizer, PRETOKENIZE_SPLIT);
	marks->pattern = pattern_of_kind(char_is_punctuation, &t->run);
	marks->behavior = SPLIT_ISOLATED;
}

void tokenizer_finish(struct tokenizer *t)
{
	/* Added tokens of a normalized text are looked for in all of it. */
	if (t->added[1].n_lengths == 0)
		t->bert = bert_cut_table(&t->normalizer, &t->pretokenizer);
	if (t->encode == wordpiece_encode)
		wordpiece_finish(t);
}

bool tokenizer_open_file(const char *path, struct tokenizer **ret_tokenizer, struct err *err)
{
	char magic[4] = "";
	AUTO(auto_file) FILE *f = fopen(path, "re");
	if (!f)
		return err_set(err, ERR_INPUT, _("cannot open '%s': %s"), path, strerror(errno));
	size_t n = fread(magic, 1, sizeof(magic), f);
	if (n == sizeof(magic) && memcmp(magic, "GGUF", 4) == 0) {
		struct gguf *file;
		if (!gguf_open(path, &file, err))
			return false;
		bool ok = tokenizer_open(file, ret_tokenizer, err);
		gguf_close(file);
		return ok || err_wrap(err, "'%s'", path);
	}
	AUTO(arena_release) struct arena tmp = { 0 };
	struct str json;
	return str_read_file(path, TOKENIZER_FILE_BYTES_MAX, &tmp, &json, err) &&
	       (tokenizer_open_json(json, ret_tokenizer, err) || err_wrap(err, "'%s'", path));
}

/* ---- encoding ---- */

void encoding_add(struct encoding *e, int32_t id)
{
	if (e->n == e->cap) {
		e->cap = e->cap ? 2 * e->cap : 64;
		e->ids = mem_realloc(e->ids, e->cap * sizeof(*e->ids));
	}
	e->ids[e->n++] = id;
}

void encoding_release(struct encoding *e)
{
	merge_release(&e->merge);
	match_release(&e->scan);
	parts_release(&e->parts);
	buf_release(&e->normal[0]);
	buf_release(&e->normal[1]);
	buf_release(&e->key);
	buf_release(&e->word);
	free(e->hashes);
	free(e->cells);
}

struct encoding *encoding_new(void)
{
	return mem_zeroed(1, sizeof(struct encoding));
}

void encoding_free(struct encoding *e)
{
	if (!e)
		return;
	encoding_release(e);
	free(e->ids);
	free(e);
}

void encoding_trim(struct encoding *e)
{
	size_t bytes = e->cap * sizeof(*e->ids) + e->normal[0].cap + e->normal[1].cap +
	               e->parts.text.cap + e->parts.other_text.cap + e->key.cap + e->word.cap +
	               e->n_cells * sizeof(*e->cells) +
	               (e->parts.list.cap + e->parts.other.cap + e->parts.segments.cap) *
	                       sizeof(struct part);
	if (bytes <= KEPT_BYTES_MAX)
		return;
	encoding_release(e);
	free(e->ids);
	*e = (struct encoding){ 0 };
}

static void encode_parts(
        const struct tokenizer *t, struct str text, bool at_start, struct encoding *e)
{
	pretokenize(&t->pretokenizer, text, at_start, &e->scan, &e->parts);
	for (size_t i = 0; i < e->parts.list.n && !encoding_is_full(e); i++) {
		const struct part *p = &e->parts.list.v[i];
		t->encode(t, (struct str){ e->parts.text.s + p->start, p->len }, e);
	}
}

void tokenizer_encode_steps(
        const struct tokenizer *t, struct str text, bool at_start, struct encoding *e)
{
	if (text.len > 0)
		encode_parts(t, normalize(&t->normalizer, text, &e->scan, e->normal), at_start, e);
}

/* Text between the added tokens of a stage, of which there are two: as it came, and normalized. */
static void encode_stage(const struct tokenizer *t, struct str text, int stage, bool at_start,
        bool special, struct encoding *e);

static void encode_between(const struct tokenizer *t, struct str text, int stage, bool at_start,
        bool special, struct encoding *e)
{
	if (text.len == 0 || encoding_is_full(e))
		return;
	if (stage == 0 && t->bert)
		bert_cut(t, t->bert, text, e);
	else if (stage == 0)
		encode_stage(t, normalize(&t->normalizer, text, &e->scan, e->normal), 1, at_start,
		        special, e);
	else
		encode_parts(t, text, at_start, e);
}

static void encode_stage(const struct tokenizer *t, struct str text, int stage, bool at_start,
        bool special, struct encoding *e)
{
	const struct added_token *token;
	size_t at = 0, start, end;
	while (added_next(&t->added[stage], text, at, special, &token, &start, &end)) {
		encode_between(t, (struct str){ text.s + at, start - at }, stage,
		        at_start && at == 0, special, e);
		encoding_add(e, token->id);
		at = end;
	}
	encode_between(t, (struct str){ text.s + at, text.len - at }, stage, at_start && at == 0,
	        special, e);
}

void tokenizer_encode_into(
        const struct tokenizer *t, struct str text, bool special, struct encoding *e)
{
	encode_stage(t, text, 0, true, special, e);
}

void tokenizer_encode(const struct tokenizer *t, struct str text, unsigned flags, int32_t **ret_ids,
        size_t *ret_n)
{
	assert(text.len <= TOKENIZER_TEXT_BYTES_MAX);
	struct encoding e = { 0 };
	for (int i = 0; flags & TOKENIZER_FRAME && i < t->one.before.n; i++)
		encoding_add(&e, t->one.before.ids[i]);
	encode_stage(t, text, 0, true, flags & TOKENIZER_SPECIAL, &e);
	for (int i = 0; flags & TOKENIZER_FRAME && i < t->one.after.n; i++)
		encoding_add(&e, t->one.after.ids[i]);
	*ret_ids = e.ids ? e.ids : mem_realloc(NULL, sizeof(*e.ids));
	*ret_n = e.n;
	encoding_release(&e);
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
