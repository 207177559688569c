#include "base/clock.h"
#include "base/i18n.h"
#include "diagnose/finding.h"
#include "diagnose/trace_facts.h"

#include <math.h>

static void no_batching(struct examination *x)
{
	const struct figures *fig = x->figures;
	double concurrency = anchor(ANCHOR_BATCH_CONCURRENCY);
	if (!fig->top || (double)fig->top->concurrency < concurrency ||
	        !isfinite(fig->parallelism)) {
		finding_needs(x, _("Needs a measurement with at least 8 requests at once."));
		return;
	}
	double most = (double)fig->top->concurrency;
	finding_add(x, "requests_per_s_max", fig->x_max, "req/s", NO_ANCHOR, NULL, 0);
	finding_add(x, "latency_ms_alone", fig->r_alone_ms, "ms", NO_ANCHOR, x->evidence->alone,
	        x->evidence->alone->requests.ok);
	finding_add(x, "parallelism", fig->parallelism, "1", ANCHOR_BATCH_MEAN, fig->top,
	        fig->top->requests.ok);
	if (fig->parallelism < anchor(ANCHOR_BATCH_MEAN)) {
		/* the experiment's threshold, T(8) < 4 T(1), is the least that batching gives */
		double low = concurrency / anchor(ANCHOR_BATCH_PAYS);
		finding_predict(x, "requests_per_s", low, fmin(concurrency, most), "ratio", "G4");
		x->throughput_gain = sqrt(low * x->finding->predicted.high);
		finding_conclude(x, CAUSE_PROBABLE,
		        _("With %lld requests at once the service finishes no more than %.2f times "
		          "what it does with one: throughput is one over latency."),
		        (long long)fig->top->concurrency, fig->parallelism);
	} else if (fig->parallelism >= anchor(ANCHOR_BATCH_PAYS) && !fig->slots.pinned) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("Requests share the device: %.1f of them progress as fast as one alone, "
		          "and no fixed number caps them."),
		        fig->parallelism);
	} else {
		finding_needs(
		        x, _("Needs the mean batch size from the service's metrics: requests "
		             "run side by side, but load alone does not tell whether one pass "
		             "holds several."));
	}
}

static void slots_facts(struct examination *x)
{
	const struct figures *fig = x->figures;
	const struct slots *s = &fig->slots;
	const struct load_run *high = fig->top;
	const struct load_run *low = evidence_point(x->evidence, s->n_low);
	finding_add(x, "slots", s->k, "1", NO_ANCHOR, NULL, 0);
	finding_add(x, "parallelism", fig->parallelism, "1", NO_ANCHOR, NULL, 0);
	finding_add(x, "streams_active_mean", s->active_low, "1", NO_ANCHOR, low, low->requests.ok);
	finding_add(
	        x, "streams_active_mean", s->active_high, "1", NO_ANCHOR, high, high->requests.ok);
	finding_add(x, "queue_ratio", s->queue_ratio, "ratio", ANCHOR_SLOTS_QUEUE, high,
	        high->requests.ok);
	finding_add(x, "itl_over_alone", s->itl_ratio, "ratio", ANCHOR_SLOTS_ITL, high,
	        high->metrics[LOAD_ITL].n);
	finding_add(x, "slots_misfit", s->misfit, "ratio", ANCHOR_SLOTS_PINNED, NULL, 0);
}

/*
 * What twice the slots would give: at most twice, at most what the requests at hand can fill, and
 * where a step grows with the number of sequences (T(b) = a + c b through b = 1 and b = K), only
 * 2 T(K) / T(2K).
 */
static double doubled_slots_gain(const struct slots *s)
{
	double high = fmin(2, (double)s->n_high / s->k);
	if (s->k > 1 && s->itl_ratio > 1) {
		double c = (s->itl_ratio - 1) / (s->k - 1);
		high = fmin(high, 2 * s->itl_ratio / (s->itl_ratio + c * s->k));
	}
	return fmax(1, high);
}

