#include "token/gguf.h"

#include "base/utf8.h"
#include "gguf_make.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

/* A key of each kind and two tensors. */
static void make_good(struct make *m)
{
	const uint64_t dims[2] = { 3, 2 };
	const float values[6] = { 1, 2, 3, 4, 5, 6 };
	const int32_t numbers[3] = { -1, 0, 7 };
	uint64_t wide = UINT64_MAX;
	double real = 0.25;
	make_key_str(m, "a.text", "three words here");
	make_key_u32(m, "a.number", 42);
	make_key_f32(m, "a.real", 1e-5f);
	make_key(m, "a.double", GGUF_F64, &real, sizeof(real));
	make_key(m, "a.wide", GGUF_U64, &wide, sizeof(wide));
	make_key_bool(m, "a.flag", true);
	make_key_array(m, "a.numbers", GGUF_I32, 3, numbers, sizeof(numbers));
	make_key_array(m, "a.none", GGUF_F32, 0, NULL, 0);
	make_tensor(m, "second", 2, dims, GGUF_TENSOR_F32, values, sizeof(values));
	make_tensor(m, "first", 1, dims, GGUF_TENSOR_F32, values, 3 * sizeof(float));
}

static void a_good_file_is_read(void)
{
	struct make m = make_begin();
	AUTO(auto_buf) struct buf image = { 0 };
	struct gguf *file;
	struct err err;
	make_good(&m);
	make_image(&m, &image);
	if (CHECK(gguf_parse(image.s, image.len, &file, &err))) {
		struct str text = { 0 };
		int64_t number = 0;
		double real = 0;
		bool flag = false;
		const struct gguf_value *array = NULL;
		float values[6] = { 0 };
		size_t n;
		CHECK(gguf_string(file, "a.text", &text, &err));
		CHECK(str_eq(text, STR("three words here")));
		CHECK(gguf_int(file, "a.number", 0, 100, &number, &err));
		CHECK_INT(number, 42);
		CHECK(gguf_real(file, "a.real", 0, 1, &real, &err));
		CHECK_NEAR(real, 1e-5, 1e-12);
		CHECK(gguf_real(file, "a.double", 0, 1, &real, &err));
		CHECK_NEAR(real, 0.25, 0);
		CHECK(gguf_bool(file, "a.flag", &flag, &err));
		CHECK(flag);
		CHECK(gguf_array(file, "a.numbers", GGUF_I32, 3, &array, &err));
		CHECK(array && gguf_array_i32(array, 0) == -1 && gguf_array_i32(array, 2) == 7);
		CHECK(gguf_array(file, "a.none", GGUF_F32, 0, &array, &err));
		CHECK(gguf_value(file, "a") == NULL);
		CHECK_INT((gguf_tensors(file, &n), n), 2);
		const struct gguf_tensor *t = gguf_tensor(file, "second");
		if (CHECK(t != NULL)) {
			CHECK(t->n_dims == 2 && t->dims[0] == 3 && t->dims[1] == 2);
			CHECK(gguf_read_f32(t, values, &err));
			CHECK_NEAR(values[5], 6, 0);
		}
		gguf_close(file);
	}
	make_release(&m);
}

