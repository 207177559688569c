#include "token/internal.h"

#include "base/i18n.h"
#include "token/byte_level.h"

#include <string.h>

/* ---- what all have in common ---- */

static bool load_piece(struct tokenizer *t, int32_t id, struct str key,
        const struct gguf_value *scores, const struct gguf_value *types, struct err *err)
{
	struct piece *p = &t->pieces[id];
	int32_t type = types ? gguf_array_i32(types, (uint64_t)id) : PIECE_NORMAL;
	if (key.len > TOKENIZER_PIECE_BYTES_MAX)
		return err_set(err, ERR_INPUT,
		        _("token %d has %zu bytes, more than the limit of %d"), id, key.len,
		        TOKENIZER_PIECE_BYTES_MAX);
	if (type < PIECE_NORMAL || type > PIECE_BYTE)
		return err_set(err, ERR_INPUT, _("token %d has the unknown type %d"), id, type);
	p->key = str_dup(key, &t->run);
	p->score = scores ? (double)gguf_array_f32(scores, (uint64_t)id) : 0;
	p->type = (enum piece_type)type;
	if (!(p->score == p->score))
		return err_set(err, ERR_INPUT, _("the score of token %d is not a number"), id);
	return true;
}

/* Scores and types of the tokens, where they are asked for or there. */
static bool load_pieces(struct tokenizer *t, const struct gguf *file, bool is_spm, struct err *err)
{
	const struct gguf_value *tokens, *scores = NULL, *types = NULL;
	const char *types_key = "tokenizer.ggml.token_type";
	if (!gguf_array(file, "tokenizer.ggml.tokens", GGUF_STRING, 0, &tokens, err) ||
	        !tokenizer_take_pieces(t, tokens->n, err))
		return false;
	if (is_spm && !gguf_array(file, "tokenizer.ggml.scores", GGUF_F32, tokens->n, &scores, err))
		return false;
	if ((is_spm || gguf_value(file, types_key)) &&
	        !gguf_array(file, types_key, GGUF_I32, tokens->n, &types, err))
		return false;
	const unsigned char *at = tokens->at;
	for (int32_t id = 0; id < t->n; id++)
		if (!load_piece(t, id, gguf_array_next_string(&at), scores, types, err))
			return false;
	return true;
}

