#include "load/workload.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/rng.h"
#include "stats/dist.h"
#include "text/json_scan.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>

static const char salt_mark[] = "v3ntur1salt0";
_Static_assert(sizeof(salt_mark) == SALT_LEN + 1, "the mark is as long as a salt");

static const char default_input_tokens[] = "64";
static const char default_output_tokens[] = "64";

uint64_t workload_nonce(void)
{
	uint64_t nonce;
	/* Before the system has gathered randomness the clock is different enough. */
	if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != (ssize_t)sizeof(nonce))
		nonce = (uint64_t)clock_read_ns(CLOCK_REALTIME);
	return nonce;
}

void workload_salt(char *at, uint64_t nonce, uint64_t n)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz012345";
	struct rng rng;
	rng_init(&rng, nonce + n * UINT64_C(0x9e3779b97f4a7c15));
	uint64_t bits = rng_u64(&rng);
	for (int i = 0; i < SALT_LEN; i++, bits >>= 5)
		at[i] = digits[bits & 31];
}

/* Everything that stays the same from request to request. */
struct builder {
	const struct load_config *config;
	const struct endpoint *endpoint;
	struct endpoint_options options;
	const struct url *url;
	const char *path;
	struct arena *run;
	struct buf body;
	struct buf request;
};

static const char *method_of(const struct builder *b)
{
	return b->endpoint == &endpoint_http && b->body.len == 0 && !b->config->data ? "GET" : "POST";
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
		if (!has_header(config, "content-type"))
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
	write_head(b);
	buf_add(&b->request, buf_str(&b->body));
	item.request = str_dup(buf_str(&b->request), b->run);
	item.salt_at = str_find(item.request, (struct str){ salt_mark, SALT_LEN });
	return item;
}

static struct workload_item build_item(struct builder *b, const struct prompt *p)
{
	buf_clear(&b->body);
	if (p->body.len)
		buf_add(&b->body, p->body);
	else
		b->endpoint->write_body(&b->body, p, &b->options);
	return finish_item(b);
}

/* Words of one token in most vocabularies, so that their number is near the number of tokens. */
static const char *const words[] = { "the", "and", "for", "that", "with", "you", "this", "have",
	"from", "they", "will", "one", "all", "would", "there", "their", "what", "out", "about",
	"who", "get", "which", "when", "make", "can", "like", "time", "just", "him", "know", "take",
	"people", "into", "year", "your", "good", "some", "could", "them", "see", "other", "than",
	"then", "now", "look", "only", "come", "its", "over", "think", "also", "back", "after",
	"use", "two", "how", "our", "work", "first", "well", "way", "even", "new", "want" };

static void write_words(struct buf *text, int64_t n, struct rng *rng)
{
	buf_clear(text);
	buf_add(text, (struct str){ salt_mark, SALT_LEN });
	for (int64_t i = 1; i < n; i++)
		buf_printf(text, " %s", words[rng_below(rng, ARRAY_LEN(words))]);
}

static int64_t whole(double x)
{
	return x < 1 ? 1 : x > WORKLOAD_TOKENS_MAX ? WORKLOAD_TOKENS_MAX : llround(x);
}

static bool build_synthetic(struct builder *b, const struct dist *input, const struct dist *output,
	struct workload *w)
{
	struct rng rng;
	AUTO(auto_buf) struct buf text = { 0 };
	bool constant = input->kind == DIST_CONSTANT && output->kind == DIST_CONSTANT;
	w->n = constant ? 16 : WORKLOAD_SYNTHETIC;
	w->items = arena_new_n(b->run, struct workload_item, w->n);
	rng_init(&rng, (uint64_t)b->config->seed);
	for (size_t i = 0; i < w->n; i++) {
		struct prompt p = { .output_tokens = whole(dist_sample(output, &rng)) };
		write_words(&text, whole(dist_sample(input, &rng)), &rng);
		p.text = buf_str(&text);
		w->items[i] = build_item(b, &p);
	}
	return true;
}

