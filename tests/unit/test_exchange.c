#include "load/exchange.h"
#include "tap.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define SSE_HEAD OK "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHAT(delta) "data: {\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}]}\n\n"
#define FINISH "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define USAGE                                                                                      \
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n"
#define DONE "data: [DONE]\n\n"

struct answer {
	const char *what;
	const struct endpoint *endpoint;
	const char *text; /* body of a stream, or the whole answer when it starts with HTTP/ */
	bool good;
	enum load_failure failure;
	int64_t events, input, output;
};

static const struct answer answers[] = {
	{ "a chat stream with role, tokens, finish, usage", &endpoint_openai_chat,
		CHAT("{\"role\":\"assistant\",\"content\":\"\"}") CHAT("{\"content\":\"a\"}")
			CHAT("{\"content\":\"b\"}") FINISH USAGE DONE,
		true, 0, 2, 7, 9 },
	{ "reasoning counts as tokens under both names", &endpoint_openai_chat,
		CHAT("{\"reasoning_content\":\"x\"}") CHAT("{\"reasoning\":\"y\"}") FINISH, true, 0, 2,
		-1, -1 },
	{ "tool calls count as tokens", &endpoint_openai_chat,
		CHAT("{\"tool_calls\":[{\"index\":0}]}") CHAT("{\"tool_calls\":[]}") FINISH, true, 0, 1,
		-1, -1 },
	{ "usage on the last chunk with empty text", &endpoint_openai_completions,
		"data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\r\n\r\n"
		"data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}],"
		"\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":5}}\r\n\r\n",
		true, 0, 1, 1, 5 },
	{ "an error event after a good status", &endpoint_openai_chat,
		CHAT("{\"content\":\"a\"}") "data: {\"error\":{\"message\":\"engine died\"}}\n\n" DONE,
		false, LOAD_FAIL_ERROR_EVENT, 1, -1, -1 },
	{ "an SSE event of type error", &endpoint_openai_chat,
		"event: error\ndata: overloaded\n\n", false, LOAD_FAIL_ERROR_EVENT, 0, -1, -1 },
	{ "error null is no error", &endpoint_openai_completions,
		"data: {\"error\":null,\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\n",
		true, 0, 1, -1, -1 },
	{ "an empty answer is no success", &endpoint_openai_chat, FINISH DONE, false, LOAD_FAIL_EMPTY,
		0, -1, -1 },
	{ "a stream without a byte is empty, not cut", &endpoint_openai_chat,
		OK "Content-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n", false,
		LOAD_FAIL_EMPTY, 0, -1, -1 },
	{ "a body without a byte is empty, not wrong", &endpoint_openai_completions,
		OK "Content-Length: 0\r\n\r\n", false, LOAD_FAIL_EMPTY, 0, -1, -1 },
	{ "no finish marker", &endpoint_openai_chat, CHAT("{\"content\":\"a\"}"), false,
		LOAD_FAIL_STREAM_CUT, 1, -1, -1 },
	{ "an event that is not JSON", &endpoint_openai_chat, "data: oops\n\n" DONE, false,
		LOAD_FAIL_ERROR_EVENT, 0, -1, -1 },
	{ "a whole chat answer", &endpoint_openai_chat,
		OK "Content-Type: application/json\r\nContent-Length: 115\r\n\r\n"
		   "{\"choices\":[{\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}],"
		   "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
		true, 0, 1, 3, 2 },
	{ "a status that is not 2xx", &endpoint_openai_chat,
		"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", false, LOAD_FAIL_STATUS, 0, -1,
		-1 },
	{ "embeddings", &endpoint_openai_embeddings,
		OK "Content-Length: 78\r\n\r\n"
		   "{\"data\":[{\"embedding\":[0.1]},{\"embedding\":[0.2]}],\"usage\":{\"prompt_tokens\":4}}"
		   " ",
		true, 0, 2, 4, -1 },
	{ "embeddings without any", &endpoint_openai_embeddings,
		OK "Content-Length: 11\r\n\r\n{\"data\":[]}", false, LOAD_FAIL_EMPTY, 0, -1, -1 },
	{ "plain HTTP needs only the status", &endpoint_http, OK "Content-Length: 0\r\n\r\n", true, 0,
		0, -1, -1 },
};

