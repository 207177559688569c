/*
 * judge.h - from evidence to the diagnosis: verdict, kind of slow, ranked causes, next step.
 *
 * Nothing is measured here; the same evidence gives the same diagnosis.
 */
#ifndef VENTURI_DIAGNOSE_JUDGE_H
#define VENTURI_DIAGNOSE_JUDGE_H

#include "diagnose/evidence.h"
#include "record/diagnosis.h"

/* evidence must outlive nothing: what the diagnosis keeps of it lives in the arena. */
void judge(const struct evidence *ev, struct arena *run, struct diagnosis *ret);

/*
 * Order of causes: by state (confirmed, probable, excluded, not examined); confirmed and probable
 * ones by predicted gain in throughput, those that touch no steady figure last; then in catalogue
 * order, which is that of cure.
 *
 * gains  CAUSE_COUNT ratios; reordered along with the findings
 */
void judge_rank(struct cause_finding *findings, double *gains);

/* The last point of the curve at which the target is met (or throughput still grows), or NULL. */
const struct load_run *judge_knee(const struct evidence *ev, struct arena *tmp);

#endif
