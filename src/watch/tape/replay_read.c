/*
 * replay_read.c - lines of JSON into what replay.c says. Nothing is believed: a number is held
 * against its limits, a channel against those that were described.
 */
#include "watch/tape/replay_read.h"

#include "watch/sampler.h"

#include "base/i18n.h"
#include "text/json_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 512 };

/* Times stay far from the ends of their type. */
static const int64_t time_max = INT64_C(1) << 61;
static const int64_t interval_max_ns = INT64_C(3600) * 1000 * 1000 * 1000;

/* ---- the keys of a line ---- */

enum key {
	KEY_SCHEMA,
	KEY_STARTED_AT,
	KEY_START,
	KEY_INTERVAL,
	KEY_FINGERPRINT,
	KEY_PROCESSES,
	KEY_PAGES,
	KEY_CHANNEL,
	KEY_NAME,
	KEY_INSTANCE,
	KEY_UNIT,
	KEY_KIND,
	KEY_FROM,
	KEY_SCALE,
	KEY_BITS,
	KEY_MOST,
	KEY_ASSUMED,
	KEY_T,
	KEY_FORGOT,
	KEY_V,
	KEY_SAME,
	KEY_ABSENT,
	KEY_PAGE,
	KEY_TEXT,
	KEY_FAILED,
	KEY_THREADS,
	KEY_THREADS_SEEN,
	KEY_SYMBOLS,
	KEY_ENDED,
	KEY_END,
	KEY_SAMPLES,
	KEY_DROPPED,
	KEY_PID,
	N_KEYS,
};

static const char *const key_names[N_KEYS] = {
	[KEY_SCHEMA] = "schema",
	[KEY_STARTED_AT] = "started_at",
	[KEY_START] = "start_monotonic_ns",
	[KEY_INTERVAL] = "interval_ns",
	[KEY_FINGERPRINT] = "fingerprint",
	[KEY_PROCESSES] = "processes",
	[KEY_PAGES] = "pages",
	[KEY_CHANNEL] = "channel",
	[KEY_NAME] = "name",
	[KEY_INSTANCE] = "instance",
	[KEY_UNIT] = "unit",
	[KEY_KIND] = "kind",
	[KEY_FROM] = "from",
	[KEY_SCALE] = "scale",
	[KEY_BITS] = "bits",
	[KEY_MOST] = "most",
	[KEY_ASSUMED] = "assumed",
	[KEY_T] = "t",
	[KEY_FORGOT] = "forgot",
	[KEY_V] = "v",
	[KEY_SAME] = "same",
	[KEY_ABSENT] = "absent",
	[KEY_PAGE] = "page",
	[KEY_TEXT] = "text",
	[KEY_FAILED] = "failed",
	[KEY_THREADS] = "threads",
	[KEY_THREADS_SEEN] = "threads_seen",
	[KEY_SYMBOLS] = "symbols",
	[KEY_ENDED] = "ended",
	[KEY_END] = "end",
	[KEY_SAMPLES] = "samples",
	[KEY_DROPPED] = "dropped",
	[KEY_PID] = "pid",
};

/* An object's values, each not yet read; p of what is not there is NULL. */
struct object {
	struct json_scan values[N_KEYS];
};

/* Keys that are not known come from a later version. */
static bool read_object(struct json_scan *s, struct object *ret)
{
	struct str key;
	*ret = (struct object){ 0 };
	if (!json_scan_object(s))
		return false;
	while (json_scan_key(s, &key)) {
		for (int i = 0; i < N_KEYS; i++)
			if (str_eq(key, str_of(key_names[i])))
				ret->values[i] = *s;
		json_scan_skip(s);
	}
	return !s->failed;
}

static bool has(const struct object *o, enum key key)
{
	return o->values[key].p != NULL;
}

static bool get_int(struct object *o, enum key key, int64_t min, int64_t max, int64_t *ret)
{
	return has(o, key) && json_scan_int(&o->values[key], ret) && *ret >= min && *ret <= max;
}

/* Words of at most so many bytes; NULL where null stands or nothing does. */
static bool scan_text(struct json_scan *s, size_t max, struct arena *to, const char **ret)
{
	AUTO(auto_buf) struct buf text = { 0 };
	struct str raw;
	*ret = NULL;
	if (!s->p)
		return true;
	if (json_scan_type(s) == JSON_SCAN_NULL) {
		json_scan_skip(s);
		return true;
	}
	if (!json_scan_string(s, &raw) || raw.len > max || !json_unescape(raw, &text))
		return false;
	*ret = str_c(buf_str(&text), to);
	return true;
}

