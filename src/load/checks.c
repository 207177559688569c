#include "load/checks.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

static const char catalogue[] = "catalogue of causes, client_saturated";
static const char identity[] = "identity";
static const char rule_of_thumb[] = "rule of thumb";
static const char by_definition[] = "definition";
static const char method[] = "the method: how a verdict is reached";
static const char rank_test[] = "all of 3 above all of 3: 1 in 20 by chance (Mann-Whitney)";

static const int64_t enough_requests = 20;

/* What one row may conclude when it fails. */
enum weight {
	WEIGHT_INVALID,  /* the counts are wrong */
	WEIGHT_GRAVE,    /* the client was the limit, no more to be asked */
	WEIGHT_CEILING,  /* a suspicion that a full thread or a delay raises is right */
	WEIGHT_SECOND,   /* any suspicion is right */
	WEIGHT_FULL,     /* a suspicion that a second generator can dispel */
	WEIGHT_DELAY,    /* a suspicion */
	WEIGHT_WAITED,   /* a suspicion of which the ceiling says nothing: it waits as well */
	WEIGHT_EXPLAINS, /* why; a delay only where the kernel stamps nothing */
	WEIGHT_UNEVEN,   /* the figures do not fit together, for another reason */
};

struct subject {
	const struct load_run *r;
	const struct load_shape *shape;
};

struct row {
	const char *name, *unit, *source;
	enum weight weight;
	bool at_least;                            /* the value has to reach the limit */
	double (*value)(const struct subject *s); /* NAN: not measured, or no question here */
	double (*limit_of)(const struct subject *s);
	double limit;    /* where no function says it */
	const char *why; /* N_() */
};

/* ---- counts ---- */

static double apart(int64_t a, int64_t b)
{
	return (double)llabs(a - b);
}

static double counts_requests(const struct subject *s)
{
	const struct load_requests *n = &s->r->requests;
	int64_t failed = 0;
	for (int i = 0; i < LOAD_N_FAILURES; i++)
		failed += n->failures[i];
	return apart(n->attempted, n->ok + n->failed + n->censored) + apart(n->failed, failed);
}

static double counts_series(const struct subject *s)
{
	const struct load_run *r = s->r;
	int64_t requests = 0, errors = 0;
	for (int64_t i = 0; i < r->n_series; i++) {
		requests += r->series[i].requests;
		errors += r->series[i].errors;
	}
	return apart(requests, r->books.completions) +
	       apart(requests - errors, r->books.completions_ok);
}

/* The buckets against the number of values. */
static int64_t lost_in_buckets(const struct hist *h)
{
	int64_t upper, count, sum = 0;
	int i = 0;
	while (h->n > 0 && hist_next(h, &i, &upper, &count))
		sum += count;
	return llabs(sum - h->n);
}

static double counts_histograms(const struct subject *s)
{
	const struct load_run *r = s->r;
	int64_t lost = 0;
	for (int m = 0; m < LOAD_N_METRICS; m++)
		lost += lost_in_buckets(&r->metrics[m]);
	return (double)lost + apart(r->metrics[LOAD_LATENCY].n, r->requests.ok) +
	       apart(r->metrics[LOAD_RESPONSE].n, r->requests.ok) +
	       apart(r->failed_latency.n, r->requests.failed) +
	       apart(r->client.lateness.n, r->requests.attempted);
}

/* The throughput that is shown against the answers that were counted. */
static double counts_throughput(const struct subject *s)
{
	const struct load_run *r = s->r;
	int64_t ok = load_ends_by_number(s->shape) ? r->requests.ok : r->books.completions_ok;
	double shown = r->throughput.requests_per_s * r->window.duration_s;
	return isfinite(shown) ? fabs(round(shown) - (double)ok) : NAN;
}

static double counts_connections(const struct subject *s)
{
	return apart(s->r->books.opened, s->r->books.closed);
}

static double counts_bytes(const struct subject *s)
{
	return s->r->books.n_compared > 0 ? (double)s->r->books.bytes_apart : NAN;
}

/* ---- limits and plans ---- */

static double own_limits(const struct subject *s)
{
	return (double)s->r->requests.failures[LOAD_FAIL_CLIENT];
}

