#include "load/synthetic.h"

#include "base/i18n.h"
#include "load/request_frame.h"
#include "load/session_plan.h"

#include <math.h>
#include <string.h>

enum {
	CHECKED_MAX = 64, /* prompts that are tokenized before the run */
	CHECKED_BYTES_MAX = 1 << 20,
};

/* ---- while the load runs ---- */

static void write_salt(char *at, uint64_t key)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz012345";
	for (int i = 0; i < SALT_LEN; i++, key >>= 5)
		at[i] = digits[key & 31];
}

void synthetic_text(const struct workload *w, size_t i, uint64_t number, uint64_t nonce,
	struct buf *out)
{
	const struct schedule_row *row = w->schedule ? &w->schedule->rows[i] : NULL;
	int64_t left = w->prompts[i].input_tokens;
	uint64_t seed = w->salted ? nonce : w->seed;
	size_t start = out->len;
	for (uint32_t b = 0; row && b < row->n_blocks && left > 0; b++) {
		uint64_t id = (uint64_t)w->schedule->blocks[row->first_block + b];
		int64_t n = left < w->schedule->block_tokens ? left : w->schedule->block_tokens;
		prompt_text_add(&w->text, prompt_text_key(seed, PROMPT_BLOCK, id), n,
			out->len == start, out);
		left -= n;
	}
	if (w->prefix_ratio > 0) {
		int64_t n = llround(w->prefix_ratio * (double)left);
		uint64_t id = prompt_text_key(w->seed, PROMPT_PREFIX, number) %
			(uint64_t)w->n_prefixes;
		prompt_text_add(&w->text, prompt_text_key(seed, PROMPT_PREFIX, id), n, true, out);
		left -= n;
	}
	prompt_text_add(&w->text, prompt_text_key(seed, PROMPT_UNIQUE, number), left,
		out->len == start, out);
}

struct str synthetic_framed(const struct workload *w, size_t i, int64_t ticket, uint64_t nonce,
	struct buf *out)
{
	const struct workload_frame *f = &w->frames[w->prompts[i].frame];
	request_frame_open(f, out);
	synthetic_text(w, i, w->salted ? (uint64_t)ticket : i, nonce, out);
	return request_frame_close(f, out);
}

struct str synthetic_salted(
        const struct workload_item *item, int64_t ticket, uint64_t nonce, struct buf *out)
{
	buf_clear(out);
	buf_add(out, item->request);
	write_salt(out->s + item->salt_at, prompt_text_key(nonce, PROMPT_UNIQUE, (uint64_t)ticket));
	return buf_str(out);
}

/* ---- lengths ---- */

/*
 * How many requests to make, when the first is there. Requests of one length that get a salt each
 * differ enough; for the others as many as memory allows, so that no cache has seen them.
 */
static size_t pool_size(const struct workload_item *first, bool constant)
{
	if (constant && first->salt_at >= 0)
		return 16;
	size_t n = WORKLOAD_POOL_BYTES / first->request.len;
	return n < 1 ? 1 : n > WORKLOAD_SYNTHETIC ? WORKLOAD_SYNTHETIC : n;
}

/* The lengths of synthetic prompts: drawn, or those of a schedule where nothing else was asked. */
struct lengths {
	const struct dist *input, *output;
	const struct schedule *input_rows, *output_rows; /* NULL: drawn */
	struct rng rng;
};

static void next_lengths(struct lengths *l, size_t i, int64_t *ret_input, int64_t *ret_output)
{
	*ret_output = l->output_rows ? l->output_rows->rows[i].output_tokens
	                             : builder_tokens(dist_sample(l->output, &l->rng));
	*ret_input = l->input_rows ? l->input_rows->rows[i].input_tokens
	                           : builder_tokens(dist_sample(l->input, &l->rng));
}

/* ---- requests written out ---- */

/* For a body that is no frame around one text: the salt, where the body shows it, and words. */
static void write_words(
        struct builder *b, const struct prompt_text *t, uint64_t key, int64_t n, struct buf *text)
{
	buf_clear(text);
	if (b->config->salt) {
		buf_add(text, request_frame_mark);
		n--;
	}
	prompt_text_add(t, key, n, text->len == 0, text);
}

