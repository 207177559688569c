#include "token/json_part.h"

#include "base/i18n.h"

static bool full(struct err *err)
{
	return err_set(
	        err, ERR_INPUT, _("there are more than %d normalizers"), NORMALIZE_STEPS_MAX);
}

static bool add(struct tokenizer *t, struct normalize_step step, struct err *err)
{
	struct normalize_step *at = normalizer_add(&t->normalizer, step.kind);
	if (!at)
		return full(err);
	*at = step;
	return true;
}

static bool add_form(struct tokenizer *t, enum char_form form, struct err *err)
{
	return add(t, (struct normalize_step){ .kind = NORMALIZE_FORM, .form = form }, err);
}

static bool add_drop(struct tokenizer *t, char_kind *drop, struct err *err)
{
	return add(t, (struct normalize_step){ .kind = NORMALIZE_DROP, .drop = drop }, err);
}

static bool add_kind(struct tokenizer *t, enum normalize_kind kind, struct err *err)
{
	return add(t, (struct normalize_step){ .kind = kind }, err);
}

static bool read_nfc(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_form(t, CHAR_NFC, err);
}

static bool read_nfd(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_form(t, CHAR_NFD, err);
}

static bool read_nfkc(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_form(t, CHAR_NFKC, err);
}

static bool read_nfkd(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_form(t, CHAR_NFKD, err);
}

static bool read_lowercase(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_kind(t, NORMALIZE_LOWER, err);
}

static bool read_strip_accents(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_drop(t, char_is_mark, err);
}

static bool read_nmt(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_kind(t, NORMALIZE_NMT, err);
}

static bool read_strip(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct normalize_step step = {
		.kind = NORMALIZE_STRIP,
		.left = json_part_flag(part, "strip_left", true),
		.right = json_part_flag(part, "strip_right", true),
	};
	return add(t, step, err);
}

static bool read_prepend(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct normalize_step step = {
		.kind = NORMALIZE_PREPEND,
		.content = str_dup(json_part_text(part, "prepend"), &t->run),
	};
	return add(t, step, err);
}

static bool read_replace(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct normalize_step step = {
		.kind = NORMALIZE_REPLACE,
		.content = str_dup(json_part_text(part, "content"), &t->run),
	};
	return json_part_pattern(t, json_object_get(part, "pattern"), &step.pattern, err) &&
	       add(t, step, err);
}

static bool read_precompiled(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct normalize_step step = { .kind = NORMALIZE_CHARSMAP };
	struct str map = json_part_text(part, "precompiled_charsmap");
	if (map.len == 0)
		return true; /* there are models with an empty one */
	return charsmap_read(&step.charsmap, map, &t->run, err) && add(t, step, err);
}

static bool read_bert(struct tokenizer *t, const json_t *part, struct err *err)
{
	bool lower = json_part_flag(part, "lowercase", true);
	if (json_part_flag(part, "clean_text", true) && !add_kind(t, NORMALIZE_CLEAN, err))
		return false;
	if (json_part_flag(part, "handle_chinese_chars", true) &&
	        !add_kind(t, NORMALIZE_CHINESE, err))
		return false;
	if (json_part_flag(part, "strip_accents", lower) &&
	        (!add_form(t, CHAR_NFD, err) || !add_drop(t, char_is_nonspacing, err)))
		return false;
	return !lower || add_kind(t, NORMALIZE_LOWER, err);
}

static const struct json_part_row rows[] = {
	{ "NFC", read_nfc },
	{ "NFD", read_nfd },
	{ "NFKC", read_nfkc },
	{ "NFKD", read_nfkd },
	{ "Lowercase", read_lowercase },
	{ "StripAccents", read_strip_accents },
	{ "Nmt", read_nmt },
	{ "Strip", read_strip },
	{ "Prepend", read_prepend },
	{ "Replace", read_replace },
	{ "Precompiled", read_precompiled },
	{ "BertNormalizer", read_bert },
};

bool json_normalizer_read(struct tokenizer *t, const json_t *part, struct err *err)
{
	static const struct json_part_kind kind = {
		.list = "normalizers",
		.unsupported = N_("the normalizer '%s' is not supported"),
		.rows = rows,
		.n_rows = ARRAY_LEN(rows),
	};
	return json_part_read(t, &kind, part, 0, NULL, err);
}
