#include "watch/perf/profile_names.h"

#include "watch/procfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 65536 };

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct named *)a)->address, y = ((const struct named *)b)->address;
	return (x > y) - (x < y);
}

void names_sort(struct names *set)
{
	qsort(set->wanted, set->n, sizeof(*set->wanted), compare);
	for (size_t i = 0; i < set->n; i++) {
		struct named *w = &set->wanted[i];
		w->rank = NAME_NONE;
		w->from = 0;
		w->to = UINT64_MAX;
		w->name[0] = '\0';
	}
}

/* The first address that is not below. */
static size_t first_from(const struct names *set, uint64_t address)
{
	size_t low = 0, high = set->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (set->wanted[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Names come from outside: what a terminal would take for a command is replaced. */
static void set_name(struct named *w, struct str name)
{
	size_t len = name.len < PROFILE_NAME_BYTES ? name.len : PROFILE_NAME_BYTES - 1;
	for (size_t i = 0; i < len; i++)
		w->name[i] = (unsigned char)name.s[i] < ' ' || name.s[i] == 127 ? '?' : name.s[i];
	w->name[len] = '\0';
}

static bool is_better(const struct named *w, uint64_t from, enum name_rank rank, bool later)
{
	bool sized = rank == NAME_SIZED, had_sized = w->rank == NAME_SIZED;
	if (sized != had_sized)
		return sized;
	if (later && w->rank != NAME_NONE)
		return true;
	return w->rank == NAME_NONE || from > w->from || (from == w->from && rank > w->rank);
}

static void take(struct named *w, uint64_t from, uint64_t to, enum name_rank rank, struct str name)
{
	w->from = from;
	w->to = to;
	w->rank = rank;
	set_name(w, name);
}

void names_offer(struct names *set, uint64_t from, uint64_t size, enum name_rank rank,
        struct str name, bool later)
{
	size_t i = first_from(set, from);
	uint64_t to;
	if (__builtin_add_overflow(from, size, &to))
		to = UINT64_MAX;
	/* Something begins here: what has no size and lies before it ends here. */
	if (i > 0 && set->wanted[i - 1].rank != NAME_SIZED && set->wanted[i - 1].to > from)
		set->wanted[i - 1].to = from;
	if (size == 0 && i < set->n && is_better(&set->wanted[i], from, rank, later))
		/* Those after it inherit it in names_finish. */
		take(&set->wanted[i], from, set->wanted[i].to, rank, name);
	for (; size > 0 && i < set->n && set->wanted[i].address - from < size; i++)
		if (is_better(&set->wanted[i], from, rank, later))
			take(&set->wanted[i], from, to, rank, name);
}

void names_finish(struct names *set)
{
	for (size_t i = 1; i < set->n; i++) {
		struct named *w = &set->wanted[i];
		const struct named *before = &set->wanted[i - 1];
		if (w->rank == NAME_SIZED || before->rank != NAME_START || before->from < w->from)
			continue;
		take(w, before->from, w->to, before->rank, str_of(before->name));
	}
}

static bool hex_word(struct str word, uint64_t *ret_value)
{
	char digits[24], *end;
	if (word.len == 0 || word.len >= sizeof(digits) || word.s[0] == '-' || word.s[0] == '+')
		return false;
	memcpy(digits, word.s, word.len);
	digits[word.len] = '\0';
	*ret_value = strtoull(digits, &end, 16);
	return *end == '\0';
}

bool names_jit_line(struct str line, uint64_t *ret_from, uint64_t *ret_size, struct str *ret_name)
{
	uint64_t from, size, end;
	if (!hex_word(procfile_word(&line), &from) || !hex_word(procfile_word(&line), &size))
		return false;
	struct str name = str_trim(line);
	if (size == 0 || name.len == 0 || __builtin_add_overflow(from, size, &end))
		return false;
	*ret_from = from;
	*ret_size = size;
	*ret_name = name;
	return true;
}

bool names_kernel_line(struct str line, uint64_t *ret_from, struct str *ret_name)
{
	uint64_t from;
	if (!hex_word(procfile_word(&line), &from) || from == 0)
		return false;
	struct str kind = procfile_word(&line), name = procfile_word(&line);
	if (kind.len != 1 || !strchr("tTwW", kind.s[0]) || name.len == 0)
		return false;
	*ret_from = from;
	*ret_name = name;
	return true;
}

static void offer_jit(struct names *set, struct str line)
{
	uint64_t from, size;
	struct str name;
	if (names_jit_line(line, &from, &size, &name))
		names_offer(set, from, size, NAME_SIZED, name, true);
}

static void offer_kernel(struct names *set, struct str line)
{
	uint64_t from;
	struct str name;
	if (names_kernel_line(line, &from, &name))
		names_offer(set, from, 0, NAME_START, name, false);
}

/* Of a line that is longer than a chunk, the beginning is left out. */
static void each_line(struct names *set, int fd, void (*offer)(struct names *set, struct str line))
{
	AUTO(auto_free) char *chunk = mem_realloc(NULL, CHUNK_BYTES);
	size_t len = 0;
	off_t at = 0;
	while (at < PROFILE_JIT_BYTES_MAX) {
		ssize_t n = pread(fd, chunk + len, CHUNK_BYTES - len, at);
		if (n <= 0)
			break;
		at += n;
		len += (size_t)n;
		struct str rest = { chunk, len };
		while (memchr(rest.s, '\n', rest.len))
			offer(set, procfile_line(&rest));
		len = rest.len < CHUNK_BYTES ? rest.len : 0;
		memmove(chunk, rest.s, len);
	}
	if (len > 0)
		offer(set, (struct str){ chunk, len });
}

void names_read_jit(struct names *set, int fd)
{
	each_line(set, fd, offer_jit);
	names_finish(set);
}

void names_read_kernel(struct names *set)
{
	AUTO(auto_fd) int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		each_line(set, fd, offer_kernel);
	names_finish(set);
}
