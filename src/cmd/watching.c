#include "cmd/watching.h"

#include "cmd/child.h"
#include "cmd/common.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "watch/procfile.h"
#include "watch/tape/replay.h"
#include "watch/pages/scrape.h"
#include "watch/tape/tape.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };

static const int64_t look_timeout_ns = 2 * NS_PER_S;
/* A signal that comes right before a wait begins is answered so late. */
static const int64_t slice_ns = 200 * NS_PER_MS;
/* Threads and symbols go to the record so often. */
static const int64_t lists_ns = NS_PER_S;

struct watching;

/* A page, and who its looks are recorded for. */
struct page {
	struct watching *owner;
	size_t number;
	struct scrape *scrape;
};

struct watching {
	const struct watching_options *options;
	struct arena *run;
	struct sampler *sampler;
	const char *title;
	const char *started_at;
	int64_t start_ns;
	struct fingerprint fingerprint;
	pthread_mutex_t lock; /* of ended_s */

	/* live */
	int pids[WATCH_PIDS_MAX], ports[WATCH_PORTS_MAX];
	int pid_fds[WATCH_PIDS_MAX]; /* -1: there is none to wait for */
	struct watch_process processes[WATCH_PIDS_MAX];
	size_t n_pids, n_ports;
	struct child child;
	const char *command;
	struct page pages[WATCHING_PAGES_MAX];
	size_t n_pages;
	struct tape *tape;
	int64_t lists_due_ns;

	/* a replay */
	struct replay *replay;
	enum replay_result result;
	int64_t next_ns; /* of the sample that was read and not yet taken */
	struct err damage;
};

/* ---- which processes ---- */

static const char *root_of(const struct watching_options *o)
{
	return o->root ? o->root : "";
}

static const char *name_of(int pid, const char *root, struct arena *run)
{
	char text[NAME_BYTES];
	struct str name;
	if (!procfile_once(root, text, sizeof(text), &name, "/proc/%d/comm", pid))
		return NULL;
	return str_c(str_trim(name), run);
}

static bool add_pid(struct watching *w, int pid, const char *name, struct err *err)
{
	for (size_t i = 0; i < w->n_pids; i++)
		if (w->pids[i] == pid)
			return true;
	if (w->n_pids == WATCH_PIDS_MAX)
		return err_set(
		        err, ERR_USAGE, _("more than %d processes to watch"), WATCH_PIDS_MAX);
	w->pid_fds[w->n_pids] = -1;
	w->processes[w->n_pids] =
	        (struct watch_process){ .pid = pid, .name = name, .ended_s = NAN };
	w->pids[w->n_pids++] = pid;
	return true;
}

static bool take_pids(struct watching *w, struct err *err)
{
	const struct opt_list *words = &w->options->pids;
	for (size_t i = 0; i < words->n; i++) {
		int64_t pid;
		if (!str_to_i64(str_of(words->items[i]), &pid) || pid <= 0 || pid > INT32_MAX)
			return err_set(err, ERR_USAGE, _("'%s' is no PID"), words->items[i]);
		const char *name = name_of((int)pid, root_of(w->options), w->run);
		if (!add_pid(w, (int)pid, name, err))
			return false;
	}
	return true;
}

static bool find_named(struct watching *w, const char *pattern, struct err *err)
{
	size_t before = w->n_pids;
	const char *root = root_of(w->options);
	const char *folder = arena_printf(w->run, "%s/proc", root);
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	bool ok = true;
	while (dir && ok && (entry = readdir(dir))) {
		int64_t pid;
		if (!str_to_i64(str_of(entry->d_name), &pid) || pid == getpid())
			continue;
		const char *name = name_of((int)pid, root, w->run);
		if (name && fnmatch(pattern, name, 0) == 0)
			ok = add_pid(w, (int)pid, name, err);
	}
	if (dir)
		closedir(dir);
	if (ok && w->n_pids == before)
		return err_set(err, ERR_SYSTEM, _("there is no process named '%s'"), pattern);
	return ok;
}

static bool take_processes(struct watching *w, struct err *err)
{
	const struct watching_options *o = w->options;
	if (!take_pids(w, err))
		return false;
	for (size_t i = 0; i < o->names.n; i++)
		if (!find_named(w, o->names.items[i], err))
			return false;
	if (o->command.n == 0)
		return true;
	AUTO(auto_buf) struct buf line = { 0 };
	for (size_t i = 0; i < o->command.n; i++)
		buf_printf(&line, i ? " %s" : "%s", o->command.items[i]);
	w->command = str_c(buf_str(&line), w->run);
	return child_open(&w->child, &o->command, err) &&
	       add_pid(w, w->child.pid, o->command.items[0], err);
}

