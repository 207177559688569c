#include "watch/pages/metrics_map.h"
#include "watch/pages/metrics_window.h"

#include "base/clock.h"
#include "pages_window.h"
#include "tap.h"

static const struct signal *row_of(const struct signal_page *page, const char *name)
{
	for (size_t i = 0; i < page->n_signals; i++)
		if (strcmp(page->signals[i].name, name) == 0)
			return &page->signals[i];
	CHECK(!"a signal of that name");
	return NULL;
}

/* What each engine writes, and one figure of it: the second page is a second after the first. */
struct engine_case {
	const char *software;
	const char *before, *after;
	struct {
		const char *name;
		double mean;
		const char *source;
	} want[12];
};

static const struct engine_case engines[] = {
	{ "vllm",
	        "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
	        "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 5.0\n"
	        "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 2.0\n"
	        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"
	        "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.75\n"
	        "vllm:num_preemptions_total{engine=\"0\",model_name=\"m\"} 7.0\n"
	        "vllm:num_preemptions_created{engine=\"0\",model_name=\"m\"} 1.7e9\n"
	        "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 1000.0\n"
	        "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 900.0\n"
	        "vllm:external_prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 5.0\n"
	        "vllm:request_success_total{finished_reason=\"stop\",model_name=\"m\"} 10.0\n"
	        "vllm:request_success_total{finished_reason=\"abort\",model_name=\"m\"} 1.0\n"
	        "vllm:iteration_tokens_total_sum{model_name=\"m\"} 100.0\n"
	        "vllm:iteration_tokens_total_count{model_name=\"m\"} 10.0\n"
	        "vllm:time_to_first_token_seconds_sum{model_name=\"m\"} 1.0\n"
	        "vllm:time_to_first_token_seconds_count{model_name=\"m\"} 10.0\n",
	        "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
	        "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 5.0\n"
	        "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 2.0\n"
	        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"
	        "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.75\n"
	        "vllm:num_preemptions_total{engine=\"0\",model_name=\"m\"} 9.0\n"
	        "vllm:num_preemptions_created{engine=\"0\",model_name=\"m\"} 1.7e9\n"
	        "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 1200.0\n"
	        "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 950.0\n"
	        "vllm:external_prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 500.0\n"
	        "vllm:request_success_total{finished_reason=\"stop\",model_name=\"m\"} 14.0\n"
	        "vllm:request_success_total{finished_reason=\"length\",model_name=\"m\"} 3.0\n"
	        "vllm:request_success_total{finished_reason=\"abort\",model_name=\"m\"} 2.0\n"
	        "vllm:iteration_tokens_total_sum{model_name=\"m\"} 260.0\n"
	        "vllm:iteration_tokens_total_count{model_name=\"m\"} 30.0\n"
	        "vllm:time_to_first_token_seconds_sum{model_name=\"m\"} 1.5\n"
	        "vllm:time_to_first_token_seconds_count{model_name=\"m\"} 20.0\n",
	        { { "server_requests_running", 8, "vllm:num_requests_running" },
	                { "server_requests_waiting", 2, "vllm:num_requests_waiting" },
	                { "server_kv_used_ratio", 0.75, "vllm:kv_cache_usage_perc" },
	                { "server_preemptions_per_s", 2, "vllm:num_preemptions_total" },
	                { "server_prefix_cache_hit_ratio", 0.25,
	                        "vllm:prefix_cache_hits_total / vllm:prefix_cache_queries_total" },
	                /* "length" was not on the first page: it counts from 0 */
	                { "server_requests_ok_per_s", 7, "vllm:request_success_total" },
	                { "server_requests_failed_per_s", 1, "vllm:request_success_total" },
	                { "server_step_tokens", 8, "vllm:iteration_tokens_total" },
	                { "server_steps_per_s", 20, "vllm:iteration_tokens_total_count" },
	                { "server_ttft_ms", 50, "vllm:time_to_first_token_seconds" } } },
	/* v0: older names; where both are there the newer one counts, whichever comes first */
	{ "vllm",
	        "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n"
	        "vllm:num_requests_swapped 3\n"
	        "vllm:gpu_prefix_cache_queries_total 10\nvllm:gpu_prefix_cache_hits_total 0\n"
	        "vllm:time_per_output_token_seconds_sum 1\n"
	        "vllm:time_per_output_token_seconds_count 100\n"
	        "vllm:time_in_queue_requests_sum 9\nvllm:time_in_queue_requests_count 9\n"
	        "vllm:request_queue_time_seconds_sum 1\nvllm:request_queue_time_seconds_count 1\n",
	        "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n"
	        "vllm:num_requests_swapped 5\n"
	        "vllm:gpu_prefix_cache_queries_total 30\nvllm:gpu_prefix_cache_hits_total 5\n"
	        "vllm:time_per_output_token_seconds_sum 2\n"
	        "vllm:time_per_output_token_seconds_count 200\n"
	        "vllm:time_in_queue_requests_sum 99\nvllm:time_in_queue_requests_count 10\n"
	        "vllm:request_queue_time_seconds_sum 3\nvllm:request_queue_time_seconds_count 2\n",
	        { { "server_kv_used_ratio", 0.5, "vllm:gpu_cache_usage_perc" },
	                { "server_requests_swapped", 4, "vllm:num_requests_swapped" },
	                { "server_prefix_cache_hit_ratio", 0.25,
	                        "vllm:gpu_prefix_cache_hits_total / "
	                        "vllm:gpu_prefix_cache_queries_total" },
	                { "server_itl_ms", 10, "vllm:time_per_output_token_seconds" },
	                { "server_queue_ms", 2000, "vllm:request_queue_time_seconds" } } },
	{ "sglang",
	        "sglang:num_running_reqs{tp_rank=\"0\"} 4.0\nsglang:num_queue_reqs{tp_rank=\"0\"} "
	        "6.0\n"
	        "sglang:num_grammar_queue_reqs 2\nsglang:spec_accept_length 2.5\n"
	        "sglang:spec_accept_rate 0.4\nsglang:is_cuda_graph 1\n"
	        "sglang:token_usage 0.1\nsglang:prompt_tokens_total 100\n"
	        "sglang:cached_tokens_total{cache_source=\"device\"} 10\n"
	        "sglang:generation_tokens_total 50\nsglang:num_retracted_requests_total 0\n"
	        "sglang:num_retracted_reqs 0\nsglang:queue_time_seconds_sum 0\n"
	        "sglang:queue_time_seconds_count 0\n",
	        "sglang:num_running_reqs{tp_rank=\"0\"} 4.0\nsglang:num_queue_reqs{tp_rank=\"0\"} "
	        "6.0\n"
	        "sglang:num_grammar_queue_reqs 2\nsglang:spec_accept_length 2.5\n"
	        "sglang:spec_accept_rate 0.6\nsglang:is_cuda_graph 0\n"
	        "sglang:token_usage 0.1\nsglang:prompt_tokens_total 300\n"
	        "sglang:cached_tokens_total{cache_source=\"device\"} 20\n"
	        "sglang:cached_tokens_total{cache_source=\"host\"} 30\n"
	        "sglang:generation_tokens_total 90\nsglang:num_retracted_requests_total 1\n"
	        "sglang:num_retracted_reqs 0\nsglang:queue_time_seconds_sum 1\n"
	        "sglang:queue_time_seconds_count 4\n",
	        { { "server_requests_running", 4, "sglang:num_running_reqs" },
	                { "server_requests_waiting", 8,
	                        "sglang:num_queue_reqs + sglang:num_grammar_queue_reqs" },
	                { "server_spec_accepted_now_ratio", 0.5, "sglang:spec_accept_rate" },
	                { "server_spec_accepted_tokens", 2.5, "sglang:spec_accept_length" },
	                { "server_device_graph_ratio", 0.5, "sglang:is_cuda_graph" },
	                { "server_kv_used_ratio", 0.1, "sglang:token_usage" },
	                { "server_prefix_cache_hit_ratio", 0.2,
	                        "sglang:cached_tokens_total / sglang:prompt_tokens_total" },
	                { "server_generation_tokens_per_s", 40, "sglang:generation_tokens_total" },
	                { "server_preemptions_per_s", 1, "sglang:num_retracted_requests_total" },
	                { "server_queue_ms", 250, "sglang:queue_time_seconds" } } },
	/* the histograms of TGI are made when they are first needed */
	{ "tgi", "tgi_queue_size 1\ntgi_batch_current_size 2\n",
	        "tgi_queue_size 1\ntgi_batch_current_size 2\n"
	        "tgi_request_success{method=\"generate\"} 4\n"
	        "tgi_request_input_length_sum 40\ntgi_request_input_length_count 4\n"
	        "tgi_request_generated_tokens_sum 20\ntgi_request_generated_tokens_count 4\n"
	        "tgi_request_mean_time_per_token_duration_sum 0.2\n"
	        "tgi_request_mean_time_per_token_duration_count 4\n"
	        "tgi_batch_next_size_sum 12\ntgi_batch_next_size_count 4\n"
	        "tgi_batch_inference_count{method=\"prefill\"} 4\n"
	        "tgi_batch_inference_count{method=\"decode\"} 20\n"
	        "tgi_batch_inference_duration_sum{method=\"prefill\"} 0.4\n"
	        "tgi_batch_inference_duration_count{method=\"prefill\"} 4\n"
	        "tgi_batch_inference_duration_sum{method=\"decode\"} 0.8\n"
	        "tgi_batch_inference_duration_count{method=\"decode\"} 20\n",
	        { { "server_requests_running", 2, "tgi_batch_current_size" },
	                { "server_requests_waiting", 1, "tgi_queue_size" },
	                { "server_requests_ok_per_s", 4, "tgi_request_success" },
	                { "server_prompt_tokens_per_s", 40, "tgi_request_input_length_sum" },
	                { "server_output_tokens", 5, "tgi_request_generated_tokens" },
	                { "server_tpot_ms", 50, "tgi_request_mean_time_per_token_duration" },
	                { "server_steps_per_s", 24, "tgi_batch_inference_count" },
	                { "server_step_ms", 50, "tgi_batch_inference_duration" },
	                { "server_batch_size", 3, "tgi_batch_next_size" } } },
	{ "triton",
	        "nv_inference_request_success{model=\"a\",version=\"1\"} 10\n"
	        "nv_inference_count{model=\"a\",version=\"1\"} 10\n"
	        "nv_inference_exec_count{model=\"a\",version=\"1\"} 10\n"
	        "nv_inference_request_duration_us{model=\"a\",version=\"1\"} 1000\n"
	        "nv_inference_queue_duration_us{model=\"a\",version=\"1\"} 0\n"
	        "nv_inference_pending_request_count{model=\"a\",version=\"1\"} 3\n"
	        "nv_inference_compute_input_duration_us{model=\"a\",version=\"1\"} 0\n"
	        "nv_inference_compute_output_duration_us{model=\"a\",version=\"1\"} 0\n"
	        "nv_gpu_utilization{gpu_uuid=\"GPU-1\"} 0.5\n"
	        "nv_energy_consumption{gpu_uuid=\"GPU-1\"} 1000.5\n",
	        "nv_inference_request_success{model=\"a\",version=\"1\"} 30\n"
	        "nv_inference_count{model=\"a\",version=\"1\"} 30\n"
	        "nv_inference_exec_count{model=\"a\",version=\"1\"} 15\n"
	        "nv_inference_request_duration_us{model=\"a\",version=\"1\"} 201000\n"
	        "nv_inference_queue_duration_us{model=\"a\",version=\"1\"} 40000\n"
	        "nv_inference_pending_request_count{model=\"a\",version=\"1\"} 3\n"
	        "nv_inference_compute_input_duration_us{model=\"a\",version=\"1\"} 60000\n"
	        "nv_inference_compute_output_duration_us{model=\"a\",version=\"1\"} 10000\n"
	        "nv_gpu_utilization{gpu_uuid=\"GPU-1\"} 0.5\n"
	        "nv_energy_consumption{gpu_uuid=\"GPU-1\"} 1300.5\n",
	        { { "server_copy_in_ms", 3,
	                  "nv_inference_compute_input_duration_us / nv_inference_request_success" },
	                { "server_copy_out_ms", 0.5,
	                        "nv_inference_compute_output_duration_us / "
	                        "nv_inference_request_success" },
	                { "gpu_util_ratio", 0.5, "nv_gpu_utilization" },
	                { "gpu_energy_w", 300, "nv_energy_consumption" },
	                { "server_requests_waiting", 3, "nv_inference_pending_request_count" },
	                { "server_batch_size", 4, "nv_inference_count / nv_inference_exec_count" },
	                { "server_e2e_ms", 10,
	                        "nv_inference_request_duration_us / nv_inference_request_success" },
	                { "server_queue_ms", 2,
	                        "nv_inference_queue_duration_us / "
	                        "nv_inference_request_success" } } },
	{ "tei",
	        "te_queue_size 2\nte_request_success{method=\"batch\"} 0\n"
	        "te_request_queue_duration_sum 0\nte_request_queue_duration_count 0\n"
	        "te_request_tokenization_duration_sum 0\nte_request_tokenization_duration_count "
	        "0\n",
	        "te_queue_size 2\nte_request_success{method=\"batch\"} 8\n"
	        "te_request_queue_duration_sum 0.04\nte_request_queue_duration_count 8\n"
	        "te_request_tokenization_duration_sum 0.008\n"
	        "te_request_tokenization_duration_count 8\n",
	        { { "server_requests_waiting", 2, "te_queue_size" },
	                { "server_requests_ok_per_s", 8, "te_request_success" },
	                { "server_queue_ms", 5, "te_request_queue_duration" },
	                { "server_tokenize_ms", 1, "te_request_tokenization_duration" } } },
	{ "llamacpp",
	        "llamacpp:prompt_tokens_total 100\nllamacpp:prompt_tokens_cached_total 100\n"
	        "llamacpp:tokens_predicted_total 10\nllamacpp:tokens_predicted_seconds_total 1\n"
	        "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n"
	        "llamacpp:n_decode_total 5\n",
	        "llamacpp:prompt_tokens_total 130\nllamacpp:prompt_tokens_cached_total 110\n"
	        "llamacpp:tokens_predicted_total 60\nllamacpp:tokens_predicted_seconds_total 2\n"
	        "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n"
	        "llamacpp:n_decode_total 15\n",
	        { { "server_requests_running", 2, "llamacpp:requests_processing" },
	                { "server_requests_waiting", 1, "llamacpp:requests_deferred" },
	                { "server_prompt_tokens_per_s", 40,
	                        "llamacpp:prompt_tokens_total + "
	                        "llamacpp:prompt_tokens_cached_total" },
	                { "server_prefix_cache_hit_ratio", 0.25,
	                        "llamacpp:prompt_tokens_cached_total / "
	                        "(llamacpp:prompt_tokens_cached_total + "
	                        "llamacpp:prompt_tokens_total)" },
	                { "server_tpot_ms", 20,
	                        "llamacpp:tokens_predicted_seconds_total / "
	                        "llamacpp:tokens_predicted_total" },
	                { "server_steps_per_s", 10, "llamacpp:n_decode_total" } } },
	{ "venturi-serve",
	        "venturi_serve_num_requests_running{model_name=\"m\"} 1\n"
	        "venturi_serve_requests_total{model_name=\"m\",finished_reason=\"stop\"} 1\n",
	        "venturi_serve_num_requests_running{model_name=\"m\"} 1\n"
	        "venturi_serve_requests_total{model_name=\"m\",finished_reason=\"stop\"} 3\n"
	        "venturi_serve_requests_total{model_name=\"m\",finished_reason=\"cancelled\"} 1\n",
	        { { "server_requests_running", 1, "venturi_serve_num_requests_running" },
	                { "server_requests_ok_per_s", 2, "venturi_serve_requests_total" },
	                { "server_requests_failed_per_s", 1, "venturi_serve_requests_total" } } },
	/* an encoder: of the stages only those that have a signal */
	{ "venturi-serve",
	        "venturi_serve_num_requests_running 0\n"
	        "venturi_serve_batch_tokens_sum 0\nventuri_serve_batch_tokens_count 0\n"
	        "venturi_serve_stage_duration_seconds_sum{stage=\"tokenize\"} 0\n"
	        "venturi_serve_stage_duration_seconds_count{stage=\"tokenize\"} 0\n"
	        "venturi_serve_stage_duration_seconds_sum{stage=\"compute\"} 0\n"
	        "venturi_serve_stage_duration_seconds_count{stage=\"compute\"} 0\n",
	        "venturi_serve_num_requests_running 0\n"
	        "venturi_serve_batch_tokens_sum 400\nventuri_serve_batch_tokens_count 2\n"
	        "venturi_serve_stage_duration_seconds_sum{stage=\"tokenize\"} 0.008\n"
	        "venturi_serve_stage_duration_seconds_count{stage=\"tokenize\"} 4\n"
	        "venturi_serve_stage_duration_seconds_sum{stage=\"batch\"} 9\n"
	        "venturi_serve_stage_duration_seconds_count{stage=\"batch\"} 1\n"
	        "venturi_serve_stage_duration_seconds_sum{stage=\"compute\"} 0.2\n"
	        "venturi_serve_stage_duration_seconds_count{stage=\"compute\"} 4\n",
	        { { "server_step_tokens", 200, "venturi_serve_batch_tokens" },
	                { "server_tokenize_ms", 2, "venturi_serve_stage_duration_seconds" },
	                { "server_inference_ms", 50, "venturi_serve_stage_duration_seconds" } } },
};

