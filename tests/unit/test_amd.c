#include "device_watch.h"

#include <stdlib.h>

static void (*reset)(void);
static void (*set)(unsigned device, const char *key, double value);

static void begin(const char *variable, const char *library)
{
	void *standin = standin_load(variable, library);
	standin_function(standin, "standin_amd_reset", &reset);
	standin_function(standin, "standin_amd_set", &set);
	reset();
}

/* Both libraries, as they are now, as they were and as they will be. */
static const struct {
	const char *variable, *library, *driver, *uuid, *util_from;
	double power_1; /* of device 1 */
} libraries[] = {
	{ "VENTURI_AMDSMI", "standin_amdsmi", "AMD-SMI 24.6.3",
	        "00ff74a1-0000-1000-80ab-000000000001", "amdsmi_get_gpu_activity", 401 },
	{ "VENTURI_AMDSMI", "standin_amdsmi_new", "AMD-SMI 26.1.0",
	        "00ff74a1-0000-1000-80ab-000000000001", "amdsmi_get_gpu_activity", 401 },
	{ "VENTURI_ROCMSMI", "standin_rocmsmi", "ROCm-SMI 7.3.0", "0x00000000abcd0001",
	        "rsmi_dev_busy_percent_get", 401 },
	/* It has only a function for the mean, which is 7 W less. */
	{ "VENTURI_ROCMSMI", "standin_rocmsmi_old", "ROCm-SMI 5.3.0", "0x00000000abcd0001",
	        "rsmi_dev_busy_percent_get", 394 },
};

/* a + b times the device's number: as the stand-in has it, in our units */
static const struct {
	const char *name;
	double a, b;
} told[] = {
	{ "gpu_util_ratio", 0.40, 0.01 },
	{ "gpu_memory_util_ratio", 0.30, 0.01 },
	{ "gpu_memory_used_bytes", 1e10, 1e10 },
	{ "gpu_memory_total_bytes", 2e11, 0 },
	{ "gpu_memory_free_bytes", 1.9e11, -1e10 },
	{ "gpu_graphics_clock_mhz", 1300, 0 },
	{ "gpu_graphics_clock_max_mhz", 2100, 0 },
	{ "gpu_memory_clock_mhz", 900, 0 },
	{ "gpu_memory_clock_max_mhz", 1300, 0 },
	{ "gpu_power_limit_w", 750, 0 },
	{ "gpu_power_limit_default_w", 800, 0 },
	{ "gpu_temperature_c", 45, 1 },
	{ "gpu_hotspot_temperature_c", 60, 1 },
	{ "gpu_memory_temperature_c", 55, 1 },
	{ "gpu_slowdown_temperature_c", 110, 0 },
	{ "gpu_fan_ratio", 0.4, 0 }, /* 102 of 255 */
	{ "gpu_pcie_generation", 5, 0 },
	{ "gpu_pcie_generation_max", 5, 0 },
	{ "gpu_pcie_width", 16, 0 },
	{ "gpu_pcie_width_max", 16, 0 },
	{ "gpu_pages_retired", 3, 0 },
};

static void both_libraries_tell_the_same_in_all_their_layouts(void)
{
	for (size_t l = 0; l < ARRAY_LEN(libraries); l++) {
		struct device_watch_test w = { 0 };
		begin(libraries[l].variable, libraries[l].library);
		watch_open(&w, "", NULL, 0);
		for (int d = 0; d < 2; d++) {
			const char *instance = d == 0 ? "0" : "1";
			for (size_t i = 0; i < ARRAY_LEN(told); i++)
				watch_value(&w, told[i].name, instance, told[i].a + told[i].b * d);
		}
		watch_value(&w, "gpu_power_w", "1", libraries[l].power_1);
		watch_text(&w, "gpu_name", "1", "Stand-in Instinct 1");
		watch_text(&w, "gpu_uuid", "1", libraries[l].uuid);
		watch_text(&w, "gpu_pci_address", "1", "0000:c2:00.0");
		watch_text(&w, "gpu_driver", "amd", libraries[l].driver);
		watch_reason(&w, "gpu_driver", "nvml", "no NVIDIA driver library");
		const struct signal *s = watch_find(&w, "gpu_util_ratio", "1");
		CHECK_STR(s->source, libraries[l].util_from);
		s = watch_reason(&w, "gpu_sm_active_ratio", "0", "do not tell it");
		CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
		watch_close(&w);
	}
}

