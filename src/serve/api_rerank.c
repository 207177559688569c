/*
 * A query and documents: Cohere's, Jina's and vLLM's rerank, and TEI's, which calls its documents
 * texts.
 */
#include "serve/api_read.h"

#include "base/i18n.h"

static bool member_text(struct api_reader *reader, const struct api_member *member)
{
	return api_read_text(
	        reader, member->name, (struct str *)((char *)reader->target + member->offset));
}

/* A string, or an object whose text is one. */
static bool read_text_or_object(struct api_reader *reader, const char *name, struct str *ret_text)
{
	static const struct api_member text_members[] = {
		{ .name = "text", .read = member_text, .required = true },
	};
	if (json_scan_type(&reader->scan) == JSON_SCAN_OBJECT)
		return api_read_members(
		        reader, text_members, ARRAY_LEN(text_members), ret_text, name);
	return api_read_text(reader, name, ret_text);
}

static bool read_documents(struct api_reader *reader, const char *name)
{
	struct api_request *r = reader->request;
	if (r->n_inputs > 0)
		return api_error_set(reader->error, 400, NULL, "%s",
		        _("'documents' and 'texts' exclude each other"));
	size_t n = api_count(reader);
	if (json_scan_type(&reader->scan) != JSON_SCAN_ARRAY)
		return api_bad(reader, _("'%s' must be an array"), name);
	if (!api_check_count(reader, name, n, API_INPUTS_MAX) || !json_scan_array(&reader->scan))
		return false;
	struct api_input *inputs = arena_new_n(reader->run, struct api_input, n);
	for (size_t i = 0; json_scan_element(&reader->scan); i++) {
		if (!read_text_or_object(reader, name, &inputs[i].pair))
			return false;
		inputs[i].has_pair = true;
	}
	r->inputs = inputs;
	r->n_inputs = n;
	return !reader->scan.failed;
}

static bool member_documents(struct api_reader *reader, const struct api_member *member)
{
	return read_documents(reader, member->name);
}

static bool member_texts(struct api_reader *reader, const struct api_member *member)
{
	if (reader->form->either)
		reader->form->family = API_TEI;
	return read_documents(reader, member->name);
}

static bool member_query(struct api_reader *reader, const struct api_member *member)
{
	struct api_request *r = reader->request;
	return read_text_or_object(reader, member->name, &r->query);
}

/* Cohere's and vLLM's top_n; 0 is all. */
static const struct api_member members[] = {
	{ .name = "query", .read = member_query, .required = true },
	{ .name = "documents", .read = member_documents },
	{ .name = "texts", .read = member_texts },
	API_MEMBER("model", api_member_model, model),
	API_MEMBER_INT("top_n", top_n, 0, API_INPUTS_MAX),
	API_MEMBER("return_documents", api_member_bool, return_texts),
	API_MEMBER("return_text", api_member_bool, return_texts),
	API_MEMBER("raw_scores", api_member_bool, raw_scores),
	API_MEMBER("truncate", api_member_truncate, truncate_tokens),
	{ .name = "truncation_direction", .read = api_member_truncate_side },
	API_MEMBER("truncate_prompt_tokens", api_member_truncate_tokens, truncate_tokens),
	{ .name = "max_tokens_per_doc", .read = api_member_refused },
	{ .name = "max_chunks_per_doc", .read = api_member_refused },
	{ .name = "rank_fields", .read = api_member_refused },
};

/* The query beside each document, unless that makes more text than a body should be able to. */
static bool pair_up(struct api_reader *reader)
{
	struct api_request *r = reader->request;
	struct api_input *inputs = arena_new_n(reader->run, struct api_input, r->n_inputs);
	size_t bytes = r->n_inputs * r->query.len;
	for (size_t i = 0; i < r->n_inputs; i++) {
		inputs[i] = r->inputs[i];
		inputs[i].text = r->query;
		bytes += inputs[i].pair.len;
	}
	r->inputs = inputs;
	return bytes <= API_PAIRS_BYTES_MAX ||
	       api_error_set(reader->error, 413, NULL,
	               _("the query beside every document makes more than %d MiB of text"),
	               API_PAIRS_BYTES_MAX / (1024 * 1024));
}

bool api_read_rerank(struct api_reader *reader)
{
	struct api_request *r = reader->request;
	if (!api_read_body(reader, members, ARRAY_LEN(members), reader->request))
		return false;
	if (r->n_inputs == 0)
		return api_bad(reader, _("'%s' is missing"),
		        reader->form->family == API_TEI ? "texts" : "documents");
	return pair_up(reader);
}

void api_rerank_by_cosine(struct api_request *r, struct arena *run)
{
	struct api_input *inputs = arena_new_n(run, struct api_input, r->n_inputs + 1);
	inputs[0].text = r->query;
	for (size_t i = 0; i < r->n_inputs; i++)
		inputs[i + 1].text = r->inputs[i].pair;
	r->inputs = inputs;
	r->n_inputs++;
	r->cosine = true;
}
