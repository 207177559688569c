#include "watch/gpu/amd.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOCKETS_MAX = 64, PROCESSORS_MAX = 16, TEXT_BYTES = 128 };

static const char *const amdsmi_names[] = { "libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25",
	"libamd_smi.so.24", "/opt/rocm/lib/libamd_smi.so", NULL };
static const char *const rsmi_names[] = { "librocm_smi64.so", "librocm_smi64.so.7",
	"librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1",
	"/opt/rocm/lib/librocm_smi64.so", NULL };

/* What a function is called in each of the libraries. */
static const struct {
	const char *rsmi, *amdsmi;
} functions[AMD_N_FUNCTIONS] = {
	[AMD_FN_INIT] = { "rsmi_init", "amdsmi_init" },
	[AMD_FN_SHUTDOWN] = { "rsmi_shut_down", "amdsmi_shut_down" },
	[AMD_FN_WORDS] = { "rsmi_status_string", "amdsmi_status_code_to_string" },
	[AMD_FN_COUNT] = { "rsmi_num_monitor_devices", NULL },
	[AMD_FN_SOCKETS] = { NULL, "amdsmi_get_socket_handles" },
	[AMD_FN_PROCESSORS] = { NULL, "amdsmi_get_processor_handles" },
	[AMD_FN_VERSION] = { "rsmi_version_get", "amdsmi_get_lib_version" },
	[AMD_FN_NAME] = { "rsmi_dev_name_get", "amdsmi_get_gpu_asic_info" },
	[AMD_FN_UUID] = { "rsmi_dev_unique_id_get", "amdsmi_get_gpu_device_uuid" },
	[AMD_FN_PCI] = { "rsmi_dev_pci_id_get", "amdsmi_get_gpu_bdf_id" },
	[AMD_FN_BUSY] = { "rsmi_dev_busy_percent_get", "amdsmi_get_gpu_activity" },
	[AMD_FN_MEMORY_BUSY] = { "rsmi_dev_memory_busy_percent_get", "amdsmi_get_gpu_activity" },
	[AMD_FN_MEMORY_TOTAL] = { "rsmi_dev_memory_total_get", "amdsmi_get_gpu_memory_total" },
	[AMD_FN_MEMORY_USED] = { "rsmi_dev_memory_usage_get", "amdsmi_get_gpu_memory_usage" },
	[AMD_FN_CLOCK] = { "rsmi_dev_gpu_clk_freq_get", "amdsmi_get_clk_freq" },
	[AMD_FN_POWER] = { "rsmi_dev_power_get", "amdsmi_get_power_info" },
	[AMD_FN_POWER_OLD] = { "rsmi_dev_power_ave_get", NULL },
	[AMD_FN_CAP] = { "rsmi_dev_power_cap_get", "amdsmi_get_power_cap_info" },
	[AMD_FN_CAP_DEFAULT] = { "rsmi_dev_power_cap_default_get", "amdsmi_get_power_cap_info" },
	[AMD_FN_ENERGY] = { "rsmi_dev_energy_count_get", "amdsmi_get_energy_count" },
	[AMD_FN_TEMPERATURE] = { "rsmi_dev_temp_metric_get", "amdsmi_get_temp_metric" },
	[AMD_FN_FAN] = { "rsmi_dev_fan_speed_get", "amdsmi_get_gpu_fan_speed" },
	[AMD_FN_LINK] = { "rsmi_dev_pci_bandwidth_get", "amdsmi_get_gpu_pci_bandwidth" },
	[AMD_FN_REPLAYS] = { "rsmi_dev_pci_replay_counter_get",
	        "amdsmi_get_gpu_pci_replay_counter" },
	[AMD_FN_ECC] = { "rsmi_dev_ecc_count_get", "amdsmi_get_gpu_total_ecc_count" },
	[AMD_FN_PAGES] = { "rsmi_dev_memory_reserved_pages_get",
	        "amdsmi_get_gpu_memory_reserved_pages" },
};

