#include "load/counts.h"

#include "base/clock.h"

#include <stdio.h>

/* 128 of them are 6.4 s; then two become one, and so on. */
static const int64_t slice_ns = 50 * NS_PER_MS;

void counts_init(struct load_counts *c, int n_targets, struct arena *run)
{
	struct hist *const plain[] = { &c->failed_latency, &c->lateness, &c->receive_delay,
		&c->connect, &c->body_delay, &c->stream_share_pm,
		&c->warmup_latency };
	*c = (struct load_counts){ 0 };
	for (int i = 0; i < LOAD_N_METRICS; i++) {
		hist_init(&c->metrics[i], run);
		batches_init(&c->batches[i], run);
	}
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		hist_init(plain[i], run);
	if (n_targets == 1)
		return;
	c->targets = arena_new_n(run, struct target_counts, (size_t)n_targets);
	for (int i = 0; i < n_targets; i++)
		hist_init(&c->targets[i].latency, run);
}

void counts_release(struct load_counts *c)
{
	series_release(&c->series);
	for (int i = 0; i < LOAD_N_METRICS; i++)
		batches_release(&c->batches[i]);
}

/* ---- what is under way ---- */

void counts_levels(struct load_counts *c, const struct load_shared *shared, int64_t now_ns)
{
	if (now_ns < c->level_ns)
		now_ns = c->level_ns;
	int64_t start = load_window_start(shared), end = load_window_end(shared);
	int64_t from = c->level_ns > start ? c->level_ns : start;
	int64_t to = now_ns < end ? now_ns : end;
	if (start != INT64_MAX && from < to) {
		c->in_flight_integral_s += (double)c->n_busy * (double)(to - from) / 1e9;
		c->streams_integral_s += (double)c->n_streaming * (double)(to - from) / 1e9;
		series_in_flight(&c->series, from - start, to - start, c->n_busy);
	}
	c->level_ns = now_ns;
}

void counts_slice(struct load_counts *c, const struct load_shared *shared, int64_t now_ns)
{
	int64_t start = load_window_start(shared);
	if (now_ns < c->next_slice_ns || now_ns < start || start == INT64_MAX)
		return;
	int64_t next = (now_ns - start) / slice_ns;
	for (int i = 0; next > c->slice && i < LOAD_N_METRICS; i++)
		batches_take(&c->batches[i], &c->metrics[i], c->slice);
	c->slice = next;
	c->next_slice_ns = now_ns < INT64_MAX ? start + (next + 1) * slice_ns : INT64_MAX;
}

void counts_busy(struct load_counts *c, struct load_shared *shared, const struct exchange *x,
	int64_t now_ns, int by)
{
	counts_levels(c, shared, now_ns);
	c->n_busy += by;
	load_shared_add(&shared->n_open, by);
	if (shared->balance == LOAD_LEAST_OUTSTANDING)
		load_shared_add(&shared->open_at[x->target], by);
}

void counts_streaming(
	struct load_counts *c, const struct load_shared *shared, int64_t now_ns, int by)
{
	counts_levels(c, shared, now_ns);
	c->n_streaming += by;
	if (c->n_streaming > c->streams_max && load_in_window(shared, now_ns))
		c->streams_max = c->n_streaming;
}

/* ---- beginning ---- */

void counts_sent(
	struct load_counts *c, const struct exchange *x, int64_t now_ns, int64_t planned_ns)
{
	if (!x->in_window) {
		c->warmup_requests++;
		return;
	}
	c->attempted++;
	c->blocked += x->blocked;
	if (c->targets)
		c->targets[x->target].attempted++;
	hist_record(&c->lateness, now_ns - planned_ns);
}

/* ---- tokens as they arrive ---- */

void counts_tokens(struct load_counts *c, struct load_shared *shared, const struct exchange *x,
	int64_t events, int64_t now_ns)
{
	if (x->in_window) {
		c->reads_with_tokens++;
		c->token_events += events;
	}
	if (!load_in_window(shared, now_ns))
		return;
	c->window_token_events += events;
	load_shared_add(&shared->n_token_events, events);
	series_at(&c->series, now_ns - load_window_start(shared))->token_events += events;
}

/* ---- the end ---- */

/* Latencies that the controller looks at before the window opens. */
static void keep_early(struct load_shared *shared, const struct exchange *x, int64_t latency_ns)
{
	if (x->ticket < LOAD_FIRST_LATENCIES)
		atomic_store_explicit(&shared->first_latencies[x->ticket],
			latency_ns > 0 ? latency_ns : 1, memory_order_relaxed);
	if (load_window_start(shared) != INT64_MAX || shared->n_early >= LOAD_EARLY_MAX)
		return;
	pthread_mutex_lock(&shared->early_lock);
	if (shared->n_early < LOAD_EARLY_MAX)
		shared->early_ms[shared->n_early++] = (double)latency_ns / 1e6;
	pthread_mutex_unlock(&shared->early_lock);
}

