#include "tap.h"

#include "base/clock.h"
#include "watch/tape/replay.h"
#include "watch/sampler.h"
#include "watch/tape/tape.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const int64_t start_ns = 1000 * NS_PER_S;

static const struct watch_row rows[] = {
	{ .name = "a_gauge", .unit = "bytes", .kind = WATCH_GAUGE, .from = "here" },
	{ .name = "a_rate", .unit = "ratio", .kind = WATCH_RATE, .scale = 1e-9, .from = "there" },
	{ .name = "a_narrow", .unit = "1/s", .kind = WATCH_RATE, .bits = 32, .from = "there" },
	{ .name = "words", .unit = "1", .kind = WATCH_TEXT, .from = "\"quoted\"\n" },
	{ .name = "a_share", .unit = "ratio", .kind = WATCH_SHARE, .from = "both" },
	{ .name = "absent", .unit = "1", .kind = WATCH_GAUGE, .from = "nowhere" },
	{ .name = "a_bounded", .unit = "1/s", .kind = WATCH_RATE, .most = 9.5, .from = "there" },
};

/* A source whose every sample says something else. */
struct speaker {
	struct board *board;
	int i;
};

static bool speaker_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	struct speaker *s = arena_new(run, struct speaker);
	(void)config, (void)err;
	s->board = board;
	board_absent(board, &rows[5], 1, SIGNAL_NOT_SUPPORTED, "not \\here\x01");
	*ret_self = s;
	return true;
}

static void speaker_sample(void *self, int64_t now_ns)
{
	struct speaker *s = self;
	struct board *b = s->board;
	int i = s->i++;
	(void)now_ns;
	channel_value(board_channel(b, &rows[0], i % 5 ? "x" : "y\"\\"), 4096 * (i / 3 % 7) + 0.25);
	if (i > 20)
		channel_value(board_channel(b, &rows[0], "late"), 1);
	struct channel *rate = board_channel(b, &rows[1], NULL);
	if (i == 50)
		channel_forget(rate);
	channel_total(rate,
	        i < 50 ? UINT64_C(18000000000000000000) + (uint64_t)i * 30000000 : (uint64_t)i);
	channel_total(board_channel(b, &rows[2], NULL), ((uint64_t)i * 70000000) & 0xffffffff);
	channel_total(board_channel(b, &rows[6], NULL), (uint64_t)i);
	channel_text(board_channel(b, &rows[3], NULL), i % 9 < 5 ? STR("S \"é\"") : STR("R\t"));
	channel_share(board_channel(b, &rows[4], NULL), (uint64_t)i, (uint64_t)i * 2);
	if (i % 17 == 16)
		channel_absent(board_channel(b, &rows[4], NULL), SIGNAL_NOT_COUNTED, "gone");
	if (i == 30)
		channel_estimated(rate, "assumed");
}

static void speaker_report(const void *self, struct arena *run, struct signal_system *to)
{
	const struct speaker *s = self;
	to->threads = arena_new_n(run, struct signal_thread, 2);
	to->threads[0] = (struct signal_thread){ .pid = 1,
		.tid = 2,
		.name = "worker",
		.cpu_ratio = s->i / 100.0,
		.cpu_ratio_max = 1,
		.run_queue_ratio = NAN,
		.voluntary_per_s = 3,
		.involuntary_per_s = 4,
		.cpus = "0-3",
		.state = 'R',
		.n = s->i };
	to->threads[1] = (struct signal_thread){ .pid = 1, .tid = 3, .n = s->i };
	to->n_threads = to->n_threads_seen = 2;
	to->symbols = arena_new_n(run, struct signal_symbol, 1);
	to->symbols[0] = (struct signal_symbol){
		.pid = 1, .symbol = "f(<T>)", .module = "m.so", .n = s->i, .ratio = 0.5
	};
	to->n_symbols = 1;
}

static const struct watch_source speaker = { .name = "speaker",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.open = speaker_open,
	.sample = speaker_sample,
	.report = speaker_report };
static const struct watch_source *const speakers[] = { &speaker };

/* Moments that are not evenly spaced. */
static int64_t moment(int i)
{
	return start_ns + i * 100 * NS_PER_MS + i * i % 7 * NS_PER_MS;
}

