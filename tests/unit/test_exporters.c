#include "pages_window.h"
#include "tap.h"

#include "base/attr.h"
#include "base/clock.h"
#include "watch/pages/exporter_map.h"
#include "watch/pages/metrics_window.h"

#include <math.h>

static const struct signal *find(
        const struct signal_page *page, const char *name, const char *instance)
{
	for (size_t i = 0; i < page->n_signals; i++) {
		const struct signal *s = &page->signals[i];
		if (strcmp(s->name, name) == 0 &&
		        (instance ? s->instance && strcmp(s->instance, instance) == 0
		                  : !s->instance))
			return s;
	}
	return NULL;
}

struct want {
	const char *name, *instance;
	double mean;
	const char *source; /* NULL: not looked at */
};

static void check_all(const struct signal_page *page, const struct want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct signal *s = find(page, wants[i].name, wants[i].instance);
		if (!CHECK(s != NULL) || !CHECK(fabs(s->mean - wants[i].mean) < 1e-9) ||
		        !CHECK(!wants[i].source || strcmp(s->source, wants[i].source) == 0))
			printf("# %s of %s: %g, want %g; from %s\n", wants[i].name,
			        wants[i].instance ? wants[i].instance : "all", s ? s->mean : NAN,
			        wants[i].mean, s ? s->source : "nothing");
		if (s)
			CHECK_STR(s->page, "http://host/metrics");
	}
}

/*
 * Two CPUs for a second. The first: 0.5 s user, 0.1 s nice, 0.1 s system, 0.05 s softirq, 0.05 s
 * steal, 0.1 s iowait, 0.1 s idle; the second: 1 s idle.
 */
static void a_host_is_told_by_node_exporter(void)
{
	static const char *const pages[] = {
		"# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.\n"
		"# TYPE node_cpu_seconds_total counter\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 10\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 10\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"irq\"} 0\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"nice\"} 10\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"softirq\"} 10\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"steal\"} 10\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 10\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 10\n"
		"node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} 500.25\n"
		"node_cpu_seconds_total{cpu=\"1\",mode=\"user\"} 7\n"
		"node_load1 0.5\nnode_memory_MemAvailable_bytes 2.5e+10\n"
		"node_context_switches_total 1e+06\n"
		"node_vmstat_pgmajfault 5\n"
		"node_pressure_cpu_waiting_seconds_total 1.5\n"
		"node_disk_reads_completed_total{device=\"vda\"} 100\n"
		"node_disk_writes_completed_total{device=\"vda\"} 100\n"
		"node_disk_read_time_seconds_total{device=\"vda\"} 1\n"
		"node_disk_write_time_seconds_total{device=\"vda\"} 1\n"
		"node_disk_io_time_seconds_total{device=\"vda\"} 3\n"
		"node_network_receive_bytes_total{device=\"eth0\"} 1000\n"
		"node_network_receive_bytes_total{device=\"lo\"} 50\n"
		"node_network_receive_errs_total{device=\"eth0\"} 1\n"
		"node_network_transmit_errs_total{device=\"eth0\"} 1\n",
		"node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 10.1\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 10.1\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"irq\"} 0\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"nice\"} 10.1\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"softirq\"} 10.05\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"steal\"} 10.05\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 10.1\n"
		"node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 10.5\n"
		"node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} 501.25\n"
		"node_cpu_seconds_total{cpu=\"1\",mode=\"user\"} 7\n"
		"node_load1 1.5\nnode_memory_MemAvailable_bytes 2.7e+10\n"
		"node_context_switches_total 1.0005e+06\n"
		"node_vmstat_pgmajfault 12\n"
		"node_pressure_cpu_waiting_seconds_total 1.75\n"
		"node_disk_reads_completed_total{device=\"vda\"} 130\n"
		"node_disk_writes_completed_total{device=\"vda\"} 110\n"
		"node_disk_read_time_seconds_total{device=\"vda\"} 1.15\n"
		"node_disk_write_time_seconds_total{device=\"vda\"} 1.05\n"
		"node_disk_io_time_seconds_total{device=\"vda\"} 3.125\n"
		"node_network_receive_bytes_total{device=\"eth0\"} 4000\n"
		"node_network_receive_bytes_total{device=\"lo\"} 50\n"
		"node_network_receive_errs_total{device=\"eth0\"} 2\n"
		"node_network_transmit_errs_total{device=\"eth0\"} 3\n",
	};
	static const struct want wants[] = {
		{ "host_cpu_ratio", NULL, 0.8 / 2, "node_cpu_seconds_total" },
		{ "host_user_ratio", NULL, 0.6 / 2, NULL },
		{ "host_system_ratio", NULL, 0.1 / 2, NULL },
		{ "host_irq_ratio", NULL, 0.05 / 2, NULL },
		{ "host_iowait_ratio", NULL, 0.1 / 2, NULL },
		{ "host_steal_ratio", NULL, 0.05 / 2, NULL },
		{ "host_core_ratio", "cpu0", 0.8, NULL },
		{ "host_core_ratio", "cpu1", 0, NULL },
		{ "host_core_kernel_ratio", "cpu0", 0.15, NULL },
		{ "host_core_idle_ratio", "cpu1", 1, NULL },
		{ "host_cores", NULL, 2, NULL },
		{ "host_load1", NULL, 1, "node_load1" },
		{ "host_memory_available_bytes", NULL, 2.6e10, NULL },
		{ "host_context_switches_per_s", NULL, 500, NULL },
		{ "host_major_faults_per_s", NULL, 7, "node_vmstat_pgmajfault" },
		{ "host_psi_cpu_some_ratio", NULL, 0.25, NULL },
		{ "host_disk_ops_per_s", "vda", 40, NULL },
		{ "host_disk_wait_ms", "vda", 200 / 40.0, NULL },
		{ "host_disk_busy_ratio", "vda", 0.125, NULL },
		{ "host_net_rx_bytes_per_s", "eth0", 3000, NULL },
		{ "host_net_rx_bytes_per_s", "lo", 0, NULL },
		{ "host_net_errors_per_s", "eth0", 3,
		        "node_network_receive_errs_total + node_network_transmit_errs_total" },
	};
	struct arena run = { 0 };
	struct signal_page page = window_of(pages, 2, &run);
	CHECK_STR(page.software, "node_exporter");
	CHECK(!page.reason);
	check_all(&page, wants, ARRAY_LEN(wants));
	CHECK(!find(&page, "host_swap_bytes", NULL));
	CHECK(!find(&page, "server_requests_running", NULL));
	arena_release(&run);
}

