/*
 * Diagnoses of services that are given by formulas: every run is computed from the service's
 * construction (slots, steps of a batch, a generator's ceiling), so the right answer is known
 * beforehand.
 */
#include "tap.h"

#include "base/clock.h"
#include "diagnose/anchors.h"
#include "diagnose/cause.h"
#include "diagnose/judge.h"
#include "diagnose/procedure.h"

/* A service in the steady state of a closed loop. */
struct service {
	int slots;         /* requests under work at once */
	double prefill_ms; /* before the first token */
	double step_ms;    /* per token: step_ms + share_ms * requests under work */
	double share_ms;
	int tokens;                /* 1: the answer is no stream */
	double client_max_per_s;   /* what the generator reaches; 0: no limit */
	double null_ceiling_per_s; /* 0: 50,000 */
	double head_gap_ms;        /* first byte to first token */
	double buffered;           /* 1: all events come together at the end */
	int connections_max;       /* answered at once; 0: all */
	double body_delay_ms;      /* end - first byte */
	bool closes;               /* the connection after each answer */
	double connect_ms;
	double quick_saves_ms; /* what immediate acknowledgements save */
};

struct steady {
	double x_per_s, latency_ms, ttft_ms, itl_ms, active;
	int under_work;
};

/*
 * b = min(N, slots) requests under work, each for S = prefill + tokens * (step + share b); so
 * X = b/S, and by Little's law R = N/X.
 */
static struct steady steady_of(const struct service *s, int n)
{
	struct steady r;
	r.under_work = n < s->slots ? n : s->slots;
	double step_ms = s->step_ms + s->share_ms * r.under_work;
	double work_ms = s->prefill_ms + s->tokens * step_ms;
	r.x_per_s = 1000 * r.under_work / work_ms;
	if (s->client_max_per_s > 0 && r.x_per_s > s->client_max_per_s)
		r.x_per_s = s->client_max_per_s;
	r.latency_ms = 1000 * n / r.x_per_s;
	double decode_ms = (s->tokens - 1) * step_ms;
	r.ttft_ms = r.latency_ms - decode_ms;
	r.itl_ms = step_ms;
	r.active = r.x_per_s * decode_ms / 1000;
	return r;
}

enum { N_REQUESTS = 200, N_FIRST = 30 };

static void fill(struct hist *h, struct arena *run, double ms, int64_t n)
{
	hist_init(h, run);
	if (n > 0)
		hist_record_n(h, (int64_t)(ms * NS_PER_MS), n);
}

static void fill_stream(
        const struct service *s, const struct steady *y, struct arena *run, struct load_run *r)
{
	int64_t n_gaps = N_REQUESTS * (int64_t)(s->tokens - 1);
	double ttft_ms = s->buffered > 0 ? y->latency_ms : y->ttft_ms;
	fill(&r->metrics[LOAD_TTFT], run, ttft_ms, N_REQUESTS);
	fill(&r->metrics[LOAD_ITL], run, s->buffered > 0 ? 0.01 : y->itl_ms, n_gaps);
	fill(&r->metrics[LOAD_TTFB], run, ttft_ms - s->head_gap_ms, N_REQUESTS);
	r->transport.token_events = N_REQUESTS * (int64_t)s->tokens;
	r->transport.reads_with_tokens = s->buffered > 0 ? N_REQUESTS : r->transport.token_events;
	r->transport.streams_active_mean = s->buffered > 0 ? 0.01 : y->active;
	r->transport.streams_active_max = s->buffered > 0 ? 1 : y->under_work;
	hist_init(&r->transport.stream_share_pm, run);
	if (s->tokens > 10)
		hist_record_n(&r->transport.stream_share_pm,
		        (int64_t)(1000 * ttft_ms / y->latency_ms), N_REQUESTS);
}

static struct load_run *run_of(const struct service *s, int n, double scale, struct arena *run)
{
	struct load_run *r = arena_new(run, struct load_run);
	struct steady y = steady_of(s, n);
	r->concurrency = n;
	r->rate_per_s = NAN;
	r->throughput.requests_per_s = y.x_per_s * scale;
	r->throughput.output_tokens_per_s = NAN;
	r->requests = (struct load_requests){ .attempted = N_REQUESTS, .ok = N_REQUESTS };
	fill(&r->metrics[LOAD_LATENCY], run, y.latency_ms / scale, N_REQUESTS);
	fill(&r->metrics[LOAD_RESPONSE], run, y.latency_ms / scale, N_REQUESTS);
	r->transport.streams_active_mean = 0;
	fill(&r->transport.body_delay, run, s->body_delay_ms, s->tokens > 1 ? 0 : N_REQUESTS);
	fill(&r->transport.connect, run, s->connect_ms, s->closes ? N_REQUESTS : 0);
	if (s->tokens > 1)
		fill_stream(s, &y, run, r);
	r->transport.connections = n;
	r->transport.connections_served =
	        s->connections_max > 0 && n > s->connections_max ? s->connections_max : n;
	r->transport.connections_opened = s->closes ? N_REQUESTS : 0;
	r->transport.server_closes = s->closes ? N_REQUESTS : 0;
	int64_t *first = arena_new_n(run, int64_t, N_FIRST);
	for (int i = 0; i < N_FIRST; i++)
		first[i] = (int64_t)(y.latency_ms * NS_PER_MS);
	r->first_latencies_ns = first;
	r->n_first_latencies = N_FIRST;
	r->client.busiest_thread_ratio = s->client_max_per_s > 0 ? 0.97 : 0.05;
	r->client.offered_per_s = NAN;
	r->client.achieved_per_s = r->throughput.requests_per_s;
	r->client.little_ratio = 1;
	r->client.threads = 1;
	return r;
}

