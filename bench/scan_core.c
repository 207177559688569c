/*
 * scan_core.c - reads streams of chat events in memory, by the load generator's parsers or by
 * jansson, and prints events per second of CPU time.
 *
 *	scan_core ours|jansson vllm|vllm-usage|openai READ_BYTES SECONDS
 *
 * READ_BYTES is what one read brings; 0 cuts the stream at its events, as a service that writes
 * each on its own does. Both sides split events by net/sse.h and must count every token.
 */
#include "chunks.h"

#include "base/clock.h"
#include "load/endpoint.h"
#include "net/sse.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 16, TOKENS = 256 };

/* Many streams, more than the inner caches hold, one behind the other. */
struct recording {
	struct buf bytes;
	struct str pieces[STREAMS * (TOKENS + 1)]; /* as they are read */
	size_t n_pieces;
	int64_t n_events;
};

static void record(struct recording *r, enum chunks_kind kind, size_t read_bytes)
{
	size_t ends[ARRAY_LEN(r->pieces)], n = 0;
	for (int64_t id = 1; id <= STREAMS; id++) {
		for (int64_t i = 0; i < TOKENS; i++) {
			chunks_token(&r->bytes, kind, id, i);
			ends[n++] = r->bytes.len;
		}
		chunks_end(&r->bytes, kind, id, TOKENS);
		ends[n++] = r->bytes.len;
	}
	r->n_events = STREAMS * (TOKENS + 3);
	for (size_t at = 0; at < r->bytes.len;) {
		size_t end = read_bytes ? at + read_bytes : ends[r->n_pieces];
		if (end > r->bytes.len)
			end = r->bytes.len;
		assert(r->n_pieces < ARRAY_LEN(r->pieces));
		r->pieces[r->n_pieces++] = (struct str){ r->bytes.s + at, end - at };
		at = end;
	}
}

static bool read_ours(void *ctx, struct sse_event event)
{
	endpoint_openai_chat.read_event(ctx, event.data);
	return true;
}

/* The same fields by way of a tree. */
static bool read_jansson(void *ctx, struct sse_event event)
{
	struct reply *reply = ctx;
	if (str_eq(event.data, STR("[DONE]"))) {
		reply->finished = true;
		return true;
	}
	json_t *root = json_loadb(event.data.s, event.data.len, 0, NULL);
	json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
	json_t *content = json_object_get(json_object_get(choice, "delta"), "content");
	json_t *usage = json_object_get(root, "usage");
	reply->token_events += json_string_length(content) > 0;
	reply->finished |= json_is_string(json_object_get(choice, "finish_reason"));
	reply->error |= json_object_get(root, "error") != NULL;
	if (json_is_object(usage)) {
		reply->input_tokens = json_integer_value(json_object_get(usage, "prompt_tokens"));
		reply->output_tokens =
		        json_integer_value(json_object_get(usage, "completion_tokens"));
	}
	json_decref(root);
	return true;
}

static void read_all(const struct recording *r, bool (*on_event)(void *, struct sse_event))
{
	struct sse sse = { 0 };
	struct reply reply;
	reply_reset(&reply);
	for (size_t i = 0; i < r->n_pieces; i++)
		if (!sse_feed(&sse, r->pieces[i], on_event, &reply))
			abort();
	if (reply.token_events != STREAMS * TOKENS || reply.output_tokens != TOKENS ||
	        !reply.finished || reply.error)
		abort();
	sse_release(&sse);
}

static enum chunks_kind kind_of(const char *name)
{
	static const char *const names[] = { [CHUNKS_VLLM] = "vllm",
		[CHUNKS_VLLM_USAGE] = "vllm-usage",
		[CHUNKS_OPENAI] = "openai" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum chunks_kind)i;
	exit(2);
}

int main(int argc, char **argv)
{
	static struct recording r;
	if (argc != 5)
		return 2;
	bool ours = strcmp(argv[1], "ours") == 0;
	record(&r, kind_of(argv[2]), (size_t)atoi(argv[3]));
	int64_t start = clock_thread_cpu_ns(), now = start, passes = 0;
	for (; (double)(now - start) < atof(argv[4]) * 1e9; passes++) {
		read_all(&r, ours ? read_ours : read_jansson);
		now = clock_thread_cpu_ns();
	}
	printf("%.0f\n", (double)(passes * r.n_events) * 1e9 / (double)(now - start));
	buf_release(&r.bytes);
	return 0;
}
