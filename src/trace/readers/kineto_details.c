/*
 * The details of events of Kineto: what their arguments and names tell of kernels, copies,
 * operators, waits and memory.
 */
#include "trace/readers/chrome_event.h"
#include "trace/readers/kineto.h"

/*
 * A value of JSON as a name: without the blanks and line ends of files written with an indent, so
 * that it takes one line, little memory, and the same name as in a file without.
 */
static uint32_t compact_name(struct timeline *t, struct str text, struct buf *tmp)
{
	if (text.len == 0 || !memchr(text.s, '\n', text.len))
		return chrome_text(t, text);
	bool quoted = false;
	buf_clear(tmp);
	for (size_t i = 0; i < text.len; i++) {
		char c = text.s[i];
		if (quoted && c == '\\' && i + 1 < text.len) {
			buf_add_char(tmp, c);
			c = text.s[++i];
		} else if (c == '"') {
			quoted = !quoted;
		}
		if (quoted || (c != ' ' && c != '\n' && c != '\r' && c != '\t'))
			buf_add_char(tmp, c);
	}
	return timeline_name(t, buf_str(tmp));
}

/* "[4, 1, 1]" */
static void read_triple(struct timeline *t, struct str text, int64_t ret_v[3])
{
	if (text.len < 2 || text.s[0] != '[')
		return;
	text = (struct str){ text.s + 1, text.len - 2 };
	for (int i = 0; i < 3 && text.len; i++) {
		struct str number = str_trim(str_cut(text, ',', &text));
		ret_v[i] = chrome_number(t, number, -1);
		t->lost[LOST_BAD_NUMBER] += number.len == 0;
	}
}

/* "37.5" as 37; the writer prints "inf" and "nan" too. */
static int64_t percent_of(struct str text)
{
	double value;
	if (!text.s || !str_to_double(text, &value) || !(value >= 0 && value <= 1000))
		return -1;
	return (int64_t)value;
}

uint32_t kineto_kernel_detail(struct timeline *t, const struct kineto_arguments *a)
{
	struct kernel_detail d;
	memset(&d, 0, sizeof d);
	d = kernel_detail_none();
	read_triple(t, a->grid, d.grid);
	read_triple(t, a->block, d.block);
	d.registers = chrome_number(t, a->registers, -1);
	d.shared_bytes = chrome_number(t, a->shared, -1);
	d.occupancy_percent = percent_of(a->occupancy);
	d.graph = chrome_text(t, a->graph);
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

uint32_t kineto_copy_detail(struct timeline *t, const struct kineto_arguments *a,
        enum device_kind device_kind, struct str name)
{
	struct copy_detail d;
	struct str kind = { 0 };
	memset(&d, 0, sizeof d);
	if (device_kind == DEVICE_MEMCPY && str_starts(name, STR("Memcpy ")))
		read_copy_name(name, &kind, &d);
	else if (device_kind == DEVICE_MEMCPY)
		kind = a->kind;
	d.bytes = chrome_number(t, a->bytes, -1);
	d.kind = device_kind == DEVICE_MEMCPY ? copy_kind_of(kind) : COPY_OTHER;
	d.kind_name = chrome_text(t, kind);
	return timeline_detail(t, DETAIL_COPY, &d);
}

uint32_t kineto_operator_detail(
        struct timeline *t, const struct kineto_arguments *a, struct buf *tmp)
{
	if (a->call_stack.s)
		t->has_stack = 1;
	if (!a->dims.s && !a->types.s && !a->strides.s && !a->values.s && !a->sequence.s)
		return 0;
	struct operator_detail d;
	memset(&d, 0, sizeof d);
	d = operator_detail_none();
	d.dims = compact_name(t, a->dims, tmp);
	d.types = compact_name(t, a->types, tmp);
	d.strides = compact_name(t, a->strides, tmp);
	d.values = compact_name(t, a->values, tmp);
	d.sequence = chrome_number(t, a->sequence, -1);
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

uint32_t kineto_sync_detail(struct timeline *t, const struct kineto_arguments *a)
{
	struct sync_detail d;
	memset(&d, 0, sizeof d);
	for (size_t i = 0; i < sizeof sync_kinds / sizeof *sync_kinds; i++)
		if (str_eq(a->sync_kind, sync_kinds[i].text))
			d.kind = sync_kinds[i].kind;
	d.waits_on_stream = chrome_text(t, a->wait_stream);
	d.event = chrome_number(t, a->wait_event, -1);
	return timeline_detail(t, DETAIL_SYNC, &d);
}

uint32_t kineto_memory_detail(struct timeline *t, const struct kineto_arguments *a)
{
	struct memory_detail d;
	memset(&d, 0, sizeof d);
	d.bytes = chrome_number(t, a->bytes, 0);
	d.address = chrome_number(t, a->address, 0);
	d.total_allocated = chrome_number(t, a->allocated, -1);
	d.total_reserved = chrome_number(t, a->reserved, -1);
	d.device_type = chrome_number(t, a->device_type, 0);
	d.device = chrome_number(t, a->device_id, -1);
	t->has_memory = 1;
	return timeline_detail(t, DETAIL_MEMORY, &d);
}
