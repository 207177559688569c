#include "trace/work/device_peaks.h"

#include <ctype.h>
#include <string.h>

/*
 * In 10^12 operations and 10^9 bytes a second. Matrix units where the device has them, sums in 32
 * bits, no sparsity (data sheets that name only sparse rates are halved). Two dies on one board
 * are two devices, so their rows are half of the board's.
 *
 * Memory in GiB as the runtime reports it, at least and below; n_sm is what tells a device without
 * a name.
 */
static const struct peak_row {
	const char *words[3]; /* all of them are words of the device's name */
	const char *name;
	short n_sm, memory_min, memory_max;
	float bandwidth, float32, tfloat32, float16, float8, int8;
	const char *source;
} rows[] = {
	{ { "B300" }, "B300", 148, 240, 300, 8000, 75, 1100, 2250, 4500, 0,
	        "NVIDIA Blackwell Ultra data sheet" },
	{ { "GB200" }, "GB200", 0, 160, 200, 8000, 80, 1250, 2500, 5000, 5000,
	        "NVIDIA GB200 NVL72 data sheet" },
	{ { "B200" }, "B200", 148, 160, 200, 7700, 75, 1100, 2250, 4500, 4500,
	        "NVIDIA DGX and HGX B200 data sheet" },
	{ { "H200", "NVL" }, "H200 NVL", 0, 120, 160, 4800, 60, 417.5F, 835.5F, 1670.5F, 1670.5F,
	        "NVIDIA H200 data sheet" },
	{ { "H200" }, "H200", 132, 120, 160, 4800, 67, 494.5F, 989.5F, 1979, 1979,
	        "NVIDIA H200 data sheet" },
	{ { "H100", "NVL" }, "H100 NVL", 132, 88, 96, 3900, 60, 417.5F, 835.5F, 1670.5F, 1670.5F,
	        "NVIDIA H100 data sheet" },
	{ { "H100", "PCIe" }, "H100 PCIe", 114, 70, 81, 2000, 51, 378, 756.5F, 1513, 1513,
	        "NVIDIA H100 data sheet" },
	{ { "H100", "HBM3" }, "H100 SXM", 132, 70, 81, 3350, 67, 494.5F, 989.5F, 1979, 1979,
	        "NVIDIA H100 data sheet" },
	{ { "H800", "PCIe" }, "H800 PCIe", 114, 70, 81, 2000, 51, 378, 756.5F, 1513, 1513,
	        "NVIDIA H800 data sheet" },
	{ { "H800" }, "H800 SXM", 132, 70, 81, 3350, 67, 494.5F, 989.5F, 1979, 1979,
	        "NVIDIA H800 data sheet" },
	{ { "H20" }, "H20", 78, 88, 145, 4000, 44, 74, 148, 296, 296, "NVIDIA H20 data sheet" },
	{ { "A100", "PCIe" }, "A100 PCIe 80 GB", 108, 70, 81, 1935, 19.5F, 156, 312, 0, 624,
	        "NVIDIA A100 data sheet" },
	{ { "A100" }, "A100 SXM 80 GB", 108, 70, 81, 2039, 19.5F, 156, 312, 0, 624,
	        "NVIDIA A100 data sheet" },
	{ { "A100" }, "A100 40 GB", 108, 36, 41, 1555, 19.5F, 156, 312, 0, 624,
	        "NVIDIA A100 data sheet" },
	{ { "A800", "PCIe" }, "A800 PCIe 80 GB", 108, 70, 81, 1935, 19.5F, 156, 312, 0, 624,
	        "NVIDIA A800 data sheet" },
	{ { "A800" }, "A800 SXM 80 GB", 108, 70, 81, 2039, 19.5F, 156, 312, 0, 624,
	        "NVIDIA A800 data sheet" },
	{ { "A30" }, "A30", 56, 20, 25, 933, 10.3F, 82, 165, 0, 330, "NVIDIA A30 data sheet" },
	{ { "A40" }, "A40", 84, 40, 49, 696, 37.4F, 74.8F, 149.7F, 0, 299.3F,
	        "NVIDIA A40 data sheet" },
	{ { "A10" }, "A10", 72, 20, 25, 600, 31.2F, 62.5F, 125, 0, 250, "NVIDIA A10 data sheet" },
	{ { "L40S" }, "L40S", 142, 40, 49, 864, 91.6F, 183, 362, 733, 733,
	        "NVIDIA L40S data sheet" },
	{ { "L40" }, "L40", 142, 40, 49, 864, 90.5F, 90.5F, 181, 362, 362,
	        "NVIDIA L40 data sheet" },
	{ { "L4" }, "L4", 58, 20, 25, 300, 30.3F, 60, 121, 242.5F, 242.5F, "NVIDIA L4 data sheet" },
	{ { "T4" }, "T4", 40, 12, 17, 320, 8.1F, 0, 65, 0, 130, "NVIDIA T4 data sheet" },
	{ { "V100S" }, "V100S PCIe", 80, 28, 33, 1134, 16.4F, 0, 130, 0, 0,
	        "NVIDIA V100 data sheet" },
	{ { "V100", "PCIe" }, "V100 PCIe", 80, 14, 33, 900, 14, 0, 112, 0, 0,
	        "NVIDIA V100 data sheet" },
	{ { "V100", "SXM2" }, "V100 SXM2", 80, 14, 33, 900, 15.7F, 0, 125, 0, 0,
	        "NVIDIA V100 data sheet" },
	{ { "V100", "SXM3" }, "V100 SXM3", 80, 28, 33, 981, 15.7F, 0, 125, 0, 0,
	        "NVIDIA DGX-2 data sheet" },
	{ { "V100", "DGXS" }, "V100 DGX Station", 80, 14, 33, 900, 15.7F, 0, 125, 0, 0,
	        "NVIDIA DGX Station data sheet" },
	{ { "P100", "PCIe" }, "P100 PCIe", 56, 14, 17, 732, 9.3F, 0, 18.7F, 0, 0,
	        "NVIDIA P100 data sheet" },
	{ { "P100" }, "P100 SXM2", 56, 14, 17, 732, 10.6F, 0, 21.2F, 0, 0,
	        "NVIDIA P100 data sheet" },
	{ { "GP100" }, "Quadro GP100", 56, 14, 17, 717, 10.3F, 0, 20.7F, 0, 0,
	        "NVIDIA Quadro GP100 data sheet" },
	{ { "RTX", "5090" }, "RTX 5090", 170, 30, 33, 1792, 104.8F, 104.8F, 209.5F, 419, 838,
	        "NVIDIA RTX Blackwell architecture, appendix A" },
	{ { "RTX", "6000", "Ada" }, "RTX 6000 Ada", 142, 44, 49, 960, 91.1F, 182.1F, 364.2F, 728.5F,
	        728.5F, "NVIDIA RTX 6000 Ada data sheet" },
	{ { "RTX", "A6000" }, "RTX A6000", 84, 44, 49, 768, 38.7F, 77.4F, 154.8F, 0, 309.7F,
	        "NVIDIA RTX A6000 data sheet" },
	{ { "RTX", "4090" }, "RTX 4090", 128, 20, 25, 1008, 82.6F, 82.6F, 165.2F, 330.3F, 660.6F,
	        "NVIDIA Ada architecture, appendix A" },
	{ { "RTX", "3090" }, "RTX 3090", 82, 20, 25, 936, 35.6F, 35.6F, 71, 0, 284,
	        "NVIDIA GA102 architecture, table 9" },
	{ { "RTX", "2080", "Ti" }, "RTX 2080 Ti", 68, 10, 12, 616, 13.4F, 0, 53.8F, 0, 215.2F,
	        "NVIDIA Turing architecture, appendix A" },
	{ { "MI355X" }, "MI355X", 256, 240, 300, 8000, 157.3F, 0, 2516.6F, 5033.2F, 5033.2F,
	        "AMD Instinct MI355X data sheet" },
	{ { "MI350X" }, "MI350X", 256, 240, 300, 8000, 144.2F, 0, 2306.9F, 4613.7F, 4613.7F,
	        "AMD Instinct MI350X data sheet" },
	{ { "MI325X" }, "MI325X", 304, 240, 260, 6000, 163.4F, 653.7F, 1307.4F, 2614.9F, 2614.9F,
	        "AMD Instinct MI325X data sheet" },
	{ { "MI300X" }, "MI300X", 304, 180, 200, 5300, 163.4F, 653.7F, 1307.4F, 2614.9F, 2614.9F,
	        "AMD Instinct MI300X data sheet" },
	{ { "MI300A" }, "MI300A", 228, 100, 130, 5300, 122.6F, 490.3F, 980.6F, 1961.2F, 1961.2F,
	        "AMD Instinct MI300A data sheet" },
	{ { "MI250X" }, "MI250X, one die", 110, 60, 65, 1638, 47.9F, 0, 191.5F, 0, 191.5F,
	        "AMD Instinct MI250X data sheet" },
	{ { "MI250" }, "MI250, one die", 104, 60, 65, 1638, 45.3F, 0, 181, 0, 181,
	        "AMD Instinct MI250 data sheet" },
	{ { "MI210" }, "MI210", 104, 60, 65, 1638, 45.3F, 0, 181, 0, 181,
	        "AMD Instinct MI210 data sheet" },
	{ { "MI100" }, "MI100", 120, 30, 33, 1229, 46.1F, 0, 184.6F, 0, 184.6F,
	        "AMD Instinct MI100 data sheet" },
};

