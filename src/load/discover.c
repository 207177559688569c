/*
 * discover.c - which API a service speaks and what its model is called, where the user did not say.
 *
 * The URL's path decides if it names an endpoint, and of one API only. Otherwise the service is
 * asked with GET requests only, which cost it no inference: for what only one kind of service
 * tells of itself, and then, of the OpenAI API, which paths there are: one that exists answers 405
 * or the like, one that does not answers 404.
 */
#include "load/internal.h"

#include "base/i18n.h"
#include "net/fetch.h"
#include "text/json_scan.h"

#include <assert.h>
#include <string.h>

enum { CHOICE_MAX = 32 };

static const int64_t probe_timeout_ns = INT64_C(10000000000);

/* Rows of the table that may still be meant, in its order. */
struct choice {
	const struct endpoint *rows[CHOICE_MAX];
	size_t n;
};

/* A path, and the keys that lead to something only this kind of service has there. */
static const struct probe {
	const char *path;
	const char *keys[ENDPOINT_KEYS_MAX + 1];
	const struct endpoint *endpoint;
} probes[] = {
	{ "/v1/models", { "data", "id" }, &endpoint_openai_chat },
	{ "/v1/models", { "data", "id" }, &endpoint_openai_rerank },
	{ "/info", { "model_type", "embedding" }, &endpoint_tei_embed },
	{ "/info", { "model_type", "reranker" }, &endpoint_tei_rerank },
	{ "/info", { "model_type", "classifier" }, &endpoint_tei_predict },
	{ "/info", { "max_total_tokens" }, &endpoint_tgi },
	{ "/api/tags", { "models" }, &endpoint_ollama_chat },
	{ "/v2", { "extensions" }, &endpoint_kserve_v2 },
	{ "/props", { "default_generation_settings" }, &endpoint_llamacpp },
};

static bool get(struct load *load, const char *path, struct arena *run,
	struct fetch_reply *ret_reply, struct err *err)
{
	const struct opt_list *headers = &load->config.headers;
	return fetch(&load->targets->conn, &load->targets->url, "GET", path, headers->items, headers->n,
		probe_timeout_ns, run, ret_reply, err);
}

/* A path of the API, behind what the URL has before the API's own. */
static const char *beside(const struct load *load, const struct endpoint *e, const char *path,
	struct arena *run)
{
	struct str prefix = endpoint_prefix(e, load->targets->url.path);
	return arena_printf(run, "%.*s%s", STR_ARG(prefix), path);
}

/* Goes to the value of a key of the object that the scanner stands before. */
static bool find_key(struct json_scan *s, const char *name)
{
	struct str key;
	if (!json_scan_object(s))
		return false;
	while (json_scan_key(s, &key)) {
		if (str_eq(key, str_of(name)))
			return true;
		json_scan_skip(s);
	}
	return false;
}

/* Follows keys into a value; of an array on the way it takes the first element. */
static bool find(struct json_scan *s, const char *const *keys)
{
	for (; *keys; keys++) {
		if (json_scan_array(s) && !json_scan_element(s))
			return false;
		if (!find_key(s, *keys))
			return false;
	}
	return true;
}

static bool has(struct str body, const char *const *keys)
{
	struct json_scan s = json_scan_of(body);
	return find(&s, keys) && json_scan_type(&s) != JSON_SCAN_NULL;
}

/* The string that keys lead to, or the first of an array of strings; NULL when there is none. */
static const char *string_at(struct str body, const char *const *keys, struct arena *run)
{
	struct json_scan s = json_scan_of(body);
	struct str raw;
	AUTO(auto_buf) struct buf text = { 0 };
	if (!find(&s, keys) || (json_scan_array(&s) && !json_scan_element(&s)))
		return NULL;
	if (!json_scan_string(&s, &raw) || !json_unescape(raw, &text) || !text.len)
		return NULL;
	return str_c(buf_str(&text), run);
}

static struct choice choice_of(const char *api)
{
	struct choice c = { 0 };
	for (size_t i = 0; endpoint_table[i]; i++) {
		assert(i < CHOICE_MAX);
		if (!api || strcmp(endpoint_table[i]->name, api) == 0)
			c.rows[c.n++] = endpoint_table[i];
	}
	assert(c.n > 0); /* the option takes no other names */
	return c;
}

static bool is_in(const struct choice *c, const struct endpoint *e)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->rows[i] == e)
			return true;
	return false;
}

/* Keeps the rows that most of the path speaks for; false when it speaks for none. */
static bool narrow_by_path(struct choice *c, const char *path)
{
	size_t best = 0, kept = 0;
	for (size_t i = 0; i < c->n; i++) {
		size_t match = endpoint_match(c->rows[i], path);
		best = match > best ? match : best;
	}
	for (size_t i = 0; best && i < c->n; i++)
		if (endpoint_match(c->rows[i], path) == best)
			c->rows[kept++] = c->rows[i];
	if (kept)
		c->n = kept;
	return kept > 0;
}

