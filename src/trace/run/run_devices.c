#include "trace/run/run_parts.h"

#include "stats/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nobody looks at more pictures than that; a file may claim a million devices. */
enum { STRIP_DEVICES_MAX = 1024 };

/* Copies below this are small: their time is the call's, not the link's. Source: as in the
 * reference answers; a PCIe 4.0 x16 link moves 64 KiB in 2.6 us, about what a launch costs. */
#define SMALL_COPY_BYTES (64 * 1024)

static void *room(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? *cap * 2 : 16;
	return mem_realloc(v, *cap * size);
}

/* ---- devices ---- */

static void fill_gaps(const struct device_view *d, struct arena *run, struct trace_device *ret)
{
	ret->gaps = (int64_t)d->n_gaps;
	ret->n_gap_sums = N_GAP_CAUSES;
	ret->gap_sums = arena_new_n(run, struct trace_gap_sum, N_GAP_CAUSES);
	for (int i = 0; i < N_GAP_CAUSES; i++)
		ret->gap_sums[i].cause = gap_cause_names[i];
	for (size_t i = 0; i < d->n_gaps; i++) {
		int64_t length = d->gaps[i].end_ns - d->gaps[i].start_ns;
		struct trace_gap_sum *sum = &ret->gap_sums[d->gaps[i].cause];
		sum->n++;
		sum->total_ns += length;
		if (length > ret->longest_gap_ns)
			ret->longest_gap_ns = length;
	}
}

/* How often the direction differs from that of the copy before, in order of start. */
static int64_t direction_changes(const struct trace_view *v, const struct device_view *d)
{
	int64_t n = 0;
	uint32_t last = N_COPY_KINDS;
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &v->t->lists[GROUP_DEVICE].v[d->order[i]];
		if (e->kind != DEVICE_MEMCPY)
			continue;
		const struct copy_detail *copy = timeline_copy(v->t, e);
		if (!copy || (copy->kind != COPY_HTOD && copy->kind != COPY_DTOH))
			continue;
		n += last != N_COPY_KINDS && last != copy->kind;
		last = copy->kind;
	}
	return n;
}

/*
 * The name of a device: its own, or that of all devices when they are alike, since a process that
 * sees only some of them may list them under other numbers.
 */
static const char *device_name(
        const struct timeline *t, const struct device_view *d, struct arena *run)
{
	uint32_t name = d->info ? d->info->name : 0;
	for (size_t i = 0; i < t->n_devices && !d->info; i++) {
		if (i > 0 && t->devices[i].name != name)
			return NULL;
		name = t->devices[i].name;
	}
	return name ? str_c(timeline_name_of(t, name), run) : NULL;
}

void run_devices(const struct trace_view *v, size_t file, struct arena *run, struct trace_run *ret)
{
	struct trace_device *all =
	        arena_new_n(run, struct trace_device, ret->n_devices + v->n_devices + 1);
	if (ret->n_devices)
		memcpy(all, ret->devices, ret->n_devices * sizeof *all);
	ret->devices = all;
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		int64_t span_ns = d->end_ns - d->start_ns;
		struct trace_device *to = &ret->devices[ret->n_devices++];
		*to = (struct trace_device){
			.file = file,
			.id = d->id,
			.name = device_name(v->t, d, run),
			.operations = (int64_t)d->n,
			.streams = (int64_t)d->n_streams,
			.busy_ns = d->busy_ns,
			.kernel_busy_ns = d->kernel_busy_ns,
			.span_ns = span_ns,
			.idle_ratio = span_ns > 0 ? 1 - (double)d->busy_ns / (double)span_ns : NAN,
			.kernels = (int64_t)d->n_kernels,
			.kernel_ns = d->kernel_ns,
			.mean_kernel_ns =
			        d->n_kernels ? (double)d->kernel_ns / (double)d->n_kernels : NAN,
			.direction_changes = direction_changes(v, d),
		};
		fill_gaps(d, run, to);
		if (ret->n_devices <= STRIP_DEVICES_MAX)
			to->strip = run_strip(d, run);
	}
}

/* ---- steps ---- */

