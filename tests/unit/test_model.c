#include "engine/model.h"

#include "engine/sampler.h"
#include "gguf_make.h"
#include "reference.h"
#include "tap.h"

#include <stdlib.h>

/* Float32 in another order of sums; the reference has six decimals. */
static const double LOGIT_TOLERANCE = 1e-4;

static struct model *open_model(const char *path)
{
	struct model *model = NULL;
	struct err err = { 0 };
	if (!CHECK(model_open(path, &model, &err)))
		printf("#   %s\n", err.text);
	return model;
}

static struct model *open_made(struct make *m, struct err *err)
{
	AUTO(auto_buf) struct buf image = { 0 };
	struct gguf *file;
	struct model *model = NULL;
	make_image(m, &image);
	if (gguf_parse(image.s, image.len, &file, err)) {
		if (!model_open_gguf(file, "made", &model, err))
			model = NULL;
		gguf_close(file);
	}
	make_release(m);
	return model;
}

/* Appends tokens; NULL fails the test. */
static const float *eval(struct sequence *s, const int32_t *ids, size_t n)
{
	const float *logits = NULL;
	struct err err = { 0 };
	if (!CHECK(sequence_eval(s, ids, (int)n, &logits, &err)))
		printf("#   %s\n", err.text);
	return logits;
}

/* Follows the best token until the end or n_max; what was chosen, the end included. */
static size_t go_on_greedily(const struct model *model, struct sequence *s, const float *logits,
        int32_t *ids, size_t n_max)
{
	struct sampler sampler;
	size_t n = 0;
	sampler_init(&sampler, 0, 1, 0);
	while (logits && n < n_max) {
		ids[n] = sampler_pick(&sampler, logits, (size_t)model_info(model).n_vocab);
		if (tokenizer_is_end(model_tokenizer(model), ids[n++]) || n == n_max)
			break;
		logits = eval(s, &ids[n - 1], 1);
	}
	sampler_release(&sampler);
	return n;
}

static void check_logits(const json_t *row, const float *logits, size_t n_vocab)
{
	const json_t *first = json_object_get(row, "logits_first16");
	size_t best = 0;
	CHECK_INT(json_array_size(first), 16);
	for (size_t i = 0; i < json_array_size(first); i++)
		CHECK_NEAR((double)logits[i], json_number_value(json_array_get(first, i)),
		        LOGIT_TOLERANCE);
	for (size_t i = 1; i < n_vocab; i++)
		best = logits[i] > logits[best] ? i : best;
	CHECK_INT(best, json_integer_value(json_object_get(row, "logits_argmax")));
	CHECK_NEAR((double)logits[best], json_number_value(json_object_get(row, "logits_max")),
	        LOGIT_TOLERANCE);
}

static void check_case(const struct model *model, struct sequence *s, const json_t *row)
{
	const struct tokenizer *t = model_tokenizer(model);
	struct detokenizer d;
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_free) int32_t *ids = NULL;
	int32_t more[64];
	size_t n;
	tokenizer_encode(t, str_of(reference_text(row, "prompt")), TOKENIZER_FRAME, &ids, &n);
	sequence_reset(s);
	const float *logits = eval(s, ids, n);
	if (!logits)
		return;
	check_logits(row, logits, (size_t)model_info(model).n_vocab);
	size_t n_more = go_on_greedily(model, s, logits, more, ARRAY_LEN(more));
	reference_ids_equal(json_object_get(row, "continuation_ids"), more, n_more);
	bool stopped = tokenizer_is_end(t, more[n_more - 1]);
	CHECK_STR(stopped ? "stop" : "length", reference_text(row, "finish"));
	/* After an empty prompt the text begins here, and so does its leading space go. */
	detokenizer_init(&d, t, reference_text(row, "prompt")[0] == '\0');
	for (size_t i = 0; i < n_more; i++)
		detokenizer_add(&d, more[i], &text);
	detokenizer_end(&d, &text);
	CHECK_STR(buf_str(&text).s, reference_text(row, "text"));
}

