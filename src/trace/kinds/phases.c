#include "trace/kinds/phases.h"

#include "trace/work/shapes.h"

#include <ctype.h>

const char *const phase_names[N_PHASES] = { "none", "prefill", "decode", "mixed" };

/* Whether a word is in the text, whatever the case of its letters; "decode" is not in "decoder". */
static bool holds_word(struct str text, struct str word)
{
	for (size_t i = 0; i + word.len <= text.len; i++) {
		bool more = i + word.len < text.len && islower((unsigned char)text.s[i + word.len]);
		if (!more && str_eq_nocase((struct str){ text.s + i, word.len }, word))
			return true;
	}
	return false;
}

static struct str behind(struct str text, ptrdiff_t at, struct str what)
{
	size_t skip = (size_t)at + what.len;
	return (struct str){ text.s + skip, text.len - skip };
}

/* The digits at the beginning; -1: none, or more than a count of tokens can have. */
static int64_t number_at(struct str text)
{
	int64_t value = 0;
	size_t i = 0;
	for (; i < text.len && isdigit((unsigned char)text.s[i]); i++) {
		if (i == 15)
			return -1;
		value = value * 10 + (text.s[i] - '0');
	}
	return i ? value : -1;
}

/* The number behind a word; -1: the word or the number is not there. */
static int64_t number_behind(struct str text, struct str word)
{
	ptrdiff_t at = str_find(text, word);
	return at < 0 ? -1 : number_at(behind(text, at, word));
}

static enum phase phase_by_counts(int64_t prefills, int64_t decodes)
{
	if (prefills > 0)
		return decodes > 0 ? PHASE_MIXED : PHASE_PREFILL;
	return decodes > 0 ? PHASE_DECODE : PHASE_NONE;
}

/* The tokens that the brackets behind a count begin with: "(888_788544)" or "(sq32sk32785...)". */
static int64_t tokens_behind(struct str count)
{
	static const struct str open = STR_INIT("("), queries = STR_INIT("sq");
	ptrdiff_t at = str_find(count, open);
	if (at < 0)
		return -1;
	struct str text = behind(count, at, open);
	return number_at(str_starts(text, queries) ? behind(text, 0, queries) : text);
}

static bool from_counts(struct str name, struct phase_name *ret)
{
	static const struct str context = STR_INIT("_context_"),
	                        generation = STR_INIT("_generation_");
	ptrdiff_t c = str_find(name, context), g = str_find(name, generation);
	if (!str_starts(name, STR("execute")) || c < 0 || g < c)
		return false;
	struct str first = behind(name, c, context), second = behind(name, g, generation);
	first.len = (size_t)(g - c) - context.len;
	ret->prefill_tokens = tokens_behind(first);
	ret->decode_tokens = tokens_behind(second);
	ret->phase = phase_by_counts(number_at(first), number_at(second));
	return true;
}

static bool from_step(struct str name, struct phase_name *ret)
{
	static const struct {
		struct str word;
		enum phase phase;
	} modes[] = {
		{ STR_INIT("step[DECODE"), PHASE_DECODE },
		{ STR_INIT("step[EXTEND"), PHASE_PREFILL },
		{ STR_INIT("step[PREFILL"), PHASE_PREFILL },
		{ STR_INIT("step[MIXED"), PHASE_MIXED },
	};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (!str_starts(name, modes[i].word))
			continue;
		ret->phase = modes[i].phase;
		if (ret->phase == PHASE_DECODE)
			ret->decode_tokens = number_behind(name, STR("bs="));
		else
			ret->prefill_tokens = number_behind(name, STR("toks="));
		return true;
	}
	return false;
}

static bool from_cached(struct str name, struct phase_name *ret)
{
	if (!str_starts(name, STR("execute_new_")))
		return false;
	ret->phase = phase_by_counts(
	        number_behind(name, STR("execute_new_")), number_behind(name, STR("_cached_")));
	if (ret->phase == PHASE_DECODE)
		ret->decode_tokens = number_behind(name, STR("_cached_"));
	return ret->phase != PHASE_NONE;
}

static bool from_word(struct str name, struct phase_name *ret)
{
	bool prefill = holds_word(name, STR("prefill"));
	bool decode = holds_word(name, STR("decode"));
	ret->phase = phase_by_counts(prefill, decode);
	return prefill || decode;
}

struct phase_name phase_of_name(struct str name)
{
	static bool (*const readers[N_PHASE_SOURCES])(struct str, struct phase_name *) = {
		[PHASE_FROM_COUNTS] = from_counts,
		[PHASE_FROM_STEP] = from_step,
		[PHASE_FROM_CACHED] = from_cached,
		[PHASE_FROM_WORD] = from_word,
	};
	struct phase_name ret = { .prefill_tokens = -1, .decode_tokens = -1 };
	for (int i = PHASE_FROM_NONE + 1; i < N_PHASE_SOURCES; i++) {
		if (readers[i](name, &ret)) {
			ret.source = i;
			break;
		}
	}
	return ret;
}

enum phase phase_of_kernel(struct str name)
{
	static const struct {
		struct str word;
		enum phase phase;
	} words[] = {
		{ STR_INIT("prefill"), PHASE_PREFILL },
		{ STR_INIT("context_attention"), PHASE_PREFILL },
		{ STR_INIT("batchdecode"), PHASE_DECODE },
		{ STR_INIT("decode_attention"), PHASE_DECODE },
		{ STR_INIT("paged_attention"), PHASE_DECODE },
		{ STR_INIT("masked_multihead_attention"), PHASE_DECODE },
		{ STR_INIT("splitkv"), PHASE_DECODE },
		{ STR_INIT("decode"), PHASE_DECODE },
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (holds_word(name, words[i].word))
			return words[i].phase;
	return PHASE_NONE;
}

int64_t phase_rows(struct str operator, struct str dims)
{
	static const struct {
		struct str name;
		size_t input; /* which is the first matrix */
	} products[] = {
		{ STR_INIT("aten::mm"), 0 },
		{ STR_INIT("aten::linear"), 0 },
		{ STR_INIT("aten::addmm"), 1 },
		{ STR_INIT("MatMul"), 0 },
		{ STR_INIT("Gemm"), 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(products); i++) {
		if (!str_eq(operator, products[i].name))
			continue;
		struct shapes s;
		shapes_parse(&s, dims, STR(""), STR(""));
		if (s.n <= products[i].input)
			return -1;
		const struct shape *matrix = &s.v[products[i].input];
		int64_t columns = matrix->rank > 0 ? matrix->dims[matrix->rank - 1] : 0;
		return columns > 0 ? matrix->elements / columns : -1;
	}
	return -1;
}
