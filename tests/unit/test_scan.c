#include "trace/scan/parallel.h"

#include "base/rng.h"
#include "timeline_same.h"

#include "tap.h"

#include <sys/mman.h>
#include <unistd.h>

/* A dialect that keeps every event, with its duration as its time and its arguments as the
 * label of its track, and every member as a name. */

static bool wants_args(struct str ph, struct str cat, struct str name)
{
	(void)ph;
	(void)cat;
	(void)name;
	return true;
}

static void keep_event(struct chrome_part *part, const struct raw_event *e)
{
	struct event event = { .name = timeline_name(&part->t, e->name) };
	struct track track;
	memset(&track, 0, sizeof track);
	track.label = timeline_name(&part->t, e->args.s ? e->args : STR("no arguments"));
	event.track = timeline_track(&part->t, &track);
	if (chrome_us_to_ns(e->dur, &event.start_ns) != N_LOSSES)
		event.start_ns = -1;
	timeline_add(&part->t, GROUP_OTHER, &event);
}

static void keep_member(struct chrome_part *part, struct str key, struct str value)
{
	struct event event = { .name = timeline_name(&part->t, key) };
	event.start_ns = (int64_t)value.len;
	timeline_add(&part->t, GROUP_INSTANT, &event);
}

static const struct chrome_dialect all_events = {
	.name = "test",
	.parallel = true,
	.wants_args = wants_args,
	.event = keep_event,
	.member = keep_member,
};

static struct timeline read_way(struct str text, const struct scan_way *way)
{
	char path[64];
	struct err err;
	struct timeline t;
	struct source source;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	CHECK(write(fd, text.s, text.len) == (ssize_t)text.len);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	timeline_init(&t, "trace", "test");
	CHECK(source_open(&source, path, &err) && scan_read(&source, &all_events, way, &t, &err));
	source_close(&source);
	close(fd);
	return t;
}

static struct timeline read_text(struct str text)
{
	struct scan_way way = { scan_ops_best(), 1, SCAN_EVENT_MAX };
	return read_way(text, &way);
}

static void microseconds_become_whole_nanoseconds(void)
{
	static const struct {
		const char *text;
		enum loss loss;
		int64_t ns;
	} rows[] = {
		{ "0", N_LOSSES, 0 },
		{ "1", N_LOSSES, 1000 },
		{ "1.5", N_LOSSES, 1500 },
		{ "-1.5", N_LOSSES, -1500 },
		{ "1419117003011.565", N_LOSSES, 1419117003011565 },
		{ "1610366662254362", N_LOSSES, 1610366662254362000 },
		{ "2915995397672.5464", N_LOSSES, 2915995397672546 },
		{ "0.0005", N_LOSSES, 1 },
		{ "0.00049999999999999999999999", N_LOSSES, 0 },
		{ "-0.0005", N_LOSSES, -1 },
		{ "1e3", N_LOSSES, 1000000 },
		{ "1.25E-2", N_LOSSES, 13 },
		{ "12.", N_LOSSES, 12000 },
		{ ".5", N_LOSSES, 500 },
		{ " 7 ", N_LOSSES, 7000 },
		{ "0000000000000000000000001", N_LOSSES, 1000 },
		{ "1.00000000000000000000000000001", N_LOSSES, 1000 },
		{ "2305843009213693.952", N_LOSSES, 2305843009213693952 },
		{ "2305843009213693.953", LOST_TOO_LONG, 0 },
		{ "-2305843009213693.953", LOST_TOO_LONG, 0 },
		{ "10159970886766084423", LOST_TOO_LONG, 0 },
		{ "1e400", LOST_TOO_LONG, 0 },
		{ "1e-400", N_LOSSES, 0 },
		{ "NaN", LOST_NOT_FINITE, 0 },
		{ "-Infinity", LOST_NOT_FINITE, 0 },
		{ "inf", LOST_NOT_FINITE, 0 },
		{ "N/A", LOST_NO_TIME, 0 },
		{ "", LOST_NO_TIME, 0 },
		{ "-", LOST_NO_TIME, 0 },
		{ ".", LOST_NO_TIME, 0 },
		{ "1e", LOST_NO_TIME, 0 },
		{ "1.2.3", LOST_NO_TIME, 0 },
		{ "12us", LOST_NO_TIME, 0 },
		{ "0x10", LOST_NO_TIME, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t ns = 0;
		printf("# %s\n", rows[i].text);
		CHECK_INT(chrome_us_to_ns(str_of(rows[i].text), &ns), rows[i].loss);
		CHECK_INT(ns, rows[i].ns);
	}
	int64_t ns;
	CHECK_INT(chrome_us_to_ns((struct str){ 0 }, &ns), LOST_NO_TIME);
}

static void whole_numbers_are_exact_or_refused(void)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "-7", true, -7 },
		{ "5.0", true, 5 },
		{ "1.2e1", true, 12 },
		{ "999999999999999999", true, 999999999999999999 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "9223372036854775808", false, 0 },
		{ "10159970886766084423", false, 0 },
		{ "99999999999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "0x0", false, 0 },
		{ "N/A", false, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t value = 0;
		printf("# %s\n", rows[i].text);
		CHECK_INT(chrome_whole(str_of(rows[i].text), &value), rows[i].ok);
		CHECK_INT(value, rows[i].value);
	}
}

