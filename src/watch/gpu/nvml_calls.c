#include "watch/gpu/nvml.h"

#include "base/i18n.h"
#include "base/str.h"

#include <stdio.h>

/* What a function takes between the device and where it writes a number. */
enum shape {
	SHAPE_U,    /* nothing */
	SHAPE_IU,   /* a number */
	SHAPE_U64,  /* nothing; it writes 64 bits */
	SHAPE_PAIR, /* nothing; it writes a second number, which is not looked at */
	SHAPE_IIU64 /* two numbers; it writes 64 bits */
};

/* One number by one call. */
struct call {
	enum device_signal signal;
	enum nvml_function function;
	enum shape shape;
	unsigned a, b;
	double scale; /* of a gauge; 0: it is the counter of a rate */
	bool mig;     /* MIG devices have it, too */
};

static const struct call fast_calls[] = {
	{ DEVICE_POWER, NVML_FN_POWER, SHAPE_U, .scale = 1e-3 },
	{ DEVICE_CLOCK_SM, NVML_FN_CLOCK, SHAPE_IU, .a = NVML_CLOCK_SM, .scale = 1 },
	{ DEVICE_CLOCK_GRAPHICS, NVML_FN_CLOCK, SHAPE_IU, .a = NVML_CLOCK_GRAPHICS, .scale = 1 },
	{ DEVICE_CLOCK_MEMORY, NVML_FN_CLOCK, SHAPE_IU, .a = NVML_CLOCK_MEMORY, .scale = 1 },
};

static const struct call second_calls[] = {
	{ DEVICE_ENERGY, NVML_FN_ENERGY, SHAPE_U64 },
	{ DEVICE_POWER_LIMIT, NVML_FN_POWER_LIMIT, SHAPE_U, .scale = 1e-3 },
	{ DEVICE_FAN, NVML_FN_FAN, SHAPE_U, .scale = 0.01 },
	{ DEVICE_PCIE_GENERATION, NVML_FN_PCIE_GENERATION, SHAPE_U, .scale = 1 },
	{ DEVICE_PCIE_WIDTH, NVML_FN_PCIE_WIDTH, SHAPE_U, .scale = 1 },
	{ DEVICE_PCIE_REPLAYS, NVML_FN_PCIE_REPLAYS, SHAPE_U },
	{ DEVICE_ENCODER_UTIL, NVML_FN_ENCODER, SHAPE_PAIR, .scale = 0.01 },
	{ DEVICE_DECODER_UTIL, NVML_FN_DECODER, SHAPE_PAIR, .scale = 0.01 },
};

static const struct call slow_calls[] = {
	{ DEVICE_CLOCK_SM_MAX, NVML_FN_CLOCK_MAX, SHAPE_IU, .a = NVML_CLOCK_SM, .scale = 1 },
	{ DEVICE_CLOCK_GRAPHICS_MAX, NVML_FN_CLOCK_MAX, SHAPE_IU, .a = NVML_CLOCK_GRAPHICS,
	        .scale = 1 },
	{ DEVICE_CLOCK_MEMORY_MAX, NVML_FN_CLOCK_MAX, SHAPE_IU, .a = NVML_CLOCK_MEMORY,
	        .scale = 1 },
	{ DEVICE_CLOCK_GRAPHICS_APP, NVML_FN_CLOCK_APP, SHAPE_IU, .a = NVML_CLOCK_GRAPHICS,
	        .scale = 1 },
	{ DEVICE_CLOCK_MEMORY_APP, NVML_FN_CLOCK_APP, SHAPE_IU, .a = NVML_CLOCK_MEMORY,
	        .scale = 1 },
	{ DEVICE_POWER_LIMIT_DEFAULT, NVML_FN_POWER_DEFAULT, SHAPE_U, .scale = 1e-3 },
	{ DEVICE_TEMPERATURE_SLOWDOWN, NVML_FN_THRESHOLD, SHAPE_IU, .a = NVML_THRESHOLD_SLOWDOWN,
	        .scale = 1 },
	{ DEVICE_PCIE_GENERATION_MAX, NVML_FN_PCIE_GENERATION_MAX, SHAPE_U, .scale = 1 },
	{ DEVICE_PCIE_WIDTH_MAX, NVML_FN_PCIE_WIDTH_MAX, SHAPE_U, .scale = 1 },
	{ DEVICE_ECC_CORRECTED, NVML_FN_ECC, SHAPE_IIU64, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE },
	{ DEVICE_ECC_UNCORRECTED, NVML_FN_ECC, SHAPE_IIU64, NVML_ECC_UNCORRECTED,
	        NVML_ECC_VOLATILE },
	{ DEVICE_ECC_CORRECTED_EVER, NVML_FN_ECC, SHAPE_IIU64, NVML_ECC_CORRECTED,
	        NVML_ECC_AGGREGATE, .scale = 1 },
	{ DEVICE_ECC_UNCORRECTED_EVER, NVML_FN_ECC, SHAPE_IIU64, NVML_ECC_UNCORRECTED,
	        NVML_ECC_AGGREGATE, .scale = 1 },
	{ DEVICE_PAGES_PENDING, NVML_FN_RETIRED_PENDING, SHAPE_U, .scale = 1 },
};

