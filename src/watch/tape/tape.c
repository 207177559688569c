#include "watch/tape/tape.h"

#include "watch/pages/exporter_map.h"
#include "watch/pages/metrics_map.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <zlib.h>

enum {
	BUFFER_BYTES = 1 << 20, /* taken at once, so that samples take no memory */
	BUFFER_BYTES_MAX =
	        8 << 20,          /* of lines that wait for the file; beyond it they are dropped */
	PAGE_BYTES_MAX = 2 << 20, /* of one look's text */
	WAKE_BYTES = 256 << 10,   /* the writer is woken early */
};

static const int64_t flush_ns = NS_PER_S;

/* What the file knows of a channel. */
struct known {
	bool described;
	const char *from, *assumed;
	bool has_value;
	uint64_t total, whole; /* the last value: a counter, a number's bits, or a hash of words */
};

struct tape {
	const char *path;
	int64_t start_ns;
	gzFile file;
	_Atomic int failed;

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	struct buf lines;                                  /* for the writer */
	struct buf writing;                                /* the writer's own */
	struct buf channels, values, same, forgot, absent; /* parts of the sample under way */
	struct known known[BOARD_CHANNELS_MAX];
	size_t same_from, same_to; /* a run of channels that say what they said; empty: from > to */
	int64_t n_samples, n_dropped;
	bool closing;
	pthread_t thread;
};

/* ---- the writer ---- */

static int gz_errno(gzFile file)
{
	int code = Z_OK, failed = errno;
	(void)gzerror(file, &code);
	return code == Z_ERRNO && failed ? failed : EIO;
}

static void write_out(struct tape *t)
{
	if (t->writing.len == 0 || atomic_load(&t->failed))
		return;
	bool ok = gzwrite(t->file, t->writing.s, (unsigned)t->writing.len) == (int)t->writing.len &&
	          gzflush(t->file, Z_SYNC_FLUSH) == Z_OK;
	if (!ok)
		atomic_store(&t->failed, gz_errno(t->file));
	buf_clear(&t->writing);
}

static void *writer(void *arg)
{
	struct tape *t = arg;
	int64_t due_ns = clock_now_ns() + flush_ns;
	prctl(PR_SET_NAME, "tape");
	pthread_mutex_lock(&t->lock);
	for (;;) {
		struct timespec due = clock_to_timespec(due_ns);
		while (!t->closing && t->lines.len < WAKE_BYTES && clock_now_ns() < due_ns)
			pthread_cond_timedwait(&t->changed, &t->lock, &due);
		bool last = t->closing;
		struct buf full = t->lines;
		t->lines = t->writing;
		t->writing = full;
		pthread_mutex_unlock(&t->lock);
		write_out(t);
		if (last)
			return NULL;
		due_ns = clock_now_ns() + flush_ns;
		pthread_mutex_lock(&t->lock);
	}
}

/* Under the lock. */
static bool has_room(struct tape *t)
{
	return t->lines.len < BUFFER_BYTES_MAX && !atomic_load(&t->failed);
}

static void end_line(struct tape *t)
{
	buf_add_char(&t->lines, '\n');
	if (t->lines.len >= WAKE_BYTES)
		pthread_cond_signal(&t->changed);
}

static void begin_line(struct tape *t, int64_t at_ns)
{
	buf_printf(&t->lines, "{\"t\":%" PRId64, at_ns - t->start_ns);
}

/* ---- opening and closing ---- */

