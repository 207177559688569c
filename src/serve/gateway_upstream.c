#include "serve/gateway_upstream.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "net/fetch.h"

#include <errno.h>
#include <string.h>

enum { FAILURES_UNTIL_DOWN = 3 };

#define PROBE_UP_NS (5 * NS_PER_S)
#define PROBE_DOWN_NS (NS_PER_S / 2)
#define PROBE_TIMEOUT_NS (2 * NS_PER_S)

static bool is_up(const struct upstream *up)
{
	return atomic_load_explicit(&up->state, memory_order_relaxed) == UPSTREAM_UP;
}

static bool parse_one(struct upstream *up, const char *text, struct arena *run, struct err *err)
{
	static const char unix_prefix[] = "unix:";
	size_t n = sizeof(unix_prefix) - 1;
	bool is_unix = strncmp(text, unix_prefix, n) == 0;
	if (!url_parse(is_unix ? "http://localhost" : text, run, &up->url, err))
		return err_wrap(err, "%s", "--upstream");
	if (is_unix) {
		up->url.unix_socket = text + n;
		up->url.text = text;
	}
	struct str base = str_of(up->url.path);
	if (memchr(base.s, '?', base.len))
		return err_set(err, ERR_USAGE, _("the upstream '%s' must not have a query"), text);
	while (base.len && base.s[base.len - 1] == '/')
		base.len--;
	up->base = str_c(base, run);
	pthread_mutex_init(&up->lock, NULL);
	return true;
}

bool upstreams_init(
        struct upstreams *u, const char *const *urls, size_t n, struct arena *run, struct err *err)
{
	*u = (struct upstreams){ .health_path = "/health" };
	if (n > UPSTREAMS_MAX)
		return err_set(
		        err, ERR_USAGE, _("there can be at most %d upstreams"), UPSTREAMS_MAX);
	u->at = arena_new_n(run, struct upstream, n);
	for (size_t i = 0; i < n; i++)
		if (!parse_one(&u->at[i], urls[i], run, err))
			return false;
	u->n = (int)n;
	return true;
}

static void set_state(struct upstreams *u, struct upstream *up, enum upstream_state state)
{
	int before = atomic_exchange(&up->state, (int)state);
	if (before == (int)state)
		return;
	if (state == UPSTREAM_DOWN && before == UPSTREAM_UP)
		upstream_count(up, UPSTREAM_EJECTIONS);
	u->changed(u->changed_ctx);
}

/* The name is looked up anew: who went away may come back elsewhere. */
static bool resolve(struct upstreams *u, struct upstream *up)
{
	struct arena arena = { 0 };
	struct conn_target target;
	struct err err;
	if (!conn_target_open(&up->url, u->insecure, PROBE_TIMEOUT_NS, &arena, &target, &err)) {
		arena_release(&arena);
		return false;
	}
	pthread_mutex_lock(&up->lock);
	struct conn_target old = up->target;
	struct arena old_arena = up->arena;
	bool had = up->has_target;
	up->target = target;
	up->arena = arena;
	up->has_target = true;
	pthread_mutex_unlock(&up->lock);
	if (had)
		conn_target_close(&old);
	arena_release(&old_arena);
	return true;
}

/*
 * What the service says of its health. It answers when there is no such path, too; and one that
 * computes may have no time to answer, which is no reason to leave it.
 */
static bool is_healthy(struct upstreams *u, struct upstream *up)
{
	struct arena arena = { 0 };
	struct fetch_reply reply;
	struct err err;
	const char *path = arena_printf(&arena, "%s%s", up->base, u->health_path);
	/* only this thread changes the target */
	bool answered = fetch(&up->target, &up->url, "GET", path, NULL, 0, PROBE_TIMEOUT_NS, &arena,
	        &reply, &err);
	bool ok = answered ? reply.status < 500 : atomic_load(&up->in_flight) > 0;
	arena_release(&arena);
	return ok;
}

static void probe(struct upstreams *u, struct upstream *up)
{
	bool ok = (is_up(up) || resolve(u, up)) && is_healthy(u, up);
	set_state(u, up, ok ? UPSTREAM_UP : UPSTREAM_DOWN);
}

