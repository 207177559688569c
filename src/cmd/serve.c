/*
 * venturi serve: runs venturi-serve, as git runs its commands: the one beside this program, else
 * the one in PATH.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"

#include "base/i18n.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char program[] = "venturi-serve";

int cmd_serve(int argc, char **argv)
{
	struct arena run = { 0 };
	struct err err;
	char own[PATH_MAX], beside[PATH_MAX + sizeof(program)];
	char **args = arena_new_n(&run, char *, (size_t)argc + 2);
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	args[0] = (char *)program;
	if (argc > 0)
		memcpy(args + 1, argv, (size_t)argc * sizeof(*args));
	if (n > 0) {
		own[n] = '\0';
		char *slash = strrchr(own, '/');
		snprintf(beside, sizeof(beside), "%.*s%s", (int)(slash - own + 1), own, program);
		execv(beside, args);
	}
	execvp(program, args);
	err_set(&err, ERR_SYSTEM, _("cannot run '%s': %s"), program, strerror(errno));
	arena_release(&run);
	return cmd_fail(&err);
}
