#include "token/added.h"

#include "base/utf8.h"
#include "token/chars.h"

void added_init(struct added *a, const struct added_token *tokens, int n, struct arena *run)
{
	bool there[ADDED_BYTES_MAX + 1] = { false };
	*a = (struct added){ .tokens = tokens };
	a->keys = arena_new_n(run, struct piece, (size_t)n);
	vocab_init(&a->vocab, a->keys, n, run);
	for (int32_t i = 0; i < n; i++) {
		a->keys[i].key = tokens[i].text;
		vocab_add(&a->vocab, i);
		a->begins[(unsigned char)tokens[i].text.s[0]] = true;
		there[tokens[i].text.len] = true;
		a->any_plain = a->any_plain || !tokens[i].special;
	}
	for (size_t length = ADDED_BYTES_MAX; length > 0; length--)
		if (there[length])
			a->lengths[a->n_lengths++] = (uint16_t)length;
}

/* The longest token at the start of text, or NULL. */
static const struct added_token *token_at(const struct added *a, struct str text)
{
	for (size_t i = 0; i < a->n_lengths; i++) {
		size_t n = a->lengths[i];
		if (n > text.len)
			continue;
		int32_t found = vocab_find(&a->vocab, (struct str){ text.s, n });
		if (found != NO_ID)
			return &a->tokens[found];
	}
	return NULL;
}

/* The start of the character that ends before a place. */
static size_t char_before(struct str text, size_t at)
{
	size_t start = at - 1;
	while (start > 0 && at - start < UTF8_CHAR_MAX && (text.s[start] & 0xC0) == 0x80)
		start--;
	return start;
}

static bool is_at(struct str text, size_t at, size_t end, char_kind *kind)
{
	uint32_t c;
	size_t step = utf8_decode((struct str){ text.s + at, end - at }, &c);
	return step > 0 && kind(c);
}

static bool is_inside_word(struct str text, size_t start, size_t end)
{
	return (start > 0 && is_at(text, char_before(text, start), start, char_is_word)) ||
	       (end < text.len && is_at(text, end, text.len, char_is_word));
}

static void take_blanks(
        const struct added_token *token, struct str text, size_t from, size_t *start, size_t *end)
{
	while (token->left_blanks && *start > from) {
		size_t before = char_before(text, *start);
		if (!is_at(text, before, *start, char_is_space))
			break;
		*start = before;
	}
	while (token->right_blanks && *end < text.len &&
	        is_at(text, *end, text.len, char_is_space)) {
		uint32_t c;
		*end += utf8_decode((struct str){ text.s + *end, text.len - *end }, &c);
	}
}

bool added_next(const struct added *a, struct str text, size_t from, bool special,
        const struct added_token **ret, size_t *ret_start, size_t *ret_end)
{
	if (a->n_lengths == 0 || (!special && !a->any_plain))
		return false;
	for (size_t at = from; at < text.len; at++) {
		if (!a->begins[(unsigned char)text.s[at]])
			continue;
		const struct added_token *token =
		        token_at(a, (struct str){ text.s + at, text.len - at });
		if (!token)
			continue;
		size_t end = at + token->text.len;
		bool counts = (special || !token->special) &&
		              !(token->single_word && is_inside_word(text, at, end));
		if (!counts) {
			/* It is text, all of it. */
			at = end - 1;
			continue;
		}
		*ret = token;
		*ret_start = at;
		*ret_end = end;
		take_blanks(token, text, from, ret_start, ret_end);
		return true;
	}
	return false;
}
