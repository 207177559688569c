/*
 * Every family of encoders, each way to store its weights and each head, against a forward pass in
 * float64 that shares nothing with the engine (encoder_folders.py).
 */
#include "engine/encoder.h"

#include "base/attr.h"
#include "folder_make.h"
#include "tap.h"

#include <dirent.h>
#include <jansson.h>

enum { CASES_MAX = 8, VALUES_MAX = 4096, ROWS_MAX = 512 };

/* Float32 against float64, after two layers of weights of spread 0.25; the largest seen is 2.4e-6.
 */
static const double TOLERANCE = 2e-5;

static struct folder folder;
static struct pool *pool;

struct reference {
	int n;
	int lengths[CASES_MAX];
	int32_t ids[CASES_MAX][ROWS_MAX], types[CASES_MAX][ROWS_MAX];
	const int32_t *ids_of[CASES_MAX], *types_of[CASES_MAX];
	json_t *all;
};

static int read_row(const json_t *array, int32_t *out)
{
	size_t i;
	json_t *value;
	json_array_foreach(array, i, value)
	{
		out[i] = (int32_t)json_integer_value(value);
	}
	return (int)json_array_size(array);
}

static bool read_reference(struct reference *r, const char *path)
{
	char file[4300];
	size_t i;
	json_t *row;
	json_error_t e;
	snprintf(file, sizeof(file), "%s/reference.json", path);
	*r = (struct reference){ .all = json_load_file(file, 0, &e) };
	json_array_foreach(json_object_get(r->all, "cases"), i, row)
	{
		r->lengths[i] = read_row(json_object_get(row, "ids"), r->ids[i]);
		read_row(json_object_get(row, "types"), r->types[i]);
		r->ids_of[i] = r->ids[i];
		r->types_of[i] = r->types[i];
		r->n++;
	}
	return CHECK(r->n > 0);
}

/* How far the answers are from what key has of each case. */
static double worst(const struct reference *r, const char *key, const float *got)
{
	double most = 0;
	for (int i = 0; i < r->n; i++) {
		json_t *value, *row = json_array_get(json_object_get(r->all, "cases"), (size_t)i);
		size_t k;
		json_array_foreach(json_object_get(row, key), k, value)
		{
			double off = fabs(*got++ - json_number_value(value));
			most = off <= most ? most : off;
		}
	}
	return most;
}

static void check_output(struct encoder_session *s, const struct reference *r,
        enum encoder_output output, const char *key, int pad_to, const char *name)
{
	static float out[VALUES_MAX];
	struct err err;
	const struct encoder_batch batch = {
		.n = r->n,
		.ids = r->ids_of,
		.types = r->types_of,
		.lengths = r->lengths,
		.pad_to = pad_to,
	};
	if (!CHECK(encoder_run(s, &batch, output, out, &err))) {
		printf("#   %s: %s\n", name, err.text);
		return;
	}
	double off = worst(r, key, out);
	if (!CHECK(off < TOLERANCE))
		printf("#   %s, %s, padded to %d: off by %g\n", name, key, pad_to, off);
}

static void check_folder(const char *path, const char *name, bool fuse)
{
	const struct encoder_options options = { .weights = DTYPE_F32, .fuse = fuse, .node = -1 };
	struct encoder *e;
	struct encoder_session *s;
	struct reference r;
	struct err err;
	if (!read_reference(&r, path))
		return;
	if (!CHECK(encoder_open(path, &options, &e, &err))) {
		printf("#   %s\n", err.text);
		return;
	}
	struct encoder_info info = encoder_info(e);
	CHECK_INT(info.n_params, json_integer_value(json_object_get(r.all, "n_params")));
	CHECK_INT(info.max_tokens, json_integer_value(json_object_get(r.all, "max_tokens")));
	CHECK_INT(tokenizer_size(encoder_tokenizer(e)), info.n_vocab);
	json_t *logits =
	        json_object_get(json_array_get(json_object_get(r.all, "cases"), 0), "logits");
	CHECK_INT(info.n_labels, json_array_size(logits));
	if (CHECK(encoder_session_open(e, pool, ROWS_MAX, NULL, &s, &err))) {
		check_output(s, &r, ENCODER_EMBEDDING, "embedding", 0, name);
		check_output(s, &r, ENCODER_EMBEDDING, "embedding", 33, name);
		if (info.n_labels > 0) {
			check_output(s, &r, ENCODER_LOGITS, "logits", 0, name);
			check_output(s, &r, ENCODER_LOGITS, "logits", 33, name);
		}
		encoder_session_close(s);
	}
	encoder_close(e);
	json_decref(r.all);
}

