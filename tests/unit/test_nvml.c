#include "device_watch.h"

#include <stdlib.h>

/* What a stand-in lets a test do. */
static void (*scene)(const char *name);
static int (*set)(unsigned device, const char *key, double value);
static void (*hang)(int hangs);
static int64_t (*rounds)(void);

static void begin(const char *library, const char *name)
{
	void *standin = standin_load("VENTURI_NVML", library);
	standin_function(standin, "standin_nvml_scene", &scene);
	standin_function(standin, "standin_nvml_set", &set);
	standin_function(standin, "standin_nvml_hang", &hang);
	standin_function(standin, "standin_nvml_rounds", &rounds);
	scene(name);
}

/* a + b times the device's number: as the stand-in has it, in our units */
static const struct {
	const char *name;
	double a, b;
} eight[] = {
	{ "gpu_util_ratio", 0.05, 0.1 },
	{ "gpu_memory_util_ratio", 0, 0.1 },
	{ "gpu_memory_used_bytes", 1e9, 1e9 },
	{ "gpu_memory_reserved_bytes", 5e8, 0 },
	{ "gpu_memory_total_bytes", 8e10, 0 },
	{ "gpu_memory_free_bytes", 7.85e10, -1e9 },
	{ "gpu_sm_clock_mhz", 1500, 1 },
	{ "gpu_graphics_clock_mhz", 1400, 1 },
	{ "gpu_memory_clock_mhz", 2600, 1 },
	{ "gpu_sm_clock_max_mhz", 1980, 0 },
	{ "gpu_memory_clock_max_mhz", 2619, 0 },
	{ "gpu_power_w", 300, 1 },
	{ "gpu_power_limit_w", 700, 0 },
	{ "gpu_power_limit_default_w", 700, 0 },
	{ "gpu_temperature_c", 50, 1 },
	{ "gpu_memory_temperature_c", 60, 1 },
	{ "gpu_slowdown_temperature_c", 90, 0 },
	{ "gpu_fan_ratio", 0.3, 0 },
	{ "gpu_pcie_generation", 5, 0 },
	{ "gpu_pcie_generation_max", 5, 0 },
	{ "gpu_pcie_width", 16, 0 },
	{ "gpu_pcie_width_max", 16, 0 },
	{ "gpu_links", 18, 0 },
	{ "gpu_links_active", 18, 0 },
	{ "gpu_encoder_util_ratio", 0.12, 0 },
	{ "gpu_decoder_util_ratio", 0.34, 0 },
	{ "gpu_throttle_power_cap_ratio", 0, 0 },
	{ "gpu_ecc_corrected_ever", 0, 0 },
	{ "gpu_pages_retired", 0, 0 },
	{ "gpu_rows_remapped", 1, 0 },
	{ "gpu_processes", 0, 0 },
};

static void eight_devices_tell_their_own_numbers(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "full");
	watch_open(&w, "", NULL, 0);
	for (int d = 0; d < 8; d++) {
		char instance[8], text[32];
		snprintf(instance, sizeof(instance), "%d", d);
		for (size_t i = 0; i < ARRAY_LEN(eight); i++)
			watch_value(&w, eight[i].name, instance, eight[i].a + eight[i].b * d);
		snprintf(text, sizeof(text), "GPU-%08d", d);
		watch_text(&w, "gpu_uuid", instance, text);
		snprintf(text, sizeof(text), "0000:%02x:00.0", 0x17 + d);
		watch_text(&w, "gpu_pci_address", instance, text);
	}
	watch_text(&w, "gpu_name", "7", "Stand-in 80GB");
	watch_text(&w, "gpu_throttle_reasons", "0", "none");
	watch_text(&w, "gpu_persistence_mode", "0", "on");
	watch_text(&w, "gpu_compute_mode", "0", "shared");
	watch_text(&w, "gpu_mig_mode", "0", "off");
	watch_text(&w, "gpu_driver", "nvml", "driver 999.88.77, CUDA 12.4");
	watch_reason(&w, "gpu_driver", "amd", "no AMD driver library: /nowhere/libamd_smi.so");
	watch_reason(&w, "gpu_other_processes", "0", "no process is watched");
	const struct signal *s = watch_value(&w, "gpu_power_w", "0", 300);
	CHECK_STR(s->source, "nvmlDeviceGetPowerUsage");
	CHECK(watch_find(&w, "gpu_util_ratio", "8") == NULL);
	watch_close(&w);
}

