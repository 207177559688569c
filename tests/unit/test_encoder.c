#include "engine/encoder.h"

#include "base/rng.h"
#include "base/str.h"
#include "engine/encoder_parts.h"
#include "tap.h"

#include <jansson.h>
#include <unistd.h>

/* Float32 in another order of sums; the references have six or seven decimals. */
static const double LOGIT_TOLERANCE = 1e-4;
/* Packed or padded, together or alone, fused or not: the same products in another order. */
static const double ROUNDING = 2e-5;

enum { VALUES_MAX = 1 << 16, TEXTS_MAX = 64 };

static struct pool *pool;

static const struct encoder_options f32_fused = { .weights = DTYPE_F32, .fuse = true, .node = -1 };

/* A folder of the shared models; NULL skips the test. */
static const char *model_folder(const char *name)
{
	static char path[4096];
	char file[256];
	snprintf(file, sizeof(file), "data/models/%s/reference.json", name);
	const char *found = tap_shared(file);
	if (!found) {
		tap_skip("the shared models are not here");
		return NULL;
	}
	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(found, '/') - found), found);
	return path;
}

struct model {
	struct encoder *e;
	struct encoder_session *s;
	struct encoder_info info;
};

static bool begin(struct model *m, bool ok, const struct err *err, int rows_max)
{
	struct err session_err;
	if (!CHECK(ok)) {
		printf("#   %s\n", err->text);
		return false;
	}
	m->info = encoder_info(m->e);
	return CHECK(encoder_session_open(m->e, pool, rows_max, NULL, &m->s, &session_err));
}

static bool open_folder(
        struct model *m, const char *name, const struct encoder_options *options, int rows_max)
{
	struct err err;
	const char *path = model_folder(name);
	return path && begin(m, encoder_open(path, options, &m->e, &err), &err, rows_max);
}

static bool open_shape(
        struct model *m, const char *shape, const struct encoder_options *options, int rows_max)
{
	struct err err;
	bool ok = encoder_open_synthetic(shape, options, &m->e, &err);
	return begin(m, ok, &err, rows_max);
}

static void close_model(struct model *m)
{
	encoder_session_close(m->s);
	encoder_close(m->e);
	*m = (struct model){ 0 };
}

/* ---- texts ---- */

struct texts {
	int n;
	const int32_t *ids[TEXTS_MAX], *types[TEXTS_MAX];
	int lengths[TEXTS_MAX];
};

static void add_text(struct texts *t, int length, int n_vocab, int n_types, struct rng *rng)
{
	int32_t *ids = malloc((size_t)length * sizeof(*ids));
	int32_t *types = malloc((size_t)length * sizeof(*types));
	for (int i = 0; i < length; i++) {
		ids[i] = (int32_t)rng_below(rng, (uint64_t)n_vocab);
		types[i] = n_types > 1 && i > length / 2;
	}
	t->ids[t->n] = ids;
	t->types[t->n] = types;
	t->lengths[t->n++] = length;
}

