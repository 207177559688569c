#include "base/clock.h"
#include "base/i18n.h"
#include "diagnose/finding.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *tail_name(struct examination *x, const char *metric, double tail)
{
	return arena_printf(x->run, "%s_ms_p%.0f", metric, tail * 100);
}

/*
 * The tail of the delay between planned and actual sending, P99 where there are enough samples,
 * when it is too large; else 0.
 */
static double client_late_ms(struct examination *x, const struct load_run *op, double *ret_tail)
{
	const struct hist *late = &op->client.lateness;
	double tail = tail_of(late->n, late->n);
	if (op->concurrency > 0 || isnan(tail))
		return 0;
	double late_ms = (double)hist_quantile(late, tail) / NS_PER_MS;
	double limit_ms = fmax(anchor(ANCHOR_LATENESS),
	        anchor(ANCHOR_LATENESS_OF_P50) * run_quantile_ms(op, LOAD_LATENCY, 0.5));
	finding_add(x, tail_name(x, "client_lateness", tail), late_ms, "ms", ANCHOR_LATENESS, op,
	        late->n);
	*ret_tail = tail;
	return late_ms > limit_ms ? late_ms : 0;
}

/* CPU and waiting for a core together, where the machine tells both; else CPU. */
static double wanted_ratio(const struct load_run *r)
{
	return fmax(r->client.busiest_thread_ratio, r->client.wanted_ratio);
}

static double busiest_thread(const struct evidence *ev, const struct load_run **ret_run)
{
	double busiest = NAN;
	for (int i = -1; i < ev->n_points; i++) {
		const struct load_run *r = i < 0 ? ev->operating : ev->points[i];
		if (r && isfinite(wanted_ratio(r)) && !(wanted_ratio(r) <= busiest)) {
			busiest = wanted_ratio(r);
			*ret_run = r;
		}
	}
	return busiest;
}

/* Did two generators get clearly more than one? */
static bool second_generator(struct examination *x)
{
	const struct load_halved *second = &x->evidence->second;
	if (second->n == 0)
		return false;
	finding_add(x, "second_generator_over_one", second->ratio, "ratio", ANCHOR_SECOND, NULL,
	        second->n);
	return second->apart && second->ratio >= anchor(ANCHOR_SECOND);
}

static void client_saturated(struct examination *x)
{
	const struct evidence *ev = x->evidence;
	const struct load_run *op = ev->operating;
	const struct load_run *busy_run = NULL;
	double rate = fmax(x->figures->x_max, run_throughput(op));
	double ceiling = ev->null_ceiling_per_s;
	double busiest = busiest_thread(ev, &busy_run);
	double over = ceiling / rate;
	if (!op || !isfinite(rate))
		return;
	finding_add(x, "null_ceiling_over_rate", over, "ratio", ANCHOR_NULL_CEILING, NULL, 0);
	finding_add(x, "null_ceiling_per_s", ceiling, "req/s", NO_ANCHOR, NULL, 0);
	finding_add(x, "client_thread_ratio", busiest, "ratio", ANCHOR_CLIENT_THREAD, busy_run, 0);
	double late_tail = NAN, late_ms = client_late_ms(x, op, &late_tail);
	struct effect half = evidence_effect(&ev->halved, run_throughput);
	if (half.n > 0)
		finding_effect(x, "throughput_at_half_concurrency", &half);
	bool second_gained = second_generator(x);
	finding_add(x, "client_waiting_ratio", op->client.waiting_ratio, "ratio",
	        ANCHOR_CLIENT_WAITING, op, 0);

	if (second_gained)
		finding_conclude(x, CAUSE_CONFIRMED,
		        _("Two generators with half the load each got %.2f times what one got with "
		          "all of it."),
		        ev->second.ratio);
	else if (over < anchor(ANCHOR_NULL_CEILING))
		finding_conclude(x, CAUSE_CONFIRMED,
		        _("Against a responder that answers at once this generator reaches only "
		          "%.1f times the measured rate; the figures may be its own."),
		        over);
	else if (ev->second.n > 0 && !(op->client.waiting_ratio > anchor(ANCHOR_CLIENT_WAITING)))
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("A thread of the generator was nearly full, but two generators with half "
		          "the load each got no more."));
	else if (busiest >= anchor(ANCHOR_CLIENT_THREAD))
		finding_conclude(x, CAUSE_PROBABLE,
		        _("A thread of the generator used %.0f %% of a core, or waited for one."),
		        busiest * 100);
	else if (late_ms > 0)
		finding_conclude(x, CAUSE_PROBABLE,
		        _("%.0f %% of the requests left %.2f ms later than planned, or more."),
		        (1 - late_tail) * 100, late_ms);
	else if (isfinite(over) && isfinite(busiest))
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("The generator reaches %.0f times the measured rate against a responder "
		          "that answers at once, and its busiest thread used %.0f %% of a core."),
		        over, busiest * 100);
}

