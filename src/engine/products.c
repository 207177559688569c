#include "engine/products.h"

#include "base/attr.h"

#include <stdbool.h>
#include <string.h>

extern const struct products products_plain;
#ifdef __x86_64__
extern const struct products products_avx2, products_avx512;
#endif

static bool always(void)
{
	return true;
}

#ifdef __x86_64__
static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

/* The best first. */
static const struct {
	const struct products *products;
	bool (*runs_here)(void);
} table[] = {
#ifdef __x86_64__
	{ &products_avx512, has_avx512 },
	{ &products_avx2, has_avx2 },
#endif
	{ &products_plain, always },
};

const struct products *products_best(void)
{
	size_t i = 0;
	while (!table[i].runs_here())
		i++;
	return table[i].products;
}

const struct products *products_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].products->name, name) == 0)
			return table[i].runs_here() ? table[i].products : NULL;
	return NULL;
}

static size_t panels(const struct products *p, int n_out)
{
	return (size_t)((n_out + p->panel - 1) / p->panel);
}

size_t products_packed_bytes(const struct products *p, enum dtype type, int n_in, int n_out)
{
	return panels(p, n_out) * (size_t)p->panel * (size_t)n_in * dtype_bytes(type);
}

void products_pack(
        const struct products *p, enum dtype type, int n_in, int n_out, const void *w, void *packed)
{
	size_t bytes = dtype_bytes(type), width = (size_t)p->panel;
	memset(packed, 0, products_packed_bytes(p, type, n_in, n_out));
	for (size_t row = 0; row < (size_t)n_out; row++) {
		const char *from = (const char *)w + row * (size_t)n_in * bytes;
		char *to =
		        (char *)packed + (row / width * (size_t)n_in * width + row % width) * bytes;
		for (size_t i = 0; i < (size_t)n_in; i++)
			memcpy(to + i * width * bytes, from + i * bytes, bytes);
	}
}
