/*
 * Scalars of the schema are always there, null when absent; what it marks with "?" is left out.
 */
#include "report/report.h"

#include "report/layout.h"
#include "report/server.h"
#include "report/watch.h"
#include "text/json.h"

static void put_sla(struct json *j, const struct sla *sla)
{
	if (!sla->present)
		return;
	json_key(j, "sla");
	json_object_open(j);
	json_put_string(j, "metric", sla->metric);
	json_put_double(j, "target", sla->target_ms);
	json_put_double(j, "measured", sla->measured_ms);
	json_put_string(j, "unit", "ms");
	/* a target that was missed because requests failed has no measured value either */
	json_key(j, "met");
	if (sla->n > 0)
		json_bool(j, sla->met);
	else
		json_nil(j);
	json_put_int(j, "n", sla->n);
	json_put_int(j, "concurrency", sla->concurrency);
	json_object_close(j);
}

static void put_curve(struct json *j, const struct diagnosis *d)
{
	json_key(j, "curve");
	json_array_open(j);
	for (int i = 0; i < d->n_curve; i++) {
		const struct curve_point *p = &d->curve[i];
		json_object_open(j);
		j->pretty = false;
		json_put_int(j, "concurrency", p->concurrency);
		json_put_double(j, "requests_per_s", p->requests_per_s);
		json_put_double(j, "output_tokens_per_s", p->output_tokens_per_s);
		json_put_double(j, "p50_ms", p->p50_ms);
		json_put_double(j, "p90_ms", p->p90_ms);
		json_put_double(j, "p99_ms", p->p99_ms);
		json_put_double(j, "p999_ms", p->p999_ms);
		json_put_double(j, "ttft_p50_ms", p->ttft_p50_ms);
		json_put_double(j, "itl_p50_ms", p->itl_p50_ms);
		json_put_double(j, "streams_active", p->streams_active);
		json_put_double(j, "little_ratio", p->little_ratio);
		json_put_double(j, "device_ratio", p->device_ratio);
		json_put_int(j, "n", p->n);
		json_put_int(j, "failed", p->failed);
		json_object_close(j);
		j->pretty = true;
	}
	json_array_close(j);
}

static void put_fact(struct json *j, const struct fact *f)
{
	bool has_value = f->state == FACT_MEASURED || f->state == FACT_ESTIMATED;
	json_object_open(j);
	j->pretty = false;
	json_put_string(j, "name", f->name);
	json_put_string(j, "state", fact_state_name(f->state));
	json_put_double(j, "value", has_value ? f->value : NAN);
	json_put_string(j, "unit", f->unit);
	json_put_double(j, "threshold", f->threshold);
	json_put_string(j, "source", f->source);
	if (f->n > 0)
		json_put_int(j, "n", f->n);
	json_put_string_present(j, "reason", f->reason);
	json_object_close(j);
	j->pretty = true;
}

static void put_prediction(struct json *j, const struct prediction *p)
{
	if (!p->present)
		return;
	json_key(j, "predicted");
	json_object_open(j);
	json_put_string(j, "metric", p->metric);
	json_put_double(j, "low", p->low);
	json_put_double(j, "high", p->high);
	json_put_string(j, "unit", p->unit);
	json_put_string_present(j, "rule", p->rule);
	json_object_close(j);
}

static void put_cause(struct json *j, const struct cause_finding *c)
{
	json_object_open(j);
	json_put_string(j, "id", c->id);
	json_put_string_present(j, "name", c->name);
	json_put_string(j, "layer", c->layer);
	json_put_string(j, "state", cause_state_name(c->state));
	json_key(j, "facts");
	json_array_open(j);
	for (int i = 0; i < c->n_facts; i++)
		put_fact(j, &c->facts[i]);
	json_array_close(j);
	json_put_string(j, "why", c->why);
	json_put_string_present(j, "needs", c->needs);
	put_prediction(j, &c->predicted);
	json_put_string_present(j, "fix", c->fix);
	json_put_string_present(j, "experiment", c->experiment);
	json_object_close(j);
}

static void put_next(struct json *j, const struct next_step *next)
{
	if (!next->present)
		return;
	json_key(j, "next");
	json_object_open(j);
	json_put_string(j, "change", next->change);
	json_put_string(j, "variable", next->variable);
	json_put_string(j, "from", next->from);
	json_put_string(j, "to", next->to);
	json_put_string(j, "expect", next->expect);
	json_object_close(j);
}

void report_diagnosis_json(const struct diagnosis *d, struct buf *out)
{
	struct json j;
	json_init(&j, out, true);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.diagnosis/1");
	json_put_string(&j, "started_at", d->started_at);
	json_put_bool(&j, "partial", d->partial);
	layout_json_target(&j, d->url, d->api, d->model, &d->fingerprint);
	json_put_string(&j, "verdict", verdict_name(d->verdict));
	json_put_string(&j, "kind", slow_kind_name(d->kind));
	json_put_string(&j, "summary", d->summary);
	put_sla(&j, &d->sla);
	put_curve(&j, d);
	json_key(&j, "causes");
	json_array_open(&j);
	for (int i = 0; i < d->n_causes; i++)
		put_cause(&j, &d->causes[i]);
	json_array_close(&j);
	put_next(&j, &d->next);
	report_server_json(&j, d->server);
	if (d->system) {
		json_key(&j, "system");
		report_system_json(&j, d->system, false);
	}
	json_key(&j, "warnings");
	json_array_open(&j);
	for (int i = 0; i < d->n_warnings; i++)
		json_str_c(&j, d->warnings[i]);
	json_array_close(&j);
	json_object_close(&j);
	buf_add_char(out, '\n');
}
