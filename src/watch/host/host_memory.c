/*
 * Memory of the whole machine: what there is (/proc/meminfo), and what the kernel had to do for it
 * (/proc/vmstat): pages swapped, read again, huge pages made and broken up, tasks that had to wait.
 *
 * Source: Documentation/filesystems/proc.rst and admin-guide/mm/transhuge.rst of Linux
 */
#include "watch/sources.h"

#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 32 * 1024 };

#define THP_PATH "/sys/kernel/mm/transparent_hugepage/enabled"

#define GAUGE_KB(name_, field, help_)                                                              \
	{                                                                                          \
		.name = name_, .unit = "bytes", .kind = WATCH_GAUGE, .scale = 1024,                \
		.from = "/proc/meminfo, " field, .help = help_                                     \
	}
#define GAUGE_N(name_, field, help_)                                                               \
	{                                                                                          \
		.name = name_, .unit = "1", .kind = WATCH_GAUGE, .from = "/proc/meminfo, " field,  \
		.help = help_                                                                      \
	}
#define RATE(name_, field, help_)                                                                  \
	{                                                                                          \
		.name = name_, .unit = "1/s", .kind = WATCH_RATE, .from = "/proc/vmstat, " field,  \
		.help = help_                                                                      \
	}

enum { SWAP_TOTAL = 9, SWAP_FREE, N_INFO, N_VM = 13, THP_MODE = N_INFO + N_VM, N_ROWS };

static const struct watch_row rows[N_ROWS] = {
	GAUGE_KB("host_memory_bytes", "MemTotal", N_("memory that the kernel has to give")),
	GAUGE_KB("host_memory_available_bytes", "MemAvailable",
	        N_("memory that programs can still have without swapping, as the kernel guesses")),
	GAUGE_KB("host_page_cache_bytes", "Cached", N_("contents of files kept in memory")),
	GAUGE_KB("host_dirty_bytes", "Dirty", N_("contents of files still to be written to disk")),
	GAUGE_KB("host_writeback_bytes", "Writeback",
	        N_("contents of files that are being written to disk")),
	GAUGE_KB("host_anon_hugepage_bytes", "AnonHugePages",
	        N_("memory of programs in transparent huge pages")),
	GAUGE_N("host_hugepages", "HugePages_Total",
	        N_("huge pages set aside by the administrator")),
	GAUGE_N("host_hugepages_free", "HugePages_Free",
	        N_("huge pages set aside that nobody uses")),
	GAUGE_KB("host_hugepage_size_bytes", "Hugepagesize", N_("size of a huge page")),
	GAUGE_KB("host_swap_bytes", "SwapTotal", N_("room for memory that is swapped out")),
	GAUGE_KB("host_swap_free_bytes", "SwapFree",
	        N_("room for memory that is swapped out, still free")),

	RATE("host_swap_in_pages_per_s", "pswpin", N_("pages that came back from swap")),
	RATE("host_swap_out_pages_per_s", "pswpout", N_("pages that were swapped out")),
	RATE("host_refault_pages_per_s", "workingset_refault*",
	        N_("pages that were needed again soon after they had been dropped")),
	RATE("host_major_faults_per_s", "pgmajfault",
	        N_("accesses to memory that had to wait for a disk")),
	RATE("host_page_faults_per_s", "pgfault",
	        N_("accesses to memory that the kernel had to provide for")),
	RATE("host_thp_alloc_per_s", "thp_fault_alloc",
	        N_("transparent huge pages given at an access")),
	RATE("host_thp_fallback_per_s", "thp_fault_fallback",
	        N_("times that small pages were given because there was no huge one")),
	RATE("host_thp_split_per_s", "thp_split_page", N_("huge pages that were broken up")),
	RATE("host_thp_collapse_per_s", "thp_collapse_alloc",
	        N_("huge pages put together from small ones in the background")),
	RATE("host_compaction_stalls_per_s", "compact_stall",
	        N_("times that a task had to wait until memory was moved together")),
	RATE("host_direct_reclaims_per_s", "allocstall*",
	        N_("times that a task had to free memory itself before it got some")),
	RATE("host_reclaim_scans_per_s", "pgscan_kswapd*",
	        N_("pages looked at in the background for memory to free")),
	RATE("host_oom_kills_per_s", "oom_kill",
	        N_("processes killed because memory ran out, here or in a group")),
	[THP_MODE] = { .name = "host_thp_mode",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = THP_PATH,
	        .help = N_("who gets transparent huge pages: always, madvise or never") },
};

