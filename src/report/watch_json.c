#include "report/watch.h"

#include "report/layout.h"
#include "report/signal_json.h"
#include "text/json.h"

#include <math.h>
#include <string.h>

static void put_window(struct json *j, const struct signal_system *s)
{
	json_key(j, "window");
	json_object_open(j);
	json_put_double(j, "from_s", s->from_s);
	json_put_double(j, "to_s", s->to_s);
	json_put_int(j, "samples", s->n_samples);
	json_object_close(j);
	json_put_double(j, "interval_s", s->interval_s);
}

static const struct signal *own_signal(const struct signal_system *s, const char *name)
{
	for (size_t i = 0; i < s->n_signals; i++)
		if (strcmp(s->signals[i].name, name) == 0)
			return &s->signals[i];
	return NULL;
}

/* What the watch itself took, and how punctual it was. */
static void put_sampler(struct json *j, const struct signal_system *s)
{
	const struct signal *cpu = own_signal(s, "watch_cpu_ratio"),
	                    *late = own_signal(s, "watch_late_ms");
	json_key(j, "sampler");
	json_object_open(j);
	json_put_double(j, "cpu_ratio", cpu ? cpu->mean : NAN);
	json_put_double(j, "late_ms_p50", late ? late->p50 : NAN);
	json_put_double(j, "late_ms_p95", late ? late->p95 : NAN);
	json_put_double(j, "late_ms_max", late ? late->max : NAN);
	json_object_close(j);
}

static void put_thread(struct json *j, const struct signal_thread *t)
{
	const char state[] = { t->state, '\0' };
	json_object_open(j);
	json_put_int(j, "pid", t->pid);
	json_put_int(j, "tid", t->tid);
	json_put_string(j, "name", t->name);
	json_put_string(j, "state", t->state ? state : NULL);
	json_put_int(j, "n", t->n);
	json_put_double(j, "cpu_ratio", t->cpu_ratio);
	json_put_double(j, "cpu_ratio_max", t->cpu_ratio_max);
	json_put_double(j, "run_queue_ratio", t->run_queue_ratio);
	json_put_string(j, "waits_for", t->waits_for);
	json_put_double(j, "waits_for_ratio", t->waits_for ? t->waits_for_ratio : NAN);
	json_put_double(j, "voluntary_per_s", t->voluntary_per_s);
	json_put_double(j, "involuntary_per_s", t->involuntary_per_s);
	json_put_string(j, "cpus", t->cpus);
	json_object_close(j);
}

static void put_threads(struct json *j, const struct signal_system *s)
{
	json_key(j, "threads");
	json_array_open(j);
	for (size_t i = 0; i < s->n_threads; i++)
		put_thread(j, &s->threads[i]);
	json_array_close(j);
	json_put_int(j, "threads_seen", s->n_threads_seen);
}

static void put_symbols(struct json *j, const struct signal_system *s)
{
	json_key(j, "symbols");
	json_array_open(j);
	for (size_t i = 0; i < s->n_symbols; i++) {
		const struct signal_symbol *symbol = &s->symbols[i];
		json_object_open(j);
		json_put_int(j, "pid", symbol->pid);
		json_put_string(j, "symbol", symbol->symbol);
		json_put_string(j, "module", symbol->module);
		json_put_string_present(j, "build_id", symbol->build_id);
		json_put_int(j, "n", symbol->n);
		json_put_double(j, "ratio", symbol->ratio);
		json_object_close(j);
	}
	json_array_close(j);
}

/* pages: their signals stand behind those of the system. */
static void put_system(struct json *j, const struct signal_system *s,
        const struct signal_page *pages, size_t n_pages, bool series)
{
	put_window(j, s);
	put_sampler(j, s);
	json_key(j, "signals");
	json_array_open(j);
	for (size_t i = 0; i < s->n_signals; i++)
		signal_json(j, &s->signals[i], series);
	for (size_t i = 0; i < n_pages; i++)
		for (size_t k = 0; k < pages[i].n_signals; k++)
			signal_json(j, &pages[i].signals[k], series);
	json_array_close(j);
	put_threads(j, s);
	put_symbols(j, s);
}

void report_system_json(struct json *j, const struct signal_system *system, bool series)
{
	json_object_open(j);
	put_system(j, system, NULL, 0, series);
	json_object_close(j);
}

static void put_processes(struct json *j, const struct watch_run *r)
{
	json_key(j, "processes");
	json_array_open(j);
	for (size_t i = 0; i < r->n_processes; i++) {
		json_object_open(j);
		json_put_int(j, "pid", r->processes[i].pid);
		json_put_string(j, "name", r->processes[i].name);
		json_put_double(j, "ended_s", r->processes[i].ended_s);
		json_object_close(j);
	}
	json_array_close(j);
	if (!r->command)
		return;
	json_key(j, "command");
	json_object_open(j);
	json_put_string(j, "line", r->command);
	json_key(j, "status");
	if (r->command_status < 0)
		json_nil(j);
	else
		json_int(j, r->command_status);
	json_object_close(j);
}

static void put_pages(struct json *j, const struct watch_run *r)
{
	json_key(j, "pages");
	json_array_open(j);
	for (size_t i = 0; i < r->n_pages; i++)
		signal_json_page(j, &r->pages[i]);
	json_array_close(j);
}

static void put_files(struct json *j, const struct watch_run *r)
{
	const struct watch_record_info *record = &r->record;
	if (r->replayed) {
		json_key(j, "replayed");
		json_object_open(j);
		json_put_string(j, "file", r->replayed);
		json_put_bool(j, "whole", !r->is_cut);
		json_object_close(j);
	}
	if (!record->path)
		return;
	json_key(j, "record");
	json_object_open(j);
	json_put_string(j, "file", record->path);
	json_put_int(j, "samples", record->n_samples);
	json_put_int(j, "dropped", record->n_dropped);
	json_put_string_present(j, "error", record->failed ? strerror(record->failed) : NULL);
	json_object_close(j);
}

void report_watch_json(const struct watch_run *r, bool series, struct buf *out)
{
	struct json j;
	json_init(&j, out, true);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.watch/1");
	json_put_string(&j, "started_at", r->started_at);
	json_put_double(&j, "duration_s", r->duration_s);
	layout_json_fingerprint(&j, &r->fingerprint);
	put_processes(&j, r);
	put_pages(&j, r);
	put_files(&j, r);
	put_system(&j, &r->system, r->pages, r->n_pages, series);
	json_object_close(&j);
	buf_add_char(out, '\n');
}