static bool take_ports(struct watching *w, struct err *err)
{
	const struct opt_list *words = &w->options->ports;
	if (words->n > WATCH_PORTS_MAX)
		return err_set(err, ERR_USAGE, _("more than %d ports to watch"), WATCH_PORTS_MAX);
	for (size_t i = 0; i < words->n; i++) {
		int64_t port;
		if (!str_to_i64(str_of(words->items[i]), &port) || port <= 0 || port > 65535)
			return err_set(err, ERR_USAGE, _("'%s' is no port"), words->items[i]);
		w->ports[w->n_ports++] = (int)port;
	}
	return true;
}

static const char *make_title(const struct watching *w)
{
	AUTO(auto_buf) struct buf title = { 0 };
	for (size_t i = 0; i < w->n_pids; i++) {
		const char *name = w->processes[i].name ? w->processes[i].name : "?";
		buf_printf(&title, "%s%s (%d)", i ? ", " : "", name, w->pids[i]);
	}
	if (w->n_pids == 0)
		buf_add_c(&title, _("this machine"));
	return str_c(buf_str(&title), w->run);
}

/* ---- opening what is live ---- */

static void on_look(void *ctx, int64_t at_ns, struct str text, const char *failed)
{
	const struct page *page = ctx;
	if (page->owner->tape)
		tape_look(page->owner->tape, page->number, at_ns, text, failed);
}

static bool open_pages(struct watching *w, struct err *err)
{
	const struct watching_options *o = w->options;
	if (o->metrics.n > WATCHING_PAGES_MAX)
		return err_set(err, ERR_USAGE, _("'--metrics' takes at most %d pages"),
		        WATCHING_PAGES_MAX);
	for (size_t i = 0; i < o->metrics.n; i++) {
		struct page *page = &w->pages[i];
		const struct scrape_config config = {
			.url = o->metrics.items[i],
			.targets = o->metrics,
			.headers = o->headers,
			.insecure = o->insecure,
			.patient = true,
			.timeout_ns = look_timeout_ns,
			.on_look = on_look,
			.ctx = page,
		};
		*page = (struct page){ .owner = w, .number = i };
		if (!scrape_open(&config, w->run, &page->scrape, err))
			return err_wrap(err, "--metrics");
		w->n_pages++;
	}
	return true;
}

static bool open_tape(struct watching *w, struct err *err)
{
	const char *urls[WATCHING_PAGES_MAX];
	for (size_t i = 0; i < w->n_pages; i++)
		urls[i] = scrape_url(w->pages[i].scrape);
	const struct tape_head head = {
		.started_at = w->started_at,
		.start_ns = w->start_ns,
		.interval_ns = w->options->interval_ns,
		.fingerprint = &w->fingerprint,
		.processes = w->processes,
		.n_processes = w->n_pids,
		.pages = urls,
		.n_pages = w->n_pages,
	};
	if (!tape_open(w->options->record, &head, w->run, &w->tape, err))
		return false;
	sampler_on_sample(w->sampler, tape_sample, w->tape);
	return true;
}

static const char *now_utc(struct arena *run)
{
	char text[32];
	struct tm wall;
	time_t now = time(NULL);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &wall));
	return arena_strdup(run, text);
}

static bool check_root(const struct watching_options *o, struct err *err)
{
	DIR *dir = o->root ? opendir(o->root) : NULL;
	if (o->root && !dir)
		return err_set(
		        err, ERR_SYSTEM, _("cannot open '%s': %s"), o->root, strerror(errno));
	if (dir)
		closedir(dir);
	return true;
}

static bool open_live(struct watching *w, struct err *err)
{
	const struct watching_options *o = w->options;
	if (!check_root(o, err) || !take_processes(w, err) || !take_ports(w, err) ||
	        !open_pages(w, err))
		return false;
	const struct watch_config config = {
		.root = root_of(o),
		.pids = w->pids,
		.n_pids = w->n_pids,
		.ports = w->ports,
		.n_ports = w->n_ports,
		.interval_ns = o->interval_ns,
		.profile = o->profile,
	};
	if (!sampler_open(&config, w->run, &w->sampler, err))
		return false;
	/* A tree of another machine has no processes that could end. */
	for (size_t i = 0; !o->root && i < w->n_pids; i++)
		w->pid_fds[i] = pidfd_open(w->pids[i], 0);
	fingerprint_host(&w->fingerprint, w->run, root_of(o));
	w->title = make_title(w);
	return true;
}

/* ---- opening a replay ---- */

