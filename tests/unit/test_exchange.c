#include "load/exchange.h"
#include "tap.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define JSON_HEAD OK "Content-Type: application/json\r\n"
#define LINES_HEAD OK "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
#define SSE_HEAD OK "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHAT(delta) "data: {\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}]}\n\n"
#define FINISH "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define USAGE                                                                                      \
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n"
#define DONE "data: [DONE]\n\n"

struct answer {
	const char *what;
	const struct endpoint *endpoint;
	/* A whole answer from HTTP/ on, a JSON body that begins with a bracket, or a stream. */
	const char *text;
	bool good;
	enum load_failure failure;
	int64_t events, input, output;
	bool json_lines; /* the stream's form; else server-sent events */
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
		"{\"choices\":[{\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}],"
		"\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
		true, 0, 1, 3, 2 },
	{ "a status that is not 2xx", &endpoint_openai_chat,
		"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", false, LOAD_FAIL_STATUS, 0, -1,
		-1 },
	{ "embeddings", &endpoint_openai_embeddings,
		"{\"data\":[{\"embedding\":[0.1]},{\"embedding\":[0.2]}],"
		"\"usage\":{\"prompt_tokens\":4}}",
		true, 0, 2, 4, -1 },
	{ "embeddings without any", &endpoint_openai_embeddings,
		"{\"data\":[]}", false, LOAD_FAIL_EMPTY, 0, -1, -1 },
	{ "a rerank in the form of Jina", &endpoint_openai_rerank,
		"{\"model\":\"r\",\"usage\":{\"total_tokens\":38},\"results\":["
		"{\"index\":1,\"relevance_score\":0.9,\"document\":{\"text\":\"b\"}},"
		"{\"index\":0,\"relevance_score\":0.1,\"document\":{\"text\":\"a\"}}]}",
		true, 0, 2, 38, -1 },
	{ "a rerank without a usage, as Cohere has it", &endpoint_openai_rerank,
		"{\"id\":\"x\",\"results\":[{\"index\":0,\"relevance_score\":0.5}],"
		"\"meta\":{\"billed_units\":{\"search_units\":1}}}",
		true, 0, 1, -1, -1 },
	{ "a rerank of nothing", &endpoint_openai_rerank, "{\"results\":[]}", false,
		LOAD_FAIL_EMPTY, 0, -1, -1 },
	{ "a TGI stream, whose last token has the text and the details", &endpoint_tgi,
		"data:{\"index\":1,\"token\":{\"id\":264,\"text\":\" a\",\"logprob\":-0.7,"
		"\"special\":false},\"generated_text\":null,\"details\":null}\n\n"
		"data:{\"index\":2,\"token\":{\"id\":2,\"text\":\"</s>\",\"logprob\":-0.1,"
		"\"special\":true},\"generated_text\":\" a\",\"details\":{\"finish_reason\":"
		"\"eos_token\",\"generated_tokens\":2,\"seed\":null,\"input_length\":5}}\n\n",
		true, 0, 2, 5, 2 },
	{ "an error inside a TGI stream", &endpoint_tgi,
		"data:{\"token\":{\"id\":264,\"text\":\" a\",\"special\":false},"
		"\"generated_text\":null}\n\n"
		"data:{\"error\":\"Request failed during generation\",\"error_type\":"
		"\"generation\"}\n\n",
		false, LOAD_FAIL_ERROR_EVENT, 1, -1, -1 },
	{ "a TGI stream that is cut", &endpoint_tgi,
		"data:{\"token\":{\"id\":264,\"text\":\" a\",\"special\":false},"
		"\"generated_text\":null}\n\n",
		false, LOAD_FAIL_STREAM_CUT, 1, -1, -1 },
	{ "a whole answer of TGI", &endpoint_tgi,
		"{\"generated_text\":\" a b\",\"details\":{\"finish_reason\":\"length\","
		"\"generated_tokens\":2,\"seed\":7,\"prefill\":[],\"tokens\":[{\"id\":1},{\"id\":2}]}}",
		true, 0, 1, -1, 2 },
	{ "embeddings of TEI", &endpoint_tei_embed, "[[0.1,-0.2],[3e-2,0.4]]", true, 0, 2, -1, -1 },
	{ "a rerank of TEI", &endpoint_tei_rerank,
		"[{\"index\":1,\"score\":0.99},{\"index\":0,\"score\":0.01}]", true, 0, 2, -1, -1 },
	{ "a prediction of TEI", &endpoint_tei_predict,
		"[{\"score\":0.9,\"label\":\"POSITIVE\"},{\"score\":0.1,\"label\":\"NEGATIVE\"}]", true,
		0, 2, -1, -1 },
	{ "an error of TEI in a good status", &endpoint_tei_embed,
		"{\"error\":\"Model is overloaded\",\"error_type\":\"Overloaded\"}", false,
		LOAD_FAIL_ERROR_EVENT, 0, -1, -1 },
	{ "no embedding from TEI", &endpoint_tei_embed, "[]", false, LOAD_FAIL_EMPTY, 0, -1, -1 },
	{ "a text in place of TEI's array", &endpoint_tei_embed,
		OK "Content-Length: 4\r\n\r\nnone", false, LOAD_FAIL_ERROR_EVENT, 0, -1, -1 },
	{ "a generation of Ollama, by lines", &endpoint_ollama_generate,
		"{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"response\":\"The\","
		"\"done\":false}\n"
		"{\"model\":\"m\",\"response\":\" \xE5\xA4\xA9\",\"done\":false}\n"
		"{\"model\":\"m\",\"response\":\"\",\"done\":true,\"done_reason\":\"stop\","
		"\"context\":[1,2,3],\"total_duration\":5043500667,\"prompt_eval_count\":26,"
		"\"eval_count\":3}\n",
		true, 0, 2, 26, 3, .json_lines = true },
	{ "a chat of Ollama that thinks, with CRLF and no end of its last line",
		&endpoint_ollama_chat,
		"{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hm\"},"
		"\"done\":false}\r\n"
		"{\"message\":{\"role\":\"assistant\",\"content\":\"4\"},\"done\":false}\r\n"
		"{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,"
		"\"prompt_eval_count\":9,\"eval_count\":2}",
		true, 0, 2, 9, 2, .json_lines = true },
	{ "an error inside a stream of Ollama", &endpoint_ollama_chat,
		"{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"error\":\"runner died\"}\n", false,
		LOAD_FAIL_ERROR_EVENT, 1, -1, -1, .json_lines = true },
	{ "a stream of Ollama that is cut", &endpoint_ollama_generate,
		"{\"response\":\"a\",\"done\":false}\n", false, LOAD_FAIL_STREAM_CUT, 1, -1, -1,
		.json_lines = true },
	{ "a line of Ollama that is cut", &endpoint_ollama_generate,
		"{\"response\":\"a\",\"done\":false}\n{\"response\":\"", false, LOAD_FAIL_ERROR_EVENT, 1,
		-1, -1, .json_lines = true },
	{ "a whole answer of Ollama", &endpoint_ollama_chat,
		"{\"message\":{\"content\":\"hi\"},\"done\":true,\"eval_count\":2,"
		"\"prompt_eval_count\":4}",
		true, 0, 1, 4, 2 },
	{ "lines of Ollama that call themselves JSON", &endpoint_ollama_generate,
		"{\"response\":\"a\",\"done\":false}\n{\"response\":\"\",\"done\":true,\"eval_count\":1}\n",
		true, 0, 1, -1, 1 },
	{ "a stream of llama.cpp that counts as it goes", &endpoint_llamacpp,
		"data: {\"index\":0,\"content\":\" a\",\"tokens\":[263],\"stop\":false,\"id_slot\":0,"
		"\"tokens_predicted\":1,\"tokens_evaluated\":8}\n\n"
		"data: {\"index\":0,\"content\":\" b\",\"tokens\":[289],\"stop\":false,"
		"\"tokens_predicted\":2,\"tokens_evaluated\":8}\n\n"
		"data: {\"index\":0,\"content\":\"\",\"tokens\":[],\"stop\":true,\"stop_type\":\"limit\","
		"\"generation_settings\":{\"stop\":[\"x\"],\"seed\":1},\"tokens_predicted\":2,"
		"\"tokens_evaluated\":8,\"timings\":{\"predicted_ms\":9.5}}\n\n",
		true, 0, 2, 8, 2 },
	{ "an error inside a stream of llama.cpp", &endpoint_llamacpp,
		"data: {\"content\":\"a\",\"tokens\":[1],\"stop\":false}\n\n"
		"data: {\"error\":{\"code\":500,\"message\":\"context shift\",\"type\":"
		"\"server_error\"}}\n\n",
		false, LOAD_FAIL_ERROR_EVENT, 1, -1, -1 },
	{ "a whole answer of llama.cpp", &endpoint_llamacpp,
		"{\"content\":\" a b\",\"stop\":true,\"tokens_predicted\":2,\"tokens_evaluated\":8}",
		true, 0, 1, 8, 2 },
	{ "outputs of KServe v2 as JSON", &endpoint_kserve_v2,
		"{\"model_name\":\"m\",\"model_version\":\"1\",\"outputs\":["
		"{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[0.5,0.25]},"
		"{\"name\":\"z\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"ok\"]}]}",
		true, 0, 2, -1, -1 },
	{ "outputs of KServe v2 as bytes behind the JSON", &endpoint_kserve_v2,
		OK "Content-Type: application/octet-stream\r\n"
		   "Inference-Header-Content-Length: 92\r\nContent-Length: 100\r\n\r\n"
		   "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2],"
		   "\"parameters\":{\"binary_data_size\":8}}]}  }{\"[\xFF:",
		true, 0, 1, -1, -1 },
	{ "an error of KServe v2 in a good status", &endpoint_kserve_v2,
		"{\"error\":\"unexpected shape\"}", false, LOAD_FAIL_ERROR_EVENT, 0, -1, -1 },
	{ "no outputs from KServe v2", &endpoint_kserve_v2, "{\"model_name\":\"m\"}", false,
		LOAD_FAIL_STREAM_CUT, 0, -1, -1 },
	{ "plain HTTP needs only the status", &endpoint_http, OK "Content-Length: 0\r\n\r\n", true, 0,
		0, -1, -1 },
};

