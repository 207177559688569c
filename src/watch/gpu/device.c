#include "watch/gpu/device.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum cell_kind { CELL_EMPTY, CELL_VALUE, CELL_TOTAL, CELL_TEXT, CELL_ABSENT };

struct cell {
	enum cell_kind kind;
	enum signal_state state; /* of an absent one */
	const char *from;
	double value;
	uint64_t total;
	int64_t at_ns;
	bool has_counter; /* of device_growth */
	uint64_t counter;
	int64_t counter_ns;
	char words[BOARD_REASON_BYTES]; /* a text or a reason */
	struct channel *channel;
};

struct device {
	struct device_sheets *sheets;
	char instance[DEVICE_INSTANCE_BYTES];
	bool is_new[DEVICE_N_SIGNALS]; /* apart from the cells, to be seen at one glance */
	struct cell cells[DEVICE_N_SIGNALS];
};

struct device_sheets {
	pthread_mutex_t lock;
	struct device *devices[DEVICE_MAX];
	size_t n;
};

struct device_sheets *device_sheets_new(void)
{
	struct device_sheets *s = mem_zeroed(1, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void device_sheets_free(struct device_sheets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->devices[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct device *device_of(struct device_sheets *s, const char *instance)
{
	struct device *d = NULL;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n && !d; i++)
		if (strcmp(s->devices[i]->instance, instance) == 0)
			d = s->devices[i];
	if (!d && s->n < DEVICE_MAX) {
		d = mem_zeroed(1, sizeof(*d));
		d->sheets = s;
		snprintf(d->instance, sizeof(d->instance), "%s", instance);
		s->devices[s->n++] = d;
	}
	pthread_mutex_unlock(&s->lock);
	return d;
}

/* Locks the sheet, for one cell that is new now. */
static struct cell *begin(struct device *d, enum device_signal s, const char *from)
{
	pthread_mutex_lock(&d->sheets->lock);
	struct cell *c = &d->cells[s];
	c->at_ns = clock_now_ns();
	c->from = from;
	d->is_new[s] = true;
	return c;
}

static void end(struct device *d)
{
	pthread_mutex_unlock(&d->sheets->lock);
}

void device_value(struct device *d, enum device_signal s, const char *from, double value)
{
	if (!d)
		return;
	struct cell *c = begin(d, s, from);
	c->kind = CELL_VALUE;
	c->value = value;
	end(d);
}

void device_total(struct device *d, enum device_signal s, const char *from, uint64_t total)
{
	if (!d)
		return;
	struct cell *c = begin(d, s, from);
	c->kind = CELL_TOTAL;
	c->total = total;
	end(d);
}

void device_growth(
        struct device *d, enum device_signal s, const char *from, uint64_t total, double scale)
{
	if (!d)
		return;
	struct cell *c = begin(d, s, from);
	int64_t interval_ns = c->at_ns - c->counter_ns;
	d->is_new[s] = c->has_counter && total >= c->counter && interval_ns > 0;
	if (d->is_new[s]) {
		c->kind = CELL_VALUE;
		c->value = (double)(total - c->counter) * scale / ((double)interval_ns / 1e9);
	}
	c->has_counter = true;
	c->counter = total;
	c->counter_ns = c->at_ns;
	end(d);
}

static bool set_words(struct cell *c, const char *words)
{
	size_t len = strnlen(words, sizeof(c->words) - 1);
	if (strlen(c->words) == len && memcmp(c->words, words, len) == 0)
		return false;
	memcpy(c->words, words, len);
	c->words[len] = '\0';
	return true;
}

void device_text(struct device *d, enum device_signal s, const char *from, const char *text)
{
	if (!d)
		return;
	struct cell *c = begin(d, s, from);
	c->kind = CELL_TEXT;
	set_words(c, text);
	end(d);
}

static void set_absent(
        struct device *d, enum device_signal s, enum signal_state state, const char *reason)
{
	struct cell *c = &d->cells[s];
	bool other_words = set_words(c, reason);
	d->is_new[s] |= c->kind != CELL_ABSENT || c->state != state || other_words;
	c->kind = CELL_ABSENT;
	c->state = state;
	c->has_counter = false;
	c->at_ns = clock_now_ns();
}

void device_absent(
        struct device *d, enum device_signal s, enum signal_state state, const char *reason)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->sheets->lock);
	set_absent(d, s, state, reason);
	pthread_mutex_unlock(&d->sheets->lock);
}

void device_gone(struct device *d, const char *reason)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->sheets->lock);
	for (int i = 0; i < DEVICE_N_SIGNALS; i++) {
		const struct cell *c = &d->cells[i];
		bool nobody_tells = c->kind == CELL_ABSENT && c->state == SIGNAL_NOT_SUPPORTED;
		if (c->kind != CELL_EMPTY && !nobody_tells)
			set_absent(d, (enum device_signal)i, SIGNAL_NOT_COUNTED, reason);
	}
	pthread_mutex_unlock(&d->sheets->lock);
}

