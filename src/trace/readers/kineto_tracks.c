/*
 * The thread or queue of an event of Kineto, found again by the text that names it: most events are
 * on a track that was seen a moment ago.
 */
#include "trace/readers/chrome_event.h"
#include "trace/readers/kineto.h"

/* The slot for these texts, which is theirs when it is not empty; NULL when they are too long. */
static struct kineto_track *known_track(struct kineto_tracks *k, const struct str *texts, size_t n)
{
	struct kineto_track want;
	uint32_t sum = 0;
	want.key_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		struct str text = texts[i];
		if (want.key_bytes + text.len + 1 > KINETO_TRACK_BYTES)
			return NULL;
		if (text.len)
			memcpy(want.key + want.key_bytes, text.s, text.len);
		want.key_bytes += (uint32_t)text.len;
		/* A byte that no text holds keeps them apart. */
		want.key[want.key_bytes++] = '"';
		sum = sum * 7 + (text.len ? (unsigned char)text.s[text.len - 1] : 0);
	}
	struct kineto_track *slot = &k->slots[sum & (KINETO_TRACK_SLOTS - 1)];
	if (slot->key_bytes == want.key_bytes && memcmp(slot->key, want.key, want.key_bytes) == 0)
		return slot;
	memcpy(slot->key, want.key, want.key_bytes);
	slot->key_bytes = want.key_bytes;
	slot->track = 0;
	return slot;
}

static uint32_t take_track(struct timeline *t, struct kineto_track *known, const struct track *k)
{
	uint32_t track = timeline_track(t, k);
	if (known)
		known->track = track;
	return track;
}

uint32_t kineto_host_track(
        struct kineto_tracks *tracks, struct timeline *t, const struct raw_event *e)
{
	const struct str texts[] = { e->pid, e->tid };
	struct kineto_track *known = known_track(tracks, texts, 2);
	if (known && known->track)
		return known->track;
	struct track k;
	memset(&k, 0, sizeof k);
	k.device = TRACE_NONE;
	k.pid = chrome_text(t, e->pid);
	k.tid = chrome_text(t, e->tid);
	return take_track(t, known, &k);
}

uint32_t kineto_device_track(struct kineto_tracks *tracks, struct timeline *t,
        const struct raw_event *e, const struct kineto_arguments *a)
{
	struct str device = a->device.s ? a->device : e->pid;
	struct str stream = a->stream.s ? a->stream : e->tid;
	const struct str texts[] = { e->pid, e->tid, device, stream };
	struct kineto_track *known = known_track(tracks, texts, 4);
	if (known && known->track)
		return known->track;
	struct track k;
	memset(&k, 0, sizeof k);
	if (!chrome_whole(device, &k.device))
		k.device = -1;
	k.pid = chrome_text(t, e->pid);
	k.tid = chrome_text(t, e->tid);
	k.stream = chrome_text(t, stream);
	return take_track(t, known, &k);
}
