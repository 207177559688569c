#include "watch/sockets/listening.h"

#include "watch/sockets/owned.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

static bool add_inode(void *ctx, uint64_t inode)
{
	struct listening *l = ctx;
	if (l->n_inodes == LISTENING_SOCKETS_MAX)
		return false;
	if (l->n_inodes == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->inodes = mem_realloc(l->inodes, l->cap * sizeof(*l->inodes));
	}
	l->inodes[l->n_inodes++] = (uint32_t)inode; /* the kernel's own width of them */
	return true;
}

void listening_inodes(const struct tasks *tasks, struct listening *ret_listening)
{
	*ret_listening = (struct listening){ 0 };
	for (size_t i = 0; i < tasks->n_processes; i++)
		owned_sockets(
		        tasks->config->root, tasks->processes[i].pid, add_inode, ret_listening);
}

static bool holds(const struct listening *l, uint32_t inode)
{
	for (size_t i = 0; i < l->n_inodes; i++)
		if (l->inodes[i] == inode)
			return true;
	return false;
}

void listening_on_socket(void *listening, const struct sockdiag_socket *s)
{
	struct listening *l = listening;
	size_t at = 0;
	while (at < l->n_ports && l->ports[at] < s->port)
		at++;
	bool known = at < l->n_ports && l->ports[at] == s->port;
	if (s->state != SOCKDIAG_LISTEN || known || l->n_ports == SOCKDIAG_PORTS_MAX ||
	        !holds(l, s->inode))
		return;
	memmove(&l->ports[at + 1], &l->ports[at], (l->n_ports - at) * sizeof(*l->ports));
	l->ports[at] = s->port;
	l->n_ports++;
}

void listening_release(struct listening *l)
{
	free(l->inodes);
	*l = (struct listening){ 0 };
}
