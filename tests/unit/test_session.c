#include "load/session.h"

#include "base/clock.h"
#include "load/target.h"
#include "tap.h"

#include <jansson.h>

static const struct url url = {
	.text = "http://h:1",
	.host = "h",
	.port = 1,
	.path = "/v1/chat/completions",
	.authority = "h:1",
};

/* A load of sessions without threads and sockets. */
struct fixture {
	struct arena run;
	struct load_target target;
	struct load_shape shape;
	struct load_shared shared;
	struct session_pool pool;
};

static bool open_fixture(struct fixture *f, struct load_config config, int64_t sessions)
{
	struct err err;
	memset(f, 0, sizeof(*f));
	f->shape.sessions = sessions;
	f->shared.targets = &f->target;
	f->shared.n_targets = 1;
	f->shared.shape = &f->shape;
	f->shared.nonce = 7;
	if (!CHECK(workload_build(&config, &endpoint_openai_chat, "m", NULL, &url, &f->run,
	            &f->target.workload, &err)))
		return false;
	session_pool_init(&f->pool, &f->shared);
	return CHECK(f->target.workload.sessions != NULL);
}

static void close_fixture(struct fixture *f)
{
	session_pool_release(&f->pool);
	CHECK_INT(f->shared.session_bytes, 0);
	arena_release(&f->run);
}

/* The messages of a session's request, whose length is checked against its head. */
static json_t *messages_of(const struct session *s)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct str r = session_request(s, &out);
	ptrdiff_t end = str_find(r, STR("\r\n\r\n")), at = str_find(r, STR("\r\nContent-Length: "));
	CHECK(end > 0 && at > 0 && at < end);
	CHECK_INT(strtol(r.s + at + 18, NULL, 10), r.len - (size_t)end - 4);
	json_t *body = json_loadb(r.s + end + 4, r.len - (size_t)end - 4, 0, NULL);
	json_t *messages = json_incref(json_object_get(body, "messages"));
	json_decref(body);
	return messages;
}

static const char *content(json_t *messages, size_t i)
{
	return json_string_value(json_object_get(json_array_get(messages, i), "content"));
}

static void a_session_says_all_that_was_said_and_ends_after_its_turns(void)
{
	struct fixture f;
	struct load_config c = { .seed = 1, .salt = true, .input_tokens = "6", .turns = "3" };
	if (!open_fixture(&f, c, 0))
		return;
	struct session *s = session_start(&f.pool, 0, true);
	json_t *first = messages_of(s);
	CHECK_INT(json_array_size(first), 1);
	CHECK_INT(session_answer(&f.pool, s, STR("\\ud83d\\ude00"), false, 5), SESSION_GOES_ON);
	CHECK_INT(s->due_ns, 5);
	json_t *second = messages_of(s);
	CHECK_INT(json_array_size(second), 3);
	CHECK_STR(content(second, 0), content(first, 0));
	CHECK_STR(content(second, 1), "\xf0\x9f\x98\x80");
	CHECK(strcmp(content(second, 2), content(second, 0)) != 0);
	CHECK_INT(session_answer(&f.pool, s, STR("b"), false, 6), SESSION_GOES_ON);
	json_t *third = messages_of(s);
	CHECK_INT(json_array_size(third), 5);
	for (size_t i = 0; i < 3; i++)
		CHECK_STR(content(third, i), content(second, i));
	CHECK_INT(session_answer(&f.pool, s, STR("c"), false, 7), SESSION_COMPLETED);
	session_end(&f.pool, s);
	struct session *next = session_start(&f.pool, 0, true);
	json_t *other = messages_of(next);
	CHECK_INT(json_array_size(other), 1);
	CHECK(strcmp(content(other, 0), content(first, 0)) != 0);
	session_end(&f.pool, next);
	json_decref(first);
	json_decref(second);
	json_decref(third);
	json_decref(other);
	close_fixture(&f);
}

