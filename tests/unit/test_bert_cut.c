#include "token/bert_cut.h"

#include "base/clock.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "tap.h"
#include "token/internal.h"

#include <pthread.h>

enum { N_COMBINATIONS = 16 };

/* Ids of a synthetic tokenizer are hashes of its words, so that equal ids are equal words. */
static struct tokenizer *make(unsigned combination)
{
	struct tokenizer *t = tokenizer_synthetic(1 << 20);
	t->normalizer.n = 0;
	if (combination & 1)
		normalizer_add(&t->normalizer, NORMALIZE_CLEAN);
	if (combination & 2)
		normalizer_add(&t->normalizer, NORMALIZE_CHINESE);
	if (combination & 4) {
		normalizer_add(&t->normalizer, NORMALIZE_FORM)->form = CHAR_NFD;
		normalizer_add(&t->normalizer, NORMALIZE_DROP)->drop = char_is_nonspacing;
	}
	if (combination & 8)
		normalizer_add(&t->normalizer, NORMALIZE_LOWER);
	tokenizer_finish(t);
	CHECK(t->bert != NULL);
	return t;
}

struct both {
	struct tokenizer *t;
	struct encoding *in_one, *in_steps;
};

static struct both both_open(unsigned combination)
{
	return (struct both){ make(combination), encoding_new(), encoding_new() };
}

static void both_close(struct both *b)
{
	tokenizer_close(b->t);
	encoding_free(b->in_one);
	encoding_free(b->in_steps);
}

/* Whether one walk gives the same as the steps one after the other. */
static bool agree(struct both *b, struct str text)
{
	b->in_one->n = b->in_steps->n = 0;
	bert_cut(b->t, b->t->bert, text, b->in_one);
	tokenizer_encode_steps(b->t, text, true, b->in_steps);
	return b->in_one->n == b->in_steps->n &&
	       (b->in_one->n == 0 || memcmp(b->in_one->ids, b->in_steps->ids,
	                                     b->in_one->n * sizeof(int32_t)) == 0);
}

static void show(struct str text)
{
	printf("#  ");
	for (size_t i = 0; i < text.len; i++)
		printf(" %02X", (unsigned char)text.s[i]);
	printf("\n");
}

static void every_character_is_cut_as_by_the_steps(void)
{
	/* Between letters, where it may join, separate or vanish, and beside an accent. */
	for (unsigned combination = 0; combination < N_COMBINATIONS; combination++) {
		struct both b = both_open(combination);
		AUTO(auto_buf) struct buf text = { 0 };
		int n_wrong = 0;
		/* Every 17th, of the usual combination every one, and few of the rare ones. */
		uint32_t stride = combination == N_COMBINATIONS - 1 ? 1 : 17;
		for (uint32_t c = 0; c <= 0x10FFFF && n_wrong < 5; c += c < 0x20000 ? stride : 97) {
			if (c >= 0xD800 && c <= 0xDFFF)
				continue;
			buf_clear(&text);
			buf_add_c(&text, "Aa");
			utf8_encode(&text, c);
			buf_add_c(&text, "\xCC\x81");
			utf8_encode(&text, c);
			buf_add_c(&text, "b ");
			utf8_encode(&text, c);
			if (agree(&b, buf_str(&text)))
				continue;
			n_wrong++;
			printf("# U+%04X in combination %u\n", (unsigned)c, combination);
		}
		CHECK_INT(n_wrong, 0);
		both_close(&b);
	}
}

/* What a mixture is made of: letters, spaces, marks, controls, and bytes that are no text. */
static const char *const bits[] = { "a", "B", "xyz", " ", "  ", "\t", "\n", ".", "!?", "-",
	"\xC3\xA9", "\xCC\x81", "\xCC\xA3", "\xE4\xBD\xA0", "\xE5\xA5\xBD", "\xEF\xA4\x80",
	"\xED\x95\x9C", "\xF0\x9F\x99\x82", "\xC4\xB0", "\xC2\xA0", "\xE3\x80\x80", "\xFF", "\xE4",
	"\xBD", "\xA0", "\xC3", "\xF0\xA0\x80\x80", "\xE0\xA5\x8D", "\xE0\xA4\xBF", "\xC2\xAD",
	"\xE2\x80\x8D", "\xEF\xBF\xBD", "\xF0\x9D\x85\xA5", "\xF0\x9D\x85\xA9", "\xCE\xA3",
	"\xE1\xBA\x9E", "\xCD\xBE" };

