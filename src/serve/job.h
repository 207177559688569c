/*
 * job.h - one request between its arrival and its end, shared by the two threads that work on it.
 *
 * The executor delivers with job_start, job_token and job_end; the HTTP side reads under the lock
 * and is woken by the wake function, which is called with the lock held. The first job_end counts,
 * later deliveries change nothing. Each side holds a reference; the last one to drop frees the job.
 *
 * Always: text_end[] does not fall; text up to text_end[n_tokens - 1] may be shown, what is behind
 * waits because it may be the beginning of a stop sequence. After the end all of text may be shown.
 */
#ifndef VENTURI_SERVE_JOB_H
#define VENTURI_SERVE_JOB_H

#include "base/arena.h"
#include "base/str.h"
#include "serve/api.h"
#include "serve/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum job_state { JOB_NEW, JOB_WAITING, JOB_RUNNING, JOB_ENDED };

enum job_end {
	JOB_STOP,      /* the answer is complete */
	JOB_LENGTH,    /* max_tokens, or the context is full */
	JOB_CANCELLED, /* the client left */
	JOB_FAILED,    /* the executor could not go on; see failure */
	JOB_CUT,       /* the connection is to break off */
	JOB_REFUSED,   /* never submitted, or found wrong or too late afterwards; see refusal */
};

struct job {
	struct arena arena; /* of the HTTP side until submit, inside submit of the executor */
	struct buf body;    /* of the HTTP side until submit; the request points into it */
	struct api_request request;
	enum api_endpoint endpoint;
	char id[48];
	int64_t created_s; /* since 1970, for the answer */
	int64_t received_ns;
	int64_t n_prompt;
	struct metrics *metrics;
	void *executor_data;  /* the executor's own */
	void (*release_executor_data)(struct job *job); /* with the job; NULL: it lives elsewhere */
	const float *vectors; /* embeddings: [n_inputs, n_dims] */
	int n_dims;
	atomic_int n_refs;

	pthread_mutex_t lock;
	/* all below under the lock */
	enum job_state state;
	enum job_end end;
	int status; /* HTTP */
	char failure[256];
	struct api_error refusal; /* of JOB_REFUSED after submit */
	bool cancelled;
	int64_t queued_ns;                   /* tokenized, by those who tell */
	int64_t started_ns, made_ns, due_ns; /* due: when made was planned, 0 unless simulated */
	int64_t sent_first_ns,
	        sent_last_ns; /* when its first token and its end went to the socket */
	struct buf text;
	size_t n_tokens, cap_tokens;
	int64_t *token_ns;
	size_t *text_end;
	void (*wake)(void *ctx);
	void *wake_ctx;

	struct job *next_spare;
};

/*
 * A job with one reference; received_ns is now. Its memory is that of one that has ended, where
 * there is one.
 */
struct job *job_new(enum api_endpoint endpoint, struct metrics *metrics);
void job_ref(struct job *job);
void job_unref(struct job *job);

/* By the executor's submit, before anything is delivered. */
void job_queue(struct job *job);

/* How long its prompt is has become known; from now on it waits to be computed. */
void job_tokenized(struct job *job, int64_t n_prompt, int64_t now_ns);

/* It has left the queue. now: clock_now_ns(). */
void job_start(struct job *job, int64_t now_ns);

/*
 * One more token, with the text that became complete by it (may be empty).
 *
 * returns  false when no more are wanted: a stop sequence came, or the client left
 */
bool job_token(struct job *job, struct str text, int64_t now_ns);

/* text: what was still incomplete; failure: the reason for JOB_FAILED, else NULL. */
void job_end(
        struct job *job, enum job_end end, struct str text, const char *failure, int64_t now_ns);

/* Ends it with an answer that is an error: what only shows after submit is refused like this. */
void job_refuse(struct job *job, const struct api_error *error, int64_t now_ns);

/* When the end that follows was planned, for the schedule log. */
void job_set_due(struct job *job, int64_t due_ns);

/* The client left, or the service stops. Does not wake. */
void job_cancel(struct job *job);
bool job_is_cancelled(struct job *job);

/* "stop", "length", ... as the API and the logs call it. */
const char *job_end_name(enum job_end end);

#endif
