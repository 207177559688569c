/*
 * seed_gguf.c - writes the files that fuzzing of GGUF starts from: seed_gguf FOLDER.
 */
#include "gguf_make.h"

#include <stdio.h>

static const struct make_shape shape = { 8, 1, 2, 1, 4, 4, 10000, true };

static void model_f32(struct make *m)
{
	make_llama(m, &shape);
}

static void model_bf16(struct make *m)
{
	m->tensor_type = GGUF_TENSOR_BF16;
	make_llama(m, &shape);
}

static void model_with_nan(struct make *m)
{
	m->poisoned = "blk.0.ffn_down.weight";
	make_llama(m, &shape);
}

static void vocabulary_alone(struct make *m)
{
	static const char *const pieces[] = { "\xE2\x96\x81", "o", "n", "on", "\xE2\x96\x81on" };
	make_key_str(m, "general.architecture", "llama");
	make_tokenizer(m, pieces, ARRAY_LEN(pieces));
}

static void every_type_of_value(struct make *m)
{
	static const unsigned char bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const size_t sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
	for (uint32_t type = 0; type < ARRAY_LEN(sizes); type++) {
		char key[8];
		snprintf(key, sizeof(key), "%c", 'a' + (int)type);
		if (type == GGUF_STRING)
			make_key_str(m, key, "text");
		else if (type == GGUF_ARRAY)
			make_key_array(m, key, GGUF_U16, 4, bytes, sizeof(bytes));
		else
			make_key(m, key, type, bytes, sizes[type]);
	}
}

static void absurd_counts(struct make *m)
{
	m->n_keys = m->n_tensors = UINT64_MAX;
}

static void nested_arrays(struct make *m)
{
	make_key_array(m, "a", GGUF_ARRAY, 1, "\0\0\0\0\1\0\0\0\0\0\0\0\0", 13);
}

static void overflowing_tensor(struct make *m)
{
	const uint64_t dims[4] = { 1 << 20, 1 << 20, 1 << 20, 16 };
	make_info(m, "t", 4, dims, GGUF_TENSOR_F32, UINT64_MAX - 31);
}

static const struct {
	const char *name;
	void (*make)(struct make *m);
} seeds[] = {
	{ "model_f32", model_f32 },
	{ "model_bf16", model_bf16 },
	{ "model_with_nan", model_with_nan },
	{ "vocabulary_alone", vocabulary_alone },
	{ "every_type_of_value", every_type_of_value },
	{ "absurd_counts", absurd_counts },
	{ "nested_arrays", nested_arrays },
	{ "overflowing_tensor", overflowing_tensor },
};

static bool write_file(const char *folder, const char *name, struct str bytes)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	AUTO(auto_file) FILE *f = fopen(path, "we");
	return f && fwrite(bytes.s, 1, bytes.len, f) == bytes.len;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		struct make m = make_begin();
		AUTO(auto_buf) struct buf image = { 0 };
		seeds[i].make(&m);
		make_image(&m, &image);
		make_release(&m);
		if (!write_file(argv[1], seeds[i].name, buf_str(&image)))
			return 4;
	}
	return 0;
}
