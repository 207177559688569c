/*
 * schedule.h - moments and lengths of requests that somebody recorded, read from a file and told
 * apart by content:
 *
 *	Mooncake        {"timestamp": ms, "input_length": n, "output_length": n, "hash_ids": [...]}
 *	                one a line; hash_ids name the blocks of the prompt, so that equal ids mean
 *	                equal text
 *	Azure           TIMESTAMP,ContextTokens,GeneratedTokens with dates
 *	BurstGPT        Timestamp,Model,Request tokens,Response tokens,... with seconds
 *	ours            seconds[,input_tokens,output_tokens]
 *	plain           seconds, one number a line
 *
 * Rows are kept in the order of time; equal moments in the order of the file. The moments of ours
 * and of plain numbers count from the start of the run, those of the others from their first row.
 *
 * Sources: Qin et al. 2024, Mooncake; Patel et al. 2024, Splitwise (Azure LLM inference traces);
 * Wang et al. 2024, BurstGPT.
 */
#ifndef VENTURI_LOAD_SCHEDULE_H
#define VENTURI_LOAD_SCHEDULE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SCHEDULE_FILE_MAX = 512 * 1024 * 1024,
	SCHEDULE_ROWS_MAX = 5 * 1000 * 1000,
	SCHEDULE_BLOCKS_MAX = 32 * 1000 * 1000, /* ids, of all rows together */
	SCHEDULE_TOKENS_MAX = 1 << 20,          /* of one prompt or answer */
	SCHEDULE_SPAN_MAX_S = 10000 * 3600,     /* before the speed */
};

/* Moments later than this are brought forward to it: 31 years. */
#define SCHEDULE_NS_MAX 1e18

/* The first line of our own form. */
#define SCHEDULE_CSV "seconds"
#define SCHEDULE_CSV_LENGTHS "seconds,input_tokens,output_tokens"

struct schedule_row {
	int64_t at_ns;
	int64_t input_tokens;  /* at least 1 where has_lengths */
	int64_t output_tokens; /* likewise */
	size_t first_block;    /* in blocks[] */
	uint32_t n_blocks;
};

struct schedule {
	struct schedule_row *rows;
	size_t n; /* at least 1 */
	bool has_lengths;
	const int64_t *blocks;
	size_t n_blocks;
	int64_t block_tokens; /* in every block but the last of a prompt; 0 without blocks */
	const char *format;   /* "mooncake", "azure", "burstgpt", "csv", "seconds" */
};

/*
 * speed    moments are divided by it; > 0
 * errors   ERR_SYSTEM when the file cannot be read, else ERR_INPUT that names file and line
 */
bool schedule_read(const char *path, double speed, struct arena *run,
        const struct schedule **ret_schedule, struct err *err) NODISCARD;

/* The same of a text; source names it in errors. */
bool schedule_parse(struct str text, const char *source, double speed, struct arena *run,
        const struct schedule **ret_schedule, struct err *err) NODISCARD;

/* Rows from one moment until just before another. */
size_t schedule_count(const struct schedule *s, int64_t from_ns, int64_t to_ns);

#endif
