#include "load/endpoints/openai.h"

#include "load/endpoints/answer.h"

void openai_open(struct json *j, struct buf *out, const struct endpoint_options *options)
{
	json_init(j, out, false);
	json_object_open(j);
	json_put_string_present(j, "model", options->model);
}

void openai_messages(struct json *j, const struct prompt *p)
{
	json_key(j, "messages");
	if (p->messages.len) {
		json_raw(j, p->messages);
		return;
	}
	json_array_open(j);
	json_object_open(j);
	json_put_string(j, "role", "user");
	json_key(j, "content");
	json_str(j, p->text);
	json_object_close(j);
	json_array_close(j);
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

static void read_usage(struct answer *a, struct json_scan *s)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("prompt_tokens"), answer_input_tokens },
		{ STR_INIT("completion_tokens"), answer_output_tokens },
	};
	answer_object(a, s, fields, ARRAY_LEN(fields));
}

/* "content" has an element for each token of a chat, "tokens" one for each of a completion. */
static void read_logprobs(struct answer *a, struct json_scan *s)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("content"), answer_ids },
		{ STR_INIT("tokens"), answer_ids },
	};
	answer_object(a, s, fields, ARRAY_LEN(fields));
}

/* A delta or a message: channels side by side. */
static void read_message(struct answer *a, struct json_scan *s)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("content"), answer_visible },
		{ STR_INIT("reasoning_content"), answer_hidden },
		{ STR_INIT("reasoning"), answer_hidden },
		{ STR_INIT("reasoning_details"), answer_hidden },
		{ STR_INIT("tool_calls"), answer_visible },
		{ STR_INIT("function_call"), answer_visible },
		{ STR_INIT("refusal"), answer_visible },
	};
	answer_object(a, s, fields, ARRAY_LEN(fields));
}

static void read_choice(struct answer *a, struct json_scan *s)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("delta"), read_message },
		{ STR_INIT("text"), answer_visible },
		{ STR_INIT("message"), read_message },
		{ STR_INIT("finish_reason"), answer_reason },
		{ STR_INIT("logprobs"), read_logprobs },
		{ STR_INIT("token_ids"), answer_ids },
		{ STR_INIT("usage"), read_usage }, /* where Moonshot has it */
	};
	/* Ids and logprobs of one choice tell of the same tokens, those of two choices do not. */
	int64_t others = a->n_ids;
	a->n_ids = 0;
	answer_object(a, s, fields, ARRAY_LEN(fields));
	a->n_ids += others;
}

static void read_choices(struct answer *a, struct json_scan *s)
{
	if (!json_scan_array(s)) {
		json_scan_skip(s);
		return;
	}
	while (json_scan_element(s))
		read_choice(a, s);
}

void openai_read_generation(struct reply *reply, struct str data)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("choices"), read_choices },
		{ STR_INIT("usage"), read_usage },
		{ STR_INIT("error"), answer_error },
	};
	if (str_eq(str_trim(data), STR("[DONE]"))) {
		reply->finished = true;
		return;
	}
	answer_read(reply, data, fields, ARRAY_LEN(fields));
}

/* All tokens of an answer without output are its input; prompt_tokens says it better. */
static void read_total(struct answer *a, struct json_scan *s)
{
	if (a->reply->input_tokens < 0)
		answer_input_tokens(a, s);
	else
		json_scan_skip(s);
}

static void read_input_usage(struct answer *a, struct json_scan *s)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("prompt_tokens"), answer_input_tokens },
		{ STR_INIT("total_tokens"), read_total },
	};
	answer_object(a, s, fields, ARRAY_LEN(fields));
}

void openai_read_results(struct reply *reply, struct str body)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("data"), answer_results },
		{ STR_INIT("results"), answer_results },
		{ STR_INIT("usage"), read_input_usage },
		{ STR_INIT("error"), answer_error },
	};
	answer_read(reply, body, fields, ARRAY_LEN(fields));
}
