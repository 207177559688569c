#include "load/workload.h"

#include "load/vocabulary.h"
#include "reference.h"
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
static struct str body_of(struct str r)
{
	ptrdiff_t end = str_find(r, STR("\r\n\r\n"));
	ptrdiff_t at = str_find(r, STR("\r\nContent-Length: "));
	struct str body = { r.s + end + 4, r.len - (size_t)end - 4 };
	CHECK(end > 0);
	CHECK_INT(at < 0 ? 0 : strtol(r.s + at + 18, NULL, 10), body.len);
	return body;
}

static json_t *json_of(struct str request)
{
	struct str body = body_of(request);
	return json_loadb(body.s, body.len, 0, NULL);
}

static void a_chat_request_is_the_json_that_the_api_wants(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .stream = true, .seed = 1, .output_tokens = "5" };
	CHECK(workload_build(&c, &endpoint_openai_chat, "m", NULL, &url, &run, &w, &err));
	AUTO(auto_buf) struct buf scratch = { 0 };
	struct str request = workload_request(&w, 0, 0, 1, &scratch);
	json_t *j = json_of(request);
	CHECK_STR(json_string_value(json_object_get(j, "model")), "m");
	CHECK_INT(json_integer_value(json_object_get(j, "max_tokens")), 5);
	CHECK(json_is_true(json_object_get(j, "stream")));
	CHECK(json_is_true(json_object_get(json_object_get(j, "stream_options"), "include_usage")));
	json_t *first = json_array_get(json_object_get(j, "messages"), 0);
	CHECK_STR(json_string_value(json_object_get(first, "role")), "user");
	CHECK(str_starts(request, STR("POST /v1/chat/completions HTTP/1.1\r\nHost: h:1\r\n")));
	json_decref(j);
	arena_release(&run);
}

/* The prompt of a request to /v1/completions, in the arena, and how long an answer it asks for. */
static const char *prompt_of(struct str request, struct arena *run, int64_t *ret_output)
{
	json_t *j = json_of(request);
	const char *prompt = json_string_value(json_object_get(j, "prompt"));
	char *copy = arena_strdup(run, prompt ? prompt : "");
	if (ret_output)
		*ret_output = json_integer_value(json_object_get(j, "max_tokens"));
	json_decref(j);
	return copy;
}

static const char *prompt_number(
        const struct workload *w, int64_t i, uint64_t nonce, struct arena *run, int64_t *ret_output)
{
	AUTO(auto_buf) struct buf scratch = { 0 };
	return prompt_of(workload_request(w, i, i, nonce, &scratch), run, ret_output);
}

static int64_t count_words(const char *text)
{
	int64_t n = *text != 0;
	for (; *text; text++)
		n += *text == ' ';
	return n;
}

/* How many whole words two texts begin with alike. */
static int64_t common_words(const char *a, const char *b)
{
	int64_t n = 0;
	for (; *a && *a == *b; a++, b++)
		n += *a == ' ';
	return n + ((!*a || *a == ' ') && (!*b || *b == ' '));
}

static struct workload build(
        const struct load_config *c, const struct endpoint *e, struct arena *run)
{
	struct workload w = { 0 };
	struct err err = { 0 };
	if (!CHECK(workload_build(c, e, "m", NULL, &url, run, &w, &err)))
		printf("# %s\n", err.text);
	return w;
}

static void salted_prompts_differ_from_the_start_between_requests_and_runs(void)
{
	struct arena run = { 0 };
	struct load_config c = { .seed = 1, .input_tokens = "uniform:12..40", .salt = true };
	struct workload w = build(&c, &endpoint_openai_completions, &run);
	const char *last = "";
	for (int i = 0; i < 500; i++) {
		const char *one = prompt_number(&w, i, 1, &run, NULL);
		CHECK(count_words(one) >= 12 && count_words(one) <= 40);
		/* Of 64 words, four alike by chance come once in 17 million. */
		CHECK(common_words(one, last) < 4);
		CHECK(common_words(one, prompt_number(&w, i, 2, &run, NULL)) < 4);
		CHECK_STR(one, prompt_number(&w, i, 1, &run, NULL));
		last = one;
	}
	CHECK(workload_nonce() != workload_nonce());
	arena_release(&run);
}

