#include "watch/tape/replay_read.h"

#include "base/i18n.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool replay_open_fd(
        int fd, const char *path, struct arena *run, struct replay **ret_replay, struct err *err)
{
	struct replay *r = arena_new(run, struct replay);
	struct str line;
	r->path = arena_strdup(run, path);
	r->run = run;
	r->file = gzdopen(fd, "rb");
	if (!r->file) {
		close(fd);
		return err_set(err, ERR_SYSTEM, _("cannot open '%s': %s"), path, strerror(ENOMEM));
	}
	r->channels = mem_zeroed(BOARD_CHANNELS_MAX, sizeof(*r->channels));
	r->rows = mem_zeroed(BOARD_CHANNELS_MAX, sizeof(const struct watch_row *));
	r->first_ns = r->sample_ns = -1;
	bool ok = replay_line(r, &line) == REPLAY_LINE_OK
	                  ? replay_read_head(r, line, err)
	                  : err_set(err, ERR_INPUT, _("'%s' is no record of a watch"), path);
	if (!ok) {
		replay_close(r);
		return false;
	}
	r->now_ns = r->newest_ns = r->head.start_ns;
	*ret_replay = r;
	return true;
}

bool replay_open(const char *path, struct arena *run, struct replay **ret_replay, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_SYSTEM, _("cannot open '%s': %s"), path, strerror(errno));
	return replay_open_fd(fd, path, run, ret_replay, err);
}

void replay_close(struct replay *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->head.n_pages; i++)
		metrics_window_free(r->pages[i].window);
	gzclose(r->file);
	buf_release(&r->ahead);
	arena_release(&r->sample);
	arena_release(&r->lists);
	free(r->channels);
	free(r->rows);
}

const struct tape_head *replay_head(const struct replay *r)
{
	return &r->head;
}

bool replay_is_cut(const struct replay *r)
{
	return !r->ended;
}

int64_t replay_n_dropped(const struct replay *r)
{
	return r->n_dropped;
}

/* What is wrong with a line that could not be had. */
static const char *fault_of(enum replay_line result)
{
	if (result == REPLAY_LINE_TOO_LONG)
		return _("it is too long");
	return result == REPLAY_LINE_BROKEN ? _("its compressed bytes are damaged")
	                                    : _("it says nothing that is known");
}

enum replay_result replay_next(struct replay *r, int64_t *ret_at_ns, struct err *err)
{
	struct str line;
	bool is_sample = false;
	arena_release(&r->sample);
	while (!is_sample) {
		enum replay_line result = replay_line(r, &line);
		if (result == REPLAY_LINE_NONE)
			return REPLAY_END;
		if (result != REPLAY_LINE_OK || !replay_read_line(r, line, &is_sample)) {
			(void)replay_damaged(r, err, fault_of(result));
			return REPLAY_DAMAGED;
		}
	}
	/* A clock that goes back is no monotonic one. */
	if (r->now_ns <= 0 || r->now_ns < r->sample_ns) {
		(void)replay_damaged(r, err, _("its time is before that of the sample before"));
		return REPLAY_DAMAGED;
	}
	if (r->first_ns < 0)
		r->first_ns = r->now_ns;
	r->sample_ns = r->now_ns;
	*ret_at_ns = r->now_ns;
	return REPLAY_SAMPLE;
}

/* ---- the source of a sampler ---- */

static void channel_of(struct replay *r, struct spoken *c)
{
	if (!c->channel)
		c->channel = board_channel(r->board, c->row, c->instance);
}

static void say(struct replay *r, struct spoken *c)
{
	channel_of(r, c);
	if (c->described_anew) {
		channel_estimated(c->channel, c->assumed);
		channel_from(c->channel, c->from);
	}
	if (c->forgot)
		channel_forget(c->channel);
	if (c->has_value && c->row->kind == WATCH_GAUGE)
		channel_value(c->channel, c->value);
	else if (c->has_value && c->row->kind == WATCH_RATE)
		channel_total(c->channel, c->total);
	else if (c->has_value && c->row->kind == WATCH_SHARE)
		channel_share(c->channel, c->total, c->whole);
	else if (c->has_value)
		channel_text(c->channel, str_of(c->text));
	if (c->absent != SIGNAL_MEASURED)
		channel_absent(c->channel, c->absent, c->reason);
	c->described_anew = c->forgot = c->has_value = false;
	c->absent = SIGNAL_MEASURED;
}

