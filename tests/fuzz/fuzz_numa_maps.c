/*
 * fuzz_numa_maps.c - any bytes as a numa_maps file: the same pages are found line by line and by
 * way of a file, which is read in pieces.
 */
#include "watch/numa/numa_maps.h"
#include "watch/procfile.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char buf[NUMA_MAPS_BUF_BYTES];
	struct numa_maps by_file = { 0 }, by_line = { 0 };
	struct str text = { (const char *)data, size };
	char policies[192];
	AUTO(auto_fd) int fd = memfd_create("numa_maps", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	if (!numa_maps_read(&by_file, fd, buf))
		abort();
	/* A last line without an end was cut by the kernel: it is left out. */
	while (text.len && memchr(text.s, '\n', text.len)) {
		struct str line = procfile_line(&text);
		if (line.len < NUMA_MAPS_BUF_BYTES)
			numa_maps_line(&by_line, line);
	}
	if (memcmp(&by_file, &by_line, sizeof(by_file)) != 0)
		abort();
	numa_maps_policies(&by_file, policies, sizeof(policies));
	if (strlen(policies) >= sizeof(policies))
		abort();
	return 0;
}
