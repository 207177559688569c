/*
 * device_library.h - between gpu.c and the libraries that know devices, and what those share: being
 * loaded, whose a process is, where a device is.
 */
#ifndef VENTURI_WATCH_DEVICE_LIBRARY_H
#define VENTURI_WATCH_DEVICE_LIBRARY_H

#include "watch/gpu/device.h"

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A library that knows devices. All is called by the thread of gpu.c; devices have numbers from 0,
 * and are never fewer than before.
 */
struct device_watch {
	struct device_sheets *sheets;
	const char *root;
	const int *pids;
	size_t n_pids;
	const char
	        *prefix; /* of the instances: "", or "amd" where there are others' devices, too */
};

struct device_chore {
	int64_t period_ns; /* 0: at every sample */
	bool at_edges;     /* of a window, too: it reads counters */
	void (*read)(void *self, size_t i_device);
};

struct device_library {
	const char *name; /* "nvml": the instance of gpu_driver */
	const struct device_chore *chores;
	size_t n_chores; /* at most DEVICE_CHORES_MAX */
	/* w lasts until close; errors: the reason why there is nothing */
	bool (*open)(const struct device_watch *w, void **ret_self, struct err *err);
	size_t (*n_devices)(const void *self);
	void (*close)(void *self);
};

extern const struct device_library device_nvml;
extern const struct device_library device_amd;

enum { DEVICE_CHORES_MAX = 10 };

/*
 * The first of the libraries that can be loaded, or the one that the environment names.
 *
 * names    NULL at the end
 * ret_who  its name, which lasts
 * errors   what of names was tried, in a clause about missing (N_(): "no NVIDIA driver library")
 */
bool device_load(const char *variable, const char *const *names, const char *missing,
        void **ret_library, const char **ret_who, struct err *err);

/* Whose is a process? */
enum device_owner { DEVICE_OWNER_US, DEVICE_OWNER_OTHERS, DEVICE_OWNER_HIDDEN };
/* Us: it is of w->pids, or one of its parents is. Hidden: /proc does not know it. */
enum device_owner device_owner_of(const struct device_watch *w, int pid);

/* What the processes of a device add up to. */
struct device_users {
	int n, n_own, n_hidden;
	double own_bytes, other_bytes; /* NAN: unknown for one of them */
};
void device_users_add(const struct device_watch *w, struct device_users *u, int pid, double bytes);
/* DEVICE_PROCESSES to DEVICE_MEMORY_OTHER. */
void device_tell_users(const struct device_watch *w, struct device *d, const char *from,
        const struct device_users *u);
/* DEVICE_NUMA_NODE and DEVICE_CPUS, of a PCI address "0000:17:00.0". */
void device_tell_place(const struct device_watch *w, struct device *d, const char *address);

#endif
