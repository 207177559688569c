#include "text/table.h"

#include "base/utf8.h"
#include "tap.h"

static void columns_line_up_without_trailing_blanks(void)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct table t;
	table_init(&t, &tmp, "lrl");
	t.indent = 2;
	const char *const cells[] = { "metric", "P50", "note", "latency", "12.3", "", "ttft",
		"100.25", "late", "", "", "" };
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		table_cell(&t, "%s", cells[i]);
	table_print(&t, &out);
	CHECK_STR(out.s, "  metric      P50  note\n"
	                 "  latency    12.3\n"
	                 "  ttft     100.25  late\n"
	                 "\n");
}

static void chinese_and_english_line_up(void)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct table t;
	table_init(&t, &tmp, "lr");
	table_cell(&t, "指标");
	table_cell(&t, "毫秒");
	table_cell(&t, "latency…");
	table_cell(&t, "%d", 7);
	table_cell(&t, "é");
	table_cell(&t, "%.2f", 12345.678);
	table_print(&t, &out);
	CHECK_STR(out.s, "指标          毫秒\n"
	                 "latency…         7\n"
	                 "é         12345.68\n");
	for (struct str rest = buf_str(&out); rest.len;)
		CHECK_INT(utf8_width(str_cut(rest, '\n', &rest)), 18);
}

static void a_last_row_may_be_short(void)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct table t;
	table_init(&t, &tmp, "lll");
	table_cell(&t, "a");
	table_cell(&t, "b");
	table_cell(&t, "c");
	table_cell(&t, "d");
	table_print(&t, &out);
	table_markdown(&t, &out);
	CHECK_STR(out.s, "a  b  c\nd\n"
	                 "| a | b | c |\n| --- | --- | --- |\n| d | | |\n");
}

static void markdown_says_the_same_and_escapes_its_own_marks(void)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct table t;
	table_init(&t, &tmp, "lr");
	table_cell(&t, "name");
	table_cell(&t, "ms");
	table_cell(&t, "a|b\\|c");
	table_cell(&t, "1");
	table_markdown(&t, &out);
	CHECK_STR(out.s, "| name | ms |\n"
	                 "| --- | ---: |\n"
	                 "| a\\|b\\\\\\|c | 1 |\n");
}

static void a_cell_is_one_harmless_line(void)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct table t;
	table_init(&t, &tmp, "l");
	table_cell(&t, "head");
	table_cell(&t, "%s", "two\nlines\x1b[31m\xff");
	table_print(&t, &out);
	CHECK_STR(out.s, "head\ntwo lines?[31m?\n");
}

static void many_rows_keep_their_cells(void)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct table t;
	int n = 0;
	table_init(&t, &tmp, "rr");
	for (int i = 0; i < 1000; i++) {
		table_cell(&t, "%d", i);
		table_cell(&t, "%d", 1000 * i);
	}
	table_print(&t, &out);
	for (struct str rest = buf_str(&out); rest.len; n++) {
		char want[32];
		snprintf(want, sizeof(want), "%3d  %6d", n, 1000 * n);
		CHECK(str_eq(str_cut(rest, '\n', &rest), str_of(want)));
	}
	CHECK_INT(n, 1000);
}

static void an_empty_table_prints_nothing(void)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	struct table t;
	table_init(&t, &tmp, "lr");
	table_print(&t, &out);
	table_markdown(&t, &out);
	CHECK_INT(out.len, 0);
}

int main(void)
{
	TAP_RUN(columns_line_up_without_trailing_blanks);
	TAP_RUN(chinese_and_english_line_up);
	TAP_RUN(a_last_row_may_be_short);
	TAP_RUN(markdown_says_the_same_and_escapes_its_own_marks);
	TAP_RUN(a_cell_is_one_harmless_line);
	TAP_RUN(many_rows_keep_their_cells);
	TAP_RUN(an_empty_table_prints_nothing);
	return tap_done();
}