/* Device 1 is told once for each of two containers; device 2 is in two parts. */
static void devices_are_told_by_dcgm_exporter(void)
{
#define OF(n, more) "{gpu=\"" n "\",UUID=\"GPU-" n "\",device=\"nvidia" n "\"" more "}"
	static const char
	        *const
	                pages
	                        [] = {
		                        "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
		                        "DCGM_FI_DEV_GPU_UTIL" OF("0",
		                                "") " 90\n"
		                                    "DCGM_FI_DEV_GPU_UTIL" OF("1",
		                                            ",pod=\"a\"") " 40\n"
		                                                          "DCGM_FI_DEV_GPU_UTIL" OF(
		                                                                  "1", ",pod=\"b\"") " 40\n"
		                                                                                     "DCGM_FI_DEV_FB_USED" OF("0", "") " 1024\n"
		                                                                                                                       "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" OF("0", "") " 5000000\n"
		                                                                                                                                                                          "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" OF("1", ",pod=\"a\"") " 1000\n"
		                                                                                                                                                                                                                                       "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" OF("1", ",pod=\"b\"") " 1000\n"
		                                                                                                                                                                                                                                                                                                    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" OF(
		                                                                                                                                                                                                                                                                                                            "0",
		                                                                                                                                                                                                                                                                                                            "") " 36\n"
		                                                                                                                                                                                                                                                                                                                "DCGM_FI_PROF_SM_ACTIVE" OF(
		                                                                                                                                                                                                                                                                                                                        "2",
		                                                                                                                                                                                                                                                                                                                        ",GPU_I_PROFILE=\"1g\",GPU_I_ID=\"7\"") " 0.25\n"
		                                                                                                                                                                                                                                                                                                                                                                "DCGM_FI_PROF_SM_ACTIVE" OF("2",
		                                                                                                                                                                                                                                                                                                                                                                        ",GPU_I_PROFILE=\"2g\",GPU_I_ID=\"9\"") " 0.75\n",
		                        "DCGM_FI_DEV_GPU_UTIL" OF(
		                                "0", "") " 100\n"
		                                         "DCGM_FI_DEV_GPU_UTIL" OF("1",
		                                                 ",pod=\"a\"") " 40\n"
		                                                               "DCGM_FI_DEV_"
		                                                               "GPU_UTIL" OF("1", ",pod=\"b\"") " 40\n"
		                                                                                                "DCGM_FI_DEV_FB_USED" OF(
		                                                                                                        "0",
		                                                                                                        "") " 1024\n"
		                                                                                                            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" OF(
		                                                                                                                    "0",
		                                                                                                                    "") " 5350000\n"
		                                                                                                                        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" OF("1", ",pod=\"a\"") " 101000\n"
		                                                                                                                                                                                     "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" OF("1", ",pod=\"b\"") " 101000\n"
		                                                                                                                                                                                                                                                  "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" OF(
		                                                                                                                                                                                                                                                          "0",
		                                                                                                                                                                                                                                                          "") " 4\n"
		                                                                                                                                                                                                                                                              "DCGM_FI_PROF_SM_ACTIVE" OF("2", ",GPU_I_PROFILE=\"1g\",GPU_I_ID=\"7\"") " 0.25\n"
		                                                                                                                                                                                                                                                                                                                                       "DCGM_FI_PROF_SM_ACTIVE" OF(
		                                                                                                                                                                                                                                                                                                                                               "2",
		                                                                                                                                                                                                                                                                                                                                               ",GPU_I_PROFILE=\"2g\",GPU_I_ID=\"9\"") " 0.75\n",
	                        };