static void the_names_of_every_engine_are_known(void)
{
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct arena run = { 0 };
		const char *pages[] = { engines[i].before, engines[i].after };
		struct signal_page page = window_of(pages, 2, &run);
		CHECK_STR(page.software, engines[i].software);
		CHECK(page.n_signals >= METRICS_N_SIGNALS);
		for (size_t k = 0; k < ARRAY_LEN(engines[i].want) && engines[i].want[k].name; k++) {
			const struct signal *s = row_of(&page, engines[i].want[k].name);
			if (!CHECK_STR(s->source, engines[i].want[k].source) ||
			        !CHECK(s->state == SIGNAL_MEASURED))
				printf("# %s of engine %zu\n", engines[i].want[k].name, i);
			CHECK_NEAR(s->mean, engines[i].want[k].mean, 1e-9);
		}
		arena_release(&run);
	}
}

static void what_the_page_does_not_tell_is_said(void)
{
	struct arena run = { 0 };
	const char *pages[] = { "llamacpp:requests_processing 2\n",
		"llamacpp:requests_processing 2\n" };
	struct signal_page page = window_of(pages, 2, &run);
	const struct signal *s = row_of(&page, "server_ttft_ms");
	CHECK(s->state == SIGNAL_NOT_SUPPORTED && s->reason && !s->source && isnan(s->mean));
	CHECK(signal_find(&page, "server_ttft_ms") == NULL);
	CHECK(signal_find(&page, "server_requests_running") != NULL);
	const char *others[] = { "other_cpu_seconds_total 5\n", "other_cpu_seconds_total 6\n" };
	page = window_of(others, 2, &run);
	CHECK(!page.software && page.reason && page.n_signals == 0);
	arena_release(&run);
}

