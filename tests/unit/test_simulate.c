/*
 * The simulated service: what its file may say, and its arithmetic on a clock that the test brings.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "serve/sim_config.h"
#include "serve/sim_schedule.h"
#include "tap.h"

#define MS(x) ((int64_t)((x)*NS_PER_MS))

enum { RECORDS_MAX = 4096 };

/* What happened, in order. */
struct record {
	enum sim_event event;
	const struct sim_seq *seq;
	int64_t at_ns;
};

struct world {
	struct arena run;
	struct sim_config config;
	struct sim_schedule schedule;
	struct record records[RECORDS_MAX];
	size_t n_records;
	int64_t steps, sequences_in_steps;
};

static void on_event(void *ctx, enum sim_event event, struct sim_seq *seq, int64_t at_ns)
{
	struct world *w = ctx;
	if (CHECK(w->n_records < RECORDS_MAX))
		w->records[w->n_records++] = (struct record){ event, seq, at_ns };
}

static void on_step(void *ctx, int64_t n)
{
	struct world *w = ctx;
	w->steps++;
	w->sequences_in_steps += n;
}

static bool world_open(struct world *w, const char *json)
{
	struct err err = { 0 };
	*w = (struct world){ 0 };
	bool ok = sim_config_parse(str_of(json), "w.json", &w->run, &w->config, &err);
	if (!CHECK(ok)) {
		printf("# %s\n", err.text);
		return false;
	}
	struct sim_callbacks callbacks = { .event = on_event, .step = on_step, .ctx = w };
	sim_schedule_init(&w->schedule, &w->config, callbacks);
	return true;
}

static void world_close(struct world *w)
{
	sim_schedule_release(&w->schedule);
	arena_release(&w->run);
}

/* When the i-th event of that kind happened to seq, in ms; -1: it never did. */
static double when_ms(
        const struct world *w, const struct sim_seq *seq, enum sim_event event, size_t i)
{
	for (size_t k = 0; k < w->n_records; k++) {
		const struct record *r = &w->records[k];
		if (r->seq == seq && r->event == event && i-- == 0)
			return (double)r->at_ns / (double)NS_PER_MS;
	}
	return -1;
}

static int count(const struct world *w, const struct sim_seq *seq, enum sim_event event)
{
	int n = 0;
	for (size_t k = 0; k < w->n_records; k++)
		n += w->records[k].seq == seq && w->records[k].event == event;
	return n;
}

static struct sim_seq seq_of(
        double arrival_ms, int64_t n_prompt, int64_t n_output, double service_ms)
{
	return (struct sim_seq){ .arrival_ns = MS(arrival_ms),
		.n_prompt = n_prompt,
		.n_output = n_output,
		.n_made_max = n_output,
		.service_ms = service_ms };
}

