/*
 * nvml.c - a library that answers as NVML does, for devices that are not there.
 *
 * Its types are its own, written after the public binary interface by size and offset, so that a
 * struct of src/watch/gpu/nvml_abi.h that is laid out wrongly shows. With STANDIN_OLD it has only what
 * a driver of 2018 has.
 *
 * VENTURI_STANDIN_NVML names what is there: "full" (8 devices that have everything; also when it is
 * not set), "consumer" (one that has no ECC, links or counters), "mig", "none", "unloaded". Tests
 * that load it, too, change numbers while it runs: standin_nvml_set(device, key, value).
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, FORBIDDEN = 4, NOT_FOUND = 6, TOO_SMALL = 7 };
enum { NOT_LOADED = 9, LOST = 15, BAD_VERSION = 25 };
enum { DEVICES = 8, MIG_DEVICES = 3, USERS = 4 };

/* Every number that a test may change, for each device. */
#define KEYS(X)                                                                                    \
	X(code)                                                                                    \
	X(code_ecc)                                                                                \
	X(code_fan)                                                                                \
	X(code_field)                                                                              \
	X(code_gpm) X(code_users) X(no_v2) X(util) X(memory_util) X(used) X(reserved) X(total) X(  \
	        sm) X(graphics) X(memory) X(sm_max) X(graphics_max) X(memory_max) X(reasons)       \
	        X(power) X(limit) X(limit_default) X(energy) X(temperature) X(slowdown) X(fan) X(  \
	                generation) X(generation_max) X(width) X(width_max) X(pcie_tx) X(pcie_rx)  \
	                X(replays) X(links) X(links_down) X(link_tx) X(link_rx) X(corrected) X(    \
	                        uncorrected) X(corrected_ever) X(uncorrected_ever) X(retired)      \
	                        X(retired_pending) X(remapped) X(remap_pending) X(remap_failed) X( \
	                                persistence) X(compute_mode) X(mig) X(held_power)          \
	                                X(held_thermal) X(gpm) X(gpm_sm) X(gpm_tensor) X(          \
	                                        gpm_dram) X(gpm_pcie_tx) X(gpm_link_tx)            \
	                                        X(memory_temperature) X(user0) X(user1) X(user2)   \
	                                                X(user3) X(user_bytes0) X(user_bytes1) X(  \
	                                                        user_bytes2) X(user_bytes3)        \
	                                                        X(user_util0) X(user_util1) X(     \
	                                                                user_util2) X(user_util3)  \
	                                                                X(mig_gone)

struct gpu {
#define FIELD(key) double key;
	KEYS(FIELD)
#undef FIELD
	struct { /* a MIG device: a handle of its own */
		struct gpu *parent;
		unsigned index;
		double used, total;
	} parts[MIG_DEVICES];
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
static unsigned n_gpus;
static int64_t n_rounds;
static int unloaded, is_hung, started;

static void fill(struct gpu *g, unsigned i)
{
	*g = (struct gpu){ .util = 10 * i + 5,
		.memory_util = 10 * i,
		.used = 1e9 * (i + 1),
		.reserved = 5e8,
		.total = 8e10,
		.sm = 1500 + i,
		.graphics = 1400 + i,
		.memory = 2600 + i,
		.sm_max = 1980,
		.graphics_max = 1980,
		.memory_max = 2619,
		.power = 300000 + 1000 * i,
		.limit = 700000,
		.limit_default = 700000,
		.temperature = 50 + i,
		.slowdown = 90,
		.fan = 30,
		.generation = 5,
		.generation_max = 5,
		.width = 16,
		.width_max = 16,
		.pcie_tx = 1000,
		.pcie_rx = 2000,
		.links = 18,
		.persistence = 1,
		.gpm = 1,
		.memory_temperature = 60 + i };
	for (unsigned j = 0; j < MIG_DEVICES; j++) {
		g->parts[j].parent = g;
		g->parts[j].index = j;
		g->parts[j].total = 1e10;
		g->parts[j].used = 1e9 * (j + 1);
	}
}

/* For tests: begins the named scene; NULL: that of the environment. */
EXPORT void standin_nvml_scene(const char *name)
{
	name = name ? name : getenv("VENTURI_STANDIN_NVML");
	name = name ? name : "full";
	pthread_mutex_lock(&lock);
	n_gpus = strcmp(name, "full") == 0 ? DEVICES : strcmp(name, "none") == 0 ? 0 : 1;
	unloaded = strcmp(name, "unloaded") == 0;
	is_hung = 0;
	n_rounds = 0;
	for (unsigned i = 0; i < DEVICES; i++)
		fill(&gpus[i], i);
	if (strcmp(name, "consumer") == 0) {
		gpus[0].code_ecc = gpus[0].code_field = UNSUPPORTED;
		gpus[0].gpm = gpus[0].links = 0;
	}
	if (strcmp(name, "mig") == 0)
		gpus[0].mig = 1;
	started = 1;
	pthread_mutex_unlock(&lock);
}

EXPORT int standin_nvml_set(unsigned device, const char *key, double value)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		pthread_mutex_lock(&lock);
		memcpy((char *)&gpus[device] + keys[i].offset, &value, sizeof(value));
		pthread_mutex_unlock(&lock);
		return 0;
	}
	fprintf(stderr, "standin nvml: no key '%s'\n", key);
	abort();
}

