#include "trace/work/shapes.h"

#include "tap.h"

static struct shapes parsed(const char *dims, const char *types, const char *values)
{
	struct shapes s;
	shapes_parse(&s, str_of(dims), str_of(types), str_of(values));
	return s;
}

static void inputs_of_pytorch_keep_their_places(void)
{
	struct shapes s = parsed("[[8, 64, 512], [512], [], [[2,3],[4,3]], []]",
	        "[\"c10::BFloat16\",\"float\",\"Scalar\",\"TensorList\",\"\"]",
	        "[\"\", \"\", \"1\", \"\", \"[2, 3]\"]");
	CHECK(!s.cut);
	CHECK_INT(s.n, 5);
	CHECK_INT(s.v[0].rank, 3);
	CHECK_INT(s.v[0].dims[2], 512);
	CHECK_INT(s.v[0].elements, 8 * 64 * 512);
	CHECK_INT(s.v[0].type, ELEMENT_BFLOAT16);
	CHECK_INT(s.v[1].rank, 1);
	CHECK_INT(s.v[1].type, ELEMENT_FLOAT32);
	CHECK_INT(s.v[2].rank, 0);
	CHECK_INT(s.v[2].elements, 0);
	CHECK(str_eq(s.v[2].value, STR("1")));
	CHECK_INT(s.v[3].n_tensors, 2);
	CHECK_INT(s.v[3].dims[0], 2);
	CHECK_INT(s.v[3].elements, 2 * 3 + 4 * 3);
	int64_t numbers[4];
	CHECK_INT(shape_numbers(s.v[4].value, numbers, 4), 2);
	CHECK_INT(numbers[1], 3);
}

static void inputs_of_onnx_runtime_bring_their_types(void)
{
	struct shapes s = parsed("[{\"float\":[2,8,64]},{\"float16\":[]},{\"int64\":[3]}]", "", "");
	CHECK(!s.cut);
	CHECK_INT(s.n, 3);
	CHECK_INT(s.v[0].type, ELEMENT_FLOAT32);
	CHECK_INT(s.v[0].elements, 1024);
	CHECK_INT(s.v[1].type, ELEMENT_FLOAT16);
	CHECK_INT(s.v[1].rank, 0);
	CHECK_INT(s.v[2].type, ELEMENT_INT64);
	CHECK_INT(s.v[2].n_tensors, 1);
}

static void damage_gives_what_stands_before_it(void)
{
	static const struct {
		const char *dims;
		size_t n;
	} cases[] = {
		{ "", 0 },
		{ "x", 0 },
		{ "{}", 0 },
		{ "[[8,64],[51", 2 },
		{ "[[8,64],", 1 },
		{ "[7]", 1 },
		{ "[\"a\"]", 1 },
		{ "[[-1,2]]", 1 },
		{ "[[\"a\",2]]", 1 },
		{ "[[99999999999999999999]]", 1 },
		{ "[[[1,2],3]]", 1 },
		{ "[{\"float\":[1,2]", 1 },
		{ "[[[[[1]]]]]", 1 },
		{ "[[1.5]]", 1 },
		{ "[null, [2]]", 2 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct shapes s = parsed(cases[i].dims, "", "");
		if (!CHECK_INT(s.n, cases[i].n))
			printf("#   of '%s'\n", cases[i].dims);
		CHECK(s.n == 0 || s.cut);
	}
	struct shapes s = parsed("[[-1,2],[3]]", "[1,\"float\"]", "not json");
	CHECK_INT(s.v[0].elements, 0);
	CHECK_INT(s.v[1].elements, 3);
	CHECK_INT(s.v[1].type, ELEMENT_FLOAT32);
}

static void what_is_beyond_the_limits_is_left_out_and_said(void)
{
	struct shapes s = parsed("[[1,1,1,1,1,1,1,1,9]]", "", "");
	CHECK_INT(s.v[0].rank, SHAPE_MAX_RANK);
	CHECK(s.cut);
	s = parsed("[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]", "", "");
	CHECK_INT(s.n, SHAPE_MAX_INPUTS);
	CHECK(s.cut);
	s = parsed("[[1000000,1000000,1000000]]", "", "");
	CHECK(s.v[0].elements == SHAPE_MAX_ELEMENTS);
}

static void types_of_every_spelling_are_known(void)
{
	CHECK_INT(element_type_of(STR("c10::Half")), ELEMENT_FLOAT16);
	CHECK_INT(element_type_of(STR("c10::Float8_e4m3fn")), ELEMENT_FLOAT8);
	CHECK_INT(element_type_of(STR("float8e5m2")), ELEMENT_FLOAT8);
	CHECK_INT(element_type_of(STR("float16")), ELEMENT_FLOAT16);
	CHECK_INT(element_type_of(STR("long int")), ELEMENT_INT64);
	CHECK_INT(element_type_of(STR("uint8")), ELEMENT_INT8);
	CHECK_INT(element_type_of(STR("Scalar")), ELEMENT_UNKNOWN);
	CHECK_INT(element_type_of(STR("")), ELEMENT_UNKNOWN);
	CHECK_NEAR(element_bytes(ELEMENT_BFLOAT16, 10), 20, 0);
	CHECK_NEAR(element_bytes(ELEMENT_FLOAT4, 10), 5, 0);
	CHECK_NEAR(element_bytes(ELEMENT_UNKNOWN, 10), 0, 0);
}

static void numbers_of_a_value_are_read_up_to_what_is_none(void)
{
	int64_t v[3];
	CHECK_INT(shape_numbers(STR("[14, 14]"), v, 3), 2);
	CHECK_INT(v[0], 14);
	CHECK_INT(shape_numbers(STR("1"), v, 3), 1);
	CHECK_INT(shape_numbers(STR("[1,2,3,4]"), v, 3), 3);
	CHECK_INT(shape_numbers(STR("False"), v, 3), 0);
	CHECK_INT(shape_numbers(STR(""), v, 3), 0);
	CHECK_INT(shape_numbers(STR("[1,x]"), v, 3), 1);
	CHECK_INT(shape_numbers(STR("["), v, 3), 0);
}

int main(void)
{
	TAP_RUN(inputs_of_pytorch_keep_their_places);
	TAP_RUN(inputs_of_onnx_runtime_bring_their_types);
	TAP_RUN(damage_gives_what_stands_before_it);
	TAP_RUN(what_is_beyond_the_limits_is_left_out_and_said);
	TAP_RUN(types_of_every_spelling_are_known);
	TAP_RUN(numbers_of_a_value_are_read_up_to_what_is_none);
	return tap_done();
}
