#include "watch/process/process_watched.h"

#include "watch/process/process_parse.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PIECE_BYTES = 1024, /* of a folder of files: some 40 of them */
	PIECES_MAX = 100,   /* at once */
	LINK_BYTES = 32,
};
/* Open files and pages. */
#define SELDOM_NS (5 * NS_PER_S)
/* What walking through pages may take: its share of the time, at once, and when nobody waits yet.
 */
#define PAGES_SHARE 0.002
#define PAGES_NS_MAX (50 * NS_PER_MS)
#define PAGES_FIRST_NS_MAX (500 * NS_PER_MS)
/* Before it was measured: 25 ns for a page of 4 KiB. */
#define PAGES_NS_PER_BYTE (25.0 / 4096)

static void count(struct process *p, enum process_counter c, uint64_t value)
{
	if (value == PROCESS_ABSENT)
		return;
	if (p->has_stand[c] && value > p->stands[c])
		p->grown[c] += value - p->stands[c];
	p->has_stand[c] = true;
	p->stands[c] = value;
}

static void show(struct process *p, enum process_gauge g, uint64_t value)
{
	p->shown[g] = value == PROCESS_ABSENT ? NAN : (double)value;
}

static bool read_file(struct process *p, const struct procfile *kept, const char *name,
        enum process_group group, struct str *ret_text)
{
	char *text = p->place->threads.text;
	bool ok = procfile_is_open(kept) ? procfile_read(kept, text, THREADS_TEXT_BYTES, ret_text)
	                                 : procfile_once_at(p->dir_fd_plus_1 - 1, text,
	                                           THREADS_TEXT_BYTES, ret_text, name);
	p->error[group] = ok ? 0 : errno;
	return ok;
}

/* A zombie is over: it only waits for its parent to ask. */
static bool is_alive(const struct process *p, const struct process_stat *stat)
{
	return stat->state != 'Z' && stat->state != 'X' && stat->start_ticks == p->start_ticks;
}

static bool read_stat(struct process *p, struct process_stat *ret_stat)
{
	struct str text;
	if (!read_file(p, &p->stat, "stat", GROUP_STAT, &text)) {
		p->has_ended = p->error[GROUP_STAT] == ESRCH || p->error[GROUP_STAT] == ENOENT;
		return false;
	}
	if (process_parse_stat(text, ret_stat))
		return true;
	p->error[GROUP_STAT] = EBADMSG;
	return false;
}

static void count_stat(struct process *p, const struct process_stat *stat)
{
	uint64_t tick_ns = (uint64_t)p->place->tick_ns;
	count(p, COUNT_USER_NS, stat->user_ticks * tick_ns);
	count(p, COUNT_SYSTEM_NS, stat->system_ticks * tick_ns);
	count(p, COUNT_MINOR, stat->minor_faults);
	count(p, COUNT_MAJOR, stat->major_faults);
	if (!p->threads.has_clock)
		count(p, COUNT_CPU_NS, (stat->user_ticks + stat->system_ticks) * tick_ns);
	show(p, SHOW_THREADS, stat->n_threads);
	p->threads.wants_scan |= stat->n_threads != p->threads.n + p->threads.n_left_out;
}

static void look_at_stat(struct process *p)
{
	struct process_stat stat;
	if (!read_stat(p, &stat))
		return;
	if (is_alive(p, &stat))
		count_stat(p, &stat);
	else
		p->has_ended = true;
}

static void look_at_status(struct process *p)
{
	struct process_status status;
	struct str text;
	if (!read_file(p, &p->status, "status", GROUP_STATUS, &text))
		return;
	process_parse_status(text, &status);
	show(p, SHOW_RSS, status.rss);
	show(p, SHOW_ANONYMOUS, status.anonymous);
	show(p, SHOW_FILE, status.file);
	show(p, SHOW_SHARED, status.shared);
	show(p, SHOW_SWAP, status.swap);
	show(p, SHOW_LOCKED, status.locked);
	show(p, SHOW_HUGETLB, status.hugetlb);
	snprintf(p->mems, sizeof(p->mems), "%.*s", STR_ARG(status.mems));
}

static void look_at_io(struct process *p)
{
	struct process_io io;
	struct str text;
	if (!read_file(p, &p->io, "io", GROUP_IO, &text))
		return;
	process_parse_io(text, &io);
	count(p, COUNT_READ_BYTES, io.read_bytes);
	count(p, COUNT_WRITE_BYTES, io.write_bytes);
	count(p, COUNT_RCHAR, io.rchar);
	count(p, COUNT_WCHAR, io.wchar);
	count(p, COUNT_READS, io.n_reads);
	count(p, COUNT_WRITES, io.n_writes);
}

void process_look_at_files(struct process *p)
{
	look_at_stat(p);
	if (p->has_ended)
		return;
	look_at_status(p);
	look_at_io(p);
}

