#include "base/str.h"

#include "tap.h"

#include <unistd.h>

static void views_are_compared_by_their_bytes(void)
{
	struct str none = { NULL, 0 };
	CHECK(str_eq(none, STR("")));
	CHECK(str_eq(str_of(NULL), none));
	CHECK(!str_eq(STR("a"), STR("b")));
	CHECK(!str_eq(STR("a"), STR("ab")));
	CHECK(!str_eq(STR("a\0b"), STR("a\0c")));
	CHECK(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
	CHECK(!str_eq_nocase(STR("a\0b"), STR("a\0c")));
	CHECK(!str_eq_nocase(STR("[\\]^_@"), STR("{|}~\x7f`")));
	CHECK(str_starts(STR("abc"), STR("ab")) && str_starts(STR("abc"), STR("")));
	CHECK(!str_starts(STR("a"), STR("ab")));
	CHECK(str_ends(STR("abc"), STR("bc")) && str_ends(none, none));
	CHECK(!str_ends(STR("c"), STR("bc")));
}

static void views_are_ordered_by_bytes_and_then_by_length(void)
{
	static const struct {
		struct str a, b;
		int sign;
	} cases[] = {
		{ STR_INIT("a"), STR_INIT("b"), -1 },
		{ STR_INIT("b"), STR_INIT("a"), 1 },
		{ STR_INIT("a"), STR_INIT("ab"), -1 },
		{ STR_INIT("b"), STR_INIT("ab"), 1 },
		{ STR_INIT("a\xC3"), STR_INIT("az"), 1 },
		{ STR_INIT("ab"), STR_INIT("ab"), 0 },
		{ { NULL, 0 }, STR_INIT("a"), -1 },
		{ { NULL, 0 }, { NULL, 0 }, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int order = str_compare(cases[i].a, cases[i].b);
		CHECK_INT((order > 0) - (order < 0), cases[i].sign);
	}
}

static void trimming_takes_blanks_from_both_ends(void)
{
	CHECK(str_eq(str_trim(STR(" \t a b\r\n ")), STR("a b")));
	CHECK(str_eq(str_trim(STR(" \t\r\n")), STR("")));
	CHECK(str_eq(str_trim(STR("")), STR("")));
}

static void cutting_gives_the_parts_around_the_first_separator(void)
{
	static const struct {
		struct str text, first, rest;
	} cases[] = {
		{ STR_INIT("a=b=c"), STR_INIT("a"), STR_INIT("b=c") },
		{ STR_INIT("=b"), STR_INIT(""), STR_INIT("b") },
		{ STR_INIT("a="), STR_INIT("a"), STR_INIT("") },
		{ STR_INIT("abc"), STR_INIT("abc"), STR_INIT("") },
		{ STR_INIT(""), STR_INIT(""), STR_INIT("") },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str rest;
		CHECK(str_eq(str_cut(cases[i].text, '=', &rest), cases[i].first));
		CHECK(str_eq(rest, cases[i].rest));
	}
	/* Line by line, with the rest in place of the text. */
	struct str text = STR("one\ntwo\n");
	int n = 0;
	for (; text.len; n++)
		CHECK(str_eq(str_cut(text, '\n', &text), n ? STR("two") : STR("one")));
	CHECK_INT(n, 2);
}

static void finding_gives_the_first_place(void)
{
	CHECK_INT(str_find(STR("a..b..c"), STR("..")), 1);
	CHECK_INT(str_find(STR("abc"), STR("bd")), -1);
	CHECK_INT(str_find(STR("abc"), STR("abcd")), -1);
	CHECK_INT(str_find(STR("a\0b"), STR("\0b")), 1);
	CHECK_INT(str_find(STR(""), STR("a")), -1);
}

static void whole_numbers_take_every_byte_or_none(void)
{
	static const struct {
		struct str text;
		bool ok;
		int64_t want;
	} cases[] = {
		{ STR_INIT("0"), true, 0 },
		{ STR_INIT("-42"), true, -42 },
		{ STR_INIT("+7"), true, 7 },
		{ STR_INIT("9223372036854775807"), true, INT64_MAX },
		{ STR_INIT("-9223372036854775808"), true, INT64_MIN },
		{ STR_INIT("9223372036854775808"), false, 0 },
		{ STR_INIT(""), false, 0 },
		{ STR_INIT("-"), false, 0 },
		{ STR_INIT("+-1"), false, 0 },
		{ STR_INIT("1-"), false, 0 },
		{ STR_INIT(" 1"), false, 0 },
		{ STR_INIT("\v1"), false, 0 },
		{ STR_INIT("1 "), false, 0 },
		{ STR_INIT("1.0"), false, 0 },
		{ STR_INIT("0x10"), false, 0 },
		{ STR_INIT("1\0"), false, 0 },
		{ STR_INIT("0000000000000000000000000000000000000000000000000000000000000001"),
		        false, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t got = 77;
		if (!CHECK(str_to_i64(cases[i].text, &got) == cases[i].ok) ||
		        !CHECK_INT(got, cases[i].ok ? cases[i].want : 77))
			printf("#   '%.*s'\n", STR_ARG(cases[i].text));
	}
}

static void decimals_are_finite_and_decimal(void)
{
	static const struct {
		struct str text;
		bool ok;
		double want;
	} cases[] = {
		{ STR_INIT("1"), true, 1 },
		{ STR_INIT("-.5"), true, -0.5 },
		{ STR_INIT("2.5e-3"), true, 0.0025 },
		{ STR_INIT("1E5"), true, 1e5 },
		{ STR_INIT("1e-400"), true, 0 },
		{ STR_INIT("1e400"), false, 0 },
		{ STR_INIT("nan"), false, 0 },
		{ STR_INIT("inf"), false, 0 },
		{ STR_INIT("0x1p3"), false, 0 },
		{ STR_INIT("1.2.3"), false, 0 },
		{ STR_INIT("e5"), false, 0 },
		{ STR_INIT("1,5"), false, 0 },
		{ STR_INIT(""), false, 0 },
		{ STR_INIT("."), false, 0 },
		{ STR_INIT("\f1"), false, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double got = 77;
		if (!CHECK(str_to_double(cases[i].text, &got) == cases[i].ok) ||
		        !CHECK_NEAR(got, cases[i].ok ? cases[i].want : 77, 0))
			printf("#   '%.*s'\n", STR_ARG(cases[i].text));
	}
}

static void a_buffer_always_ends_in_nul(void)
{
	AUTO(auto_buf) struct buf b = { 0 };
	CHECK_STR(buf_str(&b).s, "");
	buf_reserve(&b, 10);
	CHECK_STR(b.s, "");
	buf_add(&b, STR("a\0b"));
	CHECK_INT(b.len, 3);
	CHECK(b.s[3] == '\0');
	buf_reserve(&b, 100000);
	CHECK(b.len == 3 && memcmp(b.s, "a\0b", 4) == 0);
	buf_clear(&b);
	CHECK_STR(b.s, "");
	buf_add_char(&b, 'x');
	buf_add_blanks(&b, 3);
	buf_add_blanks(&b, -3);
	buf_printf(&b, "%05d%s", 42, "");
	buf_printf(&b, "%s", "");
	CHECK_STR(b.s, "x   00042");
}

static void a_buffer_grows_to_what_is_printed(void)
{
	AUTO(auto_buf) struct buf b = { 0 };
	for (int i = 0; i < 300; i++)
		buf_printf(&b, "%0*d", i, 1);
	/* A width of 0 still prints the digit. */
	CHECK_INT(b.len, 299 * 300 / 2 + 1);
}

static const char *write_file(size_t n)
{
	static char path[] = "/tmp/venturi-test-str-XXXXXX";
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	int fd = mkstemp(path);
	for (size_t i = 0; i < n; i++)
		if (write(fd, i % 2 ? "\n" : "\0", 1) != 1)
			abort();
	close(fd);
	return path;
}

static void a_file_is_read_up_to_its_limit(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	struct err err = { 0 };
	struct str text = { 0 };
	const char *path = write_file(1000);
	CHECK(str_read_file(path, 1000, &arena, &text, &err));
	CHECK_INT(text.len, 1000);
	CHECK(text.s[0] == '\0' && text.s[999] == '\n' && text.s[1000] == '\0');
	CHECK(!str_read_file(path, 999, &arena, &text, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK(strstr(err.text, "more than 999 bytes") != NULL && strstr(err.text, path) != NULL);
	unlink(path);
	CHECK(!str_read_file(path, 10, &arena, &text, &err));
	CHECK(strstr(err.text, "No such file or directory") != NULL);
	CHECK(!str_read_file("/tmp", 10, &arena, &text, &err));
	CHECK_STR(err.text, "'/tmp': cannot read: Is a directory");
}

static void an_error_keeps_its_kind_and_gains_context(void)
{
	struct err err = { 0 };
	CHECK(!err_set(&err, ERR_SYSTEM, "no %s", "room"));
	CHECK(!err_hint(&err, "make %s", "some"));
	CHECK(!err_wrap(&err, "'%s'", "a.json"));
	CHECK_STR(err.text, "'a.json': no room");
	CHECK_STR(err.hint, "make some");
	CHECK_INT(err.kind, ERR_SYSTEM);
	/* The old text may go into the new one. */
	CHECK(!err_set(&err, ERR_INPUT, "again: %s", err.text));
	CHECK_STR(err.text, "again: 'a.json': no room");
	CHECK_STR(err.hint, "");
}

int main(void)
{
	TAP_RUN(views_are_compared_by_their_bytes);
	TAP_RUN(views_are_ordered_by_bytes_and_then_by_length);
	TAP_RUN(trimming_takes_blanks_from_both_ends);
	TAP_RUN(cutting_gives_the_parts_around_the_first_separator);
	TAP_RUN(finding_gives_the_first_place);
	TAP_RUN(whole_numbers_take_every_byte_or_none);
	TAP_RUN(decimals_are_finite_and_decimal);
	TAP_RUN(a_buffer_always_ends_in_nul);
	TAP_RUN(a_buffer_grows_to_what_is_printed);
	TAP_RUN(a_file_is_read_up_to_its_limit);
	TAP_RUN(an_error_keeps_its_kind_and_gains_context);
	return tap_done();
}
