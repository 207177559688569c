#include "serve/sim_schedule.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>

void sim_schedule_init(
        struct sim_schedule *s, const struct sim_config *config, struct sim_callbacks callbacks)
{
	*s = (struct sim_schedule){
		.config = config,
		.callbacks = callbacks,
		.epoch_ns = -1,
		.step_due_ns = INT64_MAX,
	};
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): it holds pointers */
	s->running = mem_realloc(NULL, (size_t)config->slots * sizeof(*s->running));
}

void sim_schedule_release(struct sim_schedule *s)
{
	free(s->running);
	*s = (struct sim_schedule){ 0 };
}

static int64_t ns_of_ms(double ms)
{
	return llround(ms * (double)NS_PER_MS);
}

static int64_t ns_of_s(double s)
{
	return llround(s * (double)NS_PER_S);
}

/*
 * The first stall that ends after t, as [*ret_begin, *ret_end). False: none.
 */
static bool stall_after(
        const struct sim_schedule *s, int64_t t, int64_t *ret_begin, int64_t *ret_end)
{
	const struct sim_config *c = s->config;
	int64_t lasts = ns_of_s(c->stall_for_s);
	int64_t every = ns_of_s(c->stall_every_s);
	int64_t begin = s->epoch_ns + ns_of_s(c->stall_at_s);
	if (lasts == 0 || s->epoch_ns < 0)
		return false;
	if (begin + lasts <= t && every == 0)
		return false;
	if (begin + lasts <= t)
		begin += ((t - begin - lasts) / every + 1) * every;
	*ret_begin = begin;
	*ret_end = begin + lasts;
	return true;
}

static int64_t after_ns(const struct sim_schedule *s, int64_t from_ns, int64_t work)
{
	int64_t begin, end;
	while (stall_after(s, from_ns, &begin, &end)) {
		int64_t until_stall = begin > from_ns ? begin - from_ns : 0;
		if (work <= until_stall && begin > from_ns)
			break;
		work -= until_stall;
		from_ns = end;
	}
	return from_ns + work;
}

int64_t sim_schedule_after(const struct sim_schedule *s, int64_t from_ns, double work_ms)
{
	return after_ns(s, from_ns, ns_of_ms(work_ms));
}

static void emit(struct sim_schedule *s, enum sim_event event, struct sim_seq *seq)
{
	s->callbacks.event(s->callbacks.ctx, event, seq, s->now_ns);
}

static void emit_end(struct sim_schedule *s, struct sim_seq *seq)
{
	seq->state = SIM_SEQ_ENDED;
	emit(s, SIM_ENDED, seq);
}

static void emit_token(struct sim_schedule *s, struct sim_seq *seq)
{
	seq->n_made++;
	emit(s, SIM_TOKEN, seq);
}

static bool is_over(const struct sim_seq *seq)
{
	return seq->cancelled || seq->n_made >= seq->n_made_max;
}

static double prefill_ms(const struct sim_config *c, const struct sim_seq *seq)
{
	return c->prefill_per_token_ms * (double)seq->n_prompt + seq->extra_ms;
}

static void queue_push(struct sim_schedule *s, struct sim_seq *seq)
{
	seq->state = SIM_SEQ_WAITING;
	seq->prev = s->last;
	seq->next = NULL;
	*(s->last ? &s->last->next : &s->first) = seq;
	s->last = seq;
}

static void queue_take(struct sim_schedule *s, struct sim_seq *seq)
{
	*(seq->prev ? &seq->prev->next : &s->first) = seq->next;
	*(seq->next ? &seq->next->prev : &s->last) = seq->prev;
	seq->prev = seq->next = NULL;
}

/* The next one that waits begins now. */
static struct sim_seq *queue_start(struct sim_schedule *s)
{
	struct sim_seq *seq = s->first;
	queue_take(s, seq);
	seq->state = SIM_SEQ_RUNNING;
	seq->started_ns = s->now_ns;
	emit(s, SIM_STARTED, seq);
	return seq;
}

/* --- Each slot by itself: running is a heap by due_ns. --- */

static void heap_put(struct sim_schedule *s, size_t i, struct sim_seq *seq)
{
	s->running[i] = seq;
	seq->index = i;
}

static void heap_up(struct sim_schedule *s, struct sim_seq *seq)
{
	size_t i = seq->index;
	for (; i > 0 && s->running[(i - 1) / 2]->due_ns > seq->due_ns; i = (i - 1) / 2)
		heap_put(s, i, s->running[(i - 1) / 2]);
	heap_put(s, i, seq);
}

static void heap_down(struct sim_schedule *s, struct sim_seq *seq)
{
	size_t i = seq->index;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child + 1 < s->n_running &&
		        s->running[child + 1]->due_ns < s->running[child]->due_ns)
			child++;
		if (child >= s->n_running || s->running[child]->due_ns >= seq->due_ns)
			break;
		heap_put(s, i, s->running[child]);
		i = child;
	}
	heap_put(s, i, seq);
}

static void heap_add(struct sim_schedule *s, struct sim_seq *seq)
{
	heap_put(s, s->n_running++, seq);
	heap_up(s, seq);
}

