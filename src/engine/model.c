#include "engine/model.h"

#include "base/arena.h"
#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"
#include "engine/llama.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONTEXT_MAX = 1 << 20,
	LAYERS_MAX = 512,
	HEADS_MAX = 1024,
	DIM_MAX = 1 << 16,
	FFN_MAX = 1 << 20,
	NAME_BYTES_MAX = 256,
};
#define SEQUENCE_BYTES_MAX ((size_t)64 << 30)
#define ROPE_FREQ_BASE_DEFAULT 10000.0

struct model {
	struct arena run;
	struct model_info info;
	struct llama llama;
	struct tokenizer *tokenizer;
};

struct sequence {
	const struct model *model;
	struct llama_state state;
};

/* The whole numbers among the hyper-parameters; an optional one that is absent stays 0. */
struct hyper {
	int64_t n_ctx, dim, n_layers, ffn_dim, n_heads, n_kv_heads, n_rot, n_vocab, key_dim,
	        value_dim;
};

static const struct {
	const char *key;
	size_t offset;
	int max;
	bool optional;
} hyper_rows[] = {
	{ "llama.context_length", offsetof(struct hyper, n_ctx), CONTEXT_MAX, false },
	{ "llama.embedding_length", offsetof(struct hyper, dim), DIM_MAX, false },
	{ "llama.block_count", offsetof(struct hyper, n_layers), LAYERS_MAX, false },
	{ "llama.feed_forward_length", offsetof(struct hyper, ffn_dim), FFN_MAX, false },
	{ "llama.attention.head_count", offsetof(struct hyper, n_heads), HEADS_MAX, false },
	{ "llama.attention.head_count_kv", offsetof(struct hyper, n_kv_heads), HEADS_MAX, true },
	{ "llama.attention.key_length", offsetof(struct hyper, key_dim), DIM_MAX, true },
	{ "llama.attention.value_length", offsetof(struct hyper, value_dim), DIM_MAX, true },
	{ "llama.rope.dimension_count", offsetof(struct hyper, n_rot), DIM_MAX, true },
	{ "llama.vocab_size", offsetof(struct hyper, n_vocab), TOKENIZER_VOCAB_MAX, true },
};

static bool read_hyper(const struct gguf *file, struct hyper *h, struct err *err)
{
	*h = (struct hyper){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(hyper_rows); i++) {
		int64_t *value = (int64_t *)(void *)((char *)h + hyper_rows[i].offset);
		if (hyper_rows[i].optional && !gguf_value(file, hyper_rows[i].key))
			continue;
		if (!gguf_int(file, hyper_rows[i].key, 1, hyper_rows[i].max, value, err))
			return false;
	}
	if (h->n_kv_heads == 0)
		h->n_kv_heads = h->n_heads;
	return true;
}

/* Whether the numbers fit together. */
static bool check_hyper(struct hyper *h, int n_vocab, struct err *err)
{
	if (h->dim % h->n_heads || h->dim / h->n_heads % 2)
		return err_set(err, ERR_INPUT,
		        _("%lld values do not divide into %lld heads of an even size"),
		        (long long)h->dim, (long long)h->n_heads);
	if (h->n_heads % h->n_kv_heads)
		return err_set(err, ERR_INPUT,
		        _("%lld heads cannot share %lld key and value heads evenly"),
		        (long long)h->n_heads, (long long)h->n_kv_heads);
	int64_t head_dim = h->dim / h->n_heads;
	if (h->n_rot == 0)
		h->n_rot = head_dim;
	if (h->n_rot % 2 || h->n_rot > head_dim)
		return err_set(err, ERR_INPUT,
		        _("key '%s' is %lld, which is odd or more than the %lld of a head"),
		        "llama.rope.dimension_count", (long long)h->n_rot, (long long)head_dim);
	if ((h->key_dim && h->key_dim != head_dim) || (h->value_dim && h->value_dim != head_dim))
		return err_set(err, ERR_INPUT,
		        _("heads whose size is not the embedding's divided by their number are not "
		          "supported"));
	if (h->n_vocab && h->n_vocab != n_vocab)
		return err_set(err, ERR_INPUT,
		        _("key '%s' is %lld, but the tokenizer has %d tokens"), "llama.vocab_size",
		        (long long)h->n_vocab, n_vocab);
	return true;
}