static void counters_are_differences_and_shares(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "full");
	set(0, "energy", 5e6);
	set(0, "replays", 10);
	set(0, "corrected", 1000);
	set(0, "held_power", 1e9);
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_pcie_width", "0", 16);
	watch_value(&w, "gpu_links", "0", 18);
	watch_value(&w, "gpu_pages_retired", "0", 0);
	set(0, "energy", 5.5e6);
	set(0, "replays", 17);
	set(0, "held_power", 1.25e9);
	int64_t until_ns = clock_now_ns() + 1500 * NS_PER_MS;
	while (clock_now_ns() < until_ns)
		watch_step(&w);
	CHECK_NEAR(watch_find(&w, "gpu_energy_w", "0")->delta, 500, 1e-6);
	CHECK_NEAR(watch_find(&w, "gpu_pcie_replays_per_s", "0")->delta, 7, 1e-9);
	CHECK_NEAR(watch_find(&w, "gpu_held_power_ratio", "0")->delta, 0.25, 1e-9);
	CHECK_NEAR(watch_find(&w, "gpu_held_thermal_ratio", "0")->delta, 0, 1e-9);
	watch_close(&w);
}

static void the_counters_inside_are_differences_of_two_samples(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "full");
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_sm_active_ratio", "1", 0);
	set(1, "gpm_sm", 60);
	set(1, "gpm_tensor", 20);
	set(1, "gpm_dram", 35);
	set(1, "gpm_pcie_tx", 3);
	set(1, "gpm_link_tx", 7);
	watch_value(&w, "gpu_sm_active_ratio", "1", 0.6);
	CHECK_NEAR(watch_find(&w, "gpu_tensor_active_ratio", "1")->max, 0.2, 1e-12);
	CHECK_NEAR(watch_find(&w, "gpu_dram_active_ratio", "1")->max, 0.35, 1e-12);
	CHECK_NEAR(watch_find(&w, "gpu_pcie_tx_bytes_per_s", "1")->max, 3 * 1048576.0, 1e-6);
	CHECK_NEAR(watch_find(&w, "gpu_link_tx_bytes_per_s", "1")->max, 7 * 1048576.0, 1e-6);
	const struct signal *s = watch_reason(&w, "gpu_fp16_active_ratio", "1", "Not Supported");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	watch_close(&w);
}

static void what_a_smaller_card_has_not_is_said_by_name(void)
{
	static const struct {
		const char *name, *words;
	} missing[] = {
		{ "gpu_ecc_corrected_per_s", "nvmlDeviceGetTotalEccErrors says: Not Supported" },
		{ "gpu_ecc_uncorrected_ever", "nvmlDeviceGetTotalEccErrors says: Not Supported" },
		{ "gpu_sm_active_ratio", "from Hopper on" },
		{ "gpu_memory_temperature_c", "nvmlDeviceGetFieldValues says: Not Supported" },
		{ "gpu_links", "Not Supported" },
		{ "gpu_graphics_clock_set_mhz", "nvmlDeviceGetApplicationsClock" },
	};
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "consumer");
	watch_open(&w, "", NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		const struct signal *s = watch_reason(&w, missing[i].name, "0", missing[i].words);
		CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
		CHECK(isnan(s->last) && isnan(s->mean));
	}
	/* KB/s of 20 ms, where nothing better is told */
	const struct signal *s = watch_value(&w, "gpu_pcie_tx_bytes_per_s", "0", 1000 * 1024.0);
	CHECK_STR(s->source, "nvmlDeviceGetPcieThroughput");
	watch_value(&w, "gpu_pcie_rx_bytes_per_s", "0", 2000 * 1024.0);
	watch_value(&w, "gpu_util_ratio", "0", 0.05);
	watch_close(&w);
}