static void escapes_are_resolved_and_unknown_ones_left(void)
{
	static const struct {
		const char *raw, *text;
		int bad;
	} rows[] = {
		{ "plain", "plain", 0 },
		{ "", "", 0 },
		{ "a\\\"b\\\\c\\/d\\n", "a\"b\\c/d\n", 0 },
		{ "\\u4e2d\\ud83d\\ude00", "\xe4\xb8\xad\xf0\x9f\x98\x80", 0 },
		{ "C:\\Program Files\\x", "C:\\Program Files\\x", 2 },
		{ "\\ud83d alone", "\\ud83d alone", 1 },
		{ "\\u12", "\\u12", 1 },
		{ "end\\", "end\\", 1 },
		{ "\xff\xfe", "\xff\xfe", 0 },
	};
	AUTO(auto_buf) struct buf tmp = { 0 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct timeline t;
		timeline_init(&t, NULL, NULL);
		struct str text = chrome_unescape(str_of(rows[i].raw), &tmp, &t);
		CHECK(str_eq(text, str_of(rows[i].text)));
		CHECK_INT(t.lost[LOST_BAD_ESCAPE], rows[i].bad);
	}
}

static void members_and_elements_are_walked(void)
{
	struct chrome_members m = chrome_members_of(STR(
	        " { \"a\" : 1 ,, \"b\":\"x\\\"y\",\"c\":[1,{\"d\":\"]}\"}] \"e\":NaN,\"f\":} "));
	static const struct {
		const char *key, *value;
	} want[] = { { "a", "1" }, { "b", "x\\\"y" }, { "c", "[1,{\"d\":\"]}\"}]" }, { "e", "NaN" },
		{ "f", "" } };
	struct str key, value;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		CHECK(chrome_members_next(&m, &key, &value));
		CHECK(str_eq(key, str_of(want[i].key)) && str_eq(value, str_of(want[i].value)));
	}
	CHECK(!chrome_members_next(&m, &key, &value));
	m = chrome_members_of(STR("[1]"));
	CHECK(!chrome_members_next(&m, &key, &value));

	struct chrome_elements e = chrome_elements_of(STR("[{\"a\":[1]}, \"\", \"s\", 4 ]"));
	static const char *const elements[] = { "{\"a\":[1]}", "", "s", "4" };
	for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
		CHECK(chrome_elements_next(&e, &value) && str_eq(value, str_of(elements[i])));
	CHECK(!chrome_elements_next(&e, &value));
	e = chrome_elements_of(STR("[]"));
	CHECK(!chrome_elements_next(&e, &value));
}

