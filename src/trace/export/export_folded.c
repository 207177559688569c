/*
 * Folded stacks. Spans of a thread are walked in the order of their starts with a stack of those
 * that are open; each distinct stack is a node of a tree, so that a stack is written once, with the
 * sum of its times.
 */
#include "trace/export/export.h"

#include <stdlib.h>
#include <string.h>

/* Pieces are written when they have grown to this. */
enum { PIECE_BYTES = 1 << 20 };

/* A frame below others: (uint32_t)-1 is a root. Frames are numbers in frames. */
struct node_key {
	uint32_t parent, frame;
};

struct folded {
	const struct trace_view *v;
	struct intern nodes;  /* struct node_key; node i is number i + 1 */
	struct intern frames; /* text of frames */
	int64_t *ns;          /* [cap_nodes], of a node itself */
	uint16_t *depth;
	uint32_t *on_device; /* the node of a device's stack for a node of the host; 0: not yet */
	uint32_t cap_nodes;
	uint32_t *frame_of_name; /* [names.n], number + 1 in frames */
	uint32_t *node_of_call;  /* [calls], node + 1 */
	struct arena tmp;
};

/* ---- the tree ---- */

static void *widened(void *v, uint32_t old_cap, uint32_t cap, size_t size)
{
	v = mem_realloc(v, cap * size);
	memset((char *)v + old_cap * size, 0, (cap - old_cap) * size);
	return v;
}

static uint32_t node_at(struct folded *f, uint32_t parent, uint32_t frame)
{
	if (parent != NONE32 && f->depth[parent] + 1 >= FOLDED_DEPTH_MAX)
		return parent;
	const struct node_key key = { parent, frame };
	uint32_t node = intern_add(&f->nodes, (struct str){ (const char *)&key, sizeof key }) - 1;
	if (node >= f->cap_nodes) {
		uint32_t cap = f->cap_nodes ? f->cap_nodes * 2 : 256;
		f->ns = widened(f->ns, f->cap_nodes, cap, sizeof *f->ns);
		f->depth = widened(f->depth, f->cap_nodes, cap, sizeof *f->depth);
		f->on_device = widened(f->on_device, f->cap_nodes, cap, sizeof *f->on_device);
		f->cap_nodes = cap;
	}
	if (parent != NONE32)
		f->depth[node] = (uint16_t)(f->depth[parent] + 1);
	return node;
}

static struct node_key key_of(const struct folded *f, uint32_t node)
{
	struct node_key key;
	memcpy(&key, intern_str(&f->nodes, node + 1).s, sizeof key);
	return key;
}

/* The text as a frame: without what separates frames and lines. */
static uint32_t frame_of(struct folded *f, struct str text)
{
	AUTO(auto_buf) struct buf clean = { 0 };
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.s[i];
		buf_add_char(&clean, c == ';' ? ':' : c < ' ' || c == 0x7f ? ' ' : (char)c);
	}
	return intern_add(&f->frames, clean.len ? buf_str(&clean) : STR("(no name)"));
}

static uint32_t frame_of_name(struct folded *f, uint32_t name)
{
	if (f->frame_of_name[name] == 0)
		f->frame_of_name[name] = frame_of(f, timeline_name_of(f->v->t, name)) + 1;
	return f->frame_of_name[name] - 1;
}

static uint32_t root_of(struct folded *f, const char *text)
{
	return node_at(f, NONE32, frame_of(f, str_of(text)));
}

/* ---- the host ---- */

/* A span of a thread: which event of which list. */
struct span {
	int64_t start_ns, end_ns;
	uint32_t track, name;
	uint32_t call; /* the event, of a call; NONE32: none */
	uint32_t order;
};

static int by_track_and_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Of equal spans a range is around an operator, and that around a call. */
static const enum event_group host_groups[] = { GROUP_ANNOTATION, GROUP_OPERATOR, GROUP_CALL };

static struct span *host_spans(const struct timeline *t, size_t *ret_n)
{
	size_t n = 0;
	for (size_t g = 0; g < ARRAY_LEN(host_groups); g++)
		n += t->lists[host_groups[g]].n;
	struct span *spans = mem_zeroed(n + 1, sizeof *spans);
	n = 0;
	for (size_t g = 0; g < ARRAY_LEN(host_groups); g++) {
		const struct event_list *list = &t->lists[host_groups[g]];
		for (size_t i = 0; i < list->n; i++, n++)
			spans[n] = (struct span){
				.start_ns = list->v[i].start_ns,
				.end_ns = list->v[i].start_ns + list->v[i].dur_ns,
				.track = list->v[i].track,
				.name = list->v[i].name,
				.call = host_groups[g] == GROUP_CALL ? (uint32_t)i : NONE32,
				.order = (uint32_t)n,
			};
	}
	qsort(spans, n, sizeof *spans, by_track_and_start);
	*ret_n = n;
	return spans;
}

static uint32_t thread_root(struct folded *f, uint32_t track)
{
	const struct timeline *t = f->v->t;
	const struct track *k = timeline_track_of(t, track);
	struct str pid = timeline_name_of(t, k->pid), tid = timeline_name_of(t, k->tid);
	const char *thread = arena_printf(
	        &f->tmp, "thread %.*s%s%.*s", STR_ARG(pid), pid.len ? "/" : "", STR_ARG(tid));
	return node_at(f, root_of(f, "host"), frame_of(f, str_of(thread)));
}

