#include "watch/pages/metrics_map.h"

#include <assert.h>

const struct metrics_signal_row metrics_signals[METRICS_N_SIGNALS] = {
	[METRICS_RUNNING] = { "server_requests_running", "1", METRICS_GAUGE_SUM },
	[METRICS_WAITING] = { "server_requests_waiting", "1", METRICS_GAUGE_SUM },
	[METRICS_KV_USED] = { "server_kv_used_ratio", "ratio", METRICS_GAUGE_MAX },
	[METRICS_SWAPPED] = { "server_requests_swapped", "1", METRICS_GAUGE_SUM },
	[METRICS_SPEC_RATE] = { "server_spec_accepted_now_ratio", "ratio", METRICS_GAUGE_MAX },
	[METRICS_SPEC_LENGTH] = { "server_spec_accepted_tokens", "tokens", METRICS_GAUGE_MAX },
	[METRICS_GRAPH] = { "server_device_graph_ratio", "ratio", METRICS_GAUGE_MAX },
	[METRICS_REQUESTS_OK] = { "server_requests_ok_per_s", "1/s", METRICS_COUNTER },
	[METRICS_REQUESTS_FAILED] = { "server_requests_failed_per_s", "1/s", METRICS_COUNTER },
	[METRICS_PROMPT_TOKENS] = { "server_prompt_tokens_per_s", "tokens/s", METRICS_COUNTER },
	[METRICS_GENERATION_TOKENS] = { "server_generation_tokens_per_s", "tokens/s",
	        METRICS_COUNTER },
	[METRICS_PREEMPTIONS] = { "server_preemptions_per_s", "1/s", METRICS_COUNTER },
	[METRICS_PREFIX_HIT] = { "server_prefix_cache_hit_ratio", "ratio", METRICS_DISTRIBUTION },
	[METRICS_SPEC_ACCEPTED] = { "server_spec_accepted_ratio", "ratio", METRICS_DISTRIBUTION },
	[METRICS_STEPS] = { "server_steps_per_s", "1/s", METRICS_COUNTER },
	[METRICS_BATCH_SIZE] = { "server_batch_size", "1", METRICS_DISTRIBUTION },
	[METRICS_STEP_TOKENS] = { "server_step_tokens", "tokens", METRICS_DISTRIBUTION },
	[METRICS_INPUT_TOKENS] = { "server_input_tokens", "tokens", METRICS_DISTRIBUTION },
	[METRICS_OUTPUT_TOKENS] = { "server_output_tokens", "tokens", METRICS_DISTRIBUTION },
	[METRICS_TTFT] = { "server_ttft_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_ITL] = { "server_itl_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_TPOT] = { "server_tpot_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_E2E] = { "server_e2e_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_QUEUE] = { "server_queue_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_TOKENIZE] = { "server_tokenize_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_PREFILL] = { "server_prefill_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_DECODE] = { "server_decode_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_INFERENCE] = { "server_inference_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_COPY_IN] = { "server_copy_in_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_COPY_OUT] = { "server_copy_out_ms", "ms", METRICS_DISTRIBUTION },
	[METRICS_STEP_TIME] = { "server_step_ms", "ms", METRICS_DISTRIBUTION },
};

const char *const metrics_software_names[METRICS_N_SOFTWARE] = {
	[METRICS_VLLM] = "vllm",
	[METRICS_SGLANG] = "sglang",
	[METRICS_TGI] = "tgi",
	[METRICS_TRITON] = "triton",
	[METRICS_TEI] = "tei",
	[METRICS_LLAMACPP] = "llamacpp",
	[METRICS_TENSORRT_LLM] = "tensorrt-llm",
	[METRICS_VENTURI_SERVE] = "venturi-serve",
};

