#include "engine/dtype.h"

const char *dtype_name(enum dtype type)
{
	static const char *const names[] = {
		[DTYPE_F32] = "f32",
		[DTYPE_BF16] = "bf16",
		[DTYPE_U8] = "uint8",
		[DTYPE_S8] = "int8",
		[DTYPE_S32] = "int32",
	};
	return names[type];
}
