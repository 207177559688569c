#include "token/tokenizer.h"

#include "base/attr.h"
#include "folder_make.h"
#include "reference.h"
#include "tap.h"

enum { MAX = 64 };

#define SPECIAL "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

struct file {
	const char *name, *text;
};

static struct tokenizer *open_files(const struct file *files, struct err *err)
{
	struct folder f = folder_begin();
	struct tokenizer *t = NULL;
	*err = (struct err){ 0 };
	for (; files->name; files++)
		folder_text(&f, files->name, files->text);
	if (!tokenizer_open_folder(f.path, &t, err))
		t = NULL;
	folder_end(&f);
	return t;
}

static struct tokenizer *open_vocab(const char *vocab, const char *settings)
{
	struct err err;
	struct file files[] = { { "vocab.txt", vocab }, { "tokenizer_config.json", settings },
		{ 0 } };
	if (!settings)
		files[1].name = NULL;
	struct tokenizer *t = open_files(files, &err);
	if (!CHECK(t != NULL))
		printf("#   %s\n", err.text);
	return t;
}

/* "2 5 6 3" */
static const char *ids_text(const int32_t *ids, int n)
{
	static char text[2][16 * MAX];
	static int which;
	char *at = text[which = !which];
	*at = '\0';
	for (int i = 0; i < n; i++)
		at += sprintf(at, "%s%d", i ? " " : "", ids[i]);
	return text[which];
}

static void check_ids(const struct tokenizer *t, const char *text, const char *want)
{
	int32_t ids[MAX];
	struct encoding *e = encoding_new();
	struct tokenizer_framed f = tokenizer_frame(t, e, str_of(text), NULL, 0, MAX, ids, NULL);
	if (!CHECK_STR(ids_text(ids, f.n), want))
		printf("#   text '%s'\n", text);
	CHECK(!f.cut);
	encoding_free(e);
}

static void a_vocabulary_alone_is_uncased_bert(void)
{
	struct tokenizer *t = open_vocab(SPECIAL "ca\n##fe\nwow\n!\n\xE4\xBD\xA0\n##fes", NULL);
	if (!t)
		return;
	check_ids(t, "caf\xC3\xA9", "2 5 6 3");
	check_ids(t, "CAFES wow!", "2 5 10 7 8 3");
	check_ids(t, "\xE4\xBD\xA0\xE4\xBD\xA0", "2 9 9 3");
	check_ids(t, "nothing", "2 1 3");
	check_ids(t, "", "2 3");
	/* Marks of the frame in a text are text, and none here. */
	check_ids(t, "[CLS]", "2 1 1 1 3");
	CHECK_INT(tokenizer_size(t), 11);
	CHECK_INT(tokenizer_bos(t), 2);
	tokenizer_close(t);
}