/* The fields of a JSONL line, by any of the names that data sets use. */
struct line_fields {
	struct str text, messages, body;
	int64_t output_tokens;
};

static bool read_fields(struct json_scan *s, struct line_fields *f)
{
	struct str key;
	if (!json_scan_object(s))
		return false;
	while (json_scan_key(s, &key)) {
		bool is_text = str_eq(key, STR("prompt")) || str_eq(key, STR("text")) ||
			str_eq(key, STR("input"));
		bool is_output = str_eq(key, STR("max_tokens")) ||
			str_eq(key, STR("output_tokens")) || str_eq(key, STR("output_length"));
		if (is_text && json_scan_string(s, &f->text))
			continue;
		if (is_output && json_scan_int(s, &f->output_tokens))
			continue;
		if (str_eq(key, STR("messages")) && json_scan_type(s) == JSON_SCAN_ARRAY)
			f->messages = json_scan_raw(s);
		else if (str_eq(key, STR("body")) && json_scan_type(s) == JSON_SCAN_OBJECT)
			f->body = json_scan_raw(s);
		else
			json_scan_skip(s);
	}
	return !s->failed && (f->text.s || f->messages.s || f->body.s);
}

/* Messages become text for an API that knows no messages: their contents, one a line. */
static void messages_to_text(struct str messages, struct buf *text)
{
	struct json_scan s = json_scan_of(messages);
	struct str key, content;
	if (!json_scan_array(&s))
		return;
	while (json_scan_element(&s)) {
		if (!json_scan_object(&s)) {
			json_scan_skip(&s);
			continue;
		}
		while (json_scan_key(&s, &key)) {
			if (!str_eq(key, STR("content")) || !json_scan_string(&s, &content)) {
				json_scan_skip(&s);
				continue;
			}
			if (text->len)
				buf_add_char(text, '\n');
			json_unescape(content, text);
		}
	}
}

static bool line_to_prompt(struct builder *b, struct str line, struct buf *text, struct prompt *p,
	struct err *err)
{
	struct json_scan s = json_scan_of(line);
	struct line_fields f = { 0 };
	if (b->endpoint == &endpoint_http) {
		p->body = line;
		return true;
	}
	if (!read_fields(&s, &f))
		return err_set(err, ERR_INPUT,
			_("not a JSON object with a 'prompt', 'text', 'input', 'messages' or 'body'"));
	buf_clear(text);
	if (f.text.s && !json_unescape(f.text, text))
		return err_set(err, ERR_INPUT, _("a string with a wrong escape"));
	if (!f.text.s && f.messages.s && b->endpoint != &endpoint_openai_chat)
		messages_to_text(f.messages, text);
	else if (f.messages.s)
		p->messages = f.messages;
	if (f.messages.s && !p->messages.s && !f.body.s && !f.text.s && text->len == 0)
		return err_set(err, ERR_INPUT, _("'messages' without any text, which this API needs"));
	p->text = buf_str(text);
	p->body = f.body;
	if (f.output_tokens > 0)
		p->output_tokens = f.output_tokens;
	return true;
}

static size_t count_lines(struct str text)
{
	size_t n = 0;
	while (text.len)
		n += str_trim(str_cut(text, '\n', &text)).len > 0;
	return n;
}

static bool build_from_file(struct builder *b, const struct dist *output, struct workload *w,
	struct err *err)
{
	const char *path = b->config->input_file;
	AUTO(auto_buf) struct buf text = { 0 };
	struct str all;
	struct rng rng;
	if (!str_read_file(path, WORKLOAD_FILE_MAX, b->run, &all, err))
		return false;
	size_t n = count_lines(all);
	if (n == 0)
		return err_set(err, ERR_INPUT, _("'%s' has no lines to send"), path);
	if (n > WORKLOAD_ITEMS_MAX)
		n = WORKLOAD_ITEMS_MAX;
	w->items = arena_new_n(b->run, struct workload_item, n);
	rng_init(&rng, (uint64_t)b->config->seed);
	for (int number = 1; all.len && w->n < n; number++) {
		struct str line = str_trim(str_cut(all, '\n', &all));
		struct prompt p = { 0 };
		if (line.len == 0)
			continue;
		if (output)
			p.output_tokens = whole(dist_sample(output, &rng));
		if (!line_to_prompt(b, line, &text, &p, err))
			return err_wrap(err, _("'%s', line %d"), path, number);
		w->items[w->n++] = build_item(b, &p);
	}
	return true;
}

