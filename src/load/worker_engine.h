/*
 * worker_engine.h - what the files of a worker share, and nobody else: the state of its thread and
 * the way of a request through it.
 *
 *   worker_slots.c    connections, and which target gets the next request
 *   worker_send.c     a request begins
 *   worker_receive.c  what its socket says
 *   worker_finish.c   it ends, and what comes next in its place
 *   worker.c          the thread: what is due when
 */
#ifndef VENTURI_LOAD_WORKER_ENGINE_H
#define VENTURI_LOAD_WORKER_ENGINE_H

#include "load/session.h"
#include "load/session_counts.h"
#include "load/worker.h"
#include "net/conn.h"
#include "net/loop.h"

enum slot_state {
	SLOT_IDLE,    /* no request; in a closed loop its session may think */
	SLOT_BUSY,    /* a request is under way */
	SLOT_PAUSED,  /* the connection failed; tries again after a pause */
};

/* One connection and the request on it. */
struct slot {
	struct conn conn;
	struct exchange x;
	enum slot_state state;
	struct session *session; /* whose turn it is; NULL: none, or single requests */
	struct str request;
	struct str out;      /* what is left of it to send */
	struct buf written;  /* the request, where it is made for this slot */
	int64_t arrival;     /* open loop: number of the request among the planned ones */
	int64_t connect_ns;  /* when the connection under way was started */
	int64_t index;       /* among the slots of the thread */
	int64_t answers;     /* on this connection */
	int64_t read_bytes;  /* likewise */
	bool is_new;         /* had no connection yet */
	int64_t connection;  /* its number among those of the thread, from 1; 0: none yet */
	bool restamp;        /* the connection was made for the run, not for this request */
	bool retried;
	bool streaming;      /* between first and last token */
	bool served;         /* got an answer inside the window */
	bool got_bytes;      /* of the answer under way */
	int64_t resume_ns;   /* SLOT_PAUSED: when to go on */
	struct slot *prev, *next; /* busy: by time of sending; idle, paused: next only */
};

struct slot_list {
	struct slot *first, *last;
};

enum {
	ENGINE_READ_BYTES = 256 * 1024,
	ENGINE_SLOT_CHUNK = 64, /* slots are made so many at a time */
};

/* What belongs to the thread alone. */
struct engine {
	struct worker *w;
	struct load_shared *shared;
	struct load_counts *counts;
	struct recorder_lane *lane; /* NULL: no records */
	struct loop loop;
	struct slot **chunks;
	int64_t n_chunks, n_slots;
	int64_t n_connections; /* since the start */
	struct slot_list busy; /* oldest first */
	struct slot_list paused;
	struct slot *idle[LOAD_TARGETS_MAX]; /* of each target */
	int64_t n_taken;      /* slots that are not idle */
	int next_target;
	struct session_pool sessions;
	int64_t n_stale[LOAD_TARGETS_MAX]; /* connections kept in vain since one was used again */
	struct arrival arrival;
	int64_t next_due_ns;   /* INT64_MAX: no request is left */
	int64_t next_arrival;  /* its number in the whole process */
	int64_t full_ns;       /* when a due request last found no room below the cap */
	int64_t realtime_offset_ns; /* realtime clock - monotonic clock */
	int64_t offset_read_ns;
	bool exhausted; /* no request is left to send */
	bool cpu_started, cpu_stopped;
	int64_t cpu_start_ns, wall_start_ns;
	char *input;
};

/* ---- worker_slots.c ---- */

void slot_list_add(struct slot_list *list, struct slot *s);
void slot_list_remove(struct slot_list *list, struct slot *s);

/* A slot, and with it a connection, for one more request: to the target whose turn it is, or one. */
struct slot *engine_take_slot(struct engine *e);
struct slot *engine_take_slot_at(struct engine *e, int target);
void engine_put_idle(struct engine *e, struct slot *s);

/* Open loop: takes the room of one more request under way, where there is some; put_idle frees it. */
bool engine_take_room(struct engine *e);

void engine_close(struct engine *e, struct slot *s);

/* ---- worker_send.c ---- */

/* Closed loop: planned_ns is when the slot came free. Open loop: when the request is due. */
void engine_dispatch(struct engine *e, struct slot *s, int64_t planned_ns);

/* Sends what the socket takes; false when the connection broke (and was dealt with). */
bool engine_send(struct engine *e, struct slot *s);

/* Sends again what a connection that had been used before could not; false: it must not. */
bool engine_retry(struct engine *e, struct slot *s);

/* ---- worker_receive.c ---- */

void engine_on_event(struct engine *e, struct slot *s, uint32_t events);

/* ---- worker_finish.c ---- */

/* The answer is complete; clean when nothing came behind it. */
void engine_complete(struct engine *e, struct slot *s, int64_t now_ns, bool clean);
void engine_fail(struct engine *e, struct slot *s, enum load_failure kind, const char *why,
	int64_t now_ns, bool keep_connection);

/* The answer broke off; result is CONN_OK when the bytes were the fault, not the connection. */
void engine_cut(struct engine *e, struct slot *s, enum conn_result result);

/* The slot has nothing to do; in a closed loop its place is taken by the next request at once. */
void engine_next_request(struct engine *e, struct slot *s, int64_t free_ns);
void engine_keep_record(struct engine *e, const struct slot *s, int outcome, int64_t end_ns);

#endif
