/*
 * child.h - a process that does something known when told, and says what it did.
 */
#ifndef VENTURI_TESTS_CHILD_H
#define VENTURI_TESTS_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	int pid;
	int go_fd, answer_fd;
};

/* Waits in the child until the test says go. */
static inline void child_wait(int fd)
{
	char c;
	if (read(fd, &c, 1) != 1)
		_exit(1);
}

/*
 * do_it runs in a process of its own: it is given the descriptor of child_wait, and that of its
 * answer, to which it writes what the test reads by child_get.
 */
static inline struct child child_start(void (*do_it)(int go_fd, int answer_fd))
{
	int go[2], answer[2];
	if (pipe(go) != 0 || pipe(answer) != 0)
		abort();
	int pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		close(answer[0]);
		do_it(go[0], answer[1]);
		_exit(0);
	}
	close(go[0]);
	close(answer[1]);
	return (struct child){ pid, go[1], answer[0] };
}

static inline void child_go(const struct child *c)
{
	if (write(c->go_fd, "g", 1) != 1)
		abort();
}

static inline bool child_get(const struct child *c, void *to, size_t size)
{
	return read(c->answer_fd, to, size) == (ssize_t)size;
}

static inline void child_put(int answer_fd, const void *from, size_t size)
{
	if (write(answer_fd, from, size) != (ssize_t)size)
		_exit(1);
}

static inline void child_end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->go_fd);
	close(c->answer_fd);
}

#endif
