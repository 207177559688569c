/*
 * Completions and chats. Their bodies are small beside the work they ask for: read by a library.
 */
#include "serve/api_read.h"

#include "base/i18n.h"

#include <jansson.h>
#include <string.h>

enum field_type { FIELD_BOOL, FIELD_INT, FIELD_DOUBLE };

/* The plain fields; what else there is has a function of its own below. */
static const struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	double min, max;
} fields[] = {
	{ "max_tokens", FIELD_INT, offsetof(struct api_request, max_tokens), 1, API_TOKENS_MAX },
	{ "max_completion_tokens", FIELD_INT, offsetof(struct api_request, max_tokens), 1,
	        API_TOKENS_MAX },
	{ "temperature", FIELD_DOUBLE, offsetof(struct api_request, temperature), 0, 2 },
	{ "top_p", FIELD_DOUBLE, offsetof(struct api_request, top_p), 0, 1 },
	{ "stream", FIELD_BOOL, offsetof(struct api_request, stream), 0, 0 },
	{ "ignore_eos", FIELD_BOOL, offsetof(struct api_request, ignore_eos), 0, 0 },
};

/* What would change the answer and is not implemented: refused unless it asks for nothing. */
static const struct refused {
	const char *name;
	bool one_is_default;
} refused[] = {
	{ "n", true },
	{ "best_of", true },
	{ "echo", false },
	{ "suffix", false },
	{ "logprobs", false },
	{ "top_logprobs", false },
	{ "logit_bias", false },
	{ "presence_penalty", false },
	{ "frequency_penalty", false },
	{ "tools", false },
	{ "functions", false },
};

static bool bad(struct api_error *error, const char *fmt, const char *name)
{
	return api_error_set(error, 400, NULL, fmt, name);
}

static bool field_read(
        const struct field *f, const json_t *value, struct api_request *r, struct api_error *error)
{
	void *at = (char *)r + f->offset;
	if (f->type == FIELD_BOOL) {
		if (!json_is_boolean(value))
			return bad(error, _("'%s' must be true or false"), f->name);
		*(bool *)at = json_is_true(value);
		return true;
	}
	if (f->type == FIELD_INT ? !json_is_integer(value) : !json_is_number(value))
		return bad(error,
		        f->type == FIELD_INT ? _("'%s' must be a whole number")
		                             : _("'%s' must be a number"),
		        f->name);
	double number = json_number_value(value);
	if (!(number >= f->min && number <= f->max))
		return api_error_set(error, 400, NULL, _("'%s' must be between %.15g and %.15g"),
		        f->name, f->min, f->max);
	if (f->type == FIELD_INT)
		*(int64_t *)at = json_integer_value(value);
	else
		*(double *)at = number;
	return true;
}

static bool asks_for_nothing(const json_t *value, bool one_is_default)
{
	switch (json_typeof(value)) {
	case JSON_NULL:
	case JSON_FALSE:
		return true;
	case JSON_INTEGER:
	case JSON_REAL:
		return json_number_value(value) == (one_is_default ? 1 : 0);
	case JSON_STRING:
		return json_string_length(value) == 0;
	case JSON_ARRAY:
		return json_array_size(value) == 0;
	case JSON_OBJECT:
		return json_object_size(value) == 0;
	default:
		return false;
	}
}

static bool check_refused(const json_t *body, struct api_error *error)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		const json_t *value = json_object_get(body, refused[i].name);
		if (value && !asks_for_nothing(value, refused[i].one_is_default))
			return bad(
			        error, _("'%s' is not supported by this service"), refused[i].name);
	}
	return true;
}

static bool read_fields(const json_t *body, struct api_request *r, struct api_error *error)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const json_t *value = json_object_get(body, fields[i].name);
		if (value && !json_is_null(value) && !field_read(&fields[i], value, r, error))
			return false;
	}
	return true;
}

static struct str string_dup(const json_t *value, struct arena *run)
{
	struct str text = { json_string_value(value), json_string_length(value) };
	return str_dup(text, run);
}

static bool read_model(
        const json_t *body, struct arena *run, struct api_request *r, struct api_error *error)
{
	const json_t *value = json_object_get(body, "model");
	if (!value || json_is_null(value))
		return true;
	if (!json_is_string(value))
		return bad(error, _("'%s' must be a string"), "model");
	r->model = string_dup(value, run).s;
	return true;
}