/* A span that is open. */
struct open_span {
	int64_t end_ns, own_ns;
	uint32_t node;
};

struct open_stack {
	struct open_span *v;
	size_t n, cap;
};

static void close_until(struct folded *f, struct open_stack *stack, int64_t time_ns)
{
	while (stack->n && stack->v[stack->n - 1].end_ns <= time_ns) {
		stack->n--;
		f->ns[stack->v[stack->n].node] += stack->v[stack->n].own_ns;
	}
}

static void push(struct open_stack *stack, const struct open_span *span)
{
	if (stack->n == stack->cap) {
		stack->cap = stack->cap ? stack->cap * 2 : 64;
		stack->v = mem_realloc(stack->v, stack->cap * sizeof *stack->v);
	}
	stack->v[stack->n++] = *span;
}

static void walk_host(struct folded *f)
{
	size_t n;
	struct span *spans = host_spans(f->v->t, &n);
	struct open_stack stack = { 0 };
	uint32_t root = NONE32;
	for (size_t i = 0; i < n; i++) {
		const struct span *s = &spans[i];
		if (i == 0 || s->track != spans[i - 1].track) {
			close_until(f, &stack, INT64_MAX);
			root = thread_root(f, s->track);
		}
		close_until(f, &stack, s->start_ns);
		struct open_span *around = stack.n ? &stack.v[stack.n - 1] : NULL;
		/* What sticks out of the span around it is only its own. */
		if (around)
			around->own_ns -=
			        (s->end_ns < around->end_ns ? s->end_ns : around->end_ns) -
			        s->start_ns;
		uint32_t node = node_at(f, around ? around->node : root, frame_of_name(f, s->name));
		if (s->call != NONE32)
			f->node_of_call[s->call] = node + 1;
		push(&stack, &(struct open_span){ s->end_ns, s->end_ns - s->start_ns, node });
	}
	close_until(f, &stack, INT64_MAX);
	free(stack.v);
	free(spans);
}

/* ---- devices ---- */

/* The host's stack of a node, without its thread, below the root of a device. */
static uint32_t below_device(struct folded *f, uint32_t node, uint32_t root)
{
	uint32_t path[FOLDED_DEPTH_MAX], n = 0;
	/* "host" and the thread are the two above which nothing is taken. */
	while (f->depth[node] >= 2 && f->on_device[node] == 0) {
		path[n++] = node;
		node = key_of(f, node).parent;
	}
	uint32_t at = f->depth[node] >= 2 ? f->on_device[node] - 1 : root;
	while (n--) {
		at = node_at(f, at, key_of(f, path[n]).frame);
		f->on_device[path[n]] = at + 1;
	}
	return at;
}

static void walk_device(struct folded *f, const struct device_view *d)
{
	const struct timeline *t = f->v->t;
	uint32_t root = root_of(f, arena_printf(&f->tmp, "device %lld", (long long)d->id));
	uint32_t unlinked = frame_of(f, STR("(not linked)"));
	memset(f->on_device, 0, f->cap_nodes * sizeof *f->on_device);
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &t->lists[GROUP_DEVICE].v[d->order[i]];
		uint32_t launch = f->v->launch[d->order[i]];
		uint32_t at = launch == NONE32 ? node_at(f, root, unlinked)
		                               : below_device(f, f->node_of_call[launch] - 1, root);
		/* A new node may move f->ns: it is looked at only then. */
		uint32_t node = node_at(f, at, frame_of_name(f, e->name));
		f->ns[node] += e->dur_ns;
	}
}

/* ---- out ---- */

static void add_stack(const struct folded *f, uint32_t node, struct buf *out)
{
	uint32_t path[FOLDED_DEPTH_MAX], n = 0;
	for (uint32_t at = node; at != NONE32; at = key_of(f, at).parent)
		path[n++] = key_of(f, at).frame;
	while (n--) {
		buf_add(out, intern_str(&f->frames, path[n]));
		buf_add_char(out, n ? ';' : ' ');
	}
	buf_printf(out, "%lld\n", (long long)f->ns[node]);
}

static bool write_stacks(const struct folded *f, const struct trace_out *out, struct err *err)
{
	AUTO(auto_buf) struct buf piece = { 0 };
	for (uint32_t node = 0; node + 1 < f->nodes.n; node++) {
		if (f->ns[node] <= 0)
			continue;
		add_stack(f, node, &piece);
		if (piece.len < PIECE_BYTES)
			continue;
		if (!out->write(out->ctx, buf_str(&piece), err))
			return false;
		buf_clear(&piece);
	}
	return out->write(out->ctx, buf_str(&piece), err);
}

bool trace_export_folded(const struct trace_view *v, const struct trace_out *out, struct err *err)
{
	struct folded f = { .v = v };
	f.frame_of_name = mem_zeroed((size_t)v->t->names.n + 1, sizeof *f.frame_of_name);
	f.node_of_call = mem_zeroed(v->t->lists[GROUP_CALL].n + 1, sizeof *f.node_of_call);
	walk_host(&f);
	for (size_t i = 0; i < v->n_devices; i++)
		walk_device(&f, &v->devices[i]);
	bool ok = write_stacks(&f, out, err);
	intern_release(&f.nodes);
	intern_release(&f.frames);
	free(f.ns);
	free(f.depth);
	free(f.on_device);
	free(f.frame_of_name);
	free(f.node_of_call);
	arena_release(&f.tmp);
	return ok;
}