/* The bytes of an answer as they go over the wire. */
static void write_answer(const struct answer *a, struct buf *out)
{
	size_t n = strlen(a->text);
	buf_clear(out);
	if (a->json_lines)
		buf_printf(out, LINES_HEAD "%zx\r\n%s\r\n0\r\n\r\n", n, a->text);
	else if (strncmp(a->text, "HTTP/", 5) == 0)
		buf_add_c(out, a->text);
	else if (a->text[0] == '{' || a->text[0] == '[')
		buf_printf(out, JSON_HEAD "Content-Length: %zu\r\n\r\n%s", n, a->text);
	else
		buf_printf(out, SSE_HEAD "%zx\r\n%s\r\n0\r\n\r\n", n, a->text);
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

/* A stream, and which count of its tokens is the best. */
struct count {
	const char *what;
	const struct endpoint *endpoint;
	const char *text;
	int64_t events, visible, usage_events;
	enum load_token_source source;
	int64_t tokens;
};

#define CHOICE(rest) "data: {\"choices\":[{\"index\":0," rest "}]}\n\n"

static const struct count counts[] = {
	{ "events, where nothing better is said", &endpoint_openai_chat,
		CHAT("{\"content\":\"a\"}") CHAT("{\"content\":\"b c\"}") FINISH, 2, 2, 0,
		LOAD_TOKENS_EVENTS, 2 },
	{ "reasoning is not visible, whatever its name", &endpoint_openai_chat,
		CHAT("{\"reasoning\":\"x\"}") CHAT("{\"reasoning_content\":\"y\"}")
			CHAT("{\"reasoning_details\":[{\"text\":\"z\"}]}")
				CHAT("{\"content\":\"a\"}") FINISH,
		4, 1, 0, LOAD_TOKENS_EVENTS, 4 },
	{ "content in the same event as reasoning makes it visible", &endpoint_openai_chat,
		CHAT("{\"reasoning\":\"x\",\"content\":\"a\"}") FINISH, 1, 1, 0, LOAD_TOKENS_EVENTS, 1 },
	{ "a call of a tool or a function is visible", &endpoint_openai_chat,
		CHAT("{\"tool_calls\":[{\"index\":0}]}")
			CHAT("{\"function_call\":{\"name\":\"f\"}}")
				CHAT("{\"function_call\":{}}") CHAT("{\"tool_calls\":[ ]}") FINISH,
		2, 2, 0, LOAD_TOKENS_EVENTS, 2 },
	{ "ids count the tokens of an event", &endpoint_openai_chat,
		CHOICE("\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"token_ids\":null")
			CHOICE("\"delta\":{\"content\":\"ab\"},\"token_ids\":[1,2]")
				CHOICE("\"delta\":{\"content\":\"cde\"},\"token_ids\":[3,4,5]")
					FINISH,
		2, 2, 0, LOAD_TOKENS_IDS, 5 },
	{ "ids of a character that is not whole yet are a token that nobody sees",
		&endpoint_openai_completions,
		CHOICE("\"text\":\"\",\"token_ids\":[9]") CHOICE("\"text\":\"x\",\"token_ids\":[10]")
			FINISH,
		2, 1, 0, LOAD_TOKENS_IDS, 2 },
	{ "an event without ids among such with them is one token", &endpoint_openai_completions,
		CHOICE("\"text\":\"ab\",\"token_ids\":[1,2]") CHOICE("\"text\":\"c\"") FINISH, 2, 2, 0,
		LOAD_TOKENS_IDS, 3 },
	{ "logprobs of a chat count like ids, and not twice", &endpoint_openai_chat,
		CHOICE("\"delta\":{\"content\":\"ab\"},\"token_ids\":[1,2],\"logprobs\":{\"content\":["
		       "{\"token\":\"a\",\"top_logprobs\":[{},{},{}]},{\"token\":\"b\"}]}")
			FINISH,
		1, 1, 0, LOAD_TOKENS_IDS, 2 },
	{ "logprobs of a completion count like ids", &endpoint_openai_completions,
		CHOICE("\"text\":\"abc\",\"logprobs\":{\"text_offset\":[0,1,2],\"token_logprobs\":"
		       "[-1,-1,-1],\"tokens\":[\"a\",\"b\",\"c\"],\"top_logprobs\":[{},{},{}]}")
			FINISH,
		1, 1, 0, LOAD_TOKENS_IDS, 3 },
	{ "the ids of two choices add up", &endpoint_openai_completions,
		"data: {\"choices\":[{\"text\":\"a\",\"token_ids\":[1]},{\"text\":\"bc\",\"token_ids\":"
		"[2,3],\"finish_reason\":\"stop\"}]}\n\n",
		1, 1, 0, LOAD_TOKENS_IDS, 3 },
	{ "usage is above ids", &endpoint_openai_completions,
		CHOICE("\"text\":\"a\",\"token_ids\":[1,2]") FINISH USAGE, 1, 1, 1, LOAD_TOKENS_USAGE,
		9 },
	{ "usage that goes on is known by its number, and its last word counts",
		&endpoint_openai_chat,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":3,"
		"\"completion_tokens\":1}}\n\n"
		"data: {\"choices\":[{\"delta\":{\"content\":\"b c\"}}],\"usage\":{\"prompt_tokens\":3,"
		"\"completion_tokens\":3}}\n\n" FINISH,
		2, 2, 2, LOAD_TOKENS_USAGE, 3 },
	{ "usage null is none", &endpoint_openai_chat,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],"
		"\"usage\":null}\n\n",
		1, 1, 0, LOAD_TOKENS_EVENTS, 1 },
	{ "usage inside a choice counts too", &endpoint_openai_chat,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\",\"usage\":"
		"{\"prompt_tokens\":1,\"completion_tokens\":6}}]}\n\n",
		1, 1, 1, LOAD_TOKENS_USAGE, 6 },
	{ "numbers that are no counts are passed over", &endpoint_openai_chat,
		CHAT("{\"content\":\"a\"}") FINISH
		"data: {\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":1.5}}\n\n",
		1, 1, 0, LOAD_TOKENS_EVENTS, 1 },
	{ "a special token of TGI is a token that nobody sees", &endpoint_tgi,
		"data:{\"token\":{\"id\":1,\"text\":\"a\",\"special\":false}}\n\n"
		"data:{\"token\":{\"special\":true,\"id\":2,\"text\":\"</s>\"},\"generated_text\":\"a\"}"
		"\n\n",
		2, 1, 0, LOAD_TOKENS_IDS, 2 },
	{ "several ids in an event of llama.cpp", &endpoint_llamacpp,
		"data: {\"content\":\"ab\",\"tokens\":[1,2],\"stop\":false}\n\n"
		"data: {\"content\":\"\",\"tokens\":[],\"stop\":true}\n\n",
		1, 1, 0, LOAD_TOKENS_IDS, 2 },
};

