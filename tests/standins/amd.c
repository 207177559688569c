/*
 * amd.c - a library that answers as AMD-SMI does or, with STANDIN_ROCMSMI, as ROCm-SMI does, for
 * two devices that are not there. STANDIN_OLD: as ROCm 5; STANDIN_NEW: as ROCm 7.
 *
 * Its types are its own, written after the public binary interface, so that a struct of
 * src/watch/gpu/amd_abi.h that is laid out wrongly shows. Tests that load it, too, change numbers while
 * it runs: standin_amd_set(device, key, value).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { DEVICES = 2, BLOCK_MEMORY = 1, BLOCK_GRAPHICS = 4 };
#ifdef STANDIN_ROCMSMI
enum { OK = 0, INVALID = 1, UNSUPPORTED = 2, NO_FILE = 3, FORBIDDEN = 4 };
#else
enum { OK = 0, INVALID = 1, UNSUPPORTED = 2, NO_FILE = 14, FORBIDDEN = 10 };
#endif

#define KEYS(X)                                                                                    \
	X(code)                                                                                    \
	X(code_fan) X(util) X(memory_util) X(used) X(total) X(power) X(cap) X(cap_default)         \
	        X(energy) X(edge) X(hotspot) X(memory) X(critical) X(fan) X(link) X(replays)       \
	                X(corrected) X(uncorrected) X(pages) X(clock) X(memory_clock)

struct gpu {
#define FIELD(key) double key;
	KEYS(FIELD)
#undef FIELD
};

static const struct {
	const char *key;
	size_t offset;
} keys[] = {
#define KEY(key) { #key, offsetof(struct gpu, key) },
	KEYS(KEY)
#undef KEY
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu gpus[DEVICES];

/* For tests: everything as at the start. */
EXPORT void standin_amd_reset(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < DEVICES; i++)
		gpus[i] = (struct gpu){ .util = 40 + i,
			.memory_util = 30 + i,
			.used = 1e10 * (i + 1),
			.total = 2e11,
			.power = 400 + i,
			.cap = 750,
			.cap_default = 800,
			.edge = 45 + i,
			.hotspot = 60 + i,
			.memory = 55 + i,
			.critical = 110,
			.fan = 102,
			.link = 2,
			.clock = 1,
			.memory_clock = 0,
			.pages = 3 };
	pthread_mutex_unlock(&lock);
}

EXPORT void standin_amd_set(unsigned device, const char *key, double value)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		pthread_mutex_lock(&lock);
		memcpy((char *)&gpus[device] + keys[i].offset, &value, sizeof(value));
		pthread_mutex_unlock(&lock);
		return;
	}
	fprintf(stderr, "standin amd: no key '%s'\n", key);
	abort();
}

#ifdef STANDIN_ROCMSMI
typedef uint32_t device_id;
#else
typedef void *device_id;
#endif

static uint32_t enter(device_id id, struct gpu *copy)
{
	uint32_t code = INVALID;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < DEVICES; i++) {
#ifdef STANDIN_ROCMSMI
		bool same = id == i;
#else
		bool same = id == &gpus[i];
#endif
		if (!same)
			continue;
		*copy = gpus[i];
		code = (uint32_t)gpus[i].code;
	}
	pthread_mutex_unlock(&lock);
	return code;
}

static unsigned index_of(device_id id)
{
#ifdef STANDIN_ROCMSMI
	return id;
#else
	return (unsigned)((struct gpu *)id - gpus);
#endif
}

/* clocks and links in Hz: a byte, two numbers, padding, 33 rates; before ROCm 6 two numbers, 32 */
static size_t rates(char *to, uint32_t n, uint32_t current, const uint64_t *hz)
{
#ifdef STANDIN_OLD
	const size_t at_n = 0, at_current = 4, at_hz = 8, size = 264;
#else
	const size_t at_n = 4, at_current = 8, at_hz = 16, size = 280;
	to[0] = 1;
#endif
	memcpy(to + at_n, &n, sizeof(n));
	memcpy(to + at_current, &current, sizeof(current));
	memcpy(to + at_hz, hz, n * sizeof(*hz));
	return size;
}