static void a_gauge_is_taken_as_it_was_seen(void)
{
	struct arena run = { 0 };
	const char *pages[] = { "tgi_queue_size 1\n", "tgi_queue_size NaN\n", "tgi_queue_size 5\n",
		"tgi_queue_size 3\n", "tgi_queue_size 2\n", "tgi_queue_size 2\n",
		"tgi_queue_size 2\n", "tgi_queue_size 2\n", "tgi_queue_size 2\n",
		"tgi_queue_size 3\n", "tgi_queue_size 4\n", "tgi_queue_size 7\n" };
	struct signal_page page = window_of(pages, ARRAY_LEN(pages), &run);
	const struct signal *s = row_of(&page, "server_requests_waiting");
	CHECK_INT(s->n, 11);
	CHECK_NEAR(s->mean, 3, 1e-12);
	CHECK_NEAR(s->min, 1, 0);
	CHECK_NEAR(s->max, 7, 0);
	CHECK_NEAR(s->p50, 2, 0); /* the sixth of 1 2 2 2 2 2 3 3 4 5 7 */
	CHECK(isnan(s->p95));     /* so few values do not tell it */
	CHECK_INT(s->n_series, 11);
	CHECK_NEAR(s->series[1].t_s, 2, 1e-9);
	page = window_of(pages, 5, &run);
	CHECK(isnan(row_of(&page, "server_requests_waiting")->p50));
	arena_release(&run);
}

