#include "load/endpoints/answer.h"

#include <string.h>

static void book(const struct answer *a)
{
	struct reply *reply = a->reply;
	reply->token_events += a->bears_token || a->n_ids > 0;
	reply->visible_events += a->is_visible;
	reply->id_events += a->n_ids > 0;
	reply->id_tokens += a->n_ids;
	reply->usage_events += a->has_usage;
}

/* In the hot path: mostly the lengths or the last bytes differ, and then no call is needed. */
static inline bool is_key(struct str key, struct str name)
{
	return key.len == name.len && key.s[key.len - 1] == name.s[key.len - 1] &&
	       memcmp(key.s, name.s, key.len) == 0;
}

static void read_fields(
        struct answer *a, struct json_scan *s, const struct answer_field *fields, size_t n)
{
	struct str key;
	while (json_scan_key(s, &key)) {
		size_t i = 0;
		while (i < n && !is_key(key, fields[i].key))
			i++;
		if (i < n)
			fields[i].read(a, s);
		else
			json_scan_skip(s);
	}
}

/*
 * The event said nothing but that its one text bears a token: events like it need no parsing. A
 * finish marker does not matter, for it cannot be taken back.
 */
static bool is_framed(const struct answer *a, int64_t token_events_before)
{
	return a->text.s && a->n_filled == 1 && !a->n_ids && !a->has_number && !a->reply->error &&
	       a->reply->token_events == token_events_before + 1;
}

static void check_json(struct reply *reply, const struct json_scan *s)
{
	if (s->failed && !reply->error)
		reply_fail(reply, STR("answer is not JSON"));
}

void answer_read(struct reply *reply, struct str data, const struct answer_field *fields, size_t n)
{
	struct json_scan s = json_scan_of(data);
	struct answer a = { .reply = reply };
	int64_t before = reply->token_events;
	bool filled;
	if (frame_fits(&reply->frame, fields, data, &filled)) {
		reply->token_events += filled;
		reply->visible_events += filled && reply->frame.visible;
		if (reply->frame.visible)
			reply_add_text(reply, frame_text(&reply->frame, data));
		return;
	}
	if (!json_scan_object(&s)) {
		reply_fail(reply, STR("answer is not a JSON object"));
		return;
	}
	read_fields(&a, &s, fields, n);
	book(&a);
	check_json(reply, &s);
	if (is_framed(&a, before))
		frame_keep(&reply->frame, fields, data, a.text, a.is_visible);
}

void answer_read_results(struct reply *reply, struct str data)
{
	static const struct answer_field errors[] = { { STR_INIT("error"), answer_error } };
	struct json_scan s = json_scan_of(data);
	struct answer a = { .reply = reply };
	if (json_scan_type(&s) == JSON_SCAN_OBJECT)
		answer_object(&a, &s, errors, ARRAY_LEN(errors));
	else if (json_scan_type(&s) == JSON_SCAN_ARRAY)
		answer_results(&a, &s);
	else
		reply_fail(reply, STR("answer is not a JSON array"));
	check_json(reply, &s);
}

void answer_object(
        struct answer *a, struct json_scan *s, const struct answer_field *fields, size_t n)
{
	if (json_scan_object(s))
		read_fields(a, s, fields, n);
	else
		json_scan_skip(s);
}

/* The number of elements of an array; 0 for another type, which is skipped. */
static int64_t count_elements(struct json_scan *s)
{
	int64_t n = 0;
	if (!json_scan_array(s)) {
		json_scan_skip(s);
		return 0;
	}
	for (; json_scan_element(s); n++)
		json_scan_skip(s);
	return n;
}

static bool is_filled(struct json_scan *s)
{
	struct str key;
	bool filled = false;
	if (!json_scan_object(s))
		return count_elements(s) > 0;
	while (json_scan_key(s, &key)) {
		filled = true;
		json_scan_skip(s);
	}
	return filled;
}

/* One channel of the answer: whether it bears a token. */
static bool read_channel(struct answer *a, struct json_scan *s)
{
	struct str text = { 0 };
	bool filled = json_scan_string(s, &text) ? text.len > 0 : is_filled(s);
	if (!filled)
		return false;
	a->text = text;
	a->n_filled++;
	a->bears_token = true;
	return true;
}

void answer_visible(struct answer *a, struct json_scan *s)
{
	if (!read_channel(a, s))
		return;
	a->is_visible = true;
	reply_add_text(a->reply, a->text);
}

void answer_hidden(struct answer *a, struct json_scan *s)
{
	read_channel(a, s);
}

void answer_ids(struct answer *a, struct json_scan *s)
{
	int64_t n = count_elements(s);
	if (n > a->n_ids)
		a->n_ids = n;
}

static bool read_count(struct json_scan *s, int64_t *to)
{
	int64_t n;
	if (!json_scan_int(s, &n)) {
		json_scan_skip(s);
		return false;
	}
	if (n < 0)
		return false;
	*to = n;
	return true;
}

void answer_input_tokens(struct answer *a, struct json_scan *s)
{
	a->has_number |= read_count(s, &a->reply->input_tokens);
}

void answer_output_tokens(struct answer *a, struct json_scan *s)
{
	if (read_count(s, &a->reply->output_tokens))
		a->has_usage = a->has_number = true;
}

void answer_error(struct answer *a, struct json_scan *s)
{
	struct str key, text;
	if (json_scan_type(s) == JSON_SCAN_NULL) {
		json_scan_skip(s);
	} else if (json_scan_string(s, &text)) {
		reply_fail(a->reply, text);
	} else if (json_scan_object(s)) {
		reply_fail(a->reply, STR("error object"));
		while (json_scan_key(s, &key)) {
			if (str_eq(key, STR("message")) && json_scan_string(s, &text))
				reply_fail(a->reply, text);
			else
				json_scan_skip(s);
		}
	} else {
		reply_fail(a->reply, json_scan_raw(s));
	}
}

void answer_done(struct answer *a, struct json_scan *s)
{
	bool done = false;
	if (!json_scan_bool(s, &done))
		json_scan_skip(s);
	a->reply->finished |= done;
}

void answer_reason(struct answer *a, struct json_scan *s)
{
	a->reply->finished |= json_scan_type(s) == JSON_SCAN_STRING;
	json_scan_skip(s);
}

void answer_results(struct answer *a, struct json_scan *s)
{
	a->reply->finished |= json_scan_type(s) == JSON_SCAN_ARRAY;
	a->reply->token_events += count_elements(s);
}