static void without_salt_the_seed_alone_decides(void)
{
	struct arena run = { 0 };
	struct load_config c = { .seed = 1, .input_tokens = "20" };
	struct workload w = build(&c, &endpoint_openai_completions, &run);
	c.seed = 2;
	struct workload other = build(&c, &endpoint_openai_completions, &run);
	for (int i = 0; i < 50; i++) {
		const char *one = prompt_number(&w, i, 1, &run, NULL);
		CHECK_STR(one, prompt_number(&w, i, 99, &run, NULL));
		CHECK_STR(one, prompt_number(&w, i + WORKLOAD_LENGTHS, 1, &run, NULL));
		CHECK(common_words(one, prompt_number(&w, i + 1, 1, &run, NULL)) < 4);
		CHECK(common_words(one, prompt_number(&other, i, 1, &run, NULL)) < 4);
	}
	arena_release(&run);
}

static void a_share_of_each_prompt_is_common_to_those_of_its_group(void)
{
	enum { N = 300, GROUPS = 3 };
	static int64_t sizes[GROUPS];
	const char *starts[GROUPS] = { 0 };
	struct arena run = { 0 };
	struct load_config c = { .seed = 1,
		.input_tokens = "uniform:100..200",
		.salt = true,
		.prefix_ratio = 0.5,
		.n_prefixes = GROUPS };
	struct workload w = build(&c, &endpoint_openai_completions, &run);
	int n = 0;
	for (int i = 0; i < N; i++) {
		const char *one = prompt_number(&w, i, 1, &run, NULL);
		int64_t tokens = count_words(one);
		int g = 0;
		while (g < n && common_words(one, starts[g]) < 8)
			g++;
		if (!CHECK(g < GROUPS))
			break;
		if (g == n)
			starts[n++] = one;
		else {
			/* The shorter half is common to both, by chance a word or two more. */
			int64_t least =
			        tokens < count_words(starts[g]) ? tokens : count_words(starts[g]);
			int64_t common = common_words(one, starts[g]);
			CHECK(common >= (least + 1) / 2 && common < (least + 1) / 2 + 4);
		}
		sizes[g]++;
	}
	CHECK_INT(n, GROUPS);
	for (int g = 0; g < GROUPS; g++)
		CHECK_NEAR((double)sizes[g], (double)N / GROUPS, 5 * sqrt(N * 2.0 / 9));
	/* Another run has other beginnings. */
	CHECK(common_words(prompt_number(&w, 0, 1, &run, NULL),
	              prompt_number(&w, 0, 2, &run, NULL)) < 4);
	arena_release(&run);
}

