/*
 * topology.c - what the CPUs share: packages, cores, caches; and how many of each the watched
 * processes may run on. By hwloc, which reads /sys, and asks the CPUs themselves where /sys is
 * hidden.
 */
#include "watch/process/affinity.h"
#include "watch/sources.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PERIOD_S = 60 }; /* beside the edges of windows: every thread is asked */

enum row {
	PACKAGES,
	CORES,
	CPUS,
	SMT,
	L1D_BYTES,
	L2_BYTES,
	L3_BYTES,
	L3_CACHES,
	OWN_CPUS,
	OWN_CORES,
	OWN_SMT_CPUS,
	OWN_PACKAGES,
	OWN_L3_CACHES,
	N_ROWS,
};

#define TOPOLOGY(id, name_, unit_, from_, help_)                                                   \
	[id] = { .name = (name_),                                                                  \
		.unit = (unit_),                                                                   \
		.kind = WATCH_GAUGE,                                                               \
		.from = (from_),                                                                   \
		.help = (help_) }
#define CPUS_PATH "/sys/devices/system/cpu/cpu0/topology"
#define OWN_FROM "hwloc; /proc/PID/task/TID/status, Cpus_allowed_list"

static const struct watch_row rows[] = {
	TOPOLOGY(PACKAGES, "topology_packages", "1", "hwloc, HWLOC_OBJ_PACKAGE", N_("CPU sockets")),
	TOPOLOGY(CORES, "topology_cores", "1", "hwloc, HWLOC_OBJ_CORE", N_("physical cores")),
	TOPOLOGY(CPUS, "topology_cpus", "1", "hwloc, HWLOC_OBJ_PU",
	        N_("CPUs as the kernel counts them, hyper-threads each")),
	TOPOLOGY(SMT, "topology_smt", "1", "hwloc, HWLOC_OBJ_PU",
	        N_("hyper-threads of the core that has most of them")),
	TOPOLOGY(L1D_BYTES, "topology_l1d_bytes", "bytes", "hwloc, HWLOC_OBJ_L1CACHE",
	        N_("first-level data cache, the largest there is")),
	TOPOLOGY(L2_BYTES, "topology_l2_bytes", "bytes", "hwloc, HWLOC_OBJ_L2CACHE",
	        N_("second-level cache, the largest there is")),
	TOPOLOGY(L3_BYTES, "topology_l3_bytes", "bytes", "hwloc, HWLOC_OBJ_L3CACHE",
	        N_("third-level cache, the largest there is")),
	TOPOLOGY(L3_CACHES, "topology_l3_caches", "1", "hwloc, HWLOC_OBJ_L3CACHE",
	        N_("third-level caches")),
	TOPOLOGY(OWN_CPUS, "affinity_cpus", "1", OWN_FROM,
	        N_("CPUs that the watched processes may run on")),
	TOPOLOGY(OWN_CORES, "affinity_cores", "1", OWN_FROM,
	        N_("physical cores that the watched processes may run on")),
	TOPOLOGY(OWN_SMT_CPUS, "affinity_smt_cpus", "1", OWN_FROM,
	        N_("CPUs that the watched processes may run on and that share their core with "
	           "another of these")),
	TOPOLOGY(OWN_PACKAGES, "affinity_packages", "1", OWN_FROM,
	        N_("CPU sockets that the watched processes may run on")),
	TOPOLOGY(OWN_L3_CACHES, "affinity_l3_caches", "1", OWN_FROM,
	        N_("third-level caches of the CPUs that the watched processes may run on")),
};

#ifdef HAVE_HWLOC

#include <hwloc.h>

struct topology {
	struct tasks tasks;
	hwloc_topology_t hwloc;
	double machine[OWN_CPUS]; /* what does not change */
	struct channel *channels[N_ROWS];
};

/* hwloc takes another root only from its environment. Threads that read it run in tests alone. */
static bool load(const char *root, hwloc_topology_t *ret_hwloc)
{
	static const char name[] = "HWLOC_FSROOT";
	if (hwloc_topology_init(ret_hwloc) != 0)
		return false;
	if (root[0])
		setenv(name, root, 1);
	hwloc_topology_set_flags(*ret_hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	bool ok = hwloc_topology_load(*ret_hwloc) == 0;
	if (root[0])
		unsetenv(name);
	if (!ok)
		hwloc_topology_destroy(*ret_hwloc);
	return ok;
}

/* How many objects of a type have one of the CPUs; all when cpus is NULL. */
static unsigned count(hwloc_topology_t t, hwloc_obj_type_t type, const struct cpulist *cpus)
{
	unsigned n = 0;
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_obj_by_type(t, type, object)) != NULL) {
		bool has = !cpus;
		for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0 && !has;
		        cpu = hwloc_bitmap_next(object->cpuset, cpu))
			has = cpulist_has(cpus, (unsigned)cpu);
		n += has;
	}
	return n;
}

