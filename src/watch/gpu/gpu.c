#include "watch/gpu/device_library.h"
#include "watch/sources.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* A driver that wakes its devices up first takes seconds; one in trouble never comes back. */
#define OPEN_WAIT_NS (8 * NS_PER_S)
#define CLOSE_WAIT_NS (2 * NS_PER_S)
/*
 * What was asked at one sample is taken at the next one, with the time at which it was heard: to
 * wait would cost more than all else. At the edges of a window counters are read, too, and waited
 * for.
 */
#define EDGE_WAIT_NS (100 * NS_PER_MS)
/* From then on the values of before are no longer those of now. */
#define SILENT_NS (2 * NS_PER_S)
/* The thread looks at least so often whether something is due. */
#define REST_NS NS_PER_S

static const struct device_library *const libraries[] = { &device_nvml, &device_amd };
enum { N_LIBRARIES = ARRAY_LEN(libraries) };

struct opened {
	bool is_open;
	void *self;
	struct device_watch watch;
	struct err err;
	int64_t next_ns[DEVICE_MAX][DEVICE_CHORES_MAX]; /* when a chore is due; 0: at once */
};

/* Outlives the source when a call never comes back. */
struct gpu {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct device_sheets *sheets;
	pthread_t thread;

	/* the thread's own */
	struct opened opened[N_LIBRARIES];
	char *root;
	int pids[WATCH_PIDS_MAX];
	size_t n_pids;

	/* under the lock */
	bool is_open, has_devices, wants_stop, has_ended, is_abandoned;
	int64_t n_asked, n_answered;
	bool is_edge; /* of what is asked */
	int64_t asked_ns;
	uint64_t cpu_ns;
	double round_ms;

	/* the sampler's own */
	struct board *board;
	struct channel *cpu, *round;
	int64_t begin_ns, n_heard;
	bool is_silent, is_thorough;
};

static void free_gpu(struct gpu *g)
{
	device_sheets_free(g->sheets);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g->root);
	free(g);
}

static bool open_library(struct gpu *g, size_t i, const char *prefix)
{
	struct opened *o = &g->opened[i];
	o->watch = (struct device_watch){ .sheets = g->sheets,
		.root = g->root,
		.pids = g->pids,
		.n_pids = g->n_pids,
		.prefix = prefix };
	o->is_open = libraries[i]->open(&o->watch, &o->self, &o->err);
	return o->is_open;
}

/* A library that is missing is told beside the devices of another one. */
static bool open_libraries(struct gpu *g)
{
	bool any = false;
	for (size_t i = 0; i < N_LIBRARIES; i++)
		any |= open_library(g, i, any ? libraries[i]->name : "");
	for (size_t i = 0; any && i < N_LIBRARIES; i++)
		if (!g->opened[i].is_open)
			device_absent(device_of(g->sheets, libraries[i]->name), DEVICE_DRIVER,
			        SIGNAL_NOT_SUPPORTED, g->opened[i].err.text);
	return any;
}

static void close_libraries(struct gpu *g)
{
	for (size_t i = 0; i < N_LIBRARIES; i++)
		if (g->opened[i].is_open)
			libraries[i]->close(g->opened[i].self);
}

static size_t n_devices_of(const struct gpu *g, size_t i)
{
	size_t n = g->opened[i].is_open ? libraries[i]->n_devices(g->opened[i].self) : 0;
	return n < DEVICE_MAX ? n : DEVICE_MAX;
}

/* What is asked at every sample, of all devices. */
static void do_round(struct gpu *g)
{
	for (size_t i = 0; i < N_LIBRARIES; i++) {
		const struct device_library *l = libraries[i];
		for (size_t c = 0; c < l->n_chores; c++)
			for (size_t d = 0; l->chores[c].period_ns == 0 && d < n_devices_of(g, i);
			        d++)
				l->chores[c].read(g->opened[i].self, d);
	}
}

static void make_due(struct gpu *g)
{
	for (size_t i = 0; i < N_LIBRARIES; i++)
		for (size_t c = 0; c < libraries[i]->n_chores; c++)
			for (size_t d = 0; libraries[i]->chores[c].at_edges && d < DEVICE_MAX; d++)
				g->opened[i].next_ns[d][c] = 0;
}

