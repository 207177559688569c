#include "token/json_part.h"

#include "base/i18n.h"

/* The words of Rust's regular expressions, and what is neither word nor space. */
#define WHITESPACE_EXPRESSION                                                                      \
	"[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]+|"                                \
	"[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}\\s]+"

static const struct {
	const char *name;
	enum split_behavior behavior;
} behaviors[] = {
	{ "Isolated", SPLIT_ISOLATED },
	{ "Removed", SPLIT_REMOVED },
	{ "Contiguous", SPLIT_CONTIGUOUS },
	{ "MergedWithPrevious", SPLIT_WITH_PREVIOUS },
	{ "MergedWithNext", SPLIT_WITH_NEXT },
};

static bool read_behavior(
        const json_t *part, const char *otherwise, enum split_behavior *ret, struct err *err)
{
	struct str name = json_part_text(part, "behavior");
	char quoted[GGUF_QUOTE];
	if (name.len == 0)
		name = str_of(otherwise);
	for (size_t i = 0; i < ARRAY_LEN(behaviors); i++) {
		if (str_eq(name, str_of(behaviors[i].name))) {
			*ret = behaviors[i].behavior;
			return true;
		}
	}
	return err_set(err, ERR_INPUT, _("the split behavior '%s' is not supported"),
	        gguf_quote(name, quoted));
}

static bool add(struct tokenizer *t, struct pretokenize_step step, struct err *err)
{
	struct pretokenize_step *at = pretokenizer_add(&t->pretokenizer, step.kind);
	if (!at)
		return err_set(err, ERR_INPUT, _("there are more than %d pre-tokenizers"),
		        PRETOKENIZE_STEPS_MAX);
	*at = step;
	return true;
}

static bool add_split(
        struct tokenizer *t, struct pattern *pattern, enum split_behavior behavior, struct err *err)
{
	return add(t,
	        (struct pretokenize_step){
	                .kind = PRETOKENIZE_SPLIT, .pattern = pattern, .behavior = behavior },
	        err);
}

static bool add_kind(
        struct tokenizer *t, char_kind *kind, enum split_behavior behavior, struct err *err)
{
	return add_split(t, pattern_of_kind(kind, &t->run), behavior, err);
}

static bool read_split(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct pretokenize_step step = {
		.kind = PRETOKENIZE_SPLIT,
		.invert = json_part_flag(part, "invert", false),
	};
	return json_part_pattern(t, json_object_get(part, "pattern"), &step.pattern, err) &&
	       read_behavior(part, "", &step.behavior, err) && add(t, step, err);
}

static bool read_byte_level(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct pretokenize_step space = { .kind = PRETOKENIZE_SPACE };
	if (json_part_flag(part, "add_prefix_space", true)) {
		if (!add(t, space, err))
			return false;
		t->adds_space = true;
	}
	return !json_part_flag(part, "use_regex", true) ||
	       tokenizer_split_by(t, STR(GPT2_EXPRESSION), SPLIT_ISOLATED, false, err);
}

static bool read_metaspace(struct tokenizer *t, const json_t *part, struct err *err)
{
	static const struct {
		const char *name;
		enum mark_scheme scheme;
	} schemes[] = { { "always", MARK_ALWAYS }, { "first", MARK_FIRST },
		{ "never", MARK_NEVER } };
	struct pretokenize_step step = { .kind = PRETOKENIZE_MARK };
	struct str scheme = json_part_text(part, "prepend_scheme");
	struct str mark = json_part_text(part, "replacement");
	char quoted[GGUF_QUOTE];
	size_t i = 0;
	if (scheme.len == 0)
		scheme = json_part_flag(part, "add_prefix_space", true) ? STR("always")
		                                                        : STR("never");
	while (i < ARRAY_LEN(schemes) && !str_eq(scheme, str_of(schemes[i].name)))
		i++;
	if (i == ARRAY_LEN(schemes))
		return err_set(err, ERR_INPUT, _("the prepend scheme '%s' is not supported"),
		        gguf_quote(scheme, quoted));
	step.scheme = schemes[i].scheme;
	step.content = mark.len > 0 ? str_dup(mark, &t->run) : SPACE_MARK;
	t->adds_space = t->adds_space || step.scheme != MARK_NEVER;
	return add(t, step, err) && (!json_part_flag(part, "split", true) ||
	                                    add_split(t, pattern_of_literal(step.content, &t->run),
	                                            SPLIT_WITH_NEXT, err));
}

static bool read_whitespace(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return tokenizer_split_by(t, STR(WHITESPACE_EXPRESSION), SPLIT_REMOVED, true, err);
}

static bool read_whitespace_split(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_kind(t, char_is_space, SPLIT_REMOVED, err);
}

static bool read_digits(struct tokenizer *t, const json_t *part, struct err *err)
{
	bool each = json_part_flag(part, "individual_digits", false);
	return add_kind(t, char_is_number, each ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, err);
}

static bool read_punctuation(struct tokenizer *t, const json_t *part, struct err *err)
{
	enum split_behavior behavior;
	return read_behavior(part, "Isolated", &behavior, err) &&
	       add_kind(t, char_is_punctuation, behavior, err);
}

static bool read_bert(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)part;
	return add_kind(t, char_is_space, SPLIT_REMOVED, err) &&
	       add_kind(t, char_is_punctuation, SPLIT_ISOLATED, err);
}

static bool read_delimiter(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct str delimiter = json_part_text(part, "delimiter");
	if (delimiter.len == 0)
		return err_set(err, ERR_INPUT, _("a delimiter is empty"));
	return add_split(t, pattern_of_literal(delimiter, &t->run), SPLIT_REMOVED, err);
}

static const struct json_part_row rows[] = {
	{ "Split", read_split },
	{ "ByteLevel", read_byte_level },
	{ "Metaspace", read_metaspace },
	{ "Whitespace", read_whitespace },
	{ "WhitespaceSplit", read_whitespace_split },
	{ "Digits", read_digits },
	{ "Punctuation", read_punctuation },
	{ "BertPreTokenizer", read_bert },
	{ "CharDelimiterSplit", read_delimiter },
};

/* After ByteLevel a text is written in the alphabet of bytes, which is not done here. */
static bool admits(struct str type, void *ctx, struct err *err)
{
	bool *byte_level = ctx;
	char name[GGUF_QUOTE];
	if (*byte_level)
		return err_set(err, ERR_INPUT,
		        _("the pre-tokenizer '%s' after 'ByteLevel' is not supported"),
		        gguf_quote(type, name));
	*byte_level = str_eq(type, STR("ByteLevel"));
	return true;
}

bool json_pretokenizer_read(
        struct tokenizer *t, const json_t *part, bool *ret_byte_level, struct err *err)
{
	static const struct json_part_kind kind = {
		.list = "pretokenizers",
		.unsupported = N_("the pre-tokenizer '%s' is not supported"),
		.rows = rows,
		.n_rows = ARRAY_LEN(rows),
		.admits = admits,
	};
	return json_part_read(t, &kind, part, 0, ret_byte_level, err);
}
