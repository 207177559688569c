#include "record/fact.h"

#include "base/attr.h"

#include <assert.h>
#include <stddef.h>

static const char *const names[] = {
	[FACT_MEASURED] = "measured",
	[FACT_ESTIMATED] = "estimated",
	[FACT_NOT_SUPPORTED] = "not_supported",
	[FACT_NOT_COUNTED] = "not_counted",
};

const char *fact_state_name(enum fact_state state)
{
	assert((size_t)state < ARRAY_LEN(names));
	return names[state];
}
