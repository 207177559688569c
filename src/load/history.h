/*
 * history.h - what has been said in a conversation, ready to stand in the body of a request: the
 * messages of a chat, with commas between them, or the inside of one JSON string, with line ends
 * between what each side said.
 *
 * Always: a history is valid JSON in its place, whatever the service answered. Plain functions on a
 * buffer; any thread.
 */
#ifndef VENTURI_LOAD_HISTORY_H
#define VENTURI_LOAD_HISTORY_H

#include "base/str.h"

#include <stdbool.h>

/*
 * Appends what is JSON already: a message, or the inside of a string. Nothing where part is empty.
 *
 * messages   a history of messages, else of text
 */
void history_add(struct buf *h, bool messages, struct str part);

/* Appends text that somebody says; role is "user", "assistant", ... */
void history_add_text(struct buf *h, bool messages, const char *role, struct str text);

/*
 * Appends the service's answer.
 *
 * raw       the strings of its events as they stood there, one after the other, escapes unresolved:
 *           a pair of surrogates may have been cut between two events. What is no text (half a
 *           pair, an unknown escape, invalid UTF-8) becomes what can be told of it, or U+FFFD.
 * scratch   overwritten
 */
void history_add_answer(struct buf *h, bool messages, struct str raw, struct buf *scratch);

#endif