static bool is_open_loop(const struct subject *s)
{
	return s->shape->rate_per_s > 0;
}

/*
 * Sends that had to wait because the user's own cap was reached are no fault of the client, and the
 * window of a run by requests reaches to the last answer, when long nothing is sent any more.
 */
static double achieved(const struct subject *s)
{
	const struct load_run *r = s->r;
	double planned = r->client.offered_per_s * r->window.duration_s;
	/* what is planned is when sessions begin, where there are any */
	int64_t begun = r->sessions ? r->sessions->started : r->requests.attempted;
	if (!is_open_loop(s) || load_ends_by_number(s->shape) || r->max_in_flight > 0 ||
	        r->partial || !(planned > 0))
		return NAN;
	return (double)begun / planned;
}

/* Within one in a hundred, and within what chance does to arrivals: 4 standard deviations. */
static double achieved_limit(const struct subject *s)
{
	double planned = s->r->client.offered_per_s * s->r->window.duration_s;
	double spread = fmax(1, s->shape->arrival.cv);
	return fmin(0.99, 1 - 4 * spread / sqrt(planned));
}

/* ---- delays of the client ---- */

/* The highest of these percentiles that the samples are enough for; 0 when none is. */
static double tail_of(const struct hist *h)
{
	static const double tails[] = { 0.99, 0.95, 0.9, 0.5 };
	for (size_t i = 0; i < ARRAY_LEN(tails); i++)
		if (quantile_enough(h->n, tails[i]))
			return tails[i];
	return 0;
}

static double tail_ms(const struct hist *h)
{
	double tail = tail_of(h);
	return tail > 0 ? (double)hist_quantile(h, tail) / NS_PER_MS : NAN;
}

/* What the client may add: a twentieth of the shortest time that a request is judged by. */
static double delay_limit_ms(const struct subject *s)
{
	const struct hist *ttft = &s->r->metrics[LOAD_TTFT];
	const struct hist *latency = &s->r->metrics[LOAD_LATENCY];
	const struct hist *h = ttft->n > 0 ? ttft : latency;
	double p50_ms = h->n > 0 ? (double)hist_quantile(h, 0.5) / NS_PER_MS : 0;
	return fmax(1, 0.05 * p50_ms);
}

/* In a closed loop nothing is planned, and at the user's cap sends have to wait. */
static bool has_plan(const struct subject *s)
{
	return is_open_loop(s) && s->r->max_in_flight == 0 && s->r->client.lateness.n > 0;
}

static double lateness(const struct subject *s)
{
	return has_plan(s) ? tail_ms(&s->r->client.lateness) : NAN;
}

/* Of the mean response, what is the client's own: response = lateness + latency. */
static double lateness_share(const struct subject *s)
{
	if (!(lateness(s) > delay_limit_ms(s)))
		return NAN;
	return hist_mean(&s->r->client.lateness) / hist_mean(&s->r->metrics[LOAD_RESPONSE]);
}

/* Of the time of all threads inside the window, what passed in turns longer than limit_ms. */
static double share_in_turns(const struct load_run *r, double limit_ms)
{
	const struct hist *lag = &r->client.loop_lag;
	double thread_ns = (double)r->client.threads * r->window.duration_s * 1e9, sum = 0;
	int64_t upper, count;
	int i = 0;
	if (lag->n == 0 || !(thread_ns > 0))
		return NAN;
	while (hist_next(lag, &i, &upper, &count))
		if ((double)upper > limit_ms * NS_PER_MS)
			sum += (double)upper * (double)count;
	return sum / thread_ns;
}

/* The chance that something that happens at any moment meets such a turn: P99 sees 1 %. */
static double loop_lag(const struct subject *s)
{
	return share_in_turns(s->r, delay_limit_ms(s));
}

/* Longer than any other program keeps a core when it shares it fairly. */
static double stalls(const struct subject *s)
{
	return share_in_turns(s->r, 250);
}

static double receive_delay(const struct subject *s)
{
	return tail_ms(&s->r->client.receive_delay);
}

/*
 * A read has the stamp of its last byte: one that comes later than the next token takes both for
 * one moment, and the gaps between tokens are wrong, stamps or not.
 */
