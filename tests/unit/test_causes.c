/*
 * The catalogue against the list of causes that the project has agreed on, typed here a second
 * time: a row that is lost, doubled or moved shows.
 */
#include "tap.h"

#include "diagnose/anchors.h"
#include "diagnose/cause.h"

static const struct {
	const char *id;
	char layer;
} agreed[] = {
	{ "client_saturated", 'C' },
	{ "client_conn_limit", 'C' },
	{ "coordinated_omission", 'C' },
	{ "cold_start", 'F' },
	{ "config_mismatch", 'F' },
	{ "offered_load_low", 'C' },
	{ "tokenize_blocks_loop", 'F' },
	{ "sync_preprocess", 'F' },
	{ "preprocess_cpu_bound", 'S' },
	{ "host_step_serial", 'F' },
	{ "interpreter_lock", 'F' },
	{ "runtime_gc_pause", 'F' },
	{ "serialize_cost", 'F' },
	{ "detokenize_cost", 'F' },
	{ "sampling_on_host", 'F' },
	{ "nagle_delayed_ack", 'S' },
	{ "no_keepalive", 'S' },
	{ "stream_buffering", 'S' },
	{ "observer_overhead", 'F' },
	{ "load_imbalance", 'S' },
	{ "no_batching", 'F' },
	{ "batch_delay_too_long", 'F' },
	{ "batch_size_off_sla", 'F' },
	{ "padding_waste", 'F' },
	{ "static_batch_straggler", 'F' },
	{ "prefill_starves_decode", 'F' },
	{ "long_request_hol", 'F' },
	{ "queue_saturation", 'F' },
	{ "arrival_burst", 'F' },
	{ "too_few_slots", 'F' },
	{ "dynamic_shape_recompile", 'F' },
	{ "spec_decode_low_accept", 'F' },
	{ "adapter_swap", 'F' },
	{ "prefix_cache_miss", 'F' },
	{ "kv_preemption", 'F' },
	{ "kv_capacity_limit", 'F' },
	{ "gpu_mem_fragmentation", 'F' },
	{ "host_memory_growth", 'F' },
	{ "cpu_offload", 'F' },
	{ "host_paging", 'S' },
	{ "model_reload", 'F' },
	{ "per_step_copies", 'F' },
	{ "pageable_copy", 'F' },
	{ "numa_remote", 'S' },
	{ "hugepage_misfit", 'S' },
	{ "thread_oversubscription", 'S' },
	{ "cgroup_cpu_throttle", 'S' },
	{ "cpu_affinity_wrong", 'S' },
	{ "cpu_contention", 'S' },
	{ "clock_low", 'S' },
	{ "gpu_shared", 'S' },
	{ "pcie_degraded", 'S' },
	{ "tp_comm_bound", 'S' },
	{ "launch_bound", 'O' },
	{ "op_cpu_fallback", 'O' },
	{ "layout_copies", 'O' },
	{ "unfused_graph", 'O' },
	{ "precision_fallback", 'O' },
	{ "quant_no_gain", 'O' },
	{ "kernel_choice_bad", 'O' },
	{ "denormal_stall", 'O' },
	{ "mem_bandwidth_bound", 'A' },
	{ "compute_bound", 'A' },
};

static void the_catalogue_has_the_63_agreed_causes_in_their_order(void)
{
	CHECK_INT(sizeof(agreed) / sizeof(agreed[0]), CAUSE_COUNT);
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		if (!CHECK(cause_at(i) != NULL))
			return;
		CHECK_STR(cause_at(i)->id, agreed[i].id);
		CHECK_INT(cause_at(i)->layer, agreed[i].layer);
	}
	CHECK(cause_at(CAUSE_COUNT) == NULL);
}

static void every_cause_appears_once(void)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		CHECK(cause_by_id(cause_at(i)->id) == cause_at(i));
	CHECK(cause_by_id("no_such_cause") == NULL);
}

static bool is_filled(const char *text)
{
	return text && text[0];
}

static void every_row_is_complete(void)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		const struct cause *c = cause_at(i);
		bool complete = is_filled(c->name) && is_filled(c->check) && is_filled(c->needs) &&
		                is_filled(c->experiment) && is_filled(c->fix) &&
		                is_filled(c->gain) && cause_layer_name(c->layer);
		if (!CHECK(complete))
			printf("#   row '%s'\n", c->id);
	}
}

static void groups_stand_in_the_order_of_cure(void)
{
	static const struct {
		char letter;
		int n;
	} groups[] = { { 'M', 6 }, { 'D', 14 }, { 'B', 14 }, { 'R', 11 }, { 'S', 8 }, { 'O', 8 },
		{ 'A', 2 } };
	size_t i = 0;
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (int k = 0; k < groups[g].n; k++)
			CHECK_INT(cause_letter_at(i++), groups[g].letter);
	CHECK_INT(i, CAUSE_COUNT);
	CHECK_INT(cause_letter_at(CAUSE_COUNT), 0);
}

static void texts_are_sentences_that_end_in_a_full_stop(void)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		const struct cause *c = cause_at(i);
		const char *texts[] = { c->check, c->needs, c->experiment, c->fix };
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			bool stop = texts[k][strlen(texts[k]) - 1] == '.';
			if (!CHECK(stop))
				printf("#   row '%s': %s\n", c->id, texts[k]);
		}
	}
}

static void every_anchor_has_a_name_a_unit_and_an_origin(void)
{
	for (int i = 0; i < ANCHOR_COUNT; i++) {
		const struct anchor *a = anchor_at((enum anchor_id)i);
		if (!CHECK(is_filled(a->name) && is_filled(a->unit) && is_filled(a->origin) &&
		            a->value > 0))
			printf("#   anchor %d\n", i);
	}
}

int main(void)
{
	TAP_RUN(the_catalogue_has_the_63_agreed_causes_in_their_order);
	TAP_RUN(every_cause_appears_once);
	TAP_RUN(every_row_is_complete);
	TAP_RUN(groups_stand_in_the_order_of_cure);
	TAP_RUN(texts_are_sentences_that_end_in_a_full_stop);
	TAP_RUN(every_anchor_has_a_name_a_unit_and_an_origin);
	return tap_done();
}