static void what_was_never_a_number_is_not_counted(void)
{
	struct arena run = { 0 };
	const char *pages[] = { "tgi_queue_size NaN\ntgi_batch_current_size 1\n",
		"tgi_queue_size +Inf\ntgi_batch_current_size 1\n" };
	struct signal_page page = window_of(pages, ARRAY_LEN(pages), &run);
	const struct signal *s = row_of(&page, "server_requests_waiting");
	CHECK_INT(s->state, SIGNAL_NOT_COUNTED);
	CHECK(s->reason && strstr(s->reason, "no number"));
	CHECK_INT(row_of(&page, "server_requests_ok_per_s")->state, SIGNAL_NOT_SUPPORTED);
	arena_release(&run);
}

static void a_gauge_outside_the_window_does_not_count(void)
{
	struct arena run = { 0 };
	struct metrics_window *w = metrics_window_new();
	struct signal_page page = { 0 };
	struct err err;
	for (int i = 0; i < 4; i++) {
		char text[64];
		snprintf(text, sizeof(text), "tgi_queue_size %d\ntgi_request_success %d\n", i,
		        10 * i);
		CHECK(metrics_window_add(w, str_of(text), (10 + i) * NS_PER_S, &err));
		if (i == 0)
			metrics_window_begin(w);
	}
	/* the first look is before the window, the last after it */
	metrics_window_report(w, "", 10 * NS_PER_S + 1, 13 * NS_PER_S - 1, &run, &page);
	CHECK_INT(row_of(&page, "server_requests_waiting")->n, 2);
	CHECK_NEAR(row_of(&page, "server_requests_waiting")->max, 2, 0);
	CHECK_NEAR(row_of(&page, "server_requests_ok_per_s")->delta, 30, 0);
	CHECK_NEAR(page.from_s, 0, 1e-6);
	CHECK_NEAR(page.to_s, 3, 1e-6);
	metrics_window_free(w);
	arena_release(&run);
}

