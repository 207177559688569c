/*
 * One screen: can it be trusted, what was loaded, what came back, how fast, and whether the client
 * itself stood in the way. About 40 lines of at most LAYOUT_COLUMNS.
 */
#include "report/report.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "report/layout.h"
#include "report/load_sessions.h"
#include "report/load_tables.h"
#include "report/server.h"
#include "report/watch.h"
#include "stats/quantile.h"

#include <math.h>
#include <string.h>

static void print_saturation(const struct load_run *r, struct arena *tmp, struct buf *out)
{
	const struct load_saturation *s = &r->saturation;
	char n[7][LAYOUT_NUMBER];
	if (!s->present)
		return;
	layout_wrap(out,
	        arena_printf(tmp,
	                s->stopped ? _("Over-saturated, so the run was stopped after %s s: %s requests a "
	                               "second were sent and %s ended; in flight went from %s to %s, mean "
	                               "latency from %s to %s ms.")
	                           : _("Over-saturated, first seen after %s s: %s requests a second were "
	                               "sent and %s ended; in flight went from %s to %s, mean latency "
	                               "from %s to %s ms."),
	                layout_number(s->at_s, n[0]), layout_number(s->offered_per_s, n[1]),
	                layout_number(s->completed_per_s, n[2]),
	                layout_number(s->in_flight_from, n[3]), layout_number(s->in_flight_to, n[4]),
	                layout_number(s->latency_ms_from, n[5]),
	                layout_number(s->latency_ms_to, n[6])),
	        0, 0);
}

static void print_verdict(const struct load_run *r, struct arena *tmp, struct buf *out)
{
	const char *why = r->client.why;
	const char *sentence;
	if (r->partial)
		layout_wrap(out,
		        _("Partial: the run was interrupted or the target went away; this is what "
		          "was "
		          "measured until then."),
		        0, 0);
	print_saturation(r, tmp, out);
	if (r->requests.ok == 0)
		sentence = arena_printf(tmp,
		        _("Measurement invalid: none of the %lld requests succeeded."),
		        (long long)r->requests.attempted);
	else if (r->client.verdict == LOAD_CLIENT_OK)
		sentence = why ? arena_printf(tmp, _("Measurement ok: %s"), why)
		               : _("Measurement ok: the client kept up with the load.");
	else if (r->client.verdict == LOAD_CLIENT_INVALID)
		sentence = arena_printf(tmp, _("Measurement invalid: %s"), why ? why : "-");
	else if (r->client.verdict == LOAD_CLIENT_LIMITED)
		sentence = why ? arena_printf(tmp, _("Measurement limited by the client: %s"), why)
		               : _("Measurement limited by the client.");
	else
		sentence = why ? arena_printf(tmp, _("Measurement of unknown quality: %s"), why)
		               : _("Measurement of unknown quality: the client was not checked.");
	layout_wrap(out, sentence, 0, 0);
	buf_add_char(out, '\n');
}

static void add_load(struct fields *f, const struct load_run *r)
{
	char rate[LAYOUT_NUMBER];
	if (r->concurrency > 0)
		fields_add(f, _("Load"),
			r->sessions ? _("closed loop, %lld sessions at a time, seed %lld") :
				      _("closed loop, %lld requests at a time, seed %lld"),
		        (long long)r->concurrency, (long long)r->seed);
	else
		fields_add(f, _("Load"),
			r->sessions ? _("open loop, %s sessions a second, arrivals %s, seed %lld") :
				      _("open loop, %s requests a second, arrivals %s, seed %lld"),
		        layout_number(r->rate_per_s, rate), r->arrival ? r->arrival : "-",
		        (long long)r->seed);
	if (r->input && r->output)
		fields_add(f, _("Sent"), _("input %s, output %s"), r->input, r->output);
	else
		fields_add_present(f, _("Sent"), r->input);
}

/* One sentence for each signal: a trend, a jump. */
static const char *const drift_words[LOAD_N_SIGNALS][2] = {
	[LOAD_SIGNAL_THROUGHPUT] = { N_("throughput goes from %s to %s req/s over the window"),
	        N_("throughput jumps from %s to %s req/s, %s s after the window opened") },
	[LOAD_SIGNAL_IN_FLIGHT] = { N_("requests in flight go from %s to %s over the window"),
	        N_("requests in flight jump from %s to %s, %s s after the window opened") },
	[LOAD_SIGNAL_LATENCY] = { N_("mean latency goes from %s to %s ms over the window"),
	        N_("mean latency jumps from %s to %s ms, %s s after the window opened") },
};

