#include "load/session_counts.h"

#include <math.h>

void session_counts_init(struct session_counts *c, struct arena *run)
{
	*c = (struct session_counts){ 0 };
	hist_init(&c->think, run);
	for (int i = 0; i < LOAD_TURNS_SHOWN; i++) {
		hist_init(&c->turns[i].ttft, run);
		hist_init(&c->turns[i].latency, run);
	}
}

void session_counts_sent(
        struct session_counts *c, const struct session *s, const struct exchange *x)
{
	if (s->turn == 0) {
		c->started += s->in_window;
		c->warmup += !s->in_window;
	} else if (x->in_window) {
		hist_record(&c->think, x->sent_ns - s->answered_ns);
	}
}

void session_counts_turn(
        struct session_counts *c, const struct session *s, const struct exchange *x, int64_t now_ns)
{
	if (!x->in_window)
		return;
	struct session_turn_counts *t =
	        &c->turns[s->turn < LOAD_TURNS_SHOWN ? s->turn : LOAD_TURNS_SHOWN - 1];
	hist_record(&t->latency, now_ns - x->sent_ns);
	if (x->first_token_ns)
		hist_record(&t->ttft, x->first_token_ns - x->sent_ns);
	if (x->reply.input_tokens >= 0) {
		t->n_with_input++;
		t->input_tokens += x->reply.input_tokens;
	}
	if ((int64_t)s->history.len > c->history_bytes_max)
		c->history_bytes_max = (int64_t)s->history.len;
}

void session_counts_end(struct session_counts *c, const struct session *s, enum session_state state)
{
	if (!s->in_window)
		return;
	c->completed += state == SESSION_COMPLETED;
	c->completed_turns += state == SESSION_COMPLETED ? s->n_turns : 0;
	c->aborted += state == SESSION_ABORTED;
	c->too_long += state == SESSION_TOO_LONG;
}

void session_counts_merge(struct session_counts *to, const struct session_counts *from)
{
	to->warmup += from->warmup;
	to->started += from->started;
	to->completed += from->completed;
	to->aborted += from->aborted;
	to->too_long += from->too_long;
	to->completed_turns += from->completed_turns;
	if (from->history_bytes_max > to->history_bytes_max)
		to->history_bytes_max = from->history_bytes_max;
	hist_merge(&to->think, &from->think);
	for (int i = 0; i < LOAD_TURNS_SHOWN; i++) {
		hist_merge(&to->turns[i].ttft, &from->turns[i].ttft);
		hist_merge(&to->turns[i].latency, &from->turns[i].latency);
		to->turns[i].n_with_input += from->turns[i].n_with_input;
		to->turns[i].input_tokens += from->turns[i].input_tokens;
	}
}

struct load_sessions *session_counts_figures(const struct session_counts *c, struct arena *run)
{
	struct load_sessions *r = arena_new(run, struct load_sessions);
	*r = (struct load_sessions){
		.warmup = c->warmup,
		.started = c->started,
		.completed = c->completed,
		.aborted = c->aborted,
		.too_long = c->too_long,
		.unfinished = c->started - c->completed - c->aborted - c->too_long,
		.turns_mean =
		        c->completed > 0 ? (double)c->completed_turns / (double)c->completed : NAN,
		.history_bytes_max = c->history_bytes_max,
		.think_time = c->think,
	};
	hist_init(&r->later_ttft, run);
	hist_init(&r->later_latency, run);
	for (int i = 0; i < LOAD_TURNS_SHOWN; i++) {
		const struct session_turn_counts *t = &c->turns[i];
		r->turns_by_number[i] = (struct load_turn){
			.ttft = t->ttft,
			.latency = t->latency,
			.input_tokens_mean = t->n_with_input > 0 ? (double)t->input_tokens /
			                                                   (double)t->n_with_input
			                                         : NAN,
		};
		if (i > 0) {
			hist_merge(&r->later_ttft, &t->ttft);
			hist_merge(&r->later_latency, &t->latency);
		}
	}
	return r;
}
