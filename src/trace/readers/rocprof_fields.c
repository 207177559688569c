#include "trace/readers/rocprof_fields.h"

static const struct rocprof_field *field_of(
        const struct rocprof_field *fields, size_t n, struct str key)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(fields[i].key, key))
			return &fields[i];
	return NULL;
}

/* {"handle": 7}, {"internal": 7, "external": 0}; early releases wrote the number alone. */
static void read_handle(struct loose_json *j, struct str *ret)
{
	struct str key;
	if (!loose_json_enter(j, '{')) {
		*ret = loose_json_value(j);
		return;
	}
	while (loose_json_key(j, &key)) {
		struct str value = loose_json_value(j);
		if (str_eq(key, STR("handle")) || str_eq(key, STR("internal")))
			*ret = value;
	}
}

static void read_xyz(struct loose_json *j, struct str ret[3])
{
	struct str key;
	if (!loose_json_enter(j, '{')) {
		loose_json_value(j);
		return;
	}
	while (loose_json_key(j, &key)) {
		struct str value = loose_json_value(j);
		if (key.len == 1 && key.s[0] >= 'x' && key.s[0] <= 'z')
			ret[key.s[0] - 'x'] = value;
	}
}

void rocprof_read_object(
        struct loose_json *j, const struct rocprof_field *fields, size_t n, void *ret)
{
	struct str key;
	size_t depth = 1;
	if (!loose_json_enter(j, '{')) {
		loose_json_value(j);
		j->broken++;
		return;
	}
	while (depth) {
		if (!loose_json_key(j, &key)) {
			depth--;
			continue;
		}
		const struct rocprof_field *f = field_of(fields, n, key);
		struct str *to = f ? (struct str *)((char *)ret + f->offset) : NULL;
		if (!f)
			loose_json_value(j);
		else if (f->shape == SHAPE_HANDLE)
			read_handle(j, to);
		else if (f->shape == SHAPE_XYZ)
			read_xyz(j, to);
		else if (f->shape == SHAPE_GROUP && loose_json_enter(j, '{'))
			depth++;
		else
			*to = loose_json_value(j);
	}
}
