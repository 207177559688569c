#include "load/endpoints/openai.h"

#include "text/json_scan.h"

#include <stdio.h>

void openai_open(struct json *j, struct buf *out, const struct endpoint_options *options)
{
	json_init(j, out, false);
	json_object_open(j);
	json_put_string_present(j, "model", options->model);
}

void openai_close(struct json *j, const struct prompt *p, const struct endpoint_options *options)
{
	if (p->output_tokens > 0)
		json_put_int(j, "max_tokens", p->output_tokens);
	json_put_int(j, "temperature", 0);
	if (options->stream) {
		json_put_bool(j, "stream", true);
		json_key(j, "stream_options");
		json_object_open(j);
		json_put_bool(j, "include_usage", true);
		json_object_close(j);
	}
	json_object_close(j);
}

static void read_usage(struct reply *reply, struct json_scan *s)
{
	struct str key;
	if (!json_scan_object(s)) {
		json_scan_skip(s);
		return;
	}
	while (json_scan_key(s, &key)) {
		int64_t *to = str_eq(key, STR("prompt_tokens"))     ? &reply->input_tokens :
			      str_eq(key, STR("completion_tokens")) ? &reply->output_tokens :
								      NULL;
		if (!to || !json_scan_int(s, to))
			json_scan_skip(s);
	}
}

static void keep_error(struct reply *reply, struct str text)
{
	reply->error = true;
	snprintf(reply->error_text, sizeof(reply->error_text), "%.*s",
		(int)(text.len < sizeof(reply->error_text) - 1 ? text.len :
								 sizeof(reply->error_text) - 1),
		text.s);
}

/* "error": {"message": ...}, or a string; null is no error. */
static void read_error(struct reply *reply, struct json_scan *s)
{
	struct str key, text;
	enum json_scan_type type = json_scan_type(s);
	if (type == JSON_SCAN_NULL) {
		json_scan_skip(s);
	} else if (json_scan_string(s, &text)) {
		keep_error(reply, text);
	} else if (json_scan_object(s)) {
		keep_error(reply, STR("error object"));
		while (json_scan_key(s, &key))
			if (str_eq(key, STR("message")) && json_scan_string(s, &text))
				keep_error(reply, text);
			else
				json_scan_skip(s);
	} else {
		keep_error(reply, json_scan_raw(s));
	}
}

/* Does a field of a delta, message or choice hold a piece of generated text? */
static bool is_channel(struct str key)
{
	static const struct str channels[] = {
		{ "content", 7 },
		{ "text", 4 },
		{ "reasoning_content", 17 },
		{ "reasoning", 9 },
		{ "refusal", 7 },
		{ "tool_calls", 10 },
	};
	for (size_t i = 0; i < ARRAY_LEN(channels); i++)
		if (str_eq(key, channels[i]))
			return true;
	return false;
}

/* A channel bears a token when it is a string or an array that is not empty. */
static bool read_channel(struct json_scan *s)
{
	struct str text;
	if (json_scan_string(s, &text))
		return text.len > 0;
	if (json_scan_type(s) != JSON_SCAN_ARRAY) {
		json_scan_skip(s);
		return false;
	}
	text = json_scan_raw(s);
	return text.len > 2;
}

/* A delta or a message: channels side by side. */
static bool read_message(struct json_scan *s)
{
	struct str key;
	bool bears_token = false;
	if (!json_scan_object(s)) {
		json_scan_skip(s);
		return false;
	}
	while (json_scan_key(s, &key)) {
		if (is_channel(key))
			bears_token |= read_channel(s);
		else
			json_scan_skip(s);
	}
	return bears_token;
}

static bool read_choice(struct reply *reply, struct json_scan *s)
{
	struct str key;
	bool bears_token = false;
	if (!json_scan_object(s)) {
		json_scan_skip(s);
		return false;
	}
	while (json_scan_key(s, &key)) {
		if (str_eq(key, STR("delta")) || str_eq(key, STR("message"))) {
			bears_token |= read_message(s);
		} else if (str_eq(key, STR("finish_reason"))) {
			reply->finished |= json_scan_type(s) == JSON_SCAN_STRING;
			json_scan_skip(s);
		} else if (is_channel(key)) {
			bears_token |= read_channel(s);
		} else {
			json_scan_skip(s);
		}
	}
	return bears_token;
}

static void read_choices(struct reply *reply, struct json_scan *s)
{
	bool bears_token = false;
	if (!json_scan_array(s)) {
		json_scan_skip(s);
		return;
	}
	while (json_scan_element(s))
		bears_token |= read_choice(reply, s);
	reply->token_events += bears_token;
}

/* Fields that every OpenAI answer may have; false when the key is another one. */
static bool read_common(struct reply *reply, struct str key, struct json_scan *s)
{
	if (str_eq(key, STR("usage")))
		read_usage(reply, s);
	else if (str_eq(key, STR("error")))
		read_error(reply, s);
	else
		return false;
	return true;
}

static void not_json(struct reply *reply, const struct json_scan *s)
{
	if (s->failed && !reply->error)
		keep_error(reply, STR("answer is not JSON"));
}

void openai_read_generation(struct reply *reply, struct str data)
{
	struct json_scan s = json_scan_of(data);
	struct str key;
	if (str_eq(str_trim(data), STR("[DONE]"))) {
		reply->finished = true;
		return;
	}
	if (!json_scan_object(&s)) {
		keep_error(reply, STR("answer is not a JSON object"));
		return;
	}
	while (json_scan_key(&s, &key)) {
		if (str_eq(key, STR("choices")))
			read_choices(reply, &s);
		else if (!read_common(reply, key, &s))
			json_scan_skip(&s);
	}
	not_json(reply, &s);
}

void openai_read_embeddings(struct reply *reply, struct str body)
{
	struct json_scan s = json_scan_of(body);
	struct str key;
	if (!json_scan_object(&s)) {
		keep_error(reply, STR("answer is not a JSON object"));
		return;
	}
	while (json_scan_key(&s, &key)) {
		if (str_eq(key, STR("data")) && json_scan_array(&s)) {
			while (json_scan_element(&s)) {
				reply->token_events++;
				json_scan_skip(&s);
			}
			reply->finished = true;
		} else if (!read_common(reply, key, &s)) {
			json_scan_skip(&s);
		}
	}
	not_json(reply, &s);
}
