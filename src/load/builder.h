/*
 * builder.h - from what is asked for in one request to its bytes, head and body: what the parts of
 * the workload have in common while it is made, before the run. One thread.
 */
#ifndef VENTURI_LOAD_BUILDER_H
#define VENTURI_LOAD_BUILDER_H

#include "load/vocabulary.h"
#include "load/workload.h"

/* Everything that stays the same from request to request. */
struct builder {
	const struct load_config *config;
	const struct endpoint *endpoint;
	struct endpoint_options options;
	const struct url *url;
	const char *path;
	struct arena *run;
	struct vocabulary vocabulary;
	struct buf text, query; /* of the line under way */
	struct buf head;        /* lines that follow from the body */
	struct buf body;
	struct buf request;
};

void builder_release(struct builder *b);

/*
 * A request written out in the run's arena, without a salt.
 *
 * errors   those of the endpoint's check
 */
bool builder_item(struct builder *b, const struct prompt *p, struct workload_item *ret_item,
        struct err *err) NODISCARD;

/* A number of tokens that was drawn: whole, from 1 to WORKLOAD_TOKENS_MAX. */
int64_t builder_tokens(double x);

#endif
