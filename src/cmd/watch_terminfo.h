/*
 * watch_terminfo.h - what terminfo says of a terminal: apart from the rest, since <term.h> takes
 * names like 'columns' for itself.
 */
#ifndef VENTURI_CMD_WATCH_TERMINFO_H
#define VENTURI_CMD_WATCH_TERMINFO_H

#include <stddef.h>

/* Why a screen cannot be shown on such a terminal, translated; NULL: it can. */
const char *watch_terminfo_unfit(const char *term);

/*
 * What undoes curses on the terminal that it is set up for: looks, keypad, cursor, alternate
 * screen, in this order and without delays.
 */
void watch_terminfo_rescue(char *out, size_t size);

#endif
