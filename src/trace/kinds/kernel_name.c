#include "trace/kinds/kernel_name.h"

#include <string.h>

static const struct str anonymous = STR_INIT("(anonymous namespace)");

struct scan {
	struct str name;
	size_t start, end; /* of the component under way; end 0: it goes on */
	int depth;         /* of brackets */
	int parens;        /* of parentheses inside them */
};

static void end_component(struct scan *s, size_t at)
{
	if (s->end == 0)
		s->end = at;
}

static void begin_component(struct scan *s, size_t at)
{
	s->start = at;
	s->end = 0;
}

/* One character outside all brackets; returns how many it stood for, 0 at the parameters. */
static size_t outside(struct scan *s, size_t i)
{
	struct str rest = { s->name.s + i, s->name.len - i };
	if (str_starts(rest, anonymous))
		return anonymous.len;
	if (str_starts(rest, STR("::"))) {
		begin_component(s, i + 2);
		return 2;
	}
	switch (rest.s[0]) {
	case '(':
		end_component(s, i);
		return 0;
	case '<':
	case '{':
	case '[':
		end_component(s, i);
		s->depth = 1;
		return 1;
	case ' ': /* what came before was a type */
		begin_component(s, i + 1);
		return 1;
	default:
		return 1;
	}
}

/* Inside parentheses, "<" and ">" are operators: "enable_if<(8 > 0)>". */
static void inside(struct scan *s, size_t i)
{
	char c = s->name.s[i];
	bool is_arrow = c == '>' && s->name.s[i - 1] == '-';
	if (c == '(')
		s->parens++;
	else if (c == ')' && s->parens > 0)
		s->parens--;
	else if (s->parens > 0)
		return;
	else if (memchr("<{[", c, 3))
		s->depth++;
	else if (memchr(">}]", c, 3) && !is_arrow)
		s->depth--;
}

struct str kernel_base_name(struct str name)
{
	/* What the code objects of AMD call a kernel's descriptor. */
	static const struct str descriptor = STR_INIT(".kd");
	const struct str whole = name;
	if (str_ends(name, descriptor))
		name.len -= descriptor.len;
	struct scan s = { .name = name };
	for (size_t i = 0; i < name.len;) {
		size_t step = 1;
		if (s.depth == 0)
			step = outside(&s, i);
		else
			inside(&s, i);
		if (step == 0)
			break;
		i += step;
	}
	size_t end = s.end ? s.end : name.len;
	return end > s.start ? (struct str){ name.s + s.start, end - s.start } : whole;
}