static bool read_seed(const json_t *body, struct api_request *r, struct api_error *error)
{
	const json_t *value = json_object_get(body, "seed");
	if (!value || json_is_null(value))
		return true;
	if (!json_is_integer(value))
		return bad(error, _("'%s' must be a whole number"), "seed");
	r->seed = json_integer_value(value);
	r->has_seed = true;
	return true;
}

static bool read_one_stop(
        const json_t *value, struct arena *run, struct str *stop, struct api_error *error)
{
	if (!json_is_string(value))
		return bad(error, _("'%s' must be a string or an array of strings"), "stop");
	size_t len = json_string_length(value);
	if (len == 0 || len > API_STOP_BYTES_MAX)
		return api_error_set(error, 400, NULL, _("each of 'stop' must have 1 to %d bytes"),
		        API_STOP_BYTES_MAX);
	*stop = string_dup(value, run);
	return true;
}

static bool read_stops(
        const json_t *body, struct arena *run, struct api_request *r, struct api_error *error)
{
	json_t *value = json_object_get(body, "stop");
	if (!value || json_is_null(value))
		return true;
	size_t n = json_is_array(value) ? json_array_size(value) : 1;
	if (n > API_STOPS_MAX)
		return api_error_set(
		        error, 400, NULL, _("'stop' must have at most %d entries"), API_STOPS_MAX);
	struct str *stops = arena_new_n(run, struct str, n);
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
		if (!read_one_stop(one, run, &stops[i], error))
			return false;
	}
	r->stops = stops;
	r->n_stops = n;
	return true;
}

static bool read_stream_options(const json_t *body, struct api_request *r, struct api_error *error)
{
	const json_t *value = json_object_get(body, "stream_options");
	if (!value || json_is_null(value))
		return true;
	if (!json_is_object(value))
		return bad(error, _("'%s' must be an object"), "stream_options");
	if (!r->stream)
		return bad(
		        error, _("'%s' is only allowed when 'stream' is true"), "stream_options");
	const json_t *usage = json_object_get(value, "include_usage");
	if (!usage || json_is_null(usage))
		return true;
	if (!json_is_boolean(usage))
		return bad(error, _("'%s' must be true or false"), "stream_options.include_usage");
	r->include_usage = json_is_true(usage);
	return true;
}

static bool read_ids(const json_t *array, const char *name, struct arena *run,
        struct api_input *input, struct api_error *error)
{
	size_t n = json_array_size(array);
	int32_t *ids = arena_new_n(run, int32_t, n);
	for (size_t i = 0; i < n; i++) {
		const json_t *id = json_array_get(array, i);
		if (!json_is_integer(id) || json_integer_value(id) < 0 ||
		        json_integer_value(id) > INT32_MAX)
			return bad(error, _("the token ids of '%s' must be whole numbers from 0"),
			        name);
		ids[i] = (int32_t)json_integer_value(id);
	}
	*input = (struct api_input){ .ids = ids, .n_ids = n };
	return true;
}

static bool read_one_input(const json_t *value, const char *name, struct arena *run,
        struct api_input *input, struct api_error *error)
{
	if (json_is_string(value)) {
		*input = (struct api_input){ .text = string_dup(value, run) };
		return true;
	}
	if (json_is_array(value) && json_array_size(value) > 0)
		return read_ids(value, name, run, input, error);
	return bad(error, _("'%s' must be a string or an array of token ids"), name);
}

/* A string, an array of ids, or an array of several such. */
static bool read_inputs(const json_t *body, const char *name, size_t n_max, struct arena *run,
        struct api_request *r, struct api_error *error)
{
	const json_t *value = json_object_get(body, name);
	if (!value || json_is_null(value))
		return bad(error, _("'%s' is missing"), name);
	const json_t *first = json_is_array(value) ? json_array_get(value, 0) : NULL;
	bool several = json_is_string(first) || json_is_array(first);
	size_t n = several ? json_array_size(value) : 1;
	if (n > n_max)
		return api_error_set(error, 400, NULL,
		        _("'%s' must have at most %zu entries on this service"), name, n_max);
	struct api_input *inputs = arena_new_n(run, struct api_input, n);
	for (size_t i = 0; i < n; i++) {
		const json_t *one = several ? json_array_get(value, i) : value;
		if (!read_one_input(one, name, run, &inputs[i], error))
			return false;
	}
	r->inputs = inputs;
	r->n_inputs = n;
	return true;
}