/* How often device 0 was asked for its use. */
EXPORT int64_t standin_nvml_rounds(void)
{
	pthread_mutex_lock(&lock);
	int64_t n = n_rounds;
	pthread_mutex_unlock(&lock);
	return n;
}

/* From now on calls do not come back, or do again. */
EXPORT void standin_nvml_hang(int hangs)
{
	pthread_mutex_lock(&lock);
	is_hung = hangs;
	pthread_mutex_unlock(&lock);
}

static struct gpu *part_of(void *handle, unsigned *part)
{
	for (unsigned i = 0; i < n_gpus; i++)
		for (unsigned j = 0; j < MIG_DEVICES; j++)
			if (handle == &gpus[i].parts[j]) {
				*part = j;
				return &gpus[i];
			}
	return NULL;
}

/* Every call about a device begins so; it ends with leave. */
static uint32_t enter(void *handle, struct gpu *copy)
{
	unsigned part;
	pthread_mutex_lock(&lock);
	while (is_hung) {
		pthread_mutex_unlock(&lock);
		usleep(10000);
		pthread_mutex_lock(&lock);
	}
	uint32_t code = INVALID;
	struct gpu *g = part_of(handle, &part);
	if (g) {
		*copy = *g;
		code = g->code > 0 ? (uint32_t)g->code : UNSUPPORTED;
	}
	for (unsigned i = 0; i < n_gpus; i++) {
		if (handle != &gpus[i])
			continue;
		*copy = gpus[i];
		code = (uint32_t)gpus[i].code;
	}
	pthread_mutex_unlock(&lock);
	return code;
}

/* A call that writes one number, of a field of the struct. */
#define NUMBER(function, type, value)                                                              \
	EXPORT uint32_t function(void *handle, type *to)                                           \
	{                                                                                          \
		struct gpu g;                                                                      \
		uint32_t code = enter(handle, &g);                                                 \
		if (code == OK)                                                                    \
			*to = (type)(value);                                                       \
		return code;                                                                       \
	}

static uint32_t start(void)
{
	if (!started)
		standin_nvml_scene(NULL);
	return unloaded ? NOT_LOADED : OK;
}

EXPORT uint32_t nvmlShutdown(void)
{
	return OK;
}

EXPORT const char *nvmlErrorString(uint32_t code)
{
	switch (code) {
	case OK:
		return "Success";
	case INVALID:
		return "Invalid Argument";
	case UNSUPPORTED:
		return "Not Supported";
	case FORBIDDEN:
		return "Insufficient Permissions";
	case NOT_FOUND:
		return "Not Found";
	case TOO_SMALL:
		return "Insufficient Size";
	case NOT_LOADED:
		return "Driver Not Loaded";
	case LOST:
		return "GPU is lost";
	default:
		return "Unknown Error";
	}
}

EXPORT uint32_t nvmlSystemGetDriverVersion(char *to, uint32_t size)
{
	snprintf(to, size, "999.88.77");
	return OK;
}

static uint32_t count(uint32_t *to)
{
	*to = n_gpus;
	return OK;
}

static uint32_t by_index(uint32_t index, void **to)
{
	if (index >= n_gpus)
		return INVALID;
	*to = &gpus[index];
	return OK;
}

