#include "base/i18n.h"
#include "token/json_part.h"

#include <stdlib.h>
#include <string.h>

struct str json_part_text(const json_t *part, const char *key)
{
	const json_t *string = json_object_get(part, key);
	return (struct str){ json_string_value(string), json_string_length(string) };
}

bool json_part_read(struct tokenizer *t, const struct json_part_kind *kind, const json_t *part,
        int depth, void *ctx, struct err *err)
{
	struct str type = json_part_text(part, "type");
	char name[GGUF_QUOTE];
	size_t i;
	json_t *one;
	if (!part || json_is_null(part))
		return true;
	if (str_eq(type, STR("Sequence")) && depth < JSON_PART_DEPTH_MAX) {
		json_array_foreach(json_object_get(part, kind->list), i, one)
		{
			if (!json_part_read(t, kind, one, depth + 1, ctx, err))
				return false;
		}
		return true;
	}
	if (kind->admits && !kind->admits(type, ctx, err))
		return false;
	for (i = 0; i < kind->n_rows; i++)
		if (str_eq(type, str_of(kind->rows[i].type)))
			return kind->rows[i].read(t, part, err);
	return err_set(err, ERR_INPUT, _(kind->unsupported), gguf_quote(type, name));
}

bool json_part_flag(const json_t *part, const char *key, bool otherwise)
{
	const json_t *flag = json_object_get(part, key);
	return json_is_boolean(flag) ? json_is_true(flag) : otherwise;
}

bool json_part_pattern(
        struct tokenizer *t, const json_t *part, const struct pattern **ret, struct err *err)
{
	struct str regex = json_part_text(part, "Regex"), literal = json_part_text(part, "String");
	struct pattern *pattern;
	if (regex.len > 0) {
		if (!pattern_compile(regex, &t->run, &t->patterns, &pattern, err))
			return false;
	} else if (literal.len > 0) {
		pattern = pattern_of_literal(literal, &t->run);
	} else {
		return err_set(err, ERR_INPUT, _("a pattern is neither 'String' nor 'Regex'"));
	}
	*ret = pattern;
	return true;
}

/* ---- added tokens ---- */

static bool check_added(const json_t *row, struct err *err)
{
	const json_t *id = json_object_get(row, "id");
	struct str content = json_part_text(row, "content");
	if (!json_is_integer(id) || json_integer_value(id) < 0 ||
	        json_integer_value(id) >= TOKENIZER_VOCAB_MAX || content.len > ADDED_BYTES_MAX)
		return err_set(err, ERR_INPUT,
		        _("an added token has no id from 0 to %d or no content of at most %d "
		          "bytes"),
		        TOKENIZER_VOCAB_MAX - 1, ADDED_BYTES_MAX);
	return true;
}

static void name_added(struct tokenizer *t, int32_t id, struct str content, bool special)
{
	struct piece *p = &t->pieces[id];
	p->type = special ? PIECE_CONTROL : PIECE_USER;
	p->text = special ? (struct str){ 0 } : content;
}

/* A token that is also in the vocabulary has its id from there, whatever else is said. */
static int32_t added_id(const json_t *row, const json_t *vocab)
{
	struct str content = json_part_text(row, "content");
	const json_t *id = content.s ? json_object_getn(vocab, content.s, content.len) : NULL;
	if (!json_is_integer(id))
		id = json_object_get(row, "id");
	return (int32_t)json_integer_value(id);
}

