#include "report/signal_json.h"

#include "text/json.h"

#include <math.h>

static void put_points(struct json *j, const struct signal *s)
{
	if (s->n_series == 0)
		return;
	json_key(j, "series");
	json_array_open(j);
	j->pretty = false;
	for (int64_t i = 0; i < s->n_series; i++) {
		json_array_open(j);
		json_double(j, s->series[i].t_s);
		json_double(j, s->series[i].value);
		json_array_close(j);
	}
	json_array_close(j);
	j->pretty = true;
}

static void put_figures(struct json *j, const struct signal *s)
{
	json_put_double_present(j, "delta", s->delta);
	json_put_double(j, "mean", s->mean);
	json_put_double(j, "min", s->min);
	json_put_double(j, "p50", s->p50);
	json_put_double(j, "p95", s->p95);
	json_put_double(j, "max", s->max);
	json_put_double_present(j, "last", s->last);
}

void signal_json(struct json *j, const struct signal *s, bool series)
{
	bool has_values = s->state == SIGNAL_MEASURED || s->state == SIGNAL_ESTIMATED;
	json_object_open(j);
	json_put_string(j, "name", s->name);
	json_put_string_present(j, "instance", s->instance);
	json_put_string(j, "unit", s->unit);
	json_put_string(j, "source", s->source);
	json_put_string(j, "page", s->page);
	json_put_string(j, "state", signal_state_names[s->state]);
	json_put_string_present(j, "reason", s->reason);
	if (has_values) {
		json_put_int(j, "n", s->n);
		json_put_string_present(j, "text", s->text);
		/* What is told in words has no figures. */
		if (!s->text)
			put_figures(j, s);
		if (series)
			put_points(j, s);
	}
	json_object_close(j);
}

void signal_json_page(struct json *j, const struct signal_page *page)
{
	json_object_open(j);
	json_put_string(j, "url", page->url);
	json_put_string(j, "software", page->software);
	json_put_int(j, "read", page->n_read);
	json_put_int(j, "failed", page->n_failed);
	json_put_int(j, "broken_lines", page->n_broken);
	json_put_double(j, "from_s", page->from_s);
	json_put_double(j, "to_s", page->to_s);
	json_put_string_present(j, "reason", page->reason);
	json_object_close(j);
}
