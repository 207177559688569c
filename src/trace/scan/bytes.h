/*
 * bytes.h - the innermost loops of the scanner: where a string ends, where a bracket closes.
 *
 * Each loop exists in several ways that give the same answer for every text; the fastest that the
 * machine has is chosen at the first use. None reads beyond end.
 *
 * Source: the masks of quotes and of what stands inside them are those of Langdale and Lemire,
 * "Parsing Gigabytes of JSON per Second" (2019), section 3.1.
 */
#ifndef VENTURI_TRACE_SCAN_BYTES_H
#define VENTURI_TRACE_SCAN_BYTES_H

#include "trace/scan/raw_event.h"

#include <stdbool.h>
#include <stdint.h>

enum scan_result {
	SCAN_OK,
	SCAN_MORE,   /* the text ends inside */
	SCAN_BROKEN, /* syntax that cannot be read */
};

typedef bool scan_wants_args(struct str ph, struct str cat, struct str name);

/*
 * The event that starts at p, a '{'.
 *
 * ret_after  behind its '}'; when broken, where that was seen
 */
typedef enum scan_result scan_event(const char *p, const char *end, scan_wants_args *wants_args,
        struct raw_event *ret_event, const char **ret_after);

/* Where skipping stands; it can go on in the next piece of a text. Zeroed: before the bracket. */
struct scan_skip {
	int64_t depth;
	bool in_string;
	bool escaped; /* the byte before was a backslash that escapes */
	bool closed;  /* the byte before closed a string: what follows must not be text */
	bool broken;  /* a string ends where none can end: a quote was lost or not escaped */
};

struct scan_ops {
	const char *name;
	/* The first '"' or '\' in [p, end), or end. */
	const char *(*quote)(const char *p, const char *end);
	/*
	 * From an opening bracket to behind the one that closes it, strings left out. NULL when it
	 * is not in [p, end), or when s->broken was set. Kinds of brackets are not compared.
	 */
	const char *(*skip)(struct scan_skip *s, const char *p, const char *end);
	scan_event *event;
};

/* event.c */
scan_event scan_event_portable;
#if defined(__x86_64__)
scan_event scan_event_sse2, scan_event_avx2;
#endif

/* Those that this machine can run, from the portable one to the fastest; NULL at the end. */
extern const struct scan_ops *const *scan_ops_all(void);
/* The fastest. */
const struct scan_ops *scan_ops_best(void);

/* A byte that may follow a closing quote: blank, comma, colon, closing bracket. Control characters
 * count as blanks. */
static inline bool scan_may_follow(char c)
{
	return (unsigned char)c <= ' ' || c == ',' || c == ':' || c == '}' || c == ']';
}

static inline const char *scan_blanks(const char *p, const char *end)
{
	while (p < end && (unsigned char)*p <= ' ')
		p++;
	return p;
}

#endif