static unsigned ask(const struct nvml *n, const struct call *c, nvml_handle h, uint64_t *ret_number)
{
	void (*f)(void) = n->functions[c->function];
	unsigned u = 0, second = 0, code = 0;
	uint64_t u64 = 0;
	switch (c->shape) {
	case SHAPE_U:
		code = nvml_call_u(n, c->function, h, &u);
		break;
	case SHAPE_IU:
		code = nvml_call_iu(n, c->function, h, c->a, &u);
		break;
	case SHAPE_PAIR:
		code = ((unsigned (*)(nvml_handle, unsigned *, unsigned *))f)(h, &u, &second);
		break;
	case SHAPE_U64:
		code = ((unsigned (*)(nvml_handle, uint64_t *))f)(h, &u64);
		break;
	case SHAPE_IIU64:
		code = ((unsigned (*)(nvml_handle, unsigned, unsigned, uint64_t *))f)(
		        h, c->a, c->b, &u64);
		break;
	}
	*ret_number = c->shape == SHAPE_U64 || c->shape == SHAPE_IIU64 ? u64 : u;
	return code;
}

static void do_calls(struct nvml *n, struct nvml_device *d, const struct call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct call *c = &calls[i];
		uint64_t number = 0;
		if (d->is_mig && !c->mig)
			continue;
		if (!nvml_has(n, d, c->function, c->signal))
			continue;
		unsigned code = ask(n, c, d->handle, &number);
		if (!nvml_good(n, d, c->function, c->signal, code))
			continue;
		const char *from = nvml_name(c->function);
		if (c->scale > 0)
			device_value(d->sheet, c->signal, from, (double)number * c->scale);
		else
			device_total(d->sheet, c->signal, from, number);
	}
}

static void tell_utilization(struct nvml *n, struct nvml_device *d)
{
	struct nvml_utilization use = { 0 };
	const enum nvml_function f = NVML_FN_UTILIZATION;
	if (!nvml_has(n, d, f, DEVICE_UTIL))
		return;
	unsigned code = ((unsigned (*)(nvml_handle, struct nvml_utilization *))n->functions[f])(
	        d->handle, &use);
	bool good = nvml_good(n, d, f, DEVICE_UTIL, code);
	if (!nvml_good(n, d, f, DEVICE_MEMORY_UTIL, code) || !good)
		return;
	device_value(d->sheet, DEVICE_UTIL, nvml_name(f), use.gpu / 100.0);
	device_value(d->sheet, DEVICE_MEMORY_UTIL, nvml_name(f), use.memory / 100.0);
}

static void tell_bytes(
        struct nvml_device *d, const char *from, uint64_t used, uint64_t free, uint64_t total)
{
	device_value(d->sheet, DEVICE_MEMORY_USED, from, (double)used);
	device_value(d->sheet, DEVICE_MEMORY_FREE, from, (double)free);
	device_value(d->sheet, DEVICE_MEMORY_TOTAL, from, (double)total);
}

/* Of the second version, if there is one: the first counts what is reserved as used. */
static bool tell_memory_v2(struct nvml *n, struct nvml_device *d)
{
	struct nvml_memory_v2 memory = { .version = NVML_MEMORY_V2 };
	const enum nvml_function f = NVML_FN_MEMORY_V2;
	if (!nvml_has(n, d, f, DEVICE_MEMORY_RESERVED))
		return false;
	unsigned code = ((unsigned (*)(nvml_handle, struct nvml_memory_v2 *))n->functions[f])(
	        d->handle, &memory);
	if (!nvml_good(n, d, f, DEVICE_MEMORY_RESERVED, code))
		return false;
	device_value(d->sheet, DEVICE_MEMORY_RESERVED, nvml_name(f), (double)memory.reserved);
	tell_bytes(d, nvml_name(f), memory.used, memory.free, memory.total);
	return true;
}

