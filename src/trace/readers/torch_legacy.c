/*
 * torch_legacy.c - what torch writes without Kineto: up to 1.7, and builds without it since. One
 * array; no categories, but two processes, "CPU functions" and "CUDA functions".
 *
 * The program's own ranges cannot be told from operators. The times of a device are those of the
 * operators there, on a track for each device, without streams.
 *
 * Source: torch/autograd/profiler_util.py, export_chrome_trace.
 */
#include "trace/readers/chrome_event.h"
#include "trace/readers/readers.h"

static const struct str on_host = STR_INIT("CPU functions");
static const struct str on_device = STR_INIT("CUDA functions");

struct legacy {
	struct buf tmp;
};

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)ph, (void)cat, (void)name;
	return false; /* they are empty */
}

static void add_operator(struct timeline *t, const struct raw_event *e, struct event *event)
{
	event->track = chrome_host_track(t, e);
	timeline_add(t, GROUP_OPERATOR, event);
}

static void add_device(struct timeline *t, const struct raw_event *e, struct event *event)
{
	int64_t device;
	if (!chrome_whole(e->tid, &device))
		device = -1;
	event->kind = DEVICE_KERNEL;
	event->track = chrome_device_track(t, e, device, (struct str){ 0 });
	timeline_add_checked(t, GROUP_DEVICE, event);
}

static void legacy_event(struct chrome_part *part, const struct raw_event *e)
{
	struct legacy *state = part->state;
	struct timeline *t = &part->t;
	struct event event = { 0 };
	/* Flows join an operator with its own time on the device. */
	if (!str_eq(e->ph, STR("X")) || !chrome_span(t, e, &event))
		return;
	event.name = chrome_name(t, e, &state->tmp);
	if (str_eq(e->pid, on_host)) {
		add_operator(t, e, &event);
	} else if (str_eq(e->pid, on_device)) {
		add_device(t, e, &event);
	} else {
		event.track = chrome_host_track(t, e);
		timeline_add(t, GROUP_OTHER, &event);
	}
}

static void legacy_release(struct chrome_part *part)
{
	struct legacy *state = part->state;
	buf_release(&state->tmp);
}

static const struct chrome_dialect legacy_dialect = {
	.name = "torch-legacy",
	.parallel = true,
	.state_bytes = sizeof(struct legacy),
	.wants_args = wants_args,
	.event = legacy_event,
	.release = legacy_release,
};

static bool recognises(const struct source *source)
{
	return str_find(source->head, STR("\"CPU functions\"")) >= 0 ||
	       str_find(source->head, STR("\"CUDA functions\"")) >= 0;
}

static bool read_legacy(struct source *source, struct timeline *t, struct err *err)
{
	if (!chrome_read(source, &legacy_dialect, t, err))
		return false;
	t->has_shapes = t->has_stack = t->has_memory = 0;
	return true;
}

const struct trace_reader torch_legacy_reader = { "torch-legacy", recognises, read_legacy };
