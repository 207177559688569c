/*
 * What the cores did, from /proc/stat, and how many tasks wanted them.
 *
 * Shares are ticks of a state for each tick of all states, so that a late sample changes nothing.
 * A core that is switched off loses its line; the sums are those of the cores that both looks saw.
 *
 * Source: Documentation/filesystems/proc.rst of Linux, 1.7
 */
#include "watch/sources.h"

#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	CPUS_MAX = 8192, /* NR_CPUS of a kernel with MAXSMP */
	CPUS_SHOWN = 512,
	STAT_BYTES = 1 << 20, /* a hundred bytes a core, and two or more an interrupt */
	DIP_TICKS = 100,      /* iowait and idle are known to step back a little */
	REST = 200,           /* times what reading takes: at most 0.5 % of a core */
};

/* The columns of a line of /proc/stat; guest time is in user's already. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_STATES };

#define STATE(s) (1u << (s))
#define ALL_STATES (STATE(N_STATES) - 1)
#define BUSY_STATES (ALL_STATES & ~STATE(IDLE) & ~STATE(IOWAIT))

static const char ticks_grain[] = N_("clock ticks of 10 ms, as seen by a timer on each core");

#define SHARE(name_, columns, help_)                                                               \
	{                                                                                          \
		.name = name_, .unit = "ratio", .kind = WATCH_SHARE,                               \
		.from = "/proc/stat, " columns, .help = help_, .grain = ticks_grain                \
	}

enum {
	CORE_ALL,
	CORE_USER,
	CORE_SYSTEM,
	CORE_IDLE,
	CPU_ALL,
	CPU_USER,
	CPU_SYSTEM,
	CPU_IRQ,
	CPU_IOWAIT,
	CPU_STEAL,
	BUSIEST,
	BUSIEST_NAME,
	CORES,
	LOAD_1,
	LOAD_5,
	LOAD_15,
	COUNTS, /* from here on as in count_keys[] */
	N_ROWS = COUNTS + 5,
	N_CORE_ROWS = CPU_ALL,
	N_SHARES = BUSIEST,
};

static const struct watch_row rows[N_ROWS] = {
	[CORE_ALL] = SHARE("host_core_ratio", "cpuN, all but idle and iowait",
	        N_("share of the time in which a core was wanted, its time stolen included")),
	[CORE_USER] = SHARE("host_core_user_ratio", "cpuN, user + nice",
	        N_("share of the time in which a core ran programs")),
	[CORE_SYSTEM] = SHARE("host_core_kernel_ratio", "cpuN, system + irq + softirq",
	        N_("share of the time in which a core ran the kernel, interrupts included")),
	[CORE_IDLE] = SHARE("host_core_idle_ratio", "cpuN, idle",
	        N_("share of the time in which a core had nothing to do")),
	[CPU_ALL] = SHARE("host_cpu_ratio", "all but idle and iowait",
	        N_("share of all cores' time in which they were wanted, stolen time included")),
	[CPU_USER] =
	        SHARE("host_user_ratio", "user + nice", N_("share of all cores' time in programs")),
	[CPU_SYSTEM] = SHARE("host_system_ratio", "system",
	        N_("share of all cores' time in the kernel, without interrupts")),
	[CPU_IRQ] = SHARE("host_irq_ratio", "irq + softirq",
	        N_("share of all cores' time in interrupts, network packets among them")),
	[CPU_IOWAIT] = SHARE("host_iowait_ratio", "iowait",
	        N_("share of all cores' time without work while a task waited for a disk")),
	[CPU_STEAL] = SHARE("host_steal_ratio", "steal",
	        N_("share of all cores' time that the hypervisor gave to others")),
	[BUSIEST] = { .name = "host_busiest_core_ratio",
	        .unit = "ratio",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/stat, cpuN, all but idle and iowait",
	        .help = N_("how busy the busiest core was in the last second"),
	        .grain = ticks_grain },
	[BUSIEST_NAME] = { .name = "host_busiest_core",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "/proc/stat, cpuN, all but idle and iowait",
	        .help = N_("which core was the busiest in the last second") },
	[CORES] = { .name = "host_cores",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/stat, cpuN",
	        .help = N_("cores that are switched on") },
#define LOAD(minutes, field)                                                                       \
	{                                                                                          \
		.name = "host_load" minutes, .unit = "1", .kind = WATCH_GAUGE,                     \
		.from = "/proc/loadavg, field " field,                                             \
		.help = N_("tasks that run, are ready to, or wait for a disk, damped over the "    \
		           "minutes in its name"),                                                 \
		.grain = N_("counted every 5 s")                                                   \
	}
	[LOAD_1] = LOAD("1", "1"),
	[LOAD_5] = LOAD("5", "2"),
	[LOAD_15] = LOAD("15", "3"),
	{ .name = "host_context_switches_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/proc/stat, ctxt",
	        .help = N_("switches from one task to another, on all cores") },
	{ .name = "host_interrupts_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/proc/stat, intr",
	        .help = N_("interrupts, on all cores") },
	{ .name = "host_forks_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/proc/stat, processes",
	        .help = N_("processes and threads that were made") },
	{ .name = "host_runnable_tasks",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/stat, procs_running",
	        .help = N_("tasks that run or are ready to, the sampler among them") },
	{ .name = "host_blocked_tasks",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/stat, procs_blocked",
	        .help = N_("tasks that wait for a disk") },
};

