/*
 * gguf_make.h - GGUF files in memory for tests, right ones and wrong ones.
 *
 * Keys and tensors are written in the order of the calls. make_image puts them together; until
 * then the counts, the version and the alignment may be set to what a test wants.
 */
#ifndef VENTURI_TESTS_GGUF_MAKE_H
#define VENTURI_TESTS_GGUF_MAKE_H

#include "base/str.h"
#include "token/gguf.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MAKE_BYTES = 256, MAKE_SPECIAL = 3 };

struct make {
	struct buf keys, infos, data;
	uint64_t n_keys, n_tensors;
	uint32_t version;
	uint64_t alignment;
	const char *without;  /* a key or tensor that is not written */
	const char *replaced; /* a key that others write, and its u32 instead */
	uint32_t replacement;
	const char *poisoned; /* a tensor whose last value is NaN */
	uint32_t tensor_type; /* of the tensors of make_llama */
};

static inline struct make make_begin(void)
{
	return (struct make){ .version = 3, .alignment = 32 };
}

static inline void make_release(struct make *m)
{
	buf_release(&m->keys);
	buf_release(&m->infos);
	buf_release(&m->data);
}

static inline void make_put(struct buf *b, const void *bytes, size_t n)
{
	buf_add(b, (struct str){ bytes, n });
}

static inline void make_u32(struct buf *b, uint32_t x)
{
	make_put(b, &x, sizeof(x));
}

static inline void make_u64(struct buf *b, uint64_t x)
{
	make_put(b, &x, sizeof(x));
}

static inline void make_str(struct buf *b, const char *text)
{
	make_u64(b, strlen(text));
	buf_add_c(b, text);
}

static inline bool make_skips(const struct make *m, const char *name)
{
	return m->without && strcmp(m->without, name) == 0;
}

/* A key, its type and the bytes of its value. */
static inline void make_key(
        struct make *m, const char *key, uint32_t type, const void *bytes, size_t n)
{
	if (make_skips(m, key))
		return;
	bool replace = m->replaced && strcmp(m->replaced, key) == 0;
	make_str(&m->keys, key);
	make_u32(&m->keys, replace ? GGUF_U32 : type);
	if (replace)
		make_u32(&m->keys, m->replacement);
	else
		make_put(&m->keys, bytes, n);
	m->n_keys++;
}

static inline void make_key_u32(struct make *m, const char *key, uint32_t value)
{
	make_key(m, key, GGUF_U32, &value, sizeof(value));
}

static inline void make_key_f32(struct make *m, const char *key, float value)
{
	make_key(m, key, GGUF_F32, &value, sizeof(value));
}

static inline void make_key_bool(struct make *m, const char *key, bool value)
{
	unsigned char byte = value;
	make_key(m, key, GGUF_BOOL, &byte, 1);
}

static inline void make_key_str(struct make *m, const char *key, const char *value)
{
	struct buf b = { 0 };
	make_str(&b, value);
	make_key(m, key, GGUF_STRING, b.s, b.len);
	buf_release(&b);
}

/* An array: n is what it claims, bytes are what is there. */
static inline void make_key_array(
        struct make *m, const char *key, uint32_t of, uint64_t n, const void *bytes, size_t n_bytes)
{
	struct buf b = { 0 };
	make_u32(&b, of);
	make_u64(&b, n);
	make_put(&b, bytes, n_bytes);
	make_key(m, key, GGUF_ARRAY, b.s, b.len);
	buf_release(&b);
}

static inline void make_pad(struct buf *b, uint64_t alignment)
{
	while (b->len % alignment)
		buf_add_char(b, 0);
}

/* The description of a tensor alone; dims may be NULL. */
static inline void make_info(struct make *m, const char *name, uint32_t n_dims,
        const uint64_t *dims, uint32_t type, uint64_t offset)
{
	make_str(&m->infos, name);
	make_u32(&m->infos, n_dims);
	if (dims)
		make_put(&m->infos, dims, n_dims * sizeof(*dims));
	make_u32(&m->infos, type);
	make_u64(&m->infos, offset);
	m->n_tensors++;
}

/* The description and the data. */
static inline void make_tensor(struct make *m, const char *name, uint32_t n_dims,
        const uint64_t *dims, uint32_t type, const void *bytes, size_t n)
{
	make_pad(&m->data, m->alignment);
	make_info(m, name, n_dims, dims, type, m->data.len);
	make_put(&m->data, bytes, n);
}

/* The whole file; out is aligned as malloc aligns. */
static inline void make_image(struct make *m, struct buf *out)
{
	buf_clear(out);
	buf_add_c(out, "GGUF");
	make_u32(out, m->version);
	make_u64(out, m->n_tensors);
	make_u64(out, m->n_keys);
	buf_add(out, buf_str(&m->keys));
	buf_add(out, buf_str(&m->infos));
	make_pad(out, m->alignment);
	buf_add(out, buf_str(&m->data));
}

