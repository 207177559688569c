/*
 * sim_config.h - the file that describes a simulated service: JSON, one row of a table per key.
 *
 * The time of a request comes either from one distribution (service_ms) or from the costs of
 * prefill and decode steps. Every key has a default; an unknown key is an error, because a
 * misspelt one would silently describe another service.
 */
#ifndef VENTURI_SERVE_SIM_CONFIG_H
#define VENTURI_SERVE_SIM_CONFIG_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "serve/wire.h"
#include "stats/dist.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SIM_FILE_MAX_BYTES = 1024 * 1024,
	SIM_SLOTS_MAX = 65536,
	SIM_MS_MAX = 86400000, /* one day */
};

/* The least time between two stalls. */
#define SIM_BETWEEN_STALLS_S 0.001

/* A share of the requests goes wrong, after so many tokens where that applies. */
struct sim_fault {
	double ratio;
	int64_t after_tokens;
};

struct sim_config {
	const char *name; /* of the model */
	struct dist service_ms;
	bool has_service;
	double prefill_fixed_ms, prefill_per_token_ms;
	double decode_fixed_ms, decode_per_sequence_ms;
	bool has_steps;
	int64_t slots;             /* requests served at the same time */
	bool continuous;           /* running requests share their steps */
	struct dist output_tokens; /* where a request does not say */
	int64_t n_ctx;
	int64_t n_dims;   /* of embeddings */
	int64_t n_labels; /* classes; one: a reranker */
	int64_t seed;

	double stall_at_s, stall_for_s, stall_every_s; /* after the first request; every 0: once */
	int64_t cold_requests;
	double cold_extra_ms;
	struct sim_fault cut, error_event, empty, refuse;
	int64_t refuse_status;
	struct wire wire;
};

/*
 * Understands the text of such a file.
 *
 * path     names the file in errors
 * run      the strings and distributions live there
 * errors   ERR_INPUT that names the file and the key
 */
bool sim_config_parse(struct str text, const char *path, struct arena *run,
        struct sim_config *ret_config, struct err *err) NODISCARD;

bool sim_config_load(const char *path, struct arena *run, struct sim_config *ret_config,
        struct err *err) NODISCARD;

#endif