/* What the names begin with; collectors on the way replace the colon or put a word before it. */
static const struct {
	enum metrics_software software;
	struct str prefix;
} prefixes[] = {
	{ METRICS_VLLM, STR_INIT("vllm:") },
	{ METRICS_VLLM, STR_INIT("vllm_") },
	{ METRICS_VLLM, STR_INIT("ray_vllm:") },
	{ METRICS_VLLM, STR_INIT("ray_vllm_") },
	{ METRICS_SGLANG, STR_INIT("sglang:") },
	{ METRICS_SGLANG, STR_INIT("sglang_") },
	{ METRICS_TGI, STR_INIT("tgi_") },
	{ METRICS_TRITON, STR_INIT("nv_") },
	{ METRICS_TEI, STR_INIT("te_") },
	{ METRICS_LLAMACPP, STR_INIT("llamacpp:") },
	{ METRICS_LLAMACPP, STR_INIT("llamacpp_") },
	{ METRICS_TENSORRT_LLM, STR_INIT("trtllm:") },
	{ METRICS_TENSORRT_LLM, STR_INIT("trtllm_") },
	{ METRICS_VENTURI_SERVE, STR_INIT("venturi_serve_") },
};

#define MS_OF_S 1e3
#define MS_OF_US 1e-3

#define VALUE(software, signal, names)                                                             \
	{                                                                                          \
		METRICS_##software, METRICS_##signal, METRICS_VALUE, (names)                       \
	}
#define HIST(software, signal, names, scale)                                                       \
	{                                                                                          \
		METRICS_##software, METRICS_##signal, METRICS_HISTOGRAM, (names), (scale)          \
	}
#define SUM(software, signal, names, scale)                                                        \
	{                                                                                          \
		METRICS_##software, METRICS_##signal, METRICS_SUM, (names), (scale)                \
	}
#define COUNT(software, signal, names)                                                             \
	{                                                                                          \
		METRICS_##software, METRICS_##signal, METRICS_COUNT, (names)                       \
	}
/* One of the stages of an encoder. */
#define VENTURI_STAGE(signal, stage)                                                               \
	{                                                                                          \
		METRICS_VENTURI_SERVE, METRICS_##signal, METRICS_HISTOGRAM,                        \
		        "stage_duration_seconds", MS_OF_S, .label = "stage", .values = (stage)     \
	}