/* Connections that the client's own machine refused. */
static bool own_limits_failed(struct examination *x, const struct load_run *op)
{
	int64_t n = op->requests.failures[LOAD_FAIL_CLIENT];
	if (n == 0)
		return false;
	finding_add(
	        x, "client_limit_failures", (double)n, "1", NO_ANCHOR, op, op->requests.attempted);
	finding_conclude(x, CAUSE_CONFIRMED,
	        _("%lld requests failed in the client, which had no open files or ports left."),
	        (long long)n);
	return true;
}

static void client_conn_limit(struct examination *x)
{
	const struct load_run *op = x->evidence->operating;
	const struct slots *slots = &x->figures->slots;
	if (!op || own_limits_failed(x, op) || op->transport.connections < 2)
		return;
	const struct load_transport *t = &op->transport;
	double turns = (double)op->requests.ok / (double)t->connections;
	finding_add(x, "connections_served", (double)t->connections_served, "1", NO_ANCHOR, op,
	        op->requests.ok);
	finding_add(x, "connections", (double)t->connections, "1", NO_ANCHOR, op, 0);
	if (t->connections_served < t->connections) {
		if (turns < anchor(ANCHOR_CONNECTION_TURNS)) {
			finding_needs(x, _("Needs a longer measurement: too few requests to expect "
			                   "an answer on every connection."));
			return;
		}
		finding_predict(x, "requests_per_s", 1,
		        (double)t->connections / fmax(1, (double)t->connections_served), "ratio",
		        "G3");
		x->throughput_gain = sqrt(x->finding->predicted.high);
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Only %lld of %lld connections were ever answered: something in front of "
		          "the service takes no more."),
		        (long long)t->connections_served, (long long)t->connections);
	} else if (slots->pinned && slots->k > 1) {
		/* a gateway that takes every connection may still hold few of its own */
		finding_add(x, "parallelism", x->figures->parallelism, "1", NO_ANCHOR, NULL, 0);
		finding_needs(x, _("Needs a run that goes around any gateway, or its number of "
		                   "connections to the service: every connection of the client was "
		                   "served, but the requests under work are pinned."));
	} else {
		finding_conclude(x, CAUSE_EXCLUDED, _("All %lld connections were served."),
		        (long long)t->connections);
	}
}

