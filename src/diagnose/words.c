#include "diagnose/words.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "diagnose/anchors.h"
#include "diagnose/cause.h"
#include "stats/quantile.h"

#include <math.h>
#include <string.h>

/* The first cause that can be at work in this kind of slow, or NULL. */
static const struct cause_finding *first_cause(const struct diagnosis *d)
{
	for (int i = 0; i < d->n_causes && d->causes[i].state <= CAUSE_PROBABLE; i++) {
		enum cause_acts acts = cause_by_id(d->causes[i].id)->acts;
		if (acts == ACTS_ASIDE || (d->kind == SLOW_ALONE && acts != ACTS_ALONE))
			continue;
		return &d->causes[i];
	}
	return NULL;
}

static const char *state_word(enum cause_state state)
{
	return state == CAUSE_CONFIRMED ? _("confirmed") : _("probable");
}

/* Where the curve goes flat: the lowest concurrency whose throughput is the highest but noise. */
static int64_t flat_from(const struct evidence *ev, const struct figures *fig)
{
	double band = fmax(anchor(ANCHOR_FLAT), 1 + fig->noise);
	for (int i = 0; i < ev->n_points; i++)
		if (run_throughput(ev->points[i]) * band >= fig->x_max)
			return ev->points[i]->concurrency;
	return fig->x_max_at;
}

static const char *summary_stuck(const struct evidence *ev, const struct figures *fig,
        const struct cause_finding *cause, struct arena *run)
{
	long long from = (long long)flat_from(ev, fig);
	if (cause)
		return arena_printf(run,
		        _("Throughput stays at %.3g requests per second from concurrency %lld on; "
		          "the first cause to look at is '%s' (%s)."),
		        fig->x_max, from, cause->name, state_word(cause->state));
	return arena_printf(run,
	        _("Throughput stays at %.3g requests per second from concurrency %lld on, and load "
	          "alone does not show why."),
	        fig->x_max, from);
}

static const char *summary_under_load(
        const struct evidence *ev, const struct cause_finding *cause, struct arena *run)
{
	double alone = run_quantile_ms(ev->alone, LOAD_LATENCY, 0.5);
	double loaded = run_quantile_ms(ev->operating, LOAD_LATENCY, 0.5);
	if (cause)
		return arena_printf(run,
		        _("Requests slow each other down: P50 is %.3g ms alone and %.3g ms under "
		          "the load in use; the first cause to look at is '%s' (%s)."),
		        alone, loaded, cause->name, state_word(cause->state));
	return arena_printf(run,
	        _("Requests slow each other down: P50 is %.3g ms alone and %.3g ms under the load "
	          "in use, and load alone does not show why."),
	        alone, loaded);
}

static const char *summary_alone(
        const struct evidence *ev, const struct cause_finding *cause, struct arena *run)
{
	int64_t n;
	double ms = sla_measure(&ev->sla, &ev->alone, 1, run, &n);
	double target = (double)ev->sla.target_ns / NS_PER_MS;
	if (cause)
		return arena_printf(run,
		        _("One request alone already misses the target (%s is %.3g ms, not %.3g "
		          "ms); the first cause to look at is '%s' (%s)."),
		        ev->sla.text, ms, target, cause->name, state_word(cause->state));
	return arena_printf(run,
	        _("One request alone already misses the target (%s is %.3g ms, not %.3g ms), so "
	          "look inside the service rather than at its load."),
	        ev->sla.text, ms, target);
}

/* The room that is left: exact when a higher load was seen to fail, else a lower bound. */
static const char *summary_healthy(const struct evidence *ev, const struct figures *fig,
        const struct load_run *knee, struct arena *run, const struct sla *sla)
{
	double rate = run_throughput(ev->operating);
	double room = fmax(1, run_throughput(knee) / rate);
	bool bounded = knee && fig->top && knee->concurrency < fig->top->concurrency;
	if (!sla->present)
		return arena_printf(run,
		        _("Throughput follows the load: %.3g requests per second in use, at least "
		          "%.2g times that were reached; give a target (--sla) to hold it to."),
		        rate, room);
	if (room < anchor(ANCHOR_FLAT) && ev->operating->concurrency > 1)
		return arena_printf(run,
		        _("The target is met (%s is %.3g ms of %.3g ms) at %.3g requests per "
		          "second, but no load that still meets it brought more: there is no "
		          "room."),
		        sla->metric, sla->measured_ms, sla->target_ms, rate);
	if (bounded)
		return arena_printf(run,
		        _("The target is met (%s is %.3g ms of %.3g ms) at %.3g requests per "
		          "second, with room for %.2g times that: nothing needs to be done."),
		        sla->metric, sla->measured_ms, sla->target_ms, rate, room);
	return arena_printf(run,
	        _("The target is met (%s is %.3g ms of %.3g ms) at %.3g requests per second, with "
	          "room for at least %.2g times that: nothing needs to be done."),
	        sla->metric, sla->measured_ms, sla->target_ms, rate, room);
}

