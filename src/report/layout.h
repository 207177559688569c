/*
 * layout.h - what the reports share: numbers with four digits that matter, text that is wrapped and
 * harmless, and fields, which are a label and a sentence in two columns.
 *
 * Names, models and error texts come from a service that may be hostile: whatever goes through
 * layout_wrap, fields and layout_markdown has lost its control characters and invalid UTF-8.
 */
#ifndef VENTURI_REPORT_LAYOUT_H
#define VENTURI_REPORT_LAYOUT_H

#include "base/attr.h"
#include "base/str.h"
#include "record/fingerprint.h"
#include "text/table.h"

#include <stdint.h>

enum { LAYOUT_COLUMNS = 100, LAYOUT_NUMBER = 40, FIELDS_MAX = 24 };

/*
 * Four significant digits, or all before the point: "0.01234", "12.34", "41234"; no exponent from
 * 10^-6 to 10^15.
 * NAN gives "-".
 */
const char *layout_number(double value, char out[LAYOUT_NUMBER]);

/* A number and its unit, cut where out ends; "1", "ratio" and NULL are units that are not printed.
 */
const char *layout_quantity(double value, const char *unit, char out[LAYOUT_NUMBER]);

/*
 * A paragraph, filled to LAYOUT_COLUMNS and ended with a newline.
 *
 * column  how many columns of the current line are taken already
 * indent  spaces before every further line
 */
void layout_wrap(struct buf *out, const char *text, int column, int indent);

/* The text as Markdown that shows it as it is, on one line. */
void layout_markdown(struct buf *out, const char *text);
/* The same as code, for names and values; a back quote becomes a straight one. */
void layout_code(struct buf *out, const char *text);

struct fields {
	struct arena *tmp;
	const char *labels[FIELDS_MAX];
	const char *texts[FIELDS_MAX];
	int n;
};

/* At most FIELDS_MAX; the text is copied. */
void fields_add(struct fields *f, const char *label, const char *fmt, ...) PRINTF(3, 4);
/* Adds nothing when the text is NULL. */
void fields_add_present(struct fields *f, const char *label, const char *text);
/* Labels in one column, wrapped texts in the other. */
void fields_print(const struct fields *f, int indent, struct buf *out);
/* The same as a list. */
void fields_markdown(const struct fields *f, struct buf *out);

struct json;

/* The keys "target" and "fingerprint" of an object that is open. */
void layout_json_target(struct json *j, const char *url, const char *api, const char *model,
        const struct fingerprint *fp);
/* The second of them alone. */
void layout_json_fingerprint(struct json *j, const struct fingerprint *fp);

#endif
