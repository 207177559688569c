#include "token/json_part.h"

#include "base/i18n.h"
#include "token/byte_level.h"

#include <math.h>

static struct str text_of(const json_t *string)
{
	return (struct str){ json_string_value(string), json_string_length(string) };
}

/* ---- vocabularies ---- */

static bool set_piece(
        struct tokenizer *t, json_int_t id, struct str key, double score, struct err *err)
{
	if (id < 0 || id >= t->n)
		return err_set(err, ERR_INPUT, _("the token id %lld is not within 0 to %d"),
		        (long long)id, t->n - 1);
	if (key.len > TOKENIZER_PIECE_BYTES_MAX)
		return err_set(err, ERR_INPUT,
		        _("token %d has %zu bytes, more than the limit of %d"), (int)id, key.len,
		        TOKENIZER_PIECE_BYTES_MAX);
	if (!isfinite(score))
		return err_set(err, ERR_INPUT, _("the score of token %d is not a number"), (int)id);
	t->pieces[id].key = str_dup(key, &t->run);
	t->pieces[id].score = score;
	t->pieces[id].type = PIECE_NORMAL;
	return true;
}

/* {"piece": id} */
static bool read_vocab(struct tokenizer *t, json_t *vocab, struct err *err)
{
	const char *key;
	json_t *id;
	if (!json_is_object(vocab))
		return err_set(err, ERR_INPUT, _("'%s' of the model is missing or of another type"),
		        "vocab");
	json_object_foreach(vocab, key, id)
	{
		if (!json_is_integer(id))
			return err_set(
			        err, ERR_INPUT, _("the ids of the vocabulary are not numbers"));
		if (!set_piece(t, json_integer_value(id), str_of(key), 0, err))
			return false;
	}
	return true;
}

/* [["piece", score]] */
static bool read_scored(struct tokenizer *t, const json_t *vocab, struct err *err)
{
	size_t id;
	json_t *row;
	json_array_foreach(vocab, id, row)
	{
		json_t *key = json_array_get(row, 0), *score = json_array_get(row, 1);
		if (!json_is_string(key) || !json_is_number(score))
			return err_set(err, ERR_INPUT, _("token %d is not a text with its score"),
			        (int)id);
		if (!set_piece(t, (json_int_t)id, text_of(key), json_number_value(score), err))
			return false;
	}
	return true;
}

/* The id of a key as the file has it; NO_ID without it. */
static int32_t id_of(const json_t *vocab, struct str key)
{
	const json_t *id = key.s ? json_object_getn(vocab, key.s, key.len) : NULL;
	return json_is_integer(id) ? (int32_t)json_integer_value(id) : NO_ID;
}

/* The pieces as methods compare them and as texts have them, and the table to find them. */
static void index_pieces(struct tokenizer *t, bool byte_level)
{
	for (int32_t id = 0; id < t->n; id++) {
		struct piece *p = &t->pieces[id];
		if (p->key.len == 0)
			continue;
		if (!byte_level)
			p->text = tokenizer_unmark(p->key, &t->run);
		else if (byte_level_read(p->key, &t->run, &p->text))
			p->key = p->text;
		else
			continue;
		vocab_add(&t->vocab, id);
	}
}

static void index_bytes(struct tokenizer *t)
{
	for (int32_t id = 0; id < t->n; id++) {
		struct piece *p = &t->pieces[id];
		int byte = tokenizer_byte_of_key(p->key);
		if (byte < 0 || t->byte_ids[byte] != NO_ID)
			continue;
		char *text = arena_alloc(&t->run, 1);
		*text = (char)byte;
		p->text = (struct str){ text, 1 };
		t->byte_ids[byte] = id;
	}
}

/* ---- BPE ---- */

/* "a b" or ["a", "b"] */
static bool pair_of(const json_t *merge, struct str pair[2])
{
	if (json_is_string(merge)) {
		pair[0] = str_cut(text_of(merge), ' ', &pair[1]);
		return pair[1].len > 0;
	}
	for (size_t i = 0; i < 2; i++)
		pair[i] = text_of(json_array_get(merge, i));
	return json_array_size(merge) == 2 && pair[0].s && pair[1].s;
}

static bool read_merge(struct tokenizer *t, const json_t *vocab, const json_t *row, int32_t rank,
        struct buf *key, struct err *err)
{
	struct str pair[2] = { { 0 } };
	struct bpe_merge merge = { .rank = rank, .left = NO_ID };
	char quoted[GGUF_QUOTE];
	if (pair_of(row, pair)) {
		merge.left = id_of(vocab, pair[0]);
		merge.right = id_of(vocab, pair[1]);
		buf_clear(key);
		buf_add(key, pair[0]);
		/* The prefix of a piece that goes on is not in the middle of one. */
		size_t skip = str_starts(pair[1], t->bpe.prefix) ? t->bpe.prefix.len : 0;
		buf_add(key, (struct str){ pair[1].s + skip, pair[1].len - skip });
		merge.id = id_of(vocab, buf_str(key));
	}
	if (merge.left == NO_ID || merge.right == NO_ID || merge.id == NO_ID)
		return err_set(err, ERR_INPUT,
		        _("merge %d, '%s', is not of tokens of the vocabulary"), rank,
		        gguf_quote(json_is_string(row) ? text_of(row) : pair[0], quoted));
	bpe_add(&t->bpe, merge);
	return true;
}

