#include "report/trace.h"

#include "text/json.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- values ---- */

/* Whole nanoseconds as microseconds; nothing passes through a double. Below 0 is null. */
static void put_us(struct json *j, const char *name, int64_t ns)
{
	char text[32];
	json_key(j, name);
	if (ns < 0) {
		json_nil(j);
		return;
	}
	int n = snprintf(text, sizeof text, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
	json_raw(j, (struct str){ text, (size_t)n });
}

/* The same of an exact value that is kept in a double, because it may be absent or below 0. */
static void put_exact_us(struct json *j, const char *name, double ns)
{
	char text[32];
	json_key(j, name);
	if (isnan(ns)) {
		json_nil(j);
		return;
	}
	int64_t whole = llround(fabs(ns));
	int n = snprintf(text, sizeof text, "%s%" PRId64 ".%03d", ns < 0 ? "-" : "", whole / 1000,
	        (int)(whole % 1000));
	json_raw(j, (struct str){ text, (size_t)n });
}

static void put_mean_us(struct json *j, const char *name, double ns)
{
	json_put_double(j, name, ns / 1000);
}

/* A count; below 0 is null. */
static void put_count(struct json *j, const char *name, int64_t n)
{
	json_key(j, name);
	if (n < 0)
		json_nil(j);
	else
		json_int(j, n);
}

static void put_str(struct json *j, const char *name, struct str text)
{
	json_key(j, name);
	if (text.len)
		json_str(j, text);
	else
		json_nil(j);
}

/* ---- files ---- */

static void put_counts(struct json *j, const char *name, const struct trace_count *counts, size_t n)
{
	AUTO(auto_buf) struct buf key = { 0 };
	json_key(j, name);
	json_object_open(j);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&key);
		buf_add(&key, counts[i].name);
		json_put_int(j, key.len ? key.s : "", counts[i].n);
	}
	json_object_close(j);
}

static void put_losses(struct json *j, const struct trace_file *f)
{
	json_key(j, "losses");
	json_array_open(j);
	for (size_t i = 0; i < f->n_losses; i++) {
		json_object_open(j);
		json_put_string(j, "id", f->losses[i].id);
		json_put_string(j, "text", f->losses[i].text);
		json_put_int(j, "n", f->losses[i].n);
		json_object_close(j);
	}
	json_array_close(j);
}

static void put_file(struct json *j, const struct trace_file *f)
{
	json_object_open(j);
	json_put_string(j, "path", f->path);
	json_put_string(j, "format", f->format);
	json_put_string(j, "software", f->software);
	json_put_string(j, "error", f->error);
	if (!f->error) {
		json_put_int(j, "bytes", f->bytes);
		json_put_int(j, "events", f->events);
		json_put_int(j, "kept", f->kept);
		json_put_int(j, "skipped", f->skipped);
		json_put_int(j, "zero_duration", f->zero_duration);
		json_put_bool(j, "truncated", f->truncated);
		json_put_bool(j, "capped", f->capped);
		json_key(j, "start_ns");
		if (f->span_ns < 0)
			json_nil(j);
		else
			json_int(j, f->start_ns);
		put_us(j, "span_us", f->span_ns);
		put_count(j, "rank", f->rank);
		put_count(j, "world_size", f->world_size);
		put_losses(j, f);
		put_counts(j, "events_by_phase", f->phases, f->n_phases);
		put_counts(j, "spans_by_category", f->categories, f->n_categories);
		put_counts(j, "rows_by_table", f->rows, f->n_rows);
	}
	json_object_close(j);
}

/* ---- devices ---- */

static void put_gaps(struct json *j, const struct trace_device *d)
{
	json_key(j, "gaps");
	json_object_open(j);
	json_put_int(j, "n", d->gaps);
	put_us(j, "longest_us", d->gaps ? d->longest_gap_ns : -1);
	json_key(j, "by_cause");
	json_object_open(j);
	for (size_t i = 0; i < d->n_gap_sums; i++) {
		json_key(j, d->gap_sums[i].cause);
		json_object_open(j);
		json_put_int(j, "n", d->gap_sums[i].n);
		put_us(j, "total_us", d->gap_sums[i].total_ns);
		json_object_close(j);
	}
	json_object_close(j);
	json_object_close(j);
}

