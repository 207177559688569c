/*
 * Pressure stall information of the whole machine: the share of the time in which tasks stood
 * because a resource was short. The kernel's totals are differenced; its own averages are damped.
 *
 * The line "full" of cpu is 0 by definition for a machine and is not shown.
 *
 * Source: Documentation/accounting/psi.rst of Linux
 */
#include "watch/sources.h"
#include "watch/psi.h"

#include "watch/procfile.h"

#include "base/i18n.h"

#include <errno.h>
#include <string.h>

#define PRESSURE(resource, line, help_)                                                            \
	{                                                                                          \
		.name = "host_psi_" resource "_" line "_ratio", .unit = "ratio",                   \
		.kind = WATCH_RATE, .scale = 1e-6, .most = 1,                                      \
		.from = "/proc/pressure/" resource ", " line ", total", .help = help_              \
	}

static const struct watch_row rows[] = {
	PRESSURE("cpu", "some", N_("share of the time in which some task waited for a core")),
	PRESSURE("memory", "some", N_("share of the time in which some task waited for memory")),
	PRESSURE("memory", "full",
	        N_("share of the time in which all tasks that had work waited for memory")),
	PRESSURE("io", "some", N_("share of the time in which some task waited for a disk")),
	PRESSURE("io", "full",
	        N_("share of the time in which all tasks that had work waited for a disk")),
};

static const struct psi_part parts[] = {
	{ "cpu", "some" },
	{ "memory", "some" },
	{ "memory", "full" },
	{ "io", "some" },
	{ "io", "full" },
};

static bool host_psi_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	struct procfile probe = { 0 };
	if (!procfile_open(&probe, config->root, "/proc/pressure/cpu"))
		return err_set(err, ERR_SYSTEM, "%s", psi_why_not(errno));
	procfile_close(&probe);
	struct psi *self = arena_new(run, struct psi);
	psi_init(self, rows, parts, ARRAY_LEN(rows), board, NULL);
	psi_open(self, config->root, "/proc/pressure", "");
	*ret_self = self;
	return true;
}

static void host_psi_sample(void *self, int64_t now_ns)
{
	(void)now_ns;
	psi_sample(self);
}

static void host_psi_close(void *self)
{
	psi_close(self);
}

const struct watch_source host_psi_source = {
	.name = "host_psi",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.open = host_psi_open,
	.sample = host_psi_sample,
	.close = host_psi_close,
};
