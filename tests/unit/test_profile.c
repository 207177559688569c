#include "tap.h"

#include "base/clock.h"
#include "watch/perf/perf_ring.h"
#include "watch/perf/profile_maps.h"
#include "watch/perf/profile_names.h"
#include "watch/sampler.h"
#include "watch/sources.h"

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t seen[16];
static size_t n_seen;

static void on_record(void *ctx, const struct perf_record *r)
{
	(void)ctx;
	if (n_seen < 16) {
		seen[n_seen] = r->type;
		memcpy(&seen[n_seen], r->body, r->n < 8 ? r->n : 8);
		n_seen++;
	}
}

static size_t put(uint8_t *ring, size_t size, size_t at, uint16_t n, uint64_t value)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = n };
	uint8_t record[128] = { 0 };
	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), &value, sizeof(value));
	size_t n_written = n < 16 ? 16 : n;
	for (size_t i = 0; i < n_written; i++)
		ring[(at + i) % size] = record[i];
	return at + n;
}

static void records_are_read_over_the_end_of_their_ring(void)
{
	uint8_t ring[128] = { 0 };
	size_t from = 1280 + 96, to = from; /* any round */
	for (uint64_t i = 1; i <= 4; i++)
		to = put(ring, sizeof(ring), to, 24, i * 11);
	n_seen = 0;
	CHECK(perf_records_each(ring, sizeof(ring), from, to, on_record, NULL));
	CHECK_INT(n_seen, 4);
	for (size_t i = 0; i < n_seen; i++)
		CHECK_INT(seen[i], 11 * (i + 1));
	/* No record is shorter than its header, longer than what was written, or half there. */
	n_seen = 0;
	put(ring, sizeof(ring), from + 24, 4, 0);
	CHECK(!perf_records_each(ring, sizeof(ring), from, to, on_record, NULL));
	CHECK_INT(n_seen, 1);
	put(ring, sizeof(ring), from, 104, 0);
	CHECK(!perf_records_each(ring, sizeof(ring), from, to, on_record, NULL));
	CHECK(!perf_records_each(ring, sizeof(ring), from, from + 129, on_record, NULL));
}

