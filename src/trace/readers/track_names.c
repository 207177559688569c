#include "trace/readers/track_names.h"

#include "trace/readers/chrome_event.h"

#include <stdlib.h>
#include <string.h>

enum name_kind { NAME_PROCESS, NAME_LABELS, NAME_THREAD, N_NAME_KINDS };

struct track_name {
	enum name_kind kind;
	uint32_t pid, tid; /* in names; tid 0 for those of a process */
	uint32_t name;
	uint32_t order; /* the last one counts */
};

static const struct {
	struct str event, argument;
} sources[N_NAME_KINDS] = {
	[NAME_PROCESS] = { STR_INIT("process_name"), STR_INIT("name") },
	[NAME_LABELS] = { STR_INIT("process_labels"), STR_INIT("labels") },
	[NAME_THREAD] = { STR_INIT("thread_name"), STR_INIT("name") },
};

static uint32_t argument(struct timeline *t, struct str args, struct str wanted)
{
	struct chrome_members m = chrome_members_of(args);
	struct str key, value;
	uint32_t name = 0;
	AUTO(auto_buf) struct buf tmp = { 0 };
	while (chrome_members_next(&m, &key, &value))
		if (str_eq(key, wanted))
			name = chrome_text(t, chrome_unescape(value, &tmp, t));
	return name;
}

void track_names_add(struct track_names *names, struct timeline *t, const struct raw_event *e)
{
	int kind = 0;
	while (kind < N_NAME_KINDS && !str_eq(e->name, sources[kind].event))
		kind++;
	if (kind == N_NAME_KINDS)
		return;
	if (names->n == names->cap) {
		names->cap = names->cap ? names->cap * 2 : 64;
		names->v = mem_realloc(names->v, names->cap * sizeof *names->v);
	}
	names->v[names->n] = (struct track_name){
		.kind = kind,
		.pid = chrome_text(t, e->pid),
		.tid = kind == NAME_THREAD ? chrome_text(t, e->tid) : 0,
		.name = argument(t, e->args, sources[kind].argument),
		.order = (uint32_t)names->n,
	};
	names->n++;
}

static int by_place(const void *a, const void *b)
{
	const struct track_name *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_place_and_order(const void *a, const void *b)
{
	const struct track_name *x = a, *y = b;
	int places = by_place(a, b);
	return places ? places : (x->order > y->order) - (x->order < y->order);
}

/* In order of place, the last of each place kept. */
static void sort_names(struct track_names *names)
{
	size_t n = 0;
	if (names->n == 0)
		return;
	qsort(names->v, names->n, sizeof *names->v, by_place_and_order);
	for (size_t i = 0; i < names->n; i++) {
		if (n && by_place(&names->v[n - 1], &names->v[i]) == 0)
			n--;
		names->v[n++] = names->v[i];
	}
	names->n = n;
}

static uint32_t find_name(
        const struct track_names *names, enum name_kind kind, uint32_t pid, uint32_t tid)
{
	struct track_name wanted = { .kind = kind, .pid = pid, .tid = tid };
	const struct track_name *hit = NULL;
	if (names->n)
		hit = bsearch(&wanted, names->v, names->n, sizeof *names->v, by_place);
	return hit ? hit->name : 0;
}

struct retrack {
	uint32_t track;
	enum event_group group;
};

/* What becomes of each track: with its label, and of a device where it is that. */
static struct retrack *retrack_all(
        const struct track_names *names, struct timeline *t, track_names_use_of *use_of)
{
	uint32_t n = t->tracks.n;
	struct retrack *map = mem_zeroed((size_t)n + 1, sizeof *map);
	map[0].group = GROUP_OTHER;
	for (uint32_t i = 1; i < n; i++) {
		struct track k = *timeline_track_of(t, i);
		k.label = find_name(names, NAME_THREAD, k.pid, k.tid);
		uint32_t process = find_name(names, NAME_PROCESS, k.pid, 0);
		uint32_t labels = find_name(names, NAME_LABELS, k.pid, 0);
		struct track_use use = use_of(timeline_name_of(t, process),
		        timeline_name_of(t, k.label), timeline_name_of(t, labels));
		k.device = use.device;
		if (use.device != TRACE_NONE)
			k.stream = use.stream.len ? timeline_name(t, use.stream) : k.tid;
		map[i] = (struct retrack){ timeline_track(t, &k), use.group };
	}
	return map;
}

/* A frame of Python is kept when it is long enough. */
static bool is_dropped(struct timeline *t, enum event_group group, const struct event *e)
{
	if (group != GROUP_PYTHON)
		return false;
	t->n_python++;
	t->has_stack = 1;
	return e->dur_ns < TRACE_PYTHON_MIN_NS;
}

static void move_spans(
        struct timeline *t, const struct retrack *map, track_names_group_of *group_of)
{
	struct event_list spans = t->lists[GROUP_OTHER];
	t->lists[GROUP_OTHER] = (struct event_list){ 0 };
	for (size_t i = 0; i < spans.n; i++) {
		struct event e = spans.v[i];
		enum event_group group = map[e.track].group;
		e.track = map[e.track].track;
		if (group_of)
			group = group_of(t, group, &e);
		if (group != GROUP_DEVICE)
			e.kind = e.detail = 0;
		if (!is_dropped(t, group, &e))
			timeline_add_checked(t, group, &e);
	}
	free(spans.v);
}

void track_names_apply(struct track_names *names, struct timeline *t, track_names_use_of *use_of,
        track_names_group_of *group_of)
{
	sort_names(names);
	struct retrack *map = retrack_all(names, t, use_of);
	for (int g = 0; g < N_GROUPS; g++)
		for (size_t i = 0; g != GROUP_OTHER && i < t->lists[g].n; i++)
			t->lists[g].v[i].track = map[t->lists[g].v[i].track].track;
	move_spans(t, map, group_of);
	free(map);
}

void track_names_release(struct track_names *names)
{
	free(names->v);
	*names = (struct track_names){ 0 };
}
