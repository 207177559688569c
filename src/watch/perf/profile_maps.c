#include "watch/perf/profile_maps.h"

#include "watch/procfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool hex(struct str text, uint64_t *ret_value)
{
	uint64_t value = 0;
	if (text.len == 0 || text.len > 16)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.s[i];
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
		                                        : 16;
		if (digit > 15)
			return false;
		value = value * 16 + digit;
	}
	*ret_value = value;
	return true;
}

bool profile_maps_line(struct str line, struct profile_map *ret_map, struct str *ret_path)
{
	struct str to, from = str_cut(procfile_word(&line), '-', &to);
	struct str rights = procfile_word(&line), offset = procfile_word(&line);
	(void)procfile_word(&line); /* the device */
	struct profile_map map = { 0 };
	if (rights.len < 3 || rights.s[2] != 'x')
		return false;
	if (!hex(from, &map.from) || !hex(to, &map.to) || !hex(offset, &map.offset) ||
	        !procfile_u64(procfile_word(&line), &map.inode) || map.from >= map.to)
		return false;
	*ret_map = map;
	*ret_path = str_trim(line);
	return true;
}

static void add_line(struct profile_maps *m, struct str line)
{
	struct profile_map map;
	struct str path;
	if (m->n == PROFILE_MAPS_MAX || !profile_maps_line(line, &map, &path))
		return;
	/* What is looked up by halves has to ascend, which the kernel sees to. */
	if (m->n > 0 && map.from < m->maps[m->n - 1].to)
		return;
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 64;
		m->maps = mem_realloc(m->maps, m->cap * sizeof(*m->maps));
	}
	map.path_at = m->paths.len;
	buf_add(&m->paths, path);
	buf_add_char(&m->paths, '\0');
	m->maps[m->n++] = map;
}

bool profile_maps_read(struct profile_maps *m, int pid)
{
	char name[32];
	AUTO(auto_free) char *line = NULL;
	size_t cap = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	AUTO(auto_file) FILE *f = fopen(name, "re");
	if (!f)
		return false;
	ssize_t len = getline(&line, &cap, f);
	if (len <= 0) /* a process that has ended has none */
		return false;
	m->n = 0;
	buf_clear(&m->paths);
	for (; len > 0; len = getline(&line, &cap, f))
		add_line(m, (struct str){ line, (size_t)len });
	return true;
}

void profile_maps_release(struct profile_maps *m)
{
	free(m->maps);
	buf_release(&m->paths);
	*m = (struct profile_maps){ 0 };
}

const struct profile_map *profile_maps_find(const struct profile_maps *m, uint64_t address)
{
	size_t low = 0, high = m->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->maps[middle].to <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->n && m->maps[low].from <= address ? &m->maps[low] : NULL;
}

const char *profile_maps_path(const struct profile_maps *m, const struct profile_map *map)
{
	return m->paths.s + map->path_at;
}
