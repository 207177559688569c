#include "watch/sockets/listener.h"

#include "watch/process/process_parse.h"
#include "watch/procfile.h"
#include "watch/sockets/owned.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INODES_MAX = 64, LINE_MAX_BYTES = 4096, STAT_BYTES = 1024 };

/* What is looked for, and the sockets that were found for it. */
struct search {
	const char *root;
	int port;
	const char *unix_socket;
	uint64_t inodes[INODES_MAX];
	size_t n;
	bool found; /* the process at hand holds one of them */
};

static void add_inode(struct search *s, struct str word)
{
	if (s->n < INODES_MAX && procfile_u64(word, &s->inodes[s->n]) && s->inodes[s->n] > 0)
		s->n++;
}

/* "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ..." */
static void read_tcp(struct search *s, struct str line)
{
	static const struct str listening = STR_INIT("0A");
	char *end;
	struct str port, words[10];
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = procfile_word(&line);
	(void)str_cut(words[1], ':', &port);
	if (port.len == 4 && strtol(port.s, &end, 16) == s->port && str_eq(words[3], listening))
		add_inode(s, words[9]);
}

/* "Num: RefCount Protocol Flags Type St Inode Path" */
static void read_unix(struct search *s, struct str line)
{
	static const struct str accepts = STR_INIT("00010000"); /* __SO_ACCEPTCON */
	struct str words[7];
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = procfile_word(&line);
	if (str_eq(words[3], accepts) && str_eq(str_trim(line), str_of(s->unix_socket)))
		add_inode(s, words[6]);
}

static void read_table(
        struct search *s, const char *name, void (*read_line)(struct search *s, struct str line))
{
	char path[PROCFILE_PATH_MAX], line[LINE_MAX_BYTES];
	snprintf(path, sizeof(path), "%s/proc/net/%s", s->root, name);
	AUTO(auto_file) FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		read_line(s, str_of(line));
}

static bool is_another(void *ctx, uint64_t inode)
{
	struct search *s = ctx;
	for (size_t i = 0; i < s->n; i++)
		s->found |= s->inodes[i] == inode;
	return !s->found;
}

static bool holds_one(struct search *s, int pid)
{
	s->found = false;
	owned_sockets(s->root, pid, is_another, s);
	return s->found;
}

static int parent_of(const char *root, int pid)
{
	char buf[STAT_BYTES];
	struct str text;
	struct process_stat stat;
	bool known = procfile_once(root, buf, sizeof(buf), &text, "/proc/%d/stat", pid) &&
	             process_parse_stat(text, &stat);
	return known ? (int)stat.parent : 0;
}

static bool is_in(const int *pids, size_t n, int pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static size_t without_children(const char *root, int *pids, size_t n)
{
	size_t kept = 0;
	AUTO(auto_free) bool *child = mem_zeroed(n + 1, sizeof(*child));
	for (size_t i = 0; i < n; i++)
		child[i] = is_in(pids, n, parent_of(root, pids[i]));
	for (size_t i = 0; i < n; i++)
		if (!child[i])
			pids[kept++] = pids[i];
	return kept;
}

size_t listener_find(const char *root, int port, const char *unix_socket, int *ret_pids, size_t max)
{
	struct search s = { .root = root, .port = port, .unix_socket = unix_socket };
	char path[PROCFILE_PATH_MAX];
	size_t n = 0;
	if (unix_socket) {
		read_table(&s, "unix", read_unix);
	} else {
		read_table(&s, "tcp", read_tcp);
		read_table(&s, "tcp6", read_tcp);
	}
	snprintf(path, sizeof(path), "%s/proc", root);
	DIR *d = s.n > 0 ? opendir(path) : NULL;
	for (struct dirent *e; d && n < max && (e = readdir(d));) {
		uint64_t pid;
		if (procfile_u64(str_of(e->d_name), &pid) && holds_one(&s, (int)pid))
			ret_pids[n++] = (int)pid;
	}
	if (d)
		closedir(d);
	return without_children(root, ret_pids, n);
}