static bool get_text(struct object *o, enum key key, struct arena *to, const char **ret)
{
	return scan_text(&o->values[key], NAME_BYTES_MAX, to, ret);
}

/* A counter may be larger than what JSON calls a whole number. */
static bool scan_total(struct json_scan *s, uint64_t *ret)
{
	struct str raw = json_scan_raw(s);
	char digits[24];
	if (raw.len == 0 || raw.len >= sizeof(digits))
		return false;
	for (size_t i = 0; i < raw.len; i++)
		if (raw.s[i] < '0' || raw.s[i] > '9')
			return false;
	memcpy(digits, raw.s, raw.len);
	digits[raw.len] = '\0';
	errno = 0;
	*ret = strtoull(digits, NULL, 10);
	return errno == 0;
}

static bool scan_channel(const struct replay *r, struct json_scan *s, struct spoken **ret)
{
	int64_t number;
	if (!json_scan_int(s, &number) || number < 0 || number >= (int64_t)r->n_channels ||
	        !r->channels[number].row)
		return false;
	*ret = &r->channels[number];
	return true;
}

/* ---- the first line ---- */

static bool read_processes(struct replay *r, struct json_scan *s)
{
	struct watch_process *processes = arena_new_n(r->run, struct watch_process, WATCH_PIDS_MAX);
	size_t n = 0;
	if (!json_scan_array(s))
		return false;
	while (json_scan_element(s)) {
		struct object o;
		int64_t pid;
		if (n == WATCH_PIDS_MAX || !read_object(s, &o) ||
		        !get_int(&o, KEY_PID, 0, INT32_MAX, &pid) ||
		        !get_text(&o, KEY_NAME, r->run, &processes[n].name))
			return false;
		processes[n].ended_s = NAN;
		processes[n++].pid = (int)pid;
	}
	r->head.processes = processes;
	r->head.n_processes = n;
	r->ended_ns = arena_new_n(r->run, int64_t, n + 1);
	memset(r->ended_ns, -1, n * sizeof(*r->ended_ns));
	return !s->failed;
}

static bool read_pages(struct replay *r, struct json_scan *s)
{
	const char **urls = arena_new_n(r->run, const char *, REPLAY_PAGES_MAX);
	r->pages = arena_new_n(r->run, struct replay_page, REPLAY_PAGES_MAX);
	r->head.pages = urls;
	if (!json_scan_array(s))
		return false;
	while (json_scan_element(s)) {
		size_t n = r->head.n_pages;
		if (n == REPLAY_PAGES_MAX || !scan_text(s, NAME_BYTES_MAX, r->run, &urls[n]) ||
		        !urls[n])
			return false;
		r->pages[n].window = metrics_window_new();
		r->head.n_pages++;
	}
	return !s->failed;
}

static bool read_fingerprint(struct replay *r, struct json_scan *s)
{
	struct str key;
	if (!json_scan_object(s))
		return false;
	while (json_scan_key(s, &key)) {
		const char *value;
		if (!scan_text(s, NAME_BYTES_MAX, r->run, &value))
			return false;
		if (value)
			(void)fingerprint_set(
			        &r->fingerprint, r->run, str_c(key, r->run), "%s", value);
	}
	return !s->failed;
}

bool replay_read_head(struct replay *r, struct str line, struct err *err)
{
	struct json_scan s = json_scan_of(line);
	struct object o;
	const char *schema = NULL;
	if (!read_object(&s, &o) || !get_text(&o, KEY_SCHEMA, r->run, &schema) || !schema ||
	        strcmp(schema, TAPE_SCHEMA) != 0)
		return err_set(err, ERR_INPUT, _("'%s' is no record of a watch"), r->path);
	r->head.fingerprint = &r->fingerprint;
	bool ok = get_text(&o, KEY_STARTED_AT, r->run, &r->head.started_at) &&
	          get_int(&o, KEY_START, 0, time_max, &r->head.start_ns) &&
	          get_int(&o, KEY_INTERVAL, 1, interval_max_ns, &r->head.interval_ns) &&
	          has(&o, KEY_FINGERPRINT) && read_fingerprint(r, &o.values[KEY_FINGERPRINT]) &&
	          has(&o, KEY_PROCESSES) && read_processes(r, &o.values[KEY_PROCESSES]) &&
	          has(&o, KEY_PAGES) && read_pages(r, &o.values[KEY_PAGES]);
	return ok || replay_damaged(r, err, _("its head"));
}