static void every_error_of_the_file_names_the_file_and_the_key(void)
{
	static const struct {
		const char *json, *must_contain;
	} cases[] = {
		{ "", "line 1" },
		{ "{", "line 1" },
		{ "[]", "one JSON object" },
		{ "{}", "'service_ms'" },
		{ "{\"service_ms\":1,\"slot\":2}", "'slot'" },
		{ "{\"service_ms\":1,\"stall\":{\"for\":2}}", "'stall.for'" },
		{ "{\"service_ms\":1,\"stall\":3}", "'stall'" },
		{ "{\"service_ms\":1,\"slots\":0}", "'slots'" },
		{ "{\"service_ms\":1,\"slots\":1.5}", "'slots'" },
		{ "{\"service_ms\":1,\"slots\":\"2\"}", "'slots'" },
		{ "{\"service_ms\":1,\"slots\":65537}", "'slots'" },
		{ "{\"service_ms\":\"often\"}", "'service_ms'" },
		{ "{\"service_ms\":-1}", "'service_ms'" },
		{ "{\"service_ms\":true}", "'service_ms'" },
		{ "{\"service_ms\":1e9}", "'service_ms'" },
		{ "{\"service_ms\":1,\"decode\":{\"fixed_ms\":1}}", "'service_ms'" },
		{ "{\"service_ms\":1,\"batching\":\"continuous\"}", "'batching'" },
		{ "{\"service_ms\":1,\"batching\":\"some\"}", "'batching'" },
		{ "{\"service_ms\":1,\"stream\":{\"crlf\":1}}", "'stream.crlf'" },
		{ "{\"service_ms\":1,\"name\":\"\"}", "'name'" },
		{ "{\"service_ms\":1,\"faults\":{\"cut_ratio\":1.5}}", "'faults.cut_ratio'" },
		{ "{\"service_ms\":1,\"faults\":{\"cut_ratio\":0.6,\"empty_ratio\":0.6}}",
		        "'faults'" },
		{ "{\"service_ms\":1,\"stall\":{\"for_s\":2,\"every_s\":2}}", "'stall.every_s'" },
		{ "{\"service_ms\":1,\"service_ms\":2}", "duplicate" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct sim_config config;
		struct err err = { 0 };
		bool ok = sim_config_parse(str_of(cases[i].json), "sim.json", &run, &config, &err);
		bool told = !ok && err.kind == ERR_INPUT && strstr(err.text, "'sim.json'") &&
		            strstr(err.text, cases[i].must_contain);
		if (!CHECK(told))
			printf("# %s: %s\n", cases[i].json, err.text);
		arena_release(&run);
	}
}

static void every_example_file_is_understood(void)
{
	static const char *const names[] = { "bimodal.json", "continuous.json", "imperfect.json",
		"stall.json", "two_slots.json" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char name[256];
		struct arena run = { 0 };
		struct sim_config config;
		struct err err = { 0 };
		snprintf(name, sizeof(name), "simulate/%s", names[i]);
		if (!CHECK(sim_config_load(tap_data(name), &run, &config, &err)))
			printf("# %s\n", err.text);
		arena_release(&run);
	}
}

/* 3 requests at 0, 1, 2 ms; 2 slots; 20 ms each: the third starts when the first ends. */
static void slots_serve_in_order_of_arrival_and_tokens_are_spread_evenly(void)
{
	struct world w;
	struct sim_seq a = seq_of(0, 1, 4, 20), b = seq_of(1, 1, 4, 20), c = seq_of(2, 1, 4, 20);
	if (!world_open(&w, "{\"service_ms\":20,\"slots\":2}"))
		return;
	sim_schedule_add(&w.schedule, &a);
	sim_schedule_add(&w.schedule, &b);
	sim_schedule_add(&w.schedule, &c);
	sim_schedule_run(&w.schedule, MS(1000));
	for (size_t i = 0; i < 4; i++) {
		double part = 5.0 * (double)(i + 1);
		CHECK_NEAR(when_ms(&w, &a, SIM_TOKEN, i), part, 1e-6);
		CHECK_NEAR(when_ms(&w, &b, SIM_TOKEN, i), 1 + part, 1e-6);
		CHECK_NEAR(when_ms(&w, &c, SIM_TOKEN, i), 20 + part, 1e-6);
	}
	CHECK_NEAR(when_ms(&w, &c, SIM_STARTED, 0), 20, 1e-6);
	CHECK_NEAR(when_ms(&w, &c, SIM_ENDED, 0), 40, 1e-6);
	CHECK(sim_schedule_due_ns(&w.schedule) == INT64_MAX);
	world_close(&w);
}

/* The caller comes seldom; what follows from an event happens relative to when that was due. */
static void lateness_of_the_caller_does_not_add_up(void)
{
	struct world w;
	struct sim_seq seqs[10];
	if (!world_open(&w, "{\"service_ms\":7,\"slots\":1}"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(seqs); i++) {
		seqs[i] = seq_of(0, 1, 3, 7);
		sim_schedule_add(&w.schedule, &seqs[i]);
	}
	for (int64_t t = 0; t < MS(200); t += MS(11))
		sim_schedule_run(&w.schedule, t);
	for (size_t i = 0; i < ARRAY_LEN(seqs); i++)
		CHECK_NEAR(when_ms(&w, &seqs[i], SIM_ENDED, 0), 7.0 * (double)(i + 1), 1e-6);
	world_close(&w);
}

/* One alone: prefill 10 + 0.5 * 8, then steps of 4 + 1. */
static void a_slot_without_batching_keeps_its_own_step_clock(void)
{
	struct world w;
	struct sim_seq a = seq_of(0, 8, 3, 0), b = seq_of(0, 8, 3, 0);
	if (!world_open(&w, "{\"prefill\":{\"fixed_ms\":10,\"per_token_ms\":0.5},"
	                    "\"decode\":{\"fixed_ms\":4,\"per_sequence_ms\":1},\"slots\":2}"))
		return;
	sim_schedule_add(&w.schedule, &a);
	sim_schedule_add(&w.schedule, &b);
	sim_schedule_run(&w.schedule, MS(100));
	CHECK_NEAR(when_ms(&w, &a, SIM_TOKEN, 0), 14, 1e-6);
	CHECK_NEAR(when_ms(&w, &a, SIM_TOKEN, 1), 19, 1e-6);
	CHECK_NEAR(when_ms(&w, &b, SIM_TOKEN, 2), 24, 1e-6);
	world_close(&w);
}

/*
 * a arrives at 0 with 3 tokens, b at 1 with 2, in the middle of a's prefill.
 * 0: prefill of a, 2 + 0.1*10 = 3; at 3 a's first token, b comes in: prefill of b, 2 + 0.1*20 = 4;
 * at 7 b's first; then steps of 4 + 0.5*2 = 5: at 12 both, b ends; alone 4.5: at 16.5 a ends.
 */
static void continuous_batching_shares_steps_and_prefill_holds_up_decoding(void)
{
	struct world w;
	struct sim_seq a = seq_of(0, 10, 3, 0), b = seq_of(1, 20, 2, 0);
	if (!world_open(&w, "{\"prefill\":{\"fixed_ms\":2,\"per_token_ms\":0.1},"
	                    "\"decode\":{\"fixed_ms\":4,\"per_sequence_ms\":0.5},\"slots\":8,"
	                    "\"batching\":\"continuous\"}"))
		return;
	sim_schedule_add(&w.schedule, &a);
	sim_schedule_add(&w.schedule, &b);
	sim_schedule_run(&w.schedule, MS(100));
	CHECK_NEAR(when_ms(&w, &a, SIM_TOKEN, 0), 3, 1e-6);
	CHECK_NEAR(when_ms(&w, &b, SIM_STARTED, 0), 3, 1e-6);
	CHECK_NEAR(when_ms(&w, &b, SIM_TOKEN, 0), 7, 1e-6);
	CHECK_NEAR(when_ms(&w, &a, SIM_TOKEN, 1), 12, 1e-6);
	CHECK_NEAR(when_ms(&w, &b, SIM_ENDED, 0), 12, 1e-6);
	CHECK_NEAR(when_ms(&w, &a, SIM_ENDED, 0), 16.5, 1e-6);
	CHECK_INT(w.steps, 4);
	CHECK_INT(w.sequences_in_steps, 1 + 1 + 2 + 1);
	world_close(&w);
}

static void a_full_batch_lets_nobody_in_before_somebody_leaves(void)
{
	struct world w;
	struct sim_seq a = seq_of(0, 0, 2, 0), b = seq_of(0, 0, 2, 0), c = seq_of(0, 0, 1, 0);
	if (!world_open(&w, "{\"prefill\":{\"fixed_ms\":1},\"decode\":{\"fixed_ms\":2},"
	                    "\"slots\":2,\"batching\":\"continuous\"}"))
		return;
	/* The first begins its prefill at once, alone; the second joins at 1, decodes from 2 on. */
	sim_schedule_add(&w.schedule, &a);
	sim_schedule_add(&w.schedule, &b);
	sim_schedule_add(&w.schedule, &c);
	sim_schedule_run(&w.schedule, MS(100));
	CHECK_NEAR(when_ms(&w, &b, SIM_STARTED, 0), 1, 1e-6);
	CHECK_NEAR(when_ms(&w, &a, SIM_ENDED, 0), 4, 1e-6);
	CHECK_NEAR(when_ms(&w, &c, SIM_STARTED, 0), 4, 1e-6);
	CHECK_NEAR(when_ms(&w, &c, SIM_ENDED, 0), 5, 1e-6);
	world_close(&w);
}

/* Stalls 10..13, 20..23, ... after the first arrival at 100. */
static void work_stands_still_during_stalls(void)
{
	static const struct {
		double from_ms, work_ms, want_ms;
	} cases[] = {
		{ 100, 5, 105 },
		{ 100, 10, 110 },
		{ 100, 11, 114 },
		{ 105, 10, 118 },
		{ 111, 1, 114 }, /* begun inside the first stall */
		{ 113, 7, 120 }, /* just behind it, up to the second */
		{ 113, 8, 124 },
		{ 100, 24, 130 }, /* 10 + 7 + 7: ends just as the third stall begins */
		{ 100, 25, 134 },
		{ 990, 2, 995 },
	};
	struct world w;
	struct sim_seq first = seq_of(100, 1, 1, 0);
	if (!world_open(&w, "{\"service_ms\":1,\"stall\":{\"at_s\":0.01,\"for_s\":0.003,"
	                    "\"every_s\":0.01}}"))
		return;
	sim_schedule_add(&w.schedule, &first);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t got =
		        sim_schedule_after(&w.schedule, MS(cases[i].from_ms), cases[i].work_ms);
		CHECK_NEAR((double)got / (double)NS_PER_MS, cases[i].want_ms, 1e-6);
	}
	world_close(&w);
}

static void a_single_stall_happens_once(void)
{
	struct world w;
	struct sim_seq first = seq_of(0, 1, 1, 5), later = seq_of(50, 1, 1, 5);
	if (!world_open(&w, "{\"service_ms\":5,\"stall\":{\"at_s\":0.002,\"for_s\":0.01}}"))
		return;
	sim_schedule_add(&w.schedule, &first);
	sim_schedule_add(&w.schedule, &later);
	sim_schedule_run(&w.schedule, MS(1000));
	CHECK_NEAR(when_ms(&w, &first, SIM_ENDED, 0), 15, 1e-6);
	CHECK_NEAR(when_ms(&w, &later, SIM_ENDED, 0), 55, 1e-6);
	world_close(&w);
}

static void a_cancelled_request_gives_its_place_to_the_next(void)
{
	static const char *const files[] = { "{\"service_ms\":20}",
		"{\"prefill\":{\"fixed_ms\":20},\"batching\":\"continuous\"}" };
	static const double starts_ms[] = { 2, 20 }; /* a shared step is not given up */
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct world w;
		struct sim_seq a = seq_of(0, 1, 5, 20), b = seq_of(0, 1, 1, 20),
		               c = seq_of(0, 1, 1, 20);
		if (!world_open(&w, files[i]))
			return;
		sim_schedule_add(&w.schedule, &a);
		sim_schedule_add(&w.schedule, &b);
		sim_schedule_add(&w.schedule, &c);
		sim_schedule_cancel(&w.schedule, &b, MS(1));
		CHECK_NEAR(when_ms(&w, &b, SIM_ENDED, 0), 1, 1e-6);
		CHECK_INT(count(&w, &b, SIM_STARTED), 0);
		sim_schedule_cancel(&w.schedule, &a, MS(2));
		sim_schedule_run(&w.schedule, MS(1000));
		CHECK_INT(count(&w, &a, SIM_ENDED), 1);
		CHECK_INT(count(&w, &b, SIM_ENDED), 1);
		CHECK_INT(count(&w, &c, SIM_ENDED), 1);
		CHECK_INT(count(&w, &c, SIM_TOKEN), 1);
		CHECK_NEAR(when_ms(&w, &c, SIM_STARTED, 0), starts_ms[i], 1e-6);
		world_close(&w);
	}
}

