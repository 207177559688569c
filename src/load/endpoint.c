#include "load/endpoint.h"

#include <string.h>

const struct endpoint *const endpoint_table[] = {
	&endpoint_openai_chat,
	&endpoint_openai_completions,
	&endpoint_openai_embeddings,
	&endpoint_http,
	NULL,
};

const struct endpoint *endpoint_find(const char *name)
{
	for (size_t i = 0; endpoint_table[i]; i++)
		if (strcmp(endpoint_table[i]->name, name) == 0)
			return endpoint_table[i];
	return NULL;
}

void reply_reset(struct reply *reply)
{
	*reply = (struct reply){ .input_tokens = -1, .output_tokens = -1 };
}