/* Runs of the same load differ by 1 %, as they do on a quiet machine. */
static void add_pairs(const struct service *a, int n_a, const struct service *b, int n_b,
        struct arena *run, struct evidence_pairs *pairs)
{
	static const double scale[] = { 0.99, 1.01, 1.0 };
	for (int i = 0; i < 3; i++) {
		pairs->a[i] = run_of(a, n_a, scale[i], run);
		pairs->b[i] = run_of(b, n_b, scale[2 - i], run);
	}
	pairs->n = 3;
}

/* What the procedure would bring back: a ramp to max, pairs at half the load in use. */
static struct evidence evidence_of(const struct service *s, int in_use, int max, struct arena *run)
{
	struct evidence ev = { .concurrency = in_use };
	for (int n = 1; n <= max; n *= 2)
		evidence_add_point(&ev, run_of(s, n, 1, run));
	ev.alone = ev.first = evidence_point(&ev, 1);
	ev.operating = evidence_point(&ev, in_use);
	ev.null_ceiling_per_s = s->null_ceiling_per_s > 0 ? s->null_ceiling_per_s : 50000;
	add_pairs(s, in_use, s, in_use / 2, run, &ev.halved);
	return ev;
}

static void set_target(struct evidence *ev, const char *text, struct arena *run)
{
	struct err err;
	CHECK(sla_parse(text, run, &ev->sla, &err));
}

static const struct cause_finding *find(const struct diagnosis *d, const char *id, int *ret_place)
{
	for (int i = 0; i < d->n_causes; i++)
		if (strcmp(d->causes[i].id, id) == 0) {
			if (ret_place)
				*ret_place = i;
			return &d->causes[i];
		}
	return NULL;
}

static bool is_state(const struct diagnosis *d, const char *id, enum cause_state state)
{
	const struct cause_finding *f = find(d, id, NULL);
	bool ok = f && f->state == state;
	if (!ok && f)
		printf("#   %s is %s: %s\n", id, cause_state_name(f->state),
		        f->why ? f->why : f->needs);
	return ok;
}

static int place_of(const struct diagnosis *d, const char *id)
{
	int place = -1;
	find(d, id, &place);
	return place;
}

/* ---- services and their right answers ---- */

static const struct service one_at_a_time = {
	.slots = 1, .prefill_ms = 2, .step_ms = 1.5, .tokens = 32
};
static const struct service four_slots = {
	.slots = 4, .prefill_ms = 5, .step_ms = 2, .tokens = 32
};
static const struct service two_slots_plain = { .slots = 2, .step_ms = 20, .tokens = 1 };
/* a + c b with c << a: eight at once cost 1.5 times one */
static const struct service continuous = {
	.slots = 256, .step_ms = 5, .share_ms = 0.4, .tokens = 32
};
/* c >> a: the machine is full with one */
static const struct service saturated = {
	.slots = 256, .step_ms = 0.8, .share_ms = 0.4, .tokens = 32
};
static const struct service wide = { .slots = 1024, .step_ms = 20, .tokens = 1 };
static const struct service capped_batch = {
	.slots = 8, .step_ms = 4, .share_ms = 1, .tokens = 32
};

struct expected_state {
	const char *id;
	enum cause_state state;
};

enum { MAX_STATES = 8 };

struct diagnosis_case {
	const char *name;
	const struct service *service;
	int in_use, max;
	const char *target;
	enum verdict verdict;
	enum slow_kind kind;
	const char *first; /* of all causes; NULL: not looked at */
	struct expected_state states[MAX_STATES];
};

static const struct service client_limited = {
	.slots = 64, .step_ms = 1, .tokens = 1, .client_max_per_s = 2000, .null_ceiling_per_s = 2100
};
static const struct service buffered = { .slots = 64, .step_ms = 2, .tokens = 32, .buffered = 1 };
static const struct service closing = {
	.slots = 64, .step_ms = 10, .tokens = 1, .closes = true, .connect_ms = 3
};
static const struct service closing_cheaply = {
	.slots = 64, .step_ms = 10, .tokens = 1, .closes = true, .connect_ms = 0.05
};
static const struct service few_connections = {
	.slots = 4, .step_ms = 20, .tokens = 1, .connections_max = 4
};