static void the_best_count_of_tokens_is_taken(void)
{
	struct exchange x = { 0 };
	AUTO(auto_buf) struct buf bytes = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		const struct count *c = &counts[i];
		const struct answer a = { .text = c->text };
		enum load_token_source source;
		enum load_failure failure;
		char why[256];
		write_answer(&a, &bytes);
		exchange_begin(&x, c->endpoint, 1, 1, NULL);
		bool ok = CHECK_INT(feed_in_two(&x, buf_str(&bytes), bytes.len), EXCHANGE_DONE);
		ok &= CHECK(exchange_judge(&x, &failure, why, sizeof(why)));
		ok &= CHECK_INT(x.reply.token_events, c->events);
		ok &= CHECK_INT(x.reply.visible_events, c->visible);
		ok &= CHECK_INT(x.reply.usage_events, c->usage_events);
		ok &= CHECK_INT(reply_output_tokens(&x.reply, &source), c->tokens);
		ok &= CHECK_INT(source, c->source);
		if (!ok)
			printf("# in '%s'\n", c->what);
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

/* One event of a stream that is already under way, arriving at t. */
static void feed_event(struct exchange *x, const char *event, int64_t t, bool first)
{
	AUTO(auto_buf) struct buf bytes = { 0 };
	size_t used;
	buf_printf(&bytes, "%s%zx\r\n%s\r\n", first ? SSE_HEAD : "", strlen(event), event);
	CHECK_INT(exchange_feed(x, buf_str(&bytes), t, &used), EXCHANGE_MORE);
}

static void reasoning_is_a_token_and_no_output(void)
{
	struct exchange x = { 0 };
	exchange_begin(&x, &endpoint_openai_chat, 1, 1, NULL);
	feed_event(&x, CHAT("{\"role\":\"assistant\",\"content\":\"\"}"), 10, true);
	feed_event(&x, CHAT("{\"reasoning_content\":\"r\"}"), 20, false);
	feed_event(&x, CHAT("{\"reasoning\":\"r\"}"), 70, false);
	feed_event(&x, CHAT("{\"content\":\"a\"}"), 90, false);
	feed_event(&x, CHAT("{\"content\":\"b\"}"), 100, false);
	CHECK_INT(x.first_byte_ns, 10);
	CHECK_INT(x.first_token_ns, 20);
	CHECK_INT(x.first_visible_ns, 90);
	CHECK_INT(x.last_token_ns, 100);
	CHECK_INT(x.worst_gap_ns, 50);
	CHECK_INT(x.first_tokens, 1);
	exchange_release(&x);
}

static void tokens_of_the_first_event_are_those_that_it_tells(void)
{
	static const struct {
		const char *what, *event;
		int64_t tokens;
	} firsts[] = {
		{ "continuous usage", "data: {\"choices\":[{\"delta\":{\"content\":\"a b c\"}}],\"usage\":"
				      "{\"prompt_tokens\":3,\"completion_tokens\":5}}\n\n", 5 },
		{ "ids", CHOICE("\"delta\":{\"content\":\"ab\"},\"token_ids\":[1,2]"), 2 },
		{ "nothing told", CHAT("{\"content\":\"a b c\"}"), 1 },
	};
	struct exchange x = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
		exchange_begin(&x, &endpoint_openai_chat, 1, 1, NULL);
		feed_event(&x, firsts[i].event, 5, true);
		if (!CHECK_INT(x.first_tokens, firsts[i].tokens))
			printf("# in '%s'\n", firsts[i].what);
	}
	exchange_release(&x);
}

