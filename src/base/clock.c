#include "base/clock.h"

#include <errno.h>

void clock_sleep_until(int64_t deadline_ns)
{
	struct timespec ts = clock_to_timespec(deadline_ns);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}
