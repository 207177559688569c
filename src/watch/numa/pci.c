/*
 * pci.c - how near the watched processes run to the machine's network cards and accelerators.
 *
 * Where the firmware does not tell the node of a device, the kernel calls every CPU local to it,
 * which says nothing: then there is no value.
 */
#include "watch/process/affinity.h"
#include "watch/procfile.h"
#include "watch/sources.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_S = 60, DEVICES_MAX = 64, TEXT_BYTES = 4096 };

enum row { KIND, NODE, LOCAL, N_ROWS };

static const struct watch_row rows[] = {
	[KIND] = { .name = "pci_kind",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "/sys/bus/pci/devices/ADDRESS/class",
	        .help = N_("what the device is for: network, display, accelerator") },
	[NODE] = { .name = "pci_numa_node",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "/sys/bus/pci/devices/ADDRESS/numa_node",
	        .help = N_("number of the memory node that the device is at") },
	[LOCAL] = { .name = "pci_local_cpus_ratio",
	        .unit = "ratio",
	        .kind = WATCH_GAUGE,
	        .from = "/sys/bus/pci/devices/ADDRESS/local_cpulist; "
	                "/proc/PID/task/TID/status, Cpus_allowed_list",
	        .help = N_("of the CPUs that the watched processes may run on, the share that is "
	                   "at the device's node") },
};

/* Source: the PCI Code and ID Assignment Specification, base classes. */
static const struct {
	unsigned base_class;
	const char *kind;
} kinds[] = {
	{ 0x02, "network" },
	{ 0x03, "display" },
	{ 0x12, "accelerator" },
};

struct device {
	const char *kind;
	int64_t node; /* -1: unknown */
	struct cpulist cpus;
	struct channel *channels[N_ROWS];
};

struct pci {
	const struct watch_config *config;
	struct tasks tasks;
	struct device devices[DEVICES_MAX];
	size_t n;
};

static bool read_text(const char *root, const char *address, const char *name, char *buf,
        size_t size, struct str *ret_text)
{
	if (!procfile_once(root, buf, size, ret_text, "/sys/bus/pci/devices/%s/%s", address, name))
		return false;
	*ret_text = str_trim(*ret_text);
	return true;
}

/* "0x030200": base class, sub-class, programming interface. NULL: of no interest. */
static const char *kind_of(const char *root, const char *address)
{
	char text[64];
	struct str class;
	if (!read_text(root, address, "class", text, sizeof(text), &class))
		return NULL;
	unsigned long base = strtoul(class.s, NULL, 16) >> 16;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].base_class == base)
			return kinds[i].kind;
	return NULL;
}

static void add_device(struct pci *p, struct board *board, const char *address)
{
	const char *root = p->config->root, *kind = kind_of(root, address);
	char text[TEXT_BYTES];
	struct str value;
	if (!kind || p->n == DEVICES_MAX)
		return;
	struct device *d = &p->devices[p->n++];
	d->kind = kind;
	d->node = -1;
	for (int i = 0; i < N_ROWS; i++)
		d->channels[i] = board_channel(board, &rows[i], address);
	if (read_text(root, address, "numa_node", text, sizeof(text), &value) &&
	        !str_to_i64(value, &d->node))
		d->node = -1;
	if (read_text(root, address, "local_cpulist", text, sizeof(text), &value) &&
	        !cpulist_add(&d->cpus, value))
		d->cpus = (struct cpulist){ 0 };
}

static bool pci_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	char path[PROCFILE_PATH_MAX];
	struct dirent **entries;
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", config->root);
	int n = scandir(path, &entries, NULL, alphasort);
	if (n < 0)
		return err_set(err, ERR_SYSTEM, _("cannot read '%s': %s"), path, strerror(errno));
	struct pci *p = arena_new(run, struct pci);
	p->config = config;
	tasks_init(&p->tasks, config, run);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			add_device(p, board, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (p->n == 0)
		return err_set(err, ERR_SYSTEM,
		        _("no device at '%s' is a network card or an accelerator"), path);
	*ret_self = p;
	return true;
}

static void tell_device(const struct device *d, bool known, const struct cpulist *allowed)
{
	unsigned n = cpulist_count(allowed);
	channel_text(d->channels[KIND], str_of(d->kind));
	if (d->node < 0) {
		const char *reason = _("the firmware does not tell which node the device is at");
		channel_absent(d->channels[NODE], SIGNAL_NOT_SUPPORTED, reason);
		channel_absent(d->channels[LOCAL], SIGNAL_NOT_SUPPORTED, reason);
		return;
	}
	channel_value(d->channels[NODE], (double)d->node);
	if (known && n > 0)
		channel_value(
		        d->channels[LOCAL], (double)affinity_count_both(allowed, &d->cpus) / n);
	else
		channel_absent(d->channels[LOCAL], SIGNAL_NOT_COUNTED,
		        _("there is no process whose CPUs are known"));
}

static void pci_sample(void *self, int64_t now_ns)
{
	struct pci *p = self;
	struct cpulist allowed;
	(void)now_ns;
	tasks_scan(&p->tasks);
	bool known = affinity_of(&p->tasks, 0, &allowed);
	for (size_t i = 0; i < p->n; i++)
		tell_device(&p->devices[i], known, &allowed);
}

const struct watch_source pci_source = {
	.name = "pci",
	.rows = rows,
	.n_rows = N_ROWS,
	.period_ns = PERIOD_S * NS_PER_S,
	.open = pci_open,
	.sample = pci_sample,
};
