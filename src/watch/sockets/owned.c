#include "watch/sockets/owned.h"

#include "watch/procfile.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void owned_sockets(
        const char *root, int pid, bool (*on_inode)(void *ctx, uint64_t inode), void *ctx)
{
	char path[PROCFILE_PATH_MAX], target[64];
	bool more = true;
	snprintf(path, sizeof(path), "%s/proc/%d/fd", root, pid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && more && (entry = readdir(folder));) {
		uint64_t inode;
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1)
			more = on_inode(ctx, inode);
	}
	if (folder)
		closedir(folder);
}
