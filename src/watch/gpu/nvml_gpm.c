#include "watch/gpu/nvml.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/i18n.h"

#include <stdio.h>
#include <string.h>

/* The device renews its counters so often. */
#define FRESH_NS (100 * NS_PER_MS)
#define BYTES_OF_MIB (1024.0 * 1024.0)

static const struct {
	unsigned id;
	enum device_signal signal;
	double scale;
} metrics[] = {
	{ 1, DEVICE_GRAPHICS_ACTIVE, 0.01 },
	{ 2, DEVICE_SM_ACTIVE, 0.01 },
	{ 3, DEVICE_SM_OCCUPANCY, 0.01 },
	{ 4, DEVICE_INTEGER_ACTIVE, 0.01 },
	{ 5, DEVICE_TENSOR_ACTIVE, 0.01 },
	{ 10, DEVICE_DRAM_ACTIVE, 0.01 },
	{ 11, DEVICE_FP64_ACTIVE, 0.01 },
	{ 12, DEVICE_FP32_ACTIVE, 0.01 },
	{ 13, DEVICE_FP16_ACTIVE, 0.01 },
	{ 20, DEVICE_PCIE_TX, BYTES_OF_MIB },
	{ 21, DEVICE_PCIE_RX, BYTES_OF_MIB },
	{ 60, DEVICE_LINK_RX, BYTES_OF_MIB },
	{ 61, DEVICE_LINK_TX, BYTES_OF_MIB },
};

static void tell_none(struct nvml_device *d, const char *reason)
{
	d->gpm = NVML_GPM_NONE;
	d->gpm_tells_pcie = d->gpm_tells_links = false;
	for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
		if (metrics[i].signal >= DEVICE_GRAPHICS_ACTIVE)
			device_absent(d->sheet, metrics[i].signal, SIGNAL_NOT_SUPPORTED, reason);
}

static bool alloc_samples(struct nvml *n, struct nvml_device *d)
{
	unsigned (*alloc)(void **) = (unsigned (*)(void **))n->functions[NVML_FN_GPM_ALLOC];
	for (size_t i = 0; i < ARRAY_LEN(d->gpm_samples); i++)
		if (alloc(&d->gpm_samples[i]) != NVML_OK)
			return false;
	return true;
}

void nvml_open_gpm(struct nvml *n, struct nvml_device *d)
{
	static const enum nvml_function needed[] = { NVML_FN_GPM_SUPPORT, NVML_FN_GPM_ALLOC,
		NVML_FN_GPM_FREE, NVML_FN_GPM_SAMPLE, NVML_FN_GPM_GET };
	char reason[BOARD_REASON_BYTES];
	struct nvml_gpm_support support = { .version = 1 };
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		if (n->functions[needed[i]])
			continue;
		snprintf(reason, sizeof(reason), _("the driver's library is too old: it has no %s"),
		        nvml_name(needed[i]));
		tell_none(d, reason);
		return;
	}
	unsigned code = ((unsigned (*)(nvml_handle,
	        struct nvml_gpm_support *))n->functions[NVML_FN_GPM_SUPPORT])(d->handle, &support);
	if (code != NVML_OK || !support.is_supported || !alloc_samples(n, d)) {
		nvml_close_gpm(n, d);
		tell_none(d, _("the device has no counters that can be read without a profiler: "
		               "NVIDIA's have them from Hopper on"));
		return;
	}
	d->gpm = NVML_GPM_RUNS;
	d->gpm_ns = 0;
	d->gpm_tells_pcie = d->gpm_tells_links = !d->is_mig;
}

void nvml_close_gpm(struct nvml *n, struct nvml_device *d)
{
	for (size_t i = 0; i < ARRAY_LEN(d->gpm_samples); i++) {
		if (d->gpm_samples[i])
			((unsigned (*)(void *))n->functions[NVML_FN_GPM_FREE])(d->gpm_samples[i]);
		d->gpm_samples[i] = NULL;
	}
	d->gpm = NVML_GPM_UNKNOWN;
	d->gpm_ns = 0;
}

