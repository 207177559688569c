#include "serve/batcher.h"

#include "base/arena.h"

#include <stdlib.h>

enum { QUEUES = BATCHER_EDGES_MAX + 1 };

/* How much of what was learned about speed a batch leaves of what was known before. */
#define SPEED_KEPT 0.875

/* Of one lane and one bucket; oldest first. */
struct queue {
	struct batcher_item *first, *last;
	int64_t n, n_tokens;
};

struct lane {
	struct queue queues[QUEUES];
	int64_t work; /* its virtual time: rows computed, see join_turns */
	struct batcher_lane_state state;
};

struct batcher {
	struct batcher_options options;
	struct batcher_edges buckets;
	struct bucket_learner learner;
	int n_lanes;
	struct lane lanes[BATCHER_LANES_MAX];
	int64_t n_waiting;
	int64_t work; /* virtual time: of the lane that was chosen last, before it was */
	int i_jumped; /* the lane that jumped the turns last; -1: none since everybody had one */
	int64_t computing; /* rows taken and not yet done */
	int64_t taken_ns, done_ns;
	double spent_ns, spent_rows; /* of batches computed, fading */
};

struct batcher *batcher_new(const struct batcher_options *options)
{
	struct batcher *b = mem_zeroed(1, sizeof(*b));
	b->options = *options;
	b->buckets = options->buckets;
	b->n_lanes = options->lanes.n + 1;
	b->i_jumped = -1;
	b->done_ns = INT64_MIN / 2;
	return b;
}

void batcher_free(struct batcher *b)
{
	free(b);
}

static void queue_append(struct queue *q, struct batcher_item *item)
{
	item->prev = q->last;
	item->next = NULL;
	*(q->last ? &q->last->next : &q->first) = item;
	q->last = item;
	q->n++;
	q->n_tokens += item->n_tokens;
}

static void queue_unlink(struct queue *q, struct batcher_item *item)
{
	*(item->prev ? &item->prev->next : &q->first) = item->next;
	*(item->next ? &item->next->prev : &q->last) = item->prev;
	q->n--;
	q->n_tokens -= item->n_tokens;
}

static int bucket_of(const struct batcher *b, int n_tokens)
{
	return b->options.padded ? edges_find(&b->buckets, n_tokens) : 0;
}

/* A lane that was empty starts where the others are now: no claim, and no debt beyond its last. */
static void join_turns(const struct batcher *b, struct lane *lane)
{
	if (lane->state.waiting == 0 && lane->work < b->work)
		lane->work = b->work;
}

static void leave_queue(struct batcher *b, struct batcher_item *item)
{
	struct lane *lane = &b->lanes[item->lane];
	queue_unlink(&lane->queues[item->bucket], item);
	lane->state.waiting--;
	lane->state.waiting_tokens -= item->n_tokens;
	b->n_waiting--;
	item->waiting = false;
}

/* The queue of a lane whose first is the oldest; NULL: the lane is empty. */
static struct queue *oldest_queue(struct lane *lane)
{
	struct queue *oldest = NULL;
	for (int i = 0; i < QUEUES; i++) {
		struct queue *q = &lane->queues[i];
		if (q->first && (!oldest || q->first->arrived_ns < oldest->first->arrived_ns))
			oldest = q;
	}
	return oldest;
}

/* What waits in a lane goes to the buckets that there are now, in order of arrival. */
static void sort_again(const struct batcher *b, struct lane *lane)
{
	struct queue all = { 0 }, *q;
	while ((q = oldest_queue(lane))) {
		struct batcher_item *item = q->first;
		queue_unlink(q, item);
		queue_append(&all, item);
	}
	while (all.first) {
		struct batcher_item *item = all.first;
		queue_unlink(&all, item);
		item->bucket = bucket_of(b, item->n_tokens);
		queue_append(&lane->queues[item->bucket], item);
	}
}

static void learn_length(struct batcher *b, int n_tokens)
{
	if (!b->options.learn_buckets || !buckets_see(&b->learner, n_tokens))
		return;
	buckets_learn(&b->learner, BUCKETS_LEARNED, &b->buckets);
	for (int i = 0; i < b->n_lanes; i++)
		sort_again(b, &b->lanes[i]);
}

void batcher_put(struct batcher *b, struct batcher_item *item)
{
	learn_length(b, item->n_tokens);
	item->lane = edges_find(&b->options.lanes, item->n_tokens);
	item->bucket = bucket_of(b, item->n_tokens);
	item->waiting = true;
	struct lane *lane = &b->lanes[item->lane];
	join_turns(b, lane);
	queue_append(&lane->queues[item->bucket], item);
	lane->state.waiting++;
	lane->state.waiting_tokens += item->n_tokens;
	b->n_waiting++;
}