static void a_counter_is_the_difference_and_its_rates(void)
{
	struct arena run = { 0 };
	const char *pages[] = { "tgi_request_success 1000\n", "tgi_request_success 1010\n",
		"tgi_request_success 1010\n", "tgi_request_success 1035\n" };
	struct signal_page page = window_of(pages, 4, &run);
	const struct signal *s = row_of(&page, "server_requests_ok_per_s");
	CHECK(s->state == SIGNAL_MEASURED);
	CHECK_INT(s->n, 3);
	CHECK_NEAR(s->delta, 35, 0);
	CHECK_NEAR(s->mean, 35 / 3.0, 1e-9);
	CHECK_NEAR(s->min, 0, 0);
	CHECK_NEAR(s->max, 25, 1e-9);
	CHECK_NEAR(page.from_s, 0, 0);
	CHECK_NEAR(page.to_s, 3, 0);
	arena_release(&run);
}

static void a_reset_loses_only_what_nobody_saw(void)
{
	struct arena run = { 0 };
	/* 5 seen, then a restart, 3 seen since, and 4 more; the other label set is a new one */
	const char *pages[] = { "tgi_request_success{m=\"a\"} 100\n",
		"tgi_request_success{m=\"a\"} 105\n", "tgi_request_success{m=\"a\"} 3\n",
		"tgi_request_success{m=\"a\"} 7\ntgi_request_success{m=\"b\"} 2\n" };
	struct signal_page page = window_of(pages, 4, &run);
	const struct signal *s = row_of(&page, "server_requests_ok_per_s");
	CHECK(s->state == SIGNAL_ESTIMATED && s->reason);
	CHECK_NEAR(s->delta, 5 + 3 + 4 + 2, 0);
	/* a service that restarted and has passed its old count shows it by its start time */
	const char *restart[] = { "process_start_time_seconds 1.7e9\ntgi_request_success 10\n",
		"process_start_time_seconds 1.70000001e9\ntgi_request_success 20\n" };
	page = window_of(restart, 2, &run);
	CHECK_NEAR(row_of(&page, "server_requests_ok_per_s")->delta, 20, 0);
	CHECK(row_of(&page, "server_requests_ok_per_s")->state == SIGNAL_ESTIMATED);
	/* two replicas that answer in turn are no measurement */
	const char *turns[] = { "tgi_request_success 100\n", "tgi_request_success 7\n",
		"tgi_request_success 101\n", "tgi_request_success 8\n" };
	page = window_of(turns, 4, &run);
	CHECK(row_of(&page, "server_requests_ok_per_s")->state == SIGNAL_NOT_COUNTED);
	arena_release(&run);
}

