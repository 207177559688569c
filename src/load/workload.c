#include "load/workload.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/rng.h"
#include "load/vocabulary.h"
#include "stats/dist.h"
#include "text/json_scan.h"
#include "token/tokenizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char salt_mark[] = "v3ntur1salt0";
_Static_assert(sizeof(salt_mark) == SALT_LEN + 1, "the mark is as long as a salt");

static const char default_input_tokens[] = "64";
static const char default_output_tokens[] = "64";

enum { LENGTH_DIGITS = 10 }; /* of a body: fewer get blanks before them, which HTTP allows */

/* What a part of a prompt is, for its key. */
enum part { PART_UNIQUE, PART_PREFIX, PART_BLOCK };

uint64_t workload_nonce(void)
{
	uint64_t nonce;
	/* Before the system has gathered randomness the clock is different enough. */
	if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != (ssize_t)sizeof(nonce))
		nonce = (uint64_t)clock_read_ns(CLOCK_REALTIME);
	return nonce;
}

static void write_salt(char *at, uint64_t key)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz012345";
	for (int i = 0; i < SALT_LEN; i++, key >>= 5)
		at[i] = digits[key & 31];
}

/* The text of prompt i: what it shares with others, then what it has alone. */
static void add_text(const struct workload *w, size_t i, int64_t ticket, uint64_t nonce,
	struct buf *out)
{
	const struct schedule_row *row = w->schedule ? &w->schedule->rows[i] : NULL;
	int64_t left = w->prompts[i].input_tokens;
	uint64_t seed = w->salted ? nonce : w->seed;
	uint64_t number = w->salted ? (uint64_t)ticket : i;
	size_t start = out->len;
	for (uint32_t b = 0; row && b < row->n_blocks && left > 0; b++) {
		uint64_t id = (uint64_t)w->schedule->blocks[row->first_block + b];
		int64_t n = left < w->schedule->block_tokens ? left : w->schedule->block_tokens;
		prompt_text_add(&w->text, prompt_text_key(seed, PART_BLOCK, id), n,
			out->len == start, out);
		left -= n;
	}
	if (w->prefix_ratio > 0) {
		int64_t n = llround(w->prefix_ratio * (double)left);
		uint64_t id = prompt_text_key(w->seed, PART_PREFIX, number) % (uint64_t)w->n_prefixes;
		prompt_text_add(&w->text, prompt_text_key(seed, PART_PREFIX, id), n, true, out);
		left -= n;
	}
	prompt_text_add(&w->text, prompt_text_key(seed, PART_UNIQUE, number), left,
		out->len == start, out);
}

static struct str frame_text(const struct workload *w, size_t i, int64_t ticket, uint64_t nonce,
	struct buf *out)
{
	const struct workload_frame *f = &w->frames[w->prompts[i].frame];
	char digits[LENGTH_DIGITS + 1];
	buf_clear(out);
	buf_add(out, f->before);
	size_t length_at = out->len;
	buf_add_blanks(out, LENGTH_DIGITS);
	size_t body_at = out->len + f->head_rest;
	buf_add(out, f->middle);
	add_text(w, i, ticket, nonce, out);
	buf_add(out, f->after);
	snprintf(digits, sizeof(digits), "%*u", LENGTH_DIGITS, (unsigned)(out->len - body_at));
	memcpy(out->s + length_at, digits, LENGTH_DIGITS);
	return buf_str(out);
}

struct str workload_request(const struct workload *w, int64_t ticket, int64_t arrival,
	uint64_t nonce, struct buf *scratch)
{
	if (w->n_prompts)
		return frame_text(w, (size_t)(w->schedule ? arrival : ticket) % w->n_prompts, ticket,
			nonce, scratch);
	const struct workload_item *item = &w->items[(size_t)ticket % w->n];
	if (item->salt_at < 0)
		return item->request;
	buf_clear(scratch);
	buf_add(scratch, item->request);
	write_salt(scratch->s + item->salt_at, prompt_text_key(nonce, PART_UNIQUE, (uint64_t)ticket));
	return buf_str(scratch);
}

