#include "load/history.h"

#include "tap.h"

#include <jansson.h>

/* The messages of a history, parsed by another program's parser. */
static json_t *messages_of(const struct buf *h)
{
	AUTO(auto_buf) struct buf list = { 0 };
	buf_add_char(&list, '[');
	buf_add(&list, buf_str(h));
	buf_add_char(&list, ']');
	return json_loadb(list.s, list.len, JSON_ALLOW_NUL, NULL);
}

static const char *field(json_t *messages, size_t i, const char *name)
{
	return json_string_value(json_object_get(json_array_get(messages, i), name));
}

static void messages_stand_side_by_side_with_their_roles(void)
{
	AUTO(auto_buf) struct buf h = { 0 }, scratch = { 0 };
	history_add_text(&h, true, "user", STR("say \"hi\"\n"));
	history_add_answer(&h, true, STR("\\u0068i"), &scratch);
	history_add(&h, true, STR("{\"role\":\"user\",\"content\":\"\\u00e4\"}"));
	json_t *m = messages_of(&h);
	CHECK_INT(json_array_size(m), 3);
	CHECK_STR(field(m, 0, "role"), "user");
	CHECK_STR(field(m, 0, "content"), "say \"hi\"\n");
	CHECK_STR(field(m, 1, "role"), "assistant");
	CHECK_STR(field(m, 1, "content"), "hi");
	CHECK_STR(field(m, 2, "content"), "\xc3\xa4");
	json_decref(m);
}

static void a_text_is_the_inside_of_one_string_a_line_for_each(void)
{
	AUTO(auto_buf) struct buf h = { 0 }, scratch = { 0 };
	history_add_text(&h, false, "user", STR("a \"b\""));
	history_add_answer(&h, false, STR("c\\\\d"), &scratch);
	history_add_answer(&h, false, STR(""), &scratch);
	history_add(&h, false, STR("e\\n"));
	CHECK_STR(h.s, "a \\\"b\\\"\\nc\\\\d\\ne\\n");
	AUTO(auto_buf) struct buf quoted = { 0 };
	buf_printf(&quoted, "[\"%s\"]", h.s);
	json_t *j = json_loads(quoted.s, 0, NULL);
	CHECK_STR(json_string_value(json_array_get(j, 0)), "a \"b\"\nc\\d\ne\n");
	json_decref(j);
}

/* What a service may send as the inside of a string, and what of it is sent back. */
static void every_answer_becomes_valid_json(void)
{
	static const struct {
		const char *raw, *text; /* text in UTF-8 */
	} cases[] = {
		{ "\\ud83d\\ude00", "\xf0\x9f\x98\x80" }, /* U+1F600: a pair, whole */
		{ "a\\ud83d", "a\xef\xbf\xbd" },          /* half a pair is U+FFFD */
		{ "\\ude00b", "\xef\xbf\xbd"
		              "b" },
		{ "\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80" },
		{ "\\ud83d\\u0041", "\xef\xbf\xbd"
		                    "A" },
		{ "\\x41", "\\x41" }, /* no escape: the backslash was meant */
		{ "\\u12", "\\u12" },
		{ "end\\", "end\\" },
		{ "\\/\\\"\\\\\\b\\f\\n\\r\\t", "/\"\\\b\f\n\r\t" },
		{ "\x01\x1f", "\x01\x1f" }, /* must be escaped, and some do not */
		{ "\xff", "\xef\xbf\xbd" }, /* no UTF-8 */
		{ "\xe4\xb8\xad\xe6\x96\x87", "\xe4\xb8\xad\xe6\x96\x87" },
		{ "", "" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf h = { 0 }, scratch = { 0 };
		history_add_answer(&h, true, str_of(cases[i].raw), &scratch);
		json_t *m = messages_of(&h);
		if (!CHECK(m != NULL) || !CHECK_STR(field(m, 0, "content"), cases[i].text))
			printf("#   of '%s'\n", cases[i].raw);
		json_decref(m);
	}
}

static void a_nul_is_carried_too(void)
{
	AUTO(auto_buf) struct buf h = { 0 }, scratch = { 0 };
	history_add_answer(&h, true, STR("a\\u0000b"), &scratch);
	json_t *m = messages_of(&h);
	json_t *content = json_object_get(json_array_get(m, 0), "content");
	CHECK_INT(json_string_length(content), 3);
	CHECK(content && memcmp(json_string_value(content), "a\0b", 3) == 0);
	json_decref(m);
}

int main(void)
{
	TAP_RUN(messages_stand_side_by_side_with_their_roles);
	TAP_RUN(a_text_is_the_inside_of_one_string_a_line_for_each);
	TAP_RUN(every_answer_becomes_valid_json);
	TAP_RUN(a_nul_is_carried_too);
	return tap_done();
}