static unsigned take_sample(struct nvml *n, struct nvml_device *d, void *into)
{
	unsigned instance = 0;
	void (*sample)(void) = n->functions[NVML_FN_GPM_SAMPLE];
	void (*mig_sample)(void) = n->functions[NVML_FN_GPM_MIG_SAMPLE];
	if (!d->is_mig || !mig_sample || !n->functions[NVML_FN_GPU_INSTANCE])
		return ((unsigned (*)(nvml_handle, void *))sample)(d->handle, into);
	unsigned code = nvml_call_u(n, NVML_FN_GPU_INSTANCE, d->handle, &instance);
	if (code != NVML_OK)
		return code;
	for (size_t i = 0; i < n->n; i++)
		if (!n->devices[i].is_mig && n->devices[i].index == d->index)
			return ((unsigned (*)(nvml_handle, unsigned, void *))mig_sample)(
			        n->devices[i].handle, instance, into);
	return NVML_NOT_FOUND;
}

static void tell_metric(struct nvml *n, struct nvml_device *d, enum device_signal s,
        const struct nvml_gpm_metric *got, double scale)
{
	bool is_pcie = s == DEVICE_PCIE_TX || s == DEVICE_PCIE_RX;
	bool is_link = s == DEVICE_LINK_TX || s == DEVICE_LINK_RX;
	/* What has another way to be told goes that way. */
	if (got->code != NVML_OK && is_pcie)
		d->gpm_tells_pcie = false;
	else if (got->code != NVML_OK && is_link)
		d->gpm_tells_links = false;
	else if (nvml_good(n, d, NVML_FN_GPM_GET, s, got->code))
		device_value(d->sheet, s, nvml_name(NVML_FN_GPM_GET), got->value * scale);
}

static bool is_wanted(const struct nvml_device *d, enum device_signal s)
{
	if (s == DEVICE_PCIE_TX || s == DEVICE_PCIE_RX)
		return d->gpm_tells_pcie;
	if (s == DEVICE_LINK_TX || s == DEVICE_LINK_RX)
		return d->gpm_tells_links;
	return !d->muted[s];
}

static void tell_interval(struct nvml *n, struct nvml_device *d)
{
	struct nvml_gpm_get *get = &n->gpm_get;
	size_t places[ARRAY_LEN(metrics)];
	memset(get->metrics, 0, sizeof(get->metrics[0]) * ARRAY_LEN(metrics));
	get->version = 1;
	get->n = 0;
	get->before = d->gpm_samples[0];
	get->after = d->gpm_samples[1];
	for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
		if (!is_wanted(d, metrics[i].signal))
			continue;
		places[get->n] = i;
		get->metrics[get->n++].id = metrics[i].id;
	}
	unsigned n_asked = get->n;
	unsigned code = ((unsigned (*)(struct nvml_gpm_get *))n->functions[NVML_FN_GPM_GET])(get);
	for (unsigned i = 0; i < n_asked && !d->is_lost; i++) {
		if (code != NVML_OK)
			get->metrics[i].code = code;
		tell_metric(n, d, metrics[places[i]].signal, &get->metrics[i],
		        metrics[places[i]].scale);
	}
}

void nvml_read_gpm(void *self, size_t i)
{
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i];
	int64_t now_ns = clock_now_ns();
	if (d->gpm != NVML_GPM_RUNS || d->is_lost || now_ns - d->gpm_ns < FRESH_NS)
		return;
	/* The older of the two is the newer from now on. */
	void *into = d->gpm_samples[0];
	d->gpm_samples[0] = d->gpm_samples[1];
	d->gpm_samples[1] = into;
	unsigned code = take_sample(n, d, into);
	if (!nvml_good(n, d, NVML_FN_GPM_SAMPLE, DEVICE_SM_ACTIVE, code)) {
		d->gpm_ns = 0;
		return;
	}
	if (d->gpm_ns)
		tell_interval(n, d);
	d->gpm_ns = now_ns;
}
