#include "watch/gpu/device_library.h"

#include "watch/procfile.h"

#include "base/i18n.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	STAT_BYTES = 1024,
	PARENTS_MAX = 64, /* a process's way up to the first one */
};

/* The message of dlopen says more than "it is not there" only now and then. */
static bool set_missing(struct err *err, const char *missing, const char *who)
{
	const char *why = dlerror();
	if (!why || strstr(why, "No such file"))
		return err_set(err, ERR_SYSTEM, _("%s: %s cannot be loaded"), _(missing), who);
	return err_set(err, ERR_SYSTEM, _("%s: %s"), _(missing), why);
}

bool device_load(const char *variable, const char *const *names, const char *missing,
        void **ret_library, const char **ret_who, struct err *err)
{
	const char *wanted = getenv(variable);
	const char *only[] = { wanted, NULL };
	if (wanted && wanted[0])
		names = only;
	for (const char *const *name = names; *name; name++) {
		void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			continue;
		*ret_library = library;
		*ret_who = *name;
		return true;
	}
	dlopen(names[0], RTLD_NOW | RTLD_LOCAL);
	return set_missing(err, missing, names[0]);
}

/* 0 when it is not known; errno ENOENT or ESRCH: there is no such process. */
static int parent_of(const char *root, int pid)
{
	char buf[STAT_BYTES];
	struct str text;
	if (!procfile_once(root, buf, sizeof(buf), &text, "/proc/%d/stat", pid))
		return 0;
	/* "1 (name) S 0 ...": the name may hold anything, also ')' */
	const char *close = memrchr(text.s, ')', text.len);
	if (!close)
		return 0;
	struct str rest = { close + 1, (size_t)(text.s + text.len - close - 1) };
	procfile_word(&rest);
	uint64_t parent;
	return procfile_u64(procfile_word(&rest), &parent) && parent <= INT32_MAX ? (int)parent : 0;
}

static bool is_watched(const struct device_watch *w, int pid)
{
	for (size_t i = 0; i < w->n_pids; i++)
		if (w->pids[i] == pid)
			return true;
	return false;
}

enum device_owner device_owner_of(const struct device_watch *w, int pid)
{
	int at = pid;
	for (int i = 0; at > 0 && i < PARENTS_MAX; i++) {
		if (is_watched(w, at))
			return DEVICE_OWNER_US;
		errno = 0;
		int parent = parent_of(w->root, at);
		if (parent == 0 && at == pid && (errno == ENOENT || errno == ESRCH))
			return DEVICE_OWNER_HIDDEN;
		at = parent;
	}
	return DEVICE_OWNER_OTHERS;
}

void device_users_add(const struct device_watch *w, struct device_users *u, int pid, double bytes)
{
	enum device_owner owner = device_owner_of(w, pid);
	u->n++;
	u->n_own += owner == DEVICE_OWNER_US;
	u->n_hidden += owner == DEVICE_OWNER_HIDDEN;
	if (owner == DEVICE_OWNER_US)
		u->own_bytes += bytes;
	else
		u->other_bytes += bytes;
}

static void tell_bytes(struct device *d, enum device_signal signal, const char *from, double bytes)
{
	if (isnan(bytes))
		device_absent(d, signal, SIGNAL_NOT_SUPPORTED,
		        _("the driver does not tell the memory of each process"));
	else
		device_value(d, signal, from, bytes);
}

void device_tell_users(const struct device_watch *w, struct device *d, const char *from,
        const struct device_users *u)
{
	static const enum device_signal whose[] = { DEVICE_PROCESSES_OWN, DEVICE_PROCESSES_OTHER,
		DEVICE_MEMORY_OWN, DEVICE_MEMORY_OTHER };
	const char *reason = NULL;
	if (w->n_pids == 0)
		reason = _("no process is watched");
	else if (u->n_own == 0 && u->n_hidden > 0)
		reason = _("a process on the device is not in /proc here: it may be a watched one, "
		           "known by its number in another container");
	device_value(d, DEVICE_PROCESSES, from, u->n);
	for (size_t i = 0; reason && i < ARRAY_LEN(whose); i++)
		device_absent(d, whose[i], SIGNAL_NOT_COUNTED, reason);
	if (reason)
		return;
	device_value(d, DEVICE_PROCESSES_OWN, from, u->n_own);
	device_value(d, DEVICE_PROCESSES_OTHER, from, u->n - u->n_own);
	tell_bytes(d, DEVICE_MEMORY_OWN, from, u->own_bytes);
	tell_bytes(d, DEVICE_MEMORY_OTHER, from, u->other_bytes);
}

static bool read_place(const struct device_watch *w, struct device *d, enum device_signal signal,
        const char *address, const char *name, char *buf, size_t size, struct str *ret_text)
{
	char reason[BOARD_REASON_BYTES];
	if (procfile_once(
	            w->root, buf, size, ret_text, "/sys/bus/pci/devices/%s/%s", address, name)) {
		*ret_text = str_trim(*ret_text);
		return true;
	}
	snprintf(reason, sizeof(reason), _("cannot read /sys/bus/pci/devices/%s/%s: %s"), address,
	        name, strerror(errno));
	device_absent(d, signal, SIGNAL_NOT_SUPPORTED, reason);
	return false;
}

void device_tell_place(const struct device_watch *w, struct device *d, const char *address)
{
	char buf[STAT_BYTES];
	struct str text;
	uint64_t node;
	if (read_place(w, d, DEVICE_NUMA_NODE, address, "numa_node", buf, sizeof(buf), &text)) {
		if (procfile_u64(text, &node))
			device_value(d, DEVICE_NUMA_NODE, device_rows[DEVICE_NUMA_NODE].from,
			        (double)node);
		else /* -1 */
			device_absent(d, DEVICE_NUMA_NODE, SIGNAL_NOT_SUPPORTED,
			        _("the firmware does not say which node the device is at"));
	}
	if (read_place(w, d, DEVICE_CPUS, address, "local_cpulist", buf, sizeof(buf), &text)) {
		buf[text.s - buf + (ptrdiff_t)text.len] = '\0';
		device_text(d, DEVICE_CPUS, device_rows[DEVICE_CPUS].from, text.s);
	}
}
