/*
 * device_watch.h - what test_nvml.c and test_amd.c share: a sampler that watches the devices of a
 * stand-in library (tests/standins), step by step.
 */
#ifndef VENTURI_TESTS_DEVICE_WATCH_H
#define VENTURI_TESTS_DEVICE_WATCH_H

#include "tap.h"

#include "base/arena.h"
#include "base/clock.h"
#include "watch/sampler.h"
#include "watch/sources.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A test waits so long for something to be told. */
#define DEVICE_WAIT_NS (4 * NS_PER_S)

struct device_watch_test {
	struct arena run, tmp;
	struct sampler *sampler;
	void *standin;
};

/* A function of the stand-in, by name; to: where its pointer goes. */
static inline void standin_function(void *standin, const char *name, void *to)
{
	void *f = dlsym(standin, name);
	if (!f) {
		printf("# the stand-in has no %s\n", name);
		abort();
	}
	memcpy(to, &f, sizeof(f));
}

/* Loads the stand-in under the variable that names it to the program. */
static inline void *standin_load(const char *variable, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/lib%s.so", VENTURI_STANDINS, name);
	setenv("VENTURI_NVML", "/nowhere/libnvidia-ml.so.1", 1);
	setenv("VENTURI_AMDSMI", "/nowhere/libamd_smi.so", 1);
	setenv("VENTURI_ROCMSMI", "/nowhere/librocm_smi64.so", 1);
	setenv(variable, path, 1);
	void *standin = dlopen(path, RTLD_NOW);
	if (!standin) {
		printf("# %s\n", dlerror());
		abort();
	}
	return standin;
}

static inline void watch_open(
        struct device_watch_test *w, const char *root, const int *pids, size_t n_pids)
{
	static const struct watch_source *const sources[] = { &gpu_source };
	struct watch_config config = { .root = root,
		.pids = pids,
		.n_pids = n_pids,
		.interval_ns = 100 * NS_PER_MS,
		.sources = sources,
		.n_sources = 1 };
	struct err err = { 0 };
	if (!CHECK(sampler_open(&config, &w->run, &w->sampler, &err)))
		printf("# %s\n", err.text);
}

static inline void watch_close(struct device_watch_test *w)
{
	sampler_close(w->sampler);
	arena_release(&w->tmp);
	arena_release(&w->run);
}

static inline const struct signal *watch_find(
        struct device_watch_test *w, const char *name, const char *instance)
{
	struct signal_system *got = arena_new(&w->tmp, struct signal_system);
	sampler_report(w->sampler, INT64_MIN, &w->tmp, got);
	for (size_t i = 0; i < got->n_signals; i++) {
		const struct signal *s = &got->signals[i];
		bool same =
		        instance ? s->instance && strcmp(s->instance, instance) == 0 : !s->instance;
		if (same && strcmp(s->name, name) == 0)
			return s;
	}
	return NULL;
}

static inline void watch_step(struct device_watch_test *w)
{
	sampler_step(w->sampler, clock_now_ns());
	usleep(5000);
}

/* Steps until the signal's last value is this one; what it is then, or after a while without. */
static inline const struct signal *watch_value(
        struct device_watch_test *w, const char *name, const char *instance, double value)
{
	int64_t until_ns = clock_now_ns() + DEVICE_WAIT_NS;
	const struct signal *s = NULL;
	do {
		arena_release(&w->tmp);
		watch_step(w);
		s = watch_find(w, name, instance);
	} while (!(s && fabs(s->last - value) <= fabs(value) * 1e-9) && clock_now_ns() < until_ns);
	if (!CHECK(s != NULL))
		printf("# there is no %s of %s\n", name, instance ? instance : "all");
	else if (!CHECK(fabs(s->last - value) <= fabs(value) * 1e-9))
		printf("# %s of %s is %g, not %g; %s\n", name, instance, s->last, value,
		        s->reason ? s->reason : "no reason");
	return s;
}

/* Steps until the signal's reason has these words. */
static inline const struct signal *watch_reason(
        struct device_watch_test *w, const char *name, const char *instance, const char *words)
{
	int64_t until_ns = clock_now_ns() + DEVICE_WAIT_NS;
	const struct signal *s = NULL;
	do {
		arena_release(&w->tmp);
		watch_step(w);
		s = watch_find(w, name, instance);
	} while (!(s && s->reason && strstr(s->reason, words)) && clock_now_ns() < until_ns);
	if (!CHECK(s && s->reason && strstr(s->reason, words)))
		printf("# the reason of %s of %s is '%s'\n", name, instance ? instance : "all",
		        s && s->reason ? s->reason : "none");
	return s;
}

/* Steps until the signal's text is this one. */
static inline void watch_text(
        struct device_watch_test *w, const char *name, const char *instance, const char *text)
{
	int64_t until_ns = clock_now_ns() + DEVICE_WAIT_NS;
	const struct signal *s = NULL;
	do {
		arena_release(&w->tmp);
		watch_step(w);
		s = watch_find(w, name, instance);
	} while (!(s && s->text && strcmp(s->text, text) == 0) && clock_now_ns() < until_ns);
	CHECK_STR(s ? s->text : NULL, text);
}

/* A file of a tree that a test makes for itself. */
static inline void tree_write(const char *root, const char *path, const char *text)
{
	char full[4096];
	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(full, 0755);
	}
	FILE *f = fopen(full, "we");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

#endif
