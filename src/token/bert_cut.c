#include "token/bert_cut.h"

#include "base/utf8.h"
#include "token/internal.h"

#include <pthread.h>
#include <string.h>
#include <utf8proc.h>

enum { TABLE_CHARS = 0x20000, KIND_BITS = 3, DECOMPOSED_MAX = 32 };

enum kind {
	KIND_WORD,
	KIND_SPACE,
	KIND_ALONE, /* a word by itself */
	KIND_DROP,
	KIND_COMPLEX,
};

/* The steps there may be, as bits. */
enum { CLEAN = 1, CHINESE = 2, STRIP = 4, LOWER = 8, N_COMBINATIONS = 16 };

static uint32_t entry(enum kind kind, uint32_t c)
{
	return c << KIND_BITS | kind;
}

/* What a character is once it has become c. */
static uint32_t entry_of(uint32_t c, bool apart)
{
	if (char_is_space(c))
		return entry(KIND_SPACE, c);
	return entry(apart || char_is_punctuation(c) ? KIND_ALONE : KIND_WORD, c);
}

/*
 * Takes a character apart and drops its accents; *ret_c is what is left.
 *
 * returns  KIND_WORD, KIND_DROP for nothing, KIND_COMPLEX for more than one or a place that depends
 *          on its neighbours
 */
static enum kind strip(uint32_t c, uint32_t *ret_c)
{
	utf8proc_int32_t parts[DECOMPOSED_MAX];
	int class = 0;
	enum kind kind = KIND_DROP;
	utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, DECOMPOSED_MAX,
	        UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &class);
	if (n < 0 || n > DECOMPOSED_MAX)
		return KIND_COMPLEX;
	for (utf8proc_ssize_t i = 0; i < n; i++) {
		if (char_is_nonspacing((uint32_t)parts[i]))
			continue;
		if (kind == KIND_WORD || utf8proc_get_property(parts[i])->combining_class != 0)
			return KIND_COMPLEX;
		kind = KIND_WORD;
		*ret_c = (uint32_t)parts[i];
	}
	return kind;
}

static uint32_t make_entry(uint32_t c, unsigned steps)
{
	bool apart = steps & CHINESE && char_is_chinese(c);
	if (steps & CLEAN && (c == 0 || c == 0xFFFD || char_is_control(c)))
		return entry(KIND_DROP, c);
	if (steps & CLEAN && char_is_space(c))
		return entry(KIND_SPACE, ' ');
	if (steps & STRIP) {
		enum kind kind = strip(c, &c);
		if (kind != KIND_WORD)
			return entry(kind, c);
	}
	if (steps & LOWER) {
		if (c == 0x130) /* becomes two */
			return entry(KIND_COMPLEX, c);
		c = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
	}
	return entry_of(c, apart);
}

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static uint32_t *tables[N_COMBINATIONS];

static bert_table table_of(unsigned steps)
{
	pthread_mutex_lock(&making);
	if (!tables[steps]) {
		uint32_t *table = mem_realloc(NULL, TABLE_CHARS * sizeof(*table));
		for (uint32_t c = 0; c < TABLE_CHARS; c++)
			table[c] = make_entry(c, steps);
		tables[steps] = table;
	}
	pthread_mutex_unlock(&making);
	return tables[steps];
}

/* Whether the steps are those of BERT, in its order; each but the two of STRIP may be missing. */
static bool steps_of(const struct normalizer *n, unsigned *ret_steps)
{
	size_t at = 0;
	*ret_steps = 0;
	if (at < n->n && n->steps[at].kind == NORMALIZE_CLEAN)
		*ret_steps |= CLEAN, at++;
	if (at < n->n && n->steps[at].kind == NORMALIZE_CHINESE)
		*ret_steps |= CHINESE, at++;
	if (at + 1 < n->n && n->steps[at].kind == NORMALIZE_FORM && n->steps[at].form == CHAR_NFD &&
	        n->steps[at + 1].kind == NORMALIZE_DROP &&
	        n->steps[at + 1].drop == char_is_nonspacing)
		*ret_steps |= STRIP, at += 2;
	if (at < n->n && n->steps[at].kind == NORMALIZE_LOWER)
		*ret_steps |= LOWER, at++;
	return at == n->n;
}

