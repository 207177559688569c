/*
 * splits.h - cuts an input into reads in every way that a parser must not notice.
 */
#ifndef VENTURI_TESTS_SPLITS_H
#define VENTURI_TESTS_SPLITS_H

#include <stdbool.h>
#include <stddef.h>

enum { SPLITS_INPUT_MAX = 4096 };

/* ends[i] is where the i-th read ends; the last is the length of the input. False: enough. */
typedef bool (*splits_feed)(void *ctx, const size_t *ends, size_t n_ends);

/* Reads of size bytes each; n divided by size must not exceed SPLITS_INPUT_MAX. */
static inline bool splits_by(size_t n, size_t size, splits_feed feed, void *ctx)
{
	size_t ends[SPLITS_INPUT_MAX], n_ends = 0;
	for (size_t at = size; at < n; at += size)
		ends[n_ends++] = at;
	ends[n_ends++] = n;
	return feed(ctx, ends, n_ends);
}

/* One read, then byte by byte, then every cut into two and into three. */
static inline bool splits_each(size_t n, splits_feed feed, void *ctx)
{
	bool good = splits_by(n, n, feed, ctx) && splits_by(n, 1, feed, ctx);
	for (size_t a = 1; a < n && good; a++) {
		good = feed(ctx, (size_t[]){ a, n }, 2);
		for (size_t b = a + 1; b < n && good; b++)
			good = feed(ctx, (size_t[]){ a, b, n }, 3);
	}
	return good;
}

#endif
