#include "engine/encoder_config.h"

#include "base/attr.h"
#include "folder_make.h"
#include "tap.h"

/* A config.json of BERT, with more members or others behind it. */
#define BERT(more)                                                                                 \
	"{\"model_type\":\"bert\",\"vocab_size\":100,\"hidden_size\":32,\"num_hidden_layers\":2,"  \
	"\"num_attention_heads\":4,\"intermediate_size\":64,\"max_position_embeddings\":50" more   \
	"}"

struct file {
	const char *name, *text;
};

/* What a folder of these files says; the error in err. */
static bool load(
        const struct file *files, struct arena *run, struct encoder_config *c, struct err *err)
{
	struct folder f = folder_begin();
	for (; files->name; files++) {
		if (strncmp(files->name, "1_Pooling/", 10) == 0)
			folder_below(&f, "1_Pooling");
		folder_text(&f, files->name, files->text);
	}
	*err = (struct err){ 0 };
	bool ok = encoder_config_load(f.path, run, c, err);
	folder_end(&f);
	return ok;
}

static bool load_one(const char *text, struct arena *run, struct encoder_config *c, struct err *err)
{
	return load((struct file[]){ { "config.json", text }, { 0 } }, run, c, err);
}

static void a_bert_has_the_shape_that_it_says(void)
{
	struct arena run = { 0 };
	struct encoder_config c;
	struct err err;
	if (!CHECK(load_one(BERT(), &run, &c, &err)))
		printf("#   %s\n", err.text);
	CHECK_STR(c.names->model_type, "bert");
	CHECK_INT(c.n_vocab, 100);
	CHECK_INT(c.dim, 32);
	CHECK_INT(c.n_layers, 2);
	CHECK_INT(c.n_heads, 4);
	CHECK_INT(c.ffn_dim, 64);
	CHECK_INT(c.n_positions, 50);
	CHECK_INT(c.max_tokens, 50);
	CHECK_INT(c.position_offset, 0);
	/* The defaults of BertConfig. */
	CHECK_INT(c.n_types, 2);
	CHECK(c.norm_eps == 1e-12f);
	CHECK_INT(c.activation, ACTIVATION_GELU);
	CHECK_INT(c.n_labels, 0);
	CHECK_INT(c.pooling, ENCODER_POOL_MEAN);
	CHECK(c.normalize);
	arena_release(&run);
}

static void the_other_families_are_read_by_their_own_keys(void)
{
	struct arena run = { 0 };
	struct encoder_config c;
	struct err err;
	CHECK(load_one("{\"model_type\":\"distilbert\",\"vocab_size\":100,\"dim\":32,"
	               "\"n_layers\":3,\"n_heads\":2,\"hidden_dim\":48,"
	               "\"max_position_embeddings\":20,\"activation\":\"relu\"}",
	        &run, &c, &err));
	CHECK(c.dim == 32 && c.n_layers == 3 && c.n_heads == 2 && c.ffn_dim == 48);
	CHECK(c.n_positions == 20 && c.n_types == 0 && !c.names->types);
	CHECK_INT(c.activation, ACTIVATION_RELU);
	CHECK_INT(c.head_activation, ACTIVATION_RELU);
	static const char *const types[] = { "roberta", "xlm-roberta", "camembert" };
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		char text[512];
		snprintf(text, sizeof(text), "{\"model_type\":\"%s\",\"type_vocab_size\":1,%s",
		        types[i], strchr(BERT(",\"layer_norm_eps\":1e-5"), ',') + 1);
		if (!CHECK(load_one(text, &run, &c, &err)))
			printf("#   %s\n", err.text);
		CHECK_STR(c.names->model_type, types[i]);
		/* Positions begin behind those up to the padding token's, which is 1. */
		CHECK_INT(c.position_offset, 2);
		CHECK_INT(c.n_positions, 48);
		CHECK_INT(c.n_types, 1);
		CHECK(c.norm_eps == 1e-5f);
		CHECK_STR(c.names->head_dense, "classifier.dense");
	}
	arena_release(&run);
}