static void tell_memory(struct nvml *n, struct nvml_device *d)
{
	static const enum device_signal signals[] = { DEVICE_MEMORY_USED, DEVICE_MEMORY_FREE,
		DEVICE_MEMORY_TOTAL };
	struct nvml_memory memory = { 0 };
	const enum nvml_function f = NVML_FN_MEMORY;
	if (tell_memory_v2(n, d) || !nvml_has(n, d, f, DEVICE_MEMORY_USED))
		return;
	unsigned code = ((unsigned (*)(nvml_handle, struct nvml_memory *))n->functions[f])(
	        d->handle, &memory);
	bool good = true;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		good &= nvml_good(n, d, f, signals[i], code);
	if (good)
		tell_bytes(d, nvml_name(f), memory.used, memory.free, memory.total);
}

/* The words of gpu_throttle_reasons are for programs, too, and are not translated. */
static const struct {
	unsigned bit;
	enum device_signal signal;
	const char *word;
} reasons[] = {
	{ NVML_REASON_IDLE, DEVICE_THROTTLE_IDLE, "idle" },
	{ NVML_REASON_APP_CLOCKS, DEVICE_THROTTLE_APP_CLOCKS, "set_clocks" },
	{ NVML_REASON_POWER_CAP, DEVICE_THROTTLE_POWER_CAP, "power_cap" },
	{ NVML_REASON_HW_SLOWDOWN, DEVICE_THROTTLE_HW_SLOWDOWN, "hw_slowdown" },
	{ NVML_REASON_SYNC_BOOST, DEVICE_THROTTLE_SYNC_BOOST, "sync_boost" },
	{ NVML_REASON_SW_THERMAL, DEVICE_THROTTLE_SW_THERMAL, "sw_thermal" },
	{ NVML_REASON_HW_THERMAL, DEVICE_THROTTLE_HW_THERMAL, "hw_thermal" },
	{ NVML_REASON_POWER_BRAKE, DEVICE_THROTTLE_POWER_BRAKE, "power_brake" },
	{ NVML_REASON_DISPLAY, DEVICE_THROTTLE_DISPLAY, "display" },
};

static void tell_reasons(struct nvml *n, struct nvml_device *d)
{
	const enum nvml_function f = NVML_FN_REASONS;
	uint64_t bits = 0;
	char words[BOARD_TEXT_BYTES] = "";
	size_t len = 0;
	bool has = nvml_has(n, d, f, DEVICE_THROTTLE_REASONS);
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		has &= nvml_has(n, d, f, reasons[i].signal);
	if (!has)
		return;
	unsigned code = ((unsigned (*)(nvml_handle, uint64_t *))n->functions[f])(d->handle, &bits);
	if (!nvml_good(n, d, f, DEVICE_THROTTLE_REASONS, code)) {
		for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
			nvml_good(n, d, f, reasons[i].signal, code);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		bool holds = bits & reasons[i].bit;
		device_value(d->sheet, reasons[i].signal, nvml_name(f), holds);
		if (holds)
			len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%s",
			        len ? "," : "", reasons[i].word);
	}
	device_text(d->sheet, DEVICE_THROTTLE_REASONS, nvml_name(f), len ? words : "none");
}

void nvml_read_fast(void *self, size_t i)
{
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i];
	tell_utilization(n, d);
	tell_memory(n, d);
	if (d->is_mig)
		return;
	tell_reasons(n, d);
	do_calls(n, d, fast_calls, ARRAY_LEN(fast_calls));
}

static void tell_temperature(struct nvml *n, struct nvml_device *d)
{
	struct nvml_temperature t = { .version = NVML_TEMPERATURE_V1 };
	enum nvml_function f = NVML_FN_TEMPERATURE_V;
	if (n->functions[f] && !d->is_lost) {
		unsigned code =
		        ((unsigned (*)(nvml_handle, struct nvml_temperature *))n->functions[f])(
		                d->handle, &t);
		if (code == NVML_OK) {
			device_value(d->sheet, DEVICE_TEMPERATURE, nvml_name(f), t.celsius);
			return;
		}
	}
	f = NVML_FN_TEMPERATURE;
	unsigned celsius = 0;
	if (!nvml_has(n, d, f, DEVICE_TEMPERATURE))
		return;
	unsigned code = nvml_call_iu(n, f, d->handle, 0, &celsius);
	if (nvml_good(n, d, f, DEVICE_TEMPERATURE, code))
		device_value(d->sheet, DEVICE_TEMPERATURE, nvml_name(f), celsius);
}

void nvml_read_second(void *self, size_t i)
{
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i];
	if (d->is_mig || d->is_lost)
		return;
	do_calls(n, d, second_calls, ARRAY_LEN(second_calls));
	tell_temperature(n, d);
}

static void tell_mode(struct nvml *n, struct nvml_device *d, enum nvml_function f,
        enum device_signal s, const char *const *words, unsigned n_words)
{
	unsigned mode = 0;
	if (!nvml_has(n, d, f, s) || !nvml_good(n, d, f, s, nvml_call_u(n, f, d->handle, &mode)))
		return;
	device_text(d->sheet, s, nvml_name(f), mode < n_words ? words[mode] : "?");
}

