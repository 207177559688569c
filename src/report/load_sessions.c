#include "report/load_sessions.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "stats/quantile.h"
#include "text/json.h"

static void put_turns(struct json *j, const struct load_sessions *s)
{
	json_key(j, "by_turn");
	json_array_open(j);
	for (int i = 0; i < LOAD_TURNS_SHOWN; i++) {
		const struct load_turn *t = &s->turns_by_number[i];
		if (t->latency.n == 0)
			continue;
		json_object_open(j);
		json_put_int(j, "turn", i + 1);
		json_put_bool(j, "and_later", i + 1 == LOAD_TURNS_SHOWN);
		json_put_int(j, "n", t->latency.n);
		json_put_double(j, "input_tokens_mean", t->input_tokens_mean);
		load_json_hist(j, "ttft_ms", &t->ttft);
		load_json_hist(j, "latency_ms", &t->latency);
		json_object_close(j);
	}
	json_array_close(j);
}

void load_sessions_json(struct json *j, const struct load_run *r)
{
	const struct load_sessions *s = r->sessions;
	if (!s)
		return;
	json_key(j, "sessions");
	json_object_open(j);
	json_put_string(j, "turns", s->turns);
	json_put_string_present(j, "think", s->think);
	json_put_string(j, "history", s->history);
	json_put_int(j, "warmup", s->warmup);
	json_put_int(j, "started", s->started);
	json_put_int(j, "completed", s->completed);
	json_put_int(j, "aborted", s->aborted);
	json_put_int(j, "too_long", s->too_long);
	json_put_int(j, "unfinished", s->unfinished);
	json_put_double(j, "turns_mean", s->turns_mean);
	json_put_int(j, "history_bytes_max", s->history_bytes_max);
	load_json_hist(j, "think_ms", &s->think_time);
	load_json_hist(j, "first_ttft_ms", &s->turns_by_number[0].ttft);
	load_json_hist(j, "later_ttft_ms", &s->later_ttft);
	load_json_hist(j, "first_latency_ms", &s->turns_by_number[0].latency);
	load_json_hist(j, "later_latency_ms", &s->later_latency);
	put_turns(j, s);
	json_object_close(j);
}

static const char *median_ms(const struct hist *h, char out[LAYOUT_NUMBER])
{
	return layout_number((double)hist_quantile(h, 0.5) / NS_PER_MS, out);
}

/* What the service gains by having seen the beginning of a conversation. */
static void add_turns(struct fields *f, const struct load_sessions *s)
{
	char first[LAYOUT_NUMBER], later[LAYOUT_NUMBER];
	bool streamed = s->turns_by_number[0].ttft.n > 0;
	const struct load_turn *one = &s->turns_by_number[0];
	const struct hist *a = streamed ? &one->ttft : &one->latency;
	const struct hist *b = streamed ? &s->later_ttft : &s->later_latency;
	if (!quantile_enough(a->n, 0.5) || !quantile_enough(b->n, 0.5))
		return;
	fields_add(f, _("Turns"),
	        streamed ? _("ttft P50 %s ms in first turns (n %lld), %s ms in later ones (n %lld)")
	                 : _("latency P50 %s ms in first turns (n %lld), %s ms in later ones (n "
	                     "%lld)"),
	        median_ms(a, first), (long long)a->n, median_ms(b, later), (long long)b->n);
}

void load_sessions_fields(struct fields *f, const struct load_run *r)
{
	const struct load_sessions *s = r->sessions;
	char think[LAYOUT_NUMBER];
	if (!s)
		return;
	fields_add(f, _("Sessions"),
	        _("%lld begun: %lld completed, %lld aborted by a failed request, %lld unfinished "
	          "at "
	          "the end"),
	        (long long)s->started, (long long)s->completed, (long long)s->aborted,
	        (long long)s->unfinished);
	if (s->too_long > 0)
		fields_add(f, _("Too long"),
		        _("%lld sessions ended before their last turn, because what was said took "
		          "more memory than a session may"),
		        (long long)s->too_long);
	if (s->think_time.n > 0 && s->think)
		fields_add(f, _("Think time"), _("%s: mean %s ms (n %lld)"), s->think,
		        layout_number(hist_mean(&s->think_time) / NS_PER_MS, think),
		        (long long)s->think_time.n);
	add_turns(f, s);
}
