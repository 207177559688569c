#include "token/tokenizer.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/rng.h"
#include "tap.h"

#include <jansson.h>
#include <stdlib.h>

static const char *data_path(const char *name, const char *ending)
{
	static char path[4096];
	const char *root = getenv("VENTURI_SOURCE_ROOT");
	snprintf(path, sizeof(path), "%s/tests/data/tokenizers/%s%s", root ? root : ".", name,
	        ending);
	return path;
}

static struct tokenizer *open_name(const char *name)
{
	struct tokenizer *t = NULL;
	struct err err = { 0 };
	if (!CHECK(tokenizer_open_file(data_path(name, ".json"), &t, &err)))
		printf("#   %s\n", err.text);
	return t;
}

/* One text against its line of expected ids. */
static void check_line(
        const struct tokenizer *t, const char *name, struct str text, struct str line)
{
	int32_t *ids;
	size_t n, i = 0;
	tokenizer_encode(t, text, TOKENIZER_FRAME | TOKENIZER_SPECIAL, &ids, &n);
	bool same = true;
	while (line.len > 0) {
		int64_t want;
		struct str word = str_cut(line, ' ', &line);
		same = same && str_to_i64(word, &want) && i < n && ids[i] == want;
		i++;
	}
	if (!CHECK(same && i == n))
		printf("#   %s: text '%.*s'\n", name, STR_ARG(text));
	free(ids);
}

static const char *const names[] = { "bert", "clip", "deepseek_v3", "gemma", "gpt2", "gpt4o",
	"llama2", "llama3", "metaspace", "mistral", "prefix", "qwen2", "roberta", "starcoder", "t5",
	"unigram", "unigram_bytes", "words" };

static void the_ids_are_those_of_the_reference(void)
{
	json_t *texts = json_load_file(data_path("texts", ".json"), JSON_ALLOW_NUL, NULL);
	CHECK(json_array_size(texts) > 150);
	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		struct arena run = { 0 };
		struct str lines;
		struct err err;
		struct tokenizer *t = open_name(names[k]);
		size_t i;
		json_t *text;
		if (!t || !CHECK(str_read_file(
		                  data_path(names[k], ".ids"), 1 << 20, &run, &lines, &err)))
			continue;
		json_array_foreach(texts, i, text)
		{
			struct str s = { json_string_value(text), json_string_length(text) };
			check_line(t, names[k], s, str_cut(lines, '\n', &lines));
		}
		CHECK_INT(lines.len, 0);
		tokenizer_close(t);
		arena_release(&run);
	}
	json_decref(texts);
}

/* Any text of up to 40 characters, most of them of few bytes. */
static void random_text(struct rng *rng, struct buf *out)
{
	static const uint32_t below[] = { 0x80, 0x80, 0x80, 0x800, 0x10000, 0x110000 };
	buf_clear(out);
	for (uint64_t n = rng_below(rng, 40); n > 0; n--) {
		uint32_t c = (uint32_t)rng_below(rng, below[rng_below(rng, ARRAY_LEN(below))]);
		utf8_encode(out, c >= 0xD800 && c < 0xE000 ? ' ' : c);
	}
}

static void add_pieces(const struct tokenizer *t, const int32_t *ids, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		buf_add(out, tokenizer_piece(t, ids[i]));
}

static void byte_level_pieces_are_the_text_again(void)
{
	static const char *const exact[] = { "gpt2", "llama3", "deepseek_v3", "gpt4o",
		"starcoder" };
	struct rng rng;
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf back = { 0 };
	rng_init(&rng, 3);
	for (size_t k = 0; k < ARRAY_LEN(exact); k++) {
		struct tokenizer *t = open_name(exact[k]);
		for (int round = 0; t && round < 2000; round++) {
			int32_t *ids;
			size_t n;
			random_text(&rng, &text);
			tokenizer_encode(t, buf_str(&text), 0, &ids, &n);
			buf_clear(&back);
			add_pieces(t, ids, n, &back);
			if (!CHECK(str_eq(buf_str(&back), buf_str(&text))))
				printf("#   %s: '%.*s'\n", exact[k], STR_ARG(buf_str(&text)));
			free(ids);
		}
		tokenizer_close(t);
	}
}

