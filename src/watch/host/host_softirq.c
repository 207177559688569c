/*
 * Work that interrupts leave behind, from /proc/softirqs: how often, and whether one core has to do
 * all of the network's.
 */
#include "watch/sources.h"

#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <string.h>

enum {
	CPUS_MAX = 8192,
	TEXT_BYTES = 1 << 20, /* ten lines of eleven bytes for each core */
	NAMES_MAX = 16,
	NAME_BYTES = 16,
	PACKETS_MIN = 100, /* of fewer no share is told */
};

enum { PER_S, NET_RX_BUSIEST };

static const struct watch_row rows[] = {
	[PER_S] = { .name = "host_softirqs_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/proc/softirqs",
	        .help = N_("work left behind by interrupts, of each kind, on all cores") },
	[NET_RX_BUSIEST] = { .name = "host_net_rx_busiest_core_ratio",
	        .unit = "ratio",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/softirqs, NET_RX",
	        .help = N_("share of the work on packets received that the busiest core did: 1 "
	                   "is all") },
};

struct name {
	char text[NAME_BYTES];
	struct channel *channel;
};

struct host_softirq {
	struct board *board;
	struct procfile file;
	struct name names[NAMES_MAX];
	size_t n_names;
	struct channel *busiest;
	uint64_t *before; /* [CPUS_MAX] NET_RX of each core at the last look */
	uint16_t *cpus;   /* [CPUS_MAX] which core a column is of */
	size_t n_columns;
	bool has_before;
	char *text;
};

static struct channel *channel_of(struct host_softirq *self, struct str name)
{
	for (size_t i = 0; i < self->n_names; i++)
		if (str_eq(name, str_of(self->names[i].text)))
			return self->names[i].channel;
	if (self->n_names == NAMES_MAX || name.len >= NAME_BYTES)
		return NULL;
	struct name *new = &self->names[self->n_names++];
	memcpy(new->text, name.s, name.len);
	new->channel = board_channel(self->board, &rows[PER_S], new->text);
	return new->channel;
}

/* "     CPU0   CPU2": only cores that are on have a column. */
static bool read_head(struct host_softirq *self, struct str line)
{
	struct str word;
	self->n_columns = 0;
	while ((word = procfile_word(&line)).len) {
		uint64_t cpu;
		if (word.len <= 3 || !str_starts(word, STR("CPU")) ||
		        !procfile_u64((struct str){ word.s + 3, word.len - 3 }, &cpu) ||
		        cpu >= CPUS_MAX || self->n_columns == CPUS_MAX)
			return false;
		self->cpus[self->n_columns++] = (uint16_t)cpu;
	}
	return self->n_columns > 0;
}

/* Cores whose counter went back or that are new to the table begin anew. */
static void look_for_busiest(struct host_softirq *self, struct str line)
{
	uint64_t most = 0, all = 0, count;
	for (size_t i = 0; i < self->n_columns; i++) {
		uint64_t *before = &self->before[self->cpus[i]];
		if (!procfile_u64(procfile_word(&line), &count))
			return;
		uint64_t by = count > *before ? count - *before : 0;
		*before = count;
		most = by > most ? by : most;
		all += by;
	}
	if (self->has_before && all >= PACKETS_MIN)
		channel_value(self->busiest, (double)most / (double)all);
	else if (self->has_before)
		channel_absent(self->busiest, SIGNAL_NOT_COUNTED,
		        _("fewer than 100 times work on packets between two looks"));
	self->has_before = true;
}

/* The sum of a line; false when it has not a number for each column. */
static bool sum_line(const struct host_softirq *self, struct str line, uint64_t *ret_sum)
{
	uint64_t sum = 0, count;
	for (size_t i = 0; i < self->n_columns; i++) {
		if (!procfile_u64(procfile_word(&line), &count))
			return false;
		sum += count;
	}
	*ret_sum = sum;
	return true;
}

static void host_softirq_sample(void *self_, int64_t now_ns)
{
	struct host_softirq *self = self_;
	struct str text;
	(void)now_ns;
	if (!procfile_read(&self->file, self->text, TEXT_BYTES, &text) ||
	        !read_head(self, procfile_line(&text)))
		return;
	while (text.len && memchr(text.s, '\n', text.len)) {
		struct str line = procfile_line(&text);
		struct str name = str_cut(str_trim(line), ':', &line);
		uint64_t sum;
		if (name.len == 0 || !sum_line(self, line, &sum))
			continue;
		channel_total(channel_of(self, name), sum);
		if (str_eq(name, STR("NET_RX")))
			look_for_busiest(self, line);
	}
}

static bool host_softirq_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct host_softirq *self = arena_new(run, struct host_softirq);
	if (!procfile_open(&self->file, config->root, "/proc/softirqs"))
		return err_set(err, ERR_SYSTEM, _("cannot read '%s': %s"), "/proc/softirqs",
		        strerror(errno));
	self->board = board;
	self->busiest = board_channel(board, &rows[NET_RX_BUSIEST], NULL);
	self->before = arena_new_n(run, uint64_t, CPUS_MAX);
	self->cpus = arena_new_n(run, uint16_t, CPUS_MAX);
	self->text = arena_alloc(run, TEXT_BYTES);
	*ret_self = self;
	return true;
}

static void host_softirq_close(void *self_)
{
	struct host_softirq *self = self_;
	procfile_close(&self->file);
}

const struct watch_source host_softirq_source = {
	.name = "host_softirq",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.period_ns = NS_PER_S,
	.open = host_softirq_open,
	.sample = host_softirq_sample,
	.close = host_softirq_close,
};
