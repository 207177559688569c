#include "text/json_scan.h"

#include "tap.h"

#include <float.h>

/* A chunk as a streaming service sends it, with every kind of value and blank. */
static const char chunk[] =
        " {\"id\":\"c\\\"1\" ,\n\t\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi "
        "\\u4e2d\\ud83d\\ude00\"},"
        "\"logprobs\":null,\"finish_reason\":null}],\"ok\":true,\"no\":false,\"empty\":{},\"none\":"
        "[],"
        "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":-3.5e+2},\"t\":1700000000.25}\r\n";

/* The text in memory of exactly its size, so that a sanitizer sees every step beyond it. */
static struct str exact(const char *text, size_t n)
{
	char *copy = mem_realloc(NULL, n);
	memcpy(copy, text, n);
	return (struct str){ copy, n };
}

static void free_text(struct str *text)
{
	free((char *)text->s);
}

static void the_fields_of_a_chunk_are_found(void)
{
	AUTO(auto_buf) struct buf content = { 0 };
	struct json_scan s = json_scan_of(STR(chunk));
	struct str key, id = { 0 }, delta = { 0 };
	int64_t prompt = 0;
	double completion = 0, t = 0;
	bool ok = false, no = true;
	CHECK_INT(json_scan_type(&s), JSON_SCAN_OBJECT);
	CHECK(json_scan_object(&s));
	while (json_scan_key(&s, &key)) {
		if (str_eq(key, STR("id")) && json_scan_string(&s, &id))
			continue;
		if (str_eq(key, STR("t")) && json_scan_double(&s, &t))
			continue;
		if (str_eq(key, STR("ok")) && json_scan_bool(&s, &ok))
			continue;
		if (str_eq(key, STR("no")) && json_scan_bool(&s, &no))
			continue;
		if (str_eq(key, STR("usage")) && json_scan_object(&s)) {
			while (json_scan_key(&s, &key)) {
				if (str_eq(key, STR("prompt_tokens")))
					CHECK(json_scan_int(&s, &prompt));
				else
					CHECK(json_scan_double(&s, &completion));
			}
		} else if (str_eq(key, STR("choices")) && json_scan_array(&s)) {
			CHECK(json_scan_element(&s));
			CHECK(json_scan_object(&s));
			while (json_scan_key(&s, &key)) {
				if (str_eq(key, STR("delta")))
					delta = json_scan_raw(&s);
				else
					json_scan_skip(&s);
			}
			CHECK(!json_scan_element(&s));
		} else {
			json_scan_skip(&s);
		}
	}
	CHECK(json_scan_ended(&s));
	CHECK(str_eq(id, STR("c\\\"1")));
	CHECK(str_eq(delta, STR("{\"content\":\"Hi \\u4e2d\\ud83d\\ude00\"}")));
	CHECK_INT(prompt, 12);
	CHECK_NEAR(completion, -350, 0);
	CHECK_NEAR(t, 1700000000.25, 0);
	CHECK(ok && !no);
	s = json_scan_of(delta);
	CHECK(json_scan_object(&s) && json_scan_key(&s, &key) && json_scan_string(&s, &id));
	CHECK(json_unescape(id, &content));
	CHECK_STR(content.s, "Hi 中😀");
}

static bool skips(struct str text)
{
	struct json_scan s = json_scan_of(text);
	json_scan_skip(&s);
	return json_scan_ended(&s);
}

/* The same document by every walking call, to a depth that the tests do not exceed. */
static void walk(struct json_scan *s, int depth)
{
	struct str text;
	double number;
	bool flag;
	if (depth > 0 && json_scan_object(s)) {
		while (json_scan_key(s, &text))
			walk(s, depth - 1);
	} else if (depth > 0 && json_scan_array(s)) {
		while (json_scan_element(s))
			walk(s, depth - 1);
	} else if (!json_scan_string(s, &text) && !json_scan_double(s, &number) &&
	           !json_scan_bool(s, &flag)) {
		json_scan_skip(s);
	}
}

static bool walks(struct str text)
{
	struct json_scan s = json_scan_of(text);
	walk(&s, 8);
	return json_scan_ended(&s);
}