static const struct keyed_name info_keys[N_INFO] = {
	{ "MemTotal", false },
	{ "MemAvailable", false },
	{ "Cached", false },
	{ "Dirty", false },
	{ "Writeback", false },
	{ "AnonHugePages", false },
	{ "HugePages_Total", false },
	{ "HugePages_Free", false },
	{ "Hugepagesize", false },
	[SWAP_TOTAL] = { "SwapTotal", false },
	[SWAP_FREE] = { "SwapFree", false },
};

static const struct keyed_name vm_keys[N_VM] = {
	{ "pswpin", false },
	{ "pswpout", false },
	{ "workingset_refault", true }, /* one until 5.8, then _anon and _file */
	{ "pgmajfault", false },
	{ "pgfault", false },
	{ "thp_fault_alloc", false },
	{ "thp_fault_fallback", false },
	{ "thp_split_page", false },
	{ "thp_collapse_alloc", false },
	{ "compact_stall", false },
	{ "allocstall", true },    /* one until 4.9, then one for each zone */
	{ "pgscan_kswapd", true }, /* the same */
	{ "oom_kill", false },
};

struct host_memory {
	const char *root;
	struct procfile info_file, vm_file;
	int info_code, vm_code; /* why they are not open */
	struct keyed info, vm;
	struct channel *thp_mode;
	char text[TEXT_BYTES];
};

/* False: the kernel did not give the file, which the channels say. */
static bool take(struct host_memory *self, const struct procfile *file, int code,
        struct keyed *keyed, const char *path)
{
	struct str text;
	if (code == 0 && !procfile_read(file, self->text, sizeof(self->text), &text))
		code = errno;
	if (code != 0) {
		keyed_unreadable(keyed, path, code);
		return false;
	}
	keyed_clear(keyed);
	keyed_lines(keyed, text);
	return true;
}

static void take_info(struct host_memory *self)
{
	static const char path[] = "/proc/meminfo";
	struct keyed_value *values = self->info.values;
	if (!take(self, &self->info_file, self->info_code, &self->info, path))
		return;
	/* Nothing is free of what there is not. */
	if (values[SWAP_TOTAL].found && values[SWAP_TOTAL].value == 0)
		values[SWAP_FREE] = (struct keyed_value){ .why = _("this machine has no swap") };
	keyed_write(&self->info, path);
}

static void take_vm(struct host_memory *self)
{
	static const char path[] = "/proc/vmstat";
	if (take(self, &self->vm_file, self->vm_code, &self->vm, path))
		keyed_write(&self->vm, path);
}

/* The chosen one of "always [madvise] never". */
static void take_thp_mode(struct host_memory *self)
{
	struct str text, mode;
	if (!procfile_once(self->root, self->text, sizeof(self->text), &text, "%s", THP_PATH)) {
		channel_unreadable(self->thp_mode, THP_PATH, errno);
		return;
	}
	str_cut(text, '[', &mode);
	mode = str_cut(mode, ']', &text);
	if (mode.len)
		channel_text(self->thp_mode, mode);
}

static void host_memory_sample(void *self_, int64_t now_ns)
{
	struct host_memory *self = self_;
	(void)now_ns;
	take_info(self);
	take_vm(self);
	take_thp_mode(self);
}

static bool host_memory_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct host_memory *self = arena_new(run, struct host_memory);
	(void)err;
	self->root = config->root;
	if (!procfile_open(&self->info_file, config->root, "/proc/meminfo"))
		self->info_code = errno;
	if (!procfile_open(&self->vm_file, config->root, "/proc/vmstat"))
		self->vm_code = errno;
	keyed_init(&self->info, rows, info_keys, N_INFO, board, NULL, run);
	keyed_init(&self->vm, &rows[N_INFO], vm_keys, N_VM, board, NULL, run);
	self->thp_mode = board_channel(board, &rows[THP_MODE], NULL);
	*ret_self = self;
	return true;
}

static void host_memory_close(void *self_)
{
	struct host_memory *self = self_;
	procfile_close(&self->info_file);
	procfile_close(&self->vm_file);
}

const struct watch_source host_memory_source = {
	.name = "host_memory",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.period_ns = NS_PER_S,
	.open = host_memory_open,
	.sample = host_memory_sample,
	.close = host_memory_close,
};
