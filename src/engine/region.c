#include "engine/region.h"

#include "base/i18n.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, LINE = 64, NODES_MAX = 1024 };

struct region {
	char *base; /* aligned to HUGE_PAGE */
	size_t bytes, used;
	void *mapping;
	size_t mapping_bytes;
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* A wish: a kernel without NUMA, or a node that is not there, leaves the first touch to decide. */
static void prefer_node(const struct region *r, int node)
{
	unsigned long mask[NODES_MAX / (8 * sizeof(long))] = { 0 };
	if (node < 0 || node >= NODES_MAX)
		return;
	mask[(size_t)node / (8 * sizeof(long))] = 1ul << ((size_t)node % (8 * sizeof(long)));
	(void)syscall(SYS_mbind, r->base, r->bytes, MPOL_PREFERRED, mask, NODES_MAX + 1, 0);
}

bool region_open(const struct region_options *options, struct region **ret_region, struct err *err)
{
	struct region *r = calloc(1, sizeof(*r));
	if (!r || options->bytes > SIZE_MAX / 2)
		goto failed;
	r->bytes = round_up(options->bytes, HUGE_PAGE);
	r->mapping_bytes = r->bytes + HUGE_PAGE;
	r->mapping = mmap(NULL, r->mapping_bytes, PROT_READ | PROT_WRITE,
	        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->mapping == MAP_FAILED)
		goto failed;
	r->base = (char *)round_up((size_t)r->mapping, HUGE_PAGE);
	(void)madvise(r->base, r->bytes, options->huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	prefer_node(r, options->node);
	*ret_region = r;
	return true;
failed:
	free(r);
	return err_set(err, ERR_SYSTEM, _("cannot reserve %zu bytes of memory: %s"), options->bytes,
	        strerror(ENOMEM));
}

void region_close(struct region *r)
{
	if (!r)
		return;
	munmap(r->mapping, r->mapping_bytes);
	free(r);
}

void *region_alloc(struct region *r, size_t bytes)
{
	if (bytes > r->bytes - r->used)
		return NULL;
	void *p = r->base + r->used;
	r->used += round_up(bytes, LINE); /* r->bytes is a multiple of LINE too */
	return p;
}

size_t region_used(const struct region *r)
{
	return r->used;
}
