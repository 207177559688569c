#include "load/exchange.h"
#include "load/recorder.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { START = 1000 };

static const struct load_run run = { .started_at = "", .url = "http://h" };
static char path[64];

static struct recorder *start(int n_lanes)
{
	struct recorder *rec;
	struct err err;
	snprintf(path, sizeof(path), "/tmp/venturi-recorder.XXXXXX");
	close(mkstemp(path));
	if (!CHECK(recorder_open(&rec, path, n_lanes, &run, &err)))
		exit(1);
	recorder_start(rec, START);
	return rec;
}

static struct load_records finish(struct recorder *rec)
{
	const struct records_done done = { .window_start_ns = START, .window_end_ns = START + 1 };
	struct load_records records;
	recorder_close(rec, &done, &records);
	return records;
}

static void append(struct recorder_lane *lane, int64_t ticket)
{
	const struct exchange x = { .ticket = ticket,
		.sent_ns = START + 2 * ticket,
		.planned_ns = START + ticket,
		.reply = { .input_tokens = -1, .output_tokens = -1 } };
	const struct recorder_end end = { .end_ns = START + 3 * ticket, .connection = 1 };
	recorder_request(lane, &x, &end);
}

static bool open_file(struct records_reader *r, FILE **f)
{
	struct err err;
	*f = fopen(path, "re");
	if (CHECK(*f && records_open(r, *f, path, &err)))
		return true;
	exit(1);
}

static void close_file(struct records_reader *r, FILE *f)
{
	records_close(r);
	fclose(f);
	unlink(path);
}

/* 3, 1003, 2003 ... ns, so that bytes of one to three lengths follow each other. */
static int64_t gap_of(int64_t i)
{
	return i % 100 * 1000 + 3;
}

static void a_long_stream_is_written_in_pieces_without_a_hole(void)
{
	enum { GAPS = 10000 };
	struct recorder *rec = start(1);
	struct exchange x = { .ticket = 5,
		.in_window = true,
		.sent_ns = START,
		.planned_ns = START,
		.first_token_ns = START + 10,
		.last_token_ns = START + 10 };
	x.lane = recorder_lane(rec, 0);
	x.recorded = recorder_gaps_new();
	for (int64_t i = 0; i < GAPS; i++) {
		recorder_gap(&x, x.recorded, x.last_token_ns, gap_of(i));
		x.last_token_ns += gap_of(i);
	}
	x.reply.token_events = GAPS + 1;
	recorder_request(x.lane, &x, &(struct recorder_end){ .end_ns = x.last_token_ns + 1 });
	recorder_finish(x.lane);
	struct load_records written = finish(rec);
	CHECK_INT(written.requests, 1);
	CHECK_INT(written.lost_requests + written.lost_gaps + written.failed, 0);

	struct records_reader r;
	struct records_entry e;
	struct err err;
	FILE *f;
	int64_t n = 0, n_pieces = 0, at = 10, gap;
	open_file(&r, &f);
	while (records_next(&r, &e, &err) == RECORDS_ENTRY) {
		struct records_gaps gaps = e.kind == RECORDS_PIECE ? e.piece.gaps : e.request.gaps;
		n_pieces += e.kind == RECORDS_PIECE;
		CHECK_INT(gaps.n_before, n);
		CHECK_INT(gaps.from_ns, at);
		for (; records_gap_next(&gaps, &gap); n++) {
			CHECK_INT(gap, gap_of(n));
			at += gap;
		}
	}
	CHECK_INT(n, GAPS);
	CHECK(n_pieces > 0 && e.kind == RECORDS_REQUEST && r.is_whole);
	CHECK_INT(e.request.last_token_ns, at);
	close_file(&r, f);
	free(x.recorded);
}

