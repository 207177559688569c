/*
 * device.h - what can be told of an accelerator, whichever library tells it, and the sheets on
 * which the libraries' answers wait for the sampler.
 *
 * gpu.c has a thread of its own that asks the libraries (nvml.c, amd.c): a call may block for tens
 * of milliseconds, and in a driver in trouble for ever. What it hears it writes to the sheet of the
 * device, at once and with its time; the sampler's thread carries what is new from there to the
 * board. A sheet has one cell per signal.
 *
 * Always: writing and carrying take the sheets' lock, for less than a microsecond a cell. Memory is
 * taken when a device appears, not per sample.
 */
#ifndef VENTURI_WATCH_DEVICE_H
#define VENTURI_WATCH_DEVICE_H

#include "watch/board.h"

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of device_rows[]. */
enum device_signal {
	DEVICE_NAME,
	DEVICE_UUID,
	DEVICE_PCI,
	DEVICE_NUMA_NODE,
	DEVICE_CPUS,
	DEVICE_UTIL,
	DEVICE_MEMORY_UTIL,
	DEVICE_ENCODER_UTIL,
	DEVICE_DECODER_UTIL,
	DEVICE_MEMORY_USED,
	DEVICE_MEMORY_FREE,
	DEVICE_MEMORY_TOTAL,
	DEVICE_MEMORY_RESERVED,
	DEVICE_PROCESSES,
	DEVICE_PROCESSES_OWN,
	DEVICE_PROCESSES_OTHER,
	DEVICE_MEMORY_OWN,
	DEVICE_MEMORY_OTHER,
	DEVICE_UTIL_OWN,
	DEVICE_UTIL_OTHER,
	DEVICE_CLOCK_SM,
	DEVICE_CLOCK_GRAPHICS,
	DEVICE_CLOCK_MEMORY,
	DEVICE_CLOCK_SM_MAX,
	DEVICE_CLOCK_GRAPHICS_MAX,
	DEVICE_CLOCK_MEMORY_MAX,
	DEVICE_CLOCK_GRAPHICS_APP,
	DEVICE_CLOCK_MEMORY_APP,
	DEVICE_THROTTLE_REASONS,
	DEVICE_THROTTLE_IDLE,
	DEVICE_THROTTLE_APP_CLOCKS,
	DEVICE_THROTTLE_POWER_CAP,
	DEVICE_THROTTLE_HW_SLOWDOWN,
	DEVICE_THROTTLE_SYNC_BOOST,
	DEVICE_THROTTLE_SW_THERMAL,
	DEVICE_THROTTLE_HW_THERMAL,
	DEVICE_THROTTLE_POWER_BRAKE,
	DEVICE_THROTTLE_DISPLAY,
	DEVICE_HELD_POWER,
	DEVICE_HELD_THERMAL,
	DEVICE_HELD_SYNC_BOOST,
	DEVICE_HELD_BOARD_LIMIT,
	DEVICE_HELD_RELIABILITY,
	DEVICE_POWER,
	DEVICE_POWER_LIMIT,
	DEVICE_POWER_LIMIT_DEFAULT,
	DEVICE_ENERGY,
	DEVICE_TEMPERATURE,
	DEVICE_TEMPERATURE_HOTSPOT,
	DEVICE_TEMPERATURE_MEMORY,
	DEVICE_TEMPERATURE_SLOWDOWN,
	DEVICE_FAN,
	DEVICE_PCIE_GENERATION,
	DEVICE_PCIE_GENERATION_MAX,
	DEVICE_PCIE_WIDTH,
	DEVICE_PCIE_WIDTH_MAX,
	DEVICE_PCIE_TX,
	DEVICE_PCIE_RX,
	DEVICE_PCIE_REPLAYS,
	DEVICE_LINKS,
	DEVICE_LINKS_ACTIVE,
	DEVICE_LINK_TX,
	DEVICE_LINK_RX,
	DEVICE_LINK_ERRORS,
	DEVICE_ECC_CORRECTED,
	DEVICE_ECC_UNCORRECTED,
	DEVICE_ECC_CORRECTED_EVER,
	DEVICE_ECC_UNCORRECTED_EVER,
	DEVICE_PAGES_RETIRED,
	DEVICE_PAGES_PENDING,
	DEVICE_ROWS_REMAPPED,
	DEVICE_ROWS_PENDING,
	DEVICE_ROWS_FAILED,
	DEVICE_PERSISTENCE,
	DEVICE_COMPUTE_MODE,
	DEVICE_MIG_MODE,
	DEVICE_GRAPHICS_ACTIVE,
	DEVICE_SM_ACTIVE,
	DEVICE_SM_OCCUPANCY,
	DEVICE_TENSOR_ACTIVE,
	DEVICE_FP64_ACTIVE,
	DEVICE_FP32_ACTIVE,
	DEVICE_FP16_ACTIVE,
	DEVICE_INTEGER_ACTIVE,
	DEVICE_DRAM_ACTIVE,
	DEVICE_DRIVER,    /* of a library, "nvml" */
	DEVICE_WATCH_CPU, /* of the thread that asks */
	DEVICE_WATCH_ROUND,
	DEVICE_N_SIGNALS,
};

extern const struct watch_row device_rows[DEVICE_N_SIGNALS];

enum { DEVICE_MAX = 128, DEVICE_INSTANCE_BYTES = 32 };

struct device;
struct device_sheets;

struct device_sheets *device_sheets_new(void);
void device_sheets_free(struct device_sheets *s);
/* The sheet of an instance, "0", "0/mig1"; a new one when there is none; NULL: DEVICE_MAX. */
struct device *device_of(struct device_sheets *s, const char *instance);

/*
 * What was heard just now. from is the function that said it, and lasts; NULL d is allowed.
 *
 * value   in the unit of the row, of a gauge
 * total   of a rate: what the counter stands at, in its own unit (see the row's scale)
 * growth  of a gauge whose unit is something per second: the counter, one of which is scale of it;
 *         the first look makes no value, nor does one that went back
 */
void device_value(struct device *d, enum device_signal s, const char *from, double value);
void device_total(struct device *d, enum device_signal s, const char *from, uint64_t total);
void device_growth(
        struct device *d, enum device_signal s, const char *from, uint64_t total, double scale);
void device_text(struct device *d, enum device_signal s, const char *from, const char *text);
/* The reason is kept as a copy; see channel_absent. */
void device_absent(
        struct device *d, enum device_signal s, enum signal_state state, const char *reason);
/* All that was told of the device and is not of a kind that nobody tells here. */
void device_gone(struct device *d, const char *reason);

/*
 * For the sampler's thread: what is new goes to the board, at the time of its hearing, which is not
 * before not_before_ns on the board's clock.
 */
void device_carry(struct device_sheets *s, struct board *board, int64_t not_before_ns);
/* All that was told is new again: a window began, or the thread answers again. */
void device_renew(struct device_sheets *s);
/* No answers any more: every channel says why. */
void device_silent(struct device_sheets *s, struct board *board, const char *reason);

#endif
