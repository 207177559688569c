#include "cmd/watch_signals.h"

#include "base/i18n.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a signal does here. */
static const struct caught {
	int number;
	enum watch_signals_wish wish; /* NOTHING: the program ends, as it would have without us */
} table[] = {
	{ SIGINT, WATCH_WISH_END },
	{ SIGTERM, WATCH_WISH_END },
	{ SIGHUP, WATCH_WISH_END },
	{ SIGTSTP, WATCH_WISH_STOP },
	{ SIGWINCH, WATCH_WISH_REDRAW },
	{ SIGCONT, WATCH_WISH_REDRAW },
	{ SIGQUIT, WATCH_WISH_NOTHING },
	{ SIGABRT, WATCH_WISH_NOTHING },
	{ SIGSEGV, WATCH_WISH_NOTHING },
	{ SIGBUS, WATCH_WISH_NOTHING },
	{ SIGFPE, WATCH_WISH_NOTHING },
	{ SIGILL, WATCH_WISH_NOTHING },
	{ SIGSYS, WATCH_WISH_NOTHING },
	{ SIGTRAP, WATCH_WISH_NOTHING },
	{ SIGXCPU, WATCH_WISH_NOTHING },
	{ SIGUSR1, WATCH_WISH_NOTHING },
	{ SIGUSR2, WATCH_WISH_NOTHING },
	{ SIGALRM, WATCH_WISH_NOTHING },
};

static struct sigaction before[ARRAY_LEN(table)];
static atomic_int wishes; /* a bit for each */
static int wake[2] = { -1, -1 };

static struct termios rescue_modes;
static const char *_Atomic rescue_text;
static atomic_size_t rescue_bytes;

/* Once, from whichever thread or handler comes first. */
static void rescue(void)
{
	const char *text = atomic_exchange(&rescue_text, NULL);
	if (!text)
		return;
	ssize_t n = write(STDOUT_FILENO, text, atomic_load(&rescue_bytes));
	(void)n;
	tcsetattr(STDIN_FILENO, TCSANOW, &rescue_modes);
}

void watch_signals_rescue(const char *text, const struct termios *modes)
{
	static bool registered;
	if (text) {
		rescue_modes = *modes;
		atomic_store(&rescue_bytes, strlen(text));
		if (!registered)
			registered = atexit(rescue) == 0;
	}
	atomic_store(&rescue_text, text);
}

static size_t place_of(int number)
{
	size_t i = 0;
	while (i + 1 < ARRAY_LEN(table) && table[i].number != number)
		i++;
	return i;
}

/* As the program would have ended without us: the handler of before, or the kernel. */
static void end_as_before(int number)
{
	rescue();
	sigaction(number, &before[place_of(number)], NULL);
	raise(number);
}

static void note(enum watch_signals_wish wish)
{
	atomic_fetch_or(&wishes, 1 << wish);
	ssize_t n = write(wake[1], "", 1);
	(void)n;
}

static void on_signal(int number)
{
	int saved = errno;
	enum watch_signals_wish wish = table[place_of(number)].wish;
	static atomic_bool asked;
	if (wish == WATCH_WISH_NOTHING ||
	        (wish == WATCH_WISH_END && atomic_exchange(&asked, true))) {
		end_as_before(number);
		errno = saved;
		return;
	}
	void (*handler)(int) = before[place_of(number)].sa_handler;
	if (wish == WATCH_WISH_END && handler != SIG_DFL && handler != SIG_IGN) {
		/* It was to be called once; the next time the program ends. */
		before[place_of(number)].sa_handler = SIG_DFL;
		handler(number);
	}
	note(wish);
	errno = saved;
}

static bool open_wake(struct err *err)
{
	if (wake[0] >= 0 || pipe2(wake, O_NONBLOCK | O_CLOEXEC) == 0)
		return true;
	return err_set(err, ERR_SYSTEM, _("cannot make a pipe: %s"), strerror(errno));
}

/* A stack that has run over cannot bear the handler that tells of it. */
static void set_spare_stack(void)
{
	static char memory[1 << 16];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	sigaltstack(&stack, NULL);
}

bool watch_signals_catch(struct err *err)
{
	if (!open_wake(err))
		return false;
	set_spare_stack();
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		sigaction(table[i].number, NULL, &before[i]);
		/* Who ignores hang-ups, as nohup does, goes on ignoring them. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(table[i].number, &action, NULL);
	}
	return true;
}

void watch_signals_release(void)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		sigaction(table[i].number, &before[i], NULL);
	atomic_store(&wishes, 0);
}

int watch_signals_fd(void)
{
	return wake[0];
}

enum watch_signals_wish watch_signals_take(void)
{
	char bytes[64];
	while (read(wake[0], bytes, sizeof(bytes)) > 0)
		continue;
	int taken = atomic_exchange(&wishes, 0);
	for (int wish = WATCH_WISH_END; wish > WATCH_WISH_NOTHING; wish--)
		if (taken & 1 << wish)
			return (enum watch_signals_wish)wish;
	return WATCH_WISH_NOTHING;
}

void watch_signals_stop(void)
{
	struct sigaction ours, dfl = { .sa_handler = SIG_DFL };
	sigaction(SIGTSTP, &dfl, &ours);
	raise(SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
}
