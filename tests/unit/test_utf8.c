#include "base/utf8.h"

#include "base/attr.h"
#include "tap.h"

#include <locale.h>
#include <wchar.h>

static void a_character_is_as_long_as_unicode_says(void)
{
	/* Unicode 15, table 3-7, at the edges of each row. */
	static const struct {
		const char *bytes;
		int want;
	} cases[] = {
		{ "a", 1 },
		{ "\x7F", 1 },
		{ "\x80", UTF8_BROKEN },
		{ "\xC1\xBF", UTF8_BROKEN },
		{ "\xC2\x80", 2 },
		{ "\xC2", UTF8_CUT },
		{ "\xC2\x41", UTF8_BROKEN },
		{ "\xE0\x9F\xBF", UTF8_BROKEN },
		{ "\xE0\xA0\x80", 3 },
		{ "\xE4\xBB", UTF8_CUT },
		{ "\xED\x9F\xBF", 3 },
		{ "\xED\xA0\x80", UTF8_BROKEN },
		{ "\xEF\xBF\xBD", 3 },
		{ "\xF0\x8F\xBF\xBF", UTF8_BROKEN },
		{ "\xF0\x90\x80\x80", 4 },
		{ "\xF0\x90\x80", UTF8_CUT },
		{ "\xF0\x90\x80\x41", UTF8_BROKEN },
		{ "\xF4\x8F\xBF\xBF", 4 },
		{ "\xF4\x90\x80\x80", UTF8_BROKEN },
		{ "\xF5\x80\x80\x80", UTF8_BROKEN },
		{ "\xFF", UTF8_BROKEN },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (!CHECK_INT(utf8_char(cases[i].bytes, strlen(cases[i].bytes)), cases[i].want))
			printf("#   case %zu\n", i);
}

static void a_text_is_valid_when_all_of_it_is(void)
{
	CHECK(utf8_valid("", 0));
	CHECK(utf8_valid("Zo\xC3\xAB \xF0\x9F\xA6\x8A", 9));
	CHECK(!utf8_valid("Zo\xC3\xAB \xF0\x9F\xA6", 8));
	CHECK(!utf8_valid("a\xFFz", 3));
}

static void encoding_and_decoding_are_inverses(void)
{
	AUTO(auto_buf) struct buf b = { 0 };
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		uint32_t got;
		if (c == 0xd800)
			c = 0xe000;
		buf_clear(&b);
		utf8_encode(&b, c);
		if (!CHECK_INT(utf8_decode(buf_str(&b), &got), b.len) || !CHECK_INT(got, c))
			return;
	}
}

static void a_broken_byte_is_met_alone(void)
{
	uint32_t c = 0;
	CHECK_INT(utf8_decode(STR("\xe4\xb8"), &c), 0);
	CHECK_INT(c, 0xfffd);
	CHECK_INT(utf8_decode(STR("\xff"), &c), 0);
	CHECK_INT(utf8_decode(STR("\xed\xa0\x80"), &c), 0);
}

static void widths_are_those_of_a_terminal(void)
{
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "\x1b[0m", 3 },
		{ "é", 1 },
		{ "e\u0301", 1 },
		{ "中文", 4 },
		{ "ｆｕｌｌ", 8 },
		{ "ｶﾅ", 2 },
		{ "한글", 4 },
		{ "\u1112\u1161\u11ab", 2 }, /* the same syllable in parts */
		{ "、。", 4 },
		{ "… – — “”", 8 },
		{ "▁▂█░", 4 },
		{ "😀", 2 },
		{ "\u200b\u200d\ufeff", 0 },
		{ "𠀀", 2 },
		{ "\xff\xe4", 2 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (!CHECK_INT(utf8_width(str_of(cases[i].text)), cases[i].want))
			printf("#   '%s'\n", cases[i].text);
}

/* The C library has tables of its own, of another year and with opinions of its own on few. */
static void widths_agree_with_the_c_library(void)
{
	int n_compared = 0, n_different = 0;
	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		tap_skip("there is no locale C.UTF-8");
		return;
	}
	for (uint32_t c = 0x20; c <= 0x10ffff; c++) {
		int width = wcwidth((wchar_t)c);
		if (width < 0)
			continue;
		n_compared++;
		n_different += width != utf8_char_width(c);
	}
	setlocale(LC_CTYPE, "C");
	printf("# %d of %d differ\n", n_different, n_compared);
	CHECK(n_compared > 100000);
	CHECK(n_different * 1000 < n_compared);
}

static void a_line_from_outside_cannot_steer_the_terminal(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	utf8_add_line(&out, STR("a\tb\r\nc\x1b[2J\0\x7f\xc2\x9b\x9b 中\xff"));
	CHECK_STR(out.s, "a b  c?[2J???? 中?");
}

static void defusing_keeps_lines_and_length(void)
{
	char text[] = "a\tb\n\x1b]0;x\x07\xc2\x9b\x9b中";
	utf8_defuse(text, sizeof(text) - 1);
	CHECK_STR(text, "a\tb\n?]0;x????中");
}

int main(void)
{
	TAP_RUN(a_character_is_as_long_as_unicode_says);
	TAP_RUN(a_text_is_valid_when_all_of_it_is);
	TAP_RUN(encoding_and_decoding_are_inverses);
	TAP_RUN(a_broken_byte_is_met_alone);
	TAP_RUN(widths_are_those_of_a_terminal);
	TAP_RUN(widths_agree_with_the_c_library);
	TAP_RUN(a_line_from_outside_cannot_steer_the_terminal);
	TAP_RUN(defusing_keeps_lines_and_length);
	return tap_done();
}
