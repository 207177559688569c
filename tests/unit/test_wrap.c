#include "base/wrap.h"

#include "base/utf8.h"
#include "tap.h"

enum { COLUMNS = 20 };

static void lines_break_where_either_script_allows(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "\n" },
		{ "  \n ", "\n" },
		{ "one line", "one line\n" },
		{ "  blanks \t\n fall together ", "blanks fall together\n" },
		{ "exactly twenty char. and", "exactly twenty char.\n  and\n" },
		{ "exactly twenty chars. and", "exactly twenty\n  chars. and\n" },
		/* ten wide characters fill the line, the full stop would stand alone */
		{ "一二三四五六七八九十", "一二三四五六七八九十\n" },
		{ "一二三四五六七八九十。", "一二三四五六七八九\n  十。\n" },
		{ "一二三四五六七八九（十）", "一二三四五六七八九\n  （十）\n" },
		{ "把 auto 改成 none，再测一次。", "把 auto 改成 none，\n  再测一次。\n" },
		/* narrow marks of three bytes count one column */
		{ "a – b … c – d … e – f", "a – b … c – d … e –\n  f\n" },
		{ "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrst\n  uvwxyz\n" },
		{ "in so many words 12 %", "in so many words\n  12 %\n" },
		{ "\xff\xfe \xe4\xb8", "\xff\xfe \xe4\xb8\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		wrap_text(&out, str_of(cases[i].text), 0, 2, COLUMNS);
		CHECK_STR(out.s, cases[i].want);
	}
}

static void a_line_that_is_begun_has_less_room(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	wrap_text(&out, STR("four five six"), 12, 12, COLUMNS);
	CHECK_STR(out.s, "four\n            five six\n");
}

/* Whatever the text and the width: no line too long, no blank at an end, nothing lost. */
static void no_line_is_too_long_and_nothing_is_lost(void)
{
	static const char text[] =
	        "The client used 97 % of a core; 延迟可能是它自己的（见“客户端”一节）。"
	        " add --threads, 或者 https://example.com/a/very/long/address 再试！";
	for (int columns = 8; columns < 120; columns++) {
		AUTO(auto_buf) struct buf out = { 0 };
		AUTO(auto_buf) struct buf got = { 0 };
		AUTO(auto_buf) struct buf want = { 0 };
		wrap_text(&out, STR(text), 0, 4, columns);
		for (struct str rest = buf_str(&out); rest.len;) {
			struct str line = str_cut(rest, '\n', &rest);
			CHECK(utf8_width(line) <= columns);
			CHECK(line.len == 0 || line.s[line.len - 1] != ' ');
		}
		for (size_t i = 0; i < out.len; i++)
			if (out.s[i] != ' ' && out.s[i] != '\n')
				buf_add_char(&got, out.s[i]);
		for (size_t i = 0; text[i]; i++)
			if (text[i] != ' ')
				buf_add_char(&want, text[i]);
		CHECK_STR(got.s, want.s);
	}
}

int main(void)
{
	TAP_RUN(lines_break_where_either_script_allows);
	TAP_RUN(a_line_that_is_begun_has_less_room);
	TAP_RUN(no_line_is_too_long_and_nothing_is_lost);
	return tap_done();
}
