/*
 * fuzz_encoder_folder.c - any texts as the files of an encoder's folder: its shape, its pooling,
 * its tokenizer, a text and a pair of texts through that, and the model where the weights fit.
 *
 * The input is the files one after the other, each behind a line "== NAME"; what stands before the
 * first such line is the text.
 */
#include "engine/checkpoint.h"
#include "engine/encoder.h"
#include "engine/encoder_config.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX = 64, TEXT_BYTES_MAX = 4096 };

static const char *const names[] = { "config.json", "modules.json", "1_Pooling/config.json",
	"sentence_bert_config.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt",
	"vocab.json", "merges.txt", "model.safetensors.index.json", "model.safetensors" };

static char folder[256];

static const char *path_of(const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void remove_files(void)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unlink(path_of(names[i]));
}

static void remove_folder(void)
{
	remove_files();
	rmdir(path_of("1_Pooling"));
	rmdir(folder);
}

static void make_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(folder, sizeof(folder), "%s/venturi-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(folder) || mkdir(path_of("1_Pooling"), 0700) != 0)
		abort();
	atexit(remove_folder);
}

static void write_file(struct str name, struct str text)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!str_eq(name, str_of(names[i])))
			continue;
		FILE *f = fopen(path_of(names[i]), "we");
		if (!f || fwrite(text.s, 1, text.len, f) != text.len)
			abort();
		fclose(f);
	}
}

/* Writes the files; returns the text before them. */
static struct str write_files(struct str input)
{
	const struct str mark = STR("== ");
	ptrdiff_t at = str_starts(input, mark) ? 0 : str_find(input, STR("\n== "));
	struct str text = { input.s, at < 0 ? input.len : (size_t)at };
	while (at >= 0) {
		size_t skip = (size_t)at + (input.s[at] == '\n') + mark.len;
		struct str rest = { input.s + skip, input.len - skip };
		struct str name = str_cut(rest, '\n', &input);
		at = str_find(input, STR("\n== "));
		write_file(name, (struct str){ input.s, at < 0 ? input.len : (size_t)at });
	}
	return text;
}

static void frame(const struct tokenizer *t, struct str text)
{
	struct encoding *e = encoding_new();
	int32_t ids[MAX], types[MAX];
	struct str other = STR("a caf\xC3\xA9 \xE4\xBD\xA0 \xFF [SEP]");
	for (int max = 0; max <= MAX; max += 7) {
		for (unsigned flags = 0; flags <= TOKENIZER_SPECIAL; flags += TOKENIZER_SPECIAL) {
			const struct str *b = max % 2 ? &other : NULL;
			struct tokenizer_framed f =
			        tokenizer_frame(t, e, text, b, flags, max, ids, types);
			if (f.n > max)
				abort();
			for (int i = 0; i < f.n; i++)
				if (ids[i] < 0 || ids[i] >= tokenizer_size(t) || types[i] < 0)
					abort();
		}
	}
	encoding_free(e);
}

static void check_config(const struct encoder_config *c)
{
	if (c->n_vocab < 1 || c->n_layers < 1 || c->n_heads < 1 || c->dim % c->n_heads != 0 ||
	        c->n_positions < 1 || c->max_tokens < 1 || c->max_tokens > c->n_positions ||
	        c->n_labels < 0 || (c->names->types && c->n_types < 1) || !(c->norm_eps >= 0))
		abort();
	for (int i = 0; i < c->n_labels; i++)
		if (!c->labels[i])
			abort();
}

/* A batch of two texts, of which one is as long as it may be. */
static void run_batch(const struct encoder *e, struct encoder_session *s, float *out)
{
	struct encoder_info info = encoder_info(e);
	int32_t ids[MAX] = { 0 };
	struct err err;
	int longest = info.n_positions < MAX ? info.n_positions : MAX;
	for (int i = 0; i < MAX; i++)
		ids[i] = i % info.n_vocab;
	const struct encoder_batch batch = { 2, (const int32_t *[]){ ids, ids }, NULL,
		(int[]){ longest, 1 }, 0 };
	bool ok = encoder_run(s, &batch, ENCODER_EMBEDDING, out, &err);
	if (ok && info.n_labels > 0)
		ok = encoder_run(s, &batch, ENCODER_LOGITS, out, &err);
	if (!ok && err.kind != ERR_SYSTEM)
		abort();
}

static void use_model(struct pool *pool)
{
	const struct encoder_options options = { .weights = DTYPE_F32, .fuse = true, .node = -1 };
	struct encoder *e;
	struct encoder_session *s;
	struct err err;
	if (!encoder_open(folder, &options, &e, &err))
		return;
	struct encoder_info info = encoder_info(e);
	if (encoder_session_open(e, pool, 2 * MAX, NULL, &s, &err)) {
		int width = info.dim > info.n_labels ? info.dim : info.n_labels;
		float *out = malloc(2 * (size_t)width * sizeof(*out));
		run_batch(e, s, out);
		free(out);
		encoder_session_close(s);
	}
	encoder_close(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pool *pool;
	struct arena run = { 0 };
	struct encoder_config config;
	struct tokenizer *t;
	struct checkpoint *c;
	struct err err;
	if (!folder[0])
		make_folder();
	if (!pool && !pool_open(&(struct pool_options){ .n_threads = 1 }, &pool, &err))
		abort();
	struct str text = write_files((struct str){ (const char *)data, size });
	if (text.len > TEXT_BYTES_MAX)
		text.len = TEXT_BYTES_MAX;
	if (encoder_config_load(folder, &run, &config, &err))
		check_config(&config);
	if (tokenizer_open_folder(folder, &t, &err)) {
		frame(t, text);
		tokenizer_close(t);
	}
	if (checkpoint_open(folder, &c, &err))
		checkpoint_close(c);
	use_model(pool);
	remove_files();
	arena_release(&run);
	return 0;
}
