/*
 * discover.c - which API a service speaks and what its model is called, where the user did not say.
 *
 * The URL's path decides if it names an endpoint. Otherwise the service is asked with GET requests
 * only, which cost it no inference: a path that exists answers 405 or the like, one that does not
 * answers 404.
 */
#include "load/internal.h"

#include "base/i18n.h"
#include "net/fetch.h"
#include "text/json_scan.h"

#include <string.h>

static const int64_t probe_timeout_ns = INT64_C(10000000000);

static bool get(struct load *load, const char *path, struct arena *run,
	struct fetch_reply *ret_reply, struct err *err)
{
	const struct opt_list *headers = &load->config.headers;
	return fetch(&load->target, &load->url, "GET", path, headers->items, headers->n,
		probe_timeout_ns, run, ret_reply, err);
}

/* The path of another endpoint of the same API: what stands before "/v1" stays. */
static const char *sibling_path(const struct load *load, const char *path, struct arena *run)
{
	struct str own = str_of(load->url.path);
	ptrdiff_t at = str_find(own, STR("/v1"));
	if (at <= 0)
		return path;
	return arena_printf(run, "%.*s%s", (int)at, own.s, path);
}

static const struct endpoint *by_path(const struct url *url)
{
	struct str path, query;
	path = str_cut(str_of(url->path), '?', &query);
	for (size_t i = 0; endpoint_table[i]; i++) {
		const char *own = endpoint_table[i]->path;
		if (own && str_ends(path, str_of(own + strlen("/v1"))))
			return endpoint_table[i];
	}
	return NULL;
}

static bool is_base(const struct url *url)
{
	struct str path = str_of(url->path);
	while (str_ends(path, STR("/")))
		path.len--;
	return path.len == 0 || str_ends(path, STR("/v1"));
}

/* The first id of {"data": [{"id": ...}]}, or NULL. */
static const char *first_model(struct str body, struct arena *run)
{
	struct json_scan s = json_scan_of(body);
	struct str key, id;
	AUTO(auto_buf) struct buf text = { 0 };
	if (!json_scan_object(&s))
		return NULL;
	while (json_scan_key(&s, &key)) {
		if (!str_eq(key, STR("data")) || !json_scan_array(&s)) {
			json_scan_skip(&s);
			continue;
		}
		if (!json_scan_element(&s) || !json_scan_object(&s))
			return NULL;
		while (json_scan_key(&s, &key)) {
			if (!str_eq(key, STR("id")) || !json_scan_string(&s, &id)) {
				json_scan_skip(&s);
				continue;
			}
			return json_unescape(id, &text) ? str_c(buf_str(&text), run) : NULL;
		}
	}
	return NULL;
}

static bool guess_endpoint(struct load *load, struct arena *run, struct err *err)
{
	struct fetch_reply reply;
	load->endpoint = by_path(&load->url);
	if (load->endpoint)
		return true;
	load->endpoint = &endpoint_http;
	if (!is_base(&load->url))
		return true;
	if (!get(load, sibling_path(load, "/v1/models", run), run, &reply, err))
		return false;
	const char *model = reply.status == 200 ? first_model(reply.body, run) : NULL;
	if (!model)
		return true;
	if (!load->model)
		load->model = model;
	for (size_t i = 0; endpoint_table[i]; i++) {
		const struct endpoint *e = endpoint_table[i];
		if (!e->path)
			continue;
		if (!get(load, sibling_path(load, e->path, run), run, &reply, err))
			return false;
		if (reply.status == 404)
			continue;
		load->endpoint = e;
		return true;
	}
	/* Some servers answer 404 to the wrong method: chat is what almost all of them have. */
	load->endpoint = &endpoint_openai_chat;
	return true;
}

static bool ask_model(struct load *load, struct arena *run, struct err *err)
{
	struct fetch_reply reply;
	if (!load->endpoint->needs_model || load->model)
		return true;
	if (!get(load, sibling_path(load, "/v1/models", run), run, &reply, err))
		return false;
	/* A service that serves one model may know no names; it is then asked without one. */
	if (reply.status == 200)
		load->model = first_model(reply.body, run);
	return true;
}

bool load_discover(struct load *load, struct arena *run, struct err *err)
{
	load->model = load->config.model;
	if (load->config.api)
		load->endpoint = endpoint_find(load->config.api);
	else if (!guess_endpoint(load, run, err))
		return false;
	return ask_model(load, run, err);
}
