/*
 * checks.h - the questions of the self-check, each a row of one table, and what follows from their
 * answers. Numbers in, verdict out: nothing is measured here, so a run written down by hand gives
 * the same verdict as one that was made.
 *
 * What is decidable, and by what:
 * - counts that contradict each other make a run invalid, whatever else it says;
 * - a limit of the client's own machine, sends that were left out, and delays of the client that
 *   are the larger part of a figure are the client's by definition;
 * - a full thread, late sends, answers that waited in the client and unread bytes are suspicions.
 *   The ceiling and a second generator decide them: a low ceiling, or clearly more throughput from
 *   two halves than from one whole, says that the client was the limit.
 * - Neither can clear a client whose machine is full, since the second generator shares that
 *   machine; nor can the ceiling clear one that reads streams, since the null responder sends none.
 *   There the verdict stays unknown.
 * - With kernel stamps a client that reads late does not spoil latencies, so the rows that say why
 *   it reads late only explain; without stamps (TLS) they are suspicions themselves.
 */
#ifndef VENTURI_LOAD_CHECKS_H
#define VENTURI_LOAD_CHECKS_H

#include "base/arena.h"
#include "load/load.h"
#include "record/load_run.h"

/* Fills client.checks from the other figures of the run. */
void checks_fill(const struct load_shape *shape, struct arena *run, struct load_run *r);

/* Client.verdict and .why from client.checks. */
void checks_judge(struct load_run *r);

/* What would decide a suspicion that the checks leave. */
enum checks_next { CHECKS_DONE, CHECKS_NEED_CEILING, CHECKS_NEED_SECOND };

/* has_ceiling: it was measured, or it was tried in vain */
enum checks_next checks_next(const struct load_run *r, bool has_ceiling);

#endif
