#include "load/workload.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "load/input.h"
#include "load/session_plan.h"
#include "load/synthetic.h"
#include "stats/dist.h"

#include <string.h>
#include <sys/random.h>

static const char default_input_tokens[] = "64";
static const char default_output_tokens[] = "64";

uint64_t workload_nonce(void)
{
	uint64_t nonce;
	/* Before the system has gathered randomness the clock is different enough. */
	if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != (ssize_t)sizeof(nonce))
		nonce = (uint64_t)clock_read_ns(CLOCK_REALTIME);
	return nonce;
}

static size_t prompt_of(const struct workload *w, int64_t ticket, int64_t arrival)
{
	return (size_t)(w->schedule ? arrival : ticket) % w->n_prompts;
}

int64_t workload_input_tokens(const struct workload *w, int64_t ticket, int64_t arrival)
{
	return w->n_prompts ? w->prompts[prompt_of(w, ticket, arrival)].input_tokens : 0;
}

struct str workload_request(const struct workload *w, int64_t ticket, int64_t arrival,
        uint64_t nonce, struct buf *scratch)
{
	if (w->n_prompts)
		return synthetic_framed(
		        w, prompt_of(w, ticket, arrival), ticket, nonce, scratch);
	const struct workload_item *item = &w->items[(size_t)ticket % w->n];
	return item->salt_at < 0 ? item->request : synthetic_salted(item, ticket, nonce, scratch);
}

static bool build_plain(struct builder *b, struct workload *w, struct err *err)
{
	struct prompt p = { 0 };
	const char *data = b->config->data;
	if (data && data[0] == '@') {
		if (!str_read_file(data + 1, WORKLOAD_FILE_MAX, b->run, &p.text, err))
			return false;
	} else if (data) {
		p.text = str_of(data);
	}
	w->items = arena_new(b->run, struct workload_item);
	w->n = 1;
	return builder_item(b, &p, &w->items[0], err);
}

static bool parse_dist(
        const char *text, struct arena *run, struct dist *d, struct err *err, const char *option)
{
	return dist_parse(text, 1, run, d, err) || err_wrap(err, "'%s'", option);
}

static bool check_options(
        const struct load_config *c, const struct endpoint *endpoint, struct err *err)
{
	if (c->input_file && c->input_tokens)
		return err_set(
		        err, ERR_USAGE, _("'--input' and '--input-tokens' exclude each other"));
	if (c->data && endpoint != &endpoint_http)
		return err_set(err, ERR_USAGE, _("'--data' is for '--api http' only"));
	if (c->tokenizer && endpoint == &endpoint_http)
		return err_set(err, ERR_USAGE, _("'--tokenizer' does not go with '--api http'"));
	if (c->prefix_ratio > 0 && (c->input_file || endpoint == &endpoint_http))
		return err_set(err, ERR_USAGE, _("'--prefix-share' is for synthetic prompts only"));
	if (c->tensors && !endpoint->prepare)
		return err_set(err, ERR_USAGE, _("'--tensors' is for '--api kserve-v2' only"));
	if ((c->input_tokens || c->output_tokens) && endpoint == &endpoint_http)
		return err_set(err, ERR_USAGE,
		        _("'--input-tokens' and '--output-tokens' do not go with '--api http'"));
	return true;
}

/* What is sent, for the fingerprint. */
static const char *input_words(const struct load_config *c, const struct endpoint *endpoint,
        const char *tokens, struct arena *run)
{
	bool recorded = c->schedule && c->schedule->has_lengths && !c->input_tokens;
	const char *text = recorded ? "schedule" : arena_printf(run, "tokens:%s", tokens);
	if (c->input_file)
		return arena_printf(run, "file:%s", c->input_file);
	if (endpoint == &endpoint_http)
		return c->data ? "data" : "none";
	if (c->tokenizer)
		text = arena_printf(run, "%s tokenizer:%s", text, c->tokenizer);
	if (c->prefix_ratio > 0)
		text = arena_printf(run, "%s prefix:%.9g/%lld", text, c->prefix_ratio,
		        (long long)(c->n_prefixes > 0 ? c->n_prefixes : 1));
	return text;
}

static bool build_requests(struct builder *b, const struct dist *input, const struct dist *output,
        struct workload *w, struct err *err)
{
	if (b->config->input_file)
		return input_build(b, output, w, err);
	if (b->endpoint == &endpoint_http)
		return build_plain(b, w, err);
	w->salted = b->config->salt;
	return synthetic_build(b, input, output, w, err);
}

static bool open_text(struct builder *b, struct workload *w, struct err *err)
{
	const char *path = b->config->tokenizer;
	if (!path) {
		prompt_text_init(&w->text, NULL, 0, b->run);
		return true;
	}
	if (!vocabulary_open(&b->vocabulary, path, b->run, err))
		return false;
	prompt_text_init(&w->text, b->vocabulary.words, b->vocabulary.n, b->run);
	/* That words stay apart is how tokenizers are made, not a law. */
	const struct str pool = { w->text.pool + 1, w->text.ends[PROMPT_TEXT_POOL] - 1 };
	return vocabulary_count(&b->vocabulary, pool) == PROMPT_TEXT_POOL ||
	       err_set(err, ERR_INPUT,
	               _("'%s': its tokens reach over words, so that no prompt has an exact "
	                 "length"),
	               path);
}

bool workload_build(const struct load_config *config, const struct endpoint *endpoint,
        const char *model, const void *prepared, const struct url *url, struct arena *run,
        struct workload *ret_workload, struct err *err)
{
	struct builder b = {
		.config = config,
		.endpoint = endpoint,
		.options = {
			.model = model,
			.stream = endpoint_streams(endpoint, url->path, config->stream),
			.binary = config->tensors && strcmp(config->tensors, "binary") == 0,
			.prepared = prepared,
		},
		.url = url,
		.run = run,
	};
	struct workload w = {
		.prefix_ratio = config->prefix_ratio,
		.n_prefixes = config->n_prefixes > 0 ? config->n_prefixes : 1,
		.seed = (uint64_t)config->seed,
	};
	b.path = endpoint_path(endpoint, url->path, model, b.options.stream, run);
	struct dist input, output;
	const char *in = config->input_tokens ? config->input_tokens : default_input_tokens;
	const char *out = config->output_tokens ? config->output_tokens : default_output_tokens;
	if (!check_options(config, endpoint, err) ||
	        !parse_dist(in, run, &input, err, "--input-tokens") ||
	        !parse_dist(out, run, &output, err, "--output-tokens"))
		return false;
	bool ok = session_plan_open(config, endpoint, run, &w.sessions, err) &&
	          open_text(&b, &w, err) && build_requests(&b, &input, &output, &w, err);
	w.input = input_words(config, endpoint, in, run);
	bool recorded = config->schedule && config->schedule->has_lengths &&
	                !config->output_tokens && !config->input_file;
	w.output = !endpoint->can_stream ? "none"
	           : recorded            ? "schedule"
	                                 : arena_printf(run, "tokens:%s", out);
	builder_release(&b);
	if (ok)
		*ret_workload = w;
	return ok;
}
