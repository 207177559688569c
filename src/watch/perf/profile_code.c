#include "watch/perf/profile_code.h"

#include "watch/procfile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct code *code_new(void)
{
	struct code *c = mem_zeroed(1, sizeof(*c));
	c->modules[c->n++] = (struct code_module){
		.kind = CODE_UNKNOWN, .path = "", .name = "[unknown]", .fd = -1
	};
	return c;
}

void code_free(struct code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		if (c->modules[i].fd >= 0)
			close(c->modules[i].fd);
		free(c->modules[i].known);
	}
	arena_release(&c->memory);
	free(c);
}

static size_t find(
        const struct code *c, enum code_kind kind, int pid, uint64_t inode, const char *path)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct code_module *m = &c->modules[i];
		if (m->kind == kind && m->pid == pid && m->inode == inode &&
		        strcmp(m->path, path) == 0)
			return i;
	}
	return 0;
}

static size_t add(struct code *c, enum code_kind kind, int pid, uint64_t inode, const char *path,
        const char *name)
{
	if (c->n == CODE_MODULES_MAX)
		return 0;
	c->modules[c->n] = (struct code_module){
		.kind = kind,
		.pid = pid,
		.inode = inode,
		.path = arena_strdup(&c->memory, path),
		.name = arena_strdup(&c->memory, name),
		.fd = -1,
	};
	return c->n++;
}

size_t code_kernel(struct code *c)
{
	size_t i = find(c, CODE_KERNEL, 0, 0, "");
	return i ? i : add(c, CODE_KERNEL, 0, 0, "", "[kernel]");
}

static enum code_kind kind_of(const char *path)
{
	static const char *const written[] = { "//anon", "[anon", "/memfd:", "/dev/zero", "/SYSV",
		"[heap]", "[stack]", "/anon_hugepage" };
	if (!path[0])
		return CODE_JIT;
	for (size_t i = 0; i < ARRAY_LEN(written); i++)
		if (strncmp(path, written[i], strlen(written[i])) == 0)
			return CODE_JIT;
	if (strcmp(path, "[vdso]") == 0)
		return CODE_VDSO;
	return path[0] == '/' ? CODE_FILE : CODE_UNKNOWN;
}

/* "libc.so.6" of "/lib/libc.so.6 (deleted)" */
static void show_path(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');
	struct str name = str_of(slash ? slash + 1 : path);
	if (str_ends(name, STR(" (deleted)")))
		name.len -= strlen(" (deleted)");
	snprintf(buf, size, "%.*s", STR_ARG(name));
}

static bool is_file(int fd, uint64_t inode)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode);
}

static int open_if_file(const char *path, uint64_t inode)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && !is_file(fd, inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The mapping itself leads to the file, however it is called now; it takes rights to follow it. */
static int open_mapped(int pid, const struct profile_map *map, const char *path)
{
	char name[PROCFILE_PATH_MAX];
	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->from,
	        map->to);
	int fd = open_if_file(name, 0);
	if (fd >= 0 ||
	        snprintf(name, sizeof(name), "/proc/%d/root%s", pid, path) >= (int)sizeof(name))
		return fd;
	fd = open_if_file(name, map->inode);
	return fd >= 0 ? fd : open_if_file(path, map->inode);
}

/*
 * The process writes the map of its code where tools look for it: in its own file system, under the
 * PID that it knows of itself. A file of another user's, or a link, may be somebody's trap.
 */
