#include "load/workload.h"
#include "tap.h"

#include <jansson.h>
#include <unistd.h>

static const struct url url = {
	.text = "http://h:1",
	.host = "h",
	.port = 1,
	.path = "/",
	.authority = "h:1",
};

static char path[] = "/tmp/venturi-workload-XXXXXX";

static const char *write_file(const char *text)
{
	strcpy(path, "/tmp/venturi-workload-XXXXXX");
	int fd = mkstemp(path);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	return path;
}

/* The body of a request, its Content-Length checked against what is there. */
static struct str body_of(const struct workload_item *item)
{
	struct str r = item->request;
	ptrdiff_t end = str_find(r, STR("\r\n\r\n"));
	ptrdiff_t at = str_find(r, STR("\r\nContent-Length: "));
	struct str body = { r.s + end + 4, r.len - (size_t)end - 4 };
	CHECK(end > 0);
	CHECK_INT(at < 0 ? 0 : strtol(r.s + at + 18, NULL, 10), body.len);
	return body;
}

static json_t *json_of(const struct workload_item *item)
{
	struct str body = body_of(item);
	return json_loadb(body.s, body.len, 0, NULL);
}

static void a_chat_request_is_the_json_that_the_api_wants(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .stream = true, .seed = 1, .output_tokens = "5" };
	CHECK(workload_build(&c, &endpoint_openai_chat, "m", NULL, &url, &run, &w, &err));
	json_t *j = json_of(&w.items[0]);
	CHECK_STR(json_string_value(json_object_get(j, "model")), "m");
	CHECK_INT(json_integer_value(json_object_get(j, "max_tokens")), 5);
	CHECK(json_is_true(json_object_get(j, "stream")));
	CHECK(json_is_true(
		json_object_get(json_object_get(j, "stream_options"), "include_usage")));
	json_t *first = json_array_get(json_object_get(j, "messages"), 0);
	CHECK_STR(json_string_value(json_object_get(first, "role")), "user");
	CHECK(str_starts(w.items[0].request, STR("POST /v1/chat/completions HTTP/1.1\r\nHost: h:1\r\n")));
	json_decref(j);
	arena_release(&run);
}

static void synthetic_prompts_are_salted_and_the_salt_changes(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .seed = 1, .input_tokens = "uniform:3..9" };
	CHECK(workload_build(&c, &endpoint_openai_completions, "m", NULL, &url, &run, &w, &err));
	CHECK_INT(w.n, WORKLOAD_SYNTHETIC);
	for (size_t i = 0; i < w.n; i++) {
		char one[SALT_LEN], two[SALT_LEN];
		json_t *j = json_of(&w.items[i]);
		const char *prompt = json_string_value(json_object_get(j, "prompt"));
		size_t words = 1;
		for (const char *p = prompt; *p; p++)
			words += *p == ' ';
		CHECK(words >= 3 && words <= 9);
		CHECK(w.items[i].salt_at > 0);
		workload_salt(one, 1, i);
		workload_salt(two, 1, i + 1);
		CHECK(memcmp(one, two, SALT_LEN) != 0);
		json_decref(j);
	}
	arena_release(&run);
}

static void two_measurements_never_send_the_same_salts(void)
{
	uint64_t first = workload_nonce(), second = workload_nonce();
	char one[SALT_LEN], two[SALT_LEN];
	CHECK(first != second);
	for (uint64_t n = 0; n < 100; n++) {
		workload_salt(one, first, n);
		workload_salt(two, second, n);
		CHECK(memcmp(one, two, SALT_LEN) != 0);
	}
}

