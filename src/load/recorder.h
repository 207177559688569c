/*
 * recorder.h - writes the records of a measurement while it runs: each worker appends to blocks of
 * its own, a thread of the recorder's own takes full ones to the file.
 *
 * A worker never waits, locks, allocates or calls the kernel here: where the file does not keep up,
 * and all blocks of a worker are full, what comes is lost and counted. A lane belongs to its
 * worker; a block passes to the writer when its number is below head, and back when it is below
 * tail.
 */
#ifndef VENTURI_LOAD_RECORDER_H
#define VENTURI_LOAD_RECORDER_H

#include "base/attr.h"
#include "base/err.h"
#include "record/records.h"

#include <stdatomic.h>

enum {
	RECORDER_BLOCKS = 16,         /* of each worker; a power of two */
	RECORDER_BLOCK_BYTES = 65536, /* with its frame */
};

struct exchange;
struct recorder;

/* One worker's side. */
struct recorder_lane {
	struct records_block blocks[RECORDER_BLOCKS]; /* block k is blocks[k % RECORDER_BLOCKS] */
	_Atomic uint64_t head;                        /* full blocks since the start */
	_Atomic uint64_t tail;                        /* of those: taken by the writer */
	bool filling;                                 /* block head is begun */
	int64_t begun_ns;                             /* when, to the resolution of recorder_tick */
	int64_t now_ns;                               /* of the last recorder_tick */
	int64_t start_ns;
	int64_t worker;
	int64_t lost_requests, lost_gaps;
};

/* The gaps of the stream under way on one connection, until its record is written. */
struct recorder_gaps {
	struct records_gaps kept; /* its stamps on the monotonic clock; bytes is the array here */
	uint8_t bytes[RECORDS_GAPS_BYTES];
};

/* What an exchange does not know of how its request ended. */
struct recorder_end {
	int outcome; /* enum records_outcome, or that and the failure */
	int64_t end_ns;
	int64_t connection;
	int64_t target;
	bool retried;
};

/*
 * Makes the file, or empties one that is there, takes the memory of the lanes and starts the
 * writer's thread.
 *
 * r        addresses, fingerprint and start of the run; must stay until recorder_close
 * errors   ERR_SYSTEM with the name
 */
bool recorder_open(struct recorder **ret, const char *path, int n_lanes, const struct load_run *r,
        struct err *err) NODISCARD;

/*
 * The run begins: stamps count from start_ns. Before any worker appends; nothing without a
 * recorder.
 */
void recorder_start(struct recorder *recorder, int64_t start_ns);

/*
 * Writes what is left and the last block, and gives everything back; the workers have ended.
 *
 * done     window, in monotonic time, and whether the run is partial; the rest is filled in
 * ret      what became of the records
 */
void recorder_close(
        struct recorder *recorder, const struct records_done *done, struct load_records *ret);

/* The lane of a worker; NULL without a recorder. */
struct recorder_lane *recorder_lane(struct recorder *recorder, int worker);

/* Memory for the gaps of a connection, from the heap. */
struct recorder_gaps *recorder_gaps_new(void);

/* A request has ended. */
void recorder_request(
        struct recorder_lane *lane, const struct exchange *x, const struct recorder_end *end);

/* Once in a turn of the worker's loop: a block that has waited for long goes to the file. */
void recorder_tick(struct recorder_lane *lane, int64_t now_ns);

/* The worker appends nothing any more. */
void recorder_finish(struct recorder_lane *lane);

/* Writes the gaps kept of a stream that is still under way, and forgets them. */
void recorder_spill(struct exchange *x);

/* A gap of the stream under way, up to this event; last_ns is the one before. */
static inline void recorder_gap(
        struct exchange *x, struct recorder_gaps *gaps, int64_t last_ns, int64_t gap_ns)
{
	struct records_gaps *kept = &gaps->kept;
	if (kept->len + RECORDS_VARINT_MAX > RECORDS_GAPS_BYTES)
		recorder_spill(x);
	if (kept->n == 0)
		kept->from_ns = last_ns;
	kept->len += records_put_varint(gaps->bytes + kept->len, gap_ns > 0 ? (uint64_t)gap_ns : 0);
	kept->n++;
}

/* A new stream begins. */
static inline void recorder_gaps_clear(struct recorder_gaps *gaps)
{
	gaps->kept = (struct records_gaps){ .bytes = gaps->bytes };
}

#endif
