/*
 * The heap of this program counts what is asked of it: the test's functions take the place of the
 * library's, whose own names begin with __libc. A sanitizer has its own heap.
 */
#include "watch/sampler.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "tap.h"

#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_HEAP 1
#endif
#endif

/* Of the thread that asks: sources may have threads that do something else. */
static _Thread_local long n_taken;

#if defined(__GLIBC__) && !defined(HAS_OWN_HEAP)
enum { HEAP_IS_COUNTED = true };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	n_taken++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	n_taken++;
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	n_taken++;
	return __libc_realloc(old, size);
}
#else
enum { HEAP_IS_COUNTED = false };
#endif

/*
 * What is new meanwhile (a process, a connection) may take memory: a service of this machine does
 * that now and then, a source that takes memory at its every sample does it N_STEPS times.
 */
enum { N_FIRST = 120, N_STEPS = 200, N_NEW_MAX = N_STEPS / 10 };

static void samples_take_no_memory(void)
{
	if (!HEAP_IS_COUNTED) {
		tap_skip("the heap is not one that can be counted");
		return;
	}
	struct arena run = { 0 };
	struct err err;
	struct sampler *s;
	int pid = getpid();
	struct watch_config config = {
		.root = "", .pids = &pid, .n_pids = 1, .interval_ns = 100 * NS_PER_MS
	};
	int64_t now_ns = clock_now_ns();
	CHECK(i18n_init("en"));
	if (!CHECK(sampler_open(&config, &run, &s, &err)))
		return;
	for (int i = 0; i < N_FIRST; i++)
		sampler_step(s, now_ns += config.interval_ns);
	long before = n_taken;
	for (int i = 0; i < N_STEPS; i++)
		sampler_step(s, now_ns += config.interval_ns);
	long taken = n_taken - before;
	if (!CHECK(taken <= N_NEW_MAX))
		printf("#   %ld times in %d samples\n", taken, N_STEPS);
	CHECK(before > 0);
	sampler_close(s);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(samples_take_no_memory);
	return tap_done();
}