static void carry_cell(struct cell *c)
{
	if (c->from && c->kind != CELL_ABSENT)
		channel_from(c->channel, c->from);
	switch (c->kind) {
	case CELL_EMPTY:
		break;
	case CELL_VALUE:
		channel_value(c->channel, c->value);
		break;
	case CELL_TOTAL:
		channel_total(c->channel, c->total);
		break;
	case CELL_TEXT:
		channel_text(c->channel, str_of(c->words));
		break;
	case CELL_ABSENT:
		channel_absent(c->channel, c->state, c->words);
		break;
	}
}

/* The channel of a cell is made when the cell has something to say for the first time. */
static struct channel *channel_of(
        struct board *board, struct device *d, struct cell *c, enum device_signal s)
{
	if (!c->channel)
		c->channel = board_channel(board, &device_rows[s], d->instance);
	return c->channel;
}

/* The board may be on a test's clock: ages are the same on all. */
static void carry_one(struct device *d, enum device_signal s, struct board *board,
        int64_t behind_ns, int64_t not_before_ns)
{
	struct cell *c = &d->cells[s];
	int64_t at_ns = c->at_ns + behind_ns;
	channel_of(board, d, c, s);
	board_at(board, at_ns > not_before_ns ? at_ns : not_before_ns);
	carry_cell(c);
	d->is_new[s] = false;
}

void device_carry(struct device_sheets *s, struct board *board, int64_t not_before_ns)
{
	int64_t board_ns = board_now_ns(board), behind_ns = board_ns - clock_now_ns();
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++)
		for (int j = 0; j < DEVICE_N_SIGNALS; j++)
			if (s->devices[i]->is_new[j])
				carry_one(s->devices[i], (enum device_signal)j, board, behind_ns,
				        not_before_ns);
	pthread_mutex_unlock(&s->lock);
	board_at(board, board_ns);
}

void device_renew(struct device_sheets *s)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++) {
		struct device *d = s->devices[i];
		for (int j = 0; j < DEVICE_N_SIGNALS; j++)
			d->is_new[j] |=
			        d->cells[j].kind != CELL_EMPTY && d->cells[j].kind != CELL_TOTAL;
	}
	pthread_mutex_unlock(&s->lock);
}

void device_silent(struct device_sheets *s, struct board *board, const char *reason)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++) {
		struct device *d = s->devices[i];
		for (int j = 0; j < DEVICE_N_SIGNALS; j++) {
			struct cell *c = &d->cells[j];
			if (c->kind == CELL_EMPTY || c->kind == CELL_ABSENT)
				continue;
			channel_absent(channel_of(board, d, c, (enum device_signal)j),
			        SIGNAL_NOT_COUNTED, reason);
		}
	}
	pthread_mutex_unlock(&s->lock);
}