static void the_buckets_of_a_histogram_are_reset_together(void)
{
	struct arena run = { 0 };
	/* After the restart the first bucket has passed its old count; _count has not. */
	const char *pages[] = {
		"te_request_queue_duration_bucket{le=\"1\"} 0\n"
		"te_request_queue_duration_bucket{le=\"2\"} 100\n"
		"te_request_queue_duration_bucket{le=\"+Inf\"} 100\n"
		"te_request_queue_duration_sum 150\nte_request_queue_duration_count 100\n",
		"te_request_queue_duration_bucket{le=\"1\"} 40\n"
		"te_request_queue_duration_bucket{le=\"2\"} 80\n"
		"te_request_queue_duration_bucket{le=\"+Inf\"} 80\n"
		"te_request_queue_duration_sum 80\nte_request_queue_duration_count 80\n",
	};
	struct signal_page page = window_of(pages, 2, &run);
	const struct signal *s = row_of(&page, "server_queue_ms");
	CHECK_INT(s->n, 80);
	CHECK_NEAR(s->mean, 1000, 1e-9);
	CHECK_NEAR(s->p50, 1000, 1e-9);
	CHECK(s->state == SIGNAL_ESTIMATED);
	arena_release(&run);
}

/* histogram_quantile() by hand: rank in the cumulative counts, then a straight line. */
static void quantiles_are_interpolated_in_their_bucket(void)
{
	static const double edges[] = { 1, 2, 4, INFINITY }, below[] = { 10, 30, 90, 100 };
	CHECK_NEAR(metrics_quantile(edges, below, 4, 0.05), 0.5, 1e-12);
	CHECK_NEAR(metrics_quantile(edges, below, 4, 0.10), 1, 1e-12);
	CHECK_NEAR(metrics_quantile(edges, below, 4, 0.20), 1.5, 1e-12);
	CHECK_NEAR(metrics_quantile(edges, below, 4, 0.60), 3, 1e-12);
	CHECK_NEAR(metrics_quantile(edges, below, 4, 0.90), 4, 1e-12);
	CHECK(isnan(metrics_quantile(edges, below, 4, 0.95))); /* somewhere above 4 */
	static const double none[] = { 0, 0, 0, 0 };
	CHECK(isnan(metrics_quantile(edges, none, 4, 0.5)));
	CHECK(isnan(metrics_quantile(edges, none, 0, 0.5)));
	/* counts that fall, which a broken exporter writes, never give a value below the edge
	 * before */
	static const double falling[] = { 10, 5, 20, 20 };
	CHECK_NEAR(metrics_quantile(edges, falling, 4, 0.75), 3, 1e-12);
}