#ifdef STANDIN_OLD
EXPORT uint32_t nvmlInit(void)
{
	return start();
}
EXPORT uint32_t nvmlDeviceGetCount(uint32_t *to)
{
	return count(to);
}
EXPORT uint32_t nvmlDeviceGetHandleByIndex(uint32_t index, void **to)
{
	return by_index(index, to);
}
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, uint64_t, g.reasons)
#else
EXPORT uint32_t nvmlInit_v2(void)
{
	return start();
}
EXPORT uint32_t nvmlDeviceGetCount_v2(uint32_t *to)
{
	return count(to);
}
EXPORT uint32_t nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **to)
{
	return by_index(index, to);
}
EXPORT uint32_t nvmlSystemGetCudaDriverVersion_v2(int *to)
{
	*to = 12040;
	return OK;
}
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, uint64_t, g.reasons)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, uint64_t, g.energy)
#endif

EXPORT uint32_t nvmlDeviceGetHandleByUUID(const char *uuid, void **to)
{
	unsigned i;
	return sscanf(uuid, "GPU-%8u", &i) == 1 ? by_index(i, to) : NOT_FOUND;
}

EXPORT uint32_t nvmlDeviceGetUUID(void *handle, char *to, uint32_t size)
{
	struct gpu g;
	unsigned part;
	uint32_t code = enter(handle, &g);
	if (part_of(handle, &part))
		snprintf(to, size, "MIG-%08u", part);
	else if (code == OK)
		snprintf(to, size, "GPU-%08u", (unsigned)((struct gpu *)handle - gpus));
	return part_of(handle, &part) ? OK : code;
}

EXPORT uint32_t nvmlDeviceGetName(void *handle, char *to, uint32_t size)
{
	struct gpu g;
	unsigned part;
	uint32_t code = enter(handle, &g);
	snprintf(to, size, part_of(handle, &part) ? "Stand-in MIG 1g.10gb" : "Stand-in 80GB");
	return part_of(handle, &part) ? OK : code;
}

struct pci { /* 68 bytes */
	char legacy[16];
	uint32_t domain, bus, device, id, subsystem;
	char address[32];
};
static_assert(sizeof(struct pci) == 68 && offsetof(struct pci, address) == 36, "public ABI");

EXPORT uint32_t nvmlDeviceGetPciInfo_v3(void *handle, struct pci *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (code != OK)
		return code;
	unsigned i = (unsigned)((struct gpu *)handle - gpus);
	*to = (struct pci){ .domain = 0, .bus = 0x17 + i, .device = 0 };
	snprintf(to->address, sizeof(to->address), "%08X:%02X:00.0", 0, 0x17 + i);
	return OK;
}

EXPORT uint32_t nvmlDeviceGetUtilizationRates(void *handle, uint32_t to[2])
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (handle == &gpus[0]) {
		pthread_mutex_lock(&lock);
		n_rounds++;
		pthread_mutex_unlock(&lock);
	}
	if (code != OK)
		return code;
	if (g.mig > 0)
		return UNSUPPORTED;
	to[0] = (uint32_t)g.util;
	to[1] = (uint32_t)g.memory_util;
	return OK;
}

/* total, free, used; what is reserved is used in the first version */
EXPORT uint32_t nvmlDeviceGetMemoryInfo(void *handle, uint64_t to[3])
{
	struct gpu g;
	unsigned part;
	uint32_t code = enter(handle, &g);
	if (part_of(handle, &part)) {
		to[0] = (uint64_t)g.parts[part].total;
		to[2] = (uint64_t)g.parts[part].used;
		to[1] = to[0] - to[2];
		return (uint32_t)g.code;
	}
	if (code != OK)
		return code;
	to[0] = (uint64_t)g.total;
	to[2] = (uint64_t)(g.used + g.reserved);
	to[1] = to[0] - to[2];
	return OK;
}

#ifndef STANDIN_OLD
/* version with padding, total, reserved, free, used: 40 bytes */
EXPORT uint32_t nvmlDeviceGetMemoryInfo_v2(void *handle, uint64_t to[5])
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (code != OK)
		return code;
	if (g.no_v2 > 0)
		return UNSUPPORTED;
	if ((uint32_t)to[0] != 0x2000028)
		return BAD_VERSION;
	to[1] = (uint64_t)g.total;
	to[2] = (uint64_t)g.reserved;
	to[4] = (uint64_t)g.used;
	to[3] = to[1] - to[2] - to[4];
	return OK;
}
#endif

