/*
 * Runs written down by hand, sound but for one thing, and the verdict that follows. The sound run:
 * a closed loop of 8, each request 20 ms, for 10 s: by Little's law 400 a second, 4000 in all.
 */
#include "load/checks.h"

#include "base/clock.h"
#include "tap.h"

enum { N = 4000, SECONDS = 10, CONCURRENCY = 8 };

static struct arena arena;

static void fill(struct hist *h, double ms, int64_t n)
{
	hist_init(h, &arena);
	hist_record_n(h, (int64_t)(ms * NS_PER_MS), n);
}

static struct load_run sound_run(void)
{
	struct load_run r = {
		.concurrency = CONCURRENCY,
		.rate_per_s = NAN,
		.window = { .duration_s = SECONDS, .steady = true },
		.requests = { .attempted = N, .ok = N },
		.throughput = { N / (double)SECONDS, NAN, NAN, NAN },
		.client = {
			.threads = 1,
			.busiest_thread_ratio = 0.05,
			.wanted_ratio = 0.06,
			.waiting_ratio = 0.01,
			.offered_per_s = NAN,
			.achieved_per_s = N / (double)SECONDS,
			.little_ratio = 1,
			.null_ceiling_per_s = NAN,
			.steal_ratio = 0,
			.unread = { .n = 1000, .mean_bytes = 4, .max_bytes = 200, .wait_ms = 0.05 },
		},
		.books = { N, N, CONCURRENCY, CONCURRENCY, CONCURRENCY, 0 },
	};
	fill(&r.metrics[LOAD_LATENCY], 20, N);
	fill(&r.metrics[LOAD_RESPONSE], 20, N);
	fill(&r.failed_latency, 0, 0);
	fill(&r.client.lateness, 0.02, N);
	fill(&r.client.receive_delay, 0.03, N);
	fill(&r.client.loop_lag, 0.05, N);
	r.series = arena_new_n(&arena, struct load_second, SECONDS);
	r.n_series = SECONDS;
	for (int i = 0; i < SECONDS; i++)
		r.series[i] = (struct load_second){ .t_s = i + 1, .requests = N / SECONDS };
	return r;
}

static struct load_run open_run(void)
{
	struct load_run r = sound_run();
	r.concurrency = 0;
	r.rate_per_s = r.client.offered_per_s = N / (double)SECONDS;
	return r;
}

static const struct load_shape closed = { .concurrency = CONCURRENCY, .duration_ns = 10000000000 };
static const struct load_shape open_loop = { .rate_per_s = N / (double)SECONDS,
	.duration_ns = 10000000000 };

/* ---- one thing wrong ---- */

