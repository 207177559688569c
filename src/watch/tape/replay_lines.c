/*
 * replay_lines.c - the file of a record as lines.
 */
#include "watch/tape/replay_read.h"

#include "base/i18n.h"

#include <string.h>

enum { CHUNK_BYTES = 64 * 1024 };

bool replay_damaged(const struct replay *r, struct err *err, const char *what)
{
	return err_set(err, ERR_INPUT, _("'%s' is not understood in line %lld: %s"), r->path,
	        (long long)r->line, what);
}

/* More bytes of the file; otherwise its end, which may be in the middle of what was compressed. */
static enum replay_line read_more(struct replay *r)
{
	int code = Z_OK;
	buf_reserve(&r->ahead, CHUNK_BYTES);
	memmove(r->ahead.s, r->ahead.s + r->at, r->ahead.len - r->at);
	r->ahead.len -= r->at;
	r->at = 0;
	int n = gzread(r->file, r->ahead.s + r->ahead.len, CHUNK_BYTES);
	if (n > 0) {
		r->ahead.len += (size_t)n;
		return REPLAY_LINE_OK;
	}
	(void)gzerror(r->file, &code);
	return code == Z_OK || code == Z_BUF_ERROR ? REPLAY_LINE_NONE : REPLAY_LINE_BROKEN;
}

enum replay_line replay_line(struct replay *r, struct str *ret_line)
{
	size_t seen = 0;
	for (;;) {
		struct str rest = { r->ahead.s + r->at, r->ahead.len - r->at };
		const char *end =
		        rest.len > seen ? memchr(rest.s + seen, '\n', rest.len - seen) : NULL;
		if (end) {
			*ret_line = (struct str){ rest.s, (size_t)(end - rest.s) };
			r->at += ret_line->len + 1;
			r->line++;
			return REPLAY_LINE_OK;
		}
		if (rest.len > REPLAY_LINE_BYTES_MAX) {
			r->line++;
			return REPLAY_LINE_TOO_LONG;
		}
		seen = rest.len;
		enum replay_line more = read_more(r);
		if (more != REPLAY_LINE_OK)
			return more;
	}
}
