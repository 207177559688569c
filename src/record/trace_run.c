#include "record/trace_run.h"

const char *const trace_finding_state_names[] = { "found", "clear", "abstained" };
