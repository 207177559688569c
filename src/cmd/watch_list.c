#include "cmd/watch_list.h"

#include "base/i18n.h"
#include "base/wrap.h"
#include "text/json.h"
#include "text/table.h"
#include "watch/pages/metrics_map.h"
#include "watch/sampler.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100, INDENT = 4 };

static const char *const kinds[] = {
	[WATCH_GAUGE] = N_("gauge"),
	[WATCH_RATE] = N_("rate"),
	[WATCH_SHARE] = N_("share"),
	[WATCH_TEXT] = N_("words"),
};

/* What is said of one signal, whatever table it is from. */
struct entry {
	const char *name, *unit, *kind;
	const char *from;
	const char *help;  /* NULL: nothing */
	const char *grain; /* NULL: exact */
};

/* One group of signals, one after the other. */
struct listing {
	void (*begin)(struct listing *l, const char *source);
	void (*add)(struct listing *l, const struct entry *entry);
	void (*end)(struct listing *l);
	struct buf *out;
	struct arena tmp;
	struct table table;
	struct json json;
	const char *source;
};

/* ---- the signals of pages, whose sources are names of metrics ---- */

static const char *const metrics_kinds[] = {
	[METRICS_GAUGE_SUM] = N_("gauge"),
	[METRICS_GAUGE_MAX] = N_("gauge"),
	[METRICS_COUNTER] = N_("rate"),
	[METRICS_DISTRIBUTION] = N_("distribution"),
};

static const char *const metrics_help[METRICS_N_SIGNALS] = {
	[METRICS_RUNNING] = N_("requests that are computed now"),
	[METRICS_WAITING] = N_("requests that wait for their turn"),
	[METRICS_KV_USED] = N_("how full the KV cache is"),
	[METRICS_SWAPPED] = N_("requests whose KV cache was moved to the host's memory"),
	[METRICS_SPEC_RATE] = N_("share of the drafted tokens that were accepted at last"),
	[METRICS_SPEC_LENGTH] = N_("tokens that a pass of speculation gave at last"),
	[METRICS_GRAPH] = N_("whether the newest pass was a recorded graph of the device: 1 or 0"),
	[METRICS_REQUESTS_OK] = N_("requests that ended well"),
	[METRICS_REQUESTS_FAILED] = N_("requests that failed"),
	[METRICS_PROMPT_TOKENS] = N_("tokens of prompts"),
	[METRICS_GENERATION_TOKENS] = N_("tokens that were generated"),
	[METRICS_PREEMPTIONS] = N_("requests that lost their place and are computed anew"),
	[METRICS_PREFIX_HIT] = N_("share of the prompt tokens that the prefix cache had"),
	[METRICS_SPEC_ACCEPTED] = N_("share of the drafted tokens that were accepted"),
	[METRICS_STEPS] = N_("passes of the model"),
	[METRICS_BATCH_SIZE] = N_("requests in a pass"),
	[METRICS_STEP_TOKENS] = N_("tokens in a pass"),
	[METRICS_INPUT_TOKENS] = N_("prompt tokens of a request"),
	[METRICS_OUTPUT_TOKENS] = N_("generated tokens of a request"),
	[METRICS_TTFT] = N_("time to the first token"),
	[METRICS_ITL] = N_("time between two tokens"),
	[METRICS_TPOT] = N_("time for each token after the first"),
	[METRICS_E2E] = N_("time of a whole request"),
	[METRICS_QUEUE] = N_("time before the first pass"),
	[METRICS_TOKENIZE] = N_("time of tokenizing"),
	[METRICS_PREFILL] = N_("time of the prompt's passes"),
	[METRICS_DECODE] = N_("time of the passes after the first token"),
	[METRICS_INFERENCE] = N_("time in the model"),
	[METRICS_COPY_IN] = N_("time of copying a request's inputs to the device"),
	[METRICS_COPY_OUT] = N_("time of copying a request's outputs from the device"),
	[METRICS_STEP_TIME] = N_("time of a pass"),
};

/* "vllm num_requests_running; sglang num_running_reqs": the preferred name of each. */
static const char *metric_names(enum metrics_signal signal, struct arena *tmp)
{
	AUTO(auto_buf) struct buf names = { 0 };
	int before = -1;
	for (size_t i = 0; i < metrics_n_rows; i++) {
		const struct metrics_row *row = &metrics_rows[i];
		struct str rest, first = str_cut(str_of(row->names), '|', &rest);
		if (row->signal != signal)
			continue;
		if (before == (int)row->software)
			buf_add_c(&names, " + ");
		else
			buf_printf(&names, "%s%s ", names.len ? "; " : "",
			        metrics_software_names[row->software]);
		buf_add(&names, first);
		before = (int)row->software;
	}
	return str_c(buf_str(&names), tmp);
}

/* ---- all of them ---- */

