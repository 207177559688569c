/*
 * llama_opencl.c - cl_trace.json of llama.cpp (GGML_OPENCL_PROFILING): each kernel once on the
 * track "Host", from queued to submitted, and once on "Device", from start to end.
 *
 * An end follows its begin at once. The spans of the host overlap, since kernels are queued many at
 * a time: they are no calls, and would not nest.
 *
 * Source: ggml/src/ggml-opencl/ggml-opencl.cpp, write_profiling_info.
 */
#include "trace/readers/chrome_event.h"
#include "trace/readers/readers.h"

struct opencl {
	bool open;
	struct event begin;
	uint32_t tid;
	struct buf tmp;
};

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)ph, (void)cat, (void)name;
	return false; /* there are none */
}

static void begin(struct chrome_part *part, const struct raw_event *e)
{
	struct opencl *state = part->state;
	part->t.lost[LOST_UNMATCHED] += state->open;
	state->begin = (struct event){ 0 };
	state->open = chrome_start(&part->t, e, &state->begin);
	state->begin.name = chrome_name(&part->t, e, &state->tmp);
	state->tid = chrome_text(&part->t, e->tid);
}

static void end(struct chrome_part *part, const struct raw_event *e)
{
	struct opencl *state = part->state;
	struct timeline *t = &part->t;
	struct event at = { 0 };
	if (!chrome_start(t, e, &at))
		return;
	bool joins = state->open && state->tid == chrome_text(t, e->tid) &&
	             state->begin.name == chrome_name(t, e, &state->tmp);
	if (!joins) {
		t->lost[LOST_UNMATCHED]++;
		return;
	}
	bool on_device = str_eq(e->tid, STR("Device"));
	state->open = false;
	state->begin.dur_ns = at.start_ns - state->begin.start_ns;
	state->begin.track =
	        on_device ? chrome_device_track(t, e, 0, e->tid) : chrome_host_track(t, e);
	timeline_add_checked(t, on_device ? GROUP_DEVICE : GROUP_OTHER, &state->begin);
}

static void opencl_event(struct chrome_part *part, const struct raw_event *e)
{
	if (str_eq(e->ph, STR("B")))
		begin(part, e);
	else if (str_eq(e->ph, STR("E")))
		end(part, e);
}

static void opencl_finish(struct chrome_part *part)
{
	struct opencl *state = part->state;
	part->t.lost[LOST_UNMATCHED] += state->open;
}

static void opencl_release(struct chrome_part *part)
{
	struct opencl *state = part->state;
	buf_release(&state->tmp);
}

static const struct chrome_dialect opencl_dialect = {
	.name = "llama-opencl",
	.state_bytes = sizeof(struct opencl),
	.wants_args = wants_args,
	.event = opencl_event,
	.finish = opencl_finish,
	.release = opencl_release,
};

static bool recognises(const struct source *source)
{
	return str_find(source->head, STR("\"cat\": \"OpenCL\"")) >= 0 &&
	       str_find(source->head, STR("\"tid\": \"Device\"")) >= 0;
}

static bool read_opencl(struct source *source, struct timeline *t, struct err *err)
{
	return chrome_read(source, &opencl_dialect, t, err);
}

const struct trace_reader llama_opencl_reader = { "llama-opencl", recognises, read_opencl };
