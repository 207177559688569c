/*
 * scrape.h - reads the /metrics page of a service before, during and after a measurement, on a
 * thread of its own.
 *
 *	scrape_open, scrape_look         before the load: is there such a page?
 *	scrape_start                     the thread waits for the window
 *	scrape_window_opens, _closes     from any thread, at once: the thread looks now
 *	scrape_finish                    the last look, and the thread's end
 *	scrape_report                    what was seen, also meanwhile
 *	scrape_start ...                 of another window
 *	scrape_close
 *
 * Between opening and closing it looks every second, less often in a run of many minutes. One look
 * is one GET on a connection of its own. A look that fails is counted, and the next one is tried.
 */
#ifndef VENTURI_WATCH_SCRAPE_H
#define VENTURI_WATCH_SCRAPE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/opt.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stdint.h>

struct scrape_config {
	const char *url;         /* of the page; a base address means /metrics there */
	const char *path;        /* instead of the URL's; NULL: none */
	const char *unix_socket; /* NULL: connect to the URL's host */
	struct opt_list headers; /* lines "Name: value" */
	struct opt_list targets; /* the URLs whose hosts get the headers: they may hold a secret */
	bool insecure;           /* do not verify the certificate */
	bool patient;            /* a host that cannot be reached is a look that failed */
	int64_t timeout_ns;      /* of one look */

	/* After each look, by who looks; failed is NULL when the text could be read. NULL: not. */
	void (*on_look)(void *ctx, int64_t at_ns, struct str text, const char *failed);
	void *ctx;
};

struct scrape;

/* errors   ERR_USAGE for the URL, ERR_SYSTEM for the host, unless one is patient */
bool scrape_open(const struct scrape_config *config, struct arena *run, struct scrape **ret_scrape,
        struct err *err) NODISCARD;
void scrape_close(struct scrape *s);

/* One look, now, by the calling thread; not between scrape_start and scrape_finish. */
bool scrape_look(struct scrape *s, struct err *err) NODISCARD;

/* The URL of the page in full; it lasts as long as the arena. */
const char *scrape_url(const struct scrape *s);

/*
 * Starts the thread.
 *
 * at_once  the window opens with the load: differences count from the newest look on
 */
bool scrape_start(struct scrape *s, bool at_once, struct err *err) NODISCARD;
void scrape_window_opens(struct scrape *s);
void scrape_window_closes(struct scrape *s);
void scrape_finish(struct scrape *s);

/* Was there a metric of a software that is known? */
bool scrape_knows(const struct scrape *s);

/* From any thread, also while it looks; the window's edges are on the monotonic clock. */
void scrape_report(struct scrape *s, int64_t start_ns, int64_t end_ns, struct arena *run,
        struct signal_page *ret_page);

#endif
