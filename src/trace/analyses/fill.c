/*
 * How well kernels fill the device: with fewer blocks than it can hold at a time, or with a last
 * wave that is partly empty.
 *
 * waves = blocks / (multiprocessors x resident blocks), waste = 1 - waves / ceil(waves); resident
 * blocks are what threads, registers, shared memory and the device's own limit leave room for. A
 * limit that the trace does not tell does not bind. Kernels weigh by their time; those that
 * communicate are left out, and kernels whose waves are not known count as full.
 *
 * Source: CUDA C++ programming guide, technical specifications by compute capability (blocks and
 * shared memory of a multiprocessor, 1 KiB of it taken by each block from 8.0 on, registers given
 * out by warps in units of 256); the tail effect: CUDA C++ best practices guide.
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/device_of.h"
#include "trace/analyses/groups.h"
#include "trace/analyses/measures.h"

#include "base/i18n.h"

#include <math.h>

/* Of kernel time, lost to multiprocessors without work. Below it a cure is not worth a change: a
 * quarter of it is what a better grid usually gives back. Ours. */
static const double WASTE_RATIO = 0.20;

enum {
	REGISTER_UNIT = 256,
	SHARED_UNIT = 128,
	SHARED_OF_BLOCK = 1024,
	BLOCKS_OTHERWISE = 32,
};

static const struct {
	int major, minor, blocks;
} block_limits[] = {
	{ 7, 5, 16 },
	{ 8, 6, 16 },
	{ 8, 7, 16 },
	{ 8, 9, 24 },
	{ 12, 0, 24 },
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t device_block_limit(const struct device_info *d)
{
	for (size_t i = 0; i < sizeof block_limits / sizeof *block_limits; i++)
		if (d->compute_major == block_limits[i].major &&
		        d->compute_minor == block_limits[i].minor)
			return block_limits[i].blocks;
	return BLOCKS_OTHERWISE;
}

/* Blocks of this kernel that one multiprocessor holds; 0 when none fits by what is told. */
static int64_t resident_blocks(
        const struct device_info *d, const struct kernel_detail *k, int64_t threads)
{
	int64_t warp = d->warp_size > 0 ? d->warp_size : 32;
	int64_t warps = (threads + warp - 1) / warp;
	int64_t blocks = device_block_limit(d);
	if (d->max_threads_per_sm > 0)
		blocks = least(blocks, d->max_threads_per_sm / (warps * warp));
	if (d->registers_per_sm > 0 && k->registers > 0 && k->registers <= 1024) {
		int64_t of_warp =
		        (k->registers * warp + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
		blocks = least(blocks, d->registers_per_sm / of_warp / warps);
	}
	if (d->shared_bytes_per_sm > 0 && k->shared_bytes >= 0 &&
	        k->shared_bytes <= d->shared_bytes_per_sm) {
		int64_t of_block = (k->shared_bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
		if (d->compute_major >= 8 && warp == 32)
			of_block += SHARED_OF_BLOCK;
		if (of_block > 0)
			blocks = least(blocks, d->shared_bytes_per_sm / of_block);
	}
	return blocks;
}

struct filling {
	int64_t blocks, resident;
	double waves, waste; /* NAN: cannot be told */
};

static struct filling filling_of(
        const struct trace_view *v, const struct device_info *d, uint32_t member)
{
	const struct kernel_detail *k = timeline_kernel(v->t, &v->t->lists[GROUP_DEVICE].v[member]);
	struct filling x = { .blocks = trace_kernel_blocks(v, member), .waves = NAN, .waste = NAN };
	if (!k || x.blocks <= 0 || d->n_sm <= 0)
		return x;
	int64_t threads = 1;
	for (int i = 0; i < 3; i++)
		if (k->block[i] <= 0 || __builtin_mul_overflow(threads, k->block[i], &threads) ||
		        threads > 1024)
			return x;
	x.resident = resident_blocks(d, k, threads);
	if (x.resident < 1)
		return x;
	x.waves = (double)x.blocks / ((double)d->n_sm * (double)x.resident);
	x.waste = 1 - x.waves / ceil(x.waves);
	return x;
}

struct totals {
	struct groups kernels; /* key: name, detail */
	int64_t all_ns;        /* of kernels that do not communicate */
	int64_t n, known_ns;   /* whose waves are known */
	int64_t under_n, under_ns;
	double wasted_ns;
};

static void add_device(struct totals *x, const struct trace_view *v, const struct device_view *d)
{
	const struct device_info *info = device_of(v, d);
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &v->t->lists[GROUP_DEVICE].v[d->order[i]];
		/* collectives take few blocks on purpose */
		if (e->kind != DEVICE_KERNEL ||
		        kernel_classes_device(v->classes, e) == CLASS_COMMUNICATION)
			continue;
		x->all_ns += e->dur_ns;
		if (!e->detail || !info)
			continue;
		struct filling fill = filling_of(v, info, d->order[i]);
		if (isnan(fill.waste))
			continue;
		groups_add(&x->kernels, group_key(e->name, e->detail), e->dur_ns, d->order[i]);
		x->n++;
		x->known_ns += e->dur_ns;
		x->wasted_ns += fill.waste * (double)e->dur_ns;
		if (fill.blocks < info->n_sm) {
			x->under_n++;
			x->under_ns += e->dur_ns;
		}
	}
}

static const struct device_info *info_of_event(const struct trace_view *v, uint32_t member)
{
	int64_t id = timeline_track_of(v->t, v->t->lists[GROUP_DEVICE].v[member].track)->device;
	for (size_t i = 0; i < v->n_devices; i++)
		if (v->devices[i].id == id)
			return device_of(v, &v->devices[i]);
	return NULL;
}

/* Groups ranked by what they waste, not by their time. */
static void weigh_by_waste(struct groups *g, const struct trace_view *v)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct device_info *d = info_of_event(v, g->v[i].example);
		double waste = d ? filling_of(v, d, g->v[i].example).waste : 0;
		g->v[i].part = (uint32_t)(waste * 1e6); /* millionths, kept for the table */
		g->v[i].total_ns = (int64_t)((double)g->v[i].total_ns * waste);
	}
}

