/*
 * Queues whose load is known, simulated event by event: Poisson arrivals, so many servers, in order
 * of arrival. The pulse is taken every 10 ms, as the controller does.
 */
#include "load/pulse.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/rng.h"
#include "tap.h"

enum { SERVERS_MAX = 512, REQUESTS_MAX = 40000, FIRST = 32 };

static const int64_t TICK = 10 * NS_PER_MS;

struct queue {
	double rate_per_s; /* of arrivals */
	int servers;
	double service_s;       /* mean */
	bool fixed;             /* all alike, else exponential */
	double slower_per_s;    /* the service grows by this share every second */
	double jump_at_s, jump; /* from then on it takes so many times as long */
};

struct world {
	struct pulse pulse;
	double sent_s[REQUESTS_MAX], done_s[REQUESTS_MAX];
	int n;
	int64_t filled_ns, stopped_ns; /* 0: never */
	struct load_saturation found;
};

static struct world world;

/* Every request's moments, up to the end. */
static void serve(const struct queue *q, double end_s, uint64_t seed)
{
	double free_s[SERVERS_MAX] = { 0 }, t = 0;
	struct rng rng;
	rng_init(&rng, seed);
	for (world.n = 0; world.n < REQUESTS_MAX; world.n++) {
		t += rng_exponential(&rng) / q->rate_per_s;
		if (t >= end_s)
			return;
		int first = 0;
		for (int k = 1; k < q->servers; k++)
			if (free_s[k] < free_s[first])
				first = k;
		double start = fmax(t, free_s[first]);
		double service = q->service_s * (q->fixed ? 1 : rng_exponential(&rng));
		service *= 1 + q->slower_per_s * start;
		if (q->jump > 0 && start >= q->jump_at_s)
			service *= q->jump;
		world.sent_s[world.n] = t;
		world.done_s[world.n] = free_s[first] = start + service;
	}
	CHECK(!"too many requests for the arrays");
}

struct ended {
	double at_s, latency_s;
};

static int by_end(const void *a, const void *b)
{
	double x = ((const struct ended *)a)->at_s, y = ((const struct ended *)b)->at_s;
	return (x > y) - (x < y);
}

/* Runs until the end, or until a backlog is found when that stops it. */
static void watch(const struct queue *q, double end_s, bool stops, uint64_t seed)
{
	static struct ended ended[REQUESTS_MAX];
	struct pulse_sample s = { 0 };
	int n_done = 0;
	world.filled_ns = world.stopped_ns = 0;
	serve(q, end_s, seed);
	for (int i = 0; i < world.n; i++)
		ended[i] = (struct ended){ world.done_s[i], world.done_s[i] - world.sent_s[i] };
	qsort(ended, (size_t)world.n, sizeof(ended[0]), by_end);
	pulse_init(&world.pulse, 0);
	for (int64_t now = TICK; now <= (int64_t)(end_s * NS_PER_S); now += TICK) {
		double now_s = (double)now / NS_PER_S;
		while (s.sent < world.n && world.sent_s[s.sent] <= now_s)
			s.sent++;
		for (; n_done < world.n && ended[n_done].at_s <= now_s; n_done++)
			s.ok_latency_s += ended[n_done].latency_s;
		s.done = s.ok = n_done;
		s.in_flight = s.sent - n_done;
		pulse_take(&world.pulse, now, &s);
		if (!stops)
			continue;
		bool filled = world.n > FIRST;
		for (int i = 0; i < FIRST && filled; i++)
			filled = world.done_s[i] <= now_s;
		if (filled && world.filled_ns == 0)
			world.filled_ns = now;
		if (world.filled_ns == 0 || now % (250 * NS_PER_MS) != 0)
			continue;
		if (pulse_is_saturated(&world.pulse, now, world.filled_ns, 1, &world.found)) {
			world.stopped_ns = now;
			return;
		}
	}
}

enum { SEEDS = 20 };