static void nothing(struct load_run *r)
{
	(void)r;
}
static void one_request_lost(struct load_run *r)
{
	r->requests.attempted++;
}
static void a_failure_without_class(struct load_run *r)
{
	r->requests.failed++;
	r->requests.attempted++;
}
static void a_second_that_lost_one(struct load_run *r)
{
	r->series[3].requests--;
}
static void a_second_with_an_error_of_nobody(struct load_run *r)
{
	r->series[3].errors++;
}
static void a_histogram_that_lost_one(struct load_run *r)
{
	r->metrics[LOAD_LATENCY].n--;
}
static void a_bucket_that_lost_one(struct load_run *r)
{
	r->metrics[LOAD_RESPONSE].counts[hist_bucket(20 * NS_PER_MS)]--;
}
static void lateness_of_one_request_missing(struct load_run *r)
{
	fill(&r->client.lateness, 0.02, N - 1);
}
static void throughput_of_another_run(struct load_run *r)
{
	r->throughput.requests_per_s *= 1.01;
}
static void a_connection_never_closed(struct load_run *r)
{
	r->books.closed--;
}
static void bytes_never_read(struct load_run *r)
{
	r->books.bytes_apart = 100;
}
static void no_files_left(struct load_run *r)
{
	r->requests.ok -= 1;
	r->requests.failed = r->requests.failures[LOAD_FAIL_CLIENT] = 1;
	fill(&r->metrics[LOAD_LATENCY], 20, N - 1);
	fill(&r->metrics[LOAD_RESPONSE], 20, N - 1);
	fill(&r->failed_latency, 1, 1);
	r->books.completions_ok--;
	r->series[0].errors++;
	r->throughput.requests_per_s = (N - 1) / (double)SECONDS;
}
static void few_requests(struct load_run *r)
{
	r->requests = (struct load_requests){ .attempted = 5, .ok = 5 };
	r->books = (struct load_books){ .completions = 5, .completions_ok = 5 };
	fill(&r->metrics[LOAD_LATENCY], 20, 5);
	fill(&r->metrics[LOAD_RESPONSE], 20, 5);
	fill(&r->client.lateness, 0.02, 5);
	r->series[0].requests = 5;
	r->n_series = 1;
	r->throughput.requests_per_s = 0.5;
	r->client.little_ratio = 9;
}
/* Half of the 400 a second that were planned: 45 deviations of a Poisson process too few. */
static void twice_as_much_planned(struct load_run *r)
{
	r->client.offered_per_s *= 2;
}
/* 4000 against 4100: 1.6 deviations. */
static void within_the_chance_of_arrivals(struct load_run *r)
{
	r->client.offered_per_s *= 1.025;
}
static void one_second_stopped(struct load_run *r)
{
	hist_record(&r->client.loop_lag, NS_PER_S);
}
static void long_turns_but_no_stall(struct load_run *r)
{
	hist_record_n(&r->client.loop_lag, 5 * NS_PER_MS, 40); /* 0.2 s of 10 */
}
static void a_full_thread(struct load_run *r)
{
	r->client.wanted_ratio = r->client.busiest_thread_ratio = 0.97;
}
static void a_full_thread_with_a_low_ceiling(struct load_run *r)
{
	a_full_thread(r);
	r->client.null_ceiling_per_s = 500;
}
static void a_full_thread_with_a_high_ceiling(struct load_run *r)
{
	a_full_thread(r);
	r->client.null_ceiling_per_s = 5000;
}
static void two_generators(struct load_run *r, double ratio, bool apart)
{
	double alone = r->throughput.requests_per_s;
	r->client.halved = (struct load_halved){ 3, alone * ratio, alone, ratio, apart, "" };
}
static void a_full_thread_that_two_do_not_beat(struct load_run *r)
{
	a_full_thread_with_a_high_ceiling(r);
	two_generators(r, 1.02, false);
}
static void a_full_thread_that_two_beat(struct load_run *r)
{
	a_full_thread_with_a_high_ceiling(r);
	two_generators(r, 1.6, true);
}
static void a_full_thread_that_two_beat_by_chance(struct load_run *r)
{
	a_full_thread_with_a_high_ceiling(r);
	two_generators(r, 1.3, false);
}
static void two_that_got_more_without_a_suspicion(struct load_run *r)
{
	two_generators(r, 1.6, true);
}
static void a_starved_thread(struct load_run *r)
{
	r->client.wanted_ratio = 0.99;
	r->client.waiting_ratio = 0.9;
}
static void a_starved_thread_that_two_do_not_beat(struct load_run *r)
{
	a_starved_thread(r);
	r->client.null_ceiling_per_s = 5000;
	r->client.little_ratio = 1.2;
	two_generators(r, 1.0, false);
}
static void some_waiting_for_a_core(struct load_run *r)
{
	r->client.waiting_ratio = 0.2;
}
/* TLS gives no stamps: who reads late measures late. */
static void some_waiting_without_stamps(struct load_run *r)
{
	some_waiting_for_a_core(r);
	fill(&r->client.receive_delay, 0, 0);
}
static void a_tenth_of_the_time_in_the_client(struct load_run *r)
{
	r->client.little_ratio = 1.1;
}
static void waited_with_a_low_ceiling(struct load_run *r)
{
	r->client.little_ratio = 1.1;
	r->client.null_ceiling_per_s = 500;
}
static void half_of_the_time_in_the_client(struct load_run *r)
{
	r->client.little_ratio = 2;
}
/* 0.02 ms requests with 0.02 ms to wake up: nobody feels it. */
static void half_of_a_very_short_time(struct load_run *r)
{
	r->client.little_ratio = 2;
	fill(&r->metrics[LOAD_LATENCY], 0.02, N);
	fill(&r->metrics[LOAD_RESPONSE], 0.02, N);
}
static void fewer_in_flight_than_there_can_be(struct load_run *r)
{
	r->client.little_ratio = 0.8;
}
static void some_late(struct load_run *r)
{
	fill(&r->client.lateness, 0.02, N - N / 20);
	hist_record_n(&r->client.lateness, 5 * NS_PER_MS, N / 20);
}
static void late_by_a_twentieth(struct load_run *r)
{
	fill(&r->client.lateness, 2, N);
}
static void late_by_half_of_the_response(struct load_run *r)
{
	fill(&r->client.lateness, 20, N);
	fill(&r->metrics[LOAD_RESPONSE], 40, N);
}
static void late_at_the_users_own_cap(struct load_run *r)
{
	late_by_half_of_the_response(r);
	r->max_in_flight = 4;
}
static void bytes_that_lay_for_long(struct load_run *r)
{
	r->client.unread.wait_ms = 5;
}
static void tokens_every_4_ms_read_after_10(struct load_run *r)
{
	fill(&r->metrics[LOAD_ITL], 4, N);
	fill(&r->client.receive_delay, 10, N);
}
static void one_token_in_50_read_late(struct load_run *r)
{
	fill(&r->metrics[LOAD_ITL], 4, N);
	hist_record_n(&r->client.receive_delay, 10 * NS_PER_MS, N / 50);
}

