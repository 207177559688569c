/*
 * cause.h - the catalogue: every cause that a diagnosis can name, as one row of a table.
 *
 * The rows stand in the order in which causes are to be suspected and cured: measurement (M), data
 * pipeline (D), batching (B), memory (R), system (S), operators (O), limits (A). Every cause of
 * the catalogue appears once in every diagnosis; a row without an examine function is reported as
 * not examined, with what it would take.
 */
#ifndef VENTURI_DIAGNOSE_CAUSE_H
#define VENTURI_DIAGNOSE_CAUSE_H

#include "diagnose/evidence.h"
#include "record/diagnosis.h"

#include <stddef.h>

enum { CAUSE_COUNT = 63 };

/* What an examine function reads, and the finding that it fills. */
struct examination {
	const struct evidence *evidence;
	const struct figures *figures;
	struct arena *run;
	struct cause_finding *finding; /* comes as not_examined, with the row's texts in it */
	double throughput_gain;        /* new / old, for the ranking; comes as 1 */
};

/* What a cause spoils; it decides which can be named for which kind of slow. */
enum cause_acts {
	ACTS_UNDER_LOAD, /* shows only with several requests at once */
	ACTS_ALONE,      /* slows one request alone, and so every load */
	ACTS_ASIDE,      /* no figure of steady work */
	ACTS_ON_FIGURES, /* confirmed, it makes the measured figures void */
};

struct cause {
	const char *id;   /* never translated */
	const char *name; /* N_() */
	char layer;       /* C client, S system, F framework, O operator, A algorithm */
	enum cause_acts acts;
	const char *check;                      /* N_(): the signal that makes it probable */
	const char *needs;                      /* N_(): what has to be measured for it */
	const char *experiment;                 /* N_(): the one change that decides */
	const char *fix;                        /* N_() */
	const char *gain;                       /* gain rule, "G1" to "G15", or "measured" */
	void (*examine)(struct examination *x); /* NULL: load alone says nothing about it */
};

/* The causes of one letter, in catalogue order. */
struct cause_group {
	char letter;
	const struct cause *causes;
	size_t n;
};

extern const struct cause_group cause_group_measurement;
extern const struct cause_group cause_group_pipeline;
extern const struct cause_group cause_group_batching;
extern const struct cause_group cause_group_memory;
extern const struct cause_group cause_group_system;
extern const struct cause_group cause_group_operators;
extern const struct cause_group cause_group_limits;

/* Causes by their place in the catalogue, 0 to CAUSE_COUNT - 1; NULL beyond. */
const struct cause *cause_at(size_t i);
const struct cause *cause_by_id(const char *id);
/* The letter of the group that holds the i-th cause. */
char cause_letter_at(size_t i);
/* "client", "system", "framework", "operator", "algorithm" */
const char *cause_layer_name(char layer);

/*
 * Holds every cause against the evidence.
 *
 * findings  CAUSE_COUNT of them, in catalogue order
 * gains     CAUSE_COUNT predicted ratios of throughput, 1 where none is promised
 */
void causes_examine(const struct evidence *ev, const struct figures *fig, struct arena *run,
        struct cause_finding *findings, double *gains);

#endif
