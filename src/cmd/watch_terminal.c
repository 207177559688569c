#include "cmd/watch_terminal.h"

#include "cmd/watch_signals.h"
#include "cmd/watch_terminfo.h"

#include "base/i18n.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static SCREEN *screen;
static short pairs[SCREEN_N_ATTRS]; /* of colours; 0: none */

bool watch_terminal_is_fit(const char **ret_why)
{
	const char *term = getenv("TERM");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		*ret_why = _("standard input and output are no terminal");
	else if (!term || !*term)
		*ret_why = _("TERM is not set");
	else
		*ret_why = watch_terminfo_unfit(term);
	return !*ret_why;
}

static void set_up_colours(void)
{
	static const short colours[SCREEN_N_ATTRS] = {
		[SCREEN_SPARK] = COLOR_CYAN,
		[SCREEN_MARKED] = COLOR_RED,
	};
	const char *no = getenv("NO_COLOR");
	if ((no && *no) || !has_colors() || start_color() != OK)
		return;
	use_default_colors();
	for (short i = 0; i < SCREEN_N_ATTRS; i++)
		if (colours[i] && init_pair(i, colours[i], -1) == OK)
			pairs[i] = i;
}

static attr_t look_of(uint8_t attr)
{
	static const attr_t looks[SCREEN_N_ATTRS] = {
		[SCREEN_PLAIN] = A_NORMAL,
		[SCREEN_DIM] = A_DIM,
		[SCREEN_STRONG] = A_BOLD,
		[SCREEN_BAR] = A_REVERSE,
		[SCREEN_SPARK] = A_NORMAL,
		[SCREEN_MARKED] = A_BOLD,
	};
	return looks[attr];
}

bool watch_terminal_enter(struct err *err)
{
	static char rescue[WATCH_RESCUE_BYTES];
	struct termios modes;
	if (tcgetattr(STDIN_FILENO, &modes) != 0)
		return err_set(err, ERR_SYSTEM, _("cannot read the modes of the terminal: %s"),
		        strerror(errno));
	if (!watch_signals_catch(err))
		return false;
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		watch_signals_release();
		return err_set(
		        err, ERR_SYSTEM, _("the terminal that TERM names is not known here"));
	}
	watch_terminfo_rescue(rescue, sizeof(rescue));
	watch_signals_rescue(rescue, &modes);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	set_up_colours();
	return true;
}

void watch_terminal_leave(void)
{
	if (!screen)
		return;
	endwin();
	watch_signals_rescue(NULL, NULL);
	delscreen(screen);
	screen = NULL;
	watch_signals_release();
}

void watch_terminal_size(int *ret_rows, int *ret_columns)
{
	getmaxyx(stdscr, *ret_rows, *ret_columns);
}

static bool is_ascii(const struct screen_cell *c)
{
	return c->width == 1 && (unsigned char)c->text[0] < 0x80;
}

/* Cells of one look, and of ASCII, are sent together; others alone, for who counts otherwise. */
static int run_of(const struct screen *s, int row, int column, char *text, int size)
{
	const struct screen_cell *first = screen_at(s, row, column);
	int n = 0, at = column;
	if (!is_ascii(first)) {
		snprintf(text, (size_t)size, "%s", first->text);
		return first->width > 0 ? first->width : 1;
	}
	for (; at < s->columns && n + 1 < size; at++) {
		const struct screen_cell *c = screen_at(s, row, at);
		if (!is_ascii(c) || c->attr != first->attr)
			break;
		text[n++] = c->text[0] ? c->text[0] : ' ';
	}
	text[n] = '\0';
	return at - column;
}

void watch_terminal_show(const struct screen *s)
{
	char text[256];
	erase();
	for (int row = 0; row < s->rows; row++)
		for (int column = 0; column < s->columns;) {
			const struct screen_cell *c = screen_at(s, row, column);
			int width = run_of(s, row, column, text, sizeof(text));
			attr_set(look_of(c->attr), pairs[c->attr], NULL);
			mvaddstr(row, column, text);
			column += width;
		}
	refresh();
}

/* The kernel knows the size; LINES and COLUMNS of the environment may be old. */
static void resize(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

/* As if the key had stopped a program that knows nothing of it; goes on when that is continued. */
static void stop(void)
{
	endwin();
	watch_signals_stop();
	refresh();
	resize();
}

enum watch_event watch_terminal_wait(int milliseconds)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = watch_signals_fd(), .events = POLLIN } };
	int n = poll(fds, 2, milliseconds);
	enum watch_signals_wish wish = watch_signals_take();
	if (wish == WATCH_WISH_END || (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
		return WATCH_END;
	if (wish == WATCH_WISH_STOP) {
		stop();
		return WATCH_REDRAW;
	}
	if (wish == WATCH_WISH_REDRAW) {
		resize();
		return WATCH_REDRAW;
	}
	return n > 0 && (fds[0].revents & POLLIN) ? WATCH_KEY : WATCH_NOTHING;
}

int watch_terminal_key(void)
{
	int key = getch();
	return key == ERR ? -1 : key;
}
