/*
 * Requests of the service as they come from the network, and its answers as they go out.
 */
#include "base/arena.h"
#include "serve/answer.h"
#include "serve/api.h"
#include "serve/job.h"
#include "serve/stop.h"
#include "serve/stream.h"
#include "tap.h"

static struct metrics metrics;

static bool parse(enum api_endpoint endpoint, const char *body, struct arena *run,
        struct api_request *r, struct api_error *error)
{
	struct api_form form = { .endpoint = endpoint };
	return api_parse(&form, str_of(body), run, r, error);
}

static void what_a_request_says_is_what_is_understood(void)
{
	struct arena run = { 0 };
	struct api_request r;
	struct api_error error;
	CHECK(parse(API_COMPLETIONS,
	        "{\"model\":\"m\",\"prompt\":\"a \\u00e9\",\"max_tokens\":7,\"temperature\":0.5,"
	        "\"top_p\":0.9,\"seed\":-3,\"stop\":[\"x\",\"yz\"],\"stream\":true,"
	        "\"stream_options\":{\"include_usage\":true},\"ignore_eos\":true,\"user\":\"u\","
	        "\"n\":1,\"echo\":false,\"logprobs\":null}",
	        &run, &r, &error));
	CHECK_STR(r.model, "m");
	CHECK_INT(r.n_inputs, 1);
	CHECK(str_eq(r.inputs[0].text, STR("a \xc3\xa9")));
	CHECK_INT(r.max_tokens, 7);
	CHECK_NEAR(r.temperature, 0.5, 0);
	CHECK_NEAR(r.top_p, 0.9, 0);
	CHECK(r.has_seed && r.seed == -3);
	CHECK_INT(r.n_stops, 2);
	CHECK(str_eq(r.stops[1], STR("yz")));
	CHECK(r.stream && r.include_usage && r.ignore_eos);
	arena_release(&run);
}

static void what_a_request_leaves_out_has_the_defaults_of_the_api(void)
{
	struct arena run = { 0 };
	struct api_request r;
	struct api_error error;
	CHECK(parse(API_COMPLETIONS, "{\"prompt\":[1,2,3],\"stop\":null}", &run, &r, &error));
	CHECK(r.model == NULL);
	CHECK_INT(r.inputs[0].n_ids, 3);
	CHECK_INT(r.inputs[0].ids[2], 3);
	CHECK_INT(r.max_tokens, 0);
	CHECK_NEAR(r.temperature, 1, 0);
	CHECK_NEAR(r.top_p, 1, 0);
	CHECK(!r.stream && !r.include_usage && !r.has_seed && r.n_stops == 0);
	arena_release(&run);
}

static void messages_become_one_prompt_with_a_newline_between(void)
{
	struct arena run = { 0 };
	struct api_request r;
	struct api_error error;
	CHECK(parse(API_CHAT,
	        "{\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},"
	        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Once\"},"
	        "{\"type\":\"text\",\"text\":\" upon\"}]}],\"max_completion_tokens\":5}",
	        &run, &r, &error));
	CHECK(str_eq(r.inputs[0].text, STR("Be brief.\nOnce upon")));
	CHECK_INT(r.max_tokens, 5);
	arena_release(&run);
}

static void every_wrong_request_is_a_400_that_names_what_is_wrong(void)
{
	static const struct {
		enum api_endpoint endpoint;
		const char *body, *must_contain;
	} cases[] = {
		{ API_COMPLETIONS, "", "JSON" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\"", "JSON" },
		{ API_COMPLETIONS, "{\"prompt\":\"\xff\"}", "JSON" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\"} x", "JSON" },
		{ API_COMPLETIONS, "[1]", "object" },
		{ API_COMPLETIONS, "{}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":null}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":3}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":[]}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":[[]]}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":[-1]}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":[1,\"a\"]}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":[2147483648]}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":[\"a\",\"b\"]}", "'prompt'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"max_tokens\":0}", "'max_tokens'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"max_tokens\":\"7\"}", "'max_tokens'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"max_tokens\":1.5}", "'max_tokens'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"max_tokens\":99999999999}",
		        "'max_tokens'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"temperature\":-0.1}", "'temperature'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"top_p\":1.1}", "'top_p'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"stream\":1}", "'stream'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"seed\":\"x\"}", "'seed'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"model\":5}", "'model'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"stop\":\"\"}", "'stop'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"stop\":[1]}", "'stop'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"n\":2}", "'n'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"logprobs\":1}", "'logprobs'" },
		{ API_COMPLETIONS, "{\"prompt\":\"a\",\"stream_options\":{}}", "'stream_options'" },
		{ API_CHAT, "{}", "'messages'" },
		{ API_CHAT, "{\"messages\":[]}", "'messages'" },
		{ API_CHAT, "{\"messages\":[3]}", "'messages[].role'" },
		{ API_CHAT, "{\"messages\":[{\"role\":\"user\"}]}", "'messages[].content'" },
		{ API_CHAT,
		        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}"
		        "]}",
		        "'messages[].content'" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct api_request r;
		struct api_error error = { 0 };
		bool refused = !parse(cases[i].endpoint, cases[i].body, &run, &r, &error) &&
		               error.status == 400 && strstr(error.message, cases[i].must_contain);
		if (!CHECK(refused))
			printf("# %s: %s\n", cases[i].body, error.message);
		arena_release(&run);
	}
}

