/*
 * inflate.h - the content of a gzip file, whatever number of members it has, piece by piece.
 *
 * Intel's ISA-L does it where the build has it, zlib otherwise.
 */
#ifndef VENTURI_TRACE_INFLATE_H
#define VENTURI_TRACE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

struct inflater;

/* Reads from where fd stands; fd stays the caller's. */
struct inflater *inflater_new(int fd);
/* Up to n bytes; fewer only at the end, or where the data breaks off. */
size_t inflater_read(struct inflater *f, char *out, size_t n);
/* Whether what was read so far ended early, or in data that cannot be unpacked. */
bool inflater_is_broken(const struct inflater *f);
/* NULL is accepted. */
void inflater_free(struct inflater *f);

#endif