static void every_cut_of_a_document_fails_without_a_step_beyond_it(void)
{
	size_t whole = strlen(chunk);
	for (size_t n = 0; n <= whole; n++) {
		AUTO(free_text) struct str text = exact(chunk, n);
		/* Only the line end may be missing. */
		bool want = n >= whole - 2;
		if (!CHECK(skips(text) == want) || !CHECK(walks(text) == want))
			printf("#   at %zu\n", n);
	}
}

static void what_is_json_is_taken(void)
{
	static const char *const texts[] = { "0", "-0", "10", "-1.5", "0.0", "1e5", "1E-5",
		"1.25e+10", "true", "false", "null", "\"\"", "\"a\"", "\"\\\"\"", "\"\\\\\"",
		"\"12345678\"", "\"1234567\\\"9\"", "[]", "[ ]", "{}", "{ }", "[1]", "[1,2]",
		"[ 1 , [ ] , { } ]", "{\"a\":1}", "{\"a\" : {\"b\":[{}]} , \"\":null}",
		" \t\r\n1 \t\r\n", "[[[]],{\"x\":[]}]", "\"\\u0000\"", "\"raw\ttab\"" };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO(free_text) struct str text = exact(texts[i], strlen(texts[i]));
		if (!CHECK(skips(text)) || !CHECK(walks(text)))
			printf("#   '%s'\n", texts[i]);
	}
}

static void what_is_not_json_is_refused(void)
{
	static const char *const texts[] = { "", " ", "x", "tru", "truex", "nul", "nulll", "+1",
		"-", "01", "-01", "1.", ".5", "1e", "1e+", "1.e5", "0x10", "NaN", "Infinity",
		"-Infinity", "\"", "\"a", "\"\\\"", "\"\\", "'a'", "[", "]", "[1", "[1,", "[1,]",
		"[,1]", "[,]", "[1 2]", "[1]]", "[1}", "{", "}", "{]", "[}", "{\"a\"}", "{\"a\":}",
		"{\"a\":1", "{\"a\":1,}", "{,\"a\":1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}",
		"{\"a\":1,,\"b\":2}", "{1:2}", "{a:1}", "{\"a\":1}x", "[1]1", "1 2", "[[[1]",
		"{\"a\":[}]", "[{\"a\":]}", "{\"a\":1:2}", "[1:2]", "[\"a\":1]", "{\"a\",1}",
		"\xef\xbb\xbf{}" };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO(free_text) struct str text = exact(texts[i], strlen(texts[i]));
		if (!CHECK(!skips(text)) || !CHECK(!walks(text)))
			printf("#   '%s'\n", texts[i]);
	}
}

static void strings_end_at_their_quote_wherever_it_falls(void)
{
	/* Eight bytes are looked at a step: quotes and escapes at every place of two such steps. */
	for (int n = 0; n < 20; n++) {
		for (int escape = -1; escape < n; escape++) {
			char text[64];
			struct str raw = { 0 };
			snprintf(text, sizeof(text), "\"%.*s\" ", n, "abcdefghijklmnopqrstuvwxyz");
			if (escape >= 0 && escape + 1 < n)
				memcpy(text + 1 + escape, "\\\"", 2);
			AUTO(free_text) struct str given = exact(text, (size_t)n + 2);
			struct json_scan s = json_scan_of(given);
			CHECK(json_scan_string(&s, &raw));
			CHECK_INT(raw.len, n);
			CHECK(json_scan_ended(&s));
		}
	}
}

static void high_bytes_are_no_quotes(void)
{
	/* 0xa2 is a quote and 0xdc a backslash with the high bit; the borrow of 0x21 and 0x23 too.
	 */
	static const char text[] = "\"\xa2\xdc\x21\x23\x5b\x5d\xa2\xdc\x80\xff\x01\x22";
	struct json_scan s = json_scan_of(STR(text));
	struct str raw = { 0 };
	CHECK(json_scan_string(&s, &raw));
	CHECK_INT(raw.len, 11);
}