static const char *temp_path(const char *suffix)
{
	static char path[256];
	const char *folder = getenv("TMPDIR");
	snprintf(path, sizeof(path), "%s/venturi-tape-%ld%s", folder ? folder : "/tmp",
	        (long)getpid(), suffix);
	return path;
}

static const char *const pages[] = { "http://x/metrics" };
static const char page_text[] = "# TYPE vllm:num_requests_running gauge\n"
                                "vllm:num_requests_running{model_name=\"m\"} %d\n"
                                "vllm:num_requests_waiting 2\n"
                                "vllm:generation_tokens_total %d\n"
                                "python_gc_objects_collected_total 3\n";

static void look(struct tape *t, int i)
{
	char text[512];
	snprintf(text, sizeof(text), page_text, 3 + i % 2, i * 10);
	if (i == 40)
		tape_look(t, 0, moment(i) + 1, (struct str){ 0 }, "no answer");
	else
		tape_look(t, 0, moment(i) + 1, str_of(text), NULL);
}

enum { N_SAMPLES = 700 };

/* Records n samples; what the sampler reports at the end is the truth. */
static void record(const char *path, int n, struct arena *run, struct signal_system *truth,
        struct watch_record_info *info)
{
	static struct watch_process processes[] = { { .pid = 1, .name = "one", .ended_s = NAN },
		{ .pid = 2, .ended_s = NAN } };
	struct fingerprint fp = { 0 };
	struct watch_config config = {
		.root = "", .interval_ns = 100 * NS_PER_MS, .sources = speakers, .n_sources = 1
	};
	const struct tape_head head = { .started_at = "2026-01-02T03:04:05Z",
		.start_ns = start_ns,
		.interval_ns = config.interval_ns,
		.fingerprint = &fp,
		.processes = processes,
		.n_processes = 2,
		.pages = pages,
		.n_pages = 1 };
	struct sampler *s;
	struct tape *t;
	struct err err;
	CHECK(fingerprint_set(&fp, run, "host.cpu", "a CPU \"of ours\""));
	CHECK(sampler_open(&config, run, &s, &err));
	CHECK(tape_open(path, &head, run, &t, &err));
	sampler_on_sample(s, tape_sample, t);
	for (int i = 0; i < n; i++) {
		sampler_step(s, moment(i));
		if (i % 10 == 0) {
			struct signal_system now;
			look(t, i);
			sampler_report(s, INT64_MIN, run, &now);
			tape_system(t, moment(i), &now);
		}
		if (i == 60)
			tape_process_ended(t, 1, moment(i));
	}
	sampler_report(s, INT64_MIN, run, truth);
	tape_system(t, moment(n), truth);
	tape_close(t, info);
	sampler_close(s);
}

