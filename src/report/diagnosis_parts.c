#include "report/diagnosis_parts.h"

#include "base/i18n.h"
#include "report/server.h"
#include "report/watch.h"

#include <string.h>

enum { PAGE_FIELDS = 8 }; /* at most, of one page of metrics */

static const char *const verdicts[] = {
	[VERDICT_HEALTHY] = N_("healthy: the targets are met and no cause is worth its price"),
	[VERDICT_BOTTLENECK] = N_("bottleneck: something narrows this service"),
	[VERDICT_INVALID] = N_("invalid measurement: these figures may not be used"),
	[VERDICT_INCONCLUSIVE] = N_("inconclusive: what was measured does not decide"),
};

static const char *const kinds[] = {
	[SLOW_ALONE] =
	        N_("slow alone: one request by itself is slow already; suspect compute, memory "
	           "traffic, preprocessing"),
	[SLOW_UNDER_LOAD] =
	        N_("slow under load: fast alone, slow in company; suspect threads, queue, "
	           "batching, memory pressure"),
	[SLOW_THROUGHPUT_STUCK] =
	        N_("throughput stuck: more requests at a time bring more waiting, "
	           "not more throughput; suspect batching, scheduling, copies, "
	           "dynamic shapes"),
	[SLOW_HEALTHY] = N_("healthy: latency and throughput are what they should be"),
	[SLOW_UNKNOWN] = N_("not decided: the measurements do not tell which kind of slow it is"),
};

static const char *const states[] = {
	[CAUSE_CONFIRMED] = N_("confirmed"),
	[CAUSE_PROBABLE] = N_("probable"),
	[CAUSE_EXCLUDED] = N_("excluded"),
	[CAUSE_NOT_EXAMINED] = N_("not examined"),
};

const char *diagnosis_state(enum cause_state state)
{
	return _(states[state]);
}

const char *diagnosis_layer(const char *layer)
{
	static const char *const layers[] = { N_("client"), N_("system"), N_("framework"),
		N_("operator"), N_("algorithm") };
	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		if (layer && strcmp(layer, layers[i]) == 0)
			return _(layers[i]);
	return layer ? layer : "-";
}

int diagnosis_count(const struct diagnosis *d, enum cause_state state)
{
	int n = 0;
	for (int i = 0; i < d->n_causes; i++)
		n += d->causes[i].state == state;
	return n;
}

static void add_sla(const struct sla *sla, struct fields *f)
{
	char target[LAYOUT_NUMBER], measured[LAYOUT_NUMBER];
	const char *label = _("SLA");
	if (!sla->present)
		return;
	layout_number(sla->target_ms, target);
	layout_number(sla->measured_ms, measured);
	if (sla->n == 0)
		fields_add(f, label, _("%s at most %s ms: not judged, the load in use was not measured"),
		        sla->metric, target);
	else if (!isfinite(sla->measured_ms))
		fields_add(f, label,
		        _("%s at most %s ms: missed, it falls among the failed requests (n %lld)"),
		        sla->metric, target, (long long)sla->n);
	else
		fields_add(f, label,
		        sla->met ? _("%s at most %s ms: met, %s ms measured (n %lld)")
		                 : _("%s at most %s ms: missed, %s ms measured (n %lld)"),
		        sla->metric, target, measured, (long long)sla->n);
	if (sla->concurrency > 0)
		fields_add(f, _("Judged at"), _("concurrency %lld"), (long long)sla->concurrency);
}

void diagnosis_head(const struct diagnosis *d, struct fields *f)
{
	const char *api = d->api ? d->api : "-", *url = d->url ? d->url : "-";
	fields_add(f, _("Verdict"), "%s", _(verdicts[d->verdict]));
	fields_add_present(f, _("Summary"), d->summary);
	fields_add(f, _("Kind"), "%s", _(kinds[d->kind]));
	add_sla(&d->sla, f);
	if (d->model)
		fields_add(f, _("Target"), _("%s (%s, model %s)"), url, api, d->model);
	else
		fields_add(f, _("Target"), _("%s (%s)"), url, api);
}

struct curve_column {
	const char *head;
	size_t offset;
	bool is_count; /* int64_t, always there; else a double */
};

static double curve_value(const struct curve_point *p, const struct curve_column *c)
{
	double value;
	memcpy(&value, (const char *)p + c->offset, sizeof(value));
	return value;
}

static bool curve_has(const struct diagnosis *d, const struct curve_column *c)
{
	for (int i = 0; i < d->n_curve; i++)
		if (c->is_count || !isnan(curve_value(&d->curve[i], c)))
			return true;
	return false;
}

static void add_curve_cell(
        const struct curve_point *p, const struct curve_column *c, struct table *t)
{
	char text[LAYOUT_NUMBER];
	int64_t count;
	if (c->is_count) {
		memcpy(&count, (const char *)p + c->offset, sizeof(count));
		table_cell(t, "%lld", (long long)count);
	} else {
		table_cell(t, "%s", layout_number(curve_value(p, c), text));
	}
}

