/*
 * Which call launched which device work: equal links, the earliest call where there are several.
 */
#include "trace/view/view_parts.h"

#include <stdlib.h>
#include <string.h>

/*
 * A call later than its work by more than this is another's whose number was used again, not a
 * clock that is off: differences seen reach 9 us.
 *
 * Source: kineto #1380, #112.
 */
enum { SKEW_MAX_NS = 1000 * 1000 };

static uint32_t *linked_in_order(const struct event_list *list, size_t *ret_n)
{
	uint32_t *order = mem_realloc(NULL, (list->n + 1) * sizeof *order);
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].link)
			order[n++] = (uint32_t)i;
	}
	view_sort_by_link(list->v, order, n);
	*ret_n = n;
	return order;
}

static void estimate_skew(struct trace_view *v, const struct event *work, uint32_t call)
{
	int64_t start_ns = v->t->lists[GROUP_CALL].v[call].start_ns;
	int64_t ahead_ns = work->start_ns - start_ns;
	if (ahead_ns < v->clock_skew_ns && ahead_ns >= -SKEW_MAX_NS)
		v->clock_skew_ns = ahead_ns;
}

void view_links(struct trace_view *v)
{
	const struct event_list *work = &v->t->lists[GROUP_DEVICE];
	const struct event_list *calls = &v->t->lists[GROUP_CALL];
	v->launch = arena_new_n(&v->arena, uint32_t, work->n);
	memset(v->launch, 0xff, work->n * sizeof *v->launch);
	size_t n_work, n_calls;
	uint32_t *by_work = linked_in_order(work, &n_work);
	uint32_t *by_call = linked_in_order(calls, &n_calls);
	for (size_t i = 0, j = 0; i < n_work; i++) {
		const struct event *e = &work->v[by_work[i]];
		while (j < n_calls && calls->v[by_call[j]].link < e->link)
			j++;
		if (j >= n_calls || calls->v[by_call[j]].link != e->link)
			continue;
		v->launch[by_work[i]] = by_call[j];
		estimate_skew(v, e, by_call[j]);
	}
	free(by_work);
	free(by_call);
}
