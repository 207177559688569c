#include "watch/keyed.h"

#include "watch/procfile.h"

#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void keyed_init(struct keyed *f, const struct watch_row *rows, const struct keyed_name *keys,
        size_t n, struct board *board, const char *instance, struct arena *run)
{
	*f = (struct keyed){
		.rows = rows,
		.keys = keys,
		.n = n,
		.channels = arena_new_n(run, struct channel *, n),
		.values = arena_new_n(run, struct keyed_value, n),
	};
	for (size_t i = 0; i < n; i++)
		f->channels[i] = board_channel(board, &rows[i], instance);
}

void keyed_clear(struct keyed *f)
{
	memset(f->values, 0, f->n * sizeof(*f->values));
}

static bool is_meant(const struct keyed_name *key, struct str name)
{
	size_t len = strlen(key->name);
	if (name.len < len || (!key->begins && name.len != len))
		return false;
	return memcmp(name.s, key->name, len) == 0;
}

static void take(struct keyed *f, struct str name, struct str number)
{
	uint64_t value;
	for (size_t i = 0; i < f->n; i++) {
		if (!is_meant(&f->keys[i], name) || !procfile_u64(number, &value))
			continue;
		f->values[i].value += value;
		f->values[i].found = true;
	}
}

/* A line without its end may have been cut off inside a number, so it is not taken. */
static bool next_line(struct str *text, struct str *ret_line)
{
	if (text->len == 0 || !memchr(text->s, '\n', text->len))
		return false;
	*ret_line = procfile_line(text);
	return true;
}

void keyed_lines(struct keyed *f, struct str text)
{
	struct str line;
	while (next_line(&text, &line)) {
		struct str name = procfile_word(&line);
		if (str_ends(name, STR(":")))
			name.len--;
		take(f, name, procfile_word(&line));
	}
}

void keyed_columns(struct keyed *f, struct str text, const char *head)
{
	struct str names, values;
	while (next_line(&text, &names)) {
		if (!str_eq(procfile_word(&names), str_of(head)))
			continue;
		if (!next_line(&text, &values) || !str_eq(procfile_word(&values), str_of(head)))
			return;
		struct str name;
		while ((name = procfile_word(&names)).len)
			take(f, name, procfile_word(&values));
		return;
	}
}

/* Is it "head name"? */
static bool is_pair(const char *key, struct str head, struct str name)
{
	struct str rest = str_of(key);
	return str_eq(str_cut(rest, ' ', &rest), head) && str_eq(rest, name);
}

void keyed_pairs(struct keyed *f, struct str text)
{
	struct str line, name;
	while (next_line(&text, &line)) {
		struct str head = procfile_word(&line);
		while ((name = procfile_word(&line)).len) {
			struct str number = procfile_word(&line);
			for (size_t i = 0; i < f->n; i++)
				if (is_pair(f->keys[i].name, head, name))
					f->values[i].found =
					        procfile_u64(number, &f->values[i].value);
		}
	}
}

void channel_number(struct channel *c, const struct watch_row *row, uint64_t number)
{
	if (row->kind == WATCH_RATE)
		channel_total(c, number);
	else
		channel_value(c, (double)number * (row->scale > 0 ? row->scale : 1));
}

void keyed_write(struct keyed *f, const char *path)
{
	char reason[BOARD_REASON_BYTES];
	for (size_t i = 0; i < f->n; i++) {
		if (f->values[i].found) {
			channel_number(f->channels[i], &f->rows[i], f->values[i].value);
			continue;
		}
		snprintf(reason, sizeof(reason), _("'%s' has no '%s'"), path, f->keys[i].name);
		channel_absent(f->channels[i], SIGNAL_NOT_SUPPORTED,
		        f->values[i].why ? f->values[i].why : reason);
	}
}

void keyed_absent(struct keyed *f, enum signal_state state, const char *reason)
{
	for (size_t i = 0; i < f->n; i++)
		channel_absent(f->channels[i], state, reason);
}

void channel_unreadable(struct channel *c, const char *path, int code)
{
	char reason[BOARD_REASON_BYTES];
	bool is_gone = code == ESRCH || code == ENODEV;
	snprintf(reason, sizeof(reason), _("cannot read '%s': %s"), path, strerror(code));
	channel_absent(c, is_gone ? SIGNAL_NOT_COUNTED : SIGNAL_NOT_SUPPORTED, reason);
}

void keyed_unreadable(struct keyed *f, const char *path, int code)
{
	for (size_t i = 0; i < f->n; i++)
		channel_unreadable(f->channels[i], path, code);
}