static void bytes_that_are_no_text_come_back_too(void)
{
	static const char broken[] = "a\xFF\xC3(\xE4\xBB b\xED\xA0\x80";
	struct tokenizer *t = open_name("llama3");
	AUTO(auto_buf) struct buf back = { 0 };
	int32_t *ids;
	size_t n;
	if (!t)
		return;
	tokenizer_encode(t, str_of(broken), 0, &ids, &n);
	add_pieces(t, ids, n, &back);
	CHECK_STR(buf_str(&back).s, broken);
	free(ids);
	tokenizer_close(t);
}

static void special_tokens_are_found_only_where_asked(void)
{
	struct tokenizer *t = open_name("qwen2");
	static const struct {
		unsigned flags;
		bool special, plain;
	} cases[] = { { 0, false, true }, { TOKENIZER_SPECIAL, true, true } };
	if (!t)
		return;
	int32_t n_vocab = tokenizer_size(t);
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		int32_t *ids;
		size_t n;
		bool special = false, plain = false;
		tokenizer_encode(t, STR("<|im_end|><tool_call>"), cases[k].flags, &ids, &n);
		for (size_t i = 0; i < n; i++) {
			special = special || ids[i] == n_vocab - 2;
			plain = plain || ids[i] == n_vocab - 1;
		}
		CHECK_INT(special, cases[k].special);
		CHECK_INT(plain, cases[k].plain);
		free(ids);
	}
	CHECK_INT(tokenizer_piece(t, n_vocab - 2).len, 0);
	CHECK(str_eq(tokenizer_piece(t, n_vocab - 1), STR("<tool_call>")));
	tokenizer_close(t);
}

/* Texts that are one part, many parts, and blanks that a pattern looks at again and again. */
/* CPU time of the encoding of n bytes, the best of three: what else runs only adds to it. */
static int64_t time_of(const struct tokenizer *t, const char *text, size_t n)
{
	int64_t best_ns = INT64_MAX;
	for (int i = 0; i < 3; i++) {
		int32_t *ids;
		size_t n_ids;
		int64_t start_ns = clock_thread_cpu_ns();
		tokenizer_encode(t, (struct str){ text, n }, 0, &ids, &n_ids);
		int64_t took_ns = clock_thread_cpu_ns() - start_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
		free(ids);
	}
	return best_ns;
}

static void a_long_text_takes_time_in_proportion(void)
{
	/* Eight times the text: one that looks at all that is left again and again takes 64 times. */
	enum { N = 128 * 1024, PARTS = 8, TIMES_MAX = 32 };
	static const char *const slow[] = { "gpt2", "llama3", "llama2", "unigram", "bert", "clip" };
	static const char *const fills[] = { "once upon a time ", "a", " ", "1", "<" };
	if (getenv("VENTURI_SANITIZED")) {
		tap_skip("a sanitizer's own memory grows otherwise");
		return;
	}
	char *text = malloc(N);
	for (size_t k = 0; text && k < ARRAY_LEN(slow) * ARRAY_LEN(fills); k++) {
		const char *name = slow[k / ARRAY_LEN(fills)], *fill = fills[k % ARRAY_LEN(fills)];
		struct tokenizer *t = open_name(name);
		if (!t)
			continue;
		for (size_t i = 0; i < N; i++)
			text[i] = fill[i % strlen(fill)];
		int64_t part_ns = time_of(t, text, N / PARTS), whole_ns = time_of(t, text, N);
		if (!CHECK(whole_ns < TIMES_MAX * part_ns))
			printf("#   %s, '%s': %lld and %lld ns\n", name, fill, (long long)part_ns,
				(long long)whole_ns);
		tokenizer_close(t);
	}
	free(text);
}

