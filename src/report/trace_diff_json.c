#include "report/trace_diff.h"

#include "text/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Whole nanoseconds as microseconds; nothing passes through a double. */
static void us_value(struct json *j, int64_t ns)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%s%" PRId64 ".%03d", ns < 0 ? "-" : "",
	        (int64_t)llabs(ns / 1000), (int)llabs(ns % 1000));
	json_raw(j, (struct str){ text, (size_t)n });
}

static void put_us_pair(struct json *j, const char *name, const int64_t ns[2])
{
	json_key(j, name);
	json_array_open(j);
	us_value(j, ns[0]);
	us_value(j, ns[1]);
	json_array_close(j);
}

/* Of figures that are divided: null where there are none. */
static void put_us_figures(struct json *j, const char *name, const double ns[2])
{
	json_key(j, name);
	json_array_open(j);
	json_double(j, ns[0] / 1000);
	json_double(j, ns[1] / 1000);
	json_array_close(j);
}

static void put_side(struct json *j, const char *name, const struct trace_diff_side *s)
{
	json_key(j, name);
	json_object_open(j);
	json_put_string(j, "path", s->path);
	json_put_string(j, "format", s->format);
	json_put_string(j, "step_source", s->step_source);
	json_put_int(j, "steps", s->steps);
	json_put_int(j, "warm_steps", s->warm_steps);
	json_object_close(j);
}

static void put_measure(struct json *j, const struct trace_diff_measure *m)
{
	json_object_open(j);
	json_put_string(j, "name", m->name);
	put_us_figures(j, "us", m->ns);
	json_put_double(j, "change_ratio", m->change_ratio);
	json_put_bool(j, "gated", m->gated);
	json_put_bool(j, "failed", m->failed);
	json_object_close(j);
}

static const char *state_of(const struct trace_diff_row *row)
{
	if (row->calls[0] == 0)
		return "new";
	return row->calls[1] == 0 ? "gone" : "both";
}

static void put_row(struct json *j, const struct trace_diff_row *row)
{
	json_object_open(j);
	json_put_string(j, "kind", row->kind);
	json_key(j, "name");
	json_str(j, row->name);
	json_key(j, "shape");
	if (row->shape.len)
		json_str(j, row->shape);
	else
		json_nil(j);
	json_put_string(j, "state", state_of(row));
	json_key(j, "calls");
	json_array_open(j);
	json_int(j, row->calls[0]);
	json_int(j, row->calls[1]);
	json_array_close(j);
	put_us_pair(j, "total_us", row->total_ns);
	put_us_figures(j, "us", row->ns);
	json_put_double(j, "delta_us", row->delta_ns / 1000);
	json_put_double(j, "change_ratio", row->ns[0] > 0 ? row->delta_ns / row->ns[0] : NAN);
	put_us_figures(j, "mean_us", row->mean_ns);
	json_object_close(j);
}

void report_trace_diff_json(const struct trace_diff *d, struct buf *out)
{
	struct json j;
	json_init(&j, out, true);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.trace-diff/1");
	put_side(&j, "first", &d->sides[0]);
	put_side(&j, "second", &d->sides[1]);
	json_put_bool(&j, "per_step", d->per_step);
	json_put_double(&j, "fail_over_ratio", d->fail_over_ratio);
	json_put_bool(&j, "failed", d->failed);
	json_key(&j, "measures");
	json_array_open(&j);
	for (size_t i = 0; i < d->n_measures; i++)
		put_measure(&j, &d->measures[i]);
	json_array_close(&j);
	json_put_int(&j, "rows_all", d->n_rows_all);
	json_put_int(&j, "rows_new", d->n_new);
	json_put_int(&j, "rows_gone", d->n_gone);
	json_key(&j, "rows");
	json_array_open(&j);
	for (size_t i = 0; i < d->n_rows; i++)
		put_row(&j, &d->rows[i]);
	json_array_close(&j);
	json_object_close(&j);
	buf_add_char(out, '\n');
}