/* What nobody of AMD's tells, or only in a way that is too slow to ask for. */
static const enum device_signal untold[] = { DEVICE_ENCODER_UTIL, DEVICE_DECODER_UTIL,
	DEVICE_MEMORY_RESERVED, DEVICE_UTIL_OWN, DEVICE_UTIL_OTHER, DEVICE_CLOCK_SM,
	DEVICE_CLOCK_SM_MAX, DEVICE_CLOCK_GRAPHICS_APP, DEVICE_CLOCK_MEMORY_APP,
	DEVICE_THROTTLE_IDLE, DEVICE_THROTTLE_APP_CLOCKS, DEVICE_THROTTLE_HW_SLOWDOWN,
	DEVICE_THROTTLE_SYNC_BOOST, DEVICE_THROTTLE_POWER_BRAKE, DEVICE_THROTTLE_DISPLAY,
	DEVICE_HELD_POWER, DEVICE_HELD_THERMAL, DEVICE_HELD_SYNC_BOOST, DEVICE_HELD_BOARD_LIMIT,
	DEVICE_HELD_RELIABILITY, DEVICE_LINKS, DEVICE_LINKS_ACTIVE, DEVICE_LINK_ERRORS,
	DEVICE_ECC_CORRECTED_EVER, DEVICE_ECC_UNCORRECTED_EVER, DEVICE_PAGES_PENDING,
	DEVICE_ROWS_REMAPPED, DEVICE_ROWS_PENDING, DEVICE_ROWS_FAILED, DEVICE_PERSISTENCE,
	DEVICE_COMPUTE_MODE, DEVICE_MIG_MODE, DEVICE_GRAPHICS_ACTIVE, DEVICE_SM_ACTIVE,
	DEVICE_SM_OCCUPANCY, DEVICE_TENSOR_ACTIVE, DEVICE_FP64_ACTIVE, DEVICE_FP32_ACTIVE,
	DEVICE_FP16_ACTIVE, DEVICE_INTEGER_ACTIVE, DEVICE_DRAM_ACTIVE };

const char *amd_name(const struct amd *a, enum amd_function f)
{
	return a->by_index ? functions[f].rsmi : functions[f].amdsmi;
}

static const char *words_of(const struct amd *a, uint32_t code)
{
	const char *words = NULL;
	if (a->functions[AMD_FN_WORDS])
		((uint32_t(*)(uint32_t, const char **))a->functions[AMD_FN_WORDS])(code, &words);
	return words ? words : "?";
}

static bool is_among(uint32_t code, const uint32_t *codes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (codes[i] == code)
			return true;
	return false;
}

static bool is_never(const struct amd *a, uint32_t code)
{
	static const uint32_t rsmi[] = { RSMI_INVALID_ARGUMENT, RSMI_NOT_SUPPORTED,
		RSMI_NO_PERMISSION, RSMI_NOT_IMPLEMENTED, RSMI_FILE_ERROR, RSMI_NOT_FOUND };
	static const uint32_t amdsmi[] = { AMDSMI_INVALID_ARGUMENT, AMDSMI_NOT_SUPPORTED,
		AMDSMI_NOT_IMPLEMENTED, AMDSMI_NO_PERMISSION, AMDSMI_FILE_ERROR,
		AMDSMI_FILE_NOT_FOUND, AMDSMI_NOT_FOUND };
	return a->by_index ? is_among(code, rsmi, ARRAY_LEN(rsmi))
	                   : is_among(code, amdsmi, ARRAY_LEN(amdsmi));
}

/* The libraries read the kernel's files: a device that is gone is a file that is gone. */
static bool is_loss(const struct amd *a, uint32_t code)
{
	static const uint32_t rsmi[] = { RSMI_FILE_ERROR, RSMI_NOT_FOUND };
	static const uint32_t amdsmi[] = { AMDSMI_DRM_ERROR, AMDSMI_IO, AMDSMI_FILE_ERROR,
		AMDSMI_FILE_NOT_FOUND, AMDSMI_NOT_FOUND, AMDSMI_NOT_INITIALIZED,
		AMDSMI_DRIVER_NOT_LOADED };
	return a->by_index ? is_among(code, rsmi, ARRAY_LEN(rsmi))
	                   : is_among(code, amdsmi, ARRAY_LEN(amdsmi));
}