static void put_device(struct json *j, const struct trace_device *d)
{
	json_object_open(j);
	json_put_int(j, "file", (int64_t)d->file);
	json_put_int(j, "id", d->id);
	json_put_string(j, "name", d->name);
	json_put_int(j, "operations", d->operations);
	json_put_int(j, "streams", d->streams);
	put_us(j, "busy_us", d->busy_ns);
	put_us(j, "kernel_busy_us", d->kernel_busy_ns);
	put_us(j, "span_us", d->span_ns);
	json_put_double(j, "idle_ratio", d->idle_ratio);
	json_put_int(j, "kernels", d->kernels);
	put_us(j, "kernel_us", d->kernel_ns);
	put_mean_us(j, "mean_kernel_us", d->mean_kernel_ns);
	json_put_int(j, "copy_direction_changes", d->direction_changes);
	put_gaps(j, d);
	json_object_close(j);
}

/* ---- operators ---- */

static void put_operator(struct json *j, const struct trace_operator *o)
{
	json_object_open(j);
	json_key(j, "name");
	json_str(j, o->name);
	json_put_string(j, "kind", o->kind);
	if (o->class_name)
		json_put_string(j, "class", o->class_name);
	if (o->key.len)
		put_str(j, "key", o->key);
	json_put_int(j, "calls", o->calls);
	put_us(j, "total_us", o->total_ns);
	put_us(j, "self_us", o->self_ns);
	json_put_double(j, "ratio", o->ratio);
	put_mean_us(j, "mean_us", o->mean_ns);
	put_us(j, "max_us", o->max_ns);
	if (o->shapes >= 0)
		json_put_int(j, "shapes", o->shapes);
	json_object_close(j);
}

static void put_groups(struct json *j, const struct trace_group *rows, size_t n)
{
	json_array_open(j);
	for (size_t i = 0; i < n; i++) {
		json_object_open(j);
		json_key(j, "name");
		json_str(j, rows[i].name);
		json_put_int(j, "calls", rows[i].calls);
		put_us(j, "total_us", rows[i].total_ns);
		json_put_double(j, "ratio", rows[i].ratio);
		json_object_close(j);
	}
	json_array_close(j);
}

static void put_totals(struct json *j, const struct trace_run *r)
{
	json_key(j, "totals");
	json_object_open(j);
	for (size_t i = 0; i < r->n_kinds; i++) {
		const struct trace_kind_total *k = &r->kinds[i];
		json_key(j, k->kind);
		json_object_open(j);
		json_put_int(j, "calls", k->calls);
		json_put_int(j, "names", k->names);
		put_us(j, "total_us", k->total_ns);
		put_us(j, "self_us", k->self_ns);
		json_put_int(j, "tracks", k->tracks);
		json_object_close(j);
	}
	json_object_close(j);
}

static void put_operators(struct json *j, const struct trace_run *r)
{
	json_key(j, "operators");
	json_array_open(j);
	for (size_t i = 0; i < r->n_operators; i++)
		put_operator(j, &r->operators[i]);
	json_array_close(j);
	json_put_int(j, "operators_all", (int64_t)r->n_operators_all);
	put_totals(j, r);
	json_key(j, "groupings");
	json_object_open(j);
	for (size_t i = 0; i < r->n_groupings; i++) {
		json_key(j, r->groupings[i].by);
		put_groups(j, r->groupings[i].rows, r->groupings[i].n_rows);
	}
	json_object_close(j);
	json_put_double(j, "top5_ratio", r->top5_ratio);
}

static void put_track(struct json *j, const struct trace_track *t)
{
	json_object_open(j);
	json_put_int(j, "file", (int64_t)t->file);
	put_str(j, "process", t->process);
	put_str(j, "thread", t->thread);
	put_str(j, "label", t->label);
	json_key(j, "device");
	if (t->device == INT64_MIN)
		json_nil(j);
	else
		json_int(j, t->device);
	json_put_int(j, "events", t->events);
	put_us(j, "busy_us", t->busy_ns);
	put_us(j, "span_us", t->span_ns);
	put_us(j, "total_us", t->total_ns);
	json_key(j, "top");
	put_groups(j, t->top, t->n_top);
	json_object_close(j);
}

static void put_tracks(struct json *j, const struct trace_run *r)
{
	if (r->n_tracks == 0)
		return;
	json_key(j, "tracks");
	json_array_open(j);
	for (size_t i = 0; i < r->n_tracks; i++)
		put_track(j, &r->tracks[i]);
	json_array_close(j);
}

/* ---- the rest of what was counted ---- */

