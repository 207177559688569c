#include "trace/analyses/pauses.h"

#include "stats/select.h"
#include "trace/analyses/measures.h"

#include <stdlib.h>

#define SMALL_COPY_BYTES (64 * 1024)
/* A copy that takes a smaller part of the pause is not what the device waits for. */
enum { PART_OF_PAUSE = 10 };
/* Pauses of the host differ from step to step, but hardly by more. */
enum { USUAL_PAUSES = 2 };

static int64_t end_of(const struct event *e)
{
	return e->start_ns + e->dur_ns;
}

/* The pause that is open while the work of a device is gone through in order. */
struct pause {
	int64_t start_ns; /* the end of the kernels so far */
	int64_t copy_ns;  /* the longest copy between host and device that reaches into it */
	bool large;       /* one of these is not small */
};

static bool is_large(const struct trace_view *v, const struct event *e)
{
	const struct copy_detail *c = timeline_copy(v->t, e);
	return !c || c->bytes < 0 || c->bytes >= SMALL_COPY_BYTES;
}

static void note_copy(struct pause *p, const struct trace_view *v, const struct event *e)
{
	int64_t from_ns = e->start_ns > p->start_ns ? e->start_ns : p->start_ns;
	int64_t inside_ns = end_of(e) - from_ns;
	if (inside_ns <= 0)
		return;
	p->large |= is_large(v, e);
	p->copy_ns = inside_ns > p->copy_ns ? inside_ns : p->copy_ns;
}

static bool is_copy_in(const struct trace_view *v, uint32_t device_event)
{
	const struct event *e = &v->t->lists[GROUP_DEVICE].v[device_event];
	const struct copy_detail *c = e->kind == DEVICE_MEMCPY ? timeline_copy(v->t, e) : NULL;
	return c && c->kind == COPY_HTOD;
}

/* Going through the gaps of a device. */
struct walk {
	const struct trace_view *v;
	const struct device_view *d;
	const struct step_reach *r;
	size_t next;      /* gap */
	int64_t *host_ns; /* of each pause between steps that is the host's */
	struct step_pauses sums;
};

/* The gaps that lie before the end of a pause. */
static void add_gaps(struct walk *w, const struct pause *p, int64_t end_ns)
{
	int64_t pause_ns = end_ns - p->start_ns, host_ns = 0;
	bool holds = p->large || p->copy_ns > pause_ns / PART_OF_PAUSE;
	for (; w->next < w->d->n_gaps && w->d->gaps[w->next].start_ns < end_ns; w->next++) {
		const struct gap *g = &w->d->gaps[w->next];
		if (!g->between_steps || g->start_ns < w->r->start_ns || g->end_ns > w->r->end_ns)
			continue;
		if (!holds && g->cause != GAP_QUEUED) {
			host_ns += g->end_ns - g->start_ns;
		} else if (holds && is_copy_in(w->v, g->after)) {
			w->sums.input_ns += g->end_ns - g->start_ns;
			w->sums.n_input++;
		}
	}
	if (host_ns > 0)
		w->host_ns[w->sums.n_host++] = host_ns;
}

static int64_t usual_sum(const int64_t *pauses, size_t n, size_t n_between)
{
	size_t n_all = n > n_between ? n : n_between;
	int64_t *all = mem_zeroed(n_all + 1, sizeof *all), sum = 0;
	for (size_t i = 0; i < n; i++)
		all[i] = pauses[i];
	int64_t most = n_all ? USUAL_PAUSES * select_median(all, n_all) : 0;
	for (size_t i = 0; i < n; i++)
		sum += pauses[i] < most ? pauses[i] : most;
	free(all);
	return sum;
}

struct step_pauses trace_step_pauses(
        const struct trace_view *v, const struct device_view *d, const struct step_reach *r)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	struct walk w = { .v = v, .d = d, .r = r };
	struct pause p = { .start_ns = d->start_ns };
	w.host_ns = mem_zeroed(d->n_gaps + 1, sizeof *w.host_ns);
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &work[d->order[i]];
		if (is_host_copy(v, d->order[i]))
			note_copy(&p, v, e);
		if (e->kind != DEVICE_KERNEL)
			continue;
		if (e->start_ns > p.start_ns)
			add_gaps(&w, &p, e->start_ns);
		if (end_of(e) > p.start_ns)
			p = (struct pause){ .start_ns = end_of(e) };
	}
	add_gaps(&w, &p, d->end_ns);
	w.sums.host_ns = usual_sum(w.host_ns, w.sums.n_host, r->n_steps ? r->n_steps - 1 : 0);
	free(w.host_ns);
	return w.sums;
}