static void the_tales_model_says_what_its_reference_says(void)
{
	size_t i;
	json_t *row, *all = reference_load();
	struct model *model = open_model(reference_path("tales-f32.gguf"));
	struct sequence *s;
	struct err err;
	if (!all || !model || !CHECK(sequence_open(model, &s, &err)))
		return;
	json_t *cases = json_object_get(all, "cases");
	CHECK_INT(json_array_size(cases), 7);
	json_array_foreach(cases, i, row) check_case(model, s, row);
	sequence_close(s);
	model_close(model);
	json_decref(all);
}

static void the_stories_model_tells_its_story(void)
{
	static const char want[] =
	        "Once upon a time, there was a little girl named Lily. She loved to play outside "
	        "in the park. One day, she saw a big, red ball.";
	const char *path = tap_shared("data/models/stories260K/stories260K-f32.gguf");
	AUTO(auto_buf) struct buf text = { 0 };
	struct sequence *s;
	struct err err;
	struct detokenizer d;
	int32_t ids[80];
	if (!path) {
		tap_skip("the stories260K model of others is not here");
		return;
	}
	struct model *model = open_model(path);
	if (!model || !CHECK(sequence_open(model, &s, &err)))
		return;
	int32_t bos = tokenizer_bos(model_tokenizer(model));
	size_t n = go_on_greedily(model, s, eval(s, &bos, 1), ids, ARRAY_LEN(ids));
	detokenizer_init(&d, model_tokenizer(model), true);
	for (size_t i = 0; i < n; i++)
		detokenizer_add(&d, ids[i], &text);
	CHECK(str_starts(buf_str(&text), str_of(want)));
	sequence_close(s);
	model_close(model);
}

static void what_the_model_is_can_be_asked(void)
{
	struct model *model = open_model(reference_path("tales-f32.gguf"));
	if (!model)
		return;
	/* models/README.md has the numbers. */
	struct model_info info = model_info(model);
	CHECK_STR(info.name, "tales");
	CHECK_STR(info.architecture, "llama");
	CHECK_INT(info.n_params, 1312384);
	CHECK_INT(info.weight_bytes, 4 * 1312384);
	CHECK_INT(info.kv_bytes_per_token, 2 * 6 * 4 * 16 * 4);
	CHECK(info.n_vocab == 1024 && info.n_ctx == 512 && info.n_layers == 6);
	CHECK(info.n_heads == 8 && info.n_kv_heads == 4 && info.dim == 128 && info.ffn_dim == 384);
	model_close(model);
}

/* Shapes and logits of tests/unit/mini_llama.py. */
static const int32_t mini_tokens[] = { 1, 104, 35, 200, 77, 258 };
static const struct mini {
	struct make_shape shape;
	double want[8]; /* logits 0 to 5, and the last two */
} minis[] = {
	{ { 8, 1, 2, 1, 12, 4, 10000, false }, { 0.140572, -0.369343, -0.429648, 0.531929,
	                                               -1.257471, 2.400599, 1.149106, -0.005314 } },
	{ { 12, 2, 3, 3, 7, 2, 500, true }, { -0.792116, 0.781961, 1.529074, -0.010617, 0.356559,
	                                            -0.001581, 0.205874, 0.912602 } },
	{ { 16, 2, 4, 2, 10, 4, 100, true }, { -0.959236, 1.135909, -0.014933, 1.098101, -1.354090,
	                                             -1.963408, -0.141513, -1.035395 } },
};

static void every_shape_agrees_with_an_independent_program(void)
{
	static const uint32_t types[] = { GGUF_TENSOR_F32, GGUF_TENSOR_BF16 };
	for (size_t i = 0; i < ARRAY_LEN(minis) * ARRAY_LEN(types); i++) {
		const struct mini *mini = &minis[i / ARRAY_LEN(types)];
		struct make m = make_begin();
		struct err err;
		struct sequence *s;
		m.tensor_type = types[i % ARRAY_LEN(types)];
		make_llama(&m, &mini->shape);
		struct model *model = open_made(&m, &err);
		if (!CHECK(model != NULL) || !CHECK(sequence_open(model, &s, &err)))
			continue;
		const float *logits = eval(s, mini_tokens, ARRAY_LEN(mini_tokens));
		for (size_t k = 0; logits && k < ARRAY_LEN(mini->want); k++)
			CHECK_NEAR((double)logits[k < 6 ? k : 257 + k - 6], mini->want[k], 1e-5);
		sequence_close(s);
		model_close(model);
	}
}

