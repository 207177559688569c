#include "serve/stream.h"

#include "serve/answer.h"

void stream_init(
        struct stream *s, const struct job *job, const struct wire *wire, const char *model)
{
	*s = (struct stream){ .job = job, .wire = wire, .model = model, .stage = STREAM_TOKENS };
	if (job->endpoint == API_CHAT && wire->role_first)
		s->stage = STREAM_ROLE;
}

static void frame_begin(struct buf *out)
{
	buf_add(out, STR("data: "));
}

static void frame_end(const struct stream *s, struct buf *out)
{
	buf_add(out, s->wire->crlf ? STR("\r\n\r\n") : STR("\n\n"));
}

static void add_chunk(struct stream *s, enum answer_delta delta, struct str text, struct buf *out)
{
	struct answer_chunk chunk = { .delta = delta, .text = text };
	chunk.with_role = s->job->endpoint == API_CHAT && !s->said_role;
	s->said_role = true;
	frame_begin(out);
	answer_chunk(out, s->job, s->model, &chunk);
	frame_end(s, out);
}

static void add_error(struct stream *s, struct buf *out)
{
	struct api_error error;
	api_error_set(&error, 500, NULL, "%s", s->job->failure);
	frame_begin(out);
	answer_error(out, &error, API_OPENAI);
	frame_end(s, out);
}

/* How many tokens the next event gathers; 0: it has to wait. */
static size_t gather(const struct stream *s)
{
	const struct job *job = s->job;
	size_t want = (size_t)s->wire->tokens_per_event;
	size_t have = job->n_tokens - s->i_token;
	if (have < want && job->state != JOB_ENDED)
		return 0;
	return have < want ? have : want;
}

static enum stream_next next_tokens(struct stream *s, struct buf *out)
{
	const struct job *job = s->job;
	size_t n;
	while ((n = gather(s)) > 0) {
		bool reasoning =
		        job->endpoint == API_CHAT && s->i_token < (size_t)s->wire->reasoning_tokens;
		s->i_token += n;
		size_t end = job->text_end[s->i_token - 1];
		if (job->state == JOB_ENDED && s->i_token == job->n_tokens)
			end = job->text.len; /* nothing is held back any more */
		struct str text = { job->text.s + s->i_text, end - s->i_text };
		s->i_text = end;
		if (text.len == 0)
			continue;
		add_chunk(s, reasoning ? ANSWER_REASONING : ANSWER_TEXT, text, out);
		return STREAM_EVENT;
	}
	if (job->state != JOB_ENDED)
		return STREAM_WAIT;
	s->stage = STREAM_FINISH;
	struct str rest = { job->text.s + s->i_text, job->text.len - s->i_text };
	s->i_text = job->text.len;
	if (rest.len == 0)
		return stream_next(s, out);
	add_chunk(s, ANSWER_TEXT, rest, out);
	return STREAM_EVENT;
}

static enum stream_next next_finish(struct stream *s, struct buf *out)
{
	switch (s->job->end) {
	case JOB_STOP:
	case JOB_LENGTH:
		add_chunk(s, ANSWER_FINISH, STR(""), out);
		s->stage = s->job->request.include_usage ? STREAM_USAGE : STREAM_DONE;
		return STREAM_EVENT;
	case JOB_FAILED:
		add_error(s, out);
		s->stage = STREAM_DONE;
		return STREAM_EVENT;
	default:
		return STREAM_BREAK;
	}
}

enum stream_next stream_next(struct stream *s, struct buf *out)
{
	switch (s->stage) {
	case STREAM_ROLE:
		s->stage = STREAM_TOKENS;
		add_chunk(s, ANSWER_ROLE, STR(""), out);
		return STREAM_EVENT;
	case STREAM_TOKENS:
		return next_tokens(s, out);
	case STREAM_FINISH:
		return next_finish(s, out);
	case STREAM_USAGE:
		s->stage = STREAM_DONE;
		add_chunk(s, ANSWER_USAGE, STR(""), out);
		return STREAM_EVENT;
	case STREAM_DONE:
		s->stage = STREAM_OVER;
		frame_begin(out);
		buf_add(out, STR("[DONE]"));
		frame_end(s, out);
		return STREAM_EVENT;
	case STREAM_OVER:
		break;
	}
	return STREAM_END;
}