static void tell_mig_mode(struct nvml *n, struct nvml_device *d)
{
	static const char *const words[2][2] = { { "off", "on after a reset" },
		{ "off after a reset", "on" } };
	const enum nvml_function f = NVML_FN_MIG_MODE;
	unsigned now = 0, later = 0;
	if (!nvml_has(n, d, f, DEVICE_MIG_MODE))
		return;
	unsigned code = ((unsigned (*)(nvml_handle, unsigned *, unsigned *))n->functions[f])(
	        d->handle, &now, &later);
	if (nvml_good(n, d, f, DEVICE_MIG_MODE, code))
		device_text(d->sheet, DEVICE_MIG_MODE, nvml_name(f), words[now != 0][later != 0]);
}

/* Pages are retired for single-bit errors that come again, and for double-bit ones. */
static void tell_retired(struct nvml *n, struct nvml_device *d)
{
	enum { CAUSES = 2 };
	const enum nvml_function f = NVML_FN_RETIRED;
	unsigned sum = 0;
	if (!nvml_has(n, d, f, DEVICE_PAGES_RETIRED))
		return;
	for (unsigned cause = 0; cause < CAUSES; cause++) {
		unsigned count = 0;
		unsigned code = ((unsigned (*)(nvml_handle, unsigned, unsigned *,
		        uint64_t *))n->functions[f])(d->handle, cause, &count, NULL);
		/* Without room for addresses it says how many there are. */
		if (code == NVML_INSUFFICIENT_SIZE)
			code = NVML_OK;
		if (!nvml_good(n, d, f, DEVICE_PAGES_RETIRED, code))
			return;
		sum += count;
	}
	device_value(d->sheet, DEVICE_PAGES_RETIRED, nvml_name(f), sum);
}

static void tell_remapped(struct nvml *n, struct nvml_device *d)
{
	static const enum device_signal signals[] = { DEVICE_ROWS_REMAPPED, DEVICE_ROWS_PENDING,
		DEVICE_ROWS_FAILED };
	const enum nvml_function f = NVML_FN_REMAPPED;
	unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
	bool good = true;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		good &= nvml_has(n, d, f, signals[i]);
	if (!good)
		return;
	unsigned code = ((unsigned (*)(
	        nvml_handle, unsigned *, unsigned *, unsigned *, unsigned *))n->functions[f])(
	        d->handle, &corrected, &uncorrected, &pending, &failed);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		good &= nvml_good(n, d, f, signals[i], code);
	if (!good)
		return;
	device_value(d->sheet, DEVICE_ROWS_REMAPPED, nvml_name(f),
	        (double)corrected + (double)uncorrected);
	device_value(d->sheet, DEVICE_ROWS_PENDING, nvml_name(f), pending);
	device_value(d->sheet, DEVICE_ROWS_FAILED, nvml_name(f), failed);
}

void nvml_read_slow(void *self, size_t i)
{
	static const char *const on_off[] = { "off", "on" };
	static const char *const who[] = { "shared", "one thread", "nobody", "one process" };
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i];
	if (d->is_mig || d->is_lost)
		return;
	do_calls(n, d, slow_calls, ARRAY_LEN(slow_calls));
	tell_mode(n, d, NVML_FN_PERSISTENCE, DEVICE_PERSISTENCE, on_off, ARRAY_LEN(on_off));
	tell_mode(n, d, NVML_FN_COMPUTE_MODE, DEVICE_COMPUTE_MODE, who, ARRAY_LEN(who));
	tell_mig_mode(n, d);
	tell_retired(n, d);
	tell_remapped(n, d);
}

/* Of 20 ms that the call waits for: where neither the device's counters nor the fields tell it. */
void nvml_read_pcie(void *self, size_t i)
{
	static const struct {
		enum device_signal signal;
		unsigned counter;
	} directions[] = { { DEVICE_PCIE_TX, NVML_PCIE_TX }, { DEVICE_PCIE_RX, NVML_PCIE_RX } };
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i];
	const enum nvml_function f = NVML_FN_PCIE_THROUGHPUT;
	if (d->is_mig || d->gpm_tells_pcie || d->has_pcie_counters)
		return;
	for (size_t j = 0; j < ARRAY_LEN(directions); j++) {
		const enum device_signal s = directions[j].signal;
		unsigned kb_per_s = 0;
		if (!nvml_has(n, d, f, s))
			continue;
		unsigned code = nvml_call_iu(n, f, d->handle, directions[j].counter, &kb_per_s);
		if (nvml_good(n, d, f, s, code))
			device_value(d->sheet, s, nvml_name(f), kb_per_s * 1024.0);
	}
}
