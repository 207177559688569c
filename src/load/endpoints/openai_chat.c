/*
 * POST /v1/chat/completions of the OpenAI API.
 */
#include "load/endpoints/openai.h"

static void write_body(struct buf *out, const struct prompt *p,
	const struct endpoint_options *options)
{
	struct json j;
	openai_open(&j, out, options);
	json_key(&j, "messages");
	if (p->messages.len) {
		json_raw(&j, p->messages);
	} else {
		json_array_open(&j);
		json_object_open(&j);
		json_put_string(&j, "role", "user");
		json_key(&j, "content");
		json_str(&j, p->text);
		json_object_close(&j);
		json_array_close(&j);
	}
	openai_close(&j, p, options);
}

const struct endpoint endpoint_openai_chat = {
	.name = "openai-chat",
	.path = "/v1/chat/completions",
	.can_stream = true,
	.makes_tokens = true,
	.needs_model = true,
	.write_body = write_body,
	.read_event = openai_read_generation,
	.read_body = openai_read_generation,
};
