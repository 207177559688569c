/*
 * intern.h - equal bytes kept once, under a number: the names of a trace, and its small records
 * that recur (the shape of a launch, the arguments of an operator).
 *
 * Number 0 is always the empty string. Numbers are given in the order of arrival. The bytes of a
 * number stay where they are until release, aligned to 8. A zeroed struct is empty; one thread
 * at a time.
 */
#ifndef VENTURI_TRACE_INTERN_H
#define VENTURI_TRACE_INTERN_H

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct intern {
	struct arena bytes;
	struct str *items; /* [n] */
	uint32_t n, cap;
	uint32_t *slots;  /* [n_slots], number + 1; 0 is empty */
	uint32_t *hashes; /* [cap], of the items */
	uint32_t n_slots;
};

/* The number of these bytes. More than 2^31 different ones end the program. */
uint32_t intern_add(struct intern *t, struct str bytes);
struct str intern_str(const struct intern *t, uint32_t number);
/* The number of these bytes, or -1 when they were never added. */
int64_t intern_find(const struct intern *t, struct str bytes);
void intern_release(struct intern *t);

#endif
