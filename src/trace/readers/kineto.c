/*
 * kineto.c - traces of the PyTorch Profiler as Kineto writes them, 2021 to today, of NVIDIA and of
 * AMD devices; also those that other tools wrote out again.
 *
 * Source: libkineto's output_json.cpp; the meaning of each argument is in docs/traces.md.
 */
#include "trace/readers/kineto.h"
#include "trace/readers/readers.h"

#include "trace/scan/chrome.h"

#include <string.h>

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

enum {
	TRACK_KEY_BYTES = 56,
	N_TRACK_SLOTS = 64,     /* a power of two */
	N_ARGUMENT_SLOTS = 128, /* a power of two, several times the arguments */
};

/* A track under the text that named it. */
struct known_track {
	char key[TRACK_KEY_BYTES];
	uint32_t key_bytes; /* 0: empty */
	uint32_t track;
};

struct kineto {
	int64_t n_of[N_CATEGORIES];
	int last_category;
	struct known_track tracks[N_TRACK_SLOTS];
	bool has_arguments;
	uint8_t arguments[N_ARGUMENT_SLOTS]; /* number + 1 in argument_fields; 0: empty */
	struct buf tmp;
};

/* str_eq, where it is hot: most texts differ in their length. */
static inline bool same(struct str a, struct str b)
{
	return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

static int category_of(struct str cat, int guess)
{
	if (!cat.len)
		return -1;
	if (guess >= 0 && same(cat, categories[guess].name))
		return guess;
	for (int i = 0; i < N_CATEGORIES; i++)
		if (same(cat, categories[i].name))
			return i;
	return -1;
}

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)name;
	if (ph.len == 1 && (ph.s[0] == 'M' || ph.s[0] == 's' || ph.s[0] == 'f'))
		return false;
	return !cat.len || !same(cat, STR("python_function"));
}

/* The arguments of an event that mean something, as they stand. */
struct arguments {
	struct str device, stream, correlation, bytes, kind;
	struct str grid, block, registers, shared, occupancy, graph;
	struct str dims, types, strides, values, sequence;
	struct str sync_kind, wait_stream, wait_event;
	struct str device_type, device_id, address, allocated, reserved;
	struct str call_stack;
};

#define ARGUMENT(key, field)                                                                       \
	{                                                                                          \
		STR_INIT(key), offsetof(struct arguments, field)                                   \
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
	return (key.len * 5 + first + last * 3) & (N_ARGUMENT_SLOTS - 1);
}

static void fill_arguments(struct kineto *k)
{
	for (size_t i = 0; i < N_ARGUMENTS; i++) {
		size_t at = argument_slot(argument_fields[i].key);
		while (k->arguments[at])
			at = (at + 1) & (N_ARGUMENT_SLOTS - 1);
		k->arguments[at] = (uint8_t)(i + 1);
	}
	k->has_arguments = true;
}

/* Where this argument goes, NULL for one that means nothing to us. */
static struct str *argument_of(const struct kineto *k, struct arguments *a, struct str key)
{
	if (!key.len)
		return NULL;
	for (size_t at = argument_slot(key); k->arguments[at];) {
		size_t i = k->arguments[at] - 1u;
		if (same(key, argument_fields[i].key))
			return (struct str *)(void *)((char *)a + argument_fields[i].offset);
		at = (at + 1) & (N_ARGUMENT_SLOTS - 1);
	}
	return NULL;
}

static struct arguments arguments_of(struct chrome_part *part, struct str args)
{
	struct kineto *k = part->state;
	struct arguments a = { 0 };
	struct chrome_members m = chrome_members_of(args);
	struct str key, value;
	if (!k->has_arguments)
		fill_arguments(k);
	while (chrome_members_next(&m, &key, &value)) {
		struct str *field = argument_of(k, &a, key);
		if (field && value.len && !same(value, STR("null")))
			*field = value;
	}
	return a;
}

/* A number among the arguments; one that does not fit is counted and is absent. */
static int64_t number_of(struct timeline *t, struct str text, int64_t absent)
{
	int64_t value;
	if (!text.s)
		return absent;
	if (chrome_whole(text, &value))
		return value;
	t->lost[LOST_BAD_NUMBER]++;
	return absent;
}

/* What joins a launch and its work. 0 is kept for none, and is one of the writer's numbers for it.
 */
static uint64_t link_of(struct timeline *t, struct str text)
{
	int64_t value = number_of(t, text, 0);
	return value > 0 ? (uint64_t)value : 0;
}

static uint32_t name_if(struct timeline *t, struct str text)
{
	return text.len ? timeline_name(t, text) : 0;
}

/*
 * A value of JSON as a name: without the blanks and line ends of files written with an indent, so
 * that it takes one line, little memory, and the same name as in a file without.
 */
