#include "token/tokenizer.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/rng.h"
#include "gguf_make.h"
#include "reference.h"
#include "tap.h"

#include <stdlib.h>

static struct tokenizer *open_file(const char *path)
{
	struct gguf *file;
	struct tokenizer *t = NULL;
	struct err err = { 0 };
	if (!CHECK(gguf_open(path, &file, &err))) {
		printf("#   %s\n", err.text);
		return NULL;
	}
	if (!CHECK(tokenizer_open(file, &t, &err)))
		printf("#   %s\n", err.text);
	gguf_close(file);
	return t;
}

/* The tokenizer of what is made, or NULL and the reason. */
static struct tokenizer *open_made(struct make *m, struct err *err)
{
	AUTO(auto_buf) struct buf image = { 0 };
	struct gguf *file;
	struct tokenizer *t = NULL;
	make_image(m, &image);
	if (gguf_parse(image.s, image.len, &file, err)) {
		if (!tokenizer_open(file, &t, err))
			t = NULL;
		gguf_close(file);
	}
	make_release(m);
	return t;
}

static void decode(
        const struct tokenizer *t, const int32_t *ids, size_t n, bool at_start, struct buf *out)
{
	struct detokenizer d;
	detokenizer_init(&d, t, at_start);
	for (size_t i = 0; i < n; i++)
		detokenizer_add(&d, ids[i], out);
	detokenizer_end(&d, out);
}

static void check_text(const struct tokenizer *t, const char *text, const json_t *want)
{
	int32_t *ids;
	size_t n;
	AUTO(auto_buf) struct buf back = { 0 };
	tokenizer_encode(t, str_of(text), TOKENIZER_FRAME, &ids, &n);
	if (!reference_ids_equal(want, ids, n))
		printf("#   text '%s'\n", text);
	decode(t, ids, n, true, &back);
	/* A mark of SentencePiece in a text is a space afterwards. */
	CHECK_STR(buf_str(&back).s, strcmp(text, "\xE2\x96\x81") == 0 ? " " : text);
	free(ids);
}

static void the_reference_texts_get_their_ids_and_come_back(void)
{
	size_t i, n_checked = 0;
	json_t *row, *all = reference_load();
	struct tokenizer *t = open_file(reference_path("tales-f32.gguf"));
	if (!all || !t)
		return;
	json_array_foreach(json_object_get(all, "tokenizer"), i, row)
	{
		check_text(t, reference_text(row, "text"), json_object_get(row, "ids"));
		n_checked++;
	}
	json_array_foreach(json_object_get(all, "cases"), i, row)
	{
		check_text(t, reference_text(row, "prompt"), json_object_get(row, "ids"));
		n_checked++;
	}
	CHECK_INT(n_checked, 26);
	tokenizer_close(t);
	json_decref(all);
}

/* One expected line: ids with a space before each. */
static void check_line(const struct tokenizer *t, struct str text, struct str line, unsigned flags)
{
	int32_t *ids;
	size_t n, i = 0;
	tokenizer_encode(t, text, flags, &ids, &n);
	while (line.len > 0) {
		struct str word = str_cut(line, ' ', &line);
		int64_t want;
		if (word.len == 0)
			continue;
		if (!CHECK(str_to_i64(word, &want)) || !CHECK(i < n) || !CHECK_INT(ids[i], want))
			break;
		i++;
	}
	if (!CHECK_INT(i, n))
		printf("#   text '%.*s'\n", STR_ARG(text));
	free(ids);
}

/* Every text of a .inp file against its line of the .out file. */
static void check_vectors(const char *path, int n_tokens, unsigned flags)
{
	const struct str between = STR("\n__ggml_vocab_test__\n");
	char name[4200];
	struct str texts, lines;
	struct arena run = { 0 };
	struct err err;
	int n_checked = 0;
	struct tokenizer *t = open_file(path);
	snprintf(name, sizeof(name), "%s.inp", path);
	CHECK(str_read_file(name, 1 << 20, &run, &texts, &err));
	snprintf(name, sizeof(name), "%s.out", path);
	CHECK(str_read_file(name, 1 << 20, &run, &lines, &err));
	while (t && lines.len > 0) {
		ptrdiff_t at = str_find(texts, between);
		struct str text = { texts.s, at < 0 ? texts.len : (size_t)at };
		struct str line = str_cut(lines, '\n', &lines);
		/* The file ends in a newline that is no part of its last text. */
		if (at < 0 && text.len > 0 && text.s[text.len - 1] == '\n')
			text.len--;
		check_line(t, text, line, flags);
		n_checked++;
		if (at < 0)
			break;
		texts.s += text.len + between.len;
		texts.len -= text.len + between.len;
	}
	CHECK_INT(t ? tokenizer_size(t) : 0, n_tokens);
	CHECK(n_checked > 40);
	CHECK_INT(str_trim(lines).len, 0);
	tokenizer_close(t);
	arena_release(&run);
}