static double delay_over_gap(const struct subject *s, double q)
{
	const struct hist *delay = &s->r->client.receive_delay;
	const struct hist *gap = &s->r->metrics[LOAD_ITL];
	int64_t typical = hist_quantile(gap, 0.5);
	return q > 0 && quantile_enough(delay->n, q) && typical > 0
	               ? (double)hist_quantile(delay, q) / (double)typical
	               : NAN;
}

static double gaps_merged_p50(const struct subject *s)
{
	return delay_over_gap(s, 0.5);
}

static double gaps_merged_tail(const struct subject *s)
{
	return delay_over_gap(s, tail_of(&s->r->client.receive_delay));
}

static double waiting(const struct subject *s)
{
	return s->r->client.waiting_ratio;
}

static double unread(const struct subject *s)
{
	return s->r->client.unread.wait_ms;
}

static double wanted(const struct subject *s)
{
	const struct load_client *c = &s->r->client;
	return isfinite(c->wanted_ratio) ? c->wanted_ratio : c->busiest_thread_ratio;
}

/* Little's law needs many turns of every slot, and an end that the service did not choose. */
static double little(const struct subject *s)
{
	const struct load_run *r = s->r;
	int64_t n = r->requests.ok + r->requests.failed;
	return n > 10 * r->concurrency ? r->client.little_ratio : NAN;
}

/*
 * Of the time between two requests of a slot, what passed in the client. Less than a delay that
 * anybody feels is what it costs to wake up, which no client can avoid.
 */
static double waited_share(const struct subject *s)
{
	double beyond_ms = (little(s) - 1) * hist_mean(&s->r->metrics[LOAD_LATENCY]) / NS_PER_MS;
	return beyond_ms > delay_limit_ms(s) ? 1 - 1 / little(s) : NAN;
}

/* ---- what decides ---- */

static double ceiling(const struct subject *s)
{
	return s->r->client.null_ceiling_per_s / s->r->throughput.requests_per_s;
}

static double second_generator(const struct subject *s)
{
	const struct load_halved *h = &s->r->client.halved;
	if (h->n == 0)
		return NAN;
	/* What chance could have done does not count as more. */
	return h->apart ? h->ratio : fmin(h->ratio, 1);
}