static void look_at_threads(struct process *p)
{
	const struct thread_set *t = &p->threads;
	if (t->has_clock)
		count(p, COUNT_CPU_NS, t->clock_ns);
	p->grown[COUNT_WAIT_NS] = t->wait_ns;
	p->grown[COUNT_RUN_NS] = t->run_ns;
	p->grown[COUNT_VOLUNTARY] = t->voluntary;
	p->grown[COUNT_INVOLUNTARY] = t->involuntary;
	p->error[GROUP_WAITS] = t->has_schedstat ? t->error : ENOSYS;
	p->error[GROUP_STATES] = p->error[GROUP_BUSIEST] = t->error;
}

void process_look(struct process *p, int64_t now_ns, bool all)
{
	threads_look(&p->threads, now_ns, all);
	p->has_ended |= p->threads.error == ESRCH;
	if (!p->threads.has_clock)
		look_at_stat(p);
	if (p->has_ended)
		return;
	look_at_threads(p);
	struct threads_states states = threads_count_states(&p->threads);
	p->shown[SHOW_RUNNING] = (double)states.n_running;
	p->shown[SHOW_SLEEPING] = (double)states.n_sleeping;
	p->shown[SHOW_BLOCKED] = (double)states.n_blocked;
}

static void walk_pages(struct process *p, int64_t now_ns)
{
	static const struct procfile none;
	struct process_rollup rollup = { PROCESS_ABSENT, PROCESS_ABSENT, PROCESS_ABSENT };
	struct str text;
	int64_t start_ns = clock_now_ns();
	if (read_file(p, &none, "smaps_rollup", GROUP_ROLLUP, &text))
		process_parse_rollup(text, &rollup);
	int64_t took_ns = clock_now_ns() - start_ns;
	int64_t pause_ns = (int64_t)((double)took_ns / PAGES_SHARE);
	p->rollup_next_ns = now_ns + (pause_ns > SELDOM_NS ? pause_ns : SELDOM_NS);
	if (p->shown[SHOW_RSS] > 0)
		p->rollup_ns_per_byte = (double)took_ns / p->shown[SHOW_RSS];
	show(p, SHOW_PSS, rollup.pss);
	show(p, SHOW_PRIVATE_DIRTY, rollup.private_dirty);
	show(p, SHOW_ANONYMOUS_HUGE, rollup.anonymous_huge);
}

bool process_look_at_pages(struct process *p, int64_t now_ns)
{
	bool is_first = p->rollup_next_ns == 0;
	if (now_ns < p->rollup_next_ns)
		return false;
	if (p->rollup_ns_per_byte * p->shown[SHOW_RSS] <=
	        (double)(is_first ? PAGES_FIRST_NS_MAX : PAGES_NS_MAX)) {
		walk_pages(p, now_ns);
		return true;
	}
	p->error[GROUP_ROLLUP] = EFBIG;
	p->rollup_next_ns = now_ns + SELDOM_NS;
	return true;
}

static void read_files_limit(struct process *p)
{
	static const struct procfile none;
	struct str text;
	uint64_t limit = PROCESS_ABSENT;
	if (read_file(p, &none, "limits", GROUP_FILES, &text))
		limit = process_parse_files_limit(text);
	p->files_limit = limit == PROCESS_ABSENT || limit == 0 ? NAN : (double)limit;
}

static void show_files(struct process *p, int64_t n)
{
	p->error[GROUP_FILES] = 0;
	p->shown[SHOW_FILES] = (double)n;
	p->shown[SHOW_FILES_RATIO] = (double)n / p->files_limit;
}

/* Since Linux 6.2 the size of the folder is the number of files: known before the list is. */
static void show_files_by_size(struct process *p)
{
	struct stat st;
	if (p->place->is_here && fstat(p->files_fd_plus_1 - 1, &st) == 0 && st.st_size > 0)
		show_files(p, st.st_size);
}

static void fail_files(struct process *p)
{
	p->error[GROUP_FILES] = p->error[GROUP_SOCKETS] = errno;
	p->is_counting_files = false;
}

static void begin_files(struct process *p, int64_t now_ns)
{
	p->files_next_ns = now_ns + SELDOM_NS;
	if (!p->files_fd_plus_1)
		p->files_fd_plus_1 =
		        1 + openat(p->dir_fd_plus_1 - 1, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!p->files_fd_plus_1 || lseek(p->files_fd_plus_1 - 1, 0, SEEK_SET) != 0) {
		fail_files(p);
		return;
	}
	p->is_counting_files = true;
	p->n_files = p->n_sockets = 0;
	if (p->error[GROUP_SOCKETS] != EAGAIN)
		p->error[GROUP_SOCKETS] = 0;
	read_files_limit(p);
	p->error[GROUP_FILES] = isnan(p->shown[SHOW_FILES]) ? EAGAIN : 0;
	show_files_by_size(p);
}

