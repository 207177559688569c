/*
 * The few of the service's own figures that say most: what was running and waiting, how full its
 * memory was, what its cache answered, where the time went.
 */
#include "report/server.h"

#include "base/i18n.h"
#include "report/layout.h"
#include "report/parts.h"
#include "stats/hist.h"

#include <math.h>

static const struct part busy[] = {
	{ "server_requests_running", N_("%s running (at most %s)"), NULL, part_max, 1, false },
	{ "server_requests_waiting", N_("%s waiting (at most %s)"), NULL, part_max, 1, false },
	{ "server_kv_used_ratio", N_("KV cache %s %% full (at most %s %%)"), NULL, part_max, 100,
	        false },
	{ "server_batch_size", N_("batches of %s (P95 ~%s)"), N_("batches of %s"), part_p95, 1,
	        false },
};

static const struct part work[] = {
	{ "server_prompt_tokens_per_s", N_("%s prompt tokens/s (%s in all)"), NULL, part_delta, 1,
	        false },
	{ "server_generation_tokens_per_s", N_("%s tokens/s generated (%s in all)"), NULL,
	        part_delta, 1, false },
	{ "server_requests_failed_per_s", N_("%s failures/s (%s in all)"), NULL, part_delta, 1,
	        true },
	{ "server_preemptions_per_s", N_("%s preemptions/s (%s in all)"), NULL, part_delta, 1,
	        true },
};

static const struct part times[] = {
	{ "server_tokenize_ms", N_("tokenizing %s ms (P95 ~%s)"), N_("tokenizing %s ms"), part_p95,
	        1, false },
	{ "server_queue_ms", N_("queue %s ms (P95 ~%s)"), N_("queue %s ms"), part_p95, 1, false },
	{ "server_prefill_ms", N_("prefill %s ms (P95 ~%s)"), N_("prefill %s ms"), part_p95, 1,
	        false },
	{ "server_decode_ms", N_("decode %s ms (P95 ~%s)"), N_("decode %s ms"), part_p95, 1,
	        false },
	{ "server_inference_ms", N_("inference %s ms (P95 ~%s)"), N_("inference %s ms"), part_p95,
	        1, false },
	{ "server_ttft_ms", N_("TTFT %s ms (P95 ~%s)"), N_("TTFT %s ms"), part_p95, 1, false },
	{ "server_itl_ms", N_("ITL %s ms (P95 ~%s)"), N_("ITL %s ms"), part_p95, 1, false },
	{ "server_tpot_ms", N_("TPOT %s ms (P95 ~%s)"), N_("TPOT %s ms"), part_p95, 1, false },
	{ "server_e2e_ms", N_("whole request %s ms (P95 ~%s)"), N_("whole request %s ms"), part_p95,
	        1, false },
};

/* A moment is not known better than to the millisecond. */
static double milli(double s)
{
	return round(s * 1e3) / 1e3;
}

static void add_page(struct fields *f, const struct signal_page *page)
{
	char from[LAYOUT_NUMBER], to[LAYOUT_NUMBER];
	if (!page->software || isnan(page->from_s)) {
		fields_add(f, _("Server"), _("%s: nothing counted: %s"), page->url,
		        page->reason ? page->reason : _("read only once"));
		return;
	}
	fields_add(f, _("Server"),
	        _("%s at %s, read %lld times; counters from %s s to %s s of the window"),
	        page->software, page->url, (long long)page->n_read,
	        layout_number(milli(page->from_s), from), layout_number(milli(page->to_s), to));
	if (page->n_failed > 0)
		fields_add(f, _("Not read"), _("%lld times; %s"), (long long)page->n_failed,
		        page->reason);
}

static void add_cache(struct fields *f, const struct signal_page *page)
{
	const struct signal *hits = signal_find(page, "server_prefix_cache_hit_ratio");
	char share[LAYOUT_NUMBER];
	if (hits)
		fields_add(f, _("Prefix cache"), _("answered %s %% of %lld prompt tokens"),
		        layout_number(100 * hits->mean, share), (long long)hits->n);
}

static void add_beyond(struct fields *f, const struct load_run *r)
{
	char client[LAYOUT_NUMBER], server[LAYOUT_NUMBER], rest[LAYOUT_NUMBER];
	double mean_ms = hist_mean(&r->metrics[LOAD_TTFT]) / 1e6,
	       beyond = r->server->ttft_beyond_ms;
	if (isnan(beyond))
		return;
	fields_add(f, _("TTFT"),
	        _("%s ms for the client - %s ms in the service = %s ms network and client"),
	        layout_number(mean_ms, client), layout_number(mean_ms - beyond, server),
	        layout_number(beyond, rest));
}

void report_server_fields(const struct signal_page *page, struct fields *f)
{
	add_page(f, page);
	parts_add(f, _("Busy"), page->signals, page->n_signals, busy, ARRAY_LEN(busy));
	parts_add(f, _("Work"), page->signals, page->n_signals, work, ARRAY_LEN(work));
	add_cache(f, page);
	parts_add(f, _("Times"), page->signals, page->n_signals, times, ARRAY_LEN(times));
}

void report_server_text(const struct load_run *r, struct arena *tmp, struct buf *out)
{
	if (!r->server)
		return;
	for (size_t i = 0; i < r->server->n_pages; i++) {
		struct fields f = { .tmp = tmp };
		report_server_fields(&r->server->pages[i], &f);
		if (i + 1 == r->server->n_pages)
			add_beyond(&f, r);
		buf_add_char(out, '\n');
		fields_print(&f, 0, out);
	}
}