static void lines_of_a_file_are_sent_as_they_are(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .seed = 1,
		.input_file = write_file("{\"prompt\": \"one \\\"two\\\"\", \"max_tokens\": 7}\n\n"
					 "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n"
					 "{\"body\": {\"x\": 1}}\n") };
	CHECK(workload_build(&c, &endpoint_openai_completions, NULL, NULL, &url, &run, &w, &err));
	CHECK_INT(w.n, 3);
	json_t *j = json_of(&w.items[0]);
	CHECK_STR(json_string_value(json_object_get(j, "prompt")), "one \"two\"");
	CHECK_INT(json_integer_value(json_object_get(j, "max_tokens")), 7);
	CHECK(!json_object_get(j, "model"));
	json_decref(j);
	j = json_of(&w.items[1]);
	CHECK_STR(json_string_value(json_object_get(j, "prompt")), "hi");
	json_decref(j);
	CHECK(str_eq(body_of(&w.items[2]), STR("{\"x\": 1}")));
	for (size_t i = 0; i < w.n; i++)
		CHECK_INT(w.items[i].salt_at, -1);
	unlink(path);
	arena_release(&run);
}

struct bad_file {
	const char *text;
	const char *says;
};

static void bad_files_are_named_with_their_line(void)
{
	static const struct bad_file files[] = {
		{ "", "no lines" },
		{ "\n \n", "no lines" },
		{ "{\"prompt\": \"a\"}\nnonsense\n", "line 2" },
		{ "{\"prompt\": 3}\n", "line 1" },
		{ "{\"prompt\": \"\\ud800x\"}\n", "line 1" },
		{ "[]\n", "line 1" },
	};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct arena run = { 0 };
		struct err err = { 0 };
		struct workload w;
		struct load_config c = { .seed = 1, .input_file = write_file(files[i].text) };
		CHECK(!workload_build(&c, &endpoint_openai_chat, NULL, NULL, &url, &run, &w, &err));
		CHECK_INT(err.kind, ERR_INPUT);
		if (!CHECK(strstr(err.text, files[i].says) && strstr(err.text, path)))
			printf("# %s\n", err.text);
		unlink(path);
		arena_release(&run);
	}
}

static void options_that_do_not_fit_are_refused(void)
{
	static const struct load_config bad[] = {
		{ .input_file = "x", .input_tokens = "3" },
		{ .data = "x" },
		{ .input_tokens = "gauss:3" },
		{ .tensors = "json" },
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct arena run = { 0 };
		struct err err = { 0 };
		struct workload w;
		CHECK(!workload_build(&bad[i], &endpoint_openai_chat, NULL, NULL, &url, &run, &w, &err));
		CHECK_INT(err.kind, ERR_USAGE);
		arena_release(&run);
	}
}

struct path_case {
	const char *given, *sent;
};

static void a_base_address_gets_the_path_of_the_api(void)
{
	static const struct path_case cases[] = {
		{ "/", "POST /v1/completions " },
		{ "/v1", "POST /v1/completions " },
		{ "/v1/", "POST /v1/completions " },
		{ "/proxy/v1", "POST /proxy/v1/completions " },
		{ "/my/own", "POST /my/own " },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct err err;
		struct workload w;
		struct load_config c = { .seed = 1 };
		struct url u = url;
		u.path = cases[i].given;
		CHECK(workload_build(&c, &endpoint_openai_completions, NULL, NULL, &u, &run, &w, &err));
		CHECK(str_starts(w.items[0].request, str_of(cases[i].sent)));
		arena_release(&run);
	}
}

static const void *prepare_kserve(const char *description, struct arena *run)
{
	const void *prepared = NULL;
	struct err err;
	CHECK(endpoint_kserve_v2.prepare(str_of(description), run, &prepared, &err));
	return prepared;
}

static void tensors_without_a_salt_are_many_different_ones(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .seed = 1, .input_tokens = "3", .tensors = "binary" };
	const void *prepared = prepare_kserve(
		"{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,-1]}]}", &run);
	CHECK(workload_build(&c, &endpoint_kserve_v2, "m", prepared, &url, &run, &w, &err));
	CHECK_INT(w.n, WORKLOAD_SYNTHETIC);
	struct str first = w.items[0].request;
	CHECK(str_starts(first, STR("POST /v2/models/m/infer HTTP/1.1\r\n")));
	CHECK(str_find(first, STR("Inference-Header-Content-Length: ")) > 0);
	CHECK(str_find(first, STR("application/json")) < 0);
	for (size_t i = 1; i < w.n; i++)
		CHECK(!str_eq(body_of(&w.items[i]), body_of(&w.items[i - 1])));
	arena_release(&run);
}

