#include "serve/api.h"

#include "serve/api_read.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	int status;
	const char *type;
} error_types[] = {
	{ 404, "not_found_error" },
	{ 429, "rate_limit_error" },
	{ 500, "server_error" },
	{ 503, "service_unavailable_error" },
};

void api_init(void)
{
	json_object_seed(0);
}

bool api_error_set(struct api_error *e, int status, const char *code, const char *fmt, ...)
{
	e->status = status;
	e->retry_after_s = 0;
	e->type = "invalid_request_error";
	e->code = code;
	for (size_t i = 0; i < ARRAY_LEN(error_types); i++)
		if (error_types[i].status == status)
			e->type = error_types[i].type;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	return false;
}

bool api_parse(struct api_form *form, struct str body, struct arena *run,
        struct api_request *ret_request, struct api_error *error)
{
	static bool (*const parsers[])(struct api_reader *) = {
		[API_COMPLETIONS] = api_read_generation,
		[API_CHAT] = api_read_generation,
		[API_EMBEDDINGS] = api_read_embeddings,
		[API_RERANK] = api_read_rerank,
		[API_CLASSIFY] = api_read_classify,
		[API_INFER] = api_read_infer,
	};
	struct api_request r = { .endpoint = form->endpoint, .temperature = 1, .top_p = 1 };
	struct api_reader reader = {
		.form = form,
		.body = body,
		.run = run,
		.request = &r,
		.error = error,
	};
	if (!parsers[form->endpoint](&reader))
		return false;
	*ret_request = r;
	return true;
}