static bool read_shape(struct model *m, const struct gguf *file, struct err *err)
{
	struct hyper h;
	double eps;
	int n_vocab = tokenizer_size(m->tokenizer);
	if (!read_hyper(file, &h, err) || !check_hyper(&h, n_vocab, err) ||
	        !gguf_real(file, "llama.attention.layer_norm_rms_epsilon", 0, 1, &eps, err))
		return false;
	int head_dim = (int)(h.dim / h.n_heads);
	m->llama.shape = (struct llama_shape){
		.n_vocab = n_vocab,
		.n_ctx = (int)h.n_ctx,
		.n_layers = (int)h.n_layers,
		.n_heads = (int)h.n_heads,
		.n_kv_heads = (int)h.n_kv_heads,
		.dim = (int)h.dim,
		.head_dim = head_dim,
		.kv_dim = head_dim * (int)h.n_kv_heads,
		.ffn_dim = (int)h.ffn_dim,
		.n_rot = (int)h.n_rot,
		.eps = (float)eps,
	};
	return true;
}

/* Angles per position. Source: Su 2021, section 3.2.2: base to the power of -2i/d. */
static bool read_rope(struct model *m, const struct gguf *file, struct err *err)
{
	double base = ROPE_FREQ_BASE_DEFAULT;
	struct str scaling = STR("none");
	char name[GGUF_QUOTE];
	int n_rot = m->llama.shape.n_rot;
	if (gguf_value(file, "llama.rope.freq_base") &&
	        !gguf_real(file, "llama.rope.freq_base", 1, 1e12, &base, err))
		return false;
	if (gguf_value(file, "llama.rope.scaling.type") &&
	        !gguf_string(file, "llama.rope.scaling.type", &scaling, err))
		return false;
	if (!str_eq(scaling, STR("none")))
		return err_set(err, ERR_INPUT, _("positions scaled by '%s' are not supported"),
		        gguf_quote(scaling, name));
	double *freq = arena_new_n(&m->run, double, (size_t)n_rot / 2);
	for (int i = 0; i < n_rot / 2; i++)
		freq[i] = pow(base, -2.0 * i / n_rot);
	m->llama.rope_freq = freq;
	return true;
}

/* Sizes that shapes of tensors are made of. */
enum size { SIZE_ONE, SIZE_DIM, SIZE_KV, SIZE_FFN, SIZE_VOCAB, N_SIZES };

struct tensor_row {
	const char *name;
	size_t offset; /* in struct llama or struct llama_layer */
	enum size n_in, n_out;
};

static const struct tensor_row model_rows[] = {
	{ "token_embd", offsetof(struct llama, embedding), SIZE_DIM, SIZE_VOCAB },
	{ "output_norm", offsetof(struct llama, norm), SIZE_DIM, SIZE_ONE },
	{ "output", offsetof(struct llama, output), SIZE_DIM, SIZE_VOCAB },
};

static const struct tensor_row layer_rows[] = {
	{ "attn_norm", offsetof(struct llama_layer, attn_norm), SIZE_DIM, SIZE_ONE },
	{ "attn_q", offsetof(struct llama_layer, q), SIZE_DIM, SIZE_DIM },
	{ "attn_k", offsetof(struct llama_layer, k), SIZE_DIM, SIZE_KV },
	{ "attn_v", offsetof(struct llama_layer, v), SIZE_DIM, SIZE_KV },
	{ "attn_output", offsetof(struct llama_layer, o), SIZE_DIM, SIZE_DIM },
	{ "ffn_norm", offsetof(struct llama_layer, ffn_norm), SIZE_DIM, SIZE_ONE },
	{ "ffn_gate", offsetof(struct llama_layer, gate), SIZE_DIM, SIZE_FFN },
	{ "ffn_up", offsetof(struct llama_layer, up), SIZE_DIM, SIZE_FFN },
	{ "ffn_down", offsetof(struct llama_layer, down), SIZE_FFN, SIZE_DIM },
};

struct loader {
	struct model *model;
	const struct gguf *file;
	uint64_t sizes[N_SIZES];
	bool *used; /* by place among all tensors of the file */
};

