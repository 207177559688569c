/*
 * nvml_abi.h - as much of NVML's binary interface as nvml*.c uses, in our own words: nothing of
 * NVIDIA's is needed to build.
 *
 * Only the functions, numbers and sizes are given by the library. All functions return a code, 0
 * for success; a device is a pointer that means nothing to us. Structs are those of 64-bit Linux;
 * what a struct's "version" must hold is its size with the number of its version above it.
 *
 * Source: the public header of NVML 13.3 (nvml.h of NVIDIA's GPU deployment kit, as go-nvml has
 * it); names ending in _v1, _v2, _v3 are those of older and newer drivers, from 418 on.
 */
#ifndef VENTURI_WATCH_NVML_ABI_H
#define VENTURI_WATCH_NVML_ABI_H

#include <assert.h>
#include <stdint.h>

typedef void *nvml_handle;

enum nvml_code {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_VERSION_MISMATCH = 18, /* of driver and library */
	NVML_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_DEPRECATED = 26,
};

enum nvml_clock { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum nvml_threshold { NVML_THRESHOLD_SLOWDOWN = 1 };
enum nvml_pcie_counter { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum nvml_ecc_kind { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum nvml_ecc_since { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 };

/* What holds the clocks down: bits of nvmlDeviceGetCurrentClocksEventReasons. */
enum nvml_reason {
	NVML_REASON_IDLE = 0x1,
	NVML_REASON_APP_CLOCKS = 0x2,
	NVML_REASON_POWER_CAP = 0x4,
	NVML_REASON_HW_SLOWDOWN = 0x8,
	NVML_REASON_SYNC_BOOST = 0x10,
	NVML_REASON_SW_THERMAL = 0x20,
	NVML_REASON_HW_THERMAL = 0x40,
	NVML_REASON_POWER_BRAKE = 0x80,
	NVML_REASON_DISPLAY = 0x100,
};

enum {
	NVML_TEXT_BYTES = 96, /* enough for names, UUIDs and versions of all drivers */
	NVML_LINKS_MAX = 36,
	NVML_BYTES_UNKNOWN = -1, /* of a process's memory, as a signed number */
};

struct nvml_utilization { /* percent */
	unsigned gpu, memory;
};

struct nvml_memory {
	uint64_t total, free, used; /* used holds reserved, too */
};

struct nvml_memory_v2 {
	unsigned version;
	uint64_t total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_temperature {
	unsigned version;
	unsigned sensor; /* 0: the chip */
	int celsius;
};
#define NVML_TEMPERATURE_V1 ((unsigned)sizeof(struct nvml_temperature) | 1u << 24)

struct nvml_pci {
	char legacy_address[16];
	unsigned domain, bus, device;
	unsigned device_id, subsystem_id;
	char address[32];
};

struct nvml_process_v1 {
	unsigned pid;
	uint64_t bytes;
};

struct nvml_process { /* of _v2 and _v3 */
	unsigned pid;
	uint64_t bytes;
	unsigned gpu_instance, compute_instance;
};

struct nvml_process_use { /* percent */
	unsigned pid;
	uint64_t at_us;
	unsigned sm, memory, encoder, decoder;
};

enum nvml_value_type {
	NVML_VALUE_DOUBLE = 0,
	NVML_VALUE_UINT = 1,
	NVML_VALUE_ULONG = 2,
	NVML_VALUE_UINT64 = 3,
	NVML_VALUE_INT64 = 4,
	NVML_VALUE_INT = 5,
	NVML_VALUE_USHORT = 6,
};

struct nvml_field {
	unsigned id, scope;
	int64_t at_us, took_us;
	unsigned type; /* enum nvml_value_type */
	unsigned code;
	union {
		double f64;
		int i;
		unsigned u;
		unsigned long ul;
		uint64_t u64;
		int64_t i64;
		unsigned short us;
	} value;
};

enum nvml_field_id {
	NVML_FIELD_LINK_REPLAYS = 52,
	NVML_FIELD_HELD_POWER = 74,
	NVML_FIELD_HELD_THERMAL = 75,
	NVML_FIELD_HELD_SYNC_BOOST = 76,
	NVML_FIELD_HELD_BOARD_LIMIT = 77,
	NVML_FIELD_HELD_RELIABILITY = 79,
	NVML_FIELD_MEMORY_TEMPERATURE = 82,
	NVML_FIELD_LINKS = 91,
	NVML_FIELD_LINK_TX_KIB = 138,
	NVML_FIELD_LINK_RX_KIB = 139,
	NVML_FIELD_PCIE_TX_BYTES = 197,
	NVML_FIELD_PCIE_RX_BYTES = 198,
};
#define NVML_ALL_LINKS UINT32_MAX

/* GPM: counters inside the device, from Hopper on; a metric is made of two samples. */
struct nvml_gpm_metric {
	unsigned id, code;
	double value;
	const char *short_name, *long_name, *unit;
};

/* The library's own array grows from version to version: 98 in 12.0, 333 in 13.3. */
enum { NVML_GPM_METRICS_MAX = 512 };

struct nvml_gpm_get {
	unsigned version; /* 1 */
	unsigned n;
	void *before, *after;
	struct nvml_gpm_metric metrics[NVML_GPM_METRICS_MAX];
};

struct nvml_gpm_support {
	unsigned version; /* 1 */
	unsigned is_supported;
};

static_assert(sizeof(struct nvml_memory_v2) == 40, "as in NVML");
static_assert(sizeof(struct nvml_pci) == 68, "as in NVML");
static_assert(sizeof(struct nvml_process) == 24, "as in NVML");
static_assert(sizeof(struct nvml_process_use) == 32, "as in NVML");
static_assert(sizeof(struct nvml_field) == 40, "as in NVML");
static_assert(sizeof(struct nvml_gpm_metric) == 40, "as in NVML");

#endif
