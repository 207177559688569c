/* --fault NAME[=VALUE]: one table, and the values that it takes. */
#include "serve/faults.h"

#include "base/clock.h"
#include "tap.h"

static bool parse(const char *text, enum fault_place place, struct faults *ret, struct err *err)
{
	const char *items[4];
	struct opt_list list = { items, 0 };
	static char copy[256];
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		items[list.n++] = word;
	return faults_parse(&list, place, ret, err);
}

static void nothing_given_is_a_good_service(void)
{
	static const struct faults good;
	struct faults f;
	struct err err;
	CHECK(parse("", FAULT_ENCODER, &f, &err));
	CHECK(memcmp(&f, &good, sizeof(f)) == 0);
}

static void each_kind_of_value_arrives_in_its_field(void)
{
	struct faults f;
	struct err err;
	CHECK(parse("stall=1500ms,300ms nagle pad-to=64 isa=avx2", FAULT_ENCODER, &f, &err));
	CHECK(f.stall_every_ns == 1500 * NS_PER_MS && f.stall_for_ns == 300 * NS_PER_MS);
	CHECK(f.wire.nagle && f.pad_to == 64 && strcmp(f.engine.isa, "avx2") == 0);
	CHECK(parse("prepare=2ms dispatch=5us copy-per-step=1MiB", FAULT_ENCODER, &f, &err));
	CHECK(f.prepare_us == 2000 && f.engine.dispatch_ns == 5000);
	CHECK(f.engine.copy_bytes == 1 << 20);
	CHECK(parse("unbalanced=0.5", FAULT_GATEWAY, &f, &err) && f.unbalanced_ratio == 0.5);
}

static void a_fault_without_its_value_takes_the_one_of_its_row(void)
{
	struct faults f;
	struct err err;
	CHECK(parse("buffer-stream log-sync", FAULT_SIMULATED, &f, &err));
	CHECK(f.wire.buffer_bytes == 16384 && f.log_sync == 1);
	CHECK(parse("oversubscribe", FAULT_ENCODER, &f, &err) && f.oversubscribe == 8);
}

static void of_a_fault_given_twice_the_last_counts(void)
{
	struct faults f;
	struct err err;
	CHECK(parse("slots=1 slots=3", FAULT_ENCODER, &f, &err) && f.slots == 3);
}

static void what_cannot_be_is_refused_with_its_name(void)
{
	static const struct {
		const char *given;
		enum fault_place place;
		const char *text;
	} cases[] = {
		{ "warm", FAULT_ENCODER, "there is no fault 'warm'" },
		{ "=3", FAULT_ENCODER, "there is no fault ''" },
		{ "cold", FAULT_ENCODER, "the fault 'cold' needs a value (N)" },
		{ "cold=", FAULT_ENCODER, "the fault 'cold' takes N, not ''" },
		{ "cold=many", FAULT_ENCODER, "the fault 'cold' takes N, not 'many'" },
		{ "cold=0", FAULT_ENCODER, "the fault 'cold' must be between 1 and 1000000" },
		{ "cold=3", FAULT_SIMULATED,
		        "the fault 'cold' has no effect on what is served here" },
		{ "nagle=1", FAULT_ENCODER, "the fault 'nagle' takes no value" },
		{ "nagle=", FAULT_ENCODER, "the fault 'nagle' takes no value" },
		{ "isa=sse", FAULT_ENCODER, "the fault 'isa' takes plain|avx2|avx512, not 'sse'" },
		{ "prepare=5", FAULT_ENCODER, "the fault 'prepare' takes TIME, not '5'" },
		{ "prepare=2h", FAULT_ENCODER,
		        "the fault 'prepare' must be between 1e-06 s and 60 s" },
		{ "leak=0", FAULT_ENCODER, "the fault 'leak' must be between 1 and 1000000000" },
		{ "leak=x", FAULT_ENCODER, "the fault 'leak' takes SIZE, not 'x'" },
		{ "unbalanced=nan", FAULT_GATEWAY,
		        "the fault 'unbalanced' takes RATIO, not 'nan'" },
		{ "unbalanced=2", FAULT_GATEWAY,
		        "the fault 'unbalanced' must be between 0.01 and 1" },
		{ "stall=1s", FAULT_ENCODER, "the fault 'stall' takes EVERY,FOR, not '1s'" },
		{ "stall=1s,1s", FAULT_ENCODER,
		        "the fault 'stall' needs a pause of 1 ms at least, and as much between "
		        "two of them" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct faults f;
		struct err err = { 0 };
		bool ok = parse(cases[i].given, cases[i].place, &f, &err);
		if (!CHECK(!ok && err.kind == ERR_USAGE && strcmp(err.text, cases[i].text) == 0))
			printf("#   '%s': %s\n", cases[i].given, ok ? "taken" : err.text);
	}
}

/* A value inside the limits of each row is taken, and changes something. */
static void every_row_can_be_given(void)
{
	static const struct faults good;
	size_t n;
	const struct fault *rows = faults_table(&n);
	for (size_t i = 0; i < n; i++) {
		static const char *const values[] = {
			[FAULT_COUNT] = "=3",
			[FAULT_US] = "=3ms",
			[FAULT_NS] = "=3ms",
			[FAULT_SIZE] = "=3KiB",
			[FAULT_RATIO] = "=0.3",
			[FAULT_CHOICE] = "=plain",
			[FAULT_FLAG] = "",
			[FAULT_STALL] = "=1s,3ms",
		};
		char text[64];
		struct faults f;
		struct err err = { 0 };
		snprintf(text, sizeof(text), "%s%s", rows[i].name, values[rows[i].kind]);
		for (unsigned place = 1; place < FAULT_ANYWHERE; place *= 2) {
			bool ok = parse(text, (enum fault_place)place, &f, &err);
			bool fits = (rows[i].places & place) != 0;
			if (!CHECK(ok == fits && (!ok || memcmp(&f, &good, sizeof(f)) != 0)))
				printf("#   '%s': %s\n", text, err.text);
		}
	}
}

static void names_are_told_apart(void)
{
	size_t n;
	const struct fault *rows = faults_table(&n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(rows[i].name, rows[k].name) != 0);
}

int main(void)
{
	TAP_RUN(nothing_given_is_a_good_service);
	TAP_RUN(each_kind_of_value_arrives_in_its_field);
	TAP_RUN(a_fault_without_its_value_takes_the_one_of_its_row);
	TAP_RUN(of_a_fault_given_twice_the_last_counts);
	TAP_RUN(what_cannot_be_is_refused_with_its_name);
	TAP_RUN(every_row_can_be_given);
	TAP_RUN(names_are_told_apart);
	return tap_done();
}
