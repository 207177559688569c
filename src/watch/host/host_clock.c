/*
 * At which clock the cores run, which governor decides it, and how often heat slowed them down.
 *
 * Each file costs a call for each core, so that no more than CPUS_ASKED of them are asked, evenly
 * chosen. A core that is idle shows a low clock: the fastest one is what busy cores get.
 *
 * Source: Documentation/admin-guide/pm/cpufreq.rst and
 * Documentation/ABI/testing/sysfs-devices-system-cpu of Linux; frequencies are in kHz
 */
#include "watch/sources.h"

#include "watch/cpulist.h"
#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	CPUS_ASKED = 32,
	PACKAGES_MAX = 64,
	VALUE_BYTES = 128,
	INFO_BYTES = 64 * 1024, /* of /proc/cpuinfo: the first ones of many cores */
};

#define CPU_DIR "/sys/devices/system/cpu"

enum { NOW, FASTEST, MAX, BASE, LIMIT, GOVERNOR, THROTTLES, PACKAGE_THROTTLES, N_ROWS };

#define CLOCK(name_, file, help_)                                                                  \
	{                                                                                          \
		.name = name_, .unit = "MHz", .kind = WATCH_GAUGE,                                 \
		.from = CPU_DIR "/cpuN/cpufreq/" file, .help = help_                               \
	}

static const struct watch_row rows[N_ROWS] = {
	[NOW] = CLOCK("host_clock_mhz", "scaling_cur_freq",
	        N_("clock of the cores, their mean, idle ones included")),
	[FASTEST] = CLOCK("host_clock_fastest_mhz", "scaling_cur_freq",
	        N_("clock of the fastest core: what a busy one gets")),
	[MAX] = CLOCK("host_clock_max_mhz", "cpuinfo_max_freq",
	        N_("highest clock that the cores are built for, one alone")),
	[BASE] = CLOCK("host_clock_base_mhz", "base_frequency",
	        N_("clock that all cores hold at the same time by their data sheet")),
	[LIMIT] = CLOCK("host_clock_limit_mhz", "scaling_max_freq",
	        N_("highest clock that the settings allow, of the core with the lowest")),
	[GOVERNOR] = { .name = "host_governor",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = CPU_DIR "/cpuN/cpufreq/scaling_governor",
	        .help = N_("rule by which the clock is chosen; mixed when cores differ") },
	[THROTTLES] = { .name = "host_core_throttles_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = CPU_DIR "/cpuN/thermal_throttle/core_throttle_count",
	        .help = N_("times that heat slowed down a core, summed over cores") },
	[PACKAGE_THROTTLES] = { .name = "host_package_throttles_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = CPU_DIR "/cpuN/thermal_throttle/package_throttle_count",
	        .help = N_("times that heat slowed down a processor, summed over processors") },
};

struct host_clock {
	const char *root;
	struct channel *channels[N_ROWS];
	unsigned cpus[CPUS_ASKED];
	size_t n_cpus;
	bool has_clock, from_info, has_throttle;
	const char *why_no_clock;
	char *info; /* [INFO_BYTES], only when it is needed */
};

/* A number in a file of a core; false when there is none. */
static bool read_number(
        const struct host_clock *self, unsigned cpu, const char *file, uint64_t *ret_number)
{
	char memory[VALUE_BYTES];
	struct str text;
	return procfile_once(
	               self->root, memory, sizeof(memory), &text, CPU_DIR "/cpu%u/%s", cpu, file) &&
	       procfile_u64(str_trim(text), ret_number);
}

enum fold { FOLD_MEAN, FOLD_MAX, FOLD_MIN };

/* What the cores say in MHz: NAN when none does. */
static double fold_clocks(const struct host_clock *self, const char *file, enum fold fold)
{
	double folded = NAN, sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < self->n_cpus; i++) {
		uint64_t khz;
		if (!read_number(self, self->cpus[i], file, &khz))
			continue;
		double mhz = (double)khz / 1e3;
		sum += mhz;
		n++;
		folded = fold == FOLD_MIN ? fmin(folded, mhz) : fmax(folded, mhz);
	}
	return fold == FOLD_MEAN && n > 0 ? sum / (double)n : folded;
}

static void show_clock(const struct host_clock *self, size_t row, const char *file, enum fold fold)
{
	char reason[BOARD_REASON_BYTES];
	double mhz = fold_clocks(self, file, fold);
	if (isnan(mhz)) {
		snprintf(reason, sizeof(reason), _("no core has '%s'"), file);
		channel_absent(self->channels[row], SIGNAL_NOT_SUPPORTED, reason);
	}
	channel_value(self->channels[row], mhz);
}

static void show_governor(const struct host_clock *self)
{
	char memory[VALUE_BYTES], first[VALUE_BYTES] = "";
	struct str text, governor = { first, 0 };
	for (size_t i = 0; i < self->n_cpus; i++) {
		if (!procfile_once(self->root, memory, sizeof(memory), &text,
		            CPU_DIR "/cpu%u/cpufreq/scaling_governor", self->cpus[i]))
			continue;
		text = str_trim(text);
		if (governor.len > 0 && !str_eq(text, governor)) {
			governor = STR("mixed");
			break;
		}
		memcpy(first, text.s, text.len);
		governor.len = text.len;
	}
	if (governor.len > 0)
		channel_text(self->channels[GOVERNOR], governor);
}