static void the_pieces_in_which_tokens_come_do_not_matter(void)
{
	static const int steps[] = { 1, 7, 32, 33, 100 };
	enum { N = 100 };
	struct model *model = open_model(reference_path("tales-f32.gguf"));
	struct sequence *whole, *parts;
	struct err err;
	int32_t ids[N];
	if (!model || !CHECK(sequence_open(model, &whole, &err)) ||
	        !CHECK(sequence_open(model, &parts, &err)))
		return;
	for (int i = 0; i < N; i++)
		ids[i] = 259 + i * 37 % 700;
	const float *want = eval(whole, ids, N);
	CHECK_INT(sequence_length(whole), N);
	for (size_t k = 0; want && k < ARRAY_LEN(steps); k++) {
		const float *got = NULL;
		sequence_reset(parts);
		CHECK_INT(sequence_length(parts), 0);
		for (int i = 0; i < N; i += steps[k])
			got = eval(parts, ids + i, (size_t)(N - i < steps[k] ? N - i : steps[k]));
		double worst = 0;
		for (int i = 0; got && i < 1024; i++)
			worst = fmax(worst, fabs((double)got[i] - (double)want[i]));
		CHECK_NEAR(worst, 0, 1e-5);
	}
	sequence_close(whole);
	sequence_close(parts);
	model_close(model);
}

