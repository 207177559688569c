/*
 * cgroup_tree.h - the control groups of processes and their parents, for one controller: where
 * their folders are, in version 1, version 2, and both side by side.
 *
 * A process tells its group as a path of the hierarchy, /proc/self/mountinfo which part of the
 * hierarchy is mounted where. Inside a container the mounted part, or the group namespace, begins
 * at the container's own group: parents are hidden then, and it is said.
 *
 * Source: Documentation/admin-guide/cgroup-v1, cgroup-v2.rst, cgroup_namespaces(7)
 */
#ifndef VENTURI_WATCH_CGROUP_TREE_H
#define VENTURI_WATCH_CGROUP_TREE_H

#include "watch/source.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CGROUP_LEVELS_MAX = 64, /* of all groups together */
	CGROUP_GROUPS_MAX = 16, /* that have watched processes */
	CGROUP_PATH_MAX = 384,
};

struct cgroup_level {
	const char *name; /* the group's path: "/docker/abc"; "/" is the top */
	const char *dir;  /* below the watch's root: "/sys/fs/cgroup/cpu/docker/abc" */
	int parent;       /* -1: none that can be seen */
};

struct cgroup_tree {
	int version; /* 1 or 2; of the first process */
	bool hides_parents;
	struct cgroup_level levels[CGROUP_LEVELS_MAX]; /* parents before their children */
	int n_levels;
	int groups[CGROUP_GROUPS_MAX]; /* levels that hold watched processes */
	int n_groups;
	int of_pid[WATCH_PIDS_MAX]; /* the level that each process is in; -1: cannot be seen */
};

/*
 * Finds the groups of processes.
 *
 * controller  as version 1 calls it: "cpu", "memory"; "": the hierarchy of version 2 itself
 * n_pids      at most WATCH_PIDS_MAX
 * errors      ERR_SYSTEM: none of the processes has a group that can be seen here
 */
bool cgroup_tree_read(struct cgroup_tree *tree, const char *root, const int *pids, size_t n_pids,
        const char *controller, struct arena *run, struct err *err) NODISCARD;

/* Notices that a watched process was put into another group. A zeroed one has not looked yet. */
struct cgroup_moves {
	uint64_t fingerprint;
	int64_t next_ns;
	int n;
};

/*
 * Has a process moved since the last call that looked? Looks once a second, the first time only to
 * remember. A process that is gone has not moved: its last group goes on.
 */
bool cgroup_moved(struct cgroup_moves *moves, const char *root, const int *pids, size_t n_pids,
        int64_t now_ns);

/* Tells each process's group in channels of a row of words, one for each PID. */
void cgroup_show_paths(const struct cgroup_tree *tree, const int *pids, size_t n_pids,
        struct board *board, const struct watch_row *row);
/* Says in channels that the process was put into another group. */
void cgroup_leave(struct channel *const *channels, size_t n);

/* ---- what it is made of, open to tests ---- */

/*
 * The path of a controller's group in the text of /proc/PID/cgroup.
 *
 * version  1 or 2
 */
bool cgroup_path_of(
        struct str text, const char *controller, int version, struct str *ret_path) NODISCARD;

/*
 * Where a group is, by the text of a mountinfo: the mount with the most of its parents.
 *
 * ret_top  the group at which the mount begins, with NUL; "/": the top, or that of the namespace
 * ret_dir  the folder of that group
 * ret_below  the part of path below it, "" or "/a/b"
 */
bool cgroup_mount_of(struct str mountinfo, const char *controller, int version, struct str path,
        char ret_top[CGROUP_PATH_MAX], char ret_dir[CGROUP_PATH_MAX],
        struct str *ret_below) NODISCARD;

#endif
