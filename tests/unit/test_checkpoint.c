#include "engine/checkpoint.h"

#include "base/attr.h"
#include "base/clock.h"
#include "folder_make.h"
#include "tap.h"

#include <math.h>

static const float numbers[] = { 1, -2.5f, 0, 1e-40f, 3e38f, INFINITY };

static struct checkpoint *open_path(const char *path)
{
	struct checkpoint *c = NULL;
	struct err err = { 0 };
	if (!CHECK(checkpoint_open(path, &c, &err)))
		printf("#   %s\n", err.text);
	return c;
}

/* The error of a file with that header and n zero bytes behind it, "" when it opens. */
static const char *error_of(const char *header, size_t n)
{
	static const char zeros[256];
	static struct err err;
	struct folder f = folder_begin();
	struct checkpoint *c = NULL;
	err.text[0] = '\0';
	folder_safetensors(&f, "model.safetensors", header, zeros, n);
	if (checkpoint_open(f.path, &c, &err))
		checkpoint_close(c);
	folder_end(&f);
	return err.text;
}

static void values_come_out_as_they_went_in(void)
{
	struct folder f = folder_begin();
	struct err err;
	float *values;
	folder_safetensors(&f, "model.safetensors",
	        "{\"__metadata__\":{\"format\":\"pt\"},"
	        "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
	        numbers, sizeof(numbers));
	struct checkpoint *c = open_path(f.path);
	if (!c)
		return;
	CHECK(checkpoint_has(c, "a"));
	CHECK(!checkpoint_has(c, "b"));
	CHECK(!checkpoint_has(c, "__metadata__"));
	if (CHECK(checkpoint_read(c, "a", (int64_t[]){ 2, 3 }, 2, &values, &err))) {
		CHECK(memcmp(values, numbers, sizeof(numbers)) == 0);
		free(values);
	}
	checkpoint_close(c);
	/* The file itself will do too. */
	c = open_path(folder_file(&f, "model.safetensors"));
	CHECK(c && checkpoint_has(c, "a"));
	checkpoint_close(c);
	folder_end(&f);
}

static void every_type_of_number_becomes_float32(void)
{
	/* By numpy and by the definition of bfloat16: 1, -2.5, 0, the least subnormal, infinity. */
	static const uint16_t halves[] = { 0x3C00, 0xC100, 0x8000, 0x0001, 0x7C00, 0x3555, 0x83FF };
	static const uint16_t brains[] = { 0x3F80, 0xC020, 0x8000, 0x0001, 0x7F80 };
	static const double doubles[] = { 1, -2.5, 1.0 / 3 };
	static const float want_halves[] = { 1, -2.5f, -0.0f, 5.9604645e-08f, INFINITY,
		0.333251953f, -6.0975552e-05f };
	static const float want_brains[] = { 1, -2.5f, -0.0f, 9.1835496e-41f, INFINITY };
	char data[sizeof(halves) + sizeof(brains) + sizeof(doubles)];
	struct folder f = folder_begin();
	struct err err;
	float *values;
	memcpy(data, halves, sizeof(halves));
	memcpy(data + 14, brains, sizeof(brains));
	memcpy(data + 24, doubles, sizeof(doubles));
	folder_safetensors(&f, "model.safetensors",
	        "{\"h\":{\"dtype\":\"F16\",\"shape\":[7],\"data_offsets\":[0,14]},"
	        "\"b\":{\"dtype\":\"BF16\",\"shape\":[5],\"data_offsets\":[14,24]},"
	        "\"d\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[24,48]}}",
	        data, sizeof(data));
	struct checkpoint *c = open_path(f.path);
	if (!c)
		return;
	if (CHECK(checkpoint_read(c, "h", (int64_t[]){ 7 }, 1, &values, &err))) {
		CHECK(memcmp(values, want_halves, sizeof(want_halves)) == 0);
		free(values);
	}
	if (CHECK(checkpoint_read(c, "b", (int64_t[]){ 5 }, 1, &values, &err))) {
		CHECK(memcmp(values, want_brains, sizeof(want_brains)) == 0);
		free(values);
	}
	if (CHECK(checkpoint_read(c, "d", (int64_t[]){ 3 }, 1, &values, &err))) {
		CHECK(values[0] == 1 && values[1] == -2.5f && values[2] == 1.0f / 3);
		free(values);
	}
	checkpoint_close(c);
	folder_end(&f);
}