/* Three special tokens, 256 bytes, and then the pieces; the score of each is minus its place. */
static inline void make_tokenizer(struct make *m, const char *const *pieces, size_t n_pieces)
{
	struct buf tokens = { 0 }, scores = { 0 }, types = { 0 };
	const char *const special[MAKE_SPECIAL] = { "<unk>", "<s>", "</s>" };
	size_t n = MAKE_SPECIAL + MAKE_BYTES + n_pieces;
	for (size_t i = 0; i < n; i++) {
		char byte[8];
		snprintf(byte, sizeof(byte), "<0x%02X>", (unsigned)(i - MAKE_SPECIAL) & 0xFF);
		bool is_piece = i >= MAKE_SPECIAL + MAKE_BYTES;
		size_t at = i - MAKE_SPECIAL - MAKE_BYTES;
		float score = is_piece ? -(float)at : 0;
		make_str(&tokens, i < MAKE_SPECIAL ? special[i] : is_piece ? pieces[at] : byte);
		make_put(&scores, &score, sizeof(score));
		make_u32(&types, i == 0 ? 2 : i < MAKE_SPECIAL ? 3 : is_piece ? 1 : 6);
	}
	make_key_str(m, "tokenizer.ggml.model", "llama");
	make_key_array(m, "tokenizer.ggml.tokens", GGUF_STRING, n, tokens.s, tokens.len);
	make_key_array(m, "tokenizer.ggml.scores", GGUF_F32, n, scores.s, scores.len);
	make_key_array(m, "tokenizer.ggml.token_type", GGUF_I32, n, types.s, types.len);
	make_key_u32(m, "tokenizer.ggml.bos_token_id", 1);
	make_key_u32(m, "tokenizer.ggml.eos_token_id", 2);
	make_key_u32(m, "tokenizer.ggml.unknown_token_id", 0);
	buf_release(&tokens);
	buf_release(&scores);
	buf_release(&types);
}

/*
 * Value i of tensor number k, as tests/unit/mini_llama.py has it, too: eighths from -7/8 to 7/8,
 * which F32, F16 and BF16 all hold exactly.
 */
static inline float make_weight(size_t k, size_t i)
{
	uint32_t x = (uint32_t)(i * 2654435761u + k * 40503u + 12345u);
	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	return (float)((int)(x % 15) - 7) / 8.0f;
}

static inline void make_weights(struct make *m, const char *name, uint64_t n_in, uint64_t n_out)
{
	const uint64_t dims[2] = { n_in, n_out };
	struct buf values = { 0 };
	size_t n = (size_t)(n_in * n_out), k = (size_t)m->n_tensors;
	if (make_skips(m, name))
		return;
	bool poison = m->poisoned && strcmp(m->poisoned, name) == 0;
	for (size_t i = 0; i < n; i++) {
		float value = poison && i + 1 == n ? NAN : make_weight(k, i);
		uint32_t bits;
		memcpy(&bits, &value, sizeof(bits));
		uint16_t high = (uint16_t)(bits >> 16);
		if (m->tensor_type == GGUF_TENSOR_BF16)
			make_put(&values, &high, sizeof(high));
		else
			make_put(&values, &value, sizeof(value));
	}
	make_tensor(m, name, n_out > 1 ? 2 : 1, dims, m->tensor_type, values.s, values.len);
	buf_release(&values);
}

struct make_shape {
	uint32_t dim, n_layers, n_heads, n_kv_heads, ffn_dim, n_rot;
	float freq_base;
	bool separate_output;
};

/* A model that says nothing sensible, but is one. */
static inline void make_llama(struct make *m, const struct make_shape *s)
{
	char name[64];
	uint32_t kv_dim = s->dim / s->n_heads * s->n_kv_heads, n_vocab = MAKE_SPECIAL + MAKE_BYTES;
	make_key_str(m, "general.architecture", "llama");
	make_key_u32(m, "llama.context_length", 64);
	make_key_u32(m, "llama.embedding_length", s->dim);
	make_key_u32(m, "llama.block_count", s->n_layers);
	make_key_u32(m, "llama.feed_forward_length", s->ffn_dim);
	make_key_u32(m, "llama.attention.head_count", s->n_heads);
	make_key_u32(m, "llama.attention.head_count_kv", s->n_kv_heads);
	make_key_f32(m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
	make_key_u32(m, "llama.rope.dimension_count", s->n_rot);
	make_key_f32(m, "llama.rope.freq_base", s->freq_base);
	make_tokenizer(m, NULL, 0);
	make_weights(m, "token_embd.weight", s->dim, n_vocab);
	make_weights(m, "output_norm.weight", s->dim, 1);
	if (s->separate_output)
		make_weights(m, "output.weight", s->dim, n_vocab);
	const struct {
		const char *name;
		uint64_t n_in, n_out;
	} rows[] = {
		{ "attn_norm", s->dim, 1 },
		{ "attn_q", s->dim, s->dim },
		{ "attn_k", s->dim, kv_dim },
		{ "attn_v", s->dim, kv_dim },
		{ "attn_output", s->dim, s->dim },
		{ "ffn_norm", s->dim, 1 },
		{ "ffn_gate", s->dim, s->ffn_dim },
		{ "ffn_up", s->dim, s->ffn_dim },
		{ "ffn_down", s->ffn_dim, s->dim },
	};
	for (uint32_t layer = 0; layer < s->n_layers; layer++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			snprintf(name, sizeof(name), "blk.%u.%s.weight", layer, rows[i].name);
			make_weights(m, name, rows[i].n_in, rows[i].n_out);
		}
	}
}

#endif
