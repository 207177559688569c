#include "text/json.h"

#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* Up to here doubles hold every integer, so that they can be written whole. */
static const double integers_exact = 0x1p53;

void json_init(struct json *j, struct buf *out, bool pretty)
{
	*j = (struct json){ .out = out, .pretty = pretty };
}

static void new_line(struct json *j)
{
	if (!j->pretty)
		return;
	buf_add_char(j->out, '\n');
	for (int i = 0; i < j->depth; i++)
		buf_add(j->out, STR("  "));
}

/* The comma and the line that an item of the open object or array begins with. */
static void begin_item(struct json *j)
{
	if (j->depth == 0)
		return;
	if (j->has_items[j->depth - 1])
		buf_add_char(j->out, ',');
	j->has_items[j->depth - 1] = true;
	new_line(j);
}

static void begin_value(struct json *j)
{
	bool in_object = j->depth > 0 && j->open[j->depth - 1] == '{';
	assert(in_object == j->after_key);
	if (!in_object)
		begin_item(j);
	j->after_key = false;
}

static void open_level(struct json *j, char bracket)
{
	begin_value(j);
	assert(j->depth < JSON_DEPTH_MAX);
	buf_add_char(j->out, bracket);
	j->open[j->depth] = bracket;
	j->has_items[j->depth] = false;
	j->depth++;
}

static void close_level(struct json *j, char opened, char bracket)
{
	assert(j->depth > 0 && j->open[j->depth - 1] == opened && !j->after_key);
	j->depth--;
	if (j->has_items[j->depth])
		new_line(j);
	buf_add_char(j->out, bracket);
}

void json_object_open(struct json *j)
{
	open_level(j, '{');
}

void json_object_close(struct json *j)
{
	close_level(j, '{', '}');
}

void json_array_open(struct json *j)
{
	open_level(j, '[');
}

void json_array_close(struct json *j)
{
	close_level(j, '[', ']');
}

void json_key(struct json *j, const char *name)
{
	assert(j->depth > 0 && j->open[j->depth - 1] == '{' && !j->after_key);
	begin_item(j);
	json_escape(j->out, str_of(name));
	buf_add(j->out, j->pretty ? STR(": ") : STR(":"));
	j->after_key = true;
}

void json_str(struct json *j, struct str value)
{
	begin_value(j);
	json_escape(j->out, value);
}

void json_str_c(struct json *j, const char *value)
{
	if (value)
		json_str(j, str_of(value));
	else
		json_nil(j);
}

void json_int(struct json *j, int64_t value)
{
	begin_value(j);
	buf_printf(j->out, "%lld", (long long)value);
}

/* Whatever the locale's decimal point looks like, and be it several bytes, JSON's is a dot. */
static void add_number(struct buf *out, const char *text)
{
	bool in_point = false;
	for (; *text; text++) {
		bool known = (*text >= '0' && *text <= '9') || *text == '-' || *text == '+' ||
		             *text == 'e';
		if (known || !in_point)
			buf_add_char(out, known ? *text : '.');
		in_point = !known;
	}
}

void json_double(struct json *j, double value)
{
	char text[64];
	if (!isfinite(value)) {
		json_nil(j);
		return;
	}
	begin_value(j);
	bool whole = value == nearbyint(value) && fabs(value) <= integers_exact;
	/* Adding 0 turns -0 into 0. */
	snprintf(text, sizeof(text), whole ? "%.0f" : "%.9g", value + 0.0);
	add_number(j->out, text);
}

void json_bool(struct json *j, bool value)
{
	begin_value(j);
	buf_add_c(j->out, value ? "true" : "false");
}

void json_raw(struct json *j, struct str value)
{
	begin_value(j);
	buf_add(j->out, value);
}

void json_nil(struct json *j)
{
	begin_value(j);
	buf_add(j->out, STR("null"));
}

void json_put_string(struct json *j, const char *name, const char *value)
{
	json_key(j, name);
	json_str_c(j, value);
}

void json_put_int(struct json *j, const char *name, int64_t value)
{
	json_key(j, name);
	json_int(j, value);
}

void json_put_double(struct json *j, const char *name, double value)
{
	json_key(j, name);
	json_double(j, value);
}

void json_put_bool(struct json *j, const char *name, bool value)
{
	json_key(j, name);
	json_bool(j, value);
}

void json_put_string_present(struct json *j, const char *name, const char *value)
{
	if (value)
		json_put_string(j, name, value);
}

void json_put_double_present(struct json *j, const char *name, double value)
{
	if (isfinite(value))
		json_put_double(j, name, value);
}

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f && c != '"' && c != '\\';
}

/* One character that is not plain ASCII; returns its bytes. */
static size_t add_special(struct buf *out, struct str text)
{
	static const char letters[] = { ['"'] = '"',
		['\\'] = '\\',
		['\b'] = 'b',
		['\f'] = 'f',
		['\n'] = 'n',
		['\r'] = 'r',
		['\t'] = 't' };
	unsigned char c = (unsigned char)text.s[0];
	uint32_t decoded;
	if (c < sizeof(letters) && letters[c]) {
		buf_add_char(out, '\\');
		buf_add_char(out, letters[c]);
		return 1;
	}
	if (c < 0x20 || c == 0x7f) {
		buf_printf(out, "\\u%04x", c);
		return 1;
	}
	size_t n = utf8_decode(text, &decoded);
	buf_add(out, n ? (struct str){ text.s, n } : STR(UTF8_REPLACEMENT));
	return n ? n : 1;
}

void json_escape(struct buf *out, struct str value)
{
	buf_reserve(out, value.len + 2);
	buf_add_char(out, '"');
	while (value.len) {
		size_t n = 0;
		while (n < value.len && is_plain(value.s[n]))
			n++;
		buf_add(out, (struct str){ value.s, n });
		if (n < value.len)
			n += add_special(out, (struct str){ value.s + n, value.len - n });
		value = (struct str){ value.s + n, value.len - n };
	}
	buf_add_char(out, '"');
}
