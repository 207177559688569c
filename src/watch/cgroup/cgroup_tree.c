#include "watch/cgroup/cgroup_tree.h"

#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	GROUP_BYTES = 16 * 1024,
	MOUNTS_BYTES = 512 * 1024, /* a line of up to some hundred bytes for each mount */
	MOVES_MAX = 1000,
};

/* ---- /proc/PID/cgroup ---- */

static bool names(struct str list, const char *word)
{
	while (list.len)
		if (str_eq(str_cut(list, ',', &list), str_of(word)))
			return true;
	return false;
}

bool cgroup_path_of(struct str text, const char *controller, int version, struct str *ret_path)
{
	while (text.len && memchr(text.s, '\n', text.len)) {
		struct str path, line = procfile_line(&text);
		str_cut(line, ':', &path); /* the number of the hierarchy */
		struct str controllers = str_cut(path, ':', &path);
		if (path.len == 0 || path.s[0] != '/' || path.len >= CGROUP_PATH_MAX ||
		        memchr(path.s, '\0', path.len))
			continue;
		if (version == 2 ? controllers.len > 0 : !names(controllers, controller))
			continue;
		/* of a group that was removed while processes were in it */
		if (str_ends(path, STR(" (deleted)")))
			return false;
		*ret_path = path;
		return true;
	}
	return false;
}

/* ---- mountinfo ---- */

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* "\040" is a blank; false when it does not fit. */
static bool unescape(struct str from, char to[CGROUP_PATH_MAX])
{
	size_t len = 0;
	for (size_t i = 0; i < from.len; i++) {
		const char *s = from.s + i;
		char c = *s;
		if (c == '\\' && from.len - i > 3 && is_octal(s[1]) && is_octal(s[2]) &&
		        is_octal(s[3])) {
			c = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			i += 3;
		}
		if (c == '\0' || len + 1 >= CGROUP_PATH_MAX)
			return false;
		to[len++] = c;
	}
	to[len] = '\0';
	return len > 0 && to[0] == '/';
}

/* Is path the group top or below it? "/a/b" is below "/a" and "/", not below "/a/c" and "/a/bb". */
static bool is_below(struct str path, struct str top, struct str *ret_below)
{
	if (str_eq(top, STR("/")))
		top.len = 0;
	if (!str_starts(path, top) || (path.len > top.len && path.s[top.len] != '/'))
		return false;
	*ret_below = (struct str){ path.s + top.len, path.len - top.len };
	if (str_eq(*ret_below, STR("/")))
		ret_below->len = 0;
	return true;
}

/* Steps up out of the namespace are names of groups that nobody tells us. */
static bool goes_up(struct str below)
{
	while (below.len)
		if (str_eq(str_cut(below, '/', &below), STR("..")))
			return true;
	return false;
}

/* The parts of a line of mountinfo; the options before the "-" are of any number. */
static bool parse_mount(struct str line, struct str *ret_root, struct str *ret_point,
        struct str *ret_type, struct str *ret_options)
{
	procfile_word(&line); /* number, parent, device */
	procfile_word(&line);
	procfile_word(&line);
	*ret_root = procfile_word(&line);
	*ret_point = procfile_word(&line);
	struct str word;
	do
		word = procfile_word(&line);
	while (word.len && !str_eq(word, STR("-")));
	*ret_type = procfile_word(&line);
	procfile_word(&line); /* the source */
	*ret_options = procfile_word(&line);
	return word.len > 0 && ret_options->len > 0;
}

bool cgroup_mount_of(struct str mountinfo, const char *controller, int version, struct str path,
        char ret_top[CGROUP_PATH_MAX], char ret_dir[CGROUP_PATH_MAX], struct str *ret_below)
{
	size_t best = SIZE_MAX;
	while (mountinfo.len && memchr(mountinfo.s, '\n', mountinfo.len)) {
		struct str top, point, type, options, below;
		char top_text[CGROUP_PATH_MAX], dir[CGROUP_PATH_MAX];
		if (!parse_mount(procfile_line(&mountinfo), &top, &point, &type, &options))
			continue;
		if (version == 2 ? !str_eq(type, STR("cgroup2"))
		                 : !str_eq(type, STR("cgroup")) || !names(options, controller))
			continue;
		if (!unescape(top, top_text) || !unescape(point, dir))
			continue;
		if (!is_below(path, str_of(top_text), &below) || goes_up(below) ||
		        strlen(top_text) >= best)
			continue;
		best = strlen(top_text);
		memcpy(ret_top, top_text, sizeof(top_text));
		memcpy(ret_dir, dir, sizeof(dir));
		*ret_below = below;
	}
	return best != SIZE_MAX;
}