/* Everything that stays the same from request to request. */
struct builder {
	const struct load_config *config;
	const struct endpoint *endpoint;
	struct endpoint_options options;
	const struct url *url;
	const char *path;
	struct arena *run;
	struct vocabulary vocabulary;
	struct buf text, query; /* of the line under way */
	struct buf head;        /* lines that follow from the body */
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

static bool build_item(struct builder *b, const struct prompt *p, struct workload_item *ret_item,
	struct err *err)
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

static int64_t whole(double x)
{
	return x < 1 ? 1 : x > WORKLOAD_TOKENS_MAX ? WORKLOAD_TOKENS_MAX : llround(x);
}

/*
 * How many requests to make, when the first is there. Requests of one length that get a salt each
 * differ enough; for the others as many as memory allows, so that no cache has seen them.
 */
static size_t pool_size(const struct workload_item *first, bool constant)
{
	if (constant && first->salt_at >= 0)
		return 16;
	size_t n = WORKLOAD_POOL_BYTES / first->request.len;
	return n < 1 ? 1 : n > WORKLOAD_SYNTHETIC ? WORKLOAD_SYNTHETIC : n;
}

/* The lengths of synthetic prompts: drawn, or those of a schedule where nothing else was asked. */
struct lengths {
	const struct dist *input, *output;
	const struct schedule *input_rows, *output_rows; /* NULL: drawn */
	struct rng rng;
};

static void next_lengths(struct lengths *l, size_t i, int64_t *ret_input, int64_t *ret_output)
{
	*ret_output = l->output_rows ? l->output_rows->rows[i].output_tokens :
				       whole(dist_sample(l->output, &l->rng));
	*ret_input = l->input_rows ? l->input_rows->rows[i].input_tokens :
				     whole(dist_sample(l->input, &l->rng));
}

/* ---- requests written out ---- */

/* For a body that is no frame around one text: the salt, where the body shows it, and words. */
static void write_words(struct builder *b, const struct prompt_text *t, uint64_t key, int64_t n,
	struct buf *text)
{
	buf_clear(text);
	if (b->config->salt) {
		buf_add(text, (struct str){ salt_mark, SALT_LEN });
		n--;
	}
	prompt_text_add(t, key, n, text->len == 0, text);
}

static bool build_pool(struct builder *b, struct lengths *l, struct workload *w, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	const struct schedule *s = b->config->schedule;
	bool constant = l->input->kind == DIST_CONSTANT && l->output->kind == DIST_CONSTANT &&
		!l->input_rows && !l->output_rows;
	w->items = arena_new_n(b->run, struct workload_item, WORKLOAD_SYNTHETIC);
	w->n = 1;
	for (size_t i = 0; i < w->n; i++) {
		struct prompt p = { 0 };
		next_lengths(l, i, &p.input_tokens, &p.output_tokens);
		write_words(b, &w->text, prompt_text_key(w->seed, PART_UNIQUE, i), p.input_tokens,
			&text);
		p.text = buf_str(&text);
		if (!build_item(b, &p, &w->items[i], err))
			return false;
		if (w->salted)
			w->items[i].salt_at = str_find(w->items[i].request,
				(struct str){ salt_mark, SALT_LEN });
		if (i == 0)
			w->n = pool_size(&w->items[0], constant);
		if ((l->input_rows || l->output_rows) && w->n > s->n)
			w->n = s->n;
	}
	return true;
}

/* ---- requests framed ---- */

/* Cuts a request around its length and its text; false when it is no frame around one text. */
static bool cut_frame(struct str request, struct workload_frame *f)
{
	static const struct str name = STR_INIT("\r\nContent-Length: ");
	const struct str mark = { salt_mark, SALT_LEN };
	ptrdiff_t head = str_find(request, STR("\r\n\r\n"));
	ptrdiff_t length = str_find(request, name), text = str_find(request, mark);
	if (head < 0 || length < 0 || length > head || text < head)
		return false;
	size_t from = (size_t)length + name.len, to = from;
	while (request.s[to] >= '0' && request.s[to] <= '9')
		to++;
	size_t end = (size_t)text + mark.len;
	f->before = (struct str){ request.s, from };
	f->middle = (struct str){ request.s + to, (size_t)text - to };
	f->after = (struct str){ request.s + end, request.len - end };
	f->head_rest = (size_t)head + 4 - to;
	return str_find(f->after, mark) < 0;
}

/* ret_framed   false: the API's requests cannot be framed */
static bool build_frame(struct builder *b, int64_t output_tokens, struct workload_frame *f,
	bool *ret_framed, struct err *err)
{
	struct workload_item item;
	const struct prompt p = {
		.text = { salt_mark, SALT_LEN },
		.input_tokens = 1,
		.output_tokens = output_tokens,
	};
	if (!build_item(b, &p, &item, err))
		return false;
	f->output_tokens = output_tokens;
	*ret_framed = !b->endpoint->write_head && cut_frame(item.request, f);
	return true;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Sorted, each once; returns how many. */
static size_t distinct(uint32_t *numbers, size_t n)
{
	size_t kept = 0;
	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	return kept;
}

/* One frame for each length of an answer; prompts hold that length, and then its frame. */
static bool build_frames(struct builder *b, struct workload *w, bool *ret_framed, struct err *err)
{
	AUTO(auto_free) uint32_t *numbers = mem_realloc(NULL, w->n_prompts * sizeof(*numbers));
	for (size_t i = 0; i < w->n_prompts; i++)
		numbers[i] = w->prompts[i].frame;
	size_t n = distinct(numbers, w->n_prompts);
	if (n > WORKLOAD_FRAMES_MAX)
		return err_set(err, ERR_INPUT, _("answers have more than %d different lengths"),
			WORKLOAD_FRAMES_MAX);
	w->frames = arena_new_n(b->run, struct workload_frame, n);
	*ret_framed = true;
	for (size_t i = 0; i < n && *ret_framed; i++)
		if (!build_frame(b, numbers[i], &w->frames[i], ret_framed, err))
			return false;
	for (size_t i = 0; i < w->n_prompts; i++) {
		const uint32_t *at = bsearch(&w->prompts[i].frame, numbers, n, sizeof(*numbers),
			by_number);
		w->prompts[i].frame = (uint32_t)(at - numbers);
	}
	return true;
}

static bool build_synthetic(struct builder *b, const struct dist *input, const struct dist *output,
	struct workload *w, struct err *err)
{
	const struct load_config *c = b->config;
	const struct schedule *s = c->schedule && c->schedule->has_lengths ? c->schedule : NULL;
	struct lengths l = {
		.input = input,
		.output = output,
		.input_rows = c->input_tokens ? NULL : s,
		.output_rows = c->output_tokens ? NULL : s,
	};
	bool framed = false;
	rng_init(&l.rng, (uint64_t)c->seed);
	struct lengths again = l;
	w->schedule = l.input_rows || l.output_rows ? s : NULL;
	w->n_prompts = w->schedule ? s->n : WORKLOAD_LENGTHS;
	w->prompts = arena_new_n(b->run, struct workload_prompt, w->n_prompts);
	for (size_t i = 0; i < w->n_prompts; i++) {
		int64_t in, out;
		next_lengths(&l, i, &in, &out);
		w->prompts[i] = (struct workload_prompt){ (uint32_t)in, (uint32_t)out };
	}
	if (!build_frames(b, w, &framed, err))
		return false;
	if (framed)
		return true;
	if (c->prefix_ratio > 0)
		return err_set(err, ERR_USAGE, _("'--prefix-share' does not go with '--api %s'"),
			b->endpoint->name);
	w->n_prompts = 0;
	w->schedule = NULL;
	return build_pool(b, &again, w, err);
}

/* The fields of a JSONL line, by any of the names that data sets use. */
struct line_fields {
	struct str text, messages, body;
	struct str conversation;
	struct str query, documents;
	int64_t output_tokens;
};

struct line_field {
	struct str key;
	size_t offset; /* in struct line_fields */
	enum json_scan_type type;
};

static const struct line_field line_fields[] = {
	{ STR_INIT("prompt"), offsetof(struct line_fields, text), JSON_SCAN_STRING },
	{ STR_INIT("text"), offsetof(struct line_fields, text), JSON_SCAN_STRING },
	{ STR_INIT("input"), offsetof(struct line_fields, text), JSON_SCAN_STRING },
	{ STR_INIT("messages"), offsetof(struct line_fields, messages), JSON_SCAN_ARRAY },
	{ STR_INIT("body"), offsetof(struct line_fields, body), JSON_SCAN_OBJECT },
	{ STR_INIT("conversations"), offsetof(struct line_fields, conversation), JSON_SCAN_ARRAY },
	{ STR_INIT("conversation"), offsetof(struct line_fields, conversation), JSON_SCAN_ARRAY },
	{ STR_INIT("query"), offsetof(struct line_fields, query), JSON_SCAN_STRING },
	{ STR_INIT("documents"), offsetof(struct line_fields, documents), JSON_SCAN_ARRAY },
	{ STR_INIT("texts"), offsetof(struct line_fields, documents), JSON_SCAN_ARRAY },
	{ STR_INIT("max_tokens"), offsetof(struct line_fields, output_tokens), JSON_SCAN_NUMBER },
	{ STR_INIT("output_tokens"), offsetof(struct line_fields, output_tokens), JSON_SCAN_NUMBER },
	{ STR_INIT("output_length"), offsetof(struct line_fields, output_tokens), JSON_SCAN_NUMBER },
};

/* Takes a value of the type that its field has; others are passed over. */
static void read_field(struct json_scan *s, const struct line_field *field, struct line_fields *f)
{
	void *to = (char *)f + field->offset;
	if (json_scan_type(s) == field->type) {
		if (field->type == JSON_SCAN_STRING && json_scan_string(s, to))
			return;
		if (field->type == JSON_SCAN_NUMBER && json_scan_int(s, to))
			return;
		if (field->type == JSON_SCAN_ARRAY || field->type == JSON_SCAN_OBJECT) {
			*(struct str *)to = json_scan_raw(s);
			return;
		}
	}
	json_scan_skip(s);
}

static bool read_fields(struct str line, const struct endpoint *e, struct line_fields *f)
{
	struct json_scan s = json_scan_of(line);
	struct str key;
	if (!json_scan_object(&s))
		return false;
	while (json_scan_key(&s, &key)) {
		size_t i = 0;
		while (i < ARRAY_LEN(line_fields) && !str_eq(key, line_fields[i].key))
			i++;
		if (e->body_key && str_eq(key, str_of(e->body_key)))
			f->body = line;
		if (i < ARRAY_LEN(line_fields))
			read_field(&s, &line_fields[i], f);
		else
			json_scan_skip(&s);
	}
	bool has_documents = e->takes_documents && f->query.s && f->documents.s;
	return json_scan_ended(&s) && (f->text.s || f->messages.s || f->body.s || f->conversation.s ||
					      has_documents);
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

/* Who speaks and what, of one turn: {"from": "human", "value": "..."} in the manner of ShareGPT. */
static void read_turn(struct json_scan *s, struct str *ret_who, struct str *ret_text)
{
	struct str key;
	*ret_who = *ret_text = (struct str){ 0 };
	if (!json_scan_object(s)) {
		json_scan_skip(s);
		return;
	}
	while (json_scan_key(s, &key)) {
		struct str *to = str_eq(key, STR("from")) || str_eq(key, STR("role")) ? ret_who :
			str_eq(key, STR("value")) || str_eq(key, STR("content"))       ? ret_text :
											NULL;
		if (!to || !json_scan_string(s, to))
			json_scan_skip(s);
	}
}

/* The first question of a conversation, and the answer if it follows; nothing where there is none. */
static void first_question(struct str conversation, struct str *ret_question, struct str *ret_answer)
{
	struct json_scan s = json_scan_of(conversation);
	struct str who, text;
	*ret_question = *ret_answer = (struct str){ 0 };
	if (!conversation.s || !json_scan_array(&s))
		return;
	while (json_scan_element(&s)) {
		read_turn(&s, &who, &text);
		bool asks = str_eq(who, STR("human")) || str_eq(who, STR("user"));
		if (ret_question->s && !asks)
			*ret_answer = text;
		if (ret_question->s)
			return;
		if (asks && text.len)
			*ret_question = text;
	}
}

/* As long an answer as was recorded, where a tokenizer can tell and nothing else was asked. */
static void ask_recorded_length(struct builder *b, struct str answer, struct prompt *p)
{
	AUTO(auto_buf) struct buf text = { 0 };
	if (!b->vocabulary.tokenizer || b->config->output_tokens || !json_unescape(answer, &text) ||
		text.len == 0 || text.len > TOKENIZER_TEXT_BYTES_MAX)
		return;
	p->output_tokens = vocabulary_count(&b->vocabulary, buf_str(&text));
}

/* A string of a line, its escapes resolved; nothing where the line has none. */
static bool take_string(struct str raw, struct buf *into, struct err *err)
{
	buf_clear(into);
	return !raw.s || json_unescape(raw, into) ||
		err_set(err, ERR_INPUT, _("a string with a wrong escape"));
}

/* *ret_skip becomes true for a conversation without a question. */
static bool line_to_prompt(struct builder *b, struct str line, struct prompt *p, bool *ret_skip,
	struct err *err)
{
	struct line_fields f = { 0 };
	if (b->endpoint == &endpoint_http) {
		p->body = line;
		return true;
	}
	if (!read_fields(line, b->endpoint, &f))
		return err_set(err, ERR_INPUT,
			_("not a JSON object with a 'prompt', 'text', 'input', 'messages', "
			  "'conversations' or 'body'"));
	struct str answer = { 0 };
	if (!f.text.s)
		first_question(f.conversation, &f.text, &answer);
	ask_recorded_length(b, answer, p);
	*ret_skip = f.conversation.s && !f.text.s && !f.messages.s && !f.body.s;
	if (!take_string(f.text, &b->text, err) || !take_string(f.query, &b->query, err))
		return false;
	if (!b->endpoint->takes_messages && !f.text.s)
		messages_to_text(f.messages, &b->text);
	else
		p->messages = f.messages;
	if (f.messages.s && !p->messages.s && !f.body.s && !f.text.s && b->text.len == 0)
		return err_set(err, ERR_INPUT, _("'messages' without any text, which this API needs"));
	p->text = buf_str(&b->text);
	p->query = buf_str(&b->query);
	p->documents = f.query.s ? f.documents : (struct str){ 0 };
	p->body = f.body;
	if (f.output_tokens > 0)
		p->output_tokens = f.output_tokens;
	return true;
}

/* What the input holds, one after the other: lines, or the elements of one JSON array. */
struct inputs {
	struct str rest;
	struct json_scan array;
	bool is_array;
	const char *counted; /* lines until here are in number */
	int number;          /* of the line where the last one begins */
};

static struct inputs inputs_of(struct str text, const struct endpoint *e)
{
	struct inputs in = {
		.rest = text,
		.array = json_scan_of(text),
		.counted = text.s,
		.number = 1,
	};
	/* A body of plain HTTP may be an array itself. */
	in.is_array = e != &endpoint_http && json_scan_array(&in.array);
	return in;
}

static void count_lines(struct inputs *in, const char *until)
{
	for (; in->counted < until; in->counted++)
		in->number += *in->counted == '\n';
}

/* False at the end, and where an array is no JSON: its scanner has failed then. */
static bool next_input(struct inputs *in, struct str *ret)
{
	if (in->is_array) {
		if (!json_scan_element(&in->array))
			return false;
		*ret = json_scan_raw(&in->array);
	} else {
		do {
			if (!in->rest.len)
				return false;
			*ret = str_trim(str_cut(in->rest, '\n', &in->rest));
		} while (ret->len == 0);
	}
	if (in->is_array && in->array.failed)
		return false;
	count_lines(in, ret->s);
	return true;
}

/* How many there are, at most WORKLOAD_ITEMS_MAX; in is left where an array is no JSON. */
static bool count_inputs(struct inputs *in, size_t *ret_n, struct err *err)
{
	struct str one;
	*ret_n = 0;
	while (next_input(in, &one))
		if (++*ret_n == WORKLOAD_ITEMS_MAX)
			return true;
	if (!in->is_array || json_scan_ended(&in->array))
		return true;
	return err_set(err, ERR_INPUT, _("the list is not valid JSON, or something follows it"));
}

static bool build_inputs(struct builder *b, const struct dist *output, struct inputs *in, size_t n,
	struct workload *w, struct err *err)
{
	struct str one;
	struct rng rng;
	rng_init(&rng, (uint64_t)b->config->seed);
	while (w->n < n && next_input(in, &one)) {
		struct prompt p = { .output_tokens = whole(dist_sample(output, &rng)) };
		bool skip = false;
		if (!line_to_prompt(b, one, &p, &skip, err))
			return false;
		if (skip)
			continue;
		if (!build_item(b, &p, &w->items[w->n], err))
			return false;
		w->n++;
	}
	return true;
}

static bool build_from_file(struct builder *b, const struct dist *output, struct workload *w,
	struct err *err)
{
	const char *path = b->config->input_file;
	AUTO(arena_release) struct arena tmp = { 0 };
	struct str all;
	if (!str_read_file(path, WORKLOAD_FILE_MAX, &tmp, &all, err))
		return false;
	struct inputs in = inputs_of(all, b->endpoint);
	struct inputs first = in;
	size_t n;
	bool ok = count_inputs(&in, &n, err);
	if (ok && n > 0) {
		in = first;
		w->items = arena_new_n(b->run, struct workload_item, n);
		ok = build_inputs(b, output, &in, n, w, err);
	}
	if (!ok)
		return err_wrap(err, _("'%s', line %d"), path, in.number);
	return w->n > 0 || err_set(err, ERR_INPUT, _("'%s' has no lines to send"), path);
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
	return build_item(b, &p, &w->items[0], err);
}

static bool parse_dist(const char *text, struct arena *run, struct dist *d, struct err *err,
	const char *option)
{
	return dist_parse(text, 1, run, d, err) || err_wrap(err, "'%s'", option);
}

static bool check_options(const struct load_config *c, const struct endpoint *endpoint,
	struct err *err)
{
	if (c->input_file && c->input_tokens)
		return err_set(err, ERR_USAGE, _("'--input' and '--input-tokens' exclude each other"));
	if (c->data && endpoint != &endpoint_http)
		return err_set(err, ERR_USAGE, _("'--data' is for '--api http' only"));
	if (c->tokenizer && endpoint == &endpoint_http)
		return err_set(err, ERR_USAGE, _("'--tokenizer' does not go with '--api http'"));
	if (c->prefix_ratio > 0 && (c->input_file || endpoint == &endpoint_http))
		return err_set(err, ERR_USAGE, _("'--prefix-share' is for synthetic prompts only"));
	if (c->tensors && !endpoint->prepare)
		return err_set(err, ERR_USAGE, _("'--tensors' is for '--api kserve-v2' only"));
	if ((c->input_tokens || c->output_tokens) && endpoint == &endpoint_http)
		return err_set(err, ERR_USAGE,
			_("'--input-tokens' and '--output-tokens' do not go with '--api http'"));
	return true;
}

/* What is sent, for the fingerprint. */
static const char *input_words(const struct load_config *c, const struct endpoint *endpoint,
	const char *tokens, struct arena *run)
{
	bool recorded = c->schedule && c->schedule->has_lengths && !c->input_tokens;
	const char *text = recorded ? "schedule" : arena_printf(run, "tokens:%s", tokens);
	if (c->input_file)
		return arena_printf(run, "file:%s", c->input_file);
	if (endpoint == &endpoint_http)
		return c->data ? "data" : "none";
	if (c->tokenizer)
		text = arena_printf(run, "%s tokenizer:%s", text, c->tokenizer);
	if (c->prefix_ratio > 0)
		text = arena_printf(run, "%s prefix:%.9g/%lld", text, c->prefix_ratio,
			(long long)(c->n_prefixes > 0 ? c->n_prefixes : 1));
	return text;
}

static bool build_requests(struct builder *b, const struct dist *input, const struct dist *output,
	struct workload *w, struct err *err)
{
	if (b->config->input_file)
		return build_from_file(b, output, w, err);
	if (b->endpoint == &endpoint_http)
		return build_plain(b, w, err);
	w->salted = b->config->salt;
	return build_synthetic(b, input, output, w, err);
}

static bool open_text(struct builder *b, struct workload *w, struct err *err)
{
	const char *path = b->config->tokenizer;
	if (!path) {
		prompt_text_init(&w->text, NULL, 0, b->run);
		return true;
	}
	if (!vocabulary_open(&b->vocabulary, path, b->run, err))
		return false;
	prompt_text_init(&w->text, b->vocabulary.words, b->vocabulary.n, b->run);
	/* That words stay apart is how tokenizers are made, not a law. */
	const struct str pool = { w->text.pool + 1, w->text.ends[PROMPT_TEXT_POOL] - 1 };
	return vocabulary_count(&b->vocabulary, pool) == PROMPT_TEXT_POOL ||
		err_set(err, ERR_INPUT,
			_("'%s': its tokens reach over words, so that no prompt has an exact length"),
			path);
}

bool workload_build(const struct load_config *config, const struct endpoint *endpoint,
	const char *model, const void *prepared, const struct url *url, struct arena *run,
	struct workload *ret_workload, struct err *err)
{
	struct builder b = {
		.config = config,
		.endpoint = endpoint,
		.options = {
			.model = model,
			.stream = endpoint_streams(endpoint, url->path, config->stream),
			.binary = config->tensors && strcmp(config->tensors, "binary") == 0,
			.prepared = prepared,
		},
		.url = url,
		.run = run,
	};
	struct workload w = {
		.prefix_ratio = config->prefix_ratio,
		.n_prefixes = config->n_prefixes > 0 ? config->n_prefixes : 1,
		.seed = (uint64_t)config->seed,
	};
	b.path = endpoint_path(endpoint, url->path, model, b.options.stream, run);
	struct dist input, output;
	const char *in = config->input_tokens ? config->input_tokens : default_input_tokens;
	const char *out = config->output_tokens ? config->output_tokens : default_output_tokens;
	if (!check_options(config, endpoint, err) ||
		!parse_dist(in, run, &input, err, "--input-tokens") ||
		!parse_dist(out, run, &output, err, "--output-tokens"))
		return false;
	bool ok = open_text(&b, &w, err) && build_requests(&b, &input, &output, &w, err);
	w.input = input_words(config, endpoint, in, run);
	bool recorded = config->schedule && config->schedule->has_lengths && !config->output_tokens &&
		!config->input_file;
	w.output = !endpoint->can_stream ? "none" :
		recorded		 ? "schedule" :
					   arena_printf(run, "tokens:%s", out);
	vocabulary_close(&b.vocabulary);
	buf_release(&b.text);
	buf_release(&b.query);
	buf_release(&b.head);
	buf_release(&b.body);
	buf_release(&b.request);
	if (ok)
		*ret_workload = w;
	return ok;
}