static void a_schedule_gives_each_request_its_lengths_and_blocks(void)
{
	static const char rows[] =
	        "{\"timestamp\":0,\"input_length\":70,\"output_length\":5,\"hash_ids\":[1,2,3]}\n"
	        "{\"timestamp\":0,\"input_length\":96,\"output_length\":7,\"hash_ids\":[1,2,4]}\n"
	        "{\"timestamp\":9,\"input_length\":40,\"output_length\":5,\"hash_ids\":[1,5]}\n"
	        "{\"timestamp\":9,\"input_length\":33,\"output_length\":1,\"hash_ids\":[6,2]}\n";
	static const int64_t lengths[][2] = { { 70, 5 }, { 96, 7 }, { 40, 5 }, { 33, 1 } };
	/* Blocks have 32 tokens. */
	static const int64_t common[4][4] = { { 70, 64, 32, 0 }, { 64, 96, 32, 0 },
		{ 32, 32, 40, 0 }, { 0, 0, 0, 33 } };
	struct arena run = { 0 };
	struct err err;
	struct load_config c = { .seed = 1, .salt = true };
	CHECK(schedule_parse(STR(rows), "rows", 1, &run, &c.schedule, &err));
	struct workload w = build(&c, &endpoint_openai_completions, &run);
	const char *prompts[4];
	CHECK_STR(w.input, "schedule");
	for (int i = 0; i < 4; i++) {
		int64_t output;
		AUTO(auto_buf) struct buf scratch = { 0 };
		/* The row is that of the arrival, whatever was sent before. */
		prompts[i] =
		        prompt_of(workload_request(&w, 100 - i, i, 1, &scratch), &run, &output);
		CHECK_INT(count_words(prompts[i]), lengths[i][0]);
		CHECK_INT(output, lengths[i][1]);
	}
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++) {
			int64_t n = common_words(prompts[i], prompts[k]);
			CHECK(n >= common[i][k] && n < common[i][k] + 4);
		}
	/* What the user asks for goes before what was recorded. */
	c.output_tokens = "11";
	w = build(&c, &endpoint_openai_completions, &run);
	int64_t output;
	CHECK_INT(count_words(prompt_number(&w, 2, 1, &run, &output)), 40);
	CHECK_INT(output, 11);
	arena_release(&run);
}

/* Counted by the same tokenizer, which tests of its own hold against its reference. */
static void check_exact(const char *tokenizer)
{
	struct arena run = { 0 };
	struct err err = { 0 };
	struct vocabulary v;
	struct load_config c = { .seed = 3,
		.input_tokens = "uniform:1..300",
		.salt = true,
		.prefix_ratio = 0.3,
		.tokenizer = tokenizer };
	struct workload w = build(&c, &endpoint_openai_completions, &run);
	if (!CHECK(vocabulary_open(&v, c.tokenizer, &run, &err)))
		return;
	CHECK_INT(vocabulary_count(&v, STR("")), 0);
	for (size_t i = 0; i < 300 && i < w.n_prompts; i++) {
		const char *prompt = prompt_number(&w, (int64_t)i, 5, &run, NULL);
		if (!CHECK_INT(vocabulary_count(&v, str_of(prompt)), w.prompts[i].input_tokens))
			printf("# %s\n", tokenizer);
	}
	for (size_t i = 0; i < v.n; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(!str_eq(v.words[i], v.words[k]));
	vocabulary_close(&v);
	arena_release(&run);
}

static void with_a_tokenizer_prompts_have_exactly_their_tokens(void)
{
	static const char *const names[] = { "bert", "deepseek_v3", "gemma", "gpt2", "gpt4o",
		"llama2", "llama3", "metaspace", "mistral", "qwen2", "starcoder", "unigram",
		"words" };
	const char *root = getenv("VENTURI_SOURCE_ROOT");
	char name[4096];
	check_exact(reference_path("tales-f32.gguf"));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(name, sizeof(name), "%s/tests/data/tokenizers/%s.json", root ? root : ".",
		        names[i]);
		check_exact(name);
	}
}

static void with_a_tokenizer_recorded_answers_tell_their_length(void)
{
	static const char text[] = "[{\"conversations\": [{\"from\": \"human\", \"value\": \"q\"}, "
	                           "{\"from\": \"gpt\", "
	                           "\"value\": \"Once upon a time\"}]}, {\"conversations\": "
	                           "[{\"from\": \"human\", \"value\": \"q\"}]}]";
	struct arena run = { 0 };
	struct err err = { 0 };
	struct vocabulary v;
	struct load_config c = { .seed = 3,
		.input_file = write_file(text),
		.tokenizer = reference_path("tales-f32.gguf") };
	struct workload w = build(&c, &endpoint_openai_completions, &run);
	int64_t output;
	CHECK(vocabulary_open(&v, c.tokenizer, &run, &err));
	prompt_number(&w, 0, 1, &run, &output);
	CHECK_INT(output, vocabulary_count(&v, STR("Once upon a time")));
	prompt_number(&w, 1, 1, &run, &output);
	CHECK_INT(output, 64);
	c.output_tokens = "9";
	w = build(&c, &endpoint_openai_completions, &run);
	prompt_number(&w, 0, 1, &run, &output);
	CHECK_INT(output, 9);
	unlink(path);
	vocabulary_close(&v);
	arena_release(&run);
}

