#include "watch/perf/perf_open.h"

#include "watch/procfile.h"

#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_open(struct perf_event_attr *attr, int tid, int group_fd)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, tid, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
}

/* Of a processor's own counters, which virtual machines often have none of. */
static bool is_hardware(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE;
}

static bool has_pmu(const char *root)
{
	static const char *const names[] = { "cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[PROCFILE_PATH_MAX];
		snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices/%s", root, names[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static void why_refused(int code, const char *root, char buf[BOARD_REASON_BYTES])
{
	char text[32];
	struct str level;
	bool known = procfile_once(
	        root, text, sizeof(text), &level, "/proc/sys/kernel/perf_event_paranoid");
	level = known ? str_trim(level) : STR("?");
	if (known && str_eq(level, STR("2")) && code == EPERM)
		snprintf(buf, BOARD_REASON_BYTES,
		        _("perf_event_open is forbidden, as a container's seccomp profile does "
		          "it"));
	else
		snprintf(buf, BOARD_REASON_BYTES,
		        _("perf_event_open is refused: kernel.perf_event_paranoid is %.*s, and the "
		          "process may be another user's; it takes CAP_PERFMON"),
		        STR_ARG(level));
}

void perf_why_not(int code, const struct perf_event_attr *attr, const char *root,
        char buf[BOARD_REASON_BYTES])
{
	bool no_counter = code == ENOENT || code == EOPNOTSUPP || code == ENODEV || code == EINVAL;
	if (code == EACCES || code == EPERM)
		why_refused(code, root, buf);
	else if (code == ENOSYS)
		snprintf(buf, BOARD_REASON_BYTES, _("this kernel has no perf_event_open"));
	else if (no_counter && is_hardware(attr) && !has_pmu(root))
		snprintf(buf, BOARD_REASON_BYTES,
		        _("the processor's counters are not passed on to this machine: "
		          "/sys/bus/event_source/devices has no 'cpu'"));
	else if (no_counter)
		snprintf(buf, BOARD_REASON_BYTES,
		        _("perf_event_open: this processor or kernel has no such counter (%s)"),
		        strerror(code));
	else if (code == EMFILE || code == ENFILE)
		snprintf(buf, BOARD_REASON_BYTES,
		        _("perf_event_open: too many open files (ulimit -n)"));
	else if (code == ESRCH)
		snprintf(buf, BOARD_REASON_BYTES, _("the process has ended"));
	else
		snprintf(buf, BOARD_REASON_BYTES, "perf_event_open: %s", strerror(code));
}

size_t perf_descriptors_max(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX / 4;
	return limit.rlim_cur / 4;
}

bool perf_is_live(const struct watch_config *config, struct err *err)
{
	if (config->root[0] == '\0')
		return true;
	return err_set(err, ERR_SYSTEM,
	        _("perf_event_open counts on this machine alone, and what is "
	          "read here was recorded elsewhere"));
}
