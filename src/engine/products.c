#include "engine/products.h"

#include "base/attr.h"

#include <stdbool.h>
#include <string.h>

extern const struct products products_plain;
#ifdef __x86_64__
extern const struct products products_avx2, products_avx512, products_avx512_vnni,
        products_avx512_bf16;
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

static bool has_avx512_vnni(void)
{
	return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool has_avx512_bf16(void)
{
	return has_avx512_vnni() && __builtin_cpu_supports("avx512bf16");
}
#endif

/* The best first. */
static const struct {
	const struct products *products;
	bool (*runs_here)(void);
} table[] = {
#ifdef __x86_64__
	{ &products_avx512_bf16, has_avx512_bf16 },
	{ &products_avx512_vnni, has_avx512_vnni },
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

static size_t group_of(const struct products *p, enum dtype type)
{
	return (size_t)(type == DTYPE_S8 ? p->group_s8 : type == DTYPE_BF16 ? p->group_bf16 : 1);
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

size_t products_packed_bytes(const struct products *p, enum dtype type, int n_in, int n_out)
{
	return round_up((size_t)n_out, (size_t)p->panel) *
	       round_up((size_t)n_in, group_of(p, type)) * dtype_bytes(type);
}

void products_pack(
        const struct products *p, enum dtype type, int n_in, int n_out, const void *w, void *packed)
{
	size_t bytes = dtype_bytes(type), width = (size_t)p->panel, group = group_of(p, type);
	size_t panel = round_up((size_t)n_in, group) * width;
	memset(packed, 0, products_packed_bytes(p, type, n_in, n_out));
	for (size_t row = 0; row < (size_t)n_out; row++) {
		const char *from = (const char *)w + row * (size_t)n_in * bytes;
		char *to = (char *)packed + (row / width * panel + row % width * group) * bytes;
		for (size_t i = 0; i < (size_t)n_in; i++)
			memcpy(to + (i / group * group * width + i % group) * bytes,
			        from + i * bytes, bytes);
	}
}
