/*
 * kineto.c - traces of the PyTorch Profiler as Kineto writes them, 2021 to today, of NVIDIA and of
 * AMD devices; also those that other tools wrote out again.
 *
 * Source: libkineto's output_json.cpp; the meaning of each argument is in docs/traces.md.
 */
#include "trace/readers/kineto.h"

#include "trace/readers/chrome_event.h"
#include "trace/readers/readers.h"

/* What a span of a category is. */
struct category {
	struct str name;
	enum event_group group;
	enum device_kind kind;
};

/* Those that are seen most come first. */
static const struct category categories[] = {
	{ STR_INIT("python_function"), GROUP_PYTHON, 0 },
	{ STR_INIT("cpu_op"), GROUP_OPERATOR, 0 },
	{ STR_INIT("cuda_runtime"), GROUP_CALL, 0 },
	{ STR_INIT("kernel"), GROUP_DEVICE, DEVICE_KERNEL },
	{ STR_INIT("cuda_driver"), GROUP_CALL, 0 },
	{ STR_INIT("gpu_memcpy"), GROUP_DEVICE, DEVICE_MEMCPY },
	{ STR_INIT("gpu_memset"), GROUP_DEVICE, DEVICE_MEMSET },
	{ STR_INIT("user_annotation"), GROUP_ANNOTATION, 0 },
	{ STR_INIT("gpu_user_annotation"), GROUP_DEVICE_ANNOTATION, 0 },
	{ STR_INIT("cuda_sync"), GROUP_SYNC, 0 },
	{ STR_INIT("overhead"), GROUP_OVERHEAD, 0 },
	{ STR_INIT("cuda_profiler_range"), GROUP_RANGE, 0 },
	/* Until 2021. */
	{ STR_INIT("Operator"), GROUP_OPERATOR, 0 },
	{ STR_INIT("Runtime"), GROUP_CALL, 0 },
	{ STR_INIT("Kernel"), GROUP_DEVICE, DEVICE_KERNEL },
	{ STR_INIT("Memcpy"), GROUP_DEVICE, DEVICE_MEMCPY },
	{ STR_INIT("Memset"), GROUP_DEVICE, DEVICE_MEMSET },
	/* Other accelerators. */
	{ STR_INIT("xpu_runtime"), GROUP_CALL, 0 },
	{ STR_INIT("xpu_driver"), GROUP_CALL, 0 },
	{ STR_INIT("mtia_runtime"), GROUP_CALL, 0 },
	{ STR_INIT("privateuse1_runtime"), GROUP_CALL, 0 },
	{ STR_INIT("privateuse1_driver"), GROUP_CALL, 0 },
};
enum { N_CATEGORIES = sizeof categories / sizeof *categories };

/* The span of the whole recording: it is no work of anything. */
static const struct str whole_window = STR_INIT("Trace");

struct kineto {
	int64_t n_of[N_CATEGORIES];
	int last_category;
	struct kineto_tracks tracks;
	struct kineto_keys keys;
	struct buf tmp;
};

static int category_of(struct str cat, int guess)
{
	if (!cat.len)
		return -1;
	if (guess >= 0 && kineto_same(cat, categories[guess].name))
		return guess;
	for (int i = 0; i < N_CATEGORIES; i++)
		if (kineto_same(cat, categories[i].name))
			return i;
	return -1;
}

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)name;
	if (ph.len == 1 && (ph.s[0] == 'M' || ph.s[0] == 's' || ph.s[0] == 'f'))
		return false;
	return !cat.len || !kineto_same(cat, STR("python_function"));
}

/* What joins a launch and its work. 0 is kept for none, and is one of the writer's numbers for it.
 */
static uint64_t link_of(struct timeline *t, struct str text)
{
	int64_t value = chrome_number(t, text, 0);
	return value > 0 ? (uint64_t)value : 0;
}

static uint32_t event_name(struct chrome_part *part, const struct raw_event *e)
{
	struct kineto *k = part->state;
	return chrome_name(&part->t, e, &k->tmp);
}

static uint32_t host_track(struct chrome_part *part, const struct raw_event *e)
{
	struct kineto *k = part->state;
	return kineto_host_track(&k->tracks, &part->t, e);
}

