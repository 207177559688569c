/*
 * device_peaks.h - what devices can do at most, as their makers say: arithmetic by type, without
 * sparsity, and bandwidth of their memory.
 *
 * A measured peak is better than a data sheet's: a device that is capped or slowed reaches less, so
 * a share of these peaks is a lower bound of how well it was used.
 */
#ifndef VENTURI_TRACE_DEVICE_PEAKS_H
#define VENTURI_TRACE_DEVICE_PEAKS_H

#include "trace/work/shapes.h"
#include "trace/timeline/timeline.h"

struct device_peaks {
	const char *name;   /* of the row: "H100 SXM" */
	const char *source; /* "NVIDIA H100 data sheet" */
	double bytes_per_s;
	double flop_per_s[N_ELEMENT_TYPES]; /* 0: not known for this type */
};

/*
 * By the device's name and memory; where the name says nothing, by its multiprocessors and memory.
 *
 * returns  false for a device that is not in the table, or where two rows fit that differ
 */
bool device_peaks_of(
        const struct timeline *t, const struct device_info *info, struct device_peaks *ret);

/* The same from what is known of a device; -1 is not told. is_amd matters without a name only. */
bool device_peaks_find(
        struct str name, int64_t n_sm, int64_t memory_bytes, bool is_amd, struct device_peaks *ret);

#endif
