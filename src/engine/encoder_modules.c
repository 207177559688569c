/*
 * What sentence-transformers puts into a folder beside the model: modules.json lists the steps from
 * the text to the embedding, 1_Pooling/config.json says which pooling, sentence_bert_config.json
 * where texts are cut.
 */
#include "engine/encoder_config_parts.h"

#include "base/i18n.h"
#include "base/str.h"
#include "engine/json_file.h"

#include <string.h>
#include <unistd.h>

/* A file that may be absent: *ret is NULL then. */
static bool load_if_there(const char *path, json_t **ret, struct err *err)
{
	*ret = NULL;
	return access(path, F_OK) != 0 || json_file_load(path, ENCODER_FILE_BYTES_MAX, ret, err);
}

/* ---- pooling ---- */

static const struct {
	const char *flag, *word; /* of older files and of newer ones */
	bool supported;
	enum encoder_pooling pooling;
} poolings[] = {
	{ "pooling_mode_mean_tokens", "mean", true, ENCODER_POOL_MEAN },
	{ "pooling_mode_cls_token", "cls", true, ENCODER_POOL_CLS },
	{ "pooling_mode_max_tokens", "max", false, 0 },
	{ "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", false, 0 },
	{ "pooling_mode_weightedmean_tokens", "weightedmean", false, 0 },
	{ "pooling_mode_lasttoken", "lasttoken", false, 0 },
};

static bool choose(size_t i, struct encoder_config *config, struct err *err)
{
	if (!poolings[i].supported)
		return err_set(
		        err, ERR_INPUT, _("the pooling '%s' is not supported"), poolings[i].word);
	config->pooling = poolings[i].pooling;
	return true;
}

/* "pooling_mode": "mean" */
static bool pooling_by_word(const char *word, struct encoder_config *config, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(poolings); i++)
		if (strcmp(poolings[i].word, word) == 0)
			return choose(i, config, err);
	return err_set(
	        err, ERR_INPUT, _("the pooling '%.*s' is not supported"), JSON_FILE_QUOTE, word);
}

/* "pooling_mode_mean_tokens": true; the mean where nothing is said. */
static bool pooling_by_flag(const json_t *all, struct encoder_config *config, struct err *err)
{
	int n = 0;
	for (size_t i = 0; i < ARRAY_LEN(poolings); i++) {
		bool on = false;
		if (!json_file_bool(all, poolings[i].flag, &on, err))
			return false;
		n += on;
		if (n > 1)
			return err_set(
			        err, ERR_INPUT, _("several poolings at once are not supported"));
		if (on && !choose(i, config, err))
			return false;
	}
	return true;
}

static bool read_pooling(const char *path, struct encoder_config *config, struct err *err)
{
	json_t *all;
	const char *word;
	if (!json_file_load(path, ENCODER_FILE_BYTES_MAX, &all, err))
		return false;
	bool ok = json_is_array(json_object_get(all, "pooling_mode"))
	                  ? err_set(err, ERR_INPUT, _("several poolings at once are not supported"))
	                  : json_file_text(all, "pooling_mode", &word, err) &&
	                            (word ? pooling_by_word(word, config, err)
	                                  : pooling_by_flag(all, config, err));
	json_decref(all);
	return ok || err_wrap(err, "'%s'", path);
}

/* ---- modules.json ---- */

enum { POOLING_PATH_MAX = 200 };

struct modules {
	const char *folder;
	struct encoder_config *config;
	char pooling[POOLING_PATH_MAX + 1];
};

static bool take_transformer(struct modules *m, const char *path, struct err *err)
{
	(void)m;
	return path[0] == '\0' || strcmp(path, ".") == 0 ||
	       err_set(err, ERR_INPUT,
	               _("a model in a folder of its own ('%.*s') is not supported"),
	               JSON_FILE_QUOTE, path);
}

static bool take_pooling(struct modules *m, const char *path, struct err *err)
{
	if (strlen(path) > POOLING_PATH_MAX || path[0] == '/' || path[0] == '.')
		return err_set(err, ERR_INPUT, _("'%.*s' is no folder within this one"),
		        JSON_FILE_QUOTE, path);
	strcpy(m->pooling, path);
	return true;
}

static bool take_normalize(struct modules *m, const char *path, struct err *err)
{
	(void)path, (void)err;
	m->config->normalize = true;
	return true;
}

static bool take_module(struct modules *m, const json_t *module, struct err *err)
{
	static const struct {
		const char *class;
		bool (*take)(struct modules *m, const char *path, struct err *err);
	} rows[] = {
		{ "Transformer", take_transformer },
		{ "Pooling", take_pooling },
		{ "Normalize", take_normalize },
	};
	const char *type, *path;
	if (!json_file_text(module, "type", &type, err) ||
	        !json_file_text(module, "path", &path, err))
		return false;
	if (!type)
		return err_set(err, ERR_INPUT, _("key '%s' is missing"), "type");
	const char *class = strrchr(type, '.') ? strrchr(type, '.') + 1 : type;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(class, rows[i].class) == 0)
			return rows[i].take(m, path ? path : "", err);
	return err_set(
	        err, ERR_INPUT, _("the module '%.*s' is not supported"), JSON_FILE_QUOTE, type);
}

/* Without the file a folder of the usual name is looked for. */
static bool read_modules(struct modules *m, struct arena *tmp, struct err *err)
{
	const char *path = arena_printf(tmp, "%s/modules.json", m->folder);
	json_t *all, *module;
	size_t i;
	bool ok = true;
	if (!load_if_there(path, &all, err))
		return false;
	if (!all) {
		strcpy(m->pooling, "1_Pooling");
		return true;
	}
	m->config->normalize = false;
	if (!json_is_array(all))
		ok = err_set(err, ERR_INPUT, _("it is no list of modules"));
	json_array_foreach(all, i, module)
	{
		ok = ok && take_module(m, module, err);
	}
	json_decref(all);
	return ok || err_wrap(err, "'%s'", path);
}

/* ---- where texts are cut ---- */

static bool read_length(const char *path, struct encoder_config *config, struct err *err)
{
	json_t *all;
	int n = config->max_tokens;
	if (!load_if_there(path, &all, err))
		return false;
	bool ok = json_file_int(all, "max_seq_length", true, 1, ENCODER_POSITIONS_MAX, &n, err);
	json_decref(all);
	if (n < config->max_tokens)
		config->max_tokens = n;
	return ok || err_wrap(err, "'%s'", path);
}

bool encoder_modules_load(const char *folder, struct encoder_config *config, struct err *err)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	struct modules m = { .folder = folder, .config = config };
	if (!read_modules(&m, &tmp, err))
		return false;
	const char *pooling = arena_printf(&tmp, "%s/%s/config.json", folder, m.pooling);
	if (m.pooling[0] && access(pooling, F_OK) == 0 && !read_pooling(pooling, config, err))
		return false;
	return read_length(arena_printf(&tmp, "%s/sentence_bert_config.json", folder), config, err);
}