static bool open_replay(struct watching *w, struct err *err)
{
	if (!replay_open(w->options->replay, w->run, &w->replay, err))
		return false;
	const struct tape_head *head = replay_head(w->replay);
	const struct watch_config config = replay_config(w->replay);
	w->started_at = head->started_at;
	w->fingerprint = *head->fingerprint;
	for (size_t i = 0; i < head->n_processes; i++)
		if (!add_pid(w, head->processes[i].pid, head->processes[i].name, err))
			return false;
	w->title = make_title(w);
	w->result = replay_next(w->replay, &w->next_ns, &w->damage);
	w->start_ns = w->result == REPLAY_SAMPLE ? w->next_ns : head->start_ns;
	return sampler_open(&config, w->run, &w->sampler, err);
}

/* ---- opening and closing ---- */

bool watching_open(const struct watching_options *options, struct arena *run,
        struct watching **ret_watching, struct err *err)
{
	struct watching *w = arena_new(run, struct watching);
	w->options = options;
	w->run = run;
	pthread_mutex_init(&w->lock, NULL);
	if (!(options->replay ? open_replay(w, err) : open_live(w, err))) {
		watching_close(w);
		return false;
	}
	*ret_watching = w;
	return true;
}

static void close_pages(struct watching *w)
{
	for (size_t i = 0; i < w->n_pages; i++)
		scrape_close(w->pages[i].scrape);
	w->n_pages = 0;
}

void watching_close(struct watching *w)
{
	struct watch_record_info ignored;
	if (!w)
		return;
	close_pages(w);
	sampler_close(w->sampler);
	tape_close(w->tape, &ignored);
	replay_close(w->replay);
	child_close(&w->child);
	for (size_t i = 0; !w->replay && i < w->n_pids; i++)
		if (w->pid_fds[i] >= 0)
			close(w->pid_fds[i]);
	pthread_mutex_destroy(&w->lock);
}

/* Nobody waits for a page: one that cannot be read now may be read later. */
static bool start_pages(struct watching *w, struct err *err)
{
	for (size_t i = 0; i < w->n_pages; i++) {
		if (!scrape_start(w->pages[i].scrape, false, err))
			return false;
		scrape_window_opens(w->pages[i].scrape);
	}
	return true;
}

bool watching_start(struct watching *w, struct err *err)
{
	if (w->replay)
		return true;
	w->started_at = now_utc(w->run);
	w->start_ns = clock_now_ns();
	w->lists_due_ns = w->start_ns + lists_ns;
	if ((w->options->record && !open_tape(w, err)) || !start_pages(w, err))
		return false;
	return sampler_start(w->sampler, err) && (w->child.pid <= 0 || child_go(&w->child, err));
}

struct sampler *watching_sampler(struct watching *w)
{
	return w->sampler;
}

const char *watching_title(const struct watching *w)
{
	return w->title;
}

int64_t watching_start_ns(const struct watching *w)
{
	return w->start_ns;
}

int64_t watching_interval_ns(const struct watching *w)
{
	return w->replay ? replay_head(w->replay)->interval_ns : w->options->interval_ns;
}

bool watching_is_live(const struct watching *w)
{
	return !w->replay;
}

/* ---- while it goes on ---- */

/* Fills fds; returns how many. */
static nfds_t living(const struct watching *w, struct pollfd fds[WATCH_PIDS_MAX])
{
	nfds_t n = 0;
	for (size_t i = 0; i < w->n_pids; i++)
		if (w->pid_fds[i] >= 0 && isnan(w->processes[i].ended_s))
			fds[n++] = (struct pollfd){ .fd = w->pid_fds[i], .events = POLLIN };
	return n;
}

static bool has_ended(const struct watching *w, size_t i)
{
	struct pollfd fd = { .fd = w->pid_fds[i], .events = POLLIN };
	if (w->options->root)
		return false;
	/* Kernels before 5.3 have no such descriptors. */
	return fd.fd >= 0 ? poll(&fd, 1, 0) > 0 : kill(w->pids[i], 0) != 0 && errno == ESRCH;
}

/* Marks those that have ended; false: none is left. */
static bool look_for_ended(struct watching *w)
{
	size_t n_living = 0;
	int64_t now_ns = clock_now_ns();
	for (size_t i = 0; i < w->n_pids; i++) {
		if (!isnan(w->processes[i].ended_s))
			continue;
		if (!has_ended(w, i)) {
			n_living++;
			continue;
		}
		pthread_mutex_lock(&w->lock);
		w->processes[i].ended_s = (double)(now_ns - w->start_ns) / 1e9;
		pthread_mutex_unlock(&w->lock);
		if (w->tape)
			tape_process_ended(w->tape, i, now_ns);
	}
	return n_living > 0 || w->n_pids == 0;
}

static bool wants_none(const char *name)
{
	(void)name;
	return false;
}