static void a_body_that_is_no_frame_is_written_out_and_salted_in_place(void)
{
	struct arena run = { 0 };
	struct load_config c = { .seed = 1, .input_tokens = "40", .salt = true };
	struct workload w = build(&c, &endpoint_openai_rerank, &run);
	AUTO(auto_buf) struct buf one = { 0 }, two = { 0 };
	CHECK(w.n_prompts == 0 && w.n > 0);
	struct str a = workload_request(&w, 0, 0, 1, &one);
	struct str b = workload_request(&w, (int64_t)w.n, 0, 1, &two);
	CHECK(a.len == b.len && !str_eq(a, b));
	json_t *j = json_of(a);
	CHECK(json_is_array(json_object_get(j, "documents")));
	json_decref(j);
	c.salt = false;
	w = build(&c, &endpoint_openai_rerank, &run);
	CHECK_INT(w.items[0].salt_at, -1);
	arena_release(&run);
}

static void text_has_its_number_of_words_and_goes_on_where_it_ended(void)
{
	struct arena run = { 0 };
	struct prompt_text t;
	AUTO(auto_buf) struct buf small = { 0 }, large = { 0 };
	prompt_text_init(&t, NULL, 0, &run);
	for (uint64_t key = 0; key < 64; key++) {
		uint64_t mixed = prompt_text_key(key, 1, 2);
		buf_clear(&large);
		prompt_text_add(&t, mixed, 3 * PROMPT_TEXT_POOL, true, &large);
		CHECK_INT(count_words(large.s), 3 * PROMPT_TEXT_POOL);
		for (int64_t n = 0; n < 40; n++) {
			buf_clear(&small);
			buf_add_c(&small, "");
			prompt_text_add(&t, mixed, n, true, &small);
			CHECK_INT(count_words(small.s), n);
			CHECK(str_starts(buf_str(&large), buf_str(&small)));
		}
	}
	arena_release(&run);
}

static void lines_of_a_file_are_sent_as_they_are(void)
{
	struct arena run = { 0 };
	struct err err;
	struct workload w;
	struct load_config c = { .seed = 1,
		.input_file =
		        write_file("{\"prompt\": \"one \\\"two\\\"\", \"max_tokens\": 7}\n\n"
		                   "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n"
		                   "{\"body\": {\"x\": 1}}\n") };
	CHECK(workload_build(&c, &endpoint_openai_completions, NULL, NULL, &url, &run, &w, &err));
	CHECK_INT(w.n, 3);
	json_t *j = json_of(w.items[0].request);
	CHECK_STR(json_string_value(json_object_get(j, "prompt")), "one \"two\"");
	CHECK_INT(json_integer_value(json_object_get(j, "max_tokens")), 7);
	CHECK(!json_object_get(j, "model"));
	json_decref(j);
	j = json_of(w.items[1].request);
	CHECK_STR(json_string_value(json_object_get(j, "prompt")), "hi");
	json_decref(j);
	CHECK(str_eq(body_of(w.items[2].request), STR("{\"x\": 1}")));
	for (size_t i = 0; i < w.n; i++)
		CHECK_INT(w.items[i].salt_at, -1);
	unlink(path);
	arena_release(&run);
}

