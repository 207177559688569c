#include "load/endpoints/rerank.h"

/* The next n words of text, fewer when it ends; 0 takes all. Blanks between words are single. */
static struct str take_words(struct str *text, size_t n)
{
	struct str whole = *text, rest = *text;
	while (n && rest.len) {
		str_cut(rest, ' ', &rest);
		n--;
	}
	*text = rest;
	return n || !rest.len ? whole : (struct str){ whole.s, (size_t)(rest.s - 1 - whole.s) };
}

static size_t count_words(struct str text)
{
	size_t n = 0;
	for (; text.len; n++)
		str_cut(text, ' ', &text);
	return n;
}

static void cut_text(struct json *j, struct str text, const char *documents_name)
{
	size_t n = count_words(text);
	size_t each = n > RERANK_DOCUMENTS ? n / (RERANK_DOCUMENTS + 1) : 1;
	struct str rest = text;
	json_key(j, "query");
	json_str(j, take_words(&rest, each));
	json_key(j, documents_name);
	json_array_open(j);
	if (!rest.len)
		json_str(j, text);
	for (size_t i = 1; rest.len && i < RERANK_DOCUMENTS; i++)
		json_str(j, take_words(&rest, each));
	if (rest.len)
		json_str(j, rest);
	json_array_close(j);
}

void rerank_write(struct json *j, const struct prompt *p, const char *documents_name)
{
	if (!p->documents.len) {
		cut_text(j, p->text, documents_name);
		return;
	}
	json_key(j, "query");
	json_str(j, p->query);
	json_key(j, documents_name);
	json_raw(j, p->documents);
}