/* ---- channels ---- */

static bool same_row(const struct watch_row *a, const struct watch_row *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0 &&
	       a->kind == b->kind && a->scale == b->scale && a->bits == b->bits &&
	       a->most == b->most;
}

/* Channels of one row share it; the sampler's own rows are its own, whose channels it has made. */
static const struct watch_row *row_like(struct replay *r, const struct watch_row *like)
{
	for (size_t i = 0; i < sampler_n_rows; i++)
		if (same_row(&sampler_rows[i], like))
			return &sampler_rows[i];
	for (size_t i = 0; i < r->n_rows; i++)
		if (same_row(r->rows[i], like))
			return r->rows[i];
	if (r->n_rows == BOARD_CHANNELS_MAX)
		return NULL;
	struct watch_row *row = arena_new(r->run, struct watch_row);
	*row = *like;
	r->rows[r->n_rows++] = row;
	return row;
}

static bool read_kind(struct object *o, struct arena *tmp, enum watch_kind *ret)
{
	static const char *const names[] = { "gauge", "rate", "share", "text" };
	static const enum watch_kind kinds[] = { WATCH_GAUGE, WATCH_RATE, WATCH_SHARE, WATCH_TEXT };
	const char *name;
	if (!get_text(o, KEY_KIND, tmp, &name) || !name)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = kinds[i];
			return true;
		}
	return false;
}

/* A number of moderate size; where there is none ret is left alone. */
static bool get_scale(struct object *o, enum key key, double *ret)
{
	return !has(o, key) || (json_scan_double(&o->values[key], ret) && fabs(*ret) < 1e30);
}

static bool read_channel(struct replay *r, struct object *o)
{
	struct watch_row row = { 0 };
	int64_t number, bits = 0;
	const char *name, *instance, *unit, *from, *assumed;
	if (!get_int(o, KEY_CHANNEL, 0, BOARD_CHANNELS_MAX - 1, &number) ||
	        !get_text(o, KEY_NAME, r->run, &name) || !name ||
	        !get_text(o, KEY_UNIT, r->run, &unit) || !unit ||
	        !get_text(o, KEY_INSTANCE, r->run, &instance) ||
	        !get_text(o, KEY_FROM, r->run, &from) ||
	        !get_text(o, KEY_ASSUMED, r->run, &assumed) || !read_kind(o, r->run, &row.kind) ||
	        (has(o, KEY_BITS) && !get_int(o, KEY_BITS, 1, 64, &bits)) ||
	        !get_scale(o, KEY_SCALE, &row.scale) || !get_scale(o, KEY_MOST, &row.most))
		return false;
	struct spoken *c = &r->channels[number];
	row.name = name;
	row.unit = unit;
	row.from = from;
	row.bits = (int)bits;
	/* Described anew it may say where it is from and what is assumed, not what it is. */
	if (c->row && !same_row(c->row, &row))
		return false;
	c->row = row_like(r, &row);
	c->instance = c->channel ? c->instance : instance;
	c->from = from;
	c->assumed = assumed;
	c->described_anew = true;
	if ((size_t)number >= r->n_channels)
		r->n_channels = (size_t)number + 1;
	return c->row != NULL;
}

/* ---- samples ---- */

static bool read_forgot(struct replay *r, struct json_scan *s)
{
	struct spoken *c;
	if (!json_scan_array(s))
		return false;
	while (json_scan_element(s)) {
		if (!scan_channel(r, s, &c))
			return false;
		c->forgot = true;
	}
	return !s->failed;
}

static bool read_words(struct replay *r, struct json_scan *s, struct spoken *c)
{
	const char *text;
	if (!scan_text(s, 6 * BOARD_TEXT_BYTES, &r->sample, &text) || !text)
		return false;
	if (!c->text)
		c->text = arena_alloc(r->run, BOARD_TEXT_BYTES);
	size_t len = strnlen(text, BOARD_TEXT_BYTES - 1);
	memcpy(c->text, text, len);
	c->text[len] = '\0';
	return true;
}

static bool read_value(struct replay *r, struct json_scan *s, struct spoken *c)
{
	switch (c->row->kind) {
	case WATCH_GAUGE:
		return json_scan_double(s, &c->value);
	case WATCH_RATE:
		return scan_total(s, &c->total);
	case WATCH_SHARE:
		return json_scan_array(s) && json_scan_element(s) && scan_total(s, &c->total) &&
		       json_scan_element(s) && scan_total(s, &c->whole) && !json_scan_element(s) &&
		       !s->failed;
	case WATCH_TEXT:
		return read_words(r, s, c);
	}
	return false;
}