static void too_few_slots(struct examination *x)
{
	const struct slots *s = &x->figures->slots;
	if (!s->examined) {
		finding_needs(x, _("Needs two loads of several requests at once, one twice the "
		                   "other."));
		return;
	}
	slots_facts(x);
	double gain = doubled_slots_gain(s);
	if (s->queue_ratio < anchor(ANCHOR_NOISE)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("With %lld requests at once %.1f %% of the latency is spent before the "
		          "work begins: no queue stands in front of the service."),
		        (long long)s->n_high, fmax(0, s->queue_ratio) * 100);
		return;
	}
	if (!s->pinned) {
		finding_needs(
		        x, _("Needs the number of requests under work at each stage from the "
		             "service's metrics: requests wait, but load alone shows no fixed "
		             "number under work."));
		return;
	}
	if (gain < 1 + anchor(ANCHOR_NOISE)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("%.0f requests are under work at a time, but each is already slowed by "
		          "the others %.1f times: twice as many would bring less than noise."),
		        s->k, s->itl_ratio);
		return;
	}
	finding_predict(x, "requests_per_s", 1, gain, "ratio", "G3");
	x->throughput_gain = sqrt(gain);
	if (s->streamed)
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Requests under work at a time: %.0f, whether %lld or %lld are sent at "
		          "once; the rest wait in front, and a token takes %.2f times as long as "
		          "alone."),
		        s->k, (long long)s->n_low, (long long)s->n_high, s->itl_ratio);
	else
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Requests under work at a time: %.0f, each as fast as alone, with the "
		          "rest waiting in front; this describes the curve within %.0f %%."),
		        s->k, s->misfit * 100);
}

/* What a saturated service and an overloaded generator both show. */
static void judge_halved(
        struct examination *x, const struct effect *rate, const struct effect *latency)
{
	const struct evidence *ev = x->evidence;
	const struct figures *fig = x->figures;
	const struct load_run *op = ev->operating;
	double proportion = (double)ev->halved.b[0]->concurrency / (double)op->concurrency;
	bool moves_along = fabs(latency->ratio / proportion - 1) <= anchor(ANCHOR_PROPORTION);
	bool client_fit = ev->null_ceiling_per_s >= anchor(ANCHOR_NULL_CEILING) * fig->x_max;
	if (rate->beyond_noise && rate->ratio < 1)
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("Half the concurrency gives only %.2f times the throughput: the load in "
		          "use is not past the knee."),
		        rate->ratio);
	else if (rate->beyond_noise || !moves_along)
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Half the concurrency gives %.2f times the throughput and %.2f times the "
		          "latency, which is not what saturation alone would do."),
		        rate->ratio, latency->ratio);
	else if (fig->pinned)
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Half the concurrency gives the same throughput (%.2f times) at %.2f "
		          "times the latency, but so it would with requests taken one at a time or "
		          "in "
		          "a fixed number, which the figures show: cure that first."),
		        rate->ratio, latency->ratio);
	else if (fig->waiting_ratio < anchor(ANCHOR_WAITING))
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Half the concurrency gives the same throughput (%.2f times) at %.2f "
		          "times the latency, but waiting is only %.0f %% of the latency."),
		        rate->ratio, latency->ratio, fig->waiting_ratio * 100);
	else if (!client_fit)
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Half the concurrency gives the same throughput (%.2f times) at %.2f "
		          "times the latency, but the generator was not shown to reach more."),
		        rate->ratio, latency->ratio);
	else
		finding_conclude(x, CAUSE_CONFIRMED,
		        _("Half the concurrency gives the same throughput (%.2f times) at %.2f "
		          "times the latency: requests only wait for each other."),
		        rate->ratio, latency->ratio);
}

