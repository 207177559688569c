/*
 * fuzz_chrome.c - any bytes as a Chrome trace of any dialect; packed with gzip they give the same.
 */
#include "trace_check.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PACKED_MAX = 1 << 16 };

/* Reads bytes as a file; false when no reader takes them. */
static bool read_bytes(const uint8_t *data, size_t size, struct timeline *t)
{
	char path[64];
	struct err err = { 0 };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	trace_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	bool ok = trace_read_file(path, t, &err);
	close(fd);
	return ok;
}

static void require_same(const struct timeline *a, const struct timeline *b)
{
	trace_require(strcmp(a->format, b->format) == 0 && a->n_events == b->n_events);
	trace_require(memcmp(a->lost, b->lost, sizeof a->lost) == 0);
	for (int g = 0; g < N_GROUPS; g++) {
		const struct event_list *x = &a->lists[g], *y = &b->lists[g];
		trace_require(x->n == y->n);
		for (size_t i = 0; i < x->n; i++)
			trace_require(x->v[i].start_ns == y->v[i].start_ns &&
			              x->v[i].dur_ns == y->v[i].dur_ns);
	}
}

/* The packed bytes, unless there are too many. */
static size_t pack(const uint8_t *data, size_t size, uint8_t *packed)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data,
		.avail_in = (uInt)size,
		.next_out = packed,
		.avail_out = PACKED_MAX };
	trace_require(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	bool whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
	deflateEnd(&z);
	return whole ? z.total_out : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t packed[PACKED_MAX];
	struct timeline plain, unpacked;
	trace_check_bytes(data, size);
	size_t n = size ? pack(data, size, packed) : 0;
	if (n == 0 || !read_bytes(data, size, &plain))
		return 0;
	trace_require(read_bytes(packed, n, &unpacked));
	require_same(&plain, &unpacked);
	timeline_release(&plain);
	timeline_release(&unpacked);
	return 0;
}
