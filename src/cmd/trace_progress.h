/*
 * trace_progress.h - a line on the terminal while a trace is read: which file, and how much of it.
 *
 * A thread of its own looks twice a second; nothing is shown of what is done before that, nor where
 * stderr is no terminal. Between start and stop nobody else may write progress.
 */
#ifndef VENTURI_CMD_TRACE_PROGRESS_H
#define VENTURI_CMD_TRACE_PROGRESS_H

struct trace_progress;

/* NULL when there is nobody to see it; the functions below take that. */
struct trace_progress *trace_progress_start(void);
/* A file is about to be read; path must stay. NULL: all are read, they are being analysed. */
void trace_progress_file(struct trace_progress *p, const char *path);
void trace_progress_stop(struct trace_progress *p);

#endif