EXPORT uint32_t nvmlDeviceGetClockInfo(void *handle, uint32_t type, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (code == OK)
		*to = (uint32_t)(type == 0 ? g.graphics : type == 1 ? g.sm : g.memory);
	return type > 3 ? INVALID : code;
}

EXPORT uint32_t nvmlDeviceGetMaxClockInfo(void *handle, uint32_t type, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (code == OK)
		*to = (uint32_t)(type == 0 ? g.graphics_max : type == 1 ? g.sm_max : g.memory_max);
	return type > 3 ? INVALID : code;
}

EXPORT uint32_t nvmlDeviceGetApplicationsClock(void *handle, uint32_t type, uint32_t *to)
{
	struct gpu g;
	(void)type, (void)to;
	uint32_t code = enter(handle, &g);
	return code == OK ? UNSUPPORTED : code;
}

NUMBER(nvmlDeviceGetPowerUsage, uint32_t, g.power)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, uint32_t, g.limit)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, uint32_t, g.limit_default)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, uint32_t, g.generation)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, uint32_t, g.generation_max)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, uint32_t, g.width)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, uint32_t, g.width_max)
NUMBER(nvmlDeviceGetPcieReplayCounter, uint32_t, g.replays)
NUMBER(nvmlDeviceGetPersistenceMode, uint32_t, g.persistence)
NUMBER(nvmlDeviceGetComputeMode, uint32_t, g.compute_mode)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, uint32_t, g.retired_pending)

EXPORT uint32_t nvmlDeviceGetFanSpeed(void *handle, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*to = (uint32_t)g.fan;
	return code == OK ? (uint32_t)g.code_fan : code;
}

EXPORT uint32_t nvmlDeviceGetTemperature(void *handle, uint32_t sensor, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*to = (uint32_t)g.temperature;
	return sensor != 0 ? INVALID : code;
}

EXPORT uint32_t nvmlDeviceGetTemperatureThreshold(void *handle, uint32_t which, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*to = (uint32_t)g.slowdown;
	return which != 1 ? INVALID : code;
}

static uint32_t two(void *handle, uint32_t *to, uint32_t *second, uint32_t a, uint32_t b)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*to = a;
	*second = b;
	return code;
}

EXPORT uint32_t nvmlDeviceGetEncoderUtilization(void *handle, uint32_t *to, uint32_t *period_us)
{
	return two(handle, to, period_us, 12, 167000);
}

EXPORT uint32_t nvmlDeviceGetDecoderUtilization(void *handle, uint32_t *to, uint32_t *period_us)
{
	return two(handle, to, period_us, 34, 167000);
}

/* The real one waits for 20 ms. */
EXPORT uint32_t nvmlDeviceGetPcieThroughput(void *handle, uint32_t counter, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	usleep(20000);
	*to = (uint32_t)(counter == 0 ? g.pcie_tx : g.pcie_rx);
	return counter > 1 ? INVALID : code;
}

EXPORT uint32_t nvmlDeviceGetNvLinkState(void *handle, uint32_t link, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*to = link >= g.links_down;
	return code == OK && link >= g.links ? INVALID : code;
}

EXPORT uint32_t nvmlDeviceGetTotalEccErrors(
        void *handle, uint32_t kind, uint32_t since, uint64_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (code != OK || g.code_ecc > 0)
		return code != OK ? code : (uint32_t)g.code_ecc;
	*to = (uint64_t)(since == 0  ? kind == 0 ? g.corrected : g.uncorrected
	                 : kind == 0 ? g.corrected_ever
	                             : g.uncorrected_ever);
	return kind > 1 || since > 1 ? INVALID : OK;
}

/* Half of the pages for each cause; without room it says how many there are. */
EXPORT uint32_t nvmlDeviceGetRetiredPages(
        void *handle, uint32_t cause, uint32_t *n_pages, uint64_t *addresses)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	(void)addresses;
	*n_pages = (uint32_t)(g.retired / 2);
	if (code == OK && cause > 1)
		return INVALID;
	return code == OK && *n_pages > 0 ? TOO_SMALL : code;
}

EXPORT uint32_t nvmlDeviceGetMigMode(void *handle, uint32_t *now, uint32_t *later)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*now = *later = g.mig > 0;
	return code;
}

