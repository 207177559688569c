/*
 * report.h - the same results as terminal text, JSON and Markdown; everything is appended to a
 * buffer, cmd writes it out.
 */
#ifndef VENTURI_REPORT_REPORT_H
#define VENTURI_REPORT_REPORT_H

#include "base/str.h"
#include "record/diagnosis.h"
#include "record/load_run.h"
#include "text/json.h"

/* schema venturi.load/1 */
void report_load_json(const struct load_run *r, struct buf *out);
void report_load_text(const struct load_run *r, struct buf *out);

/* schema venturi.diagnosis/1 */
void report_diagnosis_json(const struct diagnosis *d, struct buf *out);
/* One screen: verdict, first causes with their facts, what next. */
void report_diagnosis_text(const struct diagnosis *d, struct buf *out);
void report_diagnosis_markdown(const struct diagnosis *d, struct buf *out);

#endif