bool amd_has(struct amd *a, struct amd_device *d, enum amd_function f, enum device_signal s)
{
	char reason[BOARD_REASON_BYTES];
	if (d->muted[s] || d->is_lost)
		return false;
	if (a->functions[f])
		return true;
	d->muted[s] = true;
	snprintf(reason, sizeof(reason), _("the driver's library is too old: it has no %s"),
	        amd_name(a, f) ? amd_name(a, f) : functions[f].rsmi);
	device_absent(d->sheet, s, SIGNAL_NOT_SUPPORTED, reason);
	return false;
}

bool amd_good(struct amd *a, struct amd_device *d, enum amd_function f, enum device_signal s,
        uint32_t code)
{
	char reason[BOARD_REASON_BYTES];
	if (code == 0) {
		d->heard[s] = true;
		return true;
	}
	const char *words = words_of(a, code);
	if (d->heard[s] && is_loss(a, code)) {
		snprintf(reason, sizeof(reason), _("device lost: %s says: %s"), amd_name(a, f),
		        words);
		d->is_lost = true;
		device_gone(d->sheet, reason);
		return false;
	}
	d->muted[s] = is_never(a, code);
	snprintf(reason, sizeof(reason), _("%s says: %s"), amd_name(a, f), words);
	device_absent(d->sheet, s, d->muted[s] ? SIGNAL_NOT_SUPPORTED : SIGNAL_NOT_COUNTED, reason);
	return false;
}

static void tell_name(struct amd *a, struct amd_device *d)
{
	/* AMD-SMI: the name is the first field of a struct whose size changes. */
	char text[AMDSMI_STRUCT_BYTES] = "";
	uint32_t code;
	if (!amd_has(a, d, AMD_FN_NAME, DEVICE_NAME))
		return;
	if (a->by_index)
		code = ((uint32_t(*)(uint32_t, char *, size_t))a->functions[AMD_FN_NAME])(
		        d->index, text, TEXT_BYTES);
	else
		code = ((uint32_t(*)(void *, void *))a->functions[AMD_FN_NAME])(d->handle, text);
	text[TEXT_BYTES - 1] = '\0';
	if (amd_good(a, d, AMD_FN_NAME, DEVICE_NAME, code))
		device_text(d->sheet, DEVICE_NAME, amd_name(a, AMD_FN_NAME), text);
}

static void tell_uuid(struct amd *a, struct amd_device *d)
{
	char text[TEXT_BYTES] = "";
	uint64_t id = 0;
	unsigned size = sizeof(text);
	uint32_t code;
	if (!amd_has(a, d, AMD_FN_UUID, DEVICE_UUID))
		return;
	if (a->by_index)
		code = ((uint32_t(*)(uint32_t, uint64_t *))a->functions[AMD_FN_UUID])(
		        d->index, &id);
	else
		code = ((uint32_t(*)(void *, unsigned *, char *))a->functions[AMD_FN_UUID])(
		        d->handle, &size, text);
	if (!amd_good(a, d, AMD_FN_UUID, DEVICE_UUID, code))
		return;
	if (a->by_index)
		snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)id);
	text[TEXT_BYTES - 1] = '\0';
	device_text(d->sheet, DEVICE_UUID, amd_name(a, AMD_FN_UUID), text);
}

