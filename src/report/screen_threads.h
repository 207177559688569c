/*
 * screen_threads.h - the list of threads, for screen_pages.c.
 */
#ifndef VENTURI_REPORT_SCREEN_THREADS_H
#define VENTURI_REPORT_SCREEN_THREADS_H

#include "report/screen_pages.h"

void screen_threads_make(struct screen_list *l);
void screen_threads_heads(const struct screen_list *l, struct screen *s, int row);
void screen_threads_draw(const struct screen_list *l, size_t i, struct screen *s, int row);

#endif
