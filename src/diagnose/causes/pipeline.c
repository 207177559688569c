#include "base/clock.h"
#include "base/i18n.h"
#include "diagnose/finding.h"
#include "diagnose/trace_facts.h"

#include <math.h>

static double mean_hits(const struct load_run *const *runs, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += ack_hits_per_request(runs[i]);
	return sum / n;
}

static void judge_quickack(struct examination *x, double bound)
{
	const struct evidence_pairs *pairs = &x->evidence->quickack;
	struct effect latency = evidence_effect(pairs, run_latency_ms);
	double before = mean_hits(pairs->a, pairs->n);
	double after = mean_hits(pairs->b, pairs->n);
	finding_effect(x, "latency_with_quick_ack", &latency);
	finding_add(x, "delays_near_40_ms_with_quick_ack", after, "1", ANCHOR_ACK_HITS, pairs->b[0],
	        pairs->b[0]->requests.ok);
	if (latency.beyond_noise && latency.ratio < 1 && after < before / 2)
		finding_conclude(x, CAUSE_CONFIRMED,
		        _("With every segment acknowledged at once the delays near 40 ms went from "
		          "%.2f to %.2f per request and the latency to %.2f times what it was: the "
		          "service writes in small pieces and waits for acknowledgements."),
		        before, after, latency.ratio);
	else if (!latency.beyond_noise && bound > latency.noise && after > before / 2)
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("Acknowledging every segment at once changed nothing, though it would "
		          "have taken %.0f %% off the latency: the delays near 40 ms are the "
		          "service's own."),
		        bound * 100);
}

static void nagle_delayed_ack(struct examination *x)
{
	const struct load_run *r = x->evidence->alone;
	if (!r)
		return;
	double hits = ack_hits_per_request(r);
	double bound = ack_bound_ratio(r);
	if (!isfinite(hits) || !isfinite(bound))
		return;
	finding_add(
	        x, "delays_near_40_ms_per_request", hits, "1", ANCHOR_ACK_HITS, r, r->requests.ok);
	finding_add(x, "delayed_ack_bound_ratio", bound, "ratio", ANCHOR_NOISE, r, r->requests.ok);
	if (bound < anchor(ANCHOR_NOISE)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("%.2f delays per request lie near 40 ms; without them the latency would "
		          "be at most %.1f %% lower, which is below noise."),
		        hits, bound * 100);
		return;
	}
	finding_predict(x, "latency_ms_mean", -hits * anchor(ANCHOR_ACK_HIGH),
	        -hits * anchor(ANCHOR_ACK), "ms", "G15");
	x->throughput_gain = 1 / (1 - fmin(bound, 0.9));
	finding_conclude(x, CAUSE_PROBABLE,
	        _("%.2f delays per request lie near 40 ms or twice that, the time after which an "
	          "acknowledgement is sent on its own."),
	        hits);
	if (x->evidence->quickack.n >= (int)anchor(ANCHOR_PAIRS))
		judge_quickack(x, bound);
}

static void no_keepalive(struct examination *x)
{
	const struct load_run *op = x->evidence->operating;
	if (!op || op->requests.ok == 0)
		return;
	const struct load_transport *t = &op->transport;
	double n = (double)op->requests.ok;
	double ratio = fmax((double)t->connections_opened, (double)t->server_closes) / n;
	/* warm connections that were opened before the window leave nothing to time */
	double connect_ms = t->connect.n > 0 ? hist_mean(&t->connect) / NS_PER_MS : NAN;
	double share = connect_ms / run_quantile_ms(op, LOAD_LATENCY, 0.5);
	finding_add(x, "connections_over_requests", ratio, "ratio", ANCHOR_RECONNECT, op,
	        op->requests.ok);
	finding_add(x, "connect_ms_mean", connect_ms, "ms", NO_ANCHOR, op, t->connect.n);
	finding_add(x, "connect_over_p50", share, "ratio", ANCHOR_CONNECT, op, t->connect.n);
	if (ratio < anchor(ANCHOR_RECONNECT)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("Connections are used again: %.2f new ones per request."), ratio);
	} else if (share < anchor(ANCHOR_CONNECT_NONE)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("Every request needs a connection of its own, but opening one takes only "
		          "%.1f %% of the latency."),
		        share * 100);
	} else if (isfinite(share)) {
		finding_predict(x, "latency_ms_p50", -connect_ms, -connect_ms / 2, "ms", "G15");
		x->throughput_gain = 1 + share / 2;
		finding_conclude(x, CAUSE_PROBABLE,
		        _("The service closes the connection after %.0f %% of the requests; "
		          "opening "
		          "one takes %.2f ms, %.0f %% of the latency."),
		        fmin(1, ratio) * 100, connect_ms, share * 100);
	} else {
		finding_needs(x, _("Needs the time that opening a connection takes."));
	}
}

