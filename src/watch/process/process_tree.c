#include "watch/process/process_tree.h"

#include "watch/process/process_parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 64, ALL_MAX = 65536 };
#define REFUSED_NS NS_PER_S
/* Of a core, what asking all processes of the machine may take. */
#define ALL_SHARE 0.002

static bool is_known(const struct tree *tree, int pid)
{
	for (size_t i = 0; i < tree->n; i++)
		if (tree->processes[i]->pid == pid)
			return true;
	return false;
}

static bool was_refused(const struct tree *tree, int pid, int64_t now_ns)
{
	for (size_t i = 0; i < TREE_REFUSED_MAX; i++)
		if (tree->refused[i].pid == pid && now_ns < tree->refused[i].until_ns)
			return true;
	return false;
}

static bool lists_children(const struct process *p)
{
	char path[PATH_BYTES];
	snprintf(path, sizeof(path), "task/%d/children", p->pid);
	return faccessat(p->dir_fd_plus_1 - 1, path, F_OK, 0) == 0;
}

bool tree_add(struct tree *tree, int pid, bool is_asked_for, int64_t now_ns)
{
	struct process *p = mem_zeroed(1, sizeof(*p));
	if (!process_open(p, tree->place, pid, is_asked_for, now_ns)) {
		int code = errno;
		free(p);
		errno = code;
		return false;
	}
	tree->processes[tree->n++] = p;
	if (is_asked_for)
		tree->lists_children = lists_children(p);
	return true;
}

static void adopt(struct tree *tree, int pid, int64_t now_ns)
{
	if (is_known(tree, pid) || was_refused(tree, pid, now_ns))
		return;
	tree->is_full |= tree->n == TREE_PROCESSES_MAX;
	if (tree->n < TREE_PROCESSES_MAX && tree_add(tree, pid, false, now_ns))
		return;
	tree->refused[tree->refused_at].pid = pid;
	tree->refused[tree->refused_at].until_ns = now_ns + REFUSED_NS;
	tree->refused_at = (tree->refused_at + 1) % TREE_REFUSED_MAX;
}

/* "12 345 ", one blank after each; what was cut has none. The text is the shared one: copied. */
static void adopt_all(struct tree *tree, struct str text, int64_t now_ns)
{
	int pids[TREE_PROCESSES_MAX];
	size_t n = 0;
	while (text.len && n < TREE_PROCESSES_MAX) {
		struct str word = procfile_word(&text);
		uint64_t pid;
		if (text.len && procfile_u64(word, &pid) && pid > 0 && pid < INT32_MAX)
			pids[n++] = (int)pid;
	}
	for (size_t i = 0; i < n; i++)
		adopt(tree, pids[i], now_ns);
}

static void ask_thread(struct tree *tree, const struct process *p, int tid, int64_t now_ns)
{
	char path[PATH_BYTES], *text = tree->place->threads.text;
	struct str children;
	bool ok;
	if (tid == p->pid && procfile_is_open(&p->children)) {
		ok = procfile_read(&p->children, text, THREADS_TEXT_BYTES, &children);
	} else {
		snprintf(path, sizeof(path), "task/%d/children", tid);
		ok = procfile_once_at(
		        p->dir_fd_plus_1 - 1, text, THREADS_TEXT_BYTES, &children, path);
	}
	if (ok)
		adopt_all(tree, children, now_ns);
}

/* The main thread always, the others in turn. */
static void ask_process(
        struct tree *tree, struct process *p, int64_t now_ns, int64_t since_ns, bool all)
{
	const struct thread_set *t = &p->threads;
	ask_thread(tree, p, p->pid, now_ns);
	p->children_share += (double)t->n * fmin(1, (double)since_ns / (double)TREE_TURN_NS);
	size_t n = all ? t->n : (size_t)p->children_share;
	p->children_share -= floor(p->children_share);
	for (size_t i = 0; i < n && i < t->n; i++) {
		p->children_at = p->children_at + 1 < t->n ? p->children_at + 1 : 0;
		int tid = t->threads[p->children_at]->tid;
		if (tid != p->pid)
			ask_thread(tree, p, tid, now_ns);
	}
}

static void ask_parent(struct tree *tree, int pid, int64_t now_ns)
{
	struct process_stat stat;
	struct str text;
	if (!is_known(tree, pid) && !was_refused(tree, pid, now_ns) &&
	        procfile_once(tree->place->root, tree->place->threads.text, THREADS_TEXT_BYTES,
	                &text, "/proc/%d/stat", pid) &&
	        process_parse_stat(text, &stat) && is_known(tree, (int)stat.parent))
		adopt(tree, pid, now_ns);
}

static void ask_all(struct tree *tree, int64_t now_ns)
{
	char path[PROCFILE_PATH_MAX];
	/* Not of the clock: on a machine that is busy each rest would be a long one. */
	int64_t start_ns = clock_thread_cpu_ns();
	snprintf(path, sizeof(path), "%s/proc", tree->place->root);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	const struct dirent *entry;
	for (int i = 0; i < ALL_MAX && (entry = readdir(dir)); i++) {
		int64_t pid;
		if (str_to_i64(str_of(entry->d_name), &pid) && pid > 0 && pid < INT32_MAX)
			ask_parent(tree, (int)pid, now_ns);
	}
	closedir(dir);
	int64_t pause_ns = (int64_t)((double)(clock_thread_cpu_ns() - start_ns) / ALL_SHARE);
	tree->all_next_ns = now_ns + (pause_ns > NS_PER_S ? pause_ns : NS_PER_S);
}

void tree_follow(struct tree *tree, int64_t now_ns, bool all)
{
	if (!tree->lists_children) {
		if (all || now_ns >= tree->all_next_ns)
			ask_all(tree, now_ns);
		return;
	}
	/* Those that are found are asked as well: a family comes in at once. */
	for (size_t i = 0; i < tree->n; i++) {
		struct process *p = tree->processes[i];
		ask_process(tree, p, now_ns, now_ns - p->threads.look_ns, all);
	}
}

void tree_drop(struct tree *tree, size_t i)
{
	process_close(tree->processes[i]);
	free(tree->processes[i]);
	tree->processes[i] = tree->processes[--tree->n];
}