static const char *summary_inconclusive(
        const struct evidence *ev, const struct diagnosis *d, struct arena *run)
{
	const struct load_run *r = ev->operating ? ev->operating : ev->first;
	if (r && r->requests.failed > r->requests.ok)
		return arena_printf(run,
		        _("%lld of %lld requests failed, so there is nothing to judge the speed "
		          "by."),
		        (long long)r->requests.failed, (long long)r->requests.attempted);
	if (r && r->requests.ok > 0 && d->sla.present && d->sla.n == 0)
		return arena_printf(run,
		        _("The target speaks of '%s', which this service did not show in %lld "
		          "requests."),
		        ev->sla.text, (long long)r->requests.ok);
	return _("Too little was measured for a verdict.");
}

const char *words_summary(const struct evidence *ev, const struct figures *fig,
        const struct load_run *knee, struct arena *run, const struct diagnosis *d)
{
	const struct cause_finding *cause = first_cause(d);
	if (d->verdict == VERDICT_INCONCLUSIVE)
		return summary_inconclusive(ev, d, run);
	if (d->verdict == VERDICT_INVALID)
		return arena_printf(run,
		        _("The measurement itself is at fault ('%s'), so its figures may not be "
		          "used."),
		        d->causes[0].name);
	switch (d->kind) {
	case SLOW_ALONE:
		return summary_alone(ev, cause, run);
	case SLOW_UNDER_LOAD:
		return summary_under_load(ev, cause, run);
	case SLOW_THROUGHPUT_STUCK:
		return summary_stuck(ev, fig, cause, run);
	default:
		return summary_healthy(ev, fig, knee, run, &d->sla);
	}
}

/* ---- the next step ---- */

struct next_context {
	const struct evidence *ev;
	const struct figures *fig;
	const struct cause_finding *cause;
	const struct load_run *knee;
	struct arena *run;
};

static const char *number(struct arena *run, double v)
{
	return arena_printf(run, "%.0f", v);
}

static struct next_step next_batching(const struct next_context *c)
{
	const struct prediction *p = &c->cause->predicted;
	return (struct next_step){
		.change = _("Switch dynamic or continuous batching on."),
		.variable = "batch_max",
		.from = "1",
		.to = number(c->run, anchor(ANCHOR_BATCH_CONCURRENCY)),
		.expect = arena_printf(c->run,
		        _("Throughput %.2g to %.2g times at concurrency %lld, provided that 8 "
		          "requests in one pass take less than 4 times as long as one."),
		        p->low, p->high, (long long)c->ev->concurrency),
	};
}

static struct next_step next_slots(const struct next_context *c)
{
	const struct prediction *p = &c->cause->predicted;
	double k = c->fig->slots.k;
	return (struct next_step){
		.change = _("Double the number of requests that the service works on at once."),
		.variable = "slots",
		.from = number(c->run, k),
		.to = number(c->run, 2 * k),
		.expect = arena_printf(c->run,
		        _("Throughput %.2g to %.2g times at concurrency %lld, as far as the stage "
		          "behind has room."),
		        p->low, p->high, (long long)c->ev->concurrency),
	};
}

/* The highest load within the target, else the lowest with all the throughput. */
static struct next_step next_saturation(const struct next_context *c)
{
	const struct evidence *ev = c->ev;
	const struct load_run *knee =
	        ev->sla.present && c->knee ? c->knee : evidence_point(ev, flat_from(ev, c->fig));
	return (struct next_step){
		.change = _("Admit no more requests at once than up to the knee of the curve."),
		.variable = "concurrency",
		.from = number(c->run, (double)ev->concurrency),
		.to = number(c->run, (double)knee->concurrency),
		.expect = arena_printf(c->run,
		        _("Throughput %.2f times, P50 near %.3g ms for those admitted, as measured "
		          "there."),
		        run_throughput(knee) / run_throughput(ev->operating),
		        run_quantile_ms(knee, LOAD_LATENCY, 0.5)),
	};
}

static struct next_step next_no_delay(const struct next_context *c)
{
	const struct prediction *p = &c->cause->predicted;
	return (struct next_step){
		.change = _("Set TCP_NODELAY on the service's sockets."),
		.variable = "tcp_nodelay",
		.from = "off",
		.to = "on",
		.expect = arena_printf(
		        c->run, _("Mean latency %.0f to %.0f ms lower."), -p->high, -p->low),
	};
}

static struct next_step next_keepalive(const struct next_context *c)
{
	const struct prediction *p = &c->cause->predicted;
	return (struct next_step){
		.change = _("Keep connections open between requests."),
		.variable = "keepalive",
		.from = "off",
		.to = "on",
		.expect = arena_printf(
		        c->run, _("%.2g to %.2g ms less per request."), -p->high, -p->low),
	};
}

static struct next_step next_flush(const struct next_context *c)
{
	(void)c;
	return (struct next_step){
		.change = _("Flush every event to the client; switch buffering off in each proxy."),
		.variable = "response_buffering",
		.from = "on",
		.to = "off",
		.expect = _("The first token comes as soon as it is made; throughput stays."),
	};
}

