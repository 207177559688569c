#include "trace/kinds/kernel_type.h"

#include <string.h>

static const struct {
	const char *word;
	enum element_type type;
} type_words[] = {
	{ "tf32", ELEMENT_TFLOAT32 },
	{ "s1688gemm", ELEMENT_TFLOAT32 }, /* CUTLASS: TF32 unless bf16 or f16 follows */
	{ "MxE4m3", ELEMENT_FLOAT8 },
	{ "e4m3", ELEMENT_FLOAT8 },
	{ "fp8", ELEMENT_FLOAT8 },
	{ "F8", ELEMENT_FLOAT8 },
	{ "bf16", ELEMENT_BFLOAT16 },
	{ "bfloat16", ELEMENT_BFLOAT16 },
	{ "BFloat16", ELEMENT_BFLOAT16 },
	{ "_BBS_", ELEMENT_BFLOAT16 },
	{ "_B_BS_", ELEMENT_BFLOAT16 },
	{ "f16", ELEMENT_FLOAT16 },
	{ "fp16", ELEMENT_FLOAT16 },
	{ "_h884", ELEMENT_FLOAT16 },
	{ "_h1688", ELEMENT_FLOAT16 },
	{ "_s884", ELEMENT_FLOAT16 },
	{ "_s1688", ELEMENT_FLOAT16 },
	{ "_s16816", ELEMENT_FLOAT16 },
	{ "hgemm", ELEMENT_FLOAT16 },
	{ "__half", ELEMENT_FLOAT16 },
	{ "_HHS_", ELEMENT_FLOAT16 },
	{ "_HSS_", ELEMENT_FLOAT16 },
	{ "i8i8", ELEMENT_INT8 },
	{ "s8_", ELEMENT_INT8 },
	{ "_I8II_", ELEMENT_INT8 },
	{ "int8", ELEMENT_INT8 },
	{ "dgemm", ELEMENT_FLOAT64 },
	{ "_DB_", ELEMENT_FLOAT64 },
	{ "sgemm", ELEMENT_FLOAT32 },
	{ "f32f32_f32f32", ELEMENT_FLOAT32 },
	{ "scudnn", ELEMENT_FLOAT32 },
	{ "_SB_", ELEMENT_FLOAT32 },
	{ "_S_B_", ELEMENT_FLOAT32 },
	{ "float, float, float", ELEMENT_FLOAT32 },
};

enum element_type kernel_type_of(struct str name)
{
	bool in_16_bits = memmem(name.s, name.len, "f16", 3) || memmem(name.s, name.len, "fp16", 4);
	for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++) {
		const char *word = type_words[i].word;
		if (in_16_bits && strcmp(word, "s1688gemm") == 0)
			continue;
		if (memmem(name.s, name.len, word, strlen(word)))
			return type_words[i].type;
	}
	return ELEMENT_UNKNOWN;
}