static void what_would_be_another_computation_is_refused_by_name(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "[]", "no JSON object" },
		{ "{", "is no JSON" },
		{ "{}", "'model_type' is missing" },
		{ "{\"model_type\":\"albert\"}", "'albert'" },
		{ "{\"model_type\":\"mpnet\"}", "'mpnet'" },
		{ "{\"model_type\":\"deberta-v2\"}", "'deberta-v2'" },
		{ "{\"model_type\":7}", "'model_type' is not a text" },
		{ "{\"model_type\":\"bert\"}", "'vocab_size' is missing" },
		{ BERT(",\"position_embedding_type\":\"relative_key_query\""),
		        "'relative_key_query'" },
		{ BERT(",\"hidden_act\":\"mish\""), "'mish' ('hidden_act')" },
		{ BERT(",\"hidden_act\":null,\"is_decoder\":true"), "'is_decoder'" },
		{ BERT(",\"embedding_size\":16"), "embeddings of 16 values for layers of 32" },
		{ BERT(",\"layer_norm_eps\":0"), "'layer_norm_eps' is not a number between" },
		{ BERT(",\"layer_norm_eps\":\"1\""), "'layer_norm_eps'" },
		{ BERT(",\"type_vocab_size\":0"), "'type_vocab_size' is 0" },
		{ BERT(",\"vocab_size\":7"), "duplicate" },
		{ BERT(",\"is_decoder\":1"), "'is_decoder' is neither true nor false" },
		{ "{\"model_type\":\"bert\",\"vocab_size\":1e2}", "not a whole number" },
		{ "{\"model_type\":\"bert\",\"vocab_size\":9223372036854775807}", "not within" },
		{ "{\"model_type\":\"bert\",\"vocab_size\":100,\"hidden_size\":32,"
		  "\"num_hidden_layers\":2,\"num_attention_heads\":5,\"intermediate_size\":64}",
		        "32 values do not divide into 5 heads" },
		{ "{\"model_type\":\"roberta\",\"vocab_size\":100,\"hidden_size\":32,"
		  "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"intermediate_size\":64,"
		  "\"max_position_embeddings\":2}",
		        "leave none" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct encoder_config c;
		struct err err;
		CHECK(!load_one(cases[i].text, &run, &c, &err));
		if (!CHECK(strstr(err.text, cases[i].says)) ||
		        !CHECK(strstr(err.text, "/config.json'")) ||
		        !CHECK_INT(err.kind, ERR_INPUT))
			printf("#   %s: '%s'\n", cases[i].text, err.text);
	}
	arena_release(&run);
}

static void a_head_has_the_labels_that_it_says(void)
{
	struct arena run = { 0 };
	struct encoder_config c;
	struct err err;
	CHECK(load_one(BERT(",\"architectures\":[\"BertForSequenceClassification\"],"
	                    "\"id2label\":{\"1\":\"b\",\"0\":\"a\",\"2\":\"c\"}"),
	        &run, &c, &err));
	CHECK_INT(c.n_labels, 3);
	CHECK_STR(c.labels[0], "a");
	CHECK_STR(c.labels[1], "b");
	CHECK_STR(c.labels[2], "c");
	CHECK(!c.multi_label);
	CHECK_STR(c.names->pooler, "pooler.dense");
	/* PretrainedConfig has two where nothing is said. */
	CHECK(load_one(
	        BERT(",\"architectures\":[\"BertForSequenceClassification\"]"), &run, &c, &err));
	CHECK_INT(c.n_labels, 2);
	CHECK_STR(c.labels[1], "LABEL_1");
	CHECK(load_one(BERT(",\"id2label\":{\"0\":\"x\"}"), &run, &c, &err));
	CHECK(c.n_labels == 1 && c.multi_label);
	CHECK(load_one(BERT(",\"num_labels\":4,\"problem_type\":\"multi_label_classification\""),
	        &run, &c, &err));
	CHECK(c.n_labels == 4 && c.multi_label);
	CHECK(load_one(BERT(",\"architectures\":[\"BertModel\"],\"id2label\":{\"0\":\"x\"}"), &run,
	        &c, &err));
	CHECK_INT(c.n_labels, 0);
	CHECK(!load_one(BERT(",\"id2label\":{\"0\":\"x\",\"2\":\"y\"}"), &run, &c, &err));
	CHECK(strstr(err.text, "no text for label 1 of 2"));
	CHECK(!load_one(BERT(",\"id2label\":{}"), &run, &c, &err));
	CHECK(strstr(err.text, "0 labels"));
	arena_release(&run);
}

#define MODULE(idx, path, class)                                                                   \
	"{\"idx\":" idx ",\"name\":\"" idx "\",\"path\":\"" path                                   \
	"\",\"type\":\"sentence_transformers.models." class "\"}"

