/*
 * fuzz_watch_record.c - any bytes as a record of a watch: it is read to an end or an error that
 * names a line, and what a sampler on it reports are numbers or reasons.
 */
#include "watch/tape/replay.h"
#include "watch/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_signals(const struct signal *signals, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct signal *s = &signals[i];
		need(s->name && s->unit && s->n >= 0);
		need(s->state <= SIGNAL_ESTIMATED || s->reason);
		need(!(s->max < s->min) && !isinf(s->p50));
	}
}

static void check_report(struct replay *r, struct sampler *s)
{
	struct arena tmp = { 0 };
	struct signal_system system;
	struct signal_page *pages;
	struct watch_process *processes;
	sampler_report(s, INT64_MIN, &tmp, &system);
	check_signals(system.signals, system.n_signals);
	size_t n = replay_pages(r, replay_head(r)->start_ns, &tmp, &pages);
	for (size_t i = 0; i < n; i++)
		check_signals(pages[i].signals, pages[i].n_signals);
	n = replay_processes(r, &tmp, &processes);
	for (size_t i = 0; i < n; i++)
		need(!(processes[i].ended_s < -1e12));
	arena_release(&tmp);
}

static void play(struct replay *r, struct arena *run)
{
	const struct watch_config config = replay_config(r);
	struct sampler *s;
	struct err err = { 0 };
	enum replay_result result;
	int64_t at_ns, before_ns = 0;
	struct err ignored;
	result = replay_next(r, &at_ns, &err);
	need(sampler_open(&config, run, &s, &ignored));
	for (; result == REPLAY_SAMPLE; result = replay_next(r, &at_ns, &err)) {
		need(at_ns > 0 && at_ns >= before_ns);
		before_ns = at_ns;
		sampler_step(s, at_ns);
	}
	need(result == REPLAY_END || (err.kind == ERR_INPUT && err.text[0]));
	check_report(r, s);
	sampler_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena run = { 0 };
	struct replay *r;
	struct err err = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	need(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	if (replay_open_fd(fd, "fuzz", &run, &r, &err)) {
		play(r, &run);
		replay_close(r);
	} else {
		need(err.kind == ERR_INPUT && err.text[0]);
	}
	arena_release(&run);
	return 0;
}