/* Whether word stands in the text, in any case, and no letter or digit beside it. */
static bool has_word(struct str text, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i + n <= text.len; i++) {
		bool starts = i == 0 || !isalnum((unsigned char)text.s[i - 1]);
		bool ends = i + n == text.len || !isalnum((unsigned char)text.s[i + n]);
		if (starts && ends && str_eq_nocase((struct str){ text.s + i, n }, str_of(word)))
			return true;
	}
	return false;
}

static bool has_words(const struct peak_row *row, struct str name)
{
	for (size_t i = 0; i < 3 && row->words[i]; i++)
		if (!has_word(name, row->words[i]))
			return false;
	return true;
}

static bool memory_fits(const struct peak_row *row, int64_t bytes)
{
	int64_t gib = bytes >> 30;
	return bytes < 0 || (gib >= row->memory_min && gib < row->memory_max);
}

static void take(const struct peak_row *row, struct device_peaks *ret)
{
	double of[N_ELEMENT_TYPES] = {
		[ELEMENT_FLOAT32] = row->float32,
		[ELEMENT_TFLOAT32] = row->tfloat32,
		[ELEMENT_FLOAT16] = row->float16,
		[ELEMENT_FLOAT8] = row->float8,
		[ELEMENT_INT8] = row->int8,
	};
	/* Pascal has no bfloat16, Volta and Turing none in their matrix units */
	if (row->tfloat32 > 0 || strncmp(row->words[0], "MI", 2) == 0)
		of[ELEMENT_BFLOAT16] = row->float16;
	*ret = (struct device_peaks){
		.name = row->name, .source = row->source, .bytes_per_s = row->bandwidth * 1e9
	};
	for (int i = 0; i < N_ELEMENT_TYPES; i++)
		ret->flop_per_s[i] = of[i] * 1e12;
}

