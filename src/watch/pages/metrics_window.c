#include "watch/pages/metrics_window.h"

#include "watch/pages/metrics_looks.h"
#include "watch/pages/metrics_map.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "text/prometheus.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t period_ns = NS_PER_S;

/* No counter of a real service is above it, and sums of all series stay finite. */
static const double value_max = 1e18;

/* Source: Fowler, Noll and Vo, FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.s[i]) * UINT64_C(0x100000001b3);
	return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t hash_number(uint64_t number)
{
	return hash_bytes(UINT64_C(0xcbf29ce484222325),
	        (struct str){ (const char *)&number, sizeof(number) });
}

struct metrics_window *metrics_window_new(void)
{
	struct metrics_window *w = mem_realloc(NULL, sizeof(*w));
	*w = (struct metrics_window){ .software = METRICS_N_SOFTWARE, .start_time = NAN };
	w->rows = arena_new_n(&w->memory, struct row_seen, metrics_n_rows);
	w->looks = arena_new_n(&w->memory, struct look, METRICS_LOOKS_MAX);
	w->period_ns = period_ns;
	return w;
}

void metrics_window_free(struct metrics_window *w)
{
	if (!w)
		return;
	exporters_release(&w->exporters);
	free(w->now);
	free(w->series);
	free(w->groups);
	free(w->series_index.places);
	free(w->group_index.places);
	arena_release(&w->memory);
	free(w);
}

int64_t metrics_window_period_ns(const struct metrics_window *w)
{
	return w->period_ns;
}

bool metrics_window_knows(const struct metrics_window *w)
{
	return w->software < METRICS_N_SOFTWARE || exporters_any(&w->exporters);
}

/* One page while it is read. */
struct reader {
	struct metrics_window *w;
	struct str name; /* the one that matches[] belong to */
	struct metrics_match matches[METRICS_MATCHES_MAX];
	size_t n_matches;
	size_t votes[METRICS_N_SOFTWARE];
	double start_time;
};

static bool passes(const struct metrics_row *row, const struct prometheus_sample *s)
{
	if (!row->label)
		return true;
	const struct str *value = prometheus_label(s, str_of(row->label));
	return (value && metrics_one_of(row->values, *value, NULL)) != row->others;
}

/* The preferred of the names that the page has; an older one beside it is forgotten. */
static void note_row(struct reader *r, const struct metrics_match *match, struct str name)
{
	struct row_seen *row = &r->w->rows[match->row];
	if (row->seen && row->alternative < match->alternative)
		return;
	if (!row->seen || row->alternative > match->alternative)
		*row = (struct row_seen){ .seen = true, .alternative = match->alternative };
	if (!row->name[match->part])
		row->name[match->part] = str_c(name, &r->w->memory);
}

static bool add_reading(
        struct reader *r, const struct metrics_match *match, const struct prometheus_sample *s)
{
	static const struct str le = STR_INIT("le");
	struct metrics_window *w = r->w;
	struct reading now = {
		.key = hash_bytes(hash_number(match->row), s->name),
		.group = hash_number(match->row),
		.match = *match,
		.le = NAN,
		.value = s->value,
	};
	for (size_t i = 0; i < s->n_labels; i++) {
		const struct prometheus_label *label = &s->labels[i];
		now.key = hash_bytes(hash_bytes(now.key, label->name), label->value);
		if (!str_eq(label->name, le))
			now.group = hash_bytes(hash_bytes(now.group, label->name), label->value);
		else if (match->part == METRICS_PART_BUCKET &&
		         !prometheus_number(label->value, &now.le))
			return true;
	}
	if (match->part == METRICS_PART_BUCKET && !(now.le >= -value_max))
		return true;
	if (w->n_now == METRICS_SERIES_MAX)
		return false;
	if (w->n_now == w->cap_now) {
		w->cap_now = w->cap_now ? 2 * w->cap_now : 256;
		w->now = mem_realloc(w->now, w->cap_now * sizeof(*w->now));
	}
	w->now[w->n_now++] = now;
	return true;
}

static bool on_sample(void *ctx, const struct prometheus_sample *s)
{
	struct reader *r = ctx;
	if (str_eq(s->name, STR("process_start_time_seconds")))
		r->start_time = s->value;
	if (!str_eq(s->name, r->name)) {
		r->name = s->name;
		r->n_matches = metrics_lookup(s->name, r->matches);
		if (r->n_matches)
			r->votes[metrics_rows[r->matches[0].row].software]++;
	}
	exporters_sample(&r->w->exporters, s);
	/* What is no number yet, or has overflowed, says nothing. */
	bool is_number = fabs(s->value) <= value_max;
	for (size_t i = 0; i < r->n_matches; i++) {
		const struct metrics_match *match = &r->matches[i];
		if (!is_number) {
			r->w->rows[match->row].no_number = true;
			continue;
		}
		note_row(r, match, s->name);
		if (passes(&metrics_rows[match->row], s) && !add_reading(r, match, s))
			return false;
	}
	return true;
}