const struct metrics_row metrics_rows[] = {
	/* vLLM. Before v1: gpu_cache_usage_perc, gpu_prefix_cache_*, and the gap between tokens by
	   the name time_per_output_token_seconds. */
	VALUE(VLLM, RUNNING, "num_requests_running"),
	VALUE(VLLM, WAITING, "num_requests_waiting"),
	VALUE(VLLM, KV_USED, "kv_cache_usage_perc|gpu_cache_usage_perc"),
	VALUE(VLLM, SWAPPED, "num_requests_swapped"),
	{ METRICS_VLLM, METRICS_REQUESTS_OK, METRICS_VALUE, "request_success",
	        .label = "finished_reason", .values = "abort|error", .others = true },
	{ METRICS_VLLM, METRICS_REQUESTS_FAILED, METRICS_VALUE, "request_success",
	        .label = "finished_reason", .values = "abort|error" },
	VALUE(VLLM, PROMPT_TOKENS, "prompt_tokens"),
	VALUE(VLLM, GENERATION_TOKENS, "generation_tokens"),
	VALUE(VLLM, PREEMPTIONS, "num_preemptions"),
	SUM(VLLM, PREFIX_HIT, "prefix_cache_hits|gpu_prefix_cache_hits", 1),
	COUNT(VLLM, PREFIX_HIT, "prefix_cache_queries|gpu_prefix_cache_queries"),
	SUM(VLLM, SPEC_ACCEPTED, "spec_decode_num_accepted_tokens", 1),
	COUNT(VLLM, SPEC_ACCEPTED, "spec_decode_num_draft_tokens"),
	VALUE(VLLM, STEPS, "iteration_tokens_total_count"),
	HIST(VLLM, STEP_TOKENS, "iteration_tokens_total", 1),
	HIST(VLLM, INPUT_TOKENS, "request_prompt_tokens", 1),
	HIST(VLLM, OUTPUT_TOKENS, "request_generation_tokens", 1),
	HIST(VLLM, TTFT, "time_to_first_token_seconds", MS_OF_S),
	HIST(VLLM, ITL, "inter_token_latency_seconds|time_per_output_token_seconds", MS_OF_S),
	HIST(VLLM, TPOT, "request_time_per_output_token_seconds", MS_OF_S),
	HIST(VLLM, E2E, "e2e_request_latency_seconds", MS_OF_S),
	HIST(VLLM, QUEUE, "request_queue_time_seconds|time_in_queue_requests", MS_OF_S),
	HIST(VLLM, PREFILL, "request_prefill_time_seconds", MS_OF_S),
	HIST(VLLM, DECODE, "request_decode_time_seconds", MS_OF_S),
	HIST(VLLM, INFERENCE, "request_inference_time_seconds", MS_OF_S),

	/* SGLang. prompt_tokens counts what the cache answered too; who waits for its grammar is in
	   another queue; of speculation there are gauges only. */
	VALUE(SGLANG, RUNNING, "num_running_reqs"),
	VALUE(SGLANG, WAITING, "num_queue_reqs"),
	VALUE(SGLANG, WAITING, "num_grammar_queue_reqs"),
	VALUE(SGLANG, SPEC_RATE, "spec_accept_rate"),
	VALUE(SGLANG, SPEC_LENGTH, "spec_accept_length"),
	VALUE(SGLANG, GRAPH, "is_cuda_graph"),
	VALUE(SGLANG, KV_USED, "full_token_usage|token_usage"),
	VALUE(SGLANG, REQUESTS_OK, "num_requests"),
	VALUE(SGLANG, REQUESTS_FAILED, "num_aborted_requests"),
	VALUE(SGLANG, PROMPT_TOKENS, "prompt_tokens"),
	VALUE(SGLANG, GENERATION_TOKENS, "generation_tokens"),
	VALUE(SGLANG, PREEMPTIONS, "num_retracted_requests"),
	SUM(SGLANG, PREFIX_HIT, "cached_tokens", 1),
	COUNT(SGLANG, PREFIX_HIT, "prompt_tokens"),
	HIST(SGLANG, INPUT_TOKENS, "prompt_tokens_histogram", 1),
	HIST(SGLANG, OUTPUT_TOKENS, "generation_tokens_histogram", 1),
	HIST(SGLANG, TTFT, "time_to_first_token_seconds", MS_OF_S),
	HIST(SGLANG, ITL, "inter_token_latency_seconds|time_per_output_token_seconds", MS_OF_S),
	HIST(SGLANG, E2E, "e2e_request_latency_seconds", MS_OF_S),
	HIST(SGLANG, QUEUE, "queue_time_seconds", MS_OF_S),

	/* TGI has no time to the first token. */
	VALUE(TGI, RUNNING, "batch_current_size"),
	VALUE(TGI, WAITING, "queue_size"),
	VALUE(TGI, REQUESTS_OK, "request_success"),
	VALUE(TGI, REQUESTS_FAILED, "request_failure"),
	VALUE(TGI, PROMPT_TOKENS, "request_input_length_sum"),
	VALUE(TGI, GENERATION_TOKENS, "request_generated_tokens_sum"),
	VALUE(TGI, STEPS, "batch_inference_count"),
	HIST(TGI, STEP_TIME, "batch_inference_duration", MS_OF_S),
	HIST(TGI, BATCH_SIZE, "batch_next_size", 1),
	HIST(TGI, INPUT_TOKENS, "request_input_length", 1),
	HIST(TGI, OUTPUT_TOKENS, "request_generated_tokens", 1),
	HIST(TGI, TPOT, "request_mean_time_per_token_duration", MS_OF_S),
	HIST(TGI, E2E, "request_duration", MS_OF_S),
	HIST(TGI, QUEUE, "request_queue_duration", MS_OF_S),
	HIST(TGI, TOKENIZE, "request_validation_duration", MS_OF_S),
	HIST(TGI, INFERENCE, "request_inference_duration", MS_OF_S),

	/* Triton counts times and requests apart; one execution is one batch. */
	VALUE(TRITON, WAITING, "inference_pending_request_count"),
	VALUE(TRITON, REQUESTS_OK, "inference_request_success"),
	VALUE(TRITON, REQUESTS_FAILED, "inference_request_failure"),
	VALUE(TRITON, STEPS, "inference_exec_count"),
	SUM(TRITON, BATCH_SIZE, "inference_count", 1),
	COUNT(TRITON, BATCH_SIZE, "inference_exec_count"),
	HIST(TRITON, TTFT, "inference_first_response_histogram_ms", 1),
	SUM(TRITON, E2E, "inference_request_duration_us", MS_OF_US),
	COUNT(TRITON, E2E, "inference_request_success"),
	SUM(TRITON, QUEUE, "inference_queue_duration_us", MS_OF_US),
	COUNT(TRITON, QUEUE, "inference_request_success"),
	SUM(TRITON, INFERENCE, "inference_compute_infer_duration_us", MS_OF_US),
	COUNT(TRITON, INFERENCE, "inference_request_success"),
	SUM(TRITON, COPY_IN, "inference_compute_input_duration_us", MS_OF_US),
	COUNT(TRITON, COPY_IN, "inference_request_success"),
	SUM(TRITON, COPY_OUT, "inference_compute_output_duration_us", MS_OF_US),
	COUNT(TRITON, COPY_OUT, "inference_request_success"),

	VALUE(TEI, WAITING, "queue_size"),
	VALUE(TEI, REQUESTS_OK, "request_success"),
	VALUE(TEI, REQUESTS_FAILED, "request_failure"),
	VALUE(TEI, PROMPT_TOKENS, "request_input_length_sum"),
	HIST(TEI, BATCH_SIZE, "batch_next_size", 1),
	HIST(TEI, STEP_TOKENS, "batch_next_tokens", 1),
	HIST(TEI, INPUT_TOKENS, "request_input_length", 1),
	HIST(TEI, E2E, "request_duration", MS_OF_S),
	HIST(TEI, QUEUE, "request_queue_duration", MS_OF_S),
	HIST(TEI, TOKENIZE, "request_tokenization_duration", MS_OF_S),
	HIST(TEI, INFERENCE, "request_inference_duration", MS_OF_S),

	/* llama.cpp. prompt_tokens_total leaves out what the cache answered. */
	VALUE(LLAMACPP, RUNNING, "requests_processing"),
	VALUE(LLAMACPP, WAITING, "requests_deferred"),
	VALUE(LLAMACPP, KV_USED, "kv_cache_usage_ratio"),
	VALUE(LLAMACPP, PROMPT_TOKENS, "prompt_tokens"),
	VALUE(LLAMACPP, PROMPT_TOKENS, "prompt_tokens_cached"),
	VALUE(LLAMACPP, GENERATION_TOKENS, "tokens_predicted"),
	SUM(LLAMACPP, PREFIX_HIT, "prompt_tokens_cached", 1),
	COUNT(LLAMACPP, PREFIX_HIT, "prompt_tokens_cached"),
	COUNT(LLAMACPP, PREFIX_HIT, "prompt_tokens"),
	SUM(LLAMACPP, SPEC_ACCEPTED, "spec_decode_num_accepted_tokens", 1),
	COUNT(LLAMACPP, SPEC_ACCEPTED, "spec_decode_num_draft_tokens"),
	VALUE(LLAMACPP, STEPS, "n_decode"),
	SUM(LLAMACPP, TPOT, "tokens_predicted_seconds", MS_OF_S),
	COUNT(LLAMACPP, TPOT, "tokens_predicted"),

	VALUE(TENSORRT_LLM, REQUESTS_OK, "request_success"),
	HIST(TENSORRT_LLM, TTFT, "time_to_first_token_seconds", MS_OF_S),
	HIST(TENSORRT_LLM, TPOT, "time_per_output_token_seconds", MS_OF_S),
	HIST(TENSORRT_LLM, E2E, "e2e_request_latency_seconds", MS_OF_S),
	HIST(TENSORRT_LLM, QUEUE, "request_queue_time_seconds", MS_OF_S),

	VALUE(VENTURI_SERVE, RUNNING, "num_requests_running"),
	VALUE(VENTURI_SERVE, WAITING, "num_requests_waiting"),
	{ METRICS_VENTURI_SERVE, METRICS_REQUESTS_OK, METRICS_VALUE, "requests",
	        .label = "finished_reason", .values = "stop|length" },
	{ METRICS_VENTURI_SERVE, METRICS_REQUESTS_FAILED, METRICS_VALUE, "requests",
	        .label = "finished_reason", .values = "stop|length", .others = true },
	VALUE(VENTURI_SERVE, PROMPT_TOKENS, "prompt_tokens"),
	VALUE(VENTURI_SERVE, GENERATION_TOKENS, "generation_tokens"),
	VALUE(VENTURI_SERVE, STEPS, "batch_size_count"),
	HIST(VENTURI_SERVE, BATCH_SIZE, "batch_size", 1),
	HIST(VENTURI_SERVE, TTFT, "time_to_first_token_seconds", MS_OF_S),
	HIST(VENTURI_SERVE, ITL, "inter_token_latency_seconds", MS_OF_S),
	HIST(VENTURI_SERVE, E2E, "e2e_request_latency_seconds", MS_OF_S),
	HIST(VENTURI_SERVE, QUEUE, "request_queue_time_seconds", MS_OF_S),
	HIST(VENTURI_SERVE, STEP_TOKENS, "batch_tokens", 1),
	VENTURI_STAGE(TOKENIZE, "tokenize"),
	VENTURI_STAGE(INFERENCE, "compute"),
};
const size_t metrics_n_rows = ARRAY_LEN(metrics_rows);

