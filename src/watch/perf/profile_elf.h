/*
 * profile_elf.h - names from programs and libraries, by libelf: their own tables of symbols, those
 * of a file of debug information that belongs to them (/usr/lib/debug/.build-id), and, where a name
 * was stripped off, where functions begin, by the table of .eh_frame_hdr.
 *
 * Source: System V ABI, chapter 4; Linux Standard Base, .eh_frame_hdr.
 */
#ifndef VENTURI_WATCH_PROFILE_ELF_H
#define VENTURI_WATCH_PROFILE_ELF_H

#include "watch/perf/profile_names.h"

enum { PROFILE_BUILD_ID_BYTES = 41 };

/*
 * set           its addresses are places in the file
 * ret_build_id  hexadecimal; empty: it has none
 * returns       false: it is no ELF file, or we were built without libelf
 */
bool profile_elf_read(
        struct names *set, int fd, char ret_build_id[PROFILE_BUILD_ID_BYTES]) NODISCARD;

/* The same of the kernel's vDSO, which is the same in all processes. */
bool profile_elf_read_vdso(struct names *set) NODISCARD;

/* Why profile_elf_read finds no names; NULL: it does find them. */
const char *profile_elf_why_not(void);

#endif
