#include "watch/perf/perf_ring.h"

#include "watch/perf/perf_open.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

bool perf_ring_open(struct perf_ring *r, struct perf_event_attr *attr, int tid, size_t data_bytes)
{
	size_t size = page_bytes();
	int fd = perf_open(attr, tid, -1);
	if (fd < 0)
		return false;
	while (size < data_bytes)
		size *= 2;
	void *page = mmap(NULL, page_bytes() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		int code = errno;
		close(fd);
		errno = code;
		return false;
	}
	*r = (struct perf_ring){ fd + 1, page, size };
	return true;
}

void perf_ring_close(struct perf_ring *r)
{
	if (!r->fd_plus_1)
		return;
	munmap(r->page, page_bytes() + r->data_bytes);
	close(r->fd_plus_1 - 1);
	*r = (struct perf_ring){ 0 };
}

/* Positions go round; what lies over the end goes on at the start. */
static void copy_out(const uint8_t *data, size_t size, uint64_t at, void *to, size_t n)
{
	size_t begin = (size_t)(at & (size - 1));
	size_t first = n < size - begin ? n : size - begin;
	memcpy(to, data + begin, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

bool perf_records_each(const uint8_t *data, size_t size, uint64_t from, uint64_t to,
        perf_on_record *on_record, void *ctx)
{
	if (to - from > size)
		return false;
	while (from != to) {
		struct perf_event_header header;
		struct perf_record record;
		if (to - from < sizeof(header))
			return false;
		copy_out(data, size, from, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > to - from)
			return false;
		record.type = header.type;
		record.misc = header.misc;
		record.n = header.size - sizeof(header);
		if (record.n > sizeof(record.body))
			record.n = sizeof(record.body);
		copy_out(data, size, from + sizeof(header), record.body, record.n);
		on_record(ctx, &record);
		from += header.size;
	}
	return true;
}

void perf_ring_drain(struct perf_ring *r, perf_on_record *on_record, void *ctx)
{
	if (!r->fd_plus_1)
		return;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;
	if (head == tail)
		return;
	perf_records_each(
	        (uint8_t *)r->page + page_bytes(), r->data_bytes, tail, head, on_record, ctx);
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}
