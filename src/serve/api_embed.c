/*
 * Texts to embed or to classify: OpenAI's /v1/embeddings, TEI's /embed, vLLM's /classify and TEI's
 * /predict, whose inputs may be pairs.
 */
#include "serve/api_read.h"

#include "base/i18n.h"

static bool member_encoding(struct api_reader *reader, const struct api_member *member)
{
	struct str text = { 0 };
	bool known = json_scan_string(&reader->scan, &text);
	reader->request->base64 = str_eq(text, STR("base64"));
	return (known && (reader->request->base64 || str_eq(text, STR("float")))) ||
	       api_bad(reader, _("'%s' must be 'float' or 'base64'"), member->name);
}

static const struct api_member openai_members[] = {
	{ .name = "input", .read = api_member_inputs, .required = true },
	API_MEMBER("model", api_member_model, model),
	{ .name = "encoding_format", .read = member_encoding },
	API_MEMBER_INT("dimensions", dimensions, 1, API_DIMENSIONS_MAX),
	API_MEMBER("truncate_prompt_tokens", api_member_truncate_tokens, truncate_tokens),
	{ .name = "late_chunking", .read = api_member_refused },
	{ .name = "messages", .read = api_member_refused },
};

static const struct api_member tei_members[] = {
	{ .name = "inputs", .read = api_member_inputs, .required = true },
	API_MEMBER("normalize", api_member_bool, normalize),
	API_MEMBER("truncate", api_member_truncate, truncate_tokens),
	{ .name = "truncation_direction", .read = api_member_truncate_side },
	API_MEMBER_INT("dimensions", dimensions, 1, API_DIMENSIONS_MAX),
	{ .name = "prompt_name", .read = api_member_refused },
};

bool api_read_embeddings(struct api_reader *reader)
{
	if (reader->form->family == API_OPENAI)
		return api_read_body(
		        reader, openai_members, ARRAY_LEN(openai_members), reader->request);
	reader->request->normalize = true;
	return api_read_body(reader, tei_members, ARRAY_LEN(tei_members), reader->request);
}

/* ---- classes ---- */

/* One text or two, as a list. */
static bool read_pair(struct api_reader *reader, const char *name, struct api_input *input)
{
	size_t n = api_count(reader);
	if (n < 1 || n > 2 || !json_scan_array(&reader->scan))
		return api_bad(reader, _("each of '%s' must be a text or a pair of texts"), name);
	for (size_t i = 0; json_scan_element(&reader->scan); i++)
		if (!api_read_text(reader, name, i == 0 ? &input->text : &input->pair))
			return false;
	input->has_pair = n == 2;
	return !reader->scan.failed;
}

static bool is_list_of_lists(const struct api_reader *reader)
{
	struct json_scan s = reader->scan;
	return json_scan_array(&s) && json_scan_element(&s) &&
	       json_scan_type(&s) == JSON_SCAN_ARRAY;
}

static bool read_pairs(struct api_reader *reader, const char *name, struct api_request *r)
{
	size_t n = api_count(reader);
	if (!api_check_count(reader, name, n, API_INPUTS_MAX) || !json_scan_array(&reader->scan))
		return false;
	struct api_input *inputs = arena_new_n(reader->run, struct api_input, n);
	for (size_t i = 0; json_scan_element(&reader->scan); i++)
		if (!read_pair(reader, name, &inputs[i]))
			return false;
	r->inputs = inputs;
	r->n_inputs = n;
	return !reader->scan.failed;
}

/* A text; a list of one or two texts, which is one input too; a list of such lists. */
static bool member_predict_inputs(struct api_reader *reader, const struct api_member *member)
{
	struct api_request *r = reader->request;
	if (is_list_of_lists(reader))
		return read_pairs(reader, member->name, r);
	struct api_input *input = arena_new(reader->run, struct api_input);
	r->inputs = input;
	r->n_inputs = 1;
	r->single = true;
	return json_scan_type(&reader->scan) == JSON_SCAN_ARRAY
	               ? read_pair(reader, member->name, input)
	               : api_read_text(reader, member->name, &input->text);
}

static bool member_activation(struct api_reader *reader, const struct api_member *member)
{
	bool activation;
	if (!json_scan_bool(&reader->scan, &activation))
		return api_bad(reader, _("'%s' must be true or false"), member->name);
	reader->request->raw_scores = !activation;
	return true;
}

static const struct api_member classify_members[] = {
	{ .name = "input", .read = api_member_inputs, .required = true },
	API_MEMBER("model", api_member_model, model),
	API_MEMBER("truncate_prompt_tokens", api_member_truncate_tokens, truncate_tokens),
	{ .name = "activation", .read = member_activation },
	{ .name = "use_activation", .read = member_activation },
};

static const struct api_member predict_members[] = {
	{ .name = "inputs", .read = member_predict_inputs, .required = true },
	API_MEMBER("raw_scores", api_member_bool, raw_scores),
	API_MEMBER("truncate", api_member_truncate, truncate_tokens),
	{ .name = "truncation_direction", .read = api_member_truncate_side },
};

bool api_read_classify(struct api_reader *reader)
{
	return reader->form->family == API_OPENAI
	               ? api_read_body(reader, classify_members, ARRAY_LEN(classify_members),
	                         reader->request)
	               : api_read_body(reader, predict_members, ARRAY_LEN(predict_members),
	                         reader->request);
}
