/*
 * The list of analyses, in the order in which a person should hear of them.
 */
#include "trace/analysis.h"

const struct trace_analysis *const trace_analyses[] = {
	NULL,
};
