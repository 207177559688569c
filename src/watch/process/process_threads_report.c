#include "watch/process/process_threads.h"

#include <stdlib.h>
#include <string.h>

void threads_begin(struct thread_set *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct thread *th = t->threads[i];
		th->begin_cpu_ns = th->cpu_ns;
		th->begin_wait_ns = th->wait_ns;
		th->begin_voluntary = th->voluntary;
		th->begin_involuntary = th->involuntary;
		th->cpu_ratio_max = 0;
		th->n_reads = 0;
	}
}

void threads_shared_begin(struct threads_shared *shared, int64_t now_ns)
{
	shared->n_ended = 0;
	shared->window_ns = now_ns;
}

struct threads_states threads_count_states(const struct thread_set *t)
{
	struct threads_states n = { 0 };
	for (size_t i = 0; i < t->n; i++) {
		char state = t->threads[i]->state;
		n.n_running += state == 'R';
		n.n_sleeping += state == 'S' || state == 'I';
		n.n_blocked += state == 'D';
	}
	return n;
}

/* Most threads of a process have the same text; it is read once. */
void threads_add_cpus(const struct thread_set *t, struct cpulist *cpus)
{
	const char *before = "";
	for (size_t i = 0; i < t->n; i++) {
		const char *text = t->threads[i]->cpus;
		if (strcmp(text, before) == 0)
			continue;
		before = text;
		/* A list that was cut counts with what is left of it. */
		if (!cpulist_add(cpus, str_of(text)))
			continue;
	}
}

int64_t threads_count_confined(const struct thread_set *t, unsigned n_cpus)
{
	const char *before = "";
	bool is_confined = false;
	int64_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		const char *text = t->threads[i]->cpus;
		if (strcmp(text, before) != 0) {
			struct cpulist cpus = { 0 };
			before = text;
			is_confined =
			        cpulist_add(&cpus, str_of(text)) && cpulist_count(&cpus) < n_cpus;
		}
		n += is_confined && text[0];
	}
	return n;
}

static int compare_busy(const void *a, const void *b)
{
	const struct thread *const *x = a, *const *y = b;
	uint64_t cpu_x = thread_window_cpu_ns(*x), cpu_y = thread_window_cpu_ns(*y);
	if (cpu_x != cpu_y)
		return cpu_x < cpu_y ? 1 : -1;
	return ((*x)->tid > (*y)->tid) - ((*x)->tid < (*y)->tid);
}

static void report_thread(
        const struct thread *th, double window_s, struct arena *run, struct signal_thread *to)
{
	/* Looks that left it out saw the same as the one before. */
	unsigned n = th->n_recent + th->n_unread;
	n = n < THREADS_RECENT ? n : THREADS_RECENT;
	unsigned n_old = n > th->n_unread ? n - th->n_unread : 0;
	double *recent = arena_new_n(run, double, n + 1);
	for (unsigned i = 0; i < n; i++) {
		unsigned at = (th->recent_at + THREADS_RECENT - n_old + i) % THREADS_RECENT;
		recent[i] = i < n_old ? (double)th->recent[at] : th->cpu_ratio;
	}
	*to = (struct signal_thread){
		.pid = th->pid,
		.tid = th->tid,
		.name = arena_strdup(run, th->name),
		.cpu_ratio = (double)thread_window_cpu_ns(th) / 1e9 / window_s,
		.cpu_ratio_max = th->cpu_ratio_max,
		.run_queue_ratio = (double)(th->wait_ns - th->begin_wait_ns) / 1e9 / window_s,
		.voluntary_per_s = (double)(th->voluntary - th->begin_voluntary) / window_s,
		.involuntary_per_s = (double)(th->involuntary - th->begin_involuntary) / window_s,
		.cpus = th->cpus[0] ? arena_strdup(run, th->cpus) : NULL,
		.state = th->state,
		.recent = recent,
		.n_recent = n,
		.n = th->n_reads,
	};
}

void threads_report(const struct threads_shared *shared, const struct thread_set *const *sets,
        size_t n, int64_t now_ns, struct arena *run, struct signal_system *to)
{
	double window_s = (double)(now_ns - shared->window_ns) / 1e9;
	size_t n_all = 0;
	for (size_t i = 0; i < n; i++)
		n_all += sets[i]->n;
	AUTO(auto_free)
	const struct thread **all = mem_zeroed(n_all + THREADS_ENDED_MAX + 1, sizeof(*all));
	n_all = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < sets[i]->n; j++)
			all[n_all++] = sets[i]->threads[j];
	for (size_t i = 0; i < shared->n_ended; i++)
		all[n_all++] = &shared->ended[i];
	qsort(all, n_all, sizeof(*all), compare_busy);
	to->n_threads_seen = (int64_t)n_all;
	to->n_threads = window_s <= 0 ? 0 : n_all < THREADS_SHOWN_MAX ? n_all : THREADS_SHOWN_MAX;
	to->threads = arena_new_n(run, struct signal_thread, to->n_threads + 1);
	for (size_t i = 0; i < to->n_threads; i++)
		report_thread(all[i], window_s, run, &to->threads[i]);
}
