#include "watch/pages/exporters.h"

#include "watch/pages/metrics_map.h"

#include "base/i18n.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counters beyond it are no counters; sums of all series still fit into 64 bits. */
static const double total_max = 1e18;

void exporters_release(struct exporters *e)
{
	board_free(e->board);
	free(e->cells);
	*e = (struct exporters){ 0 };
}

void exporters_look(struct exporters *e)
{
	e->metric = (struct str){ 0 };
	for (size_t i = 0; i < e->cap; i++) {
		struct exporter_cell *c = &e->cells[i];
		c->part = c->whole = 0;
		c->has_part = c->has_whole = false;
	}
}

/* Source: Fowler, Noll and Vo, FNV-1a; never 0. */
static uint64_t key_of(size_t row, const char *instance)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ row;
	hash *= UINT64_C(0x100000001b3);
	for (; *instance; instance++)
		hash = (hash ^ (unsigned char)*instance) * UINT64_C(0x100000001b3);
	return hash | 1;
}

static struct exporter_cell *find(struct exporter_cell *cells, size_t cap, uint64_t key)
{
	size_t at = (size_t)(key >> 1) & (cap - 1);
	while (cells[at].key && cells[at].key != key)
		at = (at + 1) & (cap - 1);
	return &cells[at];
}

static void grow(struct exporters *e)
{
	size_t cap = e->cap ? 2 * e->cap : 256;
	struct exporter_cell *larger = mem_zeroed(cap, sizeof(*larger));
	for (size_t i = 0; i < e->cap; i++)
		if (e->cells[i].key)
			*find(larger, cap, e->cells[i].key) = e->cells[i];
	free(e->cells);
	e->cells = larger;
	e->cap = cap;
}

/* NULL: there are too many. */
static struct exporter_cell *cell_of(struct exporters *e, size_t row, const char *instance)
{
	if (!e->board)
		e->board = board_new();
	if (2 * (e->n_cells + 1) > e->cap)
		grow(e);
	uint64_t key = key_of(row, instance);
	struct exporter_cell *c = find(e->cells, e->cap, key);
	if (c->key)
		return c;
	if (e->n_cells == EXPORTER_CELLS_MAX)
		return NULL;
	e->n_cells++;
	*c = (struct exporter_cell){
		.key = key,
		.row = row,
		.channel = board_channel(
		        e->board, &exporter_rows[row].row, instance[0] ? instance : NULL),
	};
	return c;
}

static bool passes(const struct exporter_feed *feed, const struct prometheus_sample *s)
{
	if (!feed->label)
		return true;
	const struct str *value = prometheus_label(s, str_of(feed->label));
	return (value && metrics_one_of(feed->values, *value, NULL)) != feed->others;
}

/* "cpu3", "eth0", "0", and "0/mig7" of a part of a device; false: the sample tells of no instance.
 */
static bool name_instance(const struct exporter_row *row, const struct prometheus_sample *s,
        char buf[EXPORTER_INSTANCE_BYTES])
{
	buf[0] = '\0';
	if (!row->instance)
		return true;
	const struct str *value = prometheus_label(s, str_of(row->instance));
	const struct str *part = prometheus_label(s, str_of(exporter_part_label));
	if (!value || value->len == 0 || value->len > EXPORTER_INSTANCE_BYTES / 2)
		return false;
	for (size_t i = 0; i < value->len; i++)
		if ((unsigned char)value->s[i] < ' ' || value->s[i] == 0x7f)
			return false;
	bool is_part = part && part->len > 0 && part->len < EXPORTER_INSTANCE_BYTES / 4;
	snprintf(buf, EXPORTER_INSTANCE_BYTES, "%s%.*s%s%.*s", row->before ? row->before : "",
	        STR_ARG(*value), is_part ? "/mig" : "", is_part ? (int)part->len : 0,
	        is_part ? part->s : "");
	return true;
}

static double count_of(const struct exporter_feed *feed, double value)
{
	switch (feed->role) {
	case EXPORTER_SERIES:
		return 1;
	case EXPORTER_BIT:
		return value >= 0 && value < 0x1p32 && ((unsigned)value & feed->mask) ? 1 : 0;
	case EXPORTER_VALUE:
	case EXPORTER_WHOLE:
		break;
	}
	return value * (feed->times > 0 ? feed->times : 1);
}

static void fold(double *to, bool *has, double value, bool sums)
{
	*to = !*has ? value : sums ? *to + value : fmax(*to, value);
	*has = true;
}

void exporters_sample(struct exporters *e, const struct prometheus_sample *s)
{
	if (!str_eq(s->name, e->metric)) {
		e->metric = s->name;
		e->n_matches = exporter_lookup(s->name, e->matches);
	}
	for (size_t i = 0; i < e->n_matches && fabs(s->value) <= total_max; i++) {
		const struct exporter_match *match = &e->matches[i];
		const struct exporter_row *row = &exporter_rows[match->row];
		char instance[EXPORTER_INSTANCE_BYTES];
		if (!passes(match->feed, s) || !name_instance(row, s, instance))
			continue;
		struct exporter_cell *c = cell_of(e, match->row, instance);
		if (!c)
			return;
		double value = count_of(match->feed, s->value);
		bool whole = match->feed->role == EXPORTER_WHOLE;
		fold(whole ? &c->whole : &c->part, whole ? &c->has_whole : &c->has_part, value,
		        row->exporter == EXPORTER_NODE);
		e->seen[row->exporter] = true;
	}
}

static bool is_total(double value)
{
	return value >= 0 && value <= total_max;
}

static void tell_cell(const struct exporter_cell *c)
{
	const struct watch_row *row = &exporter_rows[c->row].row;
	if (!c->has_part || (row->kind == WATCH_SHARE && !c->has_whole))
		channel_absent(
		        c->channel, SIGNAL_NOT_COUNTED, _("the page does not show it any more"));
	else if (row->kind == WATCH_GAUGE)
		channel_value(c->channel, c->part);
	else if (!is_total(c->part) || !is_total(c->whole))
		channel_absent(
		        c->channel, SIGNAL_NOT_COUNTED, _("what the page shows is no count"));
	else if (row->kind == WATCH_SHARE)
		channel_share(c->channel, (uint64_t)llround(c->part), (uint64_t)llround(c->whole));
	else
		channel_total(c->channel, (uint64_t)llround(c->part));
}

void exporters_tell(struct exporters *e, int64_t at_ns)
{
	if (!e->board)
		return;
	board_at(e->board, at_ns);
	for (size_t i = 0; i < e->cap; i++)
		if (e->cells[i].key)
			tell_cell(&e->cells[i]);
}

bool exporters_any(const struct exporters *e)
{
	return e->board != NULL;
}

void exporters_begin(struct exporters *e)
{
	if (e->board)
		board_begin(e->board);
}

void exporters_report(
        const struct exporters *e, int64_t zero_ns, struct arena *run, struct signal_system *to)
{
	*to = (struct signal_system){ 0 };
	if (e->board)
		board_report(e->board, zero_ns, run, to);
}