/* ---- the tree ---- */

/* One process while it is looked for. */
struct seek {
	const char *root;
	int pid;
	const char *controller;
	int version;
	char group[CGROUP_PATH_MAX]; /* its path */
	char top[CGROUP_PATH_MAX], dir[CGROUP_PATH_MAX];
	struct str below; /* in group */
	char prefix[32];  /* of dir: "", or "/proc/PID/root" */
};

/*
 * Looks into our mounts, since the folders are read by us; where the controller is not among them,
 * into those of the process, through its root.
 */
static bool seek_mount(struct seek *s, char *memory)
{
	struct str text;
	if (procfile_once(s->root, memory, MOUNTS_BYTES, &text, "/proc/self/mountinfo") &&
	        cgroup_mount_of(text, s->controller, s->version, str_of(s->group), s->top, s->dir,
	                &s->below))
		return true;
	snprintf(s->prefix, sizeof(s->prefix), "/proc/%d/root", s->pid);
	return procfile_once(s->root, memory, MOUNTS_BYTES, &text, "/proc/%d/mountinfo", s->pid) &&
	       cgroup_mount_of(text, s->controller, s->version, str_of(s->group), s->top, s->dir,
	               &s->below);
}

static bool seek_version(
        struct seek *s, int version, struct str groups, char *memory, struct err *err)
{
	struct str path;
	s->version = version;
	s->prefix[0] = '\0';
	if (!cgroup_path_of(groups, s->controller, version, &path))
		return err_set(err, ERR_SYSTEM,
		        _("process %d is in no group of the controller '%s'"), s->pid,
		        s->controller);
	memcpy(s->group, path.s, path.len);
	s->group[path.len] = '\0';
	if (!seek_mount(s, memory))
		return err_set(err, ERR_SYSTEM,
		        _("the group '%s' of process %d is not below any mount that is seen here"),
		        s->group, s->pid);
	char full[PROCFILE_PATH_MAX];
	snprintf(full, sizeof(full), "%s%s%s%.*s", s->root, s->prefix, s->dir, STR_ARG(s->below));
	if (access(full, F_OK) != 0)
		return err_set(err, ERR_SYSTEM,
		        _("the group '%s' of process %d is not below '%s', where its hierarchy is "
		          "mounted"),
		        s->group, s->pid, s->dir);
	return true;
}

static bool seek(struct seek *s, struct err *err)
{
	AUTO(auto_free) char *memory = mem_zeroed(1, MOUNTS_BYTES);
	char groups_memory[GROUP_BYTES];
	struct str groups;
	if (!procfile_once(s->root, groups_memory, sizeof(groups_memory), &groups,
	            "/proc/%d/cgroup", s->pid))
		return err_set(err, ERR_SYSTEM, _("cannot read the groups of process %d"), s->pid);
	struct str path;
	bool is_first = s->controller[0] && cgroup_path_of(groups, s->controller, 1, &path);
	return seek_version(s, is_first ? 1 : 2, groups, memory, err);
}

static int find_level(const struct cgroup_tree *tree, const char *dir)
{
	for (int i = 0; i < tree->n_levels; i++)
		if (strcmp(tree->levels[i].dir, dir) == 0)
			return i;
	return -1;
}

static int add_level(
        struct cgroup_tree *tree, const struct seek *s, size_t len, int parent, struct arena *run)
{
	char *dir = arena_printf(run, "%s%s%.*s", s->prefix, s->dir, (int)len, s->below.s);
	int known = find_level(tree, dir);
	if (known >= 0)
		return known;
	if (tree->n_levels == CGROUP_LEVELS_MAX)
		return -1;
	bool is_top = strcmp(s->top, "/") == 0;
	const char *above = is_top && len > 0 ? "" : s->top;
	tree->levels[tree->n_levels] = (struct cgroup_level){
		.name = arena_printf(run, "%s%.*s", above, (int)len, s->below.s),
		.dir = dir,
		.parent = parent,
	};
	return tree->n_levels++;
}

