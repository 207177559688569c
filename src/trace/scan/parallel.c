/*
 * A file read by several threads, block by block. That a block begins at an event is a guess; it
 * held when the block before ended exactly there, in the array of events, with nothing open. Where
 * it did not, all is read again by one thread: the answer is never another.
 */
#include "trace/scan/parallel.h"

#include "trace/scan/blocks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct worker {
	struct chrome_part part;
	struct scan scan;
	struct scan_blocks *blocks;
	struct timeline_run *runs; /* [n_runs], in the order that it read them */
	size_t n_runs, cap_runs;
	bool fits;     /* all of its blocks ended as they should */
	bool has_last; /* it read the last block */
};

static struct timeline_run *add_run(struct worker *w, size_t number)
{
	if (w->n_runs == w->cap_runs) {
		w->cap_runs = w->cap_runs ? w->cap_runs * 2 : 64;
		w->runs = mem_realloc(w->runs, w->cap_runs * sizeof *w->runs);
	}
	struct timeline_run *run = &w->runs[w->n_runs++];
	*run = (struct timeline_run){ .number = number };
	return run;
}

/* What the part holds now, beyond what it held before. */
static void count_run(const struct timeline *t, struct timeline_run *run, bool before)
{
	for (int g = 0; g < N_GROUPS; g++)
		run->n[g] = t->lists[g].n - (before ? 0 : run->n[g]);
	run->n_counters = t->n_counters - (before ? 0 : run->n_counters);
}

static bool read_block(struct worker *w, const struct scan_block *block)
{
	struct timeline_run *run = add_run(w, block->number);
	count_run(&w->part.t, run, true);
	if (block->number > 0)
		scan_begin_block(&w->scan);
	struct str text = buf_str(&block->text);
	bool all = scan_feed(&w->scan, text, block->last) == text.len;
	count_run(&w->part.t, run, false);
	if (block->last) {
		w->has_last = true;
		return !w->scan.unsure || block->number == 0;
	}
	return all && w->scan.state == SCAN_EVENTS && !w->scan.unsure;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct scan_block block = { 0 };
	while (w->fits && scan_blocks_take(w->blocks, &block)) {
		w->fits = read_block(w, &block);
		if (!w->fits)
			scan_blocks_give_up(w->blocks);
	}
	buf_release(&block.text);
	chrome_part_finish(&w->part);
	return NULL;
}

/* The caller is the first of the threads; one that cannot be started is not missed. */
static void work_all(struct worker *workers, size_t n)
{
	pthread_t *threads = mem_zeroed(n, sizeof *threads);
	bool *started = mem_zeroed(n, sizeof *started);
	for (size_t i = 1; i < n; i++) {
		started[i] = pthread_create(&threads[i], NULL, work, &workers[i]) == 0;
		if (!started[i])
			chrome_part_finish(&workers[i].part);
	}
	work(&workers[0]);
	for (size_t i = 1; i < n; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
	free(threads);
	free(started);
}

static int by_number(const void *a, const void *b)
{
	const struct timeline_run *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

/* How the file begins is known to who read that, how it ends to who read this. */
static bool is_whole(const struct worker *workers, size_t n)
{
	struct scan last = { 0 };
	bool in_array = false;
	for (size_t i = 0; i < n; i++) {
		if (workers[i].has_last)
			last = workers[i].scan;
		in_array |= workers[i].scan.in_array;
	}
	last.in_array = in_array;
	return scan_is_whole(&last);
}

static void join(struct timeline *t, struct worker *workers, size_t n, size_t n_blocks)
{
	struct timeline **parts = mem_zeroed(n, sizeof(struct timeline *));
	struct timeline_run *runs = mem_zeroed(n_blocks + 1, sizeof *runs);
	size_t n_runs = 0;
	for (size_t i = 0; i < n; i++) {
		parts[i] = &workers[i].part.t;
		for (size_t r = 0; r < workers[i].n_runs; r++) {
			runs[n_runs] = workers[i].runs[r];
			runs[n_runs++].part = i;
		}
	}
	qsort(runs, n_runs, sizeof *runs, by_number);
	timeline_join(t, parts, n, runs, n_runs);
	t->truncated = !is_whole(workers, n);
	free(parts);
	free(runs);
}

bool scan_parallel(struct source *source, const struct chrome_dialect *dialect,
        const struct scan_way *way, struct timeline *t)
{
	size_t n = way->n_threads;
	struct scan_blocks blocks;
	struct worker *workers = mem_zeroed(n, sizeof *workers);
	scan_blocks_init(&blocks, source, way->block_bytes);
	for (size_t i = 0; i < n; i++) {
		struct worker *w = &workers[i];
		chrome_part_init(&w->part, dialect, t);
		scan_init(&w->scan, way->ops, &w->part);
		w->blocks = &blocks;
		w->fits = true;
	}
	work_all(workers, n);
	bool fits = blocks.ended && !blocks.given_up;
	if (fits) {
		join(t, workers, n, blocks.n_taken);
		t->n_bytes = blocks.n_bytes;
	}
	for (size_t i = 0; i < n; i++) {
		timeline_release(&workers[i].part.t);
		free(workers[i].runs);
	}
	free(workers);
	scan_blocks_release(&blocks);
	return fits;
}