bool batcher_remove(struct batcher *b, struct batcher_item *item)
{
	if (!item->waiting)
		return false;
	leave_queue(b, item);
	return true;
}

struct batcher_item *batcher_take_late(struct batcher *b, int64_t now_ns)
{
	for (int i = 0; i < b->n_lanes; i++)
		for (int k = 0; k < QUEUES; k++) {
			struct batcher_item *item = b->lanes[i].queues[k].first;
			if (item && item->deadline_ns && item->deadline_ns <= now_ns) {
				leave_queue(b, item);
				return item;
			}
		}
	return NULL;
}

static double ns_per_row(const struct batcher *b)
{
	return b->spent_rows > 0 ? b->spent_ns / b->spent_rows : 0;
}

static double computing_ns(const struct batcher *b, int64_t now_ns)
{
	double left = (double)b->computing * ns_per_row(b) - (double)(now_ns - b->taken_ns);
	return b->computing && left > 0 ? left : 0;
}

/*
 * How many tokens are computed before the last of n_own that come to a lane now: all that waits in
 * it, and of every other lane as much at most, and a batch, as the turns have it.
 */
static int64_t tokens_ahead(const struct batcher *b, int i_own, int64_t n_own)
{
	int64_t own = b->lanes[i_own].state.waiting_tokens + n_own;
	int64_t ahead = own;
	for (int i = 0; i < b->n_lanes; i++) {
		int64_t waiting = b->lanes[i].state.waiting_tokens;
		int64_t share = own + b->options.max_tokens;
		if (i != i_own)
			ahead += b->options.max_tokens && waiting > share ? share : waiting;
	}
	return ahead;
}

int64_t batcher_backlog_ns(const struct batcher *b, int64_t now_ns)
{
	int64_t n = 0;
	for (int i = 0; i < b->n_lanes; i++)
		n += b->lanes[i].state.waiting_tokens;
	return (int64_t)((double)n * ns_per_row(b) + computing_ns(b, now_ns));
}

enum batcher_verdict batcher_admit(const struct batcher *b, int64_t n, int64_t n_tokens,
        int n_longest, int64_t deadline_ns, int64_t now_ns, int64_t *ret_retry_ns)
{
	int64_t queue_max = b->options.queue_max;
	if (queue_max > 0 && b->n_waiting > 0 && b->n_waiting + n > queue_max) {
		*ret_retry_ns = batcher_backlog_ns(b, now_ns);
		return BATCHER_FULL;
	}
	if (deadline_ns == 0)
		return BATCHER_QUEUED;
	int i_lane = edges_find(&b->options.lanes, n_longest);
	double takes =
	        (double)tokens_ahead(b, i_lane, n_tokens) * ns_per_row(b) + computing_ns(b, now_ns);
	double late = takes - (double)(deadline_ns - now_ns);
	if (late <= 0 && now_ns < deadline_ns)
		return BATCHER_QUEUED;
	*ret_retry_ns = late > 0 ? (int64_t)late : 0;
	return BATCHER_TOO_LATE;
}

enum batcher_verdict batcher_add(
        struct batcher *b, struct batcher_item *item, int64_t now_ns, int64_t *ret_retry_ns)
{
	enum batcher_verdict verdict = batcher_admit(
	        b, 1, item->n_tokens, item->n_tokens, item->deadline_ns, now_ns, ret_retry_ns);
	if (verdict == BATCHER_QUEUED)
		batcher_put(b, item);
	return verdict;
}

/* How many rows each sequence of a batch takes when this one, the longest, is among them. */
static int padded_length(const struct batcher *b, const struct batcher_item *item)
{
	int n = item->n_tokens;
	if (item->bucket < b->buckets.n)
		n = b->buckets.at[item->bucket];
	n = n > b->options.pad_least ? n : b->options.pad_least;
	return b->options.pad_most && n > b->options.pad_most ? b->options.pad_most : n;
}

static bool is_full(const struct batcher *b, const struct queue *q)
{
	if (b->options.batching == BATCHING_NONE || q->n >= b->options.max_batch)
		return true;
	/* An understatement when padded, which only means to wait for a little more. */
	return b->options.max_tokens > 0 && q->n_tokens >= b->options.max_tokens;
}

/* When a batch of what is in the queue is to go at the latest; q is not empty. */
static int64_t due_ns(const struct batcher *b, const struct queue *q)
{
	const struct batcher_options *o = &b->options;
	const struct batcher_item *first = q->first;
	if (is_full(b, q))
		return first->arrived_ns;
	int64_t due = first->arrived_ns + o->max_wait_ns;
	int64_t idle = b->done_ns + o->max_wait_ns;
	if (o->batching == BATCHING_DYNAMIC && due > idle)
		due = idle;
	int64_t takes = (int64_t)((double)q->n_tokens * ns_per_row(b));
	if (first->deadline_ns && due > first->deadline_ns - takes)
		due = first->deadline_ns - takes;
	return due;
}

