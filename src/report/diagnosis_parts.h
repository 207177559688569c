/*
 * diagnosis_parts.h - the sentences and the table of a diagnosis that its text and its Markdown
 * share, in the user's language. Texts live in tmp.
 */
#ifndef VENTURI_REPORT_DIAGNOSIS_PARTS_H
#define VENTURI_REPORT_DIAGNOSIS_PARTS_H

#include "record/diagnosis.h"
#include "report/layout.h"
#include "text/table.h"

/* The state of a cause, and its layer, as a person says them. */
const char *diagnosis_state(enum cause_state state);
const char *diagnosis_layer(const char *layer);

/* Target, verdict, kind and SLA: what the first lines say. */
void diagnosis_head(const struct diagnosis *d, struct fields *f);

/* The measured curve; columns without any value are left out. */
void diagnosis_curve(const struct diagnosis *d, struct arena *tmp, struct table *t);

/* What the machine and the service's own counters showed under the load in use; may add nothing. */
void diagnosis_beside(const struct diagnosis *d, struct fields *f);

/* One fact with its value, anchor, source and number of samples, or the reason it has no value. */
const char *diagnosis_fact(const struct fact *f, struct arena *tmp);

/* What the cause rests on and what to do about it: all but its facts. */
void diagnosis_cause(const struct cause_finding *c, struct fields *f);

/* The next experiment; adds nothing when there is none. */
void diagnosis_next(const struct next_step *next, struct fields *f);

int diagnosis_count(const struct diagnosis *d, enum cause_state state);

#endif