static void conversations_of_sharegpt_are_asked_by_their_first_question(void)
{
	static const char text[] =
	        "\n[{\"id\": \"a_0\", \"conversations\": [{\"from\": \"human\", \"value\": "
	        "\"one\\nline\"},\n"
	        " {\"from\": \"gpt\", \"value\": \"yes\"}]},\n"
	        "{\"id\": \"a_1\", \"conversations\": []},\n"
	        "{\"id\": \"b\", \"conversations\": [{\"from\": \"gpt\", \"value\": \"hello\"},"
	        " {\"value\": \"\\u00e9\", \"from\": \"user\"}, {\"from\": \"human\", \"value\": "
	        "\"no\"}]}]";
	struct arena run = { 0 };
	struct load_config c = { .seed = 1, .input_file = write_file(text), .output_tokens = "9" };
	struct workload w = build(&c, &endpoint_openai_completions, &run);
	int64_t output;
	CHECK_INT(w.n, 2);
	CHECK_STR(prompt_number(&w, 0, 1, &run, &output), "one\nline");
	CHECK_INT(output, 9);
	CHECK_STR(prompt_number(&w, 1, 1, &run, NULL), "\xC3\xA9");
	unlink(path);

	c.input_file = write_file("[1, 2]\n[3]\n");
	c.output_tokens = NULL;
	w = build(&c, &endpoint_http, &run);
	CHECK_INT(w.n, 2);
	CHECK(str_eq(body_of(w.items[1].request), STR("[3]")));
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
		{ "[]\n", "no lines" },
		{ "[{\"prompt\": \"a\"},\n\n3]\n", "line 3" },
		{ "[\n{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}]", "line 2" },
		{ "[{\"prompt\": \"a\"}] x", "line 1" },
		{ "[{\"conversations\": []}, {\"conversations\": [{\"from\": \"gpt\", \"value\": "
		  "\"x\"}]}]",
		        "no lines" },
		{ "[{\"conversations\": [{\"from\": \"human\", \"value\": \"\\x\"}]}]", "line 1" },
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
		{ .input_file = "x", .prefix_ratio = 0.5 },
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct arena run = { 0 };
		struct err err = { 0 };
		struct workload w;
		CHECK(!workload_build(
		        &bad[i], &endpoint_openai_chat, NULL, NULL, &url, &run, &w, &err));
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
		CHECK(workload_build(
		        &c, &endpoint_openai_completions, NULL, NULL, &u, &run, &w, &err));
		AUTO(auto_buf) struct buf scratch = { 0 };
		CHECK(str_starts(workload_request(&w, 0, 0, 1, &scratch), str_of(cases[i].sent)));
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
		CHECK(!str_eq(body_of(w.items[i].request), body_of(w.items[i - 1].request)));
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
	CHECK(str_eq(body_of(w.items[0].request), STR(line)));
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
	CHECK(str_eq(body_of(w.items[0].request),
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
	CHECK_INT(body_of(w.items[0].request).len, 0);
	c.data = "abc";
	CHECK(workload_build(&c, &endpoint_http, NULL, NULL, &url, &run, &w, &err));
	CHECK(str_starts(w.items[0].request, STR("POST / HTTP/1.1\r\n")));
	CHECK(str_eq(body_of(w.items[0].request), STR("abc")));
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(a_chat_request_is_the_json_that_the_api_wants);
	TAP_RUN(salted_prompts_differ_from_the_start_between_requests_and_runs);
	TAP_RUN(without_salt_the_seed_alone_decides);
	TAP_RUN(a_share_of_each_prompt_is_common_to_those_of_its_group);
	TAP_RUN(a_schedule_gives_each_request_its_lengths_and_blocks);
	TAP_RUN(with_a_tokenizer_prompts_have_exactly_their_tokens);
	TAP_RUN(with_a_tokenizer_recorded_answers_tell_their_length);
	TAP_RUN(a_body_that_is_no_frame_is_written_out_and_salted_in_place);
	TAP_RUN(text_has_its_number_of_words_and_goes_on_where_it_ended);
	TAP_RUN(lines_of_a_file_are_sent_as_they_are);
	TAP_RUN(conversations_of_sharegpt_are_asked_by_their_first_question);
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