/* Names of no model: a driver that does not know the device, a container that hides it. */
static bool says_nothing(struct str name)
{
	return name.len == 0 || str_eq(name, STR("AMD Radeon Graphics")) ||
	       str_starts(name, STR("gfx"));
}

static bool same_speed(const struct peak_row *a, const struct peak_row *b)
{
	return a->bandwidth == b->bandwidth && a->float16 == b->float16;
}

static int n_words(const struct peak_row *row)
{
	int n = 0;
	while (n < 3 && row->words[n])
		n++;
	return n;
}

bool device_peaks_find(
        struct str name, int64_t n_sm, int64_t memory_bytes, bool is_amd, struct device_peaks *ret)
{
	const struct peak_row *found = NULL;
	bool by_name = !says_nothing(name);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct peak_row *row = &rows[i];
		bool by_size = memory_bytes >= 0 && n_sm > 0 && n_sm == row->n_sm &&
		               is_amd == (strncmp(row->words[0], "MI", 2) == 0);
		if (!memory_fits(row, memory_bytes) || !(by_name ? has_words(row, name) : by_size))
			continue;
		if (found && n_words(found) > n_words(row) && by_name)
			continue; /* the one with more words is the more exact */
		if (found && !same_speed(found, row))
			return false;
		found = row;
	}
	if (!found)
		return false;
	take(found, ret);
	return true;
}

bool device_peaks_of(
        const struct timeline *t, const struct device_info *info, struct device_peaks *ret)
{
	return info && device_peaks_find(timeline_name_of(t, info->name), info->n_sm,
	                       info->memory_bytes, t->is_amd, ret);
}
