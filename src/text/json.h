/*
 * json.h - writes JSON into a buffer: commas, nesting, escaping, and numbers that are never NaN.
 *
 * Calls follow the document: json_object_open, json_key, a value, json_object_close. Invalid UTF-8
 * in strings becomes U+FFFD. Misuse (a value without a key inside an object) is an assert.
 *
 * None of the names is one of jansson's: both are linked into one program.
 */
#ifndef VENTURI_TEXT_JSON_H
#define VENTURI_TEXT_JSON_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_DEPTH_MAX = 32 };

struct json {
	struct buf *out;
	int depth;
	bool pretty; /* indent by two spaces */
	/* inside */
	char open[JSON_DEPTH_MAX];
	bool has_items[JSON_DEPTH_MAX];
	bool after_key;
};

void json_init(struct json *j, struct buf *out, bool pretty);
void json_object_open(struct json *j);
void json_object_close(struct json *j);
void json_array_open(struct json *j);
void json_array_close(struct json *j);
void json_key(struct json *j, const char *name);
void json_str(struct json *j, struct str value);
void json_str_c(struct json *j, const char *value); /* NULL writes null */
void json_int(struct json *j, int64_t value);
/* NaN and infinities write null; at most 9 significant digits, no trailing zeros. */
void json_double(struct json *j, double value);
void json_bool(struct json *j, bool value);
void json_nil(struct json *j);
/* A value that is JSON already, as it is; the caller vouches for it. */
void json_raw(struct json *j, struct str value);

/* json_key and the value in one; the _present form writes nothing for NaN or NULL. */
void json_put_string(struct json *j, const char *name, const char *value);
void json_put_int(struct json *j, const char *name, int64_t value);
void json_put_double(struct json *j, const char *name, double value);
void json_put_bool(struct json *j, const char *name, bool value);
void json_put_string_present(struct json *j, const char *name, const char *value);
void json_put_double_present(struct json *j, const char *name, double value);

/* A JSON string literal with its quotes, appended to out. */
void json_escape(struct buf *out, struct str value);

#endif
