#include "trace/kernel_base.h"

/* The byte behind the bracket that opens at i, or the end. */
static size_t behind_bracket(struct str name, size_t i)
{
	int depth = 0;
	for (; i < name.len; i++) {
		char c = name.s[i];
		if (c == '<' || c == '(' || c == '[')
			depth++;
		else if ((c == '>' || c == ')' || c == ']') && --depth == 0)
			return i + 1;
	}
	return name.len;
}

static bool is_scope(struct str name, size_t i)
{
	return i + 1 < name.len && name.s[i] == ':' && name.s[i + 1] == ':';
}

struct str kernel_base_name(struct str name)
{
	static const struct str amd_suffix = STR_INIT(".kd");
	struct str whole = name;
	if (str_ends(name, amd_suffix))
		name.len -= amd_suffix.len;
	size_t start = 0, i = 0;
	while (i < name.len) {
		char c = name.s[i];
		if (is_scope(name, i)) {
			start = i += 2;
		} else if (c == ' ') {
			start = ++i;
		} else if (c == '<' || c == '(' || c == '[') {
			size_t behind = behind_bracket(name, i);
			/* Of a namespace or a class; else the arguments of the kernel itself. */
			if (!is_scope(name, behind) && i > start)
				break;
			i = behind;
		} else {
			i++;
		}
	}
	struct str base = { name.s + start, i - start };
	return base.len ? base : whole;
}
