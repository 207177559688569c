/*
 * perf_pmu.h - a processor's own events by the names that the kernel gives them in sysfs.
 *
 * Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
 */
#ifndef VENTURI_WATCH_PERF_PMU_H
#define VENTURI_WATCH_PERF_PMU_H

#include "base/attr.h"
#include "base/str.h"

#include <linux/perf_event.h>
#include <stdbool.h>

/*
 * Puts value where a format says: "config:0-7,32-35" or "config1:3". Its low bits go to the range
 * that is named first.
 *
 * returns  false: the format is something else, or the value has more bits; attr may have changed
 */
bool perf_pmu_place(struct perf_event_attr *attr, struct str format, uint64_t value) NODISCARD;

/*
 * Type and configuration of the event NAME of the processor's PMU: "event=0x00,umask=0x4".
 *
 * root     as in watch_config
 * returns  false: errno is ENOENT, there is no such event; or EINVAL, it was not understood
 */
bool perf_pmu_find(const char *root, const char *name, struct perf_event_attr *attr) NODISCARD;

#endif