static bool same_number(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-10 * fabs(a);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Characters that were no text have become U+FFFD, or stayed. */
static void check_same(const struct signal_system *x, const struct signal_system *y)
{
	CHECK_INT(y->n_signals, x->n_signals);
	CHECK_INT(y->n_samples, x->n_samples);
	CHECK(same_number(x->from_s, y->from_s) && same_number(x->to_s, y->to_s));
	for (size_t i = 0; i < x->n_signals && i < y->n_signals; i++) {
		const struct signal *s = &x->signals[i], *t = &y->signals[i];
		CHECK_STR(t->name, s->name);
		CHECK(same_text(t->instance, s->instance));
		bool same = same_text(s->unit, t->unit) && same_text(s->source, t->source) &&
		            same_text(s->reason, t->reason) && same_text(s->text, t->text) &&
		            s->state == t->state && s->n == t->n && s->n_series == t->n_series &&
		            s->n_recent == t->n_recent && same_number(s->mean, t->mean) &&
		            same_number(s->min, t->min) && same_number(s->p50, t->p50) &&
		            same_number(s->p95, t->p95) && same_number(s->max, t->max) &&
		            same_number(s->delta, t->delta) && same_number(s->last, t->last) &&
		            same_number(s->total, t->total);
		if (!CHECK(same))
			printf("# %s %s: n %lld %lld, mean %.17g %.17g, reason %s | %s\n", s->name,
			        s->instance ? s->instance : "", (long long)s->n, (long long)t->n,
			        s->mean, t->mean, s->reason, t->reason);
	}
}

/* Plays a file to its end. */
static enum replay_result play(const char *path, struct arena *run, struct replay **ret_replay,
        struct sampler **ret_sampler, struct err *err)
{
	enum replay_result result;
	int64_t at_ns;
	if (!replay_open(path, run, ret_replay, err))
		return REPLAY_DAMAGED;
	const struct watch_config config = replay_config(*ret_replay);
	struct err ignored;
	result = replay_next(*ret_replay, &at_ns, err);
	CHECK(sampler_open(&config, run, ret_sampler, &ignored));
	for (; result == REPLAY_SAMPLE; result = replay_next(*ret_replay, &at_ns, err))
		sampler_step(*ret_sampler, at_ns);
	return result;
}

static void check_rest(struct replay *r, const struct signal_system *got, struct arena *run)
{
	struct signal_page *page;
	struct watch_process *processes;
	CHECK_STR(fingerprint_get(replay_head(r)->fingerprint, "host.cpu"), "a CPU \"of ours\"");
	CHECK_INT(replay_pages(r, start_ns, run, &page), 1);
	CHECK_INT(page->n_read, N_SAMPLES / 10 - 1);
	CHECK_INT(page->n_failed, 1);
	CHECK(strstr(page->reason, "no answer") != NULL);
	CHECK_STR(page->software, "vllm");
	const struct signal *running = signal_find(page, "server_requests_running");
	CHECK(running && running->max == 3 && running->n == N_SAMPLES / 10 - 1);
	const struct signal *tokens = signal_find(page, "server_generation_tokens_per_s");
	CHECK(tokens && tokens->delta == 10 * (N_SAMPLES - 10));
	CHECK_INT(replay_processes(r, run, &processes), 2);
	CHECK(isnan(processes[0].ended_s));
	CHECK_NEAR(processes[1].ended_s, (double)(moment(60) - moment(0)) / 1e9, 1e-9);
	CHECK_INT(got->n_threads, 2);
	CHECK_STR(got->threads[0].name, "worker");
	CHECK_NEAR(got->threads[0].cpu_ratio, 7, 1e-9);
	CHECK(got->threads[0].state == 'R' && isnan(got->threads[0].run_queue_ratio));
	CHECK(!got->threads[1].name && got->threads[1].state == '\0');
	CHECK_STR(got->symbols[0].symbol, "f(<T>)");
}

static void what_is_replayed_is_what_was_seen_plain_and_compressed(void)
{
	static const char *const suffixes[] = { ".jsonl", ".jsonl.gz" };
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		struct arena run = { 0 };
		struct signal_system truth, got;
		struct watch_record_info info;
		struct replay *r;
		struct sampler *s;
		struct err err;
		const char *path = temp_path(suffixes[i]);
		record(path, N_SAMPLES, &run, &truth, &info);
		CHECK_INT(info.n_samples, N_SAMPLES);
		CHECK_INT(info.n_dropped + info.failed, 0);
		CHECK(play(path, &run, &r, &s, &err) == REPLAY_END);
		CHECK(!replay_is_cut(r));
		sampler_report(s, INT64_MIN, &run, &got);
		check_same(&truth, &got);
		check_rest(r, &got, &run);
		sampler_close(s);
		replay_close(r);
		unlink(path);
		arena_release(&run);
	}
}

/* Cut anywhere, the file gives what its whole lines say. */
static void a_file_that_was_cut_is_read_to_its_last_whole_line(void)
{
	static const char *const suffixes[] = { ".jsonl", ".jsonl.gz" };
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		struct arena run = { 0 };
		struct signal_system truth, got;
		struct watch_record_info info;
		struct replay *r;
		struct sampler *s;
		struct err err;
		const char *path = temp_path(suffixes[i]);
		record(path, 100, &run, &truth, &info);
		FILE *f = fopen(path, "re");
		fseek(f, 0, SEEK_END);
		long size = ftell(f);
		fclose(f);
		CHECK(truncate(path, size * 2 / 3) == 0);
		CHECK(play(path, &run, &r, &s, &err) == REPLAY_END);
		CHECK(replay_is_cut(r));
		sampler_report(s, INT64_MIN, &run, &got);
		CHECK(got.n_samples > 20 && got.n_samples < 100);
		CHECK(got.n_signals >= 6);
		sampler_close(s);
		replay_close(r);
		unlink(path);
		arena_release(&run);
	}
}

#define HEAD                                                                                       \
	"{\"schema\":\"venturi.watch-record/1\",\"started_at\":\"x\",\"start_monotonic_ns\":5,"    \
	"\"interval_ns\":1000,\"fingerprint\":{},\"processes\":[],\"pages\":[\"u\"]}\n"