static void stream_buffering(struct examination *x)
{
	const struct load_run *r = x->evidence->alone;
	if (!r || r->transport.stream_share_pm.n == 0)
		return;
	const struct load_transport *t = &r->transport;
	double share = (double)hist_quantile(&t->stream_share_pm, 0.5) / 1000;
	double per_read = t->reads_with_tokens > 0
	                          ? (double)t->token_events / (double)t->reads_with_tokens
	                          : NAN;
	bool late = share >= anchor(ANCHOR_BUFFERED_TTFT);
	bool clumps = per_read >= anchor(ANCHOR_BUFFERED_READ);
	finding_add(x, "ttft_over_latency", share, "ratio", ANCHOR_BUFFERED_TTFT, r,
	        t->stream_share_pm.n);
	finding_add(
	        x, "events_per_read", per_read, "1", ANCHOR_BUFFERED_READ, r, t->reads_with_tokens);
	if (late && !(per_read < anchor(ANCHOR_BUFFERED_READ)))
		finding_conclude(x, CAUSE_PROBABLE,
		        _("With one request alone the first token comes after %.0f %% of the whole "
		          "time, and the rest in clumps."),
		        share * 100);
	else if (clumps)
		finding_conclude(x, CAUSE_PROBABLE, _("Tokens arrive in clumps of %.1f per read."),
		        per_read);
	else if (isfinite(per_read) || !late)
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("Tokens arrive one after another: the first after %.0f %% of the time, "
		          "%.1f per read."),
		        share * 100, isfinite(per_read) ? per_read : 1);
	if (x->finding->state == CAUSE_PROBABLE) {
		double ttft_ms = run_quantile_ms(r, LOAD_TTFT, 0.5);
		finding_predict(x, "ttft_ms_p50", -ttft_ms, 0, "ms", "G15");
	}
}

