/*
 * opt.h - command-line options as rows of a table: one row feeds the parser and --help.
 *
 * A row says where its value goes: an offset into the caller's options struct. Rows are matched
 * by exact name; "--name=value", "--name value", "-nvalue", "-n value" and, for flags, "--no-name"
 * are understood, "--" ends the options, and arguments may stand between options.
 */
#ifndef VENTURI_BASE_OPT_H
#define VENTURI_BASE_OPT_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opt_list {
	const char **items;
	size_t n;
};

enum opt_type {
	OPT_FLAG,     /* bool */
	OPT_INT,      /* int64_t, min to max */
	OPT_DOUBLE,   /* double, min to max */
	OPT_STRING,   /* const char * */
	OPT_DURATION, /* int64_t ns, min to max in seconds */
	OPT_SIZE,     /* int64_t bytes */
	OPT_CHOICE,   /* const char *, one of choices */
	OPT_LIST,     /* struct opt_list: may be given several times */
	OPT_HEADING,  /* no option: a title inside --help */
};

struct opt {
	enum opt_type type;
	char letter;         /* 0: no short form */
	const char *name;    /* without the dashes */
	size_t offset;       /* of the value in the options struct */
	const char *arg;     /* what --help calls the value; NULL for flags */
	const char *help;    /* N_() text */
	double min, max;     /* both 0: no limits */
	const char *choices; /* "a|b|c" for OPT_CHOICE */
};

/* OPT(struct load_options, seed, OPT_INT, 0, "seed", "N", N_("...")) and then .min, .max ... */
#define OPT(owner, field, type_, letter_, name_, arg_, help_)                                      \
	.type = (type_), .letter = (letter_), .name = (name_), .offset = offsetof(owner, field),   \
	.arg = (arg_), .help = (help_)

/* Several tables are searched in order, so that commands can share one. */
struct opt_table {
	const struct opt *rows;
	size_t n;
	void *values; /* the struct that the offsets point into */
};

/*
 * Parses argv[0..argc) into the tables' structs.
 *
 * args     the words that are no options, in order, with memory from the arena
 * errors   ERR_USAGE that names the option as the user wrote it
 */
bool opt_parse(const struct opt_table *tables, size_t n_tables, int argc, char **argv,
        struct arena *run, struct opt_list *args, struct err *err) NODISCARD;

/*
 * The same from a file of lines "name value", "name=value" or "name"; empty lines and # comments
 * are skipped. source names the file in errors.
 */
bool opt_parse_text(const struct opt_table *tables, size_t n_tables, struct str text,
        const char *source, struct arena *run, struct err *err) NODISCARD;

/* The rows as --help shows them, wrapped at 100 columns. */
void opt_help(const struct opt_table *tables, size_t n_tables, struct buf *out);

#endif
