#include "watch/gpu/amd.h"

#include "base/i18n.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bits of numbers that stand for "unknown" in AMD-SMI, of 16 and of 32. */
enum { UNKNOWN_16 = 0xffff };

static bool is_known(uint32_t number)
{
	return number != UNKNOWN_16 && number != UINT32_MAX;
}

static void tell_percent(struct amd *a, struct amd_device *d, enum device_signal s,
        enum amd_function f, uint32_t percent)
{
	if (is_known(percent))
		device_value(d->sheet, s, amd_name(a, f), percent / 100.0);
	else
		device_absent(d->sheet, s, SIGNAL_NOT_SUPPORTED, _("the device does not tell it"));
}

static void tell_use_by_index(
        struct amd *a, struct amd_device *d, enum device_signal s, enum amd_function f)
{
	uint32_t percent = 0;
	if (!amd_has(a, d, f, s))
		return;
	uint32_t code = ((uint32_t(*)(uint32_t, uint32_t *))a->functions[f])(d->index, &percent);
	if (amd_good(a, d, f, s, code))
		tell_percent(a, d, s, f, percent);
}

static uint32_t read_activity(struct amd *a, struct amd_device *d, struct amdsmi_activity *ret)
{
	uint32_t room[AMDSMI_STRUCT_BYTES / 4] = { 0 };
	uint32_t code = ((uint32_t(*)(void *, void *))a->functions[AMD_FN_BUSY])(d->handle, room);
	memcpy(ret, room, sizeof(*ret));
	return code;
}

static void tell_use(struct amd *a, struct amd_device *d)
{
	struct amdsmi_activity use;
	if (a->by_index) {
		tell_use_by_index(a, d, DEVICE_UTIL, AMD_FN_BUSY);
		tell_use_by_index(a, d, DEVICE_MEMORY_UTIL, AMD_FN_MEMORY_BUSY);
		return;
	}
	bool has = amd_has(a, d, AMD_FN_BUSY, DEVICE_UTIL);
	if (!amd_has(a, d, AMD_FN_BUSY, DEVICE_MEMORY_UTIL) || !has)
		return;
	uint32_t code = read_activity(a, d, &use);
	bool good = amd_good(a, d, AMD_FN_BUSY, DEVICE_UTIL, code);
	if (!amd_good(a, d, AMD_FN_BUSY, DEVICE_MEMORY_UTIL, code) || !good)
		return;
	tell_percent(a, d, DEVICE_UTIL, AMD_FN_BUSY, use.graphics);
	tell_percent(a, d, DEVICE_MEMORY_UTIL, AMD_FN_BUSY, use.memory);
}

bool amd_answers(struct amd *a, struct amd_device *d)
{
	uint64_t bytes = 0;
	return a->functions[AMD_FN_MEMORY_TOTAL] &&
	       AMD_CALL(a, d, AMD_FN_MEMORY_TOTAL, (uint32_t, uint64_t *),
	               (uint32_t)AMD_MEMORY_VRAM, &bytes) == 0;
}

static bool read_memory(struct amd *a, struct amd_device *d, enum amd_function f,
        enum device_signal s, uint64_t *ret_bytes)
{
	if (!amd_has(a, d, f, s))
		return false;
	uint32_t code =
	        AMD_CALL(a, d, f, (uint32_t, uint64_t *), (uint32_t)AMD_MEMORY_VRAM, ret_bytes);
	if (!amd_good(a, d, f, s, code))
		return false;
	device_value(d->sheet, s, amd_name(a, f), (double)*ret_bytes);
	return true;
}

static void tell_memory(struct amd *a, struct amd_device *d)
{
	uint64_t used = 0, total = 0;
	bool has_used = read_memory(a, d, AMD_FN_MEMORY_USED, DEVICE_MEMORY_USED, &used);
	if (read_memory(a, d, AMD_FN_MEMORY_TOTAL, DEVICE_MEMORY_TOTAL, &total) && has_used &&
	        total >= used)
		device_value(d->sheet, DEVICE_MEMORY_FREE, amd_name(a, AMD_FN_MEMORY_USED),
		        (double)(total - used));
}

/* The libraries' own array, in the newer layout. */
static void widen(const void *room, bool is_old, struct amd_frequencies *to)
{
	if (is_old) {
		struct rsmi_frequencies_old old;
		memcpy(&old, room, sizeof(old));
		*to = (struct amd_frequencies){ .n = old.n, .current = old.current };
		memcpy(to->hz, old.hz, sizeof(old.hz));
	} else {
		memcpy(to, room, sizeof(*to));
	}
	to->n = to->n < AMD_FREQUENCIES_MAX ? to->n : AMD_FREQUENCIES_MAX;
	if (is_old && to->n == AMD_FREQUENCIES_MAX)
		to->n--;
}

