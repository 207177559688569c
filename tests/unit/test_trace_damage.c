/*
 * Damaged traces of the Chrome family: what must be read of each, and what must be counted as lost.
 * What is expected follows from the rules of docs/traces.md, one line a case.
 */
#include "trace/reader.h"

#include "trace_text.h"

/* Pieces of a Kineto file. A time is in us; in what is expected it is in ns. */
#define HEAD "{\"schemaVersion\":1,\"traceEvents\":["
#define TAIL "],\"traceName\":\"t.json\"}"
#define EVENT(cat, name, ts, dur)                                                                  \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":7,\"tid\":8,\"ts\":" ts   \
	",\"dur\":" dur "}"
#define OP(name, ts, dur) EVENT("cpu_op", name, ts, dur)
#define KERNEL(name, ts, dur) EVENT("kernel", name, ts, dur)
#define A OP("a", "1", "2")
#define B OP("b", "5", "1.5")
#define C OP("c", "9", "1")

struct damage {
	const char *what;
	const char *text;
	const char *events; /* name@start+dur, operators, then device work, then the others */
	const char *lost;   /* "reason=n ..." */
	bool truncated;
};

static const char *const loss_names[N_LOSSES] = {
	[LOST_BROKEN] = "broken",
	[LOST_NO_TIME] = "no_time",
	[LOST_ZERO_TIME] = "zero_time",
	[LOST_NEGATIVE] = "negative",
	[LOST_TOO_LONG] = "too_long",
	[LOST_NOT_FINITE] = "not_finite",
	[LOST_DUPLICATE] = "duplicate",
	[LOST_UNMATCHED] = "unmatched",
	[LOST_BAD_NUMBER] = "bad_number",
	[LOST_BAD_ESCAPE] = "bad_escape",
};

static void put_events(struct buf *out, const struct timeline *t, enum event_group group)
{
	for (size_t i = 0; i < t->lists[group].n; i++) {
		const struct event *e = &t->lists[group].v[i];
		buf_printf(out, "%s%s@%lld+%lld", out->len ? " " : "", event_name(t, e),
		        (long long)e->start_ns, (long long)e->dur_ns);
	}
}

static void put_all_events(struct buf *out, const struct timeline *t)
{
	buf_add_c(out, "");
	put_events(out, t, GROUP_OPERATOR);
	put_events(out, t, GROUP_DEVICE);
	for (int g = 0; g < N_GROUPS; g++)
		if (g != GROUP_OPERATOR && g != GROUP_DEVICE)
			put_events(out, t, g);
}

static void put_losses(struct buf *out, const struct timeline *t)
{
	for (int i = 0; i < N_LOSSES; i++)
		if (t->lost[i])
			buf_printf(out, "%s%s=%lld", out->len ? " " : "", loss_names[i],
			        (long long)t->lost[i]);
}

static void check_damage(const struct damage *d)
{
	AUTO(auto_buf) struct buf events = { 0 };
	AUTO(auto_buf) struct buf lost = { 0 };
	struct timeline t;
	bool read = CHECK(read_trace_text(str_of(d->text), &t));
	if (read) {
		put_all_events(&events, &t);
		put_losses(&lost, &t);
		read = CHECK_STR(events.len ? events.s : "", d->events);
		read &= CHECK_STR(lost.len ? lost.s : "", d->lost);
		read &= CHECK_INT(t.truncated, d->truncated);
		timeline_release(&t);
	}
	if (!read)
		printf("#   %s: %s\n", d->what, d->text);
}

static void check_all(const struct damage *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_damage(&cases[i]);
}

#define BOTH "a@1000+2000 b@5000+1500"

