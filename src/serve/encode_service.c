#include "serve/encode_service.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "engine/cpus.h"
#include "serve/faults.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	MAX_BATCH_DEFAULT = 32,
	MAX_BATCH_TOKENS_DEFAULT = 512,
	BATCH_MAX = 65536,
	WARMUP_MAX = 1000,
	CPUS_PER_TOKENIZER = 8,
};

#define MAX_WAIT_STATIC_NS (10 * NS_PER_MS)
/* A sequence that waited so long is next, whatever its lane's share is. */
#define STARVE_NS (NS_PER_S / 2)

static const struct opt rows[] = {
	{ .type = OPT_HEADING,
	        .help = N_("To serve an encoder; what is about batches and lanes holds for "
	                   "gateways too") },
	{ OPT(struct encode_args, batching, OPT_CHOICE, 0, "batching", "none|static|dynamic",
	          N_("each text alone; batches that wait until they are full or --max-wait has "
	             "passed; or whatever waits when the model is free (default)")),
	        .choices = "none|static|dynamic" },
	{ OPT(struct encode_args, max_batch, OPT_INT, 0, "max-batch", N_("N"),
	          N_("texts of a batch (default 32)")),
	        .min = 1, .max = BATCH_MAX },
	{ OPT(struct encode_args, max_batch_tokens, OPT_INT, 0, "max-batch-tokens", N_("N"),
	          N_("tokens of a batch, padding counted; 0: no limit (default 512)")),
	        .min = 0, .max = 1e8 },
	{ OPT(struct encode_args, max_wait_ns, OPT_DURATION, 0, "max-wait", N_("DURATION"),
	          N_("how long a text waits for others to fill its batch (default 10ms with static "
	             "batching, else 0)")),
	        .min = 0, .max = 60 },
	{ OPT(struct encode_args, lanes, OPT_STRING, 0, "lanes", N_("EDGES|off"),
	        N_("sort texts by length in tokens into lanes that take turns, as in 64,256 "
	           "(default off)")) },
	{ OPT(struct encode_args, buckets, OPT_STRING, 0, "buckets", N_("EDGES|auto|off"),
	        N_("without --packed: batch only texts of one bucket of lengths, each padded to "
	           "its edge; auto learns the edges (default off)")) },
	{ OPT(struct encode_args, packed, OPT_CHOICE, 0, "packed", "on|off",
	          N_("texts of a batch stand one behind the other, without padding (default on)")),
	        .choices = "on|off" },
	{ OPT(struct encode_args, tokenize, OPT_CHOICE, 0, "tokenize", "inline|async",
	          N_("in the threads that speak HTTP, or in threads of its own (default async)")),
	        .choices = "inline|async" },
	{ OPT(struct encode_args, tokenize_threads, OPT_INT, 0, "tokenize-threads", N_("N"),
	          N_("threads that tokenise (default one for every 8 CPUs)")),
	        .min = 1, .max = TOKENIZE_THREADS_MAX },
	{ OPT(struct encode_args, weights, OPT_CHOICE, 0, "weights", "f32|bf16|int8",
	          N_("the type of the weights (default f32)")),
	        .choices = "f32|bf16|int8" },
	{ OPT(struct encode_args, check_precision, OPT_FLAG, 0, "check-precision", NULL,
	        N_("compare with float32 when the model is loaded, and keep wide what would go "
	           "wrong")) },
	{ OPT(struct encode_args, fuse, OPT_CHOICE, 0, "fuse", "on|off",
	          N_("several operators in one pass over the data (default on)")),
	        .choices = "on|off" },
	{ OPT(struct encode_args, pooling, OPT_CHOICE, 0, "pooling", "mean|cls",
	          N_("how the tokens' vectors become one (default as the model says, else mean)")),
	        .choices = "mean|cls" },
	{ OPT(struct encode_args, warmup, OPT_STRING, 0, "warmup", N_("N|off"),
	        N_("compute the shapes that can come so many times before /health says ready "
	           "(default 1)")) },
	{ OPT(struct encode_args, deadline_ns, OPT_DURATION, 0, "deadline", N_("DURATION"),
	          N_("refuse a request with status 429 when its answer would take longer")),
	        .min = 0, .max = 3600 },
	{ OPT(struct encode_args, threads, OPT_INT, 0, "threads", N_("N"),
	          N_("threads that compute (default as many as CPUs may be used, by affinity and "
	             "quota)")),
	        .min = 1, .max = POOL_THREADS_MAX },
	{ OPT(struct encode_args, pin, OPT_STRING, 0, "pin", N_("off|compact|CPUS"),
	        N_("each of them on one CPU: a core each before the second threads of cores, or "
	           "as listed: 0-3,8 (default off)")) },
	{ OPT(struct encode_args, numa, OPT_STRING, 0, "numa", N_("off|NODE"),
	        N_("weights and threads on one memory node (default off)")) },
	{ OPT(struct encode_args, huge_pages, OPT_CHOICE, 0, "huge-pages", "on|off",
	          N_("ask for huge pages for weights and activations (default on)")),
	        .choices = "on|off" },
};