static void nesting_is_limited_before_anything_recurses(void)
{
	static const struct {
		int depth;
		const char *must_contain;
	} cases[] = { { API_DEPTH_MAX - 1, "'prompt'" }, { API_DEPTH_MAX, "nested" },
		{ 100000, "nested" } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct api_request r;
		struct api_error error = { 0 };
		AUTO(auto_buf) struct buf body = { 0 };
		buf_add_c(&body, "{\"prompt\":");
		for (int k = 0; k < cases[i].depth; k++)
			buf_add_char(&body, '[');
		for (int k = 0; k < cases[i].depth; k++)
			buf_add_char(&body, ']');
		buf_add_char(&body, '}');
		CHECK(!parse(API_COMPLETIONS, body.s, &run, &r, &error));
		CHECK(strstr(error.message, cases[i].must_contain) != NULL);
		arena_release(&run);
	}
}

static void a_stop_is_found_wherever_the_pieces_are_cut(void)
{
	static const char text[] = "one two stop three";
	const struct str stops[] = { STR("stop"), STR("two s"), STR("op t") };
	size_t want = 4; /* "two s" comes first */
	for (size_t cut = 0; cut < sizeof(text); cut++) {
		size_t at = 0, shown = 0;
		struct str first = { text, cut };
		bool found = stop_find(first, 0, stops, ARRAY_LEN(stops), &at);
		if (!found) {
			shown = cut - stop_held(first, stops, ARRAY_LEN(stops));
			CHECK(shown <= want); /* what was shown cannot be taken back */
			found = stop_find(str_of(text), shown, stops, ARRAY_LEN(stops), &at);
		}
		CHECK(found);
		CHECK_INT(at, want);
	}
}

/* A job as an executor would drive it; text is delivered token by token. */
static struct job *job_with(const char *body, enum api_endpoint endpoint)
{
	struct api_error error;
	struct job *job = job_new(endpoint, &metrics);
	if (!CHECK(parse(endpoint, body, &job->arena, &job->request, &error)))
		printf("# %s\n", error.message);
	job_queue(job);
	job_start(job, 1);
	return job;
}

