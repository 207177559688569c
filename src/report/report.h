/*
 * report.h - the same results as terminal text, JSON and Markdown; everything is appended to a
 * buffer, cmd writes it out.
 *
 * JSON: a number or text that the schema names is always there, and null when it was not measured;
 * an object without data (a metric, "goodput", "sla", "next", whatever the schema marks with "?")
 * is left out. Text: what was not measured has no line, or a dash whose reason stands below. In
 * both, nothing absent is 0.
 */
#ifndef VENTURI_REPORT_REPORT_H
#define VENTURI_REPORT_REPORT_H

#include "base/str.h"
#include "record/diagnosis.h"
#include "record/load_run.h"

/* Schema venturi.load/1. A histogram is merged to at most 128 buckets; its counts stay exact. */
void report_load_json(const struct load_run *r, struct buf *out);
/* One screen of at most 100 columns. */
void report_load_text(const struct load_run *r, struct buf *out);

/* Schema venturi.diagnosis/1. */
void report_diagnosis_json(const struct diagnosis *d, struct buf *out);
/* One screen: verdict, curve, the first three causes with their facts, what next. */
void report_diagnosis_text(const struct diagnosis *d, struct buf *out);
/* Everything, to be read without the program. */
void report_diagnosis_markdown(const struct diagnosis *d, struct buf *out);

#endif
