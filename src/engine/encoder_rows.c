/* How the sequences of a batch become rows, and the rows blocks. */
#include "engine/encoder_parts.h"

#include <stdlib.h>

/* With fewer rows to a thread than this the columns of each product are shared out instead. */
enum { CHAIN_ROWS_MIN = 32 };
/* With fewer blocks to a thread than this, that they are even matters more than where they end. */
enum { EVEN_BLOCKS_MAX = 4 };
enum { CUT_MOVES_MAX = 16 };

int encoder_sequence_of(const struct encoder_session *s, int row)
{
	int low = 0, high = s->batch->n;
	while (high - low > 1) {
		int middle = (low + high) / 2;
		if (s->first_row[middle] <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void add_cut(struct encoder_session *s, int row)
{
	if (row > s->cuts[s->n_cuts])
		s->cuts[++s->n_cuts] = row;
}

/* A cut near which a sequence begins moves there: its keys are then read by one block less. */
static int at_sequence(const struct encoder_session *s, int row)
{
	int i = encoder_sequence_of(s, row);
	int before = row - s->first_row[i], after = s->first_row[i + 1] - row;
	if (before <= CUT_MOVES_MAX)
		return row - before;
	return after <= CUT_MOVES_MAX ? row + after : row;
}

/* For few rows: blocks of about the same size, as many as threads or a multiple. */
static void cut_evenly(struct encoder_session *s)
{
	int n_threads = pool_n_threads(s->pool);
	int all_rows = (ENCODER_BLOCK_ROWS - 2 * CUT_MOVES_MAX) * n_threads;
	int n = (s->n_rows + all_rows - 1) / all_rows * n_threads;
	for (int i = 1; i < n; i++)
		add_cut(s, at_sequence(s, (int)((int64_t)s->n_rows * i / n)));
	add_cut(s, s->n_rows);
}

/* For many: whole sequences as long as they go into a block, longer ones in even pieces. */
static void cut_by_sequences(struct encoder_session *s)
{
	for (int i = 0; i < s->batch->n; i++) {
		int first = s->first_row[i], end = s->first_row[i + 1], n = end - first;
		if (end - s->cuts[s->n_cuts] > ENCODER_BLOCK_ROWS)
			add_cut(s, first);
		int pieces = (n + ENCODER_BLOCK_ROWS - 1) / ENCODER_BLOCK_ROWS;
		for (int j = 1; j < pieces; j++)
			add_cut(s, first + (int)((int64_t)n * j / pieces));
	}
	add_cut(s, s->n_rows);
}

static void cut(struct encoder_session *s)
{
	int n_threads = pool_n_threads(s->pool);
	s->n_cuts = s->cuts[0] = 0;
	if (s->n_rows < CHAIN_ROWS_MIN * n_threads)
		return;
	(s->n_rows < EVEN_BLOCKS_MAX * ENCODER_BLOCK_ROWS * n_threads ? cut_evenly
	                                                              : cut_by_sequences)(s);
}

/* A padding row is token 0 at its position: computed like any other, seen by none. */
void encoder_lay_out(struct encoder_session *s, const struct encoder_batch *b)
{
	int row = 0;
	size_t scores = 0;
	s->batch = b;
	s->n_blocks = 0;
	for (int i = 0; i < b->n; i++) {
		const int32_t *types = b->types ? b->types[i] : NULL;
		int n = b->pad_to ? b->pad_to : b->lengths[i];
		s->first_row[i] = row;
		s->first_score[i] = scores;
		size_t columns = ((size_t)n + ENCODER_PANEL_MAX - 1) / ENCODER_PANEL_MAX;
		scores += (size_t)s->e->config.n_heads * (size_t)n * columns * ENCODER_PANEL_MAX;
		for (int j = 0; j < n; j++, row++) {
			bool real = j < b->lengths[i];
			s->ids[row] = real ? b->ids[i][j] : 0;
			s->row_types[row] = real && types ? types[j] : 0;
			s->row_positions[row] = j + s->e->config.position_offset;
		}
		for (int q = 0; q < n; q += ENCODER_QUERIES, s->n_blocks++) {
			s->blocks[2 * s->n_blocks] = i;
			s->blocks[2 * s->n_blocks + 1] = q;
		}
	}
	s->first_row[b->n] = row;
	s->n_rows = row;
	s->not_finite = false;
	cut(s);
}