/* A text of what the loops look for, in memory of exactly its size. */
static struct str chance_text(struct rng *rng, size_t n)
{
	static const char bytes[] = "\"\"\"\\{}[],: abcd\n\x80\xff";
	char *text = mem_realloc(NULL, n + 1);
	text[0] = '{';
	for (size_t i = 1; i < n; i++)
		text[i] = rng_below(rng, 3) ? 'x' : bytes[rng_below(rng, sizeof bytes - 1)];
	return (struct str){ mem_realloc(text, n), n };
}

/* Skips the text in two pieces. */
static ptrdiff_t skip_in_two(
        const struct scan_ops *ops, struct str text, size_t cut, struct scan_skip *s)
{
	const char *end = text.s + text.len;
	*s = (struct scan_skip){ 0 };
	const char *after = ops->skip(s, text.s, text.s + cut);
	if (!after && !s->broken)
		after = ops->skip(s, text.s + cut, end);
	return after ? after - text.s : -1;
}

static void every_way_to_scan_bytes_gives_the_same(void)
{
	const struct scan_ops *const *ops = scan_ops_all();
	struct rng rng;
	rng_init(&rng, 5);
	for (int round = 0; round < 20000; round++) {
		size_t n = 1 + rng_below(&rng, 300);
		struct str text = chance_text(&rng, n);
		size_t cut = rng_below(&rng, n + 1);
		struct scan_skip want, got;
		ptrdiff_t at = skip_in_two(ops[0], text, cut, &want);
		const char *quote = ops[0]->quote(text.s + cut, text.s + n);
		bool same = true;
		for (int i = 1; ops[i]; i++) {
			same &= skip_in_two(ops[i], text, cut, &got) == at;
			same &= got.broken == want.broken;
			if (at < 0 && !want.broken)
				same &= got.depth == want.depth &&
				        got.in_string == want.in_string &&
				        got.escaped == want.escaped && got.closed == want.closed;
			same &= ops[i]->quote(text.s + cut, text.s + n) == quote;
		}
		if (!CHECK(same))
			printf("#   in %.*s, cut at %zu\n", STR_ARG(text), cut);
		free((char *)text.s);
		if (!same)
			break;
	}
}

struct document {
	const char *text;
	const char *names; /* of the events found, with a blank behind each */
	const char *members;
	int broken;
	bool truncated;
};

#define E(name) "{\"ph\":\"X\",\"name\":\"" name "\",\"ts\":1,\"dur\":1}"

