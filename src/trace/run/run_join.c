/*
 * Profiled launches and the trace: which of its kernels they are, by base name and grid, or by base
 * name alone where the grid differs or is not told. A profiler of counters slows kernels down and
 * runs them alone, so that what they weigh is what the trace says.
 */
#include "trace/analyses/ncu.h"
#include "trace/analysis.h"
#include "trace/kinds/kernel_name.h"
#include "trace/run/run_parts.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Time of kernels of a base name and a grid; grid -1 is any. */
struct join_key {
	int64_t grid[3];
	uint32_t base; /* in bases */
	uint32_t padding;
};

struct join_sum {
	int64_t n, total_ns;
};

struct join {
	struct intern bases, keys;
	struct join_sum *sums; /* [keys.n] */
	size_t cap;
	int64_t kernel_ns;
};

static struct join_key key_of(uint32_t base, const int64_t grid[3])
{
	struct join_key key;
	memset(&key, 0, sizeof key);
	key.base = base;
	memcpy(key.grid, grid, sizeof key.grid);
	return key;
}

static void add_to(struct join *j, struct join_key key, int64_t dur_ns)
{
	uint32_t i = intern_add(&j->keys, (struct str){ (const char *)&key, sizeof key });
	if (i >= j->cap) {
		size_t wider = ((size_t)i + 1) * 2;
		j->sums = mem_realloc(j->sums, wider * sizeof *j->sums);
		memset(j->sums + j->cap, 0, (wider - j->cap) * sizeof *j->sums);
		j->cap = wider;
	}
	j->sums[i].n++;
	j->sums[i].total_ns += dur_ns;
}

static const int64_t any_grid[3] = { -1, -1, -1 };

static void add_timeline(struct join *j, const struct timeline *t)
{
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	/* One more than the base's number, by number of name. */
	uint32_t *base_of = mem_zeroed((size_t)t->names.n + 1, sizeof *base_of);
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (e->kind != DEVICE_KERNEL)
			continue;
		if (!base_of[e->name])
			base_of[e->name] =
			        1 + intern_add(&j->bases,
			                    kernel_base_name(timeline_name_of(t, e->name)));
		const struct kernel_detail *k = timeline_kernel(t, e);
		j->kernel_ns += e->dur_ns;
		add_to(j, key_of(base_of[e->name] - 1, any_grid), e->dur_ns);
		if (k && k->grid[0] >= 0)
			add_to(j, key_of(base_of[e->name] - 1, k->grid), e->dur_ns);
	}
	free(base_of);
}

static const struct join_sum *find(const struct join *j, struct str base, const int64_t grid[3])
{
	int64_t number = intern_find(&j->bases, base);
	if (number < 0)
		return NULL;
	struct join_key key = key_of((uint32_t)number, grid);
	int64_t i = intern_find(&j->keys, (struct str){ (const char *)&key, sizeof key });
	return i > 0 ? &j->sums[i] : NULL;
}

static void join_release(struct join *j)
{
	intern_release(&j->bases);
	intern_release(&j->keys);
	free(j->sums);
}

/* A row for each profiled base name and grid; their time in the trace counts once. */
struct joined {
	struct trace_table *table;
	struct intern seen;
	size_t n, n_found;
	int64_t found_ns;
};

static void add_launch(struct joined *to, const struct join *j, const struct timeline *t,
        const struct ncu_launch *l, struct arena *run, bool is_shown)
{
	struct str base = kernel_base_name(timeline_name_of(t, l->launch->kernel));
	const struct join_sum *sum = find(j, base, l->launch->grid);
	bool by_grid = sum != NULL && l->launch->grid[0] >= 0;
	if (!sum)
		sum = find(j, base, any_grid);
	to->n++;
	if (!sum)
		return;
	to->n_found++;
	/* Numbers begin at 1. */
	uint32_t next = to->seen.n ? to->seen.n : 1;
	uint32_t number = intern_add(&to->seen, (struct str){ (const char *)&sum, sizeof sum });
	if (number < next)
		return;
	to->found_ns += sum->total_ns;
	if (!is_shown)
		return;
	ncu_table_launch(to->table, run, t, l);
	table_number(to->table, run, (double)sum->n);
	table_number(to->table, run, (double)sum->total_ns / 1e3);
	table_number(to->table, run, (double)sum->total_ns / (double)sum->n / 1e3);
	table_number(to->table, run,
	        j->kernel_ns > 0 ? (double)sum->total_ns / (double)j->kernel_ns : NAN);
	table_text(to->table, run, by_grid ? STR("name_and_grid") : STR("name"));
}

static struct trace_table *new_table(struct trace_finding *f, struct arena *run)
{
	struct trace_table *table = ncu_table(f, run, "kernels");
	table_column(table, run, "trace_calls", "");
	table_column(table, run, "trace_total", "us");
	table_column(table, run, "trace_mean", "us");
	table_column(table, run, "trace_share", "ratio");
	table_column(table, run, "matched_by", "");
	return table;
}

static void fill(struct trace_finding *f, const struct join *j, const struct timeline *t,
        int64_t top, struct arena *run)
{
	struct arena tmp = { 0 };
	struct ncu_launches all = ncu_launches_of(t, &tmp);
	struct joined to = { .table = new_table(f, run) };
	for (size_t i = 0; i < all.n; i++)
		add_launch(&to, j, t, &all.v[i], run, (int64_t)to.seen.n < top);
	double ratio = j->kernel_ns > 0 ? (double)to.found_ns / (double)j->kernel_ns : NAN;
	if (to.n_found == 0)
		finding_abstain(
		        f, _("none of the profiled launches is a kernel of the trace by its "
		             "name"));
	else
		finding_clear(f, arena_printf(run,
		                         _("%zu of %zu profiled launches are kernels of the trace, "
		                           "which take %.0f %% of its kernel time"),
		                         to.n_found, to.n, ratio * 100));
	finding_fact(f, run, "profiled_kernel_time_ratio", ratio, "ratio", (int64_t)to.n_found,
	        "ncu and trace");
	intern_release(&to.seen);
	arena_release(&tmp);
}

void run_join_launches(const struct trace *trace, size_t file, int64_t top, struct arena *run,
        struct trace_run *ret)
{
	const struct timeline *t = &trace->timelines[file];
	struct join j = { 0 };
	if (t->n_launches == 0)
		return;
	for (size_t i = 0; i < trace->n; i++)
		if (i != file)
			add_timeline(&j, &trace->timelines[i]);
	if (j.kernel_ns > 0) {
		struct trace_finding *f = &ret->findings[ret->n_findings++];
		*f = (struct trace_finding){ .id = "ncu_join", .file = file, .share_ratio = NAN };
		fill(f, &j, t, top, run);
	}
	join_release(&j);
}
