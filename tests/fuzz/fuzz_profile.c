/*
 * fuzz_profile.c - any bytes as what a profile reads: the first byte says what they are.
 *
 *	r   a ring of the kernel: all records lie inside it
 *	m   lines of /proc/PID/maps
 *	j   a map of JIT code      k   /proc/kallsyms
 *	e   an ELF file
 *	p   the format of an event of a processor
 */
#include "watch/perf/perf_pmu.h"
#include "watch/perf/perf_ring.h"
#include "watch/perf/profile_elf.h"
#include "watch/perf/profile_maps.h"
#include "watch/procfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t n_records;

static void on_record(void *ctx, const struct perf_record *record)
{
	(void)ctx;
	n_records++;
	if (record->n > sizeof(record->body))
		abort();
}

static void as_ring(const uint8_t *data, size_t size)
{
	uint8_t ring[256] = { 0 };
	uint64_t from = size ? data[0] : 0, to = from + (size > 1 ? data[1] : 0) * 2;
	memcpy(ring, data, size < sizeof(ring) ? size : sizeof(ring));
	n_records = 0;
	perf_records_each(ring, sizeof(ring), from, to, on_record, NULL);
	if (n_records * sizeof(struct perf_event_header) > sizeof(ring))
		abort();
}

static void as_maps(struct str text)
{
	while (text.len) {
		struct profile_map map;
		struct str path, line = procfile_line(&text);
		if (profile_maps_line(line, &map, &path) &&
		        (map.from >= map.to || path.len > line.len))
			abort();
	}
}

static void check_names(const struct names *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct named *w = &set->wanted[i];
		if (w->rank != NAME_NONE && (w->from > w->address || w->to <= w->address))
			abort();
		if (strlen(w->name) >= PROFILE_NAME_BYTES)
			abort();
	}
}

/* As a file in memory, which is what is read from. */
static void as_file(char kind, const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = { 0, 0x10, 0x1000, 0x1010, 0x1100, 0x400000, 0x401000,
		UINT64_C(0xffffffff81000010), UINT64_MAX - 1 };
	struct named wanted[ARRAY_LEN(addresses)];
	struct names set = { wanted, ARRAY_LEN(addresses) };
	char build_id[PROFILE_BUILD_ID_BYTES] = "";
	for (size_t i = 0; i < set.n; i++)
		wanted[i].address = addresses[i];
	names_sort(&set);
	AUTO(auto_fd) int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return;
	if (kind == 'j')
		names_read_jit(&set, fd);
	else if (kind == 'e' && !profile_elf_read(&set, fd, build_id))
		return;
	check_names(&set);
}

static void as_kernel(struct str text)
{
	while (text.len) {
		uint64_t from;
		struct str name;
		if (names_kernel_line(procfile_line(&text), &from, &name) && name.len == 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct str text = { (const char *)data + 1, size - 1 };
	struct perf_event_attr attr = { 0 };
	switch (data[0]) {
	case 'r':
		as_ring(data + 1, size - 1);
		break;
	case 'm':
		as_maps(text);
		break;
	case 'k':
		as_kernel(text);
		break;
	case 'p':
		(void)!perf_pmu_place(&attr, text, 0x3c);
		break;
	case 'j':
	case 'e':
		as_file((char)data[0], data + 1, size - 1);
		break;
	default:
		break;
	}
	return 0;
}
