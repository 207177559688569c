/*
 * nsys_host.c - the tables of Nsight Systems about the host: calls of CUDA, ranges of NVTX, calls
 * of the system's libraries, and what the profiler itself took.
 *
 * Ranges that PyTorch wrote (torch.autograd.profiler.emit_nvtx) are operators besides: their text
 * is "aten::mul, seq = 3, op_id = 7, sizes = [[2, 3], []]".
 */
#include "trace/readers/nsys.h"

static int64_t thread_of(const struct nsys_scan *s)
{
	return nsys_int(s, NSYS_GLOBAL_TID, 0);
}

static bool begin(struct nsys *n, const struct nsys_scan *s, struct event *e)
{
	*e = (struct event){ 0 };
	if (!nsys_times(n, s, e))
		return false;
	e->track = nsys_thread_track(n, thread_of(s));
	e->name = nsys_name_at(n, s, NSYS_NAME_ID);
	return true;
}

/* The link is the process's of the calling thread. */
static void call_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (!begin(n, s, &e))
		return;
	e.link = nsys_link(n, s, nsys_process_of(thread_of(s)));
	timeline_add_checked(n->t, GROUP_CALL, &e);
}

static void overhead_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (begin(n, s, &e))
		timeline_add_checked(n->t, GROUP_OVERHEAD, &e);
}

/* Calls of the C library and of libraries beside CUDA: they launch nothing by themselves. */
static void other_row(struct nsys *n, const struct nsys_scan *s)
{
	struct event e;
	if (begin(n, s, &e))
		timeline_add_checked(n->t, GROUP_OTHER, &e);
}

/* eventType of NVTX_EVENTS that is no range; all others are. */
enum nvtx_type {
	NVTX_CATEGORY = 33,
	NVTX_MARK = 34,
	NVTX_THREAD = 39,
	NVTXT_CATEGORY = 64,
	NVTXT_MARK = 65,
	NVTXT_META_THREAD = 72,
	NVTXT_META_PROCESS = 73,
	NVTXT_META_FILE = 74,
	NVTX_DOMAIN_CREATE = 75,
	NVTX_DOMAIN_DESTROY = 76,
	NVTX_NAME_DEVICE = 97,
	NVTX_NAME_CONTEXT = 98,
	NVTX_NAME_STREAM = 99,
};

enum nvtx_meaning { NVTX_IS_RANGE, NVTX_IS_MARK, NVTX_IS_NOTHING };

static enum nvtx_meaning nvtx_meaning_of(int64_t type)
{
	switch (type) {
	case NVTX_MARK:
	case NVTXT_MARK:
		return NVTX_IS_MARK;
	case NVTX_CATEGORY:
	case NVTX_THREAD:
	case NVTXT_CATEGORY:
	case NVTXT_META_THREAD:
	case NVTXT_META_PROCESS:
	case NVTXT_META_FILE:
	case NVTX_DOMAIN_CREATE:
	case NVTX_DOMAIN_DESTROY:
	case NVTX_NAME_DEVICE:
	case NVTX_NAME_CONTEXT:
	case NVTX_NAME_STREAM:
		return NVTX_IS_NOTHING;
	default:
		return NVTX_IS_RANGE;
	}
}

/* The text stands in the row, or its number does. */
static uint32_t nvtx_name(struct nsys *n, const struct nsys_scan *s)
{
	struct str text = nsys_text(s, NSYS_TEXT);
	if (text.len)
		return timeline_name(n->t, text);
	return nsys_name_at(n, s, NSYS_TEXT_ID);
}

/* The value behind ", label = " up to the next comma outside brackets, s NULL for none. */
static struct str nvtx_field(struct str text, struct str label)
{
	ptrdiff_t at = str_find(text, label);
	if (at < 0)
		return (struct str){ 0 };
	size_t start = (size_t)at + label.len, end = start;
	for (int depth = 0; end < text.len; end++) {
		char c = text.s[end];
		depth += (c == '[') - (c == ']');
		if (c == ',' && depth <= 0)
			break;
	}
	return (struct str){ text.s + start, end - start };
}

/* Dims as other formats write them: without blanks. */
static uint32_t dims_name(struct nsys *n, struct str sizes)
{
	buf_clear(&n->scratch);
	for (size_t i = 0; i < sizes.len; i++)
		if (sizes.s[i] != ' ')
			buf_add_char(&n->scratch, sizes.s[i]);
	return timeline_name(n->t, buf_str(&n->scratch));
}

static void add_operator(struct nsys *n, const struct event *range)
{
	struct str text = timeline_name_of(n->t, range->name);
	struct str id = nvtx_field(text, STR(", op_id = "));
	struct str sequence = nvtx_field(text, STR(", seq = "));
	struct str sizes = nvtx_field(text, STR(", sizes = "));
	if (!id.s && !sequence.s && !sizes.s)
		return;
	struct operator_detail detail = operator_detail_none();
	if (sequence.s && !str_to_i64(sequence, &detail.sequence))
		detail.sequence = -1;
	if (sizes.s) {
		detail.dims = dims_name(n, sizes);
		n->t->has_shapes = 1;
	}
	struct event e = *range;
	struct str rest;
	e.name = timeline_name(n->t, str_cut(text, ',', &rest));
	e.detail = timeline_detail(n->t, DETAIL_OPERATOR, &detail);
	timeline_add_checked(n->t, GROUP_OPERATOR, &e);
}

/* A range without an end was open when the recording ended. */
static bool is_open(const struct nsys_scan *s)
{
	int64_t start, end;
	if (!nsys_number(s, NSYS_END, &end))
		return true;
	return end == 0 && nsys_number(s, NSYS_START, &start) && start > 0;
}

static void nvtx_mark(struct nsys *n, const struct nsys_scan *s)
{
	struct event e = { 0 };
	if (!nsys_number(s, NSYS_START, &e.start_ns)) {
		n->t->lost[LOST_NO_TIME]++;
		return;
	}
	e.track = nsys_thread_track(n, thread_of(s));
	e.name = nvtx_name(n, s);
	timeline_add_checked(n->t, GROUP_INSTANT, &e);
}

static void nvtx_row(struct nsys *n, const struct nsys_scan *s)
{
	enum nvtx_meaning meaning = nvtx_meaning_of(nsys_int(s, NSYS_EVENT_TYPE, 0));
	struct event e = { 0 };
	if (meaning == NVTX_IS_MARK) {
		nvtx_mark(n, s);
	} else if (meaning == NVTX_IS_RANGE && is_open(s)) {
		n->t->lost[LOST_UNMATCHED]++;
	} else if (meaning == NVTX_IS_RANGE && nsys_times(n, s, &e)) {
		e.track = nsys_thread_track(n, thread_of(s));
		e.name = nvtx_name(n, s);
		if (timeline_add_checked(n->t, GROUP_ANNOTATION, &e))
			add_operator(n, &e);
	}
}

const struct nsys_table nsys_host_tables[] = {
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", call_row },
	{ "CUPTI_ACTIVITY_KIND_DRIVER", call_row },
	{ "NVTX_EVENTS", nvtx_row },
	{ "CUPTI_ACTIVITY_KIND_OVERHEAD", overhead_row },
	{ "PROFILER_OVERHEAD", overhead_row },
	{ "OSRT_API", other_row },
	{ "CUDNN_EVENTS", other_row },
	{ "CUBLAS_EVENTS", other_row },
	{ NULL },
};
