/*
 * workload.h - what is sent. The run itself only copies bytes: requests are written out in full
 * before it, or as frames around a text that prompt_text makes by copying.
 *
 * Synthetic prompts are unique: they begin with words, or hold SALT_LEN characters where the API has
 * no room for a text of any length, that no other request of any run has, so that no prefix cache
 * flatters the service. Without the salt they are the same in every run. A share of each prompt can
 * be a beginning that it has in common with others; a schedule with blocks says itself which are
 * equal. Prompts from a file are sent as they are.
 */
#ifndef VENTURI_LOAD_WORKLOAD_H
#define VENTURI_LOAD_WORKLOAD_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "load/endpoint.h"
#include "load/load.h"
#include "load/prompt_text.h"
#include "load/schedule.h"
#include "net/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SALT_LEN = 12,
	WORKLOAD_SYNTHETIC = 512, /* distinct synthetic requests that are written out */
	WORKLOAD_LENGTHS = 4096,  /* distinct lengths of those that are framed */
	WORKLOAD_FRAMES_MAX = 65536,
	WORKLOAD_POOL_BYTES = 64 * 1024 * 1024, /* of which fewer are made when they are large */
	WORKLOAD_ITEMS_MAX = 200000,
	WORKLOAD_FILE_MAX = 512 * 1024 * 1024,
	WORKLOAD_TOKENS_MAX = 1 << 20, /* of one synthetic prompt */
};

struct session_plan;

struct workload_item {
	struct str request; /* head and body */
	ptrdiff_t salt_at;  /* offset of the salt in the request; -1: none */
};

/* The request around a text; the length of the body stands between before and middle. */
struct workload_frame {
	int64_t output_tokens;
	struct str before, middle, after;
	size_t head_rest; /* bytes of middle that belong to the head */
};

struct workload_prompt {
	uint32_t input_tokens;
	uint32_t frame;
};

struct workload {
	/* Written out, taken in turn. */
	struct workload_item *items;
	size_t n;
	/* Or framed: taken in turn, or each for its row of the schedule. */
	struct workload_frame *frames; /* sorted by output_tokens */
	size_t n_frames;
	struct workload_prompt *prompts;
	size_t n_prompts; /* 0: none is framed */
	const struct schedule *schedule;
	/* Of whose turns those prompts are, or conversations of its own; NULL: single requests. */
	struct session_plan *sessions;
	struct prompt_text text;
	double prefix_ratio; /* of a prompt's tokens; 0: nothing in common */
	int64_t n_prefixes;

	bool salted;
	bool has_tokenizer; /* the lengths of prompts are exact */
	uint64_t seed;
	const char *input;  /* in words, for the fingerprint: "file:prompts.jsonl", "tokens:64" */
	const char *output; /* likewise */
};

/*
 * prepared  what the endpoint's prepare made, or NULL
 * errors    ERR_INPUT that names file and line; ERR_USAGE for options that do not fit the API
 */
bool workload_build(const struct load_config *config, const struct endpoint *endpoint,
	const char *model, const void *prepared, const struct url *url, struct arena *run,
	struct workload *ret_workload, struct err *err) NODISCARD;

/* For one measurement: what makes its prompts differ from those of any other. */
uint64_t workload_nonce(void);

/*
 * The bytes of one request.
 *
 * ticket   its number among those sent
 * arrival  its number among those planned, which is its row of a schedule; in a closed loop ignored
 * nonce    of the measurement
 * returns  memory of the workload, or of scratch, which is overwritten
 */
struct str workload_request(const struct workload *w, int64_t ticket, int64_t arrival,
	uint64_t nonce, struct buf *scratch);

/* How many tokens the prompt of that request was made of; 0: not known. */
int64_t workload_input_tokens(const struct workload *w, int64_t ticket, int64_t arrival);

#endif
