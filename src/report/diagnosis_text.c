/*
 * One screen: the verdict, the curve, the first causes with what they rest on, what was ruled out,
 * what next. The rest is counted, and the reader told where it is.
 */
#include "report/report.h"

#include "base/i18n.h"
#include "report/diagnosis_parts.h"
#include "report/layout.h"

enum { CAUSES_SHOWN = 3, FACTS_SHOWN = 4, INDENT = 3 };

static bool is_suspect(const struct cause_finding *c)
{
	return c->state == CAUSE_CONFIRMED || c->state == CAUSE_PROBABLE;
}

/* A paragraph after a dash. */
static void print_item(const char *text, int indent, struct buf *out)
{
	buf_add_blanks(out, indent);
	buf_add_c(out, "- ");
	layout_wrap(out, text, indent + 2, indent + 2);
}

static void print_curve(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct table t;
	if (d->n_curve == 0)
		return;
	diagnosis_curve(d, tmp, &t);
	buf_add_char(out, '\n');
	table_print(&t, out);
}

static void print_beside(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	diagnosis_beside(d, &f);
	if (f.n == 0)
		return;
	buf_add_char(out, '\n');
	layout_wrap(out, _("Under the load in use:"), 0, 0);
	fields_print(&f, INDENT, out);
}

static void print_cause(
        const struct cause_finding *c, int place, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	buf_add_char(out, '\n');
	layout_wrap(out,
	        arena_printf(tmp, _("%d. %s: %s (%s, layer: %s)"), place, diagnosis_state(c->state),
	                c->name ? c->name : c->id, c->id, diagnosis_layer(c->layer)),
	        0, INDENT);
	for (int i = 0; i < c->n_facts && i < FACTS_SHOWN; i++)
		print_item(diagnosis_fact(&c->facts[i], tmp), INDENT, out);
	if (c->n_facts > FACTS_SHOWN)
		print_item(arena_printf(tmp, _("%d more facts: see --json or the report file"),
		                   c->n_facts - FACTS_SHOWN),
		        INDENT, out);
	diagnosis_cause(c, &f);
	fields_print(&f, INDENT, out);
}

static void print_suspects(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	int n = 0;
	for (int i = 0; i < d->n_causes; i++)
		if (is_suspect(&d->causes[i]) && ++n <= CAUSES_SHOWN)
			print_cause(&d->causes[i], n, tmp, out);
	if (n == CAUSES_SHOWN + 1)
		layout_wrap(
		        out, _("One more cause is probable: see --json or the report file."), 0, 0);
	else if (n > CAUSES_SHOWN)
		layout_wrap(out,
		        arena_printf(tmp,
		                _("%d more causes are probable: see --json or the report file."),
		                n - CAUSES_SHOWN),
		        0, 0);
	if (n == 0) {
		buf_add_char(out, '\n');
		layout_wrap(out, _("No cause is confirmed or probable."), 0, 0);
	}
}

static void print_excluded(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	if (diagnosis_count(d, CAUSE_EXCLUDED) == 0)
		return;
	buf_add_char(out, '\n');
	layout_wrap(out, _("Excluded:"), 0, 0);
	for (int i = 0; i < d->n_causes; i++) {
		const struct cause_finding *c = &d->causes[i];
		if (c->state != CAUSE_EXCLUDED)
			continue;
		const char *ground = c->n_facts > 0 ? diagnosis_fact(&c->facts[0], tmp)
		                     : c->why       ? c->why
		                                    : "-";
		print_item(arena_printf(tmp, "%s: %s", c->id, ground), 0, out);
	}
}

static void print_rest(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	int n = diagnosis_count(d, CAUSE_NOT_EXAMINED);
	if (n > 0)
		fields_add(&f, _("Not examined"),
		        _("%d causes of %d; --json or the report file says what each of them "
		          "needs"),
		        n, d->n_causes);
	diagnosis_next(&d->next, &f);
	if (f.n > 0)
		buf_add_char(out, '\n');
	fields_print(&f, 0, out);
}

static void print_warnings(const struct diagnosis *d, struct buf *out)
{
	if (d->n_warnings == 0)
		return;
	buf_add_char(out, '\n');
	layout_wrap(out, _("Warnings:"), 0, 0);
	for (int i = 0; i < d->n_warnings; i++)
		print_item(d->warnings[i], 0, out);
}

void report_diagnosis_text(const struct diagnosis *d, struct buf *out)
{
	struct arena tmp = { 0 };
	struct fields head = { .tmp = &tmp };
	if (d->partial)
		layout_wrap(out,
		        _("Partial: the diagnosis was interrupted; this is what was found until "
		          "then."),
		        0, 0);
	diagnosis_head(d, &head);
	fields_print(&head, 0, out);
	print_curve(d, &tmp, out);
	print_beside(d, &tmp, out);
	print_suspects(d, &tmp, out);
	print_excluded(d, &tmp, out);
	print_rest(d, &tmp, out);
	print_warnings(d, out);
	arena_release(&tmp);
}
