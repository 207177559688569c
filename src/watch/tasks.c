#include "watch/tasks.h"

#include "watch/procfile.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BUF_BYTES = 32768 };
#define CHILDREN_NS (5 * NS_PER_S)

void tasks_init(struct tasks *t, const struct watch_config *config, struct arena *run)
{
	*t = (struct tasks){
		.config = config,
		.tasks = arena_new_n(run, struct task, TASKS_MAX),
		.processes = arena_new_n(run, struct task, TASK_PROCESSES_MAX),
		.buf = arena_alloc(run, BUF_BYTES),
	};
}

static bool has_process(const struct tasks *t, int pid)
{
	for (size_t i = 0; i < t->n_processes; i++)
		if (t->processes[i].pid == pid)
			return true;
	return false;
}

static void add_process(struct tasks *t, int pid, int watched)
{
	if (has_process(t, pid))
		return;
	if (t->n_processes == TASK_PROCESSES_MAX) {
		t->cut = true;
		return;
	}
	t->processes[t->n_processes++] =
	        (struct task){ .pid = pid, .tid = pid, .watched = watched };
}

static void add_thread(struct tasks *t, const struct task *process, struct str name)
{
	uint64_t tid;
	if (!procfile_u64(name, &tid) || tid > INT32_MAX)
		return;
	if (t->n == TASKS_MAX) {
		t->cut = true;
		return;
	}
	t->tasks[t->n++] = (struct task){ process->pid, (int)tid, process->watched };
}

/* Like readdir, which takes memory every time. */
static void add_threads(struct tasks *t, const struct task *process)
{
	char path[PROCFILE_PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/%d/task", t->config->root, process->pid);
	AUTO(auto_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	for (;;) {
		long n = syscall(SYS_getdents64, fd, t->buf, BUF_BYTES);
		if (n <= 0)
			return;
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *)(t->buf + at);
			add_thread(t, process, str_of(entry->d_name));
			at += entry->d_reclen;
		}
	}
}

static void add_children(struct tasks *t, const struct task *thread)
{
	struct str text;
	if (!procfile_once(t->config->root, t->buf, BUF_BYTES, &text, "/proc/%d/task/%d/children",
	            thread->pid, thread->tid))
		return;
	for (struct str word; (word = procfile_word(&text)).len > 0;) {
		uint64_t pid;
		if (procfile_u64(word, &pid) && pid <= INT32_MAX)
			add_process(t, (int)pid, thread->watched);
	}
}

static void scan(struct tasks *t, bool children)
{
	t->n = 0;
	if (children) {
		t->n_processes = 0;
		t->cut = false;
		for (size_t i = 0; i < t->config->n_pids; i++)
			add_process(t, t->config->pids[i], (int)i);
	}
	/* What is found goes to the end of the list that is gone through. */
	for (size_t i = 0; i < t->n_processes; i++) {
		size_t first = t->n;
		add_threads(t, &t->processes[i]);
		for (size_t j = first; children && j < t->n; j++)
			add_children(t, &t->tasks[j]);
	}
}

void tasks_scan(struct tasks *t)
{
	scan(t, true);
}

void tasks_scan_threads(struct tasks *t, int64_t now_ns)
{
	bool children = t->n_processes == 0 || now_ns >= t->next_children_ns;
	if (children)
		t->next_children_ns = now_ns + CHILDREN_NS;
	scan(t, children);
}

void task_label(const struct watch_config *config, int pid, char buf[TASK_LABEL_BYTES])
{
	char text[32];
	struct str name;
	if (!procfile_once(config->root, text, sizeof(text), &name, "/proc/%d/comm", pid))
		name = STR("?");
	name = str_trim(name);
	snprintf(buf, TASK_LABEL_BYTES, "%d %.*s", pid, STR_ARG(name));
	/* A process may call itself anything. */
	for (char *c = buf; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}