/* Of every group but the top: its file says so in version 2, and its absence in version 1. */
static bool is_real_top(const struct seek *s)
{
	char path[PROCFILE_PATH_MAX];
	snprintf(path, sizeof(path), "%s%s%s/%s", s->root, s->prefix, s->dir,
	        s->version == 2 ? "cgroup.events" : "release_agent");
	return (access(path, F_OK) == 0) == (s->version == 1);
}

static int add_levels(struct cgroup_tree *tree, const struct seek *s, struct arena *run)
{
	int level = add_level(tree, s, 0, -1, run);
	for (size_t i = 1; i <= s->below.len && level >= 0; i++)
		if (i == s->below.len || s->below.s[i] == '/')
			level = add_level(tree, s, i, level, run);
	tree->hides_parents |= strcmp(s->top, "/") != 0 || !is_real_top(s);
	return level;
}

static bool add_group(struct cgroup_tree *tree, int level)
{
	for (int i = 0; i < tree->n_groups; i++)
		if (tree->groups[i] == level)
			return true;
	if (tree->n_groups == CGROUP_GROUPS_MAX)
		return false;
	tree->groups[tree->n_groups++] = level;
	return true;
}

bool cgroup_tree_read(struct cgroup_tree *tree, const char *root, const int *pids, size_t n_pids,
        const char *controller, struct arena *run, struct err *err)
{
	struct err first = { 0 };
	*tree = (struct cgroup_tree){ 0 };
	if (n_pids == 0)
		return err_set(
		        err, ERR_SYSTEM, _("no process is named whose groups could be watched"));
	for (size_t i = 0; i < n_pids; i++) {
		struct err why = { 0 };
		struct seek s = { .root = root, .pid = pids[i], .controller = controller };
		tree->of_pid[i] = seek(&s, &why) ? add_levels(tree, &s, run) : -1;
		if (tree->of_pid[i] >= 0 && add_group(tree, tree->of_pid[i]))
			tree->version = tree->version ? tree->version : s.version;
		else if (!first.text[0])
			first = why;
	}
	if (tree->n_groups > 0)
		return true;
	if (first.text[0])
		*err = first;
	else
		err_set(err, ERR_SYSTEM, _("there are more groups than can be watched"));
	return false;
}

/* 0: one of the processes is gone. */
static uint64_t fingerprint_of(const char *root, const int *pids, size_t n_pids)
{
	char memory[GROUP_BYTES];
	struct str text;
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* Fowler, Noll and Vo, FNV-1a */
	for (size_t i = 0; i < n_pids; i++) {
		if (!procfile_once(
		            root, memory, sizeof(memory), &text, "/proc/%d/cgroup", pids[i]) ||
		        text.len == 0)
			return 0;
		for (size_t k = 0; k < text.len; k++)
			hash = (hash ^ (unsigned char)text.s[k]) * UINT64_C(0x100000001b3);
	}
	return hash;
}

bool cgroup_moved(struct cgroup_moves *moves, const char *root, const int *pids, size_t n_pids,
        int64_t now_ns)
{
	/* Each move takes memory that lasts as long as the watch. */
	if (now_ns < moves->next_ns || moves->n == MOVES_MAX)
		return false;
	moves->next_ns = now_ns + NS_PER_S;
	uint64_t now = fingerprint_of(root, pids, n_pids), before = moves->fingerprint;
	if (now == 0 || now == before)
		return false;
	moves->fingerprint = now;
	moves->n += before != 0;
	return before != 0;
}

void cgroup_show_paths(const struct cgroup_tree *tree, const int *pids, size_t n_pids,
        struct board *board, const struct watch_row *row)
{
	char process[32];
	for (size_t i = 0; i < n_pids; i++) {
		snprintf(process, sizeof(process), "%d", pids[i]);
		struct channel *c = board_channel(board, row, process);
		int level = tree->of_pid[i];
		if (level >= 0)
			channel_text(c, str_of(tree->levels[level].name));
		else
			channel_absent(c, SIGNAL_NOT_SUPPORTED, _("its group cannot be seen here"));
	}
}

void cgroup_leave(struct channel *const *channels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		channel_absent(channels[i], SIGNAL_NOT_COUNTED,
		        _("the process was put into another group"));
}
