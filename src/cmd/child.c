#include "cmd/child.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t grace_ns = 2 * NS_PER_S;
static const int64_t poll_ns = 5 * NS_PER_MS;

/* In the child: waits, becomes the command, or says why it cannot. */
static void become(const struct opt_list *words, int go_fd, int failed_fd)
{
	char go;
	signal(SIGPIPE, SIG_DFL);
	if (read(go_fd, &go, 1) != 1)
		_exit(0);
	execvp(words->items[0], (char *const *)words->items);
	int failed = errno;
	ssize_t written = write(failed_fd, &failed, sizeof(failed));
	_exit(written < 0 ? 126 : 127);
}

bool child_open(struct child *c, const struct opt_list *words, struct err *err)
{
	int go[2], failed[2];
	if (pipe2(go, O_CLOEXEC) != 0)
		return err_set(err, ERR_SYSTEM, _("cannot run '%s': %s"), words->items[0],
		        strerror(errno));
	if (pipe2(failed, O_CLOEXEC) != 0) {
		err_set(err, ERR_SYSTEM, _("cannot run '%s': %s"), words->items[0],
		        strerror(errno));
		close(go[0]);
		close(go[1]);
		return false;
	}
	int pid = fork();
	if (pid == 0) {
		close(go[1]);
		become(words, go[0], failed[1]);
	}
	int why = errno;
	close(go[0]);
	close(failed[1]);
	*c = (struct child){
		.pid = pid, .go_fd = go[1], .failed_fd = failed[0], .name = words->items[0]
	};
	if (pid > 0)
		return true;
	close(go[1]);
	close(failed[0]);
	*c = (struct child){ 0 };
	return err_set(err, ERR_SYSTEM, _("cannot run '%s': %s"), words->items[0], strerror(why));
}

bool child_go(struct child *c, struct err *err)
{
	int why;
	if (write(c->go_fd, "g", 1) != 1)
		return err_set(err, ERR_SYSTEM, _("cannot run '%s': %s"), c->name, strerror(errno));
	ssize_t n;
	do
		n = read(c->failed_fd, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(why))
		return err_set(err, ERR_SYSTEM, _("cannot run '%s': %s"), c->name, strerror(why));
	c->is_running = true;
	return true;
}

/* Waits for its end, at most so long. */
static bool reap(int pid, int64_t at_most_ns, int *ret_status)
{
	int64_t until_ns = clock_now_ns() + at_most_ns;
	for (;;) {
		int got = waitpid(pid, ret_status, WNOHANG);
		if (got == pid)
			return true;
		if (got < 0 && errno != EINTR)
			return false;
		if (clock_now_ns() >= until_ns)
			return false;
		clock_sleep_until(clock_now_ns() + poll_ns);
	}
}

int child_close(struct child *c)
{
	int status = 0;
	if (c->pid <= 0)
		return -1;
	close(c->go_fd);
	close(c->failed_fd);
	bool ended = reap(c->pid, 0, &status);
	if (!ended && c->is_running)
		kill(c->pid, SIGTERM);
	if (!ended)
		ended = reap(c->pid, grace_ns, &status);
	*c = (struct child){ 0 };
	if (!ended)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