static const struct cause rows[] = {
	{
	        .id = "tokenize_blocks_loop",
	        .name = N_("CPU work on the event loop"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("The loop thread is 90 % on CPU, in tokenizer, template or JSON, while "
	                    "the engine has nothing queued."),
	        .needs = N_("Needs the CPU time of each thread of the service and stack samples of "
	                    "its loop."),
	        .experiment = N_("Send token ids instead of text: TTFT and batch size change."),
	        .fix = N_("Use a pool of threads or processes, several front ends, cached "
	                  "templates."),
	        .gain = "G1",
	},
	{
	        .id = "sync_preprocess",
	        .name = N_("preprocessing serial with inference"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Time per item is the sum of processor and device time; the gap per batch "
	                "is the processor's part."),
	        .needs = N_("Needs a trace, or the service's time per stage."),
	        .experiment = N_("Replay prepared inputs: throughput becomes that of the device "
	                         "alone."),
	        .fix = N_("Use a producer-consumer queue, double buffers, workers."),
	        .gain = "G2",
	        .examine = examine_by_trace,
	},
	{
	        .id = "preprocess_cpu_bound",
	        .name = N_("not enough CPU for preprocessing"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check =
	                N_("Workers are 90 % on CPU and the queue of ready inputs is empty most of "
	                   "the time."),
	        .needs =
	                N_("Needs the service's process, CPU pressure, and the length of its ready "
	                   "queue."),
	        .experiment = N_("Prepared inputs, or more workers while cores are free, raise the "
	                         "throughput."),
	        .fix = N_("Use a faster decoder, decode at the target size or on the device, add "
	                  "workers or hosts."),
	        .gain = "G2",
	},
	{
	        .id = "host_step_serial",
	        .name = N_("host scheduling serial with the step"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("The gap between two steps is 10 % of a step or more, without a copy "
	                    "in it, while a host thread schedules."),
	        .needs = N_("Needs a device trace, or step times with stack samples."),
	        .experiment = N_("Schedule asynchronously: a step takes the larger of both times "
	                         "instead of their sum."),
	        .fix = N_("Schedule the next step before collecting the present one; schedule in "
	                  "native code."),
	        .gain = "G2",
	        .examine = examine_by_trace,
	},
	{
	        .id = "interpreter_lock",
	        .name = N_("interpreter lock"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("A process with many runnable threads stays at one core; half of the "
	                    "samples wait for the lock."),
	        .needs = N_("Needs the service's process and stack samples."),
	        .experiment = N_("Run the same number of workers as processes: throughput scales."),
	        .fix = N_(
	                "Use processes, native code outside the lock, fewer callbacks per token."),
	        .gain = "G1",
	},
	{
	        .id = "runtime_gc_pause",
	        .name = N_("garbage-collection pauses"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Pauses take 2 % of the time or more, and the spikes of P99 coincide with "
	                "them."),
	        .needs = N_("Needs the runtime's log of its collections."),
	        .experiment = N_("Switch the collector off, or freeze the heap, for one run."),
	        .fix = N_("Freeze after warm-up, raise thresholds, make no objects per token."),
	        .gain = "G7",
	},
	{
	        .id = "serialize_cost",
	        .name = N_("(de)serialisation cost"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check =
	                N_("A fifth of the latency is neither inference nor network; stacks are in "
	                   "JSON, base64 or protobuf."),
	        .needs = N_("Needs the service's time per stage, or stack samples."),
	        .experiment = N_("Ask for an empty or a binary answer to the same request."),
	        .fix = N_("Use binary tensors, shared memory, a better encoder, a smaller answer."),
	        .gain = "G15",
	},
	{
	        .id = "detokenize_cost",
	        .name = N_("detokenise / stream cost"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("The gap between tokens grows along the answer, or host time per token "
	                    "reaches the step time."),
	        .needs = N_("Needs the gaps between tokens by their place in the answer, and stack "
	                    "samples."),
	        .experiment = N_("Return ids only: the gap between tokens falls."),
	        .fix = N_("Decode incrementally, several tokens per event, or in another process."),
	        .gain = "G1",
	},
	{
	        .id = "sampling_on_host",
	        .name = N_("sampling or grammar on host"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("Time per token depends on penalties, log-probabilities, schema or "
	                    "grammar."),
	        .needs = N_(
	                "Needs runs with and without the request parameters, and stack samples."),
	        .experiment = N_("The same load, greedy, without the parameter."),
	        .fix = N_("Sample on the device, vectorise penalties, compile and cache grammars."),
	        .gain = "G1",
	},
	{
	        .id = "nagle_delayed_ack",
	        .name = N_("Nagle with delayed ACK"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("Delays lie near 40 ms or twice that, whatever the work."),
	        .needs = N_("Needs answers whose body or tokens arrive after their first byte."),
	        .experiment =
	                N_("Acknowledge every segment at once in the client, or set no-delay in "
	                   "the service: 40 ms less for each delay."),
	        .fix = N_("Set no-delay (TCP_NODELAY) in the service and write each message in one "
	                  "piece."),
	        .gain = "G15",
	        .examine = nagle_delayed_ack,
	},
	{
	        .id = "no_keepalive",
	        .name = N_("no connection reuse"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("At least every second request opens a connection, and that takes a "
	                    "notable part of its latency."),
	        .needs = N_("Needs a measurement under the load in use."),
	        .experiment =
	                N_("Keep connections open: the latency falls by connect and TLS time."),
	        .fix = N_("Keep connections alive, use a pool or HTTP/2."),
	        .gain = "G15",
	        .examine = no_keepalive,
	},
	{
	        .id = "stream_buffering",
	        .name = N_("streaming is buffered"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("The first token comes near the end of the answer, and tokens come in "
	                    "clumps."),
	        .needs = N_("Needs streamed answers of more than 10 events."),
	        .experiment = N_("A probe of timed events from the inside out: the hop where the "
	                         "spread collapses is the one."),
	        .fix = N_("Flush after every event; switch proxy buffering and compression of "
	                  "streams "
	                  "off, use HTTP/1.1 upstream."),
	        .gain = "G15",
	        .examine = stream_buffering,
	},
	{
	        .id = "observer_overhead",
	        .name = N_("logging, metrics, tracing"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("Every request writes or syncs log lines, or a profiler is attached."),
	        .needs = N_("Needs the service's process: bytes written, syncs, stack samples."),
	        .experiment = N_("Lower the level, or sample one request in a hundred."),
	        .fix = N_("Log through an asynchronous ring, sample, lower the level."),
	        .gain = "G15",
	},
	{
	        .id = "load_imbalance",
	        .name = N_("replicas unevenly loaded"),
	        .layer = 'S',
	        .check = N_("The fullest replica holds twice the mean for a minute or longer."),
	        .needs = N_("Needs the metrics of every replica."),
	        .experiment =
	                N_("Route to the least loaded replica, or load one replica alone with "
	                   "its share."),
	        .fix = N_("Route by least requests, limit affinity by load, rebalance long "
	                  "connections."),
	        .gain = "G3",
	},
};

const struct cause_group cause_group_pipeline = { 'D', rows, ARRAY_LEN(rows) };
