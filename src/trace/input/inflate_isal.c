#include "trace/input/inflate_codec.h"

#include "base/arena.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

struct inflate_codec {
	struct inflate_state state;
};

struct inflate_codec *inflate_codec_new(void)
{
	struct inflate_codec *c = mem_zeroed(1, sizeof *c);
	isal_inflate_init(&c->state);
	c->state.crc_flag = ISAL_GZIP;
	return c;
}

void inflate_codec_reset(struct inflate_codec *c)
{
	isal_inflate_reset(&c->state);
	c->state.crc_flag = ISAL_GZIP;
}

enum inflate_step inflate_codec_run(struct inflate_codec *c, struct inflate_io *io)
{
	struct inflate_state *s = &c->state;
	s->next_in = io->in;
	s->avail_in = (uint32_t)io->n_in;
	s->next_out = io->out;
	s->avail_out = (uint32_t)io->n_out;
	int rc = isal_inflate(s);
	*io = (struct inflate_io){ s->next_in, s->avail_in, s->next_out, s->avail_out };
	if (rc < 0)
		return INFLATE_BROKEN;
	return s->block_state == ISAL_BLOCK_FINISH ? INFLATE_MEMBER : INFLATE_GO;
}

void inflate_codec_free(struct inflate_codec *c)
{
	free(c);
}
