#include "load/builder.h"

#include <math.h>
#include <string.h>

void builder_release(struct builder *b)
{
	vocabulary_close(&b->vocabulary);
	buf_release(&b->text);
	buf_release(&b->query);
	buf_release(&b->head);
	buf_release(&b->body);
	buf_release(&b->request);
}

static const char *method_of(const struct builder *b)
{
	return b->endpoint == &endpoint_http && b->body.len == 0 && !b->config->data ? "GET"
	                                                                             : "POST";
}

static bool has_header(const struct load_config *config, const char *name)
{
	for (size_t i = 0; i < config->headers.n; i++) {
		struct str rest;
		struct str key = str_cut(str_of(config->headers.items[i]), ':', &rest);
		if (str_eq_nocase(str_trim(key), str_of(name)))
			return true;
	}
	return false;
}

static void write_head(struct builder *b)
{
	const struct load_config *config = b->config;
	const char *method = method_of(b);
	struct buf *out = &b->request;
	buf_clear(out);
	buf_printf(out, "%s %s HTTP/1.1\r\n", method, b->path);
	if (!has_header(config, "host"))
		buf_printf(out, "Host: %s\r\n", b->url->authority);
	if (!has_header(config, "user-agent"))
		buf_printf(out, "User-Agent: venturi/%s\r\n", VENTURI_VERSION);
	if (strcmp(method, "POST") == 0) {
		buf_add(out, buf_str(&b->head));
		if (!b->head.len && !has_header(config, "content-type"))
			buf_add(out, STR("Content-Type: application/json\r\n"));
		buf_printf(out, "Content-Length: %zu\r\n", b->body.len);
	}
	if (!has_header(config, "accept-encoding"))
		buf_add(out, STR("Accept-Encoding: identity\r\n"));
	for (size_t i = 0; i < config->headers.n; i++)
		buf_printf(out, "%s\r\n", config->headers.items[i]);
	buf_add(out, STR("\r\n"));
}

static struct workload_item finish_item(struct builder *b)
{
	struct workload_item item;
	buf_clear(&b->head);
	if (b->endpoint->write_head)
		b->endpoint->write_head(&b->head, buf_str(&b->body));
	write_head(b);
	buf_add(&b->request, buf_str(&b->body));
	item.request = str_dup(buf_str(&b->request), b->run);
	item.salt_at = -1;
	return item;
}

bool builder_item(
        struct builder *b, const struct prompt *p, struct workload_item *ret_item, struct err *err)
{
	buf_clear(&b->body);
	if (p->body.len) {
		buf_add(&b->body, p->body);
	} else {
		if (b->endpoint->check && !b->endpoint->check(p, &b->options, err))
			return false;
		b->endpoint->write_body(&b->body, p, &b->options);
	}
	*ret_item = finish_item(b);
	return true;
}

int64_t builder_tokens(double x)
{
	return x < 1 ? 1 : x > WORKLOAD_TOKENS_MAX ? WORKLOAD_TOKENS_MAX : llround(x);
}