static void the_vectors_of_another_program_agree(void)
{
	static const struct {
		const char *path;
		int n_tokens;
		unsigned flags;
	} cases[] = {
		{ "data/models/tokenizers/ggml-vocab-llama-spm.gguf", 32000, 0 },
		{ "data/models/tokenizers/ggml-vocab-gpt-2.gguf", 50257, 0 },
		{ "data/models/tokenizers/ggml-vocab-bert-bge.gguf", 30522, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = tap_shared(cases[i].path);
		if (!path)
			tap_skip("the vocabularies of others are not here");
		else
			check_vectors(path, cases[i].n_tokens, cases[i].flags);
	}
}

/* The method by its definition: look at all neighbours, merge the best, begin again. */
struct naive {
	const char *const *pieces;
	size_t n_pieces;
	char parts[64][256];
	size_t n;
};

static ptrdiff_t naive_rank(const struct naive *s, size_t i)
{
	char both[512];
	snprintf(both, sizeof(both), "%s%s", s->parts[i], s->parts[i + 1]);
	for (size_t k = 0; k < s->n_pieces; k++)
		if (strcmp(s->pieces[k], both) == 0)
			return (ptrdiff_t)k;
	return -1;
}

static void naive_merge(struct naive *s)
{
	for (;;) {
		ptrdiff_t best = -1;
		size_t at = 0;
		for (size_t i = 0; i + 1 < s->n; i++) {
			ptrdiff_t rank = naive_rank(s, i);
			if (rank >= 0 && (best < 0 || rank < best)) {
				best = rank;
				at = i;
			}
		}
		if (best < 0)
			return;
		strcpy(s->parts[at] + strlen(s->parts[at]), s->parts[at + 1]);
		memmove(s->parts[at + 1], s->parts[at + 2], (s->n - at - 2) * sizeof(s->parts[0]));
		s->n--;
	}
}

static void merging_agrees_with_its_definition(void)
{
	static const char *const pieces[] = { "aa", "ab", "aaa", "ba", "aab", "abab", "bb", "c",
		"ca", "abc", "aaaa", "bcab", "bc", "a", "b" };
	struct rng rng;
	struct make m = make_begin();
	struct err err = { 0 };
	make_tokenizer(&m, pieces, ARRAY_LEN(pieces));
	make_key_bool(&m, "tokenizer.ggml.add_space_prefix", false);
	struct tokenizer *t = open_made(&m, &err);
	if (!CHECK(t != NULL))
		return;
	rng_init(&rng, 11);
	for (int round = 0; round < 2000; round++) {
		struct naive s = { .pieces = pieces, .n_pieces = ARRAY_LEN(pieces) };
		char text[64] = "";
		int32_t *ids;
		size_t n;
		s.n = 1 + rng_below(&rng, 60);
		for (size_t i = 0; i < s.n; i++) {
			s.parts[i][0] = text[i] = "abc"[rng_below(&rng, 3)];
			s.parts[i][1] = '\0';
		}
		naive_merge(&s);
		tokenizer_encode(t, str_of(text), 0, &ids, &n);
		bool same = n == s.n;
		for (size_t i = 0; same && i < n; i++)
			same = str_eq(tokenizer_piece(t, ids[i]), str_of(s.parts[i]));
		if (!CHECK(same))
			printf("#   text '%s'\n", text);
		free(ids);
	}
	tokenizer_close(t);
}

static void a_long_text_takes_time_in_proportion(void)
{
	/* Eight times the text: one that looks at all that is left after each merge takes 64 times. */
	enum { N = 512 * 1024, PARTS = 8, TIMES_MAX = 32 };
	if (getenv("VENTURI_SANITIZED")) {
		tap_skip("a sanitizer's own memory grows otherwise");
		return;
	}
	struct tokenizer *t = open_file(reference_path("tales-f32.gguf"));
	char *text = malloc(N);
	int64_t took_ns[2];
	if (!t || !text)
		return;
	for (size_t i = 0; i < N; i++)
		text[i] = "once upon a time "[i % 17];
	for (size_t i = 0; i < ARRAY_LEN(took_ns); i++) {
		size_t n, length = i ? N : N / PARTS;
		int32_t *ids;
		int64_t start_ns = clock_thread_cpu_ns();
		tokenizer_encode(t, (struct str){ text, length }, 0, &ids, &n);
		took_ns[i] = clock_thread_cpu_ns() - start_ns;
		CHECK(n > length / 17 && n < length);
		free(ids);
	}
	CHECK(took_ns[1] < TIMES_MAX * took_ns[0]);
	free(text);
	tokenizer_close(t);
}

static void bytes_that_are_no_text_are_encoded_as_bytes(void)
{
	static const char broken[] = "a\xFF\xC3(\xE4\xBB";
	struct tokenizer *t = open_file(reference_path("tales-f32.gguf"));
	AUTO(auto_buf) struct buf back = { 0 };
	int32_t *ids;
	size_t n;
	if (!t)
		return;
	tokenizer_encode(t, str_of(broken), 0, &ids, &n);
	for (size_t i = 0; i < n; i++)
		buf_add(&back, tokenizer_piece(t, ids[i]));
	CHECK_STR(back.s, " a\xFF\xC3(\xE4\xBB");
	free(ids);
	tokenizer_close(t);
}

static void what_the_file_says_of_bos_and_space_is_done(void)
{
	static const char *const pieces[] = { "\xE2\x96\x81", "a" };
	static const struct {
		bool add_bos_token, add_space, ask_bos;
		const char *text;
		int32_t want[4];
		size_t n;
	} cases[] = {
		{ true, true, true, "a", { 1, 259, 260 }, 3 },
		{ true, true, false, "a", { 259, 260 }, 2 },
		{ false, true, true, "a", { 259, 260 }, 2 },
		{ true, false, true, "a", { 1, 260 }, 2 },
		{ true, true, true, "", { 1 }, 1 },
		{ false, true, true, "", { 0 }, 0 },
		{ true, true, false, " a ", { 259, 259, 260, 259 }, 4 },
		{ true, false, false, "</s>", { 63, 50, 118, 65 }, 4 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct make m = make_begin();
		struct err err;
		int32_t *ids;
		size_t n;
		make_tokenizer(&m, pieces, ARRAY_LEN(pieces));
		make_key_bool(&m, "tokenizer.ggml.add_bos_token", cases[i].add_bos_token);
		make_key_bool(&m, "tokenizer.ggml.add_space_prefix", cases[i].add_space);
		struct tokenizer *t = open_made(&m, &err);
		if (!CHECK(t != NULL))
			continue;
		tokenizer_encode(
		        t, str_of(cases[i].text), cases[i].ask_bos ? TOKENIZER_FRAME : 0, &ids, &n);
		if (CHECK_INT(n, cases[i].n))
			CHECK(memcmp(ids, cases[i].want, n * sizeof(*ids)) == 0);
		free(ids);
		tokenizer_close(t);
	}
}

static void special_tokens_have_no_text_and_are_known(void)
{
	struct make m = make_begin();
	struct err err;
	make_tokenizer(&m, NULL, 0);
	make_key_u32(&m, "tokenizer.ggml.eot_token_id", 7);
	struct tokenizer *t = open_made(&m, &err);
	if (!CHECK(t != NULL))
		return;
	CHECK_INT(tokenizer_bos(t), 1);
	for (int32_t id = -2; id < 300; id++)
		CHECK(tokenizer_is_end(t, id) == (id == 2 || id == 7));
	for (int32_t id = -2; id < 3; id++)
		CHECK_INT(tokenizer_piece(t, id).len, 0);
	CHECK_INT(tokenizer_piece(t, 259).len, 0);
	CHECK_INT(tokenizer_piece(t, INT32_MAX).len, 0);
	CHECK(str_eq(tokenizer_piece(t, 3 + 'x'), STR("x")));
	tokenizer_close(t);
}

static void the_detokenizer_never_splits_a_character(void)
{
	/* Expected: bytes.decode("utf-8", "replace") of Python 3.11. Byte b is token b + 3. */
	static const struct {
		const char *bytes, *want;
	} cases[] = {
		{ "plain", "plain" },
		{ "\xF0\x9F\x99\x82!", "\xF0\x9F\x99\x82!" },
		{ "\xE4\xBB\x41", "\xEF\xBF\xBD"
		                  "A" },
		{ "\xFF", "\xEF\xBF\xBD" },
		{ "\xF0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "\xE2\x82\xE2\x82\xAC", "\xEF\xBF\xBD\xE2\x82\xAC" },
		{ "\xF0\x9F\x99", "\xEF\xBF\xBD" },
		{ "\xF0\x9F\xFF\x9F", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "\xC3", "\xEF\xBF\xBD" },
	};
	struct make m = make_begin();
	struct err err;
	make_tokenizer(&m, NULL, 0);
	struct tokenizer *t = open_made(&m, &err);
	if (!CHECK(t != NULL))
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct detokenizer d;
		AUTO(auto_buf) struct buf out = { 0 };
		detokenizer_init(&d, t, true);
		for (const char *p = cases[i].bytes; *p; p++) {
			detokenizer_add(&d, (unsigned char)*p + MAKE_SPECIAL, &out);
			CHECK(utf8_valid(buf_str(&out).s, out.len));
		}
		detokenizer_end(&d, &out);
		CHECK_STR(buf_str(&out).s, cases[i].want);
	}
	tokenizer_close(t);
}

static void a_space_without_a_piece_is_three_bytes(void)
{
	static const int32_t want[] = { 1, 3 + 0xE2, 3 + 0x96, 3 + 0x81, 3 + 'x' };
	struct make m = make_begin();
	struct err err;
	int32_t *ids;
	size_t n;
	make_tokenizer(&m, NULL, 0);
	struct tokenizer *t = open_made(&m, &err);
	if (!CHECK(t != NULL))
		return;
	tokenizer_encode(t, STR("x"), TOKENIZER_FRAME, &ids, &n);
	if (CHECK_INT(n, ARRAY_LEN(want)))
		CHECK(memcmp(ids, want, sizeof(want)) == 0);
	free(ids);
	tokenizer_close(t);
}

static void only_the_first_space_of_a_whole_text_is_dropped(void)
{
	static const char *const pieces[] = { "\xE2\x96\x81", "\xE2\x96\x81y" };
	static const struct {
		bool at_start;
		const char *want;
	} cases[] = { { true, " x y" }, { false, "  x y" } };
	struct make m = make_begin();
	struct err err;
	int32_t *ids;
	size_t n;
	make_tokenizer(&m, pieces, ARRAY_LEN(pieces));
	struct tokenizer *t = open_made(&m, &err);
	if (!CHECK(t != NULL))
		return;
	tokenizer_encode(t, STR(" x y"), TOKENIZER_FRAME, &ids, &n);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		decode(t, ids, n, cases[i].at_start, &out);
		CHECK_STR(buf_str(&out).s, cases[i].want);
	}
	free(ids);
	tokenizer_close(t);
}

/* A vocabulary of one token. */
static void make_one(struct make *m, const char *token, float score, int32_t type)
{
	AUTO(auto_buf) struct buf tokens = { 0 };
	make_str(&tokens, token);
	make_key_str(m, "tokenizer.ggml.model", "llama");
	make_key_array(m, "tokenizer.ggml.tokens", GGUF_STRING, 1, tokens.s, tokens.len);
	make_key_array(m, "tokenizer.ggml.scores", GGUF_F32, 1, &score, sizeof(score));
	make_key_array(m, "tokenizer.ggml.token_type", GGUF_I32, 1, &type, sizeof(type));
}

static void nan_score(struct make *m)
{
	make_one(m, "a", NAN, 1);
}

static void odd_byte(struct make *m)
{
	make_one(m, "<0xGG>", 0, 6);
}

static void odd_type(struct make *m)
{
	make_one(m, "a", 0, 77);
}

static void few_scores(struct make *m)
{
	const float scores[1] = { 0 };
	m->without = "tokenizer.ggml.scores";
	make_tokenizer(m, NULL, 0);
	m->without = NULL;
	make_key_array(m, "tokenizer.ggml.scores", GGUF_F32, 1, scores, sizeof(scores));
}

static void no_vocabulary(struct make *m)
{
	make_key_str(m, "tokenizer.ggml.model", "llama");
	make_key_array(m, "tokenizer.ggml.tokens", GGUF_STRING, 0, NULL, 0);
}

static void other_model(struct make *m)
{
	make_key_str(m, "tokenizer.ggml.model", "rwkv");
}

/* Tokens of bytes, and one merge. */
static void make_bpe(struct make *m, const char *pre, const char *merge)
{
	struct buf tokens = { 0 }, merges = { 0 };
	const char *const keys[] = { "a", "b", "ab", "\xC4\xA0" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		make_str(&tokens, keys[i]);
	make_str(&merges, merge);
	make_key_str(m, "tokenizer.ggml.model", "gpt2");
	if (pre)
		make_key_str(m, "tokenizer.ggml.pre", pre);
	make_key_array(
	        m, "tokenizer.ggml.tokens", GGUF_STRING, ARRAY_LEN(keys), tokens.s, tokens.len);
	make_key_array(m, "tokenizer.ggml.merges", GGUF_STRING, 1, merges.s, merges.len);
	buf_release(&tokens);
	buf_release(&merges);
}

static void bpe_without_pre(struct make *m)
{
	make_bpe(m, NULL, "a b");
}

static void bpe_of_unknown_pre(struct make *m)
{
	make_bpe(m, "odd", "a b");
}

static void bpe_of_unknown_merge(struct make *m)
{
	make_bpe(m, "gpt-2", "a c");
}

static void bos_outside(struct make *m)
{
	m->replaced = "tokenizer.ggml.bos_token_id";
	m->replacement = 259;
	make_tokenizer(m, NULL, 0);
}

static void no_types(struct make *m)
{
	m->without = "tokenizer.ggml.token_type";
	make_tokenizer(m, NULL, 0);
}

static void a_bad_vocabulary_is_refused_with_its_reason(void)
{
	static const struct {
		void (*make)(struct make *m);
		const char *want;
	} cases[] = {
		{ nan_score, "the score of token 0 is not a number" },
		{ odd_byte, "token 0 is '<0xGG>', which is no byte although its type says so" },
		{ odd_type, "token 0 has the unknown type 77" },
		{ few_scores, "key 'tokenizer.ggml.scores' has 1 elements instead of 259" },
		{ no_vocabulary, "the vocabulary has 0 tokens, which is not within 1 to 1048576" },
		{ other_model, "the tokenizer is 'rwkv'; only 'llama' (SentencePiece), 'gpt2' "
		               "(byte-level BPE) "
		               "and 'bert' (WordPiece) are supported" },
		{ bpe_without_pre, "key 'tokenizer.ggml.pre' is missing" },
		{ bpe_of_unknown_pre,
		        "how 'odd' ('tokenizer.ggml.pre') cuts a text is not known here" },
		{ bpe_of_unknown_merge, "merge 0, 'a c', is not of tokens of the vocabulary" },
		{ bos_outside,
		        "key 'tokenizer.ggml.bos_token_id' is 259, which is not within 0 to 258" },
		{ no_types, "key 'tokenizer.ggml.token_type' is missing" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct make m = make_begin();
		struct err err = { 0 };
		cases[i].make(&m);
		struct tokenizer *t = open_made(&m, &err);
		CHECK(t == NULL);
		CHECK_INT(err.kind, ERR_INPUT);
		CHECK_STR(err.text, cases[i].want);
		tokenizer_close(t);
	}
}

static void every_name_of_a_byte_level_vocabulary_is_read(void)
{
	static const char *const names[] = { "gpt-2", "llama-bpe", "dbrx", "qwen2", "starcoder",
		"deepseek-v3", "gpt-4o", "tekken" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct make m = make_begin();
		struct err err = { 0 };
		int32_t *ids;
		size_t n;
		make_bpe(&m, names[i], "a b");
		struct tokenizer *t = open_made(&m, &err);
		if (!CHECK(t != NULL)) {
			printf("#   %s: %s\n", names[i], err.text);
			continue;
		}
		tokenizer_encode(t, STR("ab ab"), 0, &ids, &n);
		if (CHECK_INT(n, 3))
			CHECK(ids[0] == 2 && ids[1] == 3 && ids[2] == 2);
		free(ids);
		tokenizer_close(t);
	}
}

int main(void)
{
	TAP_RUN(the_reference_texts_get_their_ids_and_come_back);
	TAP_RUN(the_vectors_of_another_program_agree);
	TAP_RUN(merging_agrees_with_its_definition);
	TAP_RUN(a_long_text_takes_time_in_proportion);
	TAP_RUN(bytes_that_are_no_text_are_encoded_as_bytes);
	TAP_RUN(what_the_file_says_of_bos_and_space_is_done);
	TAP_RUN(special_tokens_have_no_text_and_are_known);
	TAP_RUN(the_detokenizer_never_splits_a_character);
	TAP_RUN(a_space_without_a_piece_is_three_bytes);
	TAP_RUN(only_the_first_space_of_a_whole_text_is_dropped);
	TAP_RUN(every_name_of_a_byte_level_vocabulary_is_read);
	TAP_RUN(a_bad_vocabulary_is_refused_with_its_reason);
	return tap_done();
}