static bool load_tensor(struct loader *l, const char *name, const struct tensor_row *row,
        void *owner, struct err *err)
{
	size_t n;
	const struct gguf_tensor *t = gguf_tensor(l->file, name);
	uint64_t n_in = l->sizes[row->n_in], n_out = l->sizes[row->n_out];
	if (!t)
		return err_set(err, ERR_INPUT, _("tensor '%s' is missing"), name);
	if (t->dims[0] != n_in || t->dims[1] != n_out || t->dims[2] != 1 || t->dims[3] != 1)
		return err_set(err, ERR_INPUT,
		        _("tensor '%s' is %llu x %llu x %llu x %llu instead of %llu x %llu"), name,
		        (unsigned long long)t->dims[0], (unsigned long long)t->dims[1],
		        (unsigned long long)t->dims[2], (unsigned long long)t->dims[3],
		        (unsigned long long)n_in, (unsigned long long)n_out);
	if (!gguf_check_readable(t, err))
		return false;
	float *values = arena_new_n(&l->model->run, float, t->n_elements);
	if (!gguf_read_f32(t, values, err))
		return false;
	*(const float **)(void *)((char *)owner + row->offset) = values;
	l->model->info.n_params += (int64_t)t->n_elements;
	l->used[t - gguf_tensors(l->file, &n)] = true;
	return true;
}

static bool load_layers(struct loader *l, struct err *err)
{
	char name[64];
	struct llama *llama = &l->model->llama;
	size_t n = (size_t)llama->shape.n_layers;
	llama->layers = arena_new_n(&l->model->run, struct llama_layer, n);
	for (size_t layer = 0; layer < n; layer++) {
		for (size_t i = 0; i < ARRAY_LEN(layer_rows); i++) {
			snprintf(
			        name, sizeof(name), "blk.%zu.%s.weight", layer, layer_rows[i].name);
			if (!load_tensor(l, name, &layer_rows[i], &llama->layers[layer], err))
				return false;
		}
	}
	return true;
}

/* A tensor that we know nothing of would change the results: better none than wrong ones. */
static bool check_all_used(const struct loader *l, struct err *err)
{
	size_t n;
	char name[GGUF_QUOTE];
	const struct gguf_tensor *all = gguf_tensors(l->file, &n);
	for (size_t i = 0; i < n; i++)
		if (!l->used[i])
			return err_set(err, ERR_INPUT,
			        _("tensor '%s' belongs to no Llama decoder of a kind that is "
			          "supported"),
			        gguf_quote(all[i].name, name));
	return true;
}

static bool load_weights(struct model *m, const struct gguf *file, struct err *err)
{
	size_t n;
	char name[64];
	const struct llama_shape *c = &m->llama.shape;
	gguf_tensors(file, &n);
	AUTO(auto_free) bool *used = mem_realloc(NULL, n * sizeof(*used));
	memset(used, 0, n * sizeof(*used));
	struct loader l = {
		.model = m,
		.file = file,
		.sizes = { [SIZE_ONE] = 1,
		        [SIZE_DIM] = (uint64_t)c->dim,
		        [SIZE_KV] = (uint64_t)c->kv_dim,
		        [SIZE_FFN] = (uint64_t)c->ffn_dim,
		        [SIZE_VOCAB] = (uint64_t)c->n_vocab },
		.used = used,
	};
	for (size_t i = 0; i < ARRAY_LEN(model_rows); i++) {
		snprintf(name, sizeof(name), "%s.weight", model_rows[i].name);
		bool tied = model_rows[i].offset == offsetof(struct llama, output) &&
		            !gguf_tensor(file, name);
		if (!tied && !load_tensor(&l, name, &model_rows[i], &m->llama, err))
			return false;
	}
	if (!m->llama.output)
		m->llama.output = m->llama.embedding;
	return load_layers(&l, err) && check_all_used(&l, err);
}

static bool check_architecture(const struct gguf *file, struct err *err)
{
	struct str architecture;
	char name[GGUF_QUOTE];
	if (!gguf_string(file, "general.architecture", &architecture, err))
		return false;
	if (!str_eq(architecture, STR("llama")))
		return err_set(err, ERR_INPUT,
		        _("the architecture is '%s'; only 'llama' is supported"),
		        gguf_quote(architecture, name));
	return true;
}

/* Names go into answers and pages: a broken or absurd one is as good as none. */
static bool usable_name(struct str name)
{
	if (name.len == 0 || name.len > NAME_BYTES_MAX || !utf8_valid(name.s, name.len))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.s[i] < 0x20 || name.s[i] == 0x7F)
			return false;
	return true;
}