/* The most overdue chore, if one is due; next_ns: when the next one is. */
static bool do_chore(struct gpu *g, int64_t now_ns, int64_t *next_ns)
{
	size_t i_due = 0, c_due = 0, d_due = 0;
	*next_ns = INT64_MAX;
	for (size_t i = 0; i < N_LIBRARIES; i++)
		for (size_t d = 0; d < n_devices_of(g, i); d++)
			for (size_t c = 0; c < libraries[i]->n_chores; c++) {
				int64_t at_ns = g->opened[i].next_ns[d][c];
				if (libraries[i]->chores[c].period_ns == 0 || at_ns >= *next_ns)
					continue;
				*next_ns = at_ns;
				i_due = i, c_due = c, d_due = d;
			}
	if (*next_ns > now_ns)
		return false;
	const struct device_chore *chore = &libraries[i_due]->chores[c_due];
	chore->read(g->opened[i_due].self, d_due);
	g->opened[i_due].next_ns[d_due][c_due] = now_ns + chore->period_ns;
	return true;
}

static void wait_for(struct gpu *g, int64_t at_ns)
{
	struct timespec at = clock_to_timespec(at_ns);
	pthread_cond_timedwait(&g->changed, &g->lock, &at);
}

/* Under the lock, which is given up while a library is asked: once, or until something is due. */
static void work(struct gpu *g)
{
	int64_t begin_ns = clock_now_ns(), next_ns = 0, wanted = g->n_asked;
	bool is_round = g->n_answered < wanted, is_edge = g->is_edge, busy = is_round;
	g->is_edge = false;
	pthread_mutex_unlock(&g->lock);
	if (is_edge)
		make_due(g);
	if (is_round)
		do_round(g);
	else
		busy = do_chore(g, begin_ns, &next_ns);
	while (is_edge && do_chore(g, begin_ns, &next_ns))
		;
	pthread_mutex_lock(&g->lock);
	g->cpu_ns = (uint64_t)clock_thread_cpu_ns();
	if (is_round) {
		g->round_ms = (double)(clock_now_ns() - begin_ns) / 1e6;
		g->n_answered = wanted;
		pthread_cond_broadcast(&g->changed);
	}
	if (!busy && !g->wants_stop && g->n_answered == g->n_asked)
		wait_for(g, next_ns < begin_ns + REST_NS ? next_ns : begin_ns + REST_NS);
}

static void *gpu_thread(void *arg)
{
	struct gpu *g = arg;
	prctl(PR_SET_NAME, "gpu");
	bool any = open_libraries(g);
	pthread_mutex_lock(&g->lock);
	g->is_open = true;
	g->has_devices = any;
	pthread_cond_broadcast(&g->changed);
	while (any && !g->wants_stop)
		work(g);
	pthread_mutex_unlock(&g->lock);
	close_libraries(g);
	pthread_mutex_lock(&g->lock);
	g->has_ended = true;
	bool is_abandoned = g->is_abandoned;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	if (is_abandoned)
		free_gpu(g);
	return NULL;
}

/* The thread's end, or its abandonment when it does not come. */
static void end_thread(struct gpu *g, int64_t wait_ns)
{
	int64_t until_ns = clock_now_ns() + wait_ns;
	pthread_mutex_lock(&g->lock);
	g->wants_stop = true;
	pthread_cond_broadcast(&g->changed);
	while (!g->has_ended && clock_now_ns() < until_ns)
		wait_for(g, until_ns);
	bool has_ended = g->has_ended;
	g->is_abandoned = !has_ended;
	pthread_t thread = g->thread;
	pthread_mutex_unlock(&g->lock);
	if (has_ended) {
		pthread_join(thread, NULL);
		free_gpu(g);
	} else {
		pthread_detach(thread);
	}
}

static struct gpu *new_gpu(const struct watch_config *config)
{
	struct gpu *g = mem_zeroed(1, sizeof(*g));
	pthread_condattr_t attributes;
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&g->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	g->sheets = device_sheets_new();
	g->root = mem_zeroed(strlen(config->root) + 1, 1);
	strcpy(g->root, config->root);
	g->n_pids = config->n_pids < WATCH_PIDS_MAX ? config->n_pids : WATCH_PIDS_MAX;
	for (size_t i = 0; i < g->n_pids; i++)
		g->pids[i] = config->pids[i];
	return g;
}

/* Why each of the libraries has nothing. */
static void set_reasons(const struct gpu *g, struct err *err)
{
	char text[2 * BOARD_REASON_BYTES] = "";
	size_t len = 0;
	for (size_t i = 0; i < N_LIBRARIES && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s", i ? "; " : "",
		        BOARD_REASON_BYTES - 1, g->opened[i].err.text);
	err_set(err, ERR_SYSTEM, "%s", text);
}

