/*
 * What an event of an XPlane is: work of a device, a call of its runtime, an operator, ...
 *
 * On a GPU each event of a stream is work. On a TPU the line "XLA Ops" is: its operations run one
 * behind the other, loops and conditionals enclose theirs and are no work of their own. Copies
 * between memories run aside; what the line shows is their start and the wait for their end
 * (copy-start, copy-done), so that their time there is the copy's exposed part and tells no rate.
 * The aside itself ("Async XLA Ops") is not counted a second time.
 */
#include "trace/readers/xplane.h"

#include "trace/kinds/call_kind.h"

/* XLA's number for the host's memory in a layout: Layout::kHostMemorySpace of xla/layout.h. */
static const struct str host_memory = STR_INIT("S(5)");

static const struct str no_text = STR_INIT("");

/* The value of key in "regs:32 grid:16,1,1 block:512,1,1"; empty when it is not there. */
static struct str detail_value(struct str text, struct str key)
{
	while (text.len) {
		struct str rest;
		struct str item = str_cut(text, ' ', &rest);
		struct str value;
		if (str_eq(str_cut(item, ':', &value), key))
			return value;
		text = rest;
	}
	return no_text;
}

static int64_t detail_number(struct str text, struct str key)
{
	int64_t value;
	return str_to_i64(detail_value(text, key), &value) && value >= 0 ? value : -1;
}

static void detail_triple(struct str text, struct str key, int64_t triple[3])
{
	struct str rest = detail_value(text, key);
	int64_t read[3];
	for (int i = 0; i < 3; i++)
		if (!str_to_i64(str_cut(rest, ',', &rest), &read[i]) || read[i] < 0)
			return;
	memcpy(triple, read, sizeof read);
}

static int64_t sum_known(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 ? a : a + b;
}

static uint32_t kernel_detail(struct xplane *p, const struct xstats *s, struct str display)
{
	struct kernel_detail d;
	memset(&d, 0, sizeof d);
	d = kernel_detail_none();
	if (xstats_has(s, XSTAT_KERNEL_DETAILS)) {
		struct str text = s->text[XSTAT_KERNEL_DETAILS];
		detail_triple(text, STR("grid"), d.grid);
		detail_triple(text, STR("block"), d.block);
		d.registers = detail_number(text, STR("regs"));
		d.shared_bytes = sum_known(detail_number(text, STR("static_shared")),
		        detail_number(text, STR("dynamic_shared")));
		d.shared_bytes = sum_known(d.shared_bytes, detail_number(text, STR("group_mem")));
		d.occupancy_percent = detail_number(text, STR("occ_pct"));
		/* Writers that do not work it out say 0. */
		if (d.occupancy_percent == 0)
			d.occupancy_percent = -1;
		d.grid_in_items = GRID_IN_BLOCKS;
	}
	d.flops = xstats_number(s, XSTAT_FLOPS, -1);
	d.bytes = xstats_number(s, XSTAT_BYTES_ACCESSED, -1);
	d.op = xstats_name(s, XSTAT_HLO_OP, p->t);
	if (!d.op && display.len)
		d.op = timeline_name(p->t, display);
	if (!d.op)
		d.op = xstats_name(s, XSTAT_TF_OP, p->t);
	d.category = xstats_name(s, XSTAT_HLO_CATEGORY, p->t);
	d.graph = xstats_name(s, XSTAT_GRAPH, p->t);
	return timeline_detail(p->t, DETAIL_KERNEL, &d);
}

static const struct {
	struct str word, shown;
	enum copy_kind kind;
} copy_words[] = {
	{ STR_INIT("H2D"), STR_INIT("HtoD"), COPY_HTOD },
	{ STR_INIT("HtoD"), STR_INIT("HtoD"), COPY_HTOD },
	{ STR_INIT("D2H"), STR_INIT("DtoH"), COPY_DTOH },
	{ STR_INIT("DtoH"), STR_INIT("DtoH"), COPY_DTOH },
	{ STR_INIT("D2D"), STR_INIT("DtoD"), COPY_DTOD },
	{ STR_INIT("DtoD"), STR_INIT("DtoD"), COPY_DTOD },
	{ STR_INIT("P2P"), STR_INIT("PtoP"), COPY_PTOP },
	{ STR_INIT("PtoP"), STR_INIT("PtoP"), COPY_PTOP },
	{ STR_INIT("H2H"), STR_INIT("HtoH"), COPY_HTOH },
	{ STR_INIT("HtoH"), STR_INIT("HtoH"), COPY_HTOH },
};

