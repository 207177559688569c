#include "load/session.h"

#include "load/request_frame.h"
#include "load/history.h"
#include "load/synthetic.h"

#include <math.h>
#include <stdlib.h>

/* What is drawn for a session, for the seed of the draw. */
enum draw { DRAW_TURNS, DRAW_THINK, DRAW_PROMPT };

static uint64_t draw_key(const struct session *s, enum draw what)
{
	uint64_t turn = prompt_text_key(what, (uint64_t)s->turn, 0);
	return prompt_text_key(s->workload->seed, turn, (uint64_t)s->number);
}

static double draw(const struct session *s, enum draw what, const struct dist *d)
{
	struct rng rng;
	rng_init(&rng, draw_key(s, what));
	return dist_sample(d, &rng);
}

/* Which of the workload's prompts a turn of a synthetic session has the lengths of. */
static size_t prompt_of(const struct session *s)
{
	return (size_t)(draw_key(s, DRAW_PROMPT) % s->workload->n_prompts);
}

/* ---- the pool ---- */

void session_pool_init(struct session_pool *pool, struct load_shared *shared)
{
	*pool = (struct session_pool){ .shared = shared };
}

/* What the history takes is counted while it is kept, used or not. */
static void book(struct session_pool *pool, struct session *s)
{
	load_shared_add(&pool->shared->session_bytes, (int64_t)s->history.cap - (int64_t)s->booked);
	s->booked = s->history.cap;
}

static void free_session(struct session_pool *pool, struct session *s)
{
	buf_release(&s->history);
	book(pool, s);
	free(s);
}

void session_pool_release(struct session_pool *pool)
{
	for (size_t i = 0; i < pool->n_thinking; i++)
		free_session(pool, pool->thinking[i]);
	while (pool->unused) {
		struct session *s = pool->unused;
		pool->unused = s->next;
		free_session(pool, s);
	}
	free(pool->thinking);
	buf_release(&pool->text);
	*pool = (struct session_pool){ 0 };
}

bool session_pool_ended(const struct session_pool *pool)
{
	if (!session_pool_used(pool))
		return false;
	int64_t max = pool->shared->shape->sessions;
	return pool->ended || (max > 0 && pool->shared->n_window_sessions >= max);
}

bool session_pool_over(const struct session_pool *pool)
{
	return session_pool_ended(pool) && pool->n_open == 0;
}

/* ---- what is asked ---- */

/* Appends the question of the turn to the history. */
static void ask(struct session_pool *pool, struct session *s)
{
	const struct workload *w = s->workload;
	bool messages = w->sessions->messages;
	if (s->recorded) {
		history_add(&s->history, messages, s->recorded->turns[s->turn].asks);
		return;
	}
	uint64_t nonce = pool->shared->nonce, number = (uint64_t)s->number;
	buf_clear(&pool->text);
	if (s->turn == 0) {
		synthetic_text(w, prompt_of(s), number, nonce, &pool->text);
	} else {
		uint64_t key = prompt_text_key(number, PROMPT_LATER, (uint64_t)s->turn);
		prompt_text_add(&w->text,
		        prompt_text_key(w->salted ? nonce : w->seed, PROMPT_LATER, key),
		        w->prompts[prompt_of(s)].input_tokens, true, &pool->text);
	}
	history_add_text(&s->history, messages, "user", buf_str(&pool->text));
}

static int64_t count_turns(const struct session *s)
{
	const struct session_plan *p = s->workload->sessions;
	double n = p->all_turns ? SESSION_TURNS_MAX : round(draw(s, DRAW_TURNS, &p->turns));
	int64_t max = s->recorded ? (int64_t)s->recorded->n : SESSION_TURNS_MAX;
	return n < 1 ? 1 : n > (double)max ? max : (int64_t)n;
}