static void coordinated_omission(struct examination *x)
{
	const struct load_run *op = x->evidence->operating;
	if (!op || op->concurrency > 0 || op->metrics[LOAD_RESPONSE].n == 0)
		return;
	double delay_ms = hist_mean(&op->client.lateness) / NS_PER_MS;
	double delay_ratio = delay_ms / run_mean_ms(op, LOAD_LATENCY);
	int64_t n = op->metrics[LOAD_RESPONSE].n;
	double tail = tail_of(n, n), percent = tail * 100;
	if (isnan(tail)) {
		finding_needs(
		        x, _("Needs a longer measurement: too few requests for a percentile."));
		return;
	}
	double sent_ms = run_quantile_ms(op, LOAD_LATENCY, tail);
	double planned_ms = run_quantile_ms(op, LOAD_RESPONSE, tail);
	finding_add(x, "dispatch_delay_over_latency", delay_ratio, "ratio", ANCHOR_OMISSION_DELAY,
	        op, op->client.lateness.n);
	finding_add(x, tail_name(x, "latency", tail), sent_ms, "ms", NO_ANCHOR, op, n);
	finding_add(x, tail_name(x, "response", tail), planned_ms, "ms", NO_ANCHOR, op, n);
	bool grows = planned_ms > sent_ms * (1 + anchor(ANCHOR_NOISE));
	if (grows && delay_ratio > anchor(ANCHOR_OMISSION_DELAY))
		finding_conclude(x, CAUSE_CONFIRMED,
		        _("Counted from the planned moments P%.0f is %.1f ms instead of %.1f ms: "
		          "requests were held back while the service was slow."),
		        percent, planned_ms, sent_ms);
	else if (grows || delay_ratio > anchor(ANCHOR_OMISSION_DELAY))
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Requests left later than planned: by %.0f %% of the latency on "
		          "average."),
		        delay_ratio * 100);
	else if (isfinite(planned_ms) && isfinite(sent_ms))
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("P%.0f is %.1f ms from the planned moments and %.1f ms from sending: no "
		          "request was held back."),
		        percent, planned_ms, sent_ms);
}

static int by_value(const void *a, const void *b)
{
	int64_t va = *(const int64_t *)a, vb = *(const int64_t *)b;
	return (va > vb) - (va < vb);
}

static double median_ms(const int64_t *values, int64_t n, struct arena *tmp)
{
	int64_t *sorted = arena_new_n(tmp, int64_t, (size_t)n);
	memcpy(sorted, values, (size_t)n * sizeof(*values));
	qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
	return (double)sorted[quantile_rank(n, 0.5) - 1] / NS_PER_MS;
}

/*
 * Leading requests that took several times the median of the others. At most a quarter is looked
 * at, so that the median stays that of a warm service.
 */
static int64_t count_cold(const int64_t *v, int64_t n, double warm_ms)
{
	double limit_ms = fmax(anchor(ANCHOR_COLD) * warm_ms, warm_ms + anchor(ANCHOR_COLD_EXCESS));
	int64_t k = 0;
	while (k < n / 4 && (double)v[k] / NS_PER_MS > limit_ms)
		k++;
	return k;
}

static void cold_start(struct examination *x)
{
	const struct load_run *first = x->evidence->first;
	if (!first || (double)first->n_first_latencies < anchor(ANCHOR_COLD_REQUESTS)) {
		finding_needs(x, _("Needs at least 20 requests of the first run, warm-up "
		                   "included."));
		return;
	}
	int64_t n = first->n_first_latencies;
	double warm_ms = median_ms(first->first_latencies_ns + n / 4, n - n / 4, x->run);
	double first_ms = (double)first->first_latencies_ns[0] / NS_PER_MS;
	int64_t k = count_cold(first->first_latencies_ns, n, warm_ms);
	finding_add(x, "first_over_warm", first_ms / warm_ms, "ratio", ANCHOR_COLD, first, 1);
	finding_add(x, "first_latency_ms", first_ms, "ms", NO_ANCHOR, first, 1);
	finding_add(x, "warm_latency_ms_p50", warm_ms, "ms", NO_ANCHOR, first, n - n / 4);
	if (k == 0) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("The first request took %.1f ms and the median of the later ones %.1f "
		          "ms: no cold start is in these figures."),
		        first_ms, warm_ms);
		return;
	}
	finding_add(x, "cold_requests", (double)k, "1", NO_ANCHOR, first, n);
	finding_predict(x, "first_latency_ms", warm_ms - first_ms, 0, "ms", "G15");
	finding_conclude(x, CAUSE_PROBABLE,
	        _("The first %lld requests took up to %.1f times as long as later ones; warm-up "
	          "kept them out of the other figures."),
	        (long long)k, first_ms / warm_ms);
}

