#include "watch/gpu/nvml.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When all devices are lost, the library is started anew so often. */
#define RESTART_NS (10 * NS_PER_S)

static const char *const library_names[] = { "libnvidia-ml.so.1", "libnvidia-ml.so",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1", NULL };

/* A name, and what the same function was called in older drivers. */
static const struct {
	const char *name, *older;
} functions[NVML_N_FUNCTIONS] = {
	[NVML_FN_INIT] = { "nvmlInit_v2", "nvmlInit" },
	[NVML_FN_SHUTDOWN] = { "nvmlShutdown", NULL },
	[NVML_FN_ERROR_STRING] = { "nvmlErrorString", NULL },
	[NVML_FN_DRIVER_VERSION] = { "nvmlSystemGetDriverVersion", NULL },
	[NVML_FN_CUDA_VERSION] = { "nvmlSystemGetCudaDriverVersion_v2",
	        "nvmlSystemGetCudaDriverVersion" },
	[NVML_FN_COUNT] = { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" },
	[NVML_FN_BY_INDEX] = { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" },
	[NVML_FN_BY_UUID] = { "nvmlDeviceGetHandleByUUID", NULL },
	[NVML_FN_NAME] = { "nvmlDeviceGetName", NULL },
	[NVML_FN_UUID] = { "nvmlDeviceGetUUID", NULL },
	[NVML_FN_PCI] = { "nvmlDeviceGetPciInfo_v3", NULL },
	[NVML_FN_UTILIZATION] = { "nvmlDeviceGetUtilizationRates", NULL },
	[NVML_FN_ENCODER] = { "nvmlDeviceGetEncoderUtilization", NULL },
	[NVML_FN_DECODER] = { "nvmlDeviceGetDecoderUtilization", NULL },
	[NVML_FN_MEMORY] = { "nvmlDeviceGetMemoryInfo", NULL },
	[NVML_FN_MEMORY_V2] = { "nvmlDeviceGetMemoryInfo_v2", NULL },
	[NVML_FN_COMPUTE_V3] = { "nvmlDeviceGetComputeRunningProcesses_v3", NULL },
	[NVML_FN_COMPUTE_V2] = { "nvmlDeviceGetComputeRunningProcesses_v2", NULL },
	[NVML_FN_COMPUTE_V1] = { "nvmlDeviceGetComputeRunningProcesses", NULL },
	[NVML_FN_GRAPHICS_V3] = { "nvmlDeviceGetGraphicsRunningProcesses_v3", NULL },
	[NVML_FN_GRAPHICS_V2] = { "nvmlDeviceGetGraphicsRunningProcesses_v2", NULL },
	[NVML_FN_GRAPHICS_V1] = { "nvmlDeviceGetGraphicsRunningProcesses", NULL },
	[NVML_FN_PROCESS_USE] = { "nvmlDeviceGetProcessUtilization", NULL },
	[NVML_FN_CLOCK] = { "nvmlDeviceGetClockInfo", NULL },
	[NVML_FN_CLOCK_MAX] = { "nvmlDeviceGetMaxClockInfo", NULL },
	[NVML_FN_CLOCK_APP] = { "nvmlDeviceGetApplicationsClock", NULL },
	[NVML_FN_REASONS] = { "nvmlDeviceGetCurrentClocksEventReasons",
	        "nvmlDeviceGetCurrentClocksThrottleReasons" },
	[NVML_FN_POWER] = { "nvmlDeviceGetPowerUsage", NULL },
	[NVML_FN_POWER_LIMIT] = { "nvmlDeviceGetEnforcedPowerLimit", NULL },
	[NVML_FN_POWER_DEFAULT] = { "nvmlDeviceGetPowerManagementDefaultLimit", NULL },
	[NVML_FN_ENERGY] = { "nvmlDeviceGetTotalEnergyConsumption", NULL },
	[NVML_FN_TEMPERATURE] = { "nvmlDeviceGetTemperature", NULL },
	[NVML_FN_TEMPERATURE_V] = { "nvmlDeviceGetTemperatureV", NULL },
	[NVML_FN_THRESHOLD] = { "nvmlDeviceGetTemperatureThreshold", NULL },
	[NVML_FN_FAN] = { "nvmlDeviceGetFanSpeed", NULL },
	[NVML_FN_PCIE_GENERATION] = { "nvmlDeviceGetCurrPcieLinkGeneration", NULL },
	[NVML_FN_PCIE_GENERATION_MAX] = { "nvmlDeviceGetMaxPcieLinkGeneration", NULL },
	[NVML_FN_PCIE_WIDTH] = { "nvmlDeviceGetCurrPcieLinkWidth", NULL },
	[NVML_FN_PCIE_WIDTH_MAX] = { "nvmlDeviceGetMaxPcieLinkWidth", NULL },
	[NVML_FN_PCIE_THROUGHPUT] = { "nvmlDeviceGetPcieThroughput", NULL },
	[NVML_FN_PCIE_REPLAYS] = { "nvmlDeviceGetPcieReplayCounter", NULL },
	[NVML_FN_LINK_STATE] = { "nvmlDeviceGetNvLinkState", NULL },
	[NVML_FN_FIELDS] = { "nvmlDeviceGetFieldValues", NULL },
	[NVML_FN_ECC] = { "nvmlDeviceGetTotalEccErrors", NULL },
	[NVML_FN_RETIRED] = { "nvmlDeviceGetRetiredPages", NULL },
	[NVML_FN_RETIRED_PENDING] = { "nvmlDeviceGetRetiredPagesPendingStatus", NULL },
	[NVML_FN_REMAPPED] = { "nvmlDeviceGetRemappedRows", NULL },
	[NVML_FN_PERSISTENCE] = { "nvmlDeviceGetPersistenceMode", NULL },
	[NVML_FN_COMPUTE_MODE] = { "nvmlDeviceGetComputeMode", NULL },
	[NVML_FN_MIG_MODE] = { "nvmlDeviceGetMigMode", NULL },
	[NVML_FN_MIG_COUNT] = { "nvmlDeviceGetMaxMigDeviceCount", NULL },
	[NVML_FN_MIG_BY_INDEX] = { "nvmlDeviceGetMigDeviceHandleByIndex", NULL },
	[NVML_FN_GPU_INSTANCE] = { "nvmlDeviceGetGpuInstanceId", NULL },
	[NVML_FN_GPM_SUPPORT] = { "nvmlGpmQueryDeviceSupport", NULL },
	[NVML_FN_GPM_ALLOC] = { "nvmlGpmSampleAlloc", NULL },
	[NVML_FN_GPM_FREE] = { "nvmlGpmSampleFree", NULL },
	[NVML_FN_GPM_SAMPLE] = { "nvmlGpmSampleGet", NULL },
	[NVML_FN_GPM_MIG_SAMPLE] = { "nvmlGpmMigSampleGet", NULL },
	[NVML_FN_GPM_GET] = { "nvmlGpmMetricsGet", NULL },
};

const char *nvml_name(enum nvml_function f)
{
	return functions[f].name;
}

const char *nvml_words(const struct nvml *n, unsigned code, char *buf, size_t size)
{
	const char *(*words)(unsigned) =
	        (const char *(*)(unsigned))n->functions[NVML_FN_ERROR_STRING];
	const char *said = words ? words(code) : NULL;
	if (said)
		return said;
	snprintf(buf, size, _("error %u"), code);
	return buf;
}

/* Nobody tells it here, and asking again changes nothing. */
static bool is_never(unsigned code)
{
	return code == NVML_INVALID_ARGUMENT || code == NVML_NOT_SUPPORTED ||
	       code == NVML_NO_PERMISSION || code == NVML_FUNCTION_NOT_FOUND ||
	       code == NVML_ARGUMENT_VERSION_MISMATCH || code == NVML_DEPRECATED;
}

static bool is_loss(unsigned code)
{
	return code == NVML_UNINITIALIZED || code == NVML_DRIVER_NOT_LOADED ||
	       code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED ||
	       code == NVML_VERSION_MISMATCH;
}

static void lose(struct nvml_device *d, const char *reason)
{
	d->is_lost = true;
	d->gpm_ns = 0;
	device_gone(d->sheet, reason);
}

bool nvml_has(struct nvml *n, struct nvml_device *d, enum nvml_function f, enum device_signal s)
{
	char reason[BOARD_REASON_BYTES];
	if (d->muted[s] || d->is_lost)
		return false;
	if (n->functions[f])
		return true;
	d->muted[s] = true;
	snprintf(reason, sizeof(reason), _("the driver's library is too old: it has no %s"),
	        nvml_name(f));
	device_absent(d->sheet, s, SIGNAL_NOT_SUPPORTED, reason);
	return false;
}

bool nvml_good(struct nvml *n, struct nvml_device *d, enum nvml_function f, enum device_signal s,
        unsigned code)
{
	char reason[BOARD_REASON_BYTES], words[64];
	if (code == NVML_OK)
		return true;
	const char *said = nvml_words(n, code, words, sizeof(words));
	if (is_loss(code)) {
		snprintf(reason, sizeof(reason), _("device lost: %s says: %s"), nvml_name(f), said);
		device_absent(d->sheet, s, SIGNAL_NOT_COUNTED, reason);
		lose(d, reason);
		return false;
	}
	bool never = is_never(code);
	d->muted[s] = never;
	snprintf(reason, sizeof(reason), _("%s says: %s"), nvml_name(f), said);
	device_absent(d->sheet, s, never ? SIGNAL_NOT_SUPPORTED : SIGNAL_NOT_COUNTED, reason);
	return false;
}

unsigned nvml_call_u(const struct nvml *n, enum nvml_function f, nvml_handle h, unsigned *ret)
{
	return ((unsigned (*)(nvml_handle, unsigned *))n->functions[f])(h, ret);
}

unsigned nvml_call_iu(
        const struct nvml *n, enum nvml_function f, nvml_handle h, unsigned arg, unsigned *ret)
{
	return ((unsigned (*)(nvml_handle, unsigned, unsigned *))n->functions[f])(h, arg, ret);
}

static unsigned call_text(
        const struct nvml *n, enum nvml_function f, nvml_handle h, char buf[NVML_TEXT_BYTES])
{
	buf[0] = '\0';
	unsigned code = ((unsigned (*)(nvml_handle, char *, unsigned))n->functions[f])(
	        h, buf, NVML_TEXT_BYTES);
	buf[NVML_TEXT_BYTES - 1] = '\0';
	return code;
}

static void tell_text(
        struct nvml *n, struct nvml_device *d, enum nvml_function f, enum device_signal s)
{
	char text[NVML_TEXT_BYTES];
	if (nvml_has(n, d, f, s) && nvml_good(n, d, f, s, call_text(n, f, d->handle, text)))
		device_text(d->sheet, s, nvml_name(f), text);
}

static void tell_pci(struct nvml *n, struct nvml_device *d)
{
	struct nvml_pci pci = { 0 };
	char address[32];
	if (!nvml_has(n, d, NVML_FN_PCI, DEVICE_PCI))
		return;
	unsigned code = ((unsigned (*)(nvml_handle, struct nvml_pci *))n->functions[NVML_FN_PCI])(
	        d->handle, &pci);
	if (!nvml_good(n, d, NVML_FN_PCI, DEVICE_PCI, code))
		return;
	/* As sysfs has it: NVML writes the domain with eight digits. */
	snprintf(address, sizeof(address), "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
	device_text(d->sheet, DEVICE_PCI, nvml_name(NVML_FN_PCI), address);
	device_tell_place(n->w, d->sheet, address);
}

/* What a device is; a MIG device is where its parent is. */
static void tell_identity(struct nvml *n, struct nvml_device *d)
{
	tell_text(n, d, NVML_FN_NAME, DEVICE_NAME);
	tell_text(n, d, NVML_FN_UUID, DEVICE_UUID);
	if (n->functions[NVML_FN_UUID])
		call_text(n, NVML_FN_UUID, d->handle, d->uuid);
	if (!d->is_mig)
		tell_pci(n, d);
	nvml_open_gpm(n, d);
}

static struct nvml_device *add_device(
        struct nvml *n, const char *instance, unsigned index, nvml_handle handle)
{
	if (n->n == DEVICE_MAX)
		return NULL;
	struct nvml_device *d = &n->devices[n->n++];
	*d = (struct nvml_device){ .sheet = device_of(n->w->sheets, instance),
		.handle = handle,
		.index = index,
		.has_pcie_counters = true };
	return d;
}

static struct nvml_device *find_mig(struct nvml *n, unsigned index, unsigned mig_index)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->devices[i].is_mig && n->devices[i].index == index &&
		        n->devices[i].mig_index == mig_index)
			return &n->devices[i];
	return NULL;
}

/* A handle that was heard of again, or for the first time, is that of a device that is there. */
static void find(struct nvml *n, struct nvml_device *d, nvml_handle handle)
{
	if (d->handle == handle && !d->is_lost && d->uuid[0])
		return;
	d->handle = handle;
	d->is_lost = false;
	memset(d->muted, 0, sizeof(d->muted));
	nvml_close_gpm(n, d);
	tell_identity(n, d);
}

static void look_for_mig_device(struct nvml *n, unsigned index, nvml_handle parent, unsigned i)
{
	unsigned (*by_index)(nvml_handle, unsigned, nvml_handle *) = (unsigned (*)(
	        nvml_handle, unsigned, nvml_handle *))n->functions[NVML_FN_MIG_BY_INDEX];
	nvml_handle handle = NULL;
	struct nvml_device *d = find_mig(n, index, i);
	if (by_index(parent, i, &handle) != NVML_OK) {
		if (d && !d->is_lost)
			lose(d, _("the MIG device is no longer there"));
		return;
	}
	if (!d) {
		char instance[DEVICE_INSTANCE_BYTES];
		snprintf(instance, sizeof(instance), "%s%u/mig%u", n->w->prefix, index, i);
		d = add_device(n, instance, index, handle);
		if (!d)
			return;
		d->is_mig = true;
		d->mig_index = i;
	}
	find(n, d, handle);
}

static void look_for_mig(struct nvml *n, const struct nvml_device *parent)
{
	unsigned count = 0, mode = 0, pending = 0;
	unsigned (*mig_mode)(nvml_handle, unsigned *, unsigned *) =
	        (unsigned (*)(nvml_handle, unsigned *, unsigned *))n->functions[NVML_FN_MIG_MODE];
	if (!mig_mode || !n->functions[NVML_FN_MIG_COUNT] || !n->functions[NVML_FN_MIG_BY_INDEX])
		return;
	if (mig_mode(parent->handle, &mode, &pending) != NVML_OK || mode == 0)
		return;
	if (nvml_call_u(n, NVML_FN_MIG_COUNT, parent->handle, &count) != NVML_OK)
		return;
	for (unsigned i = 0; i < count && i < DEVICE_MAX; i++)
		look_for_mig_device(n, parent->index, parent->handle, i);
}

static unsigned handle_of(const struct nvml *n, const struct nvml_device *d, nvml_handle *ret)
{
	if (n->functions[NVML_FN_BY_UUID] && d->uuid[0])
		return ((unsigned (*)(const char *, nvml_handle *))n->functions[NVML_FN_BY_UUID])(
		        d->uuid, ret);
	return ((unsigned (*)(unsigned, nvml_handle *))n->functions[NVML_FN_BY_INDEX])(
	        d->index, ret);
}

/* A lost device is back when one call about it is no longer told that it is lost. */
static void look_for_return(struct nvml *n, struct nvml_device *d)
{
	struct nvml_memory memory;
	nvml_handle handle = NULL;
	if (handle_of(n, d, &handle) != NVML_OK || !n->functions[NVML_FN_MEMORY])
		return;
	unsigned code =
	        ((unsigned (*)(nvml_handle, struct nvml_memory *))n->functions[NVML_FN_MEMORY])(
	                handle, &memory);
	if (!is_loss(code))
		find(n, d, handle);
}

static bool all_are_lost(const struct nvml *n)
{
	for (size_t i = 0; i < n->n; i++)
		if (!n->devices[i].is_lost)
			return false;
	return n->n > 0;
}

/* A driver that was unloaded and loaded again wants its library to begin anew. */
static void restart(struct nvml *n)
{
	int64_t now_ns = clock_now_ns();
	if (!all_are_lost(n)) {
		n->all_lost_ns = 0;
		return;
	}
	n->all_lost_ns = n->all_lost_ns ? n->all_lost_ns : now_ns;
	if (now_ns - n->all_lost_ns < RESTART_NS)
		return;
	n->all_lost_ns = now_ns;
	((unsigned (*)(void))n->functions[NVML_FN_SHUTDOWN])();
	((unsigned (*)(void))n->functions[NVML_FN_INIT])();
}

static void look_after(void *self, size_t i)
{
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i];
	if (i == 0)
		restart(n);
	if (d->is_lost && !d->is_mig)
		look_for_return(n, d);
}

static void look_for_parts(void *self, size_t i)
{
	struct nvml *n = self;
	if (!n->devices[i].is_mig && !n->devices[i].is_lost)
		look_for_mig(n, &n->devices[i]);
}

static bool load(struct nvml *n, struct err *err)
{
	const char *who = NULL;
	if (!device_load("VENTURI_NVML", library_names, N_("no NVIDIA driver library"), &n->library,
	            &who, err))
		return false;
	for (int f = 0; f < NVML_N_FUNCTIONS; f++) {
		void *found = dlsym(n->library, functions[f].name);
		if (!found && functions[f].older)
			found = dlsym(n->library, functions[f].older);
		memcpy(&n->functions[f], &found, sizeof(found));
	}
	static const enum nvml_function needed[] = { NVML_FN_INIT, NVML_FN_SHUTDOWN, NVML_FN_COUNT,
		NVML_FN_BY_INDEX };
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!n->functions[needed[i]])
			return err_set(err, ERR_SYSTEM, _("%s is no NVML: it has no %s"), who,
			        nvml_name(needed[i]));
	return true;
}