#define OK LOAD_CLIENT_OK
#define LIMITED LOAD_CLIENT_LIMITED
#define UNKNOWN LOAD_CLIENT_UNKNOWN
#define INVALID LOAD_CLIENT_INVALID

/* The verdict, and a check that fails (NULL: none does). */
static const struct {
	const char *what;
	void (*doctor)(struct load_run *r);
	bool open;
	enum load_client_verdict verdict;
	const char *check;
} cases[] = {
	{ "nothing", nothing, false, OK, NULL },
	{ "nothing, in an open loop", nothing, true, OK, NULL },
	{ "one request lost", one_request_lost, false, INVALID, "counts_requests" },
	{ "a failure without class", a_failure_without_class, false, INVALID, "counts_requests" },
	{ "a second that lost one", a_second_that_lost_one, false, INVALID, "counts_series" },
	{ "an error of nobody", a_second_with_an_error_of_nobody, false, INVALID, "counts_series" },
	{ "a histogram that lost one", a_histogram_that_lost_one, false, INVALID,
	        "counts_histograms" },
	{ "a bucket that lost one", a_bucket_that_lost_one, false, INVALID, "counts_histograms" },
	{ "lateness of one missing", lateness_of_one_request_missing, false, INVALID,
	        "counts_histograms" },
	{ "throughput of another run", throughput_of_another_run, false, INVALID,
	        "counts_throughput" },
	{ "a connection never closed", a_connection_never_closed, false, INVALID, "connections" },
	{ "bytes never read", bytes_never_read, false, INVALID, "bytes" },
	{ "no files left", no_files_left, false, LIMITED, "own_limits" },
	{ "few requests", few_requests, false, UNKNOWN, NULL },
	{ "twice as much planned", twice_as_much_planned, true, LIMITED, "achieved_ratio" },
	{ "chance of arrivals", within_the_chance_of_arrivals, true, OK, NULL },
	{ "one second stopped", one_second_stopped, false, LIMITED, "stall_ratio" },
	{ "long turns", long_turns_but_no_stall, false, OK, "loop_lag_ratio" },
	{ "a full thread", a_full_thread, false, LIMITED, "thread_wanted_ratio" },
	{ "full, low ceiling", a_full_thread_with_a_low_ceiling, false, LIMITED,
	        "null_ceiling_over_rate" },
	{ "full, high ceiling", a_full_thread_with_a_high_ceiling, false, UNKNOWN,
	        "thread_wanted_ratio" },
	{ "full, two do not beat it", a_full_thread_that_two_do_not_beat, false, OK,
	        "thread_wanted_ratio" },
	{ "full, two beat it", a_full_thread_that_two_beat, false, LIMITED, "second_generator" },
	{ "full, two beat it by chance", a_full_thread_that_two_beat_by_chance, false, OK,
	        "thread_wanted_ratio" },
	{ "two got more, no suspicion", two_that_got_more_without_a_suspicion, false, OK,
	        "second_generator" },
	{ "starved", a_starved_thread, false, LIMITED, "thread_wanted_ratio" },
	{ "starved, two do not beat it", a_starved_thread_that_two_do_not_beat, false, UNKNOWN,
	        "thread_waiting_ratio" },
	{ "some waiting", some_waiting_for_a_core, false, OK, "thread_waiting_ratio" },
	{ "some waiting, TLS", some_waiting_without_stamps, false, UNKNOWN,
	        "thread_waiting_ratio" },
	{ "a tenth in the client", a_tenth_of_the_time_in_the_client, false, UNKNOWN,
	        "little_ratio" },
	{ "waited, low ceiling", waited_with_a_low_ceiling, false, UNKNOWN, "little_ratio" },
	{ "half in the client", half_of_the_time_in_the_client, false, LIMITED, "client_of_cycle" },
	{ "half of a short time", half_of_a_very_short_time, false, UNKNOWN, "little_ratio" },
	{ "fewer in flight", fewer_in_flight_than_there_can_be, false, UNKNOWN,
	        "little_ratio_low" },
	{ "one in 20 late", some_late, true, UNKNOWN, "lateness_tail" },
	{ "late by a tenth", late_by_a_twentieth, true, UNKNOWN, "lateness_tail" },
	{ "a closed loop plans nothing", late_by_a_twentieth, false, OK, NULL },
	{ "late by half", late_by_half_of_the_response, true, LIMITED, "lateness_of_response" },
	{ "late at the cap", late_at_the_users_own_cap, true, OK, NULL },
	{ "bytes lay for long", bytes_that_lay_for_long, false, UNKNOWN, "unread_wait" },
	{ "tokens read late", tokens_every_4_ms_read_after_10, false, LIMITED,
	        "receive_delay_p50_of_itl" },
	{ "some tokens read late", one_token_in_50_read_late, false, UNKNOWN,
	        "receive_delay_tail_of_itl" },
};

