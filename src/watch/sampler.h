/*
 * sampler.h - the thread that samples all sources, at planned moments of the monotonic clock.
 *
 *	sampler_open, sampler_start
 *	sampler_begins, sampler_ends   from any thread, at once: the thread samples now, and what is
 *	                               reported is what lies between
 *	sampler_report                 from any thread, also meanwhile
 *	sampler_close
 *
 * Without sampler_begins the window begins with the first sample; without sampler_ends it lasts.
 * The sampler measures itself: its rows are watch_*.
 */
#ifndef VENTURI_WATCH_SAMPLER_H
#define VENTURI_WATCH_SAMPLER_H

#include "watch/source.h"

struct sampler;

/*
 * Opens all sources.
 *
 * errors   ERR_SYSTEM: there is no process of one of the PIDs. A source that cannot be opened is no
 *          error: its signals say why.
 */
bool sampler_open(const struct watch_config *config, struct arena *run,
        struct sampler **ret_sampler, struct err *err) NODISCARD;
bool sampler_start(struct sampler *s, struct err *err) NODISCARD;
/* Ends the thread, closes the sources; NULL is allowed. */
void sampler_close(struct sampler *s);

void sampler_begins(struct sampler *s);
void sampler_ends(struct sampler *s);

/*
 * What was seen. After sampler_begins or sampler_ends it waits until their sample was taken.
 *
 * zero_ns  what is 0 on the axis of times; INT64_MIN: the begin of the window
 */
void sampler_report(
        struct sampler *s, int64_t zero_ns, struct arena *run, struct signal_system *ret_system);

/* The same as board_glance has it, which holds the thread up for well under a millisecond. */
void sampler_glance(struct sampler *s, int64_t zero_ns, bool (*wants)(const char *name),
        struct arena *run, struct signal_system *ret_system);

/* When the window began, on the clock of the samples; 0: it has not yet. */
int64_t sampler_begin_ns(struct sampler *s);

/*
 * Called by the thread after each sample, under the lock: board_each_news is for it. Set before
 * sampler_start.
 */
void sampler_on_sample(struct sampler *s, void (*on_sample)(void *ctx, struct board *b), void *ctx);

/* One sample by the calling thread, for tests that bring their own clock: instead of start. */
void sampler_step(struct sampler *s, int64_t now_ns);

/* Rows of the sampler itself, for who lists all signals. */
extern const struct watch_row sampler_rows[];
extern const size_t sampler_n_rows;

#endif