struct session *session_start(struct session_pool *pool, int target, bool in_window)
{
	struct load_shared *shared = pool->shared;
	int64_t max = shared->shape->sessions;
	if (session_pool_ended(pool))
		return NULL;
	if (in_window && atomic_fetch_add(&shared->n_window_sessions, 1) >= max && max > 0)
		return NULL;
	struct session *s = pool->unused;
	if (s)
		pool->unused = s->next;
	else
		*(s = mem_realloc(NULL, sizeof(*s))) = (struct session){ 0 };
	const struct workload *w = &shared->targets[target].workload;
	struct buf history = s->history;
	*s = (struct session){
		.workload = w,
		.target = target,
		.number = atomic_fetch_add(&shared->n_sessions, 1),
		.in_window = in_window,
		.history = history,
		.booked = history.cap,
	};
	if (w->sessions->n)
		s->recorded = &w->sessions->conversations[(size_t)s->number % w->sessions->n];
	s->n_turns = count_turns(s);
	buf_clear(&s->history);
	ask(pool, s);
	book(pool, s);
	pool->n_open++;
	return s;
}

struct str session_request(const struct session *s, struct buf *out)
{
	const struct workload *w = s->workload;
	uint32_t frame =
	        s->recorded ? s->recorded->turns[s->turn].frame : w->prompts[prompt_of(s)].frame;
	request_frame_open(&w->frames[frame], out);
	buf_add(out, buf_str(&s->history));
	return request_frame_close(&w->frames[frame], out);
}

/* ---- what is answered ---- */

enum session_state session_answer(
        struct session_pool *pool, struct session *s, struct str answer, bool cut, int64_t now_ns)
{
	const struct session_plan *p = s->workload->sessions;
	s->answered_ns = now_ns;
	if (s->turn + 1 >= s->n_turns)
		return SESSION_COMPLETED;
	if (!p->own_answers)
		history_add(&s->history, p->messages, s->recorded->turns[s->turn].answer);
	else if (!cut)
		history_add_answer(&s->history, p->messages, answer, &pool->text);
	s->due_ns = now_ns + (p->thinks ? (int64_t)draw(s, DRAW_THINK, &p->think) : 0);
	s->turn++;
	ask(pool, s);
	book(pool, s);
	bool fits = s->history.len <= SESSION_HISTORY_MAX &&
	            pool->shared->session_bytes <= SESSION_TOTAL_MAX;
	return fits && !(cut && p->own_answers) ? SESSION_GOES_ON : SESSION_TOO_LONG;
}

void session_end(struct session_pool *pool, struct session *s)
{
	if (s->history.cap > SESSION_KEEP_BYTES)
		buf_release(&s->history);
	book(pool, s);
	s->next = pool->unused;
	pool->unused = s;
	pool->n_open--;
}

/* ---- who thinks ---- */

void session_think(struct session_pool *pool, struct session *s)
{
	size_t i = pool->n_thinking;
	if (i == pool->cap) {
		pool->cap = pool->cap ? pool->cap * 2 : 64;
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): it holds pointers */
		pool->thinking = mem_realloc(pool->thinking, pool->cap * sizeof(*pool->thinking));
	}
	pool->n_thinking++;
	for (; i > 0 && pool->thinking[(i - 1) / 2]->due_ns > s->due_ns; i = (i - 1) / 2)
		pool->thinking[i] = pool->thinking[(i - 1) / 2];
	pool->thinking[i] = s;
}

void session_wake(struct session_pool *pool)
{
	size_t n = --pool->n_thinking, i = 0;
	struct session *last = pool->thinking[n];
	for (;;) {
		size_t child = 2 * i + 1;
		if (child + 1 < n &&
		        pool->thinking[child + 1]->due_ns < pool->thinking[child]->due_ns)
			child++;
		if (child >= n || pool->thinking[child]->due_ns >= last->due_ns)
			break;
		pool->thinking[i] = pool->thinking[child];
		i = child;
	}
	pool->thinking[i] = last;
}