/* The mean of the lines "cpu MHz : 2100.000". */
static void show_info(const struct host_clock *self)
{
	struct str text, line;
	double sum = 0, most = NAN;
	size_t n = 0;
	if (!procfile_once(self->root, self->info, INFO_BYTES, &text, "/proc/cpuinfo"))
		return;
	while (text.len && memchr(text.s, '\n', text.len)) {
		double mhz;
		line = procfile_line(&text);
		if (!str_starts(line, STR("cpu MHz")))
			continue;
		str_cut(line, ':', &line);
		if (!str_to_double(str_trim(line), &mhz) || !(mhz > 0))
			continue;
		sum += mhz;
		most = fmax(most, mhz);
		n++;
	}
	if (n == 0)
		return;
	channel_value(self->channels[NOW], sum / (double)n);
	channel_value(self->channels[FASTEST], most);
}

static void show_throttles(const struct host_clock *self)
{
	uint64_t cores = 0, packages[PACKAGES_MAX] = { 0 }, sum = 0;
	for (size_t i = 0; i < self->n_cpus; i++) {
		uint64_t count, package;
		unsigned cpu = self->cpus[i];
		if (read_number(self, cpu, "thermal_throttle/core_throttle_count", &count))
			cores += count;
		/* Every core of a package tells the same count. */
		if (read_number(self, cpu, "thermal_throttle/package_throttle_count", &count) &&
		        read_number(self, cpu, "topology/physical_package_id", &package) &&
		        package < PACKAGES_MAX && count > packages[package])
			packages[package] = count;
	}
	for (size_t i = 0; i < PACKAGES_MAX; i++)
		sum += packages[i];
	channel_total(self->channels[THROTTLES], cores);
	channel_total(self->channels[PACKAGE_THROTTLES], sum);
}

static void host_clock_sample(void *self_, int64_t now_ns)
{
	struct host_clock *self = self_;
	(void)now_ns;
	if (self->has_clock) {
		show_clock(self, NOW, "cpufreq/scaling_cur_freq", FOLD_MEAN);
		show_clock(self, FASTEST, "cpufreq/scaling_cur_freq", FOLD_MAX);
		show_clock(self, MAX, "cpufreq/cpuinfo_max_freq", FOLD_MAX);
		show_clock(self, BASE, "cpufreq/base_frequency", FOLD_MAX);
		show_clock(self, LIMIT, "cpufreq/scaling_max_freq", FOLD_MIN);
		show_governor(self);
	} else if (self->from_info) {
		show_info(self);
	}
	if (self->has_throttle)
		show_throttles(self);
}

/* Of the cores that are on, all or CPUS_ASKED of them. */
static void choose_cpus(struct host_clock *self)
{
	char memory[4096];
	struct str text;
	struct cpulist on = { 0 };
	if (!procfile_once(self->root, memory, sizeof(memory), &text, CPU_DIR "/online") ||
	        !cpulist_add(&on, text))
		return;
	size_t n = cpulist_count(&on), k = 0;
	for (unsigned cpu = 0; cpu < CPULIST_MAX; cpu++) {
		if (!cpulist_has(&on, cpu))
			continue;
		size_t wanted = n > CPUS_ASKED ? self->n_cpus * n / CPUS_ASKED : k;
		if (k++ == wanted && self->n_cpus < CPUS_ASKED)
			self->cpus[self->n_cpus++] = cpu;
	}
}

/* Without cpufreq, what /proc/cpuinfo says is a guess; in a virtual machine it is not even that. */
static void find_other_clock(struct host_clock *self, struct arena *run)
{
	struct str text, flags;
	self->info = arena_alloc(run, INFO_BYTES);
	if (!procfile_once(self->root, self->info, INFO_BYTES, &text, "/proc/cpuinfo"))
		self->why_no_clock = _("no core has 'cpufreq', and '/proc/cpuinfo' cannot be read");
	else if (procfile_field(text, "flags", &flags) && str_find(flags, STR(" hypervisor")) >= 0)
		self->why_no_clock =
		        _("a virtual machine is not shown the clock of its cores (no 'cpufreq')");
	else if (str_find(text, STR("cpu MHz")) < 0)
		self->why_no_clock = _("no core has 'cpufreq', and '/proc/cpuinfo' tells no clock");
	else
		self->from_info = true;
}

static void say_what_is_absent(struct host_clock *self)
{
	bool guessed = self->from_info;
	for (size_t i = NOW; i <= GOVERNOR && !self->has_clock; i++)
		if (!guessed || i > FASTEST)
			channel_absent(self->channels[i], SIGNAL_NOT_SUPPORTED,
			        guessed ? _("no core has 'cpufreq'") : self->why_no_clock);
	for (size_t i = NOW; i <= FASTEST && guessed; i++) {
		channel_from(self->channels[i], "/proc/cpuinfo, cpu MHz");
		channel_estimated(self->channels[i],
		        _("no core has 'cpufreq'; '/proc/cpuinfo' may tell the clock at its "
		          "start"));
	}
	for (size_t i = THROTTLES; i < N_ROWS && !self->has_throttle; i++)
		channel_absent(self->channels[i], SIGNAL_NOT_SUPPORTED,
		        _("no core has 'thermal_throttle'"));
}

static bool host_clock_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct host_clock *self = arena_new(run, struct host_clock);
	uint64_t number;
	(void)err;
	self->root = config->root;
	for (size_t i = 0; i < N_ROWS; i++)
		self->channels[i] = board_channel(board, &rows[i], NULL);
	choose_cpus(self);
	for (size_t i = 0; i < self->n_cpus; i++) {
		unsigned cpu = self->cpus[i];
		self->has_clock |= read_number(self, cpu, "cpufreq/scaling_cur_freq", &number);
		self->has_throttle |=
		        read_number(self, cpu, "thermal_throttle/core_throttle_count", &number);
	}
	if (!self->has_clock)
		find_other_clock(self, run);
	say_what_is_absent(self);
	*ret_self = self;
	return true;
}

const struct watch_source host_clock_source = {
	.name = "host_clock",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.period_ns = NS_PER_S,
	.open = host_clock_open,
	.sample = host_clock_sample,
};
