#include "engine/utf8.h"

#include "base/attr.h"
#include "tap.h"

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

int main(void)
{
	TAP_RUN(a_character_is_as_long_as_unicode_says);
	TAP_RUN(a_text_is_valid_when_all_of_it_is);
	return tap_done();
}