/* Many arrivals at random: all served once, never more than the slots at a time, work conserved. */
static void under_random_load_everything_is_served_exactly_once(void)
{
	enum { N = 300, SLOTS = 3 };
	static const char *const files[] = { "{\"service_ms\":5,\"slots\":3}",
		"{\"prefill\":{\"fixed_ms\":1},\"decode\":{\"fixed_ms\":1,\"per_sequence_ms\":0.3},"
		"\"slots\":3,\"batching\":\"continuous\"}" };
	for (size_t f = 0; f < ARRAY_LEN(files); f++) {
		static struct sim_seq seqs[N];
		struct world w;
		struct rng rng;
		double t = 0;
		rng_init(&rng, 42);
		if (!world_open(&w, files[f]))
			return;
		for (size_t i = 0; i < N; i++) {
			t += 2 * rng_exponential(&rng);
			seqs[i] = seq_of(
			        t, 1, 1 + (int64_t)rng_below(&rng, 4), 8 * rng_uniform(&rng));
			sim_schedule_add(&w.schedule, &seqs[i]);
		}
		sim_schedule_run(&w.schedule, MS(1e6));
		int running = 0, most = 0;
		int64_t last = 0;
		for (size_t k = 0; k < w.n_records; k++) {
			CHECK(w.records[k].at_ns >= last);
			last = w.records[k].at_ns;
			running += w.records[k].event == SIM_STARTED;
			most = running > most ? running : most;
			running -= w.records[k].event == SIM_ENDED;
		}
		CHECK_INT(running, 0);
		CHECK_INT(most, SLOTS);
		for (size_t i = 0; i < N; i++) {
			CHECK_INT(count(&w, &seqs[i], SIM_TOKEN), seqs[i].n_output);
			CHECK_INT(count(&w, &seqs[i], SIM_ENDED), 1);
		}
		world_close(&w);
	}
}

int main(void)
{
	TAP_RUN(every_error_of_the_file_names_the_file_and_the_key);
	TAP_RUN(every_example_file_is_understood);
	TAP_RUN(slots_serve_in_order_of_arrival_and_tokens_are_spread_evenly);
	TAP_RUN(lateness_of_the_caller_does_not_add_up);
	TAP_RUN(a_slot_without_batching_keeps_its_own_step_clock);
	TAP_RUN(continuous_batching_shares_steps_and_prefill_holds_up_decoding);
	TAP_RUN(a_full_batch_lets_nobody_in_before_somebody_leaves);
	TAP_RUN(work_stands_still_during_stalls);
	TAP_RUN(a_single_stall_happens_once);
	TAP_RUN(a_cancelled_request_gives_its_place_to_the_next);
	TAP_RUN(under_random_load_everything_is_served_exactly_once);
	return tap_done();
}
