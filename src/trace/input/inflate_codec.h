/*
 * inflate_codec.h - unpacking one gzip member: inflate_zlib.c or inflate_isal.c, which the build
 * chooses. For inflate.c only.
 */
#ifndef VENTURI_TRACE_INFLATE_CODEC_H
#define VENTURI_TRACE_INFLATE_CODEC_H

#include <stddef.h>
#include <stdint.h>

struct inflate_codec;

/* What is left of both sides. */
struct inflate_io {
	uint8_t *in;
	size_t n_in;
	uint8_t *out;
	size_t n_out;
};

enum inflate_step {
	INFLATE_GO,     /* needs more of in, or of out */
	INFLATE_MEMBER, /* the member is whole, and its checksum right */
	INFLATE_BROKEN,
};

struct inflate_codec *inflate_codec_new(void);
/* Before the next member. */
void inflate_codec_reset(struct inflate_codec *c);
/* Takes from in and gives to out as much as can be. Neither holds more than 2^30 bytes. */
enum inflate_step inflate_codec_run(struct inflate_codec *c, struct inflate_io *io);
void inflate_codec_free(struct inflate_codec *c);

#endif
