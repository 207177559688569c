/*
 * encode_parts.h - what the files of the encoder's executor share (encode*.c), and nobody else.
 *
 * The way of a request: submit (HTTP thread) -> tokenize (there, or a stage of its own threads) ->
 * batcher (under encode.lock) -> compute (one thread, which leads the pool's) -> finish (one
 * thread: vectors into the job, job_end). Locks are taken in the order encode.lock, job.lock.
 */
#ifndef VENTURI_SERVE_ENCODE_PARTS_H
#define VENTURI_SERVE_ENCODE_PARTS_H

#include "engine/encoder.h"
#include "serve/batcher.h"
#include "serve/executor.h"
#include "serve/fault_work.h"
#include "serve/faults.h"
#include "serve/job.h"
#include "serve/stage.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	ENCODE_JOBS_MAX = 1024,   /* that wait to be tokenized; one more is refused */
	ENCODE_ITEMS_MAX = 16384, /* texts that wait for a batch; then tokenization is held up */
	ENCODE_SLOTS = 3,         /* batches: being computed, being finished, and one in between */
	ENCODE_ROOMS = 4,         /* texts taken apart at a time where the HTTP threads do that */
};

struct encode_job;

/* One text of a job; lives in the job's arena. */
struct encode_item {
	struct batcher_item base; /* the first member: one is cast to the other */
	struct encode_job *job;
	int index;
	const int32_t *ids, *types;
	const float *vector; /* of the slot in which it was computed */
};

struct encode_job {
	struct job *job;
	atomic_int n_left; /* items that are on their way; who ends the last one drops the job */
	int n_items, n_dims;
	float *vectors; /* [n_items, n_dims] */
	struct encode_item items[];
};

/* A batch and everything it needs, made once. */
struct encode_slot {
	struct batch batch;
	const int32_t **ids, **types; /* [max_batch] */
	int *lengths;                 /* [max_batch] */
	float *out;                   /* [max_batch, the most of dim and n_labels] */
};

/* What a thread needs to take a text apart; borrowed for the time of a job. */
struct encode_room {
	struct encoding *encoding;
	int32_t *ids, *types; /* [longest] */
};

struct encode {
	struct executor base;
	struct encode_options options;
	const struct encoder *encoder;
	const struct faults *faults;
	struct encoder_info info;
	struct batcher_options batching;
	int longest;                     /* tokens of a text at most */
	int rows_max;                    /* of a batch */
	struct encoder_session *session; /* the computing thread's */
	struct stage tokenizing, finishing;
	struct stage idle_slots, rooms; /* nothing is worked on here: what is free */
	struct encode_slot slots[ENCODE_SLOTS];
	int n_rooms;
	pthread_t tokenizers[TOKENIZE_THREADS_MAX], computer, finisher;
	int n_tokenizers;
	bool unloaded; /* the computing thread's: the weights are not there */

	pthread_mutex_t lock;
	pthread_cond_t work, room; /* something came to the batcher; something left it */
	/* under the lock */
	struct batcher *batcher;
	bool closing;
};

/* encode_tokenize.c: texts to items. False: refused. */
bool encode_tokenize(struct encode *x, struct encode_job *ej, struct api_error *error) NODISCARD;
/* Its items to the batcher, all or none. wait: for room, rather than to be refused for want of it.
 */
bool encode_enqueue(
        struct encode *x, struct encode_job *ej, bool wait, struct api_error *error) NODISCARD;
void *encode_tokenizer_thread(void *encode);

/* encode_compute.c */
void *encode_computer_thread(void *encode);
void *encode_finisher_thread(void *encode);
/* Breaks off what still waits when all threads have ended. */
void encode_drop_waiting(struct encode *x);

/* encode_warm.c: computes batches of the shapes that can come, so many times each. */
void encode_warm_up(struct encode *x);

/* encode.c: so many of a job's items are through. The last ones end the job and drop it. */
void encode_items_done(struct encode_job *ej, int n);
/* Refuses a job that has its executor's reference already. */
void encode_refuse(struct encode_job *ej, const struct api_error *error);
bool encode_refuse_late(struct encode *x, int64_t retry_ns, struct api_error *error);
bool encode_refuse_full(struct encode *x, int64_t retry_ns, struct api_error *error);

#endif
