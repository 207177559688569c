/*
 * hot.c - a program that spends known shares of its CPU time in known places:
 *
 *	hot split    two functions, about 3 to 1
 *	hot jit      code that it writes itself, with its map in /tmp
 *
 * It writes "ready" and waits for a line, runs for 1.5 s of CPU time, writes what each of the
 * two took in ns by its own clock, waits for another line, and ends.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { N_TURNS = 100000 };

static NOINLINE uint64_t heavy_function(uint64_t n)
{
	uint64_t x = n;
	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(x));
	return x;
}

static NOINLINE uint64_t light_function(uint64_t n)
{
	uint64_t x = n;
	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* A result that nobody takes makes compilers change the function, and its name. */
static volatile uint64_t sink;

static int64_t cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* A loop that counts its argument down. */
static uint64_t (*write_loop(void))(uint64_t)
{
#if defined(__x86_64__)
	static const uint8_t code[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
	static const uint32_t code[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#else
	static const uint8_t code[1];
	return NULL;
#endif
	char name[64];
	void *page = mmap(
	        NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache((char *)page, (char *)page + sizeof(code));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(name, "we");
	if (!f)
		return NULL;
	fprintf(f, "%llx %zx the loop of the test\n", (unsigned long long)(uintptr_t)page,
	        sizeof(code));
	fclose(f);
	uint64_t (*loop)(uint64_t);
	memcpy(&loop, &page, sizeof(loop));
	return loop;
}

static bool wait_for_line(void)
{
	char line[16];
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) != NULL;
}

int main(int argc, char **argv)
{
	uint64_t (*heavy)(uint64_t) = heavy_function, random = 1;
	if (argc > 1 && strcmp(argv[1], "jit") == 0)
		heavy = write_loop();
	puts(heavy ? "ready" : "cannot");
	if (!wait_for_line() || !heavy)
		return 1;
	int64_t begin = cpu_ns(), before = begin, heavy_ns = 0, light_ns = 0;
	while (before - begin < 1500000000) {
		/* Turns of one length could keep step with who samples them (the factors: Knuth's).
		 */
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint64_t n = N_TURNS / 2 + (random >> 32) % N_TURNS;
		sink = heavy(3 * n);
		int64_t middle = cpu_ns();
		sink = light_function(n);
		int64_t after = cpu_ns();
		heavy_ns += middle - before;
		light_ns += after - middle;
		before = after;
	}
	printf("%lld %lld\n", (long long)heavy_ns, (long long)light_ns);
	return wait_for_line() ? 0 : 1;
}