static void add_drift(struct fields *f, const struct load_window *w)
{
	for (int i = 0; i < w->n_drift; i++) {
		const struct load_drift *d = &w->drift[i];
		char from[LAYOUT_NUMBER], to[LAYOUT_NUMBER], at[LAYOUT_NUMBER];
		fields_add(f, d->is_shift ? _("Jump") : _("Drift"),
		        _(drift_words[d->signal][d->is_shift]), layout_number(d->from, from),
		        layout_number(d->to, to), layout_number(d->at_s, at));
	}
}

/* Where there was no warm-up, the window is the whole run. */
static void add_whole(struct fields *f, const struct load_run *r)
{
	const struct load_whole *w = &r->whole;
	char duration[LAYOUT_NUMBER], rate[LAYOUT_NUMBER], mean[LAYOUT_NUMBER], max[LAYOUT_NUMBER];
	if (r->window.warmup_requests == 0 || !(w->duration_s > 0) || w->latency.n == 0)
		return;
	fields_add(f, _("Whole run"),
	        _("%s s with the warm-up: %s req/s, mean latency %s ms, at most %s ms"),
	        layout_number(w->duration_s, duration), layout_number(w->requests_per_s, rate),
	        layout_number(hist_mean(&w->latency) / NS_PER_MS, mean),
	        layout_number((double)w->latency.max / NS_PER_MS, max));
}

static void add_window(struct fields *f, const struct load_window *w)
{
	char warmup[LAYOUT_NUMBER], duration[LAYOUT_NUMBER];
	fields_add(f, _("Window"),
	        w->steady ? _("%s s, steady; %lld requests in %s s before it were discarded as "
	                      "warm-up")
	        : w->n_drift > 0
	                ? _("%s s, not steady; %lld requests in %s s before it were discarded as "
	                    "warm-up")
	                : _("%s s, not shown to be steady; %lld requests in %s s "
	                      "before it were discarded as warm-up"),
	        layout_number(w->duration_s, duration), (long long)w->warmup_requests,
	        layout_number(w->warmup_s, warmup));
}

static void add_requests(struct fields *f, const struct load_run *r)
{
	const struct load_requests *n = &r->requests;
	fields_add(f, _("Requests"),
	        _("%lld attempted: %lld ok, %lld failed, %lld censored (under way at the end); "
	          "%lld retried"),
	        (long long)n->attempted, (long long)n->ok, (long long)n->failed,
	        (long long)n->censored, (long long)n->retried);
	if (n->blocked > 0)
		fields_add(f, _("Blocked"),
			_("%lld of them were due while %lld were under way, which was the most that "
			  "may be: latency begins after their wait, response before it"),
			(long long)n->blocked, (long long)r->max_in_flight);
	if (n->failed > 0) {
		AUTO(auto_buf) struct buf classes = { 0 };
		for (int i = 0; i < LOAD_N_FAILURES; i++)
			if (n->failures[i] > 0)
				buf_printf(&classes, "%s%s %lld", classes.len > 0 ? ", " : "",
				        load_failure_names[i], (long long)n->failures[i]);
		fields_add_present(f, _("Failures"), classes.s);
	}
	fields_add_present(f, _("First error"), r->first_error);
}

static void add_rates(struct fields *f, const struct load_run *r)
{
	const struct {
		double per_s;
		const char *fmt;
	} parts[] = {
		{ r->throughput.requests_per_s, N_("%s req/s") },
		{ r->throughput.input_tokens_per_s, N_("%s input tokens/s") },
		{ r->throughput.output_tokens_per_s, N_("%s output tokens/s") },
		{ r->throughput.events_per_s, N_("%s events/s") },
	};
	AUTO(auto_buf) struct buf list = { 0 };
	char number[LAYOUT_NUMBER];
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (isnan(parts[i].per_s))
			continue;
		buf_add_c(&list, list.len > 0 ? ", " : "");
		buf_printf(&list, _(parts[i].fmt), layout_number(parts[i].per_s, number));
	}
	if (!isnan(r->throughput.output_tokens_per_s) && r->tokens_source) {
		buf_add_c(&list, ", ");
		buf_printf(&list, _("tokens counted from %s"), r->tokens_source);
	}
	fields_add_present(f, _("Throughput"), list.s);
}