static bool build_plain(struct builder *b, struct workload *w, struct err *err)
{
	struct prompt p = { 0 };
	const char *data = b->config->data;
	if (data && data[0] == '@') {
		if (!str_read_file(data + 1, WORKLOAD_FILE_MAX, b->run, &p.text, err))
			return false;
	} else if (data) {
		p.text = str_of(data);
	}
	w->items = arena_new(b->run, struct workload_item);
	w->n = 1;
	w->items[0] = build_item(b, &p);
	return true;
}

static bool parse_dist(const char *text, struct arena *run, struct dist *d, struct err *err,
	const char *option)
{
	return dist_parse(text, 1, run, d, err) || err_wrap(err, "'%s'", option);
}

/* The URL's own path, or the API's path after a base such as http://host or http://host/v1. */
static const char *path_of(const struct endpoint *endpoint, const struct url *url,
	struct arena *run)
{
	struct str path = str_of(url->path);
	if (!endpoint->path)
		return url->path;
	while (str_ends(path, STR("/")))
		path.len--;
	if (path.len == 0)
		return endpoint->path;
	if (str_ends(path, STR("/v1")))
		return arena_printf(run, "%.*s%s", STR_ARG(path), endpoint->path + strlen("/v1"));
	return url->path;
}

static bool check_options(const struct load_config *c, const struct endpoint *endpoint,
	struct err *err)
{
	if (c->input_file && c->input_tokens)
		return err_set(err, ERR_USAGE, _("'--input' and '--input-tokens' exclude each other"));
	if (c->data && endpoint != &endpoint_http)
		return err_set(err, ERR_USAGE, _("'--data' is for '--api http' only"));
	if ((c->input_tokens || c->output_tokens) && endpoint == &endpoint_http)
		return err_set(err, ERR_USAGE,
			_("'--input-tokens' and '--output-tokens' do not go with '--api http'"));
	return true;
}

bool workload_build(const struct load_config *config, const struct endpoint *endpoint,
	const char *model, const struct url *url, struct arena *run, struct workload *ret_workload,
	struct err *err)
{
	struct builder b = {
		.config = config,
		.endpoint = endpoint,
		.options = { .model = model, .stream = config->stream && endpoint->can_stream },
		.url = url,
		.path = path_of(endpoint, url, run),
		.run = run,
	};
	struct workload w = { 0 };
	struct dist input, output;
	const char *in = config->input_tokens ? config->input_tokens : default_input_tokens;
	const char *out = config->output_tokens ? config->output_tokens : default_output_tokens;
	if (!check_options(config, endpoint, err) ||
		!parse_dist(in, run, &input, err, "--input-tokens") ||
		!parse_dist(out, run, &output, err, "--output-tokens"))
		return false;
	bool ok;
	if (config->input_file) {
		ok = build_from_file(&b, &output, &w, err);
		w.input = arena_printf(run, "file:%s", config->input_file);
	} else if (endpoint == &endpoint_http) {
		ok = build_plain(&b, &w, err);
		w.input = config->data ? "data" : "none";
	} else {
		ok = build_synthetic(&b, &input, &output, &w);
		w.input = arena_printf(run, "tokens:%s", in);
	}
	w.output = endpoint->can_stream ? arena_printf(run, "tokens:%s", out) : "none";
	buf_release(&b.body);
	buf_release(&b.request);
	if (ok)
		*ret_workload = w;
	return ok;
}