static void write_head(struct tape *t, const struct tape_head *head)
{
	struct json j;
	json_init(&j, &t->lines, false);
	json_object_open(&j);
	json_put_string(&j, "schema", TAPE_SCHEMA);
	json_put_string(&j, "started_at", head->started_at);
	json_put_int(&j, "start_monotonic_ns", head->start_ns);
	json_put_int(&j, "interval_ns", head->interval_ns);
	json_key(&j, "fingerprint");
	json_object_open(&j);
	for (size_t i = 0; i < head->fingerprint->n; i++)
		json_put_string(&j, head->fingerprint->entries[i].name,
		        head->fingerprint->entries[i].value);
	json_object_close(&j);
	json_key(&j, "processes");
	json_array_open(&j);
	for (size_t i = 0; i < head->n_processes; i++) {
		json_object_open(&j);
		json_put_int(&j, "pid", head->processes[i].pid);
		json_put_string(&j, "name", head->processes[i].name);
		json_object_close(&j);
	}
	json_array_close(&j);
	json_key(&j, "pages");
	json_array_open(&j);
	for (size_t i = 0; i < head->n_pages; i++)
		json_str_c(&j, head->pages[i]);
	json_array_close(&j);
	json_object_close(&j);
	end_line(t);
}

static gzFile open_file(const char *path)
{
	bool zipped = str_ends(str_of(path), STR(".gz"));
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	gzFile file = gzdopen(fd, zipped ? "wb" : "wbT");
	if (!file) {
		close(fd);
		errno = ENOMEM;
	}
	return file;
}

bool tape_open(const char *path, const struct tape_head *head, struct arena *run,
        struct tape **ret_tape, struct err *err)
{
	struct tape *t = arena_new(run, struct tape);
	pthread_condattr_t attributes;
	t->path = arena_strdup(run, path);
	t->start_ns = head->start_ns;
	t->same_from = 1;
	t->file = open_file(path);
	if (!t->file)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(errno));
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	buf_reserve(&t->lines, BUFFER_BYTES);
	buf_reserve(&t->writing, BUFFER_BYTES);
	write_head(t, head);
	int code = pthread_create(&t->thread, NULL, writer, t);
	if (code != 0) {
		gzclose(t->file);
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(code));
	}
	*ret_tape = t;
	return true;
}

int tape_failed(const struct tape *t)
{
	return atomic_load(&t->failed);
}

static void release(struct tape *t)
{
	struct buf *const bufs[] = { &t->lines, &t->writing, &t->channels, &t->values, &t->same,
		&t->forgot, &t->absent };
	for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
		buf_release(bufs[i]);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
}

void tape_close(struct tape *t, struct watch_record_info *ret_info)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	buf_printf(&t->lines, "{\"end\":{\"samples\":%" PRId64 ",\"dropped\":%" PRId64 "}}",
	        t->n_samples, t->n_dropped);
	t->closing = true;
	end_line(t);
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	if (gzclose(t->file) != Z_OK && !atomic_load(&t->failed))
		atomic_store(&t->failed, errno ? errno : EIO);
	*ret_info = (struct watch_record_info){
		.path = t->path,
		.n_samples = t->n_samples,
		.n_dropped = t->n_dropped,
		.failed = atomic_load(&t->failed),
	};
	release(t);
}

/* ---- samples ---- */

static const char *const kind_names[] = {
	[WATCH_GAUGE] = "gauge",
	[WATCH_RATE] = "rate",
	[WATCH_SHARE] = "share",
	[WATCH_TEXT] = "text",
};

static void describe(struct tape *t, const struct board_news *news)
{
	const struct watch_row *row = news->row;
	struct known *known = &t->known[news->number];
	struct json j;
	if (known->described && known->from == news->from && known->assumed == news->assumed)
		return;
	known->described = true;
	known->from = news->from;
	known->assumed = news->assumed;
	json_init(&j, &t->channels, false);
	json_object_open(&j);
	json_put_int(&j, "channel", (int64_t)news->number);
	json_put_string(&j, "name", row->name);
	json_put_string_present(&j, "instance", news->instance);
	json_put_string(&j, "unit", row->unit);
	json_put_string(&j, "kind", kind_names[row->kind]);
	json_put_string(&j, "from", news->from ? news->from : row->from);
	if (row->scale > 0)
		json_put_double(&j, "scale", row->scale);
	if (row->bits > 0)
		json_put_int(&j, "bits", row->bits);
	if (row->most > 0)
		json_put_double(&j, "most", row->most);
	json_put_string_present(&j, "assumed", news->assumed);
	json_object_close(&j);
	buf_add_char(&t->channels, '\n');
}