static uint32_t compact_name(struct chrome_part *part, struct str text)
{
	struct kineto *k = part->state;
	if (text.len == 0 || !memchr(text.s, '\n', text.len))
		return name_if(&part->t, text);
	bool quoted = false;
	buf_clear(&k->tmp);
	for (size_t i = 0; i < text.len; i++) {
		char c = text.s[i];
		if (quoted && c == '\\' && i + 1 < text.len) {
			buf_add_char(&k->tmp, c);
			c = text.s[++i];
		} else if (c == '"') {
			quoted = !quoted;
		}
		if (quoted || (c != ' ' && c != '\n' && c != '\r' && c != '\t'))
			buf_add_char(&k->tmp, c);
	}
	return timeline_name(&part->t, buf_str(&k->tmp));
}

/* The slot for these texts, which is theirs when it is not empty; NULL when they are too long. */
static struct known_track *known_track(struct kineto *k, const struct str *texts, size_t n)
{
	struct known_track want;
	uint32_t sum = 0;
	want.key_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		struct str text = texts[i];
		if (want.key_bytes + text.len + 1 > TRACK_KEY_BYTES)
			return NULL;
		if (text.len)
			memcpy(want.key + want.key_bytes, text.s, text.len);
		want.key_bytes += (uint32_t)text.len;
		/* A byte that no text holds keeps them apart. */
		want.key[want.key_bytes++] = '"';
		sum = sum * 7 + (text.len ? (unsigned char)text.s[text.len - 1] : 0);
	}
	struct known_track *slot = &k->tracks[sum & (N_TRACK_SLOTS - 1)];
	if (slot->key_bytes == want.key_bytes && memcmp(slot->key, want.key, want.key_bytes) == 0)
		return slot;
	memcpy(slot->key, want.key, want.key_bytes);
	slot->key_bytes = want.key_bytes;
	slot->track = 0;
	return slot;
}

static uint32_t host_track(struct chrome_part *part, const struct raw_event *e)
{
	const struct str texts[] = { e->pid, e->tid };
	struct known_track *known = known_track(part->state, texts, 2);
	if (known && known->track)
		return known->track;
	struct track k;
	memset(&k, 0, sizeof k);
	k.device = TRACE_NONE;
	k.pid = name_if(&part->t, e->pid);
	k.tid = name_if(&part->t, e->tid);
	uint32_t track = timeline_track(&part->t, &k);
	if (known)
		known->track = track;
	return track;
}

/* Of a device: where the arguments do not name it and its stream, pid and tid do. */
static uint32_t device_track(
        struct chrome_part *part, const struct raw_event *e, const struct arguments *a)
{
	struct str device = a->device.s ? a->device : e->pid;
	struct str stream = a->stream.s ? a->stream : e->tid;
	const struct str texts[] = { e->pid, e->tid, device, stream };
	struct known_track *known = known_track(part->state, texts, 4);
	if (known && known->track)
		return known->track;
	struct track k;
	memset(&k, 0, sizeof k);
	if (!chrome_whole(device, &k.device))
		k.device = -1;
	k.pid = name_if(&part->t, e->pid);
	k.tid = name_if(&part->t, e->tid);
	k.stream = name_if(&part->t, stream);
	uint32_t track = timeline_track(&part->t, &k);
	if (known)
		known->track = track;
	return track;
}

/* "[4, 1, 1]" */
static void read_triple(struct timeline *t, struct str text, int64_t ret_v[3])
{
	if (text.len < 2 || text.s[0] != '[')
		return;
	text = (struct str){ text.s + 1, text.len - 2 };
	for (int i = 0; i < 3 && text.len; i++)
		ret_v[i] = number_of(t, str_trim(str_cut(text, ',', &text)), -1);
}

/* "37.5" as 37; the writer prints "inf" and "nan" too. */
static int64_t percent_of(struct str text)
{
	double value;
	if (!text.s || !str_to_double(text, &value) || !(value >= 0 && value <= 1000))
		return -1;
	return (int64_t)value;
}

static uint32_t kernel_detail(struct chrome_part *part, const struct arguments *a)
{
	struct timeline *t = &part->t;
	struct kernel_detail d;
	memset(&d, 0, sizeof d);
	d = kernel_detail_none();
	read_triple(t, a->grid, d.grid);
	read_triple(t, a->block, d.block);
	d.registers = number_of(t, a->registers, -1);
	d.shared_bytes = number_of(t, a->shared, -1);
	d.occupancy_percent = percent_of(a->occupancy);
	d.graph = name_if(t, a->graph);
	if (str_eq(a->kind, STR("Dispatch Kernel")))
		t->is_amd = true;
	return timeline_detail(t, DETAIL_KERNEL, &d);
}

