#include "trace/input/inflate.h"

#include "base/arena.h"
#include "trace/input/inflate_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PACKED_BYTES = 1 << 16,
	/* Unpacked in pieces of this size whatever is asked for, since how much of broken data
	 * comes out depends on the size: the answer must not. Small enough to stay in a core's
	 * cache. */
	UNPACKED_BYTES = 1 << 17,
	GZIP_MAGIC = 0x1f, /* the first byte of a member */
};

struct inflater {
	struct inflate_codec *codec;
	struct inflate_io io;
	uint8_t *packed, *unpacked;
	size_t at, n_unpacked; /* what of it is given away, and what there is */
	int fd;
	bool ended, broken;
};

struct inflater *inflater_new(int fd)
{
	struct inflater *f = mem_zeroed(1, sizeof *f);
	f->fd = fd;
	f->codec = inflate_codec_new();
	f->packed = mem_realloc(NULL, PACKED_BYTES);
	f->unpacked = mem_realloc(NULL, UNPACKED_BYTES);
	return f;
}

/* Reads more packed bytes; false at the end of the file. */
static bool refill(struct inflater *f)
{
	ssize_t n;
	do
		n = read(f->fd, f->packed, PACKED_BYTES);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	f->io.in = f->packed;
	f->io.n_in = (size_t)n;
	return true;
}

/* At the end of a member: the next one, or the end. What is no member is ignored, as gzip does with
 * trailing bytes. */
static bool next_member(struct inflater *f)
{
	if (f->io.n_in == 0 && !refill(f))
		return false;
	if (f->io.in[0] != GZIP_MAGIC)
		return false;
	inflate_codec_reset(f->codec);
	return true;
}

static void step(struct inflater *f)
{
	/* What is inside of the codec may still fill the output: the input is asked for last. */
	size_t before = f->io.n_in + f->io.n_out;
	switch (inflate_codec_run(f->codec, &f->io)) {
	case INFLATE_MEMBER:
		f->ended = !next_member(f);
		return;
	case INFLATE_BROKEN:
		f->broken = f->ended = true;
		return;
	case INFLATE_GO:
		break;
	}
	if (f->io.n_out == 0)
		return;
	bool stuck = f->io.n_in && f->io.n_in + f->io.n_out == before;
	if (stuck || (f->io.n_in == 0 && !refill(f)))
		f->broken = f->ended = true;
}

/* The next piece; false at the end. */
static bool unpack(struct inflater *f)
{
	f->io.out = f->unpacked;
	f->io.n_out = UNPACKED_BYTES;
	while (f->io.n_out && !f->ended)
		step(f);
	f->at = 0;
	f->n_unpacked = UNPACKED_BYTES - f->io.n_out;
	return f->n_unpacked > 0;
}

size_t inflater_read(struct inflater *f, char *out, size_t n)
{
	size_t done = 0;
	while (done < n && (f->at < f->n_unpacked || unpack(f))) {
		size_t left = f->n_unpacked - f->at;
		size_t take = left < n - done ? left : n - done;
		memcpy(out + done, f->unpacked + f->at, take);
		f->at += take;
		done += take;
	}
	return done;
}

bool inflater_is_broken(const struct inflater *f)
{
	return f->broken;
}

void inflater_free(struct inflater *f)
{
	if (!f)
		return;
	inflate_codec_free(f->codec);
	free(f->packed);
	free(f->unpacked);
	free(f);
}