static bool read_values(struct replay *r, struct json_scan *s)
{
	struct str key;
	if (!json_scan_object(s))
		return false;
	while (json_scan_key(s, &key)) {
		int64_t number;
		if (!str_to_i64(key, &number) || number < 0 || number >= (int64_t)r->n_channels ||
		        !r->channels[number].row)
			return false;
		struct spoken *c = &r->channels[number];
		if (!read_value(r, s, c))
			return false;
		c->has_any = c->has_value = true;
	}
	return !s->failed;
}

/* Pairs: from a channel to a channel, each says again what it said. */
static bool read_same(struct replay *r, struct json_scan *s)
{
	if (!json_scan_array(s))
		return false;
	while (json_scan_element(s)) {
		int64_t from, to;
		if (!json_scan_int(s, &from) || !json_scan_element(s) || !json_scan_int(s, &to) ||
		        from < 0 || from > to || to >= (int64_t)r->n_channels)
			return false;
		for (int64_t i = from; i <= to; i++) {
			if (!r->channels[i].has_any)
				return false;
			r->channels[i].has_value = true;
		}
	}
	return !s->failed;
}

static bool read_absent(struct replay *r, struct json_scan *s)
{
	if (!json_scan_array(s))
		return false;
	while (json_scan_element(s)) {
		struct spoken *c;
		const char *state, *reason;
		if (!json_scan_array(s) || !json_scan_element(s) || !scan_channel(r, s, &c) ||
		        !json_scan_element(s) ||
		        !scan_text(s, NAME_BYTES_MAX, &r->sample, &state) || !state ||
		        !json_scan_element(s) ||
		        !scan_text(s, 6 * BOARD_REASON_BYTES, &r->sample, &reason) || !reason ||
		        json_scan_element(s) || s->failed)
			return false;
		bool supported = strcmp(state, signal_state_names[SIGNAL_NOT_SUPPORTED]) != 0;
		c->absent = supported ? SIGNAL_NOT_COUNTED : SIGNAL_NOT_SUPPORTED;
		c->reason = arena_strdup(&r->sample, reason);
	}
	return !s->failed;
}

static bool read_sample(struct replay *r, struct object *o)
{
	return (!has(o, KEY_FORGOT) || read_forgot(r, &o->values[KEY_FORGOT])) &&
	       (!has(o, KEY_V) || read_values(r, &o->values[KEY_V])) &&
	       (!has(o, KEY_SAME) || read_same(r, &o->values[KEY_SAME])) &&
	       (!has(o, KEY_ABSENT) || read_absent(r, &o->values[KEY_ABSENT]));
}

/* ---- what is no channel ---- */

static bool read_look(struct replay *r, struct object *o)
{
	int64_t number;
	const char *text, *failed;
	struct err ignored;
	if (!get_int(o, KEY_PAGE, 0, (int64_t)r->head.n_pages - 1, &number) ||
	        !scan_text(&o->values[KEY_TEXT], REPLAY_LINE_BYTES_MAX, &r->sample, &text) ||
	        !get_text(o, KEY_FAILED, r->run, &failed) || (!text && !failed))
		return false;
	struct replay_page *page = &r->pages[number];
	if (failed) {
		page->failed = failed;
		page->n_failed++;
		return true;
	}
	bool first = page->n_read == 0;
	if (!metrics_window_add(page->window, str_of(text), r->now_ns, &ignored))
		return false;
	page->n_read++;
	if (first)
		metrics_window_begin(page->window);
	return true;
}

/* The next element of a list; a number that is null is NAN. */
static bool next_double(struct json_scan *s, double *ret)
{
	*ret = NAN;
	if (!json_scan_element(s))
		return false;
	if (json_scan_type(s) != JSON_SCAN_NULL)
		return json_scan_double(s, ret);
	json_scan_skip(s);
	return true;
}

static bool next_int(struct json_scan *s, int64_t max, int64_t *ret)
{
	return json_scan_element(s) && json_scan_int(s, ret) && *ret >= 0 && *ret <= max;
}

static bool next_text(struct json_scan *s, struct arena *to, const char **ret)
{
	return json_scan_element(s) && scan_text(s, NAME_BYTES_MAX, to, ret);
}

