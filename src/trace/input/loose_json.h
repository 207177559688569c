/*
 * loose_json.h - walks JSON that may be damaged: NaN and bare words, commas too many, brackets that
 * do not fit, an end anywhere. What can be read is read; nothing fails, `broken` counts the places
 * where something else stood than JSON allows.
 *
 * A cursor stands before a value. Objects and arrays are entered and walked with _key and _element,
 * as with json_scan; a value that is not entered is taken whole with _value. Nothing recurses, and
 * every call moves on.
 *
 *	struct loose_json j = loose_json_of(text);
 *	struct str key;
 *	if (loose_json_enter(&j, '{'))
 *		while (loose_json_key(&j, &key))
 *			struct str value = loose_json_value(&j);
 */
#ifndef VENTURI_TRACE_LOOSE_JSON_H
#define VENTURI_TRACE_LOOSE_JSON_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct loose_json {
	const char *p, *end;
	int64_t broken;
	bool cut; /* the text ended inside an object, an array or a string */
};

struct loose_json loose_json_of(struct str text);
/* Enters what this bracket opens; false, and nothing is consumed, when something else stands. */
bool loose_json_enter(struct loose_json *j, char bracket);
/*
 * The next key of the object entered, escapes unresolved; the value behind it must be entered or
 * taken. False behind the closing brace, and at the end of the text.
 */
bool loose_json_key(struct loose_json *j, struct str *ret_key);
/* Stands before the next element; false behind the closing bracket, and at the end of the text. */
bool loose_json_element(struct loose_json *j);
/*
 * One value as it stands: a string without its quotes, escapes unresolved; an object or an array
 * with its brackets; anything else up to the next blank, comma or closing bracket. Empty where none
 * stands.
 */
struct str loose_json_value(struct loose_json *j);

#endif