static const struct load_check *find(const struct load_run *r, const char *name)
{
	for (int i = 0; i < r->client.n_checks; i++)
		if (strcmp(r->client.checks[i].name, name) == 0)
			return &r->client.checks[i];
	return NULL;
}

static int n_wrong(const struct load_run *r)
{
	int n = 0;
	for (int i = 0; i < r->client.n_checks; i++)
		n += !r->client.checks[i].ok;
	return n;
}

static struct load_run judged(size_t i)
{
	struct load_run r = cases[i].open ? open_run() : sound_run();
	cases[i].doctor(&r);
	checks_fill(cases[i].open ? &open_loop : &closed, &arena, &r);
	checks_judge(&r);
	return r;
}

static void every_doctored_run_gets_its_verdict_and_its_check(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct load_run r = judged(i);
		bool ok = CHECK_INT(r.client.verdict, cases[i].verdict);
		const char *name = cases[i].check;
		const struct load_check *c = name ? find(&r, name) : NULL;
		ok = CHECK(name ? c && !c->ok && c->why : n_wrong(&r) == 0 || r.requests.ok < 20) &&
		     ok;
		ok = CHECK(r.client.why && r.client.why[0]) && ok;
		if (!ok)
			printf("#   case '%s': %s\n", cases[i].what, r.client.why);
	}
}

