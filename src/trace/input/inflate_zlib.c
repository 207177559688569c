#include "trace/input/inflate_codec.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

struct inflate_codec {
	z_stream z;
};

enum { GZIP_ONLY = 15 + 16 };

struct inflate_codec *inflate_codec_new(void)
{
	struct inflate_codec *c = mem_zeroed(1, sizeof *c);
	int rc = inflateInit2(&c->z, GZIP_ONLY);
	assert(rc == Z_OK);
	return c;
}

void inflate_codec_reset(struct inflate_codec *c)
{
	inflateReset(&c->z);
}

enum inflate_step inflate_codec_run(struct inflate_codec *c, struct inflate_io *io)
{
	c->z.next_in = io->in;
	c->z.avail_in = (uInt)io->n_in;
	c->z.next_out = io->out;
	c->z.avail_out = (uInt)io->n_out;
	int rc = inflate(&c->z, Z_NO_FLUSH);
	*io = (struct inflate_io){ c->z.next_in, c->z.avail_in, c->z.next_out, c->z.avail_out };
	if (rc == Z_STREAM_END)
		return INFLATE_MEMBER;
	return rc == Z_OK || rc == Z_BUF_ERROR ? INFLATE_GO : INFLATE_BROKEN;
}

void inflate_codec_free(struct inflate_codec *c)
{
	inflateEnd(&c->z);
	free(c);
}
