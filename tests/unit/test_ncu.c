#include "tap.h"
#include "trace_data.h"

#include "trace/input/number_text.h"

#include <jansson.h>

static void numbers_are_read_with_the_mark_that_the_file_has(void)
{
	static const struct {
		const char *text;
		int vote;
		double with_point, with_comma;
		const char *plain_with_point;
	} cases[] = {
		{ "4,963,609,951.19", 1, 4963609951.19, NAN, "4963609951.19" },
		{ "4.963.609.951,19", -1, NAN, 4963609951.19, NULL },
		{ "27.595.520", -1, NAN, 27595520, NULL },
		{ "27,595,520", 1, 27595520, NAN, "27595520" },
		{ "61.84", 1, 61.84, 6184, "61.84" },
		{ "61,84", -1, 6184, 61.84, "6184" },
		{ "1,024", 0, 1024, 1.024, "1024" },
		{ "1.024", 0, 1.024, 1024, "1.024" },
		{ "0.125", 1, 0.125, 125, "0.125" },
		{ "12345.678", 1, 12345.678, 12345678, "12345.678" },
		{ "12'345", 0, 12345, 12345, "12345" },
		{ "-3", 0, -3, -3, "-3" },
		{ "1.5e+9", 1, 1.5e9, 15e9, "1.5e+9" },
		{ "n/a", 0, NAN, NAN, "n/a" },
		{ "CachePreferNone", 0, NAN, NAN, "CachePreferNone" },
		{ "(1, 2, 3)", 0, NAN, NAN, "(1, 2, 3)" },
		{ "12 %", 0, NAN, NAN, "12 %" },
		{ "", 0, NAN, NAN, "" },
		{ "1.", 0, NAN, NAN, "1." },
	};
	struct arena tmp = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str plain, text = str_of(cases[i].text);
		double point = number_text_read(text, '.', &tmp, &plain);
		if (cases[i].plain_with_point)
			CHECK_STR(str_c(plain, &tmp), cases[i].plain_with_point);
		double comma = number_text_read(text, ',', &tmp, &plain);
		/* With the wrong mark a number may be anything. */
		bool ok = number_text_vote(text) == cases[i].vote &&
		          (cases[i].vote < 0 || point == cases[i].with_point ||
		                  (isnan(point) && isnan(cases[i].with_point))) &&
		          (cases[i].vote > 0 || comma == cases[i].with_comma ||
		                  (isnan(comma) && isnan(cases[i].with_comma)));
		if (!CHECK(ok))
			printf("#   '%s': %d, %g, %g\n", cases[i].text, number_text_vote(text),
			        point, comma);
	}
	arena_release(&tmp);
}

static const struct launch_metric *metric(
        const struct timeline *t, size_t launch, const char *section, const char *name)
{
	for (size_t i = 0; launch < t->n_launches && i < t->launches[launch].n_metrics; i++) {
		const struct launch_metric *m = &t->launches[launch].metrics[i];
		if (str_eq(timeline_name_of(t, m->name), str_of(name)) &&
		        str_eq(timeline_name_of(t, m->section), str_of(section)))
			return m;
	}
	return NULL;
}

#define LAUNCH_COLUMNS                                                                             \
	"\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\","        \
	"\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\""
#define LAUNCH(id) #id ",7,app,host,\"add(int, \"\"x\"\")\",1,7,\"(32, 4, 1)\",\"(9, 1, 1)\",0,8.0"

static bool read_text(const char *text, struct timeline *t)
{
	struct err err = { .text = "" };
	bool ok = trace_read_bytes(text, strlen(text), t, &err);
	if (!ok)
		printf("# %s\n", err.text);
	return CHECK(ok);
}

static void a_raw_page_has_its_metrics_in_columns_and_their_units_above(void)
{
	struct timeline t;
	if (!read_text("==PROF== Connected\nhello\n" LAUNCH_COLUMNS
	               ",\"gpu__time_duration.sum\",\"launch__waves\"\r\n"
	               ",,,,,,,,,,,\"ns\",\"\"\r\n" LAUNCH(0) ",\"1,024\",0.50\r\n" LAUNCH(
	                       1) ",n/a,12.25\r\n",
	            &t))
		return;
	CHECK_STR(t.format, "ncu-csv");
	CHECK_INT(t.n_launches, 2);
	const struct launch_metric *time = metric(&t, 0, "", "gpu__time_duration.sum");
	CHECK(time && time->value == 1024);
	CHECK(time && str_eq(timeline_name_of(&t, time->unit), STR("ns")));
	time = metric(&t, 1, "", "gpu__time_duration.sum");
	CHECK(time && isnan(time->value));
	CHECK_INT(t.launches[1].grid[0], 9);
	CHECK_INT(t.launches[1].block[1], 4);
	CHECK(str_eq(timeline_name_of(&t, t.launches[0].kernel), STR("add(int, \"x\")")));
	CHECK(metric(&t, 0, "", "Device") == NULL);
	timeline_release(&t);
}

static void an_old_raw_page_has_the_grid_in_metrics(void)
{
	struct timeline t;
	if (!read_text("\"ID\",\"Process ID\",\"Kernel Name\",\"launch__grid_dim_x\","
	               "\"launch__grid_dim_y\",\"launch__grid_dim_z\"\n,,,,,\n0,7,k,5,2,1\n",
	            &t))
		return;
	CHECK_INT(t.launches[0].grid[0], 5);
	CHECK_INT(t.launches[0].grid[1], 2);
	CHECK_INT(t.launches[0].block[0], -1);
	timeline_release(&t);
}