static void turns_are_drawn_for_each_session_by_seed_and_number(void)
{
	struct load_config c = { .seed = 3, .turns = "uniform:1..5" };
	int64_t turns[2][200], n[6] = { 0 };
	for (int k = 0; k < 2; k++) {
		struct fixture f;
		if (!open_fixture(&f, c, 0))
			return;
		for (int i = 0; i < 200; i++) {
			struct session *s = session_start(&f.pool, 0, true);
			turns[k][i] = s->n_turns;
			session_end(&f.pool, s);
		}
		close_fixture(&f);
	}
	CHECK(memcmp(turns[0], turns[1], sizeof(turns[0])) == 0);
	for (int i = 0; i < 200; i++)
		if (CHECK(turns[0][i] >= 1 && turns[0][i] <= 5))
			n[turns[0][i]]++;
	for (int i = 1; i <= 5; i++)
		CHECK(n[i] > 0);
}

static void who_thinks_comes_back_in_the_order_of_the_moments(void)
{
	enum { N = 1000 };
	struct fixture f;
	struct load_config c = { .seed = 1, .turns = "2", .think = "lognormal:2s,0.5" };
	double sum = 0;
	int64_t last = 0;
	if (!open_fixture(&f, c, 0))
		return;
	for (int i = 0; i < N; i++) {
		struct session *s = session_start(&f.pool, 0, true);
		CHECK_INT(session_answer(&f.pool, s, STR("a"), false, 0), SESSION_GOES_ON);
		session_think(&f.pool, s);
	}
	CHECK_INT(f.pool.n_open, N);
	for (int i = 0; i < N; i++) {
		struct session *s = session_first(&f.pool);
		session_wake(&f.pool);
		if (!CHECK(s->due_ns >= last))
			break;
		last = s->due_ns;
		sum += (double)s->due_ns;
		session_end(&f.pool, s);
	}
	CHECK(session_first(&f.pool) == NULL);
	/* five standard errors: 2 s * 0.5 / sqrt(1000) each */
	CHECK_NEAR(sum / N, 2e9, 5 * 1e9 / sqrt(N));
	close_fixture(&f);
}

static void so_many_sessions_begin_in_the_window_as_were_asked_for(void)
{
	struct fixture f;
	struct load_config c = { .seed = 1, .turns = "1" };
	if (!open_fixture(&f, c, 2))
		return;
	struct session *warm = session_start(&f.pool, 0, false);
	struct session *a = session_start(&f.pool, 0, true), *b = session_start(&f.pool, 0, true);
	CHECK(warm && a && b);
	CHECK(session_start(&f.pool, 0, true) == NULL);
	CHECK(session_pool_ended(&f.pool) && !session_pool_over(&f.pool));
	session_end(&f.pool, warm);
	session_end(&f.pool, a);
	CHECK(!session_pool_over(&f.pool));
	session_end(&f.pool, b);
	CHECK(session_pool_over(&f.pool));
	close_fixture(&f);
}

static void a_history_over_a_limit_ends_its_session(void)
{
	AUTO(auto_buf) struct buf answer = { 0 };
	struct fixture f;
	struct load_config c = { .seed = 1, .turns = "9" };
	if (!open_fixture(&f, c, 0))
		return;
	struct session *s = session_start(&f.pool, 0, true);
	buf_add_blanks(&answer, SESSION_HISTORY_MAX / 2);
	CHECK_INT(session_answer(&f.pool, s, buf_str(&answer), false, 0), SESSION_GOES_ON);
	CHECK_INT(session_answer(&f.pool, s, buf_str(&answer), false, 0), SESSION_TOO_LONG);
	session_end(&f.pool, s);
	/* an answer that was cut cannot be said again */
	s = session_start(&f.pool, 0, true);
	CHECK_INT(session_answer(&f.pool, s, STR("a"), true, 0), SESSION_TOO_LONG);
	session_end(&f.pool, s);
	/* and the limit of all of them */
	s = session_start(&f.pool, 0, true);
	f.shared.session_bytes += SESSION_TOTAL_MAX;
	CHECK_INT(session_answer(&f.pool, s, STR("a"), false, 0), SESSION_TOO_LONG);
	f.shared.session_bytes -= SESSION_TOTAL_MAX;
	session_end(&f.pool, s);
	close_fixture(&f);
}

int main(void)
{
	TAP_RUN(a_session_says_all_that_was_said_and_ends_after_its_turns);
	TAP_RUN(turns_are_drawn_for_each_session_by_seed_and_number);
	TAP_RUN(who_thinks_comes_back_in_the_order_of_the_moments);
	TAP_RUN(so_many_sessions_begin_in_the_window_as_were_asked_for);
	TAP_RUN(a_history_over_a_limit_ends_its_session);
	return tap_done();
}
