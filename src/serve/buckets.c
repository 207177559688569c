#include "serve/buckets.h"

#include "base/i18n.h"

#include <stdlib.h>

enum {
	EXACT = 64, /* lengths up to it have a cell each */
	PER_DOUBLING = 32,
	FIRST_LESSON = 128, /* lengths seen before the first edges are learned */
	LESSON = 1024,
	LENGTH_MAX = 1 << 20,
};

bool edges_parse(const char *text, struct batcher_edges *ret_edges, struct err *err)
{
	struct batcher_edges edges = { 0 };
	const char *at = text;
	for (bool more = true; more; edges.n++) {
		char *end;
		long edge = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
		if (edge < 1 || edge > LENGTH_MAX)
			return err_set(err, ERR_USAGE,
			        _("'%s' is not a list of lengths in tokens such as 64,128,256"),
			        text);
		if (edges.n > 0 && edge <= edges.at[edges.n - 1])
			return err_set(err, ERR_USAGE, _("the lengths '%s' do not ascend"), text);
		if (edges.n == BATCHER_EDGES_MAX)
			return err_set(err, ERR_USAGE, _("'%s' has more than %d lengths"), text,
			        BATCHER_EDGES_MAX);
		edges.at[edges.n] = (int)edge;
		more = *end == ',';
		at = end + more;
		if (!more && *end)
			return err_set(err, ERR_USAGE,
			        _("'%s' is not a list of lengths in tokens such as 64,128,256"),
			        text);
	}
	*ret_edges = edges;
	return true;
}

int edges_find(const struct batcher_edges *edges, int n_tokens)
{
	int i = 0;
	while (i < edges->n && n_tokens > edges->at[i])
		i++;
	return i;
}

/* Cell i holds the lengths above cell_top(i - 1) up to cell_top(i). */
static int cell_top(int i)
{
	if (i < EXACT)
		return i + 1;
	int doubling = (i - EXACT) / PER_DOUBLING, step = (i - EXACT) % PER_DOUBLING + 1;
	return (EXACT << doubling) + step * ((EXACT << doubling) / PER_DOUBLING);
}

static int cell_of(int n_tokens)
{
	int above = n_tokens - 1, doubling = 0;
	if (above < EXACT)
		return above;
	while (above >> doubling >= 2 * EXACT)
		doubling++;
	int base = EXACT << doubling;
	int i = EXACT + doubling * PER_DOUBLING + (above - base) / (base / PER_DOUBLING);
	return i < BUCKETS_CELLS ? i : BUCKETS_CELLS - 1;
}

bool buckets_see(struct bucket_learner *l, int n_tokens)
{
	l->counts[cell_of(n_tokens)]++;
	l->n_seen++;
	return l->n_seen >= (l->n_next ? l->n_next : FIRST_LESSON);
}

/* The cells that have something, with running sums, and the best splits of them. */
struct segments {
	int n, top[BUCKETS_CELLS];
	double count[BUCKETS_CELLS + 1], tokens[BUCKETS_CELLS + 1]; /* of the cells before */
	double least[BUCKETS_CELLS + 1];                    /* padding of the first so many */
	short from[BUCKETS_LEARNED + 1][BUCKETS_CELLS + 1]; /* where the last class begins */
};

static void gather(struct segments *s, const struct bucket_learner *l)
{
	s->n = 0;
	for (int i = 0; i < BUCKETS_CELLS; i++) {
		if (l->counts[i] == 0)
			continue;
		s->top[s->n] = cell_top(i);
		s->count[s->n + 1] = s->count[s->n] + l->counts[i];
		s->tokens[s->n + 1] = s->tokens[s->n] + (double)l->counts[i] * cell_top(i);
		s->n++;
	}
}

/* The padding when the cells from i up to, not including, j are one class. */
static double padding(const struct segments *s, int i, int j)
{
	return s->top[j - 1] * (s->count[j] - s->count[i]) - (s->tokens[j] - s->tokens[i]);
}

/* One more class: least[] of k - 1 classes becomes that of k. From the back, so in place. */
static void split_once_more(struct segments *s, int k)
{
	for (int j = s->n; j >= 1; j--) {
		double best = s->least[j];
		s->from[k][j] = 0;
		for (int i = 1; i < j; i++) {
			double cost = s->least[i] + padding(s, i, j);
			if (cost < best) {
				best = cost;
				s->from[k][j] = (short)i;
			}
		}
		s->least[j] = best;
	}
}

static void read_edges(const struct segments *s, int k, struct batcher_edges *ret_edges)
{
	int backwards[BUCKETS_LEARNED], n = 0;
	for (int j = s->n; j > 0; k--) {
		/* from 0: as good with fewer classes */
		while (k > 1 && s->from[k][j] == 0)
			k--;
		backwards[n++] = s->top[j - 1];
		j = k > 1 ? s->from[k][j] : 0;
	}
	ret_edges->n = n;
	for (int i = 0; i < n; i++)
		ret_edges->at[i] = backwards[n - 1 - i];
}

void buckets_learn(struct bucket_learner *l, int n_max, struct batcher_edges *ret_edges)
{
	struct segments s;
	s.count[0] = s.tokens[0] = 0;
	gather(&s, l);
	for (int j = 1; j <= s.n; j++)
		s.least[j] = padding(&s, 0, j);
	int k_max = n_max < BUCKETS_LEARNED ? n_max : BUCKETS_LEARNED;
	for (int k = 2; k <= k_max; k++)
		split_once_more(&s, k);
	read_edges(&s, k_max, ret_edges);
	for (int i = 0; i < BUCKETS_CELLS; i++)
		l->counts[i] /= 2;
	l->n_seen = 0;
	l->n_next = LESSON;
}
