#include "serve/fault_work.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/rng.h"
#include "engine/cpus.h"
#include "engine/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	HEAP_LINKS = 1 << 18, /* what a pause walks over */
	HEAP_WALK = 4096,     /* links between two looks at the clock */
	IMAGE_SIDE = 64,
	LOG_LINE = 128,
	LOG_BYTES_MAX = 64 * 1024 * 1024, /* then it begins anew */
	HOLE_BYTES_MIN = 16 * 1024,
	HOLE_BYTES_MAX = 112 * 1024, /* below what the allocator takes from the system alone */
	HOLE_STEP = 16,
	KEPT_BYTES = 48,
	KEPT_MAX = 16384,
	FILE_BYTES = 4 * 1024 * 1024,
	PAGE_BYTES = 4096,
};

#define FILE_PAUSE_NS (20 * NS_PER_MS)

struct fault_work {
	const struct faults *faults;
	int64_t started_ns;
	atomic_bool closing;
	pthread_mutex_t global;
	pthread_mutex_t lock; /* of what follows */
	int log_fd;
	int64_t log_bytes, n_requests;
	struct leaked *leaked;
	void **kept; /* ring [KEPT_MAX] of blocks, all but the last shrunk */
	size_t n_kept, hole_bytes;
	sem_t retain_more; /* a request each */
	pthread_t threads[4];
	int n_threads;
};

/* Findable, so that a leak here is none for a sanitizer. */
struct leaked {
	struct leaked *next;
};

/* ---- pauses ---- */

/* When the pause ends that now_ns lies in; 0: in none. The first begins after one period. */
static int64_t pause_end(const struct fault_work *w, int64_t now_ns)
{
	int64_t every = w->faults->stall_every_ns;
	int64_t since = now_ns - w->started_ns;
	if (!every || since < every)
		return 0;
	int64_t begin = now_ns - since % every;
	int64_t end = begin + w->faults->stall_for_ns;
	return now_ns < end ? end : 0;
}

/* The thread that makes the pause, as a collector does: it follows links all over a heap. */
static void *collect_garbage(void *arg)
{
	struct fault_work *w = arg;
	AUTO(auto_free) uint32_t *next = mem_zeroed(HEAP_LINKS, sizeof(*next));
	struct rng rng;
	uint32_t at = 0;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < HEAP_LINKS; i++)
		next[i] = (uint32_t)rng_below(&rng, HEAP_LINKS);
	while (!atomic_load(&w->closing)) {
		int64_t now = clock_now_ns();
		int64_t every = w->faults->stall_every_ns;
		if (!pause_end(w, now)) {
			int64_t due = now + every - (now - w->started_ns) % every;
			int64_t soon = now + 100 * NS_PER_MS;
			clock_sleep_until(due < soon ? due : soon);
			continue;
		}
		for (uint32_t i = 0; i < HEAP_WALK; i++) {
			at = next[at];
			next[at] = (next[at] + i) % HEAP_LINKS;
		}
	}
	return NULL;
}

void fault_work_pause(struct fault_work *w)
{
	int64_t end;
	while (w && (end = pause_end(w, clock_now_ns())) && !atomic_load(&w->closing))
		clock_sleep_until(end);
}

void fault_work_enter(struct fault_work *w)
{
	fault_work_pause(w);
	if (w && w->faults->global_lock)
		pthread_mutex_lock(&w->global);
}

void fault_work_leave(struct fault_work *w)
{
	if (w && w->faults->global_lock)
		pthread_mutex_unlock(&w->global);
}

static void enter_tile(void *work)
{
	fault_work_enter(work);
}

static void leave_tile(void *work)
{
	fault_work_leave(work);
}