/* Keeps the rows for which the URL is a base address; false when it is one for none. */
static bool narrow_by_base(struct choice *c, const char *path)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->n; i++)
		if (c->rows[i]->path && endpoint_is_base(c->rows[i], path))
			c->rows[kept++] = c->rows[i];
	if (kept)
		c->n = kept;
	return kept > 0;
}

/* Which of the rows the service tells of, or NULL. */
static bool ask_kind(struct load *load, const struct choice *c, struct arena *run,
	const struct endpoint **ret_endpoint, struct err *err)
{
	struct fetch_reply reply = { 0 };
	const char *last = NULL;
	*ret_endpoint = NULL;
	for (size_t i = 0; i < ARRAY_LEN(probes) && !*ret_endpoint; i++) {
		const struct probe *p = &probes[i];
		if (!is_in(c, p->endpoint))
			continue;
		const char *path = beside(load, p->endpoint, p->path, run);
		if ((!last || strcmp(path, last) != 0) && !get(load, path, run, &reply, err))
			return false;
		last = path;
		if (reply.status == 200 && has(reply.body, p->keys))
			*ret_endpoint = p->endpoint;
	}
	return true;
}

/* Of the OpenAI API, the first operation whose path is there. */
static bool ask_operation(struct load *load, const struct choice *c, struct arena *run,
	struct err *err)
{
	struct fetch_reply reply;
	for (size_t i = 0; i < c->n; i++) {
		const struct endpoint *e = c->rows[i];
		if (strcmp(e->models_path, load->endpoint->models_path) != 0)
			continue;
		if (!get(load, beside(load, e, e->path, run), run, &reply, err))
			return false;
		if (reply.status == 404)
			continue;
		load->endpoint = e;
		return true;
	}
	/* Some servers answer 404 to the wrong method: chat is what almost all of them have. */
	return true;
}

static bool guess_endpoint(struct load *load, struct arena *run, struct err *err)
{
	struct choice c = choice_of(load->config.api);
	const struct endpoint *told;
	bool by_path = narrow_by_path(&c, load->targets->url.path);
	bool asks = by_path || narrow_by_base(&c, load->targets->url.path);
	load->endpoint = asks || load->config.api ? c.rows[0] : &endpoint_http;
	if (c.n == 1 || !asks)
		return true;
	if (!ask_kind(load, &c, run, &told, err))
		return false;
	if (told)
		load->endpoint = told;
	else if (!by_path && !load->config.api)
		load->endpoint = &endpoint_http;
	return told != &endpoint_openai_chat || ask_operation(load, &c, run, err);
}

static bool ask_model(struct load *load, struct arena *run, struct err *err)
{
	const struct endpoint *e = load->endpoint;
	struct fetch_reply reply;
	if (!load->model)
		load->model = endpoint_model(e, load->targets->url.path, run);
	if (!e->models_path || load->model)
		return true;
	if (!get(load, beside(load, e, e->models_path, run), run, &reply, err))
		return false;
	/* A service that serves one model may know no names; it is then asked without one. */
	if (reply.status == 200)
		load->model = string_at(reply.body, e->model_keys, run);
	return true;
}

/* The description of the model, for an endpoint that makes its requests from it. */
static bool ask_description(struct load *load, struct arena *run, struct err *err)
{
	const struct endpoint *e = load->endpoint;
	struct fetch_reply reply;
	if (!e->prepare)
		return true;
	if (endpoint_is_base(e, load->targets->url.path) && !load->model) {
		err_set(err, ERR_USAGE, _("the service at '%s' does not tell its models"),
			load->targets->url.authority);
		return err_hint(err, _("name one with '--model'"));
	}
	struct str path = str_of(endpoint_path(e, load->targets->url.path, load->model, false, run));
	if (str_ends(path, str_of(e->operation)))
		path.len -= strlen(e->operation);
	const char *description = str_c(path, run);
	if (!get(load, description, run, &reply, err))
		return false;
	if (reply.status == 200)
		return e->prepare(reply.body, run, &load->prepared, err) ||
			err_wrap(err, "'%s'", description);
	/* Lines of a file may be whole bodies, which need no description. */
	return load->config.input_file ||
		err_set(err, ERR_SYSTEM, _("'%s' does not describe the model: HTTP status %d"),
			description, reply.status);
}

bool load_discover(struct load *load, struct arena *run, struct err *err)
{
	load->model = load->config.model;
	return guess_endpoint(load, run, err) && ask_model(load, run, err) &&
		ask_description(load, run, err);
}
