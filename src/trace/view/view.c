#include "trace/kinds/call_kind.h"
#include "trace/view/view_parts.h"

const char *const gap_cause_names[N_GAP_CAUSES] = {
	[GAP_HOST] = "host",
	[GAP_QUEUED] = "queued",
	[GAP_SYNC] = "sync",
	[GAP_ALLOCATION] = "allocation",
	[GAP_UNKNOWN] = "unknown",
};

const char *const step_source_names[] = {
	[STEPS_NONE] = "none",
	[STEPS_PROFILER] = "profiler_step",
	[STEPS_ANNOTATION] = "annotation",
	[STEPS_GRAPH] = "graph_launch",
	[STEPS_RUN] = "run",
	[STEPS_PERIOD] = "period",
};

static void classify_calls(struct trace_view *v)
{
	const struct event_list *calls = &v->t->lists[GROUP_CALL];
	enum { UNSEEN = 0xff };
	v->call_kinds = arena_alloc_n(&v->arena, (size_t)v->t->names.n + 1, 1);
	uint8_t *kinds = v->call_kinds;
	for (size_t i = 0; i < calls->n; i++)
		kinds[calls->v[i].name] = UNSEEN;
	for (size_t i = 0; i < calls->n; i++) {
		uint32_t name = calls->v[i].name;
		if (kinds[name] == UNSEEN)
			kinds[name] = (uint8_t)call_kind_of(timeline_name_of(v->t, name));
	}
}

void trace_view_init(struct trace_view *v, const struct timeline *t)
{
	*v = (struct trace_view){ .t = t };
	v->classes = arena_new(&v->arena, struct kernel_classes);
	kernel_classes_init(v->classes, t, &v->arena);
	classify_calls(v);
	view_devices(v);
	view_links(v);
	view_operators(v);
	view_steps(v);
	view_gaps(v);
}

void trace_view_release(struct trace_view *v)
{
	arena_release(&v->arena);
	*v = (struct trace_view){ 0 };
}

/* Product of three counts, -1 when one is not told or it does not fit. */
static int64_t volume(const int64_t n[3])
{
	int64_t all = 1;
	for (int k = 0; k < 3; k++) {
		if (n[k] < 0 || __builtin_mul_overflow(all, n[k], &all))
			return -1;
	}
	return all;
}

static bool grid_counts_items(
        const struct trace_view *v, uint32_t device_event, const struct kernel_detail *k)
{
	if (k->grid_in_items != GRID_BY_CALL)
		return k->grid_in_items == GRID_IN_ITEMS;
	uint32_t call = v->launch[device_event];
	if (!v->t->is_amd || call == NONE32)
		return false;
	uint32_t name = v->t->lists[GROUP_CALL].v[call].name;
	return str_starts(timeline_name_of(v->t, name), STR("hipExtModuleLaunchKernel"));
}

int64_t trace_kernel_blocks(const struct trace_view *v, uint32_t device_event)
{
	const struct event *e = &v->t->lists[GROUP_DEVICE].v[device_event];
	const struct kernel_detail *k = e->kind == DEVICE_KERNEL ? timeline_kernel(v->t, e) : NULL;
	if (!k)
		return -1;
	if (!grid_counts_items(v, device_event, k))
		return volume(k->grid);
	int64_t blocks[3];
	for (int i = 0; i < 3; i++) {
		if (k->block[i] <= 0 || k->grid[i] < 0)
			return -1;
		blocks[i] = k->grid[i] / k->block[i] + (k->grid[i] % k->block[i] != 0);
	}
	return volume(blocks);
}
