/*
 * json_scan.h - reads JSON in place without building a tree: for hot paths that want a few fields.
 *
 * A scanner stands before a value. Objects and arrays are walked with _next; what is not wanted is
 * skipped. Nothing is allocated and nothing recurses: depth is limited only by JSON_SCAN_DEPTH
 * when skipping. Input that is not JSON turns `failed` on and ends every walk.
 *
 *	struct json_scan s = json_scan_of(text);
 *	struct str key;
 *	if (json_scan_object(&s))
 *		while (json_scan_key(&s, &key))
 *			if (str_eq(key, STR("usage"))) ... else json_scan_skip(&s);
 */
#ifndef VENTURI_TEXT_JSON_SCAN_H
#define VENTURI_TEXT_JSON_SCAN_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_SCAN_DEPTH = 512 };

enum json_type {
	JSON_NONE, /* end of input, or not JSON */
	JSON_OBJECT,
	JSON_ARRAY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

struct json_scan {
	const char *p;
	const char *end;
	bool failed;
};

struct json_scan json_scan_of(struct str text);
/* The type of the value that the scanner stands before. */
enum json_type json_scan_type(struct json_scan *s);
/* Enters an object or array; false (and nothing consumed) when the value is of another type. */
bool json_scan_object(struct json_scan *s);
bool json_scan_array(struct json_scan *s);
/*
 * The next key of the object entered; the scanner then stands before its value, which must be
 * read or skipped. False at the closing brace (consumed) or on failure. The key is raw: escapes
 * are not resolved.
 */
bool json_scan_key(struct json_scan *s, struct str *ret_key);
/* Stands before the next element; false at the closing bracket (consumed) or on failure. */
bool json_scan_element(struct json_scan *s);
/* The string between its quotes, escapes not resolved. False for another type (not consumed). */
bool json_scan_string(struct json_scan *s, struct str *ret_raw);
bool json_scan_double(struct json_scan *s, double *ret_value);
bool json_scan_int(struct json_scan *s, int64_t *ret_value);
/* Skips one value of any kind. */
void json_scan_skip(struct json_scan *s);
/* The whole text of one value, skipped. */
struct str json_scan_raw(struct json_scan *s);
/* Resolves escapes (surrogate pairs too) of a raw string into out. False when one is wrong. */
bool json_unescape(struct str raw, struct buf *out);

#endif