static void what_writers_do_beside_the_rules_loses_nothing(void)
{
	static const struct damage cases[] = {
		{ "sound", HEAD A "," B TAIL, BOTH, "", false },
		{ "a byte-order mark", "\xEF\xBB\xBF" HEAD A "," B TAIL, BOTH, "", false },
		{ "a comma too many", HEAD A "," B "," TAIL, BOTH, "", false },
		{ "two commas", HEAD A ",," B TAIL, BOTH, "", false },
		{ "a comma too many in an event",
		        HEAD "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":2,}"
		             "," B TAIL,
		        BOTH, "", false },
		{ "a comma too many in arguments",
		        HEAD "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":2,"
		             "\"args\":{\"Input Dims\":[[1,2],],}}," B TAIL,
		        BOTH, "", false },
		{ "an empty element", HEAD A "," B ",{}" TAIL, BOTH, "", false },
		{ "blanks everywhere",
		        "{ \"schemaVersion\" : 1 ,\r\n\t\"traceEvents\" : [ \n" A " ,\r\n" B
		        "\n]\n}\n\n",
		        BOTH, "", false },
		{ "the events first", "{\"traceEvents\":[" A "," B "],\"schemaVersion\":1}", BOTH,
		        "", false },
		{ "members in another order",
		        HEAD "{\"dur\":2,\"ts\":1,\"args\":{\"Ev Idx\":1},\"name\":\"a\",\"tid\":8,"
		             "\"cat\":\"cpu_op\",\"ph\":\"X\"}," B TAIL,
		        BOTH, "", false },
		{ "numbers as strings",
		        HEAD OP("a", "\"1\"", "\"2\"") "," OP("b", "\"5.0\"", "\"1.500\"") TAIL,
		        BOTH, "", false },
		{ "numbers with exponents",
		        HEAD OP("a", "1e0", "0.2E+1") "," OP("b", "50e-1", "15e-1") TAIL, BOTH, "",
		        false },
		{ "a double's digits", HEAD OP("a", "1419117003011.565", "2") TAIL,
		        "a@1419117003011565+2000", "", false },
		{ "time since 1970 in ns, as a string",
		        HEAD OP("a", "\"1719999999123456.789\"", "2") TAIL,
		        "a@1719999999123456789+2000", "", false },
		{ "out of order", HEAD B "," A TAIL, "b@5000+1500 a@1000+2000", "", false },
		{ "a kernel before its launch",
		        HEAD EVENT("cuda_runtime", "launch", "5", "1") "," KERNEL("k", "4", "2")
		                TAIL,
		        "k@4000+2000 launch@5000+1000", "", false },
		{ "overlap on one thread", HEAD OP("a", "1", "5") "," OP("b", "3", "6") TAIL,
		        "a@1000+5000 b@3000+6000", "", false },
		{ "no length", HEAD OP("a", "1", "0") TAIL, "a@1000+0", "", false },
		{ "time below 0", HEAD OP("a", "-3.5", "1") TAIL, "a@-3500+1000", "", false },
		{ "control characters between events", HEAD A ",\x01\x02\x03" B TAIL, BOTH, "",
		        false },
		{ "nothing", HEAD TAIL, "", "", false },
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void names_are_read_however_they_are_written(void)
{
	static const struct damage cases[] = {
		{ "escapes", HEAD OP("a\\\"b\\\\c\\u00e9\\n", "1", "2") TAIL,
		        "a\"b\\c\xC3\xA9\n@1000+2000", "", false },
		{ "raw backslashes", HEAD OP("C:\\path\\model", "1", "2") "," B TAIL,
		        "C:\\path\\model@1000+2000 b@5000+1500", "bad_escape=2", false },
		{ "invalid UTF-8", HEAD OP("a\xFF\xC3", "1", "2") "," B TAIL,
		        "a\xFF\xC3@1000+2000 b@5000+1500", "", false },
		{ "control characters", HEAD OP("a\x01\tb\n", "1", "2") TAIL,
		        "a\x01\tb\n@1000+2000", "", false },
		{ "half of a surrogate pair", HEAD OP("a\\ud800", "1", "2") TAIL,
		        "a\\ud800@1000+2000", "bad_escape=1", false },
		{ "a lost opening quote: a bare word is a value",
		        HEAD
		        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":a\",\"ts\":1,\"dur\":2}," B TAIL,
		        "a\"@1000+2000 b@5000+1500", "", false },
		{ "no name", HEAD "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":2}" TAIL,
		        "@1000+2000", "", false },
		{ "a name that looks like an event",
		        HEAD OP("{\\\"ph\\\":\\\"X\\\"}", "1", "2") TAIL,
		        "{\"ph\":\"X\"}@1000+2000", "", false },
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void broken_syntax_costs_the_event_that_it_is_in(void)
{
	static const struct damage cases[] = {
		{ "quotes in a name", HEAD A "," OP("x \"y\" z", "3", "1") "," B TAIL, BOTH,
		        "broken=1", false },
		{ "a lost closing quote",
		        HEAD A ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x,\"pid\":7,\"ts\":3,"
		               "\"dur\":1}," B TAIL,
		        BOTH, "broken=1", false },
		{ "a lost colon",
		        HEAD A ",{\"ph\":\"X\",\"name\" \"x\",\"ts\":3,\"dur\":1}," B TAIL, BOTH,
		        "broken=1", false },
		{ "a lost comma between events", HEAD A B TAIL, BOTH, "", false },
		{ "a lost closing brace",
		        HEAD A
		        ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":3,\"dur\":1," B
		                TAIL,
		        BOTH, "broken=1", false },
		{ "a closing brace too many", HEAD A "}," B TAIL, BOTH, "broken=1", false },
		{ "a wrong bracket",
		        HEAD A
		        ",{\"ph\":\"X\",\"name\":\"x\",\"ts\":3,\"dur\":1,\"args\":{\"d\":[1,2}}," B
		                TAIL,
		        BOTH, "broken=1", false },
		{ "text between events", HEAD A ", oops, " B TAIL, BOTH, "broken=1", false },
		{ "no array is closed", HEAD A "," B, BOTH, "", true },
		{ "no array is closed, with a comma", HEAD A "," B ",\n", BOTH, "", true },
		{ "the end is in an event", HEAD A "," B ",{\"ph\":\"X\",\"name\":\"kern", BOTH,
		        "broken=1", true },
		{ "no head", "\"name\":\"x\",\"ts\":3,\"dur\":1}," A "," B TAIL, BOTH, "broken=1",
		        false },
		{ "no head, from the next event on", A "," B TAIL, BOTH, "", false },
		{ "two files in one", HEAD A TAIL "\n" HEAD B TAIL, BOTH, "", false },
		{ "an array at the top", "[" A "," B "]", BOTH, "", false },
		{ "an array at the top that stays open", "[" A "," B ",", BOTH, "", true },
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void times_that_cannot_be_true_are_counted_and_in_no_list(void)
{
	static const struct damage cases[] = {
		{ "NaN for a duration", HEAD A "," OP("x", "3", "NaN") "," B TAIL, BOTH,
		        "not_finite=1", false },
		{ "infinity for a time", HEAD A "," OP("x", "-Infinity", "1") "," B TAIL, BOTH,
		        "not_finite=1", false },
		{ "NaN as a string", HEAD A "," OP("x", "\"nan\"", "1") "," B TAIL, BOTH,
		        "not_finite=1", false },
		{ "a bare word", HEAD A "," OP("x", "3", "N/A") "," B TAIL, BOTH, "no_time=1",
		        false },
		{ "null", HEAD A "," OP("x", "null", "1") "," B TAIL, BOTH, "no_time=1", false },
		{ "an empty string", HEAD A "," OP("x", "\"\"", "1") "," B TAIL, BOTH, "no_time=1",
		        false },
		{ "nothing behind the colon", HEAD A "," OP("x", "", "1") "," B TAIL, BOTH,
		        "no_time=1", false },
		{ "an object", HEAD A "," OP("x", "{\"a\":1}", "1") "," B TAIL, BOTH, "no_time=1",
		        false },
		{ "no duration",
		        HEAD A ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":3}," B TAIL,
		        BOTH, "no_time=1", false },
		{ "a negative duration", HEAD A "," OP("x", "3", "-1") "," B TAIL, BOTH,
		        "negative=1", false },
		{ "a duration of eight days", HEAD A "," OP("x", "3", "691200000000") "," B TAIL,
		        BOTH, "too_long=1", false },
		{ "a duration of seven days", HEAD OP("a", "1", "604800000000") TAIL,
		        "a@1000+604800000000000", "", false },
		{ "a time beyond 64 bits",
		        HEAD A "," OP("x", "99999999999999999999999", "1") "," B TAIL, BOTH,
		        "too_long=1", false },
		{ "a kernel at time 0", HEAD A "," KERNEL("x", "0", "0") "," B TAIL, BOTH,
		        "zero_time=1", false },
		{ "an operator at time 0", HEAD OP("a", "0", "1") TAIL, "a@0+1000", "", false },
		{ "a kernel of no length", HEAD KERNEL("k", "5", "0") TAIL, "k@5000+0", "", false },
	};
	check_all(cases, ARRAY_LEN(cases));
}

#define LINKED(cat, name, ts, correlation)                                                         \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts   \
	",\"dur\":2,\"args\":{\"correlation\":" correlation "}}"

static void work_that_is_there_twice_counts_once(void)
{
	static const struct damage cases[] = {
		{ "a piece of the file twice",
		        HEAD LINKED("kernel", "k", "1", "5") "," LINKED("cuda_runtime", "l", "0",
		                "5") "," LINKED("kernel", "m", "4", "6") "," LINKED("kernel", "k",
		                "1", "5") "," LINKED("cuda_runtime", "l", "0", "5") TAIL,
		        "k@1000+2000 m@4000+2000 l@0+2000", "duplicate=2", false },
		{ "one graph, many kernels",
		        HEAD LINKED("kernel", "k", "1", "5") "," LINKED("kernel", "k", "3", "5")
		                TAIL,
		        "k@1000+2000 k@3000+2000", "", false },
		{ "the same time on one stream, launched twice",
		        HEAD LINKED("kernel", "k", "1", "5") "," LINKED("kernel", "k", "1", "6")
		                TAIL,
		        "k@1000+2000 k@1000+2000", "", false },
		{ "work without a launch",
		        HEAD KERNEL("k", "1", "2") "," KERNEL("k", "1", "2") TAIL,
		        "k@1000+2000 k@1000+2000", "", false },
		{ "operators that are alike", HEAD A "," A TAIL, "a@1000+2000 a@1000+2000", "",
		        false },
	};
	check_all(cases, ARRAY_LEN(cases));
}

#define DEVICE_EVENT(args)                                                                         \
	HEAD "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,"       \
	     "\"dur\":2,\"args\":{" args "}}" TAIL

static void other_numbers_that_do_not_fit_leave_the_event(void)
{
	static const struct damage cases[] = {
		{ "a whole number beyond 64 bits that nobody asks for",
		        DEVICE_EVENT("\"Comms Id\":18446744073709551616"), "k@1000+2000", "",
		        false },
		{ "a correlation beyond 64 bits",
		        DEVICE_EVENT("\"correlation\":99999999999999999999"), "k@1000+2000",
		        "bad_number=1", false },
		{ "a correlation that is a string", DEVICE_EVENT("\"correlation\":\"12\""),
		        "k@1000+2000", "", false },
		{ "infinite blocks per SM, as on a device without SMs",
		        DEVICE_EVENT("\"blocks per SM\":inf,\"grid\":[1,1,1]"), "k@1000+2000", "",
		        false },
		{ "a grid with holes", DEVICE_EVENT("\"grid\":[4,,N/A]"), "k@1000+2000",
		        "bad_number=2", false },
		{ "arguments that are no object",
		        HEAD "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":2,"
		             "\"args\":[1,2]}" TAIL,
		        "a@1000+2000", "", false },
	};
	check_all(cases, ARRAY_LEN(cases));
}

/* Where each event of the text ends, that is: behind its last brace. */
static size_t ends_of(const char *text, const char *const *events, size_t n, size_t *ret_ends)
{
	const char *p = text;
	size_t i = 0;
	for (; i < n; i++) {
		p = strstr(p, events[i]);
		if (!p)
			break;
		p += strlen(events[i]);
		ret_ends[i] = (size_t)(p - text);
	}
	return i;
}

/* Cut behind every byte: what is whole is read, what is not is lost, and nothing is made up. */
static void check_cuts(const char *before, const char *const *events, size_t n, const char *behind)
{
	AUTO(auto_buf) struct buf text = { 0 };
	size_t ends[16];
	buf_add_c(&text, before);
	for (size_t i = 0; i < n; i++) {
		buf_add_c(&text, i ? ", " : "");
		buf_add_c(&text, events[i]);
	}
	buf_add_c(&text, behind);
	if (!CHECK_INT(ends_of(text.s, events, n, ends), n))
		return;
	for (size_t cut = strlen(before) + 1; cut < text.len; cut++) {
		struct timeline t;
		size_t whole = 0, kept = 0;
		while (whole < n && ends[whole] <= cut)
			whole++;
		bool read = read_trace_text((struct str){ text.s, cut }, &t);
		if (!read) {
			CHECK_INT(whole, 0);
			continue;
		}
		for (int g = 0; g < N_GROUPS; g++)
			kept += t.lists[g].n;
		bool ok = CHECK_INT(t.n_events, whole) && CHECK_INT(kept, whole) &&
		          CHECK(t.lost[LOST_BROKEN] <= 1) &&
		          CHECK(t.truncated || cut > ends[n - 1]);
		if (!ok)
			printf("#   cut behind byte %zu: %.*s\n", cut, (int)cut, text.s);
		timeline_release(&t);
	}
}

static void a_file_that_is_cut_anywhere_gives_its_whole_events(void)
{
	static const char *const kineto[] = {
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm \\\"x\\\" {[\", "
		"\"pid\": 1, "
		"\"tid\": 2, \"ts\": 12.345, \"dur\": 6.789, \"args\": {\"Input Dims\": [[1, 2], "
		"[], "
		"[{\"x\": 1}]], \"Concrete Inputs\": [\"\", \"]}\"]}}",
		"{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 13, \"pid\": 1, \"tid\": 2, "
		"\"args\": "
		"{\"Bytes\": 512}}",
		"{\"args\": {\"name\": \"python\"}, \"cat\": \"kernel\", \"dur\": 1, \"name\": "
		"\"k\", "
		"\"ph\": \"X\", \"pid\": 0, \"tid\": 7, \"ts\": 1719999999123456.789}",
	};
	static const char *const ort[] = {
		"{\"cat\" : \"Session\",\"pid\" :5,\"tid\" :6,\"dur\" :10,\"ts\" :3,\"ph\" : \"X\","
		"\"name\" :\"session_initialization\",\"args\" : {}}",
		"{\"cat\" : \"Node\",\"pid\" :5,\"tid\" :6,\"dur\" :40,\"ts\" :21,\"ph\" : \"X\","
		"\"name\" :\"fc_kernel_time\",\"args\" : {\"input_type_shape\" : "
		"[{\"float\":[2,8]}],"
		"\"op_name\" : \"MatMul\"}}",
	};
	static const char *const legacy[] = {
		"{\"name\": \"aten::mm\", \"ph\": \"X\", \"ts\": 10, \"dur\": 3, \"tid\": 1, "
		"\"pid\": "
		"\"CPU functions\", \"args\": {}}",
		"{\"name\": \"aten::mm\", \"ph\": \"X\", \"ts\": 12, \"dur\": 1, \"tid\": 0, "
		"\"pid\": "
		"\"CUDA functions\", \"args\": {}}",
	};
	check_cuts("{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [",
	        kineto, ARRAY_LEN(kineto), "], \"traceName\": \"a\"}");
	check_cuts("[\n", ort, ARRAY_LEN(ort), "\n]");
	check_cuts("[", legacy, ARRAY_LEN(legacy), "]");
}

/* One byte of a sound file is another one: at most what it touches is lost. */
static void a_byte_that_is_wrong_costs_two_events_at_most(void)
{
	static const char text[] = HEAD A "," B "," C "," KERNEL("k", "11", "2") TAIL;
	static const char wrong[] = { '"', '{', '}', '[', ']', ',', ':', '\\', '\0', '7', ' ',
		'\xff' };
	const size_t from = strlen(HEAD), to = sizeof text - 1 - strlen(TAIL);
	for (size_t i = from; i < to; i++) {
		for (size_t k = 0; k < sizeof wrong; k++) {
			char copy[sizeof text];
			struct timeline t;
			size_t kept = 0;
			memcpy(copy, text, sizeof text);
			copy[i] = wrong[k];
			if (!CHECK(read_trace_text((struct str){ copy, sizeof text - 1 }, &t)))
				continue;
			for (int g = 0; g < N_GROUPS; g++)
				kept += t.lists[g].n;
			if (!CHECK(kept >= 2 && kept <= 5))
				printf("#   byte %zu is %d: %s\n", i, wrong[k], copy);
			timeline_release(&t);
		}
	}
}

int main(void)
{
	TAP_RUN(what_writers_do_beside_the_rules_loses_nothing);
	TAP_RUN(names_are_read_however_they_are_written);
	TAP_RUN(broken_syntax_costs_the_event_that_it_is_in);
	TAP_RUN(times_that_cannot_be_true_are_counted_and_in_no_list);
	TAP_RUN(work_that_is_there_twice_counts_once);
	TAP_RUN(other_numbers_that_do_not_fit_leave_the_event);
	TAP_RUN(a_file_that_is_cut_anywhere_gives_its_whole_events);
	TAP_RUN(a_byte_that_is_wrong_costs_two_events_at_most);
	return tap_done();
}
