/*
 * watch_signals.h - signals while a terminal is taken. Handlers only note what was asked for, or
 * give the terminal back by what was prepared for them; for watch_terminal.c.
 */
#ifndef VENTURI_CMD_WATCH_SIGNALS_H
#define VENTURI_CMD_WATCH_SIGNALS_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <termios.h>

enum { WATCH_RESCUE_BYTES = 512 };

enum watch_signals_wish {
	WATCH_WISH_NOTHING,
	WATCH_WISH_REDRAW, /* SIGWINCH, SIGCONT */
	WATCH_WISH_STOP,   /* SIGTSTP */
	WATCH_WISH_END,    /* SIGINT, SIGTERM, SIGHUP */
};

/* Takes the signals over; the handlers of SIGINT and SIGTERM that were there are called, too. */
bool watch_signals_catch(struct err *err) NODISCARD;
void watch_signals_release(void);

/*
 * What a handler, or exit(), has to send and set to give the terminal back.
 *
 * text, modes  text must stay; NULL: there is nothing to give back
 */
void watch_signals_rescue(const char *text, const struct termios *modes);

/* Readable when there is a wish. */
int watch_signals_fd(void);
/* The gravest wish since the last call. */
enum watch_signals_wish watch_signals_take(void);

/* Stops the program as SIGTSTP does; returns when it is continued. */
void watch_signals_stop(void);

#endif
