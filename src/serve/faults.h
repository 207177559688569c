/*
 * faults.h - what the service can be told to do badly (--fault NAME[=VALUE]), so that doctors can
 * be tried on it and people can learn. All zero is a good service.
 *
 * A fault shows in no metric, thread name, log or configuration, only by its effects.
 */
#ifndef VENTURI_SERVE_FAULTS_H
#define VENTURI_SERVE_FAULTS_H

#include "base/attr.h"
#include "base/str.h"
#include "base/err.h"
#include "engine/faults.h"
#include "serve/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct faults {
	struct engine_faults engine;
	int64_t tokenize_repeat; /* tokenize_blocks_loop: each text is taken apart so many times */
	int64_t prepare_us;      /* preprocess_cpu_bound: CPU time per item where it is tokenised */
	int64_t prepare_serial_us; /* sync_preprocess: CPU time per item in the computing thread */
	int64_t collect_us;        /* host_step_serial: CPU time per sequence after each batch */
	int64_t stall_every_ns, stall_for_ns; /* runtime_gc_pause: every thread stops together */
	bool global_lock;         /* interpreter_lock: one lock around all work on a request */
	int64_t slots;            /* too_few_slots: requests beyond them wait before the batcher */
	int64_t pad_to;           /* padding_waste: every sequence to this length at least */
	int64_t serialize_repeat; /* serialize_cost: each answer is written so many times */
	bool log_sync;            /* observer_overhead: a line and fsync for every request */
	int64_t leak_bytes;       /* host_memory_growth: kept for ever, each request */
	int64_t reload_idle_ns;   /* model_reload: the weights go after so much idleness */
	int64_t oversubscribe;    /* thread_oversubscription: spinning threads per CPU */
	double unbalanced_ratio;  /* load_imbalance: of a gateway, to its first upstream */
	struct wire wire;         /* nagle_delayed_ack, stream_buffering, no_keepalive ... */
};

#endif