static const struct row rows[] = {
	{ "counts_requests", "1", identity, WEIGHT_INVALID, false, counts_requests, NULL, 0,
	        N_("the counts contradict each other: attempted is not ok, failed and censored") },
	{ "counts_series", "1", identity, WEIGHT_INVALID, false, counts_series, NULL, 0,
	        N_("the counts contradict each other: the seconds do not add up to the run") },
	{ "counts_histograms", "1", identity, WEIGHT_INVALID, false, counts_histograms, NULL, 0,
	        N_("the counts contradict each other: a histogram does not hold every request") },
	{ "counts_throughput", "1", identity, WEIGHT_INVALID, false, counts_throughput, NULL, 0.5,
	        N_("the counts contradict each other: throughput is not answers over time") },
	{ "connections", "1", identity, WEIGHT_INVALID, false, counts_connections, NULL, 0,
	        N_("the counts contradict each other: connections opened and closed differ") },
	{ "bytes", "B", identity, WEIGHT_INVALID, false, counts_bytes, NULL, 0,
	        N_("the counts contradict each other: the client did not read what the kernel "
	           "received") },

	{ "own_limits", "1", by_definition, WEIGHT_GRAVE, false, own_limits, NULL, 0,
	        N_("requests failed for want of open files or ports in the client: raise its "
	           "limits, "
	           "or keep fewer connections") },
	{ "achieved_ratio", "ratio", catalogue, WEIGHT_GRAVE, true, achieved, achieved_limit, 0,
	        N_("fewer requests were sent than planned; add '--threads' or lower '--rate'") },
	{ "stall_ratio", "ratio", rule_of_thumb, WEIGHT_GRAVE, false, stalls, NULL, 0.05,
	        N_("the client stood still for a notable part of the window: it was stopped, or "
	           "got no "
	           "core") },
	{ "lateness_of_response", "ratio", rule_of_thumb, WEIGHT_GRAVE, false, lateness_share, NULL,
	        1.0 / 3,
	        N_("a third of the response or more is the client's own delay: requests left late; "
	           "free the client's cores, or lower the load") },
	{ "client_of_cycle", "ratio", rule_of_thumb, WEIGHT_GRAVE, false, waited_share, NULL,
	        1.0 / 3,
	        N_("answers waited in the client for a third of the time or more (Little's law); "
	           "free "
	           "the client's cores, or add '--threads'") },
	{ "receive_delay_p50_of_itl", "ratio", by_definition, WEIGHT_GRAVE, false, gaps_merged_p50,
	        NULL, 1,
	        N_("most tokens were read only after the next one had come: the gaps between them "
	           "are "
	           "the client's own; free its cores, or lower the load") },

	{ "null_ceiling_over_rate", "ratio", method, WEIGHT_CEILING, true, ceiling, NULL, 3,
	        N_("the client reaches little more against a responder that answers at once; add "
	           "'--threads' or lower the load") },
	{ "second_generator", "ratio", rank_test, WEIGHT_SECOND, false, second_generator, NULL, 1.1,
	        N_("two generators with half the load each got clearly more than one with all of "
	           "it; "
	           "add '--threads'") },

	{ "thread_wanted_ratio", "ratio", catalogue, WEIGHT_FULL, false, wanted, NULL, 0.9,
	        N_("a load thread was at its limit; latencies may be the client's own; add "
	           "'--threads' or lower the load") },
	{ "lateness_tail", "ms", catalogue, WEIGHT_DELAY, false, lateness, delay_limit_ms, 0,
	        N_("requests left later than planned; something else competes for the client's "
	           "cores: free them, or lower the load") },
	{ "little_ratio", "ratio", rule_of_thumb, WEIGHT_WAITED, false, little, NULL, 1.05,
	        N_("answers waited in the client before the next request left (Little's law); free "
	           "the client's cores, or add '--threads'") },
	{ "unread_wait", "ms", catalogue, WEIGHT_DELAY, false, unread, delay_limit_ms, 0,
	        N_("bytes lay unread in the kernel: the client did not keep up with reading") },
	{ "receive_delay_tail_of_itl", "ratio", by_definition, WEIGHT_DELAY, false,
	        gaps_merged_tail, NULL, 1,
	        N_("tokens were read only after the next one had come: the tail of the gaps "
	           "between "
	           "them may be the client's own; free its cores, or lower the load") },

	{ "thread_waiting_ratio", "ratio", rule_of_thumb, WEIGHT_EXPLAINS, false, waiting, NULL,
	        0.1,
	        N_("a load thread waited for a core: other programs, a quota or the machine's host "
	           "took "
	           "it") },
	{ "loop_lag_ratio", "ratio", by_definition, WEIGHT_EXPLAINS, false, loop_lag, NULL, 0.01,
	        N_("the event loop kept answers waiting: more than one moment in a hundred met a "
	           "long "
	           "turn") },
	{ "receive_delay_tail", "ms", catalogue, WEIGHT_EXPLAINS, false, receive_delay,
	        delay_limit_ms, 0,
	        N_("answers were read late; latencies have the kernel's stamps and are right, but "
	           "the "
	           "next requests left late") },

	{ "little_ratio_low", "ratio", rule_of_thumb, WEIGHT_UNEVEN, true, little, NULL, 0.95,
	        N_("fewer requests were in flight than rate times latency says (Little's law); the "
	           "run was too short or too uneven") },
};

void checks_fill(const struct load_shape *shape, struct arena *run, struct load_run *r)
{
	const struct subject s = { r, shape };
	struct load_check *checks = arena_new_n(run, struct load_check, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		double value = row->value(&s);
		double limit = row->limit_of ? row->limit_of(&s) : row->limit;
		bool ok = isnan(value) || (row->at_least ? value >= limit : value <= limit);
		checks[i] = (struct load_check){
			.name = row->name,
			.unit = row->unit,
			.source = row->source,
			.value = value,
			.limit = isnan(value) ? NAN : limit,
			.ok = ok,
			.why = ok ? NULL : _(row->why),
		};
	}
	r->client.checks = checks;
	r->client.n_checks = ARRAY_LEN(rows);
}

/* ---- the verdict ---- */

static bool has_stamps(const struct load_run *r)
{
	return r->client.receive_delay.n > 0;
}

