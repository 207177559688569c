/*
 * words.h - what a diagnosis says in whole sentences: summary, warnings, the next step.
 */
#ifndef VENTURI_DIAGNOSE_WORDS_H
#define VENTURI_DIAGNOSE_WORDS_H

#include "diagnose/evidence.h"
#include "record/diagnosis.h"

/* Both want verdict, kind and ranked causes in d; knee as judge_knee returns it. */
const char *words_summary(const struct evidence *ev, const struct figures *fig,
        const struct load_run *knee, struct arena *run, const struct diagnosis *d);
void words_next(const struct evidence *ev, const struct figures *fig, const struct load_run *knee,
        struct arena *run, struct diagnosis *d);
void words_warnings(const struct evidence *ev, struct arena *run, struct diagnosis *d);

#endif
