#include "watch/pages/exporter_map.h"

#include <assert.h>

const char *const exporter_names[EXPORTER_N] = {
	[EXPORTER_NODE] = "node_exporter",
	[EXPORTER_DCGM] = "dcgm-exporter",
	[EXPORTER_AMD] = "amd-device-metrics-exporter",
	[EXPORTER_TRITON] = "triton",
};

const char exporter_part_label[] = "GPU_I_ID";

#define MIB 1048576.0
#define PERCENT 0.01

#define SIGNAL(name_, unit_, kind_, from_)                                                         \
	.row = { .name = (name_), .unit = (unit_), .kind = (kind_), .from = (from_) }
#define RATE_SIGNAL(name_, unit_, scale_, from_)                                                   \
	.row = { .name = (name_),                                                                  \
		.unit = (unit_),                                                                   \
		.kind = WATCH_RATE,                                                                \
		.scale = (scale_),                                                                 \
		.from = (from_) }

/* One metric that is the signal. */
#define NODE_GAUGE(name, unit, metric)                                                             \
	{                                                                                          \
		EXPORTER_NODE, SIGNAL(name, unit, WATCH_GAUGE, metric), .feeds = { { metric } }    \
	}
#define NODE_RATE(name, metric)                                                                    \
	{                                                                                          \
		EXPORTER_NODE, RATE_SIGNAL(name, "1/s", 0, metric), .feeds = { { metric } }        \
	}
/* A counter of seconds is counted in microseconds. */
#define NODE_SECONDS(name, metric)                                                                 \
	{                                                                                          \
		EXPORTER_NODE, RATE_SIGNAL(name, "ratio", 1e-6, metric), .feeds = {                \
			{ metric, .times = 1e6 }                                                   \
		}                                                                                  \
	}
#define NODE_DEVICE(name, unit, metric)                                                            \
	{                                                                                          \
		EXPORTER_NODE, RATE_SIGNAL(name, unit, 0, metric), .instance = "device",           \
		                                                   .feeds = {                      \
			                                                   { metric }              \
		                                                   }                               \
	}
#define NODE_DEVICE_SUM(name, a, b)                                                                \
	{                                                                                          \
		EXPORTER_NODE, RATE_SIGNAL(name, "1/s", 0, a " + " b), .instance = "device",       \
		                                                       .feeds = {                  \
			                                                       { a },              \
			                                                       { b }               \
		                                                       }                           \
	}

/* A share of the CPUs' time, counted in milliseconds. */
#define CPU_SECONDS "node_cpu_seconds_total"
#define CPU_SHARE_OF(label_, before_, name, modes, others_)                                        \
	{                                                                                          \
		EXPORTER_NODE, SIGNAL(name, "ratio", WATCH_SHARE, CPU_SECONDS),                    \
		        .instance = (label_), .before = (before_), .feeds = {                      \
			        { CPU_SECONDS, .times = 1e3, .label = "mode", .values = (modes),   \
			                .others = (others_) },                                     \
			        { CPU_SECONDS, EXPORTER_WHOLE, 1e3 }                               \
		        }                                                                          \
	}
#define CPU_SHARE(name, modes, others) CPU_SHARE_OF(NULL, NULL, name, modes, others)
#define CORE_SHARE(name, modes, others) CPU_SHARE_OF("cpu", "cpu", name, modes, others)

#define GPU_GAUGE(exporter, label, name, unit, metric, times)                                      \
	{                                                                                          \
		exporter, SIGNAL(name, unit, WATCH_GAUGE, metric), .instance = (label), .feeds = { \
			{ metric, EXPORTER_VALUE, times }                                          \
		}                                                                                  \
	}
#define GPU_RATE(exporter, label, name, unit, scale, metric)                                       \
	{                                                                                          \
		exporter, RATE_SIGNAL(name, unit, scale, metric), .instance = (label), .feeds = {  \
			{ metric }                                                                 \
		}                                                                                  \
	}
