#include "engine/kernels.h"

#include "base/attr.h"
#include "engine/kernels_sets.h"

#include <stdbool.h>
#include <string.h>

static bool always(void)
{
	return true;
}

#ifdef __x86_64__

static bool avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool avx512(void)
{
	return avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool avx512_bf16(void)
{
	return avx512() && __builtin_cpu_supports("avx512bf16");
}

#endif

/* The best first. */
static const struct {
	const struct kernels *kernels;
	bool (*runs)(void);
} sets[] = {
#ifdef __x86_64__
	{ &kernels_avx512_bf16, avx512_bf16 },
	{ &kernels_avx512, avx512 },
	{ &kernels_avx2, avx2 },
#endif
	{ &kernels_plain, always },
};

const struct kernels *kernels_best(void)
{
	size_t i = 0;
	while (!sets[i].runs())
		i++;
	return sets[i].kernels;
}

const struct kernels *kernels_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		if (strcmp(sets[i].kernels->name, name) == 0)
			return sets[i].runs() ? sets[i].kernels : NULL;
	return NULL;
}

/*
 * The widest set lays keys and values out in panels of 32 columns and takes 8 queries at a time,
 * all of float32; the reference in float64 needs less.
 */
size_t attention_scratch_bytes(int n_q, int n_keys, int dim)
{
	enum { PANEL = 32, ROWS = 8 };
	(void)n_q;
	size_t keys = ((size_t)n_keys + PANEL - 1) / PANEL * PANEL;
	size_t columns = ((size_t)dim + PANEL - 1) / PANEL * PANEL;
	return sizeof(float) * (2 * keys * columns + ROWS * (keys + 2 * columns));
}