static void an_old_driver_tells_what_it_can(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml_old", "full");
	set(0, "reasons", 0x4 | 0x20);
	set(0, "user0", 4242);
	set(0, "user_bytes0", 1e9);
	set(0, "user1", 4243);
	set(0, "user_bytes1", 2e9);
	watch_open(&w, "", NULL, 0);
	/* The first version counts what is reserved as used. */
	watch_value(&w, "gpu_memory_used_bytes", "0", 1.5e9);
	watch_value(&w, "gpu_memory_free_bytes", "0", 7.85e10);
	watch_text(&w, "gpu_throttle_reasons", "0", "power_cap,sw_thermal");
	watch_value(&w, "gpu_processes", "0", 2);
	watch_reason(&w, "gpu_memory_reserved_bytes", "0",
	        "too old: it has no nvmlDeviceGetMemoryInfo_v2");
	watch_reason(&w, "gpu_energy_w", "0", "it has no nvmlDeviceGetTotalEnergyConsumption");
	watch_reason(&w, "gpu_sm_active_ratio", "0", "it has no nvmlGpmQueryDeviceSupport");
	watch_reason(&w, "gpu_rows_pending", "0", "it has no nvmlDeviceGetRemappedRows");
	watch_reason(&w, "gpu_other_util_ratio", "0", "no nvmlDeviceGetProcessUtilization");
	watch_close(&w);
}

static void a_refusal_and_a_failure_of_the_moment_are_told_apart(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "full");
	set(0, "code_users", 4);
	set(0, "code_fan", 10);
	watch_open(&w, "", NULL, 0);
	const struct signal *s = watch_reason(&w, "gpu_processes", "0", "Insufficient Permissions");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	s = watch_reason(&w, "gpu_fan_ratio", "0", "nvmlDeviceGetFanSpeed says: Unknown Error");
	CHECK_INT(s->state, SIGNAL_NOT_COUNTED);
	set(0, "code_fan", 0);
	watch_value(&w, "gpu_fan_ratio", "0", 0.3);
	watch_close(&w);
}

static void a_device_may_be_lost_and_come_back(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "full");
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_util_ratio", "2", 0.25);
	watch_value(&w, "gpu_temperature_c", "2", 52);
	set(2, "code", 15);
	set(2, "util", 99);
	set(2, "energy", 7e6);
	const struct signal *s = watch_reason(&w, "gpu_util_ratio", "2", "GPU is lost");
	CHECK(isnan(s->last));
	watch_reason(&w, "gpu_temperature_c", "2", "device lost");
	watch_value(&w, "gpu_util_ratio", "3", 0.35);
	set(2, "code", 0);
	watch_value(&w, "gpu_util_ratio", "2", 0.99);
	watch_value(&w, "gpu_temperature_c", "2", 52);
	/* The counter of the time before is not compared with that of the time after. */
	s = watch_find(&w, "gpu_energy_w", "2");
	CHECK(s && !(s->delta > 0));
	watch_close(&w);
}

static void parts_of_a_device_are_devices(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "mig");
	watch_open(&w, "", NULL, 0);
	watch_text(&w, "gpu_mig_mode", "0", "on");
	watch_value(&w, "gpu_memory_used_bytes", "0/mig0", 1e9);
	watch_value(&w, "gpu_memory_used_bytes", "0/mig2", 3e9);
	watch_value(&w, "gpu_memory_total_bytes", "0/mig2", 1e10);
	watch_text(&w, "gpu_uuid", "0/mig2", "MIG-00000002");
	watch_text(&w, "gpu_name", "0/mig0", "Stand-in MIG 1g.10gb");
	CHECK(watch_find(&w, "gpu_memory_used_bytes", "0/mig1") == NULL);
	const struct signal *s = watch_reason(&w, "gpu_util_ratio", "0", "Not Supported");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	watch_reason(&w, "gpu_util_ratio", "0/mig0", "Not Supported");
	watch_value(&w, "gpu_power_w", "0", 300);
	CHECK(watch_find(&w, "gpu_power_w", "0/mig0") == NULL);
	watch_close(&w);
}

static void a_power_cap_is_a_share_of_the_samples(void)
{
	enum { EACH = 10 };
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "full");
	set(0, "limit", 300000);
	watch_open(&w, "", NULL, 0);
	for (int i = 0; i < 2 * EACH; i++) {
		int64_t seen = rounds();
		set(0, "reasons", i < EACH ? 0 : 0x4 | 0x8 | 0x80);
		while (rounds() == seen)
			watch_step(&w);
	}
	watch_text(&w, "gpu_throttle_reasons", "0", "power_cap,hw_slowdown,power_brake");
	watch_value(&w, "gpu_power_limit_w", "0", 300);
	const struct signal *s = watch_find(&w, "gpu_throttle_power_cap_ratio", "0");
	double capped = s->mean * (double)s->n;
	CHECK_NEAR(capped, round(capped), 1e-6);
	CHECK(s->n >= 2 * EACH - 2 && s->mean > 0.3 && s->mean < 0.8);
	CHECK_NEAR(watch_find(&w, "gpu_throttle_power_brake_ratio", "0")->mean, s->mean, 1e-9);
	CHECK_NEAR(watch_find(&w, "gpu_throttle_idle_ratio", "0")->max, 0, 0);
	watch_close(&w);
}