static bool gpu_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	(void)run;
	struct gpu *g = new_gpu(config);
	int code = pthread_create(&g->thread, NULL, gpu_thread, g);
	if (code != 0) {
		free_gpu(g);
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(code));
	}
	int64_t until_ns = clock_now_ns() + OPEN_WAIT_NS;
	pthread_mutex_lock(&g->lock);
	while (!g->is_open && clock_now_ns() < until_ns)
		wait_for(g, until_ns);
	bool is_open = g->is_open, has_devices = g->has_devices;
	pthread_mutex_unlock(&g->lock);
	if (!is_open) {
		end_thread(g, 0);
		return err_set(err, ERR_SYSTEM, _("the device's driver has not answered for %d s"),
		        (int)(OPEN_WAIT_NS / NS_PER_S));
	}
	if (!has_devices) {
		set_reasons(g, err);
		end_thread(g, CLOSE_WAIT_NS);
		return false;
	}
	g->board = board;
	g->cpu = board_channel(board, &device_rows[DEVICE_WATCH_CPU], NULL);
	g->round = board_channel(board, &device_rows[DEVICE_WATCH_ROUND], NULL);
	*ret_self = g;
	return true;
}

/* Under the lock: asks, unless the last question is still open. */
static void ask(struct gpu *g)
{
	int64_t now_ns = clock_now_ns(), until_ns = now_ns + EDGE_WAIT_NS;
	bool is_open = g->n_asked != g->n_answered;
	g->is_edge |= g->is_thorough;
	if (!is_open || g->is_thorough) {
		g->asked_ns = is_open ? g->asked_ns : now_ns;
		g->n_asked++;
		pthread_cond_broadcast(&g->changed);
	}
	while (g->is_thorough && g->n_answered < g->n_asked && clock_now_ns() < until_ns)
		wait_for(g, until_ns);
}

static void hear(struct gpu *g, int64_t waited_ns)
{
	if (waited_ns < SILENT_NS) {
		if (g->is_silent)
			device_renew(g->sheets);
		g->is_silent = false;
		device_carry(g->sheets, g->board, g->begin_ns);
		return;
	}
	char reason[BOARD_REASON_BYTES];
	snprintf(reason, sizeof(reason), _("the device's driver has not answered for %d s"),
	        (int)(SILENT_NS / NS_PER_S));
	if (!g->is_silent)
		device_silent(g->sheets, g->board, reason);
	g->is_silent = true;
}

/* What was heard is taken before more is asked: the thread would write over it. */
static void gpu_sample(void *self, int64_t now_ns)
{
	struct gpu *g = self;
	(void)now_ns;
	pthread_mutex_lock(&g->lock);
	int64_t waited_ns = g->n_asked == g->n_answered ? 0 : clock_now_ns() - g->asked_ns;
	bool has_round = g->n_answered != g->n_heard;
	g->n_heard = g->n_answered;
	uint64_t cpu_ns = g->cpu_ns;
	double round_ms = g->round_ms;
	pthread_mutex_unlock(&g->lock);
	hear(g, waited_ns);
	channel_total(g->cpu, cpu_ns);
	if (has_round)
		channel_value(g->round, round_ms);
	pthread_mutex_lock(&g->lock);
	ask(g);
	pthread_mutex_unlock(&g->lock);
	if (g->is_thorough && !g->is_silent)
		device_carry(g->sheets, g->board, g->begin_ns);
	g->is_thorough = false;
}

static void gpu_thorough(void *self)
{
	((struct gpu *)self)->is_thorough = true;
}

/* What is asked seldom is known at the window's begin, too. */
static void gpu_begin(void *self)
{
	struct gpu *g = self;
	g->begin_ns = board_now_ns(g->board);
	if (g->is_silent)
		return;
	device_renew(g->sheets);
	device_carry(g->sheets, g->board, g->begin_ns);
}

static void gpu_close(void *self)
{
	end_thread(self, CLOSE_WAIT_NS);
}

const struct watch_source gpu_source = {
	.name = "gpu",
	.rows = device_rows,
	.n_rows = DEVICE_N_SIGNALS,
	.open = gpu_open,
	.sample = gpu_sample,
	.thorough = gpu_thorough,
	.begin = gpu_begin,
	.close = gpu_close,
};
