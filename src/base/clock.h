/*
 * clock.h - time as int64_t nanoseconds on the monotonic clock.
 */
#ifndef VENTURI_BASE_CLOCK_H
#define VENTURI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

static inline int64_t clock_of_timespec(struct timespec ts)
{
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static inline struct timespec clock_to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

static inline int64_t clock_read_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return clock_of_timespec(ts);
}

/* Now on the monotonic clock, which all stamps of a run share. */
static inline int64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* CPU time that the calling thread has used. */
static inline int64_t clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Sleeps until a moment of the monotonic clock; returns at once when it has passed. */
void clock_sleep_until(int64_t deadline_ns);

#endif