#ifndef STANDIN_OLD
EXPORT uint32_t nvmlDeviceGetRemappedRows(void *handle, uint32_t *corrected, uint32_t *uncorrected,
        uint32_t *pending, uint32_t *failed)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*corrected = (uint32_t)g.remapped;
	*uncorrected = 1;
	*pending = (uint32_t)g.remap_pending;
	*failed = (uint32_t)g.remap_failed;
	return code;
}

EXPORT uint32_t nvmlDeviceGetMaxMigDeviceCount(void *handle, uint32_t *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	*to = g.mig > 0 ? MIG_DEVICES : 0;
	return code;
}

/* There is none at 1. */
EXPORT uint32_t nvmlDeviceGetMigDeviceHandleByIndex(void *handle, uint32_t index, void **to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (code != OK)
		return code;
	if (index == 1 || index >= MIG_DEVICES || g.mig_gone > 0)
		return NOT_FOUND;
	*to = &((struct gpu *)handle)->parts[index];
	return OK;
}

EXPORT uint32_t nvmlDeviceGetGpuInstanceId(void *handle, uint32_t *to)
{
	unsigned part;
	if (!part_of(handle, &part))
		return INVALID;
	*to = part + 7;
	return OK;
}
#endif

/* pid, bytes and, from the second version on, two instances */
struct user {
	uint32_t pid, padding;
	uint64_t bytes;
	uint32_t instances[2];
};
static_assert(sizeof(struct user) == 24, "public ABI");

static uint32_t users(void *handle, uint32_t *n, char *to, size_t size)
{
	struct gpu g;
	uint32_t code = enter(handle, &g), n_users = 0;
	if (code == OK && g.code_users > 0)
		return (uint32_t)g.code_users;
	const double pids[USERS] = { g.user0, g.user1, g.user2, g.user3 };
	const double bytes[USERS] = { g.user_bytes0, g.user_bytes1, g.user_bytes2, g.user_bytes3 };
	if (code != OK)
		return code;
	for (unsigned i = 0; i < USERS; i++) {
		struct user u = { .pid = (uint32_t)pids[i],
			.bytes = bytes[i] < 0 ? UINT64_MAX : (uint64_t)bytes[i],
			.instances = { UINT32_MAX, UINT32_MAX } };
		if (pids[i] <= 0)
			continue;
		if (n_users < *n)
			memcpy(to + size * n_users, &u, size);
		n_users++;
	}
	code = n_users > *n ? TOO_SMALL : OK;
	*n = n_users;
	return code;
}

#ifdef STANDIN_OLD
EXPORT uint32_t nvmlDeviceGetComputeRunningProcesses(void *handle, uint32_t *n, void *to)
{
	return users(handle, n, to, 16);
}
#else
EXPORT uint32_t nvmlDeviceGetComputeRunningProcesses_v3(void *handle, uint32_t *n, void *to)
{
	return users(handle, n, to, sizeof(struct user));
}
EXPORT uint32_t nvmlDeviceGetComputeRunningProcesses(void *handle, uint32_t *n, void *to)
{
	return users(handle, n, to, 16);
}

/* The process that computes first draws, too. */
EXPORT uint32_t nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, uint32_t *n, void *to)
{
	uint32_t code = users(handle, n, to, sizeof(struct user));
	*n = code == OK && *n > 1 ? 1 : *n;
	return code;
}

struct use {
	uint32_t pid, padding;
	uint64_t at_us;
	uint32_t sm, memory, encoder, decoder;
};
static_assert(sizeof(struct use) == 32, "public ABI");

EXPORT uint32_t nvmlDeviceGetProcessUtilization(
        void *handle, struct use *to, uint32_t *n, uint64_t seen_us)
{
	struct gpu g;
	uint32_t code = enter(handle, &g), n_users = 0;
	if (code != OK)
		return code;
	const double pids[USERS] = { g.user0, g.user1, g.user2, g.user3 };
	const double utils[USERS] = { g.user_util0, g.user_util1, g.user_util2, g.user_util3 };
	for (unsigned i = 0; i < USERS && n_users < *n; i++)
		if (pids[i] > 0 && utils[i] > 0)
			to[n_users++] = (struct use){ .pid = (uint32_t)pids[i],
				.at_us = seen_us + 1000,
				.sm = (uint32_t)utils[i] };
	*n = n_users;
	return n_users ? OK : NOT_FOUND;
}