static void tell_clock(struct amd *a, struct amd_device *d, uint32_t type, enum device_signal now,
        enum device_signal highest)
{
	uint64_t room[AMDSMI_STRUCT_BYTES / 8] = { 0 };
	struct amd_frequencies clocks;
	uint64_t max_hz = 0;
	bool has = amd_has(a, d, AMD_FN_CLOCK, now);
	if (!amd_has(a, d, AMD_FN_CLOCK, highest) || !has)
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_CLOCK, (uint32_t, void *), type, (void *)room);
	bool good = amd_good(a, d, AMD_FN_CLOCK, now, code);
	if (!amd_good(a, d, AMD_FN_CLOCK, highest, code) || !good)
		return;
	widen(room, a->has_old_frequencies, &clocks);
	for (uint32_t i = 0; i < clocks.n; i++)
		max_hz = clocks.hz[i] > max_hz ? clocks.hz[i] : max_hz;
	const char *from = amd_name(a, AMD_FN_CLOCK);
	if (clocks.current < clocks.n)
		device_value(d->sheet, now, from, (double)clocks.hz[clocks.current] / 1e6);
	if (max_hz > 0)
		device_value(d->sheet, highest, from, (double)max_hz / 1e6);
}

/*
 * AMD-SMI's struct begins with the power of the moment and the mean, in W and 32 bits each, until
 * ROCm 6, and with one of them in 64 bits from then on: then the upper half is 0.
 */
static uint32_t read_power_info(struct amd *a, struct amd_device *d, double *ret_w)
{
	uint32_t room[AMDSMI_STRUCT_BYTES / 4] = { 0 };
	uint32_t code = ((uint32_t(*)(void *, void *))a->functions[AMD_FN_POWER])(d->handle, room);
	uint32_t low = room[0], high = room[1];
	if (is_known(low) && (high == 0 || low > 0))
		*ret_w = low;
	else if (is_known(high) && high > 0)
		*ret_w = high;
	else
		*ret_w = NAN;
	return code;
}

static uint32_t read_power(struct amd *a, struct amd_device *d, enum amd_function f, double *ret_w)
{
	uint64_t uw = 0;
	uint32_t kind = 0, code;
	if (!a->by_index)
		return read_power_info(a, d, ret_w);
	if (f == AMD_FN_POWER)
		code = ((uint32_t(*)(uint32_t, uint64_t *, uint32_t *))a->functions[f])(
		        d->index, &uw, &kind);
	else
		code = ((uint32_t(*)(uint32_t, uint32_t, uint64_t *))a->functions[f])(
		        d->index, 0, &uw);
	*ret_w = (double)uw / 1e6;
	return code;
}

static void tell_power(struct amd *a, struct amd_device *d)
{
	bool is_old = a->by_index && !a->functions[AMD_FN_POWER];
	enum amd_function f = is_old ? AMD_FN_POWER_OLD : AMD_FN_POWER;
	double watts = NAN;
	if (!amd_has(a, d, f, DEVICE_POWER))
		return;
	if (!amd_good(a, d, f, DEVICE_POWER, read_power(a, d, f, &watts)))
		return;
	if (isfinite(watts))
		device_value(d->sheet, DEVICE_POWER, amd_name(a, f), watts);
	else
		device_absent(d->sheet, DEVICE_POWER, SIGNAL_NOT_SUPPORTED,
		        _("the device does not tell it"));
}

void amd_read_fast(void *self, size_t i)
{
	struct amd *a = self;
	struct amd_device *d = &a->devices[i];
	if (d->is_lost)
		return;
	tell_use(a, d);
	tell_memory(a, d);
	tell_clock(a, d, AMD_CLOCK_SYSTEM, DEVICE_CLOCK_GRAPHICS, DEVICE_CLOCK_GRAPHICS_MAX);
	tell_clock(a, d, AMD_CLOCK_MEMORY, DEVICE_CLOCK_MEMORY, DEVICE_CLOCK_MEMORY_MAX);
	tell_power(a, d);
}

static void tell_temperature(struct amd *a, struct amd_device *d, enum device_signal s,
        enum amd_sensor sensor, enum amd_temperature which)
{
	int64_t number = 0;
	if (!amd_has(a, d, AMD_FN_TEMPERATURE, s))
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_TEMPERATURE, (uint32_t, uint32_t, int64_t *),
	        (uint32_t)sensor, (uint32_t)which, &number);
	if (!amd_good(a, d, AMD_FN_TEMPERATURE, s, code))
		return;
	/* Thousandths of a degree in ROCm-SMI, degrees in AMD-SMI, whose manual says otherwise. */
	double celsius = number >= 1000 ? (double)number / 1000 : (double)number;
	device_value(d->sheet, s, amd_name(a, AMD_FN_TEMPERATURE), celsius);
}

