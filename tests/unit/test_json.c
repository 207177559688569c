#include "text/json.h"

#include "tap.h"

#include <jansson.h>
#include <locale.h>

static void write_document(struct json *j)
{
	json_object_open(j);
	json_put_string(j, "name", "a");
	json_key(j, "list");
	json_array_open(j);
	json_int(j, 1);
	json_object_open(j);
	json_put_bool(j, "yes", true);
	json_put_bool(j, "no", false);
	json_object_close(j);
	json_array_open(j);
	json_array_close(j);
	json_raw(j, STR("{\"raw\":1}"));
	json_array_close(j);
	json_key(j, "empty");
	json_object_open(j);
	json_object_close(j);
	json_put_string(j, "nothing", NULL);
	json_put_string_present(j, "absent", NULL);
	json_put_double_present(j, "absent", NAN);
	json_put_double_present(j, "half", 0.5);
	json_put_int(j, "least", INT64_MIN);
	json_put_double(j, "nan", NAN);
	json_object_close(j);
}

static void commas_and_nesting_follow_the_calls(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct json j;
	json_init(&j, &out, false);
	write_document(&j);
	CHECK_INT(j.depth, 0);
	CHECK_STR(out.s, "{\"name\":\"a\",\"list\":[1,{\"yes\":true,\"no\":false},[],{\"raw\":1}],"
	                 "\"empty\":{},\"nothing\":null,\"half\":0.5,"
	                 "\"least\":-9223372036854775808,\"nan\":null}");
}

static void pretty_text_indents_by_two_spaces(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct json j;
	json_init(&j, &out, true);
	json_object_open(&j);
	json_put_int(&j, "a", 1);
	json_key(&j, "b");
	json_array_open(&j);
	json_int(&j, 2);
	json_object_open(&j);
	json_object_close(&j);
	json_array_close(&j);
	json_object_close(&j);
	CHECK_STR(out.s, "{\n  \"a\": 1,\n  \"b\": [\n    2,\n    {}\n  ]\n}");
}

static void pretty_and_compact_say_the_same_to_another_reader(void)
{
	AUTO(auto_buf) struct buf compact = { 0 };
	AUTO(auto_buf) struct buf pretty = { 0 };
	struct json j;
	json_init(&j, &compact, false);
	write_document(&j);
	json_init(&j, &pretty, true);
	write_document(&j);
	json_t *a = json_loads(compact.s, JSON_REJECT_DUPLICATES, NULL);
	json_t *b = json_loads(pretty.s, JSON_REJECT_DUPLICATES, NULL);
	CHECK(a && b && json_equal(a, b));
	json_decref(a);
	json_decref(b);
}

static const char *double_text(struct buf *out, double value)
{
	struct json j;
	buf_clear(out);
	json_init(&j, out, false);
	json_double(&j, value);
	return out->s;
}

static void numbers_are_short_and_never_not_numbers(void)
{
	static const struct {
		double value;
		const char *want;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "0" },
		{ 1, "1" },
		{ 0.1, "0.1" },
		{ -12.5, "-12.5" },
		{ 1.0 / 3, "0.333333333" },
		{ 123456789.25, "123456789" },
		{ 12.30, "12.3" },
		{ 1e-7, "1e-07" },
		{ 100000000000, "100000000000" },
		{ 9007199254740992, "9007199254740992" },
		{ -9007199254740991, "-9007199254740991" },
		{ 18014398509481984, "1.80143985e+16" },
		{ 1e300, "1e+300" },
		{ NAN, "null" },
		{ INFINITY, "null" },
		{ -INFINITY, "null" },
	};
	AUTO(auto_buf) struct buf out = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(double_text(&out, cases[i].value), cases[i].want);
}

static void the_locale_does_not_move_the_decimal_point(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
		tap_skip("neither de_DE.UTF-8 nor fr_FR.UTF-8 is installed");
		return;
	}
	CHECK_STR(double_text(&out, -0.25), "-0.25");
	CHECK_STR(double_text(&out, 2.5e-30), "2.5e-30");
	setlocale(LC_NUMERIC, "C");
}

static void strings_are_escaped_and_always_utf8(void)
{
	static const struct {
		struct str text;
		const char *want;
	} cases[] = {
		{ STR_INIT(""), "\"\"" },
		{ STR_INIT("plain /"), "\"plain /\"" },
		{ STR_INIT("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\"" },
		{ STR_INIT("a\0b\x1f\x7f"), "\"a\\u0000b\\u001f\\u007f\"" },
		{ STR_INIT("é 中 😀"), "\"é 中 😀\"" },
		{ STR_INIT("\xff"), "\"\xef\xbf\xbd\"" },
		{ STR_INIT("a\xe4\xb8"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"" },
		/* overlong, surrogate, beyond the last plane */
		{ STR_INIT("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ STR_INIT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ STR_INIT("\xf4\x90\x80\x80"),
		        "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		json_escape(&out, cases[i].text);
		CHECK_STR(out.s, cases[i].want);
	}
}

/* All one-byte and two-byte texts, read back by jansson, which refuses what is not UTF-8. */
static void another_reader_takes_whatever_bytes_go_in(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	for (int c = 0; c < 0x10000; c++) {
		char bytes[2] = { (char)(c >> 8), (char)c };
		buf_clear(&out);
		json_escape(&out, (struct str){ bytes, 2 });
		json_t *read = json_loadb(out.s, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		bool ok = read && json_is_string(read);
		if (ok && bytes[0] >= 0 && bytes[1] >= 0)
			ok = json_string_length(read) == 2 &&
			     memcmp(json_string_value(read), bytes, 2) == 0;
		json_decref(read);
		if (!CHECK(ok))
			return;
	}
}

static void thirty_two_levels_fit(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct json j;
	json_init(&j, &out, false);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_array_open(&j);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_array_close(&j);
	CHECK_INT(out.len, 2 * JSON_DEPTH_MAX);
}

int main(void)
{
	TAP_RUN(commas_and_nesting_follow_the_calls);
	TAP_RUN(pretty_text_indents_by_two_spaces);
	TAP_RUN(pretty_and_compact_say_the_same_to_another_reader);
	TAP_RUN(numbers_are_short_and_never_not_numbers);
	TAP_RUN(the_locale_does_not_move_the_decimal_point);
	TAP_RUN(strings_are_escaped_and_always_utf8);
	TAP_RUN(another_reader_takes_whatever_bytes_go_in);
	TAP_RUN(thirty_two_levels_fit);
	return tap_done();
}
