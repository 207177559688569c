#include "cmd/trace_progress.h"

#include "cmd/common.h"

#include "base/i18n.h"
#include "base/units.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 500 };

struct trace_progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
	const char *path;    /* NULL: analysing */
	int64_t size;        /* of the file */
	int64_t read_before; /* bytes that the process had read when the file was begun */
};

/* Bytes that the process has read so far, from whatever; -1 where the kernel does not tell. */
static int64_t bytes_read(void)
{
	AUTO(auto_file) FILE *f = fopen("/proc/self/io", "re");
	int64_t n;
	return f && fscanf(f, "rchar: %" SCNd64, &n) == 1 ? n : -1;
}

static void show(const struct trace_progress *p)
{
	char size[UNITS_TEXT];
	int64_t now = bytes_read();
	if (!p->path)
		cmd_progress(_("analysing"));
	else if (now < 0 || p->read_before < 0 || p->size <= 0)
		cmd_progress(_("reading %s"), p->path);
	else {
		double percent = 100 * (double)(now - p->read_before) / (double)p->size;
		cmd_progress(_("reading %s: %.0f %% of %s"), p->path, percent < 100 ? percent : 100,
		        units_size((double)p->size, size));
	}
}

static void *watch(void *arg)
{
	struct trace_progress *p = arg;
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PERIOD_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&p->changed, &p->lock, &until);
		if (!p->stop)
			show(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct trace_progress *trace_progress_start(void)
{
	if (!isatty(STDERR_FILENO))
		return NULL;
	struct trace_progress *p = mem_zeroed(1, sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (pthread_create(&p->thread, NULL, watch, p) == 0)
		return p;
	free(p);
	return NULL;
}

void trace_progress_file(struct trace_progress *p, const char *path)
{
	struct stat st;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	const char *slash = path ? strrchr(path, '/') : NULL;
	p->path = slash ? slash + 1 : path;
	p->size = path && stat(path, &st) == 0 ? st.st_size : 0;
	p->read_before = bytes_read();
	pthread_mutex_unlock(&p->lock);
}

void trace_progress_stop(struct trace_progress *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	cmd_progress_clear();
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