/* Which states the shares sum up. */
static const unsigned states_of[N_SHARES] = {
	[CORE_ALL] = BUSY_STATES,
	[CORE_USER] = STATE(USER) | STATE(NICE),
	[CORE_SYSTEM] = STATE(SYSTEM) | STATE(IRQ) | STATE(SOFTIRQ),
	[CORE_IDLE] = STATE(IDLE),
	[CPU_ALL] = BUSY_STATES,
	[CPU_USER] = STATE(USER) | STATE(NICE),
	[CPU_SYSTEM] = STATE(SYSTEM),
	[CPU_IRQ] = STATE(IRQ) | STATE(SOFTIRQ),
	[CPU_IOWAIT] = STATE(IOWAIT),
	[CPU_STEAL] = STATE(STEAL),
};

static const struct keyed_name count_keys[] = {
	{ "ctxt", false },
	{ "intr", false },
	{ "processes", false },
	{ "procs_running", false },
	{ "procs_blocked", false },
};

struct core {
	bool was_seen, is_seen;
	uint64_t ticks[N_STATES];
	uint64_t busy_before, all_before; /* at the last look for the busiest */
	struct channel *channels[N_CORE_ROWS];
};

struct host_cpu {
	struct board *board;
	struct procfile stat, loadavg;
	char *text;         /* [STAT_BYTES] */
	struct core *cores; /* [CPUS_MAX] */
	size_t n_cores;     /* the highest number that was seen, and one */
	uint64_t grown[N_STATES];
	int64_t busiest_ns; /* when the busiest was looked for; 0: not yet */
	int64_t next_ns;    /* not read before */
	struct channel *channels[N_ROWS];
	struct keyed counts;
};

static uint64_t sum_of(const uint64_t *ticks, unsigned states)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < N_STATES; i++)
		if (states & STATE(i))
			sum += ticks[i];
	return sum;
}

/* "cpu12 1 2 3 ...": false for the sum of all cores and for a line that was cut off. */
static bool parse_core(struct str line, size_t *ret_number, uint64_t ticks[N_STATES])
{
	struct str name = procfile_word(&line);
	uint64_t number;
	if (!str_starts(name, STR("cpu")) ||
	        !procfile_u64((struct str){ name.s + 3, name.len - 3 }, &number))
		return false;
	for (size_t i = 0; i < N_STATES; i++)
		if (!procfile_u64(procfile_word(&line), &ticks[i]) || ticks[i] > UINT64_MAX / 16)
			return false;
	*ret_number = number;
	return number < CPUS_MAX;
}

static void show_shares(
        struct channel *const *channels, size_t from, size_t to, const uint64_t *ticks)
{
	uint64_t all = sum_of(ticks, ALL_STATES);
	for (size_t i = from; i < to; i++)
		channel_share(channels[i], sum_of(ticks, states_of[i]), all);
}

static void meet_core(struct host_cpu *self, struct core *core, size_t number)
{
	char name[32];
	snprintf(name, sizeof(name), "cpu%zu", number);
	if (number < CPUS_SHOWN && !core->channels[0])
		for (size_t i = 0; i < N_CORE_ROWS; i++)
			core->channels[i] = board_channel(self->board, &rows[i], name);
	if (number >= self->n_cores)
		self->n_cores = number + 1;
}

static void set_base(struct core *core)
{
	core->busy_before = sum_of(core->ticks, BUSY_STATES);
	core->all_before = sum_of(core->ticks, ALL_STATES);
}

static void take_core(struct host_cpu *self, size_t number, const uint64_t ticks[N_STATES])
{
	struct core *core = &self->cores[number];
	bool is_known = core->was_seen;
	core->is_seen = true;
	if (!is_known)
		meet_core(self, core, number);
	uint64_t sum = sum_of(ticks, ALL_STATES), before = sum_of(core->ticks, ALL_STATES);
	bool went_on = is_known && sum + DIP_TICKS >= before;
	for (size_t i = 0; i < N_STATES; i++) {
		if (went_on && ticks[i] <= core->ticks[i])
			continue; /* what dips is taken to stand still until it is above again */
		self->grown[i] += went_on ? ticks[i] - core->ticks[i] : 0;
		core->ticks[i] = ticks[i];
	}
	if (!went_on)
		set_base(core);
	show_shares(core->channels, 0, N_CORE_ROWS, core->ticks);
}

static void lose_core(struct core *core)
{
	for (size_t i = 0; i < N_CORE_ROWS; i++)
		channel_absent(
		        core->channels[i], SIGNAL_NOT_COUNTED, _("the core was switched off"));
}

