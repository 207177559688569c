#include "watch/gpu/nvml.h"

#include "base/attr.h"

enum kind { KIND_VALUE, KIND_TOTAL, KIND_GROWTH };

static const struct {
	enum nvml_field_id id;
	enum device_signal signal;
	enum kind kind;
	double scale; /* of a growth */
	unsigned scope;
} fields[] = {
	{ NVML_FIELD_HELD_POWER, DEVICE_HELD_POWER, KIND_TOTAL },
	{ NVML_FIELD_HELD_THERMAL, DEVICE_HELD_THERMAL, KIND_TOTAL },
	{ NVML_FIELD_HELD_SYNC_BOOST, DEVICE_HELD_SYNC_BOOST, KIND_TOTAL },
	{ NVML_FIELD_HELD_BOARD_LIMIT, DEVICE_HELD_BOARD_LIMIT, KIND_TOTAL },
	{ NVML_FIELD_HELD_RELIABILITY, DEVICE_HELD_RELIABILITY, KIND_TOTAL },
	{ NVML_FIELD_MEMORY_TEMPERATURE, DEVICE_TEMPERATURE_MEMORY, KIND_VALUE },
	{ NVML_FIELD_LINKS, DEVICE_LINKS, KIND_VALUE },
	{ NVML_FIELD_LINK_REPLAYS, DEVICE_LINK_ERRORS, KIND_TOTAL },
	{ NVML_FIELD_LINK_TX_KIB, DEVICE_LINK_TX, KIND_GROWTH, 1024, NVML_ALL_LINKS },
	{ NVML_FIELD_LINK_RX_KIB, DEVICE_LINK_RX, KIND_GROWTH, 1024, NVML_ALL_LINKS },
	{ NVML_FIELD_PCIE_TX_BYTES, DEVICE_PCIE_TX, KIND_GROWTH, 1 },
	{ NVML_FIELD_PCIE_RX_BYTES, DEVICE_PCIE_RX, KIND_GROWTH, 1 },
};

enum { N_FIELDS = ARRAY_LEN(fields) };

static bool is_pcie(enum device_signal s)
{
	return s == DEVICE_PCIE_TX || s == DEVICE_PCIE_RX;
}

/* Is another way to tell the signal better, or the only one? */
static bool is_told_elsewhere(const struct nvml_device *d, enum device_signal s)
{
	if (is_pcie(s))
		return d->gpm_tells_pcie || !d->has_pcie_counters;
	return (s == DEVICE_LINK_TX || s == DEVICE_LINK_RX) && d->gpm_tells_links;
}

static double number_of(const struct nvml_field *f)
{
	switch (f->type) {
	case NVML_VALUE_DOUBLE:
		return f->value.f64;
	case NVML_VALUE_UINT:
		return f->value.u;
	case NVML_VALUE_ULONG:
		return (double)f->value.ul;
	case NVML_VALUE_UINT64:
		return (double)f->value.u64;
	case NVML_VALUE_INT64:
		return (double)f->value.i64;
	case NVML_VALUE_INT:
		return f->value.i;
	case NVML_VALUE_USHORT:
		return f->value.us;
	default:
		return 0;
	}
}

/* Exact above 2^53, which ns of a year reach. */
static uint64_t counter_of(const struct nvml_field *f)
{
	double number = number_of(f);
	if (f->type == NVML_VALUE_UINT64)
		return f->value.u64;
	return number > 0 ? (uint64_t)number : 0;
}

static void tell(struct nvml *n, struct nvml_device *d, size_t i, const struct nvml_field *got)
{
	const char *from = device_rows[fields[i].signal].from;
	/* Drivers without these counters have a function that waits for 20 ms. */
	if (is_pcie(fields[i].signal) && got->code != NVML_OK) {
		d->has_pcie_counters = false;
		return;
	}
	if (!nvml_good(n, d, NVML_FN_FIELDS, fields[i].signal, got->code))
		return;
	switch (fields[i].kind) {
	case KIND_VALUE:
		device_value(d->sheet, fields[i].signal, from, number_of(got));
		break;
	case KIND_TOTAL:
		device_total(d->sheet, fields[i].signal, from, counter_of(got));
		break;
	case KIND_GROWTH:
		device_growth(d->sheet, fields[i].signal, nvml_name(NVML_FN_FIELDS),
		        counter_of(got), fields[i].scale);
		break;
	}
}

/* Which of the links work; only asked where there are some. */
static void tell_links(struct nvml *n, struct nvml_device *d, unsigned n_links)
{
	const enum nvml_function f = NVML_FN_LINK_STATE;
	unsigned n_active = 0;
	if (!nvml_has(n, d, f, DEVICE_LINKS_ACTIVE))
		return;
	for (unsigned i = 0; i < n_links && i < NVML_LINKS_MAX; i++) {
		unsigned is_active = 0;
		unsigned code = nvml_call_iu(n, f, d->handle, i, &is_active);
		if (!nvml_good(n, d, f, DEVICE_LINKS_ACTIVE, code))
			return;
		n_active += is_active != 0;
	}
	device_value(d->sheet, DEVICE_LINKS_ACTIVE, nvml_name(f), n_active);
}

void nvml_read_fields(void *self, size_t i_device)
{
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i_device];
	struct nvml_field asked[N_FIELDS];
	size_t places[N_FIELDS];
	int count = 0;
	if (d->is_mig)
		return;
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (is_told_elsewhere(d, fields[i].signal) ||
		        !nvml_has(n, d, NVML_FN_FIELDS, fields[i].signal))
			continue;
		places[count] = i;
		asked[count++] =
		        (struct nvml_field){ .id = fields[i].id, .scope = fields[i].scope };
	}
	if (count == 0)
		return;
	unsigned code =
	        ((unsigned (*)(nvml_handle, int, struct nvml_field *))n->functions[NVML_FN_FIELDS])(
	                d->handle, count, asked);
	for (int i = 0; i < count && !d->is_lost; i++) {
		if (code != NVML_OK)
			asked[i].code = code;
		tell(n, d, places[i], &asked[i]);
		if (fields[places[i]].signal == DEVICE_LINKS && asked[i].code == NVML_OK)
			tell_links(n, d, (unsigned)counter_of(&asked[i]));
	}
}
