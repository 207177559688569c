#include "trace/analyses/measures.h"

#include "base/i18n.h"
#include "base/units.h"
#include "stats/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_gaps(struct device_sums *s, const struct device_view *d)
{
	s->n_gaps += d->n_gaps;
	for (size_t i = 0; i < d->n_gaps; i++) {
		const struct gap *g = &d->gaps[i];
		int64_t ns = g->end_ns - g->start_ns;
		s->gaps[g->cause]++;
		s->gap_ns[g->cause] += ns;
		s->sync_host_ns += g->cause == GAP_SYNC ? g->host_ns : 0;
		if (ns > s->longest_gap_ns)
			s->longest_gap_ns = ns;
	}
}

struct device_sums device_sums_of(const struct trace_view *v)
{
	struct device_sums s = { .n_devices = v->n_devices };
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		s.n_work += d->n;
		s.n_kernels += d->n_kernels;
		s.span_ns += d->end_ns - d->start_ns;
		s.busy_ns += d->busy_ns;
		s.kernel_ns += d->kernel_ns;
		add_gaps(&s, d);
	}
	s.idle_ns = s.span_ns - s.busy_ns;
	return s;
}

const char *time_text(double ns, struct arena *run)
{
	char text[UNITS_TEXT];
	return arena_strdup(run, units_duration(ns, text));
}

const char *device_time_text(const struct device_sums *s, struct arena *run)
{
	const char *time = time_text((double)s->span_ns, run);
	if (s->n_devices < 2)
		return time;
	return arena_printf(run, _("%s (%zu devices together)"), time, s->n_devices);
}

double ratio_of(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : NAN;
}

double median_of(int64_t *v, size_t n)
{
	if (n == 0)
		return NAN;
	return (double)select_median(v, n);
}

static enum kernel_class class_at(const struct trace_view *v, uint32_t device_event)
{
	return kernel_classes_device(v->classes, &v->t->lists[GROUP_DEVICE].v[device_event]);
}

static bool is_kernel(const struct trace_view *v, uint32_t device_event)
{
	return v->t->lists[GROUP_DEVICE].v[device_event].kind == DEVICE_KERNEL;
}

bool is_communication(const struct trace_view *v, uint32_t device_event)
{
	return is_kernel(v, device_event) && class_at(v, device_event) == CLASS_COMMUNICATION;
}

bool is_other_kernel(const struct trace_view *v, uint32_t device_event)
{
	return is_kernel(v, device_event) && class_at(v, device_event) != CLASS_COMMUNICATION;
}

bool is_host_copy(const struct trace_view *v, uint32_t device_event)
{
	const struct event *e = &v->t->lists[GROUP_DEVICE].v[device_event];
	const struct copy_detail *c = e->kind == DEVICE_MEMCPY ? timeline_copy(v->t, e) : NULL;
	return c && (c->kind == COPY_HTOD || c->kind == COPY_DTOH);
}

struct intervals union_of(const struct trace_view *v, const struct device_view *d,
        device_filter *wanted, struct arena *tmp)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	struct interval *all = mem_realloc(NULL, (d->n + 1) * sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &work[d->order[i]];
		if (wanted(v, d->order[i]))
			all[n++] = (struct interval){ e->start_ns, e->start_ns + e->dur_ns };
	}
	struct intervals u = intervals_union(all, n, tmp);
	free(all);
	return u;
}

int64_t exposed_ns(struct intervals a, struct intervals cover)
{
	return intervals_length_ns(a) - intervals_overlap_ns(a, cover);
}

int64_t exposed_work_ns(const struct trace_view *v, device_filter *wanted, device_filter *other)
{
	int64_t sum = 0;
	struct arena tmp = { 0 };
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		sum += exposed_ns(union_of(v, d, wanted, &tmp), union_of(v, d, other, &tmp));
	}
	arena_release(&tmp);
	return sum;
}

static int by_name(const void *a, const void *b)
{
	const struct name_sum *x = a, *y = b;
	return (x->name > y->name) - (x->name < y->name);
}

static int str_order(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.s, b.s, n) : 0;
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int longest_first(const void *a, const void *b, void *timeline)
{
	const struct name_sum *x = a, *y = b;
	const struct timeline *t = timeline;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->name == NONE32 || y->name == NONE32)
		return (x->name > y->name) - (x->name < y->name);
	return str_order(timeline_name_of(t, x->name), timeline_name_of(t, y->name));
}

size_t name_sums_join(const struct timeline *t, struct name_sum *v, size_t n)
{
	size_t left = 0;
	if (n == 0)
		return 0;
	qsort(v, n, sizeof *v, by_name);
	for (size_t i = 1; i < n; i++) {
		if (v[i].name == v[left].name) {
			v[left].n += v[i].n;
			v[left].ns += v[i].ns;
		} else {
			v[++left] = v[i];
		}
	}
	qsort_r(v, left + 1, sizeof *v, longest_first, (void *)t);
	return left + 1;
}

struct str name_at(const struct timeline *t, enum event_group group, uint32_t index)
{
	return index == NONE32 ? STR("") : timeline_name_of(t, t->lists[group].v[index].name);
}
