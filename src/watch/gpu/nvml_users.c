#include "watch/gpu/nvml.h"

#include "base/attr.h"
#include "base/i18n.h"

#include <math.h>
#include <stdio.h>

/* The newest version that the library has, of the processes that compute and of those that draw. */
static const struct {
	enum nvml_function newest, second, first;
} lists[] = {
	{ NVML_FN_COMPUTE_V3, NVML_FN_COMPUTE_V2, NVML_FN_COMPUTE_V1 },
	{ NVML_FN_GRAPHICS_V3, NVML_FN_GRAPHICS_V2, NVML_FN_GRAPHICS_V1 },
};

/* Those of the first version have no instances. */
static void widen(struct nvml_process *p, unsigned count)
{
	struct nvml_process_v1 *old = (struct nvml_process_v1 *)p;
	for (unsigned i = count; i-- > 0;) {
		struct nvml_process_v1 one = old[i];
		p[i] = (struct nvml_process){ .pid = one.pid, .bytes = one.bytes };
	}
}

static unsigned read_list(struct nvml *n, struct nvml_device *d, size_t which,
        struct nvml_process *into, unsigned *count)
{
	enum nvml_function f = n->functions[lists[which].newest]   ? lists[which].newest
	                       : n->functions[lists[which].second] ? lists[which].second
	                                                           : lists[which].first;
	if (!n->functions[f])
		return NVML_FUNCTION_NOT_FOUND;
	unsigned code = ((unsigned (*)(nvml_handle, unsigned *, void *))n->functions[f])(
	        d->handle, count, into);
	if (code == NVML_OK && f == lists[which].first)
		widen(into, *count);
	return code;
}

/* A process that computes and draws is on both lists. */
static bool is_listed(const struct nvml_process *p, unsigned count, unsigned pid)
{
	for (unsigned i = 0; i < count; i++)
		if (p[i].pid == pid)
			return true;
	return false;
}

static void absent_users(struct nvml *n, struct nvml_device *d, unsigned code)
{
	for (int s = DEVICE_PROCESSES; s <= DEVICE_MEMORY_OTHER && !d->is_lost; s++)
		nvml_good(n, d, NVML_FN_COMPUTE_V3, (enum device_signal)s, code);
}

static void tell_users(struct nvml *n, struct nvml_device *d)
{
	struct device_users users = { 0 };
	unsigned n_known = 0;
	if (d->muted[DEVICE_PROCESSES] || d->is_lost)
		return;
	for (size_t which = 0; which < ARRAY_LEN(lists); which++) {
		unsigned count = NVML_PROCESSES_MAX - n_known;
		struct nvml_process *p = &n->processes[n_known];
		unsigned code = read_list(n, d, which, p, &count);
		/* Drawing is nothing that all devices can. */
		if (code != NVML_OK && which > 0)
			break;
		if (code != NVML_OK) {
			absent_users(n, d, code);
			return;
		}
		unsigned n_new = 0;
		for (unsigned i = 0; i < count && i < NVML_PROCESSES_MAX - n_known; i++) {
			if (is_listed(n->processes, n_known + n_new, p[i].pid))
				continue;
			p[n_new++] = p[i];
			bool known = p[n_new - 1].bytes != (uint64_t)NVML_BYTES_UNKNOWN;
			device_users_add(n->w, &users, (int)p[n_new - 1].pid,
			        known ? (double)p[n_new - 1].bytes : NAN);
		}
		n_known += n_new;
	}
	device_tell_users(n->w, d->sheet, "nvmlDeviceGetComputeRunningProcesses", &users);
}

static void absent_use(struct nvml_device *d, enum signal_state state, const char *reason)
{
	device_absent(d->sheet, DEVICE_UTIL_OWN, state, reason);
	device_absent(d->sheet, DEVICE_UTIL_OTHER, state, reason);
}

/* What each process had of the device since the last look; none is listed that had nothing. */
static void tell_use(struct nvml *n, struct nvml_device *d)
{
	const enum nvml_function f = NVML_FN_PROCESS_USE;
	struct device_users users = { 0 };
	unsigned count = NVML_PROCESSES_MAX;
	bool has = nvml_has(n, d, f, DEVICE_UTIL_OWN);
	if (!nvml_has(n, d, f, DEVICE_UTIL_OTHER) || !has)
		return;
	if (n->w->n_pids == 0) {
		absent_use(d, SIGNAL_NOT_COUNTED, _("no process is watched"));
		return;
	}
	unsigned code = ((unsigned (*)(nvml_handle, struct nvml_process_use *, unsigned *,
	        uint64_t))n->functions[f])(d->handle, n->uses, &count, d->use_seen_us);
	if (code == NVML_NOT_FOUND)
		code = NVML_OK, count = 0;
	bool good = nvml_good(n, d, f, DEVICE_UTIL_OWN, code);
	if (!nvml_good(n, d, f, DEVICE_UTIL_OTHER, code) || !good)
		return;
	for (unsigned i = 0; i < count && i < NVML_PROCESSES_MAX; i++) {
		const struct nvml_process_use *u = &n->uses[i];
		if (u->at_us > d->use_seen_us)
			d->use_seen_us = u->at_us;
		/* The driver writes nonsense for a process that began within its period. */
		if (u->sm <= 100)
			device_users_add(n->w, &users, (int)u->pid, u->sm / 100.0);
	}
	if (users.n_own == 0 && users.n_hidden > 0) {
		absent_use(d, SIGNAL_NOT_COUNTED,
		        _("a process on the device is not in /proc here: it may be a watched one, "
		          "known by its number in another container"));
		return;
	}
	device_value(d->sheet, DEVICE_UTIL_OWN, nvml_name(f), fmin(users.own_bytes, 1));
	device_value(d->sheet, DEVICE_UTIL_OTHER, nvml_name(f), fmin(users.other_bytes, 1));
}

void nvml_read_users(void *self, size_t i)
{
	struct nvml *n = self;
	struct nvml_device *d = &n->devices[i];
	tell_users(n, d);
	tell_use(n, d);
}
