#include "watch/gpu/amd.h"

#include "watch/procfile.h"

#include "base/i18n.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 4096, NODES_MAX = 256, USERS_MAX = 512 };

#define METRICS_FROM "/sys/bus/pci/devices/ADDRESS/gpu_metrics"
#define USERS_FROM "/sys/class/kfd/kfd/proc/PID/vram_ID"

static uint64_t u64_at(struct str bytes, size_t offset)
{
	uint64_t value;
	memcpy(&value, bytes.s + offset, sizeof(value));
	return value;
}

/* Bits of the kernel's throttle status that does not depend on the device. */
#define BITS(from, to) ((UINT64_C(2) << (to)) - (UINT64_C(1) << (from)))
static const struct {
	uint64_t bits;
	enum device_signal signal;
	const char *word;
} reasons[] = {
	{ BITS(0, 7) | BITS(16, 23), DEVICE_THROTTLE_POWER_CAP, "power_cap" }, /* power, current */
	{ BITS(32, 43), DEVICE_THROTTLE_SW_THERMAL, "sw_thermal" },            /* temperatures */
	{ BITS(44, 47), DEVICE_THROTTLE_HW_THERMAL, "hw_thermal" },            /* VRHOT, PROCHOT */
};

static void tell_reasons(struct amd_device *d, uint64_t status)
{
	char words[BOARD_TEXT_BYTES] = "";
	size_t len = 0;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		bool holds = status & reasons[i].bits;
		device_value(d->sheet, reasons[i].signal, METRICS_FROM, holds);
		if (holds)
			len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%s",
			        len ? "," : "", reasons[i].word);
	}
	device_text(d->sheet, DEVICE_THROTTLE_REASONS, METRICS_FROM, len ? words : "none");
}

static void tell_xgmi(struct amd_device *d, struct str bytes)
{
	uint64_t read_kib = 0, written_kib = 0;
	for (size_t i = 0; i < AMD_METRICS_LINKS; i++) {
		uint64_t in = u64_at(bytes, AMD_METRICS_XGMI_READ_1_4 + 8 * i);
		uint64_t out = u64_at(bytes, AMD_METRICS_XGMI_WRITE_1_4 + 8 * i);
		/* All bits set: there is no such link. */
		read_kib += in == UINT64_MAX ? 0 : in;
		written_kib += out == UINT64_MAX ? 0 : out;
	}
	device_growth(d->sheet, DEVICE_LINK_RX, METRICS_FROM, read_kib, 1024);
	device_growth(d->sheet, DEVICE_LINK_TX, METRICS_FROM, written_kib, 1024);
}

static void absent(
        struct amd_device *d, const enum device_signal *signals, size_t n, const char *reason)
{
	for (size_t i = 0; i < n; i++)
		device_absent(d->sheet, signals[i], SIGNAL_NOT_SUPPORTED, reason);
}

static const enum device_signal throttling[] = { DEVICE_THROTTLE_REASONS, DEVICE_THROTTLE_POWER_CAP,
	DEVICE_THROTTLE_SW_THERMAL, DEVICE_THROTTLE_HW_THERMAL };
static const enum device_signal links[] = { DEVICE_LINK_RX, DEVICE_LINK_TX };

