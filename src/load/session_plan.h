/*
 * session_plan.h - the sessions that a load consists of where it has any: conversations of several
 * turns, synthetic or recorded, each request of which holds all that was said before. Made before
 * the run, then read-only.
 */
#ifndef VENTURI_LOAD_SESSION_PLAN_H
#define VENTURI_LOAD_SESSION_PLAN_H

#include "load/builder.h"
#include "load/conversation.h"
#include "stats/dist.h"

struct session_plan {
	/* As recorded, taken in turn; n 0: synthetic, of the workload's prompts. */
	struct conversation *conversations;
	size_t n;
	bool messages;    /* the API takes messages; else its text is all that was said */
	bool own_answers; /* histories hold what the service answered, not what was recorded */
	bool all_turns;   /* as many as were recorded */
	struct dist turns;
	bool thinks;
	struct dist think; /* ns between an answer and the next turn */
};

/*
 * What the options ask for.
 *
 * ret_plan   NULL: requests that know nothing of each other
 * errors     ERR_USAGE for options that do not go together, or not with the API
 */
bool session_plan_open(const struct load_config *config, const struct endpoint *endpoint,
        struct arena *run, struct session_plan **ret_plan, struct err *err) NODISCARD;

/* A prompt with request_frame_mark where the history goes. */
struct prompt session_plan_around(const struct session_plan *p);

/*
 * Frames for the recorded conversations, whose turns' frame is the length of the answer so far.
 *
 * errors   those of request_frames_build
 */
bool session_plan_frames(struct builder *b, struct workload *w, struct err *err) NODISCARD;

#endif