void run_steps(const struct trace_view *v, struct arena *run, struct trace_run *ret)
{
	struct trace_steps *s = &ret->steps;
	if (s->n > 0 || v->n_steps == 0)
		return;
	s->source = step_source_names[v->steps_from];
	s->n = (int64_t)v->n_steps;
	s->durations_ns = arena_new_n(run, int64_t, v->n_steps);
	int64_t *sorted = arena_new_n(run, int64_t, v->n_steps);
	double sum_ns = 0;
	for (size_t i = 0; i < v->n_steps; i++) {
		s->durations_ns[i] = sorted[i] = v->steps[i].end_ns - v->steps[i].start_ns;
		sum_ns += (double)s->durations_ns[i];
	}
	s->mean_ns = sum_ns / (double)v->n_steps;
	s->median_ns = (double)select_median(sorted, v->n_steps);
	if (v->n_steps < 2 || v->n_devices == 0)
		return;
	struct step_reach r = trace_step_reach(v, &v->devices[0]);
	if (r.n_steps < 2)
		return;
	s->gap_mean_ns = (double)r.between_ns / (double)(r.n_steps - 1);
	s->gap_ratio = (double)r.between_ns / (double)(r.end_ns - r.start_ns);
}

/* ---- sums over all files ---- */

static void add_links(struct run_sums *s, const struct trace_view *v, struct trace_links *ret)
{
	const struct event_list *device = &v->t->lists[GROUP_DEVICE];
	const struct event_list *calls = &v->t->lists[GROUP_CALL];
	uint32_t *per_call = mem_zeroed(calls->n + 1, sizeof *per_call);
	for (size_t i = 0; i < device->n; i++) {
		if (v->launch[i] == NONE32) {
			ret->unlinked++;
			continue;
		}
		const struct event *call = &calls->v[v->launch[i]];
		int64_t wait_ns = device->v[i].start_ns - call->start_ns;
		int64_t queue_ns = wait_ns - call->dur_ns;
		if (s->n_linked == s->cap_linked) {
			s->cap_linked = s->cap_linked ? s->cap_linked * 2 : 256;
			s->launch_to_start_ns =
			        mem_realloc(s->launch_to_start_ns, s->cap_linked * sizeof(int64_t));
			s->queue_delay_ns =
			        mem_realloc(s->queue_delay_ns, s->cap_linked * sizeof(int64_t));
		}
		s->launch_to_start_ns[s->n_linked] = wait_ns;
		s->queue_delay_ns[s->n_linked++] = queue_ns > 0 ? queue_ns : 0;
		ret->linked_kernels += device->v[i].kind == DEVICE_KERNEL;
		ret->negative_launch_to_start += wait_ns < 0;
		if (++per_call[v->launch[i]] > ret->max_per_launch)
			ret->max_per_launch = per_call[v->launch[i]];
	}
	free(per_call);
}

/* The multiprocessors of a device: its own, or those of all devices when they are alike. */
static int64_t n_sm_of(const struct trace_view *v, const struct device_view *d)
{
	if (d->info && d->info->n_sm > 0)
		return d->info->n_sm;
	int64_t n_sm = v->t->n_devices ? v->t->devices[0].n_sm : -1;
	for (size_t i = 0; i < v->t->n_devices; i++)
		if (v->t->devices[i].n_sm != n_sm)
			return -1;
	return n_sm;
}

static int64_t grid_size(const struct kernel_detail *k)
{
	int64_t n = 1;
	for (int i = 0; i < 3; i++) {
		if (k->grid[i] < 0)
			return -1;
		if (k->grid[i] > 0 && n > INT64_MAX / k->grid[i])
			return INT64_MAX;
		n *= k->grid[i];
	}
	return n;
}

