#include "watch/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A fixture may be anything: a FIFO shall not stop the sampler. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static int open_path(const char *root, const char *fmt, va_list ap)
{
	char path[PROCFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s", root);
	if (n >= 0 && (size_t)n < sizeof(path))
		n += vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, OPEN_FLAGS);
}

bool procfile_open(struct procfile *f, const char *root, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int fd = open_path(root, fmt, ap);
	va_end(ap);
	f->fd_plus_1 = fd + 1;
	return fd >= 0;
}

bool procfile_open_at(struct procfile *f, int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, OPEN_FLAGS);
	f->fd_plus_1 = fd + 1;
	return fd >= 0;
}

void procfile_close(struct procfile *f)
{
	if (f->fd_plus_1)
		close(f->fd_plus_1 - 1);
	f->fd_plus_1 = 0;
}

bool procfile_is_open(const struct procfile *f)
{
	return f->fd_plus_1 > 0;
}

/* Some files of the kernel give a page at a time. */
static bool read_whole(int fd, char *buf, size_t size, struct str *ret_text)
{
	size_t len = 0;
	while (len + 1 < size) {
		ssize_t n = pread(fd, buf + len, size - 1 - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		len += (size_t)n;
		/* What did not fill half of the room was the whole of it. */
		if (len < size / 2 && len < 2048)
			break;
	}
	buf[len] = '\0';
	*ret_text = (struct str){ buf, len };
	return true;
}

bool procfile_read(const struct procfile *f, char *buf, size_t size, struct str *ret_text)
{
	if (!procfile_is_open(f)) {
		errno = EBADF;
		return false;
	}
	return read_whole(f->fd_plus_1 - 1, buf, size, ret_text);
}

static bool read_and_close(int fd, char *buf, size_t size, struct str *ret_text)
{
	if (fd < 0)
		return false;
	bool ok = read_whole(fd, buf, size, ret_text);
	int code = errno;
	close(fd);
	errno = code;
	return ok;
}

bool procfile_once(
        const char *root, char *buf, size_t size, struct str *ret_text, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int fd = open_path(root, fmt, ap);
	va_end(ap);
	return read_and_close(fd, buf, size, ret_text);
}

bool procfile_once_at(int dir_fd, char *buf, size_t size, struct str *ret_text, const char *path)
{
	return read_and_close(openat(dir_fd, path, OPEN_FLAGS), buf, size, ret_text);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

struct str procfile_word(struct str *text)
{
	while (text->len && is_blank(*text->s))
		*text = (struct str){ text->s + 1, text->len - 1 };
	struct str word = { text->s, 0 };
	while (word.len < text->len && !is_blank(text->s[word.len]))
		word.len++;
	*text = (struct str){ text->s + word.len, text->len - word.len };
	return word;
}

struct str procfile_line(struct str *text)
{
	return str_cut(*text, '\n', text);
}

bool procfile_u64(struct str word, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (size_t i = 0; i < word.len; i++) {
		unsigned digit = (unsigned)word.s[i] - '0';
		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		        __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (word.len == 0)
		return false;
	*ret_value = value;
	return true;
}

bool procfile_field(struct str text, const char *key, struct str *ret_value)
{
	size_t len = strlen(key);
	while (text.len) {
		struct str line = procfile_line(&text);
		if (line.len <= len || memcmp(line.s, key, len) != 0)
			continue;
		if (line.s[len] != ':' && !is_blank(line.s[len]))
			continue;
		*ret_value = str_trim((struct str){ line.s + len + 1, line.len - len - 1 });
		return true;
	}
	return false;
}

bool procfile_field_u64(struct str text, const char *key, uint64_t *ret_value)
{
	struct str value;
	return procfile_field(text, key, &value) && procfile_u64(procfile_word(&value), ret_value);
}