/* The queue of a lane that is due and has the oldest first; NULL and maybe an earlier wake. */
static struct queue *ready_queue(
        const struct batcher *b, struct lane *lane, int64_t now_ns, int64_t *wake_ns)
{
	struct queue *ready = NULL;
	for (int i = 0; i < QUEUES; i++) {
		struct queue *q = &lane->queues[i];
		if (!q->first)
			continue;
		int64_t due = due_ns(b, q);
		if (due > now_ns)
			*wake_ns = due < *wake_ns ? due : *wake_ns;
		else if (!ready || q->first->arrived_ns < ready->first->arrived_ns)
			ready = q;
	}
	return ready;
}

struct choice {
	int lane;
	struct queue *queue;
};

/* The lane whose turn it is; lane -1: none is ready. */
static struct choice choose(struct batcher *b, int64_t now_ns, int64_t *wake_ns)
{
	struct choice turn = { -1, NULL }, starved = { -1, NULL };
	for (int i = 0; i < b->n_lanes; i++) {
		struct lane *lane = &b->lanes[i];
		struct queue *q =
		        lane->state.waiting ? ready_queue(b, lane, now_ns, wake_ns) : NULL;
		if (!q)
			continue;
		if (turn.lane < 0 || lane->work < b->lanes[turn.lane].work)
			turn = (struct choice){ i, q };
		if (i == b->i_jumped || now_ns - q->first->arrived_ns < b->options.starve_ns)
			continue;
		if (!starved.queue || q->first->arrived_ns < starved.queue->first->arrived_ns)
			starved = (struct choice){ i, q };
	}
	bool jumps = b->options.starve_ns > 0 && starved.lane >= 0;
	b->i_jumped = jumps && starved.lane != turn.lane ? starved.lane : -1;
	return jumps ? starved : turn;
}

/* Rows of the batch with one more; ret_pad_to is what each sequence of it would take then. */
static int64_t rows_with(const struct batcher *b, const struct batch *batch,
        const struct batcher_item *item, int *ret_pad_to)
{
	if (!b->options.padded) {
		*ret_pad_to = 0;
		return batch->n_rows + item->n_tokens;
	}
	int length = padded_length(b, item);
	*ret_pad_to = length > batch->pad_to ? length : batch->pad_to;
	return (int64_t)*ret_pad_to * (batch->n + 1);
}

static void fill(struct batcher *b, struct queue *q, struct batch *batch)
{
	int n_max = b->options.batching == BATCHING_NONE ? 1 : b->options.max_batch;
	int64_t rows_max = b->options.max_tokens;
	while (q->first && batch->n < n_max) {
		struct batcher_item *item = q->first;
		int pad_to;
		int64_t rows = rows_with(b, batch, item, &pad_to);
		if (batch->n > 0 && rows_max > 0 && rows > rows_max)
			break;
		leave_queue(b, item);
		batch->items[batch->n++] = item;
		batch->n_tokens += item->n_tokens;
		batch->n_rows = rows;
		batch->pad_to = pad_to;
	}
}

bool batcher_take(struct batcher *b, int64_t now_ns, struct batch *batch, int64_t *ret_wake_ns)
{
	int64_t wake = INT64_MAX;
	struct choice c = choose(b, now_ns, &wake);
	if (c.lane < 0) {
		*ret_wake_ns = wake;
		return false;
	}
	*batch = (struct batch){ .items = batch->items, .lane = c.lane };
	fill(b, c.queue, batch);
	struct lane *lane = &b->lanes[c.lane];
	b->work = lane->work;
	lane->work += batch->n_rows;
	lane->state.batches++;
	lane->state.items += (uint64_t)batch->n;
	lane->state.tokens += (uint64_t)batch->n_tokens;
	lane->state.padding += (uint64_t)(batch->n_rows - batch->n_tokens);
	b->computing += batch->n_rows;
	b->taken_ns = now_ns;
	return true;
}

void batcher_done(struct batcher *b, const struct batch *batch, int64_t took_ns, int64_t now_ns)
{
	b->computing -= batch->n_rows;
	b->done_ns = now_ns;
	b->spent_ns = SPEED_KEPT * b->spent_ns + (double)took_ns;
	b->spent_rows = SPEED_KEPT * b->spent_rows + (double)batch->n_rows;
}

int64_t batcher_waiting(const struct batcher *b)
{
	return b->n_waiting;
}

int batcher_n_lanes(const struct batcher *b)
{
	return b->n_lanes;
}

struct batcher_lane_state batcher_lane(const struct batcher *b, int lane)
{
	return b->lanes[lane].state;
}

struct batcher_edges batcher_buckets(const struct batcher *b)
{
	return b->buckets;
}