static void every_whole_number_type_is_read_with_its_sign(void)
{
	static const struct {
		uint32_t type;
		size_t bytes;
		int64_t bits, want;
	} cases[] = {
		{ GGUF_U8, 1, 0xFE, 254 },
		{ GGUF_I8, 1, 0xFE, -2 },
		{ GGUF_U16, 2, 0xFFFE, 65534 },
		{ GGUF_I16, 2, 0xFFFE, -2 },
		{ GGUF_U32, 4, 0xFFFFFFFE, 4294967294 },
		{ GGUF_I32, 4, 0xFFFFFFFE, -2 },
		{ GGUF_U64, 8, 5, 5 },
		{ GGUF_U64, 8, -1, INT64_MAX },
		{ GGUF_I64, 8, -2, -2 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct make m = make_begin();
		AUTO(auto_buf) struct buf image = { 0 };
		struct gguf *file;
		struct err err;
		int64_t got = 0;
		make_key(&m, "x", cases[i].type, &cases[i].bits, cases[i].bytes);
		make_image(&m, &image);
		if (CHECK(gguf_parse(image.s, image.len, &file, &err))) {
			CHECK(gguf_int(file, "x", INT64_MIN, INT64_MAX, &got, &err));
			CHECK_INT(got, cases[i].want);
			gguf_close(file);
		}
		make_release(&m);
	}
}

static void small_float_types_become_float32(void)
{
	/* IEEE 754-2008 binary16 and the upper half of binary32, by their definitions. */
	static const struct {
		uint32_t type;
		uint16_t bits;
		float want;
	} cases[] = {
		{ GGUF_TENSOR_F16, 0x3C00, 1.0f },
		{ GGUF_TENSOR_F16, 0xC000, -2.0f },
		{ GGUF_TENSOR_F16, 0x7BFF, 65504.0f },
		{ GGUF_TENSOR_F16, 0x0400, 0x1p-14f },
		{ GGUF_TENSOR_F16, 0x03FF, 0x1.FF8p-15f },
		{ GGUF_TENSOR_F16, 0x0001, 0x1p-24f },
		{ GGUF_TENSOR_F16, 0x8001, -0x1p-24f },
		{ GGUF_TENSOR_F16, 0x3555, 0x1.554p-2f },
		{ GGUF_TENSOR_BF16, 0x3F80, 1.0f },
		{ GGUF_TENSOR_BF16, 0xC049, -3.140625f },
		{ GGUF_TENSOR_BF16, 0x0001, 0x1p-133f },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct gguf_tensor t = {
			.name = STR("x"),
			.type = cases[i].type,
			.n_elements = 1,
			.bytes = 2,
			.data = (const unsigned char *)&cases[i].bits,
		};
		struct err err;
		float got = NAN;
		CHECK(gguf_read_f32(&t, &got, &err));
		CHECK_NEAR((double)got, (double)cases[i].want, 0);
	}
}

/* What hostile cases are made of: each makes one thing wrong. */

static void bad_version(struct make *m)
{
	m->version = 1;
}

static void other_byte_order(struct make *m)
{
	m->version = 0x03000000;
}

static void absurd_keys(struct make *m)
{
	m->n_keys = UINT64_MAX;
}

static void keys_without_room(struct make *m)
{
	m->n_keys = GGUF_KEYS_MAX;
}

static void absurd_tensors(struct make *m)
{
	m->n_tensors = UINT64_C(1) << 63;
}

static void tensors_without_room(struct make *m)
{
	m->n_tensors = GGUF_TENSORS_MAX;
}

static void one_key_too_many(struct make *m)
{
	make_key_u32(m, "x", 1);
	m->n_keys++;
}

static void key_name_beyond_the_end(struct make *m)
{
	make_u64(&m->keys, UINT64_MAX);
	make_u64(&m->keys, 0);
	m->n_keys++;
}

static void key_name_too_long(struct make *m)
{
	char *name = malloc(GGUF_NAME_BYTES_MAX + 2);
	memset(name, 'k', GGUF_NAME_BYTES_MAX + 1);
	name[GGUF_NAME_BYTES_MAX + 1] = '\0';
	make_key_u32(m, name, 1);
	free(name);
}

static void key_of_unknown_type(struct make *m)
{
	make_key(m, "x.type", 13, "\0\0\0\0", 4);
}

static void key_twice(struct make *m)
{
	make_key_u32(m, "x.twice", 1);
	make_key_f32(m, "x.twice", 1);
}

static void string_beyond_the_end(struct make *m)
{
	uint64_t n = INT64_MAX;
	make_key(m, "x.string", GGUF_STRING, &n, sizeof(n));
}

static void array_in_array(struct make *m)
{
	make_key_array(m, "x.nested", GGUF_ARRAY, 1, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
}

static void array_of_unknown_type(struct make *m)
{
	make_key_array(m, "x.array", 99, 1, "\0\0\0\0", 4);
}

static void array_of_absurd_length(struct make *m)
{
	make_key_array(m, "x.array", GGUF_U64, UINT64_C(1) << 61, "\0\0\0\0\0\0\0\0", 8);
}

static void array_beyond_the_end(struct make *m)
{
	make_key_array(m, "x.array", GGUF_U64, 1 << 20, "\0\0\0\0\0\0\0\0", 8);
}

static void strings_beyond_the_end(struct make *m)
{
	make_key_array(m, "x.array", GGUF_STRING, GGUF_ARRAY_MAX, NULL, 0);
}

static void alignment_of_zero(struct make *m)
{
	make_key_u32(m, "general.alignment", 0);
}

static void odd_alignment(struct make *m)
{
	make_key_u32(m, "general.alignment", 24);
}

static void huge_alignment(struct make *m)
{
	make_key_u32(m, "general.alignment", 0x80000000);
}

static void alignment_as_text(struct make *m)
{
	make_key_str(m, "general.alignment", "32");
}

static const uint64_t dims_good[2] = { 2, 2 };
static const float four[4] = { 1, 2, 3, 4 };

static void tensor_of_no_dimension(struct make *m)
{
	make_tensor(m, "t", 0, dims_good, GGUF_TENSOR_F32, four, sizeof(four));
}

static void tensor_of_five_dimensions(struct make *m)
{
	const uint64_t dims[5] = { 1, 1, 1, 1, 1 };
	make_tensor(m, "t", 5, dims, GGUF_TENSOR_F32, four, sizeof(four));
}

static void tensor_of_absurd_dimensions(struct make *m)
{
	make_info(m, "t", UINT32_MAX, NULL, 0, 0);
}

static void tensor_of_size_zero(struct make *m)
{
	const uint64_t dims[2] = { 2, 0 };
	make_tensor(m, "t", 2, dims, GGUF_TENSOR_F32, four, sizeof(four));
}

static void tensor_of_negative_size(struct make *m)
{
	const uint64_t dims[2] = { 2, (uint64_t)-2 };
	make_tensor(m, "t", 2, dims, GGUF_TENSOR_F32, four, sizeof(four));
}

static void elements_that_overflow(struct make *m)
{
	const uint64_t dims[3] = { 1 << 30, 1 << 30, 16 };
	make_tensor(m, "t", 3, dims, GGUF_TENSOR_F32, four, sizeof(four));
}

static void bytes_that_overflow(struct make *m)
{
	const uint64_t dims[2] = { UINT64_C(1) << 31, UINT64_C(1) << 31 };
	make_tensor(m, "t", 2, dims, GGUF_TENSOR_F32, four, sizeof(four));
}

static void tensor_of_unknown_type(struct make *m)
{
	make_tensor(m, "t", 2, dims_good, 1000, four, sizeof(four));
}

static void tensor_of_removed_type(struct make *m)
{
	make_tensor(m, "t", 2, dims_good, 4, four, sizeof(four));
}

static void offset_not_aligned(struct make *m)
{
	make_tensor(m, "u", 2, dims_good, GGUF_TENSOR_F32, four, sizeof(four));
	make_info(m, "t", 1, dims_good, GGUF_TENSOR_F32, 4);
}

static void offset_beyond_the_end(struct make *m)
{
	make_info(m, "t", 1, dims_good, GGUF_TENSOR_F32, 1 << 20);
}

static void offset_that_overflows(struct make *m)
{
	make_info(m, "t", 1, dims_good, GGUF_TENSOR_F32, UINT64_MAX - 31);
}

static void data_beyond_the_end(struct make *m)
{
	const uint64_t dims[2] = { 2, 3 };
	make_tensor(m, "t", 2, dims, GGUF_TENSOR_F32, four, sizeof(four));
}

static void tensor_twice(struct make *m)
{
	make_tensor(m, "t", 2, dims_good, GGUF_TENSOR_F32, four, sizeof(four));
	make_tensor(m, "t", 2, dims_good, GGUF_TENSOR_F32, four, sizeof(four));
}

static void tensors_over_each_other(struct make *m)
{
	make_tensor(m, "t", 2, dims_good, GGUF_TENSOR_F32, four, sizeof(four));
	make_info(m, "u", 1, dims_good, GGUF_TENSOR_F32, 0);
}

static void control_characters(struct make *m)
{
	make_key(m, "x\x1B[31m\n\xC2\x9B!\xFF\xC2\xBD", 13, "\0\0\0\0", 4);
}

static const struct {
	void (*make)(struct make *m);
	const char *want;
} hostile[] = {
	{ bad_version, "it is GGUF of version 1; only versions 2 and 3 are read" },
	{ other_byte_order, "it is GGUF of version 50331648; only versions 2 and 3 are read" },
	{ absurd_keys, "it claims 18446744073709551615 keys, more than the limit of 65536" },
	{ keys_without_room, "it claims 65536 keys, more than it has room for" },
	{ absurd_tensors, "it claims 9223372036854775808 tensors, more than the limit of 65536" },
	{ tensors_without_room, "it claims 65536 tensors, more than it has room for" },
	{ one_key_too_many, "a key or tensor has no name" },
	{ key_name_beyond_the_end,
	        "the name of a key or tensor reaches beyond the end of the file" },
	{ key_name_too_long,
	        "the name of a key or tensor has 65536 bytes, more than the limit of 65535" },
	{ key_of_unknown_type, "key 'x.type' has the unknown type 13" },
	{ key_twice, "key 'x.twice' is there twice" },
	{ string_beyond_the_end, "the value of key 'x.string' reaches beyond the end of the file" },
	{ array_in_array, "key 'x.nested' holds arrays inside an array, which are not supported" },
	{ array_of_unknown_type, "key 'x.array' has the unknown type 99" },
	{ array_of_absurd_length, "key 'x.array' claims 2305843009213693952 elements, more than "
	                          "the limit of 16777216" },
	{ array_beyond_the_end, "the value of key 'x.array' reaches beyond the end of the file" },
	{ strings_beyond_the_end, "the value of key 'x.array' reaches beyond the end of the file" },
	{ alignment_of_zero, "key 'general.alignment' is 0, which is not within 8 to 65536" },
	{ odd_alignment, "key 'general.alignment' is 24, which is no power of two" },
	{ huge_alignment, "key 'general.alignment' is 2147483648, which is not within 8 to 65536" },
	{ alignment_as_text, "key 'general.alignment' has the type string instead of u32" },
	{ tensor_of_no_dimension, "tensor 't' has 0 dimensions, not 1 to 4" },
	{ tensor_of_five_dimensions, "tensor 't' has 5 dimensions, not 1 to 4" },
	{ tensor_of_absurd_dimensions, "tensor 't' has 4294967295 dimensions, not 1 to 4" },
	{ tensor_of_size_zero, "dimension 1 of tensor 't' is 0, which is not positive" },
	{ tensor_of_negative_size, "dimension 1 of tensor 't' is -2, which is not positive" },
	{ elements_that_overflow, "the dimensions of tensor 't' are too large" },
	{ bytes_that_overflow, "the dimensions of tensor 't' are too large" },
	{ tensor_of_unknown_type, "tensor 't' has the unknown type 1000" },
	{ tensor_of_removed_type, "tensor 't' has the unknown type 4" },
	{ offset_not_aligned, "the data of tensor 't' is not aligned to 32 bytes" },
	{ offset_beyond_the_end, "the data of tensor 't' reaches beyond the end of the file" },
	{ offset_that_overflows, "the data of tensor 't' reaches beyond the end of the file" },
	{ data_beyond_the_end, "the data of tensor 't' reaches beyond the end of the file" },
	{ tensor_twice, "tensor 't' is there twice" },
	{ tensors_over_each_other, "the data of tensor 'u' overlaps that of another" },
	{ control_characters, "key 'x?[31m?"
	                      "?"
	                      "?!?\xC2\xBD' has the unknown type 13" },
};

static void a_hostile_file_is_refused_with_its_reason(void)
{
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		struct make m = make_begin();
		AUTO(auto_buf) struct buf image = { 0 };
		struct gguf *file;
		struct err err = { 0 };
		hostile[i].make(&m);
		make_image(&m, &image);
		if (!CHECK(!gguf_parse(image.s, image.len, &file, &err)))
			gguf_close(file);
		CHECK_INT(err.kind, ERR_INPUT);
		CHECK_STR(err.text, hostile[i].want);
		make_release(&m);
	}
}

static void something_else_is_no_gguf(void)
{
	const struct str cases[] = { STR(""), STR("GGU"), STR("GGML\3\0\0\0"), STR("<html>") };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct gguf *file;
		struct err err = { 0 };
		CHECK(!gguf_parse(cases[i].s, cases[i].len, &file, &err));
		CHECK_STR(err.text, "it does not begin with 'GGUF' as a model does");
	}
}