static const struct {
	struct str word;
	enum copy_kind kind;
} copy_words[] = {
	{ STR_INIT("HtoD"), COPY_HTOD },
	{ STR_INIT("DtoH"), COPY_DTOH },
	{ STR_INIT("DtoD"), COPY_DTOD },
	{ STR_INIT("PtoP"), COPY_PTOP },
	{ STR_INIT("HtoH"), COPY_HTOH },
};

static enum copy_kind copy_kind_of(struct str word)
{
	for (size_t i = 0; i < sizeof copy_words / sizeof *copy_words; i++)
		if (str_eq(word, copy_words[i].word))
			return copy_words[i].kind;
	return COPY_OTHER;
}

static const struct {
	struct str word;
	enum memory_kind kind;
} memory_words[] = {
	{ STR_INIT("Pageable"), MEMORY_PAGEABLE },
	{ STR_INIT("Pinned"), MEMORY_PINNED },
	{ STR_INIT("Device"), MEMORY_DEVICE },
	{ STR_INIT("Managed"), MEMORY_MANAGED },
	{ STR_INIT("Array"), MEMORY_DEVICE },
};

static enum memory_kind memory_kind_of(struct str word)
{
	for (size_t i = 0; i < sizeof memory_words / sizeof *memory_words; i++)
		if (str_eq(word, memory_words[i].word))
			return memory_words[i].kind;
	return MEMORY_UNKNOWN;
}

/* "Memcpy HtoD (Pageable -> Device)": the kinds of memory stand only there. */
static void read_copy_name(struct str name, struct str *ret_kind, struct copy_detail *d)
{
	struct str rest, inside, from;
	str_cut(name, ' ', &rest);
	*ret_kind = str_cut(rest, ' ', &rest);
	str_cut(rest, '(', &inside);
	inside = str_cut(inside, ')', &rest);
	from = str_cut(inside, ' ', &rest);
	d->from = memory_kind_of(from);
	if (str_starts(rest, STR("-> ")))
		d->to = memory_kind_of((struct str){ rest.s + 3, rest.len - 3 });
}

static uint32_t copy_detail(struct chrome_part *part, const struct raw_event *e,
        const struct arguments *a, enum device_kind device_kind)
{
	struct copy_detail d;
	struct str kind = { 0 };
	memset(&d, 0, sizeof d);
	if (device_kind == DEVICE_MEMCPY && str_starts(e->name, STR("Memcpy ")))
		read_copy_name(e->name, &kind, &d);
	else if (device_kind == DEVICE_MEMCPY)
		kind = a->kind;
	d.bytes = number_of(&part->t, a->bytes, -1);
	d.kind = device_kind == DEVICE_MEMCPY ? copy_kind_of(kind) : COPY_OTHER;
	d.kind_name = name_if(&part->t, kind);
	return timeline_detail(&part->t, DETAIL_COPY, &d);
}

static uint32_t operator_detail(struct chrome_part *part, const struct arguments *a)
{
	struct timeline *t = &part->t;
	if (a->call_stack.s)
		t->has_stack = 1;
	if (!a->dims.s && !a->types.s && !a->strides.s && !a->values.s && !a->sequence.s)
		return 0;
	struct operator_detail d;
	memset(&d, 0, sizeof d);
	d = operator_detail_none();
	d.dims = compact_name(part, a->dims);
	d.types = compact_name(part, a->types);
	d.strides = compact_name(part, a->strides);
	d.values = compact_name(part, a->values);
	d.sequence = number_of(t, a->sequence, -1);
	if (d.dims)
		t->has_shapes = 1;
	return timeline_detail(t, DETAIL_OPERATOR, &d);
}

static const struct {
	struct str text;
	enum sync_kind kind;
} sync_kinds[] = {
	{ STR_INIT("Stream Sync"), SYNC_STREAM },
	{ STR_INIT("Stream Synchronize"), SYNC_STREAM },
	{ STR_INIT("Context Sync"), SYNC_CONTEXT },
	{ STR_INIT("Context Synchronize"), SYNC_CONTEXT },
	{ STR_INIT("Event Sync"), SYNC_EVENT },
	{ STR_INIT("Event Synchronize"), SYNC_EVENT },
	{ STR_INIT("Stream Wait Event"), SYNC_STREAM_WAIT },
};

static uint32_t sync_detail(struct chrome_part *part, const struct arguments *a)
{
	struct sync_detail d;
	memset(&d, 0, sizeof d);
	for (size_t i = 0; i < sizeof sync_kinds / sizeof *sync_kinds; i++)
		if (str_eq(a->sync_kind, sync_kinds[i].text))
			d.kind = sync_kinds[i].kind;
	d.waits_on_stream = name_if(&part->t, a->wait_stream);
	d.event = number_of(&part->t, a->wait_event, -1);
	return timeline_detail(&part->t, DETAIL_SYNC, &d);
}

