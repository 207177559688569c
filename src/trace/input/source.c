#include "trace/input/source.h"

#include "base/i18n.h"
#include "trace/input/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 18 };

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
		if (!source_rewind(s, err))
			return false;
		n = (ssize_t)source_read(s, s->head_bytes, SOURCE_HEAD_BYTES);
		s->damaged = false;
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
	inflater_free(s->inflater);
	*s = (struct source){ .fd = -1 };
}

bool source_is_text(const struct source *s)
{
	/* Formats that are not text have a NUL among their first bytes, and no such bracket. */
	enum { BEGINNING_BYTES = 64 };
	size_t n = s->head.len < BEGINNING_BYTES ? s->head.len : BEGINNING_BYTES;
	if (n == 0)
		return false;
	return *s->head.s == '{' || *s->head.s == '[' || !memchr(s->head.s, '\0', n);
}

static size_t read_plain(int fd, char *out, size_t n)
{
	size_t done = 0;
	while (done < n) {
		ssize_t got = read(fd, out + done, n - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

bool source_rewind(struct source *s, struct err *err)
{
	if (lseek(s->fd, 0, SEEK_SET) < 0)
		return err_set(err, ERR_INPUT, _("cannot read '%s': %s"), s->path, strerror(errno));
	inflater_free(s->inflater);
	s->inflater = s->packed ? inflater_new(s->fd) : NULL;
	s->damaged = false;
	s->n_read = 0;
	return true;
}

size_t source_read(struct source *s, char *out, size_t n)
{
	size_t got = s->packed ? inflater_read(s->inflater, out, n) : read_plain(s->fd, out, n);
	if (s->packed)
		s->damaged = inflater_is_broken(s->inflater);
	s->n_read += (int64_t)got;
	return got;
}

bool source_read_all(struct source *s, int64_t max_bytes, struct buf *ret_text, struct err *err)
{
	buf_clear(ret_text);
	if (!source_rewind(s, err))
		return false;
	for (;;) {
		buf_reserve(ret_text, PIECE_BYTES);
		size_t n = source_read(s, ret_text->s + ret_text->len, PIECE_BYTES);
		ret_text->len += n;
		if (n == 0)
			break;
		if ((int64_t)ret_text->len > max_bytes)
			return err_set(err, ERR_INPUT,
			        _("'%s' has more than %lld bytes, too many for this format"),
			        s->path, (long long)max_bytes);
	}
	ret_text->s[ret_text->len] = '\0';
	size_t mark = ret_text->len - without_mark(buf_str(ret_text)).len;
	memmove(ret_text->s, ret_text->s + mark, ret_text->len - mark + 1);
	ret_text->len -= mark;
	return true;
}
