#include "load/prompt_text.h"

#include "base/rng.h"

#include <string.h>

static const uint64_t pool_seed = 1;

/* Words of one token in most vocabularies, so that their number is near the number of tokens. */
static const struct str common_words[] = { STR_INIT("the"), STR_INIT("and"), STR_INIT("for"),
	STR_INIT("that"), STR_INIT("with"), STR_INIT("you"), STR_INIT("this"), STR_INIT("have"),
	STR_INIT("from"), STR_INIT("they"), STR_INIT("will"), STR_INIT("one"), STR_INIT("all"),
	STR_INIT("would"), STR_INIT("there"), STR_INIT("their"), STR_INIT("what"), STR_INIT("out"),
	STR_INIT("about"), STR_INIT("who"), STR_INIT("get"), STR_INIT("which"), STR_INIT("when"),
	STR_INIT("make"), STR_INIT("can"), STR_INIT("like"), STR_INIT("time"), STR_INIT("just"),
	STR_INIT("him"), STR_INIT("know"), STR_INIT("take"), STR_INIT("people"), STR_INIT("into"),
	STR_INIT("year"), STR_INIT("your"), STR_INIT("good"), STR_INIT("some"), STR_INIT("could"),
	STR_INIT("them"), STR_INIT("see"), STR_INIT("other"), STR_INIT("than"), STR_INIT("then"),
	STR_INIT("now"), STR_INIT("look"), STR_INIT("only"), STR_INIT("come"), STR_INIT("its"),
	STR_INIT("over"), STR_INIT("think"), STR_INIT("also"), STR_INIT("back"), STR_INIT("after"),
	STR_INIT("use"), STR_INIT("two"), STR_INIT("how"), STR_INIT("our"), STR_INIT("work"),
	STR_INIT("first"), STR_INIT("well"), STR_INIT("way"), STR_INIT("even"), STR_INIT("new"),
	STR_INIT("want") };

void prompt_text_init(struct prompt_text *t, const struct str *words, size_t n, struct arena *run)
{
	AUTO(auto_buf) struct buf pool = { 0 };
	struct rng rng;
	if (!words) {
		words = common_words;
		n = ARRAY_LEN(common_words);
	}
	*t = (struct prompt_text){ .words = words };
	while (t->word_bits < 12 && (size_t)2 << t->word_bits <= n)
		t->word_bits++;
	t->key_words = (PROMPT_TEXT_KEY_BITS + t->word_bits - 1) / t->word_bits;
	t->ends = arena_new_n(run, uint32_t, PROMPT_TEXT_POOL + 1);
	rng_init(&rng, pool_seed);
	for (int i = 0; i < PROMPT_TEXT_POOL; i++) {
		buf_add_char(&pool, ' ');
		buf_add(&pool, words[rng_u64(&rng) >> (64 - t->word_bits)]);
		t->ends[i + 1] = (uint32_t)pool.len;
	}
	t->pool = str_c(buf_str(&pool), run);
}

void prompt_text_add(
        const struct prompt_text *t, uint64_t key, int64_t n, bool first, struct buf *out)
{
	size_t at = (size_t)(key % PROMPT_TEXT_POOL);
	uint64_t rest = key;
	for (int i = 0; i < t->key_words && n > 0; i++, n--) {
		if (!first || i > 0)
			buf_add_char(out, ' ');
		buf_add(out, t->words[rest & ((UINT64_C(1) << t->word_bits) - 1)]);
		rest >>= t->word_bits;
	}
	while (n > 0) {
		size_t take = PROMPT_TEXT_POOL - at;
		if ((int64_t)take > n)
			take = (size_t)n;
		uint32_t from = t->ends[at];
		buf_add(out, (struct str){ t->pool + from, t->ends[at + take] - from });
		n -= (int64_t)take;
		at = 0;
	}
}

/* Source: Steele, Lea and Flood 2014, SplitMix; the finisher is Stafford's variant 13. */
static uint64_t mix(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t prompt_text_key(uint64_t seed, uint64_t kind, uint64_t number)
{
	return mix(mix(mix(seed) ^ kind) ^ number);
}
