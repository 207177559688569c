#include "diagnose/judge.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "diagnose/anchors.h"
#include "diagnose/cause.h"
#include "diagnose/words.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
	struct cause_finding finding;
	double gain;
	int place;
};

static int by_rank(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;
	if (a->finding.state != b->finding.state)
		return (int)a->finding.state - (int)b->finding.state;
	bool stands = a->finding.state == CAUSE_CONFIRMED || a->finding.state == CAUSE_PROBABLE;
	bool aside_a = cause_at((size_t)a->place)->acts == ACTS_ASIDE;
	bool aside_b = cause_at((size_t)b->place)->acts == ACTS_ASIDE;
	if (stands && aside_a != aside_b)
		return aside_a ? 1 : -1;
	if (stands && a->gain != b->gain)
		return a->gain > b->gain ? -1 : 1;
	return a->place - b->place;
}

void judge_rank(struct cause_finding *findings, double *gains)
{
	struct ranked *rows = mem_realloc(NULL, CAUSE_COUNT * sizeof(*rows));
	for (int i = 0; i < CAUSE_COUNT; i++)
		rows[i] = (struct ranked){ findings[i], gains[i], i };
	qsort(rows, CAUSE_COUNT, sizeof(*rows), by_rank);
	for (int i = 0; i < CAUSE_COUNT; i++) {
		findings[i] = rows[i].finding;
		gains[i] = rows[i].gain;
	}
	free(rows);
}

static double shown_ms(const struct load_run *r, enum load_metric metric, double q)
{
	return quantile_enough(r->metrics[metric].n, q) ? run_quantile_ms(r, metric, q) : NAN;
}

static struct curve_point point_of(const struct load_run *r)
{
	bool streamed = r->transport.streams_active_max > 0;
	return (struct curve_point){
		.concurrency = r->concurrency,
		.requests_per_s = run_throughput(r),
		.output_tokens_per_s = r->throughput.output_tokens_per_s,
		.p50_ms = shown_ms(r, LOAD_LATENCY, 0.5),
		.p90_ms = shown_ms(r, LOAD_LATENCY, 0.9),
		.p99_ms = shown_ms(r, LOAD_LATENCY, 0.99),
		.p999_ms = shown_ms(r, LOAD_LATENCY, 0.999),
		.ttft_p50_ms = shown_ms(r, LOAD_TTFT, 0.5),
		.itl_p50_ms = shown_ms(r, LOAD_ITL, 0.5),
		.streams_active = streamed ? r->transport.streams_active_mean : NAN,
		.little_ratio = r->client.little_ratio,
		.device_ratio = run_device_ratio(r),
		.n = r->requests.ok,
		.failed = r->requests.failed,
	};
}

static void judge_curve(const struct evidence *ev, struct arena *run, struct diagnosis *d)
{
	d->curve = arena_new_n(run, struct curve_point, (size_t)ev->n_points);
	d->n_curve = ev->n_points;
	for (int i = 0; i < ev->n_points; i++)
		d->curve[i] = point_of(ev->points[i]);
}

/* All runs under the load in use: the one of the ramp and one side of the pairs. */
static int runs_in_use(const struct evidence *ev, const struct load_run **ret)
{
	int n = 0;
	if (ev->operating)
		ret[n++] = ev->operating;
	for (int i = 0; i < ev->halved.n; i++)
		ret[n++] = ev->halved.a[i];
	for (int i = 0; i < ev->raised.n; i++)
		ret[n++] = ev->raised.a[i];
	return n;
}

static bool meets(const struct sla_target *sla, double ms)
{
	return ms * NS_PER_MS <= (double)sla->target_ns;
}

static void judge_sla(const struct evidence *ev, struct arena *run, struct diagnosis *d)
{
	if (!ev->sla.present)
		return;
	const struct load_run *runs[2 * EVIDENCE_MAX_PAIRS + 1];
	int n_runs = runs_in_use(ev, runs);
	d->sla = (struct sla){
		.present = true,
		.metric = ev->sla.text,
		.target_ms = (double)ev->sla.target_ns / NS_PER_MS,
		.concurrency = ev->operating ? ev->operating->concurrency : ev->concurrency,
	};
	double ms = sla_measure(&ev->sla, runs, n_runs, run, &d->sla.n);
	d->sla.met = meets(&ev->sla, ms);
	d->sla.measured_ms = isfinite(ms) ? ms : NAN;
}

static double point_ms(const struct evidence *ev, const struct load_run *r, struct arena *tmp)
{
	int64_t n;
	return sla_measure(&ev->sla, &r, 1, tmp, &n);
}

