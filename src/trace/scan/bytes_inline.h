/*
 * bytes_inline.h - the loops of bytes.h, to be inlined where they are hot: for bytes.c and event.c.
 *
 * What is written once here becomes portable code, SSE2 or AVX2 through the functions that it is
 * given, which are constants where it is used.
 */
#ifndef VENTURI_TRACE_SCAN_BYTES_INLINE_H
#define VENTURI_TRACE_SCAN_BYTES_INLINE_H

#include "trace/scan/bytes.h"

#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE __attribute__((always_inline)) static inline

static inline const char *quote_portable(const char *p, const char *end)
{
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* One byte inside a string. */
static inline void skip_in_string(struct scan_skip *s, char c)
{
	if (s->escaped) {
		s->escaped = false;
	} else if (c == '\\') {
		s->escaped = true;
	} else if (c == '"') {
		s->in_string = false;
		s->closed = true;
	}
}

static inline const char *skip_portable(struct scan_skip *s, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (s->in_string) {
			skip_in_string(s, *p);
			continue;
		}
		if (s->closed && !scan_may_follow(*p)) {
			s->broken = true;
			return NULL;
		}
		s->closed = false;
		if (*p == '"') {
			s->in_string = true;
		} else if (*p == '{' || *p == '[') {
			s->depth++;
		} else if ((*p == '}' || *p == ']') && --s->depth <= 0) {
			return p + 1;
		}
	}
	return NULL;
}

/* The first byte that may follow a value, in [p, end), or end. */
static inline const char *word_portable(const char *p, const char *end)
{
	while (p < end && !scan_may_follow(*p))
		p++;
	return p;
}

#if defined(__x86_64__)

enum { WORD = 64 };

/* What 64 bytes are, a bit for each. */
struct masks {
	uint64_t quote, backslash, open, close, follow;
};

/* Bits that are escaped by a backslash before them; *carry: the first one is. */
INLINE uint64_t escaped_bits(uint64_t backslash, uint64_t *carry)
{
	uint64_t escaped = *carry;
	backslash &= ~escaped;
	*carry = 0;
	while (backslash) {
		int at = __builtin_ctzll(backslash);
		if (at == WORD - 1) {
			*carry = 1;
			break;
		}
		escaped |= UINT64_C(2) << at;
		backslash &= ~(UINT64_C(3) << at);
	}
	return escaped;
}

/* Bit i: how many of the bits up to i are set, modulo 2. */
INLINE uint64_t prefix_xor(uint64_t x)
{
	x ^= x << 1;
	x ^= x << 2;
	x ^= x << 4;
	x ^= x << 8;
	x ^= x << 16;
	x ^= x << 32;
	return x;
}

/* The bit where depth falls to 0, or 64; depth is then that behind the word. */
INLINE int closing_bit(int64_t *depth, uint64_t open, uint64_t close)
{
	int n_close = __builtin_popcountll(close);
	if (n_close < *depth) {
		*depth += __builtin_popcountll(open) - n_close;
		return WORD;
	}
	int64_t closed = 0;
	for (uint64_t left = close; left; left &= left - 1) {
		int at = __builtin_ctzll(left);
		uint64_t below = (UINT64_C(1) << at) - 1;
		closed++;
		if (*depth + __builtin_popcountll(open & below) - closed <= 0)
			return at;
	}
	*depth += __builtin_popcountll(open) - n_close;
	return WORD;
}

enum { WORD_BROKEN = -1, WORD_BY_BYTES = -2 };

/*
 * One word of a text: the bit of the closing bracket, or 64 when it is not in it, or WORD_BROKEN.
 * WORD_BY_BYTES when a backslash stands outside a string, where it escapes nothing; s is then as
 * it was.
 */
INLINE int skip_word(struct scan_skip *s, const struct masks *m)
{
	uint64_t carry = s->escaped, quote = m->quote;
	if (__builtin_expect((m->backslash | carry) != 0, 0))
		quote &= ~escaped_bits(m->backslash, &carry);
	/* From an opening quote on, without the closing one. */
	uint64_t inside = prefix_xor(quote) ^ (s->in_string ? ~UINT64_C(0) : 0);
	if (__builtin_expect((m->backslash & ~inside) != 0, 0))
		return WORD_BY_BYTES;
	uint64_t closing = quote & ~inside;
	uint64_t bad = (closing << 1 | s->closed) & ~m->follow;
	int at = closing_bit(&s->depth, m->open & ~inside, m->close & ~inside);
	if (__builtin_expect(bad != 0, 0) && __builtin_ctzll(bad) < at)
		return WORD_BROKEN;
	s->in_string = inside >> (WORD - 1);
	s->closed = closing >> (WORD - 1);
	s->escaped = carry;
	return at;
}

