/*
 * conversation.h - recorded conversations as the turns of a session: what is asked in each, and
 * what was answered.
 *
 * A turn is everything until the assistant answers a question; a question is whatever is neither
 * the assistant's nor the system's. Messages of a chat ("role") go as they are recorded to an API
 * that takes messages; ShareGPT's ("from", "value") are written anew, and those of the assistant
 * that answer nothing are left out. An API that takes text gets what was said, one a line.
 */
#ifndef VENTURI_LOAD_CONVERSATION_H
#define VENTURI_LOAD_CONVERSATION_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SESSION_TURNS_MAX = 10000,              /* of one session */
	SESSION_HISTORY_MAX = 16 * 1024 * 1024, /* bytes of one history */
};

struct turn {
	struct str asks;       /* a part of a history (history.h), in the arena */
	struct str answer;     /* likewise, as recorded; empty where there is none */
	struct str answer_raw; /* its text in the list itself, escapes unresolved */
	uint32_t frame;        /* of the workload's frames */
};

struct conversation {
	struct turn *turns;
	size_t n; /* 0: nobody asks anything */
};

/*
 * list      a JSON array of messages
 * messages  whether the API takes messages
 * errors    ERR_INPUT for wrong escapes and what is over the limits
 */
bool conversation_read(struct str list, bool messages, struct arena *run,
        struct conversation *ret_conversation, struct err *err) NODISCARD;

/* A conversation of one question. */
void conversation_of_text(
        struct str text, bool messages, struct arena *run, struct conversation *ret_conversation);

#endif