static void only_so_many_levels_are_skipped(void)
{
	char text[2 * JSON_SCAN_DEPTH + 2];
	for (int depth = JSON_SCAN_DEPTH - 1; depth <= JSON_SCAN_DEPTH + 1; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		CHECK(skips((struct str){ text, 2 * (size_t)depth }) == (depth <= JSON_SCAN_DEPTH));
	}
}

static void doubles_are_the_nearest_ones(void)
{
	/* The second column is the compiler's own reading of the same digits. */
	static const struct {
		const char *text;
		double want;
	} cases[] = {
		{ "0", 0 },
		{ "-0.0", -0.0 },
		{ "1", 1 },
		{ "-1.5", -1.5 },
		{ "0.1", 0.1 },
		{ "1700000000123.457", 1700000000123.457 },
		{ "123456789012345678", 123456789012345678.0 },
		{ "0.000001", 0.000001 },
		{ "9007199254740993", 9007199254740993.0 },
		{ "1e22", 1e22 },
		{ "1e23", 1e23 },
		{ "2.2250738585072014e-308", DBL_MIN },
		{ "5e-324", 5e-324 },
		{ "1e-400", 0 },
		{ "1.7976931348623157e308", DBL_MAX },
		{ "0.30000000000000004", 0.30000000000000004 },
		{ "3.14159265358979323846264338327950288419716939937510582097494459230781640628",
		        3.14159265358979323846 },
		{ "0e999999999999", 0 },
		{ "1e0000000000000000000000000000000005", 1e5 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_text) struct str text = exact(cases[i].text, strlen(cases[i].text));
		struct json_scan s = json_scan_of(text);
		double got = NAN;
		if (!CHECK(json_scan_double(&s, &got)) || !CHECK_NEAR(got, cases[i].want, 0))
			printf("#   '%s'\n", cases[i].text);
		CHECK(json_scan_ended(&s));
	}
}

static void whole_numbers_are_exact_or_refused(void)
{
	static const struct {
		const char *text;
		bool fits;
		int64_t want;
	} cases[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "42", true, 42 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "18446744073709551616", false, 0 },
		{ "12.0", true, 12 },
		{ "12.50", false, 0 },
		{ "1.25e2", true, 125 },
		{ "1200e-2", true, 12 },
		{ "1e18", true, INT64_C(1000000000000000000) },
		{ "1e19", false, 0 },
		{ "1e99999999999", false, 0 },
		{ "0e9", true, 0 },
		{ "1e-1", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_scan s = json_scan_of(str_of(cases[i].text));
		int64_t got = 77;
		bool ok = CHECK(json_scan_int(&s, &got) == cases[i].fits);
		ok &= CHECK_INT(got, cases[i].fits ? cases[i].want : 77);
		/* What was refused is still there to be skipped. */
		if (!cases[i].fits)
			json_scan_skip(&s);
		ok &= CHECK(json_scan_ended(&s));
		if (!ok)
			printf("#   '%s'\n", cases[i].text);
	}
}

static void a_double_out_of_range_is_refused_but_may_be_skipped(void)
{
	struct json_scan s = json_scan_of(STR("[1e999,2]"));
	double got = 77;
	CHECK(json_scan_array(&s) && json_scan_element(&s));
	CHECK(!json_scan_double(&s, &got));
	CHECK(!s.failed);
	json_scan_skip(&s);
	CHECK(json_scan_element(&s) && json_scan_double(&s, &got));
	CHECK_NEAR(got, 2, 0);
	CHECK(!json_scan_element(&s) && json_scan_ended(&s));
}

static void a_value_of_another_type_is_left_where_it_is(void)
{
	struct json_scan s = json_scan_of(STR(" [\"a\"] "));
	struct str text;
	int64_t whole;
	double number;
	bool flag;
	CHECK(!json_scan_object(&s));
	CHECK(!json_scan_string(&s, &text));
	CHECK(!json_scan_int(&s, &whole));
	CHECK(!json_scan_double(&s, &number));
	CHECK(!json_scan_bool(&s, &flag));
	CHECK(json_scan_array(&s) && json_scan_element(&s));
	CHECK(!json_scan_array(&s));
	CHECK(json_scan_string(&s, &text) && str_eq(text, STR("a")));
	CHECK(!json_scan_element(&s) && !s.failed && json_scan_ended(&s));
}

