#include "stats/select.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int64_t median_of_three(int64_t a, int64_t b, int64_t c)
{
	if (a < b)
		return b < c ? b : a < c ? c : a;
	return a < c ? a : b < c ? c : b;
}

/* Parts [low, high] so that none up to the index returned is above any behind it. */
static size_t part(int64_t *v, size_t low, size_t high)
{
	/* At least two of the values sampled are no smaller: the upper part is never empty. */
	int64_t pivot = median_of_three(v[low], v[low + (high - low) / 2], v[high]);
	size_t i = low, j = high;
	for (;; i++, j--) {
		while (v[i] < pivot)
			i++;
		while (v[j] > pivot)
			j--;
		if (i >= j)
			return j;
		int64_t swap = v[i];
		v[i] = v[j];
		v[j] = swap;
	}
}

int64_t select_i64(int64_t *v, size_t n, size_t k)
{
	/* Halving needs 64 rounds at most. */
	enum { ROUNDS = 64 };
	size_t low = 0, high = n - 1;
	for (int round = 0; low < high; round++) {
		if (round == ROUNDS) {
			qsort(v + low, high - low + 1, sizeof *v, by_value);
			break;
		}
		size_t j = part(v, low, high);
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[k];
}

int64_t select_median(int64_t *v, size_t n)
{
	return select_i64(v, n, (n - 1) / 2);
}
