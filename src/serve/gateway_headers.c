#include "serve/gateway_core.h"

#include <string.h>

/* With what frames the message: that is written anew. */
static const struct str hops[] = {
	STR_INIT("connection"),
	STR_INIT("content-length"),
	STR_INIT("expect"),
	STR_INIT("host"),
	STR_INIT("keep-alive"),
	STR_INIT("proxy-authenticate"),
	STR_INIT("proxy-authorization"),
	STR_INIT("proxy-connection"),
	STR_INIT("te"),
	STR_INIT("trailer"),
	STR_INIT("transfer-encoding"),
	STR_INIT("upgrade"),
};

/*
 * Whatever is not here may decide who pays or what is answered, and keeps requests apart in which
 * it differs.
 */
static const struct str noise[] = {
	STR_INIT("accept"),
	STR_INIT("accept-encoding"),
	STR_INIT("accept-language"),
	STR_INIT("baggage"),
	STR_INIT("cache-control"),
	STR_INIT("content-type"),
	STR_INIT("date"),
	STR_INIT("forwarded"),
	STR_INIT("idempotency-key"),
	STR_INIT("origin"),
	STR_INIT("pragma"),
	STR_INIT("priority"),
	STR_INIT("referer"),
	STR_INIT("traceparent"),
	STR_INIT("tracestate"),
	STR_INIT("user-agent"),
	STR_INIT("via"),
	STR_INIT("x-correlation-id"),
	STR_INIT("x-real-ip"),
	STR_INIT("x-request-id"),
};

static const struct str noise_families[] = {
	STR_INIT("sec-"), STR_INIT("x-b3-"), STR_INIT("x-forwarded-"),
	STR_INIT("x-stainless-"), /* what OpenAI's own clients say of themselves */
};

static bool is_among(struct str name, const struct str *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(name, names[i]))
			return true;
	return false;
}

bool header_is_hop(struct str name)
{
	return is_among(name, hops, ARRAY_LEN(hops));
}

bool header_is_noise(struct str name)
{
	if (is_among(name, noise, ARRAY_LEN(noise)))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(noise_families); i++) {
		struct str family = noise_families[i];
		if (name.len > family.len &&
		        str_eq_nocase((struct str){ name.s, family.len }, family))
			return true;
	}
	return false;
}

bool header_is_named(struct str list, struct str name)
{
	while (list.len) {
		struct str token = str_trim(str_cut(list, ',', &list));
		if (str_eq_nocase(token, name))
			return true;
	}
	return false;
}

void relay_add_header(struct relay *relay, struct str name, struct str value)
{
	if (str_eq_nocase(name, STR("connection"))) {
		if (relay->connection.len)
			buf_add_char(&relay->connection, ',');
		buf_add(&relay->connection, value);
	}
	if (header_is_hop(name) || relay->headers.len + name.len + value.len > GATEWAY_HEAD_MAX)
		return;
	/* a NUL would end a value early; no honest header has one */
	if (memchr(value.s, '\0', value.len))
		return;
	buf_add(&relay->headers, name);
	buf_add_char(&relay->headers, '\0');
	buf_add(&relay->headers, value);
	buf_add_char(&relay->headers, '\0');
}

void relay_release(struct relay *relay)
{
	buf_release(&relay->headers);
	buf_release(&relay->connection);
	buf_release(&relay->out);
}

void headers_write_request(const struct upstream *up, const char *method, const char *target,
        struct str headers, struct str body, bool has_body, struct buf *out)
{
	buf_clear(out);
	buf_reserve(out, headers.len + body.len + 1024);
	buf_add_c(out, method);
	buf_add_char(out, ' ');
	buf_add_c(out, up->base);
	buf_add_c(out, target);
	buf_add(out, STR(" HTTP/1.1\r\nHost: "));
	buf_add_c(out, up->url.authority);
	buf_add(out, STR("\r\nVia: 1.1 venturi-serve\r\n"));
	buf_add(out, headers);
	if (has_body || body.len)
		buf_printf(out, "Content-Length: %zu\r\n", body.len);
	buf_add(out, STR("\r\n"));
	buf_add(out, body);
}