static const struct diagnosis_case cases[] = {
	{ "one request at a time, streamed", &one_at_a_time, 8, 16, "p99=150ms", VERDICT_BOTTLENECK,
	        SLOW_THROUGHPUT_STUCK, "no_batching",
	        {
	                { "no_batching", CAUSE_PROBABLE },
	                { "too_few_slots", CAUSE_PROBABLE },
	                { "queue_saturation", CAUSE_PROBABLE },
	                { "client_saturated", CAUSE_EXCLUDED },
	                { "client_conn_limit", CAUSE_EXCLUDED },
	                { "stream_buffering", CAUSE_EXCLUDED },
	                { "cold_start", CAUSE_EXCLUDED },
	                { "nagle_delayed_ack", CAUSE_EXCLUDED },
	        } },
	{ "four slots, streamed", &four_slots, 8, 16, "p99=100ms", VERDICT_BOTTLENECK,
	        SLOW_THROUGHPUT_STUCK, "too_few_slots",
	        {
	                { "too_few_slots", CAUSE_PROBABLE },
	                { "queue_saturation", CAUSE_PROBABLE },
	                { "no_batching", CAUSE_NOT_EXAMINED },
	                { "client_conn_limit", CAUSE_NOT_EXAMINED },
	        } },
	{ "two slots, no stream", &two_slots_plain, 8, 16, "p99=30ms", VERDICT_BOTTLENECK,
	        SLOW_THROUGHPUT_STUCK, "too_few_slots",
	        {
	                { "too_few_slots", CAUSE_PROBABLE },
	                { "queue_saturation", CAUSE_PROBABLE },
	                { "stream_buffering", CAUSE_NOT_EXAMINED },
	        } },
	{ "continuous batching that copes", &continuous, 8, 64, "p99=300ms", VERDICT_HEALTHY,
	        SLOW_HEALTHY, NULL,
	        {
	                { "no_batching", CAUSE_EXCLUDED },
	                { "too_few_slots", CAUSE_EXCLUDED },
	                { "client_saturated", CAUSE_EXCLUDED },
	        } },
	{ "continuous batching far past its knee", &saturated, 64, 128, "p99=200ms",
	        VERDICT_BOTTLENECK, SLOW_THROUGHPUT_STUCK, "queue_saturation",
	        {
	                { "queue_saturation", CAUSE_CONFIRMED },
	                { "too_few_slots", CAUSE_EXCLUDED },
	        } },
	{ "no limit in sight", &wide, 8, 64, NULL, VERDICT_HEALTHY, SLOW_HEALTHY, NULL,
	        {
	                { "queue_saturation", CAUSE_EXCLUDED },
	                { "too_few_slots", CAUSE_EXCLUDED },
	                { "no_batching", CAUSE_EXCLUDED },
	                { "offered_load_low", CAUSE_PROBABLE },
	        } },
	{ "one request alone misses the target", &wide, 8, 64, "p99=10ms", VERDICT_BOTTLENECK,
	        SLOW_ALONE, NULL,
	        {
	                { "offered_load_low", CAUSE_EXCLUDED },
	                { "queue_saturation", CAUSE_EXCLUDED },
	        } },
	{ "a full batch in which every request slows the others", &capped_batch, 32, 64,
	        "p99=500ms", VERDICT_BOTTLENECK, SLOW_THROUGHPUT_STUCK, "queue_saturation",
	        {
	                { "queue_saturation", CAUSE_CONFIRMED },
	                { "too_few_slots", CAUSE_PROBABLE },
	        } },
	{ "the generator is the limit", &client_limited, 16, 64, "p99=5ms", VERDICT_INVALID,
	        SLOW_UNKNOWN, "client_saturated", { { "client_saturated", CAUSE_CONFIRMED } } },
	{ "a buffered stream", &buffered, 8, 16, "ttft_p99=20ms", VERDICT_BOTTLENECK, SLOW_ALONE,
	        "stream_buffering", { { "stream_buffering", CAUSE_PROBABLE } } },
	{ "a server that closes", &closing, 8, 16, "p99=5ms", VERDICT_BOTTLENECK, SLOW_ALONE,
	        "no_keepalive", { { "no_keepalive", CAUSE_PROBABLE } } },
	{ "a server that closes, on loopback", &closing_cheaply, 8, 16, "p99=5ms",
	        VERDICT_BOTTLENECK, SLOW_ALONE, NULL, { { "no_keepalive", CAUSE_EXCLUDED } } },
	{ "a cap on connections", &few_connections, 8, 16, "p99=30ms", VERDICT_BOTTLENECK,
	        SLOW_THROUGHPUT_STUCK, NULL, { { "client_conn_limit", CAUSE_PROBABLE } } },
	{ "starving connections, though those served meet the target", &few_connections, 8, 16,
	        "p99=100ms", VERDICT_BOTTLENECK, SLOW_THROUGHPUT_STUCK, NULL,
	        { { "client_conn_limit", CAUSE_PROBABLE } } },
};