static double largest(hwloc_topology_t t, hwloc_obj_type_t type)
{
	double bytes = NAN;
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_obj_by_type(t, type, object)) != NULL)
		bytes = fmax(bytes, (double)object->attr->cache.size);
	return bytes > 0 ? bytes : NAN;
}

/* Of the CPUs of each core: how many, where there are several. */
static void count_shared(
        hwloc_topology_t t, const struct cpulist *cpus, unsigned *ret_shared, unsigned *ret_most)
{
	hwloc_obj_t core = NULL;
	*ret_shared = *ret_most = 0;
	while ((core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core)) != NULL) {
		unsigned n = 0;
		for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0;
		        cpu = hwloc_bitmap_next(core->cpuset, cpu))
			n += !cpus || cpulist_has(cpus, (unsigned)cpu);
		*ret_shared += n > 1 ? n : 0;
		*ret_most = n > *ret_most ? n : *ret_most;
	}
}

/* Nothing that is counted is 0: then hwloc does not know. */
static void tell(struct channel *c, double value)
{
	if (value > 0)
		channel_value(c, value);
	else
		channel_absent(c, SIGNAL_NOT_SUPPORTED, _("hwloc does not know of any"));
}

static void count_machine(hwloc_topology_t t, double values[OWN_CPUS])
{
	unsigned shared, most;
	count_shared(t, NULL, &shared, &most);
	values[PACKAGES] = count(t, HWLOC_OBJ_PACKAGE, NULL);
	values[CORES] = count(t, HWLOC_OBJ_CORE, NULL);
	values[CPUS] = count(t, HWLOC_OBJ_PU, NULL);
	values[SMT] = most;
	values[L1D_BYTES] = largest(t, HWLOC_OBJ_L1CACHE);
	values[L2_BYTES] = largest(t, HWLOC_OBJ_L2CACHE);
	values[L3_BYTES] = largest(t, HWLOC_OBJ_L3CACHE);
	values[L3_CACHES] = count(t, HWLOC_OBJ_L3CACHE, NULL);
}

static bool topology_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	struct topology *t = arena_new(run, struct topology);
	char path[PATH_MAX];
	tasks_init(&t->tasks, config, run);
	snprintf(path, sizeof(path), "%s" CPUS_PATH, config->root);
	/* Of what it cannot see hwloc would make something up. */
	if (access(path, F_OK) != 0)
		return err_set(err, ERR_SYSTEM, _("there is no '%s'"), CPUS_PATH);
	if (!load(config->root, &t->hwloc))
		return err_set(err, ERR_SYSTEM, _("hwloc cannot read what the machine has"));
	count_machine(t->hwloc, t->machine);
	for (int i = 0; i < N_ROWS; i++)
		t->channels[i] = board_channel(board, &rows[i], NULL);
	*ret_self = t;
	return true;
}

static void tell_own(struct topology *t)
{
	struct cpulist cpus;
	unsigned shared, most;
	tasks_scan(&t->tasks);
	if (!affinity_of(&t->tasks, 0, &cpus)) {
		for (int i = OWN_CPUS; i < N_ROWS; i++)
			channel_absent(t->channels[i], SIGNAL_NOT_COUNTED,
			        _("there is no process whose CPUs are known"));
		return;
	}
	count_shared(t->hwloc, &cpus, &shared, &most);
	tell(t->channels[OWN_CPUS], cpulist_count(&cpus));
	tell(t->channels[OWN_CORES], count(t->hwloc, HWLOC_OBJ_CORE, &cpus));
	tell(t->channels[OWN_PACKAGES], count(t->hwloc, HWLOC_OBJ_PACKAGE, &cpus));
	tell(t->channels[OWN_L3_CACHES], count(t->hwloc, HWLOC_OBJ_L3CACHE, &cpus));
	/* None is a number here. */
	channel_value(t->channels[OWN_SMT_CPUS], shared);
}

static void topology_sample(void *self, int64_t now_ns)
{
	struct topology *t = self;
	(void)now_ns;
	for (int i = 0; i < OWN_CPUS; i++)
		tell(t->channels[i], t->machine[i]);
	tell_own(t);
}

static void topology_close(void *self)
{
	struct topology *t = self;
	hwloc_topology_destroy(t->hwloc);
}

#else

static bool topology_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	(void)config, (void)board, (void)run, (void)ret_self;
	return err_set(err, ERR_SYSTEM, _("built without hwloc"));
}

#define topology_sample NULL
#define topology_close NULL

#endif

const struct watch_source topology_source = {
	.name = "topology",
	.rows = rows,
	.n_rows = N_ROWS,
	.period_ns = PERIOD_S * NS_PER_S,
	.open = topology_open,
	.sample = topology_sample,
	.close = topology_close,
};