static size_t occurrences(const struct buf *text, const char *what)
{
	size_t n = 0;
	for (const char *p = text->s; p && (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* Writes all events that are there and returns how many. */
static int drain(struct stream *s, struct buf *out)
{
	int n = 0;
	while (stream_next(s, out) == STREAM_EVENT)
		n++;
	return n;
}

static void a_stream_has_one_event_for_each_token_and_a_proper_end(void)
{
	static const char *const tokens[] = { "a", " b", " c" };
	AUTO(auto_buf) struct buf out = { 0 };
	struct wire wire = WIRE_DEFAULT;
	struct stream s;
	struct job *job = job_with("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"
	                           "\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
	        API_CHAT);
	stream_init(&s, job, &wire, "m");
	CHECK_INT(drain(&s, &out), 1); /* the role */
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		CHECK(job_token(job, str_of(tokens[i]), 10 + (int64_t)i));
		CHECK_INT(drain(&s, &out), 1);
	}
	CHECK(stream_next(&s, &out) == STREAM_WAIT);
	job_end(job, JOB_LENGTH, (struct str){ 0 }, NULL, 20);
	CHECK_INT(drain(&s, &out), 3); /* finish_reason, usage, [DONE] */
	CHECK(stream_next(&s, &out) == STREAM_END);
	CHECK_INT(occurrences(&out, "\"role\":\"assistant\""), 1);
	CHECK_INT(occurrences(&out, "\"finish_reason\":\"length\""), 1);
	CHECK_INT(occurrences(&out, "\"completion_tokens\":3"), 1);
	CHECK_INT(occurrences(&out, "\"content\":\" b\""), 1);
	CHECK(str_ends(buf_str(&out), STR("data: [DONE]\n\n")));
	job_unref(job);
}

static void tokens_gathered_into_events_lose_nothing(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct wire wire = WIRE_DEFAULT;
	struct stream s;
	wire.tokens_per_event = 3;
	wire.crlf = true;
	struct job *job = job_with("{\"prompt\":\"x\",\"stream\":true}", API_COMPLETIONS);
	stream_init(&s, job, &wire, "m");
	CHECK(job_token(job, STR("1"), 10));
	CHECK(job_token(job, STR("2"), 10));
	CHECK_INT(drain(&s, &out), 0);
	CHECK(job_token(job, STR("3"), 10));
	CHECK_INT(drain(&s, &out), 1);
	CHECK(job_token(job, STR("4"), 10));
	job_end(job, JOB_STOP, STR("5"), NULL, 20);
	CHECK_INT(drain(&s, &out), 3);
	CHECK_INT(occurrences(&out, "\"text\":\"123\""), 1);
	CHECK_INT(occurrences(&out, "\"text\":\"45\""), 1);
	CHECK_INT(occurrences(&out, "\r\n\r\n"), 4);
	job_unref(job);
}

static void a_stop_sequence_ends_the_answer_before_it_and_shows_none_of_it(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct wire wire = WIRE_DEFAULT;
	struct stream s;
	struct job *job =
	        job_with("{\"prompt\":\"x\",\"stream\":true,\"stop\":\"END\"}", API_COMPLETIONS);
	stream_init(&s, job, &wire, "m");
	CHECK(job_token(job, STR("one E"), 10)); /* the E may be the beginning of it */
	CHECK(job_token(job, STR("two EN"), 10));
	CHECK_INT(drain(&s, &out), 2);
	CHECK_INT(occurrences(&out, "\"text\":\"one \""), 1);
	CHECK_INT(occurrences(&out, "\"text\":\"Etwo \""), 1);
	CHECK(!job_token(job, STR("D of it"), 10));
	drain(&s, &out);
	CHECK_INT(occurrences(&out, "\"finish_reason\":\"stop\""), 1);
	CHECK(str_eq(buf_str(&job->text), STR("one Etwo ")));
	job_unref(job);
}

static void a_failure_in_mid_stream_is_an_event_and_a_cut_is_none(void)
{
	static const struct {
		enum job_end end;
		int n_events;
		enum stream_next last;
	} cases[] = { { JOB_FAILED, 2, STREAM_END }, { JOB_CUT, 0, STREAM_BREAK },
		{ JOB_CANCELLED, 0, STREAM_BREAK } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		struct wire wire = WIRE_DEFAULT;
		struct stream s;
		struct job *job = job_with("{\"prompt\":\"x\",\"stream\":true}", API_COMPLETIONS);
		stream_init(&s, job, &wire, "m");
		CHECK(job_token(job, STR("1"), 10));
		CHECK_INT(drain(&s, &out), 1);
		job_end(job, cases[i].end, (struct str){ 0 }, "it broke", 20);
		CHECK_INT(drain(&s, &out), cases[i].n_events);
		CHECK(stream_next(&s, &out) == cases[i].last);
		CHECK_INT(occurrences(&out, "{\"error\":{\"message\":\"it broke\""),
		        cases[i].end == JOB_FAILED);
		job_unref(job);
	}
}

int main(void)
{
	metrics_init(&metrics);
	TAP_RUN(what_a_request_says_is_what_is_understood);
	TAP_RUN(what_a_request_leaves_out_has_the_defaults_of_the_api);
	TAP_RUN(messages_become_one_prompt_with_a_newline_between);
	TAP_RUN(every_wrong_request_is_a_400_that_names_what_is_wrong);
	TAP_RUN(nesting_is_limited_before_anything_recurses);
	TAP_RUN(a_stop_is_found_wherever_the_pieces_are_cut);
	TAP_RUN(a_stream_has_one_event_for_each_token_and_a_proper_end);
	TAP_RUN(tokens_gathered_into_events_lose_nothing);
	TAP_RUN(a_stop_sequence_ends_the_answer_before_it_and_shows_none_of_it);
	TAP_RUN(a_failure_in_mid_stream_is_an_event_and_a_cut_is_none);
	return tap_done();
}
