#include "diagnose/cause.h"

#include "base/i18n.h"
#include "diagnose/trace_facts.h"

static const struct cause rows[] = {
	{
	        .id = "mem_bandwidth_bound",
	        .name = N_("memory-bandwidth bound"),
	        .layer = 'A',
	        .acts = ACTS_ALONE,
	        .check = N_("A step moves its bytes at 70 % of the measured bandwidth or more."),
	        .needs = N_("Needs an operator trace and the measured memory bandwidth of the "
	                    "machine."),
	        .experiment =
	                N_("Double the batch: the step grows by less than a fifth; or halve the "
	                   "bytes of the weights."),
	        .fix = N_("Quantise, batch, quantise the KV cache, share KV heads, speculate."),
	        .gain = "G8",
	        .examine = examine_by_trace,
	},
	{
	        .id = "compute_bound",
	        .name = N_("compute bound"),
	        .layer = 'A',
	        .acts = ACTS_ALONE,
	        .check = N_("A step reaches 60 % of the measured peak arithmetic or more."),
	        .needs = N_("Needs an operator trace and the measured peak arithmetic of the "
	                    "machine."),
	        .experiment = N_("Lower the core clock by a tenth: time grows by a tenth."),
	        .fix = N_("Lower the precision, shrink or prune the model, add devices."),
	        .gain = "G8",
	        .examine = examine_by_trace,
	},
};

const struct cause_group cause_group_limits = { 'A', rows, ARRAY_LEN(rows) };
