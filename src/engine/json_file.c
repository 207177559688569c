#include "engine/json_file.h"

#include "base/arena.h"
#include "base/i18n.h"
#include "base/str.h"

bool json_file_load(const char *path, size_t max_bytes, json_t **ret, struct err *err)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	struct str text;
	json_error_t e;
	if (!str_read_file(path, max_bytes, &tmp, &text, err))
		return false;
	json_t *all = json_loadb(text.s, text.len, JSON_REJECT_DUPLICATES, &e);
	if (!all)
		return err_set(
		        err, ERR_INPUT, _("'%s' is no JSON: line %d: %s"), path, e.line, e.text);
	*ret = all;
	return true;
}

/* NULL where there is none. */
static const json_t *field(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_null(value) ? NULL : value;
}

bool json_file_int(const json_t *object, const char *key, bool optional, int64_t min, int64_t max,
        int *ret, struct err *err)
{
	const json_t *value = field(object, key);
	if (!value && optional)
		return true;
	if (!value)
		return err_set(err, ERR_INPUT, _("key '%s' is missing"), key);
	if (!json_is_integer(value))
		return err_set(err, ERR_INPUT, _("key '%s' is not a whole number"), key);
	int64_t n = json_integer_value(value);
	if (n < min || n > max)
		return err_set(err, ERR_INPUT,
		        _("key '%s' is %lld, which is not within %lld to %lld"), key, (long long)n,
		        (long long)min, (long long)max);
	*ret = (int)n;
	return true;
}

bool json_file_ratio(const json_t *object, const char *key, double *ret, struct err *err)
{
	const json_t *value = field(object, key);
	if (!value)
		return true;
	double x = json_number_value(value);
	if (!json_is_number(value) || !(x > 0 && x < 1))
		return err_set(err, ERR_INPUT, _("key '%s' is not a number between 0 and 1"), key);
	*ret = x;
	return true;
}

bool json_file_bool(const json_t *object, const char *key, bool *ret, struct err *err)
{
	const json_t *value = field(object, key);
	if (!value)
		return true;
	if (!json_is_boolean(value))
		return err_set(err, ERR_INPUT, _("key '%s' is neither true nor false"), key);
	*ret = json_is_true(value);
	return true;
}

bool json_file_text(const json_t *object, const char *key, const char **ret, struct err *err)
{
	const json_t *value = field(object, key);
	if (value && !json_is_string(value))
		return err_set(err, ERR_INPUT, _("key '%s' is not a text"), key);
	*ret = json_string_value(value);
	return true;
}
