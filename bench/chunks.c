#include "chunks.h"

static const struct str words[] = { STR_INIT(" the"), STR_INIT(" flow"), STR_INIT(" narrows"),
	STR_INIT(","), STR_INIT(" and"), STR_INIT(" pressure"), STR_INIT(" falls"), STR_INIT("."),
	STR_INIT("\\n\\n"), STR_INIT(" \\\"Ven"), STR_INIT("turi"), STR_INIT("\\\""),
	STR_INIT(" measured"), STR_INIT(" it"), STR_INIT(" in"), STR_INIT(" 179"), STR_INIT("7"),
	STR_INIT("\xe3\x80\x82"), STR_INIT(" na\xc3\xafve"), STR_INIT(" {"), STR_INIT("}"),
	STR_INIT(" generalisation"), STR_INIT(" a"), STR_INIT(" tube") };

static const char *const models[] = {
	[CHUNKS_VLLM] = "meta-llama/Llama-3.1-8B-Instruct",
	[CHUNKS_VLLM_USAGE] = "meta-llama/Llama-3.1-8B-Instruct",
	[CHUNKS_OPENAI] = "gpt-4o-mini-2024-07-18",
};

static const char padding[] = "w3Kd0PqZxT5vNyR8bLcA1mHfJ9sGuE2oW";

struct str chunks_word(int64_t i)
{
	return words[(uint64_t)i % ARRAY_LEN(words)];
}

static void open_chunk(struct buf *out, enum chunks_kind kind, int64_t id)
{
	const char *head = kind != CHUNKS_OPENAI ? "data: "
	                                           "{\"id\":\"chatcmpl-%032llx\",\"object\":\"chat."
	                                           "completion.chunk\",\"created\":"
	                                           "1764489600,\"model\":\"%s\","
	                                         : "data: "
	                                           "{\"id\":\"chatcmpl-%029llx\",\"object\":\"chat."
	                                           "completion.chunk\",\"created\":"
	                                           "1764489600,\"model\":\"%s\",\"service_tier\":"
	                                           "\"default\",\"system_fingerprint\":"
	                                           "\"fp_560af6e559\",";
	buf_printf(out, head, (unsigned long long)id * 0x9e3779b97f4a7c15ULL, models[kind]);
}

void chunks_token(struct buf *out, enum chunks_kind kind, int64_t id, int64_t i)
{
	open_chunk(out, kind, id);
	buf_add(out, STR("\"choices\":[{\"index\":0,\"delta\":{\"content\":\""));
	buf_add(out, chunks_word(i));
	buf_add(out, STR("\"},\"logprobs\":null,\"finish_reason\":null}]"));
	if (kind == CHUNKS_OPENAI)
		buf_printf(out, ",\"usage\":null,\"obfuscation\":\"%.*s\"",
		        (int)(3 + (uint64_t)i * 7 % 11), padding + (uint64_t)i % 19);
	if (kind == CHUNKS_VLLM_USAGE)
		buf_printf(out,
		        ",\"usage\":{\"prompt_tokens\":23,\"total_tokens\":%lld,"
		        "\"completion_tokens\":%lld}",
		        (long long)i + 24, (long long)i + 1);
	buf_add(out, STR("}\n\n"));
}

void chunks_end(struct buf *out, enum chunks_kind kind, int64_t id, int64_t n_tokens)
{
	open_chunk(out, kind, id);
	buf_add(out,
	        STR("\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":"
	            "\"stop\"}]}\n\n"));
	open_chunk(out, kind, id);
	buf_printf(out,
	        "\"choices\":[],\"usage\":{\"prompt_tokens\":23,\"total_tokens\":%lld,"
	        "\"completion_tokens\":%lld}}\n\ndata: [DONE]\n\n",
	        (long long)n_tokens + 23, (long long)n_tokens);
}