/* The software that most names speak for; settled by the first page that has any. */
static void settle_software(struct metrics_window *w, const size_t votes[METRICS_N_SOFTWARE])
{
	size_t most = 0;
	for (int i = 0; i < METRICS_N_SOFTWARE && w->n_known == 0; i++)
		if (votes[i] > most) {
			most = votes[i];
			w->software = i;
		}
	w->n_known += most > 0;
}

/* The place of a key, or where it goes; the table is never full. */
static size_t find_place(const struct key_index *index, uint64_t key)
{
	size_t at = (size_t)key & (index->cap - 1);
	while (index->places[at].used && index->places[at].key != key)
		at = (at + 1) & (index->cap - 1);
	return at;
}

static void grow_index(struct key_index *index)
{
	struct key_index larger = { .cap = index->cap ? 2 * index->cap : 512, .n = index->n };
	larger.places = mem_realloc(NULL, larger.cap * sizeof(*larger.places));
	memset(larger.places, 0, larger.cap * sizeof(*larger.places));
	for (size_t i = 0; i < index->cap; i++)
		if (index->places[i].used)
			larger.places[find_place(&larger, index->places[i].key)] = index->places[i];
	free(index->places);
	*index = larger;
}

/* The number of a key, counted from 0 in the order of their first appearance. */
static size_t index_of(struct key_index *index, uint64_t key, bool *ret_is_new)
{
	if (2 * index->n >= index->cap)
		grow_index(index);
	size_t at = find_place(index, key);
	*ret_is_new = !index->places[at].used;
	if (*ret_is_new)
		index->places[at] = (struct key_place){ key, (uint32_t)index->n++, true };
	return index->places[at].number;
}

static struct series *series_of(struct metrics_window *w, const struct reading *now)
{
	bool is_new;
	size_t i = index_of(&w->series_index, now->key, &is_new);
	if (i >= w->cap_series) {
		w->cap_series = w->cap_series ? 2 * w->cap_series : 256;
		w->series = mem_realloc(w->series, w->cap_series * sizeof(*w->series));
	}
	if (is_new)
		w->series[i] = (struct series){ .match = now->match, .le = now->le, .look = -1 };
	w->n_series = w->series_index.n;
	return &w->series[i];
}

static struct group *group_of(struct metrics_window *w, uint64_t key)
{
	bool is_new;
	size_t i = index_of(&w->group_index, key, &is_new);
	if (i >= w->cap_groups) {
		w->cap_groups = w->cap_groups ? 2 * w->cap_groups : 256;
		w->groups = mem_realloc(w->groups, w->cap_groups * sizeof(*w->groups));
	}
	if (is_new)
		w->groups[i] = (struct group){ .reset_at = -1 };
	return &w->groups[i];
}

static bool is_gauge(enum metrics_signal signal)
{
	return metrics_signals[signal].kind == METRICS_GAUGE_SUM ||
	       metrics_signals[signal].kind == METRICS_GAUGE_MAX;
}

/* Of another software that shares the page, or an older name beside the newer one. */
static bool is_passed_over(const struct metrics_window *w, const struct reading *now)
{
	return metrics_rows[now->match.row].software != w->software ||
	       now->match.alternative != w->rows[now->match.row].alternative;
}

static void mark_resets(struct metrics_window *w, bool restarted)
{
	for (size_t i = 0; i < w->n_now; i++) {
		const struct reading *now = &w->now[i];
		enum metrics_signal signal = metrics_rows[now->match.row].signal;
		if (is_passed_over(w, now) || is_gauge(signal))
			continue;
		const struct series *s = series_of(w, now);
		bool went_back = s->look >= 0 && now->value < s->value;
		struct group *group = group_of(w, now->group);
		if ((!went_back && !(restarted && s->look >= 0)) || group->reset_at == w->n_looks)
			continue;
		group->reset_at = w->n_looks;
		group->n_resets++;
		if (group->n_resets > w->signals[signal].n_resets)
			w->signals[signal].n_resets = group->n_resets;
	}
}

static void fold_gauge(struct signal_now *to, enum metrics_kind kind, double value)
{
	if (isnan(to->value))
		to->value = value;
	else if (kind == METRICS_GAUGE_SUM)
		to->value += value;
	else
		to->value = fmax(to->value, value);
}