/* The file is copied to memory of its own size, so that a sanitizer sees a read beyond its end. */
static bool parses(const char *bytes, size_t n)
{
	struct gguf *file;
	struct err err;
	char *copy = malloc(n ? n : 1);
	memcpy(copy, bytes, n);
	bool ok = gguf_parse(copy, n, &file, &err);
	if (ok)
		gguf_close(file);
	free(copy);
	return ok;
}

static void no_shortened_file_is_accepted(void)
{
	struct make m = make_begin();
	AUTO(auto_buf) struct buf image = { 0 };
	make_good(&m);
	make_image(&m, &image);
	CHECK(parses(image.s, image.len));
	for (size_t n = 0; n < image.len; n++)
		if (!CHECK(!parses(image.s, n)))
			printf("#   cut after %zu of %zu bytes\n", n, image.len);
	make_release(&m);
}

static void no_changed_byte_leads_outside_the_file(void)
{
	static const unsigned char masks[] = { 0x01, 0x80, 0xFF };
	struct make m = make_begin();
	AUTO(auto_buf) struct buf image = { 0 };
	size_t n_refused = 0;
	make_good(&m);
	make_image(&m, &image);
	for (size_t i = 0; i < image.len; i++) {
		for (size_t j = 0; j < ARRAY_LEN(masks); j++) {
			image.s[i] ^= (char)masks[j];
			n_refused += !parses(image.s, image.len);
			image.s[i] ^= (char)masks[j];
		}
	}
	CHECK(n_refused > image.len / 2);
	CHECK(parses(image.s, image.len));
	make_release(&m);
}