static void a_check_that_did_not_fail_has_no_reason_and_one_without_value_no_limit(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct load_run r = judged(i);
		for (int k = 0; k < r.client.n_checks; k++) {
			const struct load_check *c = &r.client.checks[k];
			CHECK(c->ok == (c->why == NULL));
			CHECK(!isnan(c->value) || (c->ok && isnan(c->limit)));
			CHECK(c->name[0] && c->unit[0] && c->source[0]);
		}
	}
}

static void names_of_checks_are_not_repeated(void)
{
	struct load_run r = judged(0);
	for (int i = 0; i < r.client.n_checks; i++)
		CHECK(find(&r, r.client.checks[i].name) == &r.client.checks[i]);
}

/* What is asked next, first without and then with a ceiling. */
static void the_ceiling_is_asked_before_the_second_generator(void)
{
	static const struct {
		void (*doctor)(struct load_run *r);
		bool open;
		enum checks_next before, after;
	} asked[] = {
		{ nothing, false, CHECKS_DONE, CHECKS_DONE },
		{ one_request_lost, false, CHECKS_DONE, CHECKS_DONE },
		{ few_requests, false, CHECKS_DONE, CHECKS_DONE },
		{ a_full_thread, false, CHECKS_NEED_CEILING, CHECKS_NEED_SECOND },
		{ a_full_thread_with_a_low_ceiling, false, CHECKS_NEED_CEILING, CHECKS_DONE },
		{ a_full_thread_with_a_high_ceiling, false, CHECKS_NEED_CEILING,
		        CHECKS_NEED_SECOND },
		{ twice_as_much_planned, true, CHECKS_NEED_CEILING, CHECKS_DONE },
		{ a_tenth_of_the_time_in_the_client, false, CHECKS_NEED_SECOND,
		        CHECKS_NEED_SECOND },
		{ some_waiting_for_a_core, false, CHECKS_DONE, CHECKS_DONE },
		{ some_waiting_without_stamps, false, CHECKS_NEED_CEILING, CHECKS_NEED_SECOND },
	};
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct load_run r = asked[i].open ? open_run() : sound_run();
		asked[i].doctor(&r);
		checks_fill(asked[i].open ? &open_loop : &closed, &arena, &r);
		bool ok = CHECK_INT(checks_next(&r, false), asked[i].before);
		ok = CHECK_INT(checks_next(&r, true), asked[i].after) && ok;
		r.partial = true;
		ok = CHECK_INT(checks_next(&r, false), CHECKS_DONE) && ok;
		if (!ok)
			printf("#   row %zu\n", i);
	}
}

/* Of 10 s, one of 1 s and 40 of 5 ms: hist.h keeps values within 1/256. */
static void the_share_of_long_turns_is_time_in_them_over_the_window(void)
{
	struct load_run r = sound_run();
	one_second_stopped(&r);
	long_turns_but_no_stall(&r);
	checks_fill(&closed, &arena, &r);
	CHECK_NEAR(find(&r, "stall_ratio")->value, 0.1, 0.1 / 256);
	CHECK_NEAR(find(&r, "loop_lag_ratio")->value, 0.12, 0.12 / 256);
	CHECK_NEAR(find(&r, "receive_delay_tail")->limit, 1, 0.01); /* a twentieth of 20 ms */
}

int main(void)
{
	TAP_RUN(every_doctored_run_gets_its_verdict_and_its_check);
	TAP_RUN(a_check_that_did_not_fail_has_no_reason_and_one_without_value_no_limit);
	TAP_RUN(names_of_checks_are_not_repeated);
	TAP_RUN(the_ceiling_is_asked_before_the_second_generator);
	TAP_RUN(the_share_of_long_turns_is_time_in_them_over_the_window);
	arena_release(&arena);
	return tap_done();
}