static const struct document documents[] = {
	{ "{\"a\":1,\"traceEvents\":[" E("1") "," E("2") "],\"b\":\"x\"}", "1 2 ", "a b ", 0,
	        false },
	{ "\xEF\xBB\xBF {\"traceEvents\":[" E("1") "]}", "1 ", "", 0, false },
	{ "[" E("1") "," E("2") "]", "1 2 ", "", 0, false },
	{ "[" E("1") "," E("2") ",", "1 2 ", "", 0, true },
	{ "[" E("1") "\n" E("2") ",,\n]\n", "1 2 ", "", 0, false },
	{ "[" E("1") ",{}]", "1 ", "", 0, false },
	{ "[]", "", "", 0, false },
	{ "{\"traceEvents\":[]}", "", "", 0, false },
	{ E("1") "\n" E("2"), "1 2 ", "", 0, true },
	{ "\"dur\":5}," E("1") "," E("2") "]}", "1 2 ", "", 1, false },
	{ "[" E("1") "," E("2") "]garbage", "1 2 ", "", 1, true },
	{ "[" E("1") "]\0\0\0\0", "1 ", "", 0, false },
	{ "[" E("1") ",{\"ph\":\"X\",\"name\":\"tw", "1 ", "", 1, true },
	{ "{\"traceEvents\":[" E("1") "}", "1 ", "", 0, false },
	{ "{\"s\":{\"a\":[1,\"]\"]},\"traceEvents\":[" E("1") "],\"t\":[[]]}", "1 ", "s t ", 0,
	        false },
	/* An unescaped quote, a lost one, a lost brace, a lost comma, a bare word. */
	{ "[" E("1") "," E("a\"b") "," E("2") "]", "1 2 ", "", 1, false },
	{ "[" E("1") ",{\"ph\":\"X\",\"name\":\"b,\"ts\":1}," E("2") "]", "1 2 ", "", 1, false },
	{ "[" E("1") ",{\"ph\":\"X\",\"name\":\"b\",\"ts\":1," E("2") "]", "1 2 ", "", 1, false },
	{ "[" E("1") ",{\"ph\":\"X\" \"name\":\"2\"}," E("3") "]", "1 2 3 ", "", 0, false },
	{ "[" E("1") ",oops," E("2") "]", "1 2 ", "", 1, false },
	{ "[" E("1") ",{\"name\":\"2\",\"dur\":N/A,\"args\":{\"a\":NaN}}," E("3") "]", "1 2 3 ", "",
	        0, false },
	/* What is inside of the arguments is no event. */
	{ "[" E("1") ",{\"ph\":\"M\",\"name\":\"2\",\"args\":{\"name\":\"no\"}}]", "1 2 ", "", 0,
	        false },
	{ "[" E("1") ",{\"ph\":\"M\",\"name\":\"2\",\"args\":{\"a\":[{\"ph\":\"X\"}]}}]", "1 2 ",
	        "", 0, false },
	/* Two documents, as when a process appends. */
	{ "{\"traceEvents\":[" E("1") "]}\n{\"traceEvents\":[" E("2") "]}", "1 2 ", "", 0, false },
	/* A quote that is not escaped, inside of arguments that are skipped. */
	{ "[{\"ph\":\"X\",\"name\":\"1\",\"args\":{\"a\":\"b\"c\"}}," E("2") "]", "2 ", "", 1,
	        false },
};

static bool names_are(const struct timeline *t, enum event_group g, const char *want)
{
	AUTO(auto_buf) struct buf got = { 0 };
	buf_add_c(&got, "");
	for (size_t i = 0; i < t->lists[g].n; i++) {
		buf_add(&got, timeline_name_of(t, t->lists[g].v[i].name));
		buf_add_char(&got, ' ');
	}
	bool same = str_eq(buf_str(&got), str_of(want));
	if (!same)
		printf("#   got '%s', want '%s'\n", got.s ? got.s : "", want);
	return same;
}

static void events_are_found_in_whole_and_in_damaged_documents(void)
{
	for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
		const struct document *d = &documents[i];
		struct timeline t = read_text(str_of(d->text));
		printf("# %s\n", d->text);
		CHECK(names_are(&t, GROUP_OTHER, d->names));
		CHECK(names_are(&t, GROUP_INSTANT, d->members));
		CHECK_INT(t.lost[LOST_BROKEN], d->broken);
		CHECK_INT(t.truncated, d->truncated);
		timeline_release(&t);
	}
}

static void things_that_never_end_are_given_up(void)
{
	AUTO(auto_buf) struct buf text = { 0 };
	buf_add_c(&text, "{\"long\":[");
	for (int i = 0; i < SCAN_MEMBER_MAX / 4 + 100; i++)
		buf_add_c(&text, "123,");
	buf_add_c(&text, "4],\"traceEvents\":[" E("1") ",{\"ph\":\"X\",\"args\":[");
	for (int i = 0; i < SCAN_EVENT_MAX / 4 + 100; i++)
		buf_add_c(&text, "123,");
	buf_add_c(&text, E("2") "," E("3") "]}");
	struct timeline t = read_text(buf_str(&text));
	CHECK(names_are(&t, GROUP_OTHER, "1 2 3 "));
	CHECK(names_are(&t, GROUP_INSTANT, ""));
	CHECK_INT(t.lost[LOST_BROKEN], 1);
	timeline_release(&t);
}