/* 10 servers of 100 ms make 100 a second. */
static void twice_the_capacity_is_seen_soon(void)
{
	for (int fixed = 0; fixed <= 1; fixed++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			const struct queue q = { 200, 10, 0.1, fixed, 0, 0, 0 };
			watch(&q, 60, true, seed);
			if (!CHECK(world.stopped_ns > 0 && world.stopped_ns < 6 * NS_PER_S))
				continue;
			CHECK_NEAR(world.found.offered_per_s, 200, 40);
			CHECK_NEAR(world.found.completed_per_s, 100, 25);
			CHECK(world.found.in_flight_to > world.found.in_flight_from + 50);
			CHECK(world.found.latency_ms_to > world.found.latency_ms_from + 200);
		}
}

static void a_fifth_over_the_capacity_is_seen_before_half_a_minute_is_over(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct queue q = { 120, 10, 0.1, false, 0, 0, 0 };
		watch(&q, 60, true, seed);
		CHECK(world.stopped_ns > 0 && world.stopped_ns < 40 * NS_PER_S);
	}
}

/* Also where the service takes long, so that it fills for a while, and close to the capacity. */
static void a_service_that_keeps_up_is_never_stopped(void)
{
	static const struct queue queues[] = {
		{ 70, 10, 0.1, false, 0, 0, 0 }, /* 0.7 of the capacity */
		{ 70, 10, 0.1, true, 0, 0, 0 },
		{ 0.7, 1, 1, false, 0, 0, 0 },   /* hardly any requests */
		{ 95, 10, 0.1, false, 0, 0, 0 }, /* 0.95 */
		{ 60, 512, 4, false, 0, 0, 0 },  /* 240 under way, 4 s each */
		{ 60, 512, 4, true, 0, 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(queues); i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			watch(&queues[i], 60, true, seed);
			if (!CHECK(world.stopped_ns == 0))
				printf("#   queue %zu, seed %d at %.2f s\n", i, (int)seed,
				        (double)world.stopped_ns / 1e9);
		}
}

static struct load_window drift_of(double from_s, double to_s)
{
	struct load_window w = { 0 };
	CHECK(pulse_drift(
	        &world.pulse, (int64_t)(from_s * NS_PER_S), (int64_t)(to_s * NS_PER_S), &w));
	return w;
}

static const struct load_drift *drift_in(const struct load_window *w, enum load_signal signal)
{
	for (int i = 0; i < w->n_drift; i++)
		if (w->drift[i].signal == signal)
			return &w->drift[i];
	return NULL;
}

static void a_steady_queue_drifts_hardly_ever(void)
{
	int n_flagged = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		const struct queue q = { 70, 10, 0.1, false, 0, 0, 0 };
		watch(&q, 40, false, seed);
		struct load_window w = drift_of(2, 40);
		n_flagged += w.n_drift > 0;
	}
	printf("# %d of 100 flagged\n", n_flagged);
	CHECK(n_flagged <= 5);
}

/* Latency rises by 3 ms a second from 100 ms on: 160 ms at 20 s, 280 ms at 60 s. */
static void a_service_that_slows_down_drifts_in_latency(void)
{
	int n_flagged = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct queue q = { 60, 512, 0.1, true, 0.03, 0, 0 };
		const struct queue noisy = { 60, 512, 0.1, false, 0.03, 0, 0 };
		watch(&q, 60, false, seed);
		struct load_window w = drift_of(20, 60);
		const struct load_drift *d = drift_in(&w, LOAD_SIGNAL_LATENCY);
		if (!CHECK(d && !d->is_shift))
			continue;
		CHECK_NEAR(d->from, 160, 8);
		CHECK_NEAR(d->to, 280, 8);
		CHECK(isnan(d->at_s) && d->p < 0.001);
		/* with exponential times, whose means over half a second scatter by a fifth */
		watch(&noisy, 60, false, seed);
		w = drift_of(20, 60);
		n_flagged += drift_in(&w, LOAD_SIGNAL_LATENCY) != NULL;
	}
	CHECK(n_flagged >= SEEDS * 9 / 10);
}

/* Half as long again from the 40th second on, 30 s after the window opened. */
static void a_jump_is_dated(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct queue q = { 60, 512, 0.1, false, 0, 40, 1.5 };
		watch(&q, 70, false, seed);
		struct load_window w = drift_of(10, 70);
		const struct load_drift *d = drift_in(&w, LOAD_SIGNAL_LATENCY);
		if (!CHECK(d && d->is_shift))
			continue;
		CHECK_NEAR(d->at_s, 30, 4);
		CHECK_NEAR(d->from, 100, 10);
		CHECK_NEAR(d->to, 150, 15);
	}
}

