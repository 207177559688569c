#include "report/trace_html_parts.h"

#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"

/* Points of the picture. */
enum { STRIP_WIDTH = 960, STRIP_HEIGHT = 60, AXIS_HEIGHT = 18, TICKS = 4 };

/* Controls are no characters of HTML, but for the ends of lines. */
static bool is_control(uint32_t c)
{
	return (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
}

static void add_character(struct buf *out, uint32_t c)
{
	switch (c) {
	case '&':
		buf_add_c(out, "&amp;");
		break;
	case '<':
		buf_add_c(out, "&lt;");
		break;
	case '>':
		buf_add_c(out, "&gt;");
		break;
	case '"':
		buf_add_c(out, "&quot;");
		break;
	case '\'':
		buf_add_c(out, "&#39;");
		break;
	default:
		utf8_encode(out, is_control(c) ? 0xFFFD : c);
	}
}

void html_text(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len;) {
		uint32_t c;
		size_t n = utf8_decode((struct str){ text.s + i, text.len - i }, &c);
		add_character(out, c);
		i += n ? n : 1;
	}
}

void html_text_c(struct buf *out, const char *text)
{
	html_text(out, str_of(text));
}

void html_element(struct buf *out, const char *tag, const char *text)
{
	buf_printf(out, "<%s>", tag);
	html_text_c(out, text);
	buf_printf(out, "</%s>\n", tag);
}

void html_table_open(struct buf *out, const char *const *titles)
{
	buf_add_c(out, "<div class=\"wide\"><table>\n<tr>");
	for (size_t i = 0; titles[i]; i++) {
		buf_add_c(out, "<th>");
		html_text_c(out, titles[i]);
		buf_add_c(out, "</th>");
	}
	buf_add_c(out, "</tr>\n");
}

void html_row_open(struct buf *out)
{
	buf_add_c(out, "<tr>");
}

void html_cell(struct buf *out, struct str text)
{
	buf_add_c(out, "<td>");
	html_text(out, text);
	buf_add_c(out, "</td>");
}

void html_cell_c(struct buf *out, const char *text)
{
	html_cell(out, str_of(text ? text : ""));
}

void html_cell_number(struct buf *out, const char *text)
{
	buf_add_c(out, "<td class=\"n\">");
	html_text_c(out, text);
	buf_add_c(out, "</td>");
}

void html_row_close(struct buf *out)
{
	buf_add_c(out, "</tr>\n");
}

void html_table_close(struct buf *out)
{
	buf_add_c(out, "</table></div>\n");
}

static void add_bar(
        struct buf *out, const char *class_name, double x, double width, double from, double share)
{
	double height = share * STRIP_HEIGHT;
	if (height < 0.05)
		return;
	buf_printf(out,
	        "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
	        class_name, x, STRIP_HEIGHT * (1 - from) - height, width, height);
}

static void add_axis(struct buf *out, double span_ns)
{
	for (int i = 0; i <= TICKS; i++) {
		char time[UNITS_TEXT];
		const char *anchor = i == 0 ? "start" : i == TICKS ? "end" : "middle";
		buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">",
		        STRIP_WIDTH * i / TICKS, STRIP_HEIGHT + AXIS_HEIGHT - 4, anchor);
		html_text_c(out, units_duration(span_ns * i / TICKS, time));
		buf_add_c(out, "</text>\n");
	}
}

void html_strip(struct buf *out, const struct trace_strip *strip, const char *label)
{
	double width = (double)STRIP_WIDTH / (double)strip->n;
	buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", STRIP_WIDTH,
	        STRIP_HEIGHT + AXIS_HEIGHT);
	html_text_c(out, label);
	buf_printf(out, "\">\n<rect class=\"frame\" x=\"0\" y=\"0\" width=\"%d\" height=\"%d\"/>\n",
	        STRIP_WIDTH, STRIP_HEIGHT);
	for (size_t i = 0; i < strip->n; i++) {
		const struct trace_bucket *b = &strip->buckets[i];
		add_bar(out, "compute", width * (double)i, width, 0, b->compute_ratio);
		add_bar(out, "copy", width * (double)i, width, b->compute_ratio, b->copy_ratio);
	}
	add_axis(out, (double)strip->bucket_ns * (double)strip->n);
	buf_add_c(out, "</svg>\n");
}