/* The added tokens of one stage: those whose text is looked for as it came, or normalized. */
static void read_added(struct tokenizer *t, const json_t *all, const json_t *vocab, bool normalized)
{
	struct match_scan scan = { 0 };
	struct buf room[2] = { { 0 }, { 0 } };
	struct added_token *tokens = arena_new_n(&t->run, struct added_token, json_array_size(all));
	size_t i;
	json_t *row;
	int n = 0;
	json_array_foreach(all, i, row)
	{
		struct added_token token = {
			.text = json_part_text(row, "content"),
			.id = added_id(row, vocab),
			.special = json_part_flag(row, "special", false),
			.single_word = json_part_flag(row, "single_word", false),
			.left_blanks = json_part_flag(row, "lstrip", false),
			.right_blanks = json_part_flag(row, "rstrip", false),
		};
		if (json_part_flag(row, "normalized", !token.special) != normalized)
			continue;
		name_added(t, token.id, str_dup(token.text, &t->run), token.special);
		if (normalized)
			token.text = normalize(&t->normalizer, token.text, &scan, room);
		token.text = str_dup(token.text, &t->run);
		if (token.text.len > 0 && token.text.len <= ADDED_BYTES_MAX)
			tokens[n++] = token;
	}
	added_init(&t->added[normalized], tokens, n, &t->run);
	match_release(&scan);
	buf_release(&room[0]);
	buf_release(&room[1]);
}

/* ---- all of it ---- */

/* One more than the greatest id; wrong ids are found later. */
static uint64_t count_pieces(json_t *vocab, const json_t *added)
{
	uint64_t n = json_array_size(vocab) + json_object_size(vocab);
	const char *key;
	size_t i;
	json_t *row;
	json_object_foreach(vocab, key, row)
	{
		json_int_t id = json_integer_value(row);
		if (id >= 0 && (uint64_t)id >= n)
			n = (uint64_t)id + 1;
	}
	json_array_foreach(added, i, row)
	{
		json_int_t id = json_integer_value(json_object_get(row, "id"));
		if (id >= 0 && (uint64_t)id >= n)
			n = (uint64_t)id + 1;
	}
	return n;
}

/* Whether decoding takes away a space at the start, which encoding has put there. */
static bool prepends_space(const struct tokenizer *t)
{
	for (size_t i = 0; i < t->normalizer.n; i++)
		if (t->normalizer.steps[i].kind == NORMALIZE_PREPEND &&
		        str_eq(t->normalizer.steps[i].content, SPACE_MARK))
			return true;
	return false;
}

static bool load(struct tokenizer *t, const json_t *all, struct err *err)
{
	const json_t *model = json_object_get(all, "model");
	const json_t *added = json_object_get(all, "added_tokens");
	bool byte_level = false;
	size_t i;
	json_t *row;
	if (!json_is_object(model))
		return err_set(err, ERR_INPUT, _("it has no 'model', so it is no tokenizer.json"));
	json_array_foreach(added, i, row)
	{
		if (!check_added(row, err))
			return false;
	}
	if (!tokenizer_take_pieces(t, count_pieces(json_object_get(model, "vocab"), added), err) ||
	        !json_normalizer_read(t, json_object_get(all, "normalizer"), err) ||
	        !json_pretokenizer_read(
	                t, json_object_get(all, "pre_tokenizer"), &byte_level, err) ||
	        !json_model_read(t, model, byte_level, err))
		return false;
	read_added(t, added, json_object_get(model, "vocab"), false);
	read_added(t, added, json_object_get(model, "vocab"), true);
	t->adds_space = t->adds_space || prepends_space(t);
	if (!json_framing_read(t, json_object_get(all, "post_processor"), err))
		return false;
	t->bos = t->one.before.n > 0 ? t->one.before.ids[0] : NO_ID;
	return true;
}

bool tokenizer_open_parts(const json_t *all, struct tokenizer **ret_tokenizer, struct err *err)
{
	struct tokenizer *t = tokenizer_new();
	if (!load(t, all, err)) {
		tokenizer_close(t);
		return false;
	}
	tokenizer_finish(t);
	*ret_tokenizer = t;
	return true;
}

bool tokenizer_open_json(struct str json, struct tokenizer **ret_tokenizer, struct err *err)
{
	json_error_t e;
	json_t *all = json_loadb(json.s, json.len, JSON_ALLOW_NUL, &e);
	if (!all)
		return err_set(err, ERR_INPUT, _("it is neither GGUF nor JSON: line %d: %s"),
		        e.line, e.text);
	bool ok = tokenizer_open_parts(all, ret_tokenizer, err);
	json_decref(all);
	return ok;
}