typedef struct masks masks_of(const char *p);

INLINE const char *skip_words(struct scan_skip *s, const char *p, const char *end, masks_of *masks)
{
	for (; end - p >= WORD; p += WORD) {
		struct masks m = masks(p);
		int at = skip_word(s, &m);
		if (__builtin_expect(at >= 0, 1)) {
			if (at < WORD)
				return p + at + 1;
		} else if (at == WORD_BROKEN) {
			s->broken = true;
			return NULL;
		} else {
			const char *after = skip_portable(s, p, p + WORD);
			if (after || s->broken)
				return after;
		}
	}
	return skip_portable(s, p, end);
}

/* The bytes that may follow a value: scan_may_follow. */
INLINE __m128i follow_sse2(__m128i v)
{
	__m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
	__m128i blank = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(' ')), v);
	__m128i points = _mm_or_si128(
	        _mm_cmpeq_epi8(v, _mm_set1_epi8(',')), _mm_cmpeq_epi8(v, _mm_set1_epi8(':')));
	return _mm_or_si128(
	        _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')), blank), points);
}

INLINE struct masks masks_sse2(const char *p)
{
	struct masks m = { 0 };
	for (int i = 0; i < WORD / 16; i++) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
		__m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
		__m128i close = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
#define BITS(x) ((uint64_t)(uint32_t)_mm_movemask_epi8(x) << (16 * i))
		m.quote |= BITS(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
		m.backslash |= BITS(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		m.open |= BITS(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
		m.close |= BITS(close);
		m.follow |= BITS(follow_sse2(v));
#undef BITS
	}
	return m;
}

INLINE const char *quote_sse2(const char *p, const char *end)
{
	while (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
		        _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		int bits = _mm_movemask_epi8(hit);
		if (bits)
			return p + __builtin_ctz((unsigned)bits);
		p += 16;
	}
	return quote_portable(p, end);
}

INLINE const char *word_sse2(const char *p, const char *end)
{
	while (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		int bits = _mm_movemask_epi8(follow_sse2(v));
		if (bits)
			return p + __builtin_ctz((unsigned)bits);
		p += 16;
	}
	return word_portable(p, end);
}

INLINE const char *skip_sse2(struct scan_skip *s, const char *p, const char *end)
{
	return skip_words(s, p, end, masks_sse2);
}

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

AVX2 INLINE struct masks masks_avx2(const char *p)
{
	struct masks m = { 0 };
	for (int i = 0; i < WORD / 32; i++) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * i));
		__m256i folded = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
		__m256i close = _mm256_cmpeq_epi8(folded, _mm256_set1_epi8('}'));
		__m256i blank = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(' ')), v);
		__m256i follow = _mm256_or_si256(_mm256_or_si256(close, blank),
		        _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(',')),
		                _mm256_cmpeq_epi8(v, _mm256_set1_epi8(':'))));
#define BITS(x) ((uint64_t)(uint32_t)_mm256_movemask_epi8(x) << (32 * i))
		m.quote |= BITS(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')));
		m.backslash |= BITS(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\')));
		m.open |= BITS(_mm256_cmpeq_epi8(folded, _mm256_set1_epi8('{')));
		m.close |= BITS(close);
		m.follow |= BITS(follow);
#undef BITS
	}
	return m;
}

AVX2 INLINE const char *skip_avx2(struct scan_skip *s, const char *p, const char *end)
{
	return skip_words(s, p, end, masks_avx2);
}

#endif /* __x86_64__ */

/* The ways that every machine of a kind has: for what is not called through a scan_ops. */
#if defined(__x86_64__)
#define quote_here quote_sse2
#define word_here word_sse2
#else
#define quote_here quote_portable
#define word_here word_portable
#endif

#endif
