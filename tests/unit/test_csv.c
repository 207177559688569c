#include "text/csv.h"

#include "tap.h"

/* A text and its rows: fields in [], rows in lines. */
struct csv_case {
	const char *input;
	const char *want;
	int64_t n_broken;
	bool cut;
};

/* The text in memory of exactly its size, so that a sanitizer sees every step beyond it. */
static struct str exact(struct str text)
{
	char *copy = mem_realloc(NULL, text.len ? text.len : 1);
	memcpy(copy, text.s, text.len);
	return (struct str){ copy, text.len };
}

static void add_row(struct buf *out, const struct csv_row *row)
{
	for (size_t i = 0; i < row->n; i++)
		buf_printf(out, "[%.*s]", STR_ARG(row->fields[i]));
	buf_add_char(out, '\n');
}

static void check_case(const struct csv_case *want)
{
	AUTO(auto_buf) struct buf got = { 0 };
	struct str text = exact(str_of(want->input));
	struct csv c = csv_of(text, ',');
	struct csv_row row = { 0 };
	while (csv_next(&c, &row))
		add_row(&got, &row);
	CHECK_STR(buf_str(&got).s, want->want);
	CHECK_INT(c.n_broken, want->n_broken);
	CHECK_INT(c.cut, want->cut);
	csv_row_release(&row);
	csv_release(&c);
	free((char *)text.s);
}

static void check_cases(const struct csv_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_case(&cases[i]);
}

/* The examples of RFC 4180, section 2. */
static void what_the_standard_allows_is_read(void)
{
	static const struct csv_case cases[] = {
		{ "", "" },
		{ "aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n", "[aaa][bbb][ccc]\n[zzz][yyy][xxx]\n" },
		{ "aaa,bbb,ccc\r\nzzz,yyy,xxx", "[aaa][bbb][ccc]\n[zzz][yyy][xxx]\n" },
		{ "\"aaa\",\"bbb\",\"ccc\"\r\nzzz,yyy,xxx", "[aaa][bbb][ccc]\n[zzz][yyy][xxx]\n" },
		{ "\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx",
		        "[aaa][b\r\nbb][ccc]\n[zzz][yyy][xxx]\n" },
		{ "\"aaa\",\"b\"\"bb\",\"ccc\"", "[aaa][b\"bb][ccc]\n" },
		{ "\"\"\"\"\n", "[\"]\n" },
		{ "\"\"\"a\"\"\",\"\"\n", "[\"a\"][]\n" },
		{ " a , b\n", "[ a ][ b]\n" },
		{ ",\n", "[][]\n" },
		{ "a,", "[a][]\n" },
		{ "\"\"", "[]\n" },
	};
	check_cases(cases, sizeof cases / sizeof *cases);
}

static void line_ends_of_any_kind_are_read(void)
{
	static const struct csv_case cases[] = {
		{ "\n\r\n\na,b\n\n\nc\r\n\r\n", "[a][b]\n[c]\n" },
		{ "a\r", "[a]\n" },
		{ "\"a\"\r", "[a]\n" },
		{ "a\rb,c\n", "[a\rb][c]\n" },
		{ "\r\r\n", "[\r]\n" },
	};
	check_cases(cases, sizeof cases / sizeof *cases);
}

static void quotes_that_are_broken_stand_for_themselves(void)
{
	static const struct csv_case cases[] = {
		/* inside, not doubled */
		{ "\"say \"hi\" to\",b\n", "[say \"hi\" to][b]\n", 2 },
		{ "a\"b,c\n", "[a\"b][c]\n" },
		/* opened, never closed: the line is read without it */
		{ "\"a,b\nc,d\n", "[\"a][b]\n[c][d]\n", 1 },
		{ "\"a\n\"b\n\"c\n", "[\"a]\n[\"b]\n[\"c]\n", 3 },
		{ "x,\"a b\" c\nd\n", "[x][\"a b\" c]\n[d]\n", 1 },
		/* the file ends inside */
		{ "a,b\n1,\"f<int, flo", "[a][b]\n[1][f<int, flo]\n", 1, true },
		{ "\"", "[]\n", 1, true },
		{ "\"\"\"", "[\"]\n", 1, true },
	};
	check_cases(cases, sizeof cases / sizeof *cases);
}

