#include "serve/machine.h"

#include "base/i18n.h"
#include "base/str.h"
#include "engine/cpus.h"

#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif
#include <sched.h>
#include <string.h>

static_assert((int)MACHINE_CPUS_MAX == (int)CPUS_MAX, "one limit");

static bool parse_number(struct str text, int *ret)
{
	int64_t n;
	if (text.len == 0 || text.s[0] < '0' || text.s[0] > '9' || !str_to_i64(text, &n) ||
	        n >= MACHINE_CPUS_MAX)
		return false;
	*ret = (int)n;
	return true;
}

/* "3", "0-3" or "0-14:2". */
static bool parse_range(struct str range, int *ret_first, int *ret_last, int *ret_step)
{
	struct str step, last, span = str_cut(range, ':', &step);
	struct str first = str_cut(span, '-', &last);
	bool is_span = first.len < span.len;
	if (!parse_number(first, ret_first))
		return false;
	*ret_last = *ret_first;
	*ret_step = 1;
	if (is_span && !parse_number(last, ret_last))
		return false;
	if (span.len < range.len && (!is_span || !parse_number(step, ret_step)))
		return false;
	return *ret_last >= *ret_first && *ret_step > 0;
}

bool machine_parse_cpus(const char *text, struct arena *run, const int **ret_cpus, int *ret_n)
{
	int *cpus = arena_new_n(run, int, MACHINE_CPUS_MAX);
	int n = 0;
	struct str rest = str_of(text);
	do {
		int first, last, step;
		struct str before = rest, range = str_cut(rest, ',', &rest);
		if (!parse_range(range, &first, &last, &step))
			return false;
		for (int cpu = first; cpu <= last; cpu += step) {
			if (n == MACHINE_CPUS_MAX)
				return false;
			cpus[n++] = cpu;
		}
		if (range.len == before.len) {
			*ret_cpus = cpus;
			*ret_n = n;
			return true;
		}
	} while (true);
}

static bool usable(int cpu)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
	bool is = set && sched_getaffinity(0, bytes, set) == 0 &&
	          CPU_ISSET_S((size_t)cpu, bytes, set);
	CPU_FREE(set);
	return is;
}

static bool plan_list(
        const char *text, struct arena *run, struct machine_plan *plan, struct err *err)
{
	if (!machine_parse_cpus(text, run, &plan->cpus, &plan->n_cpus))
		return err_set(err, ERR_USAGE,
		        _("'--pin' takes off, compact or a list of CPUs such as 0-3,8, not '%s'"),
		        text);
	for (int i = 0; i < plan->n_cpus; i++)
		if (!usable(plan->cpus[i]))
			return err_set(err, ERR_USAGE,
			        _("CPU %d of '--pin' is not among those that this process may "
			          "use"),
			        plan->cpus[i]);
	return true;
}

#ifdef HAVE_HWLOC

static bool load_topology(hwloc_topology_t *ret, struct err *err)
{
	if (hwloc_topology_init(ret) != 0)
		return err_set(err, ERR_SYSTEM, "%s", _("hwloc cannot read this machine"));
	if (hwloc_topology_load(*ret) == 0)
		return true;
	hwloc_topology_destroy(*ret);
	return err_set(err, ERR_SYSTEM, "%s", _("hwloc cannot read this machine"));
}

static bool no_node(hwloc_topology_t t, int node, struct err *err)
{
	char nodes[128];
	if (hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE) == 1)
		return err_set(err, ERR_USAGE,
		        _("there is no memory node %d: this machine has only one, node 0"), node);
	hwloc_bitmap_list_snprintf(nodes, sizeof(nodes), hwloc_topology_get_allowed_nodeset(t));
	return err_set(
	        err, ERR_USAGE, _("there is no memory node %d: this machine has %s"), node, nodes);
}