static struct next_step next_generator(const struct next_context *c)
{
	int threads = c->ev->operating ? c->ev->operating->client.threads : 1;
	return (struct next_step){
		.change = _("Give the load generator more threads, or a machine of its own."),
		.variable = "threads",
		.from = number(c->run, threads),
		.to = number(c->run, 2.0 * threads),
		.expect = _("Against a responder that answers at once, at least three times the "
		            "measured rate."),
	};
}

static struct next_step next_connections(const struct next_context *c)
{
	const struct load_transport *t = &c->ev->operating->transport;
	return (struct next_step){
		.change = _("Raise the limit of connections in front of the service."),
		.variable = "connections",
		.from = number(c->run, (double)t->connections_served),
		.to = number(c->run, (double)t->connections),
		.expect = _("The knee of the curve moves with the limit."),
	};
}

static const struct {
	const char *id;
	struct next_step (*step)(const struct next_context *c);
} next_steps[] = {
	{ "client_saturated", next_generator },
	{ "client_conn_limit", next_connections },
	{ "nagle_delayed_ack", next_no_delay },
	{ "no_keepalive", next_keepalive },
	{ "stream_buffering", next_flush },
	{ "no_batching", next_batching },
	{ "queue_saturation", next_saturation },
	{ "too_few_slots", next_slots },
};

/* When load alone names no cause, the next thing is a look inside. */
static struct next_step next_look_inside(void)
{
	return (struct next_step){
		.change = _("Record a trace of one request inside the service."),
		.variable = "trace",
		.from = _("none"),
		.to = _("one request"),
		.expect = _("The stages and operators that take most of its time."),
	};
}

void words_next(const struct evidence *ev, const struct figures *fig, const struct load_run *knee,
        struct arena *run, struct diagnosis *d)
{
	if (d->verdict == VERDICT_HEALTHY || d->verdict == VERDICT_INCONCLUSIVE)
		return;
	struct next_context c = { ev, fig, first_cause(d), knee, run };
	d->next = next_look_inside();
	for (size_t i = 0; c.cause && i < ARRAY_LEN(next_steps); i++)
		if (strcmp(next_steps[i].id, c.cause->id) == 0)
			d->next = next_steps[i].step(&c);
	d->next.present = true;
}

/* ---- warnings ---- */

enum { MAX_WARNINGS = 8 };

static void warn(struct diagnosis *d, const char *text)
{
	if (d->n_warnings < MAX_WARNINGS)
		d->warnings[d->n_warnings++] = text;
}

static void warn_of_failures(const struct evidence *ev, struct arena *run, struct diagnosis *d)
{
	int64_t failed = 0, attempted = 0;
	const char *first = NULL;
	for (int i = -1; i < ev->n_points; i++) {
		const struct load_run *r = i < 0 ? ev->first : ev->points[i];
		if (!r)
			continue;
		failed += r->requests.failed;
		attempted += r->requests.attempted;
		first = first ? first : r->first_error;
	}
	if (failed > 0)
		warn(d, arena_printf(run,
		                _("%lld of %lld requests failed; they count as missing the target. "
		                  "The first said: %s"),
		                (long long)failed, (long long)attempted,
		                first ? first : _("nothing")));
}

static void warn_of_samples(const struct evidence *ev, struct arena *run, struct diagnosis *d)
{
	if (d->sla.present && d->sla.n > 0 && !quantile_enough(d->sla.n, ev->sla.quantile))
		warn(d, arena_printf(run,
		                _("%s rests on %lld values and needs %lld, so it is not far from "
		                  "their maximum; give it more time with --budget."),
		                ev->sla.text, (long long)d->sla.n,
		                (long long)quantile_floor(ev->sla.quantile)));
}

static void warn_of_little(const struct evidence *ev, struct arena *run, struct diagnosis *d)
{
	double ratio = ev->operating ? ev->operating->client.little_ratio : NAN;
	bool starved = ev->operating && ev->operating->transport.connections_served <
	                                        ev->operating->transport.connections;
	if (fabs(ratio - 1) > anchor(ANCHOR_LITTLE) && !starved)
		warn(d, arena_printf(run,
		                _("Requests in flight are %.2f times rate times latency, so the "
		                  "load "
		                  "was not steady; give it more time with --budget."),
		                ratio));
}

void words_warnings(const struct evidence *ev, struct arena *run, struct diagnosis *d)
{
	d->warnings = arena_new_n(run, const char *, MAX_WARNINGS);
	if (ev->concurrency_assumed)
		warn(d, arena_printf(run,
		                _("Nobody said at which load the service is used; concurrency %lld "
		                  "was assumed, -c sets it."),
		                (long long)ev->concurrency));
	if (ev->partial)
		warn(d, _("The measurement was cut short; what is missing counts as not "
		          "examined."));
	if (ev->budget_spent)
		warn(d, _("The budget was spent before everything was measured; give it more time "
		          "with --budget."));
	warn_of_failures(ev, run, d);
	warn_of_samples(ev, run, d);
	warn_of_little(ev, run, d);
}
