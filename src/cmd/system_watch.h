/*
 * system_watch.h - the machine and the service's processes around a load: 'venturi load --watch',
 * 'venturi diagnose --pid'.
 *
 *	system_watch_open      before the load: which processes
 *	system_watch_window    from the load's hook
 *	system_watch_report    after it; then perhaps another load
 *	system_watch_close
 */
#ifndef VENTURI_CMD_SYSTEM_WATCH_H
#define VENTURI_CMD_SYSTEM_WATCH_H

#include "load/load.h"
#include "record/signal.h"

struct system_watch_options {
	struct opt_list processes; /* PIDs, "auto" or "none" */
	bool profile;
};

/* The same options under the names that the two commands have for them. */
extern const struct opt system_watch_load_rows[];
extern const size_t system_watch_load_n_rows;
extern const struct opt system_watch_diagnose_rows[];
extern const size_t system_watch_diagnose_n_rows;

struct system_watch;

/*
 * by_default      watch "auto" where nothing was said: who listens at the target, when that is on
 *                 this machine
 * ret_watch       NULL: nothing is to be watched
 * errors          ERR_USAGE for what is no PID; ERR_SYSTEM: there is no such process
 */
bool system_watch_open(const struct system_watch_options *options, const struct load_config *config,
        bool by_default, struct arena *run, struct system_watch **ret_watch,
        struct err *err) NODISCARD;
void system_watch_close(struct system_watch *w);

/* NULL is allowed. */
void system_watch_window(struct system_watch *w, bool opened);

/*
 * What was seen in the window of the load that has just been measured.
 *
 * start_ns  of that window: 0 on the axis of times
 * returns   NULL when nothing was watched, or the window never opened
 */
const struct signal_system *system_watch_report(
        struct system_watch *w, int64_t start_ns, struct arena *run);

#endif
