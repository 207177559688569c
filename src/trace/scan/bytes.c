#include "trace/scan/bytes.h"

#include "trace/scan/bytes_inline.h"

#include <stddef.h>

static const char *quote_in_bytes(const char *p, const char *end)
{
	return quote_portable(p, end);
}

static const char *skip_in_bytes(struct scan_skip *s, const char *p, const char *end)
{
	return skip_portable(s, p, end);
}

static const struct scan_ops portable = { "portable", quote_in_bytes, skip_in_bytes,
	scan_event_portable };

#if defined(__x86_64__)

static const char *quote_in_16(const char *p, const char *end)
{
	return quote_sse2(p, end);
}

static const char *skip_in_16(struct scan_skip *s, const char *p, const char *end)
{
	return skip_sse2(s, p, end);
}

AVX2 static const char *skip_in_32(struct scan_skip *s, const char *p, const char *end)
{
	return skip_avx2(s, p, end);
}

static const struct scan_ops sse2 = { "sse2", quote_in_16, skip_in_16, scan_event_sse2 };
static const struct scan_ops avx2 = { "avx2", quote_in_16, skip_in_32, scan_event_avx2 };

#endif

const struct scan_ops *const *scan_ops_all(void)
{
	static const struct scan_ops *const all[] = {
		&portable,
#if defined(__x86_64__)
		&sse2,
		&avx2,
#endif
		NULL,
	};
	static const struct scan_ops *const without_avx2[] = {
		&portable,
#if defined(__x86_64__)
		&sse2,
#endif
		NULL,
	};
#if defined(__x86_64__)
	if (!__builtin_cpu_supports("avx2"))
		return without_avx2;
#endif
	(void)without_avx2;
	return all;
}

const struct scan_ops *scan_ops_best(void)
{
	static _Atomic(const struct scan_ops *) best;
	const struct scan_ops *known = best;
	if (known)
		return known;
	const struct scan_ops *const *ops = scan_ops_all();
	while (ops[1])
		ops++;
	best = *ops;
	return *ops;
}
