#include "watch/numa/numa_maps.h"

#include "watch/procfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Takes the policy off the line; two of them have a blank inside. */
static struct str take_policy(struct str *line)
{
	struct str policy = procfile_word(line), rest = *line;
	struct str next = procfile_word(&rest);
	bool many = str_eq(policy, STR("prefer")) && str_starts(next, STR("(many)"));
	bool weighted = str_eq(policy, STR("weighted")) && str_starts(next, STR("interleave"));
	if (!many && !weighted)
		return policy;
	*line = rest;
	return (struct str){ policy.s, (size_t)(next.s + next.len - policy.s) };
}

static void add_policy(struct numa_maps *m, struct str name, uint64_t bytes)
{
	size_t i = 0;
	if (name.len >= sizeof(m->policies[0].name))
		name.len = sizeof(m->policies[0].name) - 1;
	while (i < m->n_policies && !str_eq(str_of(m->policies[i].name), name))
		i++;
	if (i == NUMA_POLICIES_MAX)
		return;
	if (i == m->n_policies) {
		m->policies[m->n_policies++] = (struct numa_policy){ 0 };
		memcpy(m->policies[i].name, name.s, name.len);
	}
	m->policies[i].bytes += bytes;
}

/* "N3=17": false for all other words. */
static bool is_node(struct str word, uint64_t *ret_node, uint64_t *ret_pages)
{
	struct str pages, node = str_cut(word, '=', &pages);
	return str_starts(node, STR("N")) &&
	       procfile_u64((struct str){ node.s + 1, node.len - 1 }, ret_node) &&
	       procfile_u64(pages, ret_pages);
}

/* The pages' size stands behind their numbers. */
static uint64_t page_bytes(struct str line)
{
	static const struct str name = STR_INIT("kernelpagesize_kB=");
	uint64_t kib;
	while (line.len) {
		struct str word = procfile_word(&line);
		if (str_starts(word, name) &&
		        procfile_u64(
		                (struct str){ word.s + name.len, word.len - name.len }, &kib) &&
		        kib <= UINT64_MAX / 1024)
			return kib * 1024;
	}
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

void numa_maps_line(struct numa_maps *m, struct str line)
{
	uint64_t size = page_bytes(line), sum = 0, node, pages, bytes;
	procfile_word(&line); /* the address */
	struct str policy = take_policy(&line);
	while (line.len) {
		if (!is_node(procfile_word(&line), &node, &pages) ||
		        __builtin_mul_overflow(pages, size, &bytes) || bytes > UINT64_MAX / 4096)
			continue;
		sum += bytes;
		if (node < NUMA_NODES_MAX)
			m->bytes[node] += bytes;
		else
			m->bytes_beyond += bytes;
	}
	/* Mappings without pages have a policy, and nothing that follows it. */
	if (policy.len && sum)
		add_policy(m, policy, sum);
}

bool numa_maps_read(struct numa_maps *m, int fd, char *buf)
{
	size_t len = 0, total = 0;
	bool too_long = false; /* the begin of the line at hand is lost */
	while (total < NUMA_MAPS_BYTES_MAX) {
		ssize_t n = read(fd, buf + len, NUMA_MAPS_BUF_BYTES - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		total += (size_t)n;
		len += (size_t)n;
		struct str rest = { buf, len };
		const char *end;
		while ((end = memchr(rest.s, '\n', rest.len)) != NULL) {
			struct str line = procfile_line(&rest);
			if (!too_long)
				numa_maps_line(m, line);
			too_long = false;
		}
		too_long |= rest.len == NUMA_MAPS_BUF_BYTES;
		len = too_long ? 0 : rest.len;
		memmove(buf, rest.s, len);
	}
	errno = EFBIG;
	return false;
}

void numa_maps_policies(const struct numa_maps *m, char *buf, size_t size)
{
	bool told[NUMA_POLICIES_MAX] = { false };
	size_t len = 0;
	buf[0] = '\0';
	for (size_t k = 0; k < m->n_policies; k++) {
		size_t most = NUMA_POLICIES_MAX;
		for (size_t i = 0; i < m->n_policies; i++)
			if (!told[i] && (most == NUMA_POLICIES_MAX ||
			                        m->policies[i].bytes > m->policies[most].bytes))
				most = i;
		told[most] = true;
		int n = snprintf(
		        buf + len, size - len, "%s%s", k ? ", " : "", m->policies[most].name);
		if (n < 0 || (size_t)n >= size - len) {
			buf[len] = '\0';
			return;
		}
		len += (size_t)n;
	}
}
