/*
 * The whole diagnosis, to be read without the program: every cause, every fact, the fingerprint.
 */
#include "report/report.h"

#include "base/i18n.h"
#include "report/diagnosis_parts.h"
#include "report/layout.h"

static void add_heading(struct buf *out, const char *text)
{
	buf_printf(out, "\n## %s\n\n", text);
}

static void add_paragraph(struct buf *out, const char *text)
{
	layout_markdown(out, text);
	buf_add_char(out, '\n');
}

static void add_curve(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct table t;
	if (d->n_curve == 0)
		return;
	add_heading(out, _("The curve"));
	diagnosis_curve(d, tmp, &t);
	table_markdown(&t, out);
}

static void add_beside(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	diagnosis_beside(d, &f);
	if (f.n == 0)
		return;
	add_heading(out, _("Under the load in use"));
	fields_markdown(&f, out);
}

static void add_fact_row(const struct fact *f, struct table *t)
{
	char value[LAYOUT_NUMBER], anchor[LAYOUT_NUMBER];
	bool has_value = f->state == FACT_MEASURED || f->state == FACT_ESTIMATED;
	table_cell(t, "%s", f->name);
	if (has_value)
		table_cell(t, "%s%s", f->state == FACT_ESTIMATED ? "~" : "",
		        layout_quantity(f->value, f->unit, value));
	else
		table_cell(t,
		        f->state == FACT_NOT_SUPPORTED ? _("not supported here: %s")
		                                       : _("not counted this time: %s"),
		        f->reason ? f->reason : "-");
	table_cell(t, "%s",
	        isnan(f->threshold) ? "-" : layout_quantity(f->threshold, f->unit, anchor));
	table_cell(t, "%s", f->source ? f->source : "-");
	if (f->n > 0)
		table_cell(t, "%lld", (long long)f->n);
	else
		table_cell(t, "-");
}

static void add_facts(const struct cause_finding *c, struct arena *tmp, struct buf *out)
{
	const char *heads[] = { _("fact"), _("value"), _("anchor"), _("source"), _("n") };
	struct table t;
	if (c->n_facts == 0)
		return;
	table_init(&t, tmp, "lrrlr");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_cell(&t, "%s", heads[i]);
	for (int i = 0; i < c->n_facts; i++)
		add_fact_row(&c->facts[i], &t);
	buf_add_char(out, '\n');
	table_markdown(&t, out);
}

static void add_cause(const struct cause_finding *c, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	buf_printf(out, "\n### `%s`\n\n", c->id);
	if (c->name)
		fields_add(&f, _("Name"), "%s", c->name);
	fields_add(&f, _("State"), "%s", diagnosis_state(c->state));
	fields_add(&f, _("Layer"), "%s", diagnosis_layer(c->layer));
	diagnosis_cause(c, &f);
	if (c->predicted.present)
		fields_add_present(&f, _("Gain rule"), c->predicted.rule);
	fields_markdown(&f, out);
	add_facts(c, tmp, out);
}

static void add_causes(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	static const struct {
		enum cause_state state;
		const char *heading;
	} groups[] = {
		{ CAUSE_CONFIRMED, N_("Confirmed causes") },
		{ CAUSE_PROBABLE, N_("Probable causes") },
		{ CAUSE_EXCLUDED, N_("Excluded causes") },
	};
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		if (diagnosis_count(d, groups[g].state) == 0)
			continue;
		buf_printf(out, "\n## %s\n", _(groups[g].heading));
		for (int i = 0; i < d->n_causes; i++)
			if (d->causes[i].state == groups[g].state)
				add_cause(&d->causes[i], tmp, out);
	}
}

static void add_not_examined(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct table t;
	if (diagnosis_count(d, CAUSE_NOT_EXAMINED) == 0)
		return;
	add_heading(out, _("Not examined"));
	add_paragraph(out, _("Missing data excludes nothing: each of these may still be at work."));
	buf_add_char(out, '\n');
	table_init(&t, tmp, "llll");
	table_cell(&t, "%s", _("cause"));
	table_cell(&t, "%s", _("name"));
	table_cell(&t, "%s", _("layer"));
	table_cell(&t, "%s", _("needs"));
	for (int i = 0; i < d->n_causes; i++) {
		const struct cause_finding *c = &d->causes[i];
		if (c->state != CAUSE_NOT_EXAMINED)
			continue;
		table_cell(&t, "%s", c->id);
		table_cell(&t, "%s", c->name ? c->name : "-");
		table_cell(&t, "%s", diagnosis_layer(c->layer));
		table_cell(&t, "%s", c->needs ? c->needs : "-");
	}
	table_markdown(&t, out);
}

/* What a service or a user called something; a table escapes no tags. */
static void add_code_cell(const char *text, struct table *t)
{
	AUTO(auto_buf) struct buf code = { 0 };
	layout_code(&code, text);
	table_cell(t, "%s", code.s);
}

static void add_fingerprint(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct table t;
	if (d->fingerprint.n == 0)
		return;
	add_heading(out, _("Fingerprint"));
	add_paragraph(
	        out, _("Two runs may be compared when these are equal but for the one that was "
	               "changed on purpose."));
	buf_add_char(out, '\n');
	table_init(&t, tmp, "ll");
	table_cell(&t, "%s", _("name"));
	table_cell(&t, "%s", _("value"));
	for (size_t i = 0; i < d->fingerprint.n; i++) {
		add_code_cell(d->fingerprint.entries[i].name, &t);
		add_code_cell(d->fingerprint.entries[i].value, &t);
	}
	table_markdown(&t, out);
}

static void add_head(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	buf_printf(out, "# %s\n\n", _("Diagnosis of an inference service"));
	if (d->partial) {
		add_paragraph(out, _("Partial: the diagnosis was interrupted; this is what was "
		                     "found until then."));
		buf_add_char(out, '\n');
	}
	diagnosis_head(d, &f);
	fields_add_present(&f, _("Time"), d->started_at);
	fields_add(&f, _("Tool"), "venturi %s", VENTURI_VERSION);
	fields_markdown(&f, out);
}

static void add_next(const struct diagnosis *d, struct arena *tmp, struct buf *out)
{
	struct fields f = { .tmp = tmp };
	if (!d->next.present)
		return;
	add_heading(out, _("Next experiment"));
	diagnosis_next(&d->next, &f);
	fields_markdown(&f, out);
}

static void add_warnings(const struct diagnosis *d, struct buf *out)
{
	if (d->n_warnings == 0)
		return;
	add_heading(out, _("Warnings"));
	for (int i = 0; i < d->n_warnings; i++) {
		buf_add_c(out, "- ");
		add_paragraph(out, d->warnings[i]);
	}
}

void report_diagnosis_markdown(const struct diagnosis *d, struct buf *out)
{
	struct arena tmp = { 0 };
	add_head(d, &tmp, out);
	add_warnings(d, out);
	add_curve(d, &tmp, out);
	add_beside(d, &tmp, out);
	add_causes(d, &tmp, out);
	add_next(d, &tmp, out);
	add_not_examined(d, &tmp, out);
	add_fingerprint(d, &tmp, out);
	arena_release(&tmp);
}
