#include "diagnose/procedure.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "diagnose/anchors.h"
#include "load/second.h"
#include "stats/quantile.h"

#include <math.h>

enum {
	DEFAULT_CONCURRENCY = 8,
	RAMP_MAX = 64,
	FIRST_REQUESTS = 30, /* enough for cold_start, and for a guess of the latency */
	ALONE_REQUESTS = 200,
	POINT_REQUESTS = 120,
	PAIR_REQUESTS = 80,
	TURNS = 3, /* a window holds at least so many latencies */
	ALONE_TURNS = 8,
};

/* Shares of the budget that one measurement may take at the most. */
static const double first_share = 1 / 15.0;
static const double retry_share = 1 / 3.0;
static const double alone_share = 1 / 8.0;
static const double point_share = 1 / 15.0;
static const double pair_share = 1 / 30.0;
static const double second_share = 1 / 6.0;
/* Windows below this tell nothing about a steady state, and above it cost more than they tell. */
static const double window_min_s = 2;
static const double window_min_share = 1 / 60.0;
static const double warmup_min_s = 0.3;
/* Latencies of the next load that pass before its window opens; the queue has filled by then. */
static const double warmup_turns = 1.2;

struct procedure {
	const struct diagnose_config *config;
	const struct diagnose_hooks *hooks;
	struct load *load;
	struct arena *run;
	struct evidence *ev;
	int64_t deadline_ns;
	double budget_s;
	int step, n_steps;
	const char *what;
	bool over; /* stopped, gone, failed or out of budget: measure no more */
};

static double left_s(const struct procedure *p)
{
	return (double)(p->deadline_ns - clock_now_ns()) / NS_PER_S;
}

static void on_progress(void *ctx, const struct load_progress *progress)
{
	const struct procedure *p = ctx;
	if (p->hooks->progress)
		p->hooks->progress(p->hooks->ctx, p->what, p->step, p->n_steps, progress);
}

static void on_window(void *ctx, bool opened)
{
	const struct procedure *p = ctx;
	if (p->hooks->window)
		p->hooks->window(p->hooks->ctx, opened);
}

static int64_t ns_of(double s)
{
	return (int64_t)(s * NS_PER_S);
}

static void announce(struct procedure *p, const char *what)
{
	p->what = what;
	p->step++;
	if (p->step > p->n_steps)
		p->n_steps = p->step;
	on_progress(p, NULL);
}

/*
 * One measurement.
 *
 * returns  NULL when it could not be made; p->over is set then
 */
static const struct load_run *measure(
        struct procedure *p, const struct load_shape *shape, const char *what, struct err *err)
{
	const struct load_hooks hooks = {
		.stop = p->hooks->stop,
		.progress = on_progress,
		.window = on_window,
		.ctx = p,
	};
	const struct diagnose_hooks *beside = p->hooks;
	struct load_run *r = arena_new(p->run, struct load_run);
	announce(p, what);
	bool ok = (!beside->before || beside->before(beside->ctx, shape, err)) &&
	          load_measure(p->load, shape, &hooks, p->run, r, err);
	if (beside->after)
		beside->after(beside->ctx, ok ? r : NULL);
	if (!ok) {
		p->over = true;
		p->ev->partial = true;
		return NULL;
	}
	if (r->partial) {
		p->over = true;
		p->ev->partial = true;
	}
	return r;
}

/* A window of about so many requests at a rate, inside limits that scale with the budget. */
static double window_s(const struct procedure *p, double requests, double rate_per_s,
        double latency_s, double share)
{
	double cap = share * p->budget_s;
	double least = fmin(window_min_s, window_min_share * p->budget_s);
	double window = fmax(fmax(requests / rate_per_s, TURNS * latency_s), least);
	return fmin(window, fmax(cap, least));
}

