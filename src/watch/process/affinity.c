#include "watch/process/affinity.h"

#include "watch/procfile.h"

#include <errno.h>

enum { STATUS_BYTES = 4096 };

static bool add_allowed(const char *root, const struct task *task, struct cpulist *to)
{
	char text[STATUS_BYTES];
	struct str status, cpus;
	if (!procfile_once(root, text, sizeof(text), &status, "/proc/%d/task/%d/status", task->pid,
	            task->tid))
		return false;
	errno = ENODATA;
	return procfile_field(status, "Cpus_allowed_list", &cpus) && cpulist_add(to, cpus);
}

bool affinity_of(const struct tasks *tasks, int pid, struct cpulist *ret_cpus)
{
	int n_asked = 0, n_known = 0, code = ESRCH;
	*ret_cpus = (struct cpulist){ 0 };
	for (size_t i = 0; i < tasks->n && n_asked < AFFINITY_THREADS_MAX; i++) {
		if (pid && tasks->tasks[i].pid != pid)
			continue;
		n_asked++;
		if (add_allowed(tasks->config->root, &tasks->tasks[i], ret_cpus))
			n_known++;
		else
			code = errno;
	}
	errno = code;
	return n_known > 0;
}

unsigned affinity_count_both(const struct cpulist *a, const struct cpulist *b)
{
	unsigned n = 0;
	for (size_t w = 0; w < ARRAY_LEN(a->words); w++)
		n += (unsigned)__builtin_popcountll(a->words[w] & b->words[w]);
	return n;
}
