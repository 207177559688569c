#include "stats/dist.h"

#include "base/str.h"
#include "tap.h"

#include <unistd.h>

/* A file with this text; unlink it when done. */
static const char *write_file(const char *text, size_t n)
{
	static char path[] = "/tmp/venturi-test-dist-XXXXXX";
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	int fd = mkstemp(path);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		abort();
	close(fd);
	return path;
}

enum { N_SAMPLES = 400000 };

/* Mean and deviation of samples against closed forms, within five standard errors. */
static void samples_have_the_mean_and_deviation_of_their_formula(void)
{
	/*
	 * E[max(0, X)] of normal(10, 20) is 10 * Phi(0.5) + 20 * phi(0.5) = 13.95593; its second
	 * moment is (100 + 400) * Phi(0.5) + 10 * 20 * phi(0.5) = 416.1443.
	 */
	static const struct {
		const char *text;
		double mean, sd;
	} cases[] = {
		{ "128", 128, 0 },
		{ "0.5", 0.5, 0 },
		{ "uniform:32..512", 272, 138.5640646 }, /* 480 / sqrt(12) */
		{ "uniform:7..7", 7, 0 },
		{ "normal:100,10", 100, 10 },
		{ "normal:10,20", 13.95593, 14.87872 },
		{ "normal:10,0", 10, 0 },
		{ "lognormal:50,0.5", 50, 25 },
		{ "lognormal:50,0", 50, 0 },
		/* 0.98 * 20 + 0.02 * 200, and sqrt(0.98 * 0.02) * 180 */
		{ "mix:0.98*20,0.02*200", 23.6, 25.2 },
		{ "mix:0.333*3,0.333*6,0.333*9", 6, 2.449489743 },
	};
	AUTO(arena_release) struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct dist d;
		struct err err;
		struct rng rng;
		double sum = 0, squares = 0;
		rng_init(&rng, 5 + i);
		if (!CHECK(dist_parse(cases[i].text, 0, &run, &d, &err)))
			continue;
		for (int k = 0; k < N_SAMPLES; k++) {
			double x = dist_sample(&d, &rng) - cases[i].mean;
			sum += x;
			squares += x * x;
		}
		double error = cases[i].sd / sqrt(N_SAMPLES);
		bool ok = CHECK_NEAR(sum / N_SAMPLES, 0, 5 * error + 1e-9);
		ok &= CHECK_NEAR(sqrt(squares / N_SAMPLES), cases[i].sd, 10 * error + 1e-9);
		ok &= CHECK_NEAR(dist_mean(&d), cases[i].mean, 1e-5 * cases[i].mean);
		if (!ok)
			printf("#   %s\n", cases[i].text);
	}
}

static void no_sample_is_below_what_the_caller_allows(void)
{
	static const char *const texts[] = { "normal:2,5", "lognormal:2,3" };
	AUTO(arena_release) struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct dist d;
		struct err err;
		struct rng rng;
		double least = INFINITY, sum = 0, squares = 0;
		rng_init(&rng, 9);
		CHECK(dist_parse(texts[i], 1, &run, &d, &err));
		for (int k = 0; k < N_SAMPLES; k++) {
			double x = dist_sample(&d, &rng);
			least = fmin(least, x);
			sum += x;
			squares += x * x;
		}
		double mean = sum / N_SAMPLES;
		double error = sqrt((squares / N_SAMPLES - mean * mean) / N_SAMPLES);
		CHECK_NEAR(least, 1, 0);
		CHECK(dist_mean(&d) > 2);
		CHECK_NEAR(mean, dist_mean(&d), 5 * error);
	}
}

static void a_file_is_drawn_from_evenly(void)
{
	static const char text[] = "1\n\n 2 \r\n3.5\n";
	AUTO(arena_release) struct arena run = { 0 };
	const char *path = write_file(text, sizeof(text) - 1);
	struct dist d;
	struct err err;
	struct rng rng;
	int seen[5] = { 0 };
	rng_init(&rng, 1);
	CHECK(dist_parse(arena_printf(&run, "file:%s", path), 1, &run, &d, &err));
	unlink(path);
	CHECK_INT(d.n, 3);
	CHECK_NEAR(dist_mean(&d), 6.5 / 3, 1e-12);
	for (int i = 0; i < 30000; i++)
		seen[(int)dist_sample(&d, &rng)]++;
	for (int i = 1; i <= 3; i++)
		CHECK_NEAR(seen[i], 10000, 5 * sqrt(30000 * 2.0 / 9));
}