static void record_lists(struct watching *w)
{
	struct arena tmp = { 0 };
	struct signal_system system;
	int64_t now_ns = clock_now_ns();
	if (!w->tape || now_ns < w->lists_due_ns)
		return;
	w->lists_due_ns = now_ns + lists_ns;
	sampler_glance(w->sampler, INT64_MIN, wants_none, &tmp, &system);
	tape_system(w->tape, now_ns, &system);
	arena_release(&tmp);
}

bool watching_goes_on(struct watching *w)
{
	if (w->replay)
		return w->result == REPLAY_SAMPLE;
	record_lists(w);
	return look_for_ended(w);
}

static bool wait_replay(struct watching *w, int64_t until_ns)
{
	while (w->result == REPLAY_SAMPLE && w->next_ns <= until_ns) {
		sampler_step(w->sampler, w->next_ns);
		w->result = replay_next(w->replay, &w->next_ns, &w->damage);
	}
	return w->result == REPLAY_SAMPLE;
}

bool watching_wait(struct watching *w, int64_t until_ns, const atomic_bool *stop)
{
	struct pollfd fds[WATCH_PIDS_MAX];
	if (w->replay)
		return wait_replay(w, until_ns);
	while (!atomic_load(stop)) {
		int64_t left_ns = until_ns - clock_now_ns();
		if (!watching_goes_on(w))
			return false;
		if (left_ns <= 0)
			return true;
		struct timespec slice = clock_to_timespec(left_ns < slice_ns ? left_ns : slice_ns);
		(void)ppoll(fds, living(w, fds), &slice, NULL);
	}
	return true;
}

/* ---- what there is ---- */

size_t watching_pages(struct watching *w, struct arena *run, struct signal_page **ret_pages)
{
	int64_t begin_ns = sampler_begin_ns(w->sampler);
	if (w->replay)
		return replay_pages(w->replay, begin_ns, run, ret_pages);
	struct signal_page *pages = arena_new_n(run, struct signal_page, w->n_pages + 1);
	for (size_t i = 0; i < w->n_pages; i++)
		scrape_report(w->pages[i].scrape, begin_ns, clock_now_ns(), run, &pages[i]);
	*ret_pages = pages;
	return w->n_pages;
}

static void fill_processes(struct watching *w, struct arena *run, struct watch_run *r)
{
	if (w->replay) {
		r->n_processes = replay_processes(w->replay, run, &r->processes);
		return;
	}
	r->n_processes = w->n_pids;
	r->processes = arena_new_n(run, struct watch_process, w->n_pids + 1);
	pthread_mutex_lock(&w->lock);
	memcpy(r->processes, w->processes, w->n_pids * sizeof(*r->processes));
	pthread_mutex_unlock(&w->lock);
}

static void fill(struct watching *w, struct arena *run, struct watch_run *r)
{
	r->started_at = w->started_at;
	r->fingerprint = w->fingerprint;
	r->duration_s = r->system.to_s - r->system.from_s;
	r->command = w->command;
	r->command_status = -1;
	if (w->replay) {
		r->replayed = w->options->replay;
		r->is_cut = replay_is_cut(w->replay);
		r->record.n_dropped = replay_n_dropped(w->replay);
	}
	fill_processes(w, run, r);
	r->n_pages = watching_pages(w, run, &r->pages);
}

void watching_glance(struct watching *w, bool (*wants)(const char *name), struct arena *tmp,
        struct watch_run *ret_run)
{
	*ret_run = (struct watch_run){ 0 };
	sampler_glance(w->sampler, INT64_MIN, wants, tmp, &ret_run->system);
	fill(w, tmp, ret_run);
}

void watching_finish(struct watching *w, struct arena *run, struct watch_run *ret_run)
{
	*ret_run = (struct watch_run){ 0 };
	if (!w->replay)
		sampler_ends(w->sampler);
	/* All look a last time at once. */
	for (size_t i = 0; i < w->n_pages; i++)
		scrape_window_closes(w->pages[i].scrape);
	for (size_t i = 0; i < w->n_pages; i++)
		scrape_finish(w->pages[i].scrape);
	sampler_report(w->sampler, INT64_MIN, run, &ret_run->system);
	/* A process that has ended can be seen until it is waited for: not before the last sample.
	 */
	int status = child_close(&w->child);
	fill(w, run, ret_run);
	ret_run->command_status = status;
	if (w->tape) {
		tape_system(w->tape, clock_now_ns(), &ret_run->system);
		tape_close(w->tape, &ret_run->record);
		w->tape = NULL;
		sampler_on_sample(w->sampler, NULL, NULL);
	}
}

bool watching_check(const struct watching *w, struct err *err)
{
	if (!w->replay || w->result != REPLAY_DAMAGED)
		return true;
	*err = w->damage;
	return false;
}