static void tell_versions(struct nvml *n)
{
	char driver[NVML_TEXT_BYTES] = "?", text[NVML_TEXT_BYTES * 2];
	int cuda = 0;
	if (n->functions[NVML_FN_DRIVER_VERSION])
		((unsigned (*)(char *, unsigned))n->functions[NVML_FN_DRIVER_VERSION])(
		        driver, sizeof(driver));
	if (n->functions[NVML_FN_CUDA_VERSION])
		((unsigned (*)(int *))n->functions[NVML_FN_CUDA_VERSION])(&cuda);
	/* CUDA writes 12.4 as 12040. */
	snprintf(
	        text, sizeof(text), "driver %s, CUDA %d.%d", driver, cuda / 1000, cuda % 1000 / 10);
	device_text(device_of(n->w->sheets, device_nvml.name), DEVICE_DRIVER,
	        nvml_name(NVML_FN_DRIVER_VERSION), text);
}

static bool start(struct nvml *n, unsigned *ret_count, struct err *err)
{
	char words[64];
	unsigned code = ((unsigned (*)(void))n->functions[NVML_FN_INIT])();
	if (code != NVML_OK)
		return err_set(err, ERR_SYSTEM, _("NVIDIA driver: %s says: %s"),
		        nvml_name(NVML_FN_INIT), nvml_words(n, code, words, sizeof(words)));
	code = ((unsigned (*)(unsigned *))n->functions[NVML_FN_COUNT])(ret_count);
	if (code == NVML_OK && *ret_count > 0)
		return true;
	((unsigned (*)(void))n->functions[NVML_FN_SHUTDOWN])();
	if (code == NVML_OK)
		return err_set(err, ERR_SYSTEM, _("the NVIDIA driver has no device"));
	return err_set(err, ERR_SYSTEM, _("NVIDIA driver: %s says: %s"), nvml_name(NVML_FN_COUNT),
	        nvml_words(n, code, words, sizeof(words)));
}