static void a_degraded_link_shows_beside_what_it_could_be(void)
{
	struct device_watch_test w = { 0 };
	begin("standin_nvml", "full");
	set(0, "generation", 1);
	set(0, "width", 4);
	set(0, "links_down", 2);
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_pcie_generation", "0", 1);
	watch_value(&w, "gpu_pcie_width", "0", 4);
	watch_value(&w, "gpu_pcie_generation_max", "0", 5);
	watch_value(&w, "gpu_links_active", "0", 16);
	/* It was idle: under load it is what it should be. */
	set(0, "generation", 5);
	const struct signal *s = watch_value(&w, "gpu_pcie_generation", "0", 5);
	CHECK_NEAR(s->min, 1, 0);
	watch_close(&w);
}

static void strangers_on_a_device_are_counted_apart(void)
{
	char root[] = "/tmp/venturi-nvml-XXXXXX";
	const int pids[] = { 100 };
	struct device_watch_test w = { 0 };
	if (!CHECK(mkdtemp(root) != NULL))
		return;
	tree_write(root, "proc/100/stat", "100 (engine (main)) S 1 100 100 0 -1\n");
	tree_write(root, "proc/101/stat", "101 (a ) b) S 100 100 100 0 -1\n");
	tree_write(root, "proc/102/stat", "102 (worker) S 101 100 100 0 -1\n");
	tree_write(root, "proc/200/stat", "200 (stranger) S 1 200 200 0 -1\n");
	tree_write(root, "proc/1/stat", "1 (init) S 0 1 1 0 -1\n");
	tree_write(root, "sys/bus/pci/devices/0000:17:00.0/numa_node", "1\n");
	tree_write(root, "sys/bus/pci/devices/0000:17:00.0/local_cpulist", "32-63,96-127\n");
	tree_write(root, "sys/bus/pci/devices/0000:18:00.0/numa_node", "-1\n");
	begin("standin_nvml", "full");
	const struct {
		const char *pid, *bytes, *util;
		double number, gb, percent;
	} users[] = { { "user0", "user_bytes0", "user_util0", 100, 1, 0 },
		{ "user1", "user_bytes1", "user_util1", 102, 2, 40 },
		{ "user2", "user_bytes2", "user_util2", 200, 4, 50 },
		{ "user3", "user_bytes3", "user_util3", 999, 8, 10 } };
	for (size_t i = 0; i < ARRAY_LEN(users); i++) {
		set(0, users[i].pid, users[i].number);
		set(0, users[i].bytes, users[i].gb * 1e9);
		set(0, users[i].util, users[i].percent);
	}
	set(1, "user0", 999); /* nobody that /proc knows */
	set(2, "user0", 100);
	set(2, "user_bytes0", -1);
	watch_open(&w, root, pids, 1);
	watch_value(&w, "gpu_processes", "0", 4);
	watch_value(&w, "gpu_own_processes", "0", 2);
	watch_value(&w, "gpu_other_processes", "0", 2);
	watch_value(&w, "gpu_own_memory_bytes", "0", 3e9);
	watch_value(&w, "gpu_other_memory_bytes", "0", 12e9);
	watch_value(&w, "gpu_own_util_ratio", "0", 0.4);
	watch_value(&w, "gpu_other_util_ratio", "0", 0.6);
	watch_value(&w, "gpu_processes", "1", 1);
	const struct signal *s = watch_reason(&w, "gpu_other_processes", "1", "another container");
	CHECK_INT(s->state, SIGNAL_NOT_COUNTED);
	watch_value(&w, "gpu_own_processes", "2", 1);
	s = watch_reason(&w, "gpu_own_memory_bytes", "2", "does not tell the memory");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	watch_value(&w, "gpu_other_processes", "3", 0);
	watch_value(&w, "gpu_numa_node", "0", 1);
	watch_text(&w, "gpu_near_cpus", "0", "32-63,96-127");
	watch_reason(&w, "gpu_numa_node", "1", "does not say which node");
	watch_reason(&w, "gpu_numa_node", "2", "cannot read /sys/bus/pci/devices/0000:19:00.0");
	watch_close(&w);
	char command[64];
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	CHECK_INT(system(command), 0);
}