static void columns_are_found_by_their_names(void)
{
	struct csv c = csv_of(STR("id;\" Name\";x;Name\n1;\"a;\"\"b\"\n2\n"), ';');
	struct csv_row header = { 0 }, row = { 0 };
	CHECK(csv_next(&c, &header));
	CHECK_INT(csv_column(&header, STR("id")), 0);
	CHECK_INT(csv_column(&header, STR("Name")), 1);
	CHECK_INT(csv_column(&header, STR("x")), 2);
	CHECK_INT(csv_column(&header, STR("name")), -1);
	CHECK(csv_next(&c, &row));
	struct str kept = csv_field(&row, 1);
	CHECK(str_eq(csv_field(&row, 0), STR("1")));
	CHECK(str_eq(csv_field(&row, 2), STR("")));
	CHECK(str_eq(csv_field(&row, -1), STR("")));
	CHECK(str_eq(row.raw, STR("1;\"a;\"\"b\"")));
	CHECK(csv_next(&c, &row));
	CHECK_INT(row.n, 1);
	CHECK(!csv_next(&c, &row));
	/* undoubled fields outlive their row */
	CHECK(str_eq(kept, STR("a;\"b")));
	csv_row_release(&header);
	csv_row_release(&row);
	csv_release(&c);
}

static void fields_beyond_the_limit_are_counted(void)
{
	AUTO(auto_buf) struct buf text = { 0 };
	for (int i = 0; i < CSV_MAX_COLUMNS + 6; i++)
		buf_add_c(&text, "x,");
	buf_add_c(&text, "\nlast");
	struct csv c = csv_of(buf_str(&text), ',');
	struct csv_row row = { 0 };
	CHECK(csv_next(&c, &row));
	CHECK_INT(row.n, CSV_MAX_COLUMNS);
	CHECK_INT(c.n_dropped, 7);
	CHECK(csv_next(&c, &row));
	CHECK(str_eq(csv_field(&row, 0), STR("last")));
	csv_row_release(&row);
	csv_release(&c);
}

/* Were each opening quote searched for to its limit, this would be 10^12 steps. */
static void a_file_of_broken_quotes_is_read_in_linear_time(void)
{
	AUTO(auto_buf) struct buf text = { 0 };
	enum { N = 1000000 };
	for (int i = 0; i < N; i++)
		buf_add_c(&text, "\"a\n");
	struct csv c = csv_of(buf_str(&text), ',');
	struct csv_row row = { 0 };
	int64_t n = 0;
	while (csv_next(&c, &row))
		n++;
	CHECK_INT(n, N);
	CHECK_INT(c.n_broken, N);
	csv_row_release(&row);
	csv_release(&c);
}

static void a_closing_quote_too_far_away_is_none(void)
{
	AUTO(auto_buf) struct buf text = { 0 };
	buf_add_c(&text, "\"open,b\n");
	while (text.len < CSV_MAX_QUOTED + 100)
		buf_add_c(&text, "some,text\n");
	buf_add_c(&text, "\"last\",\"x\"\n");
	struct csv c = csv_of(buf_str(&text), ',');
	struct csv_row row = { 0 };
	CHECK(csv_next(&c, &row));
	CHECK_INT(row.n, 2);
	CHECK(str_eq(csv_field(&row, 0), STR("\"open")));
	struct str last = STR("");
	while (csv_next(&c, &row)) {
		CHECK_INT(row.n, 2);
		last = csv_field(&row, 0);
	}
	CHECK(str_eq(last, STR("last")));
	CHECK_INT(c.n_broken, 1);
	csv_row_release(&row);
	csv_release(&c);
}

int main(void)
{
	TAP_RUN(what_the_standard_allows_is_read);
	TAP_RUN(line_ends_of_any_kind_are_read);
	TAP_RUN(quotes_that_are_broken_stand_for_themselves);
	TAP_RUN(columns_are_found_by_their_names);
	TAP_RUN(fields_beyond_the_limit_are_counted);
	TAP_RUN(a_file_of_broken_quotes_is_read_in_linear_time);
	TAP_RUN(a_closing_quote_too_far_away_is_none);
	return tap_done();
}
