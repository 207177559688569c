#include "serve/sim_config.h"

#include "base/i18n.h"

#include <jansson.h>
#include <string.h>

enum key_type { KEY_BOOL, KEY_INT, KEY_DOUBLE, KEY_STRING, KEY_DIST, KEY_CONTINUOUS };

/* dotted: the members of nested objects. The manual page describes each row. */
static const struct key {
	const char *name;
	enum key_type type;
	size_t offset;
	double min, max;
} keys[] = {
#define KEY(name_, type_, field, min_, max_)                                                       \
	{                                                                                          \
		.name = (name_), .type = (type_), .offset = offsetof(struct sim_config, field),    \
		.min = (min_), .max = (max_)                                                       \
	}
	KEY("name", KEY_STRING, name, 0, 0),
	KEY("service_ms", KEY_DIST, service_ms, 0, SIM_MS_MAX),
	KEY("prefill.fixed_ms", KEY_DOUBLE, prefill_fixed_ms, 0, SIM_MS_MAX),
	KEY("prefill.per_token_ms", KEY_DOUBLE, prefill_per_token_ms, 0, SIM_MS_MAX),
	KEY("decode.fixed_ms", KEY_DOUBLE, decode_fixed_ms, 0, SIM_MS_MAX),
	KEY("decode.per_sequence_ms", KEY_DOUBLE, decode_per_sequence_ms, 0, SIM_MS_MAX),
	KEY("slots", KEY_INT, slots, 1, SIM_SLOTS_MAX),
	KEY("batching", KEY_CONTINUOUS, continuous, 0, 0),
	KEY("output_tokens", KEY_DIST, output_tokens, 1, 1e6),
	KEY("context_tokens", KEY_INT, n_ctx, 1, 1e9),
	KEY("embedding_dimensions", KEY_INT, n_dims, 1, 8192),
	KEY("classes", KEY_INT, n_labels, 1, 8192),
	KEY("seed", KEY_INT, seed, 0, 9e15),
	KEY("stall.at_s", KEY_DOUBLE, stall_at_s, 0, 1e6),
	KEY("stall.for_s", KEY_DOUBLE, stall_for_s, 0, 1e6),
	KEY("stall.every_s", KEY_DOUBLE, stall_every_s, 0, 1e6),
	KEY("cold.requests", KEY_INT, cold_requests, 0, 1e9),
	KEY("cold.extra_ms", KEY_DOUBLE, cold_extra_ms, 0, SIM_MS_MAX),
	KEY("stream.tokens_per_event", KEY_INT, wire.tokens_per_event, 1, 1e6),
	KEY("stream.crlf", KEY_BOOL, wire.crlf, 0, 0),
	KEY("stream.buffer_bytes", KEY_INT, wire.buffer_bytes, 0, 1e9),
	KEY("stream.role_first", KEY_BOOL, wire.role_first, 0, 0),
	KEY("stream.reasoning_tokens", KEY_INT, wire.reasoning_tokens, 0, 1e6),
	KEY("connection.nagle", KEY_BOOL, wire.nagle, 0, 0),
	KEY("connection.close", KEY_BOOL, wire.close, 0, 0),
	KEY("connection.max", KEY_INT, wire.connections_max, 0, 1e6),
	KEY("faults.cut_ratio", KEY_DOUBLE, cut.ratio, 0, 1),
	KEY("faults.cut_after_tokens", KEY_INT, cut.after_tokens, 0, 1e6),
	KEY("faults.error_event_ratio", KEY_DOUBLE, error_event.ratio, 0, 1),
	KEY("faults.error_event_after_tokens", KEY_INT, error_event.after_tokens, 0, 1e6),
	KEY("faults.empty_ratio", KEY_DOUBLE, empty.ratio, 0, 1),
	KEY("faults.status_ratio", KEY_DOUBLE, refuse.ratio, 0, 1),
	KEY("faults.status", KEY_INT, refuse_status, 400, 599),
#undef KEY
};

struct parse {
	struct sim_config *config;
	struct arena *run;
	bool given[ARRAY_LEN(keys)];
};

static bool read_bool(const struct key *k, const json_t *value, bool *ret, struct err *err)
{
	if (!json_is_boolean(value))
		return err_set(err, ERR_INPUT, _("'%s' must be true or false"), k->name);
	*ret = json_is_true(value);
	return true;
}

static bool read_number(const struct key *k, const json_t *value, double *ret, struct err *err)
{
	if (k->type == KEY_INT && !json_is_integer(value))
		return err_set(err, ERR_INPUT, _("'%s' must be a whole number"), k->name);
	if (!json_is_number(value))
		return err_set(err, ERR_INPUT, _("'%s' must be a number"), k->name);
	double number = json_number_value(value);
	if (!(number >= k->min && number <= k->max))
		return err_set(err, ERR_INPUT, _("'%s' must be between %.15g and %.15g"), k->name,
		        k->min, k->max);
	*ret = number;
	return true;
}

static bool read_string(const struct key *k, const json_t *value, struct arena *run,
        const char **ret, struct err *err)
{
	if (!json_is_string(value) || json_string_length(value) == 0)
		return err_set(err, ERR_INPUT, _("'%s' must be a text"), k->name);
	*ret = arena_strdup(run, json_string_value(value));
	return true;
}

