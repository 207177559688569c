/*
 * Disks, from /proc/diskstats: whole devices that have ever been used, not their partitions.
 *
 * Source: Documentation/admin-guide/iostats.rst of Linux; times are in ms and wrap at 32 bits
 */
#include "watch/sources.h"

#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	DISKS_MAX = 512, /* partitions among them */
	DISKS_SHOWN = 64,
	NAME_BYTES = 40, /* DISK_NAME_LEN is 32 */
	TEXT_BYTES = 128 * 1024,
	SECTOR_BYTES = 512, /* whatever the disk's own are */
};

/* The columns after major, minor and name. */
enum {
	READS,
	READS_MERGED,
	SECTORS_READ,
	MS_READING,
	WRITES,
	WRITES_MERGED,
	SECTORS_WRITTEN,
	MS_WRITING,
	IN_FLIGHT,
	MS_BUSY,
	MS_WEIGHTED,
	N_COLUMNS
};

enum { READ_BYTES, WRITE_BYTES, OPS, WAIT, BUSY, NOW, N_ROWS };

static const struct watch_row rows[N_ROWS] = {
	[READ_BYTES] = { .name = "host_disk_read_bytes_per_s",
	        .unit = "bytes/s",
	        .kind = WATCH_RATE,
	        .scale = SECTOR_BYTES,
	        .from = "/proc/diskstats, sectors read",
	        .help = N_("what was read from a disk") },
	[WRITE_BYTES] = { .name = "host_disk_write_bytes_per_s",
	        .unit = "bytes/s",
	        .kind = WATCH_RATE,
	        .scale = SECTOR_BYTES,
	        .from = "/proc/diskstats, sectors written",
	        .help = N_("what was written to a disk") },
	[OPS] = { .name = "host_disk_ops_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/proc/diskstats, reads + writes completed",
	        .help = N_("reads and writes that a disk ended") },
	[WAIT] = { .name = "host_disk_wait_ms",
	        .unit = "ms",
	        .kind = WATCH_SHARE,
	        .from = "/proc/diskstats, ms reading + writing, for each read and write",
	        .help = N_("how long a read or write took, its waiting included") },
	[BUSY] = { .name = "host_disk_busy_ratio",
	        .unit = "ratio",
	        .kind = WATCH_RATE,
	        .scale = 1e-3,
	        .bits = 32,
	        .most = 1,
	        .from = "/proc/diskstats, ms doing I/O",
	        .help = N_("share of the time in which a disk had at least one request; one that "
	                   "serves several at once may still have room at 1") },
	[NOW] = { .name = "host_disk_in_flight",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/diskstats, I/Os in progress",
	        .help = N_("requests that a disk has not ended") },
};

struct disk {
	char name[NAME_BYTES];
	bool is_shown;
	uint64_t ms_before, ms; /* reading and writing: as the kernel has it, and without wraps */
	bool has_before;
	struct channel *channels[N_ROWS];
};

struct host_disk {
	const char *root;
	struct board *board;
	struct procfile file;
	struct disk disks[DISKS_MAX];
	size_t n, n_shown;
	bool was_sampled;
	char *text;
};

/* Loop and RAM disks move no bytes of their own; partitions are parts of what is shown. */
static bool is_whole_disk(const struct host_disk *self, const char *name)
{
	char path[PROCFILE_PATH_MAX];
	if (strncmp(name, "loop", 4) == 0 || strncmp(name, "ram", 3) == 0)
		return false;
	snprintf(path, sizeof(path), "%s/sys/block", self->root);
	if (access(path, F_OK) != 0)
		return true;
	size_t len = strlen(path);
	snprintf(path + len, sizeof(path) - len, "/%s", name);
	for (char *p = path + len + 1; *p; p++)
		if (*p == '/')
			*p = '!'; /* "cciss/c0d0" */
	return access(path, F_OK) == 0;
}

static struct disk *disk_of(struct host_disk *self, struct str name)
{
	for (size_t i = 0; i < self->n; i++)
		if (str_eq(name, str_of(self->disks[i].name)))
			return &self->disks[i];
	if (self->n == DISKS_MAX || name.len == 0 || name.len >= NAME_BYTES ||
	        memchr(name.s, '\0', name.len))
		return NULL;
	struct disk *d = &self->disks[self->n++];
	memcpy(d->name, name.s, name.len);
	d->is_shown = is_whole_disk(self, d->name);
	return d;
}

static void show(struct disk *d, const uint64_t *columns)
{
	uint64_t ms = (columns[MS_READING] + columns[MS_WRITING]) & UINT32_MAX;
	uint64_t ops = columns[READS] + columns[WRITES];
	if (d->has_before)
		d->ms += (ms - d->ms_before) & UINT32_MAX;
	d->ms_before = ms;
	d->has_before = true;
	channel_total(d->channels[READ_BYTES], columns[SECTORS_READ]);
	channel_total(d->channels[WRITE_BYTES], columns[SECTORS_WRITTEN]);
	channel_total(d->channels[OPS], ops);
	channel_share(d->channels[WAIT], d->ms, ops);
	channel_total(d->channels[BUSY], columns[MS_BUSY]);
	channel_value(d->channels[NOW], (double)columns[IN_FLIGHT]);
}

static void take_line(struct host_disk *self, struct str line)
{
	uint64_t columns[N_COLUMNS];
	procfile_word(&line); /* major and minor number */
	procfile_word(&line);
	struct str name = procfile_word(&line);
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (!procfile_u64(procfile_word(&line), &columns[i]))
			return;
	struct disk *d = disk_of(self, name);
	if (!d || !d->is_shown || columns[READS] + columns[WRITES] == 0)
		return;
	if (!d->channels[0] && self->n_shown == DISKS_SHOWN)
		return;
	self->n_shown += !d->channels[0];
	for (size_t i = 0; i < N_ROWS && !d->channels[i]; i++)
		d->channels[i] = board_channel(self->board, &rows[i], d->name);
	show(d, columns);
}

static void host_disk_sample(void *self_, int64_t now_ns)
{
	struct host_disk *self = self_;
	struct str text;
	(void)now_ns;
	if (!procfile_read(&self->file, self->text, TEXT_BYTES, &text))
		return;
	while (text.len && memchr(text.s, '\n', text.len))
		take_line(self, procfile_line(&text));
	if (!self->was_sampled && self->n_shown == 0)
		board_absent(self->board, rows, N_ROWS, SIGNAL_NOT_SUPPORTED,
		        _("'/proc/diskstats' names no disk that was ever used"));
	self->was_sampled = true;
}

static bool host_disk_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct host_disk *self = arena_new(run, struct host_disk);
	if (!procfile_open(&self->file, config->root, "/proc/diskstats"))
		return err_set(err, ERR_SYSTEM, _("cannot read '%s': %s"), "/proc/diskstats",
		        strerror(errno));
	self->root = config->root;
	self->board = board;
	self->text = arena_alloc(run, TEXT_BYTES);
	*ret_self = self;
	return true;
}

static void host_disk_close(void *self_)
{
	struct host_disk *self = self_;
	procfile_close(&self->file);
}

const struct watch_source host_disk_source = {
	.name = "host_disk",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.period_ns = NS_PER_S,
	.open = host_disk_open,
	.sample = host_disk_sample,
	.close = host_disk_close,
};
