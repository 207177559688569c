#include "engine/region.h"

#include "base/attr.h"
#include "tap.h"

static struct region *region_of(struct region_options options)
{
	struct region *r;
	struct err err;
	if (!region_open(&options, &r, &err))
		abort();
	return r;
}

static void memory_is_zeroed_aligned_and_apart(void)
{
	static const size_t sizes[] = { 1, 63, 64, 65, 0, 4096, 3 << 20 };
	for (int huge = 0; huge < 2; huge++) {
		struct region *r = region_of(
		        (struct region_options){ .bytes = 8 << 20, .huge_pages = huge, .node = 0 });
		char *end = NULL;
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			char *p = region_alloc(r, sizes[i]);
			CHECK(p && (uintptr_t)p % 64 == 0);
			CHECK(!end || p >= end);
			CHECK(i > 0 || (uintptr_t)p % (2 << 20) == 0);
			for (size_t b = 0; b < sizes[i]; b += 61)
				CHECK(p[b] == 0);
			memset(p, 0xff, sizes[i]);
			end = p + sizes[i];
		}
		region_close(r);
	}
}

static void what_was_handed_out_is_counted_in_whole_lines(void)
{
	struct region *r = region_of((struct region_options){ .bytes = 4 << 20, .node = -1 });
	CHECK_INT(region_used(r), 0);
	region_alloc(r, 100);
	CHECK_INT(region_used(r), 128);
	region_alloc(r, 1);
	CHECK_INT(region_used(r), 192);
	CHECK(!region_alloc(r, 4 << 20));
	CHECK_INT(region_used(r), 192);
	region_close(r);
}

static void a_region_that_is_used_up_says_so(void)
{
	struct region *r = region_of((struct region_options){ .bytes = 2 << 20, .node = -1 });
	CHECK(!region_alloc(r, (2 << 20) + 1));
	CHECK(!region_alloc(r, SIZE_MAX));
	CHECK(region_alloc(r, 2 << 20));
	CHECK(!region_alloc(r, 1));
	region_close(r);
	region_close(NULL);
}

static void unused_address_space_takes_no_memory(void)
{
	struct region *r;
	struct err err;
	struct region_options options = { .bytes = (size_t)1 << 40, .node = -1 };
	CHECK(region_open(&options, &r, &err));
	if (r)
		CHECK(region_alloc(r, 1 << 20));
	region_close(r);
}

static void more_than_an_address_can_name_is_an_error(void)
{
	struct region *r;
	struct err err = { 0 };
	CHECK(!region_open(&(struct region_options){ .bytes = SIZE_MAX, .node = -1 }, &r, &err));
	CHECK_INT(err.kind, ERR_SYSTEM);
}

int main(void)
{
	TAP_RUN(memory_is_zeroed_aligned_and_apart);
	TAP_RUN(what_was_handed_out_is_counted_in_whole_lines);
	TAP_RUN(a_region_that_is_used_up_says_so);
	TAP_RUN(unused_address_space_takes_no_memory);
	TAP_RUN(more_than_an_address_can_name_is_an_error);
	return tap_done();
}
