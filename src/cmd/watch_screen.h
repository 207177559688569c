/*
 * watch_screen.h - the live screen of 'venturi watch': the terminal, its keys, and several times a
 * second what report/screen.h lays out.
 *
 * However the screen ends, by a key, an error, a signal or a crash, the terminal is as it was. Only
 * SIGKILL leaves it as it is. One screen at a time, by the main thread; nothing else may write to
 * the terminal meanwhile.
 */
#ifndef VENTURI_CMD_WATCH_SCREEN_H
#define VENTURI_CMD_WATCH_SCREEN_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "record/signal.h"
#include "watch/sampler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct watch_screen_config {
	const char *title;       /* what is watched: "llama-server (1234)" */
	int64_t until_ns;        /* on the monotonic clock; 0: without end */
	const atomic_bool *stop; /* ends the screen when it becomes true; NULL: nothing does */

	/* Called by the thread of the screen, before each drawing; NULL: not. */
	bool (*is_over)(void *ctx); /* true ends the screen: what was watched is gone */
	/* What services say now; NULL: nothing. What it returns lives as long as run. */
	const struct signal_server *(*pages)(void *ctx, struct arena *run);
	void *ctx;
};

/*
 * Can the screen be shown here?
 *
 * ret_why  when it cannot: one clause, translated
 */
bool watch_screen_is_possible(const char **ret_why);

/*
 * Shows what a started sampler sees, until q, config's ends, or SIGINT, SIGTERM or SIGHUP, which
 * are answered as cmd_catch_signals has it. The sampler goes on; 'r' begins its window anew.
 *
 * errors  ERR_SYSTEM: the terminal could not be set up
 */
bool watch_screen_run(
        struct sampler *s, const struct watch_screen_config *config, struct err *err) NODISCARD;

#endif
