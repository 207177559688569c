/*
 * trace_facts.h - causes that a profiler's trace bears on: what its findings say of them.
 */
#ifndef VENTURI_DIAGNOSE_TRACE_FACTS_H
#define VENTURI_DIAGNOSE_TRACE_FACTS_H

#include "diagnose/cause.h"

/*
 * An examine function for every cause that has a row in trace_facts.c.
 *
 * Cites the facts of the trace's finding. The cause is probable when the deciding fact reaches the
 * threshold that the finding holds it against, and excluded when what it could give at most is
 * below noise. Without a trace, or where the trace abstains, it stays not examined; its reason is
 * then the trace's.
 */
void examine_by_trace(struct examination *x);

#endif