static void histograms_of_several_label_sets_add_up(void)
{
	struct arena run = { 0 };
	const char *pages[] = {
		"vllm:e2e_request_latency_seconds_count 0\n",
		"vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"1.0\"} 100\n"
		"vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"2.0\"} 100\n"
		"vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"+Inf\"} 100\n"
		"vllm:e2e_request_latency_seconds_sum{engine=\"0\"} 80\n"
		"vllm:e2e_request_latency_seconds_count{engine=\"0\"} 100\n"
		"vllm:e2e_request_latency_seconds_bucket{engine=\"1\",le=\"1.0\"} 0\n"
		"vllm:e2e_request_latency_seconds_bucket{engine=\"1\",le=\"2.0\"} 300\n"
		"vllm:e2e_request_latency_seconds_bucket{engine=\"1\",le=\"+Inf\"} 300\n"
		"vllm:e2e_request_latency_seconds_sum{engine=\"1\"} 520\n"
		"vllm:e2e_request_latency_seconds_count{engine=\"1\"} 300\n",
	};
	struct signal_page page = window_of(pages, 2, &run);
	const struct signal *s = row_of(&page, "server_e2e_ms");
	CHECK_INT(s->n, 400);
	CHECK_NEAR(s->mean, 1500, 1e-9);
	/* 200 of 400 is the 100th of the 300 between 1 s and 2 s; 380 is the 280th */
	CHECK_NEAR(s->p50, 1000 + 1000 * 10 / 30.0, 1e-9);
	CHECK_NEAR(s->p95, 1000 + 1000 * 28 / 30.0, 1e-9);
	arena_release(&run);
}

static void what_is_no_page_of_metrics_is_refused(void)
{
	static const char *const texts[] = { "<!DOCTYPE html>\n<html><body>404</body></html>\n",
		"{\"error\": \"Not Found\"}", "\177ELF" };
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct metrics_window *w = metrics_window_new();
		CHECK(!metrics_window_add(w, str_of(texts[i]), 1, &err) && err.kind == ERR_INPUT);
		metrics_window_free(w);
	}
}

static void a_page_has_a_limit_of_series(void)
{
	AUTO(auto_buf) struct buf text = { 0 };
	struct metrics_window *w = metrics_window_new();
	struct err err;
	for (int i = 0; i < METRICS_SERIES_MAX; i++)
		buf_printf(&text, "tgi_request_success{i=\"%d\"} 1\n", i);
	CHECK(metrics_window_add(w, buf_str(&text), 1, &err));
	metrics_window_free(w);
	w = metrics_window_new();
	buf_add_c(&text, "tgi_request_success{i=\"x\"} 1\n");
	CHECK(!metrics_window_add(w, buf_str(&text), 1, &err) && err.kind == ERR_INPUT);
	metrics_window_free(w);
}

/* 2000 looks at a counter that grows by 3 each: differences stay exact, memory does not grow.
 */
static void a_long_run_is_thinned_not_lost(void)
{
	struct arena run = { 0 };
	struct metrics_window *w = metrics_window_new();
	struct signal_page page = { 0 };
	struct err err;
	int n = 0;
	int64_t at = 0;
	for (; n < 2000; n++) {
		char text[64];
		snprintf(text, sizeof(text), "tgi_queue_size 2\ntgi_request_success %d\n", 3 * n);
		CHECK(metrics_window_add(w, str_of(text), at, &err));
		if (n == 0)
			metrics_window_begin(w);
		at += metrics_window_period_ns(w);
	}
	CHECK(metrics_window_period_ns(w) > NS_PER_S);
	metrics_window_report(w, "", 0, at, &run, &page);
	const struct signal *s = row_of(&page, "server_requests_ok_per_s");
	CHECK_NEAR(s->delta, 3 * (n - 1), 0);
	CHECK(s->n_series < METRICS_LOOKS_MAX && s->n_series >= METRICS_LOOKS_MAX / 2 - 2);
	metrics_window_free(w);
	arena_release(&run);
}