/* Domain above bit 32, bus above bit 8, device above bit 3, function. */
static void tell_pci(struct amd *a, struct amd_device *d)
{
	uint64_t id = 0;
	if (!amd_has(a, d, AMD_FN_PCI, DEVICE_PCI))
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_PCI, (uint64_t *), &id);
	if (!amd_good(a, d, AMD_FN_PCI, DEVICE_PCI, code))
		return;
	snprintf(d->address, sizeof(d->address), "%04x:%02x:%02x.%x", (unsigned)(id >> 32 & 0xffff),
	        (unsigned)(id >> 8 & 0xff), (unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
	device_text(d->sheet, DEVICE_PCI, amd_name(a, AMD_FN_PCI), d->address);
	device_tell_place(a->w, d->sheet, d->address);
	amd_find_kfd(a->w, d, id);
}

static void tell_identity(struct amd *a, struct amd_device *d)
{
	tell_name(a, d);
	tell_uuid(a, d);
	tell_pci(a, d);
	for (size_t i = 0; i < ARRAY_LEN(untold); i++)
		device_absent(d->sheet, untold[i], SIGNAL_NOT_SUPPORTED,
		        _("AMD's libraries do not tell it"));
	device_absent(d->sheet, DEVICE_PCIE_TX, SIGNAL_NOT_SUPPORTED,
	        _("AMD's libraries wait for a whole second to tell it"));
	device_absent(d->sheet, DEVICE_PCIE_RX, SIGNAL_NOT_SUPPORTED,
	        _("AMD's libraries wait for a whole second to tell it"));
}

static void look_after(void *self, size_t i)
{
	struct amd *a = self;
	struct amd_device *d = &a->devices[i];
	if (!d->is_lost || !amd_answers(a, d))
		return;
	d->is_lost = false;
	memset(d->muted, 0, sizeof(d->muted));
	tell_identity(a, d);
}

static void add_device(struct amd *a, void *handle)
{
	char instance[DEVICE_INSTANCE_BYTES];
	if (a->n == DEVICE_MAX)
		return;
	struct amd_device *d = &a->devices[a->n];
	snprintf(instance, sizeof(instance), "%s%zu", a->w->prefix, a->n);
	*d = (struct amd_device){ .sheet = device_of(a->w->sheets, instance),
		.index = (uint32_t)a->n,
		.handle = handle };
	a->n++;
}

static bool add_by_index(struct amd *a, uint32_t *code)
{
	uint32_t count = 0;
	*code = ((uint32_t(*)(uint32_t *))a->functions[AMD_FN_COUNT])(&count);
	for (uint32_t i = 0; *code == 0 && i < count; i++)
		add_device(a, NULL);
	return *code == 0;
}

/* A socket is a package, which may hold several devices. */
static bool add_by_socket(struct amd *a, uint32_t *code)
{
	uint32_t n_sockets = SOCKETS_MAX;
	void *sockets[SOCKETS_MAX], *handles[PROCESSORS_MAX];
	*code = ((uint32_t(*)(uint32_t *, void **))a->functions[AMD_FN_SOCKETS])(
	        &n_sockets, sockets);
	for (uint32_t i = 0; *code == 0 && i < n_sockets && i < SOCKETS_MAX; i++) {
		uint32_t n = PROCESSORS_MAX;
		*code = ((uint32_t(*)(void *, uint32_t *, void **))a->functions[AMD_FN_PROCESSORS])(
		        sockets[i], &n, handles);
		for (uint32_t j = 0; *code == 0 && j < n && j < PROCESSORS_MAX; j++)
			add_device(a, handles[j]);
	}
	return *code == 0;
}

static void find_functions(struct amd *a)
{
	for (int f = 0; f < AMD_N_FUNCTIONS; f++) {
		const char *name = amd_name(a, (enum amd_function)f);
		void *found = name ? dlsym(a->library, name) : NULL;
		memcpy(&a->functions[f], &found, sizeof(found));
	}
}

static bool load(struct amd *a, struct err *err)
{
	static const enum amd_function needed[2][4] = { { AMD_FN_INIT, AMD_FN_SHUTDOWN,
		                                                AMD_FN_SOCKETS, AMD_FN_PROCESSORS },
		{ AMD_FN_INIT, AMD_FN_SHUTDOWN, AMD_FN_COUNT, AMD_FN_COUNT } };
	const char *who = NULL;
	struct err second;
	if (!device_load("VENTURI_AMDSMI", amdsmi_names, N_("no AMD driver library"), &a->library,
	            &who, err)) {
		if (!device_load("VENTURI_ROCMSMI", rsmi_names, N_("no AMD driver library"),
		            &a->library, &who, &second))
			return false;
		a->by_index = true;
	}
	find_functions(a);
	for (size_t i = 0; i < ARRAY_LEN(needed[0]); i++)
		if (!a->functions[needed[a->by_index][i]])
			return err_set(err, ERR_SYSTEM,
			        _("%s is no library of AMD's: it has no %s"), who,
			        amd_name(a, needed[a->by_index][i]));
	return true;
}

/* AMD-SMI's begins with the year until ROCm 6, with the major number from ROCm 7 on. */
static void tell_version(struct amd *a)
{
	struct rsmi_version version = { 0 };
	uint32_t room[AMDSMI_STRUCT_BYTES / 4] = { 0 };
	char text[TEXT_BYTES] = "AMD-SMI ?";
	if (!a->functions[AMD_FN_VERSION])
		return;
	((uint32_t(*)(void *))a->functions[AMD_FN_VERSION])(room);
	memcpy(&version, room, sizeof(version));
	a->has_old_frequencies = a->by_index && version.major < 6;
	snprintf(text, sizeof(text), "%s %u.%u.%u", a->by_index ? "ROCm-SMI" : "AMD-SMI",
	        version.major, version.minor, version.patch);
	device_text(device_of(a->w->sheets, device_amd.name), DEVICE_DRIVER,
	        amd_name(a, AMD_FN_VERSION), text);
}

static bool start(struct amd *a, struct err *err)
{
	uint64_t flags = a->by_index ? 0 : AMDSMI_INIT_GPUS;
	uint32_t code = ((uint32_t(*)(uint64_t))a->functions[AMD_FN_INIT])(flags);
	if (code != 0)
		return err_set(err, ERR_SYSTEM, _("AMD driver: %s says: %s"),
		        amd_name(a, AMD_FN_INIT), words_of(a, code));
	bool found = a->by_index ? add_by_index(a, &code) : add_by_socket(a, &code);
	if (found && a->n > 0)
		return true;
	((uint32_t(*)(void))a->functions[AMD_FN_SHUTDOWN])();
	if (found)
		return err_set(err, ERR_SYSTEM, _("the AMD driver has no device"));
	return err_set(err, ERR_SYSTEM, _("AMD driver: %s says: %s"),
	        amd_name(a, a->by_index ? AMD_FN_COUNT : AMD_FN_SOCKETS), words_of(a, code));
}

static bool open_amd(const struct device_watch *w, void **ret_self, struct err *err)
{
	struct amd *a = mem_zeroed(1, sizeof(*a));
	a->w = w;
	if (!load(a, err) || !start(a, err)) {
		free(a);
		return false;
	}
	tell_version(a);
	for (size_t i = 0; i < a->n; i++)
		tell_identity(a, &a->devices[i]);
	*ret_self = a;
	return true;
}

static size_t n_devices(const void *self)
{
	return ((const struct amd *)self)->n;
}

static void close_amd(void *self)
{
	struct amd *a = self;
	((uint32_t(*)(void))a->functions[AMD_FN_SHUTDOWN])();
	free(a);
}

static const struct device_chore chores[] = {
	{ .period_ns = 0, .read = amd_read_fast },
	{ .period_ns = NS_PER_S, .at_edges = true, .read = amd_read_second },
	{ .period_ns = NS_PER_S, .at_edges = true, .read = amd_read_metrics },
	{ .period_ns = NS_PER_S, .read = amd_read_users },
	{ .period_ns = 10 * NS_PER_S, .at_edges = true, .read = amd_read_slow },
	{ .period_ns = NS_PER_S, .read = look_after },
};

const struct device_library device_amd = {
	.name = "amd",
	.chores = chores,
	.n_chores = ARRAY_LEN(chores),
	.open = open_amd,
	.n_devices = n_devices,
	.close = close_amd,
};