static void add_fill(const struct trace_view *v, struct trace_fill *ret)
{
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		int64_t n_sm = n_sm_of(v, d);
		for (size_t k = 0; k < d->n && n_sm > 0; k++) {
			const struct event *e = &v->t->lists[GROUP_DEVICE].v[d->order[k]];
			const struct kernel_detail *kernel =
			        e->kind == DEVICE_KERNEL ? timeline_kernel(v->t, e) : NULL;
			if (!kernel || grid_size(kernel) < 0)
				continue;
			ret->kernels_with_grid++;
			/* as written, but for formats whose grids are in work-items throughout */
			int64_t grid = kernel->grid_in_items == GRID_IN_ITEMS
			                       ? trace_kernel_blocks(v, d->order[k])
			                       : grid_size(kernel);
			if (grid >= 0 && grid < n_sm) {
				ret->small_grid++;
				ret->small_grid_ns = add_held(ret->small_grid_ns, e->dur_ns);
			}
			if (trace_kernel_blocks(v, d->order[k]) < n_sm) {
				ret->underfilled++;
				ret->underfilled_ns = add_held(ret->underfilled_ns, e->dur_ns);
			}
		}
	}
}

static struct trace_copy *copy_row(struct run_sums *s, struct str kind)
{
	uint32_t number = intern_add(&s->copy_kinds, kind.len ? kind : STR("other"));
	while (s->n_copies <= number) {
		s->copies = room(s->copies, s->n_copies, &s->cap_copies, sizeof *s->copies);
		s->copies[s->n_copies++] = (struct trace_copy){ .pageable = -1 };
	}
	return &s->copies[number];
}

/* Of one side it is certain that it is the device's memory: the other one has to be told. */
static bool tells_host_memory(const struct copy_detail *c)
{
	switch (c->kind) {
	case COPY_HTOD:
		return c->from != MEMORY_UNKNOWN;
	case COPY_DTOH:
		return c->to != MEMORY_UNKNOWN;
	default:
		return c->from != MEMORY_UNKNOWN || c->to != MEMORY_UNKNOWN;
	}
}

static void add_copy(struct run_sums *s, const struct timeline *t, const struct event *e)
{
	const struct copy_detail *detail = timeline_copy(t, e);
	struct trace_copy *row = copy_row(s, timeline_name_of(t, detail ? detail->kind_name : 0));
	int64_t bytes = detail ? detail->bytes : -1;
	row->calls++;
	row->total_ns = add_held(row->total_ns, e->dur_ns);
	row->bytes = add_held(row->bytes, bytes > 0 ? bytes : 0);
	row->small += row->small >= 0 && bytes < SMALL_COPY_BYTES;
	row->unknown_bytes_calls += bytes < 0;
	if (!detail || !tells_host_memory(detail))
		return;
	if (row->pageable < 0)
		row->pageable = 0;
	row->pageable += detail->from == MEMORY_PAGEABLE || detail->to == MEMORY_PAGEABLE;
}

static void add_copies(struct run_sums *s, const struct timeline *t, struct trace_run *ret)
{
	const struct event_list *device = &t->lists[GROUP_DEVICE];
	for (size_t i = 0; i < device->n; i++) {
		const struct event *e = &device->v[i];
		if (e->kind == DEVICE_MEMCPY)
			add_copy(s, t, e);
		if (e->kind != DEVICE_MEMSET)
			continue;
		const struct copy_detail *detail = timeline_copy(t, e);
		ret->memsets++;
		ret->memset_ns = add_held(ret->memset_ns, e->dur_ns);
		if (detail && detail->bytes > 0)
			ret->memset_bytes = add_held(ret->memset_bytes, detail->bytes);
	}
}

/* Of summaries: how large each copy was, and from which memory, they do not tell. */
static void add_copy_summaries(struct run_sums *s, const struct timeline *t, struct trace_run *ret)
{
	for (size_t i = 0; i < t->n_summaries; i++) {
		const struct summary_row *row = &t->summaries[i];
		int64_t bytes = row->bytes > 0 ? row->bytes : 0;
		int64_t total_ns = row->total_ns > 0 ? row->total_ns : 0;
		if (row->group == GROUP_DEVICE && row->as.kind == DEVICE_MEMCPY) {
			const struct copy_detail *detail = timeline_copy(t, &row->as);
			struct trace_copy *to =
			        copy_row(s, timeline_name_of(t, detail ? detail->kind_name : 0));
			to->calls += row->calls;
			to->small = -1;
			to->total_ns = add_held(to->total_ns, total_ns);
			to->bytes = add_held(to->bytes, bytes);
			to->unknown_bytes_calls += row->bytes < 0 ? row->calls : 0;
		} else if (row->group == GROUP_DEVICE && row->as.kind == DEVICE_MEMSET) {
			ret->memsets += row->calls;
			ret->memset_ns = add_held(ret->memset_ns, total_ns);
			ret->memset_bytes = add_held(ret->memset_bytes, bytes);
		}
	}
}