static void check_case(const struct diagnosis_case *c, struct arena *run)
{
	struct diagnosis d;
	struct evidence ev = evidence_of(c->service, c->in_use, c->max, run);
	bool failed_before = tap_current_failed;
	tap_current_failed = false;
	if (c->target)
		set_target(&ev, c->target, run);
	judge(&ev, run, &d);
	CHECK_STR(verdict_name(d.verdict), verdict_name(c->verdict));
	CHECK_INT(d.kind, c->kind);
	CHECK_INT(d.n_causes, CAUSE_COUNT);
	if (c->first)
		CHECK_STR(d.causes[0].id, c->first);
	for (int i = 0; i < MAX_STATES && c->states[i].id; i++)
		CHECK(is_state(&d, c->states[i].id, c->states[i].state));
	CHECK(d.summary && strlen(d.summary) > 20);
	if (tap_current_failed)
		printf("#   in the case '%s': %s\n", c->name, d.summary ? d.summary : "");
	tap_current_failed |= failed_before;
}

static void services_of_known_construction_get_their_diagnosis(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena run = { 0 };
		check_case(&cases[i], &run);
		arena_release(&run);
	}
}

static void excluded_and_probable_causes_say_why_and_others_what_they_need(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = evidence_of(&one_at_a_time, 8, 16, &run);
	judge(&ev, &run, &d);
	for (int i = 0; i < d.n_causes; i++) {
		const struct cause_finding *f = &d.causes[i];
		bool told = f->state == CAUSE_NOT_EXAMINED ? f->needs && !f->why
		                                           : f->why && f->n_facts > 0;
		if (!CHECK(told))
			printf("#   %s\n", f->id);
		for (int k = 0; k < f->n_facts; k++)
			CHECK(f->facts[k].unit && f->facts[k].source && f->facts[k].name);
	}
	arena_release(&run);
}

/* A full thread whose ceiling is high enough: what a second generator and the scheduler say. */
static void a_full_thread_is_decided_by_a_second_generator(void)
{
	static const struct {
		struct load_halved second;
		double waiting;
		enum cause_state state;
	} rows[] = {
		{ { 0 }, 0, CAUSE_PROBABLE },
		{ { 3, 640, 400, 1.6, true, "" }, 0, CAUSE_CONFIRMED },
		{ { 3, 520, 400, 1.3, false, "" }, 0, CAUSE_EXCLUDED },
		{ { 3, 408, 400, 1.02, true, "" }, 0, CAUSE_EXCLUDED },
		/* On a full machine the second starves as the first does. */
		{ { 3, 400, 400, 1, false, "" }, 0.5, CAUSE_PROBABLE },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena run = { 0 };
		struct diagnosis d;
		struct evidence ev = evidence_of(&continuous, 8, 64, &run);
		struct load_run full = *ev.operating;
		full.client.busiest_thread_ratio = 0.97 - rows[i].waiting;
		full.client.waiting_ratio = rows[i].waiting;
		full.client.wanted_ratio = 0.97;
		ev.operating = &full;
		ev.second = rows[i].second;
		judge(&ev, &run, &d);
		if (!CHECK(is_state(&d, "client_saturated", rows[i].state)))
			printf("#   row %zu\n", i);
		arena_release(&run);
	}
}

static void connections_that_the_client_itself_refused_are_its_own_cap(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = evidence_of(&continuous, 8, 64, &run);
	struct load_run refused = *ev.operating;
	refused.requests.failures[LOAD_FAIL_CLIENT] = refused.requests.failed = 3;
	ev.operating = &refused;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "client_conn_limit", CAUSE_CONFIRMED));
	CHECK(d.verdict == VERDICT_INVALID);
	arena_release(&run);
}

static void findings_are_ordered_by_state_then_by_gain(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = evidence_of(&one_at_a_time, 8, 16, &run);
	judge(&ev, &run, &d);
	for (int i = 1; i < d.n_causes; i++)
		CHECK(d.causes[i - 1].state <= d.causes[i].state);
	CHECK(place_of(&d, "no_batching") < place_of(&d, "queue_saturation"));
	CHECK(place_of(&d, "too_few_slots") < place_of(&d, "queue_saturation"));
	arena_release(&run);
}