static void tokenizer_config_says_what_is_done_to_a_text(void)
{
	static const struct {
		const char *settings, *text, *want;
	} cases[] = {
		/* 5 "Ab", 6 "ab", 7 "cafe", 8 "café", 9 "你", 10 "##你" */
		{ "{\"do_lower_case\":false}", "Ab caf\xC3\xA9", "2 5 8 3" },
		{ "{\"do_lower_case\":true}", "Ab caf\xC3\xA9", "2 6 7 3" },
		{ "{\"do_lower_case\":true,\"strip_accents\":null}", "CAF\xC3\x89", "2 7 3" },
		{ "{\"do_lower_case\":true,\"strip_accents\":false}", "CAF\xC3\x89", "2 8 3" },
		{ "{\"do_lower_case\":false,\"strip_accents\":true}", "caf\xC3\xA9", "2 7 3" },
		{ "{\"tokenize_chinese_chars\":false}", "\xE4\xBD\xA0\xE4\xBD\xA0", "2 9 10 3" },
		{ "{\"tokenize_chinese_chars\":true}", "\xE4\xBD\xA0\xE4\xBD\xA0", "2 9 9 3" },
		{ "{\"cls_token\":{\"content\":\"[MASK]\"}}", "ab", "4 6 3" },
		{ "{\"sep_token\":\"[PAD]\",\"tokenizer_class\":\"BertTokenizerFast\"}", "ab",
		        "2 6 0" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tokenizer *t = open_vocab(SPECIAL
		        "Ab\nab\ncafe\ncaf\xC3\xA9\n\xE4\xBD\xA0\n##\xE4\xBD\xA0\n",
		        cases[i].settings);
		if (t)
			check_ids(t, cases[i].text, cases[i].want);
		tokenizer_close(t);
	}
	struct err err;
	struct tokenizer *t = open_files(
	        (struct file[]){ { "vocab.txt", SPECIAL "Ab\nab\n" },
	                { "tokenizer_config.json", "{\"do_lower_case\":false}" },
	                { "sentence_bert_config.json", "{\"do_lower_case\":true}" }, { 0 } },
	        &err);
	if (CHECK(t != NULL))
		check_ids(t, "Ab", "2 6 3");
	tokenizer_close(t);
}

static void lines_end_in_either_way_and_the_last_of_two_counts(void)
{
	struct tokenizer *t = open_vocab("[UNK]\r\n[CLS]\r\n[SEP]\r\n\r\na\r\nb\r\na\r\n", NULL);
	if (!t)
		return;
	check_ids(t, "a b", "1 6 5 2");
	CHECK_INT(tokenizer_size(t), 7);
	tokenizer_close(t);
}

static void a_folder_that_is_wrong_is_refused_by_what_is_wrong(void)
{
	static const struct {
		struct file files[3];
		const char *says;
	} cases[] = {
		{ { { 0 } }, "has no tokenizer" },
		{ { { "vocab.txt", "" } }, "has no token '[CLS]', which is the 'cls_token'" },
		{ { { "vocab.txt", "[CLS]\n[UNK]\n" } }, "has no token '[SEP]'" },
		{ { { "vocab.txt", SPECIAL "a\xFF\n" } }, "line 6 is no text" },
		{ { { "vocab.txt", SPECIAL }, { "tokenizer_config.json", "{" } },
		        "tokenizer_config.json' is no JSON" },
		{ { { "vocab.txt", SPECIAL },
		          { "tokenizer_config.json",
		                  "{\"tokenizer_class\":\"BertJapaneseTokenizer\"}" } },
		        "'BertJapaneseTokenizer'" },
		{ { { "vocab.txt", SPECIAL },
		          { "tokenizer_config.json", "{\"unk_token\":\"<unk>\"}" } },
		        "has no token '<unk>', which is the 'unk_token'" },
		{ { { "tokenizer.json", "{}" }, { "vocab.txt", SPECIAL } }, "tokenizer.json': " },
		{ { { "tokenizer.json", "" } }, "tokenizer.json' is no JSON" },
		{ { { "vocab.json", "[]" } }, "merges.txt" },
		{ { { "vocab.json", "[]" }, { "merges.txt", "" } }, "no token '<s>'" },
		{ { { "vocab.json", "{\"<s>\":0,\"</s>\":1}" }, { "merges.txt", "a b\n" } },
		        "vocab.json': merge 0" },
		{ { { "vocab.json", "{\"<s>\":0,\"</s>\":7777777}" }, { "merges.txt", "" } },
		        "vocab.json': " },
		{ { { "vocab.json", "{\"<s>\":0,\"</s>\":-1}" }, { "merges.txt", "" } },
		        "vocab.json': " },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err;
		struct tokenizer *t = open_files(cases[i].files, &err);
		CHECK(t == NULL);
		CHECK_INT(err.kind, ERR_INPUT);
		if (!CHECK(strstr(err.text, cases[i].says)))
			printf("#   '%s', wanted '%s'\n", err.text, cases[i].says);
		tokenizer_close(t);
	}
}

/* Six letters that are tokens: a is 5. */
static const char letters[] = SPECIAL "a\nb\nc\nd\ne\nf\n";

static void a_pair_is_framed_as_bert_has_it(void)
{
	struct tokenizer *t = open_vocab(letters, NULL);
	struct encoding *e = encoding_new();
	int32_t ids[MAX], types[MAX];
	struct str b = STR("c d");
	if (!t)
		return;
	struct tokenizer_framed f = tokenizer_frame(t, e, STR("a b"), &b, 0, MAX, ids, types);
	CHECK_STR(ids_text(ids, f.n), "2 5 6 3 7 8 3");
	CHECK_STR(ids_text(types, f.n), "0 0 0 0 1 1 1");
	f = tokenizer_frame(t, e, STR("a b"), NULL, 0, MAX, ids, types);
	CHECK_STR(ids_text(ids, f.n), "2 5 6 3");
	CHECK_STR(ids_text(types, f.n), "0 0 0 0");
	b = STR("[SEP]");
	f = tokenizer_frame(t, e, STR("[MASK]"), &b, TOKENIZER_SPECIAL, MAX, ids, types);
	CHECK_STR(ids_text(ids, f.n), "2 4 3 3 3");
	encoding_free(e);
	tokenizer_close(t);
}

static void what_is_too_long_is_cut_at_its_end(void)
{
	/* By hand from the definition of "longest_first" in Hugging Face's tokenizers. */
	static const struct {
		const char *a, *b;
		int max;
		const char *want;
		bool cut;
	} cases[] = {
		{ "a b c", NULL, 5, "2 5 6 7 3", false },
		{ "a b c", NULL, 4, "2 5 6 3", true },
		{ "a b c", NULL, 2, "2 3", true },
		{ "a b c", NULL, 1, "2", true },
		{ "", NULL, 2, "2 3", false },
		{ "a b", "c d e", 8, "2 5 6 3 7 8 9 3", false },
		{ "a b", "c d e", 7, "2 5 6 3 7 8 3", true },
		{ "a b c d", "e f", 7, "2 5 6 3 9 10 3", true },
		{ "a b", "c d e f a b", 7, "2 5 6 3 7 8 3", true },
		{ "a b c", "d e f", 8, "2 5 6 3 8 9 10 3", true },
		{ "a", "c d e f a b", 6, "2 5 3 7 8 3", true },
		{ "a b c d e f", "c", 6, "2 5 6 3 7 3", true },
		{ "a b c d e", "c d e f", 3, "2 3 3", true },
	};
	struct tokenizer *t = open_vocab(letters, NULL);
	struct encoding *e = encoding_new();
	for (size_t i = 0; t && i < ARRAY_LEN(cases); i++) {
		int32_t ids[MAX];
		struct str b = str_of(cases[i].b ? cases[i].b : "");
		struct tokenizer_framed f = tokenizer_frame(t, e, str_of(cases[i].a),
		        cases[i].b ? &b : NULL, 0, cases[i].max, ids, NULL);
		if (!CHECK_STR(ids_text(ids, f.n), cases[i].want))
			printf("#   case %zu\n", i);
		CHECK(f.cut == cases[i].cut);
	}
	encoding_free(e);
	tokenizer_close(t);
}

/* Bytes as GPT-2 writes them: a blank is U+0120. */
#define BPE_VOCAB                                                                                  \
	"{\"<s>\":0,\"<pad>\":1,\"</s>\":2,\"<unk>\":3,\"a\":4,\"b\":5,\"\xC4\xA0\":6,"            \
	"\"\xC4\xA0"                                                                               \
	"a\":7,\"ab\":8,\"<mask>\":9}"

static void a_folder_of_roberta_without_tokenizer_json_is_understood(void)
{
	struct err err;
	struct tokenizer *t =
	        open_files((struct file[]){ { "vocab.json", BPE_VOCAB },
	                           { "merges.txt", "#version: 0.2\n\xC4\xA0 a\na b\n" }, { 0 } },
	                &err);
	struct encoding *e = encoding_new();
	int32_t ids[MAX], types[MAX];
	struct str b = STR("b <mask>");
	if (!CHECK(t != NULL)) {
		printf("#   %s\n", err.text);
		return;
	}
	check_ids(t, "ab a", "0 8 7 2");
	struct tokenizer_framed f =
	        tokenizer_frame(t, e, STR("a"), &b, TOKENIZER_SPECIAL, MAX, ids, types);
	CHECK_STR(ids_text(ids, f.n), "0 4 2 2 5 9 2");
	CHECK_STR(ids_text(types, f.n), "0 0 0 0 0 0 0");
	encoding_free(e);
	tokenizer_close(t);
}

#define TEMPLATE(single, pair)                                                                     \
	"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"[C]\":1,\"[S]\":2,\"a\":3,"   \
	"\"b\":4},\"unk_token\":\"[UNK]\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"     \
	"\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" single                  \
	"],\"pair\":[" pair                                                                        \
	"],\"special_tokens\":{\"[C]\":{\"ids\":[1]},\"[S]\":{\"ids\":[2,2]}}}}"
#define TOKEN(name, type) "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":" type "}}"
#define TEXT(name, type) "{\"Sequence\":{\"id\":\"" name "\",\"type_id\":" type "}}"

static void a_template_frames_as_it_says(void)
{
	struct err err;
	int32_t ids[MAX], types[MAX];
	struct str b = STR("b b");
	struct tokenizer *t = open_files(
	        (struct file[]){
	                { "tokenizer.json",
	                        TEMPLATE(TOKEN("[C]", "0") "," TEXT("A", "0"),
	                                TOKEN("[C]", "0") "," TEXT("A", "0") "," TOKEN("[S]",
	                                        "0") "," TEXT("B", "1") "," TOKEN("[C]", "1")) },
	                { 0 } },
	        &err);
	struct encoding *e = encoding_new();
	if (!CHECK(t != NULL)) {
		printf("#   %s\n", err.text);
		return;
	}
	check_ids(t, "a", "1 3");
	struct tokenizer_framed f = tokenizer_frame(t, e, STR("a"), &b, 0, MAX, ids, types);
	CHECK_STR(ids_text(ids, f.n), "1 3 2 2 4 4 1");
	CHECK_STR(ids_text(types, f.n), "0 0 0 0 1 1 1");
	f = tokenizer_frame(t, e, STR("a a"), &b, 0, 6, ids, types);
	CHECK_STR(ids_text(ids, f.n), "1 3 2 2 4 1");
	tokenizer_close(t);
	encoding_free(e);
	t = open_files(
	        (struct file[]){ { "tokenizer.json", TEMPLATE(TEXT("A", "0"),
	                                                     TEXT("B", "0") "," TEXT("A", "1")) },
	                { 0 } },
	        &err);
	CHECK(t == NULL);
	CHECK(strstr(err.text, "second text before the first"));
}

static void without_a_post_processor_nothing_is_put_around(void)
{
	struct err err;
	int32_t ids[MAX], types[MAX];
	struct str b = STR("a");
	struct tokenizer *t = open_files(
	        (struct file[]){ { "tokenizer.json",
	                                 "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":"
	                                 "0,\"a\":1}}}" },
	                { 0 } },
	        &err);
	struct encoding *e = encoding_new();
	if (!CHECK(t != NULL))
		return;
	struct tokenizer_framed f = tokenizer_frame(t, e, STR("a"), &b, 0, MAX, ids, types);
	CHECK_STR(ids_text(ids, f.n), "1 1");
	CHECK_STR(ids_text(types, f.n), "0 1");
	encoding_free(e);
	tokenizer_close(t);
}

/* Every text of a reference.json with the ids that another program gave it. */
static void check_references(const char *folder, int n_wanted)
{
	char path[4300];
	struct err err = { 0 };
	json_error_t e;
	size_t i;
	json_t *row;
	struct tokenizer *t = NULL;
	snprintf(path, sizeof(path), "%s/reference.json", folder);
	json_t *all = json_load_file(path, 0, &e);
	if (!CHECK(all != NULL) || !CHECK(tokenizer_open_folder(folder, &t, &err)))
		printf("#   %s %s\n", path, err.text);
	struct encoding *room = encoding_new();
	json_array_foreach(json_object_get(all, "cases"), i, row)
	{
		int32_t ids[512];
		const char *text = reference_text(row, "text");
		struct tokenizer_framed f =
		        tokenizer_frame(t, room, str_of(text), NULL, 0, 512, ids, NULL);
		if (!reference_ids_equal(json_object_get(row, "ids"), ids, (size_t)f.n))
			printf("#   text '%s'\n", text);
	}
	CHECK_INT(i, n_wanted);
	encoding_free(room);
	tokenizer_close(t);
	json_decref(all);
}

static void the_references_of_trained_models_agree(void)
{
	static const struct {
		const char *folder;
		int n;
	} cases[] = { { "data/models/tickets", 10 }, { "data/models/bert-sms", 64 } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char folder[4200];
		const char *found = tap_shared(cases[i].folder);
		if (!found) {
			tap_skip("the models are not here");
			continue;
		}
		snprintf(folder, sizeof(folder), "%s", found);
		check_references(folder, cases[i].n);
	}
}

/* The vectors of another program for the vocabulary of uncased BERT, as vocab.txt. */
static void the_vectors_of_another_program_agree(void)
{
	const struct str between = STR("\n__ggml_vocab_test__\n");
	struct arena run = { 0 };
	struct err err;
	struct str vocab, texts, lines;
	const char *path = tap_shared("data/models/tokenizers/bert-base-uncased.vocab.txt");
	if (!path || !str_read_file(path, 1 << 20, &run, &vocab, &err)) {
		tap_skip("the vocabularies of others are not here");
		return;
	}
	path = tap_shared("data/models/tokenizers/ggml-vocab-bert-bge.gguf.inp");
	CHECK(path && str_read_file(path, 1 << 20, &run, &texts, &err));
	path = tap_shared("data/models/tokenizers/ggml-vocab-bert-bge.gguf.out");
	CHECK(path && str_read_file(path, 1 << 20, &run, &lines, &err));
	struct tokenizer *t = open_vocab(vocab.s, NULL);
	struct encoding *e = encoding_new();
	int n = 0;
	for (ptrdiff_t at = 0; t && at >= 0; n++) {
		int32_t ids[4096];
		char got[16 * 1024] = "", *end = got;
		struct str line = str_trim(str_cut(lines, '\n', &lines));
		at = str_find(texts, between);
		struct str text = { texts.s, at < 0 ? texts.len : (size_t)at };
		struct tokenizer_framed f = tokenizer_frame(t, e, text, NULL, 0, 4096, ids, NULL);
		for (int i = 1; i + 1 < f.n; i++)
			end += sprintf(end, "%s%d", i > 1 ? " " : "", ids[i]);
		if (!CHECK(str_eq(str_of(got), line)))
			printf("#   '%.*s': %s\n", STR_ARG(text), got);
		texts.s += text.len + (at < 0 ? 0 : between.len);
		texts.len -= text.len + (at < 0 ? 0 : between.len);
	}
	CHECK(n > 40);
	encoding_free(e);
	tokenizer_close(t);
	arena_release(&run);
}

static void texts_that_are_none_have_the_tokens_of_what_is_text(void)
{
	/* By the code of BERT: a NUL and other controls vanish, as does U+FFFD; emoji are letters;
	 * a byte that is no UTF-8 is kept, and so its word is unknown. */
	static const struct {
		struct str text;
		const char *want;
	} cases[] = {
		{ STR_INIT("a\0b"), "2 8 3" },
		{ STR_INIT("\0\0"), "2 3" },
		{ STR_INIT("a\x01\x7F\xC2\x80 b"), "2 5 6 3" },
		{ STR_INIT("a \xEF\xBF\xBD b"), "2 5 6 3" },
		{ STR_INIT("\xF0\x9F\x99\x82"), "2 9 3" },
		{ STR_INIT("a\xF0\x9F\x99\x82"), "2 5 10 3" },
		{ STR_INIT("a \xF0\x9F\x99 b"), "2 5 1 6 3" },
		{ STR_INIT("\xFF"), "2 1 3" },
		{ STR_INIT("a\xFF b"), "2 1 6 3" },
		{ STR_INIT(" \t\r\n\xC2\xA0\xE3\x80\x80"), "2 3" },
		{ STR_INIT("a\xE2\x80\x8D"
		           "b"),
		        "2 8 3" },
	};
	struct tokenizer *t =
	        open_vocab(SPECIAL "a\nb\n##c\nab\n\xF0\x9F\x99\x82\n##\xF0\x9F\x99\x82\n", NULL);
	struct encoding *e = encoding_new();
	for (size_t i = 0; t && i < ARRAY_LEN(cases); i++) {
		int32_t ids[MAX];
		struct tokenizer_framed f =
		        tokenizer_frame(t, e, cases[i].text, NULL, 0, MAX, ids, NULL);
		if (!CHECK_STR(ids_text(ids, f.n), cases[i].want))
			printf("#   case %zu\n", i);
	}
	encoding_free(e);
	tokenizer_close(t);
}

/* Megabytes of one thing after another: words, one word, spaces, bytes that are no text. */
static void the_longest_texts_are_cut_in_a_moment(void)
{
	static const char *const bits[] = { "word ", "x", " ", "\xFF", "\xE4\xBD\xA0", "\xCC\x81",
		"\xED\x95\x9C" };
	enum { N = TOKENIZER_TEXT_BYTES_MAX / 8 };
	struct tokenizer *t = open_vocab(letters, NULL);
	struct encoding *e = encoding_new();
	char *text = malloc(N);
	for (size_t i = 0; t && i < ARRAY_LEN(bits); i++) {
		int32_t ids[MAX];
		size_t n = strlen(bits[i]);
		for (size_t k = 0; k < N; k++)
			text[k] = bits[i][k % n];
		struct tokenizer_framed f =
		        tokenizer_frame(t, e, (struct str){ text, N }, NULL, 0, MAX, ids, NULL);
		CHECK(f.n >= 2 && f.n <= MAX && ids[0] == 2 && ids[f.n - 1] == 3);
		CHECK(f.cut == (f.n == MAX));
	}
	free(text);
	encoding_free(e);
	tokenizer_close(t);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
static void nothing_is_allocated_for_a_text_like_those_before(void)
{
	tap_skip("memory is another's to give in this build");
}
#else
/* All that is asked for in this program goes through here. */
static int n_asked;
void *__libc_malloc(size_t n);
void *__libc_realloc(void *old, size_t n);
void *__libc_calloc(size_t n, size_t size);
void *malloc(size_t n);
void *realloc(void *old, size_t n);
void *calloc(size_t n, size_t size);

void *malloc(size_t n)
{
	n_asked++;
	return __libc_malloc(n);
}

void *realloc(void *old, size_t n)
{
	n_asked++;
	return __libc_realloc(old, n);
}

void *calloc(size_t n, size_t size)
{
	n_asked++;
	return __libc_calloc(n, size);
}

static void check_nothing_asked(struct tokenizer *t)
{
	static const char *const texts[] = { "a b word", "caf\xC3\xA9 \xED\x95\x9C\xEA\xB8\x80",
		"\xE4\xBD\xA0 \xF0\x9F\x99\x82", "\xFF \xE0\xA5\x8D", "" };
	struct encoding *e = encoding_new();
	int32_t ids[MAX], types[MAX];
	struct str b = STR("and this one, too");
	int before = 0;
	for (int round = 0; round < 3; round++) {
		/* The first round grows what is then there. */
		if (round == 1)
			before = n_asked;
		for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
			(void)tokenizer_frame(t, e, str_of(texts[i]), NULL, 0, MAX, ids, types);
			(void)tokenizer_frame(t, e, str_of(texts[i]), &b, 0, MAX, ids, types);
		}
	}
	CHECK_INT(n_asked - before, 0);
	CHECK(before > 0);
	encoding_free(e);
	tokenizer_close(t);
}

static void nothing_is_allocated_for_a_text_like_those_before(void)
{
	struct err err;
	check_nothing_asked(open_vocab(letters, NULL));
	check_nothing_asked(tokenizer_synthetic(30522));
	check_nothing_asked(
	        open_files((struct file[]){ { "vocab.json", BPE_VOCAB },
	                           { "merges.txt", "#version: 0.2\n\xC4\xA0 a\na b\n" }, { 0 } },
	                &err));
}
#endif

static void a_synthetic_tokenizer_counts_like_a_real_one(void)
{
	static const char english[] =
	        "The service answers every question that arrives, and the queue in front of it "
	        "tells you how busy it is. When requests arrive faster than they are computed, "
	        "they wait; the longer the queue, the longer the wait, until somebody gives up. "
	        "Adding more computers helps only where the computation is what takes the time.";
	int n_words = 1;
	for (const char *p = english; *p; p++)
		n_words += *p == ' ';
	static const int sizes[] = { TOKENIZER_SYNTHETIC_VOCAB_MIN, 1000, 30522, 250002 };
	struct encoding *e = encoding_new();
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct tokenizer *t = tokenizer_synthetic(sizes[i]);
		int32_t ids[512], again[512];
		struct tokenizer_framed f =
		        tokenizer_frame(t, e, STR(english), NULL, 0, 512, ids, NULL);
		CHECK_NEAR((double)(f.n - 2) / n_words, 1.3, 0.15);
		for (int k = 0; k < f.n; k++)
			CHECK(ids[k] >= 0 && ids[k] < sizes[i]);
		/* The same word is the same token, upper case or lower. */
		f = tokenizer_frame(t, e, STR("Word word"), NULL, 0, 512, again, NULL);
		CHECK(f.n == 4 && again[1] == again[2]);
		CHECK_INT(tokenizer_size(t), sizes[i]);
		CHECK_INT(tokenizer_piece(t, 5).len, 0);
		tokenizer_close(t);
	}
	struct tokenizer *t = tokenizer_synthetic(30522);
	int32_t ids[512];
	struct tokenizer_framed f =
	        tokenizer_frame(t, e, STR("internationalization"), NULL, 0, 512, ids, NULL);
	CHECK_INT(f.n, 2 + 4);
	CHECK(ids[0] == 101 && ids[5] == 102);
	tokenizer_close(t);
	encoding_free(e);
}

int main(void)
{
	TAP_RUN(a_vocabulary_alone_is_uncased_bert);
	TAP_RUN(tokenizer_config_says_what_is_done_to_a_text);
	TAP_RUN(lines_end_in_either_way_and_the_last_of_two_counts);
	TAP_RUN(a_folder_that_is_wrong_is_refused_by_what_is_wrong);
	TAP_RUN(a_pair_is_framed_as_bert_has_it);
	TAP_RUN(what_is_too_long_is_cut_at_its_end);
	TAP_RUN(a_folder_of_roberta_without_tokenizer_json_is_understood);
	TAP_RUN(a_template_frames_as_it_says);
	TAP_RUN(without_a_post_processor_nothing_is_put_around);
	TAP_RUN(the_references_of_trained_models_agree);
	TAP_RUN(the_vectors_of_another_program_agree);
	TAP_RUN(texts_that_are_none_have_the_tokens_of_what_is_text);
	TAP_RUN(the_longest_texts_are_cut_in_a_moment);
	TAP_RUN(nothing_is_allocated_for_a_text_like_those_before);
	TAP_RUN(a_synthetic_tokenizer_counts_like_a_real_one);
	return tap_done();
}
