#include "base/opt.h"

#include "base/utf8.h"
#include "tap.h"

struct options {
	bool stream;
	int64_t seed;
	double rate;
	const char *model;
	int64_t timeout_ns;
	int64_t memory_bytes;
	const char *api;
	struct opt_list headers;
};

static const struct opt rows[] = {
	{ .type = OPT_HEADING, .help = "What is sent" },
	{ OPT(struct options, stream, OPT_FLAG, 's', "stream", NULL, "Ask for a stream") },
	{ OPT(struct options, seed, OPT_INT, 0, "seed", "N", "Seed"), .min = 1, .max = 1000 },
	{ OPT(struct options, rate, OPT_DOUBLE, 'r', "rate", "R", "Rate"), .min = 0.1, .max = 1e6 },
	{ OPT(struct options, model, OPT_STRING, 'm', "model", "NAME", "Model") },
	{ OPT(struct options, timeout_ns, OPT_DURATION, 't', "timeout", "TIME", "Timeout"),
	        .min = 0.001, .max = 3600 },
	{ OPT(struct options, memory_bytes, OPT_SIZE, 0, "memory", "SIZE", "Memory") },
	{ OPT(struct options, api, OPT_CHOICE, 0, "api", NULL, "Protocol"),
	        .choices = "http|openai" },
	{ OPT(struct options, headers, OPT_LIST, 'H', "header", "LINE", "Header") },
};

static bool parse(struct options *o, struct arena *run, struct opt_list *args, struct err *err,
        const char *line)
{
	struct opt_table table = { rows, ARRAY_LEN(rows), o };
	char *argv[32];
	int argc = 0;
	for (struct str rest = str_of(line); rest.len;)
		argv[argc++] = str_c(str_cut(rest, ' ', &rest), run);
	return opt_parse(&table, 1, argc, argv, run, args, err);
}

static void every_spelling_of_an_option_is_understood(void)
{
	static const char *const lines[] = {
		"--stream --seed 7 --rate 2.5 --model m --timeout 5s --memory 1KiB --api http",
		"-s --seed=7 -r2.5 -mm -t5s --memory=1KiB --api=http",
		"-sr2.5 -m m -t 5s --seed 7 --memory 1024 --api http",
		"--no-stream --stream --seed 3 --seed 7 -r2.5 -mm -t5s --memory 1024B --api=http",
	};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		AUTO(arena_release) struct arena run = { 0 };
		struct options o = { 0 };
		struct opt_list args;
		struct err err;
		if (!CHECK(parse(&o, &run, &args, &err, lines[i])))
			continue;
		CHECK(o.stream);
		CHECK_INT(o.seed, 7);
		CHECK_NEAR(o.rate, 2.5, 0);
		CHECK_STR(o.model, "m");
		CHECK_INT(o.timeout_ns, 5000000000);
		CHECK_INT(o.memory_bytes, 1024);
		CHECK_STR(o.api, "http");
		CHECK_INT(args.n, 0);
	}
}

static void words_lists_and_the_end_of_options(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct options o = { .stream = true };
	struct opt_list args;
	struct err err;
	CHECK(parse(&o, &run, &args, &err, "a -H x --no-stream b --header=y=z - -- --seed -q"));
	CHECK(!o.stream);
	CHECK_INT(o.headers.n, 2);
	CHECK_STR(o.headers.items[0], "x");
	CHECK_STR(o.headers.items[1], "y=z");
	CHECK_INT(args.n, 5);
	CHECK_STR(args.items[0], "a");
	CHECK_STR(args.items[1], "b");
	CHECK_STR(args.items[2], "-");
	CHECK_STR(args.items[3], "--seed");
	CHECK_STR(args.items[4], "-q");
}

static void a_value_may_look_like_an_option(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct options o = { 0 };
	struct opt_list args;
	struct err err;
	CHECK(parse(&o, &run, &args, &err, "--model --stream --header="));
	CHECK_STR(o.model, "--stream");
	CHECK(!o.stream);
	CHECK_STR(o.headers.items[0], "");
}

static void mistakes_are_named_as_they_were_written(void)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "--sed 1", "unknown option '--sed'" },
		{ "--sed=1", "unknown option '--sed'" },
		{ "--no-seed", "unknown option '--no-seed'" },
		{ "-x", "unknown option '-x'" },
		{ "-sx", "unknown option '-x'" },
		{ "-5", "unknown option '-5'" },
		{ "-中", "unknown option '-中'" },
		{ "--stream=yes", "'--stream' takes no value" },
		{ "--seed", "'--seed' needs a value (N)" },
		{ "--api", "'--api' needs a value (http|openai)" },
		{ "-r", "'-r' needs a value (R)" },
		{ "--seed 1.5", "'--seed' takes a whole number, not '1.5'" },
		{ "--seed 0", "'--seed' must be between 1 and 1000" },
		{ "--seed 1001", "'--seed' must be between 1 and 1000" },
		{ "--rate fast", "'--rate' takes a number, not 'fast'" },
		{ "-r0", "'-r' must be between 0.1 and 1000000" },
		{ "--rate nan", "'--rate' takes a number, not 'nan'" },
		{ "-t 5", "'-t' takes a duration such as 500ms, 10s or 5m, not '5'" },
		{ "-t 2h", "'-t' must be between 0.001 s and 3600 s" },
		{ "--memory 5XB", "'--memory' takes a size such as 64KiB or 4GiB, not '5XB'" },
		{ "--api htt", "'--api' takes one of http|openai, not 'htt'" },
		{ "--api=", "'--api' takes one of http|openai, not ''" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_release) struct arena run = { 0 };
		struct options o = { 0 };
		struct opt_list args;
		struct err err = { 0 };
		CHECK(!parse(&o, &run, &args, &err, cases[i].line));
		CHECK_INT(err.kind, ERR_USAGE);
		CHECK_STR(err.text, cases[i].want);
	}
}

