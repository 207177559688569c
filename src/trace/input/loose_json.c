#include "trace/input/loose_json.h"

#include "text/json_scan.h"

struct loose_json loose_json_of(struct str text)
{
	const char *start = text.s ? text.s : "";
	return (struct loose_json){ .p = start, .end = start + text.len };
}

/* The next byte that is no blank, or 0 at the end; the cursor then stands on it. */
static char peek(struct loose_json *j)
{
	for (; j->p < j->end; j->p++) {
		char c = *j->p;
		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			return c;
	}
	return '\0';
}

bool loose_json_enter(struct loose_json *j, char bracket)
{
	if (peek(j) != bracket || j->p == j->end)
		return false;
	j->p++;
	return true;
}

static struct str string_value(struct loose_json *j)
{
	const char *start = j->p + 1, *close = json_string_end(start, j->end);
	if (!close) {
		j->cut = true;
		j->p = j->end;
		return (struct str){ start, (size_t)(j->end - start) };
	}
	j->p = close + 1;
	return (struct str){ start, (size_t)(close - start) };
}

/* From an opening bracket to the one that closes it, whatever their shapes. */
static struct str nested_value(struct loose_json *j)
{
	const char *start = j->p;
	size_t depth = 0;
	while (j->p < j->end) {
		char c = *j->p;
		if (c == '"') {
			string_value(j);
			continue;
		}
		j->p++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return (struct str){ start, (size_t)(j->p - start) };
	}
	j->cut = true;
	return (struct str){ start, (size_t)(j->end - start) };
}

static bool ends_scalar(char c)
{
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

struct str loose_json_value(struct loose_json *j)
{
	char c = peek(j);
	if (c == '"')
		return string_value(j);
	if (c == '{' || c == '[')
		return nested_value(j);
	const char *start = j->p;
	while (j->p < j->end && !ends_scalar(*j->p))
		j->p++;
	return (struct str){ start, (size_t)(j->p - start) };
}

/* Over commas to the next item; false behind the bracket that closes, and at the end. */
static bool next_item(struct loose_json *j, char closing)
{
	for (;;) {
		char c = peek(j);
		if (j->p == j->end) {
			j->cut = true;
			return false;
		}
		if (c != ',' && c != closing)
			return true;
		j->p++;
		if (c == closing)
			return false;
	}
}

bool loose_json_key(struct loose_json *j, struct str *ret_key)
{
	bool counted = false;
	while (next_item(j, '}')) {
		if (*j->p == '"') {
			*ret_key = string_value(j);
			if (peek(j) == ':') {
				j->p++;
				return true;
			}
		} else {
			j->p++;
		}
		j->broken += !counted;
		counted = true;
	}
	return false;
}

bool loose_json_element(struct loose_json *j)
{
	bool counted = false;
	while (next_item(j, ']')) {
		if (*j->p != '}' && *j->p != ':')
			return true;
		/* A brace too many. */
		j->p++;
		j->broken += !counted;
		counted = true;
	}
	return false;
}
