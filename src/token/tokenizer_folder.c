/*
 * A tokenizer from a Hugging Face folder. Where there is no tokenizer.json its parts are made of
 * the files that there were before it, as Hugging Face's own converters make them.
 */
#include "token/json_part.h"

#include "base/i18n.h"
#include "base/utf8.h"

#include <string.h>
#include <unistd.h>

enum { SETTINGS_BYTES_MAX = 16 << 20, QUOTE = 100 };

struct folder {
	const char *path;
	struct arena tmp;
	json_t *settings; /* tokenizer_config.json; NULL: there is none */
	bool lower_first; /* sentence_bert_config.json wants lower case whatever the tokenizer does
	                   */
};

static const char *file_of(struct folder *f, const char *name)
{
	return arena_printf(&f->tmp, "%s/%s", f->path, name);
}

static bool is_there(struct folder *f, const char *name)
{
	return access(file_of(f, name), F_OK) == 0;
}

static bool load_json(
        struct folder *f, const char *name, size_t bytes_max, json_t **ret, struct err *err)
{
	const char *path = file_of(f, name);
	struct str text;
	json_error_t e;
	if (!str_read_file(path, bytes_max, &f->tmp, &text, err))
		return false;
	*ret = json_loadb(text.s, text.len, JSON_ALLOW_NUL, &e);
	return *ret != NULL ||
	       err_set(err, ERR_INPUT, _("'%s' is no JSON: line %d: %s"), path, e.line, e.text);
}

/* ---- tokenizer_config.json ---- */

static bool load_settings(struct folder *f, struct err *err)
{
	json_t *sentence;
	if (is_there(f, "tokenizer_config.json") &&
	        !load_json(f, "tokenizer_config.json", SETTINGS_BYTES_MAX, &f->settings, err))
		return false;
	if (!is_there(f, "sentence_bert_config.json"))
		return true;
	if (!load_json(f, "sentence_bert_config.json", SETTINGS_BYTES_MAX, &sentence, err))
		return false;
	f->lower_first = json_part_flag(sentence, "do_lower_case", false);
	json_decref(sentence);
	return true;
}

/* The text of a special token: "[CLS]", or {"content": "[CLS]"}. */
static struct str special_text(const struct folder *f, const char *key, struct str otherwise)
{
	json_t *value = json_object_get(f->settings, key);
	struct str text = json_is_object(value) ? json_part_text(value, "content")
	                                        : json_part_text(f->settings, key);
	return text.s ? text : otherwise;
}

/* What other classes do is not all in the files. */
static bool check_class(const struct folder *f, const char *const *classes, struct err *err)
{
	struct str class = json_part_text(f->settings, "tokenizer_class");
	if (str_ends(class, STR("Fast")))
		class.len -= STR("Fast").len;
	for (; *classes && class.len > 0; classes++)
		if (str_eq(class, str_of(*classes)))
			return true;
	return class.len == 0 ||
	       err_set(err, ERR_INPUT,
	               _("'%s/tokenizer_config.json': the tokenizer '%.*s' without a "
	                 "tokenizer.json is not supported"),
	               f->path, (int)(class.len < QUOTE ? class.len : QUOTE), class.s);
}

/* ---- parts of a tokenizer.json ---- */

struct special {
	const char *key;
	struct str text; /* the usual one */
	bool needed, left_blanks;
};

/*
 * The special tokens that there are in the vocabulary, as added tokens.
 *
 * ret_ids   [n], of those that are needed
 */
static bool make_added(const struct folder *f, const char *vocab_name, const json_t *vocab,
        const struct special *specials, int n, json_t *added, json_int_t *ret_ids, struct err *err)
{
	for (int i = 0; i < n; i++) {
		struct str text = special_text(f, specials[i].key, specials[i].text);
		const json_t *id = json_object_getn(vocab, text.s, text.len);
		if (json_is_integer(id)) {
			ret_ids[i] = json_integer_value(id);
			json_array_append_new(added,
			        json_pack("{sI ss% sb sb}", "id", ret_ids[i], "content", text.s,
			                text.len, "special", 1, "lstrip", specials[i].left_blanks));
		} else if (specials[i].needed) {
			return err_set(err, ERR_INPUT,
			        _("'%s/%s' has no token '%.*s', which is the '%s'"), f->path,
			        vocab_name, (int)(text.len < QUOTE ? text.len : QUOTE), text.s,
			        specials[i].key);
		}
	}
	return true;
}

