/*
 * load_server.h - the service's own counters around a load: 'venturi load --metrics'.
 *
 *	load_server_open      before the load: which pages there are
 *	load_server_start     right before it
 *	load_server_window    from the load's hook
 *	load_server_finish    right after it, before anything else is sent to anybody
 *	load_server_start ... around another load
 *	load_server_close
 */
#ifndef VENTURI_CMD_LOAD_SERVER_H
#define VENTURI_CMD_LOAD_SERVER_H

#include "load/load.h"

struct load_server_options {
	struct opt_list metrics; /* URLs of pages, or "none"; empty: the target's /metrics */
};

extern const struct opt load_server_rows[];
extern const size_t load_server_n_rows;

struct load_server;

/*
 * Looks at every page once. One that the user named and that cannot be read is warned of, and the
 * load goes on; the target's own /metrics is tried quietly.
 *
 * errors   ERR_USAGE
 */
bool load_server_open(const struct load_server_options *options, const struct load_config *config,
        struct arena *run, struct load_server **ret_server, struct err *err) NODISCARD;
bool load_server_start(
        struct load_server *server, const struct load_shape *shape, struct err *err) NODISCARD;
void load_server_window(struct load_server *server, bool opened);
/* r: the run that was measured, or NULL when there is none; its .server is filled. */
void load_server_finish(struct load_server *server, struct arena *run, struct load_run *r);
/* NULL is allowed. */
void load_server_close(struct load_server *server);

#endif
