/*
 * nsys_words.h - the words of Nsight Systems for copies and memory, and the names that copies get:
 * those of CUPTI's other clients, "Memcpy HtoD (Pageable -> Device)", so that two traces of one
 * program compare.
 */
#ifndef VENTURI_TRACE_READERS_NSYS_WORDS_H
#define VENTURI_TRACE_READERS_NSYS_WORDS_H

#include "trace/timeline/timeline.h"

struct nsys_copy_word {
	const char *name, *label; /* "HtoD", "Host-to-Device" */
	enum copy_kind kind;
};

struct nsys_memory_word {
	const char *name; /* NULL: not known */
	enum memory_kind kind;
};

/* By copyKind; the one that is not known for a number that is not. */
const struct nsys_copy_word *nsys_copy_word(int64_t kind);
/* By name or label; the one that is not known for a word that is not. */
const struct nsys_copy_word *nsys_copy_word_find(struct str word);
/* By srcKind, dstKind, memKind. */
const struct nsys_memory_word *nsys_memory_word(int64_t kind);
const struct nsys_memory_word *nsys_memory_word_find(struct str word);

/* Name and detail of a copy or a memset into e; bytes -1: not told. */
void nsys_name_copy(struct timeline *t, struct event *e, const struct nsys_copy_word *word,
        const struct nsys_memory_word *from, const struct nsys_memory_word *to, int64_t bytes);
void nsys_name_memset(
        struct timeline *t, struct event *e, const struct nsys_memory_word *to, int64_t bytes);

#endif