static json_t *make_ends(const char *type, json_int_t cls, json_int_t sep)
{
	return json_pack("{ss s[sI] s[sI]}", "type", type, "cls", "", cls, "sep", "", sep);
}

static json_t *lower_before(json_t *normalizer)
{
	json_t *list = json_array();
	json_array_append_new(list, json_pack("{ss}", "type", "Lowercase"));
	if (json_is_object(normalizer))
		json_array_append(list, normalizer);
	return json_pack("{ss so}", "type", "Sequence", "normalizers", list);
}

/* Opens what was made, takes it over, and names the file that it came from. */
static bool open_parts(struct folder *f, const char *name, json_t *all,
        struct tokenizer **ret_tokenizer, struct err *err)
{
	if (f->lower_first && json_is_object(all))
		json_object_set_new(
		        all, "normalizer", lower_before(json_object_get(all, "normalizer")));
	bool ok = tokenizer_open_parts(all, ret_tokenizer, err) ||
	          err_wrap(err, "'%s/%s'", f->path, name);
	json_decref(all);
	return ok;
}

/* ---- vocab.txt ---- */

/* A token a line; of those that are there twice the last one counts. */
static bool load_lines(struct folder *f, const char *name, json_t *vocab, struct err *err)
{
	struct str text;
	json_int_t id = 0;
	if (!str_read_file(file_of(f, name), TOKENIZER_FILE_BYTES_MAX, &f->tmp, &text, err))
		return false;
	for (; text.len > 0; id++) {
		struct str line = str_cut(text, '\n', &text);
		if (line.len > 0 && line.s[line.len - 1] == '\r')
			line.len--;
		if (id >= TOKENIZER_VOCAB_MAX)
			return err_set(err, ERR_INPUT, _("'%s/%s' has more than %d lines"), f->path,
			        name, TOKENIZER_VOCAB_MAX);
		if (memchr(line.s, '\0', line.len) || !utf8_valid(line.s, line.len))
			return err_set(err, ERR_INPUT, _("'%s/%s': line %lld is no text in UTF-8"),
			        f->path, name, (long long)id + 1);
		json_object_setn_new(vocab, line.s, line.len, json_integer(id));
	}
	return true;
}

static json_t *make_bert_normalizer(const struct folder *f)
{
	json_t *strip = json_object_get(f->settings, "strip_accents");
	json_t *normalizer = json_pack("{ss sb sb}", "type", "BertNormalizer", "lowercase",
	        json_part_flag(f->settings, "do_lower_case", true), "handle_chinese_chars",
	        json_part_flag(f->settings, "tokenize_chinese_chars", true));
	if (json_is_boolean(strip))
		json_object_set(normalizer, "strip_accents", strip);
	return normalizer;
}

static bool open_wordpiece(struct folder *f, struct tokenizer **ret_tokenizer, struct err *err)
{
	static const char *const classes[] = { "BertTokenizer", "DistilBertTokenizer",
		"ElectraTokenizer", "MobileBertTokenizer", "RetriBertTokenizer", NULL };
	static const struct special specials[] = {
		{ "cls_token", STR_INIT("[CLS]"), true, false },
		{ "sep_token", STR_INIT("[SEP]"), true, false },
		{ "unk_token", STR_INIT("[UNK]"), true, false },
		{ "pad_token", STR_INIT("[PAD]"), false, false },
		{ "mask_token", STR_INIT("[MASK]"), false, false },
	};
	json_int_t ids[ARRAY_LEN(specials)];
	struct str unknown = special_text(f, "unk_token", STR("[UNK]"));
	json_t *vocab = json_object(), *added = json_array();
	if (!check_class(f, classes, err) || !load_lines(f, "vocab.txt", vocab, err) ||
	        !make_added(
	                f, "vocab.txt", vocab, specials, ARRAY_LEN(specials), added, ids, err)) {
		json_decref(vocab);
		json_decref(added);
		return false;
	}
	json_t *all = json_pack("{s{ss so ss%} so s{ss} so so}", "model", "type", "WordPiece",
	        "vocab", vocab, "unk_token", unknown.s, unknown.len, "normalizer",
	        make_bert_normalizer(f), "pre_tokenizer", "type", "BertPreTokenizer",
	        "post_processor", make_ends("BertProcessing", ids[0], ids[1]), "added_tokens",
	        added);
	return open_parts(f, "vocab.txt", all, ret_tokenizer, err);
}