/* What every completion inside the window adds, whenever it was sent. */
static void count_completion(struct load_counts *c, struct load_shared *shared,
	const struct exchange *x, int64_t now_ns, bool ok)
{
	int64_t latency = now_ns - x->sent_ns;
	if (!load_in_window(shared, now_ns))
		return;
	int64_t t = now_ns - load_window_start(shared);
	c->window_completions++;
	c->window_latency_s += (double)latency / 1e9;
	series_record(&c->series, t, ok, latency);
	load_shared_add(&shared->n_done, 1);
	if (!ok) {
		load_shared_add(&shared->n_failed, 1);
		return;
	}
	c->window_ok++;
	if (x->reply.input_tokens > 0)
		c->window_input_tokens += x->reply.input_tokens;
	if (x->http.event_stream)
		return;
	/* An event of a body says nothing of how many tokens it bears. */
	enum load_token_source source;
	int64_t tokens = reply_output_tokens(&x->reply, &source);
	if (source == LOAD_TOKENS_EVENTS || tokens == 0)
		return;
	c->window_body_tokens += tokens;
	series_at(&c->series, t)->body_tokens += tokens;
}

static bool is_good(const struct load_slo *slo, const struct exchange *x, int64_t now_ns)
{
	int64_t gaps = x->reply.token_events - 1;
	if (now_ns - x->sent_ns > slo->e2e_ns)
		return false;
	if (slo->ttft_ns != INT64_MAX &&
		(!x->first_token_ns || x->first_token_ns - x->sent_ns > slo->ttft_ns))
		return false;
	return slo->itl_ns == INT64_MAX || gaps <= 0 ||
	       (x->last_token_ns - x->first_token_ns) / gaps <= slo->itl_ns;
}

static void record_tokens(struct load_counts *c, const struct exchange *x)
{
	const struct reply *reply = &x->reply;
	enum load_token_source source;
	int64_t tokens = reply_output_tokens(reply, &source);
	if (reply->input_tokens >= 0)
		c->n_with_input++;
	if (reply->input_tokens >= 0 && x->prompt_tokens > 0) {
		c->n_input_checked++;
		c->meant_input_tokens += x->prompt_tokens;
		c->counted_input_tokens += reply->input_tokens;
	}
	/* The parts of a whole answer are results, such as embeddings; of a stream, tokens. */
	if (tokens > 0 && (source != LOAD_TOKENS_EVENTS || x->first_token_ns))
		c->by_source[source]++;
	if (!x->first_token_ns)
		return;
	if (source != LOAD_TOKENS_EVENTS) {
		c->told_tokens += tokens;
		c->told_events += reply->token_events;
	}
	hist_record(&c->metrics[LOAD_TTFT], x->first_token_ns - x->sent_ns);
	if (x->first_visible_ns)
		hist_record(&c->metrics[LOAD_TTFO], x->first_visible_ns - x->sent_ns);
	if (reply->token_events > 1)
		hist_record(&c->metrics[LOAD_WORST_GAP], x->worst_gap_ns);
	if (tokens > x->first_tokens)
		hist_record(&c->metrics[LOAD_TPOT],
			(x->last_token_ns - x->first_token_ns) / (tokens - x->first_tokens));
}

/* A success that was sent inside the window. */
static void record_success(
	struct load_counts *c, const struct load_slo *slo, const struct exchange *x, int64_t now_ns)
{
	int64_t latency = now_ns - x->sent_ns;
	c->ok++;
	c->last_end_ns = now_ns;
	hist_record(&c->metrics[LOAD_LATENCY], latency);
	hist_record(&c->metrics[LOAD_RESPONSE], now_ns - x->planned_ns);
	hist_record(&c->metrics[LOAD_TTFB], x->first_byte_ns - x->sent_ns);
	record_tokens(c, x);
	if (!x->http.event_stream)
		hist_record(&c->body_delay, now_ns - x->first_byte_ns);
	else if (x->reply.token_events > 10 && latency > 0)
		hist_record(&c->stream_share_pm, (x->first_token_ns - x->sent_ns) * 1000 / latency);
	if (slo->present && is_good(slo, x, now_ns))
		c->good++;
	if (c->targets) {
		c->targets[x->target].ok++;
		hist_record(&c->targets[x->target].latency, latency);
	}
}

void counts_success(
	struct load_counts *c, struct load_shared *shared, const struct exchange *x, int64_t now_ns)
{
	int64_t latency = now_ns - x->sent_ns;
	count_completion(c, shared, x, now_ns, true);
	keep_early(shared, x, latency);
	load_shared_add(&shared->ok_latency_us, latency / NS_PER_US);
	c->early_ok += now_ns < load_window_start(shared);
	atomic_store_explicit(&shared->last_success_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&shared->n_gone, 0, memory_order_relaxed);
	if (x->in_window)
		record_success(c, &shared->slo, x, now_ns);
	else
		hist_record(&c->warmup_latency, latency);
}

void counts_failure(struct load_counts *c, struct load_shared *shared, const struct exchange *x,
	enum load_failure kind, const char *why, int64_t now_ns)
{
	count_completion(c, shared, x, now_ns, false);
	load_shared_add(&shared->n_all_failed, 1);
	if (kind == LOAD_FAIL_CONNECT || kind == LOAD_FAIL_TLS || kind == LOAD_FAIL_STREAM_CUT)
		load_shared_add(&shared->n_gone, 1);
	if (!c->first_error[0]) {
		snprintf(c->first_error, sizeof(c->first_error), "%s", why);
		c->first_error_ns = now_ns;
	}
	if (!x->in_window)
		return;
	c->last_end_ns = now_ns;
	c->failures[kind]++;
	if (c->targets)
		c->targets[x->target].failed++;
	hist_record(&c->failed_latency, now_ns - x->sent_ns);
}

void counts_censored(struct load_counts *c, const struct exchange *x)
{
	c->censored++;
	if (c->targets)
		c->targets[x->target].censored++;
}
