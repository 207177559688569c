#include "serve/faults.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/wrap.h"

#include <string.h>

enum { LIST_INDENT = 4, LIST_WIDTH = 100 };

#define AT(field) .offset = offsetof(struct faults, field)
#define STALL_LEAST_NS (1 * NS_PER_MS) /* also between two of them */

static const char *const isas[] = { "plain", "avx2", "avx512", NULL };

/* docs/faults.md has a row for each, tests/cli/faults*.bats a test. */
static const struct fault rows[] = {
	{ "cold", "cold_start", FAULT_COUNT, FAULT_ENCODER, AT(engine.cold), "N", .min = 1,
	        .max = 1e6, .help = N_("the first N batches prepare the weights anew") },
	{ "connections", "client_conn_limit", FAULT_COUNT, FAULT_ANYWHERE, AT(wire.connections_max),
	        "N", .min = 1, .max = 1e6,
	        .help = N_("N connections are accepted, more wait outside") },
	{ "tokenize-inline", "tokenize_blocks_loop", FAULT_COUNT, FAULT_ENCODER,
	        AT(tokenize_repeat), "N", "1", .min = 1, .max = 1e4,
	        .help = N_("texts are tokenised N times where the connections are served") },
	{ "prepare-serial", "sync_preprocess", FAULT_US, FAULT_ENCODER, AT(prepare_serial_us),
	        "TIME", .min = 1e-6, .max = 60,
	        .help = N_("so much CPU time for each text between two batches") },
	{ "prepare", "preprocess_cpu_bound", FAULT_US, FAULT_ENCODER, AT(prepare_us), "TIME",
	        .min = 1e-6, .max = 60,
	        .help = N_("so much CPU time for each text where it is tokenised") },
	{ "collect", "host_step_serial", FAULT_US, FAULT_ENCODER, AT(collect_us), "TIME",
	        .min = 1e-6, .max = 60,
	        .help = N_("so much CPU time for each text of a batch before the next batch") },
	{ "global-lock", "interpreter_lock", FAULT_FLAG, FAULT_ENCODER, AT(global_lock),
	        .help = N_("one lock around all work on a request") },
	{ "stall", "runtime_gc_pause", FAULT_STALL, FAULT_ANYWHERE, AT(stall_every_ns), "EVERY,FOR",
	        .help = N_("all threads stop together, every so often for so long") },
	{ "serialize", "serialize_cost", FAULT_COUNT, FAULT_ANYWHERE, AT(serialize_repeat), "N",
	        .min = 2, .max = 1e6, .help = N_("each answer is written N times") },
	{ "nagle", "nagle_delayed_ack", FAULT_FLAG, FAULT_ANYWHERE, AT(wire.nagle),
	        .help = N_("header and body in two writes, with Nagle's algorithm on") },
	{ "close", "no_keepalive", FAULT_FLAG, FAULT_ANYWHERE, AT(wire.close),
	        .help = N_("the connection ends after each answer") },
	{ "buffer-stream", "stream_buffering", FAULT_SIZE,
	        FAULT_DECODER | FAULT_SIMULATED | FAULT_GATEWAY, AT(wire.buffer_bytes), "SIZE",
	        "16KiB", .min = 1, .max = 1e9,
	        .help = N_("a stream is held back until so much is together") },
	{ "log-sync", "observer_overhead", FAULT_COUNT, FAULT_ANYWHERE, AT(log_sync), "N", "1",
	        .min = 1, .max = 1000,
	        .help = N_("N lines are written and synced to disk for each request") },
	{ "unbalanced", "load_imbalance", FAULT_RATIO, FAULT_GATEWAY, AT(unbalanced_ratio), "RATIO",
	        "0.8", .min = 0.01, .max = 1,
	        .help = N_("a gateway sends this share to its first upstream") },
	{ "pad-to", "padding_waste", FAULT_COUNT, FAULT_ENCODER, AT(pad_to), "N", .min = 1,
	        .max = 1e6, .help = N_("every text is padded to N tokens at least") },
	{ "slots", "too_few_slots", FAULT_COUNT, FAULT_ANYWHERE, AT(slots), "N", .min = 1,
	        .max = 1e6, .help = N_("N requests are let in, more wait before the queue") },
	{ "recompile", "dynamic_shape_recompile", FAULT_COUNT, FAULT_ENCODER, AT(engine.recompile),
	        "N", "1", .min = 1, .max = 1e6,
	        .help = N_("each new shape is prepared N times over, and soon forgotten") },
	{ "alloc-churn", "gpu_mem_fragmentation", FAULT_FLAG, FAULT_ENCODER, AT(engine.alloc_churn),
	        .help = N_("operators take their memory new each time") },
	{ "leak", "host_memory_growth", FAULT_SIZE, FAULT_ANYWHERE, AT(leak_bytes), "SIZE",
	        .min = 1, .max = 1e9, .help = N_("each request leaves so much memory behind") },
	{ "retain", "host_memory_growth", FAULT_SIZE, FAULT_ANYWHERE, AT(retain_bytes), "SIZE",
	        .min = 1, .max = 1e9,
	        .help = N_("each request frees so much memory in pieces that cannot be reused") },
	{ "reload-idle", "model_reload", FAULT_NS, FAULT_ENCODER, AT(reload_idle_ns), "TIME",
	        .min = 0.001, .max = 3600,
	        .help = N_("the weights are dropped after so much idleness") },
	{ "copy-per-step", "per_step_copies", FAULT_SIZE, FAULT_ENCODER, AT(engine.copy_bytes),
	        "SIZE", .min = 1, .max = 16e9,
	        .help = N_("so much is copied there and back in each batch") },
	{ "oversubscribe", "thread_oversubscription", FAULT_COUNT, FAULT_ENCODER, AT(oversubscribe),
	        "K", "8", .min = 1, .max = 64,
	        .help = N_("K times as many computing threads as CPUs, which spin while they "
	                   "wait") },
	{ "pieces", "launch_bound", FAULT_COUNT, FAULT_ENCODER, AT(engine.pieces), "N", .min = 2,
	        .max = 1e6, .help = N_("each operator is cut into N pieces") },
	{ "dispatch", "launch_bound", FAULT_NS, FAULT_ENCODER, AT(engine.dispatch_ns), "TIME",
	        .min = 1e-9, .max = 1,
	        .help = N_("so much CPU time to start each operator, or each of its pieces") },
	{ "reorders", "layout_copies", FAULT_COUNT, FAULT_ENCODER, AT(engine.reorders), "N", "1",
	        .min = 1, .max = 1e6,
	        .help = N_("activations are transposed N times before and after each layer") },
	{ "wide", "precision_fallback", FAULT_FLAG, FAULT_ENCODER, AT(engine.wide),
	        .help = N_("products in float32 whatever --weights says") },
	{ "wide-attention", "precision_fallback", FAULT_FLAG, FAULT_ENCODER,
	        AT(engine.wide_attention), .help = N_("attention in float64") },
	{ "dequantize", "quant_no_gain", FAULT_FLAG, FAULT_ENCODER, AT(engine.dequantize),
	        .help = N_("weights are turned into float32 at every use") },
	{ "isa", "kernel_choice_bad", FAULT_CHOICE, FAULT_ENCODER, AT(engine.isa),
	        "plain|avx2|avx512", .choices = isas, .help = N_("no instructions beyond these") },
	{ "naive-attention", "kernel_choice_bad", FAULT_FLAG, FAULT_ENCODER,
	        AT(engine.naive_attention), .help = N_("attention as three plain loops") },
	{ "denormals", "denormal_stall", FAULT_FLAG, FAULT_ENCODER, AT(engine.denormal),
	        .help = N_("values of 1e-39 in padding and weights") },
	{ "idle-spin", NULL, FAULT_FLAG, FAULT_ANYWHERE, AT(idle_spin),
	        .help = N_("a decoy: a busy thread that makes way for everybody") },
	{ "file-reading", NULL, FAULT_FLAG, FAULT_ANYWHERE, AT(file_reading),
	        .help = N_("a decoy: page faults from disk that no request waits for") },
};