static void list_rows(
        struct listing *l, const char *source, const struct watch_row *rows, size_t n_rows)
{
	l->begin(l, source);
	for (size_t i = 0; i < n_rows; i++) {
		const struct watch_row *row = &rows[i];
		const struct entry entry = {
			.name = row->name,
			.unit = row->unit,
			.kind = kinds[row->kind],
			.from = row->from,
			.help = row->help,
			.grain = row->grain,
		};
		l->add(l, &entry);
	}
	l->end(l);
}

static void list_all(struct listing *l)
{
	for (size_t i = 0; i < watch_n_sources; i++)
		list_rows(l, watch_sources[i]->name, watch_sources[i]->rows,
		        watch_sources[i]->n_rows);
	l->begin(l, "metrics");
	for (int i = 0; i < METRICS_N_SIGNALS; i++) {
		const struct entry entry = {
			.name = metrics_signals[i].name,
			.unit = metrics_signals[i].unit,
			.kind = metrics_kinds[metrics_signals[i].kind],
			.from = metric_names(i, &l->tmp),
			.help = metrics_help[i],
		};
		l->add(l, &entry);
	}
	l->end(l);
	list_rows(l, "watch", sampler_rows, sampler_n_rows);
	arena_release(&l->tmp);
}

/* ---- text ---- */

static void text_begin(struct listing *l, const char *source)
{
	buf_printf(l->out, "%s%s\n", l->out->len ? "\n" : "", source);
}

static void text_add(struct listing *l, const struct entry *e)
{
	AUTO(auto_buf) struct buf line = { 0 };
	buf_printf(l->out, "  %s [%s] %s\n", e->name, e->unit, _(e->kind));
	if (e->help)
		buf_printf(&line, "%s; ", _(e->help));
	buf_printf(&line, _("from %s"), e->from ? e->from : "-");
	if (e->grain)
		buf_printf(&line, "; %s", _(e->grain));
	buf_add_blanks(l->out, INDENT);
	wrap_text(l->out, buf_str(&line), INDENT, INDENT, COLUMNS);
}

static void text_end(struct listing *l)
{
	(void)l;
}

void watch_list_text(struct buf *out)
{
	struct listing l = { text_begin, text_add, text_end, .out = out };
	list_all(&l);
}

/* ---- Markdown ---- */

static void markdown_begin(struct listing *l, const char *source)
{
	buf_printf(l->out, "\n## %s\n\n", source);
	table_init(&l->table, &l->tmp, "llllll");
	table_cell(&l->table, "%s", _("signal"));
	table_cell(&l->table, "%s", _("unit"));
	table_cell(&l->table, "%s", _("kind"));
	table_cell(&l->table, "%s", _("what it is"));
	table_cell(&l->table, "%s", _("read from"));
	table_cell(&l->table, "%s", _("how fine"));
}

static void markdown_add(struct listing *l, const struct entry *e)
{
	table_cell(&l->table, "`%s`", e->name);
	table_cell(&l->table, "%s", e->unit);
	table_cell(&l->table, "%s", _(e->kind));
	table_cell(&l->table, "%s", e->help ? _(e->help) : "");
	table_cell(&l->table, "%s", e->from ? e->from : "");
	table_cell(&l->table, "%s", e->grain ? _(e->grain) : "");
}

static void markdown_end(struct listing *l)
{
	table_markdown(&l->table, l->out);
}

void watch_list_markdown(struct buf *out)
{
	struct listing l = { markdown_begin, markdown_add, markdown_end, .out = out };
	buf_printf(out, "# %s\n\n", _("Signals"));
	wrap_text(out,
	        str_of(_("What 'venturi watch' can tell, by source. This page is written by "
	                 "scripts/update-signals from the tables that the sources fill from; "
	                 "'venturi watch --list' shows the same. watch.md says what states, "
	                 "instances and kinds are.")),
	        0, 0, COLUMNS);
	list_all(&l);
}

/* ---- JSON ---- */

static void json_begin_source(struct listing *l, const char *source)
{
	l->source = source;
}

static void json_add(struct listing *l, const struct entry *e)
{
	struct json *j = &l->json;
	json_object_open(j);
	json_put_string(j, "name", e->name);
	json_put_string(j, "unit", e->unit);
	json_put_string(j, "kind", e->kind);
	json_put_string(j, "source", l->source);
	json_put_string(j, "from", e->from);
	json_put_string(j, "help", e->help ? _(e->help) : NULL);
	json_put_string_present(j, "grain", e->grain ? _(e->grain) : NULL);
	json_object_close(j);
}

void watch_list_json(struct buf *out)
{
	struct listing l = { json_begin_source, json_add, text_end, .out = out };
	json_init(&l.json, out, true);
	json_object_open(&l.json);
	json_put_string(&l.json, "schema", "venturi.signals/1");
	json_key(&l.json, "signals");
	json_array_open(&l.json);
	list_all(&l);
	json_array_close(&l.json);
	json_object_close(&l.json);
	buf_add_char(out, '\n');
}
