#include "diagnose/anchors.h"

#include <assert.h>

static const char rule_of_thumb[] = "rule of thumb";
static const char method[] = "the method: how a verdict is reached";
static const char tcp[] = "Linux acknowledges after 40 ms at the least (TCP_DELACK_MIN)";

static const struct anchor anchors[ANCHOR_COUNT] = {
	[ANCHOR_NOISE] = { "noise_ratio", 0.05, "ratio", method },
	[ANCHOR_NOISE_SPREADS] = { "noise_spreads", 2, "1", method },
	[ANCHOR_PAIRS] = { "pairs", 3, "1", method },
	[ANCHOR_REQUESTS] = { "requests_min", 5, "1", rule_of_thumb },
	[ANCHOR_FAILED] = { "failed_ratio", 0.5, "ratio", rule_of_thumb },
	[ANCHOR_NULL_CEILING] = { "null_ceiling_over_rate", 3, "ratio", method },
	[ANCHOR_CLIENT_THREAD] = { "client_thread_ratio", 0.9, "ratio", rule_of_thumb },
	[ANCHOR_CLIENT_WAITING] = { "client_waiting_ratio", 0.1, "ratio", rule_of_thumb },
	[ANCHOR_SECOND] = { "second_generator_over_one", 1.1, "ratio",
	        "beyond 1.05, and all of 3 above all of 3: 1 in 20 by chance" },
	[ANCHOR_LATENESS] = { "client_lateness_ms_p99", 1, "ms", rule_of_thumb },
	[ANCHOR_LATENESS_OF_P50] = { "client_lateness_of_p50", 0.05, "ratio", rule_of_thumb },
	[ANCHOR_LITTLE] = { "little_error_ratio", 0.05, "ratio", rule_of_thumb },
	[ANCHOR_CONNECTION_TURNS] = { "requests_per_connection", 4, "1",
	        "by then a fair server has answered on every connection" },
	[ANCHOR_OMISSION_DELAY] = { "dispatch_delay_over_latency", 0.10, "ratio", rule_of_thumb },
	[ANCHOR_OFFERED] = { "offered_minus_achieved", 0.02, "ratio", rule_of_thumb },
	[ANCHOR_NO_QUEUE] = { "waiting_ratio_none", 0.10, "ratio", rule_of_thumb },
	[ANCHOR_RAISED] = { "raised_load", 1.25, "ratio", rule_of_thumb },
	[ANCHOR_COLD] = { "cold_over_median", 3, "ratio", "case C03: 35 to 378" },
	[ANCHOR_COLD_EXCESS] = { "cold_excess_ms", 5, "ms", "less is not felt by anybody" },
	[ANCHOR_COLD_REQUESTS] = { "cold_requests", 20, "1", rule_of_thumb },
	[ANCHOR_ACK] = { "delayed_ack_ms", 40, "ms", tcp },
	[ANCHOR_ACK_LOW] = { "delayed_ack_ms_low", 38, "ms", tcp },
	[ANCHOR_ACK_HIGH] = { "delayed_ack_ms_high", 48, "ms",
	        "44 ms measured on loopback, timer ticks of 4 ms" },
	[ANCHOR_ACK_HITS] = { "delayed_ack_hits", 0.2, "ratio", rule_of_thumb },
	[ANCHOR_RECONNECT] = { "connections_over_requests", 0.5, "ratio", rule_of_thumb },
	[ANCHOR_CONNECT] = { "connect_over_p50", 0.05, "ratio", rule_of_thumb },
	[ANCHOR_CONNECT_NONE] = { "connect_over_p50_none", 0.02, "ratio", rule_of_thumb },
	[ANCHOR_BUFFERED_TTFT] = { "ttft_over_latency", 0.9, "ratio", "case C08" },
	[ANCHOR_BUFFERED_READ] = { "events_per_read", 4, "1", rule_of_thumb },
	[ANCHOR_BATCH_CONCURRENCY] = { "batch_concurrency", 8, "1", rule_of_thumb },
	[ANCHOR_BATCH_MEAN] = { "batch_mean", 1.5, "1", rule_of_thumb },
	[ANCHOR_BATCH_PAYS] = { "batch_of_8_over_1", 4, "ratio", "case C11: 1.5" },
	[ANCHOR_SLOTS_PINNED] = { "slots_pinned", 0.10, "ratio", rule_of_thumb },
	[ANCHOR_SLOTS_QUEUE] = { "slots_queue_ratio", 0.25, "ratio", rule_of_thumb },
	[ANCHOR_SLOTS_ITL] = { "itl_over_alone", 1.10, "ratio", rule_of_thumb },
	[ANCHOR_SLOTS_INTEGER] = { "slots_integer_max", 4, "1",
	        "above it every number lies within a tenth of an integer" },
	[ANCHOR_FLAT] = { "throughput_per_doubling", 1.05, "ratio", rule_of_thumb },
	[ANCHOR_WAITING] = { "waiting_ratio", 0.70, "ratio", "case C17: 0.98" },
	[ANCHOR_PROPORTION] = { "latency_proportion_error", 0.15, "ratio", rule_of_thumb },
	[ANCHOR_FOLLOWS] = { "throughput_over_ideal", 0.5, "ratio", rule_of_thumb },
	[ANCHOR_TAIL] = { "p99_over_alone", 4, "ratio", rule_of_thumb },
	[ANCHOR_FAR_OVER_SLA] = { "latency_over_target", 4, "ratio", rule_of_thumb },
};

const struct anchor *anchor_at(enum anchor_id id)
{
	assert(id >= 0 && id < ANCHOR_COUNT);
	return &anchors[id];
}

double anchor(enum anchor_id id)
{
	return anchor_at(id)->value;
}
