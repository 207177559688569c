#include "watch/perf/perf_pmu.h"

#include "watch/procfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 512 };

/* Where there are cores of two kinds, the faster ones have the name "cpu_core". */
static const char *const pmu_names[] = { "cpu", "cpu_core" };

static uint64_t *config_of(struct perf_event_attr *attr, struct str name)
{
	static const struct {
		struct str name;
		size_t offset;
	} fields[] = {
		{ STR_INIT("config"), offsetof(struct perf_event_attr, config) },
		{ STR_INIT("config1"), offsetof(struct perf_event_attr, config1) },
		{ STR_INIT("config2"), offsetof(struct perf_event_attr, config2) },
	};
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (str_eq(name, fields[i].name))
			return (uint64_t *)((char *)attr + fields[i].offset);
	return NULL;
}

bool perf_pmu_place(struct perf_event_attr *attr, struct str format, uint64_t value)
{
	struct str ranges;
	uint64_t *config = config_of(attr, str_cut(str_trim(format), ':', &ranges));
	if (!config || ranges.len == 0)
		return false;
	while (ranges.len) {
		struct str high, low = str_cut(str_cut(ranges, ',', &ranges), '-', &high);
		uint64_t from, to;
		if (!procfile_u64(low, &from) || !procfile_u64(high.len ? high : low, &to) ||
		        from > to || to > 63)
			return false;
		uint64_t n_bits = to - from + 1;
		uint64_t mask = n_bits == 64 ? UINT64_MAX : (UINT64_C(1) << n_bits) - 1;
		*config |= (value & mask) << from;
		value = n_bits == 64 ? 0 : value >> n_bits;
	}
	return value == 0;
}

static bool hex_value(struct str text, uint64_t *ret_value)
{
	char digits[32], *end;
	if (text.len == 0 || text.len >= sizeof(digits))
		return false;
	memcpy(digits, text.s, text.len);
	digits[text.len] = '\0';
	errno = 0;
	*ret_value = strtoull(digits, &end, 0);
	return *end == '\0' && errno == 0;
}

static bool place_term(
        const char *root, const char *pmu, struct str term, struct perf_event_attr *attr)
{
	char buf[TEXT_BYTES];
	struct str format, value_text, name = str_cut(term, '=', &value_text);
	uint64_t value = 1;
	if (value_text.len && !hex_value(value_text, &value))
		return false;
	if (name.len == 0 || memchr(name.s, '/', name.len))
		return false;
	return procfile_once(root, buf, sizeof(buf), &format,
	               "/sys/bus/event_source/devices/%s/format/%.*s", pmu, STR_ARG(name)) &&
	       perf_pmu_place(attr, format, value);
}

static bool read_type(const char *root, const char *pmu, struct perf_event_attr *attr)
{
	char buf[32];
	struct str text;
	uint64_t type;
	if (!procfile_once(
	            root, buf, sizeof(buf), &text, "/sys/bus/event_source/devices/%s/type", pmu) ||
	        !procfile_u64(str_trim(text), &type) || type > UINT32_MAX)
		return false;
	attr->type = (uint32_t)type;
	return true;
}

bool perf_pmu_find(const char *root, const char *name, struct perf_event_attr *attr)
{
	char buf[TEXT_BYTES];
	for (size_t i = 0; i < ARRAY_LEN(pmu_names); i++) {
		struct str text;
		if (!procfile_once(root, buf, sizeof(buf), &text,
		            "/sys/bus/event_source/devices/%s/events/%s", pmu_names[i], name))
			continue;
		bool ok = read_type(root, pmu_names[i], attr);
		for (text = str_trim(text); ok && text.len;)
			ok = place_term(root, pmu_names[i], str_cut(text, ',', &text), attr);
		errno = EINVAL;
		return ok;
	}
	errno = ENOENT;
	return false;
}