static void what_is_newest_is_told_before_during_and_after_a_window(void)
{
	static const char *const pages[] = {
		"tgi_queue_size 4\ntgi_request_success 10\n"
		"tgi_request_duration_sum 1\ntgi_request_duration_count 1\n",
		"tgi_queue_size 6\ntgi_request_success 30\n"
		"tgi_request_duration_sum 3\ntgi_request_duration_count 2\n",
		"tgi_queue_size 8\ntgi_request_success 30\n"
		"tgi_request_duration_sum 3\ntgi_request_duration_count 2\n",
		"tgi_request_success 35\ntgi_request_duration_sum 9\ntgi_request_duration_count "
		"4\n",
	};
	static const int64_t at_ms[] = { 1000, 2000, 3000, 4000 };
	struct arena run = { 0 };
	struct metrics_window *w = metrics_window_new();
	struct signal_page page = { 0 };
	struct err err;
	for (int i = 0; i < 3; i++)
		CHECK(metrics_window_add(w, str_of(pages[i]), at_ms[i] * NS_PER_MS, &err));
	metrics_window_report(w, "", 3 * NS_PER_S, INT64_MAX, &run, &page);
	const struct signal *s = row_of(&page, "server_requests_waiting");
	CHECK_NEAR(s->last, 8, 0);
	CHECK_INT(s->n_recent, 3);
	CHECK_NEAR(s->recent[0].t_s, -2, 1e-9);
	CHECK_INT(s->state, SIGNAL_NOT_COUNTED);
	s = row_of(&page, "server_requests_ok_per_s");
	CHECK_INT(s->n_recent, 2);
	CHECK_NEAR(s->recent[0].value, 20, 1e-9);
	CHECK_NEAR(s->last, 0, 0);
	CHECK_NEAR(s->total, 20, 0);
	CHECK(isnan(s->delta));
	/* of a distribution the newest mean, though it was an interval earlier */
	CHECK_NEAR(row_of(&page, "server_e2e_ms")->last, 2000, 1e-9);
	metrics_window_begin(w);
	CHECK(metrics_window_add(w, str_of(pages[3]), at_ms[3] * NS_PER_MS, &err));
	metrics_window_report(w, "", 3 * NS_PER_S, INT64_MAX, &run, &page);
	s = row_of(&page, "server_requests_ok_per_s");
	CHECK_NEAR(s->delta, 5, 0);
	CHECK_NEAR(s->last, 5, 1e-9);
	CHECK_NEAR(s->total, 25, 0);
	CHECK_INT(s->n_recent, 3);
	CHECK_NEAR(row_of(&page, "server_e2e_ms")->last, 3000, 1e-9);
	/* the gauge has gone from the page: it has no newest value, and had some */
	CHECK(isnan(row_of(&page, "server_requests_waiting")->last));
	CHECK_INT(row_of(&page, "server_requests_waiting")->n_recent, 3);
	metrics_window_free(w);
	arena_release(&run);
}

static void no_name_feeds_more_rows_than_there_is_room_for(void)
{
	struct metrics_match matches[METRICS_MATCHES_MAX];
	for (size_t i = 0; i < metrics_n_rows; i++) {
		struct str rest = str_of(metrics_rows[i].names);
		while (rest.len) {
			static const char *const prefixes[] = { "vllm:", "sglang:", "tgi_", "nv_",
				"te_", "llamacpp:", "trtllm:", "venturi_serve_" };
			char name[128];
			struct str one = str_cut(rest, '|', &rest);
			snprintf(name, sizeof(name), "%s%.*s%s", prefixes[metrics_rows[i].software],
			        STR_ARG(one),
			        metrics_rows[i].role == METRICS_HISTOGRAM ? "_sum" : "");
			CHECK(metrics_lookup(str_of(name), matches) > 0);
		}
	}
}

int main(void)
{
	TAP_RUN(the_names_of_every_engine_are_known);
	TAP_RUN(what_the_page_does_not_tell_is_said);
	TAP_RUN(a_gauge_is_taken_as_it_was_seen);
	TAP_RUN(what_was_never_a_number_is_not_counted);
	TAP_RUN(a_gauge_outside_the_window_does_not_count);
	TAP_RUN(a_counter_is_the_difference_and_its_rates);
	TAP_RUN(a_reset_loses_only_what_nobody_saw);
	TAP_RUN(the_buckets_of_a_histogram_are_reset_together);
	TAP_RUN(quantiles_are_interpolated_in_their_bucket);
	TAP_RUN(histograms_of_several_label_sets_add_up);
	TAP_RUN(what_is_no_page_of_metrics_is_refused);
	TAP_RUN(a_page_has_a_limit_of_series);
	TAP_RUN(a_long_run_is_thinned_not_lost);
	TAP_RUN(what_is_newest_is_told_before_during_and_after_a_window);
	TAP_RUN(no_name_feeds_more_rows_than_there_is_room_for);
	return tap_done();
}