const struct fault *faults_table(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(rows);
	return rows;
}

static const struct fault *find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_eq(name, str_of(rows[i].name)))
			return &rows[i];
	return NULL;
}

static bool in_range(const struct fault *f, double value, struct err *err)
{
	if (value >= f->min && value <= f->max)
		return true;
	if (f->kind == FAULT_US || f->kind == FAULT_NS)
		return err_set(err, ERR_USAGE,
		        _("the fault '%s' must be between %.15g s and %.15g s"), f->name, f->min,
		        f->max);
	return err_set(err, ERR_USAGE, _("the fault '%s' must be between %.15g and %.15g"), f->name,
	        f->min, f->max);
}

static bool misread(const struct fault *f, struct str text, struct err *err)
{
	return err_set(err, ERR_USAGE, _("the fault '%s' takes %s, not '%.*s'"), f->name, f->value,
	        STR_ARG(text));
}

static bool read_stall(
        const struct fault *f, struct str text, struct faults *faults, struct err *err)
{
	struct str for_, every = str_cut(text, ',', &for_);
	if (!units_parse_duration(every, &faults->stall_every_ns) ||
	        !units_parse_duration(for_, &faults->stall_for_ns))
		return misread(f, text, err);
	if (faults->stall_for_ns < STALL_LEAST_NS ||
	        faults->stall_every_ns < faults->stall_for_ns + STALL_LEAST_NS)
		return err_set(err, ERR_USAGE,
		        _("the fault '%s' needs a pause of 1 ms at least, and as much between two "
		          "of them"),
		        f->name);
	return true;
}

