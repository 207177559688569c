#include "watch/pages/scrape.h"

#include "watch/pages/metrics_window.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "net/fetch.h"

#include <pthread.h>
#include <string.h>

struct scrape {
	struct scrape_config config;
	struct url url;
	const char *page; /* the URL in full */
	struct conn_target target;
	struct arena target_memory; /* the thread's while it runs, as the target */
	bool has_target;
	bool at_once; /* the window opened before the thread began */
	bool begun;   /* differences count; the thread's while it runs */
	/* shared with the thread, under the lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct metrics_window *window;
	int64_t n_read, n_failed;
	struct err failed; /* of the newest look that failed */
	bool opened, closed;
	bool has_thread;
	pthread_t thread;
};

static bool is_a_target(const struct scrape *s, struct arena *run)
{
	for (size_t i = 0; i < s->config.targets.n; i++) {
		struct url target;
		struct err ignored;
		if (url_parse(s->config.targets.items[i], run, &target, &ignored) &&
		        target.tls == s->url.tls && strcmp(target.authority, s->url.authority) == 0)
			return true;
	}
	return false;
}

static bool open_target(struct scrape *s, struct err *err)
{
	arena_release(&s->target_memory);
	s->has_target = conn_target_open(&s->url, s->config.insecure, s->config.timeout_ns,
	        &s->target_memory, &s->target, err);
	return s->has_target;
}

bool scrape_open(const struct scrape_config *config, struct arena *run, struct scrape **ret_scrape,
        struct err *err)
{
	struct scrape *s = arena_new(run, struct scrape);
	pthread_condattr_t attributes;
	s->config = *config;
	if (!url_parse(config->url, run, &s->url, err))
		return false;
	s->url.unix_socket = config->unix_socket;
	if (config->path || strcmp(s->url.path, "/") == 0)
		s->url.path = config->path ? config->path : "/metrics";
	if (!is_a_target(s, run))
		s->config.headers.n = 0;
	s->page = arena_printf(
	        run, "%s://%s%s", s->url.tls ? "https" : "http", s->url.authority, s->url.path);
	if (!open_target(s, err)) {
		if (!config->patient || err->kind != ERR_SYSTEM) {
			arena_release(&s->target_memory);
			return false;
		}
		s->n_failed = 1;
		s->failed = *err;
	}
	s->window = metrics_window_new();
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	*ret_scrape = s;
	return true;
}

void scrape_close(struct scrape *s)
{
	if (!s)
		return;
	scrape_finish(s);
	conn_target_close(&s->target);
	arena_release(&s->target_memory);
	metrics_window_free(s->window);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}

/* Asks for the page; ret_at_ns: when the service is taken to have counted. */
static bool ask(struct scrape *s, struct arena *tmp, struct str *ret_text, int64_t *ret_at_ns,
        struct err *err)
{
	const struct opt_list *headers = &s->config.headers;
	struct fetch_reply reply;
	*ret_at_ns = clock_now_ns();
	if (!s->has_target && !open_target(s, err))
		return false;
	int64_t asked_ns = *ret_at_ns = clock_now_ns();
	if (!fetch(&s->target, &s->url, "GET", s->url.path, headers->items, headers->n,
	            s->config.timeout_ns, tmp, &reply, err))
		return false;
	/* When in between the service counted is its secret: the middle is the best guess. */
	*ret_at_ns = asked_ns + (clock_now_ns() - asked_ns) / 2;
	*ret_text = reply.body;
	return reply.status == 200 || err_set(err, ERR_SYSTEM, _("HTTP status %d"), reply.status);
}

/* begins: where the opening could not be seen, the next look that succeeds begins. */
static bool look(struct scrape *s, bool begins, struct err *err)
{
	struct arena tmp = { 0 };
	struct str text = { 0 };
	int64_t at_ns;
	bool ok = ask(s, &tmp, &text, &at_ns, err);
	pthread_mutex_lock(&s->lock);
	ok = ok && metrics_window_add(s->window, text, at_ns, err);
	s->n_read += ok;
	s->n_failed += !ok;
	if (!ok)
		s->failed = *err;
	if (ok && begins && !s->begun) {
		metrics_window_begin(s->window);
		s->begun = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (s->config.on_look)
		s->config.on_look(s->config.ctx, at_ns, text, ok ? NULL : err->text);
	arena_release(&tmp);
	return ok;
}

bool scrape_look(struct scrape *s, struct err *err)
{
	return look(s, false, err);
}

const char *scrape_url(const struct scrape *s)
{
	return s->page;
}

/* What the thread alone knows. */
struct turns {
	bool opened, closed; /* seen by the thread */
	int64_t next_ns;     /* the next look; INT64_MAX: none before the window opens */
};

/* Sleeps until the next look is due, or the window has opened or closed. */
static void wait_for_turn(struct scrape *s, struct turns *t)
{
	struct timespec at = clock_to_timespec(t->next_ns);
	pthread_mutex_lock(&s->lock);
	while (!s->closed && s->opened == t->opened && clock_now_ns() < t->next_ns) {
		if (t->next_ns == INT64_MAX)
			pthread_cond_wait(&s->changed, &s->lock);
		else
			pthread_cond_timedwait(&s->changed, &s->lock, &at);
	}
	t->opened = s->opened;
	t->closed = s->closed;
	pthread_mutex_unlock(&s->lock);
}

static void *scrape_thread(void *arg)
{
	struct scrape *s = arg;
	struct err ignored;
	struct turns t = { .opened = s->at_once, .next_ns = INT64_MAX };
	if (t.opened)
		t.next_ns = clock_now_ns() + metrics_window_period_ns(s->window);
	while (!t.closed) {
		wait_for_turn(s, &t);
		if (!t.opened)
			continue; /* closed without a window */
		t.next_ns = clock_now_ns() + metrics_window_period_ns(s->window);
		look(s, true, &ignored);
	}
	return NULL;
}

bool scrape_start(struct scrape *s, bool at_once, struct err *err)
{
	if (at_once)
		metrics_window_begin(s->window);
	s->begun = s->opened = s->at_once = at_once;
	s->closed = false;
	int code = pthread_create(&s->thread, NULL, scrape_thread, s);
	if (code != 0)
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(code));
	s->has_thread = true;
	return true;
}

static void tell(struct scrape *s, bool *what)
{
	pthread_mutex_lock(&s->lock);
	*what = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void scrape_window_opens(struct scrape *s)
{
	tell(s, &s->opened);
}

void scrape_window_closes(struct scrape *s)
{
	tell(s, &s->closed);
}

void scrape_finish(struct scrape *s)
{
	if (!s->has_thread)
		return;
	scrape_window_closes(s);
	pthread_join(s->thread, NULL);
	s->has_thread = false;
}

bool scrape_knows(const struct scrape *s)
{
	return metrics_window_knows(s->window);
}

void scrape_report(struct scrape *s, int64_t start_ns, int64_t end_ns, struct arena *run,
        struct signal_page *ret_page)
{
	pthread_mutex_lock(&s->lock);
	struct signal_page page = { .url = s->page, .n_read = s->n_read, .n_failed = s->n_failed };
	if (s->n_failed > 0)
		page.reason =
		        arena_printf(run, _("the newest look that failed: %s"), s->failed.text);
	metrics_window_report(s->window, s->page, start_ns, end_ns, run, &page);
	pthread_mutex_unlock(&s->lock);
	*ret_page = page;
}