const struct encode_args encode_args_default = {
	.batching = "dynamic",
	.lanes = "off",
	.buckets = "off",
	.packed = "on",
	.tokenize = "async",
	.weights = "f32",
	.fuse = "on",
	.warmup = "1",
	.huge_pages = "on",
	.pin = "off",
	.numa = "off",
	.max_batch = MAX_BATCH_DEFAULT,
	.max_batch_tokens = -1,
	.max_wait_ns = -1,
};

const struct opt *encode_opt_rows(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(rows);
	return rows;
}

static bool is_of_batches(const struct opt *o)
{
	static const size_t offsets[] = {
		offsetof(struct encode_args, batching),
		offsetof(struct encode_args, max_batch),
		offsetof(struct encode_args, max_batch_tokens),
		offsetof(struct encode_args, max_wait_ns),
		offsetof(struct encode_args, lanes),
		offsetof(struct encode_args, buckets),
		offsetof(struct encode_args, packed),
		offsetof(struct encode_args, deadline_ns),
	};
	for (size_t i = 0; i < ARRAY_LEN(offsets); i++)
		if (o->offset == offsets[i])
			return true;
	return false;
}

const char *encode_args_given(const struct encode_args *args, bool batches)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct opt *o = &rows[i];
		if (o->type == OPT_HEADING || (batches && is_of_batches(o)))
			continue;
		/* Texts by address: one that the user wrote is never the default's. */
		size_t n = o->type == OPT_FLAG ? sizeof(bool) : sizeof(int64_t);
		if (memcmp((const char *)args + o->offset,
		            (const char *)&encode_args_default + o->offset, n) != 0)
			return o->name;
	}
	return NULL;
}

static bool is(const char *word, const char *other)
{
	return strcmp(word, other) == 0;
}

/* The index of a word of a table; the parser of options has let through no other. */
static int index_of(const char *word, const char *const *names)
{
	int i = 0;
	while (names[i] && !is(word, names[i]))
		i++;
	return i;
}

static bool read_edges(
        const char *option, const char *text, struct batcher_edges *ret_edges, struct err *err)
{
	if (is(text, "off")) {
		*ret_edges = (struct batcher_edges){ 0 };
		return true;
	}
	return edges_parse(text, ret_edges, err) || err_wrap(err, "%s", option);
}

static bool read_warmup(const char *text, int64_t *ret_n, struct err *err)
{
	char *end;
	*ret_n = 0;
	if (is(text, "off"))
		return true;
	*ret_n = strtol(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *ret_n <= WARMUP_MAX)
		return true;
	return err_set(err, ERR_USAGE, _("'%s' takes a number up to %d, or off; not '%s'"),
	        "--warmup", WARMUP_MAX, text);
}

