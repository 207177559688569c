/*
 * faults.h - what the service can be told to do badly (--fault NAME[=VALUE]), so that doctors can
 * be tried on it and people can learn. All zero is a good service.
 *
 * A fault shows in no metric, thread name, log or configuration, only by its effects. Those of the
 * engine are made there; those that live in the service itself by fault_work.h.
 */
#ifndef VENTURI_SERVE_FAULTS_H
#define VENTURI_SERVE_FAULTS_H

#include "base/attr.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/err.h"
#include "engine/faults.h"
#include "serve/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct faults {
	struct engine_faults engine;
	int64_t tokenize_repeat; /* tokenize_blocks_loop: where the request is read, whatever
	                            --tokenize says; each text is taken apart so many times */
	int64_t prepare_us;      /* preprocess_cpu_bound: CPU time per item where it is tokenised */
	int64_t prepare_serial_us; /* sync_preprocess: CPU time per item in the computing thread */
	int64_t collect_us;        /* host_step_serial: CPU time per sequence after each batch */
	int64_t stall_every_ns, stall_for_ns; /* runtime_gc_pause: every thread stops together */
	bool global_lock;         /* interpreter_lock: one lock around all work on a request */
	int64_t slots;            /* too_few_slots: requests beyond them wait before the batcher */
	int64_t pad_to;           /* padding_waste: every sequence to this length at least */
	int64_t serialize_repeat; /* serialize_cost: each answer is written so many times */
	int64_t log_sync;         /* observer_overhead: lines and an fsync for every request */
	int64_t leak_bytes;       /* host_memory_growth: kept for ever, each request */
	int64_t retain_bytes;     /* host_memory_growth: given back, but the allocator keeps it */
	int64_t reload_idle_ns;   /* model_reload: the weights go after so much idleness */
	int64_t oversubscribe;    /* thread_oversubscription: spinning threads per CPU */
	double unbalanced_ratio;  /* load_imbalance: of a gateway, to its first upstream */
	struct wire wire;         /* nagle_delayed_ack, stream_buffering, no_keepalive ... */
	/* Decoys look bad and harm nobody: naming one as the cause is an error. */
	bool idle_spin;    /* a thread at 100 % that yields to whoever wants its CPU */
	bool file_reading; /* major page faults that no request waits for */
};

/* Who can be made to do it, a bit each. */
enum fault_place {
	FAULT_ENCODER = 1,
	FAULT_DECODER = 2,
	FAULT_SIMULATED = 4,
	FAULT_GATEWAY = 8,
	FAULT_ANYWHERE = 15,
};

enum fault_kind {
	FAULT_FLAG,   /* bool */
	FAULT_COUNT,  /* int64_t, min to max */
	FAULT_US,     /* int64_t us, written as a duration; min to max in seconds */
	FAULT_NS,     /* the same in ns */
	FAULT_SIZE,   /* int64_t bytes, min to max */
	FAULT_RATIO,  /* double, min to max */
	FAULT_CHOICE, /* const char *, one of choices */
	FAULT_STALL,  /* two durations: stall_every_ns and stall_for_ns */
};

struct fault {
	const char *name, *cause; /* an id of the catalogue of causes; NULL: a decoy */
	enum fault_kind kind;
	unsigned places;
	size_t offset;              /* in struct faults */
	const char *value;          /* how --list-faults calls the value; NULL for a flag */
	const char *otherwise;      /* the value when none is given; NULL: one must be */
	const char *const *choices; /* of FAULT_CHOICE; ends in NULL */
	double min, max;
	const char *help; /* N_() text */
};

/* All of them, in the order of the catalogue. */
const struct fault *faults_table(size_t *ret_n);

/*
 * Reads the values of --fault, "NAME" or "NAME=VALUE"; of a fault given twice the last counts.
 *
 * place    one bit; a fault that has no effect there is an error
 * errors   ERR_USAGE that names the fault
 */
bool faults_parse(const struct opt_list *given, enum fault_place place, struct faults *ret_faults,
        struct err *err) NODISCARD;

/* The manners of an answer as they are asked for, over those of the executor. */
void faults_spoil_wire(const struct faults *f, struct wire *wire);

/* What --list-faults prints. */
void faults_list(struct buf *out);

#endif