/* Fewer events than this share of the tokens: the gaps between events are not those of tokens. */
static const double events_per_token_min = 0.8;

static void add_tokens(struct fields *f, const struct load_run *r)
{
	char per_event[LAYOUT_NUMBER];
	if (isnan(r->tokens_per_event) || r->tokens_per_event <= 0)
		return;
	layout_number(r->tokens_per_event, per_event);
	fields_add(f, _("Tokens"),
		1 / r->tokens_per_event < events_per_token_min ?
			_("%s an event: the service gathers tokens, so that itl tells of events; tpot "
			  "tells of tokens") :
			_("%s an event"),
		per_event);
}

/* Beyond this the frame of a chat or a rough estimate is no longer the reason. */
static const double input_tolerance = 0.1;

static void add_input_check(struct fields *f, const struct load_input_check *c)
{
	char counted[LAYOUT_NUMBER], meant[LAYOUT_NUMBER];
	if (c->n == 0 ||
		fabs(c->counted_per_request - c->meant_per_request) <=
			input_tolerance * c->meant_per_request)
		return;
	fields_add(f, _("Input"),
		c->exact ? _("the service counts %s tokens a request, prompts were made of %s by the "
			     "tokenizer: a frame around them, or another tokenizer") :
			   _("the service counts %s tokens a request, prompts were made of about %s: "
			     "'--tokenizer' makes them exact"),
		layout_number(c->counted_per_request, counted),
		layout_number(c->meant_per_request, meant));
}

/*
 * Source of the anchors: catalogue of causes, stream_buffering. The first alone would also be what a
 * queue before the first token does.
 */
static const double buffered_ratio = 0.9;
static const double buffered_events_per_read = 4;

static void add_stream(struct fields *f, const struct load_run *r)
{
	const struct hist *share = &r->transport.stream_share_pm;
	char percent[LAYOUT_NUMBER];
	double ratio = share->n ? (double)hist_quantile(share, 0.5) / 1000 : 0;
	double per_read = r->transport.reads_with_tokens > 0 ?
		(double)r->transport.token_events / (double)r->transport.reads_with_tokens :
		0;
	if (!quantile_enough(share->n, 0.5) || ratio < buffered_ratio ||
		per_read < buffered_events_per_read)
		return;
	fields_add(f, _("Stream"),
		_("the first token comes after %s %% of the latency: something holds the answer back "
		  "and sends it at once, so ttft and itl are not those of the model"),
		layout_number(ratio * 100, percent));
}

static void add_goodput(struct fields *f, const struct load_run *r)
{
	char rate[LAYOUT_NUMBER], share[LAYOUT_NUMBER];
	if (isnan(r->goodput.requests_per_s))
		return;
	fields_add(f, _("Goodput"), _("%s req/s within the objectives: %s %% of the attempted"),
	        layout_number(r->goodput.requests_per_s, rate),
	        layout_number(r->goodput.attainment_ratio * 100, share));
}