static void put_copies(struct json *j, const struct trace_run *r)
{
	json_key(j, "copies");
	json_array_open(j);
	for (size_t i = 0; i < r->n_copies; i++) {
		const struct trace_copy *c = &r->copies[i];
		json_object_open(j);
		put_str(j, "kind", c->kind);
		json_put_int(j, "calls", c->calls);
		put_us(j, "total_us", c->total_ns);
		json_put_int(j, "bytes", c->bytes);
		put_count(j, "under_64kib", c->small);
		json_put_int(j, "calls_of_unknown_size", c->unknown_bytes_calls);
		put_count(j, "pageable", c->pageable);
		json_object_close(j);
	}
	json_array_close(j);
	json_key(j, "memsets");
	json_object_open(j);
	json_put_int(j, "calls", r->memsets);
	put_us(j, "total_us", r->memset_ns);
	json_put_int(j, "bytes", r->memset_bytes);
	json_object_close(j);
}

static void put_memory(struct json *j, const struct trace_run *r)
{
	json_key(j, "memory");
	json_array_open(j);
	for (size_t i = 0; i < r->n_memory; i++) {
		const struct trace_memory *m = &r->memory[i];
		json_object_open(j);
		json_put_int(j, "device_type", m->device_type);
		json_put_int(j, "allocations", m->allocations);
		json_put_int(j, "allocated_bytes", m->allocated_bytes);
		json_put_int(j, "frees", m->frees);
		json_put_int(j, "freed_bytes", m->freed_bytes);
		put_count(j, "peak_allocated_bytes", m->peak_allocated_bytes);
		json_object_close(j);
	}
	json_array_close(j);
}

static void put_steps(struct json *j, const struct trace_steps *s)
{
	json_key(j, "steps");
	json_object_open(j);
	json_put_string(j, "source", s->source);
	json_put_int(j, "n", s->n);
	put_mean_us(j, "mean_us", s->mean_ns);
	put_exact_us(j, "median_us", s->median_ns);
	put_mean_us(j, "gap_mean_us", s->gap_mean_ns);
	json_put_double(j, "gap_ratio", s->gap_ratio);
	json_key(j, "durations_us");
	json_array_open(j);
	for (int64_t i = 0; i < s->n; i++) {
		char text[32];
		int n = snprintf(text, sizeof text, "%" PRId64 ".%03d", s->durations_ns[i] / 1000,
		        (int)(s->durations_ns[i] % 1000));
		json_raw(j, (struct str){ text, (size_t)n });
	}
	json_array_close(j);
	json_object_close(j);
}

static void put_links(struct json *j, const struct trace_links *l)
{
	json_key(j, "links");
	json_object_open(j);
	json_put_int(j, "linked", l->linked);
	json_put_int(j, "unlinked", l->unlinked);
	json_put_int(j, "linked_kernels", l->linked_kernels);
	json_put_int(j, "negative_launch_to_start", l->negative_launch_to_start);
	put_exact_us(j, "median_launch_to_start_us", l->median_launch_to_start_ns);
	put_exact_us(j, "median_queue_delay_us", l->median_queue_delay_ns);
	json_put_int(j, "max_per_launch", l->max_per_launch);
	json_object_close(j);
}

static void put_fill(struct json *j, const struct trace_fill *f)
{
	json_key(j, "fill");
	json_object_open(j);
	json_put_int(j, "kernels_with_grid", f->kernels_with_grid);
	json_put_int(j, "underfilled", f->underfilled);
	put_us(j, "underfilled_us", f->underfilled_ns);
	json_put_int(j, "small_grid", f->small_grid);
	put_us(j, "small_grid_us", f->small_grid_ns);
	json_object_close(j);
}

/* ---- launches that were profiled alone ---- */

static void put_triple(struct json *j, const char *name, const int64_t v[3])
{
	json_key(j, name);
	if (v[0] < 0) {
		json_nil(j);
		return;
	}
	json_array_open(j);
	for (int i = 0; i < 3; i++)
		json_int(j, v[i]);
	json_array_close(j);
}

/* The shortest decimal that is this double: what a counter said, to its last digit. */
static void put_shortest(struct json *j, const char *name, double value)
{
	char text[40];
	int n = 0, digits = 0;
	json_key(j, name);
	if (!isfinite(value)) {
		json_nil(j);
		return;
	}
	do
		n = snprintf(text, sizeof text, "%.*g", ++digits, value);
	while (digits < DBL_DECIMAL_DIG && strtod(text, NULL) != value);
	json_raw(j, (struct str){ text, (size_t)n });
}

static void put_metric(struct json *j, const struct trace_launch_metric *m)
{
	json_object_open(j);
	put_str(j, "section", m->section);
	put_str(j, "name", m->name);
	json_key(j, "unit");
	json_str(j, m->unit);
	put_shortest(j, "value", m->value);
	json_key(j, "text");
	json_str(j, m->text);
	json_object_close(j);
}

