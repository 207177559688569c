#include "finding_look.h"
#include "tap.h"
#include "timeline_make.h"

/* 10 multiprocessors of 2048 threads, 65536 registers and 100 KiB of shared memory. */
static void put_device(struct timeline *t)
{
	struct device_info *d = timeline_device(t, 0);
	d->n_sm = 10;
	d->max_threads_per_sm = 2048;
	d->registers_per_sm = 65536;
	d->shared_bytes_per_sm = 100 * 1024;
	d->warp_size = 32;
	d->compute_major = 7;
	d->compute_minor = 0;
}

static void put_grid(struct timeline *t, const char *name, int64_t blocks, int64_t threads,
        int64_t registers, int64_t shared, int64_t start_ns, int64_t end_ns)
{
	struct kernel_detail k = kernel_detail_none();
	k.grid[0] = blocks;
	k.block[0] = threads;
	k.grid[1] = k.grid[2] = k.block[1] = k.block[2] = 1;
	k.registers = registers;
	k.shared_bytes = shared;
	uint32_t i = put_kernel(t, name, start_ns, end_ns, 0);
	t->lists[GROUP_DEVICE].v[i].detail = timeline_detail(t, DETAIL_KERNEL, &k);
}

static void waves_are_blocks_over_what_the_device_holds_at_a_time(void)
{
	static const struct {
		const char *why;
		int64_t blocks, threads, registers, shared;
		double resident, waves, waste;
	} cases[] = {
		/* 2048 / 256 threads */
		{ "threads", 120, 256, 16, 0, 8, 1.5, 0.25 },
		/* 128 registers x 32 = 4096 a warp, 8 warps: 65536 / 4096 / 8 = 2 */
		{ "registers", 30, 256, 128, 0, 2, 1.5, 0.25 },
		/* 33 x 32 = 1056 are given out as 1280: 51 warps, 12 blocks of 4 */
		{ "register unit", 120, 128, 33, 0, 12, 1, 0 },
		/* 100 / 40 KiB */
		{ "shared memory", 25, 64, 16, 40 * 1024, 2, 1.25, 1 - 1.25 / 2 },
		{ "blocks", 320, 32, 16, 0, 32, 1, 0 },
		{ "under-filled", 5, 1024, 16, 0, 2, 0.25, 0.75 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct timeline t;
		timeline_init(&t, "x", "kineto");
		put_device(&t);
		put_grid(&t, "sgemm", cases[i].blocks, cases[i].threads, cases[i].registers,
		        cases[i].shared, 100, 200);
		struct look l;
		struct trace_finding *f = look_at(&l, &t, &fill_analysis);
		bool ok = CHECK_NEAR(fact_value(f, "fill_waste_ratio"), cases[i].waste, 1e-12);
		if (cases[i].waste > 0) {
			ok &= CHECK_NEAR(number_in(f, "kernels", 0, "resident_blocks"),
			        cases[i].resident, 0);
			ok &= CHECK_NEAR(
			        number_in(f, "kernels", 0, "waves"), cases[i].waves, 1e-12);
		}
		if (!ok)
			printf("#   limited by %s\n", cases[i].why);
		CHECK_INT(f->state, cases[i].waste >= 0.2 ? TRACE_FOUND : TRACE_CLEAR);
		look_away(&l);
		timeline_release(&t);
	}
}

static void kernels_weigh_by_their_time_and_collectives_do_not(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put_device(&t);
	put_grid(&t, "sgemm", 10, 1024, 16, 0, 100, 400);                 /* half a wave: 150 */
	put_grid(&t, "hgemm", 20, 1024, 16, 0, 400, 500);                 /* full */
	put_grid(&t, "ncclDevKernel_AllReduce", 1, 512, 16, 0, 500, 900); /* few on purpose */
	put_kernel(&t, "of_a_graph", 900, 1000, 0);                       /* unknown */
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &fill_analysis);
	CHECK_NEAR(fact_value(f, "fill_waste_ratio"), 150.0 / 500, 1e-12);
	CHECK_NEAR(fact_value(f, "waves_known_ratio"), 400.0 / 500, 1e-12);
	CHECK_NEAR(fact_value(f, "underfilled_kernels"), 0, 0);
	CHECK_NEAR(f->share_ratio, 150.0 / 900, 1e-12);
	CHECK_STR(text_in(f, "kernels", 0, "name"), "sgemm");
	CHECK_NEAR(number_in(f, "kernels", 0, "wasted"), 150e-6, 1e-12);
	look_away(&l);
	timeline_release(&t);
}

static void without_grid_or_multiprocessors_it_cannot_be_told(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put_kernel(&t, "sgemm", 100, 200, 0);
	struct look l;
	CHECK_INT(look_at(&l, &t, &fill_analysis)->state, TRACE_ABSTAINED);
	look_away(&l);
	put_grid(&t, "sgemm", 10, 1024, 16, 0, 200, 300);
	CHECK_INT(look_at(&l, &t, &fill_analysis)->state, TRACE_ABSTAINED);
	look_away(&l);
	put_device(&t);
	CHECK_INT(look_at(&l, &t, &fill_analysis)->state, TRACE_FOUND);
	look_away(&l);
	timeline_release(&t);
}

static void sizes_that_cannot_be_are_left_out(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put_device(&t);
	put_grid(&t, "a", INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, 100, 200);
	put_grid(&t, "b", 0, 0, 0, 0, 200, 300);
	put_grid(&t, "c", 1, 1025, 16, 0, 300, 400);
	struct look l;
	CHECK_INT(look_at(&l, &t, &fill_analysis)->state, TRACE_ABSTAINED);
	look_away(&l);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(waves_are_blocks_over_what_the_device_holds_at_a_time);
	TAP_RUN(kernels_weigh_by_their_time_and_collectives_do_not);
	TAP_RUN(without_grid_or_multiprocessors_it_cannot_be_told);
	TAP_RUN(sizes_that_cannot_be_are_left_out);
	return tap_done();
}
