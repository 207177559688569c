/*
 * measures.h - what several analyses measure: sums over the devices, exposed time, shares.
 *
 * Device time is the sum over the devices of a timeline of the time from the first start of a
 * device's work to its last end. With one device it is wall time.
 */
#ifndef VENTURI_TRACE_ANALYSES_MEASURES_H
#define VENTURI_TRACE_ANALYSES_MEASURES_H

#include "trace/analysis.h"

/*
 * A share of time below this could not be seen if it went away altogether.
 *
 * Source: causes.md, "beyond noise" is at least 5 %.
 */
#define MEASURES_NOISE_RATIO 0.05

struct device_sums {
	size_t n_devices;
	size_t n_work, n_kernels, n_gaps;
	int64_t span_ns; /* device time */
	int64_t busy_ns, kernel_ns;
	int64_t gap_ns[N_GAP_CAUSES];
	size_t gaps[N_GAP_CAUSES];
	int64_t sync_host_ns; /* of GAP_SYNC: until the host began to launch again */
	int64_t longest_gap_ns;
	int64_t idle_ns; /* all gaps: span - busy */
};
struct device_sums device_sums_of(const struct trace_view *v);

/* Device time for a sentence: "1.08 s", or "364 s (4 devices together)". */
const char *device_time_text(const struct device_sums *s, struct arena *run);
/* The same for any other time: "551 ms". */
const char *time_text(double ns, struct arena *run);

/* part / whole; NAN when whole is not above 0. */
double ratio_of(int64_t part, int64_t whole);

/* sorted[(n - 1) / 2]; reorders v; NAN when n is 0. */
double median_of(int64_t *v, size_t n);

/* Whether an event of GROUP_DEVICE is meant. */
typedef bool device_filter(const struct trace_view *v, uint32_t device_event);
bool is_communication(const struct trace_view *v, uint32_t device_event);
bool is_other_kernel(const struct trace_view *v, uint32_t device_event); /* not communication */
/* A copy between host and device, either way. */
bool is_host_copy(const struct trace_view *v, uint32_t device_event);

/* The union of the work of a device that is meant. */
struct intervals union_of(const struct trace_view *v, const struct device_view *d,
        device_filter *wanted, struct arena *tmp);
/* How much of a lies outside of cover. */
int64_t exposed_ns(struct intervals a, struct intervals cover);
/* Over all devices: how much of the wanted work runs while none of the other does. */
int64_t exposed_work_ns(const struct trace_view *v, device_filter *wanted, device_filter *other);

/* A name counted: how often and how long. */
struct name_sum {
	uint32_t name; /* NONE32: none */
	size_t n;
	int64_t ns;
};
/*
 * Joins equal names in place and puts the longest first; equal ones by name.
 *
 * returns  how many are left
 */
size_t name_sums_join(const struct timeline *t, struct name_sum *v, size_t n);

/* The name of an event of a list, empty for NONE32. */
struct str name_at(const struct timeline *t, enum event_group group, uint32_t index);

#endif