enum { MAX_DEVICE_TYPES = 32 }; /* more are damage; they share the last row */

static struct trace_memory *memory_row(struct run_sums *s, int64_t device_type)
{
	for (size_t i = 0; i < s->n_memory; i++)
		if (s->memory[i].device_type == device_type || i == MAX_DEVICE_TYPES - 1)
			return &s->memory[i];
	s->memory = room(s->memory, s->n_memory, &s->cap_memory, sizeof *s->memory);
	s->memory[s->n_memory] =
	        (struct trace_memory){ .device_type = device_type, .peak_allocated_bytes = -1 };
	return &s->memory[s->n_memory++];
}

static void add_memory(struct run_sums *s, const struct timeline *t)
{
	const struct event_list *list = &t->lists[GROUP_MEMORY];
	for (size_t i = 0; i < list->n; i++) {
		const struct memory_detail *m = timeline_memory(t, &list->v[i]);
		if (!m)
			continue;
		struct trace_memory *row = memory_row(s, m->device_type);
		if (m->bytes >= 0) {
			row->allocations++;
			row->allocated_bytes = add_held(row->allocated_bytes, m->bytes);
		} else {
			row->frees++;
			row->freed_bytes = add_held(
			        row->freed_bytes, m->bytes == INT64_MIN ? INT64_MAX : -m->bytes);
		}
		if (m->total_allocated > row->peak_allocated_bytes)
			row->peak_allocated_bytes = m->total_allocated;
	}
}

void run_sums_add(struct run_sums *s, const struct trace_view *v, struct trace_run *ret)
{
	add_links(s, v, &ret->links);
	add_fill(v, &ret->fill);
	add_copies(s, v->t, ret);
	add_copy_summaries(s, v->t, ret);
	add_memory(s, v->t);
}

static double median_ns(int64_t *v, size_t n)
{
	return n ? (double)select_median(v, n) : NAN;
}

static int by_time(const void *a, const void *b)
{
	const struct trace_copy *x = a, *y = b;
	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static void finish_copies(struct run_sums *s, struct arena *run, struct trace_run *ret)
{
	ret->copies = arena_new_n(run, struct trace_copy, s->n_copies + 1);
	for (size_t i = 0; i < s->n_copies; i++) {
		if (s->copies[i].calls == 0)
			continue;
		struct trace_copy *to = &ret->copies[ret->n_copies++];
		*to = s->copies[i];
		to->kind = str_dup(intern_str(&s->copy_kinds, (uint32_t)i), run);
	}
	qsort(ret->copies, ret->n_copies, sizeof *ret->copies, by_time);
}

static int by_type(const void *a, const void *b)
{
	const struct trace_memory *x = a, *y = b;
	return (x->device_type > y->device_type) - (x->device_type < y->device_type);
}

void run_sums_finish(struct run_sums *s, struct arena *run, struct trace_run *ret)
{
	struct trace_links *links = &ret->links;
	links->linked = (int64_t)s->n_linked;
	links->median_launch_to_start_ns = median_ns(s->launch_to_start_ns, s->n_linked);
	links->median_queue_delay_ns = median_ns(s->queue_delay_ns, s->n_linked);
	finish_copies(s, run, ret);
	ret->n_memory = s->n_memory;
	ret->memory = arena_new_n(run, struct trace_memory, s->n_memory + 1);
	if (s->n_memory)
		memcpy(ret->memory, s->memory, s->n_memory * sizeof *s->memory);
	qsort(ret->memory, ret->n_memory, sizeof *ret->memory, by_type);
	intern_release(&s->copy_kinds);
	free(s->copies);
	free(s->memory);
	free(s->launch_to_start_ns);
	free(s->queue_delay_ns);
	*s = (struct run_sums){ 0 };
}
