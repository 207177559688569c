#include "load/recorder.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "load/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often the writer looks: 15 blocks of a worker in that time are 98 MB/s. */
static const int64_t look_every_ns = 10 * NS_PER_MS;
/* What a killed run loses at most, besides what the writer has in hand. */
static const int64_t block_age_max_ns = NS_PER_S;

struct recorder {
	const char *path;
	int fd;
	int n_lanes;
	struct recorder_lane *lanes;
	uint8_t *memory;            /* of all blocks */
	const struct load_run *run; /* for the header */
	pthread_t thread;
	_Atomic int64_t start_ns; /* 0: not yet */
	atomic_bool stop;
	/* the writer's own */
	bool has_head;
	int failed; /* errno of the first write that failed: nothing is written any more */
	int64_t bytes;
	int64_t requests, lost_requests, lost_gaps;
};

/* ---- the worker's side ---- */

/* The block to append to; NULL when the writer has all of them. */
static struct records_block *open_block(struct recorder_lane *lane)
{
	uint64_t head = atomic_load_explicit(&lane->head, memory_order_relaxed);
	struct records_block *b = &lane->blocks[head % RECORDER_BLOCKS];
	if (lane->filling)
		return b;
	if (head - atomic_load_explicit(&lane->tail, memory_order_acquire) >= RECORDER_BLOCKS)
		return NULL;
	records_block_begin(b, lane->worker);
	lane->filling = true;
	lane->begun_ns = lane->now_ns;
	return b;
}

static void pass_block(struct recorder_lane *lane)
{
	lane->filling = false;
	atomic_fetch_add_explicit(&lane->head, 1, memory_order_release);
}

static struct records_block *block_with_room(struct recorder_lane *lane)
{
	struct records_block *b = open_block(lane);
	if (!b || b->len + RECORDS_ENTRY_MAX <= RECORDER_BLOCK_BYTES)
		return b;
	pass_block(lane);
	return open_block(lane);
}

/* A stamp that an exchange holds as 0 when it has not come. */
static int64_t since(int64_t start_ns, int64_t stamp_ns)
{
	return stamp_ns ? stamp_ns - start_ns : RECORDS_NONE;
}

static void fill_reply(struct records_request *r, const struct reply *reply)
{
	int64_t tokens = reply_output_tokens(reply, &r->source);
	r->input_tokens = reply->input_tokens >= 0 ? reply->input_tokens : RECORDS_NONE;
	r->output_tokens = tokens > 0 ? tokens : RECORDS_NONE;
}

void recorder_request(
        struct recorder_lane *lane, const struct exchange *x, const struct recorder_end *end)
{
	int64_t start = lane->start_ns;
	struct records_request r = {
		.ticket = x->ticket,
		.connection = end->connection,
		.target = end->target,
		.outcome = end->outcome,
		.status = x->first_byte_ns ? x->http.status : 0,
		.in_window = x->in_window,
		.retried = end->retried,
		.stream = x->http.event_stream,
		.planned_ns = x->planned_ns - start,
		.sent_ns = x->sent_ns - start,
		.first_byte_ns = since(start, x->first_byte_ns),
		.first_token_ns = since(start, x->first_token_ns),
		.first_visible_ns = since(start, x->first_visible_ns),
		.last_token_ns = since(start, x->last_token_ns),
		.end_ns = end->end_ns - start,
		.worst_gap_ns = x->worst_gap_ns,
		.token_events = x->reply.token_events,
		.first_tokens = x->first_tokens,
	};
	fill_reply(&r, &x->reply);
	if (x->recorded)
		r.gaps = x->recorded->kept;
	struct records_block *b = block_with_room(lane);
	if (b) {
		records_put_request(b, &r);
		return;
	}
	lane->lost_requests++;
	lane->lost_gaps += r.gaps.n;
}

void recorder_spill(struct exchange *x)
{
	struct recorder_lane *lane = x->lane;
	struct records_gaps *kept = &x->recorded->kept;
	struct records_piece piece = {
		.ticket = x->ticket,
		.in_window = x->in_window,
		.gaps = *kept,
	};
	piece.gaps.from_ns -= lane->start_ns;
	struct records_block *b = block_with_room(lane);
	if (b)
		records_put_piece(b, &piece);
	else
		lane->lost_gaps += kept->n;
	kept->n_before += kept->n;
	kept->n = 0;
	kept->len = 0;
}

void recorder_tick(struct recorder_lane *lane, int64_t now_ns)
{
	lane->now_ns = now_ns;
	if (lane->filling && now_ns - lane->begun_ns > block_age_max_ns)
		pass_block(lane);
}

void recorder_finish(struct recorder_lane *lane)
{
	if (lane->filling)
		pass_block(lane);
}

struct recorder_gaps *recorder_gaps_new(void)
{
	struct recorder_gaps *gaps = mem_realloc(NULL, sizeof(*gaps));
	recorder_gaps_clear(gaps);
	return gaps;
}

struct recorder_lane *recorder_lane(struct recorder *recorder, int worker)
{
	return recorder ? &recorder->lanes[worker] : NULL;
}

/* ---- the writer's side ---- */

static void write_all(struct recorder *rec, const void *bytes, size_t n)
{
	const char *p = bytes;
	while (n > 0 && !rec->failed) {
		ssize_t done = write(rec->fd, p, n);
		if (done < 0 && errno != EINTR)
			rec->failed = errno;
		if (done <= 0)
			continue;
		p += done;
		n -= (size_t)done;
		rec->bytes += done;
	}
}

