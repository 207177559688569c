#include "watch/sockets/listening.h"

#include "base/arena.h"
#include "base/str.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_inode(struct listening *l, uint32_t inode)
{
	if (l->n_inodes == LISTENING_SOCKETS_MAX)
		return;
	if (l->n_inodes == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->inodes = mem_realloc(l->inodes, l->cap * sizeof(*l->inodes));
	}
	l->inodes[l->n_inodes++] = inode;
}

static void add_descriptors(struct listening *l, int pid)
{
	char path[64], target[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder)) != NULL) {
		uint32_t inode;
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		if (sscanf(target, "socket:[%" SCNu32 "]", &inode) == 1)
			add_inode(l, inode);
	}
	if (folder)
		closedir(folder);
}

void listening_inodes(const struct tasks *tasks, struct listening *ret_listening)
{
	*ret_listening = (struct listening){ 0 };
	for (size_t i = 0; i < tasks->n_processes; i++)
		add_descriptors(ret_listening, tasks->processes[i].pid);
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