static void several_tables_fill_several_structs(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct other {
		bool quiet;
		int64_t seed;
	} other = { 0 };
	static const struct opt more[] = {
		{ OPT(struct other, quiet, OPT_FLAG, 'q', "quiet", NULL, "Quiet") },
		{ OPT(struct other, seed, OPT_INT, 0, "seed", "N", "Hidden by the first table") },
	};
	struct options o = { 0 };
	struct opt_table tables[] = { { rows, ARRAY_LEN(rows), &o },
		{ more, ARRAY_LEN(more), &other } };
	char letters[] = "-sq", seed[] = "--seed=5";
	char *argv[] = { letters, seed };
	struct opt_list args;
	struct err err;
	CHECK(opt_parse(tables, 2, 2, argv, &run, &args, &err));
	CHECK(o.stream && other.quiet);
	CHECK_INT(o.seed, 5);
	CHECK_INT(other.seed, 0);
}

static void a_text_of_lines_says_the_same(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct options o = { .stream = true };
	struct opt_table table = { rows, ARRAY_LEN(rows), &o };
	struct err err;
	CHECK(opt_parse_text(&table, 1,
	        STR("# a comment\n\nseed 7\r\n--rate=2.5\n model =  two words "
	            "\nno-stream\nheader\ta=b"),
	        "options", &run, &err));
	CHECK_INT(o.seed, 7);
	CHECK_NEAR(o.rate, 2.5, 0);
	CHECK_STR(o.model, "two words");
	CHECK(!o.stream);
	CHECK_STR(o.headers.items[0], "a=b");
	CHECK(!opt_parse_text(&table, 1, STR("seed 7\n\nsed 8\n"), "options", &run, &err));
	CHECK_STR(err.text, "'options', line 3: unknown option 'sed'");
	CHECK(!opt_parse_text(&table, 1, STR("seed"), "options", &run, &err));
	CHECK_STR(err.text, "'options', line 1: 'seed' needs a value (N)");
}

static void help_lines_up_and_fits(void)
{
	static const struct opt help_rows[] = {
		{ OPT(struct options, stream, OPT_FLAG, 's', "stream", NULL,
		        "请求流式回答 – "
		        "每个词元一个事件…适合测量首个词元的时间，也适合测量词元之间的间隔；"
		        "不支持流式的接口会忽略它。") },
		{ OPT(struct options, model, OPT_STRING, 0, "model-with-a-very-long-name", "NAME",
		        "One line") },
		{ OPT(struct options, api, OPT_CHOICE, 0, "api", NULL,
		          "Which protocol the service speaks, when its address does not tell; "
		          "probing "
		          "takes one request more"),
		        .choices = "http|openai" },
	};
	AUTO(auto_buf) struct buf out = { 0 };
	struct opt_table table = { help_rows, ARRAY_LEN(help_rows), NULL };
	opt_help(&table, 1, &out);
	int n_lines = 0, widest = 0;
	for (struct str rest = buf_str(&out); rest.len; n_lines++) {
		struct str line = str_cut(rest, '\n', &rest);
		int width = utf8_width(line);
		widest = width > widest ? width : widest;
		CHECK(line.len > 0 && line.s[line.len - 1] != ' ');
	}
	CHECK(widest <= 100 && widest > 90);
	CHECK_INT(n_lines, 6);
	CHECK(strstr(out.s, "  -s, --stream                    请求") == out.s);
	CHECK(strstr(out.s, "\n      --model-with-a-very-long-name NAME\n"
	                    "                                  One line\n") != NULL);
	CHECK(strstr(out.s, "      --api http|openai           Which protocol") != NULL);
}

int main(void)
{
	TAP_RUN(every_spelling_of_an_option_is_understood);
	TAP_RUN(words_lists_and_the_end_of_options);
	TAP_RUN(a_value_may_look_like_an_option);
	TAP_RUN(mistakes_are_named_as_they_were_written);
	TAP_RUN(several_tables_fill_several_structs);
	TAP_RUN(a_text_of_lines_says_the_same);
	TAP_RUN(help_lines_up_and_fits);
	return tap_done();
}