static void write_block(struct recorder *rec, struct records_block *b)
{
	if (!rec->failed) {
		records_block_seal(b);
		write_all(rec, b->bytes, b->len);
	}
	if (!rec->failed) {
		rec->requests += b->n_requests;
		return;
	}
	rec->lost_requests += b->n_requests;
	rec->lost_gaps += b->n_gaps;
}

static void drain(struct recorder *rec, struct recorder_lane *lane)
{
	uint64_t head = atomic_load_explicit(&lane->head, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);
	for (; tail < head; tail++) {
		write_block(rec, &lane->blocks[tail % RECORDER_BLOCKS]);
		atomic_store_explicit(&lane->tail, tail + 1, memory_order_release);
	}
}

static void write_head(struct recorder *rec, int64_t start_ns)
{
	AUTO(auto_buf) struct buf head = { 0 };
	int64_t offset = clock_read_ns(CLOCK_REALTIME) - clock_now_ns();
	const struct records_start start = {
		.monotonic_ns = start_ns,
		.realtime_ns = start_ns + offset,
		.threads = rec->n_lanes,
	};
	records_put_head(&head, rec->run, &start);
	write_all(rec, head.s, head.len);
	rec->has_head = true;
}

static void *writer_run(void *arg)
{
	struct recorder *rec = arg;
	for (;;) {
		/* Read first: what was passed on before the stop is then seen below. */
		bool last = atomic_load(&rec->stop);
		int64_t start_ns = atomic_load(&rec->start_ns);
		if (start_ns && !rec->has_head)
			write_head(rec, start_ns);
		for (int i = 0; i < rec->n_lanes && start_ns; i++)
			drain(rec, &rec->lanes[i]);
		if (last)
			return NULL;
		clock_sleep_until(clock_now_ns() + look_every_ns);
	}
}

/* ---- beginning and end ---- */

static void release(struct recorder *rec)
{
	auto_fd(&rec->fd);
	free(rec->lanes);
	free(rec->memory);
	free(rec);
}

/* The blocks are touched now, so that no page fault comes later. */
static void take_memory(struct recorder *rec)
{
	size_t per_lane = (size_t)RECORDER_BLOCKS * RECORDER_BLOCK_BYTES;
	size_t lanes = (size_t)rec->n_lanes;
	rec->lanes = mem_realloc(NULL, lanes * sizeof(*rec->lanes));
	memset(rec->lanes, 0, lanes * sizeof(*rec->lanes));
	rec->memory = mem_realloc(NULL, lanes * per_lane);
	memset(rec->memory, 0, lanes * per_lane);
	for (int i = 0; i < rec->n_lanes; i++) {
		rec->lanes[i].worker = i;
		for (int k = 0; k < RECORDER_BLOCKS; k++)
			rec->lanes[i].blocks[k].bytes = rec->memory + (size_t)i * per_lane +
			                                (size_t)k * RECORDER_BLOCK_BYTES;
	}
}

static bool start_thread(struct recorder *rec, struct err *err)
{
	int code = pthread_create(&rec->thread, NULL, writer_run, rec);
	return code == 0 ||
	       err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(code));
}

bool recorder_open(struct recorder **ret, const char *path, int n_lanes, const struct load_run *r,
        struct err *err)
{
	AUTO(auto_buf) struct buf magic = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(errno));
	struct recorder *rec = mem_realloc(NULL, sizeof(*rec));
	*rec = (struct recorder){ .path = path, .fd = fd, .n_lanes = n_lanes, .run = r };
	take_memory(rec);
	records_put_magic(&magic);
	write_all(rec, magic.s, magic.len);
	if (rec->failed)
		err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(rec->failed));
	if (rec->failed || !start_thread(rec, err)) {
		release(rec);
		return false;
	}
	*ret = rec;
	return true;
}

void recorder_start(struct recorder *rec, int64_t start_ns)
{
	if (!rec)
		return;
	for (int i = 0; i < rec->n_lanes; i++)
		rec->lanes[i].start_ns = rec->lanes[i].now_ns = start_ns;
	atomic_store(&rec->start_ns, start_ns);
}

static void write_done(struct recorder *rec, const struct records_done *from)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct records_done done = *from;
	done.window_start_ns -= rec->start_ns;
	done.window_end_ns -= rec->start_ns;
	done.requests = rec->requests;
	done.lost_requests = rec->lost_requests;
	done.lost_gaps = rec->lost_gaps;
	records_put_done(&out, &done);
	write_all(rec, out.s, out.len);
}

void recorder_close(struct recorder *rec, const struct records_done *done, struct load_records *ret)
{
	if (!rec)
		return;
	atomic_store(&rec->stop, true);
	pthread_join(rec->thread, NULL);
	for (int i = 0; i < rec->n_lanes; i++) {
		rec->lost_requests += rec->lanes[i].lost_requests;
		rec->lost_gaps += rec->lanes[i].lost_gaps;
	}
	if (rec->has_head)
		write_done(rec, done);
	/* A full disk may show only now. */
	if (close(rec->fd) != 0 && !rec->failed)
		rec->failed = errno;
	rec->fd = -1;
	*ret = (struct load_records){
		.path = rec->path,
		.requests = rec->requests,
		.lost_requests = rec->lost_requests,
		.lost_gaps = rec->lost_gaps,
		.bytes = rec->bytes,
		.failed = rec->failed,
	};
	release(rec);
}
