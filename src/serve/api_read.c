#include "serve/api_read.h"

#include "base/i18n.h"
#include "base/utf8.h"

#include <string.h>

bool api_bad(struct api_reader *reader, const char *fmt, const char *name)
{
	return api_error_set(reader->error, 400, NULL, fmt, name);
}

static bool not_json(struct api_reader *reader)
{
	return api_error_set(reader->error, 400, NULL, "%s", _("the body is not JSON"));
}

/* ---- the members of an object ---- */

static size_t find_member(const struct api_member *members, size_t n, struct str key)
{
	size_t i = 0;
	while (i < n && !str_eq(key, str_of(members[i].name)))
		i++;
	return i;
}

static bool read_member(
        struct api_reader *reader, const struct api_member *member, uint32_t bit, uint32_t *seen)
{
	if (*seen & bit)
		return api_bad(reader, _("'%s' comes twice"), member->name);
	if (json_scan_type(&reader->scan) == JSON_SCAN_NULL) {
		json_scan_skip(&reader->scan);
		return true;
	}
	*seen |= bit;
	return member->read(reader, member);
}

static bool check_required(
        struct api_reader *reader, const struct api_member *members, size_t n, uint32_t seen)
{
	for (size_t i = 0; i < n; i++)
		if (members[i].required && !(seen >> i & 1))
			return api_bad(reader, _("'%s' is missing"), members[i].name);
	return true;
}

static bool not_object(struct api_reader *reader, const char *name)
{
	if (json_scan_type(&reader->scan) == JSON_SCAN_NONE)
		return not_json(reader);
	if (name)
		return api_bad(reader, _("'%s' must be an object"), name);
	return api_error_set(reader->error, 400, NULL, "%s", _("the body must be a JSON object"));
}

bool api_read_members(struct api_reader *reader, const struct api_member *members, size_t n,
        void *target, const char *name)
{
	struct json_scan *s = &reader->scan;
	struct str key;
	uint32_t seen = 0;
	if (!json_scan_object(s))
		return not_object(reader, name);
	while (json_scan_key(s, &key)) {
		size_t i = find_member(members, n, key);
		reader->target = target;
		if (i == n)
			json_scan_skip(s);
		else if (!read_member(reader, &members[i], UINT32_C(1) << i, &seen))
			return s->failed ? not_json(reader) : false;
	}
	return s->failed ? not_json(reader) : check_required(reader, members, n, seen);
}

bool api_read_body(
        struct api_reader *reader, const struct api_member *members, size_t n, void *target)
{
	struct str json = reader->body;
	if (reader->form->json_bytes)
		json.len = reader->form->json_bytes;
	if (!utf8_valid(json.s ? json.s : "", json.len))
		return api_error_set(
		        reader->error, 400, NULL, "%s", _("the body is not JSON: it is not UTF-8"));
	reader->scan = json_scan_of(json);
	return api_read_members(reader, members, n, target, NULL) &&
	       (json_scan_ended(&reader->scan) || not_json(reader));
}

/* ---- values ---- */

static bool has_control(struct str raw)
{
	for (size_t i = 0; i < raw.len; i++)
		if ((unsigned char)raw.s[i] < ' ')
			return true;
	return false;
}

bool api_read_text(struct api_reader *reader, const char *name, struct str *ret_text)
{
	struct str raw;
	if (!json_scan_string(&reader->scan, &raw))
		return api_bad(reader, _("'%s' must be a string"), name);
	if (has_control(raw))
		return api_bad(reader, _("'%s' has a control character that is not escaped"), name);
	if (!raw.len || !memchr(raw.s, '\\', raw.len)) {
		*ret_text = raw;
		return true;
	}
	AUTO(auto_buf) struct buf text = { 0 };
	if (!json_unescape(raw, &text))
		return api_bad(reader, _("'%s' has an escape that is none of JSON's"), name);
	*ret_text = str_dup(buf_str(&text), reader->run);
	return true;
}

static void *place(const struct api_reader *reader, const struct api_member *member)
{
	return (char *)reader->target + member->offset;
}

bool api_member_bool(struct api_reader *reader, const struct api_member *member)
{
	return json_scan_bool(&reader->scan, place(reader, member)) ||
	       api_bad(reader, _("'%s' must be true or false"), member->name);
}

bool api_member_int(struct api_reader *reader, const struct api_member *member)
{
	int64_t value;
	if (!json_scan_int(&reader->scan, &value))
		return api_bad(reader, _("'%s' must be a whole number"), member->name);
	if (value < member->min || value > member->max)
		return api_error_set(reader->error, 400, NULL,
		        _("'%s' must be between %.15g and %.15g"), member->name,
		        (double)member->min, (double)member->max);
	*(int64_t *)place(reader, member) = value;
	return true;
}

bool api_member_name(struct api_reader *reader, const struct api_member *member)
{
	struct str text;
	if (!api_read_text(reader, member->name, &text))
		return false;
	if (text.len > API_NAME_BYTES_MAX || (text.len && memchr(text.s, '\0', text.len)))
		return api_error_set(reader->error, 400, NULL,
		        _("'%s' must have at most %d bytes and no NUL"), member->name,
		        API_NAME_BYTES_MAX);
	*(struct str *)place(reader, member) = text;
	return true;
}

