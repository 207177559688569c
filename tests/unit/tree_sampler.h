/*
 * tree_sampler.h - a machine in a folder, a copy of tests/data/trees/NAME that a test may write to,
 * and a sampler of one source whose clock the test moves.
 *
 *	struct tree t;
 *	tree_open(&t, "server-2s");
 *	tree_watch(&t, &a_source, pid);		pid 0: none
 *	tree_step(&t, 10);			the first sample, at 10 s
 *	tree_put("proc/loadavg", "...");
 *	tree_step(&t, 12);
 *	tree_signal(&t, "host_load1", NULL)->last
 *	tree_close(&t);
 */
#ifndef VENTURI_TESTS_TREE_SAMPLER_H
#define VENTURI_TESTS_TREE_SAMPLER_H

#include "tap.h"
#include "watch_tree.h"

#include "base/clock.h"
#include "watch/sampler.h"

struct tree {
	struct arena memory;
	const struct watch_source *source;
	int pid;
	struct sampler *sampler;
	struct signal_system got;
};

/* name NULL: an empty one */
static inline void tree_open(struct tree *t, const char *name)
{
	char command[8192], data[64];
	*t = (struct tree){ 0 };
	tree_new();
	if (!name)
		return;
	snprintf(data, sizeof(data), "trees/%s", name);
	snprintf(command, sizeof(command), "cp -R '%s/.' '%s'", tap_data(data), tree_root);
	CHECK(system(command) == 0);
}

/* Takes a folder out of the tree. */
static inline void tree_drop(const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", tree_root, name);
	nftw(path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void tree_watch(struct tree *t, const struct watch_source *source, int pid)
{
	struct err err;
	t->source = source;
	t->pid = pid;
	const struct watch_config config = {
		.root = tree_root,
		.interval_ns = NS_PER_S,
		.pids = &t->pid,
		.n_pids = pid ? 1 : 0,
		.sources = (const struct watch_source *const *)&t->source,
		.n_sources = 1,
	};
	CHECK(sampler_open(&config, &t->memory, &t->sampler, &err));
}

static inline void tree_step(struct tree *t, double at_s)
{
	sampler_step(t->sampler, (int64_t)(at_s * 1e9));
	sampler_report(t->sampler, 0, &t->memory, &t->got);
}

static inline const struct signal *system_signal(
        const struct signal_system *got, const char *name, const char *instance)
{
	static const struct signal none = { .name = "",
		.reason = "",
		.text = "",
		.mean = NAN,
		.last = NAN,
		.delta = NAN,
		.max = NAN,
		.source = "" };
	for (size_t i = 0; i < got->n_signals; i++) {
		const struct signal *s = &got->signals[i];
		bool same =
		        instance ? s->instance && strcmp(s->instance, instance) == 0 : !s->instance;
		if (same && strcmp(s->name, name) == 0)
			return s;
	}
	printf("# there is no signal %s of %s\n", name, instance ? instance : "-");
	return &none;
}

static inline const struct signal *tree_signal(
        const struct tree *t, const char *name, const char *instance)
{
	return system_signal(&t->got, name, instance);
}

static inline void tree_stop(struct tree *t)
{
	sampler_close(t->sampler);
	t->sampler = NULL;
}

static inline void tree_close(struct tree *t)
{
	tree_stop(t);
	tree_remove();
	arena_release(&t->memory);
}

/* What signals of a source must show in the newest interval or sample. */
struct tree_want {
	const char *name, *instance;
	double last;
};

static inline void tree_expect(const struct tree *t, const struct tree_want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct signal *s = tree_signal(t, wants[i].name, wants[i].instance);
		double tolerance = 1e-9 * (1 + fabs(wants[i].last));
		if (!CHECK_NEAR(s->last, wants[i].last, tolerance))
			printf("#   %s of %s: %s\n", wants[i].name,
			        wants[i].instance ? wants[i].instance : "-",
			        s->reason ? s->reason : "no reason");
	}
}

/* A signal without values, for a reason that contains words. */
static inline void tree_expect_absent(const struct tree *t, const char *name, const char *instance,
        enum signal_state state, const char *words)
{
	const struct signal *s = tree_signal(t, name, instance);
	CHECK_INT(s->n, 0);
	CHECK_INT(s->state, state);
	if (!CHECK(s->reason && strstr(s->reason, words)))
		printf("#   %s says: %s\n", name, s->reason ? s->reason : "nothing");
}

#endif
