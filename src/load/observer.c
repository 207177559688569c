#include "load/observer.h"

#include "base/clock.h"

#include <linux/sockios.h>
#include <math.h>
#include <sys/ioctl.h>

enum { SAMPLES_PER_TICK = 4, STAT_LINE = 512 };

bool observer_parse_cpu(struct str text, struct cpu_times *ret)
{
	enum { STEAL = 7, FIELDS = 8 }; /* those after it are parts of user time */
	struct str rest;
	struct cpu_times t = { 0 };
	text = str_cut(text, '\n', &rest);
	if (!str_starts(text, STR("cpu ")))
		return false;
	text = str_trim((struct str){ text.s + 4, text.len - 4 });
	for (int i = 0; i < FIELDS; i++) {
		int64_t ticks;
		if (!str_to_i64(str_cut(text, ' ', &text), &ticks))
			return false;
		t.all += (double)ticks;
		t.stolen += i == STEAL ? (double)ticks : 0;
	}
	*ret = t;
	return true;
}

static bool read_cpu(struct cpu_times *ret)
{
	char line[STAT_LINE];
	AUTO(auto_file) FILE *f = fopen("/proc/stat", "re");
	return f && fgets(line, sizeof(line), f) && observer_parse_cpu(str_of(line), ret);
}

static void sample_unread(struct observer *o, struct worker *w)
{
	for (int i = 0, seen = 0; i < GAUGE_FDS && seen < SAMPLES_PER_TICK; i++) {
		int at = (o->next + i) % GAUGE_FDS, bytes;
		int fd = atomic_load_explicit(&w->gauge.fds[at], memory_order_relaxed);
		/* A descriptor that was closed meanwhile, or is something else by now, has none. */
		if (fd < 0 || ioctl(fd, SIOCINQ, &bytes) != 0)
			continue;
		seen++;
		o->n++;
		o->n_bytes += bytes;
		if (bytes > o->max_bytes)
			o->max_bytes = bytes;
	}
}

void observer_tick(struct observer *o, const struct load_shared *shared, struct worker *workers,
        int64_t now_ns)
{
	if (!load_in_window(shared, now_ns))
		return;
	if (!o->begun && !read_cpu(&o->start))
		o->start.all = NAN;
	o->begun = true;
	for (int i = 0; i < shared->n_threads; i++)
		sample_unread(o, &workers[i]);
	o->next = (o->next + SAMPLES_PER_TICK) % GAUGE_FDS;
}

static double steal_ratio(const struct observer *o)
{
	struct cpu_times now;
	if (!o->begun || !isfinite(o->start.all) || !read_cpu(&now) || now.all <= o->start.all)
		return NAN;
	return (now.stolen - o->start.stolen) / (now.all - o->start.all);
}

/* By Little's law for bytes: how long they lay = how many lie there / how many come a second. */
static void fill_unread(const struct observer *o, const struct load_shared *shared,
        const struct worker *workers, struct load_run *r)
{
	struct load_unread *unread = &r->client.unread;
	double bytes = 0, connections = 0;
	for (int i = 0; i < shared->n_threads; i++) {
		bytes += (double)workers[i].gauge.window_bytes;
		connections += (double)workers[i].gauge.n_slots;
	}
	*unread = (struct load_unread){
		.n = o->n, .max_bytes = o->max_bytes, .mean_bytes = NAN, .wait_ms = NAN
	};
	if (o->n == 0)
		return;
	unread->mean_bytes = (double)o->n_bytes / (double)o->n;
	if (bytes > 0)
		unread->wait_ms =
		        unread->mean_bytes * connections / (bytes / r->window.duration_s) * 1000;
}

static void fill_threads(const struct load_shared *shared, const struct worker *workers,
        struct arena *run, struct load_client *client)
{
	struct load_thread *threads =
	        arena_new_n(run, struct load_thread, (size_t)shared->n_threads);
	client->waiting_ratio = NAN;
	client->wanted_ratio = NAN;
	for (int i = 0; i < shared->n_threads; i++) {
		const struct worker *w = &workers[i];
		double wall = w->counts.wall_ns > 0 ? (double)w->counts.wall_ns : NAN;
		threads[i].cpu_ratio = (double)w->counts.cpu_ns / wall;
		threads[i].waiting_ratio =
		        w->gauge.wait_ns < 0 ? NAN : (double)w->gauge.wait_ns / wall;
		/* fmax passes over what is NAN */
		client->waiting_ratio = fmax(client->waiting_ratio, threads[i].waiting_ratio);
		client->wanted_ratio = fmax(client->wanted_ratio,
		        threads[i].cpu_ratio + fmax(0, threads[i].waiting_ratio));
	}
	client->per_thread = threads;
}

void observer_fill(const struct observer *o, const struct load_shared *shared,
        struct worker *workers, struct arena *run, struct load_run *r)
{
	struct load_books *books = &r->books;
	hist_init(&r->client.loop_lag, run);
	for (int i = 0; i < shared->n_threads; i++) {
		const struct gauge *g = &workers[i].gauge;
		const struct load_counts *c = &workers[i].counts;
		hist_merge(&r->client.loop_lag, &g->loop_lag);
		books->completions += c->window_completions;
		books->completions_ok += c->window_ok;
		books->opened += g->opened;
		books->closed += g->closed;
		books->n_compared += g->n_compared;
		books->bytes_apart += g->bytes_apart;
	}
	r->client.steal_ratio = steal_ratio(o);
	fill_unread(o, shared, workers, r);
	fill_threads(shared, workers, run, &r->client);
}
