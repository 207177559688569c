/* The limits of the client's own machine, as files and ports say them. */
#include "load/own_limits.h"

#include "base/clock.h"
#include "tap.h"

#include <errno.h>

static void the_range_of_ports_is_read_and_nothing_else(void)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t first, last;
	} cases[] = {
		{ "32768\t60999\n", true, 32768, 60999 },
		{ "  1024 65535 ", true, 1024, 65535 },
		{ "5 5", true, 5, 5 },
		{ "", false, 0, 0 },
		{ "32768", false, 0, 0 },
		{ "60999 32768", false, 0, 0 },
		{ "0 10", false, 0, 0 },
		{ "1 65536", false, 0, 0 },
		{ "a b", false, 0, 0 },
		{ "1 2 3", false, 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t first = 0, last = 0;
		bool ok = own_limits_parse_ports(str_of(cases[i].text), &first, &last);
		if (!CHECK(ok == cases[i].ok && first == cases[i].first && last == cases[i].last))
			printf("#   '%s'\n", cases[i].text);
	}
}

static void a_run_that_must_hit_a_limit_is_refused_with_a_hint(void)
{
	const int64_t s = NS_PER_S;
	static const struct own_limits roomy = { 100000, 32768, 60999, true };
	static const struct {
		struct own_limits limits;
		struct load_shape shape;
		int n_targets;
		bool ok;
	} cases[] = {
		{ { 1024, 0, 0, false }, { .concurrency = 500 }, 1, true },
		{ { 1024, 0, 0, false }, { .concurrency = 1024 }, 1, false },
		{ { 1024, 0, 0, false }, { .rate_per_s = 1, .max_in_flight = 2000 }, 1, false },
		{ { 1024, 0, 0, false }, { .rate_per_s = 1 }, 1, true },
		{ { INT64_MAX, 0, 0, false }, { .concurrency = 60000 }, 1, true },
		{ { 100000, 50000, 50009, true }, { .concurrency = 10 }, 1, true },
		{ { 100000, 50000, 50009, true }, { .concurrency = 11 }, 1, false },
		{ { 100000, 50000, 50009, true }, { .rate_per_s = 9, .max_in_flight = 11 }, 1,
		        false },
		{ { 1024, 0, 0, false }, { .concurrency = 500 }, 2, false },
		{ { 100000, 50000, 50009, true }, { .concurrency = 10 }, 2, true },
	};
	/* 28232 ports: 470.5 new connections a second for the minute that a closed one rests. */
	static const struct {
		double rate;
		int64_t duration_s;
		bool rests, ok;
	} fresh[] = {
		{ 470, 600, true, true },
		{ 471, 600, true, false },
		{ 471, 600, false, true },
		{ 941, 30, true, true },
		{ 942, 30, true, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		bool ok = own_limits_allow(
		        &cases[i].limits, &cases[i].shape, cases[i].n_targets, &err);
		if (!CHECK(ok == cases[i].ok && (ok || (err.kind == ERR_SYSTEM && err.hint[0]))))
			printf("#   case %zu\n", i);
	}
	for (size_t i = 0; i < ARRAY_LEN(fresh); i++) {
		struct own_limits limits = roomy;
		struct load_shape shape = { .rate_per_s = fresh[i].rate,
			.duration_ns = fresh[i].duration_s * s,
			.new_connections = true };
		struct err err = { 0 };
		limits.ports_rest = fresh[i].rests;
		if (!CHECK(own_limits_allow(&limits, &shape, 1, &err) == fresh[i].ok))
			printf("#   rate %g\n", fresh[i].rate);
	}
}

static void only_the_clients_own_limits_are_explained_as_such(void)
{
	static const int own[] = { EMFILE, ENFILE, EADDRNOTAVAIL, ENOBUFS, ENOMEM };
	static const int others[] = { 0, ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ECONNRESET };
	char text[320];
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		CHECK(own_limits_explain(own[i], text, sizeof(text)) && text[0]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		CHECK(!own_limits_explain(others[i], text, sizeof(text)));
}

int main(void)
{
	TAP_RUN(the_range_of_ports_is_read_and_nothing_else);
	TAP_RUN(a_run_that_must_hit_a_limit_is_refused_with_a_hint);
	TAP_RUN(only_the_clients_own_limits_are_explained_as_such);
	return tap_done();
}
