/*
 * listening.h - the TCP ports on which given processes listen: the listening sockets of the
 * kernel's list that are among the processes' descriptors.
 */
#ifndef VENTURI_WATCH_LISTENING_H
#define VENTURI_WATCH_LISTENING_H

#include "watch/sockets/sockdiag.h"
#include "watch/tasks.h"

#include <stddef.h>
#include <stdint.h>

enum { LISTENING_SOCKETS_MAX = 64 * 1024 };

struct listening {
	uint32_t *inodes; /* of all sockets of the processes */
	size_t n_inodes, cap;
	int ports[SOCKDIAG_PORTS_MAX]; /* ascending */
	size_t n_ports;
};

/* The sockets of all processes; those whose descriptors may not be read have none. */
void listening_inodes(const struct tasks *tasks, struct listening *ret_listening);
/* For sockdiag_read: notes the port when one of the processes holds this listener. */
void listening_on_socket(void *listening, const struct sockdiag_socket *s);
void listening_release(struct listening *l);

#endif
