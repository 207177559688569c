#include "token/json_part.h"

#include "base/i18n.h"

static bool add_id(const struct tokenizer *t, struct frame *frame, const json_t *id, int32_t type,
        struct err *err)
{
	json_int_t n = json_integer_value(id);
	return (json_is_integer(id) && n >= 0 && n < t->n && frame_add(frame, (int32_t)n, type)) ||
	       err_set(err, ERR_INPUT,
	               _("the post-processor adds a token that is none, or too many"));
}

static int32_t type_of(const json_t *piece)
{
	const json_t *type = json_object_get(piece, "type_id");
	json_int_t n = json_integer_value(type);
	return n > 0 && n <= INT8_MAX ? (int32_t)n : 0;
}

static bool add_special(const struct tokenizer *t, const json_t *tokens, const json_t *special,
        struct frame *frame, struct err *err)
{
	struct str name = json_part_text(special, "id");
	size_t i;
	json_t *id;
	json_array_foreach(
	        json_object_get(json_object_getn(tokens, name.s, name.len), "ids"), i, id)
	{
		if (!add_id(t, frame, id, type_of(special), err))
			return false;
	}
	return true;
}

/* "single" or "pair": tokens, and places of the texts A and B in this order. */
static bool read_list(const struct tokenizer *t, const json_t *tokens, const json_t *list,
        struct framing *f, struct err *err)
{
	struct frame *frame = &f->before;
	size_t i;
	json_t *piece;
	json_array_foreach(list, i, piece)
	{
		const json_t *special = json_object_get(piece, "SpecialToken");
		const json_t *text = json_object_get(piece, "Sequence");
		if (json_string_length(json_object_get(special, "id")) > 0) {
			if (!add_special(t, tokens, special, frame, err))
				return false;
		} else if (str_eq(json_part_text(text, "id"), STR("B"))) {
			if (frame == &f->before)
				return err_set(err, ERR_INPUT,
				        _("the second text before the first in the "
				          "post-processor is not supported"));
			f->between = f->after;
			f->after = (struct frame){ 0 };
			f->type_b = type_of(text);
		} else {
			frame = &f->after;
			f->type_a = type_of(text);
		}
	}
	return true;
}

static bool read_template(struct tokenizer *t, const json_t *part, struct err *err)
{
	const json_t *tokens = json_object_get(part, "special_tokens");
	const json_t *pair = json_object_get(part, "pair");
	return read_list(t, tokens, json_object_get(part, "single"), &t->one, err) &&
	       (!pair || read_list(t, tokens, pair, &t->two, err));
}

/* "cls" and "sep", each as ["<s>", 0]. */
static bool read_bert(struct tokenizer *t, const json_t *part, struct err *err)
{
	struct frame ends = { 0 };
	if (!add_id(t, &ends, json_array_get(json_object_get(part, "cls"), 1), 0, err) ||
	        !add_id(t, &ends, json_array_get(json_object_get(part, "sep"), 1), 0, err))
		return false;
	framing_bert(t, ends.ids[0], ends.ids[1]);
	return true;
}

/* The same but "</s></s>" between two texts, and no types. */
static bool read_roberta(struct tokenizer *t, const json_t *part, struct err *err)
{
	if (!read_bert(t, part, err))
		return false;
	frame_add(&t->two.between, t->two.between.ids[0], 0);
	t->two.after.types[0] = t->two.type_b = 0;
	return true;
}

static bool read_nothing(struct tokenizer *t, const json_t *part, struct err *err)
{
	(void)t, (void)part, (void)err;
	return true;
}

static const struct json_part_row rows[] = {
	{ "TemplateProcessing", read_template },
	{ "BertProcessing", read_bert },
	{ "RobertaProcessing", read_roberta },
	{ "ByteLevel", read_nothing },
};

bool json_framing_read(struct tokenizer *t, const json_t *part, struct err *err)
{
	static const struct json_part_kind kind = {
		.list = "processors",
		.unsupported = N_("the post-processor '%s' is not supported"),
		.rows = rows,
		.n_rows = ARRAY_LEN(rows),
	};
	t->two.type_b = 1;
	return json_part_read(t, &kind, part, 0, NULL, err);
}