static void many_values_are_converted_chunk_by_chunk(void)
{
	enum { N = 200001 };
	uint16_t *brains = malloc(N * sizeof(*brains));
	char header[200];
	struct folder f = folder_begin();
	struct err err;
	float *values;
	for (size_t i = 0; i < N; i++)
		brains[i] = (uint16_t)(i % 0x7F00);
	snprintf(header, sizeof(header),
	        "{\"b\":{\"dtype\":\"BF16\",\"shape\":[%d],\"data_offsets\":[0,%d]}}", N, 2 * N);
	folder_safetensors(&f, "model.safetensors", header, brains, N * sizeof(*brains));
	struct checkpoint *c = open_path(f.path);
	if (c && CHECK(checkpoint_read(c, "b", (int64_t[]){ N }, 1, &values, &err))) {
		size_t n_wrong = 0;
		for (size_t i = 0; i < N; i++) {
			uint32_t bits;
			memcpy(&bits, &values[i], sizeof(bits));
			n_wrong += bits != (uint32_t)brains[i] << 16;
		}
		CHECK_INT(n_wrong, 0);
		free(values);
	}
	checkpoint_close(c);
	free(brains);
	folder_end(&f);
}

static void a_wrong_header_is_refused_by_what_is_wrong(void)
{
	static const struct {
		const char *header;
		size_t n;
		const char *says;
	} cases[] = {
		{ "", 0, "no JSON object" },
		{ "[]", 0, "no JSON object" },
		{ "{\"a\":", 0, "no JSON object" },
		{ "{\"a\":1}", 0, "'dtype' of tensor 'a'" },
		{ "{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "'dtype' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "'shape' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
		        "'shape' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4,
		        "'shape' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],"
		  "\"data_offsets\":[0,4]}}",
		        4, "'shape' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4],"
		  "\"data_offsets\":[0,4]}}",
		        4, "'shape' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],"
		  "\"data_offsets\":[0,4]}}",
		        4, "has 4 bytes" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "'data_offsets' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", 4,
		        "'data_offsets' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
		        "'data_offsets' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4,
		        "'data_offsets' of" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4,
		        "ends at byte 8 of 4" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		        "has 4 bytes, which is not what 2 values of F32" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
		  "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}",
		        6, "'a' and 'b' share bytes" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
		  "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
		        12, "bytes from 4 on that belong to no tensor" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
		        "bytes from 4 on" },
		{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
		  "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
		        8, "no JSON object" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *text = error_of(cases[i].header, cases[i].n);
		if (!CHECK(strstr(text, cases[i].says)) ||
		        !CHECK(strstr(text, "/model.safetensors'")))
			printf("#   %s: '%s'\n", cases[i].header, text);
	}
	CHECK_STR(error_of("{}", 0), "");
	CHECK_STR(error_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0),
	        "");
}