static void a_wrong_value_is_named(void)
{
	struct make m = make_begin();
	AUTO(auto_buf) struct buf image = { 0 };
	struct gguf *file;
	struct err err = { 0 };
	int64_t number;
	double real;
	bool flag;
	struct str text;
	const struct gguf_value *array;
	make_good(&m);
	make_key_f32(&m, "a.nan", NAN);
	make_image(&m, &image);
	if (!CHECK(gguf_parse(image.s, image.len, &file, &err)))
		return;
	CHECK(!gguf_int(file, "no.such", 0, 1, &number, &err));
	CHECK_STR(err.text, "key 'no.such' is missing");
	CHECK(!gguf_int(file, "a.number", 0, 41, &number, &err));
	CHECK_STR(err.text, "key 'a.number' is 42, which is not within 0 to 41");
	CHECK(!gguf_int(file, "a.numbers", 0, 41, &number, &err));
	CHECK_STR(err.text, "key 'a.numbers' has the type array instead of u32");
	CHECK(!gguf_real(file, "a.nan", 0, 1, &real, &err));
	CHECK_STR(err.text, "key 'a.nan' is nan, which is not within 0 to 1");
	CHECK(!gguf_real(file, "a.number", 0, 1, &real, &err));
	CHECK_STR(err.text, "key 'a.number' has the type u32 instead of f32");
	CHECK(!gguf_bool(file, "a.text", &flag, &err));
	CHECK_STR(err.text, "key 'a.text' has the type string instead of bool");
	CHECK(!gguf_string(file, "a.flag", &text, &err));
	CHECK_STR(err.text, "key 'a.flag' has the type bool instead of string");
	CHECK(!gguf_array(file, "a.numbers", GGUF_F32, 3, &array, &err));
	CHECK_STR(err.text, "key 'a.numbers' is an array of i32 instead of f32");
	CHECK(!gguf_array(file, "a.numbers", GGUF_I32, 4, &array, &err));
	CHECK_STR(err.text, "key 'a.numbers' has 3 elements instead of 4");
	gguf_close(file);
	make_release(&m);
}