#define CHANNEL "{\"channel\":0,\"name\":\"n\",\"unit\":\"1\",\"kind\":\"gauge\"}\n"

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	fputs(text, f);
	fclose(f);
}

static void what_is_not_understood_is_an_error_that_names_its_line(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "no record of a watch" },
		{ "{}\n", "no record of a watch" },
		{ "{\"schema\":\"venturi.load/1\"}\n", "no record of a watch" },
		{ "{\"schema\":\"venturi.watch-record/1\"}\n", "line 1" },
		{ HEAD "nonsense\n", "line 2" },
		{ HEAD CHANNEL "{\"t\":1,\"v\":{\"1\":2}}\n", "line 3" },
		{ HEAD CHANNEL "{\"t\":1,\"v\":{\"0\":\"x\"}}\n", "line 3" },
		{ HEAD CHANNEL "{\"t\":1,\"same\":[0,0]}\n", "line 3" },
		{ HEAD CHANNEL "{\"t\":1,\"same\":[0,9]}\n", "line 3" },
		{ HEAD CHANNEL "{\"t\":1}\n{\"t\":0}\n", "line 4" },
		{ HEAD CHANNEL "{\"t\":1,\"page\":1,\"text\":\"\"}\n", "line 3" },
		{ HEAD "{\"channel\":8192,\"name\":\"n\",\"unit\":\"1\",\"kind\":\"gauge\"}\n",
		        "line 2" },
		{ HEAD CHANNEL "{\"channel\":0,\"name\":\"n\",\"unit\":\"1\",\"kind\":\"rate\"}\n",
		        "line 3" },
		{ HEAD "{\"t\":1,\"ended\":0}\n", "line 2" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct replay *r = NULL;
		struct sampler *s = NULL;
		struct err err = { 0 };
		const char *path = temp_path(".jsonl");
		write_file(path, cases[i].text);
		CHECK(play(path, &run, &r, &s, &err) == REPLAY_DAMAGED);
		CHECK_INT(err.kind, ERR_INPUT);
		if (!CHECK(strstr(err.text, cases[i].says) != NULL))
			printf("# case %zu: %s\n", i, err.text);
		sampler_close(s);
		replay_close(s ? r : NULL);
		unlink(path);
		arena_release(&run);
	}
}

static void keys_of_a_later_version_are_passed_over(void)
{
	struct arena run = { 0 };
	struct signal_system got;
	struct replay *r;
	struct sampler *s;
	struct err err;
	const char *path = temp_path(".jsonl");
	write_file(path, HEAD CHANNEL "{\"t\":1,\"v\":{\"0\":2},\"new\":{\"a\":[1]}}\n"
	                              "{\"t\":2,\"same\":[0,0]}\n{\"t\":3,\"v\":{\"0\":5}}\n");
	CHECK(play(path, &run, &r, &s, &err) == REPLAY_END);
	sampler_report(s, INT64_MIN, &run, &got);
	CHECK_INT(got.n_signals, 3);
	/* what a gauge shows as the window begins is in it */
	CHECK_INT(got.signals[0].n, 3);
	CHECK_NEAR(got.signals[0].mean, 3, 0);
	sampler_close(s);
	replay_close(r);
	unlink(path);
	arena_release(&run);
}

static void a_file_that_cannot_be_written_is_told_and_holds_nobody_up(void)
{
	struct arena run = { 0 };
	struct signal_system truth;
	struct watch_record_info info;
	record("/dev/full", 20, &run, &truth, &info);
	CHECK(info.failed != 0);
	struct err err;
	struct tape *t;
	struct fingerprint fp = { 0 };
	const struct tape_head head = { .started_at = "", .fingerprint = &fp };
	CHECK(!tape_open("/nonexistent/x", &head, &run, &t, &err));
	CHECK(strstr(err.text, "/nonexistent/x") != NULL);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(what_is_replayed_is_what_was_seen_plain_and_compressed);
	TAP_RUN(a_file_that_was_cut_is_read_to_its_last_whole_line);
	TAP_RUN(what_is_not_understood_is_an_error_that_names_its_line);
	TAP_RUN(keys_of_a_later_version_are_passed_over);
	TAP_RUN(a_file_that_cannot_be_written_is_told_and_holds_nobody_up);
	return tap_done();
}