static void what_sentence_transformers_says_is_done(void)
{
	struct arena run = { 0 };
	struct encoder_config c;
	struct err err;
	CHECK(load((struct file[]){ { "config.json", BERT() },
	                   { "modules.json", "[" MODULE("0", "", "Transformer") "," MODULE(
	                                             "1", "1_Pooling", "Pooling") "]" },
	                   { "1_Pooling/config.json", "{\"word_embedding_dimension\":32,"
	                                              "\"pooling_mode_cls_token\":true,"
	                                              "\"pooling_mode_mean_tokens\":false,"
	                                              "\"pooling_mode_max_tokens\":false}" },
	                   { "sentence_bert_config.json",
	                           "{\"max_seq_length\":30,\"do_lower_case\":false}" },
	                   { 0 } },
	        &run, &c, &err));
	CHECK_INT(c.pooling, ENCODER_POOL_CLS);
	CHECK(!c.normalize);
	CHECK_INT(c.max_tokens, 30);
	CHECK_INT(c.n_positions, 50);
	CHECK(load((struct file[]){ { "config.json", BERT() },
	                   { "modules.json", "[" MODULE("0", "", "Transformer") "," MODULE(
	                                             "1", "1_Pooling", "Pooling") "," MODULE("2",
	                                             "2_Normalize", "Normalize") "]" },
	                   { "1_Pooling/config.json", "{\"pooling_mode\":\"mean\"}" },
	                   { "sentence_bert_config.json", "{\"max_seq_length\":null}" }, { 0 } },
	        &run, &c, &err));
	CHECK_INT(c.pooling, ENCODER_POOL_MEAN);
	CHECK(c.normalize);
	CHECK_INT(c.max_tokens, 50);
	/* Without modules.json the pooling is still looked at. */
	CHECK(load((struct file[]){ { "config.json", BERT() },
	                   { "1_Pooling/config.json", "{\"pooling_mode\":\"cls\"}" },
	                   { "sentence_bert_config.json", "{\"max_seq_length\":4000}" }, { 0 } },
	        &run, &c, &err));
	CHECK_INT(c.pooling, ENCODER_POOL_CLS);
	CHECK(c.normalize);
	CHECK_INT(c.max_tokens, 50);
	arena_release(&run);
}