void amd_read_metrics(void *self, size_t i)
{
	struct amd *a = self;
	struct amd_device *d = &a->devices[i];
	char buf[FILE_BYTES], reason[BOARD_REASON_BYTES];
	struct str bytes;
	if (d->is_lost || !d->address[0])
		return;
	if (!procfile_once(a->w->root, buf, sizeof(buf), &bytes,
	            "/sys/bus/pci/devices/%s/gpu_metrics", d->address)) {
		snprintf(reason, sizeof(reason), _("cannot read /sys/bus/pci/devices/%s/%s: %s"),
		        d->address, "gpu_metrics", strerror(errno));
		absent(d, throttling, ARRAY_LEN(throttling), reason);
		absent(d, links, ARRAY_LEN(links), reason);
		return;
	}
	unsigned format = bytes.len >= 4 ? (unsigned char)bytes.s[2] : 0;
	unsigned content = bytes.len >= 4 ? (unsigned char)bytes.s[3] : 0;
	bool is_1_3 = format == 1 && content == 3 && bytes.len >= AMD_METRICS_BYTES_1_3;
	bool is_1_4 = format == 1 && content == 4 && bytes.len >= AMD_METRICS_BYTES_1_4;
	snprintf(reason, sizeof(reason), _("version %u.%u of gpu_metrics does not tell it to us"),
	        format, content);
	if (is_1_3)
		tell_reasons(d, u64_at(bytes, AMD_METRICS_THROTTLE_1_3));
	else
		absent(d, throttling, ARRAY_LEN(throttling), reason);
	if (is_1_4)
		tell_xgmi(d, bytes);
	else
		absent(d, links, ARRAY_LEN(links), reason);
}

/* A node of the compute driver that is the device at a place of the bus: its number; 0: it is not.
 */
static uint64_t kfd_id_of_node(const char *root, unsigned node, uint64_t pci_id)
{
	char buf[FILE_BYTES];
	struct str text;
	uint64_t place, domain = 0, id = 0;
	if (!procfile_once(root, buf, sizeof(buf), &text,
	            "/sys/class/kfd/kfd/topology/nodes/%u/properties", node))
		return 0;
	if (!procfile_field_u64(text, "location_id", &place))
		return 0;
	if (!procfile_field_u64(text, "domain", &domain))
		domain = 0;
	if ((place & 0xffff) != (pci_id & 0xffff) || domain != pci_id >> 32)
		return 0;
	if (!procfile_once(root, buf, sizeof(buf), &text,
	            "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id", node))
		return 0;
	return procfile_u64(procfile_word(&text), &id) ? id : 0;
}

void amd_find_kfd(const struct device_watch *w, struct amd_device *d, uint64_t pci_id)
{
	d->kfd_id = 0;
	for (unsigned node = 0; node < NODES_MAX && d->kfd_id == 0; node++)
		d->kfd_id = kfd_id_of_node(w->root, node, pci_id);
}

/* Every process that has the compute driver open has a file for every device, most of them 0. */
static void add_user(
        const struct device_watch *w, const struct amd_device *d, int pid, struct device_users *u)
{
	char buf[64];
	struct str text;
	uint64_t bytes;
	if (procfile_once(w->root, buf, sizeof(buf), &text,
	            "/sys/class/kfd/kfd/proc/%d/vram_%" PRIu64, pid, d->kfd_id) &&
	        procfile_u64(procfile_word(&text), &bytes) && bytes > 0)
		device_users_add(w, u, pid, (double)bytes);
}

static void absent_users(struct amd_device *d, const char *reason)
{
	for (int s = DEVICE_PROCESSES; s <= DEVICE_MEMORY_OTHER; s++)
		device_absent(d->sheet, (enum device_signal)s, SIGNAL_NOT_SUPPORTED, reason);
}

void amd_read_users(void *self, size_t i)
{
	struct amd *a = self;
	struct amd_device *d = &a->devices[i];
	char path[PROCFILE_PATH_MAX], reason[BOARD_REASON_BYTES];
	struct device_users users = { 0 };
	if (d->is_lost)
		return;
	if (d->kfd_id == 0) {
		absent_users(d, _("the device is not in /sys/class/kfd/kfd/topology"));
		return;
	}
	snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/proc", a->w->root);
	DIR *dir = opendir(path);
	if (!dir) {
		snprintf(reason, sizeof(reason), _("cannot read /sys/class/kfd/kfd/proc: %s"),
		        strerror(errno));
		absent_users(d, reason);
		return;
	}
	const struct dirent *entry;
	for (int n = 0; n < USERS_MAX && (entry = readdir(dir)) != NULL; n++) {
		int pid = atoi(entry->d_name);
		if (pid > 0)
			add_user(a->w, d, pid, &users);
	}
	closedir(dir);
	device_tell_users(a->w, d->sheet, USERS_FROM, &users);
}