static uint32_t clocks(device_id id, uint32_t type, char *to)
{
	static const uint64_t system[] = { 500000000, 1300000000, 2100000000 };
	static const uint64_t memory[] = { 900000000, 1300000000 };
	struct gpu g;
	uint32_t code = enter(id, &g);
	if (code != OK)
		return code;
	if (type == 0)
		rates(to, 3, (uint32_t)g.clock, system);
	else if (type == 4)
		rates(to, 2, (uint32_t)g.memory_clock, memory);
	else
		return UNSUPPORTED;
	return OK;
}

static uint32_t link(device_id id, char *to)
{
	static const uint64_t rate[] = { 2500000000, 8000000000, 32000000000 };
	static const uint32_t lanes[] = { 1, 8, 16 };
	struct gpu g;
	uint32_t code = enter(id, &g);
	if (code == OK)
		memcpy(to + rates(to, 3, (uint32_t)g.link, rate), lanes, sizeof(lanes));
	return code;
}

static uint32_t memory(device_id id, uint32_t type, uint64_t *to, bool total)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*to = (uint64_t)(total ? g.total : g.used);
	return type != 0 ? INVALID : code;
}

static uint32_t energy(device_id id, uint64_t *count, float *resolution_uj, uint64_t *at_ns)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*count = (uint64_t)g.energy;
	*resolution_uj = 15.3F;
	*at_ns = 1;
	return code;
}

static uint32_t fan(device_id id, uint32_t sensor, int64_t *to)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*to = (int64_t)g.fan;
	return sensor != 0 ? INVALID : code != OK ? code : (uint32_t)g.code_fan;
}

static uint32_t celsius(device_id id, uint32_t sensor, uint32_t which, double *to)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	if (which == 5)
		*to = g.critical;
	else
		*to = sensor == 0 ? g.edge : sensor == 1 ? g.hotspot : g.memory;
	return sensor > 2 || (which != 0 && which != 5) ? UNSUPPORTED : code;
}

static uint32_t pages(device_id id, uint32_t *n, void *records)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*n = (uint32_t)g.pages;
	return records ? INVALID : code;
}

static uint32_t pci(device_id id, uint64_t *to)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*to = (uint64_t)(0xc1 + index_of(id)) << 8;
	return code;
}

static uint32_t replays(device_id id, uint64_t *to)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*to = (uint64_t)g.replays;
	return code;
}

static uint32_t words(uint32_t code, const char **to)
{
	*to = code == OK            ? "OK"
	      : code == UNSUPPORTED ? "feature not supported"
	      : code == NO_FILE     ? "no such file"
	      : code == FORBIDDEN   ? "no permission"
	                            : "something else";
	return OK;
}

static uint32_t start(void)
{
	if (gpus[0].total == 0)
		standin_amd_reset();
	return OK;
}

