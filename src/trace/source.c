#include "trace/source.h"

#include "base/i18n.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PACKED_BYTES = 1 << 18 };

/* Inflates the members of a gzip file one behind the other. */
struct inflater {
	z_stream z;
	char *in;
	int fd;
	bool open, ended, broken;
};

static bool inflater_open(struct inflater *f, int fd)
{
	*f = (struct inflater){ .fd = fd };
	f->open = inflateInit2(&f->z, 15 + 16) == Z_OK;
	f->in = mem_realloc(NULL, PACKED_BYTES);
	return f->open;
}

static void inflater_close(struct inflater *f)
{
	if (f->open)
		inflateEnd(&f->z);
	free(f->in);
}

/* Reads more packed bytes; false at the end of the file. */
static bool refill(struct inflater *f)
{
	ssize_t n;
	do
		n = read(f->fd, f->in, PACKED_BYTES);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	f->z.next_in = (Bytef *)f->in;
	f->z.avail_in = (uInt)n;
	return true;
}

/* At the end of a member: the next one, or the end of the file. What is no member is ignored, as
 * gzip does with trailing bytes. */
static bool next_member(struct inflater *f)
{
	if (f->z.avail_in == 0 && !refill(f))
		return false;
	return f->z.next_in[0] == 0x1f && inflateReset(&f->z) == Z_OK;
}

/* Up to n bytes; fewer at the end, or where the data breaks off. */
static size_t inflater_read(struct inflater *f, char *out, size_t n)
{
	f->z.next_out = (Bytef *)out;
	f->z.avail_out = n > UINT_MAX ? UINT_MAX : (uInt)n;
	size_t asked = f->z.avail_out;
	while (f->z.avail_out && !f->ended) {
		if (f->z.avail_in == 0 && !refill(f)) {
			f->broken = f->ended = true;
			break;
		}
		int rc = inflate(&f->z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END)
			f->ended = !next_member(f);
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			f->broken = f->ended = true;
	}
	return asked - f->z.avail_out;
}

static const struct str byte_order_mark = STR_INIT("\xEF\xBB\xBF");

static struct str without_mark(struct str text)
{
	if (!str_starts(text, byte_order_mark))
		return text;
	return (struct str){ text.s + byte_order_mark.len, text.len - byte_order_mark.len };
}

static bool read_head(struct source *s, struct err *err)
{
	s->head_bytes = mem_realloc(NULL, SOURCE_HEAD_BYTES);
	ssize_t n = pread(s->fd, s->head_bytes, SOURCE_HEAD_BYTES, 0);
	if (n < 0)
		return err_set(err, ERR_INPUT, _("cannot read '%s': %s"), s->path, strerror(errno));
	s->packed = n >= 2 && memcmp(s->head_bytes, "\x1f\x8b", 2) == 0;
	if (s->packed) {
		struct inflater f;
		inflater_open(&f, s->fd);
		n = (ssize_t)inflater_read(&f, s->head_bytes, SOURCE_HEAD_BYTES);
		inflater_close(&f);
		if (n == 0)
			return err_set(err, ERR_INPUT,
			        _("'%s' is a gzip file that cannot be unpacked"), s->path);
	}
	s->head = without_mark((struct str){ s->head_bytes, (size_t)n });
	return true;
}

bool source_open(struct source *s, const char *path, struct err *err)
{
	struct stat st;
	*s = (struct source){ .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (s->fd < 0 || fstat(s->fd, &st) != 0) {
		err_set(err, ERR_INPUT, _("cannot open '%s': %s"), path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		err_set(err, ERR_INPUT, _("'%s' is not a file"), path);
	} else if (st.st_size == 0) {
		err_set(err, ERR_INPUT, _("'%s' is empty: its writer stopped before the end"),
		        path);
		if (str_ends(str_of(path), STR(".pb")))
			err_hint(err, _("an XPlane beyond 2 GB is not written at all: profile "
			                "fewer steps, without Python's frames"));
	} else {
		s->size = st.st_size;
		if (read_head(s, err))
			return true;
	}
	source_close(s);
	return false;
}

void source_close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->head_bytes);
	*s = (struct source){ .fd = -1 };
}

static size_t read_plain(int fd, char *out, size_t n)
{
	ssize_t got;
	do
		got = read(fd, out, n);
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

bool source_read_all(struct source *s, int64_t max_bytes, struct buf *ret_text, struct err *err)
{
	struct inflater f = { 0 };
	buf_clear(ret_text);
	if (lseek(s->fd, 0, SEEK_SET) < 0)
		return err_set(err, ERR_INPUT, _("cannot read '%s': %s"), s->path, strerror(errno));
	if (s->packed)
		inflater_open(&f, s->fd);
	bool ok = true;
	for (;;) {
		buf_reserve(ret_text, PACKED_BYTES);
		char *at = ret_text->s + ret_text->len;
		size_t n = s->packed ? inflater_read(&f, at, PACKED_BYTES)
		                     : read_plain(s->fd, at, PACKED_BYTES);
		ret_text->len += n;
		if (n == 0)
			break;
		if ((int64_t)ret_text->len > max_bytes) {
			ok = err_set(err, ERR_INPUT,
			        _("'%s' has more than %lld bytes, too many for this format"),
			        s->path, (long long)max_bytes);
			break;
		}
	}
	ret_text->s[ret_text->len] = '\0';
	s->damaged = f.broken;
	inflater_close(&f);
	size_t mark = ret_text->len - without_mark(buf_str(ret_text)).len;
	memmove(ret_text->s, ret_text->s + mark, ret_text->len - mark + 1);
	ret_text->len -= mark;
	return ok;
}
