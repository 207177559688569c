#include "trace/work/device_peaks.h"

#include "tap.h"

#define MIB (INT64_C(1) << 20)

static const char *row_of(const char *name, int64_t n_sm, int64_t mib, bool is_amd)
{
	struct device_peaks p;
	int64_t bytes = mib < 0 ? -1 : mib * MIB;
	return device_peaks_find(str_of(name), n_sm, bytes, is_amd, &p) ? p.name : "none";
}

static void devices_are_found_by_the_names_that_runtimes_give(void)
{
	CHECK_STR(row_of("NVIDIA H100 80GB HBM3", 132, 81079, false), "H100 SXM");
	CHECK_STR(row_of("NVIDIA H100 PCIe", 114, 81079, false), "H100 PCIe");
	CHECK_STR(row_of("NVIDIA B200", 148, 182631, false), "B200");
	CHECK_STR(row_of("NVIDIA GB200", -1, -1, false), "GB200");
	CHECK_STR(row_of("NVIDIA A100-PG509-200", 108, 40338, false), "A100 40 GB");
	CHECK_STR(row_of("NVIDIA A100-SXM4-80GB", 108, 81053, false), "A100 SXM 80 GB");
	CHECK_STR(row_of("NVIDIA A100 80GB PCIe", 108, 81050, false), "A100 PCIe 80 GB");
	CHECK_STR(row_of("A100-PCIE-40GB", 108, 40338, false), "A100 40 GB");
	CHECK_STR(row_of("Tesla V100-SXM2-32GB", 80, 32510, false), "V100 SXM2");
	CHECK_STR(row_of("NVIDIA GeForce RTX 2080 Ti", 68, 11019, false), "RTX 2080 Ti");
	CHECK_STR(row_of("NVIDIA L40S", 142, 46068, false), "L40S");
	CHECK_STR(row_of("AMD Instinct MI300X VF", 304, 196048, true), "MI300X");
}

static void a_device_without_a_name_is_told_by_its_size(void)
{
	CHECK_STR(row_of("", 304, 196592, true), "MI300X");
	CHECK_STR(row_of("", 148, 182631, false), "B200");
	CHECK_STR(row_of("", 304, 196592, false), "none");
	/* MI210 and one die of MI250 are equally fast */
	CHECK(strcmp(row_of("AMD Radeon Graphics", 104, 65520, true), "none") != 0);
}

static void what_cannot_be_told_apart_is_not_guessed(void)
{
	CHECK_STR(row_of("", 108, 81053, false), "none");            /* A100, SXM or PCIe */
	CHECK_STR(row_of("NVIDIA A100", -1, -1, false), "none");     /* 40 or 80 GB */
	CHECK_STR(row_of("NVIDIA H100", 132, 97356, false), "none"); /* in no data sheet */
	CHECK_STR(row_of("NVIDIA A10G", 72, 23028, false), "none");  /* not an A10 */
	CHECK_STR(row_of("Intel(R) Arc", -1, -1, false), "none");
	CHECK_STR(row_of("", -1, -1, false), "none");
}

/* A100 white paper, table 1: 312 TFLOP/s in float16, 156 in TF32, 1555 GB/s with 40 GB. */
static void peaks_are_dense_and_by_type(void)
{
	struct device_peaks p;
	CHECK(device_peaks_find(STR("NVIDIA A100-SXM4-40GB"), 108, 40354 * MIB, false, &p));
	CHECK_NEAR(p.flop_per_s[ELEMENT_BFLOAT16], 312e12, 1e6);
	CHECK_NEAR(p.flop_per_s[ELEMENT_TFLOAT32], 156e12, 1e6);
	CHECK_NEAR(p.flop_per_s[ELEMENT_FLOAT32], 19.5e12, 1e6);
	CHECK_NEAR(p.bytes_per_s, 1555e9, 1e6);
	CHECK_NEAR(p.flop_per_s[ELEMENT_FLOAT8], 0, 0);
	CHECK(device_peaks_find(STR("Tesla T4"), 40, 15109 * MIB, false, &p));
	CHECK_NEAR(p.flop_per_s[ELEMENT_BFLOAT16], 0, 0); /* Turing has none */
	CHECK_NEAR(p.flop_per_s[ELEMENT_FLOAT16], 65e12, 1e6);
}

int main(void)
{
	TAP_RUN(devices_are_found_by_the_names_that_runtimes_give);
	TAP_RUN(a_device_without_a_name_is_told_by_its_size);
	TAP_RUN(what_cannot_be_told_apart_is_not_guessed);
	TAP_RUN(peaks_are_dense_and_by_type);
	return tap_done();
}
