/*
 * profile_code.h - the files, JIT regions and kernel that sampled addresses belong to, and the
 * names of what lies at them.
 *
 * A file is opened when it is first met, through the process, so that it can be read after the
 * process has ended, when it was replaced or deleted meanwhile, and when it is in another
 * container.
 */
#ifndef VENTURI_WATCH_PROFILE_CODE_H
#define VENTURI_WATCH_PROFILE_CODE_H

#include "watch/perf/profile_elf.h"
#include "watch/perf/profile_maps.h"

enum { CODE_MODULES_MAX = 1024, CODE_NAME_BYTES = 191 };

enum code_kind {
	CODE_UNKNOWN, /* nobody knows what was there */
	CODE_FILE,
	CODE_JIT, /* written by the process itself */
	CODE_VDSO,
	CODE_KERNEL,
};

struct code_range {
	uint64_t from, to;
	const char *name;
};

struct code_module {
	enum code_kind kind;
	int pid; /* of JIT code */
	uint64_t inode;
	const char *path;
	const char *name; /* as it is shown: "libc.so.6", "[JIT]" */
	int fd;           /* of the file, or of the map of JIT code; -1 */
	int64_t n_read;   /* bytes of the map of JIT code */
	char build_id[PROFILE_BUILD_ID_BYTES];
	struct code_range *known; /* what has had a name before, ascending */
	size_t n_known, cap_known;
};

struct code {
	struct arena memory;
	struct code_module modules[CODE_MODULES_MAX]; /* the first is CODE_UNKNOWN */
	size_t n;
};

/* What wants a name: a place in a file, an address of JIT code or of the kernel. */
struct code_place {
	uint64_t place;
	const char *name; /* NULL: none was found (yet) */
	bool asked;
};

struct code *code_new(void);
void code_free(struct code *c);

size_t code_kernel(struct code *c);
/*
 * The module in which a mapping of a process lies, and the place of an address there.
 *
 * returns  its place in modules; 0, which is CODE_UNKNOWN, also when there are too many
 */
size_t code_module(struct code *c, int pid, const struct profile_maps *maps,
        const struct profile_map *map, uint64_t address, uint64_t *ret_place);

/*
 * Names for the places of one module; those that were asked for in vain are not asked for again,
 * except in JIT code, whose map may grow. Cost: a pass over all symbols of the file, unless all
 * places lie in functions that are known already.
 */
void code_name(struct code *c, size_t module, struct code_place *const *places, size_t n);

#endif