void fault_work_spoil_pool(
        const struct faults *faults, struct fault_work *w, struct pool_options *pool)
{
	if (faults->oversubscribe) {
		int64_t n = faults->oversubscribe * cpus_usable();
		pool->n_threads = n < POOL_THREADS_MAX ? (int)n : POOL_THREADS_MAX;
		pool->spin_us = -1;
	}
	if (faults->global_lock || faults->stall_every_ns) {
		pool->enter = enter_tile;
		pool->leave = leave_tile;
		pool->ctx = w;
	}
}

/* ---- after each request ---- */

static void write_log(struct fault_work *w)
{
	char line[LOG_LINE];
	for (int64_t i = 0; i < w->faults->log_sync; i++) {
		int n = snprintf(line, sizeof(line),
		        "%lld INFO request %lld answered (part %lld)\n",
		        (long long)(clock_read_ns(CLOCK_REALTIME) / NS_PER_MS),
		        (long long)w->n_requests, (long long)i);
		if (w->log_bytes + n > LOG_BYTES_MAX)
			w->log_bytes = 0;
		ssize_t written = pwrite(w->log_fd, line, (size_t)n, w->log_bytes);
		w->log_bytes += written > 0 ? written : 0;
		fdatasync(w->log_fd);
	}
}

static void leak(struct fault_work *w)
{
	size_t bytes = (size_t)w->faults->leak_bytes;
	bytes = bytes < sizeof(struct leaked) ? sizeof(struct leaked) : bytes;
	struct leaked *piece = mem_realloc(NULL, bytes);
	memset(piece, 1, bytes);
	piece->next = w->leaked;
	w->leaked = piece;
}

/*
 * Large blocks shrink to small ones once the next is there, and each is a little larger than those
 * before it: no hole is ever filled, and few bytes live. All in a thread, hence an arena, of its
 * own, where no other block widens a hole.
 */
static void retain(struct fault_work *w)
{
	for (int64_t left = w->faults->retain_bytes; left > 0; left -= (int64_t)w->hole_bytes) {
		void *block = mem_realloc(NULL, w->hole_bytes);
		memset(block, 1, w->hole_bytes);
		void **last = &w->kept[w->n_kept % KEPT_MAX];
		void **next = &w->kept[++w->n_kept % KEPT_MAX];
		if (*last)
			*last = mem_realloc(*last, KEPT_BYTES);
		free(*next);
		*next = block;
		w->hole_bytes += HOLE_STEP;
		if (w->hole_bytes >= HOLE_BYTES_MAX)
			w->hole_bytes = HOLE_BYTES_MIN;
	}
}

static void *retain_for_requests(void *arg)
{
	struct fault_work *w = arg;
	while (sem_wait(&w->retain_more) == 0 && !atomic_load(&w->closing))
		retain(w);
	return NULL;
}

void fault_work_request(struct fault_work *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->n_requests++;
	if (w->faults->log_sync)
		write_log(w);
	if (w->faults->leak_bytes)
		leak(w);
	pthread_mutex_unlock(&w->lock);
	if (w->faults->retain_bytes)
		sem_post(&w->retain_more);
}

/* A box filter over an image, again and again: what decoding and resizing do. */
void fault_work_burn(int64_t us)
{
	static _Thread_local uint8_t image[IMAGE_SIDE * IMAGE_SIDE];
	int64_t until = us > 0 ? clock_thread_cpu_ns() + us * NS_PER_US : 0;
	while (us > 0 && clock_thread_cpu_ns() < until)
		for (size_t i = IMAGE_SIDE + 1; i < sizeof(image) - IMAGE_SIDE - 1; i++)
			image[i] = (uint8_t)((image[i - 1] + image[i + 1] + image[i - IMAGE_SIDE] +
			                             image[i + IMAGE_SIDE]) /
			                             4 +
			                     1);
}

/* ---- decoys ---- */

/* As busy as a thread can be, and in nobody's way. */
static void *spin_idly(void *arg)
{
	struct fault_work *w = arg;
	struct sched_param none = { 0 };
	if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) != 0)
		return NULL; /* it would be no decoy */
	while (!atomic_load_explicit(&w->closing, memory_order_relaxed))
		;
	return NULL;
}

