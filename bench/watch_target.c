/*
 * watch_target.c - a process as services are: many threads, most of which sleep.
 *
 * watch_target SLEEPING WORKING   SLEEPING threads wake up once a second; WORKING ones need a fifth of
 *                                 a core's time in pieces of 2 ms. Prints its PID when all are there.
 */
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *sleep_on(void *arg)
{
	for (;;)
		sleep(1);
	return arg;
}

static void *work(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	for (int64_t next_ns = clock_now_ns();; next_ns += 10 * NS_PER_MS) {
		int64_t end_ns = clock_thread_cpu_ns() + 2 * NS_PER_MS;
		while (clock_thread_cpu_ns() < end_ns)
			;
		clock_sleep_until(next_ns);
	}
	return arg;
}

static void start(void *(*run)(void *), int n)
{
	pthread_t thread;
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	prctl(PR_SET_PDEATHSIG, 15);
	start(sleep_on, atoi(argv[1]));
	start(work, atoi(argv[2]));
	printf("%d\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}