static bool add_content_part(const json_t *part, struct buf *prompt, struct api_error *error)
{
	const char *type = json_string_value(json_object_get(part, "type"));
	const json_t *text = json_object_get(part, "text");
	if (!type || strcmp(type, "text") != 0 || !json_is_string(text))
		return bad(error, _("'%s' must be text: a string, or parts of type 'text'"),
		        "messages[].content");
	buf_add(prompt, (struct str){ json_string_value(text), json_string_length(text) });
	return true;
}

static bool add_message(const json_t *message, struct buf *prompt, struct api_error *error)
{
	if (!json_is_string(json_object_get(message, "role")))
		return bad(error, _("'%s' must be a string"), "messages[].role");
	const json_t *content = json_object_get(message, "content");
	if (json_is_string(content)) {
		buf_add(prompt,
		        (struct str){ json_string_value(content), json_string_length(content) });
		return true;
	}
	if (!json_is_array(content))
		return bad(error, _("'%s' must be text: a string, or parts of type 'text'"),
		        "messages[].content");
	for (size_t i = 0; i < json_array_size(content); i++)
		if (!add_content_part(json_array_get(content, i), prompt, error))
			return false;
	return true;
}

static bool read_messages(
        const json_t *body, struct arena *run, struct api_request *r, struct api_error *error)
{
	const json_t *messages = json_object_get(body, "messages");
	size_t n = json_array_size(messages);
	if (!json_is_array(messages) || n == 0)
		return bad(error, _("'%s' must be an array of at least one message"), "messages");
	if (n > API_MESSAGES_MAX)
		return api_error_set(error, 400, NULL, _("'messages' must have at most %d entries"),
		        API_MESSAGES_MAX);
	AUTO(auto_buf) struct buf prompt = { 0 };
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_add_char(&prompt, '\n');
		if (!add_message(json_array_get(messages, i), &prompt, error))
			return false;
	}
	struct api_input *input = arena_new(run, struct api_input);
	input->text = str_dup(buf_str(&prompt), run);
	r->inputs = input;
	r->n_inputs = 1;
	return true;
}

static bool read_generation(
        const json_t *body, struct arena *run, struct api_request *r, struct api_error *error)
{
	bool prompt_read = r->endpoint == API_CHAT ? read_messages(body, run, r, error)
	                                           : read_inputs(body, "prompt", 1, run, r, error);
	return prompt_read && check_refused(body, error) && read_fields(body, r, error) &&
	       read_seed(body, r, error) && read_stops(body, run, r, error) &&
	       read_stream_options(body, r, error);
}

static bool read_request(
        const json_t *body, struct arena *run, struct api_request *r, struct api_error *error)
{
	if (!json_is_object(body))
		return api_error_set(error, 400, NULL, "%s", _("the body must be a JSON object"));
	if (!read_model(body, run, r, error))
		return false;
	return read_generation(body, run, r, error);
}

/* jansson recurses for every bracket: how deep is settled before it sees the text. */
static bool depth_ok(struct str body)
{
	int depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < body.len; i++) {
		char c = body.s[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
			continue;
		}
		if (c == '"')
			in_string = true;
		else if ((c == '[' || c == '{') && ++depth > API_DEPTH_MAX)
			return false;
		else if (c == ']' || c == '}')
			depth--;
	}
	return true;
}

bool api_read_generation(struct api_reader *reader)
{
	struct str body = reader->body;
	struct api_error *error = reader->error;
	if (!depth_ok(body))
		return api_error_set(error, 400, NULL,
		        _("the body is nested more than %d levels deep"), API_DEPTH_MAX);
	json_error_t why;
	json_t *json = json_loadb(body.s ? body.s : "", body.len, JSON_REJECT_DUPLICATES, &why);
	if (!json)
		return api_error_set(error, 400, NULL, _("the body is not JSON: %s (line %d)"),
		        why.text, why.line);
	bool ok = read_request(json, reader->run, reader->request, error);
	json_decref(json);
	return ok;
}
