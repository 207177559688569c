#include "net/fetch.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "net/http.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

struct fetcher {
	struct conn conn;
	int64_t deadline_ns;
	struct http http;
	struct buf body;
};

static bool collect(void *ctx, struct str piece)
{
	struct fetcher *f = ctx;
	buf_add(&f->body, piece);
	return f->body.len <= FETCH_BODY_MAX;
}

/* Waits until the connection can go on; false at the deadline. */
static bool wait_for(struct fetcher *f, short events)
{
	struct pollfd p = { .fd = f->conn.fd, .events = events };
	int64_t left = f->deadline_ns - clock_now_ns();
	if (left <= 0)
		return false;
	return poll(&p, 1, (int)(left / NS_PER_MS) + 1) != 0;
}

static bool timed_out(const struct url *url, struct err *err)
{
	return err_set(err, ERR_SYSTEM, _("'%s' did not answer in time"), url->authority);
}

static bool failed(const struct url *url, enum conn_result result, struct err *err)
{
	char text[256];
	return err_set(err, ERR_SYSTEM, _("connection with '%s' failed: %s"), url->authority,
		result == CONN_FAILED_TLS ? conn_tls_error(text, sizeof(text)) : strerror(errno));
}

static bool send_request(struct fetcher *f, const struct url *url, struct str request,
	struct err *err)
{
	enum conn_result result;
	while ((result = conn_advance(&f->conn)) == CONN_AGAIN) {
		bool reading = f->conn.ssl && SSL_want_read(f->conn.ssl);
		if (!wait_for(f, reading ? POLLIN : POLLOUT))
			return timed_out(url, err);
	}
	while (result == CONN_OK && request.len) {
		size_t n = 0;
		result = conn_write(&f->conn, request.s, request.len, &n);
		request = (struct str){ request.s + n, request.len - n };
		if (result == CONN_AGAIN) {
			if (!wait_for(f, POLLOUT))
				return timed_out(url, err);
			result = CONN_OK;
		}
	}
	return result == CONN_OK || failed(url, result, err);
}

static bool too_long(const struct url *url, struct err *err)
{
	return err_set(err, ERR_SYSTEM, _("the answer of '%s' is longer than %d MiB"), url->authority,
		FETCH_BODY_MAX / (1024 * 1024));
}

static bool not_http(const struct url *url, const struct http *http, struct err *err)
{
	err_set(err, ERR_SYSTEM, _("'%s' does not answer in HTTP: %s"), url->authority,
		http->error ? _(http->error) : _("the connection was closed"));
	if (http->error == http_error_tls)
		err_hint(err, _("the port seems to speak TLS: try 'https://%s%s'"), url->authority,
			url->path);
	return false;
}

static bool read_answer(struct fetcher *f, const struct url *url, struct err *err)
{
	char data[16 * 1024];
	enum http_result parsed = HTTP_MORE;
	while (parsed == HTTP_MORE) {
		size_t n = 0, used;
		int64_t stamp;
		enum conn_result result = conn_read(&f->conn, data, sizeof(data), &n, &stamp);
		if (result == CONN_AGAIN) {
			if (!wait_for(f, POLLIN))
				return timed_out(url, err);
		} else if (result == CONN_END) {
			parsed = http_end(&f->http);
		} else if (result == CONN_OK) {
			parsed = http_feed(&f->http, data, n, &used, collect, f);
		} else {
			return failed(url, result, err);
		}
	}
	if (f->body.len > FETCH_BODY_MAX)
		return too_long(url, err);
	return parsed == HTTP_DONE || not_http(url, &f->http, err);
}

bool fetch(const struct conn_target *target, const struct url *url, const char *method,
	const char *path, const char *const *headers, size_t n_headers, int64_t timeout_ns,
	struct arena *run, struct fetch_reply *ret_reply, struct err *err)
{
	struct fetcher *f = arena_new(run, struct fetcher);
	AUTO(auto_buf) struct buf request = { 0 };
	f->conn.fd = -1;
	f->deadline_ns = clock_now_ns() + timeout_ns;
	http_reset(&f->http, strcmp(method, "HEAD") == 0);
	buf_printf(&request, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: venturi/%s\r\n"
			     "Accept: */*\r\nConnection: close\r\n",
		method, path, url->authority, VENTURI_VERSION);
	for (size_t i = 0; i < n_headers; i++)
		buf_printf(&request, "%s\r\n", headers[i]);
	buf_add(&request, STR("\r\n"));
	bool ok = conn_start(&f->conn, target, (struct conn_options){ 0 }, err) &&
		send_request(f, url, buf_str(&request), err) && read_answer(f, url, err);
	if (ok) {
		ret_reply->status = f->http.status;
		ret_reply->body = str_dup(buf_str(&f->body), run);
	}
	buf_release(&f->body);
	conn_close(&f->conn);
	return ok;
}
