/*
 * watch_terminal.h - a terminal taken for a screen and given back, whatever happens: the modes of
 * its line, its alternate screen, its cursor; and the signals that end, stop or resize a program
 * on a terminal.
 *
 * One at a time, by the main thread. What a signal asks for is told by watch_terminal_wait; only a
 * crash, SIGQUIT and a second SIGINT, SIGTERM or SIGHUP act at once: they give the terminal back
 * and end the program as if this module were not there.
 */
#ifndef VENTURI_CMD_WATCH_TERMINAL_H
#define VENTURI_CMD_WATCH_TERMINAL_H

#include "base/attr.h"
#include "base/err.h"
#include "report/screen_cells.h"

#include <stdbool.h>

/* Can the terminal on standard input and output move its cursor? ret_why: translated. */
bool watch_terminal_is_fit(const char **ret_why);

bool watch_terminal_enter(struct err *err) NODISCARD;
void watch_terminal_leave(void);

void watch_terminal_size(int *ret_rows, int *ret_columns);

/* Shows a grid; only what changed is sent. */
void watch_terminal_show(const struct screen *s);

/* What happened. */
enum watch_event {
	WATCH_NOTHING,
	WATCH_KEY,    /* there are keys: watch_terminal_key */
	WATCH_REDRAW, /* another size, or back from a stop */
	WATCH_END,    /* asked to end, or the terminal is gone */
};

/* Waits for something to happen, at most so long. */
enum watch_event watch_terminal_wait(int milliseconds);

/* The next key as curses has it (KEY_UP ... or a character); -1: none. */
int watch_terminal_key(void);

#endif
