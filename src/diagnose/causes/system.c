#include "diagnose/cause.h"

#include "base/i18n.h"
#include "diagnose/trace_facts.h"

static const struct cause rows[] = {
	{
	        .id = "thread_oversubscription",
	        .name = N_("too many threads"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("Workers times threads exceed the allowed cores; threads wait 10 % of "
	                    "their time for a core."),
	        .needs =
	                N_("Needs the service's process: threads, allowed cores, run-queue delay."),
	        .experiment = N_("Sweep a quarter, half, one and two times cores per worker: a "
	                         "smaller number is better."),
	        .fix = N_(
	                "Threads = cores divided by workers, physical cores, passive waiting when "
	                "shared."),
	        .gain = "measured",
	},
	{
	        .id = "cgroup_cpu_throttle",
	        .name = N_("CPU quota throttling"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("5 % or more of the quota periods were throttled."),
	        .needs = N_("Needs the CPU statistics of the service's control group."),
	        .experiment =
	                N_("Lower the threads to the quota, or lift the quota: the stalls are "
	                   "gone."),
	        .fix = N_(
	                "Take the thread count from the limit, raise the limit, or use CPU sets."),
	        .gain = "G6",
	},
	{
	        .id = "cpu_affinity_wrong",
	        .name = N_("wrong CPU affinity"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Fewer CPUs are allowed than threads run; few cores are full while others "
	                "idle."),
	        .needs = N_("Needs the service's process: allowed CPUs and the use of each core."),
	        .experiment = N_("Widen or move the mask."),
	        .fix = N_("Set masks by topology."),
	        .gain = "measured",
	},
	{
	        .id = "cpu_contention",
	        .name = N_("neighbours take the CPU"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("The service's threads wait 5 % of their time for a core although they "
	                    "need fewer than there are, or 3 % of the time is stolen."),
	        .needs = N_("Needs the service's process and the CPU time of the whole machine."),
	        .experiment = N_("Stop or move the neighbour, or reserve cores."),
	        .fix = N_("Isolate, set shares or priorities."),
	        .gain = "G1",
	},
	{
	        .id = "clock_low",
	        .name = N_("low clocks"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("The clock that binds stays below 95 % of its maximum under load."),
	        .needs = N_("Needs the clocks of processor or device under load, and why they are "
	                    "limited."),
	        .experiment = N_("Lock the clock or lift the cap: time follows the clock."),
	        .fix = N_("Mend cooling or power cap, use the performance governor, lock clocks."),
	        .gain = "G14",
	},
	{
	        .id = "gpu_shared",
	        .name = N_("device shared"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check =
	                N_("Other processes use the device; it is busy while the service is idle."),
	        .needs = N_("Needs the processes and the utilisation of the device."),
	        .experiment = N_("Run alone on the device."),
	        .fix = N_("Partition the device, share it in space, or batch in one process."),
	        .gain = "measured",
	},
	{
	        .id = "pcie_degraded",
	        .name = N_("degraded PCIe link"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("Generation or width of the link under load is below its maximum, or "
	                    "replays rise."),
	        .needs = N_("Needs the state of the device's link under load."),
	        .experiment = N_("Copy test against the expected rate; another slot."),
	        .fix = N_("Reseat the card, check firmware settings, use another slot."),
	        .gain = "G10",
	},
	{
	        .id = "tp_comm_bound",
	        .name = N_("tensor-parallel communication"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Collectives during which nothing else runs take 15 % of a step or more."),
	        .needs = N_("Needs traces of all devices and the topology of their links."),
	        .experiment = N_("Split over fewer devices, or switch the peer path on and off."),
	        .fix = N_("Use replicas or a pipeline instead, enable peer access, reduce small "
	                  "messages in one shot, enlarge the batch."),
	        .gain = "G12",
	        .examine = examine_by_trace,
	},
};

const struct cause_group cause_group_system = { 'S', rows, ARRAY_LEN(rows) };