/* Adds what a counter has grown by to the signal that its row is for. */
static void fold_growth(struct signal_now *to, const struct metrics_match *match, double grown)
{
	const struct metrics_row *row = &metrics_rows[match->row];
	double scale = row->scale > 0 && row->role != METRICS_VALUE ? row->scale : 1;
	if (row->role == METRICS_COUNT || match->part == METRICS_PART_COUNT) {
		to->count += grown;
		to->count_ever += grown;
	} else if (match->part != METRICS_PART_BUCKET) {
		to->value += scale * grown;
		to->value_ever += scale * grown;
	}
}

static void fold(struct metrics_window *w)
{
	for (int i = 0; i < METRICS_N_SIGNALS; i++)
		if (is_gauge(i))
			w->signals[i].value = NAN;
	for (size_t i = 0; i < w->n_now; i++) {
		const struct reading *now = &w->now[i];
		enum metrics_signal signal = metrics_rows[now->match.row].signal;
		if (is_passed_over(w, now))
			continue;
		if (is_gauge(signal)) {
			fold_gauge(&w->signals[signal], metrics_signals[signal].kind, now->value);
			continue;
		}
		struct series *s = series_of(w, now);
		bool reset = group_of(w, now->group)->reset_at == w->n_looks;
		/* Of the first look of all nothing is known but where it stands. */
		double before = w->n_looks == 0 ? now->value : s->look < 0 || reset ? 0 : s->value;
		s->grown += now->value - before;
		s->value = now->value;
		s->look = w->n_looks;
		fold_growth(&w->signals[signal], &s->match, now->value - before);
	}
}

/* Every second look goes, but for the first; the newest comes next. */
static void thin_looks(struct metrics_window *w)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->n_kept; i += 2)
		w->looks[kept++] = w->looks[i];
	w->n_kept = kept;
	w->period_ns *= 2;
}

static void keep_look(struct metrics_window *w, int64_t at_ns)
{
	if (w->n_kept == METRICS_LOOKS_MAX)
		thin_looks(w);
	struct look *look = &w->looks[w->n_kept++];
	look->at_ns = at_ns;
	for (int i = 0; i < METRICS_N_SIGNALS; i++)
		look->signals[i] = (struct look_value){ w->signals[i].value, w->signals[i].count };
}

static void keep_recent(struct metrics_window *w, int64_t at_ns)
{
	struct look *look = &w->recent[w->recent_at];
	w->recent_at = (w->recent_at + 1) % METRICS_RECENT;
	w->n_recent += w->n_recent < METRICS_RECENT;
	look->at_ns = at_ns;
	for (int i = 0; i < METRICS_N_SIGNALS; i++) {
		const struct signal_now *now = &w->signals[i];
		look->signals[i] =
		        is_gauge(i) ? (struct look_value){ now->value, 0 }
		                    : (struct look_value){ now->value_ever, now->count_ever };
	}
}

bool metrics_window_add(struct metrics_window *w, struct str text, int64_t at_ns, struct err *err)
{
	struct reader r = { .w = w, .start_time = NAN };
	struct prometheus_page page;
	w->n_now = 0;
	exporters_look(&w->exporters);
	if (w->n_series >= METRICS_SERIES_MAX || !prometheus_read(text, on_sample, &r, &page))
		return err_set(
		        err, ERR_INPUT, _("the page has more than %d series"), METRICS_SERIES_MAX);
	if (page.n_samples == 0 && page.n_broken > 0)
		return err_set(err, ERR_INPUT, _("that is no page of metrics"));
	w->n_samples = page.n_samples;
	w->n_broken = page.n_broken;
	settle_software(w, r.votes);
	/* A clock that is adjusted may move it a little. */
	mark_resets(w, fabs(r.start_time - w->start_time) > 1);
	w->start_time = r.start_time;
	fold(w);
	w->n_looks++;
	w->last_ns = at_ns;
	exporters_tell(&w->exporters, at_ns);
	keep_recent(w, at_ns);
	if (w->begun)
		keep_look(w, at_ns);
	return true;
}

void metrics_window_begin(struct metrics_window *w)
{
	for (size_t i = 0; i < w->n_series; i++)
		w->series[i].grown = 0;
	for (size_t i = 0; i < w->group_index.n; i++)
		w->groups[i].n_resets = 0;
	for (int i = 0; i < METRICS_N_SIGNALS; i++) {
		w->signals[i].n_resets = 0;
		w->signals[i].count = 0;
		if (!is_gauge(i))
			w->signals[i].value = 0;
	}
	exporters_begin(&w->exporters);
	w->n_kept = 0;
	w->begun = true;
	if (w->n_looks > 0)
		keep_look(w, w->last_ns);
}