static bool build_pool(struct builder *b, struct lengths *l, struct workload *w, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	const struct schedule *s = b->config->schedule;
	bool constant = l->input->kind == DIST_CONSTANT && l->output->kind == DIST_CONSTANT &&
	                !l->input_rows && !l->output_rows;
	w->items = arena_new_n(b->run, struct workload_item, WORKLOAD_SYNTHETIC);
	w->n = 1;
	for (size_t i = 0; i < w->n; i++) {
		struct prompt p = { 0 };
		next_lengths(l, i, &p.input_tokens, &p.output_tokens);
		write_words(b, &w->text, prompt_text_key(w->seed, PROMPT_UNIQUE, i), p.input_tokens,
		        &text);
		p.text = buf_str(&text);
		if (!builder_item(b, &p, &w->items[i], err))
			return false;
		if (w->salted)
			w->items[i].salt_at =
			        str_find(w->items[i].request, request_frame_mark);
		if (i == 0)
			w->n = pool_size(&w->items[0], constant);
		if ((l->input_rows || l->output_rows) && w->n > s->n)
			w->n = s->n;
	}
	return true;
}

/* ---- requests framed ---- */

/* Prompts hold the length of their answer, and then the frame for it. */
static bool build_frames(struct builder *b, struct workload *w, bool *ret_framed, struct err *err)
{
	const struct prompt plain = { .text = request_frame_mark, .input_tokens = 1 };
	const struct prompt around = w->sessions ? session_plan_around(w->sessions) : plain;
	AUTO(auto_free) uint32_t *lengths = mem_realloc(NULL, w->n_prompts * sizeof(*lengths));
	for (size_t i = 0; i < w->n_prompts; i++)
		lengths[i] = w->prompts[i].frame;
	if (!request_frames_build(b, &around, lengths, w->n_prompts, w, ret_framed, err))
		return false;
	for (size_t i = 0; *ret_framed && i < w->n_prompts; i++)
		w->prompts[i].frame = request_frame_find(w, w->prompts[i].frame);
	return true;
}

/* Whether prompts have the tokens that they should, told from some of those that will be sent. */
static bool check_lengths(const struct builder *b, const struct workload *w, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	size_t bytes = 0;
	for (size_t i = 0; i < w->n_prompts && i < CHECKED_MAX && bytes < CHECKED_BYTES_MAX; i++) {
		buf_clear(&text);
		synthetic_text(w, i, i, (uint64_t)b->config->seed, &text);
		bytes += text.len;
		int64_t n = vocabulary_count(&b->vocabulary, buf_str(&text));
		if (n != w->prompts[i].input_tokens)
			return err_set(err, ERR_INPUT,
			        _("'%s': a prompt of %u tokens has %lld, since its tokens reach "
			          "over words"),
			        b->config->tokenizer, w->prompts[i].input_tokens, (long long)n);
	}
	return true;
}

bool synthetic_build(struct builder *b, const struct dist *input, const struct dist *output,
        struct workload *w, struct err *err)
{
	const struct load_config *c = b->config;
	const struct schedule *s = c->schedule && c->schedule->has_lengths ? c->schedule : NULL;
	struct lengths l = {
		.input = input,
		.output = output,
		.input_rows = c->input_tokens ? NULL : s,
		.output_rows = c->output_tokens ? NULL : s,
	};
	bool framed = false;
	rng_init(&l.rng, (uint64_t)c->seed);
	struct lengths again = l;
	w->schedule = l.input_rows || l.output_rows ? s : NULL;
	w->n_prompts = w->schedule ? s->n : WORKLOAD_LENGTHS;
	w->prompts = arena_new_n(b->run, struct workload_prompt, w->n_prompts);
	for (size_t i = 0; i < w->n_prompts; i++) {
		int64_t in, out;
		next_lengths(&l, i, &in, &out);
		w->prompts[i] = (struct workload_prompt){ (uint32_t)in, (uint32_t)out };
	}
	if (!build_frames(b, w, &framed, err))
		return false;
	if (framed) {
		w->has_tokenizer = b->vocabulary.tokenizer;
		return !w->has_tokenizer || check_lengths(b, w, err);
	}
	if (c->prefix_ratio > 0)
		return err_set(err, ERR_USAGE, _("'--prefix-share' does not go with '--api %s'"),
		        b->endpoint->name);
	w->n_prompts = 0;
	w->schedule = NULL;
	return build_pool(b, &again, w, err);
}
