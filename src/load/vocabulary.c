#include "load/vocabulary.h"

#include "base/i18n.h"
#include "load/prompt_text.h"
#include "token/gguf.h"
#include "token/tokenizer.h"

#include <stdlib.h>

enum { LETTERS_MIN = 2, LETTERS_MAX = 16 };

int64_t vocabulary_count(const struct vocabulary *v, struct str text)
{
	int32_t *ids;
	size_t n;
	tokenizer_encode(v->tokenizer, text, false, &ids, &n);
	free(ids);
	return (int64_t)n;
}

/* The word of a token that is a blank and then lower-case letters; empty for others. */
static struct str word_of(struct str piece)
{
	struct str word = { piece.s + 1, piece.len - 1 };
	if (piece.len < 1 + LETTERS_MIN || piece.len > 1 + LETTERS_MAX || piece.s[0] != ' ')
		return (struct str){ 0 };
	for (size_t i = 0; i < word.len; i++)
		if (word.s[i] < 'a' || word.s[i] > 'z')
			return (struct str){ 0 };
	return word;
}

/* One token at the start of a text and after another word. */
static bool is_one_token(const struct vocabulary *v, struct str word)
{
	char twice[2 * LETTERS_MAX + 2];
	int n = snprintf(twice, sizeof(twice), "%.*s %.*s", STR_ARG(word), STR_ARG(word));
	return vocabulary_count(v, word) == 1 &&
	       vocabulary_count(v, (struct str){ twice, (size_t)n }) == 2;
}

static void choose_words(struct vocabulary *v, struct arena *run)
{
	struct str *words = arena_new_n(run, struct str, PROMPT_TEXT_WORDS_MAX);
	int n = tokenizer_size(v->tokenizer);
	for (int32_t id = 0; id < n && v->n < PROMPT_TEXT_WORDS_MAX; id++) {
		struct str word = word_of(tokenizer_piece(v->tokenizer, id));
		if (word.len && is_one_token(v, word))
			words[v->n++] = str_dup(word, run);
	}
	v->words = words;
}

bool vocabulary_open(struct vocabulary *v, const char *path, struct arena *run, struct err *err)
{
	struct gguf *file;
	*v = (struct vocabulary){ 0 };
	if (!gguf_open(path, &file, err))
		return false;
	bool ok = tokenizer_open(file, &v->tokenizer, err);
	gguf_close(file);
	if (!ok) {
		v->tokenizer = NULL;
		return err_wrap(err, "'%s'", path);
	}
	choose_words(v, run);
	if (v->n >= VOCABULARY_WORDS_MIN)
		return true;
	vocabulary_close(v);
	return err_set(err, ERR_INPUT,
	        _("'%s': too few tokens of its vocabulary are words to write prompts with"), path);
}

void vocabulary_close(struct vocabulary *v)
{
	tokenizer_close(v->tokenizer);
	v->tokenizer = NULL;
}