static void mixtures_are_cut_as_by_the_steps(void)
{
	struct rng rng;
	rng_init(&rng, 5);
	for (unsigned combination = 0; combination < N_COMBINATIONS; combination++) {
		struct both b = both_open(combination);
		AUTO(auto_buf) struct buf text = { 0 };
		for (int round = 0; round < 2000; round++) {
			buf_clear(&text);
			for (uint64_t n = rng_below(&rng, 16); n > 0; n--) {
				if (rng_below(&rng, 20) == 0)
					buf_add_char(&text, '\0');
				buf_add_c(&text, bits[rng_below(&rng, ARRAY_LEN(bits))]);
			}
			if (CHECK(agree(&b, buf_str(&text))))
				continue;
			printf("# combination %u\n", combination);
			show(buf_str(&text));
			break;
		}
		both_close(&b);
	}
}

static void steps_in_another_order_are_done_one_by_one(void)
{
	struct tokenizer *t = make(15);
	struct normalizer n = t->normalizer;
	t->normalizer.steps[0] = n.steps[1];
	t->normalizer.steps[1] = n.steps[0];
	CHECK(bert_cut_table(&t->normalizer, &t->pretokenizer) == NULL);
	t->normalizer = n;
	CHECK(bert_cut_table(&t->normalizer, &t->pretokenizer) != NULL);
	t->normalizer.steps[2].form = CHAR_NFKD;
	CHECK(bert_cut_table(&t->normalizer, &t->pretokenizer) == NULL);
	t->normalizer = n;
	t->pretokenizer.steps[1].behavior = SPLIT_REMOVED;
	CHECK(bert_cut_table(&t->normalizer, &t->pretokenizer) == NULL);
	tokenizer_close(t);
}

static void a_text_is_only_read_as_far_as_it_is_wanted(void)
{
	/* Ten megabytes of which 512 tokens are wanted: far below a tenth of the time for all of it. */
	enum { N = 10 << 20 };
	struct tokenizer *t = make(15);
	struct encoding *e = encoding_new();
	int32_t ids[512];
	char *text = malloc(N);
	for (size_t i = 0; i < N; i++)
		text[i] = "word "[i % 5];
	int64_t start_ns = clock_thread_cpu_ns();
	struct tokenizer_framed f =
	        tokenizer_frame(t, e, (struct str){ text, N }, NULL, 0, 512, ids, NULL);
	int64_t part_ns = clock_thread_cpu_ns() - start_ns;
	CHECK(f.n == 512 && f.cut);
	start_ns = clock_thread_cpu_ns();
	int32_t *all;
	size_t n;
	tokenizer_encode(t, (struct str){ text, N }, 0, &all, &n);
	int64_t all_ns = clock_thread_cpu_ns() - start_ns;
	CHECK_INT(n, N / 5);
	CHECK(part_ns < all_ns / 10);
	free(all);
	free(text);
	encoding_free(e);
	tokenizer_close(t);
}

static void *open_and_use(void *arg)
{
	unsigned combination = *(const unsigned *)arg;
	struct both b = both_open(combination);
	bool same = agree(&b, STR("caf\xC3\xA9 \xE4\xBD\xA0 x"));
	both_close(&b);
	return same ? arg : NULL;
}

static void threads_may_open_and_use_them_at_once(void)
{
	enum { N = 4 };
	pthread_t threads[N];
	unsigned combination[N];
	for (size_t i = 0; i < N; i++) {
		combination[i] = 15 - (unsigned)i % 2;
		CHECK(pthread_create(&threads[i], NULL, open_and_use, &combination[i]) == 0);
	}
	for (size_t i = 0; i < N; i++) {
		void *ret;
		pthread_join(threads[i], &ret);
		CHECK(ret != NULL);
	}
}

int main(void)
{
	TAP_RUN(threads_may_open_and_use_them_at_once);
	TAP_RUN(every_character_is_cut_as_by_the_steps);
	TAP_RUN(mixtures_are_cut_as_by_the_steps);
	TAP_RUN(steps_in_another_order_are_done_one_by_one);
	TAP_RUN(a_text_is_only_read_as_far_as_it_is_wanted);
	return tap_done();
}
