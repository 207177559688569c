#include "record/signal.h"

#include <string.h>

const char *const signal_state_names[] = {
	[SIGNAL_MEASURED] = "measured",
	[SIGNAL_ESTIMATED] = "estimated",
	[SIGNAL_NOT_SUPPORTED] = "not_supported",
	[SIGNAL_NOT_COUNTED] = "not_counted",
};

const struct signal *signal_find(const struct signal_page *page, const char *name)
{
	for (size_t i = 0; i < page->n_signals; i++) {
		const struct signal *s = &page->signals[i];
		if (strcmp(s->name, name) == 0)
			return s->state <= SIGNAL_ESTIMATED && s->n > 0 ? s : NULL;
	}
	return NULL;
}
