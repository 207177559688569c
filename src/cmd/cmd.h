/*
 * cmd.h - the table of subcommands.
 */
#ifndef VENTURI_CMD_CMD_H
#define VENTURI_CMD_CMD_H

/* Each gets the arguments after its own word and returns the exit code. */
int cmd_load(int argc, char **argv);
int cmd_diagnose(int argc, char **argv);
int cmd_log(int argc, char **argv);
int cmd_records(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_trace_diff(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_serve(int argc, char **argv);

#endif