bool metrics_one_of(const char *list, struct str text, int *ret_place)
{
	struct str rest = str_of(list);
	for (int place = 0; rest.len; place++) {
		if (!str_eq(str_cut(rest, '|', &rest), text))
			continue;
		if (ret_place)
			*ret_place = place;
		return true;
	}
	return false;
}

static struct str without(struct str text, struct str suffix)
{
	if (str_ends(text, suffix))
		text.len -= suffix.len;
	return text;
}

static bool match_histogram(
        const struct metrics_row *row, struct str rest, struct metrics_match *match)
{
	static const struct {
		struct str suffix;
		enum metrics_part part;
	} parts[] = {
		{ STR_INIT("_bucket"), METRICS_PART_BUCKET },
		{ STR_INIT("_sum"), METRICS_PART_SUM },
		{ STR_INIT("_count"), METRICS_PART_COUNT },
	};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		match->part = parts[i].part;
		if (str_ends(rest, parts[i].suffix) &&
		        metrics_one_of(
		                row->names, without(rest, parts[i].suffix), &match->alternative))
			return true;
	}
	return false;
}

/* A counter has "_total" behind its name, or has not: that changed with versions and libraries. */
static bool match_value(const struct metrics_row *row, struct str rest, struct metrics_match *match)
{
	match->part = METRICS_PART_VALUE;
	return metrics_one_of(row->names, rest, &match->alternative) ||
	       metrics_one_of(row->names, without(rest, STR("_total")), &match->alternative);
}

size_t metrics_lookup(struct str name, struct metrics_match matches[METRICS_MATCHES_MAX])
{
	size_t n = 0, p = 0;
	while (p < ARRAY_LEN(prefixes) && !str_starts(name, prefixes[p].prefix))
		p++;
	if (p == ARRAY_LEN(prefixes))
		return 0;
	struct str rest = { name.s + prefixes[p].prefix.len, name.len - prefixes[p].prefix.len };
	for (size_t i = 0; i < ARRAY_LEN(metrics_rows); i++) {
		const struct metrics_row *row = &metrics_rows[i];
		struct metrics_match match = { .row = i };
		if (row->software != prefixes[p].software ||
		        !(row->role == METRICS_HISTOGRAM ? match_histogram(row, rest, &match)
		                                         : match_value(row, rest, &match)))
			continue;
		assert(n < METRICS_MATCHES_MAX); /* no name is in so many rows */
		matches[n++] = match;
	}
	return n;
}
