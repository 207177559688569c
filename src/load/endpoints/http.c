/*
 * Plain HTTP: GET of the URL, or POST of a body; any 2xx status is a success.
 */
#include "load/endpoint.h"

static void write_body(struct buf *out, const struct prompt *p,
	const struct endpoint_options *options)
{
	(void)options;
	buf_add(out, p->text);
}

const struct endpoint endpoint_http = {
	.name = "http",
	.write_body = write_body,
};
