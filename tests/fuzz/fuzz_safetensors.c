/*
 * fuzz_safetensors.c - any bytes as a safetensors file: open it and read tensors of likely names
 * and shapes.
 */
#include "engine/checkpoint.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_tensors(const struct checkpoint *c)
{
	static const char *const names[] = { "a", "b", "x.LayerNorm.weight", "x.LayerNorm.bias",
		"__metadata__", "" };
	static const int64_t dims[] = { 2, 3, 1, 1 };
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		checkpoint_has(c, names[i]);
		for (int n = 0; n <= (int)ARRAY_LEN(dims); n++) {
			float *values;
			if (checkpoint_read(c, names[i], dims, n, &values, &err))
				free(values);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct checkpoint *c;
	struct err err;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (checkpoint_open(path, &c, &err)) {
		read_tensors(c);
		checkpoint_close(c);
	}
	close(fd);
	return 0;
}