/* The shape of one step, cut to what is left; false when too little is left to be worth it. */
static bool fit_shape(
        struct procedure *p, struct load_shape *shape, double window, double latency_s)
{
	double warmup = fmax(warmup_turns * latency_s, fmin(warmup_min_s, window / 4));
	double left = left_s(p) - latency_s;
	warmup = fmin(warmup, window);
	if (left < (warmup + window) / 2) {
		p->over = true;
		p->ev->budget_spent = true;
		return false;
	}
	double cut = fmin(1, left / (warmup + window));
	shape->warmup = LOAD_WARMUP_TIME;
	shape->warmup_ns = ns_of(warmup * cut);
	shape->duration_ns = ns_of(window * cut);
	return true;
}

/* Where the target is judged, as many as its percentile needs, as far as the shares allow. */
static double judged_requests(const struct procedure *p, double least)
{
	if (!p->ev->sla.present)
		return least;
	return fmax(least, (double)quantile_floor(p->ev->sla.quantile));
}

/* ---- one request at a time ---- */

static bool nothing_came_back(const struct load_run *r)
{
	return r->requests.ok == 0 && r->requests.failed == 0;
}

static bool measure_first(struct procedure *p, struct err *err)
{
	struct load_shape shape = {
		.concurrency = 1,
		.requests = FIRST_REQUESTS,
		.duration_ns = ns_of(first_share * p->budget_s),
		.warmup = LOAD_WARMUP_NONE,
	};
	p->ev->first = measure(p, &shape, _("first contact"), err);
	if (p->ev->first && !p->over && nothing_came_back(p->ev->first)) {
		shape.duration_ns = ns_of(retry_share * p->budget_s);
		p->ev->first = measure(p, &shape, _("first contact, more patiently"), err);
	}
	return p->ev->first != NULL;
}

static void measure_alone(struct procedure *p)
{
	struct load_shape shape = { .concurrency = 1 };
	struct err err;
	double latency_s = run_latency_ms(p->ev->first) / 1000;
	double window = window_s(
	        p, judged_requests(p, ALONE_REQUESTS), 1 / latency_s, latency_s, alone_share);
	window = fmax(window, fmin(ALONE_TURNS * latency_s, 2 * alone_share * p->budget_s));
	if (!fit_shape(p, &shape, window, latency_s))
		return;
	const struct load_run *r = measure(p, &shape, _("one request at a time"), &err);
	if (r && r->requests.ok > 0) {
		p->ev->alone = r;
		evidence_add_point(p->ev, r);
	}
}

/* ---- the ramp ---- */