static void tell_energy(struct amd *a, struct amd_device *d)
{
	uint64_t count = 0, at_ns = 0;
	float resolution_uj = 0;
	if (!amd_has(a, d, AMD_FN_ENERGY, DEVICE_ENERGY))
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_ENERGY, (uint64_t *, float *, uint64_t *), &count,
	        &resolution_uj, &at_ns);
	if (amd_good(a, d, AMD_FN_ENERGY, DEVICE_ENERGY, code))
		device_total(d->sheet, DEVICE_ENERGY, amd_name(a, AMD_FN_ENERGY),
		        (uint64_t)((double)count * (double)resolution_uj / 1000));
}

static void tell_fan(struct amd *a, struct amd_device *d)
{
	int64_t speed = 0;
	if (!amd_has(a, d, AMD_FN_FAN, DEVICE_FAN))
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_FAN, (uint32_t, int64_t *), (uint32_t)0, &speed);
	if (amd_good(a, d, AMD_FN_FAN, DEVICE_FAN, code))
		device_value(
		        d->sheet, DEVICE_FAN, amd_name(a, AMD_FN_FAN), (double)speed / AMD_FAN_MAX);
}

/* 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9 transfers per second are generations 1 to 6. */
static unsigned generation_of(uint64_t rate)
{
	static const uint64_t rates[] = { 2500000000, 5000000000, 8000000000, 16000000000,
		32000000000, 64000000000 };
	unsigned generation = 0;
	for (size_t i = 0; i < ARRAY_LEN(rates); i++)
		generation += rate >= rates[i];
	return generation;
}

static void read_links(const void *room, bool is_old, struct amd_links *to)
{
	widen(room, is_old, &to->rates);
	if (is_old) {
		struct rsmi_links_old old;
		memcpy(&old, room, sizeof(old));
		memcpy(to->lanes, old.lanes, sizeof(old.lanes));
	} else {
		struct amd_links links;
		memcpy(&links, room, sizeof(links));
		memcpy(to->lanes, links.lanes, sizeof(to->lanes));
	}
}

static void tell_link(struct amd *a, struct amd_device *d)
{
	static const enum device_signal signals[] = { DEVICE_PCIE_GENERATION,
		DEVICE_PCIE_GENERATION_MAX, DEVICE_PCIE_WIDTH, DEVICE_PCIE_WIDTH_MAX };
	uint64_t room[AMDSMI_STRUCT_BYTES / 8] = { 0 };
	struct amd_links links = { 0 };
	bool good = true;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		good &= amd_has(a, d, AMD_FN_LINK, signals[i]);
	if (!good)
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_LINK, (void *), (void *)room);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		good &= amd_good(a, d, AMD_FN_LINK, signals[i], code);
	if (!good)
		return;
	read_links(room, a->has_old_frequencies, &links);
	uint64_t rate_max = 0;
	uint32_t lanes_max = 0, now = links.rates.current;
	for (uint32_t i = 0; i < links.rates.n; i++) {
		rate_max = links.rates.hz[i] > rate_max ? links.rates.hz[i] : rate_max;
		lanes_max = links.lanes[i] > lanes_max ? links.lanes[i] : lanes_max;
	}
	if (now >= links.rates.n)
		return;
	const char *from = amd_name(a, AMD_FN_LINK);
	device_value(d->sheet, DEVICE_PCIE_GENERATION, from, generation_of(links.rates.hz[now]));
	device_value(d->sheet, DEVICE_PCIE_GENERATION_MAX, from, generation_of(rate_max));
	device_value(d->sheet, DEVICE_PCIE_WIDTH, from, links.lanes[now]);
	device_value(d->sheet, DEVICE_PCIE_WIDTH_MAX, from, lanes_max);
}

static void tell_replays(struct amd *a, struct amd_device *d)
{
	uint64_t count = 0;
	if (!amd_has(a, d, AMD_FN_REPLAYS, DEVICE_PCIE_REPLAYS))
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_REPLAYS, (uint64_t *), &count);
	if (amd_good(a, d, AMD_FN_REPLAYS, DEVICE_PCIE_REPLAYS, code))
		device_total(d->sheet, DEVICE_PCIE_REPLAYS, amd_name(a, AMD_FN_REPLAYS), count);
}

void amd_read_second(void *self, size_t i)
{
	struct amd *a = self;
	struct amd_device *d = &a->devices[i];
	if (d->is_lost)
		return;
	tell_temperature(a, d, DEVICE_TEMPERATURE, AMD_SENSOR_EDGE, AMD_TEMPERATURE_NOW);
	tell_temperature(a, d, DEVICE_TEMPERATURE_HOTSPOT, AMD_SENSOR_HOTSPOT, AMD_TEMPERATURE_NOW);
	tell_temperature(a, d, DEVICE_TEMPERATURE_MEMORY, AMD_SENSOR_MEMORY, AMD_TEMPERATURE_NOW);
	tell_energy(a, d);
	tell_fan(a, d);
	tell_link(a, d);
	tell_replays(a, d);
}

