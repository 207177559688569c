/*
 * kineto.h - the two halves of the Kineto reader: its events (kineto.c), and what stands beside
 * them in the file (kineto_member.c).
 */
#ifndef VENTURI_TRACE_READERS_KINETO_H
#define VENTURI_TRACE_READERS_KINETO_H

#include "trace/scan/chrome.h"
#include "trace/reader.h"

extern const struct chrome_dialect kineto_dialect;

void kineto_member(struct chrome_part *part, struct str key, struct str value);

#endif