/* ---- vocab.json and merges.txt ---- */

static bool load_merges(struct folder *f, json_t *merges, struct err *err)
{
	struct str text;
	if (!str_read_file(file_of(f, "merges.txt"), TOKENIZER_FILE_BYTES_MAX, &f->tmp, &text, err))
		return false;
	while (text.len > 0) {
		struct str line = str_cut(text, '\n', &text);
		if (line.len > 0 && line.s[line.len - 1] == '\r')
			line.len--;
		if (line.len == 0 || str_starts(line, STR("#version")))
			continue;
		json_t *merge = json_stringn(line.s, line.len);
		if (!merge)
			return err_set(err, ERR_INPUT, _("'%s' is no text in UTF-8"),
			        file_of(f, "merges.txt"));
		json_array_append_new(merges, merge);
	}
	return true;
}

static bool open_byte_level(struct folder *f, struct tokenizer **ret_tokenizer, struct err *err)
{
	static const char *const classes[] = { "RobertaTokenizer", "GPT2Tokenizer",
		"LongformerTokenizer", "BartTokenizer", NULL };
	static const struct special specials[] = {
		{ "cls_token", STR_INIT("<s>"), true, false },
		{ "sep_token", STR_INIT("</s>"), true, false },
		{ "unk_token", STR_INIT("<unk>"), false, false },
		{ "pad_token", STR_INIT("<pad>"), false, false },
		{ "mask_token", STR_INIT("<mask>"), false, true },
	};
	json_int_t ids[ARRAY_LEN(specials)];
	json_t *vocab = NULL, *merges = json_array(), *added = json_array();
	if (!check_class(f, classes, err) ||
	        !load_json(f, "vocab.json", TOKENIZER_FILE_BYTES_MAX, &vocab, err) ||
	        !load_merges(f, merges, err) ||
	        !make_added(
	                f, "vocab.json", vocab, specials, ARRAY_LEN(specials), added, ids, err)) {
		json_decref(vocab);
		json_decref(merges);
		json_decref(added);
		return false;
	}
	json_t *all = json_pack("{s{ss so so} s{ss sb} so so}", "model", "type", "BPE", "vocab",
	        vocab, "merges", merges, "pre_tokenizer", "type", "ByteLevel", "add_prefix_space",
	        json_part_flag(f->settings, "add_prefix_space", false), "post_processor",
	        make_ends("RobertaProcessing", ids[0], ids[1]), "added_tokens", added);
	return open_parts(f, "vocab.json", all, ret_tokenizer, err);
}

/* ---- the folder ---- */

static bool open_json(struct folder *f, struct tokenizer **ret_tokenizer, struct err *err)
{
	json_t *all;
	return load_json(f, "tokenizer.json", TOKENIZER_FILE_BYTES_MAX, &all, err) &&
	       open_parts(f, "tokenizer.json", all, ret_tokenizer, err);
}

static bool open_folder(struct folder *f, struct tokenizer **ret_tokenizer, struct err *err)
{
	static const struct {
		const char *file;
		bool (*open)(struct folder *f, struct tokenizer **ret, struct err *err);
	} rows[] = {
		{ "tokenizer.json", open_json },
		{ "vocab.txt", open_wordpiece },
		{ "vocab.json", open_byte_level },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (is_there(f, rows[i].file))
			return rows[i].open(f, ret_tokenizer, err);
	return err_set(err, ERR_INPUT,
	        _("'%s' has no tokenizer: neither 'tokenizer.json' nor 'vocab.txt' nor "
	          "'vocab.json'"),
	        f->path);
}

bool tokenizer_open_folder(const char *folder, struct tokenizer **ret_tokenizer, struct err *err)
{
	struct folder f = { .path = folder };
	bool ok = load_settings(&f, err) && open_folder(&f, ret_tokenizer, err);
	json_decref(f.settings);
	arena_release(&f.tmp);
	return ok;
}
