#include "load/options.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "load/endpoint.h"
#include "load/schedule.h"
#include "load/worker.h"

#include <string.h>

#define WEEK_S (7 * 24 * 3600.0)

const struct opt load_workload_rows[] = {
	{ OPT_HEADING, .help = N_("What is sent:") },
	{ OPT(struct load_options, config.api, OPT_CHOICE, 0, "api", "API",
		N_("openai-chat, openai-completions, openai-embeddings, openai-rerank, kserve-v2, "
		   "tei, tgi, ollama, llamacpp or http (default: from the URL's path, else by "
		   "asking the service)")),
		.choices = ENDPOINT_CHOICES },
	{ OPT(struct load_options, config.model, OPT_STRING, 0, "model", "NAME",
		N_("model to ask for (default: the first that the service tells)")) },
	{ OPT(struct load_options, config.input_file, OPT_STRING, 0, "input", "FILE",
		N_("prompts, one JSON object a line with 'prompt', 'messages', 'input' or 'body', or a "
		   "JSON list of such objects or of ShareGPT's conversations; with --api http each line "
		   "is a body")) },
	{ OPT(struct load_options, config.input_tokens, OPT_STRING, 0, "input-tokens", "DIST",
		N_("length of synthetic prompts: 128, uniform:32..512, normal:MEAN,SD, "
		   "lognormal:MEAN,CV, file:PATH (default 64)")) },
	{ OPT(struct load_options, config.output_tokens, OPT_STRING, 0, "output-tokens", "DIST",
		N_("tokens to ask for in an answer, likewise (default 64)")) },
	{ OPT(struct load_options, config.tokenizer, OPT_STRING, 0, "tokenizer", "FILE",
		N_("tokenizer of the model, a tokenizer.json or GGUF: synthetic prompts get exactly their "
		   "number of tokens, and recorded answers of --input theirs")) },
	{ OPT(struct load_options, config.prefix_ratio, OPT_DOUBLE, 0, "prefix-share", "SHARE",
		N_("share of each synthetic prompt, 0 to 1, that it has in common with others (default 0)")),
		.min = 0, .max = 1 },
	{ OPT(struct load_options, config.n_prefixes, OPT_INT, 0, "prefix-count", "N",
		N_("with --prefix-share: how many different beginnings there are (default 1)")),
		.min = 1, .max = 1e9 },
	{ OPT(struct load_options, config.salt, OPT_FLAG, 0, "salt", NULL,
		N_("make synthetic prompts differ from those of every other request and run, so that no "
		   "cache helps (default; --no-salt: the same seed sends the same)")) },
	{ OPT(struct load_options, config.data, OPT_STRING, 0, "data", "TEXT|@FILE",
		N_("body to POST with --api http (default: GET without a body)")) },
	{ OPT(struct load_options, config.tensors, OPT_CHOICE, 0, "tensors", "json|binary",
		N_("with --api kserve-v2: how synthetic tensors are sent (default json)")),
		.choices = "json|binary" },
	{ OPT(struct load_options, config.stream, OPT_FLAG, 0, "stream", NULL,
		N_("ask for a stream of tokens (default where the API has one; --no-stream: do not)")) },
	{ OPT(struct load_options, config.headers, OPT_LIST, 'H', "header", "'NAME: VALUE'",
		N_("header to send with every request; may be repeated")) },
	{ OPT(struct load_options, config.unix_socket, OPT_STRING, 0, "unix-socket", "PATH",
		N_("connect to this Unix socket instead of the URL's host")) },
	{ OPT(struct load_options, config.insecure, OPT_FLAG, 0, "insecure", NULL,
		N_("do not verify the server's certificate")) },
	{ OPT(struct load_options, config.timeout_ns, OPT_DURATION, 0, "timeout", "DURATION",
		N_("a request that takes longer has failed (default 60s)")),
		.min = 1e-3, .max = WEEK_S },
	{ OPT(struct load_options, config.seed, OPT_INT, 0, "seed", "N",
		N_("seed of prompts and arrivals (default 1)")) },
	{ OPT(struct load_options, config.tags, OPT_LIST, 0, "tag", "KEY=VALUE",
		N_("entry for the fingerprint of the run; may be repeated")) },
};
const size_t load_n_workload_rows = ARRAY_LEN(load_workload_rows);

const struct opt load_session_rows[] = {
	{ OPT_HEADING, .help = N_("Conversations of several turns:") },
	{ OPT(struct load_options, config.turns, OPT_STRING, 0, "turns", "DIST|all",
		N_("sessions of so many requests, each of which holds what was said before; with "
		   "--input its conversations, up to so many turns of them or all (default: single "
		   "requests)")) },
	{ OPT(struct load_options, config.think, OPT_STRING, 0, "think", "DIST",
		N_("time between an answer and the next turn: 2s, uniform:1s..5s, normal:MEAN,SD, "
		   "lognormal:2s,0.5, file:PATH (default none)")) },
	{ OPT(struct load_options, config.history, OPT_CHOICE, 0, "history", "own|recorded",
		N_("whose answers the following requests hold: the service's own (default), or those "
		   "of --input")),
		.choices = "own|recorded" },
	{ OPT(struct load_options, sessions, OPT_INT, 0, "sessions", "N",
		N_("number of sessions instead of a duration, each played to its end")),
		.min = 1, .max = 1e12 },
};
const size_t load_n_session_rows = ARRAY_LEN(load_session_rows);