static void make_texts(struct texts *t, const struct encoder_info *info)
{
	static const int lengths[] = { 7, 1, 40, 33, 2, 19, 64, 5 };
	struct rng rng;
	rng_init(&rng, 3);
	*t = (struct texts){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
		add_text(t, lengths[i], info->n_vocab, 2, &rng);
}

static void free_texts(struct texts *t)
{
	for (int i = 0; i < t->n; i++) {
		free((void *)t->ids[i]);
		free((void *)t->types[i]);
	}
}

static bool run(struct model *m, const struct texts *t, int first, int n, int pad_to,
        enum encoder_output output, float *out)
{
	struct err err;
	const struct encoder_batch batch = { .n = n,
		.ids = t->ids + first,
		.types = t->types + first,
		.lengths = t->lengths + first,
		.pad_to = pad_to };
	bool ok = CHECK(encoder_run(m->s, &batch, output, out, &err));
	if (!ok)
		printf("#   %s\n", err.text);
	return ok;
}

static double cosine(const float *a, const float *b, int n)
{
	double ab = 0, aa = 0, bb = 0;
	for (int i = 0; i < n; i++) {
		ab += (double)a[i] * (double)b[i];
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
	}
	return ab / sqrt(aa * bb);
}

static double difference_max(const float *a, const float *b, int n)
{
	double max = 0;
	for (int i = 0; i < n; i++) {
		double d = fabs((double)a[i] - (double)b[i]);
		max = d <= max ? max : d;
	}
	return max;
}

static double cosine_min(const float *a, const float *b, int n, int dim)
{
	double min = 1;
	for (int i = 0; i < n; i++) {
		double c = cosine(a + i * dim, b + i * dim, dim);
		min = c >= min ? min : c;
	}
	return min;
}

/* ---- the references ---- */

static void check_values(const json_t *want, const float *got, double tolerance)
{
	size_t i;
	json_t *value;
	json_array_foreach(want, i, value)
	        CHECK_NEAR((double)got[i], json_number_value(value), tolerance);
}

static int read_ids(const json_t *row, int32_t *ids, size_t max)
{
	const json_t *list = json_object_get(row, "ids");
	size_t n = json_array_size(list);
	CHECK(n > 0 && n <= max);
	for (size_t i = 0; i < n && i < max; i++)
		ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
	return (int)n;
}

static void check_row(struct model *m, const json_t *row)
{
	int32_t ids[512];
	float out[512];
	const int length = read_ids(row, ids, ARRAY_LEN(ids));
	struct texts t = { .n = 1, .ids = { ids }, .lengths = { length } };
	const json_t *logits = json_object_get(row, "logits");
	CHECK_INT(json_array_size(logits), m->info.n_labels);
	if (run(m, &t, 0, 1, 0, ENCODER_LOGITS, out))
		check_values(logits, out, LOGIT_TOLERANCE);
	if (json_object_get(row, "pooled_first8") && run(m, &t, 0, 1, 0, ENCODER_POOLED, out))
		check_values(json_object_get(row, "pooled_first8"), out, LOGIT_TOLERANCE);
	if (json_object_get(row, "embedding_first16") &&
	        run(m, &t, 0, 1, 0, ENCODER_EMBEDDING, out))
		check_values(json_object_get(row, "embedding_first16"), out, LOGIT_TOLERANCE);
}

static json_t *load_reference(const char *name)
{
	char file[4096];
	const char *folder = model_folder(name);
	if (!folder)
		return NULL;
	snprintf(file, sizeof(file), "%s/reference.json", folder);
	json_t *all = json_load_file(file, 0, NULL);
	CHECK(all != NULL);
	return all;
}

static void check_reference(const char *name, const struct encoder_options *options)
{
	size_t i;
	json_t *row, *all = load_reference(name);
	struct model m = { 0 };
	if (!all || !open_folder(&m, name, options, 512))
		return;
	const json_t *cases = json_object_get(all, "cases");
	CHECK(json_array_size(cases) >= 8);
	json_array_foreach(cases, i, row) check_row(&m, row);
	close_model(&m);
	json_decref(all);
}

static void the_tickets_model_answers_as_its_reference(void)
{
	check_reference("tickets", &f32_fused);
}

static void the_sms_model_answers_as_its_reference(void)
{
	check_reference("bert-sms", &f32_fused);
}

static void operator_by_operator_the_answers_are_the_same(void)
{
	struct encoder_options options = f32_fused;
	options.fuse = false;
	check_reference("tickets", &options);
}

/* ---- batches ---- */

/* Every text alone, packed together, padded together: the same embeddings. */
static void check_batches(
        const char *shape, const struct encoder_options *options, double tolerance)
{
	struct model m = { 0 };
	struct texts t;
	static float alone[VALUES_MAX], together[VALUES_MAX];
	if (!open_shape(&m, shape, options, 1024))
		return;
	make_texts(&t, &m.info);
	int n = t.n * m.info.dim;
	for (int i = 0; i < t.n; i++)
		run(&m, &t, i, 1, 0, ENCODER_EMBEDDING, alone + i * m.info.dim);
	CHECK(cosine(alone, alone + 2 * m.info.dim, m.info.dim) < 0.999);
	if (run(&m, &t, 0, t.n, 0, ENCODER_EMBEDDING, together))
		CHECK(difference_max(alone, together, n) <= tolerance);
	if (run(&m, &t, 0, t.n, 80, ENCODER_EMBEDDING, together))
		CHECK(difference_max(alone, together, n) <= tolerance);
	free_texts(&t);
	close_model(&m);
}

static void a_batch_answers_as_its_texts_do_alone(void)
{
	struct encoder_options options = f32_fused;
	check_batches("2x96/4/160/500/128", &options, ROUNDING);
	options.fuse = false;
	check_batches("2x96/4/160/500/128", &options, ROUNDING);
	options = f32_fused;
	options.weights = DTYPE_BF16;
	check_batches("2x96/4/160/500/128", &options, 2e-3);
	options.weights = DTYPE_S8;
	check_batches("2x96/4/160/500/128", &options, 2e-3);
}

static void check_precision(const char *shape, enum dtype weights, bool fuse, double least)
{
	struct model wide = { 0 }, narrow = { 0 };
	struct texts t;
	static float want[VALUES_MAX], got[VALUES_MAX];
	struct encoder_options options = f32_fused;
	if (!open_shape(&wide, shape, &options, 1024))
		return;
	options.weights = weights;
	options.fuse = fuse;
	if (!open_shape(&narrow, shape, &options, 1024))
		return;
	make_texts(&t, &wide.info);
	if (run(&wide, &t, 0, t.n, 0, ENCODER_EMBEDDING, want) &&
	        run(&narrow, &t, 0, t.n, 0, ENCODER_EMBEDDING, got)) {
		double cos = cosine_min(want, got, t.n, wide.info.dim);
		printf("# %s %s: cosine at least %.6f\n", shape, dtype_name(weights), cos);
		CHECK(cos >= least);
	}
	free_texts(&t);
	close_model(&wide);
	close_model(&narrow);
}

static void narrower_weights_stay_near_float32(void)
{
	static const char shape[] = "4x128/4/512/1000/128";
	check_precision(shape, DTYPE_F32, false, 0.9999999);
	check_precision(shape, DTYPE_BF16, true, 0.9995);
	check_precision(shape, DTYPE_BF16, false, 0.9995);
	check_precision(shape, DTYPE_S8, true, 0.995);
	check_precision(shape, DTYPE_S8, false, 0.995);
}

/* ---- on texts that were kept from training ---- */

struct batch_of_texts {
	int n, labels[TEXTS_MAX], lengths[TEXTS_MAX];
	const int32_t *list[TEXTS_MAX];
	int32_t ids[TEXTS_MAX][512];
};

static int label_of(const struct encoder_info *info, const char *name, size_t n)
{
	for (int i = 0; i < info->n_labels; i++)
		if (strlen(info->labels[i]) == n && memcmp(info->labels[i], name, n) == 0)
			return i;
	return -1;
}

static void add_line(
        struct batch_of_texts *b, const struct model *m, struct encoding *room, const char *line)
{
	const struct tokenizer *t = encoder_tokenizer(m->e);
	const char *tab = strchr(line, '\t');
	if (!CHECK(tab != NULL))
		return;
	struct str text = { tab + 1, strcspn(tab + 1, "\n") };
	b->labels[b->n] = label_of(&m->info, line, (size_t)(tab - line));
	CHECK(b->labels[b->n] >= 0);
	b->list[b->n] = b->ids[b->n];
	b->lengths[b->n] = tokenizer_frame(t, room, text, NULL, 0, 512, b->ids[b->n], NULL).n;
	b->n++;
}

/* How many of a batch are right. */
static int count_right(struct model *m, struct batch_of_texts *b)
{
	static float logits[VALUES_MAX];
	struct err err;
	const struct encoder_batch batch = { .n = b->n, .ids = b->list, .lengths = b->lengths };
	int right = 0;
	if (!b->n || !CHECK(encoder_run(m->s, &batch, ENCODER_LOGITS, logits, &err)))
		return 0;
	for (int i = 0; i < b->n; i++) {
		const float *row = logits + i * m->info.n_labels;
		int best = 0;
		for (int j = 1; j < m->info.n_labels; j++)
			best = row[j] > row[best] ? j : best;
		right += best == b->labels[i];
	}
	b->n = 0;
	return right;
}

/* In points of a hundred; negative: the files are not here. */
static double accuracy(const char *name, enum dtype weights)
{
	static struct batch_of_texts b;
	struct model m = { 0 };
	struct encoder_options options = f32_fused;
	char path[4096], *line = NULL;
	size_t size = 0;
	int n = 0, right = 0;
	options.weights = weights;
	const char *folder = model_folder(name);
	snprintf(path, sizeof(path), "%s/test.tsv", folder ? folder : "");
	FILE *f = folder ? fopen(path, "re") : NULL;
	if (!f || !open_folder(&m, name, &options, TEXTS_MAX * 512)) {
		if (f)
			fclose(f);
		return -1;
	}
	struct encoding *room = encoding_new();
	for (b.n = 0; getline(&line, &size, f) > 0; n++) {
		add_line(&b, &m, room, line);
		if (b.n == TEXTS_MAX)
			right += count_right(&m, &b);
	}
	right += count_right(&m, &b);
	encoding_free(room);
	free(line);
	fclose(f);
	close_model(&m);
	printf("# %s %s: %d of %d right\n", name, dtype_name(weights), right, n);
	return n ? 100.0 * right / n : -1;
}

static void narrower_weights_classify_as_well(void)
{
	static const struct {
		const char *name;
		double trained; /* points, of the run that trained it; see SOURCES.md and
		                   reference.json */
	} rows[] = { { "tickets", 99.4 }, { "bert-sms", 98.83 } };
	if (getenv("VENTURI_SANITIZED")) {
		tap_skip("9,000 texts take minutes under a sanitizer");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double wide = accuracy(rows[i].name, DTYPE_F32);
		if (wide < 0)
			return;
		CHECK_NEAR(wide, rows[i].trained, 0.06);
		CHECK_NEAR(accuracy(rows[i].name, DTYPE_BF16), wide, 0.3);
		CHECK_NEAR(accuracy(rows[i].name, DTYPE_S8), wide, 0.3);
	}
}

/* ---- the check of a precision ---- */

static void a_precision_that_is_near_enough_keeps_its_layers(void)
{
	struct model m = { 0 };
	struct encoder_options options = f32_fused;
	options.weights = DTYPE_S8;
	options.check = true;
	if (!open_folder(&m, "tickets", &options, 512))
		return;
	printf("# cosine at least %.6f, logits within %.4f\n", m.info.check.cosine_min,
	        m.info.check.logit_error_max);
	CHECK(m.info.check.n > 0);
	CHECK_INT(m.info.check.n_wide, 0);
	CHECK(m.info.check.cosine_min >= 0.995 && m.info.check.cosine_min < 1);
	CHECK(m.info.check.logit_error_max > 0 && m.info.check.logit_error_max < 1);
	close_model(&m);
}

/* All layers of int8 widened one by one are bfloat16. */
static void layers_are_widened_one_by_one(void)
{
	static const char shape[] = "2x64/2/128/500/128";
	static float want[VALUES_MAX], got[VALUES_MAX];
	struct model narrow = { 0 }, wide = { 0 };
	struct encoder_options options = f32_fused;
	struct texts t;
	struct err err;
	options.weights = DTYPE_BF16;
	if (!open_shape(&wide, shape, &options, 512))
		return;
	options.weights = DTYPE_S8;
	if (!open_shape(&narrow, shape, &options, 512))
		return;
	make_texts(&t, &wide.info);
	int n = t.n * wide.info.dim;
	struct checkpoint *weights = checkpoint_random(1, 0.02F);
	run(&wide, &t, 0, t.n, 0, ENCODER_EMBEDDING, want);
	for (int i = 0; i < narrow.info.n_layers; i++) {
		run(&narrow, &t, 0, t.n, 0, ENCODER_EMBEDDING, got);
		CHECK(difference_max(want, got, n) > 1e-6);
		CHECK(encoder_weights_reload(narrow.e, weights, i, DTYPE_BF16, &err));
	}
	run(&narrow, &t, 0, t.n, 0, ENCODER_EMBEDDING, got);
	CHECK(difference_max(want, got, n) <= 1e-6);
	CHECK_INT(encoder_info(narrow.e).weight_bytes, wide.info.weight_bytes);
	CHECK_INT(encoder_info(narrow.e).n_params, wide.info.n_params);
	checkpoint_close(weights);
	free_texts(&t);
	close_model(&wide);
	close_model(&narrow);
}

/* ---- what a profile says ---- */

/* How many products there are, each of the type; the steps' name and number by the way. */
static int count_products(const char *path, const char *type, int rows)
{
	size_t i;
	int n = 0;
	json_t *event, *all = json_load_file(path, 0, NULL);
	char step[32];
	snprintf(step, sizeof(step), "encode(%d)", rows);
	CHECK(all != NULL);
	json_array_foreach(json_object_get(all, "traceEvents"), i, event)
	{
		const char *name = json_string_value(json_object_get(event, "name"));
		const json_t *args = json_object_get(event, "args");
		const json_t *types = json_object_get(args, "Input type");
		const json_t *dims = json_array_get(json_object_get(args, "Input Dims"), 0);
		if (!args)
			CHECK_STR(name, step);
		if (strncmp(name, "linear", 6) != 0)
			continue;
		n += strcmp(json_string_value(json_array_get(types, 0)), type) == 0;
		CHECK_INT(json_integer_value(json_array_get(dims, 0)), rows);
	}
	json_decref(all);
	return n;
}

static void a_profile_has_the_types_of_what_is_read(void)
{
	static const struct {
		enum dtype weights;
		const char *type;
	} rows[] = { { DTYPE_F32, "float" }, { DTYPE_BF16, "c10::BFloat16" },
		{ DTYPE_S8, "unsigned char" } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char path[] = "/tmp/test_encoder_XXXXXX";
		int fd = mkstemp(path), rows_of_batch = 0;
		struct encoder_options options = f32_fused;
		struct model m = { 0 };
		struct texts t;
		struct profile *profile;
		struct err err;
		static float out[VALUES_MAX];
		options.weights = rows[i].weights;
		if (!CHECK(fd >= 0) || !CHECK(profile_open(path, &profile, &err)) ||
		        !open_shape(&m, "3x64/2/128/500/128", &options, 512))
			return;
		close(fd);
		m.s->profile = profile;
		make_texts(&t, &m.info);
		for (int j = 0; j < t.n; j++)
			rows_of_batch += t.lengths[j];
		run(&m, &t, 0, t.n, 0, ENCODER_EMBEDDING, out);
		CHECK(profile_close(profile, &err));
		CHECK_INT(count_products(path, rows[i].type, rows_of_batch), 3 * 4);
		unlink(path);
		free_texts(&t);
		close_model(&m);
	}
}

/* ---- what a service is told to do badly ---- */

static void faults_change_no_answer(void)
{
	static const struct engine_faults rows[] = {
		{ .wide_attention = true },
		{ .naive_attention = true },
		{ .pieces = 3, .dispatch_ns = 1000 },
		{ .copy_bytes = 4096 },
		{ .reorders = 1 },
		{ .alloc_churn = true },
		{ .isa = "plain" },
		{ .cold = 1 },
	};
	struct model good = { 0 };
	struct texts t;
	static float want[VALUES_MAX], got[VALUES_MAX];
	if (!open_shape(&good, "2x64/2/128/500/128", &f32_fused, 512))
		return;
	make_texts(&t, &good.info);
	run(&good, &t, 0, t.n, 0, ENCODER_EMBEDDING, want);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct model m = { 0 };
		struct encoder_options options = f32_fused;
		options.faults = rows[i];
		if (!open_shape(&m, "2x64/2/128/500/128", &options, 512))
			return;
		memset(got, 0, sizeof(got));
		run(&m, &t, 0, t.n, 0, ENCODER_EMBEDDING, got);
		if (!CHECK(difference_max(want, got, t.n * m.info.dim) <= ROUNDING))
			printf("#   fault %zu\n", i);
		close_model(&m);
	}
	free_texts(&t);
	close_model(&good);
}