static void a_quantised_tensor_is_listed_but_not_read(void)
{
	struct make m = make_begin();
	AUTO(auto_buf) struct buf image = { 0 };
	struct gguf *file;
	struct err err = { 0 };
	float values[4];
	make_tensor(&m, "t", 2, dims_good, 12, four, sizeof(four));
	make_image(&m, &image);
	if (CHECK(gguf_parse(image.s, image.len, &file, &err))) {
		CHECK(!gguf_read_f32(gguf_tensor(file, "t"), values, &err));
		CHECK_STR(
		        err.text, "tensor 't' has the type Q4_K; only F32, F16 and BF16 are read");
		gguf_close(file);
	}
	make_release(&m);
}

static void opening_names_the_file(void)
{
	char path[] = "/tmp/venturi-test-XXXXXX";
	char want[256];
	struct gguf *file;
	struct err err = { 0 };
	CHECK(!gguf_open("/nonexistent/a.gguf", &file, &err));
	CHECK_STR(err.text, "cannot open '/nonexistent/a.gguf': No such file or directory");
	CHECK(!gguf_open("/", &file, &err));
	CHECK_STR(err.text, "'/' is not a regular file");
	int fd = mkstemp(path);
	if (CHECK(fd >= 0)) {
		CHECK(!gguf_open(path, &file, &err));
		snprintf(want, sizeof(want), "'%s': it does not begin with 'GGUF' as a model does",
		        path);
		CHECK_STR(err.text, want);
		close(fd);
		unlink(path);
	}
}