static void code_is_found_in_the_lines_of_maps(void)
{
	static const struct {
		const char *line, *path;
		uint64_t from, offset;
		bool ok;
	} cases[] = {
		{ "55d0c0a01000-55d0c0a05000 r-xp 00001000 fe:00 1234    /usr/bin/a b (deleted)\n",
		        "/usr/bin/a b (deleted)", 0x55d0c0a01000, 0x1000, true },
		{ "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n", "", 0x7f0000000000, 0,
		        true },
		{ "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]",
		        "[vsyscall]", 0xffffffffff600000, 0, true },
		{ "55d0c0a01000-55d0c0a05000 r--p 00001000 fe:00 1234 /usr/bin/a", "", 0, 0,
		        false },
		{ "55d0c0a05000-55d0c0a01000 r-xp 00001000 fe:00 1234 /usr/bin/a", "", 0, 0,
		        false },
		{ "55d0c0a01000 r-xp 00001000 fe:00 1234 /usr/bin/a", "", 0, 0, false },
		{ "55d0c0a01000-55d0c0a05000 r-xp 000", "", 0, 0, false },
		{ "zz-zz r-xp 0 0 0", "", 0, 0, false },
		{ "", "", 0, 0, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile_map map;
		struct str path;
		bool ok = profile_maps_line(str_of(cases[i].line), &map, &path);
		if (!CHECK(ok == cases[i].ok))
			printf("#   %s\n", cases[i].line);
		if (!ok || !cases[i].ok)
			continue;
		CHECK(str_eq(path, str_of(cases[i].path)));
		CHECK(map.from == cases[i].from && map.offset == cases[i].offset);
	}
	struct profile_maps maps = { 0 };
	CHECK(profile_maps_read(&maps, getpid()));
	const struct profile_map *here =
	        profile_maps_find(&maps, (uint64_t)(uintptr_t)&code_is_found_in_the_lines_of_maps);
	CHECK(here && strstr(profile_maps_path(&maps, here), "test_profile"));
	CHECK(!profile_maps_find(&maps, 0) && !profile_maps_find(&maps, UINT64_MAX));
	profile_maps_release(&maps);
}

static void an_address_gets_the_name_of_what_it_lies_in(void)
{
	struct named wanted[] = { { .address = 0x40 }, { .address = 0x10 }, { .address = 0x25 },
		{ .address = 0x31 }, { .address = 0x5 } };
	struct names set = { wanted, 5 };
	names_sort(&set);
	names_offer(&set, 0x30, 0, NAME_START, STR("no_size"), false);
	names_offer(&set, 0x10, 0x10, NAME_SIZED, STR("sized"), false);
	names_offer(&set, 0x10, 0x10, NAME_SIZED, STR("alias"), false);
	names_offer(&set, 0x20, 0x8, NAME_FUNCTION, STR(""), false);
	names_offer(&set, 0x30, 0x8, NAME_FUNCTION, STR(""), false);
	names_offer(&set, 0x38, 0x8, NAME_SIZED, STR("before"), false);
	names_finish(&set);
	CHECK_INT(wanted[0].rank, NAME_NONE); /* 0x5: nothing */
	CHECK_STR(wanted[1].name, "sized");
	CHECK_INT(wanted[2].rank, NAME_FUNCTION); /* 0x25 */
	CHECK_INT(wanted[2].from, 0x20);
	CHECK_STR(wanted[3].name, "no_size"); /* 0x31: begins where the function does */
	CHECK_STR(wanted[4].name, "no_size"); /* 0x40: the one before it has ended */
	/* Code that is written later lies over what was there. */
	names_sort(&set);
	names_offer(&set, 0x20, 0x20, NAME_SIZED, STR("old"), true);
	names_offer(&set, 0x0, 0x30, NAME_SIZED, STR("new"), true);
	CHECK_STR(wanted[2].name, "new");
	CHECK_STR(wanted[3].name, "old");
}

static void lines_of_symbols_are_understood(void)
{
	uint64_t from, size;
	struct str name;
	CHECK(names_jit_line(STR("7f00aa10 1c LazyCompile:*f /a.js:1\n"), &from, &size, &name));
	CHECK(from == 0x7f00aa10 && size == 0x1c && str_eq(name, STR("LazyCompile:*f /a.js:1")));
	CHECK(names_jit_line(STR("0x10 0x20 py::f"), &from, &size, &name) && size == 0x20);
	CHECK(!names_jit_line(STR("10 0 f"), &from, &size, &name));
	CHECK(!names_jit_line(STR("10 20"), &from, &size, &name));
	CHECK(!names_jit_line(STR("ffffffffffffffff 20 f"), &from, &size, &name));
	CHECK(!names_jit_line(STR("-10 20 f"), &from, &size, &name));
	CHECK(!names_jit_line(STR("11112222333344445555 20 f g"), &from, &size, &name) ||
	        from == UINT64_MAX);
	CHECK(names_kernel_line(STR("ffffffff81000000 T _stext"), &from, &name));
	CHECK(str_eq(name, STR("_stext")));
	CHECK(names_kernel_line(STR("ffffffffc0000000 t f\t[mod]"), &from, &name));
	CHECK(!names_kernel_line(STR("ffffffff81000000 D data"), &from, &name));
	CHECK(!names_kernel_line(STR("0000000000000000 T hidden"), &from, &name));
}

/* hot.c as a child. */
struct hot {
	int pid;
	FILE *to, *from;
	double heavy_s, light_s;
};

static const char *beside(const char *name)
{
	static char path[4096];
	char self[2048] = "";
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		abort();
	snprintf(path, sizeof(path), "%s/%s", dirname(self), name);
	return path;
}

static bool hot_start(struct hot *h, const char *program, const char *mode)
{
	int to[2], from[2];
	char line[64];
	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
		abort();
	*h = (struct hot){ .pid = fork() };
	if (h->pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(program, program, mode, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	h->to = fdopen(to[1], "w");
	h->from = fdopen(from[0], "r");
	return fgets(line, sizeof(line), h->from) && strcmp(line, "ready\n") == 0;
}

static bool hot_run(struct hot *h)
{
	char line[64];
	long long heavy_ns, light_ns;
	fputs("go\n", h->to);
	fflush(h->to);
	if (!fgets(line, sizeof(line), h->from) ||
	        sscanf(line, "%lld %lld", &heavy_ns, &light_ns) != 2)
		return false;
	h->heavy_s = (double)heavy_ns / 1e9;
	h->light_s = (double)light_ns / 1e9;
	return true;
}

static void hot_end(struct hot *h)
{
	char name[64];
	fclose(h->to);
	fclose(h->from);
	waitpid(h->pid, NULL, 0);
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", h->pid);
	unlink(name);
}

struct watch {
	struct arena run;
	struct watch_config config;
	struct sampler *sampler;
	struct signal_system got;
};

static const struct watch_source *const profile_only[] = { &profile_source };

static bool watch_open(struct watch *w, const int *pid)
{
	struct err err;
	*w = (struct watch){ 0 };
	w->config = (struct watch_config){
		.root = "",
		.pids = pid,
		.n_pids = 1,
		.interval_ns = 100 * NS_PER_MS,
		.profile = true,
		.sources = profile_only,
		.n_sources = 1,
	};
	if (!sampler_open(&w->config, &w->run, &w->sampler, &err) ||
	        !sampler_start(w->sampler, &err))
		return false;
	sampler_begins(w->sampler);
	sampler_report(w->sampler, INT64_MIN, &w->run, &w->got);
	return true;
}

static void watch_end(struct watch *w)
{
	sampler_ends(w->sampler);
	sampler_report(w->sampler, INT64_MIN, &w->run, &w->got);
}

static void watch_close(struct watch *w)
{
	sampler_close(w->sampler);
	arena_release(&w->run);
}

static const struct signal *find(const struct watch *w, const char *name)
{
	for (size_t i = 0; i < w->got.n_signals; i++)
		if (strcmp(w->got.signals[i].name, name) == 0)
			return &w->got.signals[i];
	return NULL;
}

static bool can_sample(const struct watch *w)
{
	const struct signal *s = find(w, "profile_cpu_ratio");
	if (s && s->state != SIGNAL_NOT_SUPPORTED)
		return true;
	static char why[512];
	snprintf(why, sizeof(why), "%s", s && s->reason ? s->reason : "no such signal");
	tap_skip(why);
	return false;
}

static int64_t n_of(const struct watch *w, const char *symbol)
{
	for (size_t i = 0; i < w->got.n_symbols; i++)
		if (strcmp(w->got.symbols[i].symbol, symbol) == 0)
			return w->got.symbols[i].n;
	return 0;
}

static int64_t n_all(const struct watch *w)
{
	int64_t n = 0;
	for (size_t i = 0; i < w->got.n_symbols; i++)
		n += w->got.symbols[i].n;
	return n;
}

static void print_symbols(const struct watch *w)
{
	for (size_t i = 0; i < w->got.n_symbols; i++)
		printf("#   %5lld %.3f %s %s %s\n", (long long)w->got.symbols[i].n,
		        w->got.symbols[i].ratio, w->got.symbols[i].symbol, w->got.symbols[i].module,
		        w->got.symbols[i].build_id ? w->got.symbols[i].build_id : "-");
}

/*
 * Samples of the two functions share as their times do, within the binomial interval that 9999 of
 * 10000 lie in: there are several such checks in each run. Hardly any time goes elsewhere.
 */
static void check_shares(const struct watch *w, const struct hot *h, int64_t heavy, int64_t light)
{
	double n = (double)(heavy + light), p = h->heavy_s / (h->heavy_s + h->light_s);
	bool ok = CHECK(n >= 0.9 * (double)n_all(w)) &&
	          CHECK_NEAR((double)heavy / n, p, 3.891 * sqrt(p * (1 - p) / n));
	if (!ok)
		print_symbols(w);
}

/* What the program took of its own time, and what the samples stand for. */
static void check_all_was_sampled(const struct watch *w, const struct hot *h)
{
	const struct signal *s = find(w, "profile_cpu_ratio");
	double took_s = h->heavy_s + h->light_s;
	CHECK_NEAR(s->delta, took_s, 0.02 * took_s + 0.0202);
	CHECK_NEAR(find(w, "profile_lost_per_s")->delta, 0, 0);
}

static void shares_of_functions_are_those_that_the_program_measured(void)
{
	struct hot h;
	struct watch w;
	CHECK(hot_start(&h, beside("hot"), "split"));
	CHECK(watch_open(&w, &h.pid));
	CHECK(hot_run(&h));
	watch_end(&w);
	if (can_sample(&w)) {
		check_shares(&w, &h, n_of(&w, "heavy_function"), n_of(&w, "light_function"));
		check_all_was_sampled(&w, &h);
		CHECK_STR(w.got.symbols[0].module, "hot");
	}
	watch_close(&w);
	hot_end(&h);
}

/* Its functions have no names, but a place in the file. */
static void functions_of_a_stripped_program_are_told_apart(void)
{
	struct hot h;
	struct watch w;
	CHECK(hot_start(&h, beside("hot_stripped"), "split"));
	CHECK(watch_open(&w, &h.pid));
	CHECK(hot_run(&h));
	watch_end(&w);
	if (can_sample(&w) && CHECK(w.got.n_symbols >= 2)) {
		const struct signal_symbol *s = w.got.symbols;
		check_shares(&w, &h, s[0].n, s[1].n);
		CHECK(strncmp(s[0].symbol, "[unknown+0x", 11) == 0);
		CHECK(strncmp(s[1].symbol, "[unknown+0x", 11) == 0);
		CHECK_STR(s[0].module, "hot_stripped");
	}
	watch_close(&w);
	hot_end(&h);
}

static void code_that_a_program_wrote_has_the_name_of_its_map(void)
{
	struct hot h;
	struct watch w;
	if (!hot_start(&h, beside("hot"), "jit")) {
		tap_skip("this machine lets no program write code");
		hot_end(&h);
		return;
	}
	CHECK(watch_open(&w, &h.pid));
	CHECK(hot_run(&h));
	watch_end(&w);
	if (can_sample(&w)) {
		check_shares(&w, &h, n_of(&w, "the loop of the test"), n_of(&w, "light_function"));
	}
	watch_close(&w);
	hot_end(&h);
}

static bool copy_file(const char *from, const char *to)
{
	char buf[65536];
	AUTO(auto_file) FILE *in = fopen(from, "re");
	FILE *out = fopen(to, "we");
	size_t n;
	while (in && out && (n = fread(buf, 1, sizeof(buf), in)) > 0)
		if (fwrite(buf, 1, n, out) != n)
			return false;
	return out && fclose(out) == 0 && chmod(to, 0700) == 0;
}

static void a_program_that_was_deleted_and_has_ended_still_has_names(void)
{
	struct hot h;
	struct watch w;
	char path[] = "/tmp/venturi-test-XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0 && close(fd) == 0 && copy_file(beside("hot"), path));
	bool ok = hot_start(&h, path, "split");
	unlink(path);
	if (!ok) {
		tap_skip("no program can be started from /tmp");
		hot_end(&h);
		return;
	}
	CHECK(watch_open(&w, &h.pid));
	CHECK(hot_run(&h));
	hot_end(&h);
	watch_end(&w);
	if (can_sample(&w)) {
		/* It takes rights over the machine to get at a file without a name. */
		if (geteuid() == 0)
			check_shares(
			        &w, &h, n_of(&w, "heavy_function"), n_of(&w, "light_function"));
		const struct signal *s = find(&w, "profile_cpu_ratio");
		CHECK(s->reason && strstr(s->reason, "has ended"));
	}
	watch_close(&w);
}

static void without_being_asked_nothing_is_sampled(void)
{
	struct arena run = { 0 };
	int pid = getpid();
	struct watch_config config = { .root = "",
		.pids = &pid,
		.n_pids = 1,
		.interval_ns = NS_PER_S,
		.sources = profile_only,
		.n_sources = 1 };
	struct watch w = { 0 };
	struct err err;
	CHECK(sampler_open(&config, &run, &w.sampler, &err));
	sampler_step(w.sampler, NS_PER_S);
	sampler_report(w.sampler, INT64_MIN, &run, &w.got);
	CHECK_INT(find(&w, "profile_cpu_ratio")->state, SIGNAL_NOT_COUNTED);
	CHECK_INT(w.got.n_symbols, 0);
	sampler_close(w.sampler);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(records_are_read_over_the_end_of_their_ring);
	TAP_RUN(code_is_found_in_the_lines_of_maps);
	TAP_RUN(an_address_gets_the_name_of_what_it_lies_in);
	TAP_RUN(lines_of_symbols_are_understood);
	TAP_RUN(without_being_asked_nothing_is_sampled);
	TAP_RUN(shares_of_functions_are_those_that_the_program_measured);
	TAP_RUN(functions_of_a_stripped_program_are_told_apart);
	TAP_RUN(code_that_a_program_wrote_has_the_name_of_its_map);
	TAP_RUN(a_program_that_was_deleted_and_has_ended_still_has_names);
	return tap_done();
}