static void after_a_failure_every_call_says_no(void)
{
	struct json_scan s = json_scan_of(STR("{\"a\" 1, \"b\": 2}"));
	struct str key;
	int64_t whole;
	CHECK(json_scan_object(&s));
	CHECK(!json_scan_key(&s, &key));
	CHECK(s.failed);
	CHECK(!json_scan_key(&s, &key));
	CHECK(!json_scan_element(&s));
	CHECK(!json_scan_int(&s, &whole));
	CHECK(!json_scan_object(&s));
	CHECK_INT(json_scan_type(&s), JSON_SCAN_NONE);
	CHECK_INT(json_scan_raw(&s).len, 0);
	CHECK(!json_scan_ended(&s));
}

static void escapes_are_resolved(void)
{
	static const struct {
		const char *raw;
		struct str want;
	} cases[] = {
		{ "", STR_INIT("") },
		{ "plain 中", STR_INIT("plain 中") },
		{ "\\\"\\\\\\/\\b\\f\\n\\r\\t", STR_INIT("\"\\/\b\f\n\r\t") },
		{ "\\u0041\\u00e9\\u4E2D", STR_INIT("Aé中") },
		{ "a\\u0000b", STR_INIT("a\0b") },
		{ "\\ud83d\\uDE00!", STR_INIT("😀!") },
		{ "\\ud800\\udc00\\udbff\\udfff", STR_INIT("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf") },
		{ "\\uffff\\ud7ff\\ue000", STR_INIT("\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80") },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		AUTO(free_text) struct str raw = exact(cases[i].raw, strlen(cases[i].raw));
		CHECK(json_unescape(raw, &out));
		if (!CHECK(str_eq(buf_str(&out), cases[i].want)))
			printf("#   '%s'\n", cases[i].raw);
	}
}

static void wrong_escapes_leave_the_buffer_as_it_was(void)
{
	static const char *const raws[] = { "\\", "a\\", "\\x", "\\u", "\\u12", "\\u12g4", "\\u123",
		"\\U0041", "\\ud83d", "\\ud83d!", "\\ud83d\\", "\\ud83d\\u", "\\ud83d\\ude0",
		"\\ud83d\\u0041", "\\ud83dxude00", "\\ude00", "\\ud83d\\ud83d", "\\u-041",
		"ok\\q" };
	AUTO(auto_buf) struct buf out = { 0 };
	CHECK(!json_unescape(STR("\\q"), &out));
	CHECK_INT(out.len, 0);
	buf_add_c(&out, "before");
	for (size_t i = 0; i < ARRAY_LEN(raws); i++) {
		AUTO(free_text) struct str raw = exact(raws[i], strlen(raws[i]));
		if (!CHECK(!json_unescape(raw, &out)) || !CHECK_STR(out.s, "before"))
			printf("#   '%s'\n", raws[i]);
	}
}

int main(void)
{
	TAP_RUN(the_fields_of_a_chunk_are_found);
	TAP_RUN(every_cut_of_a_document_fails_without_a_step_beyond_it);
	TAP_RUN(what_is_json_is_taken);
	TAP_RUN(what_is_not_json_is_refused);
	TAP_RUN(strings_end_at_their_quote_wherever_it_falls);
	TAP_RUN(high_bytes_are_no_quotes);
	TAP_RUN(only_so_many_levels_are_skipped);
	TAP_RUN(doubles_are_the_nearest_ones);
	TAP_RUN(whole_numbers_are_exact_or_refused);
	TAP_RUN(a_double_out_of_range_is_refused_but_may_be_skipped);
	TAP_RUN(a_value_of_another_type_is_left_where_it_is);
	TAP_RUN(after_a_failure_every_call_says_no);
	TAP_RUN(escapes_are_resolved);
	TAP_RUN(wrong_escapes_leave_the_buffer_as_it_was);
	return tap_done();
}