/* What opens and never closes, again and again: each is read far ahead for nothing. */
static void cost_stays_in_proportion(void)
{
	AUTO(auto_buf) struct buf text = { 0 };
	buf_add_c(&text, "[");
	for (int i = 0; i < 400000; i++)
		buf_add_c(&text, "{\"ph\":[");
	struct timeline t = read_text(buf_str(&text));
	CHECK(t.truncated);
	CHECK(t.lost[LOST_BROKEN] > 0);
	timeline_release(&t);
}

/* A document of n events of different lengths, in one of three layouts. */
static void make_document(struct rng *rng, int n, struct buf *text)
{
	static const char *const between[] = { ", ", ",\n    ", "," };
	const char *comma = between[rng_below(rng, 3)];
	buf_add_c(text,
	        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [");
	for (int i = 0; i < n; i++) {
		buf_printf(text, "%s{\"ph\": \"X\"%s\"name\": \"n%d\\\\%s\"%s\"dur\": %d.%03d",
		        i ? comma : "", comma, i % 17, rng_below(rng, 8) ? "" : "\\\"q", comma, i,
		        i % 1000);
		if (rng_below(rng, 2))
			buf_printf(text, "%s\"args\": {\"name\": \"{%d\", \"dims\": [[1, %d], []]}",
			        comma, i, i);
		buf_add_c(text, "}");
	}
	buf_add_c(text, "], \"traceName\": \"x\"}\n");
}

/* Takes away, doubles or overwrites something, once or several times. */
static void damage(struct rng *rng, struct buf *text)
{
	static const char bytes[] = "\"{}[],:\\ \n0";
	for (uint64_t times = rng_below(rng, 4); times > 0 && text->len > 20; times--) {
		size_t at = rng_below(rng, text->len - 10), n = 1 + rng_below(rng, 10);
		switch (rng_below(rng, 4)) {
		case 0:
			memmove(text->s + at, text->s + at + n, text->len - at - n);
			text->len -= n;
			break;
		case 1:
			text->len = at + 1;
			break;
		default:
			text->s[at] = bytes[rng_below(rng, sizeof bytes - 1)];
		}
	}
}

static void threads_and_blocks_change_nothing(void)
{
	const struct scan_ops *portable = scan_ops_all()[0];
	struct rng rng;
	rng_init(&rng, 11);
	for (int round = 0; round < 300; round++) {
		AUTO(auto_buf) struct buf text = { 0 };
		make_document(&rng, 1 + (int)rng_below(&rng, 60), &text);
		if (round % 4)
			damage(&rng, &text);
		struct timeline want = read_text(buf_str(&text));
		struct scan_way ways[] = {
			{ portable, 1, 1 + rng_below(&rng, 200) },
			{ scan_ops_best(), 2, 1 + rng_below(&rng, 600) },
			{ portable, 3, 1 + rng_below(&rng, 2000) },
		};
		for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
			struct timeline got = read_way(buf_str(&text), &ways[i]);
			const char *difference = timeline_difference(&want, &got);
			if (!CHECK(!difference))
				printf("#   %s differ in round %d, way %zu\n", difference, round,
				        i);
			timeline_release(&got);
		}
		timeline_release(&want);
	}
}

int main(void)
{
	TAP_RUN(microseconds_become_whole_nanoseconds);
	TAP_RUN(whole_numbers_are_exact_or_refused);
	TAP_RUN(escapes_are_resolved_and_unknown_ones_left);
	TAP_RUN(members_and_elements_are_walked);
	TAP_RUN(every_way_to_scan_bytes_gives_the_same);
	TAP_RUN(events_are_found_in_whole_and_in_damaged_documents);
	TAP_RUN(things_that_never_end_are_given_up);
	TAP_RUN(cost_stays_in_proportion);
	TAP_RUN(threads_and_blocks_change_nothing);
	return tap_done();
}
