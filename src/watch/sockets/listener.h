/*
 * listener.h - which processes of this machine listen where a service is to be reached.
 */
#ifndef VENTURI_WATCH_LISTENER_H
#define VENTURI_WATCH_LISTENER_H

#include "base/attr.h"

#include <stddef.h>

/*
 * The processes that hold the listening socket, without those whose parent is one of them, since
 * children are followed. Sockets of other network namespaces are not seen, nor the descriptors of
 * processes that the caller may not look into.
 *
 * root         as in watch_config
 * port         TCP
 * unix_socket  path of a socket to look for instead; NULL: none
 * ret_pids     max of them fit
 * returns      how many
 */
size_t listener_find(
        const char *root, int port, const char *unix_socket, int *ret_pids, size_t max);

#endif
