/*
 * session.h - the sessions under way in one worker: what each has said so far, whose turn it is,
 * and who thinks until when.
 *
 * A session begins with its first request and ends with the answer to its last turn, with the first
 * request that fails, or when its history grows over a limit. While it thinks it is a place in a
 * heap, so that thousands of them cost nothing. Lengths, turns and think times follow from the seed
 * and the session's number alone, whatever thread has it. One thread per pool; the memory of all
 * pools is counted together.
 */
#ifndef VENTURI_LOAD_SESSION_H
#define VENTURI_LOAD_SESSION_H

#include "load/session_plan.h"
#include "load/shared.h"

enum {
	SESSION_KEEP_BYTES = 64 * 1024, /* of a buffer, between two uses of it */
};

/* Of all histories of a measurement; a session may end one turn over this and SESSION_HISTORY_MAX.
 */
#define SESSION_TOTAL_MAX (INT64_C(4) << 30)

enum session_state { SESSION_GOES_ON, SESSION_COMPLETED, SESSION_ABORTED, SESSION_TOO_LONG };

struct session {
	const struct workload *workload;     /* of its target */
	const struct conversation *recorded; /* NULL: synthetic */
	int target;
	int64_t number;
	int64_t turn, n_turns; /* turn is under way, or comes next; from 0 */
	bool in_window;        /* its first request was sent in it */
	struct buf history;    /* until the question of turn */
	size_t booked;         /* bytes of it in the count of all */
	int64_t answered_ns;   /* the turn before */
	int64_t due_ns;        /* of the next */
	void *place;           /* of a thinking session: the caller's */
	struct session *next;  /* of those that nobody uses */
};

struct session_pool {
	struct load_shared *shared; /* NULL: there are no sessions */
	struct session **thinking;  /* a heap, the first one due on top */
	size_t n_thinking, cap;
	struct session *unused;
	int64_t n_open;
	bool ended; /* no session begins any more */
	struct buf text;
};

/* Empty, and of no use, where the load has no sessions. */
void session_pool_init(struct session_pool *pool, struct load_shared *shared);
/* Sessions that callers hold must have ended, or think. */
void session_pool_release(struct session_pool *pool);

static inline bool session_pool_used(const struct session_pool *pool)
{
	return pool->shared != NULL;
}

/* No session begins any more: as many as were asked for have, or the caller has set ended. */
bool session_pool_ended(const struct session_pool *pool);

/* That, and none is under way either. */
bool session_pool_over(const struct session_pool *pool);

/*
 * A new session, before its first turn.
 *
 * in_window   its first request will be sent in the window
 * returns     NULL when the pool has ended
 */
struct session *session_start(struct session_pool *pool, int target, bool in_window);

/* The request of the turn, in out. */
struct str session_request(const struct session *s, struct buf *out);

/*
 * The turn was answered at now_ns: the next one is made ready, if there is one.
 *
 * answer    as history_add_answer wants it; not used where recorded answers are sent
 * cut       it was longer than what is kept
 * returns   SESSION_GOES_ON, with due_ns; SESSION_COMPLETED; SESSION_TOO_LONG
 */
enum session_state session_answer(
        struct session_pool *pool, struct session *s, struct str answer, bool cut, int64_t now_ns);

/* Gives a session back that does not think. */
void session_end(struct session_pool *pool, struct session *s);

/* The session waits for due_ns. Cost: the logarithm of how many do. */
void session_think(struct session_pool *pool, struct session *s);

/* The thinking session that is due first; NULL when none thinks. */
static inline struct session *session_first(const struct session_pool *pool)
{
	return pool->n_thinking ? pool->thinking[0] : NULL;
}

/* Takes that one out. */
void session_wake(struct session_pool *pool);

#endif
