/*
 * The arguments of an event of Kineto, found by their names in a small table.
 */
#include "trace/readers/kineto.h"

#include <stddef.h>

#define ARGUMENT(key, field)                                                                       \
	{                                                                                          \
		STR_INIT(key), offsetof(struct kineto_arguments, field)                            \
	}

static const struct {
	struct str key;
	size_t offset;
} argument_fields[] = {
	ARGUMENT("correlation", correlation),
	ARGUMENT("device", device),
	ARGUMENT("stream", stream),
	ARGUMENT("registers per thread", registers),
	ARGUMENT("shared memory", shared),
	ARGUMENT("grid", grid),
	ARGUMENT("block", block),
	ARGUMENT("est. achieved occupancy %", occupancy),
	ARGUMENT("graph id", graph),
	ARGUMENT("kind", kind),
	ARGUMENT("bytes", bytes),
	ARGUMENT("Concrete Inputs", values),
	ARGUMENT("Input type", types),
	ARGUMENT("Input Strides", strides),
	ARGUMENT("Input Dims", dims),
	ARGUMENT("Input dims", dims),
	ARGUMENT("Sequence number", sequence),
	ARGUMENT("Call stack", call_stack),
	ARGUMENT("cuda_sync_kind", sync_kind),
	ARGUMENT("wait_on_stream", wait_stream),
	ARGUMENT("wait_on_cuda_event_id", wait_event),
	ARGUMENT("Total Allocated", allocated),
	ARGUMENT("Total Reserved", reserved),
	ARGUMENT("Device Type", device_type),
	ARGUMENT("Device Id", device_id),
	ARGUMENT("Addr", address),
	ARGUMENT("Bytes", bytes),
};
enum { N_ARGUMENTS = sizeof argument_fields / sizeof *argument_fields };

static size_t argument_slot(struct str key)
{
	size_t last = (unsigned char)key.s[key.len - 1], first = (unsigned char)key.s[0];
	return (key.len * 5 + first + last * 3) & (KINETO_KEY_SLOTS - 1);
}

static void fill(struct kineto_keys *k)
{
	for (size_t i = 0; i < N_ARGUMENTS; i++) {
		size_t at = argument_slot(argument_fields[i].key);
		while (k->slots[at])
			at = (at + 1) & (KINETO_KEY_SLOTS - 1);
		k->slots[at] = (uint8_t)(i + 1);
	}
	k->filled = true;
}

/* Where this argument goes, NULL for one that means nothing to us. */
static struct str *argument_of(
        const struct kineto_keys *k, struct kineto_arguments *a, struct str key)
{
	if (!key.len)
		return NULL;
	for (size_t at = argument_slot(key); k->slots[at];) {
		size_t i = k->slots[at] - 1u;
		if (kineto_same(key, argument_fields[i].key))
			return (struct str *)(void *)((char *)a + argument_fields[i].offset);
		at = (at + 1) & (KINETO_KEY_SLOTS - 1);
	}
	return NULL;
}

struct kineto_arguments kineto_arguments_of(struct kineto_keys *k, struct str args)
{
	struct kineto_arguments a = { 0 };
	struct chrome_members m = chrome_members_of(args);
	struct str key, value;
	if (!k->filled)
		fill(k);
	while (chrome_members_next(&m, &key, &value)) {
		struct str *field = argument_of(k, &a, key);
		if (field && value.len && !kineto_same(value, STR("null")))
			*field = value;
	}
	return a;
}