static void queue_saturation(struct examination *x)
{
	const struct evidence *ev = x->evidence;
	const struct figures *fig = x->figures;
	const struct load_run *op = ev->operating;
	if (!op || op->concurrency == 0 || !isfinite(fig->waiting_ratio))
		return;
	int64_t n = op->requests.ok;
	finding_add(x, "little_ratio", op->client.little_ratio, "ratio", NO_ANCHOR, op, n);
	finding_add(x, "waiting_ratio", fig->waiting_ratio, "ratio", ANCHOR_WAITING, op, n);
	finding_add(x, "throughput_per_doubling", fig->doubling_gain, "ratio", ANCHOR_FLAT, op, n);
	if (fig->waiting_ratio < anchor(ANCHOR_NOISE)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("Waiting for other requests is %.1f %% of the latency, which is below "
		          "noise."),
		        fmax(0, fig->waiting_ratio) * 100);
		return;
	}
	double knee_ratio = 1 - fig->waiting_ratio;
	finding_predict(x, "latency_ms_p50", knee_ratio,
	        fmin(1, fmax(0.5, knee_ratio) * (1 + anchor(ANCHOR_PROPORTION))), "ratio", "G3");
	struct effect rate = evidence_effect(&ev->halved, run_throughput);
	struct effect latency = evidence_effect(&ev->halved, run_latency_ms);
	if (rate.n >= (int)anchor(ANCHOR_PAIRS)) {
		finding_effect(x, "throughput_at_half_concurrency", &rate);
		finding_effect(x, "latency_at_half_concurrency", &latency);
		judge_halved(x, &rate, &latency);
	} else if (!isfinite(fig->doubling_gain)) {
		finding_needs(x, _("Needs a measurement at half the concurrency."));
	} else if (fig->doubling_gain < anchor(ANCHOR_FLAT)) {
		finding_conclude(x, CAUSE_PROBABLE,
		        _("Twice the concurrency brought %.2f times the throughput, and %.0f %% of "
		          "the latency is waiting; no interleaved runs were made."),
		        fig->doubling_gain, fig->waiting_ratio * 100);
	} else {
		finding_conclude(x, CAUSE_PROBABLE,
		        _("%.0f %% of the latency is waiting for other requests, though throughput "
		          "still grew %.2f times with twice the concurrency."),
		        fig->waiting_ratio * 100, fig->doubling_gain);
	}
}