static void config_mismatch(struct examination *x)
{
	const struct fingerprint *theirs = x->evidence->baseline;
	const struct load_run *op = x->evidence->operating;
	if (!theirs || !op)
		return;
	int n_different = 0;
	const char *example = NULL;
	for (size_t i = 0; i < theirs->n; i++) {
		const struct fingerprint_entry *e = &theirs->entries[i];
		const char *ours = fingerprint_get(&op->fingerprint, e->name);
		if (ours && strcmp(ours, e->value) == 0)
			continue;
		n_different++;
		example = example ? example : e->name;
	}
	finding_add(
	        x, "fingerprint_differences", n_different, "1", NO_ANCHOR, op, (int64_t)theirs->n);
	if (n_different > 0)
		finding_conclude(x, CAUSE_PROBABLE,
		        _("%d entries of the fingerprint differ from the baseline's, first "
		          "'%s'."),
		        n_different, example);
	else
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("The fingerprint equals the baseline's in all %lld entries."),
		        (long long)theirs->n);
}

/* Did a higher load bring more throughput, in proportion, with the target still met? */
static void judge_raised_load(struct examination *x, const struct effect *raised)
{
	const struct evidence *ev = x->evidence;
	finding_effect(x, "throughput_at_raised_load", raised);
	if (ev->sla.present) {
		int64_t n;
		double ms = sla_measure(&ev->sla, ev->raised.b, ev->raised.n, x->run, &n);
		finding_add(x, "sla_latency_ms_at_raised_load", ms, "ms", NO_ANCHOR,
		        ev->raised.b[0], n);
		if (!(ms * NS_PER_MS <= (double)ev->sla.target_ns)) {
			finding_conclude(x, CAUSE_EXCLUDED,
			        _("A quarter more load misses the target: the service is near its "
			          "limit."));
			return;
		}
	}
	if (raised->beyond_noise && raised->ratio > 1)
		finding_conclude(x, CAUSE_CONFIRMED,
		        _("More load brought %.2f times the throughput: nothing is in the way at "
		          "the load in use."),
		        raised->ratio);
	else if (raised->noise < anchor(ANCHOR_RAISED) - 1)
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("A quarter more load brought %.2f times the throughput: the service is "
		          "near its limit."),
		        raised->ratio);
	else
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Requests hardly wait for each other, but runs of the same load differ "
		          "too much to see what a quarter more load brings."));
}

static bool target_missed(struct examination *x)
{
	const struct sla_target *sla = &x->evidence->sla;
	if (!sla->present)
		return false;
	int64_t n;
	double ms = sla_measure(sla, &x->evidence->operating, 1, x->run, &n);
	finding_add(x, "sla_latency_ms", ms, "ms", NO_ANCHOR, x->evidence->operating, n);
	if (ms * NS_PER_MS <= (double)sla->target_ns)
		return false;
	finding_conclude(x, CAUSE_EXCLUDED, _("The target is missed at the load in use."));
	return true;
}

static void offered_load_low(struct examination *x)
{
	const struct evidence *ev = x->evidence;
	const struct load_run *op = ev->operating;
	double waiting = x->figures->waiting_ratio;
	if (!op || !isfinite(waiting))
		return;
	double offered = op->client.offered_per_s;
	double lost = 1 - op->client.achieved_per_s / offered;
	finding_add(x, "waiting_ratio", waiting, "ratio", ANCHOR_NO_QUEUE, op, op->requests.ok);
	finding_add(x, "offered_minus_achieved", lost, "ratio", ANCHOR_OFFERED, op, 0);
	struct effect raised = evidence_effect(&ev->raised, run_throughput);
	if (target_missed(x))
		return;
	if (waiting > anchor(ANCHOR_NO_QUEUE))
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("%.0f %% of the latency under load is waiting for other requests."),
		        waiting * 100);
	else if (lost > anchor(ANCHOR_OFFERED))
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("The service fell %.0f %% behind the offered rate."), lost * 100);
	else if (raised.n >= (int)anchor(ANCHOR_PAIRS))
		judge_raised_load(x, &raised);
	else
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Requests hardly wait for each other: %.0f %% of their latency."),
		        fmax(0, waiting) * 100);
}