static void the_same_seed_gives_the_same_samples(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct dist d;
	struct err err;
	struct rng a, b, c;
	int n_equal = 0;
	rng_init(&a, 42);
	rng_init(&b, 42);
	rng_init(&c, 43);
	CHECK(dist_parse("lognormal:50,1", 0, &run, &d, &err));
	for (int i = 0; i < 100; i++) {
		double x = dist_sample(&d, &a);
		CHECK_NEAR(x, dist_sample(&d, &b), 0);
		n_equal += x == dist_sample(&d, &c);
	}
	CHECK_INT(n_equal, 0);
}

static void wrong_texts_are_refused_with_a_sentence(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "'' is neither a number nor a distribution" },
		{ "abc", "'abc' is neither a number nor a distribution" },
		{ "12x", "'12x' is neither a number nor a distribution" },
		{ "gauss:1,2", "'gauss:1,2' is neither a number nor a distribution" },
		{ "nan", "'nan' is neither a number nor a distribution" },
		{ "0", "'0': 0 is not between 1 and 1e+15" },
		{ "-3", "'-3': -3 is not between 1 and 1e+15" },
		{ "1e16", "'1e16': 1e+16 is not between 1 and 1e+15" },
		{ "uniform:1", "'uniform:1' is not of the form uniform:LOW..HIGH" },
		{ "uniform:1..", "'uniform:1..' is not of the form uniform:LOW..HIGH" },
		{ "uniform:1..2..3", "'uniform:1..2..3' is not of the form uniform:LOW..HIGH" },
		{ "uniform:9..3", "'uniform:9..3': the low end is above the high end" },
		{ "uniform:0..3", "'uniform:0..3': 0 is not between 1 and 1e+15" },
		{ "normal:5", "'normal:5' is not of the form normal:MEAN,SD" },
		{ "normal:5,-1", "'normal:5,-1': the spread -1 is not between 0 and 1e+15" },
		{ "normal:0,1", "'normal:0,1': 0 is not between 1 and 1e+15" },
		{ "lognormal:0,1", "'lognormal:0,1': the mean of a lognormal is above 0" },
		{ "lognormal:5;1", "'lognormal:5;1' is not of the form lognormal:MEAN,CV" },
		{ "mix:", "'mix:' is not of the form mix:WEIGHT*VALUE,WEIGHT*VALUE" },
		{ "mix:0.5*1,-0.5*2",
		        "'mix:0.5*1,-0.5*2' is not of the form mix:WEIGHT*VALUE,WEIGHT*VALUE" },
		{ "mix:0.98*20,0.2*200",
		        "'mix:0.98*20,0.2*200': the weights add up to 1.18, not to 1" },
		{ "mix:1*0", "'mix:1*0': 0 is not between 1 and 1e+15" },
		{ "file:", "'file:' is not of the form file:PATH" },
		{ "file:/nowhere/at/all",
		        "cannot open '/nowhere/at/all': No such file or directory" },
	};
	AUTO(arena_release) struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct dist d = { .a = -7 };
		struct err err = { 0 };
		CHECK(!dist_parse(cases[i].text, 1, &run, &d, &err));
		CHECK_STR(err.text, cases[i].want);
		CHECK(d.a == -7);
	}
}

static void more_parts_than_a_mixture_may_have_are_refused(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	AUTO(auto_buf) struct buf text = { 0 };
	struct dist d;
	struct err err = { 0 };
	buf_add_c(&text, "mix:0.5*1");
	for (int i = 0; i < DIST_MIX_MAX; i++)
		buf_add_c(&text, ",0.0078125*1");
	CHECK(!dist_parse(text.s, 0, &run, &d, &err));
	CHECK(strstr(err.text, "has more than 64 parts") != NULL);
	text.len -= strlen(",0.0078125*1");
	text.s[text.len] = '\0';
	CHECK(!dist_parse(text.s, 0, &run, &d, &err));
	CHECK(strstr(err.text, "the weights add up to 0.992188") != NULL);
}

