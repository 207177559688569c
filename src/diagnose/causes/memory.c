#include "diagnose/cause.h"

#include "base/i18n.h"
#include "diagnose/trace_facts.h"

static const struct cause rows[] = {
	{
	        .id = "kv_preemption",
	        .name = N_("KV preemption, recompute"),
	        .layer = 'F',
	        .check = N_("Preemptions happen while the KV cache is at least 90 % full."),
	        .needs = N_("Needs the service's metrics: preemptions and KV cache use."),
	        .experiment =
	                N_("Run a quarter fewer sequences at once: preemptions stop, P99 falls, "
	                   "throughput is no worse."),
	        .fix = N_(
	                "Admit by full length, cap the running sequences, enlarge or quantise the "
	                "KV cache."),
	        .gain = "G11",
	},
	{
	        .id = "kv_capacity_limit",
	        .name = N_("KV capacity limits the batch"),
	        .layer = 'F',
	        .check = N_(
	                "The running count stops below its maximum with requests waiting and the "
	                "KV cache at least 90 % full, without preemption."),
	        .needs = N_("Needs the service's metrics: running, waiting, KV cache use, "
	                    "preemptions."),
	        .experiment =
	                N_("Halve the context or the output: running count and throughput rise."),
	        .fix = N_("Quantise the KV cache, lower the maximum length, give it more memory or "
	                  "more devices."),
	        .gain = "G11",
	},
	{
	        .id = "gpu_mem_fragmentation",
	        .name = N_("device memory fragmentation"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("Reserved memory exceeds allocated memory by 20 % and grows; requests "
	                    "allocate device memory in steady state."),
	        .needs = N_("Needs a device trace with its allocations, or the allocator's figures "
	                    "over hours."),
	        .experiment =
	                N_("Restart the service, or use a fixed pool: gone at first, back with "
	                   "time."),
	        .fix = N_("Use a pool, paging, a fixed KV block, or shape buckets."),
	        .gain = "G15",
	        .examine = examine_by_trace,
	},
	{
	        .id = "host_memory_growth",
	        .name = N_("host memory growth"),
	        .layer = 'F',
	        .acts = ACTS_ASIDE,
	        .check = N_("Resident memory climbs by more than 1 % an hour after warm-up."),
	        .needs = N_("Needs the resident memory of the service's process over hours."),
	        .experiment =
	                N_("Trim the heap or limit its arenas: memory falls by half when it was "
	                   "retained, stays when it leaks."),
	        .fix = N_("Limit arenas, use another allocator, trim; mend the leak."),
	        .gain = "measured",
	},
	{
	        .id = "cpu_offload",
	        .name = N_("offload to host"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Bytes to the device per step match the offloaded part of the model; the "
	                "link is busy half of the time."),
	        .needs = N_("Needs the traffic of the device's link and a device trace."),
	        .experiment = N_("Keep one more layer on the device: time per token falls by its "
	                         "share."),
	        .fix = N_("Quantise until it fits, use more devices, keep hot parts resident, "
	                  "prefetch."),
	        .gain = "G10",
	},
	{
	        .id = "host_paging",
	        .name = N_("swap or page-cache thrash"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("The process reads from disk for every token; memory or I/O pressure "
	                    "shows stalls."),
	        .needs = N_("Needs the service's process: bytes read, refaults, memory limit, "
	                    "pressure."),
	        .experiment = N_("Make the weights fit, or lock them in memory: the reads stop."),
	        .fix = N_("Fit into memory, lock it, switch swap off, use a faster disk."),
	        .gain = "G10",
	},
	{
	        .id = "model_reload",
	        .name = N_("model reloaded"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "File reads of about the model's size happen while serving; device memory "
	                "falls and rises."),
	        .needs = N_("Needs the service's process or its load events, over idle times."),
	        .experiment = N_("Send a request periodically: the service stays fast."),
	        .fix = N_("Keep the model resident, pin it, put fewer models on a device."),
	        .gain = "G15",
	},
	{
	        .id = "per_step_copies",
	        .name = N_("host-device copies each step"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("Copies during which no kernel runs take 10 % of a step or more."),
	        .needs = N_("Needs a device trace."),
	        .experiment =
	                N_("Leave the read-back out for one run: the step falls by the exposed "
	                   "time."),
	        .fix = N_("Keep tensors on the device, post-process there, merge copies, pin and "
	                  "overlap them."),
	        .gain = "G10",
	        .examine = examine_by_trace,
	},
	{
	        .id = "pageable_copy",
	        .name = N_("pageable copies"),
	        .layer = 'F',
	        .acts = ACTS_ALONE,
	        .check = N_("Copies come from pageable memory and reach less than half the rate of "
	                    "pinned ones."),
	        .needs = N_("Needs a device trace with the kind and size of its copies."),
	        .experiment = N_("Copy through pinned staging memory."),
	        .fix = N_("Use pinned pools, write outputs in place."),
	        .gain = "G10",
	        .examine = examine_by_trace,
	},
	{
	        .id = "numa_remote",
	        .name = N_("remote NUMA memory"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("A fifth of the pages or accesses is remote; process and device sit on "
	                    "different nodes."),
	        .needs = N_("Needs the service's process on a machine with several memory nodes."),
	        .experiment = N_("Bind processor and memory to one node; as a second arm, "
	                         "interleave."),
	        .fix = N_(
	                "Bind, run one replica per node, let the using thread touch memory first."),
	        .gain = "measured",
	},
	{
	        .id = "hugepage_misfit",
	        .name = N_("huge pages misfit"),
	        .layer = 'S',
	        .acts = ACTS_ALONE,
	        .check = N_("Huge-page fallbacks and compaction rise, or small pages hold a large "
	                    "working set."),
	        .needs = N_(
	                "Needs the memory counters of the machine and of the service's process."),
	        .experiment =
	                N_("Try never, madvise and always: one differs beyond noise, in either "
	                   "direction."),
	        .fix = N_("Choose by measurement; reserve huge pages for the weights."),
	        .gain = "measured",
	},
};

const struct cause_group cause_group_memory = { 'R', rows, ARRAY_LEN(rows) };