#undef OF
	static const struct want wants[] = {
		{ "gpu_util_ratio", "0", 0.95, "DCGM_FI_DEV_GPU_UTIL" },
		{ "gpu_util_ratio", "1", 0.4, NULL },
		{ "gpu_memory_used_bytes", "0", 1073741824, NULL },
		{ "gpu_energy_w", "0", 350, NULL },
		{ "gpu_energy_w", "1", 100, NULL },
		/* 36 is power cap and software thermal, 4 is power cap alone */
		{ "gpu_throttle_power_cap_ratio", "0", 1, NULL },
		{ "gpu_throttle_sw_thermal_ratio", "0", 0.5, NULL },
		{ "gpu_throttle_hw_slowdown_ratio", "0", 0, NULL },
		{ "gpu_sm_active_ratio", "2/mig7", 0.25, NULL },
		{ "gpu_sm_active_ratio", "2/mig9", 0.75, NULL },
	};
	struct arena run = { 0 };
	struct signal_page page = window_of(pages, 2, &run);
	CHECK_STR(page.software, "dcgm-exporter");
	check_all(&page, wants, ARRAY_LEN(wants));
	arena_release(&run);
}

static void devices_are_told_by_amds_exporter_whatever_its_prefix(void)
{
	static const char *const before[] = {
		"gpu_gfx_activity{gpu_id=\"3\"} 50\ngpu_used_vram{gpu_id=\"3\"} 2048\n"
		"gpu_energy_consumed{gpu_id=\"3\"} 1000000\n"
		"gpu_clock{gpu_id=\"3\",clock_type=\"GPU_CLOCK_TYPE_SYSTEM\"} 2100\n"
		"gpu_clock{gpu_id=\"3\",clock_type=\"GPU_CLOCK_TYPE_MEMORY\"} 1300\n",
		"GPU_GFX_ACTIVITY{gpu_id=\"3\"} 50\nGPU_USED_VRAM{gpu_id=\"3\"} 2048\n"
		"GPU_ENERGY_CONSUMED{gpu_id=\"3\"} 1000000\n"
		"GPU_CLOCK{gpu_id=\"3\",clock_type=\"GPU_CLOCK_TYPE_SYSTEM\"} 2100\n"
		"GPU_CLOCK{gpu_id=\"3\",clock_type=\"GPU_CLOCK_TYPE_MEMORY\"} 1300\n",
		"amd_gpu_gfx_activity{gpu_id=\"3\"} 50\namd_gpu_used_vram{gpu_id=\"3\"} 2048\n"
		"amd_gpu_energy_consumed{gpu_id=\"3\"} 1000000\n"
		"amd_gpu_clock{gpu_id=\"3\",clock_type=\"GPU_CLOCK_TYPE_SYSTEM\"} 2100\n"
		"amd_gpu_clock{gpu_id=\"3\",clock_type=\"GPU_CLOCK_TYPE_MEMORY\"} 1300\n",
	};
	static const char *const after[] = {
		"gpu_gfx_activity{gpu_id=\"3\"} 50\ngpu_energy_consumed{gpu_id=\"3\"} 401000000\n",
		"GPU_GFX_ACTIVITY{gpu_id=\"3\"} 50\nGPU_ENERGY_CONSUMED{gpu_id=\"3\"} 401000000\n",
		("amd_gpu_gfx_activity{gpu_id=\"3\"} 50\n"
		 "amd_gpu_energy_consumed{gpu_id=\"3\"} 401000000\n"),
	};
	static const struct want wants[] = {
		{ "gpu_util_ratio", "3", 0.5, "gpu_gfx_activity" },
		{ "gpu_memory_used_bytes", "3", 2048.0 * 1048576, NULL },
		{ "gpu_energy_w", "3", 400, NULL },
		{ "gpu_graphics_clock_mhz", "3", 2100, NULL },
		{ "gpu_memory_clock_mhz", "3", 1300, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		struct arena run = { 0 };
		const char *pages[] = { before[i], after[i] };
		struct signal_page page = window_of(pages, 2, &run);
		CHECK_STR(page.software, "amd-device-metrics-exporter");
		check_all(&page, wants, ARRAY_LEN(wants));
		/* what went from the page has its values, and says that it went */
		const struct signal *s = find(&page, "gpu_memory_used_bytes", "3");
		CHECK(s && isnan(s->last) && strstr(s->reason, "any more"));
		arena_release(&run);
	}
}

static void a_service_and_its_host_may_share_a_page(void)
{
	static const char *const pages[] = {
		"vllm:num_requests_running 3\nnode_load1 2\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 50\n"
		"tgi_queue_size 9\nvllm:num_requests_waiting 1\n",
		"vllm:num_requests_running 5\nnode_load1 2\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60\n"
		"tgi_queue_size 9\nvllm:num_requests_waiting 1\n",
	};
	static const struct want wants[] = {
		{ "server_requests_running", NULL, 4, "vllm:num_requests_running" },
		{ "server_requests_waiting", NULL, 1, "vllm:num_requests_waiting" },
		{ "host_load1", NULL, 2, "node_load1" },
		{ "gpu_temperature_c", "0", 55, "DCGM_FI_DEV_GPU_TEMP" },
	};
	struct arena run = { 0 };
	struct signal_page page = window_of(pages, 2, &run);
	CHECK_STR(page.software, "vllm, node_exporter, dcgm-exporter");
	check_all(&page, wants, ARRAY_LEN(wants));
	arena_release(&run);
}

static void numbers_and_labels_that_are_none_say_nothing(void)
{
	static const char *const pages[] = {
		"node_load1 NaN\nnode_load5 +Inf\nnode_load15 1\nnode_forks_total -5\n"
		"node_intr_total 1e300\nDCGM_FI_DEV_GPU_UTIL 50\nDCGM_FI_DEV_GPU_UTIL{gpu=\"\"} "
		"50\n"
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"\x1b[31m\"} 50\n"
		"node_context_switches_total 100\nnode_context_switches_total 100\n"
		"node_load15{ 7\nnode_load15 1 2 3\n",
		"node_load1 NaN\nnode_load5 -Inf\nnode_load15 1\nnode_forks_total 5\n"
		"node_intr_total NaN\nnode_context_switches_total 90\n",
	};
	struct arena run = { 0 };
	struct signal_page page = window_of(pages, 2, &run);
	CHECK_STR(page.software, "node_exporter");
	CHECK(!find(&page, "host_load1", NULL) && !find(&page, "host_load5", NULL));
	CHECK_NEAR(find(&page, "host_load15", NULL)->mean, 1, 0);
	CHECK(!find(&page, "host_interrupts_per_s", NULL));
	CHECK_INT(find(&page, "host_forks_per_s", NULL)->state, SIGNAL_NOT_COUNTED);
	/* a line that stands twice adds up, and the counter then went back */
	CHECK_INT(find(&page, "host_context_switches_per_s", NULL)->state, SIGNAL_NOT_COUNTED);
	for (size_t i = 0; i < page.n_signals; i++)
		CHECK(strncmp(page.signals[i].name, "gpu_", 4) != 0);
	arena_release(&run);
}

static void no_metric_feeds_more_rows_than_there_is_room_for(void)
{
	struct exporter_match matches[EXPORTER_MATCHES_MAX];
	for (size_t i = 0; i < exporter_n_rows; i++)
		for (int k = 0; k < EXPORTER_FEEDS_MAX && exporter_rows[i].feeds[k].metric; k++)
			CHECK(exporter_lookup(str_of(exporter_rows[i].feeds[k].metric), matches) >
			        0);
	CHECK_INT(exporter_lookup(STR("node_"), matches), 0);
	CHECK_INT(exporter_lookup(STR(""), matches), 0);
}

int main(void)
{
	TAP_RUN(a_host_is_told_by_node_exporter);
	TAP_RUN(devices_are_told_by_dcgm_exporter);
	TAP_RUN(devices_are_told_by_amds_exporter_whatever_its_prefix);
	TAP_RUN(a_service_and_its_host_may_share_a_page);
	TAP_RUN(numbers_and_labels_that_are_none_say_nothing);
	TAP_RUN(no_metric_feeds_more_rows_than_there_is_room_for);
	return tap_done();
}
