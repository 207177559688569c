/*
 * selfcheck.c - is the generator the bottleneck? A signal (a full thread, late sends) is only a
 * suspicion; the ceiling against a responder that answers at once decides.
 */
#include "load/internal.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "load/null_responder.h"

#include <math.h>

/* Source of the anchors: catalogue of causes, client_saturated. */
static const double busy_thread_max = 0.9;
static const double ceiling_factor_min = 3;
static const double lateness_ratio_max = 0.05;
static const int64_t lateness_min_ns = NS_PER_MS;
static const double achieved_ratio_min = 0.99;
static const double little_tolerance = 0.05;
static const int64_t enough_requests = 20;

static const int64_t ceiling_warmup_ns = 100 * NS_PER_MS;
static const int64_t ceiling_window_ns = 300 * NS_PER_MS;

bool load_null_ceiling(struct load *load, int64_t concurrency, struct arena *run,
	double *ret_per_s, struct err *err)
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

static bool is_late(const struct load_run *r)
{
	if (r->client.lateness.n == 0)
		return false;
	int64_t p99 = hist_quantile(&r->client.lateness, 0.99);
	int64_t p50 = hist_quantile(&r->metrics[LOAD_LATENCY], 0.5);
	double limit = fmax((double)lateness_min_ns, lateness_ratio_max * (double)p50);
	return (double)p99 > limit;
}

/*
 * Fewer requests than planned, beyond the chance of the arrivals. Sends that had to wait
 * because the user's own cap was reached are no fault of the client, and the window of a run by
 * requests reaches to the last answer, when long nothing is sent any more.
 */
static bool falls_behind(const struct load_shape *shape, const struct load_run *r)
{
	double planned = r->client.offered_per_s * r->window.duration_s;
	double sent = (double)r->requests.attempted;
	double spread = fmax(1, shape->arrival.cv);
	return !isnan(planned) && shape->requests == 0 && r->max_in_flight == 0 && !r->partial &&
		sent < achieved_ratio_min * planned && sent < planned - 4 * spread * sqrt(planned);
}

static void judge(struct load_run *r, enum load_client_verdict verdict, const char *why)
{
	r->client.verdict = verdict;
	r->client.why = why;
}

void load_self_check(struct load *load, const struct load_shape *shape, struct arena *run,
	struct load_run *r)
{
	struct load_client *client = &r->client;
	struct err err;
	int64_t n = r->requests.ok + r->requests.failed;
	double rate = r->throughput.requests_per_s;
	bool capped = r->max_in_flight > 0;
	bool busy = client->busiest_thread_ratio >= busy_thread_max;
	bool late = is_late(r) && !capped;
	if (!load->config.check_client) {
		judge(r, LOAD_CLIENT_UNKNOWN, _("the check was switched off"));
		return;
	}
	if (n < enough_requests) {
		judge(r, LOAD_CLIENT_UNKNOWN, _("too few requests to judge the client"));
		return;
	}
	if (busy || late || falls_behind(shape, r)) {
		int64_t concurrency = shape->rate_per_s > 0 ?
			(int64_t)fmax(1, ceil(rate * hist_mean(&r->metrics[LOAD_LATENCY]) / 1e9)) :
			shape->concurrency;
		if (!load_null_ceiling(load, concurrency, run, &client->null_ceiling_per_s, &err))
			client->null_ceiling_per_s = NAN;
	}
	bool low_ceiling = client->null_ceiling_per_s < ceiling_factor_min * rate;
	bool confirmed = low_ceiling || isnan(client->null_ceiling_per_s);
	if (busy)
		judge(r, confirmed ? LOAD_CLIENT_LIMITED : LOAD_CLIENT_UNKNOWN,
			_("a load thread was at its limit; latencies may be the client's own; add "
			  "'--threads' or lower the load"));
	else if (falls_behind(shape, r))
		judge(r, LOAD_CLIENT_LIMITED,
			_("fewer requests were sent than planned; add '--threads' or lower '--rate'"));
	else if (late)
		judge(r, low_ceiling ? LOAD_CLIENT_LIMITED : LOAD_CLIENT_UNKNOWN,
			_("requests left later than planned; something else competes for the client's "
			  "cores: free them, or lower the load"));
	else if (client->little_ratio > 1 + little_tolerance && n > 10 * r->concurrency)
		judge(r, LOAD_CLIENT_UNKNOWN,
			_("answers waited in the client before the next request left (Little's law); free "
			  "the client's cores, or add '--threads'"));
	else if (client->little_ratio < 1 - little_tolerance && n > 10 * r->concurrency)
		judge(r, LOAD_CLIENT_UNKNOWN,
			_("fewer requests were in flight than rate times latency says (Little's law); the "
			  "run was too short or too uneven"));
	else
		judge(r, LOAD_CLIENT_OK,
			_("load threads had time to spare and requests left when planned"));
}
