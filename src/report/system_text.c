/*
 * What a machine's own figures say at a glance: one line for each resource that there is.
 */
#include "report/watch.h"

#include "base/i18n.h"
#include "report/layout.h"
#include "report/parts.h"

#include <math.h>
#include <string.h>

static const struct part process[] = {
	{ "process_cpu_ratio", N_("%s cores (at most %s)"), N_("%s cores"), part_max, 1,
	        .fold = PART_SUM },
	{ "process_run_queue_ratio", N_("waiting for a core %s of the time (at most %s)"),
	        N_("waiting for a core %s of the time"), part_max, 1, .fold = PART_SUM },
	{ "process_voluntary_switches_per_s", N_("%s voluntary switches/s (at most %s)"),
	        N_("%s voluntary switches/s"), part_max, 1, .fold = PART_SUM },
	{ "process_involuntary_switches_per_s", N_("%s involuntary ones/s (at most %s)"),
	        N_("%s involuntary ones/s"), part_max, 1, .fold = PART_SUM },
};

static const struct part memory[] = {
	{ "process_rss_bytes", N_("%s resident (at most %s)"), N_("%s resident"), part_max, 1,
	        .is_bytes = true, .fold = PART_SUM },
	{ "process_major_faults_per_s", N_("%s major faults/s (%s in all)"),
	        N_("%s major faults/s"), part_delta, 1, true, .fold = PART_SUM },
	{ "process_storage_read_bytes_per_s", N_("%s/s read from disks (%s in all)"),
	        N_("%s/s read from disks"), part_delta, 1, true, .is_bytes = true,
	        .fold = PART_SUM },
};

static const struct part host[] = {
	{ "host_cpu_ratio", N_("CPUs %s %% busy (at most %s %%)"), NULL, part_max, 100 },
	{ "host_iowait_ratio", N_("%s %% iowait (at most %s %%)"), NULL, part_max, 100, true },
	{ "host_steal_ratio", N_("%s %% steal (at most %s %%)"), NULL, part_max, 100, true },
	{ "host_load1", N_("load %s (at most %s)"), NULL, part_max, 1 },
};

static const struct part pressure[] = {
	{ "host_psi_cpu_some_ratio", N_("CPU %s %% (at most %s %%)"), NULL, part_max, 100 },
	{ "host_psi_memory_some_ratio", N_("memory %s %% (at most %s %%)"), NULL, part_max, 100 },
	{ "host_psi_io_some_ratio", N_("I/O %s %% (at most %s %%)"), NULL, part_max, 100 },
};

static const struct part cgroup[] = {
	{ "cgroup_quota_cores", N_("quota of %s cores"), NULL, NULL, 1 },
	{ "cgroup_throttled_ratio", N_("held back in %s %% of its periods (at most %s %%)"), NULL,
	        part_max, 100 },
	{ "cgroup_memory_used_ratio", N_("memory %s %% of its limit (at most %s %%)"), NULL,
	        part_max, 100 },
};

static const struct part connections[] = {
	{ "port_established", N_("%s open (at most %s)"), N_("%s open"), part_max, 1,
	        .fold = PART_SUM },
	{ "port_backlog", N_("%s not accepted yet (at most %s)"), N_("%s not accepted yet"),
	        part_max, 1, true, .fold = PART_SUM },
	{ "port_backlog_dropped_per_s", N_("%s/s dropped since nobody accepted them (%s in all)"),
	        N_("%s/s dropped since nobody accepted them"), part_delta, 1, true,
	        .fold = PART_SUM },
	{ "port_retransmits_per_s", N_("%s segments/s sent again (%s in all)"),
	        N_("%s segments/s sent again"), part_delta, 1, true, .fold = PART_SUM },
	{ "port_rtt_ms", N_("round trip %s ms (at most %s ms)"), NULL, part_max, 1 },
};

static const struct part device[] = {
	{ "gpu_util_ratio", N_("a kernel ran %s %% of the time (at most %s %%)"), NULL, part_max,
	        100 },
	{ "gpu_memory_used_bytes", N_("%s of its memory in use (at most %s)"), NULL, part_max, 1,
	        .is_bytes = true },
	{ "gpu_power_w", N_("%s W (at most %s W)"), NULL, part_max, 1 },
	{ "gpu_throttle_power_cap_ratio", N_("held back by its power cap %s %% of the time"), NULL,
	        NULL, 100, true },
	{ "gpu_throttle_hw_slowdown_ratio", N_("slowed down by its hardware %s %% of the time"),
	        NULL, NULL, 100, true },
};

/* What a thread waits for, by the word that says so. */
static const struct {
	const char *word, *text;
} waits[] = {
	{ "lock", N_("off a CPU it waits for a lock in %s %% of the looks") },
	{ "events", N_("off a CPU it waits for events in %s %% of the looks") },
	{ "network", N_("off a CPU it waits for the network in %s %% of the looks") },
	{ "io", N_("off a CPU it waits for a pipe or a file in %s %% of the looks") },
	{ "storage", N_("off a CPU it waits for a disk in %s %% of the looks") },
	{ "sleep", N_("off a CPU it sleeps for a time of its own choice in %s %% of the looks") },
	{ "memory", N_("off a CPU it waits for memory in %s %% of the looks") },
	{ "device", N_("off a CPU it waits for a device in %s %% of the looks") },
	{ "cpu", N_("off a CPU it waits for a core in %s %% of the looks") },
};

static void add_waits(const struct signal_thread *t, struct buf *out)
{
	char ratio[LAYOUT_NUMBER];
	for (size_t i = 0; t->waits_for && i < ARRAY_LEN(waits); i++) {
		if (strcmp(waits[i].word, t->waits_for) != 0)
			continue;
		buf_add_c(out, "; ");
		buf_printf(out, _(waits[i].text), layout_number(100 * t->waits_for_ratio, ratio));
	}
}

static void add_busiest(struct fields *f, const struct signal_system *s)
{
	AUTO(auto_buf) struct buf text = { 0 };
	char cpu[LAYOUT_NUMBER], most[LAYOUT_NUMBER];
	if (s->n_threads == 0 || !(s->threads[0].cpu_ratio > 0))
		return;
	const struct signal_thread *t = &s->threads[0];
	buf_printf(&text, _("thread '%s' (%d of process %d): %s of a core (at most %s)"),
	        t->name ? t->name : "?", t->tid, t->pid, layout_number(t->cpu_ratio, cpu),
	        layout_number(t->cpu_ratio_max, most));
	if (s->n_threads_seen > 1)
		buf_printf(&text, _(", one of %lld threads"), (long long)s->n_threads_seen);
	add_waits(t, &text);
	fields_add(f, _("Busiest"), "%s", text.s);
}

void report_system_fields(const struct signal_system *system, struct fields *f)
{
	const struct {
		const char *label;
		const struct part *parts;
		size_t n;
	} lists[] = {
		{ _("Memory"), memory, ARRAY_LEN(memory) },
		{ _("Host"), host, ARRAY_LEN(host) },
		{ _("Pressure"), pressure, ARRAY_LEN(pressure) },
		{ _("Control group"), cgroup, ARRAY_LEN(cgroup) },
		{ _("Connections"), connections, ARRAY_LEN(connections) },
		{ _("Device"), device, ARRAY_LEN(device) },
	};
	parts_add(f, _("Process"), system->signals, system->n_signals, process, ARRAY_LEN(process));
	add_busiest(f, system);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		parts_add(f, lists[i].label, system->signals, system->n_signals, lists[i].parts,
		        lists[i].n);
}