/* A closed loop of ten on a service that slows down: 100 a second, 63 after a minute. */
static void throughput_that_decays_over_a_minute_is_flagged(void)
{
	struct pulse_sample s = { .in_flight = 10, .sent = 10 };
	struct load_window w = { 0 };
	double done = 0;
	pulse_init(&world.pulse, 0);
	for (int64_t now = TICK; now <= 60 * NS_PER_S; now += TICK) {
		double rate = 100 / (1 + 0.01 * (double)now / NS_PER_S);
		double ended = rate * (double)TICK / NS_PER_S;
		done += ended;
		s.done = s.ok = (int64_t)done;
		s.sent = s.done + 10;
		s.ok_latency_s += ended * 10 / rate;
		pulse_take(&world.pulse, now, &s);
	}
	CHECK(pulse_drift(&world.pulse, 0, 60 * NS_PER_S, &w));
	const struct load_drift *d = drift_in(&w, LOAD_SIGNAL_THROUGHPUT);
	CHECK(d && !d->is_shift);
	CHECK_NEAR(d ? d->from : 0, 100, 6);
	CHECK_NEAR(d ? d->to : 0, 62.5, 6);
	CHECK(drift_in(&w, LOAD_SIGNAL_IN_FLIGHT) == NULL);
	CHECK(!pulse_drift(&world.pulse, 0, 20 * TICK, &w));
}

static void the_start_of_an_open_loop_settles_only_when_it_has_filled(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		/* fixed times: nothing ends for 2 s, then all is level but for chance */
		const struct queue q = { 100, 512, 2, true, 0, 0, 0 };
		double settled_s = 0;
		for (double end_s = 0.5; end_s <= 10 && settled_s == 0; end_s += 0.5) {
			watch(&q, end_s, false, seed);
			settled_s = pulse_has_settled(&world.pulse) ? end_s : 0;
		}
		CHECK(settled_s > 2);
	}
}

/* However long: every request is in some slice. */
static void slices_are_drawn_together_and_nothing_is_lost(void)
{
	struct pulse_point points[PULSE_POINTS_MAX];
	struct pulse_sample s = { 0 };
	pulse_init(&world.pulse, 0);
	for (int64_t now = TICK; now <= 3600 * NS_PER_S; now += TICK) {
		s.sent++;
		s.done = s.ok = s.sent > 5 ? s.sent - 5 : 0;
		s.in_flight = s.sent - s.done;
		s.ok_latency_s = 0.05 * (double)s.ok;
		pulse_take(&world.pulse, now, &s);
	}
	double done = 0;
	for (int i = 0; i < world.pulse.n; i++)
		done += world.pulse.slices[i].done;
	CHECK_NEAR(done, 360000 - 5, 1e-3);
	CHECK(world.pulse.n > PULSE_SLICES_MAX / 4 && world.pulse.n <= PULSE_SLICES_MAX);
	int n = pulse_points(&world.pulse, 600 * NS_PER_S, 3000 * NS_PER_S, 50, points);
	CHECK(n >= 25 && n <= 50);
	for (int i = 0; i < n; i++) {
		CHECK(points[i].at_s >= 600 && points[i].at_s + points[i].span_s <= 3000.02);
		CHECK_NEAR(points[i].requests_per_s, 100, 0.1);
		CHECK_NEAR(points[i].in_flight, 5, 1e-6);
		CHECK_NEAR(points[i].latency_ms, 50, 1e-6);
	}
}

int main(void)
{
	TAP_RUN(twice_the_capacity_is_seen_soon);
	TAP_RUN(a_fifth_over_the_capacity_is_seen_before_half_a_minute_is_over);
	TAP_RUN(a_service_that_keeps_up_is_never_stopped);
	TAP_RUN(a_steady_queue_drifts_hardly_ever);
	TAP_RUN(a_service_that_slows_down_drifts_in_latency);
	TAP_RUN(a_jump_is_dated);
	TAP_RUN(throughput_that_decays_over_a_minute_is_flagged);
	TAP_RUN(the_start_of_an_open_loop_settles_only_when_it_has_filled);
	TAP_RUN(slices_are_drawn_together_and_nothing_is_lost);
	return tap_done();
}
