#include "load/endpoint.h"

#include <ctype.h>
#include <string.h>

const struct endpoint *const endpoint_table[] = {
	&endpoint_openai_chat,
	&endpoint_openai_completions,
	&endpoint_openai_embeddings,
	&endpoint_openai_rerank,
	&endpoint_kserve_v2,
	&endpoint_tei_embed,
	&endpoint_tei_rerank,
	&endpoint_tei_predict,
	&endpoint_tgi,
	&endpoint_ollama_chat,
	&endpoint_ollama_generate,
	&endpoint_llamacpp,
	&endpoint_http,
	NULL,
};

static const char model_mark[] = "{model}";

const struct endpoint *endpoint_find(const char *name)
{
	for (size_t i = 0; endpoint_table[i]; i++)
		if (strcmp(endpoint_table[i]->name, name) == 0)
			return endpoint_table[i];
	return NULL;
}

/* Without the query, and without slashes at the end. */
static struct str bare(const char *url_path)
{
	struct str query, path = str_cut(str_of(url_path), '?', &query);
	while (str_ends(path, STR("/")))
		path.len--;
	return path;
}

/* What stands before the model in the operation's path: "/v2/models/"; empty without a model. */
static struct str before_model(const struct endpoint *e)
{
	const char *mark = e->path ? strstr(e->path, model_mark) : NULL;
	return (struct str){ e->path, mark ? (size_t)(mark - e->path) : 0 };
}

/*
 * Whether a path ends with the description of a model: ".../v2/models/NAME", or that and
 * "/versions/N". Only of protocols that have such a thing.
 */
static bool describes_model(const struct endpoint *e, struct str path)
{
	const struct str versions = STR("versions/"), models = before_model(e);
	ptrdiff_t at = models.len ? str_find(path, models) : -1;
	if (at < 0)
		return false;
	size_t start = (size_t)at + models.len;
	struct str version, name = { path.s + start, path.len - start };
	name = str_cut(name, '/', &version);
	if (name.len == 0 || version.len == 0)
		return name.len > 0;
	return str_starts(version, versions) &&
		!memchr(version.s + versions.len, '/', version.len - versions.len);
}

size_t endpoint_match(const struct endpoint *e, const char *url_path)
{
	struct str path = bare(url_path);
	size_t best = describes_model(e, path) ? path.len : 0;
	for (size_t i = 0; e->known_by[i]; i++) {
		struct str end = str_of(e->known_by[i]);
		if (end.len > best && str_ends(path, end))
			best = end.len;
	}
	return best;
}

bool endpoint_is_base(const struct endpoint *e, const char *url_path)
{
	struct str path = bare(url_path);
	return path.len == 0 || (e->base && str_ends(path, str_of(e->base)));
}

struct str endpoint_prefix(const struct endpoint *e, const char *url_path)
{
	struct str path = bare(url_path), models = before_model(e);
	ptrdiff_t at = models.len ? str_find(path, models) : -1;
	if (at >= 0)
		return (struct str){ path.s, (size_t)at };
	path.len -= endpoint_match(e, url_path);
	if (e->base && str_ends(path, str_of(e->base)))
		path.len -= strlen(e->base);
	return path;
}

const char *endpoint_model(const struct endpoint *e, const char *url_path, struct arena *run)
{
	struct str path = bare(url_path), models = before_model(e), rest;
	ptrdiff_t at = models.len ? str_find(path, models) : -1;
	if (at < 0)
		return NULL;
	size_t start = (size_t)at + models.len;
	struct str name = str_cut((struct str){ path.s + start, path.len - start }, '/', &rest);
	return name.len ? str_c(name, run) : NULL;
}

bool endpoint_streams(const struct endpoint *e, const char *url_path, bool wanted)
{
	struct str path = bare(url_path);
	if (e->stream_path && str_ends(path, str_of(e->stream_path)))
		return true;
	if (e->stream_path && str_ends(path, str_of(e->path)))
		return false;
	return wanted && e->can_stream;
}

/* Only the unreserved characters of RFC 3986, section 2.3, stay as they are. */
static void add_encoded(struct buf *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		unsigned char byte = (unsigned char)*c;
		if (byte < 0x80 && (isalnum(byte) || strchr("-._~", byte)))
			buf_add_char(out, *c);
		else
			buf_printf(out, "%%%02X", byte);
	}
}

/* What stands before the operation's own path, and that with the model put in. */
static const char *join(struct str before, const char *path, const char *model, struct arena *run)
{
	AUTO(auto_buf) struct buf out = { 0 };
	const char *at = strstr(path, model_mark);
	buf_add(&out, before);
	if (at && model) {
		buf_add(&out, (struct str){ path, (size_t)(at - path) });
		add_encoded(&out, model);
		path = at + strlen(model_mark);
	}
	buf_add_c(&out, path);
	return str_c(buf_str(&out), run);
}

const char *endpoint_path(const struct endpoint *e, const char *url_path, const char *model,
	bool stream, struct arena *run)
{
	struct str path = bare(url_path);
	if (!e->path || strchr(url_path, '?'))
		return url_path;
	if (describes_model(e, path))
		return join(path, e->operation, NULL, run);
	if (!endpoint_is_base(e, url_path))
		return url_path;
	path = endpoint_prefix(e, url_path);
	return join(path, stream && e->stream_path ? e->stream_path : e->path, model, run);
}

void reply_reset(struct reply *reply)
{
	/* in the hot path: the frame's bytes are not cleared */
	memset(reply, 0, offsetof(struct reply, frame));
	reply->input_tokens = reply->output_tokens = -1;
	frame_reset(&reply->frame);
}

void reply_keep_text(struct reply *reply, struct buf *text)
{
	buf_clear(text);
	reply->text = text;
}

void reply_add_text(struct reply *reply, struct str raw)
{
	if (!reply->text)
		return;
	if (reply->text->len + raw.len <= REPLY_TEXT_MAX)
		buf_add(reply->text, raw);
	else
		reply->text_cut = true;
}

void reply_fail(struct reply *reply, struct str text)
{
	size_t n = sizeof(reply->error_text) - 1;
	if (text.len < n)
		n = text.len;
	reply->error = true;
	if (n)
		memcpy(reply->error_text, text.s, n);
	reply->error_text[n] = '\0';
}

int64_t reply_output_tokens(const struct reply *reply, enum load_token_source *ret_source)
{
	if (reply->output_tokens >= 0) {
		*ret_source = LOAD_TOKENS_USAGE;
		return reply->output_tokens;
	}
	*ret_source = reply->id_events > 0 ? LOAD_TOKENS_IDS : LOAD_TOKENS_EVENTS;
	return reply->id_tokens + reply->token_events - reply->id_events;
}