#define MODEL                                                                                      \
	"\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"
#define WITH(part) "{" part "," MODEL "}"

static void a_file_that_is_not_supported_says_which_part(void)
{
	static const struct {
		const char *json, *want;
	} cases[] = {
		{ "{}", "it has no 'model', so it is no tokenizer.json" },
		{ "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
		        "the model 'WordLevel' is not supported" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}",
		        "the vocabulary has 0 tokens, which is not within 1 to 1048576" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4294967296}}}",
		        "the vocabulary has 4294967297 tokens, which is not within 1 to 1048576" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}",
		        "the token id -1 is not within 0 to 0" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}",
		        "'merges' of the model is missing or of another type" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a x\"]}}",
		        "merge 0, 'a x', is not of tokens of the vocabulary" },
		{ "{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}"
		  "}",
		        "BPE with dropout is not supported" },
		{ "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}",
		        "token 0 is not a text with its score" },
		{ WITH("\"normalizer\":{\"type\":\"ByteLevel\"}"),
		        "the normalizer 'ByteLevel' is not supported" },
		{ WITH("\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}"),
		        "the pre-tokenizer 'UnicodeScripts' is not supported" },
		{ WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a-z&&[^b]]"
		       "\"},"
		       "\"behavior\":\"Isolated\"}"),
		        "the regular expression '[a-z&&[^b]]': '&&' in it is not supported" },
		{ WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\d{2}+\"}"
		       ","
		       "\"behavior\":\"Isolated\"}"),
		        "the regular expression '\\d{2}+': '{...}+' in it is not supported" },
		{ WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},"
		       "\"behavior\":\"Isolated\"}"),
		        "the regular expression '(': missing closing parenthesis" },
		{ WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"x\"},"
		       "\"behavior\":\"Odd\"}"),
		        "the split behavior 'Odd' is not supported" },
		{ WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{},\"behavior\":"
		       "\"Odd\"}"),
		        "a pattern is neither 'String' nor 'Regex'" },
		{ WITH("\"post_processor\":{\"type\":\"Odd\"}"),
		        "the post-processor 'Odd' is not supported" },
		{ WITH("\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"x\",9]}"),
		        "the post-processor adds a token that is none, or too many" },
		{ WITH("\"added_tokens\":[{\"id\":1048576,\"content\":\"x\"}]"),
		        "an added token has no id from 0 to 1048575 or no content of at most 512 "
		        "bytes" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tokenizer *t = NULL;
		struct err err = { 0 };
		if (!CHECK(!tokenizer_open_json(str_of(cases[i].json), &t, &err)))
			tokenizer_close(t);
		CHECK_INT(err.kind, ERR_INPUT);
		CHECK_STR(err.text, cases[i].want);
	}
}

static void what_is_no_json_is_refused_by_name(void)
{
	struct tokenizer *t;
	struct err err = { 0 };
	const char *path = data_path("make", ".py");
	CHECK(!tokenizer_open_file(path, &t, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK(strstr(err.text, path) && strstr(err.text, "neither GGUF nor JSON"));
	CHECK(!tokenizer_open_file(data_path("none", ".json"), &t, &err));
	CHECK(strstr(err.text, "cannot open"));
}

int main(void)
{
	TAP_RUN(the_ids_are_those_of_the_reference);
	TAP_RUN(byte_level_pieces_are_the_text_again);
	TAP_RUN(bytes_that_are_no_text_come_back_too);
	TAP_RUN(special_tokens_are_found_only_where_asked);
	TAP_RUN(a_long_text_takes_time_in_proportion);
	TAP_RUN(a_file_that_is_not_supported_says_which_part);
	TAP_RUN(what_is_no_json_is_refused_by_name);
	return tap_done();
}
