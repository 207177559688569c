#include "load/second.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/str.h"
#include "load/internal.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAIRS = 3,    /* all of 3 above all of 3 has a chance of 1 in 20 */
	TURNS = 5,    /* a window holds at least so many latencies */
	REQUESTS = 50 /* and is expected to hold so many answers */
};

static const int64_t window_min_ns = 100 * NS_PER_MS;

/* The window and warm-up of each measurement; false when too little time is there for them. */
static bool fit(const struct load_run *r, int64_t budget_ns, struct load_shape *shape)
{
	double latency_ns = hist_mean(&r->metrics[LOAD_LATENCY]);
	double each_ns = (double)budget_ns / (2 * PAIRS) - latency_ns;
	double window_ns = 0.7 * each_ns;
	double answers = r->throughput.requests_per_s * window_ns / 1e9;
	if (!(window_ns >= fmax((double)window_min_ns, TURNS * latency_ns)) || answers < REQUESTS)
		return false;
	shape->requests = 0;
	shape->duration_ns = (int64_t)window_ns;
	shape->warmup = LOAD_WARMUP_TIME;
	shape->warmup_ns = (int64_t)(each_ns - window_ns);
	return true;
}

/* Requests a second of one generator; NAN when it was stopped or could not be run. */
static double rate_of(struct load *load, const struct load_shape *shape,
        const struct load_hooks *hooks, struct arena *run)
{
	struct load_run r;
	struct err err;
	if (!load_measure(load, shape, hooks, run, &r, &err) || r.partial)
		return NAN;
	return r.throughput.requests_per_s;
}

static NORETURN void be_second(struct load *load, const struct load_shape *shape,
        const struct load_hooks *hooks, struct arena *run, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	double rate = rate_of(load, shape, hooks, run);
	_exit(write(out, &rate, sizeof(rate)) == sizeof(rate) ? 0 : 1);
}

/* Both halves at the same time; NAN when one of them failed. */
static double rate_of_two(struct load *load, const struct load_shape *shape,
        const struct load_hooks *hooks, struct arena *run)
{
	struct load_shape first = *shape, second = *shape;
	int ends[2];
	first.concurrency = shape->concurrency / 2;
	second.concurrency = shape->concurrency - first.concurrency;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return NAN;
	AUTO(auto_fd) int in = ends[0], out = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return NAN;
	if (pid == 0)
		be_second(load, &second, hooks, run, out);
	double theirs = NAN, ours = rate_of(load, &first, hooks, run);
	if (isnan(ours))
		kill(pid, SIGKILL);
	close(out);
	out = -1;
	if (read(in, &theirs, sizeof(theirs)) != sizeof(theirs))
		theirs = NAN;
	waitpid(pid, NULL, 0);
	return ours + theirs;
}

static void conclude(struct load_halved *h, const double *alone, const double *two)
{
	double lowest_two = INFINITY, highest_alone = 0;
	*h = (struct load_halved){ .n = PAIRS };
	for (int i = 0; i < PAIRS; i++) {
		h->alone_per_s += alone[i] / PAIRS;
		h->requests_per_s += two[i] / PAIRS;
		lowest_two = fmin(lowest_two, two[i]);
		highest_alone = fmax(highest_alone, alone[i]);
	}
	h->ratio = h->requests_per_s / h->alone_per_s;
	h->apart = lowest_two > highest_alone;
	h->why = h->apart ? _("two generators with half the load each got more every time")
	                  : _("two generators with half the load each did not get more every time");
}

void second_measure(struct load *load, const struct load_shape *shape, const struct load_run *r,
        int64_t budget_ns, const struct load_hooks *hooks, struct arena *run,
        struct load_halved *ret)
{
	const struct load_hooks quiet = { .stop = hooks ? hooks->stop : NULL };
	struct load_shape whole = *shape;
	double alone[PAIRS], two[PAIRS];
	*ret = (struct load_halved){ .why = _("not measured: the run was too short for it, or its "
		                              "answers take too long") };
	if (!fit(r, budget_ns, &whole))
		return;
	for (int i = 0; i < PAIRS; i++) {
		alone[i] = rate_of(load, &whole, &quiet, run);
		two[i] = isnan(alone[i]) ? NAN : rate_of_two(load, &whole, &quiet, run);
		if (!(alone[i] > 0) || !(two[i] > 0)) {
			ret->why = _("not measured: one of the generators could not run");
			return;
		}
	}
	conclude(ret, alone, two);
}