static void counters_are_differences(void)
{
	struct device_watch_test w = { 0 };
	begin("VENTURI_ROCMSMI", "standin_rocmsmi");
	set(0, "energy", 1e9);
	set(0, "replays", 5);
	set(0, "corrected", 100);
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_pcie_width", "0", 16);
	watch_value(&w, "gpu_pages_retired", "0", 3);
	set(0, "energy", 1.01e9);
	set(0, "replays", 12);
	int64_t until_ns = clock_now_ns() + 1500 * NS_PER_MS;
	while (clock_now_ns() < until_ns)
		watch_step(&w);
	/* 1e7 times 15.3 uJ; the counter is handed on in mJ */
	CHECK_NEAR(watch_find(&w, "gpu_energy_w", "0")->delta, 153, 0.01);
	CHECK_NEAR(watch_find(&w, "gpu_pcie_replays_per_s", "0")->delta, 7, 1e-9);
	watch_close(&w);
}

static void a_slow_link_and_a_low_clock_show_beside_their_highest(void)
{
	struct device_watch_test w = { 0 };
	begin("VENTURI_AMDSMI", "standin_amdsmi");
	set(0, "link", 1);
	set(0, "clock", 0);
	set(1, "link", 0);
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_pcie_generation", "0", 3);
	watch_value(&w, "gpu_pcie_width", "0", 8);
	watch_value(&w, "gpu_pcie_generation_max", "0", 5);
	watch_value(&w, "gpu_graphics_clock_mhz", "0", 500);
	watch_value(&w, "gpu_pcie_generation", "1", 1);
	watch_value(&w, "gpu_pcie_width", "1", 1);
	watch_close(&w);
}

static void what_is_unknown_or_refused_is_no_number(void)
{
	struct device_watch_test w = { 0 };
	begin("VENTURI_AMDSMI", "standin_amdsmi");
	set(0, "util", -1);
	set(0, "code_fan", 10);
	set(1, "code_fan", 2);
	watch_open(&w, "", NULL, 0);
	const struct signal *s =
	        watch_reason(&w, "gpu_util_ratio", "0", "the device does not tell it");
	CHECK_INT(s->state, SIGNAL_NOT_SUPPORTED);
	watch_reason(&w, "gpu_fan_ratio", "0", "amdsmi_get_gpu_fan_speed says: no permission");
	watch_reason(&w, "gpu_fan_ratio", "1", "feature not supported");
	watch_value(&w, "gpu_memory_util_ratio", "0", 0.3);
	watch_close(&w);
}

static void a_device_may_be_lost_and_come_back(void)
{
	struct device_watch_test w = { 0 };
	begin("VENTURI_ROCMSMI", "standin_rocmsmi");
	watch_open(&w, "", NULL, 0);
	watch_value(&w, "gpu_util_ratio", "1", 0.41);
	watch_value(&w, "gpu_temperature_c", "1", 46);
	set(1, "code", 3);
	set(1, "util", 77);
	watch_reason(&w, "gpu_util_ratio", "1", "device lost");
	watch_reason(&w, "gpu_temperature_c", "1", "device lost");
	watch_value(&w, "gpu_util_ratio", "0", 0.40);
	set(1, "code", 0);
	watch_value(&w, "gpu_util_ratio", "1", 0.77);
	watch_close(&w);
}

static void write_bytes(const char *root, const char *path, const void *bytes, size_t n)
{
	char full[4096];
	tree_write(root, path, "");
	snprintf(full, sizeof(full), "%s/%s", root, path);
	FILE *f = fopen(full, "we");
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		abort();
}

static void put_u64(unsigned char *to, size_t offset, uint64_t value)
{
	memcpy(to + offset, &value, sizeof(value));
}