static void a_long_name_is_shortened_between_characters(void)
{
	char out[GGUF_QUOTE], name[400];
	for (size_t i = 0; i < sizeof(name); i += 4)
		memcpy(name + i, "\xF0\x9F\xA6\x8A", 4);
	gguf_quote((struct str){ name, sizeof(name) }, out);
	size_t n = strlen(out);
	CHECK(n > 80 && n < GGUF_QUOTE);
	CHECK(utf8_valid(out, n));
	CHECK_STR(out + n - 3, "...");
	CHECK_STR(gguf_quote(STR("short"), out), "short");
}

int main(void)
{
	TAP_RUN(a_good_file_is_read);
	TAP_RUN(every_whole_number_type_is_read_with_its_sign);
	TAP_RUN(small_float_types_become_float32);
	TAP_RUN(a_hostile_file_is_refused_with_its_reason);
	TAP_RUN(something_else_is_no_gguf);
	TAP_RUN(no_shortened_file_is_accepted);
	TAP_RUN(no_changed_byte_leads_outside_the_file);
	TAP_RUN(a_wrong_value_is_named);
	TAP_RUN(a_quantised_tensor_is_listed_but_not_read);
	TAP_RUN(opening_names_the_file);
	TAP_RUN(a_long_name_is_shortened_between_characters);
	return tap_done();
}
