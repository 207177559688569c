/*
 * analysis.h - one question put to one timeline, answered as a finding: what was seen, with its
 * figures, or why it cannot be told. One file each in analyses/; analyses.c lists them in the
 * order of the method.
 */
#ifndef VENTURI_TRACE_ANALYSIS_H
#define VENTURI_TRACE_ANALYSIS_H

#include "record/trace_run.h"
#include "trace/view/view.h"

struct analysis_limits {
	int64_t top; /* rows of a table; at least 1 */
	/* Of the device, measured by the user; 0: those of its data sheet. */
	double peak_flop_per_s, peak_bytes_per_s;
};

/* What a question is about: a file without it is not asked. */
enum analysis_of {
	ANALYSIS_OF_EVENTS,   /* things that took time; any file but one of launches alone */
	ANALYSIS_OF_NCU,      /* launches with the metrics of Nsight Compute */
	ANALYSIS_OF_COUNTERS, /* launches with other counters: rocprof */
};

struct trace_analysis {
	const char *id; /* "launch_bound" */
	/* Fills f, whose id is set; memory from run. */
	void (*analyse)(const struct trace_view *v, const struct analysis_limits *limits,
	        struct arena *run, struct trace_finding *f);
	enum analysis_of of;
};

extern const struct trace_analysis *const trace_analyses[]; /* analyses.c; NULL at the end */
bool trace_analysis_applies(const struct trace_analysis *a, const struct timeline *t);

/* Helpers to fill a finding; text is the run's or static. */
void finding_found(struct trace_finding *f, double share_ratio, char *text, const char *advice);
void finding_clear(struct trace_finding *f, char *text);
void finding_abstain(struct trace_finding *f, const char *reason);
/* Appends a fact; name, unit and source are static. */
void finding_fact(struct trace_finding *f, struct arena *run, const char *name, double value,
        const char *unit, int64_t n, const char *source);
/* The same against an anchor. */
void finding_fact_anchor(struct trace_finding *f, struct arena *run, const char *name, double value,
        const char *unit, double threshold, int64_t n, const char *source);
/* The same for what was not measured, but follows from what was by an assumption. */
void finding_fact_estimated(struct trace_finding *f, struct arena *run, const char *name,
        double value, const char *unit, int64_t n, const char *source);
/* One that cannot be had, with the reason. */
void finding_fact_absent(struct trace_finding *f, struct arena *run, const char *name,
        const char *unit, const char *reason);

/* A table of a finding: columns first, then cells row by row. */
struct trace_table *finding_table(struct trace_finding *f, struct arena *run, const char *name);
void table_column(struct trace_table *t, struct arena *run, const char *name, const char *unit);
void table_text(struct trace_table *t, struct arena *run, struct str text);
void table_number(struct trace_table *t, struct arena *run, double value);

#endif