/* Source: Fowler, Noll and Vo, FNV-1a. */
static uint64_t hash(const char *text)
{
	uint64_t value = UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return value;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* What would be written, to compare it with what was. */
static uint64_t essence(const struct board_news *news)
{
	if (news->row->kind == WATCH_TEXT)
		return hash(news->text);
	return news->row->kind == WATCH_GAUGE ? bits_of(news->value) : news->total;
}

static void end_run(struct tape *t)
{
	if (t->same_from <= t->same_to)
		buf_printf(&t->same, "%s%zu,%zu", t->same.len ? "," : "", t->same_from, t->same_to);
	t->same_from = 1;
	t->same_to = 0;
}

static void say_same(struct tape *t, size_t number)
{
	if (t->same_from <= t->same_to && t->same_to + 1 == number) {
		t->same_to = number;
		return;
	}
	end_run(t);
	t->same_from = t->same_to = number;
}

static void add_number(struct buf *out, double value)
{
	if (value == floor(value) && fabs(value) < 1e15)
		buf_printf(out, "%" PRId64, (int64_t)value);
	else
		buf_printf(out, "%.12g", value);
}

static void say_value(struct tape *t, const struct board_news *news)
{
	struct known *known = &t->known[news->number];
	uint64_t total = essence(news);
	if (known->has_value && known->total == total && known->whole == news->whole) {
		say_same(t, news->number);
		return;
	}
	known->has_value = true;
	known->total = total;
	known->whole = news->whole;
	buf_printf(&t->values, "%s\"%zu\":", t->values.len ? "," : "", news->number);
	switch (news->row->kind) {
	case WATCH_GAUGE:
		add_number(&t->values, news->value);
		break;
	case WATCH_RATE:
		buf_printf(&t->values, "%" PRIu64, news->total);
		break;
	case WATCH_SHARE:
		buf_printf(&t->values, "[%" PRIu64 ",%" PRIu64 "]", news->total, news->whole);
		break;
	case WATCH_TEXT:
		json_escape(&t->values, str_of(news->text));
		break;
	}
}

static void on_news(void *ctx, const struct board_news *news)
{
	struct tape *t = ctx;
	describe(t, news);
	if (news->forgot)
		buf_printf(&t->forgot, "%s%zu", t->forgot.len ? "," : "", news->number);
	if (news->has_value)
		say_value(t, news);
	if (news->absent == SIGNAL_MEASURED)
		return;
	buf_printf(&t->absent, "%s[%zu,\"%s\",", t->absent.len ? "," : "", news->number,
	        signal_state_names[news->absent]);
	json_escape(&t->absent, str_of(news->reason));
	buf_add_char(&t->absent, ']');
}

static void add_part(
        struct tape *t, const char *name, const char *open, struct buf *part, const char *close)
{
	if (part->len == 0)
		return;
	buf_printf(&t->lines, ",\"%s\":%s", name, open);
	buf_add(&t->lines, buf_str(part));
	buf_add_c(&t->lines, close);
	buf_clear(part);
}

void tape_sample(void *tape, struct board *board)
{
	struct tape *t = tape;
	pthread_mutex_lock(&t->lock);
	if (has_room(t)) {
		end_run(t);
		board_each_news(board, on_news, t);
		end_run(t);
		buf_add(&t->lines, buf_str(&t->channels));
		buf_clear(&t->channels);
		begin_line(t, board_now_ns(board));
		add_part(t, "forgot", "[", &t->forgot, "]");
		add_part(t, "v", "{", &t->values, "}");
		add_part(t, "same", "[", &t->same, "]");
		add_part(t, "absent", "[", &t->absent, "]");
		buf_add_char(&t->lines, '}');
		end_line(t);
		t->n_samples++;
	} else {
		t->n_dropped++;
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- what is no channel ---- */

static struct str name_of(struct str line)
{
	size_t len = 0;
	while (len < line.len && !strchr("{ \t", line.s[len]))
		len++;
	return (struct str){ line.s, len };
}

/* Does a metric of this name feed a signal? */
static bool is_wanted(struct str name)
{
	struct metrics_match matches[METRICS_MATCHES_MAX];
	struct exporter_match others[EXPORTER_MATCHES_MAX];
	return name.len > 0 && name.s[0] != '#' &&
	       (str_eq(name, STR("process_start_time_seconds")) ||
	               metrics_lookup(name, matches) > 0 || exporter_lookup(name, others) > 0);
}

static void keep_wanted(struct str text, struct buf *out)
{
	struct str before = { 0 };
	bool wanted = false;
	while (text.len > 0) {
		struct str line = str_cut(text, '\n', &text), name = name_of(line);
		if (!str_eq(name, before))
			wanted = is_wanted(name);
		before = name;
		if (!wanted)
			continue;
		buf_add(out, line);
		buf_add_char(out, '\n');
	}
}

void tape_look(struct tape *t, size_t page, int64_t at_ns, struct str text, const char *failed)
{
	AUTO(auto_buf) struct buf wanted = { 0 };
	if (!failed)
		keep_wanted(text, &wanted);
	if (wanted.len > PAGE_BYTES_MAX)
		return;
	pthread_mutex_lock(&t->lock);
	if (has_room(t)) {
		begin_line(t, at_ns);
		buf_printf(&t->lines, ",\"page\":%zu,\"%s\":", page, failed ? "failed" : "text");
		json_escape(&t->lines, failed ? str_of(failed) : buf_str(&wanted));
		buf_add_char(&t->lines, '}');
		end_line(t);
	}
	pthread_mutex_unlock(&t->lock);
}

static void put_thread(struct json *j, const struct signal_thread *thread)
{
	const char state[] = { thread->state, '\0' };
	json_array_open(j);
	json_int(j, thread->pid);
	json_int(j, thread->tid);
	json_str_c(j, thread->name);
	json_str_c(j, thread->state ? state : NULL);
	json_int(j, thread->n);
	json_double(j, thread->cpu_ratio);
	json_double(j, thread->cpu_ratio_max);
	json_double(j, thread->run_queue_ratio);
	json_double(j, thread->voluntary_per_s);
	json_double(j, thread->involuntary_per_s);
	json_str_c(j, thread->cpus);
	json_array_close(j);
}

static void put_symbol(struct json *j, const struct signal_symbol *symbol)
{
	json_array_open(j);
	json_int(j, symbol->pid);
	json_str_c(j, symbol->symbol);
	json_str_c(j, symbol->module);
	json_str_c(j, symbol->build_id);
	json_int(j, symbol->n);
	json_double(j, symbol->ratio);
	json_array_close(j);
}

void tape_system(struct tape *t, int64_t at_ns, const struct signal_system *system)
{
	struct json j;
	if (system->n_threads == 0 && system->n_symbols == 0)
		return;
	pthread_mutex_lock(&t->lock);
	if (has_room(t)) {
		json_init(&j, &t->lines, false);
		json_object_open(&j);
		json_put_int(&j, "t", at_ns - t->start_ns);
		json_put_int(&j, "threads_seen", system->n_threads_seen);
		json_key(&j, "threads");
		json_array_open(&j);
		for (size_t i = 0; i < system->n_threads; i++)
			put_thread(&j, &system->threads[i]);
		json_array_close(&j);
		json_key(&j, "symbols");
		json_array_open(&j);
		for (size_t i = 0; i < system->n_symbols; i++)
			put_symbol(&j, &system->symbols[i]);
		json_array_close(&j);
		json_object_close(&j);
		end_line(t);
	}
	pthread_mutex_unlock(&t->lock);
}

void tape_process_ended(struct tape *t, size_t process, int64_t at_ns)
{
	pthread_mutex_lock(&t->lock);
	if (has_room(t)) {
		begin_line(t, at_ns);
		buf_printf(&t->lines, ",\"ended\":%zu}", process);
		end_line(t);
	}
	pthread_mutex_unlock(&t->lock);
}
