/*
 * psi.h - files of pressure stall information, of the machine or of a group.
 */
#ifndef VENTURI_WATCH_PSI_H
#define VENTURI_WATCH_PSI_H

#include "watch/board.h"
#include "watch/procfile.h"

enum { PSI_PARTS_MAX = 8 };

struct psi_part {
	const char *resource; /* "cpu", "memory", "io": parts of one resource are neighbours */
	const char *line;     /* "some", "full" */
};

/* Rows and parts of the same length belong together. A zeroed one is closed. */
struct psi {
	const struct psi_part *parts;
	size_t n;
	struct channel *channels[PSI_PARTS_MAX];
	struct procfile files[PSI_PARTS_MAX];
	int code[PSI_PARTS_MAX]; /* why a file is not open */
};

void psi_init(struct psi *p, const struct watch_row *rows, const struct psi_part *parts, size_t n,
        struct board *board, const char *instance);
/* The files are root/folder/RESOURCEsuffix; one that is missing says so at each sample. */
void psi_open(struct psi *p, const char *root, const char *folder, const char *suffix);
void psi_sample(struct psi *p);
void psi_absent(struct psi *p, enum signal_state state, const char *reason);
void psi_close(struct psi *p);

/* A clause for errno of an open or a read. */
const char *psi_why_not(int code);

/* The total of a line; false when there is none that is whole. */
bool psi_total_us(struct str text, const char *line, uint64_t *ret_total) NODISCARD;

#endif
