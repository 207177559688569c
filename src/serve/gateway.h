/*
 * gateway.h - somebody else's service behind ours: requests that can share a call are merged into
 * it, all others are passed through as they are, streams event by event.
 *
 * An executor (executor.h) that forwards requests instead of understanding them. One thread speaks
 * to the upstreams; the HTTP side takes its answers out of a relay, piece by piece.
 *
 *   gateway.c           the thread: what waits and what goes next
 *   gateway_queue.c     requests that can be merged, by what they have in common, in batchers
 *   gateway_calls.c     merged calls: written, split, taken apart when one request spoils them
 *   gateway_pass.c      requests that are passed through
 *   gateway_reply.c     the HTTP side
 *   gateway_headers.c   which headers go on, and which part requests
 *   gateway_merge.c, gateway_split.c   the APIs: text in, text out
 *   gateway_client.c    HTTP to the upstreams     gateway_upstream.c   who is there, whose turn
 *   gateway_metrics.c   what /metrics shows of it
 */
#ifndef VENTURI_SERVE_GATEWAY_H
#define VENTURI_SERVE_GATEWAY_H

#include "base/attr.h"
#include "base/err.h"
#include "serve/batcher.h"
#include "serve/executor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gateway_options {
	const char *const *urls;
	size_t n_urls;
	bool insecure;          /* certificates are not looked at */
	bool round_robin;       /* else whoever has the fewest calls in flight */
	int64_t timeout_ns;     /* an upstream that is silent for so long has failed */
	int64_t in_flight;      /* merged calls at once to each upstream */
	int64_t pass_in_flight; /* others; 0: no limit */
	int64_t deadline_ns;    /* a request that would wait longer is refused; 0: none */
	const char *health_path;
	const char *tokenizer;           /* a file; NULL: tokens are estimated */
	struct batcher_options batching; /* NONE: nothing is merged */
	double unbalanced_ratio;
};

/* What options point to outlives the executor. */
bool gateway_open(const struct gateway_options *options, struct metrics *metrics,
        struct executor **ret_x, struct err *err) NODISCARD;

#endif
