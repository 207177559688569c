/*
 * trace_html_parts.h - pieces of an HTML page: text that is safe in it, tables, the picture of a
 * device's time.
 */
#ifndef VENTURI_REPORT_TRACE_HTML_PARTS_H
#define VENTURI_REPORT_TRACE_HTML_PARTS_H

#include "record/trace_run.h"

/* Appends text so that it shows as it is, between tags and in attributes; what is no character
 * becomes U+FFFD. */
void html_text(struct buf *out, struct str text);
void html_text_c(struct buf *out, const char *text);
/* "<tag>text</tag>" and a line end. */
void html_element(struct buf *out, const char *tag, const char *text);

/* A table whose columns are titles, NULL at the end; numbers stand right by their class. */
void html_table_open(struct buf *out, const char *const *titles);
void html_row_open(struct buf *out);
void html_cell(struct buf *out, struct str text);
void html_cell_c(struct buf *out, const char *text);
/* A number that is shown as text. */
void html_cell_number(struct buf *out, const char *text);
void html_row_close(struct buf *out);
void html_table_close(struct buf *out);

/* An SVG: compute from below, copies above it, idle is what stays empty; the axis tells times. */
void html_strip(struct buf *out, const struct trace_strip *strip, const char *label);

#endif
