/*
 * Numbers and bytes as text, quickly: against strtof, printf and RFC 4648.
 */
#include "base/rng.h"
#include "tap.h"
#include "text/base64.h"
#include "text/shortest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS = 2000000, FLOATS_COMPARED = 200000 };

static const char *text_of(float value)
{
	static char text[SHORTEST_F32_MAX + 1];
	text[shortest_f32(value, text)] = '\0';
	return text;
}

static void known_floats_are_as_short_as_they_can_be(void)
{
	static const struct {
		float value;
		const char *text;
	} cases[] = {
		{ 0, "0" }, { -0.0F, "-0" }, { 1, "1" }, { -17, "-17" }, { 0.1F, "0.1" },
		{ 0.3F, "0.3" }, { -2.5F, "-2.5" }, { 123.456F, "123.456" },
		{ 0.000001F, "0.000001" }, { 0.0000005F, "5e-7" }, { 16777216, "16777216" },
		{ 1e15F, "1000000000000000" }, { 1e16F, "1e16" },
		{ 3.4028235e38F, "3.4028235e38" },    /* the largest */
		{ 1.17549435e-38F, "1.1754944e-38" }, /* the least normal one */
		{ 1.4e-45F, "1e-45" },                /* the least of all */
		{ 33554432, "33554432" },             /* a power of two: unequal neighbours */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(text_of(cases[i].value), cases[i].text);
}

static float any_finite_float(struct rng *rng)
{
	float value;
	do {
		uint32_t bits = (uint32_t)rng_u64(rng);
		memcpy(&value, &bits, sizeof(value));
	} while (!isfinite(value));
	return value;
}

static void every_float_reads_back_as_itself(void)
{
	struct rng rng;
	size_t n_wrong = 0;
	rng_init(&rng, 1);
	for (int i = 0; i < FLOATS; i++) {
		/* all of them, and as many of the size that embeddings have */
		float value = i % 2 ? any_finite_float(&rng) : (float)rng_normal(&rng) / 32;
		float read = strtof(text_of(value), NULL);
		n_wrong += memcmp(&value, &read, sizeof(value)) != 0;
	}
	CHECK_INT(n_wrong, 0);
}

/* The digits that printf needs for the same: those of its shortest text that reads back. */
static int digits_needed(float value)
{
	char text[32];
	for (int n = 1; n < 9; n++) {
		snprintf(text, sizeof(text), "%.*g", n, (double)value);
		if (strtof(text, NULL) == value)
			return n;
	}
	return 9;
}

static int digits_written(const char *text)
{
	int n = 0;
	for (text += strspn(text, "-0."); *text && *text != 'e'; text++)
		n += *text != '.';
	return n;
}

static void no_shorter_text_would_do(void)
{
	struct rng rng;
	size_t n_wrong = 0;
	rng_init(&rng, 2);
	for (int i = 0; i < FLOATS_COMPARED; i++) {
		float value = i % 2 ? any_finite_float(&rng) : (float)rng_normal(&rng) / 32;
		if (value == nearbyintf(value))
			continue; /* written whole, zeros and all */
		n_wrong += digits_written(text_of(value)) > digits_needed(value);
	}
	CHECK_INT(n_wrong, 0);
}

static void an_array_is_json_also_with_what_is_no_number(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	const float values[] = { 1, -0.5F, NAN, INFINITY, 1e-20F };
	shortest_add_array(&out, values, ARRAY_LEN(values));
	CHECK_STR(out.s, "[1,-0.5,null,null,1e-20]");
	buf_clear(&out);
	shortest_add_array(&out, values, 0);
	CHECK_STR(out.s, "[]");
}

static void base64_is_that_of_the_rfc(void)
{
	static const char *const texts[] = { "", "f", "fo", "foo", "foob", "fooba", "foobar" };
	static const char *const codes[] = { "", "Zg==", "Zm8=", "Zm9v",
		"Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" }; /* RFC 4648, section 10 */
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		base64_add(&out, texts[i], strlen(texts[i]));
		CHECK_STR(out.s, codes[i]);
	}
	AUTO(auto_buf) struct buf out = { 0 };
	base64_add(&out, "\xfb\xff\xbf", 3);
	CHECK_STR(out.s, "+/+/");
}

int main(void)
{
	TAP_RUN(known_floats_are_as_short_as_they_can_be);
	TAP_RUN(every_float_reads_back_as_itself);
	TAP_RUN(no_shorter_text_would_do);
	TAP_RUN(an_array_is_json_also_with_what_is_no_number);
	TAP_RUN(base64_is_that_of_the_rfc);
	return tap_done();
}