/* The bytes of an answer as they go over the wire. */
static void write_answer(const struct answer *a, struct buf *out)
{
	buf_clear(out);
	if (strncmp(a->text, "HTTP/", 5) == 0) {
		buf_add_c(out, a->text);
		return;
	}
	buf_add_c(out, SSE_HEAD);
	buf_printf(out, "%zx\r\n%s\r\n0\r\n\r\n", strlen(a->text), a->text);
}

static enum exchange_result feed_in_two(struct exchange *x, struct str bytes, size_t cut)
{
	size_t used;
	enum exchange_result r = exchange_feed(x, (struct str){ bytes.s, cut }, 100, &used);
	if (r != EXCHANGE_MORE || cut == bytes.len)
		return r;
	return exchange_feed(x, (struct str){ bytes.s + cut, bytes.len - cut }, 200, &used);
}

static void check_answer(struct exchange *x, const struct answer *a, struct str bytes, size_t cut)
{
	enum load_failure failure = LOAD_N_FAILURES;
	char why[256];
	exchange_begin(x, a->endpoint, 1, 1, NULL);
	bool ok = CHECK_INT(feed_in_two(x, bytes, cut), EXCHANGE_DONE);
	bool good = exchange_judge(x, &failure, why, sizeof(why));
	ok &= CHECK_INT(good, a->good);
	if (!a->good)
		ok &= CHECK_INT(failure, a->failure);
	ok &= CHECK_INT(x->reply.token_events, a->events);
	ok &= CHECK_INT(x->reply.input_tokens, a->input);
	ok &= CHECK_INT(x->reply.output_tokens, a->output);
	if (!ok)
		printf("# in '%s', cut at %zu\n", a->what, cut);
}

static void answers_are_judged_the_same_for_every_split(void)
{
	struct exchange x = { 0 };
	AUTO(auto_buf) struct buf bytes = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		write_answer(&answers[i], &bytes);
		for (size_t cut = 1; cut <= bytes.len; cut++)
			check_answer(&x, &answers[i], buf_str(&bytes), cut);
	}
	exchange_release(&x);
}

static void the_first_token_is_not_the_role(void)
{
	struct exchange x = { 0 };
	struct arena run = { 0 };
	struct hist gaps;
	static const char *const reads[] = {
		SSE_HEAD "53\r\n" CHAT("{\"role\":\"assistant\",\"content\":\"\"}") "\r\n",
		"36\r\n" CHAT("{\"content\":\"a\"}") "\r\n",
		"36\r\n" CHAT("{\"content\":\"b\"}") "\r\n",
	};
	size_t used;
	hist_init(&gaps, &run);
	exchange_begin(&x, &endpoint_openai_chat, 1, 1, &gaps);
	for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
		char fixed[512];
		/* Chunk sizes are computed here, so that the events may change. */
		const char *event = strstr(reads[i], "data:");
		size_t n = strlen(event) - 2;
		snprintf(fixed, sizeof(fixed), "%s%zx\r\n%s", i == 0 ? SSE_HEAD : "", n, event);
		CHECK_INT(exchange_feed(&x, str_of(fixed), (int64_t)(i + 1) * 1000, &used),
			EXCHANGE_MORE);
	}
	CHECK_INT(x.first_byte_ns, 1000);
	CHECK_INT(x.first_token_ns, 2000);
	CHECK_INT(x.last_token_ns, 3000);
	CHECK_INT(gaps.n, 1);
	CHECK_INT(gaps.max, 1000);
	exchange_release(&x);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(answers_are_judged_the_same_for_every_split);
	TAP_RUN(the_first_token_is_not_the_role);
	return tap_done();
}