/* A file of the system's temporary folder, gone from there at once. */
static int open_unnamed(void)
{
	char path[] = "/var/tmp/venturi-serve-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Reads a mapped file that the system was told to forget. */
static void *read_file(void *arg)
{
	struct fault_work *w = arg;
	AUTO(auto_fd) int fd = open_unnamed();
	if (fd < 0 || ftruncate(fd, FILE_BYTES) != 0)
		return NULL;
	volatile uint8_t *bytes = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < FILE_BYTES; i += PAGE_BYTES)
		bytes[i] = 1;
	for (size_t i = 0; !atomic_load(&w->closing); i = (i + PAGE_BYTES) % FILE_BYTES) {
		if (i == 0) {
			fdatasync(fd);
			madvise((void *)(uintptr_t)bytes, FILE_BYTES, MADV_DONTNEED);
			madvise((void *)(uintptr_t)bytes, FILE_BYTES, MADV_RANDOM);
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		}
		(void)bytes[i];
		clock_sleep_until(clock_now_ns() + FILE_PAUSE_NS);
	}
	munmap((void *)(uintptr_t)bytes, FILE_BYTES);
	return NULL;
}

/* ---- life ---- */

static bool start(struct fault_work *w, void *(*run)(void *), struct err *err)
{
	int failed = pthread_create(&w->threads[w->n_threads], NULL, run, w);
	if (failed)
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(failed));
	w->n_threads++;
	return true;
}

static bool start_threads(struct fault_work *w, struct err *err)
{
	const struct faults *f = w->faults;
	return (!f->stall_every_ns || start(w, collect_garbage, err)) &&
	       (!f->retain_bytes || start(w, retain_for_requests, err)) &&
	       (!f->idle_spin || start(w, spin_idly, err)) &&
	       (!f->file_reading || start(w, read_file, err));
}

static bool open_log(struct fault_work *w, struct err *err)
{
	if (!w->faults->log_sync)
		return true;
	w->log_fd = open_unnamed();
	if (w->log_fd >= 0)
		return true;
	return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), "/var/tmp", strerror(errno));
}

static bool any(const struct faults *f)
{
	return f->stall_every_ns || f->global_lock || f->log_sync || f->leak_bytes ||
	       f->retain_bytes || f->idle_spin || f->file_reading;
}

static void init_recursive(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

bool fault_work_open(const struct faults *faults, struct fault_work **ret_work, struct err *err)
{
	*ret_work = NULL;
	if (!any(faults))
		return true;
	struct fault_work *w = mem_zeroed(1, sizeof(*w));
	w->faults = faults;
	w->started_ns = clock_now_ns();
	w->log_fd = -1;
	w->hole_bytes = HOLE_BYTES_MIN;
	if (faults->retain_bytes)
		w->kept = mem_zeroed(KEPT_MAX, sizeof(*w->kept));
	init_recursive(&w->global);
	pthread_mutex_init(&w->lock, NULL);
	sem_init(&w->retain_more, 0, 0);
	if (!open_log(w, err) || !start_threads(w, err)) {
		fault_work_close(w);
		return false;
	}
	*ret_work = w;
	return true;
}

void fault_work_close(struct fault_work *w)
{
	if (!w)
		return;
	atomic_store(&w->closing, true);
	sem_post(&w->retain_more);
	for (int i = 0; i < w->n_threads; i++)
		pthread_join(w->threads[i], NULL);
	while (w->leaked) {
		struct leaked *next = w->leaked->next;
		free(w->leaked);
		w->leaked = next;
	}
	for (size_t i = 0; w->kept && i < KEPT_MAX; i++)
		free(w->kept[i]);
	free(w->kept);
	auto_fd(&w->log_fd);
	sem_destroy(&w->retain_more);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->global);
	free(w);
}
