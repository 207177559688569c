/*
 * session_counts.h - what one worker counts of its sessions: how they ended, how long they thought,
 * and the times of each turn apart, so that the first can be compared with those whose beginning
 * the service has seen. One writer, its thread; merged by session_counts_merge when it has ended.
 */
#ifndef VENTURI_LOAD_SESSION_COUNTS_H
#define VENTURI_LOAD_SESSION_COUNTS_H

#include "load/exchange.h"
#include "load/session.h"
#include "record/load_run.h"

/* Sessions by when their first request was sent, turns by when their own was. */
struct session_counts {
	int64_t warmup;
	int64_t started, completed, aborted, too_long;
	int64_t completed_turns; /* of those that completed */
	int64_t history_bytes_max;
	struct hist think; /* from the end of an answer until the next turn was sent */
	struct session_turn_counts {
		struct hist ttft, latency;
		int64_t n_with_input, input_tokens;
	} turns[LOAD_TURNS_SHOWN];
};

void session_counts_init(struct session_counts *c, struct arena *run);

/* A request of the session has just begun. */
void session_counts_sent(
        struct session_counts *c, const struct session *s, const struct exchange *x);

/* The session's request was good, which ended at now_ns; before session_answer. */
void session_counts_turn(struct session_counts *c, const struct session *s,
        const struct exchange *x, int64_t now_ns);

/* The session has ended; state is not SESSION_GOES_ON. */
void session_counts_end(
        struct session_counts *c, const struct session *s, enum session_state state);

/* Adds what a worker counted; to begins zeroed, its histograms with memory. */
void session_counts_merge(struct session_counts *to, const struct session_counts *from);

/* The figures of a run. */
struct load_sessions *session_counts_figures(const struct session_counts *c, struct arena *run);

#endif