static bool cuts_at(const struct pretokenize_step *s, char_kind *kind, enum split_behavior behavior)
{
	return s->kind == PRETOKENIZE_SPLIT && s->pattern->kind == kind && !s->invert &&
	       s->behavior == behavior;
}

bert_table bert_cut_table(const struct normalizer *n, const struct pretokenizer *p)
{
	unsigned steps;
	if (!steps_of(n, &steps) || p->n != 2 ||
	        !cuts_at(&p->steps[0], char_is_space, SPLIT_REMOVED) ||
	        !cuts_at(&p->steps[1], char_is_punctuation, SPLIT_ISOLATED))
		return NULL;
	return table_of(steps);
}

/* ---- the walk ---- */

struct walk {
	const struct tokenizer *t;
	bert_table table;
	struct encoding *e;
	struct str text;
	size_t at;
	size_t border; /* where the word began that is being put together */
};

static void end_word(struct walk *w)
{
	struct buf *word = &w->e->word;
	if (word->len > 0)
		w->t->encode(w->t, buf_str(word), w->e);
	word->len = 0;
}

static void add_char(struct buf *word, uint32_t c)
{
	if (c < 0x80 && word->len + 1 < word->cap)
		word->s[word->len++] = (char)c;
	else
		utf8_encode(word, c);
}

/* Bytes of the next character and what it is; those beyond the table are asked one by one. */
static size_t look(const struct walk *w, uint32_t *ret_entry)
{
	uint32_t c = (unsigned char)w->text.s[w->at];
	size_t step = 1;
	if (c >= 0x80)
		step = utf8_decode((struct str){ w->text.s + w->at, w->text.len - w->at }, &c);
	if (step == 0) {
		*ret_entry = entry(KIND_COMPLEX, 0);
		return 1;
	}
	/* None of those has a form in lower case, a decomposition or an accent but few. */
	*ret_entry = c < TABLE_CHARS ? w->table[c] : entry(KIND_COMPLEX, c);
	return step;
}

/* From the last border to the next space by the steps one after the other. */
static void walk_complex(struct walk *w)
{
	uint32_t found = 0;
	w->e->word.len = 0;
	while (w->at < w->text.len) {
		size_t step = look(w, &found);
		if ((found & ((1u << KIND_BITS) - 1)) == KIND_SPACE)
			break;
		w->at += step;
	}
	struct str stretch = { w->text.s + w->border, w->at - w->border };
	tokenizer_encode_steps(w->t, stretch, w->border == 0, w->e);
	w->border = w->at;
}

void bert_cut(const struct tokenizer *t, bert_table table, struct str text, struct encoding *e)
{
	struct walk w = { .t = t, .table = table, .e = e, .text = text };
	struct buf *word = &e->word;
	word->len = 0;
	while (w.at < text.len && !encoding_is_full(e)) {
		uint32_t found;
		size_t step = look(&w, &found);
		uint32_t c = found >> KIND_BITS;
		switch ((enum kind)(found & ((1u << KIND_BITS) - 1))) {
		case KIND_WORD:
			add_char(word, c);
			w.at += step;
			break;
		case KIND_ALONE:
			end_word(&w);
			add_char(word, c);
			end_word(&w);
			w.border = w.at += step;
			break;
		case KIND_SPACE:
			end_word(&w);
			w.border = w.at += step;
			break;
		case KIND_DROP:
			w.at += step;
			break;
		case KIND_COMPLEX:
			walk_complex(&w);
			break;
		}
	}
	if (!encoding_is_full(e))
		end_word(&w);
}