void diagnosis_curve(const struct diagnosis *d, struct arena *tmp, struct table *t)
{
	static const struct curve_column columns[] = {
		{ N_("at a time"), offsetof(struct curve_point, concurrency), true },
		{ N_("req/s"), offsetof(struct curve_point, requests_per_s), false },
		{ N_("tokens/s"), offsetof(struct curve_point, output_tokens_per_s), false },
		{ N_("P50 ms"), offsetof(struct curve_point, p50_ms), false },
		{ N_("P90 ms"), offsetof(struct curve_point, p90_ms), false },
		{ N_("P99 ms"), offsetof(struct curve_point, p99_ms), false },
		{ N_("P99.9 ms"), offsetof(struct curve_point, p999_ms), false },
		{ N_("TTFT P50 ms"), offsetof(struct curve_point, ttft_p50_ms), false },
		{ N_("ITL P50 ms"), offsetof(struct curve_point, itl_p50_ms), false },
		{ N_("device ratio"), offsetof(struct curve_point, device_ratio), false },
		{ N_("n"), offsetof(struct curve_point, n), true },
		{ N_("failed"), offsetof(struct curve_point, failed), true },
	};
	static const char align[] = "rrrrrrrrrrrr";
	_Static_assert(sizeof(align) - 1 == ARRAY_LEN(columns), "one letter a column");
	size_t n = 0;
	for (size_t k = 0; k < ARRAY_LEN(columns); k++)
		n += curve_has(d, &columns[k]);
	table_init(t, tmp, align + ARRAY_LEN(columns) - n);
	for (int i = -1; i < d->n_curve; i++)
		for (size_t k = 0; k < ARRAY_LEN(columns); k++)
			if (!curve_has(d, &columns[k]))
				continue;
			else if (i < 0)
				table_cell(t, "%s", _(columns[k].head));
			else
				add_curve_cell(&d->curve[i], &columns[k], t);
}

const char *diagnosis_fact(const struct fact *f, struct arena *tmp)
{
	char number[LAYOUT_NUMBER], anchor[LAYOUT_NUMBER];
	const char *reason = f->reason ? f->reason : "-";
	const char *source = f->source ? f->source : "-";
	if (f->state == FACT_NOT_SUPPORTED)
		return arena_printf(tmp, _("%s: not supported here: %s"), f->name, reason);
	if (f->state == FACT_NOT_COUNTED)
		return arena_printf(tmp, _("%s: not counted this time: %s"), f->name, reason);
	const char *value = arena_printf(tmp, "%s%s", f->state == FACT_ESTIMATED ? "~" : "",
	        layout_quantity(f->value, f->unit, number));
	layout_quantity(f->threshold, f->unit, anchor);
	if (isnan(f->threshold) && f->n > 0)
		return arena_printf(
		        tmp, _("%s = %s (%s; n %lld)"), f->name, value, source, (long long)f->n);
	if (isnan(f->threshold))
		return arena_printf(tmp, _("%s = %s (%s)"), f->name, value, source);
	if (f->n > 0)
		return arena_printf(tmp, _("%s = %s, anchor %s (%s; n %lld)"), f->name, value,
		        anchor, source, (long long)f->n);
	return arena_printf(tmp, _("%s = %s, anchor %s (%s)"), f->name, value, anchor, source);
}

void diagnosis_beside(const struct diagnosis *d, struct fields *f)
{
	if (d->system)
		report_system_fields(d->system, f);
	/* Those of many replicas are in the JSON. */
	for (size_t i = 0; d->server && i < d->server->n_pages && f->n + PAGE_FIELDS <= FIELDS_MAX;
	        i++)
		report_server_fields(&d->server->pages[i], f);
}

static void add_prediction(const struct cause_finding *c, struct fields *f)
{
	const struct prediction *p = &c->predicted;
	char low[LAYOUT_NUMBER], high[LAYOUT_NUMBER];
	bool is_ratio = p->unit && strcmp(p->unit, "ratio") == 0;
	bool confirmed = c->state == CAUSE_CONFIRMED;
	const char *sentence;
	if (!p->present)
		return;
	if (is_ratio)
		sentence =
		        confirmed
		                ? _("%s becomes %s to %s times what it is")
		                : _("if the experiment confirms it, %s becomes %s to %s times what "
		                    "it is");
	else
		sentence = confirmed ? _("%s changes by %s to %s")
		                     : _("if the experiment confirms it, %s changes by %s to %s");
	fields_add(f, _("Predicted"), sentence, p->metric, layout_quantity(p->low, p->unit, low),
	        layout_quantity(p->high, p->unit, high));
}

void diagnosis_cause(const struct cause_finding *c, struct fields *f)
{
	fields_add_present(f, _("Why"), c->why);
	if (c->state == CAUSE_NOT_EXAMINED)
		fields_add_present(f, _("Needs"), c->needs);
	add_prediction(c, f);
	fields_add_present(f, _("Fix"), c->fix);
	fields_add_present(f, _("Experiment"), c->experiment);
}

void diagnosis_next(const struct next_step *next, struct fields *f)
{
	if (!next->present)
		return;
	fields_add_present(f, _("Next"), next->change);
	if (next->variable && next->from && next->to)
		fields_add(f, _("Variable"), _("%s, from %s to %s"), next->variable, next->from,
		        next->to);
	fields_add_present(f, _("Expect"), next->expect);
}
