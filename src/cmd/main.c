/*
 * venturi: finds what throttles an AI inference service. The table of commands, and what is said
 * when none of them is meant.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"

#include "base/i18n.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
};

static const struct command commands[] = {
	{ "load", cmd_load, N_("load a service; measure latency, throughput, failures") },
	{ "diagnose", cmd_diagnose, N_("say which kind of slow a service is, and why") },
	{ "watch", cmd_watch, N_("watch the machine, processes and a service, on one time axis") },
	{ "trace", cmd_trace, N_("read the trace of a profiler: where device and host time went") },
	{ "log", cmd_log, N_("list and show the runs in the ledger") },
	{ "records", cmd_records, N_("read the records of a load test, one for each request") },
	{ "serve", cmd_serve, N_("run venturi-serve, the reference service") },
};

static void print_help(void)
{
	printf(_("Usage: %s\n\n%s\n"), "venturi COMMAND [options] [arguments]",
		_("Finds what throttles an AI inference service, predicts what each cure would give, "
		  "and proves afterwards what it gave."));
	puts(_("\nCommands:"));
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-10s %s\n", commands[i].name, _(commands[i].what));
	puts(_("\n'venturi COMMAND --help' shows the options of a command, 'venturi --version' the "
	       "version."));
}

/* The language is needed before the options are parsed, for the errors of the parser. */
static const char *language_of(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return NULL;
		if (strncmp(argv[i], "--lang=", 7) == 0)
			return argv[i] + 7;
		if (strcmp(argv[i], "--lang") == 0 && i + 1 < argc)
			return argv[i + 1];
	}
	return NULL;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int unknown(const char *word)
{
	struct err err;
	err_set(&err, ERR_USAGE,
		word[0] == '-' ? _("unknown option '%s'") : _("unknown command '%s'"), word);
	err_hint(&err, _("'venturi --help' lists the commands"));
	return cmd_fail(&err);
}

/* A socket in the place of a closed stream would get what is said to it; writes shall fail. */
static void keep_standard_streams(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	keep_standard_streams();

	/* A language that does not exist is reported by the option parser. */
	if (!i18n_init(language_of(argc, argv)))
		(void)i18n_init(NULL);
	signal(SIGPIPE, SIG_IGN);
	int first = 1;
	while (first < argc && strncmp(argv[first], "--lang", 6) == 0)
		first += strchr(argv[first], '=') ? 1 : 2;
	const char *word = first < argc ? argv[first] : NULL;
	if (!word) {
		print_help();
		return ERR_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		print_help();
		return 0;
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
		printf("venturi %s\n", VENTURI_VERSION);
		return 0;
	}
	const struct command *command = find(word);
	if (!command)
		return unknown(word);
	return command->run(argc - first - 1, argv + first + 1);
}