/* The CPUs of a node, or all, that this process may use. */
static bool allowed(hwloc_topology_t t, int node, hwloc_bitmap_t set, struct err *err)
{
	hwloc_bitmap_copy(set, hwloc_topology_get_allowed_cpuset(t));
	if (hwloc_topology_is_thissystem(t)) {
		hwloc_bitmap_t mask = hwloc_bitmap_alloc();
		if (hwloc_get_cpubind(t, mask, HWLOC_CPUBIND_PROCESS) == 0)
			hwloc_bitmap_and(set, set, mask);
		hwloc_bitmap_free(mask);
	}
	if (node < 0)
		return true;
	hwloc_obj_t obj = hwloc_get_numanode_obj_by_os_index(t, (unsigned)node);
	if (!obj)
		return no_node(t, node, err);
	hwloc_bitmap_and(set, set, obj->cpuset);
	if (hwloc_bitmap_iszero(set))
		return err_set(
		        err, ERR_USAGE, _("this process may use no CPU of memory node %d"), node);
	return true;
}

/* The i_thread-th CPU of each core, then the next. */
static int order_compact(hwloc_topology_t t, hwloc_const_bitmap_t set, int *cpus)
{
	int n = 0, n_want = hwloc_bitmap_weight(set);
	for (unsigned i_thread = 0; n < n_want && i_thread < MACHINE_CPUS_MAX; i_thread++) {
		hwloc_obj_t core = NULL;
		while ((core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core))) {
			unsigned i = 0;
			hwloc_obj_t pu = NULL;
			while ((pu = hwloc_get_next_obj_inside_cpuset_by_type(
			                t, core->cpuset, HWLOC_OBJ_PU, pu)))
				if (hwloc_bitmap_isset(set, pu->os_index) && i++ == i_thread)
					cpus[n++] = (int)pu->os_index;
		}
	}
	return n;
}

static bool plan_compact(struct arena *run, struct machine_plan *plan, struct err *err)
{
	hwloc_topology_t t;
	if (!load_topology(&t, err))
		return false;
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	bool ok = allowed(t, plan->node, set, err);
	if (ok) {
		int *cpus = arena_new_n(run, int, (size_t)hwloc_bitmap_weight(set));
		plan->n_cpus = order_compact(t, set, cpus);
		plan->cpus = plan->n_cpus ? cpus : NULL;
	}
	hwloc_bitmap_free(set);
	hwloc_topology_destroy(t);
	return ok;
}

#else

static bool plan_compact(struct arena *run, struct machine_plan *plan, struct err *err)
{
	(void)run;
	(void)plan;
	return err_set(err, ERR_SYSTEM, "%s",
	        _("this build has no hwloc, which knows cores and memory nodes; list the CPUs with "
	          "'--pin'"));
}

#endif

static int n_different(const int *cpus, int n)
{
	int n_seen = 0;
	uint64_t seen[MACHINE_CPUS_MAX / 64] = { 0 };
	for (int i = 0; i < n; i++) {
		uint64_t bit = UINT64_C(1) << cpus[i] % 64;
		n_seen += !(seen[cpus[i] / 64] & bit);
		seen[cpus[i] / 64] |= bit;
	}
	return n_seen;
}

bool machine_plan(const struct machine_options *options, struct arena *run,
        struct machine_plan *ret_plan, struct err *err)
{
	struct machine_plan plan = { .node = -1 };
	bool off = strcmp(options->pin, "off") == 0, compact = strcmp(options->pin, "compact") == 0;
	if (strcmp(options->numa, "off") != 0 && !parse_number(str_of(options->numa), &plan.node))
		return err_set(err, ERR_USAGE,
		        _("'--numa' takes off or the number of a memory node, not '%s'"),
		        options->numa);
	if (!off && !compact && !plan_list(options->pin, run, &plan, err))
		return false;
	if ((compact || (off && plan.node >= 0)) && !plan_compact(run, &plan, err))
		return false;
	plan.n_threads = (int)options->threads;
	if (plan.n_threads == 0) {
		int n = n_different(plan.cpus, plan.n_cpus);
		plan.n_threads = cpus_usable();
		plan.n_threads = n && n < plan.n_threads ? n : plan.n_threads;
	}
	*ret_plan = plan;
	return true;
}
