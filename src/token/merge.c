#include "token/merge.h"

#include "base/arena.h"

#include <stdlib.h>

void merge_clear(struct merge *m)
{
	m->n = m->n_pairs = 0;
}

void merge_release(struct merge *m)
{
	free(m->symbols);
	free(m->pairs);
	*m = (struct merge){ 0 };
}

void merge_add(struct merge *m, uint32_t start, uint32_t len, int32_t id)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 64;
		m->symbols = mem_realloc(m->symbols, m->cap * sizeof(*m->symbols));
	}
	int32_t at = (int32_t)m->n++;
	m->symbols[at] = (struct symbol){ start, len, at - 1, at + 1, id };
}

/* Whether a goes before b: the lower rank, then the place further left. */
static bool pair_before(const struct merge_pair *a, const struct merge_pair *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void push(struct merge *m, struct merge_pair pair)
{
	if (m->n_pairs == m->cap_pairs) {
		m->cap_pairs = m->cap_pairs ? 2 * m->cap_pairs : 64;
		m->pairs = mem_realloc(m->pairs, m->cap_pairs * sizeof(*m->pairs));
	}
	size_t i = m->n_pairs++;
	while (i > 0 && pair_before(&pair, &m->pairs[(i - 1) / 2])) {
		m->pairs[i] = m->pairs[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	m->pairs[i] = pair;
}

static struct merge_pair pop(struct merge *m)
{
	struct merge_pair top = m->pairs[0], last = m->pairs[--m->n_pairs];
	size_t i = 0;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= m->n_pairs)
			break;
		if (child + 1 < m->n_pairs && pair_before(&m->pairs[child + 1], &m->pairs[child]))
			child++;
		if (!pair_before(&m->pairs[child], &last))
			break;
		m->pairs[i] = m->pairs[child];
		i = child;
	}
	m->pairs[i] = last;
	return top;
}

/* Queues a pair of neighbours if they may be merged. */
static void consider(
        struct merge *m, int32_t left, int32_t right, merge_rank *rank, const void *context)
{
	struct merge_pair pair = { .left = left, .right = right };
	if (left == NO_SYMBOL || right == NO_SYMBOL)
		return;
	const struct symbol *a = &m->symbols[left], *b = &m->symbols[right];
	pair.len = a->len + b->len;
	if (rank(context, a, b, &pair.rank, &pair.id))
		push(m, pair);
}

void merge_all(struct merge *m, merge_rank *rank, const void *context)
{
	if (m->n > 0)
		m->symbols[m->n - 1].next = NO_SYMBOL;
	for (size_t i = 1; i < m->n; i++)
		consider(m, (int32_t)i - 1, (int32_t)i, rank, context);
	while (m->n_pairs > 0) {
		struct merge_pair p = pop(m);
		struct symbol *left = &m->symbols[p.left], *right = &m->symbols[p.right];
		if (left->len == 0 || right->len == 0 || left->len + right->len != p.len)
			continue;
		left->len = p.len;
		left->id = p.id;
		left->next = right->next;
		right->len = 0;
		if (left->next != NO_SYMBOL)
			m->symbols[left->next].prev = p.left;
		consider(m, left->prev, p.left, rank, context);
		consider(m, p.left, left->next, rank, context);
	}
}