static int open_jit_map(int pid)
{
	char buf[4096], name[128];
	struct str status, ids;
	struct stat process, file;
	uint64_t own_pid = (uint64_t)pid, id;
	if (!procfile_once("", buf, sizeof(buf), &status, "/proc/%d/status", pid))
		return -1;
	/* the innermost namespace's is the last */
	if (procfile_field(status, "NSpid", &ids))
		for (struct str word; (word = procfile_word(&ids)).len > 0;)
			if (procfile_u64(word, &id))
				own_pid = id;
	snprintf(name, sizeof(name), "/proc/%d", pid);
	if (stat(name, &process) != 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/%d/root/tmp/perf-%" PRIu64 ".map", pid, own_pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) ||
	                       file.st_uid != process.st_uid)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

size_t code_module(struct code *c, int pid, const struct profile_maps *maps,
        const struct profile_map *map, uint64_t address, uint64_t *ret_place)
{
	const char *path = profile_maps_path(maps, map);
	enum code_kind kind = kind_of(path);
	*ret_place = kind == CODE_JIT ? address : address - map->from + map->offset;
	if (kind == CODE_UNKNOWN)
		return 0;
	if (kind == CODE_JIT) {
		size_t i = find(c, kind, pid, 0, "");
		i = i ? i : add(c, kind, pid, 0, "", "[JIT]");
		if (i && c->modules[i].fd < 0)
			c->modules[i].fd = open_jit_map(pid);
		return i;
	}
	size_t i = find(c, kind, 0, map->inode, path);
	if (i)
		return i;
	char name[256];
	show_path(path, name, sizeof(name));
	i = add(c, kind, 0, map->inode, path, name);
	if (i && kind == CODE_FILE)
		c->modules[i].fd = open_mapped(pid, map, path);
	return i;
}

static size_t first_known(const struct code_module *m, uint64_t place)
{
	size_t low = 0, high = m->n_known;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->known[middle].to <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const char *known_name(const struct code_module *m, uint64_t place)
{
	size_t i = first_known(m, place);
	return i < m->n_known && m->known[i].from <= place ? m->known[i].name : NULL;
}

/* What overlaps with a range that is known is not added: names are found by halves. */
static void add_known(struct code_module *m, const struct named *w, const char *name)
{
	size_t i = first_known(m, w->from);
	if (i < m->n_known && m->known[i].from < w->to)
		return;
	if (m->n_known == m->cap_known) {
		m->cap_known = m->cap_known ? m->cap_known * 2 : 32;
		m->known = mem_realloc(m->known, m->cap_known * sizeof(*m->known));
	}
	memmove(m->known + i + 1, m->known + i, (m->n_known - i) * sizeof(*m->known));
	m->known[i] = (struct code_range){ w->from, w->to, name };
	m->n_known++;
}

/* Reads what has grown since the last time only when something has. */
static bool has_grown(struct code_module *m)
{
	struct stat st;
	if (m->fd < 0)
		m->fd = open_jit_map(m->pid);
	if (m->fd < 0 || fstat(m->fd, &st) != 0 || st.st_size == m->n_read)
		return false;
	m->n_read = st.st_size;
	return true;
}

static void read_names(struct code_module *m, struct names *set)
{
	switch (m->kind) {
	case CODE_FILE:
		if (m->fd < 0 || !profile_elf_read(set, m->fd, m->build_id))
			set->n = 0;
		break;
	case CODE_VDSO:
		if (!profile_elf_read_vdso(set))
			set->n = 0;
		break;
	case CODE_JIT:
		names_read_jit(set, m->fd);
		break;
	case CODE_KERNEL:
		names_read_kernel(set);
		break;
	case CODE_UNKNOWN:
		set->n = 0;
		break;
	}
}

/* The readable form of a name of C++, where its library is on this machine. */
static const char *readable(const char *name, struct arena *memory)
{
	typedef char *demangler(const char *name, char *buf, size_t *size, int *status);
	static demangler *demangle;
	static bool looked;
	int status;
	if (strncmp(name, "_Z", 2) != 0)
		return arena_printf(memory, "%.*s", CODE_NAME_BYTES, name);
	if (!looked) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
		memcpy(&demangle, &symbol, sizeof(demangle));
		looked = true;
	}
	AUTO(auto_free) char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
	return arena_printf(memory, "%.*s", CODE_NAME_BYTES, text ? text : name);
}

static void take_names(struct code *c, struct code_module *m, const struct names *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct named *w = &set->wanted[i];
		struct code_place *place = w->whose;
		if (w->rank == NAME_NONE)
			continue;
		place->name = known_name(m, w->address);
		if (!place->name) {
			place->name = readable(w->name, &c->memory);
			add_known(m, w, place->name);
		}
	}
}

void code_name(struct code *c, size_t module, struct code_place *const *places, size_t n)
{
	struct code_module *m = &c->modules[module];
	bool again = m->kind == CODE_JIT && has_grown(m);
	struct names set = { mem_zeroed(n + 1, sizeof(struct named)), 0 };
	struct named *wanted = set.wanted;
	for (size_t i = 0; i < n; i++) {
		struct code_place *place = places[i];
		if (place->name || (place->asked && !again))
			continue;
		place->name = known_name(m, place->place);
		if (!place->name)
			wanted[set.n++] = (struct named){ .address = place->place, .whose = place };
		place->asked = true;
	}
	if (set.n > 0 && (m->kind != CODE_JIT || m->fd >= 0)) {
		names_sort(&set);
		read_names(m, &set);
		take_names(c, m, &set);
	}
	free(wanted);
}