static uint32_t event_name(struct chrome_part *part, const struct raw_event *e)
{
	struct kineto *k = part->state;
	struct str name = e->name;
	if (e->name_escaped)
		name = chrome_unescape(name, &k->tmp, &part->t);
	return timeline_name(&part->t, name);
}

static void add_device(struct chrome_part *part, const struct raw_event *e,
        const struct arguments *a, enum device_kind kind, struct event *event)
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
	event->detail =
	        kind == DEVICE_KERNEL ? kernel_detail(part, a) : copy_detail(part, e, a, kind);
	timeline_add(&part->t, GROUP_DEVICE, event);
}

static void add_call(struct chrome_part *part, const struct raw_event *e, const struct arguments *a,
        struct event *event)
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
        const struct arguments *a, enum event_group group, struct event *event)
{
	bool of_device = group == GROUP_SYNC || group == GROUP_DEVICE_ANNOTATION ||
	                 group == GROUP_RANGE || (group == GROUP_OTHER && a->device.s);
	event->track = of_device ? device_track(part, e, a) : host_track(part, e);
	event->name = event_name(part, e);
	if (group == GROUP_OPERATOR)
		event->detail = operator_detail(part, a);
	if (group == GROUP_SYNC) {
		event->link = link_of(&part->t, a->correlation);
		event->detail = sync_detail(part, a);
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
	struct arguments a = arguments_of(part, e->args);
	if (group == GROUP_DEVICE)
		add_device(part, e, &a, categories[category].kind, &event);
	else if (group == GROUP_CALL)
		add_call(part, e, &a, &event);
	else
		add_other(part, e, &a, group, &event);
}

static uint32_t memory_detail(struct chrome_part *part, const struct arguments *a)
{
	struct timeline *t = &part->t;
	struct memory_detail d;
	memset(&d, 0, sizeof d);
	d.bytes = number_of(t, a->bytes, 0);
	d.address = number_of(t, a->address, 0);
	d.total_allocated = number_of(t, a->allocated, -1);
	d.total_reserved = number_of(t, a->reserved, -1);
	d.device_type = number_of(t, a->device_type, 0);
	d.device = number_of(t, a->device_id, -1);
	t->has_memory = 1;
	return timeline_detail(t, DETAIL_MEMORY, &d);
}

static void add_instant(struct chrome_part *part, const struct raw_event *e)
{
	struct event event = { 0 };
	enum loss loss = chrome_us_to_ns(e->ts, &event.start_ns);
	if (loss != N_LOSSES) {
		part->t.lost[loss]++;
		return;
	}
	event.track = host_track(part, e);
	event.name = event_name(part, e);
	bool memory = str_eq(e->name, STR("[memory]"));
	if (memory) {
		struct arguments a = arguments_of(part, e->args);
		event.detail = memory_detail(part, &a);
	}
	timeline_add(&part->t, memory ? GROUP_MEMORY : GROUP_INSTANT, &event);
}

/* Counters: each argument that is a number is a series of its own. */
static void add_counter(struct chrome_part *part, const struct raw_event *e)
{
	struct counter_sample sample = { .device = TRACE_NONE };
	enum loss loss = chrome_us_to_ns(e->ts, &sample.time_ns);
	if (loss != N_LOSSES) {
		part->t.lost[loss]++;
		return;
	}
	struct chrome_members m = chrome_members_of(e->args);
	struct str key, value;
	while (chrome_members_next(&m, &key, &value)) {
		if (!str_to_double(value, &sample.value))
			continue;
		sample.name = timeline_name(&part->t, key);
		timeline_counter(&part->t, &sample);
	}
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
static const struct str marks[] = {
	STR_INIT("\"schemaVersion\""),
	STR_INIT("\"deviceProperties\""),
	STR_INIT("\"baseTimeNanoseconds\""),
	STR_INIT("\"python_function\""),
	STR_INIT("\"cpu_op\""),
	STR_INIT("\"cuda_runtime\""),
	STR_INIT("\"user_annotation\""),
	STR_INIT("\"gpu_memcpy\""),
	STR_INIT("\"ac2g\""),
	STR_INIT("\"Trace name\""),
	STR_INIT("\"external ts\""),
};

static bool recognises(const struct source *source)
{
	struct str head = source->head;
	if (!source_is_text(source))
		return false; /* a binary format that holds such names */
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (str_find(head, marks[i]) >= 0)
			return true;
	return false;
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