static bool read_choice(const struct fault *f, struct str text, const char **ret, struct err *err)
{
	for (size_t i = 0; f->choices[i]; i++) {
		if (!str_eq(text, str_of(f->choices[i])))
			continue;
		*ret = f->choices[i];
		return true;
	}
	return misread(f, text, err);
}

static bool read_time(const struct fault *f, struct str text, int64_t *ret, struct err *err)
{
	int64_t ns;
	if (!units_parse_duration(text, &ns))
		return misread(f, text, err);
	*ret = f->kind == FAULT_US ? ns / NS_PER_US : ns;
	return in_range(f, (double)ns / (double)NS_PER_S, err);
}

static bool read_value(
        const struct fault *f, struct str text, struct faults *faults, struct err *err)
{
	void *at = (char *)faults + f->offset;
	switch (f->kind) {
	case FAULT_FLAG:
		break;
	case FAULT_COUNT:
		return str_to_i64(text, at) ? in_range(f, (double)*(int64_t *)at, err)
		                            : misread(f, text, err);
	case FAULT_SIZE:
		return units_parse_size(text, at) ? in_range(f, (double)*(int64_t *)at, err)
		                                  : misread(f, text, err);
	case FAULT_RATIO:
		return str_to_double(text, at) ? in_range(f, *(double *)at, err)
		                               : misread(f, text, err);
	case FAULT_US:
	case FAULT_NS:
		return read_time(f, text, at, err);
	case FAULT_CHOICE:
		return read_choice(f, text, at, err);
	case FAULT_STALL:
		return read_stall(f, text, faults, err);
	}
	*(bool *)at = true;
	return true;
}

static bool read_fault(
        struct str given, enum fault_place place, struct faults *faults, struct err *err)
{
	struct str value, name = str_cut(given, '=', &value);
	bool has_value = name.len < given.len;
	const struct fault *f = find(name);
	if (!f) {
		err_set(err, ERR_USAGE, _("there is no fault '%.*s'"), STR_ARG(name));
		return err_hint(err, "%s", _("venturi-serve --list-faults lists them"));
	}
	if (!(f->places & place))
		return err_set(err, ERR_USAGE,
		        _("the fault '%s' has no effect on what is served here"), f->name);
	if (f->kind == FAULT_FLAG && has_value)
		return err_set(err, ERR_USAGE, _("the fault '%s' takes no value"), f->name);
	if (f->kind != FAULT_FLAG && !has_value) {
		if (!f->otherwise)
			return err_set(err, ERR_USAGE, _("the fault '%s' needs a value (%s)"),
			        f->name, f->value);
		value = str_of(f->otherwise);
	}
	return read_value(f, value, faults, err);
}

bool faults_parse(const struct opt_list *given, enum fault_place place, struct faults *ret_faults,
        struct err *err)
{
	struct faults faults = { 0 };
	for (size_t i = 0; i < given->n; i++)
		if (!read_fault(str_of(given->items[i]), place, &faults, err))
			return false;
	*ret_faults = faults;
	return true;
}

void faults_spoil_wire(const struct faults *f, struct wire *wire)
{
	wire->nagle |= f->wire.nagle;
	wire->close |= f->wire.close;
	if (f->wire.buffer_bytes)
		wire->buffer_bytes = f->wire.buffer_bytes;
	if (f->wire.connections_max)
		wire->connections_max = f->wire.connections_max;
}

static void list_row(const struct fault *f, struct buf *out)
{
	buf_add_c(out, f->name);
	if (f->value)
		buf_printf(out, f->otherwise ? "[=%s]" : "=%s", f->value);
	buf_printf(out, "  %s\n", f->cause ? f->cause : "");
	buf_add_blanks(out, LIST_INDENT);
	wrap_text(out, str_of(_(f->help)), LIST_INDENT, LIST_INDENT, LIST_WIDTH);
}

void faults_list(struct buf *out)
{
	buf_printf(out, "%s\n\n", _("Faults, each with the cause that it makes:"));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		list_row(&rows[i], out);
}