static void the_kernel_tells_users_throttling_and_links(void)
{
	char root[] = "/tmp/venturi-amd-XXXXXX", command[64];
	const int pids[] = { 100 };
	/* size, format 1, content 3; the status in the last 8 of 120 bytes */
	unsigned char old[120] = { 120, 0, 1, 3 }, new[288] = { 288 & 0xff, 1, 1, 4 };
	struct device_watch_test w = { 0 };
	if (!CHECK(mkdtemp(root) != NULL))
		return;
	tree_write(root, "proc/100/stat", "100 (engine) S 1 100 100 0 -1\n");
	tree_write(root, "proc/200/stat", "200 (stranger) S 1 200 200 0 -1\n");
	tree_write(root, "proc/1/stat", "1 (init) S 0 1 1 0 -1\n");
	tree_write(root, "sys/class/kfd/kfd/topology/nodes/0/properties",
	        "cpu_cores_count 64\nlocation_id 0\ndomain 0\n");
	tree_write(root, "sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
	tree_write(root, "sys/class/kfd/kfd/topology/nodes/1/properties",
	        "cpu_cores_count 0\nlocation_id 49408\ndomain 0\n"); /* 0xc100 */
	tree_write(root, "sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51110\n");
	tree_write(root, "sys/class/kfd/kfd/proc/100/vram_51110", "5000000000\n");
	tree_write(root, "sys/class/kfd/kfd/proc/200/vram_51110", "7000000000\n");
	tree_write(root, "sys/class/kfd/kfd/proc/201/vram_51110", "0\n");
	put_u64(old, 112, UINT64_C(1) << 0 | UINT64_C(1) << 36 | UINT64_C(1) << 47);
	write_bytes(root, "sys/bus/pci/devices/0000:c1:00.0/gpu_metrics", old, sizeof(old));
	for (int i = 0; i < 8; i++) {
		put_u64(new, 104 + 8 * (size_t)i, i < 7 ? 1000 : UINT64_MAX);
		put_u64(new, 168 + 8 * (size_t)i, i < 7 ? 2000 : UINT64_MAX);
	}
	write_bytes(root, "sys/bus/pci/devices/0000:c2:00.0/gpu_metrics", new, sizeof(new));
	begin("VENTURI_AMDSMI", "standin_amdsmi");
	watch_open(&w, root, pids, 1);
	watch_value(&w, "gpu_processes", "0", 2);
	watch_value(&w, "gpu_own_processes", "0", 1);
	watch_value(&w, "gpu_own_memory_bytes", "0", 5e9);
	watch_value(&w, "gpu_other_memory_bytes", "0", 7e9);
	watch_reason(&w, "gpu_processes", "1", "/sys/class/kfd/kfd/topology");
	watch_text(&w, "gpu_throttle_reasons", "0", "power_cap,sw_thermal,hw_thermal");
	watch_value(&w, "gpu_throttle_sw_thermal_ratio", "0", 1);
	watch_reason(&w, "gpu_throttle_power_cap_ratio", "1", "version 1.4 of gpu_metrics");
	watch_reason(&w, "gpu_link_tx_bytes_per_s", "0", "version 1.3 of gpu_metrics");
	/* 7 links, 1000 KiB more each: 7168000 bytes in a bit more than the second between looks */
	for (int i = 0; i < 7; i++)
		put_u64(new, 168 + 8 * (size_t)i, 3000);
	write_bytes(root, "sys/bus/pci/devices/0000:c2:00.0/gpu_metrics", new, sizeof(new));
	const struct signal *s = NULL;
	int64_t until_ns = clock_now_ns() + DEVICE_WAIT_NS;
	do {
		watch_step(&w);
		s = watch_find(&w, "gpu_link_tx_bytes_per_s", "1");
	} while ((!s || !(s->max > 0)) && clock_now_ns() < until_ns);
	CHECK(s && s->max > 7168000 * 0.5 && s->max < 7168000 * 1.1);
	watch_close(&w);
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	CHECK_INT(system(command), 0);
}

int main(void)
{
	TAP_RUN(both_libraries_tell_the_same_in_all_their_layouts);
	TAP_RUN(counters_are_differences);
	TAP_RUN(a_slow_link_and_a_low_clock_show_beside_their_highest);
	TAP_RUN(what_is_unknown_or_refused_is_no_number);
	TAP_RUN(a_device_may_be_lost_and_come_back);
	TAP_RUN(the_kernel_tells_users_throttling_and_links);
	return tap_done();
}
