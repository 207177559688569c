/*
 * fuzz_kineto.c - any bytes as a Kineto trace: whatever way it is read, the answer is the same, and
 * one that analyses can trust.
 */
#include "trace/readers/kineto.h"
#include "trace/scan/parallel.h"

#include "../unit/timeline_same.h"
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_way(const char *path, const struct scan_way *way, struct timeline *t)
{
	struct source source;
	struct err err;
	timeline_init(t, path, "kineto");
	if (!source_open(&source, path, &err))
		return;
	trace_require(scan_read(&source, &kineto_dialect, way, t, &err));
	source_close(&source);
	trace_check_timeline(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct timeline want, got;
	const struct scan_way plain = { scan_ops_all()[0], 1, 1 << 20 };
	const struct scan_way ways[] = { { scan_ops_best(), 1, 7 }, { scan_ops_best(), 2, 300 } };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	trace_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	read_way(path, &plain, &want);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		read_way(path, &ways[i], &got);
		trace_require(timeline_difference(&want, &got) == NULL);
		timeline_release(&got);
	}
	timeline_release(&want);
	close(fd);
	trace_check_bytes(data, size);
	return 0;
}
