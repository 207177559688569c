#include "load/schedule.h"
#include "tap.h"

static const struct schedule *parse(const char *text, double speed, struct arena *run)
{
	const struct schedule *s = NULL;
	struct err err = { 0 };
	if (!CHECK(schedule_parse(str_of(text), "t", speed, run, &s, &err)))
		printf("# %s\n", err.text);
	return s;
}

struct want {
	int64_t at_ns, input, output;
};

struct form {
	const char *format, *text;
	bool has_lengths;
	size_t n;
	struct want want[3];
};

/* As the publishers of each trace write it. */
static const struct form forms[] = {
	{ "mooncake",
	        "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, "
	        "\"hash_ids\": "
	        "[46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 2353, 2354]}\n"
	        "{\"timestamp\": 30535, \"input_length\": 6472, \"output_length\": 26, "
	        "\"hash_ids\": "
	        "[46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 2366]}\n",
	        true, 2, { { 0, 6955, 52 }, { INT64_C(3053000000), 6472, 26 } } },
	{ "azure",
	        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
	        "2023-11-16 23:59:59.9000000,4808,10\r\n"
	        "2023-11-17 00:00:00.0319600,3180,8\r\n",
	        true, 2, { { 0, 4808, 10 }, { 131960000, 3180, 8 } } },
	{ "azure",
	        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	        "2024-02-29T23:59:59Z,1,2\n"
	        "2024-03-01 02:00:00.5+02:00,3,4\n",
	        true, 2, { { 0, 1, 2 }, { 1500000000, 3, 4 } } },
	{ "burstgpt",
	        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
	        "5,ChatGPT,472,18,490,Conversation log\n"
	        "45,\"GPT-4, new\",1087,230,1317,API log\n"
	        "118,GPT-4,417,0,417,Conversation log\n",
	        true, 3,
	        { { 0, 472, 18 }, { INT64_C(40000000000), 1087, 230 },
	                { INT64_C(113000000000), 417, 1 } } },
	{ "csv", "seconds,input_tokens,output_tokens\n0.25,3,4\n1.5,5,6\n", true, 2,
	        { { 250000000, 3, 4 }, { 1500000000, 5, 6 } } },
	{ "csv", "seconds\n2\n", false, 1, { { 2000000000, 1, 1 } } },
	{ "seconds", "\xEF\xBB\xBF\n 2.5\n\n1\n1\n", false, 3,
	        { { 1000000000, 1, 1 }, { 1000000000, 1, 1 }, { 2500000000, 1, 1 } } },
};

static void every_form_is_told_by_its_content(void)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct arena run = { 0 };
		const struct form *f = &forms[i];
		const struct schedule *s = parse(f->text, 1, &run);
		CHECK_STR(s->format, f->format);
		CHECK(s->has_lengths == f->has_lengths);
		CHECK_INT(s->n, f->n);
		for (size_t k = 0; k < f->n; k++) {
			/* A date is a double since 1970, whose steps are 0.24 us. */
			CHECK_NEAR((double)s->rows[k].at_ns, (double)f->want[k].at_ns, 500);
			CHECK_INT(s->rows[k].input_tokens, f->want[k].input);
			CHECK_INT(s->rows[k].output_tokens, f->want[k].output);
		}
		arena_release(&run);
	}
}

static void equal_moments_keep_the_order_of_the_file(void)
{
	struct arena run = { 0 };
	const struct schedule *s = parse(
	        "seconds,input_tokens,output_tokens\n7,1,1\n3,2,1\n7,3,1\n3,4,1\n0,5,1\n", 1, &run);
	static const int64_t want[] = { 5, 2, 4, 1, 3 };
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CHECK_INT(s->rows[i].input_tokens, want[i]);
	arena_release(&run);
}

static void the_speed_divides_the_moments(void)
{
	struct arena run = { 0 };
	const struct schedule *s = parse("1\n10\n", 4, &run);
	CHECK_INT(s->rows[0].at_ns, 250000000);
	CHECK_INT(s->rows[1].at_ns, 2500000000);
	arena_release(&run);
}

/* 6955 tokens in 14 blocks and 6472 in 13 need 497 and 498: Mooncake's blocks have 512. */
static void the_size_of_blocks_is_found_from_the_lengths(void)
{
	struct arena run = { 0 };
	const struct schedule *s = parse(forms[0].text, 1, &run);
	CHECK_INT(s->block_tokens, 512);
	CHECK_INT(s->n_blocks, 27);
	CHECK_INT(s->rows[1].n_blocks, 13);
	CHECK_INT(s->blocks[s->rows[1].first_block], 46);
	CHECK_INT(s->blocks[s->rows[1].first_block + 12], 2366);
	arena_release(&run);
}

static void rows_between_two_moments_are_counted(void)
{
	struct arena run = { 0 };
	const struct schedule *s = parse("0\n1\n1\n2\n5\n", 1, &run);
	CHECK_INT(schedule_count(s, 0, INT64_MAX), 5);
	CHECK_INT(schedule_count(s, 1000000000, 2000000000), 2);
	CHECK_INT(schedule_count(s, 1000000001, 2000000001), 1);
	CHECK_INT(schedule_count(s, 2000000000, 1000000000), 0);
	CHECK_INT(schedule_count(s, 6000000000, INT64_MAX), 0);
	arena_release(&run);
}

struct bad {
	const char *text, *says;
};

static void bad_schedules_are_named_with_their_line(void)
{
	static const struct bad files[] = {
		{ "", "no requests" },
		{ "\n\n", "no requests" },
		{ "seconds\n", "no requests" },
		{ "1\n2\nx\n", "line 3" },
		{ "1\n-2\n", "line 2" },
		{ "1\nnan\n", "line 2" },
		{ "1e300\n", "line 1" },
		{ "0\n40000000\n", "hours" },
		{ "hello\n", "line 1: not a schedule" },
		{ "a,b\n1,2\n", "line 1: not a schedule" },
		{ "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:17:03,1,2\n", "line 2" },
		{ "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.,1,2\n", "line 2" },
		{ "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1\n", "line 2" },
		{ "seconds,input_tokens,output_tokens\n1,2,x\n", "line 2" },
		{ "seconds,input_tokens,output_tokens\n1,-2,3\n", "line 2" },
		{ "seconds,input_tokens,output_tokens\n1,2,1e9\n", "line 2" },
		{ "{\"timestamp\": 1}\n", "line 1" },
		{ "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3} x\n", "line 1" },
		{ "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3, \"hash_ids\": "
		  "[1.5]}\n",
		        "line 1" },
		{ "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3}\n\n[]\n",
		        "line 3" },
	};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct arena run = { 0 };
		struct err err = { 0 };
		const struct schedule *s;
		CHECK(!schedule_parse(str_of(files[i].text), "file.csv", 1, &run, &s, &err));
		CHECK_INT(err.kind, ERR_INPUT);
		if (!CHECK(strstr(err.text, files[i].says) && strstr(err.text, "file.csv")))
			printf("# %s\n", err.text);
		arena_release(&run);
	}
}

int main(void)
{
	TAP_RUN(every_form_is_told_by_its_content);
	TAP_RUN(equal_moments_keep_the_order_of_the_file);
	TAP_RUN(the_speed_divides_the_moments);
	TAP_RUN(the_size_of_blocks_is_found_from_the_lengths);
	TAP_RUN(rows_between_two_moments_are_counted);
	TAP_RUN(bad_schedules_are_named_with_their_line);
	return tap_done();
}
