/*
 * watch_list.h - every signal that a watch can tell, from the tables that the sources fill from.
 */
#ifndef VENTURI_CMD_WATCH_LIST_H
#define VENTURI_CMD_WATCH_LIST_H

#include "base/str.h"

/* For a terminal, a block for each source. */
void watch_list_text(struct buf *out);
/* docs/signals.md, which scripts/update-signals writes. */
void watch_list_markdown(struct buf *out);
/* Schema venturi.signals/1. */
void watch_list_json(struct buf *out);

#endif