static int tokenizers_default(void)
{
	int n = cpus_usable() / CPUS_PER_TOKENIZER;
	return n < 1 ? 1 : n > TOKENIZE_THREADS_MAX ? TOKENIZE_THREADS_MAX : n;
}

static bool plan_batching(const struct encode_args *a, struct batcher_options *b, struct err *err)
{
	static const char *const batchings[] = { "none", "static", "dynamic", NULL };
	b->batching = (enum batching)index_of(a->batching, batchings);
	b->max_batch = (int)a->max_batch;
	b->max_tokens = a->max_batch_tokens < 0 ? MAX_BATCH_TOKENS_DEFAULT : a->max_batch_tokens;
	b->max_wait_ns = a->max_wait_ns;
	if (a->max_wait_ns < 0)
		b->max_wait_ns = b->batching == BATCHING_STATIC ? MAX_WAIT_STATIC_NS : 0;
	b->starve_ns = STARVE_NS;
	b->learn_buckets = is(a->buckets, "auto");
	if (!is(a->buckets, "off") && is(a->packed, "on"))
		return err_set(err, ERR_USAGE, "%s",
		        _("'--buckets' sorts texts that are padded; add '--packed off'"));
	return read_edges("--lanes", a->lanes, &b->lanes, err) &&
	       (b->learn_buckets || read_edges("--buckets", a->buckets, &b->buckets, err));
}

static void plan_engine(const struct encode_args *a, struct encode_plan *plan)
{
	static const char *const names[] = { "f32", "bf16", "int8", NULL };
	static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_S8 };
	plan->engine = (struct encoder_options){
		.weights = types[index_of(a->weights, names)],
		.check = a->check_precision,
		.fuse = is(a->fuse, "on"),
		.huge_pages = is(a->huge_pages, "on"),
		.node = -1,
	};
	plan->has_pooling = a->pooling != NULL;
	if (plan->has_pooling)
		plan->pooling = is(a->pooling, "cls") ? ENCODER_POOL_CLS : ENCODER_POOL_MEAN;
}

bool encode_plan_make(const struct encode_args *a, struct encode_plan *plan, struct err *err)
{
	*plan = (struct encode_plan){ 0 };
	plan_engine(a, plan);
	plan->machine = (struct machine_options){ a->threads, a->pin, a->numa };
	plan->serving = (struct encode_options){
		.tokenize_async = is(a->tokenize, "async"),
		.tokenize_threads =
		        a->tokenize_threads ? (int)a->tokenize_threads : tokenizers_default(),
		.packed = is(a->packed, "on"),
		.deadline_ns = a->deadline_ns,
	};
	return plan_batching(a, &plan->batching, err) &&
	       read_warmup(a->warmup, &plan->serving.warmup, err);
}

bool encode_is_encoder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool encode_service_open(const struct encode_setup *setup, struct encode_service *s,
        struct executor **ret_x, struct err *err)
{
	const struct encode_plan *plan = setup->plan;
	struct encoder_options engine = plan->engine;
	struct encode_options serving = plan->serving;
	*s = (struct encode_service){ 0 };
	engine.pooling = plan->has_pooling ? &plan->pooling : NULL;
	bool ok = setup->folder
	                  ? encoder_open(setup->folder, &engine, &s->encoder, err)
	                  : encoder_open_synthetic(setup->synthetic, &engine, &s->encoder, err);
	ok = ok && pool_open(setup->pool, &s->pool, err);
	serving.pool = s->pool;
	serving.batching = &plan->batching;
	serving.reloadable = serving.faults->reload_idle_ns ? s->encoder : NULL;
	if (ok && encode_open(s->encoder, &serving, setup->metrics, ret_x, err))
		return true;
	encode_service_close(s);
	return false;
}

void encode_service_close(struct encode_service *s)
{
	pool_close(s->pool);
	encoder_close(s->encoder);
}
