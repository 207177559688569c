#include "load/input.h"

#include "base/i18n.h"
#include "base/rng.h"
#include "load/session_plan.h"
#include "text/json_scan.h"
#include "token/tokenizer.h"

#include <stddef.h>

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
	{ STR_INIT("output_tokens"), offsetof(struct line_fields, output_tokens),
	        JSON_SCAN_NUMBER },
	{ STR_INIT("output_length"), offsetof(struct line_fields, output_tokens),
	        JSON_SCAN_NUMBER },
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
	return json_scan_ended(&s) &&
	       (f->text.s || f->messages.s || f->body.s || f->conversation.s || has_documents);
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
		struct str *to = str_eq(key, STR("from")) || str_eq(key, STR("role")) ? ret_who
		                 : str_eq(key, STR("value")) || str_eq(key, STR("content"))
		                         ? ret_text
		                         : NULL;
		if (!to || !json_scan_string(s, to))
			json_scan_skip(s);
	}
}

/* The first question of a conversation, and the answer if it follows; nothing where there is none.
 */
static void first_question(
        struct str conversation, struct str *ret_question, struct str *ret_answer)
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

/* As long an answer as was recorded, where a tokenizer can tell and nothing else was asked; or 0. */
static int64_t recorded_length(struct builder *b, struct str answer)
{
	AUTO(auto_buf) struct buf text = { 0 };
	if (!b->vocabulary.tokenizer || b->config->output_tokens || !json_unescape(answer, &text) ||
		text.len == 0 || text.len > TOKENIZER_TEXT_BYTES_MAX)
		return 0;
	return vocabulary_count(&b->vocabulary, buf_str(&text));
}

/* A string of a line, its escapes resolved; nothing where the line has none. */
static bool take_string(struct str raw, struct buf *into, struct err *err)
{
	buf_clear(into);
	return !raw.s || json_unescape(raw, into) ||
	       err_set(err, ERR_INPUT, _("a string with a wrong escape"));
}

static bool wrong_line(struct err *err)
{
	return err_set(err, ERR_INPUT,
		_("not a JSON object with a 'prompt', 'text', 'input', 'messages', "
		  "'conversations' or 'body'"));
}

/* *ret_skip becomes true for a conversation without a question. */
static bool line_to_prompt(
        struct builder *b, struct str line, struct prompt *p, bool *ret_skip, struct err *err)
{
	struct line_fields f = { 0 };
	if (b->endpoint == &endpoint_http) {
		p->body = line;
		return true;
	}
	if (!read_fields(line, b->endpoint, &f))
		return wrong_line(err);
	struct str answer = { 0 };
	if (!f.text.s)
		first_question(f.conversation, &f.text, &answer);
	int64_t recorded = recorded_length(b, answer);
	if (recorded > 0)
		p->output_tokens = recorded;
	*ret_skip = f.conversation.s && !f.text.s && !f.messages.s && !f.body.s;
	if (!take_string(f.text, &b->text, err) || !take_string(f.query, &b->query, err))
		return false;
	if (!b->endpoint->takes_messages && !f.text.s)
		messages_to_text(f.messages, &b->text);
	else
		p->messages = f.messages;
	if (f.messages.s && !p->messages.s && !f.body.s && !f.text.s && b->text.len == 0)
		return err_set(
		        err, ERR_INPUT, _("'messages' without any text, which this API needs"));
	p->text = buf_str(&b->text);
	p->query = buf_str(&b->query);
	p->documents = f.query.s ? f.documents : (struct str){ 0 };
	p->body = f.body;
	if (f.output_tokens > 0)
		p->output_tokens = f.output_tokens;
	return true;
}

/* A line as a session; the conversation has no turn where nobody asks anything. */
static bool line_to_session(struct builder *b, struct str line, const struct dist *output,
	struct rng *rng, struct conversation *c, struct err *err)
{
	bool messages = b->endpoint->takes_messages;
	struct line_fields f = { 0 };
	if (!read_fields(line, b->endpoint, &f))
		return wrong_line(err);
	if (f.body.s)
		return err_set(err, ERR_INPUT, _("a 'body' is no conversation, which '--turns' needs"));
	struct str list = f.messages.s ? f.messages : f.conversation;
	if (list.s) {
		if (!conversation_read(list, messages, b->run, c, err))
			return false;
	} else {
		if (!take_string(f.text, &b->text, err))
			return false;
		conversation_of_text(buf_str(&b->text), messages, b->run, c);
	}
	for (size_t i = 0; i < c->n; i++) {
		int64_t drawn = builder_tokens(dist_sample(output, rng));
		int64_t recorded = recorded_length(b, c->turns[i].answer_raw);
		c->turns[i].frame = (uint32_t)(f.output_tokens > 0 ?
				builder_tokens((double)f.output_tokens) :
				recorded > 0 ? recorded : drawn);
	}
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
	w->items = arena_new_n(b->run, struct workload_item, n);
	while (w->n < n && next_input(in, &one)) {
		struct prompt p = { .output_tokens = builder_tokens(dist_sample(output, &rng)) };
		bool skip = false;
		if (!line_to_prompt(b, one, &p, &skip, err))
			return false;
		if (skip)
			continue;
		if (!builder_item(b, &p, &w->items[w->n], err))
			return false;
		w->n++;
	}
	return true;
}

static bool build_sessions(struct builder *b, const struct dist *output, struct inputs *in,
	size_t n, struct workload *w, struct err *err)
{
	struct session_plan *p = w->sessions;
	struct str one;
	struct rng rng;
	rng_init(&rng, (uint64_t)b->config->seed);
	p->conversations = arena_new_n(b->run, struct conversation, n);
	for (size_t i = 0; i < n && next_input(in, &one); i++) {
		if (!line_to_session(b, one, output, &rng, &p->conversations[p->n], err))
			return false;
		p->n += p->conversations[p->n].n > 0;
	}
	return p->n == 0 || session_plan_frames(b, w, err);
}

bool input_build(struct builder *b, const struct dist *output, struct workload *w, struct err *err)
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
		ok = w->sessions ? build_sessions(b, output, &in, n, w, err) :
				   build_inputs(b, output, &in, n, w, err);
	}
	if (!ok)
		return err_wrap(err, _("'%s', line %d"), path, in.number);
	return w->n > 0 || err_set(err, ERR_INPUT, _("'%s' has no lines to send"), path);
}
