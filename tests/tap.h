/*
 * tap.h - unit tests that speak the Test Anything Protocol.
 *
 *	int main(void)
 *	{
 *		TAP_RUN(a_sentence_that_names_what_holds);
 *		return tap_done();
 *	}
 *
 * A test function fails by any failed CHECK; the line is printed as a diagnostic. tap_skip ends a
 * test that the machine cannot run, with its reason.
 */
#ifndef VENTURI_TESTS_TAP_H
#define VENTURI_TESTS_TAP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_n_run, tap_n_failed;
static bool tap_current_failed;
static const char *tap_skip_reason;

#define TAP_RUN(fn) tap_run(fn, #fn)

#define CHECK(condition)                                                                           \
	tap_check((condition), #condition, __FILE__, __LINE__)
/* |got - want| <= tolerance */
#define CHECK_NEAR(got, want, tolerance) tap_near(got, want, tolerance, #got, __FILE__, __LINE__)
#define CHECK_INT(got, want) tap_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) tap_str(got, want, #got, __FILE__, __LINE__)

static inline bool tap_check(bool ok, const char *what, const char *file, int line)
{
	if (!ok) {
		printf("# %s:%d: failed: %s\n", file, line, what);
		tap_current_failed = true;
	}
	return ok;
}

static inline bool tap_near(double got, double want, double tolerance, const char *what,
	const char *file, int line)
{
	bool ok = fabs(got - want) <= tolerance;
	if (!tap_check(ok, what, file, line))
		printf("#   got %.17g, want %.17g within %.3g\n", got, want, tolerance);
	return ok;
}

static inline bool tap_int(int64_t got, int64_t want, const char *what, const char *file, int line)
{
	if (!tap_check(got == want, what, file, line))
		printf("#   got %lld, want %lld\n", (long long)got, (long long)want);
	return got == want;
}

static inline bool tap_str(const char *got, const char *want, const char *what, const char *file,
	int line)
{
	bool ok = got && want && strcmp(got, want) == 0;
	if (!tap_check(ok, what, file, line))
		printf("#   got '%s', want '%s'\n", got ? got : "(null)", want ? want : "(null)");
	return ok;
}

static inline void tap_skip(const char *reason)
{
	tap_skip_reason = reason;
}

static inline void tap_run(void (*test)(void), const char *name)
{
	char sentence[256];
	snprintf(sentence, sizeof(sentence), "%s", name);
	for (char *p = sentence; *p; p++)
		if (*p == '_')
			*p = ' ';
	tap_current_failed = false;
	tap_skip_reason = NULL;
	test();
	tap_n_run++;
	tap_n_failed += tap_current_failed;
	printf("%sok %d - %s", tap_current_failed ? "not " : "", tap_n_run, sentence);
	printf(tap_skip_reason ? " # SKIP %s\n" : "\n", tap_skip_reason);
	fflush(stdout);
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_n_run);
	return tap_n_failed ? 1 : 0;
}

/*
 * Where the project's own test inputs are: $VENTURI_TEST_DATA, else tests/data.
 */
static inline const char *tap_data(const char *name)
{
	static char path[4096];
	const char *dir = getenv("VENTURI_TEST_DATA");
	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "tests/data", name);
	return path;
}

/*
 * A file of the data that is not ours and not committed: $VENTURI_SHARED/NAME, else
 * ../shared/NAME; NULL when it is not there, and then the test skips.
 */
static inline const char *tap_shared(const char *name)
{
	static char path[4096];
	const char *dir = getenv("VENTURI_SHARED");
	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "../shared", name);
	FILE *f = fopen(path, "re");
	if (f)
		fclose(f);
	return f ? path : NULL;
}

#endif