static void what_sentence_transformers_could_say_else_is_refused(void)
{
	static const struct {
		struct file file;
		const char *says;
	} cases[] = {
		{ { "modules.json", "{}" }, "no list of modules" },
		{ { "modules.json", "[{}]" }, "'type' is missing" },
		{ { "modules.json", "[7]" }, "'type' is missing" },
		{ { "modules.json", "[" MODULE("0", "0_T", "Transformer") "]" }, "'0_T'" },
		{ { "modules.json", "[" MODULE("0", "", "Dense") "]" }, "models.Dense'" },
		{ { "modules.json", "[" MODULE("0", "../x", "Pooling") "]" }, "'../x'" },
		{ { "modules.json", "[" MODULE("0", "/etc", "Pooling") "]" }, "'/etc'" },
		{ { "1_Pooling/config.json", "{\"pooling_mode_max_tokens\":true}" }, "'max'" },
		{ { "1_Pooling/config.json", "{\"pooling_mode\":\"lasttoken\"}" }, "'lasttoken'" },
		{ { "1_Pooling/config.json", "{\"pooling_mode\":\"what\"}" }, "'what'" },
		{ { "1_Pooling/config.json", "{\"pooling_mode\":[\"mean\"]}" }, "several" },
		{ { "1_Pooling/config.json",
		          "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":true}" },
		        "several" },
		{ { "1_Pooling/config.json", "{\"pooling_mode_cls_token\":1}" },
		        "neither true nor false" },
		{ { "sentence_bert_config.json", "{\"max_seq_length\":0}" },
		        "'max_seq_length' is 0" },
		{ { "sentence_bert_config.json", "nothing" }, "is no JSON" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct encoder_config c;
		struct err err;
		CHECK(!load((struct file[]){ { "config.json", BERT() }, cases[i].file, { 0 } },
		        &run, &c, &err));
		if (!CHECK(strstr(err.text, cases[i].says)) ||
		        !CHECK(strstr(err.text, cases[i].file.name)))
			printf("#   %s: '%s'\n", cases[i].file.text, err.text);
	}
	arena_release(&run);
}

static void known_shapes_have_the_parameters_that_are_known(void)
{
	/* Of the embeddings and layers, without a pooler: the sums by hand. */
	static const struct {
		const char *name;
		int64_t n;
	} cases[] = {
		{ "bert-base", 108891648 },  /* 109482240 with the pooler's 590592 */
		{ "bert-large", 334092288 }, /* 335141888 with 1049600 */
		{ "minilm", 22565376 },      /* 22713216 with 147840 */
		{ "bert-tiny", 4369408 },    /* 4385920 with 16512 */
		{ "distilbert", 66362880 },
		{ "roberta-base", 124055040 }, /* 124645632 with 590592 */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct encoder_config c;
		struct err err;
		if (!CHECK(encoder_config_named(cases[i].name, &c, &err)))
			continue;
		int64_t d = c.dim, f = c.ffn_dim;
		int64_t layer = 4 * (d * d + d) + 2 * d * f + f + d + 4 * d;
		int64_t n = (c.n_vocab + c.n_positions + c.position_offset + c.n_types + 2) * d +
		            c.n_layers * layer;
		CHECK_INT(n, cases[i].n);
	}
}

static void any_shape_can_be_asked_for_by_its_numbers(void)
{
	struct encoder_config c;
	struct err err = { 0 };
	CHECK(encoder_config_named("6x384/12/1536", &c, &err));
	CHECK(c.n_layers == 6 && c.dim == 384 && c.n_heads == 12 && c.ffn_dim == 1536);
	CHECK(c.n_vocab == 30522 && c.n_positions == 512 && c.max_tokens == 512);
	CHECK(encoder_config_named("2x256", &c, &err));
	CHECK(c.n_heads == 4 && c.ffn_dim == 1024);
	CHECK(encoder_config_named("2x256/8/512/1000/64", &c, &err));
	CHECK(c.n_vocab == 1000 && c.n_positions == 64);
	static const char *const wrong[] = { "", "bert", "2x", "x256", "0x256", "2x256/", "2x256/3",
		"2x256/4/512/1000/64/1", "2x256/4/512/7", "2x-1", "2x256 ",
		"99999999999999999999x2" };
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CHECK(!encoder_config_named(wrong[i], &c, &err));
		CHECK_INT(err.kind, ERR_USAGE);
		CHECK(strstr(err.text, "bert-base, ") && strstr(err.text, "distilbert-sst2"));
	}
	for (int i = 0; encoder_shape(i); i++)
		CHECK(encoder_config_named(encoder_shape(i), &c, &err));
}

static void names_of_weights_are_put_together(void)
{
	char name[ENCODER_NAME_MAX];
	struct encoder_config c;
	struct err err;
	CHECK(encoder_config_named("bert-tiny", &c, &err));
	encoder_weight_name(name, c.names->prefix, c.names->query, 11, "weight");
	CHECK_STR(name, "bert.encoder.layer.11.attention.self.query.weight");
	encoder_weight_name(name, "", c.names->embedding_norm, 0, "bias");
	CHECK_STR(name, "embeddings.LayerNorm.bias");
}

static void the_trained_models_are_understood(void)
{
	static const struct {
		const char *folder;
		int n_layers, n_vocab, n_labels;
		const char *last;
	} cases[] = { { "data/models/tickets", 3, 3000, 8, "question" },
		{ "data/models/bert-sms", 2, 8192, 2, "spam" } };
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = tap_shared(cases[i].folder);
		struct encoder_config c;
		struct err err;
		if (!path) {
			tap_skip("the models are not here");
			continue;
		}
		if (!CHECK(encoder_config_load(path, &run, &c, &err)))
			continue;
		CHECK_INT(c.n_layers, cases[i].n_layers);
		CHECK_INT(c.n_vocab, cases[i].n_vocab);
		CHECK_INT(c.n_labels, cases[i].n_labels);
		CHECK_STR(c.labels[c.n_labels - 1], cases[i].last);
	}
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(a_bert_has_the_shape_that_it_says);
	TAP_RUN(the_other_families_are_read_by_their_own_keys);
	TAP_RUN(what_would_be_another_computation_is_refused_by_name);
	TAP_RUN(a_head_has_the_labels_that_it_says);
	TAP_RUN(what_sentence_transformers_says_is_done);
	TAP_RUN(what_sentence_transformers_could_say_else_is_refused);
	TAP_RUN(known_shapes_have_the_parameters_that_are_known);
	TAP_RUN(any_shape_can_be_asked_for_by_its_numbers);
	TAP_RUN(names_of_weights_are_put_together);
	TAP_RUN(the_trained_models_are_understood);
	return tap_done();
}