static void add_by_index(struct nvml *n, unsigned index)
{
	char instance[DEVICE_INSTANCE_BYTES];
	nvml_handle handle = NULL;
	unsigned code = ((unsigned (*)(unsigned, nvml_handle *))n->functions[NVML_FN_BY_INDEX])(
	        index, &handle);
	snprintf(instance, sizeof(instance), "%s%u", n->w->prefix, index);
	struct nvml_device *d = add_device(n, instance, index, handle);
	if (!d)
		return;
	/* A device that may not be used by us: its name is the place to say so. */
	if (nvml_good(n, d, NVML_FN_BY_INDEX, DEVICE_NAME, code))
		tell_identity(n, d);
	else
		d->is_lost = true;
}

static bool open_nvml(const struct device_watch *w, void **ret_self, struct err *err)
{
	struct nvml *n = mem_zeroed(1, sizeof(*n));
	unsigned count = 0;
	n->w = w;
	if (!load(n, err) || !start(n, &count, err)) {
		free(n);
		return false;
	}
	tell_versions(n);
	for (unsigned i = 0; i < count && i < DEVICE_MAX; i++)
		add_by_index(n, i);
	for (size_t i = 0; i < n->n; i++)
		look_for_parts(n, i);
	*ret_self = n;
	return true;
}