static void large_tensors_are_as_many_as_memory_allows(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .seed = 1, .input_tokens = "1000", .tensors = "binary" };
	const void *prepared = prepare_kserve(
		"{\"inputs\":[{\"name\":\"x\",\"datatype\":\"UINT8\",\"shape\":[-1,8,-1,-1]}]}",
		&run);
	CHECK(workload_build(&c, &endpoint_kserve_v2, "m", prepared, &url, &run, &w, &err));
	/* 8 MB and a little more each, of 64 MiB */
	CHECK_INT(w.n, 8);
	arena_release(&run);
}

static void lines_with_inputs_are_sent_verbatim(void)
{
	static const char line[] = "{\"id\": \"7\",  \"inputs\": [{\"name\": \"x\"}]}";
	struct arena run = { 0 };
	struct err err = { 0 };
	struct workload w;
	struct load_config c = { .seed = 1, .input_file = write_file(line) };
	CHECK(workload_build(&c, &endpoint_kserve_v2, "m", NULL, &url, &run, &w, &err));
	CHECK(str_eq(body_of(&w.items[0]), STR(line)));
	CHECK(str_find(w.items[0].request, STR("Inference-Header")) < 0);
	unlink(path);
	c.input_file = write_file("{\"prompt\": \"x\"}");
	CHECK(!workload_build(&c, &endpoint_kserve_v2, "m", NULL, &url, &run, &w, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK(strstr(err.text, "line 1"));
	unlink(path);
	arena_release(&run);
}

static void documents_are_for_who_reranks(void)
{
	static const char line[] = "{\"query\": \"q \\u00e9\", \"documents\": [\"a\", \"b\"]}";
	struct arena run = { 0 };
	struct err err = { 0 };
	struct workload w;
	struct load_config c = { .seed = 1, .input_file = write_file(line) };
	CHECK(workload_build(&c, &endpoint_openai_rerank, NULL, NULL, &url, &run, &w, &err));
	CHECK(str_eq(body_of(&w.items[0]),
		STR("{\"query\":\"q \u00e9\",\"documents\":[\"a\", \"b\"]}")));
	CHECK(!workload_build(&c, &endpoint_openai_chat, NULL, NULL, &url, &run, &w, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	unlink(path);
	arena_release(&run);
}

static void plain_http_is_a_get_without_and_a_post_with_data(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .seed = 1 };
	CHECK(workload_build(&c, &endpoint_http, NULL, NULL, &url, &run, &w, &err));
	CHECK(str_starts(w.items[0].request, STR("GET / HTTP/1.1\r\n")));
	CHECK_INT(body_of(&w.items[0]).len, 0);
	c.data = "abc";
	CHECK(workload_build(&c, &endpoint_http, NULL, NULL, &url, &run, &w, &err));
	CHECK(str_starts(w.items[0].request, STR("POST / HTTP/1.1\r\n")));
	CHECK(str_eq(body_of(&w.items[0]), STR("abc")));
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(a_chat_request_is_the_json_that_the_api_wants);
	TAP_RUN(synthetic_prompts_are_salted_and_the_salt_changes);
	TAP_RUN(two_measurements_never_send_the_same_salts);
	TAP_RUN(lines_of_a_file_are_sent_as_they_are);
	TAP_RUN(bad_files_are_named_with_their_line);
	TAP_RUN(options_that_do_not_fit_are_refused);
	TAP_RUN(a_base_address_gets_the_path_of_the_api);
	TAP_RUN(tensors_without_a_salt_are_many_different_ones);
	TAP_RUN(large_tensors_are_as_many_as_memory_allows);
	TAP_RUN(lines_with_inputs_are_sent_verbatim);
	TAP_RUN(documents_are_for_who_reranks);
	TAP_RUN(plain_http_is_a_get_without_and_a_post_with_data);
	return tap_done();
}
