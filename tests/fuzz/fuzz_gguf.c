/*
 * fuzz_gguf.c - any bytes as a GGUF file: read all of it, load the model, and let it say a little.
 */
#include "engine/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEQUENCE_BYTES_MAX = 64 << 20, N_TOKENS_MAX = 40 };

static void read_values(const struct gguf *file)
{
	static const char *const keys[] = { "general.name", "general.architecture",
		"general.alignment", "tokenizer.ggml.tokens", "a" };
	struct err err;
	int64_t number;
	double real;
	bool flag;
	struct str text;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		bool any = gguf_int(file, keys[i], INT64_MIN, INT64_MAX, &number, &err) ||
		           gguf_real(file, keys[i], -1e300, 1e300, &real, &err) ||
		           gguf_bool(file, keys[i], &flag, &err) ||
		           gguf_string(file, keys[i], &text, &err);
		(void)any;
	}
}

/* Not overlapping, so together no more than the file times two. */
static void read_tensors(const struct gguf *file)
{
	size_t n;
	struct err err;
	const struct gguf_tensor *tensors = gguf_tensors(file, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gguf_check_readable(&tensors[i], &err))
			continue;
		float *values = malloc(tensors[i].n_elements * sizeof(*values));
		if (values && !gguf_read_f32(&tensors[i], values, &err))
			values[0] = 0;
		free(values);
	}
}

static void use_tokenizer(const struct tokenizer *t)
{
	int32_t *ids;
	size_t n;
	struct detokenizer d;
	AUTO(auto_buf) struct buf out = { 0 };
	tokenizer_encode(t, STR("Once upon a\xFF \xE4\xBB\x8E time"), TOKENIZER_FRAME, &ids, &n);
	detokenizer_init(&d, t, true);
	for (size_t i = 0; i < n; i++)
		detokenizer_add(&d, ids[i], &out);
	detokenizer_end(&d, &out);
	if (!utf8_valid(buf_str(&out).s, out.len))
		abort();
	free(ids);
}

static void use_model(const struct model *model)
{
	struct model_info info = model_info(model);
	struct sequence *s;
	struct err err;
	const float *logits;
	int32_t tokens[N_TOKENS_MAX];
	int n = info.n_ctx < N_TOKENS_MAX ? info.n_ctx : N_TOKENS_MAX;
	if (info.kv_bytes_per_token * info.n_ctx > SEQUENCE_BYTES_MAX ||
	        !sequence_open(model, &s, &err))
		return;
	for (int i = 0; i < n; i++)
		tokens[i] = i % info.n_vocab;
	if (!sequence_eval(s, tokens, n, &logits, &err))
		abort();
	sequence_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gguf *file;
	struct tokenizer *t;
	struct model *model;
	struct err err;
	if (!gguf_parse(data, size, &file, &err))
		return 0;
	read_values(file);
	read_tensors(file);
	if (tokenizer_open(file, &t, &err)) {
		use_tokenizer(t);
		tokenizer_close(t);
	}
	if (model_open_gguf(file, "fuzz", &model, &err)) {
		use_model(model);
		model_close(model);
	}
	gguf_close(file);
	return 0;
}
