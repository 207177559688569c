#include "watch/perf/wait_kind.h"

#include "watch/procfile.h"

#include <string.h>
#include <sys/syscall.h>

const char *const wait_kind_names[WAIT_KINDS] = {
	[WAIT_CPU] = "cpu",
	[WAIT_LOCK] = "lock",
	[WAIT_EVENTS] = "events",
	[WAIT_NETWORK] = "network",
	[WAIT_IO] = "io",
	[WAIT_STORAGE] = "storage",
	[WAIT_SLEEP] = "sleep",
	[WAIT_MEMORY] = "memory",
	[WAIT_DEVICE] = "device",
	[WAIT_OTHER] = "other",
};

/* Newer processors' kernels have only the younger form of some calls. */
static const struct {
	long number;
	enum wait_kind kind;
} calls[] = {
	{ SYS_futex, WAIT_LOCK },
#ifdef SYS_futex_waitv
	{ SYS_futex_waitv, WAIT_LOCK },
#endif
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, WAIT_EVENTS },
	{ SYS_poll, WAIT_EVENTS },
	{ SYS_select, WAIT_EVENTS },
#endif
	{ SYS_epoll_pwait, WAIT_EVENTS },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, WAIT_EVENTS },
#endif
	{ SYS_ppoll, WAIT_EVENTS },
	{ SYS_pselect6, WAIT_EVENTS },
	{ SYS_io_getevents, WAIT_EVENTS },
#ifdef SYS_io_uring_enter
	{ SYS_io_uring_enter, WAIT_EVENTS },
#endif
	{ SYS_recvfrom, WAIT_NETWORK },
	{ SYS_recvmsg, WAIT_NETWORK },
	{ SYS_recvmmsg, WAIT_NETWORK },
	{ SYS_sendto, WAIT_NETWORK },
	{ SYS_sendmsg, WAIT_NETWORK },
	{ SYS_sendmmsg, WAIT_NETWORK },
	{ SYS_accept, WAIT_NETWORK },
	{ SYS_accept4, WAIT_NETWORK },
	{ SYS_connect, WAIT_NETWORK },
	{ SYS_read, WAIT_IO },
	{ SYS_readv, WAIT_IO },
	{ SYS_write, WAIT_IO },
	{ SYS_writev, WAIT_IO },
	{ SYS_splice, WAIT_IO },
	{ SYS_pread64, WAIT_STORAGE },
	{ SYS_pwrite64, WAIT_STORAGE },
	{ SYS_preadv, WAIT_STORAGE },
	{ SYS_pwritev, WAIT_STORAGE },
	{ SYS_fsync, WAIT_STORAGE },
	{ SYS_fdatasync, WAIT_STORAGE },
	{ SYS_sync_file_range, WAIT_STORAGE },
	{ SYS_msync, WAIT_STORAGE },
	{ SYS_openat, WAIT_STORAGE },
	{ SYS_getdents64, WAIT_STORAGE },
	{ SYS_nanosleep, WAIT_SLEEP },
	{ SYS_clock_nanosleep, WAIT_SLEEP },
	{ SYS_mmap, WAIT_MEMORY },
	{ SYS_munmap, WAIT_MEMORY },
	{ SYS_mprotect, WAIT_MEMORY },
	{ SYS_mremap, WAIT_MEMORY },
	{ SYS_madvise, WAIT_MEMORY },
	{ SYS_brk, WAIT_MEMORY },
	{ SYS_ioctl, WAIT_DEVICE },
};

/* The first that the name begins with; names of the kernel's functions differ with its version. */
static const struct {
	const char *begin;
	enum wait_kind kind;
} channels[] = {
	{ "futex_", WAIT_LOCK },
	{ "ep_poll", WAIT_EVENTS },
	{ "do_epoll_wait", WAIT_EVENTS },
	{ "poll_schedule", WAIT_EVENTS },
	{ "do_sys_poll", WAIT_EVENTS },
	{ "do_select", WAIT_EVENTS },
	{ "io_cqring", WAIT_EVENTS },
	{ "hrtimer_nanosleep", WAIT_SLEEP },
	{ "do_nanosleep", WAIT_SLEEP },
	{ "sk_", WAIT_NETWORK },
	{ "inet_csk", WAIT_NETWORK },
	{ "unix_", WAIT_NETWORK },
	{ "__skb_wait", WAIT_NETWORK },
	{ "tcp_", WAIT_NETWORK },
	{ "pipe_", WAIT_IO },
	{ "anon_pipe", WAIT_IO },
	{ "eventfd_", WAIT_IO },
	{ "wait_woken", WAIT_IO },
	{ "io_schedule", WAIT_STORAGE },
	{ "folio_wait", WAIT_STORAGE },
	{ "wait_on_page", WAIT_STORAGE },
	{ "blk_", WAIT_STORAGE },
	{ "jbd2_", WAIT_STORAGE },
	{ "xfs_", WAIT_STORAGE },
	{ "ext4_", WAIT_STORAGE },
	{ "rpc_", WAIT_STORAGE },
	{ "filemap_fault", WAIT_MEMORY },
	{ "swap_", WAIT_MEMORY },
};

/* A thread of the kernel makes no calls: its stack pointer and all else is 0. */
static bool is_kernels(struct str text)
{
	enum { N_ARGUMENTS = 6 };
	for (int i = 0; i < N_ARGUMENTS; i++)
		procfile_word(&text);
	return str_eq(procfile_word(&text), STR("0x0"));
}

bool wait_kind_of_syscall(struct str text, enum wait_kind *ret_kind)
{
	struct str word = procfile_word(&text);
	uint64_t number;
	if (str_eq(word, STR("running"))) {
		*ret_kind = WAIT_CPU;
		return true;
	}
	/* Asleep in the kernel, but not by a call: it touched a page that is not there. */
	if (str_eq(word, STR("-1"))) {
		*ret_kind = WAIT_MEMORY;
		return true;
	}
	if (!procfile_u64(word, &number))
		return false;
	*ret_kind = WAIT_OTHER;
	if (is_kernels(text))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if ((uint64_t)calls[i].number == number)
			*ret_kind = calls[i].kind;
	return true;
}

bool wait_kind_of_wchan(struct str text, enum wait_kind *ret_kind)
{
	text = str_trim(text);
	if (text.len == 0 || str_eq(text, STR("0")))
		return false;
	*ret_kind = WAIT_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(channels); i++) {
		if (str_starts(text, str_of(channels[i].begin))) {
			*ret_kind = channels[i].kind;
			break;
		}
	}
	return true;
}
