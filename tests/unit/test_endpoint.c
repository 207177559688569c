#include "load/endpoint.h"
#include "tap.h"

#include <jansson.h>

struct path_case {
	const struct endpoint *endpoint;
	const char *given;
	bool stream;
	const char *sent;
};

static void a_base_address_gets_the_path_of_the_operation(void)
{
	static const struct path_case cases[] = {
		{ &endpoint_openai_chat, "/", true, "/v1/chat/completions" },
		{ &endpoint_openai_chat, "/v1/", true, "/v1/chat/completions" },
		{ &endpoint_openai_rerank, "/proxy/v1", false, "/proxy/v1/rerank" },
		{ &endpoint_openai_rerank, "/v2/rerank", false, "/v2/rerank" },
		{ &endpoint_openai_chat, "/my/own", true, "/my/own" },
		{ &endpoint_openai_chat, "/v1?key=1", true, "/v1?key=1" },
		{ &endpoint_tgi, "/", true, "/generate_stream" },
		{ &endpoint_tgi, "/", false, "/generate" },
		{ &endpoint_tgi, "/generate", false, "/generate" },
		{ &endpoint_tei_embed, "/", false, "/embed" },
		{ &endpoint_ollama_chat, "/api", true, "/api/chat" },
		{ &endpoint_ollama_generate, "/", true, "/api/generate" },
		{ &endpoint_llamacpp, "/", true, "/completion" },
		{ &endpoint_http, "/", false, "/" },
		{ &endpoint_kserve_v2, "/", false, "/v2/models/org%2Fa%20b~1/infer" },
		{ &endpoint_kserve_v2, "/proxy/v2", false, "/proxy/v2/models/org%2Fa%20b~1/infer" },
		{ &endpoint_kserve_v2, "/v2/models/n", false, "/v2/models/n/infer" },
		{ &endpoint_kserve_v2, "/v2/models/n/versions/3/", false,
		        "/v2/models/n/versions/3/infer" },
		{ &endpoint_kserve_v2, "/v2/models/n/infer", false, "/v2/models/n/infer" },
		{ &endpoint_kserve_v2, "/v2/models/n/generate", false, "/v2/models/n/generate" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (!CHECK_STR(endpoint_path(cases[i].endpoint, cases[i].given, "org/a b~1",
		                       cases[i].stream, &run),
		            cases[i].sent))
			printf("# of '%s'\n", cases[i].given);
	arena_release(&run);
}

struct match_case {
	const char *path;
	const struct endpoint *endpoint; /* NULL: none */
};

static void the_end_of_a_path_tells_the_operation(void)
{
	static const struct match_case cases[] = {
		{ "/v1/chat/completions", &endpoint_openai_chat },
		{ "/v1/completions?x=/embed", &endpoint_openai_completions },
		{ "/openai/embeddings/", &endpoint_openai_embeddings },
		{ "/v1/rerank", &endpoint_openai_rerank },
		{ "/completion", &endpoint_llamacpp },
		{ "/embed", &endpoint_tei_embed },
		{ "/predict", &endpoint_tei_predict },
		{ "/generate", &endpoint_tgi },
		{ "/generate_stream", &endpoint_tgi },
		{ "/api/generate", &endpoint_ollama_generate },
		{ "/api/chat", &endpoint_ollama_chat },
		{ "/v2/models/m", &endpoint_kserve_v2 },
		{ "/v2/models/m/versions/1", &endpoint_kserve_v2 },
		{ "/x/v2/models/m/infer", &endpoint_kserve_v2 },
		{ "/v2/models/", NULL },
		{ "/v2/models/m/config", NULL },
		{ "/", NULL },
		{ "/v1", NULL },
		{ "/embedded", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct endpoint *best = NULL;
		size_t most = 0;
		for (size_t k = 0; endpoint_table[k]; k++) {
			size_t n = endpoint_match(endpoint_table[k], cases[i].path);
			if (n > most) {
				most = n;
				best = endpoint_table[k];
			}
		}
		if (!CHECK(best == cases[i].endpoint))
			printf("# for '%s' it is %s\n", cases[i].path, best ? best->name : "none");
	}
}

static void a_path_that_streams_or_not_is_believed(void)
{
	CHECK(endpoint_streams(&endpoint_tgi, "/generate_stream", false));
	CHECK(!endpoint_streams(&endpoint_tgi, "/proxy/generate/", true));
	CHECK(endpoint_streams(&endpoint_tgi, "/", true));
	CHECK(!endpoint_streams(&endpoint_tgi, "/", false));
	CHECK(endpoint_streams(&endpoint_openai_chat, "/v1/chat/completions", true));
	CHECK(!endpoint_streams(&endpoint_tei_embed, "/embed", true));
}

struct prefix_case {
	const struct endpoint *endpoint;
	const char *path, *prefix;
};

static void what_stands_before_the_api_is_kept(void)
{
	static const struct prefix_case cases[] = {
		{ &endpoint_openai_chat, "/", "" },
		{ &endpoint_openai_chat, "/v1", "" },
		{ &endpoint_openai_chat, "/proxy/v1/chat/completions", "/proxy" },
		{ &endpoint_openai_chat, "/proxy/v1/", "/proxy" },
		{ &endpoint_openai_rerank, "/rerank", "" },
		{ &endpoint_ollama_chat, "/a/b/api/chat?x", "/a/b" },
		{ &endpoint_tgi, "/a/generate_stream", "/a" },
		{ &endpoint_kserve_v2, "/a/v2/models/m/versions/1/infer", "/a" },
		{ &endpoint_kserve_v2, "/a/v2", "/a" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(str_c(endpoint_prefix(cases[i].endpoint, cases[i].path), &run),
		        cases[i].prefix);
	CHECK_STR(endpoint_model(&endpoint_kserve_v2, "/a/v2/models/m/infer", &run), "m");
	CHECK(!endpoint_model(&endpoint_kserve_v2, "/v2", &run));
	CHECK(!endpoint_model(&endpoint_openai_chat, "/v2/models/m/infer", &run));
	arena_release(&run);
}

static void every_row_is_found_by_one_of_the_choices(void)
{
	struct str left = STR(ENDPOINT_CHOICES), name;
	size_t n_found = 0;
	struct arena run = { 0 };
	while (left.len) {
		name = str_cut(left, '|', &left);
		const char *c_name = str_c(name, &run);
		CHECK(endpoint_find(c_name) != NULL);
		for (size_t i = 0; endpoint_table[i]; i++)
			n_found += strcmp(endpoint_table[i]->name, c_name) == 0;
	}
	size_t n = 0;
	while (endpoint_table[n])
		n++;
	CHECK_INT(n_found, n);
	CHECK(endpoint_find("grpc") == NULL);
	arena_release(&run);
}

static void an_error_text_is_cut_and_ends(void)
{
	struct reply reply;
	char text[400];
	memset(text, 'x', sizeof(text));
	reply_reset(&reply);
	reply_fail(&reply, (struct str){ text, sizeof(text) });
	CHECK(reply.error);
	CHECK_INT(strlen(reply.error_text), sizeof(reply.error_text) - 1);
	reply_fail(&reply, (struct str){ 0 });
	CHECK_STR(reply.error_text, "");
}

/* ---- events of one stream ---- */

#define OPENED "{\"id\":\"1\",\"created\":7,\"choices\":[{\"index\":0,\"delta\":{\"content\":\""
#define CLOSED "\"},\"finish_reason\":null}]}"
#define CHUNK(text) OPENED text CLOSED

/* Events one after the other, where the second and later ones resemble the first. */
static const char *const streams[][6] = {
	{ CHUNK("a"), CHUNK("b"), CHUNK(""), CHUNK("\\\"\\\\"), CHUNK("long enough to be cut"),
	        CHUNK("\\") },
	{ CHUNK("a"), OPENED "b", CHUNK("b"), CHUNK("b") " x", CHUNK("c") "]", "{" CHUNK("c") },
	{ CHUNK("a"), CHUNK("b\",\"role\":\"c"), CHUNK("b\"},\"delta\":{\"content\":\"c"),
	        CHUNK("b\"},\"error\":{\"message\":\"c"), CHUNK("d"), CHUNK("e") },
	{ CHUNK("a"), OPENED "b\"},\"finish_reason\":\"stop\"}]}", CHUNK("b"), "[DONE]", CHUNK("c"),
	        NULL },
	/* reasoning, and then a text */
	{ "{\"choices\":[{\"delta\":{\"content\":null,\"reasoning\":\"a\"}}]}",
	        "{\"choices\":[{\"delta\":{\"content\":null,\"reasoning\":\"b\"}}]}",
	        "{\"choices\":[{\"delta\":{\"content\":\"c\",\"reasoning\":null}}]}",
	        "{\"choices\":[{\"delta\":{\"content\":\"d\",\"reasoning\":null}}]}",
	        "{\"choices\":[{\"delta\":{\"content\":\"\",\"reasoning\":null}}]}", NULL },
	/* two texts, of which each may be empty */
	{ "{\"choices\":[{\"text\":\"a\"},{\"text\":\"b\"}]}",
	        "{\"choices\":[{\"text\":\"\"},{\"text\":\"b\"}]}",
	        "{\"choices\":[{\"text\":\"\"},{\"text\":\"\"}]}",
	        "{\"choices\":[{\"text\":\"a\"},{\"text\":\"\"}]}",
	        "{\"choices\":[{\"text\":\"c\"},{\"text\":\"\"}]}", NULL },
	/* numbers that stand and numbers that go on, ids, a tool's call */
	{ "{\"choices\":[{\"text\":\"a\"}],\"usage\":{\"prompt_tokens\":3}}",
	        "{\"choices\":[{\"text\":\"b\"}],\"usage\":{\"prompt_tokens\":4}}",
	        "{\"choices\":[{\"text\":\"c\"}],\"usage\":{\"prompt_tokens\":3}}",
	        "{\"choices\":[{\"text\":\"d\"}],\"usage\":{\"completion_tokens\":3}}",
	        "{\"choices\":[{\"text\":\"e\"}],\"usage\":{\"completion_tokens\":3}}", NULL },
	{ "{\"choices\":[{\"text\":\"a\",\"token_ids\":[1,2]}]}",
	        "{\"choices\":[{\"text\":\"b\",\"token_ids\":[1,2]}]}",
	        "{\"choices\":[{\"text\":\"c\",\"token_ids\":[1]}]}",
	        "{\"choices\":[{\"text\":\"d\",\"tool_calls\":[{\"id\":\"x\"}]}]}",
	        "{\"choices\":[{\"text\":\"\",\"tool_calls\":[{\"id\":\"x\"}]}]}", NULL },
	{ "{\"response\":\"a\",\"done\":false}", "{\"response\":\"b\",\"done\":false}",
	        "{\"response\":\"c\",\"done\":true}", "{\"response\":\"d\",\"done\":true}",
	        "{\"response\":\"\",\"done\":true,\"eval_count\":4}", NULL },
	{ "{\"token\":{\"id\":1,\"text\":\"a\",\"special\":false}}",
	        "{\"token\":{\"id\":1,\"text\":\"b\",\"special\":false}}",
	        "{\"token\":{\"id\":2,\"text\":\"</s>\",\"special\":true}}", NULL },
	{ "{\"content\":\"a\",\"stop\":false}", "{\"content\":\"\",\"stop\":false}",
	        "{\"content\":\"b\",\"stop\":false}", "{\"content\":\"c\",\"stop\":true}", NULL },
};

static void check_same(const struct reply *a, const struct reply *b)
{
	CHECK_INT(a->token_events, b->token_events);
	CHECK_INT(a->visible_events, b->visible_events);
	CHECK_INT(a->usage_events, b->usage_events);
	CHECK_INT(a->id_events, b->id_events);
	CHECK_INT(a->id_tokens, b->id_tokens);
	CHECK_INT(a->input_tokens, b->input_tokens);
	CHECK_INT(a->output_tokens, b->output_tokens);
	CHECK_INT(a->finished, b->finished);
	CHECK_INT(a->error, b->error);
	CHECK_STR(a->error_text, b->error_text);
}

static void what_was_kept_of_an_event_does_not_change_what_the_next_ones_say(void)
{
	for (size_t k = 0; endpoint_table[k]; k++) {
		const struct endpoint *e = endpoint_table[k];
		for (size_t i = 0; e->read_event && i < ARRAY_LEN(streams); i++) {
			struct reply kept, fresh;
			reply_reset(&kept);
			reply_reset(&fresh);
			for (size_t j = 0; j < ARRAY_LEN(streams[i]) && streams[i][j]; j++) {
				size_t n = strlen(streams[i][j]);
				char *exact = memcpy(malloc(n), streams[i][j], n);
				e->read_event(&kept, (struct str){ exact, n });
				frame_reset(&fresh.frame);
				e->read_event(&fresh, (struct str){ exact, n });
				check_same(&kept, &fresh);
				free(exact);
			}
		}
	}
}

static void events_that_differ_in_their_text_alone_are_not_parsed_again(void)
{
	struct reply reply;
	bool filled;
	const struct str text = STR(CHUNK("b")), other = STR("{\"choices\":[]}");
	reply_reset(&reply);
	endpoint_openai_chat.read_event(&reply, STR(CHUNK("a")));
	CHECK(frame_fits(&reply.frame, reply.frame.fields, text, &filled) && filled);
	CHECK(!frame_fits(&reply.frame, NULL, text, &filled));
	CHECK(!frame_fits(&reply.frame, reply.frame.fields, other, &filled));
	for (size_t i = 0; i < 2; i++) {
		endpoint_openai_chat.read_event(&reply, other);
		CHECK(frame_fits(&reply.frame, reply.frame.fields, text, &filled));
	}
	reply_reset(&reply);
	CHECK(!frame_fits(&reply.frame, reply.frame.fields, text, &filled));
}

static void a_frame_that_never_fits_is_given_up(void)
{
	struct reply reply;
	bool filled;
	char text[200];
	reply_reset(&reply);
	for (int i = 0; i <= FRAME_MISSES_MAX; i++) {
		int n = snprintf(
		        text, sizeof(text), "{\"n\":%d,\"choices\":[{\"text\":\"a\"}]}", i);
		endpoint_openai_chat.read_event(&reply, (struct str){ text, (size_t)n });
		CHECK_INT(frame_fits(&reply.frame, reply.frame.fields, STR(""), &filled), 0);
		CHECK_INT(reply.frame.n_before > 0, i < FRAME_MISSES_MAX);
	}
	CHECK_INT(reply.token_events, FRAME_MISSES_MAX + 1);
}

/* ---- bodies ---- */

struct body_case {
	const struct endpoint *endpoint;
	struct prompt prompt;
	bool stream;
	const char *want; /* JSON, whatever its order */
};

#define TEXT(literal) .prompt = { .text = STR_INIT(literal), .output_tokens = 5 }

static void bodies_are_what_each_api_wants(void)
{
	static const struct body_case cases[] = {
		{ &endpoint_tgi, TEXT("a b"), true,
		        "{\"inputs\":\"a "
		        "b\",\"parameters\":{\"max_new_tokens\":5,\"do_sample\":false,"
		        "\"details\":true}}" },
		{ &endpoint_tei_embed, TEXT("a"), false, "{\"inputs\":\"a\",\"truncate\":true}" },
		{ &endpoint_tei_predict, TEXT("a"), false, "{\"inputs\":\"a\",\"truncate\":true}" },
		{ &endpoint_tei_rerank, TEXT("a b c"), false,
		        "{\"query\":\"a\",\"texts\":[\"b\",\"c\"],\"truncate\":true}" },
		{ &endpoint_openai_rerank, TEXT("a"), false,
		        "{\"model\":\"m\",\"query\":\"a\",\"documents\":[\"a\"]}" },
		/* 20 words in 9 parts of 2, the last document gets the rest */
		{ &endpoint_openai_rerank, TEXT("a b c d e f g h i j k l m n o p q r s t"), false,
		        "{\"model\":\"m\",\"query\":\"a b\",\"documents\":[\"c d\",\"e f\",\"g "
		        "h\",\"i j\","
		        "\"k l\",\"m n\",\"o p\",\"q r s t\"]}" },
		{ &endpoint_openai_rerank,
		        .prompt = { .query = STR_INIT("q \"x\""),
		                .documents = STR_INIT("[\"d\\n1\",\"d2\"]") },
		        false,
		        "{\"model\":\"m\",\"query\":\"q "
		        "\\\"x\\\"\",\"documents\":[\"d\\n1\",\"d2\"]}" },
		{ &endpoint_ollama_generate, TEXT("a"), true,
		        "{\"model\":\"m\",\"prompt\":\"a\",\"stream\":true,\"options\":{"
		        "\"temperature\":0,"
		        "\"num_predict\":5}}" },
		{ &endpoint_ollama_chat, TEXT("a"), false,
		        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],"
		        "\"stream\":"
		        "false,\"options\":{\"temperature\":0,\"num_predict\":5}}" },
		{ &endpoint_ollama_chat,
		        .prompt = { .messages =
		                            STR_INIT("[{\"role\":\"system\",\"content\":\"x\"}]") },
		        true,
		        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"x\"}],"
		        "\"stream\":"
		        "true,\"options\":{\"temperature\":0}}" },
		{ &endpoint_llamacpp, TEXT("a"), true,
		        "{\"prompt\":\"a\",\"n_predict\":5,\"temperature\":0,\"stream\":true}" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct endpoint_options options = { .model = "m", .stream = cases[i].stream };
		AUTO(auto_buf) struct buf body = { 0 };
		cases[i].endpoint->write_body(&body, &cases[i].prompt, &options);
		json_t *got = json_loadb(body.s, body.len, 0, NULL);
		json_t *want = json_loads(cases[i].want, 0, NULL);
		if (!CHECK(got && want && json_equal(got, want)))
			printf("#   %.*s\n#   in place of %s\n", STR_ARG(buf_str(&body)),
			        cases[i].want);
		json_decref(got);
		json_decref(want);
	}
}

/* ---- KServe v2 ---- */

#define INPUT(name, type, shape)                                                                   \
	"{\"name\":\"" name "\",\"datatype\":\"" type "\",\"shape\":" shape "}"
#define MODEL(inputs) "{\"name\":\"m\",\"platform\":\"x\",\"inputs\":[" inputs "],\"outputs\":[]}"

static bool prepare(const char *description, struct arena *run, struct endpoint_options *options,
        struct err *err)
{
	return endpoint_kserve_v2.prepare(str_of(description), run, &options->prepared, err);
}

struct shape_case {
	const char *input;
	int64_t tokens;
	const char *shape; /* as JSON */
};

static void variable_dimensions_are_filled(void)
{
	static const struct shape_case cases[] = {
		{ INPUT("x", "INT64", "[-1,-1]"), 7, "[1,7]" },
		{ INPUT("x", "INT64", "[-1]"), 7, "[7]" },
		{ INPUT("x", "INT64", "[2,-1]"), 7, "[2,7]" },
		{ INPUT("x", "FP32", "[-1,3,-1,-1]"), 2, "[1,3,2,2]" },
		{ INPUT("x", "FP32", "[2,2]"), 7, "[2,2]" },
		{ INPUT("x", "FP32", "[]"), 7, "[]" },
		{ INPUT("x", "UINT8", "[3,0]"), 7, "[3,0]" },
		{ INPUT("x", "BYTES", "[-1]"), 7, "[1]" },
		{ INPUT("x", "BYTES", "[-1,-1]"), 7, "[1,1]" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct err err;
		struct endpoint_options options = { .model = "m" };
		const struct prompt p = { .text = STR_INIT("a b"),
			.input_tokens = cases[i].tokens };
		AUTO(auto_buf) struct buf body = { 0 }, description = { 0 };
		buf_printf(&description, MODEL("%s"), cases[i].input);
		CHECK(prepare(description.s, &run, &options, &err));
		CHECK(endpoint_kserve_v2.check(&p, &options, &err));
		endpoint_kserve_v2.write_body(&body, &p, &options);
		json_t *got = json_loadb(body.s, body.len, 0, NULL);
		json_t *input = json_array_get(json_object_get(got, "inputs"), 0);
		json_t *want = json_loads(cases[i].shape, 0, NULL);
		CHECK(json_equal(json_object_get(input, "shape"), want));
		size_t n = 1, k;
		json_t *dim;
		json_array_foreach(want, k, dim) n *= (size_t)json_integer_value(dim);
		if (!CHECK_INT(json_array_size(json_object_get(input, "data")), n))
			printf("# of %s\n", cases[i].input);
		json_decref(want);
		json_decref(got);
		arena_release(&run);
	}
}

static bool all_equal(const json_t *array, int64_t value)
{
	size_t i;
	json_t *element;
	json_array_foreach(
	        array, i, element) if (json_integer_value(element) != value) return false;
	return json_array_size(array) > 0;
}

static void values_are_what_their_names_and_types_promise(void)
{
	struct arena run = { 0 };
	struct err err;
	struct endpoint_options options = { .model = "m" };
	const struct prompt p = { .text = STR_INIT("a \"b\""), .input_tokens = 4 };
	AUTO(auto_buf) struct buf body = { 0 };
	CHECK(prepare(MODEL(INPUT("input_ids", "INT64", "[-1,-1]") "," INPUT("attention_mask",
	                      "INT32", "[-1,-1]") "," INPUT("token_type_ids", "INT64",
	                      "[-1,-1]") "," INPUT("flag", "BOOL", "[2]") "," INPUT("a\\u0062c",
	                      "FP64", "[3]") "," INPUT("t", "BYTES", "[1]")),
	        &run, &options, &err));
	endpoint_kserve_v2.write_body(&body, &p, &options);
	json_t *got = json_loadb(body.s, body.len, 0, NULL),
	       *inputs = json_object_get(got, "inputs");
	json_t *data[6], *ids;
	for (size_t i = 0; i < 6; i++)
		data[i] = json_object_get(json_array_get(inputs, i), "data");
	size_t i;
	json_array_foreach(data[0], i, ids)
	        CHECK(json_integer_value(ids) >= 1 && json_integer_value(ids) <= 1000);
	CHECK_INT(json_array_size(data[0]), 4);
	CHECK(all_equal(data[1], 1));
	CHECK(all_equal(data[2], 0));
	CHECK(json_is_boolean(json_array_get(data[3], 1)));
	double x = json_number_value(json_array_get(data[4], 2));
	CHECK(x >= 0 && x < 1);
	CHECK_STR(json_string_value(json_object_get(json_array_get(inputs, 4), "name")), "abc");
	CHECK_STR(json_string_value(json_array_get(data[5], 0)), "a \"b\"");
	json_decref(got);
	arena_release(&run);
}

static void the_same_prompt_gives_the_same_values_and_another_others(void)
{
	struct arena run = { 0 };
	struct err err;
	struct endpoint_options options = { .model = "m" };
	const struct prompt one = { .text = STR_INIT("one"), .input_tokens = 50 };
	const struct prompt two = { .text = STR_INIT("two"), .input_tokens = 50 };
	AUTO(auto_buf) struct buf a = { 0 }, again = { 0 }, b = { 0 };
	CHECK(prepare(MODEL(INPUT("x", "INT64", "[-1]")), &run, &options, &err));
	endpoint_kserve_v2.write_body(&a, &one, &options);
	endpoint_kserve_v2.write_body(&again, &one, &options);
	endpoint_kserve_v2.write_body(&b, &two, &options);
	CHECK(str_eq(buf_str(&a), buf_str(&again)));
	CHECK(!str_eq(buf_str(&a), buf_str(&b)));
	arena_release(&run);
}

static void bytes_follow_the_json_and_the_header_tells_where(void)
{
	struct arena run = { 0 };
	struct err err;
	struct endpoint_options options = { .model = "m", .binary = true };
	const struct prompt p = { .text = STR_INIT("hi!"), .input_tokens = 5 };
	AUTO(auto_buf) struct buf body = { 0 }, head = { 0 };
	CHECK(prepare(MODEL(INPUT("mask", "INT32", "[-1]") "," INPUT("h", "FP16", "[2]") "," INPUT(
	                      "b", "BF16", "[1]") "," INPUT("f", "FP32", "[1]") "," INPUT("d",
	                      "FP64", "[1]") "," INPUT("t", "BYTES", "[1]")),
	        &run, &options, &err));
	CHECK(endpoint_kserve_v2.check(&p, &options, &err));
	endpoint_kserve_v2.write_body(&body, &p, &options);
	json_t *got = json_loadb(body.s, body.len, JSON_DISABLE_EOF_CHECK, NULL);
	json_t *inputs = json_object_get(got, "inputs");
	static const size_t sizes[] = { 20, 4, 2, 4, 8, 7 };
	size_t total = 0;
	for (size_t i = 0; i < ARRAY_LEN(sizes); total += sizes[i++]) {
		json_t *in = json_array_get(inputs, i);
		json_t *size =
		        json_object_get(json_object_get(in, "parameters"), "binary_data_size");
		CHECK_INT(json_integer_value(size), sizes[i]);
		CHECK(!json_object_get(in, "data"));
	}
	CHECK(json_is_true(
	        json_object_get(json_object_get(got, "parameters"), "binary_data_output")));
	const unsigned char *bytes = (const unsigned char *)body.s + body.len - total;
	CHECK_INT(bytes[-1], '}');
	CHECK(memcmp(bytes, "\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0", 20) == 0);
	/* 0x3800 is 0.5 in FP16, 0x3c00 is 1; 0x3f00 and 0x3f80 in BF16; IEEE 754, little endian */
	for (int i = 0; i < 2; i++)
		CHECK(bytes[21 + 2 * i] >= 0x38 && bytes[21 + 2 * i] < 0x3c);
	CHECK(bytes[25] == 0x3f && bytes[24] < 0x80);
	float f;
	double d;
	memcpy(&f, bytes + 26, sizeof(f));
	memcpy(&d, bytes + 30, sizeof(d));
	CHECK(f >= 0.5f && f < 1 && d >= 0.5 && d < 1);
	CHECK(memcmp(bytes + 38, "\3\0\0\0hi!", 7) == 0);
	endpoint_kserve_v2.write_head(&head, buf_str(&body));
	AUTO(auto_buf) struct buf want = { 0 };
	buf_printf(&want,
	        "Content-Type: application/octet-stream\r\n"
	        "Inference-Header-Content-Length: %zu\r\n",
	        body.len - total);
	CHECK_STR(head.s, want.s);
	json_decref(got);
	arena_release(&run);
}

static void a_body_of_json_alone_has_no_header_of_its_own(void)
{
	AUTO(auto_buf) struct buf head = { 0 };
	endpoint_kserve_v2.write_head(&head, STR("{\"inputs\":[]}"));
	CHECK_INT(head.len, 0);
}

struct refused {
	const char *description;
	bool binary;
	int64_t tokens;
	const char *says; /* by prepare or check */
};

static void what_cannot_be_sent_is_refused(void)
{
	static const struct refused cases[] = {
		{ "[]", false, 1, "no inputs" },
		{ "{\"inputs\":[]}", false, 1, "no inputs" },
		{ "{\"inputs\":[{\"name\":\"x\"", false, 1, "without name, datatype or shape" },
		{ "{\"inputs\":7}", false, 1, "no list" },
		{ MODEL("{\"name\":\"x\",\"shape\":[1]}"), false, 1, "without name" },
		{ MODEL(INPUT("x", "INT64", "[1.5]")), false, 1, "without name" },
		{ MODEL(INPUT("x", "INT64", "[1,1,1,1,1,1,1,1,1]")), false, 1, "without name" },
		{ MODEL(INPUT("x", "TENSOR", "[1]")), false, 1, "unknown datatype 'TENSOR'" },
		{ MODEL(INPUT("x", "FP16", "[1]")), false, 1, "'x' is FP16, which JSON" },
		{ MODEL(INPUT("x", "FP32", "[1]")), false, 0, "not made from a text" },
		{ MODEL(INPUT("x", "FP32", "[-1,3,-1,-1]")), true, 1000000, "too large" },
		{ MODEL(INPUT("x", "FP32", "[9223372036854775807,4]")), true, 1, "too large" },
		{ MODEL(INPUT("x", "BYTES", "[9000000]")), false, 1, "too large" },
		{ MODEL(INPUT("x", "INT8", "[9000000]") "," INPUT("y", "INT8", "[9000000]")), false,
		        1, "with the input 'y'" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct err err = { 0 };
		struct endpoint_options options = { .binary = cases[i].binary };
		const struct prompt p = { .text = STR_INIT("a"), .input_tokens = cases[i].tokens };
		CHECK(!prepare(cases[i].description, &run, &options, &err) ||
		        !endpoint_kserve_v2.check(&p, &options, &err));
		if (!CHECK(strstr(err.text, cases[i].says)))
			printf("#   '%s' in place of '%s'\n", err.text, cases[i].says);
		arena_release(&run);
	}
	struct err err = { 0 };
	const struct endpoint_options none = { 0 };
	const struct prompt p = { .text = STR_INIT("a"), .input_tokens = 1 };
	CHECK(!endpoint_kserve_v2.check(&p, &none, &err));
}

int main(void)
{
	TAP_RUN(a_base_address_gets_the_path_of_the_operation);
	TAP_RUN(the_end_of_a_path_tells_the_operation);
	TAP_RUN(a_path_that_streams_or_not_is_believed);
	TAP_RUN(what_stands_before_the_api_is_kept);
	TAP_RUN(every_row_is_found_by_one_of_the_choices);
	TAP_RUN(an_error_text_is_cut_and_ends);
	TAP_RUN(what_was_kept_of_an_event_does_not_change_what_the_next_ones_say);
	TAP_RUN(events_that_differ_in_their_text_alone_are_not_parsed_again);
	TAP_RUN(a_frame_that_never_fits_is_given_up);
	TAP_RUN(bodies_are_what_each_api_wants);
	TAP_RUN(variable_dimensions_are_filled);
	TAP_RUN(values_are_what_their_names_and_types_promise);
	TAP_RUN(the_same_prompt_gives_the_same_values_and_another_others);
	TAP_RUN(bytes_follow_the_json_and_the_header_tells_where);
	TAP_RUN(a_body_of_json_alone_has_no_header_of_its_own);
	TAP_RUN(what_cannot_be_sent_is_refused);
	return tap_done();
}