/* Every signal taken away in turn: the verdict may weaken, but nothing becomes excluded by it. */
static void missing_signals_never_exclude(void)
{
	struct arena run = { 0 };
	struct diagnosis d;

	struct evidence ev = evidence_of(&one_at_a_time, 8, 16, &run);
	ev.halved.n = 0;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "queue_saturation", CAUSE_PROBABLE));

	ev = evidence_of(&one_at_a_time, 8, 16, &run);
	ev.null_ceiling_per_s = NAN;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "client_saturated", CAUSE_NOT_EXAMINED));

	ev = evidence_of(&saturated, 64, 128, &run);
	ev.null_ceiling_per_s = NAN;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "queue_saturation", CAUSE_PROBABLE));

	ev = evidence_of(&one_at_a_time, 2, 4, &run);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "no_batching", CAUSE_NOT_EXAMINED));

	struct service silent = one_at_a_time;
	silent.tokens = 1;
	silent.step_ms = 50;
	ev = evidence_of(&silent, 8, 16, &run);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "stream_buffering", CAUSE_NOT_EXAMINED));
	CHECK(is_state(&d, "too_few_slots", CAUSE_PROBABLE));
	CHECK(is_state(&d, "coordinated_omission", CAUSE_NOT_EXAMINED));
	CHECK(is_state(&d, "config_mismatch", CAUSE_NOT_EXAMINED));

	ev.first = NULL;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "cold_start", CAUSE_NOT_EXAMINED));
	arena_release(&run);
}

static void halving_that_costs_throughput_excludes_saturation(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	/* 8 in use of 1024 slots with a little sharing: X(4) = 0.56 X(8) */
	struct service s = { .slots = 1024, .step_ms = 10, .share_ms = 0.4, .tokens = 1 };
	struct evidence ev = evidence_of(&s, 8, 16, &run);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "queue_saturation", CAUSE_EXCLUDED));
	arena_release(&run);
}

/* Noise of a against a widens the band: a difference inside it proves nothing. */
static void a_difference_inside_the_noise_is_not_beyond_it(void)
{
	struct arena run = { 0 };
	static const double a[] = { 0.8, 1.2, 1.0 };
	struct evidence_pairs pairs = { .n = 3 };
	for (int i = 0; i < 3; i++) {
		pairs.a[i] = run_of(&wide, 8, a[i], &run);
		pairs.b[i] = run_of(&wide, 8, 0.85, &run);
	}
	struct effect e = evidence_effect(&pairs, run_throughput);
	/* the sample deviation of 0.8, 1.2, 1.0 is 0.2, so the band is 0.4 wide */
	CHECK_NEAR(e.noise, 0.4, 1e-9);
	CHECK_NEAR(e.ratio, 0.85, 1e-9);
	CHECK(!e.beyond_noise);
	pairs.n = 2;
	CHECK(!evidence_effect(&pairs, run_throughput).beyond_noise);
	arena_release(&run);
}

static void delayed_acknowledgements_are_decided_by_the_experiment(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct service slow = { .slots = 64, .step_ms = 54, .tokens = 1, .body_delay_ms = 44 };
	struct service quick = { .slots = 64, .step_ms = 10, .tokens = 1, .body_delay_ms = 0.1 };

	struct evidence ev = evidence_of(&slow, 8, 16, &run);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "nagle_delayed_ack", CAUSE_PROBABLE));
	CHECK_NEAR(find(&d, "nagle_delayed_ack", NULL)->predicted.high, -40, 0.01);

	add_pairs(&slow, 1, &quick, 1, &run, &ev.quickack);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "nagle_delayed_ack", CAUSE_CONFIRMED));

	/* 44 ms of real work between head and body: acknowledging sooner changes nothing */
	add_pairs(&slow, 1, &slow, 1, &run, &ev.quickack);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "nagle_delayed_ack", CAUSE_EXCLUDED));

	ev = evidence_of(&quick, 8, 16, &run);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "nagle_delayed_ack", CAUSE_EXCLUDED));

	/* in a stream it may lie between the head and the first token, or between tokens */
	struct service stream = {
		.slots = 64, .prefill_ms = 50, .step_ms = 1, .tokens = 32, .head_gap_ms = 44
	};
	ev = evidence_of(&stream, 8, 16, &run);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "nagle_delayed_ack", CAUSE_PROBABLE));
	struct service slow_steps = { .slots = 64, .step_ms = 42, .tokens = 32 };
	ev = evidence_of(&slow_steps, 8, 16, &run);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "nagle_delayed_ack", CAUSE_PROBABLE));
	add_pairs(&slow_steps, 1, &slow_steps, 1, &run, &ev.quickack);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "nagle_delayed_ack", CAUSE_EXCLUDED));
	arena_release(&run);
}

static void a_cold_start_is_seen_in_the_first_requests_only(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = evidence_of(&wide, 8, 16, &run);
	int64_t *first = arena_new_n(&run, int64_t, N_FIRST);
	for (int i = 0; i < N_FIRST; i++)
		first[i] = (i < 3 ? 220 : 20) * NS_PER_MS;
	struct load_run cold = *ev.first;
	cold.first_latencies_ns = first;
	ev.first = &cold;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "cold_start", CAUSE_PROBABLE));
	CHECK(d.verdict == VERDICT_HEALTHY);
	const struct cause_finding *f = find(&d, "cold_start", NULL);
	for (int i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, "cold_requests") == 0)
			CHECK_NEAR(f->facts[i].value, 3, 0);
	cold.n_first_latencies = 5;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "cold_start", CAUSE_NOT_EXAMINED));
	arena_release(&run);
}