static void add_table(const struct totals *x, const struct trace_view *v, size_t top,
        struct arena *run, struct trace_finding *f)
{
	static const char *const columns[][2] = { { "name", "" }, { "class", "" }, { "calls", "" },
		{ "blocks", "" }, { "resident_blocks", "" }, { "waves", "" },
		{ "waste_ratio", "ratio" }, { "wasted", "ms" } };
	struct trace_table *t = finding_table(f, run, "kernels");
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		table_column(t, run, columns[i][0], columns[i][1]);
	uint32_t *order = groups_by_total(&x->kernels, run);
	for (uint32_t i = 0; i < top && i < x->kernels.n; i++) {
		const struct group *g = &x->kernels.v[order[i]];
		const struct device_info *d = info_of_event(v, g->example);
		if (g->total_ns <= 0 || !d)
			break;
		struct filling fill = filling_of(v, d, g->example);
		const struct event *e = &v->t->lists[GROUP_DEVICE].v[g->example];
		table_text(t, run, timeline_name_of(v->t, e->name));
		table_text(
		        t, run, str_of(kernel_class_names[kernel_classes_device(v->classes, e)]));
		table_number(t, run, (double)g->n);
		table_number(t, run, (double)fill.blocks);
		table_number(t, run, (double)fill.resident);
		table_number(t, run, fill.waves);
		table_number(t, run, fill.waste);
		table_number(t, run, (double)g->total_ns / 1e6);
	}
}

static void conclude(const struct totals *x, const struct trace_view *v, struct arena *run,
        struct trace_finding *f)
{
	int64_t span_ns = 0;
	for (size_t i = 0; i < v->n_devices; i++)
		span_ns += v->devices[i].end_ns - v->devices[i].start_ns;
	double all = (double)x->all_ns, waste = all > 0 ? x->wasted_ns / all : 0;
	double under = all > 0 ? (double)x->under_ns / all : 0;
	finding_fact_anchor(f, run, "fill_waste_ratio", waste, "ratio", WASTE_RATIO, x->n,
	        "blocks, resident blocks, multiprocessors");
	finding_fact(f, run, "underfilled_kernels", (double)x->under_n, "1", x->n,
	        "blocks below multiprocessors");
	finding_fact(f, run, "underfilled_time_ratio", under, "ratio", x->n,
	        "blocks below multiprocessors");
	finding_fact(f, run, "waves_known_ratio", all > 0 ? (double)x->known_ns / all : NAN,
	        "ratio", x->n, "trace");
	char *text = arena_printf(run,
	        _("up to %.0f %% of %s of kernel time is lost to places for blocks that stay "
	          "empty; kernels with fewer blocks than the device has multiprocessors take "
	          "%.0f %% of the kernel time"),
	        100 * waste, time_text(all, run), 100 * under);
	if (waste >= WASTE_RATIO)
		finding_found(f, span_ns ? x->wasted_ns / (double)span_ns : NAN, text,
		        _("Give each kernel more blocks: a larger batch, products split along k "
		          "(split-K, stream-K), attention split along the keys while decoding; "
		          "or run independent work on other streams beside it."));
	else
		finding_clear(f, text);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct totals x = { 0 };
	for (size_t i = 0; i < v->n_devices; i++)
		add_device(&x, v, &v->devices[i]);
	if (!v->n_devices) {
		finding_abstain(f, _("the trace holds no work of a device"));
	} else if (!x.n) {
		finding_abstain(
		        f, _("no kernel has both its grid and a device with a known number of "
		             "multiprocessors"));
	} else {
		conclude(&x, v, run, f);
		weigh_by_waste(&x.kernels, v);
		add_table(&x, v, (size_t)limits->top, run, f);
	}
	groups_release(&x.kernels);
}

const struct trace_analysis fill_analysis = { .id = "fill", .analyse = analyse };
