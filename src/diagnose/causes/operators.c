#include "diagnose/cause.h"

#include "base/i18n.h"
#include "diagnose/trace_facts.h"

static const struct cause rows[] = {
	{
	        .id = "launch_bound",
	        .name = N_("launch-bound small kernels"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check = N_("Launching takes at least as long as the device is busy; the median "
	                    "kernel is shorter than 10 µs."),
	        .needs = N_("Needs a device trace with its launches."),
	        .experiment = N_("Double the batch: the step stays the same; capturing the graph "
	                         "shortens it."),
	        .fix = N_("Capture graphs, fuse operators, enlarge the batch."),
	        .gain = "G9",
	        .examine = examine_by_trace,
	},
	{
	        .id = "op_cpu_fallback",
	        .name = N_("operator falls back to CPU"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Operators run on the processor inside a device graph, with copies around "
	                "them."),
	        .needs = N_("Needs an operator trace that names the device of each operator."),
	        .experiment = N_("Replace the operator, or run everything on the processor."),
	        .fix = N_("Write a kernel for it, use another operator, update the engine."),
	        .gain = "G1",
	        .examine = examine_by_trace,
	},
	{
	        .id = "layout_copies",
	        .name = N_("layout and reshape copies"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Transposes, reorders and reformats take 10 % of operator time or more."),
	        .needs = N_("Needs an operator trace."),
	        .experiment = N_("Use the other layout, in both directions."),
	        .fix = N_("Keep one layout, fold transposes."),
	        .gain = "G1",
	        .examine = examine_by_trace,
	},
	{
	        .id = "unfused_graph",
	        .name = N_("graph not fused"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Element-wise and norm operators take a fifth of the time and nothing is "
	                "fused."),
	        .needs = N_("Needs an operator trace."),
	        .experiment = N_("Switch fusion on and off, and compare the outputs."),
	        .fix = N_("Turn fusion on, export the model so that its patterns match."),
	        .gain = "G8",
	        .examine = examine_by_trace,
	},
	{
	        .id = "precision_fallback",
	        .name = N_("wider type than configured"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "Operators compute in a wider type than configured; casts appear; matrix "
	                "units stay unused."),
	        .needs = N_("Needs an operator trace with types, and the configured precision."),
	        .experiment = N_("Force the type, and compare the outputs."),
	        .fix = N_("Mend constants, casts and islands of the wider type."),
	        .gain = "G8",
	        .examine = examine_by_trace,
	},
	{
	        .id = "quant_no_gain",
	        .name = N_("quantisation without gain"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check = N_("Quantising and dequantising take a notable share, or the instructions "
	                    "for the type are missing."),
	        .needs = N_("Needs an operator trace and the instruction set of the machine."),
	        .experiment = N_("Compare both precisions at batch 1 and at a large batch."),
	        .fix = N_("Use another format or kernel, fuse, quantise only what memory limits."),
	        .gain = "G8",
	        .examine = examine_by_trace,
	},
	{
	        .id = "kernel_choice_bad",
	        .name = N_("poor kernel or back end"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check = N_(
	                "An operator reaches less than 30 % of its roofline where the best known "
	                "one exceeds 60 %."),
	        .needs = N_("Needs an operator trace with shapes, and the measured peaks of the "
	                    "machine."),
	        .experiment = N_("Force another algorithm for the operator."),
	        .fix = N_("Update the library, set flags, tune the algorithm, build for the "
	                  "machine."),
	        .gain = "G8",
	        .examine = examine_by_trace,
	},
	{
	        .id = "denormal_stall",
	        .name = N_("denormal numbers"),
	        .layer = 'O',
	        .acts = ACTS_ALONE,
	        .check =
	                N_("The time depends on values and not on shapes; values lie between 1e-45 "
	                   "and 1e-38."),
	        .needs = N_("Needs floating-point assist counters, or a look at the values."),
	        .experiment = N_("Flush denormals to zero."),
	        .fix = N_("Flush to zero in every worker thread."),
	        .gain = "measured",
	},
};

const struct cause_group cause_group_operators = { 'O', rows, ARRAY_LEN(rows) };
