/*
 * fuzz_json_scan.c - any bytes as JSON: skipping and walking agree, and what jansson takes the
 * scanner takes too, with the same keys, strings and numbers.
 */
#include "text/json_scan.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH_MAX = 256 };

static void need(bool ok)
{
	if (!ok)
		abort();
}

/* By the walking calls down to a depth, by skipping below it. */
static void walk(struct json_scan *s, int depth)
{
	struct str text;
	double number;
	bool flag;
	if (depth > 0 && json_scan_object(s)) {
		while (json_scan_key(s, &text))
			walk(s, depth - 1);
	} else if (depth > 0 && json_scan_array(s)) {
		while (json_scan_element(s))
			walk(s, depth - 1);
	} else if (!json_scan_string(s, &text) && !json_scan_double(s, &number) &&
	           !json_scan_bool(s, &flag)) {
		json_scan_skip(s);
	}
}

static bool walks(struct str text, int depth)
{
	struct json_scan s = json_scan_of(text);
	walk(&s, depth);
	need(s.p <= s.end && (!s.failed || s.p == s.end));
	return json_scan_ended(&s);
}

static void compare(struct json_scan *s, const json_t *want);

static void compare_string(struct str raw, const char *want, size_t n)
{
	struct buf text = { 0 };
	need(json_unescape(raw, &text));
	need(str_eq(buf_str(&text), (struct str){ want, n }));
	buf_release(&text);
}

static void compare_object(struct json_scan *s, const json_t *want)
{
	struct str raw;
	size_t n = 0;
	need(json_scan_object(s));
	for (; json_scan_key(s, &raw); n++) {
		struct buf key = { 0 };
		need(json_unescape(raw, &key));
		const json_t *value = json_object_get(want, buf_str(&key).s);
		buf_release(&key);
		need(value != NULL);
		compare(s, value);
	}
	need(n == json_object_size(want));
}

static void compare_array(struct json_scan *s, const json_t *want)
{
	size_t n = 0;
	need(json_scan_array(s));
	for (; json_scan_element(s); n++)
		compare(s, json_array_get(want, n));
	need(n == json_array_size(want));
}

static void compare_number(struct json_scan *s, const json_t *want)
{
	double number;
	int64_t whole;
	if (json_is_integer(want)) {
		need(json_scan_int(s, &whole));
		need(whole == json_integer_value(want));
	} else {
		/* Only one with more digits than are ever read is refused. */
		if (!json_scan_double(s, &number)) {
			need(json_scan_raw(s).len > JSON_SCAN_NUMBER_MAX);
			return;
		}
		need(number == json_real_value(want));
	}
}

static void compare(struct json_scan *s, const json_t *want)
{
	struct str raw;
	bool flag;
	if (json_is_object(want)) {
		compare_object(s, want);
	} else if (json_is_array(want)) {
		compare_array(s, want);
	} else if (json_is_string(want)) {
		need(json_scan_string(s, &raw));
		compare_string(raw, json_string_value(want), json_string_length(want));
	} else if (json_is_number(want)) {
		compare_number(s, want);
	} else if (json_is_boolean(want)) {
		need(json_scan_bool(s, &flag));
		need(flag == json_is_true(want));
	} else {
		need(str_eq(json_scan_raw(s), STR("null")));
	}
}

/* Brackets of any kind, in strings or not: no document is nested deeper than it has brackets. */
static size_t count_brackets(struct str text)
{
	size_t n = 0;
	for (size_t i = 0; i < text.len; i++)
		n += text.s[i] == '[' || text.s[i] == '{';
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct buf plain = { 0 };
	size_t brackets = count_brackets(text);
	bool taken = walks(text, 0);
	if (brackets <= JSON_SCAN_DEPTH)
		for (int depth = 1; depth <= DEPTH_MAX; depth *= 4)
			need(walks(text, depth) == taken);
	if (!json_unescape(text, &plain))
		need(plain.len == 0);
	buf_release(&plain);

	json_t *want = json_loadb(
	        text.s, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
	/* jansson takes a NUL byte for the end of its input. */
	if (want && brackets <= JSON_SCAN_DEPTH && !memchr(data, '\0', size)) {
		struct json_scan s = json_scan_of(text);
		need(taken);
		compare(&s, want);
		need(json_scan_ended(&s));
	}
	json_decref(want);
	return 0;
}
