#include "load/vocabulary.h"

#include "base/i18n.h"
#include "load/prompt_text.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum { LETTERS_MIN = 2, LETTERS_MAX = 16 };

int64_t vocabulary_count(const struct vocabulary *v, struct str text)
{
	int32_t *ids;
	size_t n;
	tokenizer_encode(v->tokenizer, text, 0, &ids, &n);
	free(ids);
	return (int64_t)n;
}

/* The word of a token that is lower-case letters, mostly behind a blank; empty for others. */
static struct str word_of(struct str piece)
{
	struct str word = piece;
	if (word.len > 0 && word.s[0] == ' ') {
		word.s++;
		word.len--;
	}
	if (word.len < LETTERS_MIN || word.len > LETTERS_MAX)
		return (struct str){ 0 };
	for (size_t i = 0; i < word.len; i++)
		if (word.s[i] < 'a' || word.s[i] > 'z')
			return (struct str){ 0 };
	return word;
}

/* Whether it is one token at the start of a text, which is *ret_id, and one after another word. */
static bool is_one_token(const struct vocabulary *v, struct str word, int32_t *ret_id)
{
	char twice[2 * LETTERS_MAX + 2];
	int32_t *ids;
	size_t n_ids;
	int n = snprintf(twice, sizeof(twice), "%.*s %.*s", STR_ARG(word), STR_ARG(word));
	tokenizer_encode(v->tokenizer, word, 0, &ids, &n_ids);
	bool one = n_ids == 1;
	if (one)
		*ret_id = ids[0];
	free(ids);
	return one && vocabulary_count(v, (struct str){ twice, (size_t)n }) == 2;
}

static void choose_words(struct vocabulary *v, struct arena *run)
{
	struct str *words = arena_new_n(run, struct str, PROMPT_TEXT_WORDS_MAX);
	int n = tokenizer_size(v->tokenizer);
	/* A vocabulary may have a word twice, with a blank before it and without. */
	AUTO(auto_free) bool *taken = mem_realloc(NULL, (size_t)n * sizeof(*taken));
	memset(taken, 0, (size_t)n * sizeof(*taken));
	for (int32_t id = 0; id < n && v->n < PROMPT_TEXT_WORDS_MAX; id++) {
		struct str word = word_of(tokenizer_piece(v->tokenizer, id));
		int32_t first = 0;
		if (!word.len || !is_one_token(v, word, &first) || taken[first])
			continue;
		taken[first] = true;
		words[v->n++] = str_dup(word, run);
	}
	v->words = words;
}

bool vocabulary_open(struct vocabulary *v, const char *path, struct arena *run, struct err *err)
{
	*v = (struct vocabulary){ 0 };
	if (!tokenizer_open_file(path, &v->tokenizer, err)) {
		v->tokenizer = NULL;
		return false;
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
