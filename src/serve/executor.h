/*
 * executor.h - what the service needs from whoever computes its answers: a model or a simulation.
 *
 * submit takes a reference to the job and answers at once; the executor's own thread then calls
 * job_start, job_token and job_end (job.h), and drops its reference when it is through with it.
 * What takes no time at all may be delivered inside submit.
 * submit and cancel may be called from any thread, close once, after the last of them.
 */
#ifndef VENTURI_SERVE_EXECUTOR_H
#define VENTURI_SERVE_EXECUTOR_H

#include "base/err.h"
#include "base/str.h"
#include "serve/api.h"
#include "serve/metrics.h"
#include "serve/wire.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct executor;
struct job;
struct json;
struct profile;

/* A request as it came, for who passes it on. Only the body lives as long as the job. */
struct forward {
	const char *method, *target; /* with the query, as the client wrote it */
	const struct forward_header {
		const char *name, *value;
	} * headers;
	size_t n_headers;
	struct str body;
};

struct executor_ops {
	/*
	 * Checks the request against the model, fills the job's n_prompt and queues it.
	 *
	 * returns  false: the request is refused for the reason in error, no reference was taken
	 */
	bool (*submit)(struct executor *x, struct job *job, struct api_error *error);

	/*
	 * Of a gateway, which gets every request like this instead of by submit; the answer comes
	 * by its relay (gateway_reply.c). NULL: it is none.
	 */
	bool (*forward)(struct executor *x, struct job *job, const struct forward *f,
	        struct api_error *error);

	/* Nobody waits for the job any more: stop working on it soon. */
	void (*cancel)(struct executor *x, struct job *job);

	/* In about how many seconds one more request has a chance. NULL: no idea. */
	int64_t (*retry_after_s)(struct executor *x);

	/* What /config says about it, as members of an open object. Never a fault. */
	void (*config)(const struct executor *x, struct json *j);

	/* Appends what it has to say to /metrics. NULL: nothing. */
	void (*metrics)(struct executor *x, struct buf *out);

	/* Stops the thread, drops the jobs, frees x. */
	void (*close)(struct executor *x);
};

/* What an executor can answer; a bit each. */
enum executor_task { EXECUTOR_GENERATES = 1, EXECUTOR_EMBEDS = 2, EXECUTOR_CLASSIFIES = 4 };

/*
 * Of the last two the answer is job->vectors, [n_inputs, n_dims]: embeddings, or raw scores of the
 * classes (what the API asks for, softmax or sigmoid of them, is answer.c's to compute).
 */
struct executor {
	const struct executor_ops *ops;
	const char *model_name;
	unsigned tasks;
	const char *const *labels; /* [n_labels] of a classifier */
	int n_labels;
	int n_dims;          /* of embeddings; 0: shows with the first */
	bool multi_label;    /* each score is a probability of its own */
	int64_t n_ctx;       /* tokens of prompt and answer together */
	atomic_bool warming; /* still getting ready: /health says so, requests wait */
	struct wire wire;
	struct metrics *metrics;
};

/*
 * Whether a prompt and what may follow it fit into the context.
 *
 * max_tokens  0: not said; then one token must fit
 * errors      status 400, code context_length_exceeded
 */
bool executor_check_length(const struct executor *x, int64_t n_prompt, int64_t max_tokens,
        struct api_error *error) NODISCARD;

/* What Retry-After says for a wait of so long: whole seconds, at least one. */
int64_t executor_retry_s(int64_t wait_ns);

struct batcher_options;
struct encoder;
struct fault_work;
struct faults;

enum { TOKENIZE_THREADS_MAX = 64 };

struct encode_options {
	const struct batcher_options *batching;
	bool tokenize_async;
	int tokenize_threads; /* 1 to TOKENIZE_THREADS_MAX, where that is async */
	bool packed;
	int64_t warmup;              /* batches of each shape before it is ready; 0: off */
	int64_t deadline_ns;         /* a request that would wait longer is refused; 0: none */
	const struct faults *faults; /* NULL: none */
	struct fault_work *work;     /* NULL: no fault lives in the service itself */
	struct encoder *reloadable;  /* whose weights go while it is idle; NULL: they stay */
	struct pool *pool;
	struct profile *profile;
};

/* An encoder behind stages and a batcher. The encoder and what options point to outlive it. */
bool encode_open(const struct encoder *encoder, const struct encode_options *options,
        struct metrics *metrics, struct executor **ret_x, struct err *err) NODISCARD;

/* A simulated service as the file describes it (sim_config.h). work may be NULL and outlives it. */
bool simulate_open(const char *path, struct fault_work *work, struct metrics *metrics,
        struct executor **ret_x, struct err *err) NODISCARD;

/*
 * A decoder from a GGUF file; one request at a time, in order of arrival.
 *
 * profile  records its operators and steps; NULL: nothing does. Outlives the executor.
 */
bool decode_open(const char *path, struct fault_work *work, struct profile *profile,
        struct metrics *metrics, struct executor **ret_x, struct err *err) NODISCARD;

#endif