static size_t n_devices(const void *self)
{
	return ((const struct nvml *)self)->n;
}

/* The library stays loaded: a driver may have left threads in it. */
static void close_nvml(void *self)
{
	struct nvml *n = self;
	for (size_t i = 0; i < n->n; i++)
		nvml_close_gpm(n, &n->devices[i]);
	((unsigned (*)(void))n->functions[NVML_FN_SHUTDOWN])();
	free(n);
}

/*
 * A reading of PCIe's throughput blocks for 20 ms; ECC's counts, tables of pages and modes are slow
 * in the driver and change seldom.
 */
static const struct device_chore chores[] = {
	{ .period_ns = 0, .read = nvml_read_fast },
	{ .period_ns = NS_PER_S, .at_edges = true, .read = nvml_read_second },
	{ .period_ns = NS_PER_S, .at_edges = true, .read = nvml_read_fields },
	{ .period_ns = NS_PER_S / 2, .at_edges = true, .read = nvml_read_gpm },
	{ .period_ns = NS_PER_S, .read = nvml_read_users },
	{ .period_ns = 10 * NS_PER_S, .at_edges = true, .read = nvml_read_slow },
	{ .period_ns = 2 * NS_PER_S, .read = nvml_read_pcie },
	{ .period_ns = NS_PER_S, .read = look_after },
	{ .period_ns = 10 * NS_PER_S, .read = look_for_parts },
};

const struct device_library device_nvml = {
	.name = "nvml",
	.chores = chores,
	.n_chores = ARRAY_LEN(chores),
	.open = open_nvml,
	.n_devices = n_devices,
	.close = close_nvml,
};