static void what_does_not_fit_leaves_the_sequence_as_it_was(void)
{
	const struct make_shape shape = minis[0].shape;
	struct make m = make_begin();
	struct err err = { 0 };
	struct sequence *s;
	const float *logits;
	int32_t ids[65] = { 0 }, bad[2] = { 5, 259 };
	make_llama(&m, &shape);
	struct model *model = open_made(&m, &err);
	if (!CHECK(model != NULL) || !CHECK(sequence_open(model, &s, &err)))
		return;
	eval(s, ids, 60);
	CHECK(!sequence_eval(s, ids, 5, &logits, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK_STR(err.text, "5 tokens after 60 are more than the model's context of 64");
	CHECK(!sequence_eval(s, bad, 2, &logits, &err));
	CHECK_STR(err.text, "token 259 is not within the vocabulary of 259");
	bad[0] = -1;
	CHECK(!sequence_eval(s, bad, 2, &logits, &err));
	CHECK_STR(err.text, "token -1 is not within the vocabulary of 259");
	CHECK_INT(sequence_length(s), 60);
	eval(s, ids, 4);
	CHECK(!sequence_eval(s, ids, 1, &logits, &err));
	CHECK_STR(err.text, "1 tokens after 64 are more than the model's context of 64");
	sequence_close(s);
	model_close(model);
}

static const struct {
	const char *without, *replaced;
	uint32_t replacement;
	const char *poisoned;
	uint32_t tensor_type;
	const char *want;
} hostile[] = {
	{ .without = "general.architecture", .want = "key 'general.architecture' is missing" },
	{ .replaced = "general.architecture",
	        .want = "key 'general.architecture' has the type u32 instead of string" },
	{ .without = "llama.block_count", .want = "key 'llama.block_count' is missing" },
	{ .replaced = "llama.block_count",
	        .want = "key 'llama.block_count' is 0, which is not within 1 to 512" },
	{ .replaced = "llama.block_count",
	        .replacement = UINT32_MAX,
	        .want = "key 'llama.block_count' is 4294967295, which is not within 1 to 512" },
	{ .replaced = "llama.block_count",
	        .replacement = 2,
	        .want = "tensor 'blk.1.attn_norm.weight' is missing" },
	{ .replaced = "llama.context_length",
	        .replacement = 1u << 31,
	        .want = "key 'llama.context_length' is 2147483648, which is not within 1 to "
	                "1048576" },
	{ .replaced = "llama.embedding_length",
	        .replacement = 9,
	        .want = "9 values do not divide into 2 heads of an even size" },
	{ .replaced = "llama.embedding_length",
	        .replacement = 6,
	        .want = "6 values do not divide into 2 heads of an even size" },
	{ .replaced = "llama.embedding_length",
	        .replacement = 64,
	        .want = "tensor 'token_embd.weight' is 8 x 259 x 1 x 1 instead of 64 x 259" },
	{ .replaced = "llama.attention.head_count_kv",
	        .replacement = 3,
	        .want = "2 heads cannot share 3 key and value heads evenly" },
	{ .replaced = "llama.attention.head_count_kv",
	        .replacement = 2,
	        .want = "tensor 'blk.0.attn_k.weight' is 8 x 4 x 1 x 1 instead of 8 x 8" },
	{ .replaced = "llama.rope.dimension_count",
	        .replacement = 6,
	        .want = "key 'llama.rope.dimension_count' is 6, which is odd or more than the 4 of "
	                "a head" },
	{ .replaced = "llama.rope.freq_base",
	        .want = "key 'llama.rope.freq_base' has the type u32 instead of f32" },
	{ .without = "llama.attention.layer_norm_rms_epsilon",
	        .want = "key 'llama.attention.layer_norm_rms_epsilon' is missing" },
	{ .without = "tokenizer.ggml.tokens", .want = "key 'tokenizer.ggml.tokens' is missing" },
	{ .without = "token_embd.weight", .want = "tensor 'token_embd.weight' is missing" },
	{ .without = "blk.0.ffn_down.weight", .want = "tensor 'blk.0.ffn_down.weight' is missing" },
	{ .poisoned = "blk.0.attn_q.weight",
	        .want = "value 63 of tensor 'blk.0.attn_q.weight' is nan, which is not finite" },
	{ .poisoned = "output_norm.weight",
	        .want = "value 7 of tensor 'output_norm.weight' is nan, which is not finite" },
	{ .tensor_type = 8,
	        .want = "tensor 'token_embd.weight' has the type Q8_0; only F32, F16 and BF16 are "
	                "read" },
};

static void a_hostile_model_is_refused_with_its_reason(void)
{
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		struct make m = make_begin();
		struct err err = { 0 };
		m.without = hostile[i].without;
		m.replaced = hostile[i].replaced;
		m.replacement = hostile[i].replacement;
		m.poisoned = hostile[i].poisoned;
		m.tensor_type = hostile[i].tensor_type;
		make_llama(&m, &minis[0].shape);
		struct model *model = open_made(&m, &err);
		if (!CHECK(model == NULL))
			printf("#   wanted: %s\n", hostile[i].want);
		CHECK_INT(err.kind, ERR_INPUT);
		CHECK_STR(err.text, hostile[i].want);
		model_close(model);
	}
}

/* What is no whole number among the hyper-parameters, and what a file may have too much. */
static void nan_epsilon(struct make *m)
{
	make_key_f32(m, "llama.attention.layer_norm_rms_epsilon", NAN);
}

static void infinite_base(struct make *m)
{
	make_key_f32(m, "llama.rope.freq_base", INFINITY);
}

static void negative_base(struct make *m)
{
	make_key_f32(m, "llama.rope.freq_base", -1);
}

static void other_architecture(struct make *m)
{
	make_key_str(m, "general.architecture", "bert");
}

static void scaled_positions(struct make *m)
{
	make_key_str(m, "llama.rope.scaling.type", "yarn");
}

static void other_head_size(struct make *m)
{
	make_key_u32(m, "llama.attention.key_length", 8);
}

static void other_vocabulary(struct make *m)
{
	make_key_u32(m, "llama.vocab_size", 260);
}

static void unknown_tensor(struct make *m)
{
	make_weights(m, "blk.0.attn_q.bias", 8, 1);
}

static void what_would_change_the_results_is_not_ignored(void)
{
	static const struct {
		void (*make)(struct make *m);
		const char *without; /* of what make_llama writes */
		const char *want;
	} cases[] = {
		{ nan_epsilon, "llama.attention.layer_norm_rms_epsilon",
		        "key 'llama.attention.layer_norm_rms_epsilon' is nan, which is not within "
		        "0 to 1" },
		{ infinite_base, "llama.rope.freq_base",
		        "key 'llama.rope.freq_base' is inf, which is not within 1 to 1e+12" },
		{ negative_base, "llama.rope.freq_base",
		        "key 'llama.rope.freq_base' is -1, which is not within 1 to 1e+12" },
		{ other_architecture, "general.architecture",
		        "the architecture is 'bert'; only 'llama' is supported" },
		{ scaled_positions, NULL, "positions scaled by 'yarn' are not supported" },
		{ other_head_size, NULL,
		        "heads whose size is not the embedding's divided by their number are not "
		        "supported" },
		{ other_vocabulary, NULL,
		        "key 'llama.vocab_size' is 260, but the tokenizer has 259 tokens" },
		{ unknown_tensor, NULL,
		        "tensor 'blk.0.attn_q.bias' belongs to no Llama decoder of a kind that is "
		        "supported" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct make m = make_begin();
		struct err err = { 0 };
		m.without = cases[i].without;
		make_llama(&m, &minis[0].shape);
		m.without = NULL;
		cases[i].make(&m);
		struct model *model = open_made(&m, &err);
		CHECK(model == NULL);
		CHECK_INT(err.kind, ERR_INPUT);
		CHECK_STR(err.text, cases[i].want);
		model_close(model);
	}
}

static void a_name_that_cannot_be_shown_gives_way_to_the_files(void)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "\xE5\xB0\x8F model", "\xE5\xB0\x8F model" },
		{ "", "made" },
		{ "a\nb", "made" },
		{ "a\xFFz", "made" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct make m = make_begin();
		struct err err;
		make_key_str(&m, "general.name", cases[i].name);
		make_llama(&m, &minis[0].shape);
		struct model *model = open_made(&m, &err);
		if (CHECK(model != NULL))
			CHECK_STR(model_info(model).name, cases[i].want);
		model_close(model);
	}
}