static uint32_t device_track(
        struct chrome_part *part, const struct raw_event *e, const struct kineto_arguments *a)
{
	struct kineto *k = part->state;
	return kineto_device_track(&k->tracks, &part->t, e, a);
}

static void add_device(struct chrome_part *part, const struct raw_event *e,
        const struct kineto_arguments *a, enum device_kind kind, struct event *event)
{
	/* Its record was never completed. */
	if (event->start_ns <= 0) {
		part->t.lost[LOST_ZERO_TIME]++;
		return;
	}
	event->kind = kind;
	event->track = device_track(part, e, a);
	event->link = link_of(&part->t, a->correlation);
	event->name = event_name(part, e);
	event->detail = kind == DEVICE_KERNEL ? kineto_kernel_detail(&part->t, a)
	                                      : kineto_copy_detail(&part->t, a, kind, e->name);
	timeline_add(&part->t, GROUP_DEVICE, event);
}

static void add_call(struct chrome_part *part, const struct raw_event *e,
        const struct kineto_arguments *a, struct event *event)
{
	event->track = host_track(part, e);
	event->link = link_of(&part->t, a->correlation);
	event->name = event_name(part, e);
	if (str_starts(e->name, STR("hip")))
		part->t.is_amd = true;
	timeline_add(&part->t, GROUP_CALL, event);
}

static void add_python(struct chrome_part *part, const struct raw_event *e, struct event *event)
{
	part->t.n_python++;
	part->t.has_stack = 1;
	if (event->dur_ns < TRACE_PYTHON_MIN_NS) {
		timeline_span(&part->t, event->start_ns, event->dur_ns);
		return;
	}
	event->track = host_track(part, e);
	event->name = event_name(part, e);
	timeline_add(&part->t, GROUP_PYTHON, event);
}

/* The groups without a rule of their own. */
static void add_other(struct chrome_part *part, const struct raw_event *e,
        const struct kineto_arguments *a, enum event_group group, struct event *event)
{
	struct kineto *k = part->state;
	bool of_device = group == GROUP_SYNC || group == GROUP_DEVICE_ANNOTATION ||
	                 group == GROUP_RANGE || (group == GROUP_OTHER && a->device.s);
	event->track = of_device ? device_track(part, e, a) : host_track(part, e);
	event->name = event_name(part, e);
	if (group == GROUP_OPERATOR)
		event->detail = kineto_operator_detail(&part->t, a, &k->tmp);
	if (group == GROUP_SYNC) {
		event->link = link_of(&part->t, a->correlation);
		event->detail = kineto_sync_detail(&part->t, a);
	}
	timeline_add(&part->t, group, event);
}

static bool is_bad_span(struct timeline *t, const struct event *event)
{
	if (event->dur_ns < 0)
		t->lost[LOST_NEGATIVE]++;
	else if (event->dur_ns > TRACE_MAX_DUR_NS)
		t->lost[LOST_TOO_LONG]++;
	else
		return false;
	return true;
}

static void count_category(struct chrome_part *part, struct str cat, int category)
{
	struct kineto *k = part->state;
	if (category >= 0)
		k->n_of[category]++;
	else
		tallies_add(&part->t.categories, timeline_name(&part->t, cat), 1);
}

static void add_span(struct chrome_part *part, const struct raw_event *e)
{
	struct kineto *k = part->state;
	struct event event = { 0 };
	enum loss loss = chrome_us_to_ns(e->ts, &event.start_ns);
	if (loss == N_LOSSES)
		loss = chrome_us_to_ns(e->dur, &event.dur_ns);
	if (loss != N_LOSSES) {
		part->t.lost[loss]++;
		return;
	}
	int category = category_of(e->cat, k->last_category);
	k->last_category = category;
	count_category(part, e->cat, category);
	if (is_bad_span(&part->t, &event) || (category < 0 && str_eq(e->cat, whole_window)))
		return;
	enum event_group group = category >= 0 ? categories[category].group : GROUP_OTHER;
	if (group == GROUP_PYTHON) {
		add_python(part, e, &event);
		return;
	}
	struct kineto_arguments a = kineto_arguments_of(&k->keys, e->args);
	if (group == GROUP_DEVICE)
		add_device(part, e, &a, categories[category].kind, &event);
	else if (group == GROUP_CALL)
		add_call(part, e, &a, &event);
	else
		add_other(part, e, &a, group, &event);
}