const struct load_run *judge_knee(const struct evidence *ev, struct arena *tmp)
{
	const struct load_run *knee = NULL;
	for (int i = 0; i < ev->n_points; i++) {
		const struct load_run *r = ev->points[i];
		if (ev->sla.present && !meets(&ev->sla, point_ms(ev, r, tmp)))
			break;
		if (!(run_throughput(r) <= run_throughput(knee)))
			knee = r;
	}
	return knee;
}

/* More than half of the requests failed, or hardly any came back: nothing can be concluded. */
static bool too_little(const struct evidence *ev)
{
	const struct load_run *need[] = { ev->alone, ev->operating };
	for (size_t i = 0; i < ARRAY_LEN(need); i++) {
		const struct load_run *r = need[i];
		if (!r || (double)r->requests.ok < anchor(ANCHOR_REQUESTS))
			return true;
		if ((double)r->requests.failed >
		        anchor(ANCHOR_FAILED) * (double)(r->requests.ok + r->requests.failed))
			return true;
	}
	return false;
}

/* Findings are still in catalogue order. */
static bool measurement_is_void(const struct diagnosis *d)
{
	for (int i = 0; i < d->n_causes; i++)
		if (d->causes[i].state == CAUSE_CONFIRMED &&
		        cause_at((size_t)i)->acts == ACTS_ON_FIGURES)
			return true;
	return false;
}

/* Without a target: is throughput stuck, or does the tail explode? */
static enum slow_kind kind_by_shape(const struct evidence *ev, const struct figures *fig)
{
	double tail = tail_of(run_n(ev->operating, LOAD_LATENCY), run_n(ev->alone, LOAD_LATENCY));
	double tail_growth = run_quantile_ms(ev->operating, LOAD_LATENCY, tail) /
	                     run_quantile_ms(ev->alone, LOAD_LATENCY, tail);
	if (fig->flat)
		return SLOW_THROUGHPUT_STUCK;
	if (fig->follows_ratio < anchor(ANCHOR_FOLLOWS) || tail_growth > anchor(ANCHOR_TAIL))
		return SLOW_UNDER_LOAD;
	return SLOW_HEALTHY;
}

/*
 * The catalogue's table holds P50 alone against the target; here it is the target's own quantile,
 * so that a service whose tail alone misses its target counts as slow alone.
 */
static enum slow_kind kind_of(const struct evidence *ev, const struct figures *fig,
        const struct sla *sla, struct arena *tmp)
{
	if (!sla->present)
		return kind_by_shape(ev, fig);
	if (sla->met)
		return SLOW_HEALTHY;
	if (!meets(&ev->sla, point_ms(ev, ev->alone, tmp)))
		return SLOW_ALONE;
	return fig->flat ? SLOW_THROUGHPUT_STUCK : SLOW_UNDER_LOAD;
}

/* Requests that nobody ever takes are in no latency; a target that ignores them is not met. */
static bool connections_starve(const struct diagnosis *d)
{
	for (int i = 0; i < d->n_causes; i++)
		if (strcmp(d->causes[i].id, "client_conn_limit") == 0)
			return d->causes[i].state == CAUSE_PROBABLE;
	return false;
}

static void judge_verdict(const struct evidence *ev, const struct figures *fig, struct arena *run,
        struct diagnosis *d)
{
	d->kind = SLOW_UNKNOWN;
	bool target_unseen = d->sla.present && d->sla.n == 0;
	if (too_little(ev) || target_unseen) {
		d->verdict = VERDICT_INCONCLUSIVE;
		return;
	}
	if (measurement_is_void(d)) {
		d->verdict = VERDICT_INVALID;
		return;
	}
	d->kind = kind_of(ev, fig, &d->sla, run);
	if (d->kind == SLOW_HEALTHY && connections_starve(d)) {
		d->kind = SLOW_THROUGHPUT_STUCK;
		d->sla.met = false;
		d->sla.measured_ms = NAN;
	}
	d->verdict = d->kind == SLOW_HEALTHY ? VERDICT_HEALTHY : VERDICT_BOTTLENECK;
}

void judge(const struct evidence *ev, struct arena *run, struct diagnosis *ret)
{
	struct diagnosis d = { .partial = ev->partial };
	struct figures fig;
	double gains[CAUSE_COUNT];
	figures_derive(ev, &fig);
	d.causes = arena_new_n(run, struct cause_finding, CAUSE_COUNT);
	d.n_causes = CAUSE_COUNT;
	causes_examine(ev, &fig, run, d.causes, gains);
	judge_curve(ev, run, &d);
	judge_sla(ev, run, &d);
	judge_verdict(ev, &fig, run, &d);
	judge_rank(d.causes, gains);
	const struct load_run *knee = judge_knee(ev, run);
	words_next(ev, &fig, knee, run, &d);
	words_warnings(ev, run, &d);
	d.summary = words_summary(ev, &fig, knee, run, &d);
	*ret = d;
}