static int check_folders(bool fuse)
{
	int n = 0;
	const struct dirent *row;
	DIR *dir = opendir(folder.path);
	while (dir && (row = readdir(dir))) {
		char path[4200];
		if (row->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder.path, row->d_name);
		check_folder(path, row->d_name, fuse);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static bool made;

static void every_family_answers_as_its_definition(void)
{
	if (!made) {
		tap_skip("python3 with numpy is not here");
		return;
	}
	CHECK_INT(check_folders(true), 7);
}

static void so_it_does_operator_by_operator(void)
{
	if (!made) {
		tap_skip("python3 with numpy is not here");
		return;
	}
	CHECK_INT(check_folders(false), 7);
}

/* The error of a folder one of whose files says something else. */
static void check_refused(const char *name, const char *file, const char *text, const char *says)
{
	const struct encoder_options options = { .weights = DTYPE_F32, .fuse = true, .node = -1 };
	struct folder f;
	struct encoder *e;
	struct err err = { 0 };
	snprintf(f.path, sizeof(f.path), "%.200s/%s", folder.path, name);
	folder_text(&f, file, text);
	CHECK(!encoder_open(f.path, &options, &e, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	if (!CHECK(strstr(err.text, says)))
		printf("#   '%s', wanted '%s'\n", err.text, says);
}

static void what_does_not_fit_together_is_refused(void)
{
	if (!made) {
		tap_skip("python3 with numpy is not here");
		return;
	}
#define SHAPE(vocab, dim, layers, ffn)                                                             \
	"{\"model_type\":\"electra\",\"vocab_size\":" vocab ",\"hidden_size\":" dim                \
	",\"num_hidden_layers\":" layers ",\"num_attention_heads\":4,\"intermediate_size\":" ffn   \
	",\"max_position_embeddings\":40,\"architectures\":[\"ElectraForSequenceClassification\"]" \
	",\"num_labels\":4}"
	check_refused("electra", "config.json", SHAPE("64", "32", "3", "48"),
	        "no tensor 'electra.encoder.layer.2.attention.self.query.weight'");
	check_refused("electra", "config.json", SHAPE("64", "32", "2", "64"),
	        "tensor 'electra.encoder.layer.0.intermediate.dense.weight' is [48, 32] instead of "
	        "[64, 32]");
	check_refused("electra", "config.json", SHAPE("70", "32", "2", "48"),
	        "'electra.embeddings.word_embeddings.weight' is [64, 32] instead of [70, 32]");
	check_refused("electra", "config.json", SHAPE("60", "32", "2", "48"),
	        "the tokenizer has 64 tokens, but the model only 60");
	check_refused("camembert", "config.json",
	        "{\"model_type\":\"camembert\",\"vocab_size\":64,\"hidden_size\":32,"
	        "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"intermediate_size\":48,"
	        "\"max_position_embeddings\":40,\"type_vocab_size\":1,\"pad_token_id\":5,"
	        "\"architectures\":[\"CamembertForSequenceClassification\"]}",
	        "no tensor 'classifier.dense.weight'");
	check_refused("distilbert", "vocab.txt", "a\nb\n", "has no token '[CLS]'");
	check_refused("roberta", "model.safetensors", "", "too short for safetensors");
}

int main(void)
{
	char command[4400];
	const char *source = getenv("VENTURI_SOURCE_ROOT");
	struct err err;
	folder = folder_begin();
	/* The first Python may be one without Debian's modules. */
	snprintf(command, sizeof(command),
	        "for python in python3 /usr/bin/python3; do "
	        "$python -c 'import numpy' && exec $python %s/tests/unit/encoder_folders.py %s; "
	        "done 2>/dev/null; exit 1",
	        source ? source : ".", folder.path);
	made = system(command) == 0;
	if (!pool_open(&(struct pool_options){ .n_threads = 2 }, &pool, &err))
		return 1;
	TAP_RUN(every_family_answers_as_its_definition);
	TAP_RUN(so_it_does_operator_by_operator);
	TAP_RUN(what_does_not_fit_together_is_refused);
	pool_close(pool);
	folder_end(&folder);
	return tap_done();
}