static void a_line_larger_than_the_limit_breaks_the_answer(void)
{
	struct exchange x = { 0 };
	AUTO(auto_buf) struct buf bytes = { 0 };
	size_t used;
	buf_printf(&bytes, LINES_HEAD "%x\r\n", NDJSON_LINE_MAX + 1);
	size_t head = bytes.len;
	buf_reserve(&bytes, NDJSON_LINE_MAX + 1);
	memset(bytes.s + head, ' ', NDJSON_LINE_MAX + 1);
	bytes.len += NDJSON_LINE_MAX + 1;
	exchange_begin(&x, &endpoint_ollama_chat, 1, 1, NULL);
	CHECK_INT(exchange_feed(&x, buf_str(&bytes), 1, &used), EXCHANGE_BROKEN);
	CHECK(exchange_too_large(&x));
	exchange_begin(&x, &endpoint_ollama_chat, 1, 1, NULL);
	CHECK(!exchange_too_large(&x));
	exchange_release(&x);
}

int main(void)
{
	TAP_RUN(answers_are_judged_the_same_for_every_split);
	TAP_RUN(the_best_count_of_tokens_is_taken);
	TAP_RUN(a_line_larger_than_the_limit_breaks_the_answer);
	TAP_RUN(the_first_token_is_not_the_role);
	TAP_RUN(reasoning_is_a_token_and_no_output);
	TAP_RUN(tokens_of_the_first_event_are_those_that_it_tells);
	return tap_done();
}
