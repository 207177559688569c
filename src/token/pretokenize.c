#include "token/pretokenize.h"

#include <stdlib.h>

static void add_part(struct part_list *list, struct part part)
{
	if (list->n == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 64;
		list->v = mem_realloc(list->v, list->cap * sizeof(*list->v));
	}
	list->v[list->n++] = part;
}

void parts_release(struct parts *parts)
{
	buf_release(&parts->text);
	buf_release(&parts->other_text);
	free(parts->list.v);
	free(parts->other.v);
	free(parts->segments.v);
	*parts = (struct parts){ 0 };
}

/* The matches of one part and what is between them, in their order. */
static void find_segments(const struct pretokenize_step *step, struct str text,
        struct match_scan *scan, struct part_list *out)
{
	size_t done = 0, start, end;
	out->n = 0;
	match_begin(scan, step->pattern, text);
	while (match_next(scan, &start, &end)) {
		if (start > done)
			add_part(out, (struct part){ (uint32_t)done, (uint32_t)(start - done),
			                      false, step->invert });
		add_part(out, (struct part){ (uint32_t)start, (uint32_t)(end - start), false,
		                      !step->invert });
		done = end;
	}
	if (text.len > done)
		add_part(out, (struct part){ (uint32_t)done, (uint32_t)(text.len - done), false,
		                      step->invert });
}

/* Whether segment i belongs to the part of the one before. */
static bool joins(const struct part_list *segments, size_t i, enum split_behavior behavior)
{
	bool is = segments->v[i].is_match, was = segments->v[i - 1].is_match;
	switch (behavior) {
	case SPLIT_CONTIGUOUS:
		return is == was;
	case SPLIT_WITH_PREVIOUS:
		return is && !was;
	case SPLIT_WITH_NEXT:
		return was && !is;
	case SPLIT_ISOLATED:
	case SPLIT_REMOVED:
		return false;
	}
	return false;
}

static void split(const struct pretokenize_step *step, struct match_scan *scan, struct parts *parts)
{
	const struct part_list from = parts->list, *segments = &parts->segments;
	struct part_list *to = &parts->other;
	to->n = 0;
	for (size_t i = 0; i < from.n; i++) {
		const struct part p = from.v[i];
		find_segments(step, (struct str){ parts->text.s + p.start, p.len }, scan,
		        &parts->segments);
		for (size_t k = 0; k < segments->n; k++) {
			const struct part *s = &segments->v[k];
			struct part part = { p.start + s->start, s->len, p.first && s->start == 0,
				false };
			if (step->behavior == SPLIT_REMOVED && s->is_match)
				continue;
			if (k > 0 && joins(segments, k, step->behavior))
				to->v[to->n - 1].len += s->len;
			else
				add_part(to, part);
		}
	}
	size_t kept = 0;
	for (size_t i = 0; i < to->n; i++)
		if (to->v[i].len > 0)
			to->v[kept++] = to->v[i];
	to->n = kept;
	parts->list = *to;
	parts->other = from;
}

/* A part with something in front of it and its blanks replaced. */
static void rewrite_part(
        const struct pretokenize_step *step, struct str text, bool first, struct buf *out)
{
	bool space = step->kind == PRETOKENIZE_SPACE;
	struct str mark = space ? STR(" ") : step->content;
	bool marks = space || step->scheme == MARK_ALWAYS || (step->scheme == MARK_FIRST && first);
	if (marks && !str_starts(text, mark) && (space || text.s[0] != ' '))
		buf_add(out, mark);
	for (size_t i = 0; i < text.len; i++) {
		if (!space && text.s[i] == ' ')
			buf_add(out, mark);
		else
			buf_add_char(out, text.s[i]);
	}
}

static void rewrite(const struct pretokenize_step *step, struct parts *parts)
{
	struct buf from = parts->text, *to = &parts->other_text;
	buf_clear(to);
	for (size_t i = 0; i < parts->list.n; i++) {
		struct part *p = &parts->list.v[i];
		size_t start = to->len;
		rewrite_part(step, (struct str){ from.s + p->start, p->len }, p->first, to);
		p->start = (uint32_t)start;
		p->len = (uint32_t)(to->len - start);
	}
	parts->text = *to;
	parts->other_text = from;
}

void pretokenize(const struct pretokenizer *p, struct str text, bool at_start,
        struct match_scan *scan, struct parts *parts)
{
	buf_clear(&parts->text);
	buf_add(&parts->text, text);
	parts->list.n = 0;
	if (text.len > 0)
		add_part(&parts->list, (struct part){ 0, (uint32_t)text.len, at_start, false });
	for (size_t i = 0; i < p->n; i++) {
		if (p->steps[i].kind == PRETOKENIZE_SPLIT)
			split(&p->steps[i], scan, parts);
		else
			rewrite(&p->steps[i], parts);
	}
}
