/*
 * Text Generation Inference: POST /generate, and /generate_stream for server-sent events, one for
 * each token; the last one has the whole text and the details.
 */
#include "load/endpoints/answer.h"
#include "text/json.h"

static void write_body(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	struct json j;
	(void)options; /* the path says whether it streams */
	json_init(&j, out, false);
	json_object_open(&j);
	json_key(&j, "inputs");
	json_str(&j, p->text);
	json_key(&j, "parameters");
	json_object_open(&j);
	if (p->output_tokens > 0)
		json_put_int(&j, "max_new_tokens", p->output_tokens);
	json_put_bool(&j, "do_sample", false);
	json_put_bool(&j, "details", true);
	json_object_close(&j);
	json_object_close(&j);
}

/* A special token, such as the end of the sequence, is one that nobody sees, with its text or not.
 */
static void read_token(struct answer *a, struct json_scan *s)
{
	struct str key;
	bool special = false;
	size_t before = a->reply->text ? a->reply->text->len : 0;
	if (!json_scan_object(s)) {
		json_scan_skip(s);
		return;
	}
	a->n_ids = 1;
	while (json_scan_key(s, &key)) {
		if (str_eq(key, STR("text")))
			answer_visible(a, s);
		else if (!str_eq(key, STR("special")) || !json_scan_bool(s, &special))
			json_scan_skip(s);
	}
	a->is_visible &= !special;
	if (special && a->reply->text)
		a->reply->text->len = before;
}

static void read_details(struct answer *a, struct json_scan *s)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("finish_reason"), answer_reason },
		{ STR_INIT("generated_tokens"), answer_output_tokens },
		{ STR_INIT("input_length"), answer_input_tokens },
	};
	answer_object(a, s, fields, ARRAY_LEN(fields));
}

static void read_event(struct reply *reply, struct str data)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("token"), read_token },
		{ STR_INIT("generated_text"), answer_reason },
		{ STR_INIT("details"), read_details },
		{ STR_INIT("error"), answer_error },
	};
	answer_read(reply, data, fields, ARRAY_LEN(fields));
}

static void read_text(struct answer *a, struct json_scan *s)
{
	a->reply->finished |= json_scan_type(s) == JSON_SCAN_STRING;
	answer_visible(a, s);
}

static void read_body(struct reply *reply, struct str body)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("generated_text"), read_text },
		{ STR_INIT("details"), read_details },
		{ STR_INIT("error"), answer_error },
	};
	answer_read(reply, body, fields, ARRAY_LEN(fields));
}

const struct endpoint endpoint_tgi = {
	.name = "tgi",
	.path = "/generate",
	.stream_path = "/generate_stream",
	.known_by = { "/generate", "/generate_stream" },
	.models_path = "/info",
	.model_keys = { "model_id" },
	.can_stream = true,
	.makes_tokens = true,
	.write_body = write_body,
	.read_event = read_event,
	.read_body = read_body,
};