static bool read_merges(struct tokenizer *t, const json_t *model, struct err *err)
{
	AUTO(auto_buf) struct buf key = { 0 };
	const json_t *merges = json_object_get(model, "merges");
	const json_t *vocab = json_object_get(model, "vocab");
	size_t i;
	json_t *row;
	if (!json_is_array(merges))
		return err_set(err, ERR_INPUT, _("'%s' of the model is missing or of another type"),
		        "merges");
	if (json_array_size(merges) > BPE_MERGES_MAX)
		return err_set(err, ERR_INPUT,
		        _("there are %llu merges, more than the limit of %d"),
		        (unsigned long long)json_array_size(merges), BPE_MERGES_MAX);
	bpe_init(&t->bpe, json_array_size(merges), &t->run);
	json_array_foreach(merges, i, row)
	{
		if (!read_merge(t, vocab, row, (int32_t)i, &key, err))
			return false;
	}
	return true;
}

static bool read_bpe(struct tokenizer *t, const json_t *model, bool byte_level, struct err *err)
{
	json_t *vocab = json_object_get(model, "vocab");
	if (json_number_value(json_object_get(model, "dropout")) > 0)
		return err_set(err, ERR_INPUT, _("BPE with dropout is not supported"));
	t->bpe = (struct bpe){
		.bytes = byte_level,
		.whole_first = json_part_flag(model, "ignore_merges", false),
		.byte_fallback = json_part_flag(model, "byte_fallback", false),
		.fuse_unknown = json_part_flag(model, "fuse_unk", false),
		.prefix = str_dup(json_part_text(model, "continuing_subword_prefix"), &t->run),
		.suffix = str_dup(json_part_text(model, "end_of_word_suffix"), &t->run),
	};
	if (!read_vocab(t, vocab, err) || !read_merges(t, model, err))
		return false;
	t->unknown = id_of(vocab, json_part_text(model, "unk_token"));
	index_pieces(t, byte_level);
	if (t->bpe.byte_fallback)
		index_bytes(t);
	t->encode = bpe_encode;
	return true;
}

/* ---- the others ---- */

static bool no_byte_level(bool byte_level, const char *model, struct err *err)
{
	return !byte_level || err_set(err, ERR_INPUT,
	                              _("'ByteLevel' with the model '%s' is not supported"), model);
}

static bool read_wordpiece(
        struct tokenizer *t, const json_t *model, bool byte_level, struct err *err)
{
	json_t *vocab = json_object_get(model, "vocab");
	const json_t *prefix = json_object_get(model, "continuing_subword_prefix");
	const json_t *chars_max = json_object_get(model, "max_input_chars_per_word");
	struct str unknown = json_part_text(model, "unk_token");
	if (!no_byte_level(byte_level, "WordPiece", err) || !read_vocab(t, vocab, err))
		return false;
	json_int_t n = json_is_integer(chars_max) ? json_integer_value(chars_max) : 100;
	t->wordpiece = (struct wordpiece){
		.later = json_is_string(prefix) ? str_dup(text_of(prefix), &t->run) : STR("##"),
		.chars_max = n < 0                           ? 0
		             : n > TOKENIZER_PIECE_BYTES_MAX ? TOKENIZER_PIECE_BYTES_MAX
		                                             : (int)n,
	};
	t->unknown = id_of(vocab, unknown.s ? unknown : STR("[UNK]"));
	index_pieces(t, false);
	for (int32_t id = 0; id < t->n; id++) {
		struct piece *p = &t->pieces[id];
		if (!str_starts(p->text, t->wordpiece.later))
			continue;
		p->text.s += t->wordpiece.later.len;
		p->text.len -= t->wordpiece.later.len;
	}
	t->encode = wordpiece_encode;
	return true;
}

static bool read_unigram(struct tokenizer *t, const json_t *model, bool byte_level, struct err *err)
{
	const double unknown_penalty = 10;
	const json_t *unknown = json_object_get(model, "unk_id");
	const json_t *vocab = json_object_get(model, "vocab");
	if (!no_byte_level(byte_level, "Unigram", err) || !read_scored(t, vocab, err))
		return false;
	double least = 0;
	for (size_t id = 0; id < json_array_size(vocab); id++)
		least = fmin(least, t->pieces[id].score);
	t->unigram = (struct unigram){
		.unknown_score = least - unknown_penalty,
		.byte_fallback = json_part_flag(model, "byte_fallback", false),
	};
	if (json_is_integer(unknown) && json_integer_value(unknown) >= 0 &&
	        json_integer_value(unknown) < t->n)
		t->unknown = (int32_t)json_integer_value(unknown);
	index_pieces(t, false);
	if (t->unigram.byte_fallback)
		index_bytes(t);
	t->encode = unigram_encode;
	return true;
}

static const struct {
	const char *type;
	const char *mark; /* a field that only it has, for files without a type */
	bool (*read)(struct tokenizer *t, const json_t *model, bool byte_level, struct err *err);
} models[] = {
	{ "BPE", "merges", read_bpe },
	{ "WordPiece", "max_input_chars_per_word", read_wordpiece },
	{ "Unigram", "unk_id", read_unigram },
};

bool json_model_read(struct tokenizer *t, const json_t *model, bool byte_level, struct err *err)
{
	struct str type = json_part_text(model, "type");
	char name[GGUF_QUOTE];
	for (size_t i = 0; i < ARRAY_LEN(models); i++)
		if (type.len ? str_eq(type, str_of(models[i].type))
		             : json_object_get(model, models[i].mark) != NULL)
			return models[i].read(t, model, byte_level, err);
	return err_set(
	        err, ERR_INPUT, _("the model '%s' is not supported"), gguf_quote(type, name));
}