static void add_instant(struct chrome_part *part, const struct raw_event *e)
{
	struct kineto *k = part->state;
	struct event event = { 0 };
	if (!str_eq(e->name, STR("[memory]"))) {
		chrome_instant(&part->t, e, &k->tmp);
		return;
	}
	if (!chrome_start(&part->t, e, &event))
		return;
	struct kineto_arguments a = kineto_arguments_of(&k->keys, e->args);
	event.track = host_track(part, e);
	event.name = event_name(part, e);
	event.detail = kineto_memory_detail(&part->t, &a);
	timeline_add(&part->t, GROUP_MEMORY, &event);
}

static void add_counter(struct chrome_part *part, const struct raw_event *e)
{
	struct kineto *k = part->state;
	chrome_counters(&part->t, e, &k->tmp);
}

static void kineto_event(struct chrome_part *part, const struct raw_event *e)
{
	if (e->ph.len != 1)
		return;
	switch (e->ph.s[0]) {
	case 'X':
		add_span(part, e);
		break;
	case 'i':
	case 'I':
		add_instant(part, e);
		break;
	case 'C':
		add_counter(part, e);
		break;
	default:
		break; /* names of threads and flows tell nothing that the spans do not */
	}
}

static void kineto_finish(struct chrome_part *part)
{
	struct kineto *k = part->state;
	for (int i = 0; i < N_CATEGORIES; i++)
		if (k->n_of[i])
			tallies_add(&part->t.categories,
			        timeline_name(&part->t, categories[i].name), k->n_of[i]);
}

static void kineto_release(struct chrome_part *part)
{
	struct kineto *k = part->state;
	buf_release(&k->tmp);
}

const struct chrome_dialect kineto_dialect = {
	.name = "kineto",
	.parallel = true,
	.state_bytes = sizeof(struct kineto),
	.wants_args = wants_args,
	.event = kineto_event,
	.member = kineto_member,
	.finish = kineto_finish,
	.release = kineto_release,
};

/* What only Kineto writes; 64 KiB of head hold one of these, also where another tool put its own
 * members first, or the head of the file is gone. */
static const struct str head_marks[] = {
	STR_INIT("\"schemaVersion\""),
	STR_INIT("\"deviceProperties\""),
	STR_INIT("\"baseTimeNanoseconds\""),
};
/* Of events: other files tell of such too, but not beside a "ph". */
static const struct str event_marks[] = {
	STR_INIT("\"python_function\""),
	STR_INIT("\"cpu_op\""),
	STR_INIT("\"cuda_runtime\""),
	STR_INIT("\"user_annotation\""),
	STR_INIT("\"gpu_memcpy\""),
	STR_INIT("\"ac2g\""),
	STR_INIT("\"Trace name\""),
	STR_INIT("\"external ts\""),
};

static bool has_any(struct str head, const struct str *marks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_find(head, marks[i]) >= 0)
			return true;
	return false;
}

static bool recognises(const struct source *source)
{
	struct str head = source->head;
	if (!source_is_text(source))
		return false; /* a binary format that holds such names */
	return has_any(head, head_marks, ARRAY_LEN(head_marks)) ||
	       (str_find(head, STR("\"ph\"")) >= 0 &&
	               has_any(head, event_marks, ARRAY_LEN(event_marks)));
}

/* Only what was on is told by the file; of the rest the events themselves tell. */
static void fill_flags(struct timeline *t)
{
	if (t->has_shapes < 0 && t->lists[GROUP_OPERATOR].n)
		t->has_shapes = 0;
	if (t->has_stack < 0)
		t->has_stack = 0;
	if (t->has_memory < 0)
		t->has_memory = 0;
}

static bool read_kineto(struct source *source, struct timeline *t, struct err *err)
{
	if (!chrome_read(source, &kineto_dialect, t, err))
		return false;
	fill_flags(t);
	return true;
}

const struct trace_reader kineto_reader = { "kineto", recognises, read_kineto };