static const struct cause rows[] = {
	{
	        .id = "client_saturated",
	        .name = N_("load generator saturated"),
	        .layer = 'C',
	        .acts = ACTS_ON_FIGURES,
	        .check = N_(
	                "A generator thread is nearly full, requests leave late, or the generator "
	                "reaches less than three times the rate against a responder that answers "
	                "at once."),
	        .needs = N_(
	                "Needs the generator's rate against a responder that answers at once, and "
	                "the CPU time of its threads."),
	        .experiment = N_("A second generator process at the same total concurrency: more "
	                         "throughput means that the first was the limit."),
	        .fix = N_("Use more threads, processes or hosts for the generator, away from the "
	                  "service's cores."),
	        .gain = "G3",
	        .examine = client_saturated,
	},
	{
	        .id = "client_conn_limit",
	        .name = N_("connection cap in client or gateway"),
	        .layer = 'C',
	        .acts = ACTS_ON_FIGURES,
	        .check = N_("Fewer connections are served than requests are to be under way."),
	        .needs = N_("Needs a load of two requests or more at once."),
	        .experiment =
	                N_("Raise only the cap, or go around the gateway: the knee moves with "
	                   "it."),
	        .fix = N_("Raise the pool limits in SDK, gateway and proxy; use HTTP/2."),
	        .gain = "G3",
	        .examine = client_conn_limit,
	},
	{
	        .id = "coordinated_omission",
	        .name = N_("coordinated omission"),
	        .layer = 'C',
	        .acts = ACTS_ON_FIGURES,
	        .check = N_(
	                "Requests leave later than planned by a notable share of their latency."),
	        .needs = N_(
	                "Needs a run at a fixed rate (--rate): a closed loop plans no moments of "
	                "sending."),
	        .experiment = N_("Count latency from the planned moments: P99 grows by more than "
	                         "noise."),
	        .fix = N_("Send by schedule without a cap on requests in flight, and read "
	                  "response_ms."),
	        .gain = "measured",
	        .examine = coordinated_omission,
	},
	{
	        .id = "cold_start",
	        .name = N_("cold start, no warm-up"),
	        .layer = 'F',
	        .acts = ACTS_ASIDE,
	        .check =
	                N_("The first requests of the process take several times the median of the "
	                   "others."),
	        .needs = N_("Needs the latencies of the first requests after a start."),
	        .experiment = N_("Run twice in one process, then restart: gone in the second run, "
	                         "back after the restart."),
	        .fix = N_(
	                "Warm up over the real shapes before reporting ready; keep compile caches "
	                "and one warm replica."),
	        .gain = "G15",
	        .examine = cold_start,
	},
	{
	        .id = "config_mismatch",
	        .name = N_("configurations differ"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("The fingerprints of two runs that should be equal differ."),
	        .needs = N_("Needs the fingerprint of a second run to compare with."),
	        .experiment = N_("Copy one difference at a time: the gap moves."),
	        .fix = N_("Align the configurations; store the fingerprint with every baseline."),
	        .gain = "measured",
	        .examine = config_mismatch,
	},
	{
	        .id = "offered_load_low",
	        .name = N_("load too low, no bottleneck"),
	        .layer = 'C',
	        .acts = ACTS_ASIDE,
	        .check = N_(
	                "Nothing queues, the service keeps up with what is offered and meets its "
	                "target."),
	        .needs = N_("Needs a measurement alone and one under the load in use."),
	        .experiment = N_("A quarter more load: throughput follows and the target is still "
	                         "met."),
	        .fix = N_("Nothing to mend: consolidate, or lower the clocks."),
	        .gain = "measured",
	        .examine = offered_load_low,
	},
};

const struct cause_group cause_group_measurement = { 'M', rows, ARRAY_LEN(rows) };