const struct opt load_shape_rows[] = {
	{ OPT_HEADING, .help = N_("How it is sent:") },
	{ OPT(struct load_options, concurrency, OPT_INT, 'c', "concurrency", "N",
		N_("closed loop: N requests in flight, each followed by the next (default 8)")),
		.min = 1, .max = LOAD_CONNECTIONS_MAX },
	{ OPT(struct load_options, rate, OPT_STRING, 0, "rate", "R|A..B|R@T,...",
		N_("open loop: R requests a second, whether the service keeps up or not; A..B: from A to "
		   "B over the duration; R@T,R@T,...: in straight lines from rate to rate, such as "
		   "10@0s,200@60s,200@90s")) },
	{ OPT(struct load_options, config.threads, OPT_INT, 0, "threads", "N",
		N_("load threads (default 1)")),
		.min = 1, .max = LOAD_THREADS_MAX },
};
const size_t load_n_shape_rows = ARRAY_LEN(load_shape_rows);

const struct opt load_window_rows[] = {
	{ OPT(struct load_options, arrival, OPT_STRING, 0, "arrival",
		"constant|poisson|gamma:CV|schedule:FILE",
		N_("with --rate: even spacing, a Poisson process (default), or gaps with that "
		   "coefficient of variation; schedule:FILE instead of --rate: the moments and lengths "
		   "of a recorded trace (Mooncake, Azure, BurstGPT), or seconds, one number a line")) },
	{ OPT(struct load_options, time_scale, OPT_DOUBLE, 0, "time-scale", "X",
		N_("play the schedule X times as fast (default 1)")),
		.min = 1e-3, .max = 1e6 },
	{ OPT(struct load_options, export_schedule, OPT_STRING, 0, "export-schedule", "FILE",
		N_("write the planned moments as CSV, which --arrival schedule:FILE repeats")) },
	{ OPT(struct load_options, config.balance, OPT_CHOICE, 0, "balance", "round-robin|least",
		N_("which of several URLs the next request goes to: one after the other, or the one "
		   "with the fewest under way (default round-robin)")),
		.choices = "round-robin|least" },
	{ OPT(struct load_options, max_in_flight, OPT_INT, 0, "max-in-flight", "N",
		N_("in an open loop: never more than N at a time; arrivals then wait in the client, which "
		   "response_ms shows")),
		.min = 1, .max = LOAD_CONNECTIONS_MAX },
	{ OPT_HEADING, .help = N_("How long:") },
	{ OPT(struct load_options, duration_ns, OPT_DURATION, 'd', "duration", "DURATION",
		N_("length of the measurement, warm-up not included (default 10s)")),
		.min = 1e-3, .max = WEEK_S },
	{ OPT(struct load_options, requests, OPT_INT, 'n', "requests", "N",
		N_("number of requests instead of a duration, warm-up not included")),
		.min = 1, .max = 1e12 },
	{ OPT(struct load_options, warmup, OPT_STRING, 0, "warmup", "auto|none|N|DURATION",
		N_("discard the first requests: until throughput, requests in flight and latency have "
		   "settled, none, N requests or a time "
		   "(default auto; none with a schedule, a rate that changes or --sessions)")) },
	{ OPT(struct load_options, on_saturation, OPT_CHOICE, 0, "on-saturation", "stop|continue",
		N_("with a level --rate: what to do once a backlog grows without end (default stop)")),
		.choices = "stop|continue" },
	{ OPT_HEADING, .help = N_("What is kept:") },
	{ OPT(struct load_options, records, OPT_STRING, 0, "records", "FILE",
		N_("write a record of every request and token event while the load runs, for 'venturi "
		   "records'")) },
	{ OPT_HEADING, .help = N_("What is judged:") },
	{ OPT(struct load_options, config.slo, OPT_STRING, 0, "slo", "ttft=T,itl=T,e2e=T",
		N_("objectives that a good request meets all of; reports goodput")) },
	{ OPT(struct load_options, check_client, OPT_CHOICE, 0, "check-client", "auto|off",
		N_("whether the load generator itself was the limit (default auto)")),
		.choices = "auto|off" },
};
const size_t load_n_window_rows = ARRAY_LEN(load_window_rows);

void load_options_init(struct load_options *o)
{
	*o = (struct load_options){
		.config = { .stream = true, .salt = true, .timeout_ns = 60 * NS_PER_S, .seed = 1 },
		.check_client = "auto",
		.arrival = "poisson",
		.on_saturation = "stop",
		.time_scale = 1,
	};
}