static void wrong_files_are_refused_with_their_line(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "holds no number" },
		{ " \n\n", "holds no number" },
		{ "1\ntwo\n", "line 2: 'two' is not a number" },
		{ "1\n\n0\n", "line 3: 0 is not between 1 and 1e+15" },
		{ "5 6\n", "line 1: '5 6' is not a number" },
	};
	AUTO(arena_release) struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = write_file(cases[i].text, strlen(cases[i].text));
		struct dist d;
		struct err err = { 0 };
		CHECK(!dist_parse(arena_printf(&run, "file:%s", path), 1, &run, &d, &err));
		unlink(path);
		CHECK_INT(err.kind, ERR_INPUT);
		if (!CHECK(strstr(err.text, cases[i].want) != NULL))
			printf("#   got '%s'\n", err.text);
		CHECK(strstr(err.text, path) != NULL);
	}
}

static void durations_have_units_and_are_ns(void)
{
	/* means: of a uniform, the middle; of a mixture, by weight */
	static const struct {
		const char *text;
		double mean;
	} cases[] = {
		{ "2s", 2e9 },
		{ "0", 0 },
		{ "uniform:500ms..1500ms", 1e9 },
		{ "normal:1m,0s", 60e9 },
		{ "lognormal:2s,0.5", 2e9 },
		{ "mix:0.75*100ms,0.25*1s", 325e6 },
	};
	static const char *const wrong[] = { "2", "2 bananas", "uniform:1..2", "lognormal:2,0.5",
		"normal:2s,0.5", "mix:0.5s*1s,0.5*1s", "-1s", "" };
	AUTO(arena_release) struct arena run = { 0 };
	struct dist d;
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (CHECK(dist_parse_duration(cases[i].text, &run, &d, &err)))
			CHECK_NEAR(dist_mean(&d), cases[i].mean, 1e-6 * cases[i].mean);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CHECK(!dist_parse_duration(wrong[i], &run, &d, &err));
		CHECK_INT(err.kind, ERR_USAGE);
	}
	const char *path = write_file("1s\n250ms\n", 9);
	if (CHECK(dist_parse_duration(arena_printf(&run, "file:%s", path), &run, &d, &err)))
		CHECK_NEAR(dist_mean(&d), 625e6, 1);
	unlink(path);
	path = write_file("1s\n2\n", 5);
	CHECK(!dist_parse_duration(arena_printf(&run, "file:%s", path), &run, &d, &err));
	unlink(path);
	CHECK(strstr(err.text, "line 2: '2' is not a duration") != NULL);
}

static void a_file_over_the_limit_is_refused(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	const char *path = write_file("1\n", 2);
	struct dist d;
	struct err err = { 0 };
	CHECK(truncate(path, DIST_FILE_MAX_BYTES + 1) == 0);
	CHECK(!dist_parse(arena_printf(&run, "file:%s", path), 0, &run, &d, &err));
	unlink(path);
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK(strstr(err.text, "more than 67108864 bytes, which is the limit") != NULL);
}

int main(void)
{
	TAP_RUN(samples_have_the_mean_and_deviation_of_their_formula);
	TAP_RUN(no_sample_is_below_what_the_caller_allows);
	TAP_RUN(a_file_is_drawn_from_evenly);
	TAP_RUN(the_same_seed_gives_the_same_samples);
	TAP_RUN(wrong_texts_are_refused_with_a_sentence);
	TAP_RUN(more_parts_than_a_mixture_may_have_are_refused);
	TAP_RUN(wrong_files_are_refused_with_their_line);
	TAP_RUN(durations_have_units_and_are_ns);
	TAP_RUN(a_file_over_the_limit_is_refused);
	return tap_done();
}