static void *run_prober(void *arg)
{
	struct upstreams *u = arg;
	int64_t due[UPSTREAMS_MAX] = { 0 };
	pthread_mutex_lock(&u->lock);
	while (!u->closing) {
		int64_t now = clock_now_ns(), next = now + PROBE_UP_NS;
		for (int i = 0; i < u->n && !u->closing; i++) {
			struct upstream *up = &u->at[i];
			if (!is_up(up) && due[i] > now + PROBE_DOWN_NS)
				due[i] = now + PROBE_DOWN_NS; /* it was left meanwhile */
			if (due[i] <= now) {
				pthread_mutex_unlock(&u->lock);
				probe(u, up);
				pthread_mutex_lock(&u->lock);
				due[i] = clock_now_ns() + (is_up(up) ? PROBE_UP_NS : PROBE_DOWN_NS);
			}
			next = due[i] < next ? due[i] : next;
		}
		struct timespec until = clock_to_timespec(next);
		if (!u->closing)
			pthread_cond_timedwait(&u->wake, &u->lock, &until);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

bool upstreams_start(struct upstreams *u, struct err *err)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&u->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&u->lock, NULL);
	int failed = pthread_create(&u->prober, NULL, run_prober, u);
	return !failed ||
	       err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(failed));
}

void upstreams_stop(struct upstreams *u)
{
	pthread_mutex_lock(&u->lock);
	u->closing = true;
	pthread_cond_signal(&u->wake);
	pthread_mutex_unlock(&u->lock);
	pthread_join(u->prober, NULL);
}

void upstreams_close(struct upstreams *u)
{
	for (int i = 0; i < u->n; i++) {
		struct upstream *up = &u->at[i];
		if (up->has_target)
			conn_target_close(&up->target);
		arena_release(&up->arena);
		pthread_mutex_destroy(&up->lock);
	}
	pthread_cond_destroy(&u->wake);
	pthread_mutex_destroy(&u->lock);
}

static bool has_room(const struct upstreams *u, const struct upstream *up, enum upstream_kind kind)
{
	return is_up(up) && (u->limits[kind] <= 0 || up->n_calls[kind] < u->limits[kind]);
}

/* Among those from the first one on. */
static struct upstream *choose_balanced(
        const struct upstreams *u, int first, enum upstream_kind kind, const struct upstream *avoid)
{
	struct upstream *best = NULL;
	int n = u->n - first;
	for (int k = 0; k < n; k++) {
		struct upstream *up = &u->at[first + (u->next + k) % n];
		if (up == avoid || !has_room(u, up, kind))
			continue;
		if (!best || atomic_load(&up->in_flight) < atomic_load(&best->in_flight))
			best = up;
		if (u->balance == UPSTREAM_ROUND_ROBIN)
			break;
	}
	return best;
}

static bool is_unbalanced(const struct upstreams *u)
{
	return u->unbalanced_ratio > 0 && u->n > 1;
}

struct upstream *upstreams_choose(
        const struct upstreams *u, enum upstream_kind kind, const struct upstream *avoid)
{
	bool unbalanced = is_unbalanced(u);
	bool falls_on_first = unbalanced && u->unbalanced_debt + u->unbalanced_ratio >= 1;
	if (falls_on_first && is_up(&u->at[0]))
		return &u->at[0];
	struct upstream *up = choose_balanced(u, unbalanced ? 1 : 0, kind, avoid);
	if (!up && (unbalanced || avoid))
		up = choose_balanced(u, 0, kind, NULL);
	return up;
}

void upstreams_chosen(struct upstreams *u, const struct upstream *up)
{
	int first = is_unbalanced(u) ? 1 : 0, i = (int)(up - u->at);
	if (i >= first)
		u->next = (i - first + 1) % (u->n - first);
	if (!is_unbalanced(u))
		return;
	u->unbalanced_debt += u->unbalanced_ratio;
	if (u->unbalanced_debt >= 1)
		u->unbalanced_debt -= 1;
}

bool upstreams_all_down(const struct upstreams *u)
{
	for (int i = 0; i < u->n; i++)
		if (atomic_load(&u->at[i].state) != UPSTREAM_DOWN)
			return false;
	return true;
}

void upstream_failed(struct upstreams *u, struct upstream *up, bool unreached)
{
	up->n_failures++;
	if (!unreached && up->n_failures < FAILURES_UNTIL_DOWN)
		return;
	set_state(u, up, UPSTREAM_DOWN);
	pthread_mutex_lock(&u->lock);
	pthread_cond_signal(&u->wake); /* to be looked at again soon */
	pthread_mutex_unlock(&u->lock);
}

void upstream_answered(struct upstream *up)
{
	up->n_failures = 0;
}

bool upstreams_any_up(const struct upstreams *u)
{
	for (int i = 0; i < u->n; i++)
		if (is_up(&u->at[i]))
			return true;
	return false;
}

bool upstreams_another(const struct upstreams *u, const struct upstream *than)
{
	for (int i = 0; i < u->n; i++)
		if (&u->at[i] != than && is_up(&u->at[i]))
			return true;
	return false;
}
