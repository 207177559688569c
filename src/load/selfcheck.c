/*
 * selfcheck.c - is the generator the bottleneck? A signal (a full thread, late sends) is only a
 * suspicion; the ceiling against a responder that answers at once decides.
 */
#include "load/internal.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "load/checks.h"
#include "load/null_responder.h"
#include "load/second.h"

#include <math.h>

static const int64_t ceiling_warmup_ns = 100 * NS_PER_MS;
static const int64_t ceiling_window_ns = 300 * NS_PER_MS;

bool load_null_ceiling(struct load *load, int64_t concurrency, struct arena *run, double *ret_per_s,
        struct err *err)
{
	struct null_responder responder;
	struct load probe = *load;
	struct load_target target = load->targets[0];
	struct load_run r;
	struct load_shape shape = {
		.concurrency = concurrency > 0 ? concurrency : 1,
		.duration_ns = ceiling_window_ns,
		.warmup = LOAD_WARMUP_TIME,
		.warmup_ns = ceiling_warmup_ns,
	};
	if (!null_responder_start(&responder, err))
		return false;
	target.conn = responder.target;
	target.workload.sessions = NULL; /* their first requests stay, more or less */
	probe.targets = &target;
	probe.n_targets = 1;
	probe.endpoint = &endpoint_http; /* the requests stay, only the status is judged */
	probe.streaming = false;
	bool ok = load_measure(&probe, &shape, NULL, run, &r, err);
	null_responder_stop(&responder);
	if (ok)
		*ret_per_s = r.throughput.requests_per_s;
	return ok;
}

/* Of the run's own window, what a second generator may take in all. */
static const double second_share = 0.5;
static const int64_t second_max_ns = 10 * NS_PER_S;

/* Nobody is sent more than was asked for: not more at a time, and no request beyond a number. */
static void measure_second(struct load *load, const struct load_shape *shape,
        const struct load_hooks *hooks, struct arena *run, struct load_run *r)
{
	struct load_halved *halved = &r->client.halved;
	int64_t budget = (int64_t)(second_share * r->window.duration_s * 1e9);
	if (shape->rate_per_s > 0)
		halved->why =
		        _("not measured: the rate is given, two generators would send the same");
	else if (r->sessions)
		halved->why = _("not measured: sessions last longer than its measurements");
	else if (shape->requests > 0)
		halved->why = _("not measured: a number of requests was asked for, and no more");
	else if (shape->concurrency < 2)
		halved->why = _("not measured: one request at a time cannot be halved");
	else
		second_measure(load, shape, r, budget < second_max_ns ? budget : second_max_ns,
		        hooks, run, halved);
}

void load_self_check(struct load *load, const struct load_shape *shape,
        const struct load_hooks *hooks, struct arena *run, struct load_run *r)
{
	struct load_client *client = &r->client;
	struct err err;
	if (!load->config.check_client) {
		client->verdict = LOAD_CLIENT_UNKNOWN;
		client->why = _("the check was switched off");
		return;
	}
	checks_fill(shape, run, r);
	if (checks_next(r, false) == CHECKS_NEED_CEILING) {
		double rate = r->throughput.requests_per_s;
		double in_flight = rate * hist_mean(&r->metrics[LOAD_LATENCY]) / 1e9;
		int64_t n = shape->rate_per_s > 0 ? (int64_t)fmax(1, ceil(in_flight))
		                                  : shape->concurrency;
		if (!load_null_ceiling(load, n, run, &client->null_ceiling_per_s, &err))
			client->null_ceiling_per_s = NAN;
		checks_fill(shape, run, r);
	}
	if (checks_next(r, true) == CHECKS_NEED_SECOND) {
		measure_second(load, shape, hooks, run, r);
		checks_fill(shape, run, r);
	}
	checks_judge(r);
}
