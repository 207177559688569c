#include "serve/executor.h"

#include "base/clock.h"
#include "base/i18n.h"

bool executor_check_length(
        const struct executor *x, int64_t n_prompt, int64_t max_tokens, struct api_error *error)
{
	static const char code[] = "context_length_exceeded";
	if (n_prompt >= x->n_ctx)
		return api_error_set(error, 400, code,
		        _("the prompt has %lld tokens; the context of this model has room for %lld "
		          "with the answer"),
		        (long long)n_prompt, (long long)x->n_ctx);
	if (max_tokens > x->n_ctx - n_prompt)
		return api_error_set(error, 400, code,
		        _("the prompt has %lld tokens and 'max_tokens' asks for %lld more; the "
		          "context of this model has room for %lld together"),
		        (long long)n_prompt, (long long)max_tokens, (long long)x->n_ctx);
	return true;
}

int64_t executor_retry_s(int64_t wait_ns)
{
	int64_t s = (wait_ns + NS_PER_S - 1) / NS_PER_S;
	return s > 1 ? s : 1;
}