#define DCGM(name, unit, metric, times) GPU_GAUGE(EXPORTER_DCGM, "gpu", name, unit, metric, times)
#define DCGM_RATE(name, unit, scale, metric)                                                       \
	GPU_RATE(EXPORTER_DCGM, "gpu", name, unit, scale, metric)
/* Newer versions call it an event, not throttling. */
#define DCGM_REASON(name, bits)                                                                    \
	{                                                                                          \
		EXPORTER_DCGM,                                                                     \
		        SIGNAL(name, "ratio", WATCH_GAUGE, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"),  \
		        .instance = "gpu",                                                         \
		        .feeds = { { "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", EXPORTER_BIT,           \
			                   .mask = (bits) },                                       \
			        { "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", EXPORTER_BIT,                \
			                .mask = (bits) } },                                        \
	}
#define AMD(name, unit, metric, times) GPU_GAUGE(EXPORTER_AMD, "gpu_id", name, unit, metric, times)
#define AMD_RATE(name, unit, scale, metric)                                                        \
	GPU_RATE(EXPORTER_AMD, "gpu_id", name, unit, scale, metric)
#define TRITON(name, unit, metric) GPU_GAUGE(EXPORTER_TRITON, "gpu_uuid", name, unit, metric, 1)
#define AMD_CLOCK(name, type)                                                                      \
	{                                                                                          \
		EXPORTER_AMD, SIGNAL(name, "MHz", WATCH_GAUGE, "gpu_clock"),                       \
		        .instance = "gpu_id", .feeds = {                                           \
			        { "gpu_clock", .label = "clock_type", .values = (type) }           \
		        }                                                                          \
	}

const struct exporter_row exporter_rows[] = {
	CPU_SHARE("host_cpu_ratio", "idle|iowait", true),
	CPU_SHARE("host_user_ratio", "user|nice", false),
	CPU_SHARE("host_system_ratio", "system", false),
	CPU_SHARE("host_irq_ratio", "irq|softirq", false),
	CPU_SHARE("host_iowait_ratio", "iowait", false),
	CPU_SHARE("host_steal_ratio", "steal", false),
	CORE_SHARE("host_core_ratio", "idle|iowait", true),
	CORE_SHARE("host_core_user_ratio", "user|nice", false),
	CORE_SHARE("host_core_kernel_ratio", "system|irq|softirq", false),
	CORE_SHARE("host_core_idle_ratio", "idle", false),
	{ EXPORTER_NODE, SIGNAL("host_cores", "1", WATCH_GAUGE, CPU_SECONDS),
	        .feeds = { { CPU_SECONDS, EXPORTER_SERIES, .label = "mode", .values = "idle" } } },
	NODE_GAUGE("host_load1", "1", "node_load1"),
	NODE_GAUGE("host_load5", "1", "node_load5"),
	NODE_GAUGE("host_load15", "1", "node_load15"),
	NODE_RATE("host_context_switches_per_s", "node_context_switches_total"),
	NODE_RATE("host_interrupts_per_s", "node_intr_total"),
	NODE_RATE("host_forks_per_s", "node_forks_total"),
	NODE_GAUGE("host_runnable_tasks", "1", "node_procs_running"),
	NODE_GAUGE("host_blocked_tasks", "1", "node_procs_blocked"),
	NODE_RATE("host_core_throttles_per_s", "node_cpu_core_throttles_total"),
	NODE_RATE("host_package_throttles_per_s", "node_cpu_package_throttles_total"),

	NODE_SECONDS("host_psi_cpu_some_ratio", "node_pressure_cpu_waiting_seconds_total"),
	NODE_SECONDS("host_psi_memory_some_ratio", "node_pressure_memory_waiting_seconds_total"),
	NODE_SECONDS("host_psi_memory_full_ratio", "node_pressure_memory_stalled_seconds_total"),
	NODE_SECONDS("host_psi_io_some_ratio", "node_pressure_io_waiting_seconds_total"),
	NODE_SECONDS("host_psi_io_full_ratio", "node_pressure_io_stalled_seconds_total"),

	NODE_GAUGE("host_memory_bytes", "bytes", "node_memory_MemTotal_bytes"),
	NODE_GAUGE("host_memory_available_bytes", "bytes", "node_memory_MemAvailable_bytes"),
	NODE_GAUGE("host_page_cache_bytes", "bytes", "node_memory_Cached_bytes"),
	NODE_GAUGE("host_dirty_bytes", "bytes", "node_memory_Dirty_bytes"),
	NODE_GAUGE("host_writeback_bytes", "bytes", "node_memory_Writeback_bytes"),
	NODE_GAUGE("host_anon_hugepage_bytes", "bytes", "node_memory_AnonHugePages_bytes"),
	NODE_GAUGE("host_hugepages", "1", "node_memory_HugePages_Total"),
	NODE_GAUGE("host_hugepages_free", "1", "node_memory_HugePages_Free"),
	NODE_GAUGE("host_hugepage_size_bytes", "bytes", "node_memory_Hugepagesize_bytes"),
	NODE_GAUGE("host_swap_bytes", "bytes", "node_memory_SwapTotal_bytes"),
	NODE_GAUGE("host_swap_free_bytes", "bytes", "node_memory_SwapFree_bytes"),
	NODE_RATE("host_swap_in_pages_per_s", "node_vmstat_pswpin"),
	NODE_RATE("host_swap_out_pages_per_s", "node_vmstat_pswpout"),
	NODE_RATE("host_major_faults_per_s", "node_vmstat_pgmajfault"),
	NODE_RATE("host_page_faults_per_s", "node_vmstat_pgfault"),
	NODE_RATE("host_oom_kills_per_s", "node_vmstat_oom_kill"),

	NODE_DEVICE("host_disk_read_bytes_per_s", "bytes/s", "node_disk_read_bytes_total"),
	NODE_DEVICE("host_disk_write_bytes_per_s", "bytes/s", "node_disk_written_bytes_total"),
	NODE_DEVICE_SUM("host_disk_ops_per_s", "node_disk_reads_completed_total",
	        "node_disk_writes_completed_total"),
	{ EXPORTER_NODE,
	        SIGNAL("host_disk_wait_ms", "ms", WATCH_SHARE,
	                "(node_disk_read_time_seconds_total + node_disk_write_time_seconds_total) "
	                "/ "
	                "(node_disk_reads_completed_total + node_disk_writes_completed_total)"),
	        .instance = "device",
	        .feeds = { { "node_disk_read_time_seconds_total", .times = 1e3 },
	                { "node_disk_write_time_seconds_total", .times = 1e3 },
	                { "node_disk_reads_completed_total", EXPORTER_WHOLE },
	                { "node_disk_writes_completed_total", EXPORTER_WHOLE } } },
	{ EXPORTER_NODE,
	        RATE_SIGNAL(
	                "host_disk_busy_ratio", "ratio", 1e-3, "node_disk_io_time_seconds_total"),
	        .instance = "device",
	        .feeds = { { "node_disk_io_time_seconds_total", .times = 1e3 } } },
	{ EXPORTER_NODE, SIGNAL("host_disk_in_flight", "1", WATCH_GAUGE, "node_disk_io_now"),
	        .instance = "device", .feeds = { { "node_disk_io_now" } } },

	NODE_DEVICE("host_net_rx_bytes_per_s", "bytes/s", "node_network_receive_bytes_total"),
	NODE_DEVICE("host_net_tx_bytes_per_s", "bytes/s", "node_network_transmit_bytes_total"),
	NODE_DEVICE_SUM("host_net_errors_per_s", "node_network_receive_errs_total",
	        "node_network_transmit_errs_total"),
	NODE_DEVICE_SUM("host_net_dropped_per_s", "node_network_receive_drop_total",
	        "node_network_transmit_drop_total"),
	NODE_RATE("host_tcp_retransmits_per_s", "node_netstat_Tcp_RetransSegs"),
	NODE_RATE("host_tcp_segments_per_s", "node_netstat_Tcp_OutSegs"),
	NODE_RATE("host_tcp_accepts_per_s", "node_netstat_Tcp_PassiveOpens"),
	NODE_RATE("host_tcp_connects_per_s", "node_netstat_Tcp_ActiveOpens"),
	NODE_RATE("host_tcp_resets_per_s", "node_netstat_Tcp_OutRsts"),
	NODE_GAUGE("host_tcp_established", "1", "node_netstat_Tcp_CurrEstab"),
	NODE_RATE("host_tcp_listen_overflows_per_s", "node_netstat_TcpExt_ListenOverflows"),
	NODE_RATE("host_tcp_listen_drops_per_s", "node_netstat_TcpExt_ListenDrops"),
	NODE_RATE("host_tcp_timeouts_per_s", "node_netstat_TcpExt_TCPTimeouts"),
	NODE_RATE("host_tcp_syn_retransmits_per_s", "node_netstat_TcpExt_TCPSynRetrans"),
	NODE_GAUGE("host_sockets", "1", "node_sockstat_sockets_used"),
	NODE_GAUGE("host_tcp_sockets", "1", "node_sockstat_TCP_inuse"),
	NODE_GAUGE("host_tcp_time_wait", "1", "node_sockstat_TCP_tw"),
	NODE_GAUGE("host_tcp_orphans", "1", "node_sockstat_TCP_orphan"),
	NODE_GAUGE("host_tcp_memory_pages", "1", "node_sockstat_TCP_mem"),
	NODE_GAUGE("host_tcp6_sockets", "1", "node_sockstat_TCP6_inuse"),

	DCGM("gpu_util_ratio", "ratio", "DCGM_FI_DEV_GPU_UTIL", PERCENT),
	DCGM("gpu_memory_util_ratio", "ratio", "DCGM_FI_DEV_MEM_COPY_UTIL", PERCENT),
	DCGM("gpu_encoder_util_ratio", "ratio", "DCGM_FI_DEV_ENC_UTIL", PERCENT),
	DCGM("gpu_decoder_util_ratio", "ratio", "DCGM_FI_DEV_DEC_UTIL", PERCENT),
	DCGM("gpu_memory_used_bytes", "bytes", "DCGM_FI_DEV_FB_USED", MIB),
	DCGM("gpu_memory_free_bytes", "bytes", "DCGM_FI_DEV_FB_FREE", MIB),
	DCGM("gpu_memory_reserved_bytes", "bytes", "DCGM_FI_DEV_FB_RESERVED", MIB),
	DCGM("gpu_memory_total_bytes", "bytes", "DCGM_FI_DEV_FB_TOTAL", MIB),
	DCGM("gpu_sm_clock_mhz", "MHz", "DCGM_FI_DEV_SM_CLOCK", 1),
	DCGM("gpu_memory_clock_mhz", "MHz", "DCGM_FI_DEV_MEM_CLOCK", 1),
	DCGM("gpu_sm_clock_max_mhz", "MHz", "DCGM_FI_DEV_MAX_SM_CLOCK", 1),
	DCGM("gpu_memory_clock_max_mhz", "MHz", "DCGM_FI_DEV_MAX_MEM_CLOCK", 1),
	DCGM_REASON("gpu_throttle_idle_ratio", 0x1),
	DCGM_REASON("gpu_throttle_set_clocks_ratio", 0x2),
	DCGM_REASON("gpu_throttle_power_cap_ratio", 0x4),
	DCGM_REASON("gpu_throttle_hw_slowdown_ratio", 0x8),
	DCGM_REASON("gpu_throttle_sync_boost_ratio", 0x10),
	DCGM_REASON("gpu_throttle_sw_thermal_ratio", 0x20),
	DCGM_REASON("gpu_throttle_hw_thermal_ratio", 0x40),
	DCGM_REASON("gpu_throttle_power_brake_ratio", 0x80),
	DCGM_REASON("gpu_throttle_display_ratio", 0x100),
	DCGM("gpu_power_w", "W", "DCGM_FI_DEV_POWER_USAGE", 1),
	DCGM("gpu_power_limit_w", "W", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", 1),
	DCGM_RATE("gpu_energy_w", "W", 1e-3, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"),
	DCGM("gpu_temperature_c", "C", "DCGM_FI_DEV_GPU_TEMP", 1),
	DCGM("gpu_memory_temperature_c", "C", "DCGM_FI_DEV_MEMORY_TEMP", 1),
	DCGM("gpu_pcie_generation", "1", "DCGM_FI_DEV_PCIE_LINK_GEN", 1),
	DCGM("gpu_pcie_generation_max", "1", "DCGM_FI_DEV_PCIE_MAX_LINK_GEN", 1),
	DCGM("gpu_pcie_width", "1", "DCGM_FI_DEV_PCIE_LINK_WIDTH", 1),
	DCGM("gpu_pcie_width_max", "1", "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", 1),
	DCGM("gpu_pcie_tx_bytes_per_s", "bytes/s", "DCGM_FI_PROF_PCIE_TX_BYTES", 1),
	DCGM("gpu_pcie_rx_bytes_per_s", "bytes/s", "DCGM_FI_PROF_PCIE_RX_BYTES", 1),
	DCGM_RATE("gpu_pcie_replays_per_s", "1/s", 0, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"),
	DCGM("gpu_link_tx_bytes_per_s", "bytes/s", "DCGM_FI_PROF_NVLINK_TX_BYTES", 1),
	DCGM("gpu_link_rx_bytes_per_s", "bytes/s", "DCGM_FI_PROF_NVLINK_RX_BYTES", 1),
	DCGM_RATE("gpu_ecc_corrected_per_s", "1/s", 0, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
	DCGM_RATE("gpu_ecc_uncorrected_per_s", "1/s", 0, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"),
	DCGM("gpu_ecc_corrected_ever", "1", "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", 1),
	DCGM("gpu_ecc_uncorrected_ever", "1", "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", 1),
	DCGM("gpu_rows_failed", "1", "DCGM_FI_DEV_ROW_REMAP_FAILURE", 1),
	DCGM("gpu_graphics_active_ratio", "ratio", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1),
	DCGM("gpu_sm_active_ratio", "ratio", "DCGM_FI_PROF_SM_ACTIVE", 1),
	DCGM("gpu_sm_occupancy_ratio", "ratio", "DCGM_FI_PROF_SM_OCCUPANCY", 1),
	DCGM("gpu_tensor_active_ratio", "ratio", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 1),
	DCGM("gpu_fp64_active_ratio", "ratio", "DCGM_FI_PROF_PIPE_FP64_ACTIVE", 1),
	DCGM("gpu_fp32_active_ratio", "ratio", "DCGM_FI_PROF_PIPE_FP32_ACTIVE", 1),
	DCGM("gpu_fp16_active_ratio", "ratio", "DCGM_FI_PROF_PIPE_FP16_ACTIVE", 1),
	DCGM("gpu_dram_active_ratio", "ratio", "DCGM_FI_PROF_DRAM_ACTIVE", 1),

	AMD("gpu_util_ratio", "ratio", "gpu_gfx_activity", PERCENT),
	AMD("gpu_memory_util_ratio", "ratio", "gpu_umc_activity", PERCENT),
	AMD("gpu_memory_used_bytes", "bytes", "gpu_used_vram", MIB),
	AMD("gpu_memory_free_bytes", "bytes", "gpu_free_vram", MIB),
	AMD("gpu_memory_total_bytes", "bytes", "gpu_total_vram", MIB),
	AMD_CLOCK("gpu_graphics_clock_mhz", "GPU_CLOCK_TYPE_SYSTEM"),
	AMD_CLOCK("gpu_memory_clock_mhz", "GPU_CLOCK_TYPE_MEMORY"),
	AMD("gpu_power_w", "W", "gpu_power_usage", 1),
	AMD_RATE("gpu_energy_w", "W", 1e-6, "gpu_energy_consumed"),
	AMD("gpu_temperature_c", "C", "gpu_edge_temperature", 1),
	AMD("gpu_hotspot_temperature_c", "C", "gpu_junction_temperature", 1),
	AMD("gpu_memory_temperature_c", "C", "gpu_memory_temperature", 1),
	AMD_RATE("gpu_pcie_replays_per_s", "1/s", 0, "pcie_replay_count"),
	AMD_RATE("gpu_ecc_corrected_per_s", "1/s", 0, "gpu_ecc_correct_total"),
	AMD_RATE("gpu_ecc_uncorrected_per_s", "1/s", 0, "gpu_ecc_uncorrect_total"),
	AMD("gpu_held_power_ratio", "ratio", "gpu_violation_ppt_residency_percentage", PERCENT),
	AMD("gpu_held_thermal_ratio", "ratio", "gpu_violation_socket_thermal_residency_percentage",
	        PERCENT),

	TRITON("gpu_util_ratio", "ratio", "nv_gpu_utilization"),
	TRITON("gpu_memory_used_bytes", "bytes", "nv_gpu_memory_used_bytes"),
	TRITON("gpu_memory_total_bytes", "bytes", "nv_gpu_memory_total_bytes"),
	TRITON("gpu_power_w", "W", "nv_gpu_power_usage"),
	TRITON("gpu_power_limit_w", "W", "nv_gpu_power_limit"),
	{ EXPORTER_TRITON, RATE_SIGNAL("gpu_energy_w", "W", 1e-3, "nv_energy_consumption"),
	        .instance = "gpu_uuid", .feeds = { { "nv_energy_consumption", .times = 1e3 } } },
};
const size_t exporter_n_rows = ARRAY_LEN(exporter_rows);

/* AMD's exporter wrote its names in capitals at first, and puts "amd_" before them on request. */
static bool is_metric(enum exporter exporter, const char *metric, struct str name)
{
	static const struct str amd = STR_INIT("amd_");
	if (exporter != EXPORTER_AMD)
		return str_eq(name, str_of(metric));
	if (str_starts(name, amd))
		name = (struct str){ name.s + amd.len, name.len - amd.len };
	return str_eq_nocase(name, str_of(metric));
}

/* Most names of most pages are of nobody here. */
static bool may_be_known(struct str name)
{
	static const struct str begins[] = { STR_INIT("node_"), STR_INIT("DCGM_"), STR_INIT("gpu_"),
		STR_INIT("GPU_"), STR_INIT("pcie_"), STR_INIT("PCIE_"), STR_INIT("amd_"),
		STR_INIT("nv_gpu_"), STR_INIT("nv_energy_") };
	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (str_starts(name, begins[i]))
			return true;
	return false;
}

size_t exporter_lookup(struct str metric, struct exporter_match matches[EXPORTER_MATCHES_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < exporter_n_rows && may_be_known(metric); i++) {
		const struct exporter_row *row = &exporter_rows[i];
		for (int k = 0; k < EXPORTER_FEEDS_MAX && row->feeds[k].metric; k++) {
			if (!is_metric(row->exporter, row->feeds[k].metric, metric))
				continue;
			/* The CPUs' seconds are in ten shares, twice each, and in the number. */
			if (n < EXPORTER_MATCHES_MAX)
				matches[n] = (struct exporter_match){ i, &row->feeds[k] };
			n++;
		}
	}
	assert(n <= EXPORTER_MATCHES_MAX);
	return n;
}