static void add_client(struct fields *f, const struct load_run *r)
{
	const struct load_client *c = &r->client;
	char a[LAYOUT_NUMBER], b[LAYOUT_NUMBER];
	if (!isnan(c->cpu_s))
		fields_add(f, _("Client CPU"),
		        _("%s s in all (threads: %d), the busiest thread %s %% of a core"),
		        layout_number(c->cpu_s, a), c->threads,
		        layout_number(c->busiest_thread_ratio * 100, b));
	if (quantile_enough(c->lateness.n, 0.99))
		fields_add(f, _("Lateness"),
		        _("sent after the plan by P50 %s ms, P99 %s ms (n %lld)"),
		        layout_number((double)hist_quantile(&c->lateness, 0.5) / NS_PER_MS, a),
		        layout_number((double)hist_quantile(&c->lateness, 0.99) / NS_PER_MS, b),
		        (long long)c->lateness.n);
	else if (c->lateness.n > 0)
		fields_add(f, _("Lateness"), _("sent after the plan by at most %s ms (n %lld)"),
		        layout_number((double)c->lateness.max / NS_PER_MS, a),
		        (long long)c->lateness.n);
	if (!isnan(c->offered_per_s))
		fields_add(f, _("Offered"),
			r->sessions ? _("%s sessions/s planned, %s sessions/s begun") :
				      _("%s req/s planned, %s req/s sent"),
		        layout_number(c->offered_per_s, a), layout_number(c->achieved_per_s, b));
	if (!isnan(c->little_ratio))
		fields_add(f, _("Little's law"),
		        _("in flight / (throughput x latency) = %s; it has to be near 1"),
		        layout_number(c->little_ratio, a));
	if (!isnan(c->null_ceiling_per_s))
		fields_add(f, _("Ceiling"), _("%s req/s against a responder that answers at once"),
		        layout_number(c->null_ceiling_per_s, a));
}

/* The checks that failed, but for the one that the verdict names already. */
static void add_checks(struct fields *f, const struct load_client *client)
{
	char value[LAYOUT_NUMBER], limit[LAYOUT_NUMBER];
	for (int i = 0; i < client->n_checks; i++) {
		const struct load_check *c = &client->checks[i];
		if (c->ok || !c->why)
			continue;
		const char *unit = strcmp(c->unit, "ms") == 0 ? " ms" : "";
		layout_number(c->value, value);
		layout_number(c->limit, limit);
		if (client->why && strcmp(c->why, client->why) == 0)
			fields_add(f, _("Check"), _("%s is %s%s, limit %s%s"), c->name, value, unit,
			        limit, unit);
		else
			fields_add(f, _("Check"), _("%s is %s%s, limit %s%s: %s"), c->name, value,
			        unit, limit, unit, c->why);
	}
}

static void add_halved(struct fields *f, const struct load_halved *h)
{
	char two[LAYOUT_NUMBER], one[LAYOUT_NUMBER];
	if (h->n > 0)
		fields_add(f, _("Two clients"),
		        _("%s req/s with half the load each, %s req/s alone (%d pairs)"),
		        layout_number(h->requests_per_s, two), layout_number(h->alone_per_s, one),
		        h->n);
	else
		fields_add_present(f, _("Two clients"), h->why);
}

static void add_target(struct fields *f, const struct load_run *r)
{
	const char *url = r->url ? r->url : "-", *api = r->api ? r->api : "-";
	if (r->model)
		fields_add(f, _("Target"),
		        r->stream ? _("%s (%s, model %s, streamed)") : _("%s (%s, model %s)"), url,
		        api, r->model);
	else
		fields_add(f, _("Target"), r->stream ? _("%s (%s, streamed)") : _("%s (%s)"), url,
		        api);
}

void report_load_text(const struct load_run *r, struct buf *out)
{
	struct arena tmp = { 0 };
	struct fields what = { .tmp = &tmp }, system = { .tmp = &tmp }, client = { .tmp = &tmp };
	print_verdict(r, &tmp, out);
	add_target(&what, r);
	add_load(&what, r);
	add_window(&what, &r->window);
	add_drift(&what, &r->window);
	add_whole(&what, r);
	add_requests(&what, r);
	add_rates(&what, r);
	add_tokens(&what, r);
	add_stream(&what, r);
	add_input_check(&what, &r->input_check);
	load_sessions_fields(&what, r);
	add_goodput(&what, r);
	fields_print(&what, 0, out);
	load_table_targets(r, &tmp, out);
	load_table_metrics(r, &tmp, out);
	load_table_histogram(&r->metrics[LOAD_LATENCY], &tmp, out);
	load_table_spark(r, &tmp, out);
	report_server_text(r, &tmp, out);
	if (r->system) {
		report_system_fields(r->system, &system);
		buf_add_c(out, system.n > 0 ? "\n" : "");
		fields_print(&system, 0, out);
	}
	add_client(&client, r);
	add_halved(&client, &r->client.halved);
	add_checks(&client, &r->client);
	if (client.n > 0)
		buf_add_char(out, '\n');
	fields_print(&client, 0, out);
	arena_release(&tmp);
}