static void a_length_that_is_not_there_is_refused(void)
{
	static const struct {
		const char bytes[9];
		size_t n;
		const char *says;
	} cases[] = {
		{ "\x02", 1, "too short" },
		{ "", 0, "too short" },
		{ "\x02\0\0\0\0\0\0\0", 8, "a header of 2 bytes in a file of 8" },
		{ "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, "no safetensors file" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct folder f = folder_begin();
		struct checkpoint *c;
		struct err err = { 0 };
		folder_bytes(&f, "model.safetensors", cases[i].bytes, cases[i].n);
		CHECK(!checkpoint_open(f.path, &c, &err));
		if (!CHECK(strstr(err.text, cases[i].says)))
			printf("#   '%s'\n", err.text);
		folder_end(&f);
	}
}

static void another_shape_is_refused_with_both(void)
{
	struct folder f = folder_begin();
	struct err err = { 0 };
	float *values;
	folder_safetensors(&f, "model.safetensors",
	        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
	        "\"i\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[24,32]}}",
	        "01234567890123456789012345678901", 32);
	struct checkpoint *c = open_path(f.path);
	if (!c)
		return;
	CHECK(!checkpoint_read(c, "a", (int64_t[]){ 3, 2 }, 2, &values, &err));
	CHECK(strstr(err.text, "tensor 'a' is [2, 3] instead of [3, 2]"));
	CHECK(strstr(err.text, "model.safetensors"));
	CHECK(!checkpoint_read(c, "a", (int64_t[]){ 6 }, 1, &values, &err));
	CHECK(strstr(err.text, "is [2, 3] instead of [6]"));
	CHECK(!checkpoint_read(c, "b", (int64_t[]){ 6 }, 1, &values, &err));
	CHECK(strstr(err.text, "has no tensor 'b'"));
	CHECK(!checkpoint_read(c, "i", (int64_t[]){ 1 }, 1, &values, &err));
	CHECK(strstr(err.text, "of type I64"));
	CHECK_INT(err.kind, ERR_INPUT);
	checkpoint_close(c);
	folder_end(&f);
}

static void a_file_that_shrinks_is_an_error(void)
{
	struct folder f = folder_begin();
	struct err err = { 0 };
	float *values;
	folder_safetensors(&f, "model.safetensors",
	        "{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}", numbers,
	        sizeof(numbers));
	struct checkpoint *c = open_path(f.path);
	CHECK(truncate(folder_file(&f, "model.safetensors"), 70) == 0);
	if (c)
		CHECK(!checkpoint_read(c, "a", (int64_t[]){ 6 }, 1, &values, &err));
	CHECK(strstr(err.text, "before its tensors do"));
	checkpoint_close(c);
	folder_end(&f);
}

static void old_names_of_norms_are_found(void)
{
	struct folder f = folder_begin();
	struct err err;
	float *values;
	folder_safetensors(&f, "model.safetensors",
	        "{\"x.LayerNorm.gamma\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
	        "\"x.LayerNorm.beta\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[8,24]}}",
	        numbers, sizeof(numbers));
	struct checkpoint *c = open_path(f.path);
	if (!c)
		return;
	CHECK(checkpoint_has(c, "x.LayerNorm.weight"));
	CHECK(!checkpoint_has(c, "y.LayerNorm.weight"));
	if (CHECK(checkpoint_read(c, "x.LayerNorm.bias", (int64_t[]){ 4 }, 1, &values, &err))) {
		CHECK(memcmp(values, numbers + 2, 16) == 0);
		free(values);
	}
	checkpoint_close(c);
	folder_end(&f);
}

static const char shard_a[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
static const char shard_b[] = "{\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}";

static void tensors_may_be_spread_over_files(void)
{
	struct folder f = folder_begin();
	struct err err;
	float *values;
	folder_safetensors(&f, "m-1.safetensors", shard_a, numbers, 8);
	folder_safetensors(&f, "m-2.safetensors", shard_b, numbers + 2, 16);
	folder_text(&f, "model.safetensors.index.json",
	        "{\"metadata\":{\"total_size\":24},\"weight_map\":{\"a\":\"m-1.safetensors\","
	        "\"b\":\"m-2.safetensors\"}}");
	struct checkpoint *c = open_path(f.path);
	if (c && CHECK(checkpoint_read(c, "b", (int64_t[]){ 4 }, 1, &values, &err))) {
		CHECK(memcmp(values, numbers + 2, 16) == 0);
		free(values);
	}
	CHECK(c && checkpoint_has(c, "a"));
	checkpoint_close(c);
	folder_end(&f);
}

static void a_wrong_index_is_refused(void)
{
	static const struct {
		const char *index, *says;
	} cases[] = {
		{ "{}", "no 'weight_map'" },
		{ "[", "is no JSON" },
		{ "{\"weight_map\":{}}", "no 'weight_map'" },
		{ "{\"weight_map\":{\"a\":7}}", "no name of a file beside it" },
		{ "{\"weight_map\":{\"a\":\"../m-1.safetensors\"}}", "no name of a file" },
		{ "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "no name of a file" },
		{ "{\"weight_map\":{\"a\":\"m-3.safetensors\"}}", "cannot open" },
		{ "{\"weight_map\":{\"a\":\"m-2.safetensors\"}}", "not in the file" },
		{ "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"c\":\"m-2.safetensors\"}}",
		        "tensor 'c' is not in the file" },
		{ "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"b\":\"m-4.safetensors\"}}",
		        "tensor 'a' is in " },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct folder f = folder_begin();
		struct checkpoint *c;
		struct err err = { 0 };
		folder_safetensors(&f, "m-1.safetensors", shard_a, numbers, 8);
		folder_safetensors(&f, "m-2.safetensors", shard_b, numbers + 2, 16);
		folder_safetensors(&f, "m-4.safetensors", shard_a, numbers, 8);
		folder_text(&f, "model.safetensors.index.json", cases[i].index);
		CHECK(!checkpoint_open(f.path, &c, &err));
		if (!CHECK(strstr(err.text, cases[i].says)))
			printf("#   %s: '%s'\n", cases[i].index, err.text);
		folder_end(&f);
	}
}

static void a_folder_without_weights_says_what_was_looked_for(void)
{
	struct folder f = folder_begin();
	struct checkpoint *c;
	struct err err = { 0 };
	CHECK(!checkpoint_open(f.path, &c, &err));
	CHECK(strstr(err.text, "neither 'model.safetensors' nor"));
	CHECK_STR(err.hint, "");
	folder_text(&f, "pytorch_model.bin", "");
	CHECK(!checkpoint_open(f.path, &c, &err));
	CHECK(strstr(err.hint, "safetensors"));
	CHECK(!checkpoint_open("/nowhere", &c, &err));
	CHECK(strstr(err.text, "cannot open '/nowhere'"));
	folder_end(&f);
}

static void random_weights_are_nearly_normal_and_repeat(void)
{
	enum { N = 1 << 18 };
	struct checkpoint *c = checkpoint_random(7, 0.02f), *d = checkpoint_random(7, 0.02f),
	                  *other = checkpoint_random(8, 0.02f);
	struct err err;
	float *x, *y, *z, *w;
	double mean = 0, square = 0, fourth = 0;
	CHECK(checkpoint_has(c, "anything"));
	CHECK(checkpoint_read(c, "a.weight", (int64_t[]){ N }, 1, &x, &err));
	CHECK(checkpoint_read(d, "a.weight", (int64_t[]){ N / 2, 2 }, 2, &y, &err));
	CHECK(checkpoint_read(d, "b.weight", (int64_t[]){ N }, 1, &z, &err));
	CHECK(checkpoint_read(other, "a.weight", (int64_t[]){ N }, 1, &w, &err));
	CHECK(memcmp(x, y, N * sizeof(*x)) == 0);
	double same_z = 0, same_w = 0;
	for (size_t i = 0; i < N; i++) {
		mean += x[i] / N;
		square += (double)x[i] * x[i] / N;
		fourth += pow(x[i], 4) / N;
		same_z += (double)x[i] * z[i] / N;
		same_w += (double)x[i] * w[i] / N;
	}
	/* Five standard errors: 0.02 / 512 of the mean, its square over 512 of a product. */
	CHECK_NEAR(mean, 0, 5 * 0.02 / 512);
	CHECK_NEAR(sqrt(square), 0.02, 5 * 0.02 / 512);
	CHECK_NEAR(same_z, 0, 5 * 0.0004 / 512);
	CHECK_NEAR(same_w, 0, 5 * 0.0004 / 512);
	/* Four uniform ones: 3 - 1.2 / 4. */
	CHECK_NEAR(fourth / (square * square), 2.7, 0.05);
	free(x), free(y), free(z), free(w);
	checkpoint_close(c), checkpoint_close(d), checkpoint_close(other);
}

static void random_norms_are_near_one_and_biases_zero(void)
{
	static const char *const norms[] = { "e.LayerNorm.weight", "l.0.sa_layer_norm.weight" };
	struct checkpoint *c = checkpoint_random(7, 0.02f);
	struct err err;
	float *x;
	for (size_t i = 0; i < ARRAY_LEN(norms); i++) {
		double mean = 0;
		CHECK(checkpoint_read(c, norms[i], (int64_t[]){ 1024 }, 1, &x, &err));
		for (size_t k = 0; k < 1024; k++)
			mean += x[k] / 1024;
		CHECK_NEAR(mean, 1, 5 * 0.02 / 32);
		CHECK(x[0] != x[1]);
		free(x);
	}
	CHECK(checkpoint_read(c, "e.LayerNorm.bias", (int64_t[]){ 4 }, 1, &x, &err));
	CHECK(x[0] == 0 && x[3] == 0);
	free(x);
	checkpoint_close(c);
}

static void the_weights_of_a_trained_model_are_read(void)
{
	const char *path = tap_shared("data/models/tickets/model.safetensors");
	struct err err;
	float *x;
	double sum = 0;
	if (!path) {
		tap_skip("the model is not here");
		return;
	}
	struct checkpoint *c = open_path(path);
	if (!c)
		return;
	CHECK(checkpoint_read(c, "classifier.weight", (int64_t[]){ 8, 128 }, 2, &x, &err));
	for (size_t i = 0; i < 8 * 128; i++)
		sum += fabs(x[i]);
	CHECK(sum > 1 && sum < 1024);
	free(x);
	checkpoint_close(c);
}

int main(void)
{
	TAP_RUN(values_come_out_as_they_went_in);
	TAP_RUN(every_type_of_number_becomes_float32);
	TAP_RUN(many_values_are_converted_chunk_by_chunk);
	TAP_RUN(a_wrong_header_is_refused_by_what_is_wrong);
	TAP_RUN(a_length_that_is_not_there_is_refused);
	TAP_RUN(another_shape_is_refused_with_both);
	TAP_RUN(a_file_that_shrinks_is_an_error);
	TAP_RUN(old_names_of_norms_are_found);
	TAP_RUN(tensors_may_be_spread_over_files);
	TAP_RUN(a_wrong_index_is_refused);
	TAP_RUN(a_folder_without_weights_says_what_was_looked_for);
	TAP_RUN(random_weights_are_nearly_normal_and_repeat);
	TAP_RUN(random_norms_are_near_one_and_biases_zero);
	TAP_RUN(the_weights_of_a_trained_model_are_read);
	return tap_done();
}