static void fill_info(struct model *m, const struct gguf *file, const char *name)
{
	const struct llama_shape *c = &m->llama.shape;
	const struct gguf_value *v = gguf_value(file, "general.name");
	struct str chosen = str_of(name);
	if (v && v->type == GGUF_STRING) {
		const unsigned char *at = v->at;
		struct str given = gguf_array_next_string(&at);
		chosen = usable_name(given) ? given : chosen;
	}
	m->info.name = str_c(chosen, &m->run);
	m->info.architecture = "llama";
	m->info.n_vocab = c->n_vocab;
	m->info.n_ctx = c->n_ctx;
	m->info.n_layers = c->n_layers;
	m->info.n_heads = c->n_heads;
	m->info.n_kv_heads = c->n_kv_heads;
	m->info.dim = c->dim;
	m->info.ffn_dim = c->ffn_dim;
	m->info.weight_bytes = m->info.n_params * (int64_t)sizeof(float);
	m->info.kv_bytes_per_token = (int64_t)2 * c->n_layers * c->kv_dim * (int64_t)sizeof(float);
}

bool model_open_gguf(
        const struct gguf *file, const char *name, struct model **ret_model, struct err *err)
{
	struct model *m = mem_realloc(NULL, sizeof(*m));
	*m = (struct model){ 0 };
	if (!check_architecture(file, err) || !tokenizer_open(file, &m->tokenizer, err) ||
	        !read_shape(m, file, err) || !read_rope(m, file, err) ||
	        !load_weights(m, file, err)) {
		model_close(m);
		return false;
	}
	fill_info(m, file, name);
	*ret_model = m;
	return true;
}

bool model_open(const char *path, struct model **ret_model, struct err *err)
{
	struct gguf *file;
	struct arena tmp = { 0 };
	if (!gguf_open(path, &file, err))
		return false;
	struct str name = str_of(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (str_ends(name, STR(".gguf")) && name.len > STR(".gguf").len)
		name.len -= STR(".gguf").len;
	bool ok = model_open_gguf(file, str_c(name, &tmp), ret_model, err);
	gguf_close(file);
	arena_release(&tmp);
	return ok || err_wrap(err, "'%s'", path);
}

void model_close(struct model *model)
{
	if (!model)
		return;
	tokenizer_close(model->tokenizer);
	arena_release(&model->run);
	free(model);
}

struct model_info model_info(const struct model *model)
{
	return model->info;
}

const struct tokenizer *model_tokenizer(const struct model *model)
{
	return model->tokenizer;
}

bool sequence_open(const struct model *model, struct sequence **ret_sequence, struct err *err)
{
	char size[UNITS_TEXT];
	size_t bytes = llama_state_bytes(&model->llama.shape);
	/* Pages that no token has reached yet cost nothing. */
	void *memory = bytes <= SEQUENCE_BYTES_MAX ? malloc(bytes) : NULL;
	if (!memory)
		return err_set(err, ERR_SYSTEM, _("there is no memory for a sequence of %s"),
		        units_size((double)bytes, size));
	struct sequence *sequence = mem_realloc(NULL, sizeof(*sequence));
	sequence->model = model;
	llama_state_init(&sequence->state, &model->llama.shape, memory);
	*ret_sequence = sequence;
	return true;
}

void sequence_close(struct sequence *sequence)
{
	if (!sequence)
		return;
	free(sequence->state.memory);
	free(sequence);
}

void sequence_profile(struct sequence *sequence, struct profile *profile)
{
	sequence->state.profile = profile;
}

void sequence_reset(struct sequence *sequence)
{
	sequence->state.n_past = 0;
}

int sequence_length(const struct sequence *sequence)
{
	return sequence->state.n_past;
}

bool sequence_eval(struct sequence *sequence, const int32_t *tokens, int n,
        const float **ret_logits, struct err *err)
{
	const struct llama_shape *c = &sequence->model->llama.shape;
	int n_past = sequence->state.n_past;
	assert(n >= 1);
	if (n > c->n_ctx - n_past)
		return err_set(err, ERR_INPUT,
		        _("%d tokens after %d are more than the model's context of %d"), n, n_past,
		        c->n_ctx);
	for (int i = 0; i < n; i++)
		if (tokens[i] < 0 || tokens[i] >= c->n_vocab)
			return err_set(err, ERR_INPUT,
			        _("token %d is not within the vocabulary of %d"), tokens[i],
			        c->n_vocab);
	llama_eval(&sequence->model->llama, &sequence->state, tokens, n);
	*ret_logits = sequence->state.logits;
	return true;
}
