/*
 * owned.h - the sockets among the descriptors of a process.
 */
#ifndef VENTURI_WATCH_OWNED_H
#define VENTURI_WATCH_OWNED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Calls on_inode for each socket, until it returns false. None where the descriptors may not be
 * read.
 *
 * root   as in watch_config
 */
void owned_sockets(
        const char *root, int pid, bool (*on_inode)(void *ctx, uint64_t inode), void *ctx);

#endif