#ifdef STANDIN_ROCMSMI
EXPORT uint32_t rsmi_init(uint64_t flags)
{
	return flags == 0 ? start() : INVALID;
}
EXPORT uint32_t rsmi_shut_down(void)
{
	return OK;
}
EXPORT uint32_t rsmi_status_string(uint32_t code, const char **to)
{
	return words(code, to);
}
EXPORT uint32_t rsmi_num_monitor_devices(uint32_t *to)
{
	*to = DEVICES;
	return OK;
}
EXPORT uint32_t rsmi_version_get(uint32_t to[6])
{
#ifdef STANDIN_OLD
	to[0] = 5;
#else
	to[0] = 7;
#endif
	to[1] = 3;
	to[2] = 0;
	return OK;
}
EXPORT uint32_t rsmi_dev_name_get(uint32_t id, char *to, size_t size)
{
	struct gpu g;
	snprintf(to, size, "Stand-in Instinct %u", id);
	return enter(id, &g);
}
EXPORT uint32_t rsmi_dev_unique_id_get(uint32_t id, uint64_t *to)
{
	struct gpu g;
	*to = 0xabcd0000 + id;
	return enter(id, &g);
}
EXPORT uint32_t rsmi_dev_pci_id_get(uint32_t id, uint64_t *to)
{
	return pci(id, to);
}
EXPORT uint32_t rsmi_dev_busy_percent_get(uint32_t id, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*to = (uint32_t)g.util;
	return code;
}
EXPORT uint32_t rsmi_dev_memory_busy_percent_get(uint32_t id, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*to = (uint32_t)g.memory_util;
	return code;
}
EXPORT uint32_t rsmi_dev_memory_total_get(uint32_t id, uint32_t type, uint64_t *to)
{
	return memory(id, type, to, true);
}
EXPORT uint32_t rsmi_dev_memory_usage_get(uint32_t id, uint32_t type, uint64_t *to)
{
	return memory(id, type, to, false);
}
EXPORT uint32_t rsmi_dev_gpu_clk_freq_get(uint32_t id, uint32_t type, void *to)
{
	return clocks(id, type, to);
}
#ifndef STANDIN_OLD
EXPORT uint32_t rsmi_dev_power_get(uint32_t id, uint64_t *uw, uint32_t *kind)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*uw = (uint64_t)(g.power * 1e6);
	*kind = 1;
	return code;
}
#endif
EXPORT uint32_t rsmi_dev_power_ave_get(uint32_t id, uint32_t sensor, uint64_t *uw)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*uw = (uint64_t)((g.power - 7) * 1e6);
	return sensor != 0 ? INVALID : code;
}
EXPORT uint32_t rsmi_dev_power_cap_get(uint32_t id, uint32_t sensor, uint64_t *uw)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*uw = (uint64_t)(g.cap * 1e6);
	return sensor != 0 ? INVALID : code;
}
EXPORT uint32_t rsmi_dev_power_cap_default_get(uint32_t id, uint64_t *uw)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	*uw = (uint64_t)(g.cap_default * 1e6);
	return code;
}
EXPORT uint32_t rsmi_dev_energy_count_get(
        uint32_t id, uint64_t *count, float *resolution_uj, uint64_t *at_ns)
{
	return energy(id, count, resolution_uj, at_ns);
}
EXPORT uint32_t rsmi_dev_temp_metric_get(uint32_t id, uint32_t sensor, uint32_t which, int64_t *to)
{
	double c = 0;
	uint32_t code = celsius(id, sensor, which, &c);
	*to = (int64_t)(c * 1000);
	return code;
}
EXPORT uint32_t rsmi_dev_fan_speed_get(uint32_t id, uint32_t sensor, int64_t *to)
{
	return fan(id, sensor, to);
}
EXPORT uint32_t rsmi_dev_pci_bandwidth_get(uint32_t id, void *to)
{
	return link(id, to);
}
EXPORT uint32_t rsmi_dev_pci_replay_counter_get(uint32_t id, uint64_t *to)
{
	return replays(id, to);
}
/* Two of the blocks count. */
EXPORT uint32_t rsmi_dev_ecc_count_get(uint32_t id, uint64_t block, uint64_t to[2])
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	if (block != BLOCK_MEMORY && block != BLOCK_GRAPHICS)
		return UNSUPPORTED;
	to[0] = (uint64_t)(block == BLOCK_MEMORY ? g.corrected - 1 : 1);
	to[1] = (uint64_t)(block == BLOCK_MEMORY ? g.uncorrected : 0);
	return code;
}
EXPORT uint32_t rsmi_dev_memory_reserved_pages_get(uint32_t id, uint32_t *n, void *records)
{
	return pages(id, n, records);
}
#else
EXPORT uint32_t amdsmi_init(uint64_t flags)
{
	return flags == 2 ? start() : INVALID;
}
EXPORT uint32_t amdsmi_shut_down(void)
{
	return OK;
}
EXPORT uint32_t amdsmi_status_code_to_string(uint32_t code, const char **to)
{
	return words(code, to);
}
/* Each device is alone in its socket. */
static int sockets[DEVICES];
EXPORT uint32_t amdsmi_get_socket_handles(uint32_t *n, void **to)
{
	for (uint32_t i = 0; to && i < DEVICES && i < *n; i++)
		to[i] = &sockets[i];
	*n = DEVICES;
	return OK;
}
EXPORT uint32_t amdsmi_get_processor_handles(void *socket, uint32_t *n, void **to)
{
	if (to && *n > 0)
		to[0] = &gpus[(int *)socket - sockets];
	*n = 1;
	return OK;
}
/* The year, three numbers and a text; from ROCm 7 on without the year. */
EXPORT uint32_t amdsmi_get_lib_version(uint32_t *to)
{
#ifdef STANDIN_NEW
	to[0] = 26;
	to[1] = 1;
	to[2] = 0;
#else
	to[0] = 24;
	to[1] = 6;
	to[2] = 3;
	to[3] = 0;
#endif
	return OK;
}
EXPORT uint32_t amdsmi_get_gpu_asic_info(void *id, char *to)
{
	struct gpu g;
	memset(to, 0, 512);
	snprintf(to, 256, "Stand-in Instinct %u", index_of(id));
	return enter(id, &g);
}
EXPORT uint32_t amdsmi_get_gpu_device_uuid(void *id, unsigned *size, char *to)
{
	struct gpu g;
	snprintf(to, *size, "00ff74a1-0000-1000-80ab-00000000000%u", index_of(id));
	return enter(id, &g);
}
EXPORT uint32_t amdsmi_get_gpu_bdf_id(void *id, uint64_t *to)
{
	return pci(id, to);
}
/* graphics, memory, media, 13 reserved */
EXPORT uint32_t amdsmi_get_gpu_activity(void *id, uint32_t to[16])
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	to[0] = g.util < 0 ? UINT32_MAX : (uint32_t)g.util;
	to[1] = (uint32_t)g.memory_util;
	return code;
}
EXPORT uint32_t amdsmi_get_gpu_memory_total(void *id, uint32_t type, uint64_t *to)
{
	return memory(id, type, to, true);
}
EXPORT uint32_t amdsmi_get_gpu_memory_usage(void *id, uint32_t type, uint64_t *to)
{
	return memory(id, type, to, false);
}
EXPORT uint32_t amdsmi_get_clk_freq(void *id, uint32_t type, void *to)
{
	return clocks(id, type, to);
}
/* ROCm 6: power now, mean power, three voltages, limit. ROCm 7: a 64-bit power before them. */
EXPORT uint32_t amdsmi_get_power_info(void *id, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	uint32_t watts = (uint32_t)g.power;
#ifdef STANDIN_NEW
	memset(to, 0xff, 192);
	to[0] = watts;
	to[1] = 0;
	to[2] = watts;
#else
	memset(to, 0, 68);
	to[0] = index_of(id) == 0 ? watts : 0xffff; /* now */
	to[1] = index_of(id) == 0 ? 0xffff : watts; /* mean */
	to[5] = 750;
#endif
	return code;
}
/* now, default, dpm, lowest, highest, in uW */
EXPORT uint32_t amdsmi_get_power_cap_info(void *id, uint32_t sensor, uint64_t to[8])
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	to[0] = (uint64_t)(g.cap * 1e6);
	to[1] = (uint64_t)(g.cap_default * 1e6);
	return sensor != 0 ? INVALID : code;
}
EXPORT uint32_t amdsmi_get_energy_count(
        void *id, uint64_t *count, float *resolution_uj, uint64_t *at_ns)
{
	return energy(id, count, resolution_uj, at_ns);
}
EXPORT uint32_t amdsmi_get_temp_metric(void *id, uint32_t sensor, uint32_t which, int64_t *to)
{
	double c = 0;
	uint32_t code = celsius(id, sensor, which, &c);
	*to = (int64_t)c;
	return code;
}
EXPORT uint32_t amdsmi_get_gpu_fan_speed(void *id, uint32_t sensor, int64_t *to)
{
	return fan(id, sensor, to);
}
EXPORT uint32_t amdsmi_get_gpu_pci_bandwidth(void *id, void *to)
{
	return link(id, to);
}
EXPORT uint32_t amdsmi_get_gpu_pci_replay_counter(void *id, uint64_t *to)
{
	return replays(id, to);
}
/* corrected, uncorrected, deferred, 5 reserved */
EXPORT uint32_t amdsmi_get_gpu_total_ecc_count(void *id, uint64_t to[8])
{
	struct gpu g;
	uint32_t code = enter(id, &g);
	memset(to, 0, 64);
	to[0] = (uint64_t)g.corrected;
	to[1] = (uint64_t)g.uncorrected;
	return code;
}
EXPORT uint32_t amdsmi_get_gpu_memory_reserved_pages(void *id, uint32_t *n, void *records)
{
	return pages(id, n, records);
}
#endif
