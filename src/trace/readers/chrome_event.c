#include "trace/readers/chrome_event.h"

#include <math.h>
#include <string.h>

bool chrome_start(struct timeline *t, const struct raw_event *e, struct event *ret)
{
	enum loss loss = chrome_us_to_ns(e->ts, &ret->start_ns);
	if (loss == N_LOSSES)
		return true;
	t->lost[loss]++;
	return false;
}

bool chrome_span(struct timeline *t, const struct raw_event *e, struct event *ret)
{
	enum loss loss = chrome_us_to_ns(e->ts, &ret->start_ns);
	if (loss == N_LOSSES)
		loss = chrome_us_to_ns(e->dur, &ret->dur_ns);
	if (loss == N_LOSSES) {
		tallies_add(&t->categories, chrome_text(t, e->cat), 1);
		if (ret->dur_ns < 0)
			loss = LOST_NEGATIVE;
		else if (ret->dur_ns > TRACE_MAX_DUR_NS)
			loss = LOST_TOO_LONG;
	}
	if (loss == N_LOSSES)
		return true;
	t->lost[loss]++;
	return false;
}

uint32_t chrome_name(struct timeline *t, const struct raw_event *e, struct buf *tmp)
{
	return timeline_name(t, e->name_escaped ? chrome_unescape(e->name, tmp, t) : e->name);
}

uint32_t chrome_text(struct timeline *t, struct str text)
{
	return text.len ? timeline_name(t, text) : 0;
}

static uint32_t track_of(
        struct timeline *t, const struct raw_event *e, int64_t device, struct str stream)
{
	struct track k;
	memset(&k, 0, sizeof k);
	k.device = device;
	k.pid = chrome_text(t, e->pid);
	k.tid = chrome_text(t, e->tid);
	k.stream = chrome_text(t, stream);
	return timeline_track(t, &k);
}

uint32_t chrome_host_track(struct timeline *t, const struct raw_event *e)
{
	return track_of(t, e, TRACE_NONE, (struct str){ 0 });
}

uint32_t chrome_device_track(
        struct timeline *t, const struct raw_event *e, int64_t device, struct str stream)
{
	return track_of(t, e, device, stream.len ? stream : e->tid);
}

int64_t chrome_number(struct timeline *t, struct str text, int64_t absent)
{
	int64_t value;
	if (!text.len)
		return absent;
	if (chrome_whole(text, &value))
		return value;
	t->lost[LOST_BAD_NUMBER]++;
	return absent;
}

void chrome_instant(struct timeline *t, const struct raw_event *e, struct buf *tmp)
{
	struct event event = { 0 };
	if (!chrome_start(t, e, &event))
		return;
	event.track = chrome_host_track(t, e);
	event.name = chrome_name(t, e, tmp);
	timeline_add(t, GROUP_INSTANT, &event);
}

void chrome_counters(struct timeline *t, const struct raw_event *e, struct buf *tmp)
{
	struct event event;
	struct counter_sample sample = { .device = TRACE_NONE };
	struct chrome_members m = chrome_members_of(e->args);
	struct str key, value;
	if (!chrome_start(t, e, &event))
		return;
	sample.time_ns = event.start_ns;
	while (chrome_members_next(&m, &key, &value)) {
		if (!str_to_double(value, &sample.value) || !isfinite(sample.value)) {
			t->lost[LOST_BAD_NUMBER]++;
			continue;
		}
		sample.name = chrome_name(t, e, tmp);
		if (!str_eq(key, STR("value"))) {
			buf_clear(tmp);
			buf_add(tmp, timeline_name_of(t, sample.name));
			buf_add_char(tmp, ' ');
			buf_add(tmp, key);
			sample.name = timeline_name(t, buf_str(tmp));
		}
		timeline_counter(t, &sample);
	}
}