static void rows_of_a_launch_belong_together_wherever_they_stand(void)
{
	struct timeline t;
	if (!read_text(
	            "\xEF\xBB\xBFprinted by the program\n" LAUNCH_COLUMNS
	            ",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\","
	            "\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\","
	            "\"Estimated Speedup\"\n" LAUNCH(0) ",S,a,%,\"1,5\",\n" LAUNCH(
	                    1) ",S,a,%,\"2,5\",\nprinted, too\n" LAUNCH(0) ",S,b,%,\"3,5\","
	                                                                   "\n" LAUNCH(0) ",R,,,,"
	                                                                                  "Rule,"
	                                                                                  "OPT,"
	                                                                                  "\"look, "
	                                                                                  "here\","
	                                                                                  "local,"
	                                                                                  "\"38,"
	                                                                                  "16\"\n"
	                                                                                  "\"cut, "
	                                                                                  "here",
	            &t))
		return;
	CHECK_INT(t.n_launches, 2);
	CHECK_INT(t.launches[0].n_metrics, 2);
	CHECK_INT(t.launches[1].n_metrics, 1);
	const struct launch_metric *b = metric(&t, 0, "S", "b");
	CHECK(b && b->value == 3.5);
	CHECK_INT(t.launches[0].n_rules, 1);
	const struct launch_rule *r = &t.launches[0].rules[0];
	CHECK(str_eq(timeline_name_of(&t, r->text), STR("look, here")));
	CHECK_NEAR(r->speedup_percent, 38.16, 1e-9);
	CHECK(t.truncated);
	CHECK_INT(t.lost[LOST_BROKEN], 1);
	timeline_release(&t);
}

static void two_runs_in_one_file_are_both_read(void)
{
	struct timeline t;
	if (!read_text(
	            "\"ID\",\"Process ID\",\"Kernel Name\",\"m\"\n,,,%\n0,7,k,5\n==PROF== again\n"
	            "\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n"
	            "0,8,k,n,6\n",
	            &t))
		return;
	CHECK_INT(t.n_launches, 2);
	const struct launch_metric *m = metric(&t, 1, "", "n");
	CHECK(m && m->value == 6);
	timeline_release(&t);
}

static void messages_without_a_table_are_an_error_that_says_so(void)
{
	struct timeline t;
	struct err err;
	const char *text = "==PROF== Connected to process 5\n==ERROR== no permission\n";
	CHECK(!trace_read_bytes(text, strlen(text), &t, &err));
	CHECK(strstr(err.text, "--csv") != NULL);
}

/* The answers have a value for each "Section | Name", or "Name" where all are of one section. */
static void compare_metrics(const struct timeline *t, const json_t *want)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)want, key, value)
	{
		struct str name, section = str_cut(str_of(key), '|', &name);
		struct arena tmp = { 0 };
		const struct launch_metric *m;
		if (name.len)
			m = metric(
			        t, 0, str_c(str_trim(section), &tmp), str_c(str_trim(name), &tmp));
		else
			m = metric(t, 0, "Command line profiler metrics", key);
		const json_t *number = json_array_get(value, 0);
		bool same = m && str_eq(timeline_name_of(t, m->unit),
		                         str_of(json_string_value(json_array_get(value, 1))));
		if (json_is_string(number))
			same = same && str_eq(timeline_name_of(t, m->text),
			                       str_of(json_string_value(number)));
		else
			same = same && m->value == json_number_value(number);
		if (!CHECK(same))
			printf("#   %s\n", key);
		arena_release(&tmp);
	}
}

static void compare(const char *name)
{
	char file[512], answers[512], data[256];
	struct timeline t;
	struct err err;
	json_error_t json_error;
	snprintf(data, sizeof data, "ncu/%s", name);
	if (!trace_data(file, sizeof file, data))
		return;
	snprintf(data, sizeof data, "answers/%s.answers.json", name);
	if (!trace_data(answers, sizeof answers, data))
		return;
	json_t *want = json_load_file(answers, 0, &json_error);
	if (!CHECK(want) || !CHECK(trace_read_file(file, &t, &err)))
		return;
	const json_t *kernel = json_array_get(json_object_get(want, "kernels"), 0);
	const json_t *metrics = json_object_get(kernel, "metrics");
	CHECK_INT(t.n_launches, json_integer_value(json_object_get(want, "launches")));
	CHECK_INT(t.launches[0].n_metrics, json_object_size(metrics));
	CHECK_INT(t.launches[0].n_rules, json_integer_value(json_object_get(want, "rule_rows")));
	CHECK(str_eq(timeline_name_of(&t, t.launches[0].kernel),
	        str_of(json_string_value(json_object_get(kernel, "name")))));
	char grid[64];
	snprintf(grid, sizeof grid, "(%lld, %lld, %lld)", (long long)t.launches[0].grid[0],
	        (long long)t.launches[0].grid[1], (long long)t.launches[0].grid[2]);
	CHECK_STR(grid, json_string_value(json_object_get(kernel, "grid")));
	compare_metrics(&t, metrics);
	json_decref(want);
	timeline_release(&t);
}

static void real_tables_give_the_numbers_of_an_independent_program(void)
{
	compare("copy_blocked_details.csv");
	compare("transpose_naive_metrics.csv");
	compare("gemm_tiled_metrics.csv");
}

int main(void)
{
	TAP_RUN(numbers_are_read_with_the_mark_that_the_file_has);
	TAP_RUN(a_raw_page_has_its_metrics_in_columns_and_their_units_above);
	TAP_RUN(an_old_raw_page_has_the_grid_in_metrics);
	TAP_RUN(rows_of_a_launch_belong_together_wherever_they_stand);
	TAP_RUN(two_runs_in_one_file_are_both_read);
	TAP_RUN(messages_without_a_table_are_an_error_that_says_so);
	TAP_RUN(real_tables_give_the_numbers_of_an_independent_program);
	return tap_done();
}
