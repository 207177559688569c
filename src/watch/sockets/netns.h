/*
 * netns.h - sockets that ask the kernel of the connections in the network namespaces of processes.
 */
#ifndef VENTURI_WATCH_NETNS_H
#define VENTURI_WATCH_NETNS_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { NETNS_MAX = 8 };

/*
 * A NETLINK_SOCK_DIAG socket in each namespace that one of the processes is in; of no process, in
 * ours. A process whose namespace may not be read counts as one of ours.
 *
 * errors   ERR_SYSTEM: a namespace is not ours and may not be entered, there are more than
 *          NETNS_MAX, or the kernel has no such sockets; nothing is left open then
 * returns  how many in ret_n, at least 1
 */
bool netns_open(const int *pids, size_t n_pids, int ret_fds[NETNS_MAX], size_t *ret_n,
        struct err *err) NODISCARD;

#endif