static bool source_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	struct replay *r = config->ctx;
	(void)run, (void)err;
	r->board = board;
	/* Those of the first sample stand in their old order, before the sampler's own. */
	for (size_t i = 0; i < r->n_channels; i++)
		if (r->channels[i].row)
			channel_of(r, &r->channels[i]);
	*ret_self = r;
	return true;
}

static void source_sample(void *self, int64_t now_ns)
{
	struct replay *r = self;
	(void)now_ns;
	for (size_t i = 0; i < r->n_channels; i++)
		if (r->channels[i].row)
			say(r, &r->channels[i]);
}

static const char *copy(const char *text, struct arena *run)
{
	return text ? arena_strdup(run, text) : NULL;
}

static void source_report(const void *self, struct arena *run, struct signal_system *to)
{
	const struct replay *r = self;
	to->threads = arena_new_n(run, struct signal_thread, r->n_threads + 1);
	to->symbols = arena_new_n(run, struct signal_symbol, r->n_symbols + 1);
	to->n_threads = r->n_threads;
	to->n_symbols = r->n_symbols;
	to->n_threads_seen = r->n_threads_seen;
	for (size_t i = 0; i < r->n_threads; i++) {
		struct signal_thread *t = &to->threads[i];
		*t = r->threads[i];
		t->name = copy(t->name, run);
		t->cpus = copy(t->cpus, run);
	}
	for (size_t i = 0; i < r->n_symbols; i++) {
		struct signal_symbol *s = &to->symbols[i];
		*s = r->symbols[i];
		s->symbol = copy(s->symbol, run);
		s->module = copy(s->module, run);
		s->build_id = copy(s->build_id, run);
	}
}

static const struct watch_source source = {
	.name = "replay",
	.open = source_open,
	.sample = source_sample,
	.report = source_report,
};
static const struct watch_source *const sources[] = { &source };

struct watch_config replay_config(struct replay *r)
{
	return (struct watch_config){
		.root = "",
		.interval_ns = r->head.interval_ns,
		.sources = sources,
		.n_sources = ARRAY_LEN(sources),
		.ctx = r,
	};
}

/* ---- beside the sampler ---- */

size_t replay_pages(
        const struct replay *r, int64_t zero_ns, struct arena *run, struct signal_page **ret_pages)
{
	struct signal_page *pages = arena_new_n(run, struct signal_page, r->head.n_pages + 1);
	for (size_t i = 0; i < r->head.n_pages; i++) {
		const struct replay_page *page = &r->pages[i];
		pages[i] = (struct signal_page){ .url = r->head.pages[i],
			.n_read = page->n_read,
			.n_failed = page->n_failed,
			.reason = page->failed
			                  ? arena_printf(run, _("the newest look that failed: %s"),
			                            page->failed)
			                  : NULL };
		metrics_window_report(
		        page->window, r->head.pages[i], zero_ns, r->newest_ns, run, &pages[i]);
	}
	*ret_pages = pages;
	return r->head.n_pages;
}

size_t replay_processes(
        const struct replay *r, struct arena *run, struct watch_process **ret_processes)
{
	size_t n = r->head.n_processes;
	struct watch_process *processes = arena_new_n(run, struct watch_process, n + 1);
	for (size_t i = 0; i < n; i++) {
		processes[i] = r->head.processes[i];
		processes[i].ended_s = r->ended_ns[i] < 0 || r->first_ns < 0
		                               ? NAN
		                               : (double)(r->ended_ns[i] - r->first_ns) / 1e9;
	}
	*ret_processes = processes;
	return n;
}