/* ---- what is refused ---- */

static void check_refused(struct model *m, const struct encoder_batch *b,
        enum encoder_output output, enum err_kind kind, const char *part)
{
	struct err err = { 0 };
	static float out[VALUES_MAX];
	CHECK(!encoder_run(m->s, b, output, out, &err));
	CHECK_INT(err.kind, kind);
	if (!CHECK(strstr(err.text, part) != NULL))
		printf("#   %s\n", err.text);
}

static void batches_that_cannot_be_are_refused(void)
{
	struct model m = { 0 };
	int32_t good[] = { 1, 2, 3, 4 }, high[] = { 1, 500 }, low[] = { -1, 1 }, type[] = { 0, 2 };
	const int32_t *lists[3] = { good, good, high }, *types[3] = { NULL, NULL, NULL };
	int lengths[3] = { 4, 4, 2 };
	struct encoder_batch b = { .n = 3, .ids = lists, .types = types, .lengths = lengths };
	if (!open_shape(&m, "1x64/2/64/500/20", &f32_fused, 16))
		return;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "500");
	lists[2] = low;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "-1");
	lists[2] = good;
	types[2] = type;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "type 2");
	types[2] = NULL;
	lengths[2] = 21;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "1 to 20");
	lengths[2] = 0;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "1 to 20");
	lengths[2] = 4;
	b.pad_to = 6;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "18 tokens");
	b.pad_to = 3;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "padded to 3");
	b.pad_to = 0;
	check_refused(&m, &b, ENCODER_LOGITS, ERR_INPUT, "head");
	b.n = 0;
	check_refused(&m, &b, ENCODER_EMBEDDING, ERR_INPUT, "0 tokens");
	close_model(&m);
}

