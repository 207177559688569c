/*
 * device_of.h - what is known of the device that a view's work ran on, for the analyses.
 */
#ifndef VENTURI_TRACE_ANALYSES_DEVICE_OF_H
#define VENTURI_TRACE_ANALYSES_DEVICE_OF_H

#include "trace/view/view.h"

/*
 * Where devices were masked, kernels name a number that the list of devices does not have: then
 * the list is used when all in it are alike. NULL: not told.
 */
static inline const struct device_info *device_of(
        const struct trace_view *v, const struct device_view *d)
{
	const struct timeline *t = v->t;
	if (d->info)
		return d->info;
	for (size_t i = 1; i < t->n_devices; i++)
		if (t->devices[i].n_sm != t->devices[0].n_sm ||
		        t->devices[i].name != t->devices[0].name)
			return NULL;
	return t->n_devices ? &t->devices[0] : NULL;
}

#endif