static void put_launch(struct json *j, const struct trace_launch *l)
{
	json_object_open(j);
	json_put_int(j, "file", (int64_t)l->file);
	put_str(j, "kernel", l->kernel);
	put_str(j, "device", l->device);
	put_triple(j, "grid", l->grid);
	put_triple(j, "block", l->block);
	json_key(j, "metrics");
	json_array_open(j);
	for (size_t i = 0; i < l->n_metrics; i++)
		put_metric(j, &l->metrics[i]);
	json_array_close(j);
	json_key(j, "rules");
	json_array_open(j);
	for (size_t i = 0; i < l->n_rules; i++) {
		json_object_open(j);
		put_str(j, "name", l->rules[i].name);
		put_str(j, "type", l->rules[i].type);
		put_str(j, "text", l->rules[i].text);
		json_object_close(j);
	}
	json_array_close(j);
	json_object_close(j);
}

static void put_launches(struct json *j, const struct trace_run *r)
{
	if (r->n_launches == 0)
		return;
	json_key(j, "launches");
	json_array_open(j);
	for (size_t i = 0; i < r->n_launches; i++)
		put_launch(j, &r->launches[i]);
	json_array_close(j);
}

/* ---- findings ---- */

static void put_fact(struct json *j, const struct fact *f)
{
	json_object_open(j);
	json_put_string(j, "name", f->name);
	json_put_string(j, "state", fact_state_name(f->state));
	json_put_double(j, "value", f->value);
	json_put_string(j, "unit", f->unit);
	json_put_double_present(j, "threshold", f->threshold);
	json_put_int(j, "n", f->n);
	json_put_string(j, "source", f->source);
	json_put_string_present(j, "reason", f->reason);
	json_object_close(j);
}

static void put_table(struct json *j, const struct trace_table *t)
{
	json_object_open(j);
	json_put_string(j, "name", t->name);
	json_key(j, "columns");
	json_array_open(j);
	for (size_t i = 0; i < t->n_columns; i++) {
		json_object_open(j);
		json_put_string(j, "name", t->columns[i].name);
		json_put_string(j, "unit", t->columns[i].unit);
		json_object_close(j);
	}
	json_array_close(j);
	json_key(j, "rows");
	json_array_open(j);
	for (size_t i = 0; i < t->n_cells; i++) {
		if (i % t->n_columns == 0)
			json_array_open(j);
		if (t->cells[i].is_text)
			json_str(j, t->cells[i].text);
		else
			json_double(j, t->cells[i].number);
		if ((i + 1) % t->n_columns == 0)
			json_array_close(j);
	}
	if (t->n_columns && t->n_cells % t->n_columns)
		json_array_close(j);
	json_array_close(j);
	json_object_close(j);
}

static void put_finding(struct json *j, const struct trace_finding *f)
{
	json_object_open(j);
	json_put_string(j, "id", f->id);
	json_put_int(j, "file", (int64_t)f->file);
	json_put_string(j, "state", trace_finding_state_names[f->state]);
	json_put_double(j, "share_ratio", f->share_ratio);
	json_put_string(j, "text", f->text);
	json_put_string(j, "advice", f->advice);
	json_put_string(j, "reason", f->reason);
	json_key(j, "facts");
	json_array_open(j);
	for (size_t i = 0; i < f->n_facts; i++)
		put_fact(j, &f->facts[i]);
	json_array_close(j);
	json_key(j, "tables");
	json_array_open(j);
	for (size_t i = 0; i < f->n_tables; i++)
		put_table(j, f->tables[i]);
	json_array_close(j);
	json_object_close(j);
}

void report_trace_json(const struct trace_run *r, struct buf *out)
{
	struct json j;
	json_init(&j, out, true);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.trace/1");
	json_key(&j, "files");
	json_array_open(&j);
	for (size_t i = 0; i < r->n_files; i++)
		put_file(&j, &r->files[i]);
	json_array_close(&j);
	json_key(&j, "devices");
	json_array_open(&j);
	for (size_t i = 0; i < r->n_devices; i++)
		put_device(&j, &r->devices[i]);
	json_array_close(&j);
	put_operators(&j, r);
	put_tracks(&j, r);
	put_copies(&j, r);
	put_memory(&j, r);
	put_steps(&j, &r->steps);
	put_links(&j, &r->links);
	put_fill(&j, &r->fill);
	put_launches(&j, r);
	json_key(&j, "findings");
	json_array_open(&j);
	for (size_t i = 0; i < r->n_findings; i++)
		put_finding(&j, &r->findings[i]);
	json_array_close(&j);
	json_object_close(&j);
	buf_add_char(out, '\n');
}