static void heap_remove(struct sim_schedule *s, struct sim_seq *seq)
{
	struct sim_seq *moved = s->running[--s->n_running];
	if (moved == seq)
		return;
	heap_put(s, seq->index, moved);
	heap_up(s, moved);
	heap_down(s, moved);
}

/* When its next token, or its end without any, is due. */
static int64_t alone_due_ns(const struct sim_schedule *s, const struct sim_seq *seq)
{
	const struct sim_config *c = s->config;
	if (c->has_service) {
		/* From the start each time: rounding does not add up over the tokens. */
		double part =
		        seq->n_output > 0 ? (double)(seq->n_made + 1) / (double)seq->n_output : 1;
		return sim_schedule_after(
		        s, seq->started_ns, seq->extra_ms + part * seq->service_ms);
	}
	if (seq->n_made == 0)
		return sim_schedule_after(
		        s, seq->started_ns, c->prefill_fixed_ms + prefill_ms(c, seq));
	return sim_schedule_after(s, s->now_ns, c->decode_fixed_ms + c->decode_per_sequence_ms);
}

static void alone_admit(struct sim_schedule *s)
{
	while (s->first && s->n_running < (size_t)s->config->slots) {
		struct sim_seq *seq = queue_start(s);
		if (seq->cancelled) {
			emit_end(s, seq);
			continue;
		}
		seq->due_ns = alone_due_ns(s, seq);
		heap_add(s, seq);
	}
}

static void alone_step(struct sim_schedule *s)
{
	struct sim_seq *seq = s->running[0];
	s->now_ns = seq->due_ns;
	s->callbacks.step(s->callbacks.ctx, 1);
	if (seq->n_made < seq->n_made_max)
		emit_token(s, seq);
	if (!is_over(seq)) {
		seq->due_ns = alone_due_ns(s, seq);
		heap_down(s, seq);
		return;
	}
	heap_remove(s, seq);
	emit_end(s, seq);
	alone_admit(s);
}

/* --- Continuous batching: all that run share the steps. --- */

static void batch_begin_step(struct sim_schedule *s)
{
	const struct sim_config *c = s->config;
	double cost_ms = 0;
	s->n_prefill = 0;
	while (s->first && s->n_running < (size_t)c->slots) {
		struct sim_seq *seq = queue_start(s);
		cost_ms += prefill_ms(c, seq);
		s->running[s->n_running++] = seq;
		s->n_prefill++;
	}
	if (s->n_prefill > 0)
		cost_ms += c->prefill_fixed_ms;
	else
		cost_ms = c->decode_fixed_ms + c->decode_per_sequence_ms * (double)s->n_running;
	s->step_due_ns = s->n_running ? sim_schedule_after(s, s->now_ns, cost_ms) : INT64_MAX;
}

static void batch_end_step(struct sim_schedule *s)
{
	size_t n = s->n_running, kept = 0;
	size_t from = s->n_prefill ? n - s->n_prefill : 0;
	s->now_ns = s->step_due_ns;
	s->callbacks.step(s->callbacks.ctx, (int64_t)(n - from));
	for (size_t i = 0; i < n; i++) {
		struct sim_seq *seq = s->running[i];
		if (i >= from && !is_over(seq))
			emit_token(s, seq);
		if (is_over(seq))
			emit_end(s, seq);
		else
			s->running[kept++] = seq;
	}
	s->n_running = kept;
	batch_begin_step(s);
}

void sim_schedule_add(struct sim_schedule *s, struct sim_seq *seq)
{
	if (s->epoch_ns < 0)
		s->epoch_ns = seq->arrival_ns;
	/* What is already past stays as it was: an arrival reported late starts late. */
	if (s->now_ns < seq->arrival_ns)
		sim_schedule_run(s, seq->arrival_ns);
	queue_push(s, seq);
	if (!s->config->continuous)
		alone_admit(s);
	else if (s->n_running == 0)
		batch_begin_step(s);
}

void sim_schedule_cancel(struct sim_schedule *s, struct sim_seq *seq, int64_t now_ns)
{
	if (now_ns > s->now_ns)
		sim_schedule_run(s, now_ns);
	seq->cancelled = true;
	if (seq->state == SIM_SEQ_WAITING) {
		queue_take(s, seq);
		emit_end(s, seq);
	} else if (seq->state == SIM_SEQ_RUNNING && !s->config->continuous) {
		heap_remove(s, seq);
		emit_end(s, seq);
		alone_admit(s);
	}
}

int64_t sim_schedule_due_ns(const struct sim_schedule *s)
{
	if (s->config->continuous)
		return s->step_due_ns;
	return s->n_running ? s->running[0]->due_ns : INT64_MAX;
}

void sim_schedule_run(struct sim_schedule *s, int64_t now_ns)
{
	while (sim_schedule_due_ns(s) <= now_ns) {
		if (s->config->continuous)
			batch_end_step(s);
		else
			alone_step(s);
	}
	if (now_ns > s->now_ns)
		s->now_ns = now_ns;
}