static const struct cause rows[] = {
	{
	        .id = "no_batching",
	        .name = N_("batching off or without effect"),
	        .layer = 'F',
	        .check = N_("Throughput is one over latency at any concurrency."),
	        .needs = N_("Needs a measurement alone and one with many requests at once."),
	        .experiment = N_("Batches of 1, 2, 4, 8: it pays when 8 take less than 4 times as "
	                         "long as 1."),
	        .fix = N_("Switch dynamic or continuous batching on."),
	        .gain = "G4",
	        .examine = no_batching,
	},
	{
	        .id = "batch_delay_too_long",
	        .name = N_("batch window too long"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Queue time of a lone request equals the configured window; batches leave "
	                "on time-out."),
	        .needs = N_("Needs the configured batch window and the service's queue time."),
	        .experiment = N_("Set the window to 0: P50 falls by the window."),
	        .fix = N_("Use a window of 0 to 8 ms from the first arrival, dispatch at once when "
	                  "idle."),
	        .gain = "G15",
	},
	{
	        .id = "batch_size_off_sla",
	        .name = N_("batch cap does not fit the SLA"),
	        .layer = 'F',
	        .check = N_("The batch cap differs from the largest batch that keeps the target."),
	        .needs = N_("Needs the service's batch cap and its time per batch size."),
	        .experiment =
	                N_("Sweep caps of 1, 2, 4, 8, 16, 32: another one gives more throughput "
	                   "within the target."),
	        .fix = N_("Set the cap from the sweep."),
	        .gain = "G4",
	},
	{
	        .id = "padding_waste",
	        .name = N_("padding waste"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("A fifth of the tokens in a batch is padding."),
	        .needs = N_("Needs the lengths inside batches, from the service's metrics or a "
	                    "trace."),
	        .experiment = N_("Send the same requests sorted by length."),
	        .fix = N_("Use buckets, sort within the window, packed kernels; keep outliers "
	                  "apart."),
	        .gain = "G5",
	},
	{
	        .id = "static_batch_straggler",
	        .name = N_("static batch waits for the longest"),
	        .layer = 'F',
	        .check = N_(
	                "Answers end in groups, and at most 70 % of the slots are occupied within "
	                "a batch."),
	        .needs = N_("Needs the occupied slots per step from the service's metrics."),
	        .experiment = N_("Ask for equal output lengths, or batch continuously."),
	        .fix = N_("Batch continuously, group by expected length."),
	        .gain = "G4",
	},
	{
	        .id = "prefill_starves_decode",
	        .name = N_("prefill starves decode"),
	        .layer = 'F',
	        .check =
	                N_("Gaps between tokens spike when prompts are processed, by prompt tokens "
	                   "over prefill rate."),
	        .needs = N_("Needs long prompts sent into steady decoding, or the service's step "
	                    "log."),
	        .experiment =
	                N_("Send one long prompt into steady decoding, with and without chunked "
	                   "prefill."),
	        .fix = N_(
	                "Prefill in chunks, give each step a token budget, or prefill elsewhere."),
	        .gain = "G15",
	},
	{
	        .id = "long_request_hol",
	        .name = N_("head-of-line blocking"),
	        .layer = 'F',
	        .check =
	                N_("Service times vary strongly and short requests wait behind long ones."),
	        .needs =
	                N_("Needs requests of known, mixed lengths and their order of completion."),
	        .experiment =
	                N_("Take the long requests out, or give them a lane: P99 of the short "
	                   "ones falls."),
	        .fix = N_("Use lanes by length, shortest first, chunking, a limit."),
	        .gain = "G3",
	},
	{
	        .id = "queue_saturation",
	        .name = N_("past saturation"),
	        .layer = 'F',
	        .check =
	                N_("Latency grows with the concurrency while throughput stays; most of the "
	                   "latency is waiting."),
	        .needs = N_("Needs a closed loop at the load in use, and one alone."),
	        .experiment = N_("Half the concurrency: the same throughput, half the latency."),
	        .fix = N_(
	                "Admit requests up to the knee and shed the rest; cure the stage with the "
	                "largest demand; add replicas."),
	        .gain = "G3",
	        .examine = queue_saturation,
	},
	{
	        .id = "arrival_burst",
	        .name = N_("bursty arrivals"),
	        .layer = 'F',
	        .check = N_("Arrivals vary strongly and requests queue in bursts only."),
	        .needs = N_("Needs the arrival times of real traffic."),
	        .experiment = N_("The same mean rate, evenly spaced: P99 falls."),
	        .fix = N_("Leave headroom, smooth arrivals, set priorities, scale faster."),
	        .gain = "G3",
	},
	{
	        .id = "too_few_slots",
	        .name = N_("too few instances, threads, slots"),
	        .layer = 'F',
	        .check = N_(
	                "The number of requests under work is pinned while others wait, and those "
	                "under work are not slowed."),
	        .needs = N_("Needs two loads of several requests at once."),
	        .experiment = N_("Double only that number: throughput rises."),
	        .fix = N_("Raise the number of slots, threads or instances; call asynchronously."),
	        .gain = "G3",
	        .examine = too_few_slots,
	},
	{
	        .id = "dynamic_shape_recompile",
	        .name = N_("recompile or re-tune per shape"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("The first request of a shape takes three times its repeats or more."),
	        .needs = N_("Needs requests of known shapes, each repeated."),
	        .experiment = N_("Cycle through several shapes against repeating one."),
	        .fix = N_("Warm up shape buckets, use dynamic profiles, heuristic search, caches."),
	        .gain = "G15",
	        .examine = examine_by_trace,
	},
	{
	        .id = "spec_decode_low_accept",
	        .name = N_("speculative decoding does not pay"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("By its acceptance rate speculation saves less than a tenth."),
	        .needs = N_("Needs the acceptance rate from the service's metrics."),
	        .experiment =
	                N_("Switch it off with the same prompts: time per token is no worse."),
	        .fix = N_(
	                "Draft fewer tokens, switch off above a batch size, use a better drafter."),
	        .gain = "G13",
	},
	{
	        .id = "adapter_swap",
	        .name = N_("adapter swapping"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("More adapters are active than fit, and loads happen at the start of "
	                    "requests."),
	        .needs = N_("Needs the service's metrics of adapters and their loads."),
	        .experiment = N_("The same load with one adapter."),
	        .fix = N_("Add slots, route by affinity, preload, unload unused adapters."),
	        .gain = "G15",
	},
	{
	        .id = "prefix_cache_miss",
	        .name = N_("prefix cache missed"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("The hit rate is far below what the prompts would allow."),
	        .needs =
	                N_("Needs the hit rate from the service's metrics and prompts that share a "
	                   "beginning."),
	        .experiment =
	                N_("The same prompt twice to one replica halves the time to the first "
	                   "token."),
	        .fix = N_("Keep the beginning of prompts stable, route by prefix, enlarge the KV "
	                  "cache."),
	        .gain = "G15",
	},
};

const struct cause_group cause_group_batching = { 'B', rows, ARRAY_LEN(rows) };