static void a_sequence_beyond_memory_is_refused(void)
{
	/* 512 layers of 32 values for k and v: 128 KiB a token, and a million tokens. */
	const struct make_shape shape = { 32, 512, 1, 1, 1, 2, 10000, false };
	struct make m = make_begin();
	struct err err = { 0 };
	struct sequence *s = NULL;
	m.replaced = "llama.context_length";
	m.replacement = 1 << 20;
	make_llama(&m, &shape);
	struct model *model = open_made(&m, &err);
	if (CHECK(model != NULL)) {
		CHECK(!sequence_open(model, &s, &err));
		CHECK_INT(err.kind, ERR_SYSTEM);
		CHECK_STR(err.text, "there is no memory for a sequence of 128 GiB");
	}
	model_close(model);
}

static void opening_names_the_file(void)
{
	struct model *model = NULL;
	struct err err = { 0 };
	CHECK(!model_open("/nonexistent.gguf", &model, &err));
	CHECK_STR(err.text, "cannot open '/nonexistent.gguf': No such file or directory");
	CHECK(!model_open(reference_path("reference.json"), &model, &err));
	CHECK(strstr(err.text, "reference.json': it does not begin with 'GGUF'") != NULL);
}

int main(void)
{
	TAP_RUN(the_tales_model_says_what_its_reference_says);
	TAP_RUN(the_stories_model_tells_its_story);
	TAP_RUN(what_the_model_is_can_be_asked);
	TAP_RUN(every_shape_agrees_with_an_independent_program);
	TAP_RUN(the_pieces_in_which_tokens_come_do_not_matter);
	TAP_RUN(what_does_not_fit_leaves_the_sequence_as_it_was);
	TAP_RUN(a_hostile_model_is_refused_with_its_reason);
	TAP_RUN(what_would_change_the_results_is_not_ignored);
	TAP_RUN(a_name_that_cannot_be_shown_gives_way_to_the_files);
	TAP_RUN(a_sequence_beyond_memory_is_refused);
	TAP_RUN(opening_names_the_file);
	return tap_done();
}
