/*
 * workload.h - what is sent: a pool of requests, written out in full before the run, so that the
 * run itself only copies bytes.
 *
 * Synthetic prompts carry a salt, SALT_LEN characters that the sender overwrites with new ones for
 * every request. They follow a nonce of the measurement and not the seed, so that neither an earlier
 * request nor an earlier run warms a prefix cache and flatters the service. Prompts from a file are
 * sent as they are.
 */
#ifndef VENTURI_LOAD_WORKLOAD_H
#define VENTURI_LOAD_WORKLOAD_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "load/endpoint.h"
#include "load/load.h"
#include "net/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SALT_LEN = 12,
	WORKLOAD_SYNTHETIC = 512, /* distinct synthetic requests */
	WORKLOAD_POOL_BYTES = 64 * 1024 * 1024, /* of which fewer are made when they are large */
	WORKLOAD_ITEMS_MAX = 200000,
	WORKLOAD_FILE_MAX = 512 * 1024 * 1024,
	WORKLOAD_TOKENS_MAX = 1 << 20, /* of one synthetic prompt */
};

struct workload_item {
	struct str request; /* head and body */
	ptrdiff_t salt_at;  /* offset of the salt in the request; -1: none */
};

struct workload {
	struct workload_item *items;
	size_t n;
	const char *input;  /* in words, for the fingerprint: "file:prompts.jsonl", "tokens:64" */
	const char *output; /* likewise */
};

/*
 * prepared  what the endpoint's prepare made, or NULL
 * errors    ERR_INPUT that names file and line; ERR_USAGE for options that do not fit the API
 */
bool workload_build(const struct load_config *config, const struct endpoint *endpoint,
	const char *model, const void *prepared, const struct url *url, struct arena *run, struct workload *ret_workload,
	struct err *err) NODISCARD;

/* A number that no other measurement has. */
uint64_t workload_nonce(void);

/* Writes the salt of request number n of a measurement over the old one. */
void workload_salt(char *at, uint64_t nonce, uint64_t n);

#endif
