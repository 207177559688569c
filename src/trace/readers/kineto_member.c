/*
 * What a Kineto file says beside its events: the devices, the versions, what was recorded.
 */
#include "trace/readers/kineto.h"

#include <stddef.h>

#define NUMBER(key, field)                                                                         \
	{                                                                                          \
		STR_INIT(key), offsetof(struct device_info, field)                                 \
	}

static const struct {
	struct str key;
	size_t offset;
} device_numbers[] = {
	NUMBER("id", id),
	NUMBER("totalGlobalMem", memory_bytes),
	NUMBER("computeMajor", compute_major),
	NUMBER("computeMinor", compute_minor),
	NUMBER("maxThreadsPerBlock", max_threads_per_block),
	NUMBER("maxThreadsPerMultiprocessor", max_threads_per_sm),
	NUMBER("regsPerMultiprocessor", registers_per_sm),
	NUMBER("warpSize", warp_size),
	NUMBER("sharedMemPerMultiprocessor", shared_bytes_per_sm),
	NUMBER("maxSharedMemoryPerMultiProcessor", shared_bytes_per_sm),
	NUMBER("numSms", n_sm),
};

static void read_device(struct timeline *t, struct str object)
{
	struct device_info *d = timeline_device(t, -1);
	struct chrome_members m = chrome_members_of(object);
	struct str key, value;
	while (chrome_members_next(&m, &key, &value)) {
		if (str_eq(key, STR("name")))
			d->name = value.len ? timeline_name(t, value) : 0;
		for (size_t i = 0; i < sizeof device_numbers / sizeof *device_numbers; i++) {
			int64_t number;
			if (str_eq(key, device_numbers[i].key) && chrome_whole(value, &number))
				*(int64_t *)(void *)((char *)d + device_numbers[i].offset) = number;
		}
	}
	struct str name = timeline_name_of(t, d->name);
	if (str_starts(name, STR("AMD")))
		t->is_amd = true;
}

static void read_devices(struct timeline *t, struct str list)
{
	struct chrome_elements elements = chrome_elements_of(list);
	struct str value;
	while (chrome_elements_next(&elements, &value))
		read_device(t, value);
}

static void read_ranks(struct timeline *t, struct str object)
{
	struct chrome_members m = chrome_members_of(object);
	struct str key, value;
	while (chrome_members_next(&m, &key, &value)) {
		int64_t number;
		if (!chrome_whole(value, &number))
			continue;
		if (str_eq(key, STR("rank")))
			t->rank = number;
		else if (str_eq(key, STR("world_size")))
			t->world_size = number;
	}
}

/* "CUPTI 26" */
static void read_software(struct timeline *t, const char *what, struct str version)
{
	AUTO(auto_buf) struct buf text = { 0 };
	buf_printf(&text, "%s %.*s", what, STR_ARG(version));
	t->software = timeline_name(t, buf_str(&text));
}

static int flag_of(struct str value)
{
	int64_t number;
	if (str_eq(value, STR("true")))
		return 1;
	return chrome_whole(value, &number) ? number != 0 : -1;
}

void kineto_member(struct chrome_part *part, struct str key, struct str value)
{
	struct timeline *t = &part->t;
	if (str_eq(key, STR("deviceProperties")) || str_eq(key, STR("computeProperties")))
		read_devices(t, value);
	else if (str_eq(key, STR("distributedInfo")))
		read_ranks(t, value);
	else if (str_eq(key, STR("baseTimeNanoseconds"))) {
		if (!chrome_whole(value, &t->base_unix_ns))
			t->lost[LOST_BAD_NUMBER]++;
	} else if (str_eq(key, STR("record_shapes")))
		t->has_shapes = flag_of(value);
	else if (str_eq(key, STR("with_stack")))
		t->has_stack = flag_of(value);
	else if (str_eq(key, STR("profile_memory")))
		t->has_memory = flag_of(value);
	else if (str_eq(key, STR("cupti_version")))
		read_software(t, "CUPTI", value);
	else if (str_eq(key, STR("roctracer_version")))
		read_software(t, "roctracer", value);
	if (str_starts(key, STR("hip_")) || str_starts(key, STR("roctracer_")))
		t->is_amd = true;
}