/* Of all blocks together; ROCm-SMI is asked for each of those it counts. */
static uint32_t read_errors(struct amd *a, struct amd_device *d, struct amd_errors *sum)
{
	uint64_t room[AMDSMI_STRUCT_BYTES / 8] = { 0 };
	uint32_t code = RSMI_NOT_SUPPORTED;
	if (!a->by_index) {
		code = ((uint32_t(*)(void *, void *))a->functions[AMD_FN_ECC])(d->handle, room);
		memcpy(sum, room, sizeof(*sum));
		return code;
	}
	for (int block = 0; block < RSMI_BLOCKS; block++) {
		struct amd_errors e = { 0 };
		if (((uint32_t(*)(uint32_t, uint64_t, void *))a->functions[AMD_FN_ECC])(
		            d->index, UINT64_C(1) << block, &e) != 0)
			continue;
		code = RSMI_OK;
		sum->corrected += e.corrected;
		sum->uncorrected += e.uncorrected;
	}
	return code;
}

static void tell_errors(struct amd *a, struct amd_device *d)
{
	struct amd_errors sum = { 0 };
	bool has = amd_has(a, d, AMD_FN_ECC, DEVICE_ECC_CORRECTED);
	if (!amd_has(a, d, AMD_FN_ECC, DEVICE_ECC_UNCORRECTED) || !has)
		return;
	uint32_t code = read_errors(a, d, &sum);
	bool good = amd_good(a, d, AMD_FN_ECC, DEVICE_ECC_CORRECTED, code);
	if (!amd_good(a, d, AMD_FN_ECC, DEVICE_ECC_UNCORRECTED, code) || !good)
		return;
	device_total(d->sheet, DEVICE_ECC_CORRECTED, amd_name(a, AMD_FN_ECC), sum.corrected);
	device_total(d->sheet, DEVICE_ECC_UNCORRECTED, amd_name(a, AMD_FN_ECC), sum.uncorrected);
}

static uint32_t read_cap(struct amd *a, struct amd_device *d, enum amd_function f, uint64_t *ret_uw)
{
	uint64_t room[AMDSMI_STRUCT_BYTES / 8] = { 0 };
	struct amdsmi_caps caps;
	if (!a->by_index) {
		uint32_t code = ((uint32_t(*)(void *, uint32_t, void *))a->functions[f])(
		        d->handle, 0, room);
		memcpy(&caps, room, sizeof(caps));
		*ret_uw = f == AMD_FN_CAP ? caps.cap : caps.cap_default;
		return code;
	}
	if (f == AMD_FN_CAP)
		return ((uint32_t(*)(uint32_t, uint32_t, uint64_t *))a->functions[f])(
		        d->index, 0, ret_uw);
	return ((uint32_t(*)(uint32_t, uint64_t *))a->functions[f])(d->index, ret_uw);
}

static void tell_cap(struct amd *a, struct amd_device *d, enum amd_function f, enum device_signal s)
{
	uint64_t uw = 0;
	if (amd_has(a, d, f, s) && amd_good(a, d, f, s, read_cap(a, d, f, &uw)))
		device_value(d->sheet, s, amd_name(a, f), (double)uw / 1e6);
}

static void tell_pages(struct amd *a, struct amd_device *d)
{
	uint32_t count = 0;
	if (!amd_has(a, d, AMD_FN_PAGES, DEVICE_PAGES_RETIRED))
		return;
	uint32_t code = AMD_CALL(a, d, AMD_FN_PAGES, (uint32_t *, void *), &count, (void *)NULL);
	if (amd_good(a, d, AMD_FN_PAGES, DEVICE_PAGES_RETIRED, code))
		device_value(d->sheet, DEVICE_PAGES_RETIRED, amd_name(a, AMD_FN_PAGES), count);
}

void amd_read_slow(void *self, size_t i)
{
	struct amd *a = self;
	struct amd_device *d = &a->devices[i];
	if (d->is_lost)
		return;
	tell_errors(a, d);
	tell_cap(a, d, AMD_FN_CAP, DEVICE_POWER_LIMIT);
	tell_cap(a, d, AMD_FN_CAP_DEFAULT, DEVICE_POWER_LIMIT_DEFAULT);
	tell_pages(a, d);
	tell_temperature(
	        a, d, DEVICE_TEMPERATURE_SLOWDOWN, AMD_SENSOR_HOTSPOT, AMD_TEMPERATURE_CRITICAL);
}
