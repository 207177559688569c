/*
 * finding.h - how an examine function writes down what it saw and what it concludes.
 */
#ifndef VENTURI_DIAGNOSE_FINDING_H
#define VENTURI_DIAGNOSE_FINDING_H

#include "diagnose/anchors.h"
#include "diagnose/cause.h"

enum { NO_ANCHOR = -1 };

/*
 * Adds a measured fact; a value that is NAN is left out.
 *
 * anchor_or  an enum anchor_id whose value is the threshold, or NO_ANCHOR
 * r          the run that it was read from, or NULL for figures over several runs
 * n          samples behind it; 0 when that has no meaning
 */
void finding_add(struct examination *x, const char *name, double value, const char *unit,
        int anchor_or, const struct load_run *r, int64_t n);

/* The same for the outcome of interleaved pairs; the threshold is the noise around 1. */
void finding_effect(struct examination *x, const char *name, const struct effect *e);

/* The same for a fact that somebody else measured, with its own threshold. */
void finding_cite(struct examination *x, const struct fact *fact, const char *source);

/* Sets the state and why; fmt comes translated. */
void finding_conclude(struct examination *x, enum cause_state state, const char *fmt, ...)
        PRINTF(3, 4);

/* Not examined, for a reason that is nearer than the row's own. */
void finding_needs(struct examination *x, const char *needs);

/* An interval, written before any experiment. */
void finding_predict(struct examination *x, const char *metric, double low, double high,
        const char *unit, const char *rule);

#endif
