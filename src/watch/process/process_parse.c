#include "watch/process/process_parse.h"

#include "watch/procfile.h"

#include "base/utf8.h"

#include <string.h>

/* Field numbers of proc(5), less the 3 of the state, which is the first after the name. */
enum {
	STAT_PARENT = 4 - 3,
	STAT_MINOR = 10 - 3,
	STAT_MAJOR = 12 - 3,
	STAT_USER = 14 - 3,
	STAT_SYSTEM = 15 - 3,
	STAT_THREADS = 20 - 3,
	STAT_START = 22 - 3,
	STAT_N = 23 - 3,
};

bool process_parse_stat(struct str text, struct process_stat *ret_stat)
{
	struct str words[STAT_N + 1], rest = text;
	const char *from = text.len ? memchr(text.s, '(', text.len) : NULL;
	const char *to = text.len ? memrchr(text.s, ')', text.len) : NULL;
	if (!from || !to || to < from)
		return false;
	rest = (struct str){ to + 1, (size_t)(text.s + text.len - to - 1) };
	/* One more than is used: the last word may be cut. */
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		words[i] = procfile_word(&rest);
		if (words[i].len == 0)
			return false;
	}
	struct process_stat s = { .name = { from + 1, (size_t)(to - from - 1) },
		.state = words[0].s[0] };
	if (words[0].len != 1 || !procfile_u64(words[STAT_PARENT], &s.parent) ||
	        !procfile_u64(words[STAT_MINOR], &s.minor_faults) ||
	        !procfile_u64(words[STAT_MAJOR], &s.major_faults) ||
	        !procfile_u64(words[STAT_USER], &s.user_ticks) ||
	        !procfile_u64(words[STAT_SYSTEM], &s.system_ticks) ||
	        !procfile_u64(words[STAT_THREADS], &s.n_threads) ||
	        !procfile_u64(words[STAT_START], &s.start_ticks))
		return false;
	*ret_stat = s;
	return true;
}

bool process_parse_schedstat(struct str text, struct process_schedstat *ret_schedstat)
{
	struct process_schedstat s;
	if (text.len == 0 || text.s[text.len - 1] != '\n' ||
	        !procfile_u64(procfile_word(&text), &s.cpu_ns) ||
	        !procfile_u64(procfile_word(&text), &s.wait_ns) ||
	        !procfile_u64(procfile_word(&text), &s.n_runs))
		return false;
	*ret_schedstat = s;
	return true;
}

/*
 * The words behind n keys, in one pass; empty where there is none. The first line of a key counts:
 * a later one may be a name's.
 */
static void find_fields(struct str text, const struct str *keys, size_t n, struct str *ret_values)
{
	memset(ret_values, 0, n * sizeof(*ret_values));
	while (text.len) {
		const char *end = memchr(text.s, '\n', text.len);
		if (!end)
			return;
		struct str line = procfile_line(&text);
		for (size_t i = 0; i < n; i++) {
			size_t len = keys[i].len;
			if (line.len <= len || line.s[len] != ':' || ret_values[i].s ||
			        memcmp(line.s, keys[i].s, len) != 0)
				continue;
			ret_values[i] =
			        str_trim((struct str){ line.s + len + 1, line.len - len - 1 });
			break;
		}
	}
}

static uint64_t number(struct str words)
{
	uint64_t value;
	return procfile_u64(procfile_word(&words), &value) ? value : PROCESS_ABSENT;
}

/* "12 kB" */
static uint64_t kibibytes(struct str words)
{
	uint64_t value = number(words);
	return value == PROCESS_ABSENT || __builtin_mul_overflow(value, 1024, &value)
	               ? PROCESS_ABSENT
	               : value;
}