bool api_member_model(struct api_reader *reader, const struct api_member *member)
{
	struct str text = { 0 };
	const struct api_member name = { .name = member->name };
	const char **model = place(reader, member);
	reader->target = &text;
	if (!api_member_name(reader, &name))
		return false;
	*model = str_c(text, reader->run);
	return true;
}

bool api_member_truncate(struct api_reader *reader, const struct api_member *member)
{
	bool truncate;
	if (!json_scan_bool(&reader->scan, &truncate))
		return api_bad(reader, _("'%s' must be true or false"), member->name);
	*(int64_t *)place(reader, member) = truncate ? API_TRUNCATE_TO_MODEL : 0;
	return true;
}

bool api_member_truncate_tokens(struct api_reader *reader, const struct api_member *member)
{
	int64_t value;
	if (!json_scan_int(&reader->scan, &value) || value < -1 || value == 0 ||
	        value > API_TOKENS_MAX)
		return api_bad(reader, _("'%s' must be -1 or a number of tokens"), member->name);
	*(int64_t *)place(reader, member) = value < 0 ? API_TRUNCATE_TO_MODEL : value;
	return true;
}

bool api_member_truncate_side(struct api_reader *reader, const struct api_member *member)
{
	struct str text;
	return (json_scan_string(&reader->scan, &text) && str_eq_nocase(text, STR("right"))) ||
	       api_bad(reader, _("'%s' must be 'Right': texts are cut at their end"), member->name);
}

bool api_member_refused(struct api_reader *reader, const struct api_member *member)
{
	struct str raw = json_scan_raw(&reader->scan);
	return str_eq(raw, STR("false")) || str_eq(raw, STR("\"\"")) ||
	       api_bad(reader, _("'%s' is not supported by this service"), member->name);
}

/* ---- inputs ---- */

size_t api_count(const struct api_reader *reader)
{
	struct json_scan s = reader->scan;
	size_t n = 0;
	if (!json_scan_array(&s))
		return 0;
	for (; json_scan_element(&s); n++)
		json_scan_skip(&s);
	return n;
}

bool api_check_count(struct api_reader *reader, const char *name, size_t n, size_t max)
{
	if (n > max)
		return api_error_set(reader->error, 413, NULL,
		        _("'%s' must have at most %zu entries on this service"), name, max);
	return n > 0 || reader->scan.failed || api_bad(reader, _("'%s' is empty"), name);
}

static bool read_ids(struct api_reader *reader, const char *name, struct api_input *ret_input)
{
	size_t n = api_count(reader);
	int32_t *ids = arena_new_n(reader->run, int32_t, n);
	if (n == 0)
		return api_bad(reader, _("'%s' is empty"), name);
	if (!json_scan_array(&reader->scan))
		return false;
	for (size_t i = 0; json_scan_element(&reader->scan); i++) {
		int64_t id;
		if (!json_scan_int(&reader->scan, &id) || id < 0 || id > INT32_MAX)
			return api_bad(reader,
			        _("the token ids of '%s' must be whole numbers from 0"), name);
		ids[i] = (int32_t)id;
	}
	*ret_input = (struct api_input){ .ids = ids, .n_ids = n };
	return !reader->scan.failed;
}

static bool read_one_input(struct api_reader *reader, const char *name, struct api_input *ret_input)
{
	switch (json_scan_type(&reader->scan)) {
	case JSON_SCAN_STRING:
		*ret_input = (struct api_input){ 0 };
		return api_read_text(reader, name, &ret_input->text);
	case JSON_SCAN_ARRAY:
		return read_ids(reader, name, ret_input);
	default:
		return api_bad(reader, _("'%s' must be a string or an array of token ids"), name);
	}
}

/* Is it a list of inputs rather than one? */
static bool is_list(const struct api_reader *reader)
{
	struct json_scan s = reader->scan;
	if (!json_scan_array(&s) || !json_scan_element(&s))
		return false;
	enum json_scan_type first = json_scan_type(&s);
	return first == JSON_SCAN_STRING || first == JSON_SCAN_ARRAY;
}

static bool read_list(struct api_reader *reader, const char *name, struct api_request *r)
{
	size_t n = api_count(reader);
	if (!api_check_count(reader, name, n, API_INPUTS_MAX) || !json_scan_array(&reader->scan))
		return false;
	struct api_input *inputs = arena_new_n(reader->run, struct api_input, n);
	for (size_t i = 0; json_scan_element(&reader->scan); i++)
		if (!read_one_input(reader, name, &inputs[i]))
			return false;
	r->inputs = inputs;
	r->n_inputs = n;
	return !reader->scan.failed;
}

bool api_member_inputs(struct api_reader *reader, const struct api_member *member)
{
	struct api_request *r = reader->request;
	if (is_list(reader))
		return read_list(reader, member->name, r);
	struct api_input *input = arena_new(reader->run, struct api_input);
	r->inputs = input;
	r->n_inputs = 1;
	r->single = true;
	return read_one_input(reader, member->name, input);
}