/* Elements that a later version may have added. */
static bool skip_rest(struct json_scan *s)
{
	while (json_scan_element(s))
		json_scan_skip(s);
	return !s->failed;
}

static bool read_thread(struct json_scan *s, struct arena *to, struct signal_thread *t)
{
	int64_t pid, tid;
	const char *state;
	if (!json_scan_array(s) || !next_int(s, INT32_MAX, &pid) || !next_int(s, INT32_MAX, &tid) ||
	        !next_text(s, to, &t->name) || !next_text(s, to, &state) ||
	        !next_int(s, time_max, &t->n) || !next_double(s, &t->cpu_ratio) ||
	        !next_double(s, &t->cpu_ratio_max) || !next_double(s, &t->run_queue_ratio) ||
	        !next_double(s, &t->voluntary_per_s) || !next_double(s, &t->involuntary_per_s) ||
	        !next_text(s, to, &t->cpus))
		return false;
	t->pid = (int)pid;
	t->tid = (int)tid;
	t->state = state ? state[0] : '\0';
	return skip_rest(s);
}

static bool read_symbol(struct json_scan *s, struct arena *to, struct signal_symbol *symbol)
{
	int64_t pid;
	if (!json_scan_array(s) || !next_int(s, INT32_MAX, &pid) ||
	        !next_text(s, to, &symbol->symbol) || !symbol->symbol ||
	        !next_text(s, to, &symbol->module) || !next_text(s, to, &symbol->build_id) ||
	        !next_int(s, time_max, &symbol->n) || !next_double(s, &symbol->ratio))
		return false;
	symbol->pid = (int)pid;
	return skip_rest(s);
}

static bool read_lists(struct replay *r, struct object *o)
{
	struct json_scan *threads = &o->values[KEY_THREADS], *symbols = &o->values[KEY_SYMBOLS];
	if (!has(o, KEY_SYMBOLS) || !get_int(o, KEY_THREADS_SEEN, 0, time_max, &r->n_threads_seen))
		return false;
	arena_release(&r->lists);
	r->n_threads = r->n_symbols = 0;
	r->threads = arena_new_n(&r->lists, struct signal_thread, REPLAY_LIST_MAX);
	r->symbols = arena_new_n(&r->lists, struct signal_symbol, REPLAY_LIST_MAX);
	if (!json_scan_array(threads))
		return false;
	while (json_scan_element(threads))
		if (r->n_threads == REPLAY_LIST_MAX ||
		        !read_thread(threads, &r->lists, &r->threads[r->n_threads++]))
			return false;
	if (threads->failed || !json_scan_array(symbols))
		return false;
	while (json_scan_element(symbols))
		if (r->n_symbols == REPLAY_LIST_MAX ||
		        !read_symbol(symbols, &r->lists, &r->symbols[r->n_symbols++]))
			return false;
	return !symbols->failed;
}

static bool read_end(struct replay *r, struct json_scan *s)
{
	struct object o;
	r->ended = true;
	return read_object(s, &o) && get_int(&o, KEY_DROPPED, 0, time_max, &r->n_dropped);
}

static bool read_ended(struct replay *r, struct object *o)
{
	int64_t number;
	if (!get_int(o, KEY_ENDED, 0, (int64_t)r->head.n_processes - 1, &number))
		return false;
	r->ended_ns[number] = r->now_ns;
	return true;
}

/* ---- all lines ---- */

/* ret_is_sample: it stands for the sampler's next step. */
bool replay_read_line(struct replay *r, struct str line, bool *ret_is_sample)
{
	struct json_scan s = json_scan_of(line);
	struct object o;
	int64_t t;
	*ret_is_sample = false;
	if (!read_object(&s, &o) || !json_scan_ended(&s))
		return false;
	if (has(&o, KEY_CHANNEL))
		return read_channel(r, &o);
	if (has(&o, KEY_END))
		return read_end(r, &o.values[KEY_END]);
	if (!get_int(&o, KEY_T, -r->head.start_ns, time_max, &t))
		return false;
	r->now_ns = r->head.start_ns + t;
	r->newest_ns = r->now_ns > r->newest_ns ? r->now_ns : r->newest_ns;
	if (has(&o, KEY_PAGE))
		return read_look(r, &o);
	if (has(&o, KEY_THREADS))
		return read_lists(r, &o);
	if (has(&o, KEY_ENDED))
		return read_ended(r, &o);
	*ret_is_sample = true;
	return read_sample(r, &o);
}