static enum weight weight_of(const struct load_run *r, size_t i)
{
	bool promoted = rows[i].weight == WEIGHT_EXPLAINS && !has_stamps(r);
	return promoted ? WEIGHT_DELAY : rows[i].weight;
}

/* The first row of this weight that failed. */
static const struct load_check *failed(const struct load_run *r, enum weight weight)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!r->client.checks[i].ok && weight_of(r, i) == weight)
			return &r->client.checks[i];
	return NULL;
}

static const struct load_check *suspicion(const struct load_run *r)
{
	const struct load_check *full = failed(r, WEIGHT_FULL);
	const struct load_check *delay = failed(r, WEIGHT_DELAY);
	return full ? full : delay ? delay : failed(r, WEIGHT_WAITED);
}

/* Has one of the two measurements shown that the suspicion is right? */
static bool is_proved(const struct load_run *r)
{
	bool ceiling_tells = failed(r, WEIGHT_FULL) || failed(r, WEIGHT_DELAY);
	return failed(r, WEIGHT_SECOND) || (ceiling_tells && failed(r, WEIGHT_CEILING));
}

static void judge(struct load_run *r, enum load_client_verdict verdict, const char *why)
{
	r->client.verdict = verdict;
	r->client.why = why;
}

static bool has_enough(const struct load_run *r)
{
	return r->requests.ok + r->requests.failed >= enough_requests;
}

/*
 * A suspicion that nothing proved. A full thread is only a fear, which two generators that got no
 * more dispel; where nothing could be measured against it, it stands.
 */
static void judge_suspect(struct load_run *r, const struct load_check *suspect)
{
	const struct load_client *c = &r->client;
	bool full = failed(r, WEIGHT_FULL);
	bool only = full && !failed(r, WEIGHT_DELAY) && !failed(r, WEIGHT_WAITED);
	if (only && c->halved.n > 0)
		judge(r, LOAD_CLIENT_OK,
		        _("a load thread was nearly full, but two generators with half the load "
		          "each "
		          "got no more"));
	else if (full && isnan(c->null_ceiling_per_s))
		judge(r, LOAD_CLIENT_LIMITED, suspect->why);
	else
		judge(r, LOAD_CLIENT_UNKNOWN, suspect->why);
}

void checks_judge(struct load_run *r)
{
	const struct load_check *invalid = failed(r, WEIGHT_INVALID);
	const struct load_check *grave = failed(r, WEIGHT_GRAVE);
	const struct load_check *suspect = suspicion(r);
	const struct load_check *uneven = failed(r, WEIGHT_UNEVEN);
	bool own_limits = r->requests.failures[LOAD_FAIL_CLIENT] > 0;
	if (invalid)
		judge(r, LOAD_CLIENT_INVALID, invalid->why);
	else if (!has_enough(r) && !own_limits)
		judge(r, LOAD_CLIENT_UNKNOWN, _("too few requests to judge the client"));
	else if (grave)
		judge(r, LOAD_CLIENT_LIMITED, grave->why);
	else if (suspect && is_proved(r))
		judge(r, LOAD_CLIENT_LIMITED, suspect->why);
	else if (suspect)
		judge_suspect(r, suspect);
	else if (uneven)
		judge(r, LOAD_CLIENT_UNKNOWN, uneven->why);
	else if (failed(r, WEIGHT_EXPLAINS))
		judge(r, LOAD_CLIENT_OK,
		        _("the client was slowed at times, too little to touch the figures"));
	else
		judge(r, LOAD_CLIENT_OK,
		        _("load threads had time to spare and requests left when planned"));
}

enum checks_next checks_next(const struct load_run *r, bool has_ceiling)
{
	bool ceiling_tells =
	        failed(r, WEIGHT_FULL) || failed(r, WEIGHT_DELAY) || failed(r, WEIGHT_GRAVE);
	if (!has_enough(r) || r->partial || failed(r, WEIGHT_INVALID))
		return CHECKS_DONE;
	if (ceiling_tells && !has_ceiling)
		return CHECKS_NEED_CEILING;
	if (failed(r, WEIGHT_GRAVE) || !suspicion(r) || is_proved(r))
		return CHECKS_DONE;
	return CHECKS_NEED_SECOND;
}
