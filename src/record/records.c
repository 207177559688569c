#include "record/records.h"

const char *records_outcome_name(int outcome)
{
	static const char *const names[] = { [RECORDS_OK] = "ok", [RECORDS_CENSORED] = "censored" };
	return outcome < RECORDS_FAILED ? names[outcome]
	                                : load_failure_names[outcome - RECORDS_FAILED];
}

/* A time from sending, of a stamp that may be missing. */
static bool since_sent(const struct records_request *r, int64_t stamp_ns, int64_t *ret_ns)
{
	if (stamp_ns == RECORDS_NONE)
		return false;
	*ret_ns = stamp_ns - r->sent_ns;
	return true;
}

static bool tpot(const struct records_request *r, int64_t *ret_ns)
{
	int64_t tokens = r->output_tokens == RECORDS_NONE ? 0 : r->output_tokens;
	if (r->first_token_ns == RECORDS_NONE || tokens <= r->first_tokens)
		return false;
	*ret_ns = (r->last_token_ns - r->first_token_ns) / (tokens - r->first_tokens);
	return true;
}

bool records_metric_ns(const struct records_request *r, enum load_metric metric, int64_t *ret_ns)
{
	switch (metric) {
	case LOAD_LATENCY:
		*ret_ns = r->end_ns - r->sent_ns;
		return true;
	case LOAD_RESPONSE:
		*ret_ns = r->end_ns - r->planned_ns;
		return true;
	case LOAD_TTFB:
		return since_sent(r, r->first_byte_ns, ret_ns);
	case LOAD_TTFT:
		return since_sent(r, r->first_token_ns, ret_ns);
	case LOAD_TTFO:
		return since_sent(r, r->first_visible_ns, ret_ns);
	case LOAD_WORST_GAP:
		*ret_ns = r->worst_gap_ns;
		return r->token_events > 1;
	case LOAD_TPOT:
		return tpot(r, ret_ns);
	case LOAD_ITL:
	case LOAD_N_METRICS:
		break;
	}
	return false;
}