static void values_that_are_no_numbers_are_an_error(void)
{
	for (int i = 0; i < 3; i++) {
		static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_S8 };
		struct model m = { 0 };
		struct encoder_options options = f32_fused;
		const int32_t ids[] = { 1, 2, 3 }, *list = ids;
		const int length = 3;
		struct encoder_batch b = { .n = 1, .ids = &list, .lengths = &length };
		options.weights = types[i];
		if (!open_shape(&m, "1x64/2/64/500/20", &options, 16))
			return;
		((float *)m.e->words)[2 * 64 + 5] = NAN;
		check_refused(&m, &b, ENCODER_EMBEDDING, ERR_SYSTEM, "not a number");
		((float *)m.e->words)[2 * 64 + 5] = INFINITY;
		check_refused(&m, &b, ENCODER_EMBEDDING, ERR_SYSTEM, "not a number");
		close_model(&m);
	}
}

int main(void)
{
	struct err err;
	if (!pool_open(&(struct pool_options){ .n_threads = 2 }, &pool, &err))
		return 1;
	TAP_RUN(the_tickets_model_answers_as_its_reference);
	TAP_RUN(the_sms_model_answers_as_its_reference);
	TAP_RUN(operator_by_operator_the_answers_are_the_same);
	TAP_RUN(a_batch_answers_as_its_texts_do_alone);
	TAP_RUN(narrower_weights_stay_near_float32);
	TAP_RUN(narrower_weights_classify_as_well);
	TAP_RUN(a_precision_that_is_near_enough_keeps_its_layers);
	TAP_RUN(layers_are_widened_one_by_one);
	TAP_RUN(a_profile_has_the_types_of_what_is_read);
	TAP_RUN(faults_change_no_answer);
	TAP_RUN(batches_that_cannot_be_are_refused);
	TAP_RUN(values_that_are_no_numbers_are_an_error);
	pool_close(pool);
	return tap_done();
}