/* The writer waits for the start and takes no block: the worker goes on all the same. */
static void what_is_not_taken_in_time_is_counted(void)
{
	enum { REQUESTS = 200000 };
	struct recorder *rec;
	struct err err;
	int64_t kept = 0;
	snprintf(path, sizeof(path), "/tmp/venturi-recorder.XXXXXX");
	close(mkstemp(path));
	if (!CHECK(recorder_open(&rec, path, 1, &run, &err)))
		return;
	struct recorder_lane *lane = recorder_lane(rec, 0);
	for (int64_t i = 0; i < REQUESTS; i++)
		append(lane, i);
	recorder_finish(lane);
	for (int i = 0; i < RECORDER_BLOCKS; i++) {
		kept += lane->blocks[i].n_requests;
		CHECK(lane->blocks[i].len <= RECORDER_BLOCK_BYTES);
	}
	CHECK(lane->lost_requests > 0 && kept > 0);
	CHECK_INT(kept + lane->lost_requests, REQUESTS);
	finish(rec);
	unlink(path);
}

static void a_disk_that_is_full_is_said_at_the_start(void)
{
	struct recorder *rec;
	struct err err = { 0 };
	if (access("/dev/full", W_OK) != 0) {
		tap_skip("there is no /dev/full");
		return;
	}
	CHECK(!recorder_open(&rec, "/dev/full", 1, &run, &err));
	CHECK_INT(err.kind, ERR_SYSTEM);
	CHECK(strstr(err.text, "cannot write '/dev/full'"));
}

/* The file may hold one block and a half. */
static void a_disk_that_fills_up_later_leaves_whole_blocks_and_a_count(void)
{
	enum { REQUESTS = 20000 };
	struct rlimit before, limit;
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	struct recorder *rec = start(1);
	limit = (struct rlimit){ RECORDER_BLOCK_BYTES * 3 / 2, before.rlim_max };
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int64_t i = 0; i < REQUESTS; i++)
		append(recorder_lane(rec, 0), i);
	recorder_finish(recorder_lane(rec, 0));
	struct load_records written = finish(rec);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK_INT(written.failed, EFBIG);
	CHECK(written.requests > 0);
	CHECK_INT(written.requests + written.lost_requests, REQUESTS);

	struct records_reader r;
	struct records_entry e;
	struct err err;
	FILE *f;
	int64_t n = 0;
	enum records_result result;
	open_file(&r, &f);
	while ((result = records_next(&r, &e, &err)) == RECORDS_ENTRY)
		CHECK_INT(e.request.ticket, n++);
	CHECK_INT(result, RECORDS_END);
	CHECK_INT(n, written.requests);
	CHECK(!r.is_whole);
	close_file(&r, f);
}

enum { THREADS = 4, EACH = 50000 };

static void *work(void *lane)
{
	for (int64_t i = 0; i < EACH; i++) {
		recorder_tick(lane, START + i * 1000000);
		append(lane, i);
	}
	recorder_finish(lane);
	return NULL;
}

static void threads_write_at_the_same_time(void)
{
	struct recorder *rec = start(THREADS);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, recorder_lane(rec, i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	struct load_records written = finish(rec);
	CHECK_INT(written.requests + written.lost_requests, THREADS * EACH);

	struct records_reader r;
	struct records_entry e;
	struct err err;
	FILE *f;
	int64_t last[THREADS] = { -1, -1, -1, -1 }, n = 0;
	open_file(&r, &f);
	while (records_next(&r, &e, &err) == RECORDS_ENTRY) {
		const struct records_request *q = &e.request;
		CHECK(q->ticket > last[q->worker]);
		CHECK(q->planned_ns == q->ticket && q->end_ns == 3 * q->ticket);
		last[q->worker] = q->ticket;
		n++;
	}
	CHECK_INT(n, written.requests);
	CHECK(r.is_whole && r.done.requests == n);
	CHECK_INT(r.done.lost_requests, written.lost_requests);
	close_file(&r, f);
}

int main(void)
{
	TAP_RUN(a_long_stream_is_written_in_pieces_without_a_hole);
	TAP_RUN(what_is_not_taken_in_time_is_counted);
	TAP_RUN(a_disk_that_is_full_is_said_at_the_start);
	TAP_RUN(a_disk_that_fills_up_later_leaves_whole_blocks_and_a_count);
	TAP_RUN(threads_write_at_the_same_time);
	return tap_done();
}
