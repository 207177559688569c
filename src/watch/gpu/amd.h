/*
 * amd.h - AMD's devices, by AMD-SMI or, where that is missing, ROCm-SMI: what amd*.c share. Called
 *by the thread of gpu.c alone.
 *
 *	amd.c          the library, its devices, loss and return
 *	amd_calls.c    what the library's calls tell
 *	amd_kernel.c   what neither library tells in a form that stays: the kernel's own files
 */
#ifndef VENTURI_WATCH_AMD_H
#define VENTURI_WATCH_AMD_H

#include "watch/gpu/amd_abi.h"
#include "watch/gpu/device_library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of functions[] in amd.c. */
enum amd_function {
	AMD_FN_INIT,
	AMD_FN_SHUTDOWN,
	AMD_FN_WORDS,
	AMD_FN_COUNT,
	AMD_FN_SOCKETS,
	AMD_FN_PROCESSORS,
	AMD_FN_VERSION,
	AMD_FN_NAME,
	AMD_FN_UUID,
	AMD_FN_PCI,
	AMD_FN_BUSY,
	AMD_FN_MEMORY_BUSY,
	AMD_FN_MEMORY_TOTAL,
	AMD_FN_MEMORY_USED,
	AMD_FN_CLOCK,
	AMD_FN_POWER,
	AMD_FN_POWER_OLD,
	AMD_FN_CAP,
	AMD_FN_CAP_DEFAULT,
	AMD_FN_ENERGY,
	AMD_FN_TEMPERATURE,
	AMD_FN_FAN,
	AMD_FN_LINK,
	AMD_FN_REPLAYS,
	AMD_FN_ECC,
	AMD_FN_PAGES,
	AMD_N_FUNCTIONS,
};

struct amd_device {
	struct device *sheet;
	uint32_t index;   /* ROCm-SMI's */
	void *handle;     /* AMD-SMI's */
	char address[32]; /* "0000:17:00.0"; empty: unknown */
	uint64_t kfd_id;  /* of the kernel's compute driver; 0: unknown */
	bool is_lost;
	bool muted[DEVICE_N_SIGNALS]; /* nobody tells it here */
	bool heard[DEVICE_N_SIGNALS]; /* it was told before */
};

struct amd {
	const struct device_watch *w;
	void *library;
	bool by_index; /* ROCm-SMI */
	bool has_old_frequencies;
	void (*functions[AMD_N_FUNCTIONS])(void);
	struct amd_device devices[DEVICE_MAX];
	size_t n;
};

/* Calls function f of device d with arguments of these types, for either library. */
#define AMD_TYPES(...) __VA_ARGS__
#define AMD_CALL(a, d, f, types, ...)                                                              \
	((a)->by_index ? ((uint32_t(*)(uint32_t, AMD_TYPES types))(a)->functions[f])(              \
	                         (d)->index, __VA_ARGS__)                                          \
	               : ((uint32_t(*)(void *, AMD_TYPES types))(a)->functions[f])(                \
	                         (d)->handle, __VA_ARGS__))

/* As of nvml.h. */
const char *amd_name(const struct amd *a, enum amd_function f);
bool amd_has(struct amd *a, struct amd_device *d, enum amd_function f, enum device_signal s);
bool amd_good(struct amd *a, struct amd_device *d, enum amd_function f, enum device_signal s,
        uint32_t code);

void amd_read_fast(void *self, size_t i);
void amd_read_second(void *self, size_t i);
void amd_read_slow(void *self, size_t i);
void amd_read_metrics(void *self, size_t i);
void amd_read_users(void *self, size_t i);
/* Is the device there again? Calls what tells the most reliably. */
bool amd_answers(struct amd *a, struct amd_device *d);
/* The number by which the kernel's compute driver knows the device. */
void amd_find_kfd(const struct device_watch *w, struct amd_device *d, uint64_t pci_id);

#endif