/* A number stands for the constant. */
static bool read_dist(const struct key *k, const json_t *value, struct arena *run, struct dist *ret,
        struct err *err)
{
	const char *text = json_string_value(value);
	if (json_is_number(value))
		text = arena_printf(run, "%.15g", json_number_value(value));
	if (!text)
		return err_set(
		        err, ERR_INPUT, _("'%s' must be a number or a distribution"), k->name);
	if (!dist_parse(arena_strdup(run, text), k->min, run, ret, err)) {
		err->kind = ERR_INPUT;
		return err_wrap(err, "'%s'", k->name);
	}
	double mean = dist_mean(ret);
	if (!(mean <= k->max))
		return err_set(err, ERR_INPUT, _("the mean of '%s' must be at most %.15g"), k->name,
		        k->max);
	return true;
}

static bool read_continuous(const struct key *k, const json_t *value, bool *ret, struct err *err)
{
	const char *text = json_string_value(value);
	*ret = text && strcmp(text, "continuous") == 0;
	if (*ret || (text && strcmp(text, "none") == 0))
		return true;
	return err_set(err, ERR_INPUT, _("'%s' must be one of %s"), k->name, "none|continuous");
}

static bool read_key(struct parse *p, const struct key *k, const json_t *value, struct err *err)
{
	void *at = (char *)p->config + k->offset;
	double number;
	switch (k->type) {
	case KEY_BOOL:
		return read_bool(k, value, at, err);
	case KEY_INT:
		if (!read_number(k, value, &number, err))
			return false;
		*(int64_t *)at = json_integer_value(value);
		return true;
	case KEY_DOUBLE:
		return read_number(k, value, at, err);
	case KEY_STRING:
		return read_string(k, value, p->run, at, err);
	case KEY_DIST:
		return read_dist(k, value, p->run, at, err);
	case KEY_CONTINUOUS:
		return read_continuous(k, value, at, err);
	}
	return true;
}

static bool read_member(struct parse *p, const char *name, const json_t *value, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		p->given[i] = true;
		return read_key(p, &keys[i], value, err);
	}
	err_set(err, ERR_INPUT, _("unknown key '%s'"), name);
	return err_hint(err, _("the keys are described in %s"), "venturi-serve(1)");
}

static bool is_group(const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strncmp(keys[i].name, name, len) == 0 && keys[i].name[len] == '.')
			return true;
	return false;
}

/* One level of nesting is all that the keys have. */
static bool read_members(struct parse *p, json_t *object, struct err *err)
{
	const char *name, *inner;
	json_t *value, *member;
	json_object_foreach(object, name, value)
	{
		if (!is_group(name)) {
			if (!read_member(p, name, value, err))
				return false;
			continue;
		}
		if (!json_is_object(value))
			return err_set(err, ERR_INPUT, _("'%s' must be an object"), name);
		json_object_foreach(value, inner, member)
		{
			const char *dotted = arena_printf(p->run, "%s.%s", name, inner);
			if (!read_member(p, dotted, member, err))
				return false;
		}
	}
	return true;
}

static bool was_given(const struct parse *p, const char *prefix)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (p->given[i] && strncmp(keys[i].name, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static bool check_together(const struct parse *p, struct err *err)
{
	struct sim_config *c = p->config;
	c->has_service = was_given(p, "service_ms");
	c->has_steps = was_given(p, "prefill.") || was_given(p, "decode.");
	if (c->has_service == c->has_steps)
		return err_set(err, ERR_INPUT,
		        _("give either 'service_ms' or 'prefill' and 'decode', to say how long a "
		          "request takes"));
	if (c->continuous && !c->has_steps)
		return err_set(err, ERR_INPUT,
		        _("'batching' 'continuous' needs the step costs 'prefill' and 'decode'"));
	if (c->stall_every_s > 0 && c->stall_every_s < c->stall_for_s + SIM_BETWEEN_STALLS_S)
		return err_set(err, ERR_INPUT,
		        _("'stall.every_s' must exceed 'stall.for_s' by at least %g s, or nothing "
		          "would ever be served"),
		        SIM_BETWEEN_STALLS_S);
	double sum = c->cut.ratio + c->error_event.ratio + c->empty.ratio + c->refuse.ratio;
	if (sum > 1 + 1e-9)
		return err_set(err, ERR_INPUT,
		        _("the ratios of 'faults' exclude each other and add up to more than 1"));
	return true;
}

static bool parse_json(json_t *json, struct arena *run, struct sim_config *config, struct err *err)
{
	struct parse p = { .config = config, .run = run };
	*config = (struct sim_config){
		.name = "simulated",
		.slots = 1,
		.n_ctx = 32768,
		.n_dims = 8,
		.n_labels = 2,
		.refuse_status = 503,
		.wire = WIRE_DEFAULT,
	};
	if (!dist_parse("16", 1, run, &config->output_tokens, err))
		return false;
	if (!json_is_object(json))
		return err_set(err, ERR_INPUT, _("the file must hold one JSON object"));
	return read_members(&p, json, err) && check_together(&p, err);
}

bool sim_config_parse(struct str text, const char *path, struct arena *run,
        struct sim_config *ret_config, struct err *err)
{
	json_error_t why;
	json_t *json = json_loadb(text.s ? text.s : "", text.len, JSON_REJECT_DUPLICATES, &why);
	if (!json)
		return err_set(
		        err, ERR_INPUT, _("'%s', line %d: not JSON: %s"), path, why.line, why.text);
	struct sim_config config;
	bool ok = parse_json(json, run, &config, err);
	json_decref(json);
	if (!ok)
		return err_wrap(err, "'%s'", path);
	*ret_config = config;
	return true;
}

bool sim_config_load(
        const char *path, struct arena *run, struct sim_config *ret_config, struct err *err)
{
	struct str text;
	return str_read_file(path, SIM_FILE_MAX_BYTES, run, &text, err) &&
	       sim_config_parse(text, path, run, ret_config, err);
}