static bool parse_warmup(const char *text, struct load_shape *shape, struct err *err)
{
	if (strcmp(text, "auto") == 0) {
		shape->warmup = LOAD_WARMUP_AUTO;
	} else if (strcmp(text, "none") == 0 || strcmp(text, "0") == 0) {
		shape->warmup = LOAD_WARMUP_NONE;
	} else if (str_to_i64(str_of(text), &shape->warmup_requests) && shape->warmup_requests > 0) {
		shape->warmup = LOAD_WARMUP_REQUESTS;
	} else if (units_parse_duration(str_of(text), &shape->warmup_ns)) {
		shape->warmup = LOAD_WARMUP_TIME;
	} else {
		return err_set(err, ERR_USAGE,
			_("'--warmup' takes auto, none, a number of requests or a duration, not '%s'"),
			text);
	}
	return true;
}

static bool exclude(bool a, bool b, const char *what, struct err *err)
{
	return !(a && b) || err_set(err, ERR_USAGE, "%s", what);
}

static bool check_shape(const struct load_options *o, bool open_loop, bool schedule, struct err *err)
{
	return exclude(o->concurrency > 0, o->rate != NULL,
		       _("'--concurrency' and '--rate' exclude each other"), err) &&
		exclude(o->concurrency > 0, schedule,
			_("'--concurrency' and '--arrival schedule' exclude each other"), err) &&
		exclude(o->rate != NULL, schedule,
			_("'--rate' and '--arrival schedule' exclude each other: the schedule says when"),
			err) &&
		exclude(o->duration_ns > 0, o->requests > 0,
			_("'--duration' and '--requests' exclude each other"), err) &&
		exclude(o->sessions > 0, o->duration_ns > 0 || o->requests > 0,
			_("'--sessions' excludes '--duration' and '--requests'"), err) &&
		exclude(o->sessions > 0, !o->config.turns, _("'--sessions' goes with '--turns'"),
			err) &&
		exclude(o->max_in_flight > 0, !open_loop,
			_("'--max-in-flight' goes with '--rate' or '--arrival schedule'"), err) &&
		exclude(o->time_scale != 1, !schedule,
			_("'--time-scale' goes with '--arrival schedule'"), err) &&
		exclude(o->export_schedule != NULL, !open_loop,
			_("'--export-schedule' goes with '--rate' or '--arrival schedule'"), err);
}

/* The mean of a schedule, which a run reports as its rate. */
static double schedule_rate(const struct schedule *s)
{
	double span_s = (double)s->rows[s->n - 1].at_ns / 1e9;
	return span_s > 0 ? (double)s->n / span_s : (double)s->n;
}

/* What the user left open: a schedule is played to its end, anything else for a while. */
static void fill_window(const struct load_options *o, struct load_shape *shape)
{
	if (o->duration_ns > 0 || load_ends_by_number(shape))
		return;
	if (shape->arrival.schedule && o->config.turns)
		shape->sessions = (int64_t)shape->arrival.schedule->n;
	else if (shape->arrival.schedule)
		shape->requests = (int64_t)shape->arrival.schedule->n;
	else
		shape->duration_ns = LOAD_DEFAULT_DURATION_S * NS_PER_S;
}

bool load_options_shape(const struct load_options *o, struct arena *run,
	struct load_shape *ret_shape, struct err *err)
{
	struct load_shape shape = {
		.concurrency = o->concurrency > 0 ? o->concurrency : LOAD_DEFAULT_CONCURRENCY,
		.max_in_flight = o->max_in_flight,
		.duration_ns = o->duration_ns,
		.requests = o->requests,
		.stop_when_saturated = strcmp(o->on_saturation, "stop") == 0,
		.sessions = o->sessions,
	};
	struct arrival_law *law = &shape.arrival;
	if (!arrival_parse(o->arrival, o->time_scale, run, law, err))
		return false;
	bool schedule = law->kind == ARRIVAL_SCHEDULE;
	if (!check_shape(o, o->rate || schedule, schedule, err))
		return false;
	fill_window(o, &shape);
	if (o->rate && !arrival_parse_rate(o->rate, shape.duration_ns, run, law, &shape.rate_per_s, err))
		return false;
	if (schedule)
		shape.rate_per_s = schedule_rate(law->schedule);
	/* Nothing settles while the load changes, and so many sessions are to be played whole. */
	bool whole = schedule || law->n_knots > 0 || shape.sessions > 0;
	const char *warmup = whole ? "none" : "auto";
	if (!parse_warmup(o->warmup ? o->warmup : warmup, &shape, err))
		return false;
	*ret_shape = shape;
	return true;
}

bool load_options_level_rate(const struct load_options *o, struct arena *run, double *ret_per_s,
	struct err *err)
{
	struct arrival_law law = { 0 };
	*ret_per_s = 0;
	if (!o->rate)
		return true;
	if (!arrival_parse_rate(o->rate, 0, run, &law, ret_per_s, err))
		return false;
	return law.n_knots == 0 ||
		err_set(err, ERR_USAGE, _("'--rate' takes one number here, not '%s'"), o->rate);
}