/* is_whole: a core without a line is off, not cut off. */
static size_t count_cores(struct host_cpu *self, bool is_whole)
{
	size_t n = 0;
	for (size_t i = 0; i < self->n_cores; i++) {
		struct core *core = &self->cores[i];
		if (core->was_seen && !core->is_seen && is_whole)
			lose_core(core);
		core->was_seen = core->is_seen || (core->was_seen && !is_whole);
		core->is_seen = false;
		n += core->was_seen;
	}
	return n;
}

static void look_for_busiest(struct host_cpu *self, int64_t now_ns)
{
	double most = NAN;
	size_t which = 0;
	if (self->busiest_ns && now_ns - self->busiest_ns < NS_PER_S * 95 / 100)
		return;
	for (size_t i = 0; i < self->n_cores; i++) {
		struct core *core = &self->cores[i];
		uint64_t all = sum_of(core->ticks, ALL_STATES) - core->all_before;
		uint64_t busy = sum_of(core->ticks, BUSY_STATES) - core->busy_before;
		if (!core->was_seen)
			continue;
		set_base(core);
		if (self->busiest_ns && all > 0 && !((double)busy / (double)all <= most)) {
			most = (double)busy / (double)all;
			which = i;
		}
	}
	self->busiest_ns = now_ns;
	if (isnan(most))
		return;
	char name[32];
	snprintf(name, sizeof(name), "cpu%zu", which);
	channel_value(self->channels[BUSIEST], most);
	channel_text(self->channels[BUSIEST_NAME], str_of(name));
}

static void take_load(struct host_cpu *self)
{
	char memory[128];
	struct str text;
	int code = procfile_read(&self->loadavg, memory, sizeof(memory), &text) ? 0 : errno;
	for (size_t i = LOAD_1; i <= LOAD_15; i++) {
		double load;
		if (code != 0)
			channel_unreadable(self->channels[i], "/proc/loadavg", code);
		else if (str_to_double(procfile_word(&text), &load) && load >= 0)
			channel_value(self->channels[i], load);
	}
}

static void take_stat(struct host_cpu *self, struct str text, int64_t now_ns)
{
	uint64_t ticks[N_STATES];
	size_t number;
	while (text.len && memchr(text.s, '\n', text.len) && str_starts(text, STR("cpu")))
		if (parse_core(procfile_line(&text), &number, ticks))
			take_core(self, number, ticks);
	keyed_clear(&self->counts);
	keyed_lines(&self->counts, text);
	keyed_write(&self->counts, "/proc/stat");
	size_t n = count_cores(self, self->counts.values[0].found);
	if (n > 0)
		channel_value(self->channels[CORES], (double)n);
	show_shares(self->channels, N_CORE_ROWS, N_SHARES, self->grown);
	look_for_busiest(self, now_ns);
}

static void host_cpu_sample(void *self_, int64_t now_ns)
{
	struct host_cpu *self = self_;
	struct str text;
	if (now_ns < self->next_ns)
		return;
	int64_t begin_ns = clock_thread_cpu_ns();
	bool is_read = procfile_read(&self->stat, self->text, STAT_BYTES, &text);
	self->next_ns = now_ns + REST * (clock_thread_cpu_ns() - begin_ns);
	if (is_read)
		take_stat(self, text, now_ns);
	take_load(self);
}

static void host_cpu_thorough(void *self_)
{
	struct host_cpu *self = self_;
	self->next_ns = 0;
}

static void host_cpu_begin(void *self_)
{
	struct host_cpu *self = self_;
	for (size_t i = 0; i < self->n_cores; i++)
		set_base(&self->cores[i]);
	self->busiest_ns = board_now_ns(self->board);
}

static bool host_cpu_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	struct host_cpu *self = arena_new(run, struct host_cpu);
	if (!procfile_open(&self->stat, config->root, "/proc/stat"))
		return err_set(
		        err, ERR_SYSTEM, _("cannot read '%s': %s"), "/proc/stat", strerror(errno));
	if (!procfile_open(&self->loadavg, config->root, "/proc/loadavg"))
		procfile_close(&self->loadavg);
	self->board = board;
	self->text = arena_alloc(run, STAT_BYTES);
	self->cores = arena_new_n(run, struct core, CPUS_MAX);
	for (size_t i = N_CORE_ROWS; i < COUNTS; i++)
		self->channels[i] = board_channel(board, &rows[i], NULL);
	keyed_init(
	        &self->counts, &rows[COUNTS], count_keys, ARRAY_LEN(count_keys), board, NULL, run);
	*ret_self = self;
	return true;
}

static void host_cpu_close(void *self_)
{
	struct host_cpu *self = self_;
	procfile_close(&self->stat);
	procfile_close(&self->loadavg);
}

const struct watch_source host_cpu_source = {
	.name = "host_cpu",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.open = host_cpu_open,
	.sample = host_cpu_sample,
	.thorough = host_cpu_thorough,
	.begin = host_cpu_begin,
	.close = host_cpu_close,
};
