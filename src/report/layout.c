#include "report/layout.h"

#include "base/utf8.h"
#include "base/wrap.h"
#include "text/json.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *layout_number(double value, char out[LAYOUT_NUMBER])
{
	if (isnan(value)) {
		snprintf(out, LAYOUT_NUMBER, "-");
		return out;
	}
	double size = fabs(value);
	if (!(size < 1e15) || (size > 0 && size < 1e-6)) {
		snprintf(out, LAYOUT_NUMBER, "%.3e", value);
		return out;
	}
	int decimals = 0;
	if (size > 0 && size < 1000)
		decimals = 3 - (int)floor(log10(size));
	snprintf(out, LAYOUT_NUMBER, "%.*f", decimals, value);
	if (decimals > 0) {
		char *end = out + strlen(out);
		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	return out;
}

const char *layout_quantity(double value, const char *unit, char out[LAYOUT_NUMBER])
{
	layout_number(value, out);
	if (!unit || strcmp(unit, "1") == 0 || strcmp(unit, "ratio") == 0)
		return out;
	size_t len = strlen(out);
	snprintf(out + len, LAYOUT_NUMBER - len, " %s", unit);
	return out;
}

void layout_wrap(struct buf *out, const char *text, int column, int indent)
{
	AUTO(auto_buf) struct buf clean = { 0 };
	utf8_add_line(&clean, str_of(text));
	wrap_text(out, buf_str(&clean), column, indent, LAYOUT_COLUMNS);
}

/* An underscore inside a word is no mark of Markdown, and metric names are full of them. */
static bool is_mark(const struct buf *text, size_t i)
{
	bool inside = i > 0 && i + 1 < text->len && isalnum((unsigned char)text->s[i - 1]) &&
	              isalnum((unsigned char)text->s[i + 1]);
	return text->s[i] == '_' ? !inside : strchr("\\`*[]<|~&", text->s[i]) != NULL;
}

void layout_markdown(struct buf *out, const char *text)
{
	AUTO(auto_buf) struct buf clean = { 0 };
	utf8_add_line(&clean, str_of(text));
	for (size_t i = 0; i < clean.len; i++) {
		if (is_mark(&clean, i))
			buf_add_char(out, '\\');
		buf_add_char(out, clean.s[i]);
	}
}

void layout_code(struct buf *out, const char *text)
{
	AUTO(auto_buf) struct buf clean = { 0 };
	utf8_add_line(&clean, str_of(text));
	buf_add_char(out, '`');
	for (size_t i = 0; i < clean.len; i++)
		buf_add_char(out, clean.s[i] == '`' ? '\'' : clean.s[i]);
	buf_add_char(out, '`');
}

void fields_add(struct fields *f, const char *label, const char *fmt, ...)
{
	assert(f->n < FIELDS_MAX);
	AUTO(auto_buf) struct buf text = { 0 };
	va_list args;
	va_start(args, fmt);
	buf_vprintf(&text, fmt, args);
	va_end(args);
	f->labels[f->n] = label;
	f->texts[f->n++] = str_c(buf_str(&text), f->tmp);
}

void fields_add_present(struct fields *f, const char *label, const char *text)
{
	if (text)
		fields_add(f, label, "%s", text);
}

void fields_print(const struct fields *f, int indent, struct buf *out)
{
	int width = 0;
	for (int i = 0; i < f->n; i++)
		if (utf8_width(str_of(f->labels[i])) > width)
			width = utf8_width(str_of(f->labels[i]));
	int column = indent + width + 2;
	for (int i = 0; i < f->n; i++) {
		buf_add_blanks(out, indent);
		buf_add_c(out, f->labels[i]);
		buf_add_blanks(out, column - indent - utf8_width(str_of(f->labels[i])));
		layout_wrap(out, f->texts[i], column, column);
	}
}

void fields_markdown(const struct fields *f, struct buf *out)
{
	for (int i = 0; i < f->n; i++) {
		buf_printf(out, "- **%s**: ", f->labels[i]);
		layout_markdown(out, f->texts[i]);
		buf_add_char(out, '\n');
	}
}

void layout_json_target(struct json *j, const char *url, const char *api, const char *model,
        const struct fingerprint *fp)
{
	json_key(j, "target");
	json_object_open(j);
	json_put_string(j, "url", url);
	json_put_string(j, "api", api);
	json_put_string(j, "model", model);
	json_object_close(j);
	layout_json_fingerprint(j, fp);
}

void layout_json_fingerprint(struct json *j, const struct fingerprint *fp)
{
	json_key(j, "fingerprint");
	json_object_open(j);
	for (size_t i = 0; i < fp->n; i++)
		json_put_string(j, fp->entries[i].name, fp->entries[i].value);
	json_object_close(j);
}