/* Case C01: 500 ms of service, 10 requests a second, one in flight: request i waits 400 i ms. */
static void waiting_before_the_send_is_coordinated_omission(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct service s = { .slots = 1, .step_ms = 500, .tokens = 1 };
	struct evidence ev = evidence_of(&s, 8, 16, &run);
	struct load_run open = *run_of(&s, 1, 1, &run);
	open.concurrency = 0;
	open.rate_per_s = open.client.offered_per_s = 10;
	open.client.achieved_per_s = 2;
	hist_init(&open.metrics[LOAD_RESPONSE], &run);
	hist_init(&open.client.lateness, &run);
	for (int i = 0; i < 16; i++) {
		hist_record(&open.client.lateness, i * 400 * NS_PER_MS);
		hist_record(&open.metrics[LOAD_RESPONSE], (500 + i * 400) * NS_PER_MS);
	}
	ev.operating = &open;
	ev.halved.n = 0;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "coordinated_omission", CAUSE_CONFIRMED));
	CHECK(d.verdict == VERDICT_INVALID);

	/* without the cap both views agree */
	hist_init(&open.client.lateness, &run);
	hist_init(&open.metrics[LOAD_RESPONSE], &run);
	hist_record_n(&open.client.lateness, 0, 16);
	hist_record_n(&open.metrics[LOAD_RESPONSE], 500 * NS_PER_MS, 16);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "coordinated_omission", CAUSE_EXCLUDED));

	/* the median needs 11 */
	hist_init(&open.metrics[LOAD_RESPONSE], &run);
	hist_record_n(&open.metrics[LOAD_RESPONSE], 500 * NS_PER_MS, 10);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "coordinated_omission", CAUSE_NOT_EXAMINED));
	arena_release(&run);
}

static void more_load_that_is_carried_confirms_that_the_load_is_low(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = evidence_of(&wide, 8, 64, &run);
	set_target(&ev, "p99=30ms", &run);
	ev.halved.n = 0;
	add_pairs(&wide, 8, &wide, 10, &run, &ev.raised);
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "offered_load_low", CAUSE_CONFIRMED));
	CHECK_STR(d.causes[0].id, "offered_load_low");
	CHECK(d.verdict == VERDICT_HEALTHY);
	CHECK(!d.next.present);
	arena_release(&run);
}

static void fingerprints_that_differ_are_a_mismatch(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = evidence_of(&wide, 8, 64, &run);
	struct load_run op = *ev.operating;
	struct fingerprint theirs = { 0 };
	CHECK(fingerprint_set(&op.fingerprint, &run, "host.cores", "2"));
	CHECK(fingerprint_set(&theirs, &run, "host.cores", "2"));
	ev.operating = &op;
	ev.baseline = &theirs;
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "config_mismatch", CAUSE_EXCLUDED));
	CHECK(fingerprint_set(&theirs, &run, "host.cores", "8"));
	judge(&ev, &run, &d);
	CHECK(is_state(&d, "config_mismatch", CAUSE_PROBABLE));
	arena_release(&run);
}

/* Case C11: T(b) = 61 + 6.8 b ms per pass; batches of 1 only, so X = 1/T(1). */
static void predictions_hold_against_what_batching_really_gives(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct service unbatched = { .slots = 1, .step_ms = 61, .share_ms = 6.8, .tokens = 1 };
	struct service batched = { .slots = 8, .step_ms = 61, .share_ms = 6.8, .tokens = 1 };
	struct evidence ev = evidence_of(&unbatched, 8, 16, &run);
	judge(&ev, &run, &d);
	struct prediction p = find(&d, "no_batching", NULL)->predicted;
	double gain = steady_of(&batched, 8).x_per_s / steady_of(&unbatched, 8).x_per_s;
	CHECK(p.present && p.low <= gain && gain <= p.high);

	/* doubling the slots of a service whose requests do not slow each other: exactly twice */
	struct service eight_slots = four_slots;
	eight_slots.slots = 8;
	ev = evidence_of(&four_slots, 8, 16, &run);
	judge(&ev, &run, &d);
	p = find(&d, "too_few_slots", NULL)->predicted;
	gain = steady_of(&eight_slots, 8).x_per_s / steady_of(&four_slots, 8).x_per_s;
	CHECK_NEAR(gain, 2, 1e-9);
	CHECK(p.present && p.low <= gain && gain <= p.high * 1.0001);

	/* and where they do: 2 T(8)/T(16) = 2 * 12/20 */
	struct service sixteen_capped = capped_batch;
	sixteen_capped.slots = 16;
	ev = evidence_of(&capped_batch, 32, 64, &run);
	judge(&ev, &run, &d);
	p = find(&d, "too_few_slots", NULL)->predicted;
	CHECK_NEAR(p.high, 1.2, 0.005);
	gain = steady_of(&sixteen_capped, 32).x_per_s / steady_of(&capped_batch, 32).x_per_s;
	CHECK(p.low <= gain && gain <= p.high * 1.005);
	arena_release(&run);
}