/* The id that an optional key names; left as it is without the key. */
static bool load_id(const struct gguf *file, const char *key, int n, int32_t *ret, struct err *err)
{
	int64_t id;
	if (!gguf_value(file, key))
		return true;
	if (!gguf_int(file, key, 0, n - 1, &id, err))
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

static bool load_flag(
        const struct gguf *file, const char *key, bool otherwise, bool *ret, struct err *err)
{
	*ret = otherwise;
	return !gguf_value(file, key) || gguf_bool(file, key, ret, err);
}

static bool load_frame(struct tokenizer *t, const struct gguf *file, bool bos, struct err *err)
{
	bool add;
	if (!load_flag(file, "tokenizer.ggml.add_bos_token", bos, &add, err))
		return false;
	if (add && t->bos != NO_ID)
		t->one.before = t->two.before = (struct frame){ { t->bos }, { 0 }, 1 };
	return true;
}

/* Control tokens, and where asked user-defined ones, are found in a text before anything else. */
static void add_tokens(struct tokenizer *t, bool user_defined)
{
	struct added_token *tokens = arena_new_n(&t->run, struct added_token, (size_t)t->n);
	int n = 0;
	for (int32_t id = 0; id < t->n; id++) {
		const struct piece *p = &t->pieces[id];
		bool control = p->type == PIECE_CONTROL;
		if (p->key.len == 0 || p->key.len > ADDED_BYTES_MAX ||
		        (!control && !(user_defined && p->type == PIECE_USER)))
			continue;
		tokens[n++] = (struct added_token){ .text = p->key, .id = id, .special = control };
	}
	added_init(&t->added[0], tokens, n, &t->run);
}

/* ---- SentencePiece ---- */

static bool load_spm_piece(struct tokenizer *t, int32_t id, struct err *err)
{
	struct piece *p = &t->pieces[id];
	char name[GGUF_QUOTE];
	if (p->type == PIECE_NORMAL || p->type == PIECE_USER)
		vocab_add(&t->vocab, id);
	if (p->type == PIECE_CONTROL || p->type == PIECE_UNKNOWN)
		return true;
	if (p->type != PIECE_BYTE) {
		p->text = tokenizer_unmark(p->key, &t->run);
		return true;
	}
	int byte = tokenizer_byte_of_key(p->key);
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

static bool load_spm(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	if (!load_pieces(t, file, true, err))
		return false;
	for (int32_t id = 0; id < t->n; id++)
		if (!load_spm_piece(t, id, err))
			return false;
	if (!load_ids(t, file, err) || !load_frame(t, file, true, err) ||
	        !load_flag(file, "tokenizer.ggml.add_space_prefix", true, &t->adds_space, err))
		return false;
	add_tokens(t, false);
	if (t->adds_space)
		normalizer_add(&t->normalizer, NORMALIZE_PREPEND)->content = SPACE_MARK;
	struct normalize_step *mark = normalizer_add(&t->normalizer, NORMALIZE_REPLACE);
	mark->pattern = pattern_of_literal(STR(" "), &t->run);
	mark->content = SPACE_MARK;
	t->encode = spm_encode;
	return true;
}

/* ---- byte-level BPE ---- */

/* What the models of a name have in common; the expressions are applied one after the other. */
struct pre {
	const char *names[10];
	const char *expressions[3];
	bool whole_first, add_bos;
};

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALLS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED_REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/*
 * Source: the names are those that converters write into GGUF; the expressions are those of the
 * models' own tokenizer.json.
 */
static const struct pre pres[] = {
	{ { "gpt-2", "phi-2", "olmo", "mpt", "jais", "dbrx-gpt2", "gpt-neox" },
	        { GPT2_EXPRESSION } },
	{ { "llama-bpe", "llama3", "llama-v3", "falcon3" },
	        { CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" REST }, true, true },
	{ { "dbrx", "smaug-bpe", "gpt-4" },
	        { CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" REST } },
	{ { "qwen2", "stablelm2", "deepseek-r1-qwen", "megrez" },
	        { CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" REST } },
	{ { "starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b" },
	        { "\\p{N}", GPT2_EXPRESSION } },
	{ { "deepseek-v3" },
	        { "\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
	                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
	                "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
	                "\\s*[\r\n]+|\\s+(?!\\S)|\\s+" } },
	{ { "gpt-4o", "llama4" },
	        { "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "*" SMALLS "+" CONTRACTIONS "?|"
	          "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "+" SMALLS "*" CONTRACTIONS "?|"
	          "\\p{N}{1,3}|" CASED_REST } },
	{ { "tekken" },
	        { "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "*" SMALLS "+|"
	          "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "+" SMALLS "*|\\p{N}|" CASED_REST },
	        true, true },
};

static const struct pre *find_pre(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(pres); i++)
		for (size_t k = 0; k < ARRAY_LEN(pres[i].names) && pres[i].names[k]; k++)
			if (str_eq(str_of(pres[i].names[k]), name))
				return &pres[i];
	return NULL;
}

static bool load_pre(
        struct tokenizer *t, const struct gguf *file, const struct pre **ret, struct err *err)
{
	struct str name;
	char quoted[GGUF_QUOTE];
	if (!gguf_string(file, "tokenizer.ggml.pre", &name, err))
		return false;
	const struct pre *pre = find_pre(name);
	if (!pre)
		return err_set(err, ERR_INPUT,
		               _("how '%s' ('tokenizer.ggml.pre') cuts a text is not known here"),
		               gguf_quote(name, quoted)) ||
		       err_hint(err, _("the model's tokenizer.json says it"));
	for (size_t i = 0; i < ARRAY_LEN(pre->expressions) && pre->expressions[i]; i++)
		if (!tokenizer_split_by(t, str_of(pre->expressions[i]), SPLIT_ISOLATED, false, err))
			return false;
	t->bpe.whole_first = pre->whole_first;
	*ret = pre;
	return true;
}

static int32_t find_bytes(struct tokenizer *t, struct str left, struct str right, struct buf *key)
{
	buf_clear(key);
	buf_add(key, left);
	buf_add(key, right);
	return vocab_find(&t->vocab, buf_str(key));
}

/* One merge: two tokens in the byte alphabet with a space between them. */
static bool load_merge(struct tokenizer *t, struct str line, int32_t rank, struct arena *tmp,
        struct buf *key, struct err *err)
{
	struct str right, left = str_cut(line, ' ', &right), bytes[2];
	char quoted[GGUF_QUOTE];
	if (byte_level_read(left, tmp, &bytes[0]) && byte_level_read(right, tmp, &bytes[1])) {
		struct bpe_merge merge = {
			.left = vocab_find(&t->vocab, bytes[0]),
			.right = vocab_find(&t->vocab, bytes[1]),
			.rank = rank,
			.id = find_bytes(t, bytes[0], bytes[1], key),
		};
		if (merge.left != NO_ID && merge.right != NO_ID && merge.id != NO_ID) {
			bpe_add(&t->bpe, merge);
			return true;
		}
	}
	return err_set(err, ERR_INPUT, _("merge %d, '%s', is not of tokens of the vocabulary"),
	        rank, gguf_quote(line, quoted));
}

static bool load_merges(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf key = { 0 };
	const struct gguf_value *merges;
	if (!gguf_array(file, "tokenizer.ggml.merges", GGUF_STRING, 0, &merges, err))
		return false;
	if (merges->n > BPE_MERGES_MAX)
		return err_set(err, ERR_INPUT,
		        _("there are %llu merges, more than the limit of %d"),
		        (unsigned long long)merges->n, BPE_MERGES_MAX);
	bpe_init(&t->bpe, merges->n, &t->run);
	const unsigned char *at = merges->at;
	for (int32_t i = 0; i < (int32_t)merges->n; i++)
		if (!load_merge(t, gguf_array_next_string(&at), i, &tmp, &key, err))
			return false;
	return true;
}

static bool load_bpe(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	const struct pre *pre = NULL;
	if (!load_pieces(t, file, false, err) || !load_ids(t, file, err) ||
	        !load_pre(t, file, &pre, err) || !load_frame(t, file, pre->add_bos, err))
		return false;
	add_tokens(t, true);
	for (int32_t id = 0; id < t->n; id++) {
		struct piece *p = &t->pieces[id];
		if (p->type == PIECE_USER)
			p->text = p->key;
		if (p->type != PIECE_NORMAL || !byte_level_read(p->key, &t->run, &p->text))
			continue;
		p->key = p->text;
		vocab_add(&t->vocab, id);
	}
	t->bpe.bytes = true;
	t->encode = bpe_encode;
	return load_merges(t, file, err);
}

/* ---- WordPiece ---- */

static bool load_wordpiece(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	int32_t end = NO_ID;
	if (!load_pieces(t, file, false, err) || !load_ids(t, file, err) ||
	        !load_id(file, "tokenizer.ggml.cls_token_id", t->n, &t->bos, err) ||
	        !load_frame(t, file, true, err) ||
	        !load_id(file, "tokenizer.ggml.seperator_token_id", t->n, &end, err))
		return false;
	if (end != NO_ID) {
		t->one.after = t->two.between = (struct frame){ { end }, { 0 }, 1 };
		t->two.after = (struct frame){ { end }, { 1 }, 1 };
	}
	add_tokens(t, true);
	tokenizer_add_bert_steps(t);
	/* Here it is the first piece of a word that is marked, and the others are not. */
	t->wordpiece = (struct wordpiece){ .first = SPACE_MARK, .chars_max = 100 };
	for (int32_t id = 0; id < t->n; id++) {
		struct piece *p = &t->pieces[id];
		if (p->type != PIECE_NORMAL)
			continue;
		p->text = tokenizer_unmark(p->key, &t->run);
		vocab_add(&t->vocab, id);
	}
	t->encode = wordpiece_encode;
	return true;
}

static const struct {
	const char *model;
	bool (*load)(struct tokenizer *t, const struct gguf *file, struct err *err);
} models[] = {
	{ "llama", load_spm },
	{ "gpt2", load_bpe },
	{ "bert", load_wordpiece },
};

static bool load(struct tokenizer *t, const struct gguf *file, struct err *err)
{
	struct str model;
	char name[GGUF_QUOTE];
	if (!gguf_string(file, "tokenizer.ggml.model", &model, err))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(models); i++)
		if (str_eq(model, str_of(models[i].model)))
			return models[i].load(t, file, err);
	return err_set(err, ERR_INPUT,
	        _("the tokenizer is '%s'; only 'llama' (SentencePiece), 'gpt2' (byte-level BPE) "
	          "and "
	          "'bert' (WordPiece) are supported"),
	        gguf_quote(model, name));
}

bool tokenizer_open(const struct gguf *file, struct tokenizer **ret_tokenizer, struct err *err)
{
	struct tokenizer *t = tokenizer_new();
	t->two.type_b = 1;
	if (!load(t, file, err)) {
		tokenizer_close(t);
		return false;
	}
	tokenizer_finish(t);
	*ret_tokenizer = t;
	return true;
}
