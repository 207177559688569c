/*
 * scan.h - the text of a Chrome trace, cut into events. Inside of trace/scan; others use chrome.h.
 *
 * A scan is fed with pieces of the text, one behind the other, and stands in one of few states: no
 * tree is built and nothing recurses. Events are found by their structure: where the text is
 * damaged, reading goes on at the next place that looks like the start of an event.
 */
#ifndef VENTURI_TRACE_SCAN_SCAN_H
#define VENTURI_TRACE_SCAN_SCAN_H

#include "trace/scan/chrome.h"
#include "trace/scan/bytes.h"

#include <stddef.h>

enum {
	/* A longer one is damage: something in it is not closed. */
	SCAN_EVENT_MAX = 1 << 20,
	/* A longer member beside the events is skipped without being shown to the dialect. */
	SCAN_MEMBER_MAX = 8 << 20,
	/* How far ahead a broken event may be read without a doubt about the cost. */
	SCAN_CHEAP_BYTES = 64 * 1024,
};

/*
 * Whether an event starts at p, a '{', by the name of its first member. text is where the known
 * text begins: what stands before p is looked at too.
 */
enum scan_result scan_is_start(const char *text, const char *p, const char *end);
/* The first start at or behind p; where it cannot be told before end, that place; else end. */
const char *scan_next_start(const char *text, const char *p, const char *end);
/* The last start behind text, or NULL. */
const char *scan_last_start(const char *text, const char *end);

/* Between the quotes of the string that begins behind an opening quote; its end, or NULL. */
const char *scan_string_end(
        const struct scan_ops *ops, const char *p, const char *end, bool *ret_escaped);

enum scan_state {
	SCAN_HEAD,    /* nothing read so far */
	SCAN_MEMBERS, /* in the top-level object */
	SCAN_SKIP,    /* in a member of it that is not wanted */
	SCAN_EVENTS,  /* in the array of events */
	SCAN_BEHIND,  /* behind that array */
	SCAN_END,     /* behind all of it */
	SCAN_LOST,    /* looking for the next start of an event */
};

struct scan {
	const struct scan_ops *ops;
	struct chrome_part *part;
	enum scan_state state;
	struct scan_skip skip;
	bool in_array; /* the events are not in an object */
	/* Bytes read in vain for events that turned out broken, and the bytes read. */
	int64_t vain, taken;
	/* What was read may depend on what came before the text: see scan_begin_block. */
	bool unsure;
};

void scan_init(struct scan *s, const struct scan_ops *ops, struct chrome_part *part);
/* Before a text of which it is guessed that it begins at an event, in the array of events. */
void scan_begin_block(struct scan *s);
/* Whether nothing was open at the end of the text. */
bool scan_is_whole(const struct scan *s);
/*
 * Reads as much of the text as can be understood without what follows.
 *
 * last     nothing follows: all is read
 * returns  bytes read; the caller gives the rest again, with more behind it
 */
size_t scan_feed(struct scan *s, struct str text, bool last);

#endif