static void nothing_measured_is_inconclusive(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = { .concurrency = 8, .null_ceiling_per_s = NAN };
	judge(&ev, &run, &d);
	CHECK(d.verdict == VERDICT_INCONCLUSIVE);
	CHECK(d.n_curve == 0);
	for (int i = 0; i < d.n_causes; i++)
		if (!CHECK(d.causes[i].state == CAUSE_NOT_EXAMINED))
			printf("#   %s\n", d.causes[i].id);

	ev = evidence_of(&wide, 8, 16, &run);
	struct load_run broken = *ev.operating;
	broken.requests.ok = 10;
	broken.requests.failed = 90;
	ev.operating = &broken;
	judge(&ev, &run, &d);
	CHECK(d.verdict == VERDICT_INCONCLUSIVE);

	/* a target that the service never shows */
	ev = evidence_of(&wide, 8, 16, &run);
	set_target(&ev, "ttft_p99=100ms", &run);
	judge(&ev, &run, &d);
	CHECK(d.verdict == VERDICT_INCONCLUSIVE);
	arena_release(&run);
}

static void failed_requests_count_as_missing_the_target(void)
{
	struct arena run = { 0 };
	struct diagnosis d;
	struct evidence ev = evidence_of(&wide, 8, 16, &run);
	set_target(&ev, "p99=50ms", &run);
	ev.halved.n = 0;
	struct load_run op = *ev.operating;
	ev.operating = &op;
	/* 200 answered, 2 failed: the 200th of 202 is the P99 */
	op.requests.failed = 2;
	judge(&ev, &run, &d);
	CHECK(d.sla.met);
	/* 3 failed: the 201st of 203 failed */
	op.requests.failed = 3;
	judge(&ev, &run, &d);
	CHECK(!d.sla.met);
	CHECK(isnan(d.sla.measured_ms));
	arena_release(&run);
}

static void headroom_is_the_knee_over_the_present_rate(void)
{
	struct arena run = { 0 };
	/* R(N) = 5.4 + 0.4 (N - 1) per token, 32 tokens: 16 requests take 364.8 ms, 32 569.6 ms */
	struct evidence ev = evidence_of(&continuous, 8, 64, &run);
	set_target(&ev, "p99=400ms", &run);
	const struct load_run *knee = judge_knee(&ev, &run);
	CHECK_INT(knee ? knee->concurrency : 0, 16);

	/* met, but by a service that does no more at 16 than at 1 */
	struct diagnosis d;
	ev = evidence_of(&one_at_a_time, 8, 16, &run);
	set_target(&ev, "p99=500ms", &run);
	judge(&ev, &run, &d);
	CHECK(d.verdict == VERDICT_HEALTHY);
	CHECK(strstr(d.summary, "no room") != NULL);
	arena_release(&run);
}

static void targets_are_read_as_people_write_them(void)
{
	static const struct {
		const char *text;
		bool ok;
		enum load_metric metric;
		double quantile;
		int64_t target_ns;
	} targets[] = {
		{ "p99=150ms", true, LOAD_LATENCY, 0.99, 150 * NS_PER_MS },
		{ "ttft_p99=200ms", true, LOAD_TTFT, 0.99, 200 * NS_PER_MS },
		{ "itl_p50=50ms", true, LOAD_ITL, 0.5, 50 * NS_PER_MS },
		{ "e2e_p90=2s", true, LOAD_LATENCY, 0.9, 2 * NS_PER_S },
		{ "p999=1s", true, LOAD_LATENCY, 0.999, NS_PER_S },
		{ "p99.9=1s", true, LOAD_LATENCY, 0.999, NS_PER_S },
		{ "p99", false, 0, 0, 0 },
		{ "p99=", false, 0, 0, 0 },
		{ "p99=fast", false, 0, 0, 0 },
		{ "p99=-1s", false, 0, 0, 0 },
		{ "p99=0s", false, 0, 0, 0 },
		{ "p00=1s", false, 0, 0, 0 },
		{ "q99=1s", false, 0, 0, 0 },
		{ "speed_p99=1s", false, 0, 0, 0 },
		{ "p=1s", false, 0, 0, 0 },
		{ "pxx=1s", false, 0, 0, 0 },
		{ "p1e1=1s", false, 0, 0, 0 },
		{ "", false, 0, 0, 0 },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct sla_target sla = { 0 };
		struct err err;
		bool ok = sla_parse(targets[i].text, &run, &sla, &err);
		if (!CHECK(ok == targets[i].ok))
			printf("#   '%s'\n", targets[i].text);
		if (!ok) {
			CHECK_INT(err.kind, ERR_USAGE);
			continue;
		}
		CHECK_INT(sla.metric, targets[i].metric);
		CHECK_NEAR(sla.quantile, targets[i].quantile, 1e-12);
		CHECK_INT(sla.target_ns, targets[i].target_ns);
	}
	arena_release(&run);
}