static void end_files(struct process *p)
{
	p->is_counting_files = false;
	if (p->error[GROUP_SOCKETS] == EAGAIN)
		p->error[GROUP_SOCKETS] = 0;
	p->shown[SHOW_SOCKETS] = p->error[GROUP_SOCKETS] ? NAN : (double)p->n_sockets;
	show_files(p, p->n_files);
}

static void count_file(struct process *p, const char *name)
{
	static const struct str socket = STR_INIT("socket:");
	char link[LINK_BYTES];
	if (name[0] < '0' || name[0] > '9')
		return;
	p->n_files++;
	ssize_t n = readlinkat(p->files_fd_plus_1 - 1, name, link, sizeof(link));
	if (n >= 0)
		p->n_sockets += str_starts((struct str){ link, (size_t)n }, socket);
	else if (errno == EACCES || errno == EPERM)
		p->error[GROUP_SOCKETS] = errno;
}

/* The bytes of the piece; 0: the list is at its end; below 0: errno says why not. */
static long count_piece(struct process *p)
{
	char *piece = p->place->threads.text;
	long got = syscall(SYS_getdents64, p->files_fd_plus_1 - 1, piece, PIECE_BYTES);
	for (long at = 0; at < got;) {
		const struct dirent64 *entry = (const void *)(piece + at);
		at += entry->d_reclen;
		count_file(p, entry->d_name);
	}
	return got;
}

bool process_look_at_open_files(struct process *p, int64_t now_ns, bool all)
{
	if (!p->is_counting_files) {
		if (now_ns < p->files_next_ns && !all)
			return false;
		begin_files(p, now_ns);
	}
	for (int i = 0; p->is_counting_files && i < (all ? PIECES_MAX : 1); i++) {
		long got = count_piece(p);
		if (got == 0)
			end_files(p);
		else if (got < 0)
			fail_files(p);
	}
	return !p->is_counting_files;
}

static void keep_open(struct process *p, struct procfile *f, const char *name)
{
	struct threads_shared *shared = &p->place->threads;
	if (shared->n_kept < shared->n_kept_max)
		shared->n_kept += procfile_open_at(f, p->dir_fd_plus_1 - 1, name);
}

/* A child that was found at once is counted from its birth on. */
static bool is_just_born(const struct process *p)
{
	int64_t born_ns = (int64_t)p->start_ticks * p->place->tick_ns;
	return p->place->is_here && !p->is_asked_for &&
	       clock_read_ns(CLOCK_BOOTTIME) - born_ns <=
	               2 * p->place->interval_ns + p->place->tick_ns;
}

static void open_files(struct process *p)
{
	char children[48];
	snprintf(children, sizeof(children), "task/%d/children", p->pid);
	keep_open(p, &p->stat, "stat");
	keep_open(p, &p->status, "status");
	keep_open(p, &p->io, "io");
	keep_open(p, &p->children, children);
}

/* errno is kept. */
static bool give_up(struct process *p, int code)
{
	process_close(p);
	errno = code;
	return false;
}

bool process_open(
        struct process *p, struct process_place *place, int pid, bool is_asked_for, int64_t now_ns)
{
	char path[PROCFILE_PATH_MAX];
	struct process_stat stat;
	snprintf(path, sizeof(path), "%s/proc/%d", place->root, pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*p = (struct process){ .place = place,
		.pid = pid,
		.is_asked_for = is_asked_for,
		.since_ns = now_ns,
		.dir_fd_plus_1 = fd + 1,
		.rollup_ns_per_byte = PAGES_NS_PER_BYTE };
	for (size_t i = 0; i < PROCESS_N_GAUGES; i++)
		p->shown[i] = NAN;
	p->error[GROUP_ROLLUP] = p->error[GROUP_FILES] = p->error[GROUP_SOCKETS] = EAGAIN;
	if (fd < 0)
		return false;
	open_files(p);
	if (!read_stat(p, &stat))
		return give_up(p, p->error[GROUP_STAT]);
	p->start_ticks = stat.start_ticks;
	if (!is_alive(p, &stat))
		return give_up(p, ESRCH);
	process_name(p->name, sizeof(p->name), stat.name);
	snprintf(p->label, sizeof(p->label), "%d %s", pid, p->name);
	if (is_just_born(p))
		memset(p->has_stand, true, sizeof(p->has_stand));
	threads_open(&p->threads, &place->threads, pid, fd, place->is_here, now_ns);
	look_at_threads(p);
	process_look_at_files(p);
	return true;
}

void process_close(struct process *p)
{
	struct procfile *const files[] = { &p->stat, &p->status, &p->io, &p->children };
	if (p->threads.shared)
		threads_close(&p->threads);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		p->place->threads.n_kept -= procfile_is_open(files[i]);
		procfile_close(files[i]);
	}
	if (p->files_fd_plus_1)
		close(p->files_fd_plus_1 - 1);
	if (p->dir_fd_plus_1)
		close(p->dir_fd_plus_1 - 1);
	p->files_fd_plus_1 = p->dir_fd_plus_1 = 0;
}
