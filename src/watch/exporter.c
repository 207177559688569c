#include "watch/exporter.h"

#include "base/i18n.h"
#include "net/listen.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct exporter {
	struct exporter_config config;
	const char *url;
	struct MHD_Daemon *daemon;
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
        struct buf *body, const char *allow)
{
	struct MHD_Response *response =
	        MHD_create_response_from_buffer(body->len, body->s, MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (allow)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(
        struct MHD_Connection *connection, unsigned status, const char *text, const char *allow)
{
	AUTO(auto_buf) struct buf body = { 0 };
	buf_printf(&body, "%s\n", text);
	return reply(connection, status, "text/plain; charset=utf-8", &body, allow);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
        const char *method, const char *version, const char *upload, size_t *n_upload,
        void **con_cls)
{
	struct exporter *e = arg;
	static int seen;
	(void)version, (void)upload;
	/* The first call has only the head; bodies are read and dropped. */
	if (!*con_cls || *n_upload > 0) {
		*con_cls = &seen;
		*n_upload = 0;
		return MHD_YES;
	}
	if (strcmp(path, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "the page is /metrics", NULL);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD", "GET, HEAD");
	AUTO(auto_buf) struct buf page = { 0 };
	e->config.write(e->config.ctx, &page);
	return reply(
	        connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", &page, NULL);
}

static void drop_message(void *arg, const char *fmt, va_list ap)
{
	(void)arg, (void)fmt, (void)ap;
}

bool exporter_open(const struct exporter_config *config, struct arena *run,
        struct exporter **ret_exporter, struct err *err)
{
	struct exporter *e = arena_new(run, struct exporter);
	struct listener listener;
	const char *address = config->address;
	if (address[strspn(address, "0123456789")] == '\0' && address[0])
		address = arena_printf(run, "127.0.0.1:%s", address);
	if (!listen_open(address, &listener, err))
		return false;
	e->config = *config;
	e->url = arena_printf(run, "http://%s:%d/metrics", listener.host, listener.port);
	e->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL,
	        NULL, on_request, e, MHD_OPTION_EXTERNAL_LOGGER, drop_message, NULL,
	        MHD_OPTION_LISTEN_SOCKET, listener.fd, MHD_OPTION_CONNECTION_LIMIT,
	        (unsigned)EXPORTER_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
	        (unsigned)EXPORTER_IDLE_S, MHD_OPTION_END);
	if (!e->daemon) {
		close(listener.fd);
		return err_set(
		        err, ERR_SYSTEM, _("cannot start the HTTP server: %s"), strerror(errno));
	}
	*ret_exporter = e;
	return true;
}

const char *exporter_url(const struct exporter *e)
{
	return e->url;
}

void exporter_close(struct exporter *e)
{
	if (e)
		MHD_stop_daemon(e->daemon);
}