static void the_ramp_holds_half_once_and_twice_the_load_in_use(void)
{
	static const struct {
		int64_t in_use;
		const char *ramp;
	} ramps[] = {
		{ 8, "2 4 8 16 32 64" },
		{ 1, "2 4 8 16 32 64" },
		{ 3, "2 3 4 6 8 16 32 64" },
		{ 100, "2 4 8 16 32 50 64 100 200" },
	};
	for (size_t i = 0; i < sizeof(ramps) / sizeof(ramps[0]); i++) {
		int64_t c[EVIDENCE_MAX_POINTS];
		char text[256] = "";
		int n = procedure_ramp(ramps[i].in_use, c);
		for (int k = 0; k < n; k++) {
			size_t len = strlen(text);
			snprintf(text + len, sizeof(text) - len, k ? " %lld" : "%lld",
			        (long long)c[k]);
		}
		CHECK_STR(text, ramps[i].ramp);
	}
}

static void the_device_is_the_gpu_that_the_service_works_on_or_else_its_cores(void)
{
	/* gpu_util_ratio of two devices, who has processes there, cores in use, allowed, quota */
	static const struct {
		double util[2], own[2], cpu, allowed, quota, want;
	} machines[] = {
		{ { 0.9, 0.3 }, { 0, 1 }, 1, 4, NAN, 0.3 },
		{ { 0.9, 0.3 }, { 2, 1 }, 1, 4, NAN, 0.9 },
		{ { 0.9, 0.3 }, { 0, 0 }, 1, 4, NAN, 0.25 },
		{ { NAN, NAN }, { NAN, NAN }, 1.5, 8, 2, 0.75 },
		{ { NAN, NAN }, { NAN, NAN }, NAN, 8, 2, NAN },
		{ { NAN, NAN }, { NAN, NAN }, 1.5, NAN, NAN, NAN },
	};
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		struct signal signals[] = {
			{ .name = "gpu_util_ratio", .instance = "0", .mean = machines[i].util[0] },
			{ .name = "gpu_util_ratio", .instance = "1", .mean = machines[i].util[1] },
			{ .name = "gpu_own_processes", .instance = "0", .mean = machines[i].own[0] },
			{ .name = "gpu_own_processes", .instance = "1", .mean = machines[i].own[1] },
			{ .name = "process_cpu_ratio", .mean = machines[i].cpu },
			{ .name = "process_cpus_allowed_count", .mean = machines[i].allowed },
			{ .name = "cgroup_quota_cores", .instance = "/a", .mean = machines[i].quota },
		};
		struct signal_system system = { .signals = signals,
			.n_signals = ARRAY_LEN(signals) };
		struct load_run r = { .system = &system };
		double got = run_device_ratio(&r);
		CHECK(isnan(machines[i].want) ? isnan(got) : fabs(got - machines[i].want) < 1e-12);
	}
	CHECK(isnan(run_device_ratio(&(struct load_run){ 0 })));
}

int main(void)
{
	TAP_RUN(services_of_known_construction_get_their_diagnosis);
	TAP_RUN(excluded_and_probable_causes_say_why_and_others_what_they_need);
	TAP_RUN(a_full_thread_is_decided_by_a_second_generator);
	TAP_RUN(connections_that_the_client_itself_refused_are_its_own_cap);
	TAP_RUN(findings_are_ordered_by_state_then_by_gain);
	TAP_RUN(missing_signals_never_exclude);
	TAP_RUN(halving_that_costs_throughput_excludes_saturation);
	TAP_RUN(a_difference_inside_the_noise_is_not_beyond_it);
	TAP_RUN(delayed_acknowledgements_are_decided_by_the_experiment);
	TAP_RUN(a_cold_start_is_seen_in_the_first_requests_only);
	TAP_RUN(waiting_before_the_send_is_coordinated_omission);
	TAP_RUN(more_load_that_is_carried_confirms_that_the_load_is_low);
	TAP_RUN(fingerprints_that_differ_are_a_mismatch);
	TAP_RUN(predictions_hold_against_what_batching_really_gives);
	TAP_RUN(nothing_measured_is_inconclusive);
	TAP_RUN(failed_requests_count_as_missing_the_target);
	TAP_RUN(headroom_is_the_knee_over_the_present_rate);
	TAP_RUN(the_device_is_the_gpu_that_the_service_works_on_or_else_its_cores);
	TAP_RUN(targets_are_read_as_people_write_them);
	TAP_RUN(the_ramp_holds_half_once_and_twice_the_load_in_use);
	return tap_done();
}