void process_parse_status(struct str text, struct process_status *ret_status)
{
	enum {
		NAME,
		STATE,
		RSS,
		ANONYMOUS,
		FILES,
		SHARED,
		SWAP,
		LOCKED,
		HUGETLB,
		CPUS,
		MEMS,
		VOLUNTARY,
		INVOLUNTARY,
		N_KEYS
	};
	static const struct str keys[] = {
		[NAME] = STR_INIT("Name"),
		[STATE] = STR_INIT("State"),
		[RSS] = STR_INIT("VmRSS"),
		[ANONYMOUS] = STR_INIT("RssAnon"),
		[FILES] = STR_INIT("RssFile"),
		[SHARED] = STR_INIT("RssShmem"),
		[SWAP] = STR_INIT("VmSwap"),
		[LOCKED] = STR_INIT("VmLck"),
		[HUGETLB] = STR_INIT("HugetlbPages"),
		[CPUS] = STR_INIT("Cpus_allowed_list"),
		[MEMS] = STR_INIT("Mems_allowed_list"),
		[VOLUNTARY] = STR_INIT("voluntary_ctxt_switches"),
		[INVOLUNTARY] = STR_INIT("nonvoluntary_ctxt_switches"),
	};
	struct str found[N_KEYS];
	find_fields(text, keys, N_KEYS, found);
	*ret_status = (struct process_status){
		.name = found[NAME],
		.cpus = found[CPUS],
		.mems = found[MEMS],
		.state = found[STATE].len ? found[STATE].s[0] : '\0',
		.voluntary = number(found[VOLUNTARY]),
		.involuntary = number(found[INVOLUNTARY]),
		.rss = kibibytes(found[RSS]),
		.anonymous = kibibytes(found[ANONYMOUS]),
		.file = kibibytes(found[FILES]),
		.shared = kibibytes(found[SHARED]),
		.swap = kibibytes(found[SWAP]),
		.locked = kibibytes(found[LOCKED]),
		.hugetlb = kibibytes(found[HUGETLB]),
	};
}

void process_parse_io(struct str text, struct process_io *ret_io)
{
	enum { RCHAR, WCHAR, READS, WRITES, READ_BYTES, WRITE_BYTES, N_KEYS };
	static const struct str keys[] = {
		[RCHAR] = STR_INIT("rchar"),
		[WCHAR] = STR_INIT("wchar"),
		[READS] = STR_INIT("syscr"),
		[WRITES] = STR_INIT("syscw"),
		[READ_BYTES] = STR_INIT("read_bytes"),
		[WRITE_BYTES] = STR_INIT("write_bytes"),
	};
	struct str found[N_KEYS];
	find_fields(text, keys, N_KEYS, found);
	*ret_io = (struct process_io){
		.rchar = number(found[RCHAR]),
		.wchar = number(found[WCHAR]),
		.n_reads = number(found[READS]),
		.n_writes = number(found[WRITES]),
		.read_bytes = number(found[READ_BYTES]),
		.write_bytes = number(found[WRITE_BYTES]),
	};
}

void process_parse_rollup(struct str text, struct process_rollup *ret_rollup)
{
	enum { PSS, PRIVATE_DIRTY, ANONYMOUS_HUGE, N_KEYS };
	static const struct str keys[] = {
		[PSS] = STR_INIT("Pss"),
		[PRIVATE_DIRTY] = STR_INIT("Private_Dirty"),
		[ANONYMOUS_HUGE] = STR_INIT("AnonHugePages"),
	};
	struct str found[N_KEYS];
	find_fields(text, keys, N_KEYS, found);
	*ret_rollup = (struct process_rollup){
		.pss = kibibytes(found[PSS]),
		.private_dirty = kibibytes(found[PRIVATE_DIRTY]),
		.anonymous_huge = kibibytes(found[ANONYMOUS_HUGE]),
	};
}

uint64_t process_parse_files_limit(struct str text)
{
	static const struct str key = STR_INIT("Max open files ");
	while (text.len) {
		const char *end = memchr(text.s, '\n', text.len);
		struct str line = procfile_line(&text);
		if (end && str_starts(line, key))
			return number((struct str){ line.s + key.len, line.len - key.len });
	}
	return PROCESS_ABSENT;
}

void process_name(char *buf, size_t size, struct str name)
{
	size_t len = 0;
	while (name.len) {
		int n = utf8_char(name.s, name.len);
		size_t used = n > 0 ? (size_t)n : 1;
		if (len + used >= size)
			break;
		memcpy(buf + len, n > 0 && *name.s != '\n' && *name.s != '\t' ? name.s : "?", used);
		len += used;
		name = (struct str){ name.s + used, name.len - used };
	}
	utf8_defuse(buf, len);
	buf[len] = '\0';
}
