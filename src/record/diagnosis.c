#include "record/diagnosis.h"

#include "base/attr.h"

#include <assert.h>
#include <stddef.h>

static const char *const verdict_names[] = {
	[VERDICT_HEALTHY] = "healthy",
	[VERDICT_BOTTLENECK] = "bottleneck",
	[VERDICT_INVALID] = "invalid_measurement",
	[VERDICT_INCONCLUSIVE] = "inconclusive",
};

static const char *const slow_kind_names[] = {
	[SLOW_ALONE] = "slow_alone",
	[SLOW_UNDER_LOAD] = "slow_under_load",
	[SLOW_THROUGHPUT_STUCK] = "throughput_stuck",
	[SLOW_HEALTHY] = "healthy",
	[SLOW_UNKNOWN] = NULL,
};

static const char *const cause_state_names[] = {
	[CAUSE_CONFIRMED] = "confirmed",
	[CAUSE_PROBABLE] = "probable",
	[CAUSE_EXCLUDED] = "excluded",
	[CAUSE_NOT_EXAMINED] = "not_examined",
};

const char *verdict_name(enum verdict v)
{
	assert((size_t)v < ARRAY_LEN(verdict_names));
	return verdict_names[v];
}

const char *slow_kind_name(enum slow_kind k)
{
	assert((size_t)k < ARRAY_LEN(slow_kind_names));
	return slow_kind_names[k];
}

const char *cause_state_name(enum cause_state s)
{
	assert((size_t)s < ARRAY_LEN(cause_state_names));
	return cause_state_names[s];
}
