/*
 * process_tree.h - the watched processes: those that were asked for, and their children as they
 * come and go.
 *
 * A child stays watched when its parent ends. Children of a process's main thread are found at the
 * next sample, those of its other threads within TREE_TURN_NS; where the kernel does not list
 * children, all processes are asked for their parents instead.
 */
#ifndef VENTURI_WATCH_PROCESS_TREE_H
#define VENTURI_WATCH_PROCESS_TREE_H

#include "watch/process/process_watched.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_PROCESSES_MAX = 128, TREE_REFUSED_MAX = 16 };
#define TREE_TURN_NS (10 * NS_PER_S)

struct tree {
	struct process_place *place;
	struct process *processes[TREE_PROCESSES_MAX];
	size_t n;
	bool is_full;        /* there was one more than fits */
	bool lists_children; /* the kernel does */
	int64_t all_next_ns; /* when all processes of the machine may be asked again */
	struct {
		int pid;
		int64_t until_ns;
	} refused[TREE_REFUSED_MAX]; /* children that could not be taken in: not at each sample */
	size_t refused_at;
};

/* Takes in one that was asked for; errno says why not. */
bool tree_add(struct tree *tree, int pid, bool is_asked_for, int64_t now_ns) NODISCARD;
void tree_follow(struct tree *tree, int64_t now_ns, bool all);
/* Ends the i-th; the last one takes its place. */
void tree_drop(struct tree *tree, size_t i);

#endif
