/*
 * json_scan.h - reads JSON in place without building a tree: for hot paths that want a few fields.
 *
 * A scanner stands before a value. Objects and arrays are walked with _key and _element; what is
 * not wanted is skipped. Nothing is allocated and nothing recurses. Input that is not JSON turns
 * `failed` on and ends every walk; from then on every call returns false or nothing.
 *
 * The grammar is RFC 8259, checked also in what is skipped, with two exceptions in favour of the
 * files that are about: control characters are let through in strings, and neither escapes nor
 * UTF-8 are looked at before somebody wants them (json_unescape). What follows the document is the
 * caller's: json_scan_ended tells. jansson.h may be included beside this header.
 *
 *	struct json_scan s = json_scan_of(text);
 *	struct str key;
 *	if (json_scan_object(&s))
 *		while (json_scan_key(&s, &key))
 *			if (str_eq(key, STR("usage"))) ... else json_scan_skip(&s);
 *	if (s.failed) ...
 */
#ifndef VENTURI_TEXT_JSON_SCAN_H
#define VENTURI_TEXT_JSON_SCAN_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	JSON_SCAN_DEPTH = 512,       /* levels inside one value that is skipped */
	JSON_SCAN_NUMBER_MAX = 1024, /* bytes of a number that is read */
};

enum json_scan_type {
	JSON_SCAN_NONE, /* end of input, or not JSON */
	JSON_SCAN_OBJECT,
	JSON_SCAN_ARRAY,
	JSON_SCAN_STRING,
	JSON_SCAN_NUMBER,
	JSON_SCAN_TRUE,
	JSON_SCAN_FALSE,
	JSON_SCAN_NULL,
};

struct json_scan {
	const char *p;
	const char *end;
	bool failed;
	bool first; /* inside: just behind an opening bracket, where no comma stands */
};

struct json_scan json_scan_of(struct str text);
/* The type of the value that the scanner stands before, told by its first byte. */
enum json_scan_type json_scan_type(struct json_scan *s);
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
/*
 * A number. False, and nothing consumed, for another type, for a number that does not fit, and for
 * one of more than JSON_SCAN_NUMBER_MAX bytes; _int also for one that is not whole (12.0 and 1.2e1
 * are). The double is the nearest one.
 */
bool json_scan_double(struct json_scan *s, double *ret_value);
bool json_scan_int(struct json_scan *s, int64_t *ret_value);
/* true or false. False, and nothing consumed, for another type. */
bool json_scan_bool(struct json_scan *s, bool *ret_value);
/* Skips one value of any kind. */
void json_scan_skip(struct json_scan *s);
/* The whole text of one value, skipped; empty on failure. */
struct str json_scan_raw(struct json_scan *s);
/*
 * Where the string ends that starts at p, behind its opening quote: at its closing quote, or NULL
 * when there is none before end.
 */
const char *json_string_end(const char *p, const char *end);
/* Is all read but blanks, without failure? */
bool json_scan_ended(struct json_scan *s);
/*
 * Resolves escapes (surrogate pairs too) of a raw string and appends it to out. False when one is
 * wrong or a surrogate stands alone; out is then as before.
 */
bool json_unescape(struct str raw, struct buf *out);

#endif