static const struct {
	struct str word;
	enum memory_kind kind;
} memory_words[] = {
	{ STR_INIT("pageable"), MEMORY_PAGEABLE },
	{ STR_INIT("pinned"), MEMORY_PINNED },
	{ STR_INIT("device"), MEMORY_DEVICE },
	{ STR_INIT("device_static"), MEMORY_DEVICE },
	{ STR_INIT("array"), MEMORY_DEVICE },
	{ STR_INIT("managed"), MEMORY_MANAGED },
	{ STR_INIT("managed_static"), MEMORY_MANAGED },
};

static uint32_t memory_of(struct str word)
{
	for (size_t i = 0; i < ARRAY_LEN(memory_words); i++)
		if (str_eq_nocase(memory_words[i].word, word))
			return memory_words[i].kind;
	return MEMORY_UNKNOWN;
}

static void set_copy_kind(struct xplane *p, struct copy_detail *d, struct str said)
{
	d->kind = COPY_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(copy_words); i++) {
		if (str_find(said, copy_words[i].word) < 0)
			continue;
		d->kind = copy_words[i].kind;
		d->kind_name = timeline_name(p->t, copy_words[i].shown);
		return;
	}
}

static uint32_t copy_detail(struct xplane *p, const struct xstats *s, struct str name)
{
	struct copy_detail d;
	memset(&d, 0, sizeof d);
	struct str text =
	        xstats_has(s, XSTAT_MEMCPY_DETAILS) ? s->text[XSTAT_MEMCPY_DETAILS] : no_text;
	struct str kind = detail_value(text, STR("kind"));
	d.bytes = detail_number(text, STR("size"));
	set_copy_kind(p, &d, kind.len ? kind : name);
	if (d.kind == COPY_OTHER)
		set_copy_kind(p, &d, name);
	d.from = memory_of(detail_value(text, STR("kind_src")));
	d.to = memory_of(detail_value(text, STR("kind_dst")));
	return timeline_detail(p->t, DETAIL_COPY, &d);
}

static void add_kernel(
        struct xplane *p, const struct xstats *s, const struct xevent_meta *meta, struct event *e)
{
	struct str name = timeline_name_of(p->t, e->name);
	e->kind = DEVICE_KERNEL;
	if (str_starts(name, STR("Memset")))
		e->kind = DEVICE_MEMSET;
	else if (str_starts(name, STR("Memcpy")) || xstats_has(s, XSTAT_MEMCPY_DETAILS))
		e->kind = DEVICE_MEMCPY;
	e->detail = e->kind == DEVICE_KERNEL ? kernel_detail(p, s, meta ? meta->display : no_text)
	                                     : copy_detail(p, s, name);
	e->link = (uint64_t)xstats_number(s, XSTAT_CORRELATION, 0);
	timeline_add(p->t, GROUP_DEVICE, e);
}

/* Of a copy between memories of a TPU: what is written stands first, then what is read. */
static uint32_t async_copy_detail(struct xplane *p, struct str hlo)
{
	struct copy_detail d;
	memset(&d, 0, sizeof d);
	d.bytes = -1;
	ptrdiff_t close = str_find(hlo, STR("}"));
	size_t first = close < 0 ? hlo.len : (size_t)close;
	if (str_find((struct str){ hlo.s, first }, host_memory) >= 0)
		set_copy_kind(p, &d, STR("DtoH"));
	else if (str_find(hlo, host_memory) >= 0)
		set_copy_kind(p, &d, STR("HtoD"));
	else
		set_copy_kind(p, &d, STR("DtoD"));
	return timeline_detail(p->t, DETAIL_COPY, &d);
}

/* All that is to know of an operation of a TPU stands in its metadata. */
static void know_operation(struct xplane *p, struct xevent_meta *meta)
{
	static const struct str copies[] = { STR_INIT("copy-start"), STR_INIT("copy-done") };
	struct xstats s;
	s.present = 0;
	xstats_add(&s, p, meta->message, 5);
	meta->has_detail = true;
	struct str category =
	        xstats_has(&s, XSTAT_HLO_CATEGORY) ? s.text[XSTAT_HLO_CATEGORY] : no_text;
	for (size_t i = 0; i < ARRAY_LEN(copies); i++) {
		if (!str_eq(category, copies[i]))
			continue;
		meta->kind = DEVICE_MEMCPY;
		meta->detail = async_copy_detail(p, meta->name);
		return;
	}
	meta->kind = DEVICE_KERNEL;
	meta->detail = kernel_detail(p, &s, meta->display);
}

/* Whether operation i encloses the next one. */
static bool encloses(const struct xline *line, size_t i)
{
	if (i + 1 == line->n)
		return false;
	const struct xevent *e = &line->events[i], *next = &line->events[i + 1];
	int64_t end = e->offset_ps + e->dur_ps;
	return next->dur_ps > 0 && next->offset_ps < end && next->offset_ps + next->dur_ps <= end;
}