struct field { /* 40 bytes */
	uint32_t id, scope;
	int64_t at_us, took_us;
	uint32_t type, code;
	union {
		double d;
		uint32_t u;
		uint64_t ull;
	} value;
};
static_assert(sizeof(struct field) == 40 && offsetof(struct field, value) == 32, "public ABI");

static uint32_t field(const struct gpu *g, struct field *f)
{
	f->type = 3; /* 64 bits */
	if (g->code_field > 0)
		return (uint32_t)g->code_field;
	switch (f->id) {
	case 52:
		f->value.ull = 0;
		return OK;
	case 74:
		f->value.ull = (uint64_t)g->held_power;
		return OK;
	case 75:
		f->value.ull = (uint64_t)g->held_thermal;
		return OK;
	case 82:
		f->type = 1;
		f->value.ull = UINT64_MAX;
		f->value.u = (uint32_t)g->memory_temperature;
		return OK;
	case 91:
		f->type = 1;
		f->value.u = (uint32_t)g->links;
		return OK;
	case 138:
	case 139:
		f->value.ull = (uint64_t)(f->id == 138 ? g->link_tx : g->link_rx);
		return f->scope == UINT32_MAX ? OK : INVALID;
	default:
		return UNSUPPORTED;
	}
}

EXPORT uint32_t nvmlDeviceGetFieldValues(void *handle, int n, struct field *fields)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	for (int i = 0; code == OK && i < n; i++)
		fields[i].code = field(&g, &fields[i]);
	return code;
}

/* GPM: a sample is a copy of the device; what a metric says is how much its number grew. */
struct support {
	uint32_t version, is_supported;
};

EXPORT uint32_t nvmlGpmQueryDeviceSupport(void *handle, struct support *to)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (to->version != 1)
		return BAD_VERSION;
	to->is_supported = g.gpm > 0;
	return code == UNSUPPORTED ? OK : code;
}

EXPORT uint32_t nvmlGpmSampleAlloc(void **to)
{
	*to = calloc(1, sizeof(struct gpu));
	return OK;
}

EXPORT uint32_t nvmlGpmSampleFree(void *sample)
{
	free(sample);
	return OK;
}

EXPORT uint32_t nvmlGpmSampleGet(void *handle, void *sample)
{
	struct gpu g;
	uint32_t code = enter(handle, &g);
	if (code == OK)
		memcpy(sample, &g, sizeof(g));
	return code;
}

EXPORT uint32_t nvmlGpmMigSampleGet(void *handle, uint32_t instance, void *sample)
{
	return instance < 7 ? INVALID : nvmlGpmSampleGet(handle, sample);
}

struct metric { /* 40 bytes */
	uint32_t id, code;
	double value;
	const char *names[3];
};

struct metrics {
	uint32_t version, n;
	struct gpu *before, *after;
	struct metric metrics[333];
};
static_assert(sizeof(struct metrics) == 13344, "public ABI");

static double grown(const struct metrics *m, size_t offset)
{
	return *(double *)((char *)m->after + offset) - *(double *)((char *)m->before + offset);
}

EXPORT uint32_t nvmlGpmMetricsGet(struct metrics *m)
{
	static const struct {
		uint32_t id;
		size_t offset;
	} known[] = { { 2, offsetof(struct gpu, gpm_sm) }, { 5, offsetof(struct gpu, gpm_tensor) },
		{ 10, offsetof(struct gpu, gpm_dram) }, { 20, offsetof(struct gpu, gpm_pcie_tx) },
		{ 61, offsetof(struct gpu, gpm_link_tx) } };
	if (m->version != 1 || m->n > 333)
		return INVALID;
	for (uint32_t i = 0; i < m->n; i++) {
		m->metrics[i].code = m->after->code_gpm > 0   ? (uint32_t)m->after->code_gpm
		                     : m->metrics[i].id == 13 ? UNSUPPORTED
		                                              : OK;
		m->metrics[i].value = 0;
		for (size_t j = 0; j < sizeof(known) / sizeof(known[0]); j++)
			if (known[j].id == m->metrics[i].id)
				m->metrics[i].value = grown(m, known[j].offset);
	}
	return OK;
}
#endif