static void a_driver_that_hangs_does_not_hold_up_the_watch(void)
{
	struct device_watch_test w = { 0 };
	int64_t longest_ns = 0, until_ns;
	begin("standin_nvml", "full");
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_util_ratio", "0", 0.05);
	hang(1);
	until_ns = clock_now_ns() + 2300 * NS_PER_MS;
	while (clock_now_ns() < until_ns) {
		int64_t begin_ns = clock_now_ns();
		sampler_step(w.sampler, begin_ns);
		int64_t took_ns = clock_now_ns() - begin_ns;
		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
		usleep(20000);
	}
	CHECK(longest_ns < 100 * NS_PER_MS);
	watch_reason(&w, "gpu_util_ratio", "0", "has not answered for 2 s");
	CHECK(isnan(watch_find(&w, "gpu_memory_total_bytes", "0")->last));
	hang(0);
	watch_value(&w, "gpu_util_ratio", "0", 0.05);
	watch_value(&w, "gpu_memory_clock_max_mhz", "0", 2619);
	watch_close(&w);
}

static void without_a_library_or_a_device_every_signal_says_so(void)
{
	static const struct {
		const char *scene, *words;
	} cases[] = { { "none", "the NVIDIA driver has no device" },
		{ "unloaded", "nvmlInit_v2 says: Driver Not Loaded" },
		{ NULL, "no NVIDIA driver library: /nowhere/libnvidia-ml.so.1 cannot be loaded" } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct device_watch_test w = { 0 };
		begin("standin_nvml", cases[i].scene);
		if (!cases[i].scene)
			setenv("VENTURI_NVML", "/nowhere/libnvidia-ml.so.1", 1);
		watch_open(&w, "", NULL, 0);
		const struct signal *s = watch_reason(&w, "gpu_util_ratio", NULL, cases[i].words);
		CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
		CHECK(strstr(s->reason, "; no AMD driver library") != NULL);
		watch_close(&w);
	}
}

#if defined(__has_feature)
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

static void eight_devices_ten_times_a_second_cost_less_than_a_hundredth_of_a_core(void)
{
	struct device_watch_test w = { 0 };
	struct err err;
	begin("standin_nvml", "full");
	watch_open(&w, "", NULL, 0);
	CHECK(sampler_start(w.sampler, &err));
	clock_sleep_until(clock_now_ns() + 300 * NS_PER_MS);
	sampler_begins(w.sampler);
	clock_sleep_until(clock_now_ns() + 2500 * NS_PER_MS);
	sampler_ends(w.sampler);
	const struct signal *s = watch_find(&w, "watch_gpu_cpu_ratio", NULL);
	double cost = s->mean;
	s = watch_find(&w, "watch_cpu_ratio", NULL);
	printf("# of a core: %.2f %% asks the devices, %.2f %% the sampler\n", 100 * cost,
	        100 * s->mean);
	CHECK(cost + s->mean < (HAS_SANITIZER ? 0.2 : 0.01));
	s = watch_find(&w, "gpu_sm_clock_mhz", "7");
	CHECK(s->n >= 10);
	/* What is asked for every ten seconds is known in every window. */
	s = watch_find(&w, "gpu_sm_clock_max_mhz", "7");
	CHECK(s->n >= 1 && s->mean == 1980);
	watch_close(&w);
}

int main(void)
{
	TAP_RUN(eight_devices_tell_their_own_numbers);
	TAP_RUN(counters_are_differences_and_shares);
	TAP_RUN(the_counters_inside_are_differences_of_two_samples);
	TAP_RUN(what_a_smaller_card_has_not_is_said_by_name);
	TAP_RUN(an_old_driver_tells_what_it_can);
	TAP_RUN(a_refusal_and_a_failure_of_the_moment_are_told_apart);
	TAP_RUN(a_device_may_be_lost_and_come_back);
	TAP_RUN(parts_of_a_device_are_devices);
	TAP_RUN(a_power_cap_is_a_share_of_the_samples);
	TAP_RUN(a_degraded_link_shows_beside_what_it_could_be);
	TAP_RUN(strangers_on_a_device_are_counted_apart);
	TAP_RUN(a_driver_that_hangs_does_not_hold_up_the_watch);
	TAP_RUN(without_a_library_or_a_device_every_signal_says_so);
	TAP_RUN(eight_devices_ten_times_a_second_cost_less_than_a_hundredth_of_a_core);
	return tap_done();
}
