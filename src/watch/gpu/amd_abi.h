/*
 * amd_abi.h - as much of the binary interfaces of AMD-SMI and ROCm-SMI as amd*.c uses, in our own
 * words: nothing of AMD's is needed to build.
 *
 * ROCm-SMI knows a device by its number, AMD-SMI by a handle; most functions are alike apart from
 * that. All return a code, 0 for success. AMD-SMI's structs change from release to release: only
 * those are used whose beginning does not, and they are read from a buffer with room for longer
 * ones.
 *
 * Source: the public headers of ROCm 5.0 to 6.2 (rocm_smi.h, amdsmi.h), and what is known of
 * ROCm 7; gpu_metrics: the kernel's kgd_pp_interface.h and amdgpu_smu.h.
 */
#ifndef VENTURI_WATCH_AMD_ABI_H
#define VENTURI_WATCH_AMD_ABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two libraries number the same things differently. */
enum rsmi_code {
	RSMI_OK = 0,
	RSMI_INVALID_ARGUMENT = 1,
	RSMI_NOT_SUPPORTED = 2,
	RSMI_FILE_ERROR = 3,
	RSMI_NO_PERMISSION = 4,
	RSMI_NOT_IMPLEMENTED = 9,
	RSMI_NOT_FOUND = 10,
};

enum amdsmi_code {
	AMDSMI_OK = 0,
	AMDSMI_INVALID_ARGUMENT = 1,
	AMDSMI_NOT_SUPPORTED = 2,
	AMDSMI_NOT_IMPLEMENTED = 3,
	AMDSMI_DRM_ERROR = 6,
	AMDSMI_NO_PERMISSION = 10,
	AMDSMI_IO = 12,
	AMDSMI_FILE_ERROR = 14,
	AMDSMI_NOT_FOUND = 31,
	AMDSMI_NOT_INITIALIZED = 32,
	AMDSMI_DRIVER_NOT_LOADED = 34,
	AMDSMI_FILE_NOT_FOUND = 52,
};

enum { AMDSMI_INIT_GPUS = 1 << 1 };

/* The same in both. */
enum amd_clock { AMD_CLOCK_SYSTEM = 0, AMD_CLOCK_MEMORY = 4 };
enum amd_memory { AMD_MEMORY_VRAM = 0 };
enum amd_sensor { AMD_SENSOR_EDGE = 0, AMD_SENSOR_HOTSPOT = 1, AMD_SENSOR_MEMORY = 2 };
enum amd_temperature { AMD_TEMPERATURE_NOW = 0, AMD_TEMPERATURE_CRITICAL = 5 };
enum { AMD_FAN_MAX = 255 };

/* Bits of rsmi_dev_ecc_count_get: the blocks of the device that count errors. */
enum { RSMI_BLOCKS = 14 };

enum { AMD_FREQUENCIES_MAX = 33 };

/* Hz for clocks, transfers/s for links; the valid ones come first. */
struct amd_frequencies {
	bool has_deep_sleep;
	uint32_t n, current;
	uint64_t hz[AMD_FREQUENCIES_MAX];
};

/* As ROCm-SMI had them before ROCm 6. */
struct rsmi_frequencies_old {
	uint32_t n, current;
	uint64_t hz[AMD_FREQUENCIES_MAX - 1];
};

struct amd_links {
	struct amd_frequencies rates;
	uint32_t lanes[AMD_FREQUENCIES_MAX];
};

struct rsmi_links_old {
	struct rsmi_frequencies_old rates;
	uint32_t lanes[AMD_FREQUENCIES_MAX - 1];
};

struct amd_errors {
	uint64_t corrected, uncorrected; /* AMD-SMI has more behind them */
};

struct rsmi_version {
	uint32_t major, minor, patch;
	const char *build;
};

struct amdsmi_activity { /* percent; all bits set: unknown */
	uint32_t graphics, memory, media;
};

struct amdsmi_caps { /* uW */
	uint64_t cap, cap_default;
};

/* Longer than any struct of AMD-SMI that is read from its beginning. */
enum { AMDSMI_STRUCT_BYTES = 4096 };

static_assert(sizeof(struct amd_frequencies) == 280, "as in ROCm 6");
static_assert(sizeof(struct rsmi_frequencies_old) == 264, "as in ROCm 5");
static_assert(offsetof(struct amd_links, lanes) == 280, "as in ROCm 6");

/*
 * The kernel's file gpu_metrics: its size, two bytes of version, and fields whose places depend on
 * the version.
 */
enum {
	AMD_METRICS_THROTTLE_1_3 = 112, /* 64 bits */
	AMD_METRICS_BYTES_1_3 = 120,
	AMD_METRICS_XGMI_READ_1_4 = 104, /* KiB of each of 8 links, 64 bits */
	AMD_METRICS_XGMI_WRITE_1_4 = 168,
	AMD_METRICS_BYTES_1_4 = 232, /* of what is used */
	AMD_METRICS_LINKS = 8,
};

#endif