static void add_operation(struct xplane *p, const struct xline *line, size_t i, struct event *e)
{
	struct xevent_meta *meta = xplane_event_meta(p, line->events[i].id);
	if (encloses(line, i)) {
		timeline_add(p->t, GROUP_DEVICE_ANNOTATION, e);
		return;
	}
	if (meta && !meta->has_detail)
		know_operation(p, meta);
	e->kind = meta ? meta->kind : DEVICE_KERNEL;
	e->detail = meta ? meta->detail : 0;
	timeline_add(p->t, GROUP_DEVICE, e);
}

/* "GPU_3_bfc" is device 3. */
static int64_t allocator_device(struct str name)
{
	struct str rest;
	int64_t device;
	str_cut(name, '_', &rest);
	return str_to_i64(str_cut(rest, '_', &rest), &device) ? device : TRACE_NONE;
}

static void add_memory(struct xplane *p, const struct xstats *s, struct event *e, bool is_free)
{
	struct memory_detail d;
	memset(&d, 0, sizeof d);
	/* A free without a size is 0 until xplane_resolve_frees. */
	d.bytes = xstats_number(s, XSTAT_ALLOCATION_BYTES, 0);
	if (is_free)
		d.bytes = -d.bytes;
	d.address = xstats_number(s, XSTAT_ADDRESS, 0);
	d.total_allocated = xstats_number(s, XSTAT_BYTES_ALLOCATED, -1);
	/* What the allocator took from the device is not told. */
	d.total_reserved = -1;
	d.device = xstats_number(s, XSTAT_DEVICE_ON_HOST, TRACE_NONE);
	if (d.device == TRACE_NONE && xstats_has(s, XSTAT_ALLOCATOR))
		d.device = allocator_device(s->text[XSTAT_ALLOCATOR]);
	/* As in Kineto: 0 the host, 1 a device. */
	d.device_type = d.device != TRACE_NONE;
	e->detail = timeline_detail(p->t, DETAIL_MEMORY, &d);
	timeline_add(p->t, GROUP_MEMORY, e);
	p->t->has_memory = 1;
}

static void add_host(struct xplane *p, const struct xline *line, size_t i, struct event *e)
{
	struct str name = timeline_name_of(p->t, e->name);
	if (str_starts(name, STR("$"))) {
		p->t->n_python++;
		p->t->has_stack = 1;
		if (e->dur_ns >= TRACE_PYTHON_MIN_NS)
			timeline_add(p->t, GROUP_PYTHON, e);
		else
			timeline_span(p->t, e->start_ns, e->dur_ns);
		return;
	}
	struct xstats s;
	s.present = 0;
	xstats_add(&s, p, line->events[i].stats, 4);
	bool is_free = str_eq(name, STR("MemoryDeallocation"));
	if (is_free || str_eq(name, STR("MemoryAllocation"))) {
		add_memory(p, &s, e, is_free);
	} else if (line->events[i].is_instant) {
		timeline_add(p->t, GROUP_INSTANT, e);
	} else if (call_is_runtime(name)) {
		e->link = (uint64_t)xstats_number(&s, XSTAT_CORRELATION, 0);
		timeline_add(p->t, GROUP_CALL, e);
	} else if (xstats_has(&s, XSTAT_IS_ROOT) || xstats_has(&s, XSTAT_STEP)) {
		timeline_add(p->t, GROUP_ANNOTATION, e);
	} else {
		timeline_add(p->t, GROUP_OPERATOR, e);
	}
}

static void add_stream_event(struct xplane *p, const struct xline *line, size_t i, struct event *e)
{
	const struct xevent_meta *meta = xplane_event_meta(p, line->events[i].id);
	struct xstats s;
	s.present = 0;
	if (meta)
		xstats_add(&s, p, meta->message, 5);
	xstats_add(&s, p, line->events[i].stats, 4);
	add_kernel(p, &s, meta, e);
}

void xevent_add(struct xplane *p, const struct xline *line, size_t i)
{
	const struct xevent *x = &line->events[i];
	/* Both ends are rounded, so that what touches still does. */
	struct event e = { .start_ns = line->timestamp_ns + xplane_ns(x->offset_ps),
		.name = xplane_event_name(p, x->id),
		.track = line->track };
	e.dur_ns = line->timestamp_ns + xplane_ns(x->offset_ps + x->dur_ps) - e.start_ns;
	switch (line->use) {
	case XLINE_KERNELS:
		add_stream_event(p, line, i, &e);
		break;
	case XLINE_OPS:
		add_operation(p, line, i, &e);
		break;
	case XLINE_RANGES:
		timeline_add(p->t, GROUP_DEVICE_ANNOTATION, &e);
		break;
	case XLINE_HOST:
		add_host(p, line, i, &e);
		break;
	case XLINE_OTHER:
		timeline_add(p->t, GROUP_OTHER, &e);
		break;
	}
}