static bool has(const int64_t *list, int n, int64_t value)
{
	for (int i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static void insert(int64_t *list, int *n, int64_t value)
{
	int at = *n;
	if (value < 2 || has(list, *n, value))
		return;
	for (; at > 0 && list[at - 1] > value; at--)
		list[at] = list[at - 1];
	list[at] = value;
	(*n)++;
}

int procedure_ramp(int64_t concurrency, int64_t *ret)
{
	int n = 0;
	for (int64_t c = 2; c <= RAMP_MAX; c *= 2)
		insert(ret, &n, c);
	insert(ret, &n, concurrency / 2);
	insert(ret, &n, concurrency);
	insert(ret, &n, 2 * concurrency);
	return n;
}

static bool is_essential(int64_t c, int64_t in_use)
{
	return c == in_use / 2 || c == in_use || c == 2 * in_use;
}

/* The worst that may come: throughput stays what it was at the load before. */
static double latency_guess_s(const struct load_run *before, int64_t concurrency)
{
	return (double)concurrency / run_throughput(before);
}

static bool far_over_target(const struct procedure *p, const struct load_run *r)
{
	int64_t n;
	if (!p->ev->sla.present)
		return false;
	double ms = sla_measure(&p->ev->sla, &r, 1, p->run, &n);
	return ms * NS_PER_MS > anchor(ANCHOR_FAR_OVER_SLA) * (double)p->ev->sla.target_ns;
}

/* Throughput has not grown over the last two steps. */
static bool is_flat(const struct evidence *ev)
{
	int n = ev->n_points;
	if (n < 3)
		return false;
	double best = run_throughput(ev->points[n - 3]) * anchor(ANCHOR_FLAT);
	return run_throughput(ev->points[n - 1]) < best && run_throughput(ev->points[n - 2]) < best;
}

/*
 * What the points of the ramp take in the worst case; those that do not help to judge the load in
 * use are left out while it is too much.
 */
static bool affordable(const struct procedure *p, const int64_t *ramp, int n, int next,
        const struct load_run *before)
{
	double need_s = 0;
	for (int i = next; i < n && ramp[i] <= 2 * p->ev->concurrency; i++) {
		double latency_s = latency_guess_s(before, ramp[i]);
		if (i > next && !is_essential(ramp[i], p->ev->concurrency))
			continue;
		need_s +=
		        (warmup_turns + 1) * latency_s +
		        window_s(p, POINT_REQUESTS, run_throughput(before), latency_s, point_share);
	}
	return need_s < left_s(p);
}

static const struct load_run *measure_point(
        struct procedure *p, int64_t concurrency, const struct load_run *before)
{
	struct load_shape shape = { .concurrency = concurrency };
	struct err err;
	double latency_s = latency_guess_s(before, concurrency);
	double requests = concurrency == p->ev->concurrency ? judged_requests(p, POINT_REQUESTS)
	                                                    : POINT_REQUESTS;
	double window = window_s(p, requests, run_throughput(before), latency_s, point_share);
	if (!fit_shape(p, &shape, window, latency_s))
		return NULL;
	const char *what = arena_printf(p->run, _("%lld requests at once"), (long long)concurrency);
	const struct load_run *r = measure(p, &shape, what, &err);
	if (!r || r->requests.ok == 0)
		return NULL;
	evidence_add_point(p->ev, r);
	return r;
}

static void measure_ramp(struct procedure *p)
{
	int64_t ramp[EVIDENCE_MAX_POINTS];
	int64_t in_use = p->ev->concurrency;
	int n = procedure_ramp(in_use, ramp);
	const struct load_run *before = p->ev->alone;
	for (int i = 0; i < n && !p->over; i++) {
		bool needed = ramp[i] <= 2 * in_use;
		if (!needed && (is_flat(p->ev) || far_over_target(p, before)))
			break;
		if (!is_essential(ramp[i], in_use) && !affordable(p, ramp, n, i, before))
			continue;
		const struct load_run *r = measure_point(p, ramp[i], before);
		before = r ? r : before;
	}
	if (!p->ev->operating)
		p->ev->operating = evidence_point(p->ev, in_use);
}

/* ---- an open loop, where a rate was given ---- */

static const struct load_run *measure_rate(struct procedure *p, double rate_per_s)
{
	struct load_shape shape = { .rate_per_s = rate_per_s, .arrival = { ARRIVAL_POISSON } };
	struct err err;
	double latency_s = run_latency_ms(p->ev->alone) / 1000;
	double window =
	        window_s(p, judged_requests(p, POINT_REQUESTS), rate_per_s, latency_s, alone_share);
	if (!fit_shape(p, &shape, window, latency_s))
		return NULL;
	const char *what = arena_printf(p->run, _("%.4g requests per second"), rate_per_s);
	return measure(p, &shape, what, &err);
}

/* ---- the generator itself ---- */

static void measure_ceiling(struct procedure *p)
{
	struct figures fig;
	struct err err;
	double per_s;
	if (p->over && p->ev->partial)
		return;
	figures_derive(p->ev, &fig);
	if (!fig.top)
		return;
	announce(p, _("the generator against a responder that answers at once"));
	if (load_null_ceiling(p->load, fig.x_max_at, p->run, &per_s, &err))
		p->ev->null_ceiling_per_s = per_s;
}

/* Is a thread full, by its CPU time or by waiting for a core? */
static bool generator_in_doubt(const struct load_client *client)
{
	return fmax(client->busiest_thread_ratio, client->wanted_ratio) >=
	       anchor(ANCHOR_CLIENT_THREAD);
}

/* What the ceiling cannot decide: the null responder sends no streams. */
static void measure_second(struct procedure *p)
{
	const struct load_run *op = p->ev->operating;
	const struct load_hooks hooks = { .stop = p->hooks->stop };
	if (p->over || !op || op->concurrency < 2 || !generator_in_doubt(&op->client))
		return;
	const struct load_shape shape = { .concurrency = op->concurrency };
	double budget_s = fmin(second_share * p->budget_s, left_s(p) / 2);
	announce(p, _("two generators with half the load each"));
	second_measure(
	        p->load, &shape, op, ns_of(fmax(0, budget_s)), &hooks, p->run, &p->ev->second);
}

static bool generator_is_fit(const struct procedure *p, const struct figures *fig)
{
	bool second_gained = p->ev->second.n > 0 && p->ev->second.apart &&
	                     p->ev->second.ratio >= anchor(ANCHOR_SECOND);
	return p->ev->null_ceiling_per_s >= anchor(ANCHOR_NULL_CEILING) * fig->x_max &&
	       !second_gained;
}

/* ---- interleaved pairs ---- */

/* A B A B ...; a pair that is not complete is dropped. */
static void measure_pairs(struct procedure *p, const struct load_shape *a,
        const struct load_shape *b, const char *what, struct evidence_pairs *pairs)
{
	int n_pairs = (int)anchor(ANCHOR_PAIRS);
	for (int i = 0; i < n_pairs && !p->over; i++) {
		struct err err;
		const struct load_run *ra = measure(p, a,
		        arena_printf(p->run, _("%s, as it is (%d of %d)"), what, i + 1, n_pairs),
		        &err);
		if (!ra || p->over)
			return;
		const struct load_run *rb = measure(p, b,
		        arena_printf(p->run, _("%s, changed (%d of %d)"), what, i + 1, n_pairs),
		        &err);
		if (!rb || rb->partial)
			return;
		pairs->a[pairs->n] = ra;
		pairs->b[pairs->n++] = rb;
	}
}

/* Both shapes of a comparison, sized so that all pairs fit into what is left. */
static bool fit_pairs(struct procedure *p, struct load_shape *a, struct load_shape *b,
        double rate_per_s, double latency_s)
{
	double window = window_s(p, PAIR_REQUESTS, rate_per_s, latency_s, pair_share);
	double n = 2 * anchor(ANCHOR_PAIRS);
	double per_run = left_s(p) / n - latency_s;
	double warmup = fmax(warmup_turns * latency_s, fmin(warmup_min_s, window / 4));
	double cut = fmin(1, per_run / (window + warmup));
	if (cut < 0.5) {
		p->ev->budget_spent = true;
		return false;
	}
	a->warmup = b->warmup = LOAD_WARMUP_TIME;
	a->warmup_ns = b->warmup_ns = ns_of(warmup * cut);
	a->duration_ns = b->duration_ns = ns_of(window * cut);
	return true;
}

static void measure_quickack(struct procedure *p)
{
	struct load_shape a = { .concurrency = 1 }, b = { .concurrency = 1, .quickack = true };
	double latency_s = run_latency_ms(p->ev->alone) / 1000;
	if (!(ack_bound_ratio(p->ev->alone) >= anchor(ANCHOR_NOISE)))
		return;
	if (fit_pairs(p, &a, &b, 1 / latency_s, latency_s))
		measure_pairs(p, &a, &b, _("acknowledgements"), &p->ev->quickack);
}

/* Is the service in trouble at the load in use? The same question that the verdict answers. */
static bool in_trouble(const struct procedure *p, const struct figures *fig)
{
	const struct evidence *ev = p->ev;
	if (ev->sla.present) {
		int64_t n;
		double ms = sla_measure(&ev->sla, &ev->operating, 1, p->run, &n);
		return !(ms * NS_PER_MS <= (double)ev->sla.target_ns);
	}
	return !(fig->waiting_ratio <= anchor(ANCHOR_NO_QUEUE));
}

static void measure_halved(struct procedure *p, const struct load_run *op)
{
	struct load_shape a = { .concurrency = op->concurrency };
	struct load_shape b = { .concurrency = op->concurrency / 2 };
	if (b.concurrency >= 1 &&
	        fit_pairs(p, &a, &b, run_throughput(op), run_latency_ms(op) / 1000))
		measure_pairs(p, &a, &b, _("half the load"), &p->ev->halved);
}

static void measure_raised(struct procedure *p, const struct load_run *op)
{
	double more = anchor(ANCHOR_RAISED);
	struct load_shape a = { .concurrency = op->concurrency }, b = { 0 };
	if (op->concurrency == 0) {
		a = (struct load_shape){ .rate_per_s = op->rate_per_s,
			.arrival = { ARRIVAL_POISSON } };
		b = (struct load_shape){ .rate_per_s = more * op->rate_per_s,
			.arrival = { ARRIVAL_POISSON } };
	} else {
		b.concurrency = (int64_t)ceil(more * (double)op->concurrency);
	}
	if (fit_pairs(p, &a, &b, run_throughput(op), run_latency_ms(op) / 1000))
		measure_pairs(p, &a, &b, _("more load"), &p->ev->raised);
}

static void measure_experiments(struct procedure *p)
{
	const struct load_run *op = p->ev->operating;
	struct figures fig;
	figures_derive(p->ev, &fig);
	if (!op || op->requests.ok == 0 || !isfinite(run_latency_ms(op)))
		return;
	/* figures of a generator at its limit would only be confirmed by more of them */
	if (!generator_is_fit(p, &fig))
		return;
	if (!in_trouble(p, &fig))
		measure_raised(p, op);
	else if (op->concurrency > 0)
		measure_halved(p, op);
	if (!p->over)
		measure_quickack(p);
}

/* ---- the whole ---- */

static void measure_all(struct procedure *p)
{
	if (!p->over && p->ev->first->requests.ok > 0)
		measure_alone(p);
	if (p->over || !p->ev->alone)
		return;
	if (p->config->rate_per_s > 0)
		p->ev->operating = measure_rate(p, p->config->rate_per_s);
	if (!p->over)
		measure_ramp(p);
	measure_ceiling(p);
	measure_second(p);
	if (!p->over)
		measure_experiments(p);
}

bool procedure_run(const struct diagnose_config *config, const struct diagnose_hooks *hooks,
        struct load *load, struct arena *run, struct evidence *ret, struct err *err)
{
	bool said = config->concurrency > 0 || config->rate_per_s > 0;
	struct evidence ev = {
		.sla = config->sla,
		.concurrency = config->concurrency > 0 ? config->concurrency : DEFAULT_CONCURRENCY,
		.concurrency_assumed = !said,
		.null_ceiling_per_s = NAN,
	};
	struct procedure p = {
		.config = config,
		.hooks = hooks,
		.load = load,
		.run = run,
		.ev = &ev,
		.deadline_ns = clock_now_ns() + config->budget_ns,
		.budget_s = (double)config->budget_ns / NS_PER_S,
		/* first contact, alone, a ramp to twice the load in use, ceiling, pairs */
		.n_steps = 3 + (int)ceil(log2((double)ev.concurrency)) + 1 +
		           2 * (int)anchor(ANCHOR_PAIRS),
	};
	if (!measure_first(&p, err))
		return false;
	measure_all(&p);
	*ret = ev;
	return true;
}
