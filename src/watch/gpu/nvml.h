/*
 * nvml.h - NVIDIA's devices: what nvml*.c share. Called by the thread of gpu.c alone.
 *
 *	nvml.c         the library, its devices, MIG, loss and return
 *	nvml_calls.c   what one call tells
 *	nvml_fields.c  what is told by number: nvmlDeviceGetFieldValues
 *	nvml_gpm.c     the counters inside the device
 *	nvml_users.c   processes
 */
#ifndef VENTURI_WATCH_NVML_H
#define VENTURI_WATCH_NVML_H

#include "watch/gpu/device_library.h"
#include "watch/gpu/nvml_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of functions[] in nvml.c. */
enum nvml_function {
	NVML_FN_INIT,
	NVML_FN_SHUTDOWN,
	NVML_FN_ERROR_STRING,
	NVML_FN_DRIVER_VERSION,
	NVML_FN_CUDA_VERSION,
	NVML_FN_COUNT,
	NVML_FN_BY_INDEX,
	NVML_FN_BY_UUID,
	NVML_FN_NAME,
	NVML_FN_UUID,
	NVML_FN_PCI,
	NVML_FN_UTILIZATION,
	NVML_FN_ENCODER,
	NVML_FN_DECODER,
	NVML_FN_MEMORY,
	NVML_FN_MEMORY_V2,
	NVML_FN_COMPUTE_V3,
	NVML_FN_COMPUTE_V2,
	NVML_FN_COMPUTE_V1,
	NVML_FN_GRAPHICS_V3,
	NVML_FN_GRAPHICS_V2,
	NVML_FN_GRAPHICS_V1,
	NVML_FN_PROCESS_USE,
	NVML_FN_CLOCK,
	NVML_FN_CLOCK_MAX,
	NVML_FN_CLOCK_APP,
	NVML_FN_REASONS,
	NVML_FN_POWER,
	NVML_FN_POWER_LIMIT,
	NVML_FN_POWER_DEFAULT,
	NVML_FN_ENERGY,
	NVML_FN_TEMPERATURE,
	NVML_FN_TEMPERATURE_V,
	NVML_FN_THRESHOLD,
	NVML_FN_FAN,
	NVML_FN_PCIE_GENERATION,
	NVML_FN_PCIE_GENERATION_MAX,
	NVML_FN_PCIE_WIDTH,
	NVML_FN_PCIE_WIDTH_MAX,
	NVML_FN_PCIE_THROUGHPUT,
	NVML_FN_PCIE_REPLAYS,
	NVML_FN_LINK_STATE,
	NVML_FN_FIELDS,
	NVML_FN_ECC,
	NVML_FN_RETIRED,
	NVML_FN_RETIRED_PENDING,
	NVML_FN_REMAPPED,
	NVML_FN_PERSISTENCE,
	NVML_FN_COMPUTE_MODE,
	NVML_FN_MIG_MODE,
	NVML_FN_MIG_COUNT,
	NVML_FN_MIG_BY_INDEX,
	NVML_FN_GPU_INSTANCE,
	NVML_FN_GPM_SUPPORT,
	NVML_FN_GPM_ALLOC,
	NVML_FN_GPM_FREE,
	NVML_FN_GPM_SAMPLE,
	NVML_FN_GPM_MIG_SAMPLE,
	NVML_FN_GPM_GET,
	NVML_N_FUNCTIONS,
};

enum nvml_gpm_state { NVML_GPM_UNKNOWN, NVML_GPM_NONE, NVML_GPM_RUNS };

struct nvml_device {
	struct device *sheet;
	nvml_handle handle;
	unsigned index; /* of the device, or of the one that a MIG device is part of */
	unsigned mig_index;
	bool is_mig;
	bool is_lost;
	char uuid[NVML_TEXT_BYTES];
	bool muted[DEVICE_N_SIGNALS]; /* need not be asked for again: nobody tells it here */
	bool has_pcie_counters;       /* among the fields */
	bool gpm_tells_pcie, gpm_tells_links;
	enum nvml_gpm_state gpm;
	void *gpm_samples[2]; /* the older first */
	int64_t gpm_ns;       /* of the newer; 0: there is none */
	uint64_t use_seen_us; /* of the processes' use */
};

enum { NVML_PROCESSES_MAX = 512 };

struct nvml {
	const struct device_watch *w;
	void *library;
	void (*functions[NVML_N_FUNCTIONS])(void); /* NULL: an older driver's library has none */
	struct nvml_device devices[DEVICE_MAX];
	size_t n;
	int64_t all_lost_ns; /* since when; 0: not all are */
	struct nvml_gpm_get gpm_get;
	/* Some drivers wrote 32 bytes for a process, whatever their version says. */
	struct nvml_process processes[NVML_PROCESSES_MAX * 2];
	struct nvml_process_use uses[NVML_PROCESSES_MAX];
};

/* Its name in the library. */
const char *nvml_name(enum nvml_function f);

/*
 * Is it worth calling? A function that the library has not is told to the cell.
 */
bool nvml_has(struct nvml *n, struct nvml_device *d, enum nvml_function f, enum device_signal s);
/* Was the call good? Else the cell says why not, and a device that is lost is lost. */
bool nvml_good(struct nvml *n, struct nvml_device *d, enum nvml_function f, enum device_signal s,
        unsigned code);
/* In the library's own words. */
const char *nvml_words(const struct nvml *n, unsigned code, char *buf, size_t size);

/* Calls whose shape is common; f must be there. */
unsigned nvml_call_u(const struct nvml *n, enum nvml_function f, nvml_handle h, unsigned *ret);
unsigned nvml_call_iu(
        const struct nvml *n, enum nvml_function f, nvml_handle h, unsigned arg, unsigned *ret);

/* Chores. */
void nvml_read_fast(void *self, size_t i);
void nvml_read_second(void *self, size_t i);
void nvml_read_slow(void *self, size_t i);
void nvml_read_pcie(void *self, size_t i);
void nvml_read_fields(void *self, size_t i);
void nvml_read_gpm(void *self, size_t i);
void nvml_read_users(void *self, size_t i);

/* What is NVML_GPM_UNKNOWN is asked; after a loss or a new handle. */
void nvml_open_gpm(struct nvml *n, struct nvml_device *d);
void nvml_close_gpm(struct nvml *n, struct nvml_device *d);

#endif
