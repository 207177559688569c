#include "serve/gateway_service.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "serve/faults.h"

#include <string.h>

enum { IN_FLIGHT_DEFAULT = 2 };

#define TIMEOUT_DEFAULT_NS (300 * NS_PER_S)

static const struct opt rows[] = {
	{ .type = OPT_HEADING, .help = N_("To stand in front of another service") },
	{ OPT(struct gateway_args, in_flight, OPT_INT, 0, "upstream-in-flight", N_("N"),
	          N_("merged calls at once to each upstream (default 2)")),
	        .min = 1, .max = 10000 },
	{ OPT(struct gateway_args, pass_in_flight, OPT_INT, 0, "pass-in-flight", N_("N"),
	          N_("other requests at once to each upstream; more wait (default 0: no limit)")),
	        .min = 0, .max = 1e6 },
	{ OPT(struct gateway_args, timeout_ns, OPT_DURATION, 0, "upstream-timeout", N_("DURATION"),
	          N_("an upstream that is silent for so long has failed (default 5m)")),
	        .min = 0.001, .max = 86400 },
	{ OPT(struct gateway_args, balance, OPT_CHOICE, 0, "upstream-balance", "least|round-robin",
	          N_("whose turn it is: the one with the fewest calls in flight, or the next")),
	        .choices = "least|round-robin" },
	{ OPT(struct gateway_args, health, OPT_STRING, 0, "upstream-health", N_("PATH"),
	        N_("where an upstream is asked whether it is well (default /health)")) },
	{ OPT(struct gateway_args, insecure, OPT_FLAG, 0, "upstream-insecure", NULL,
	        N_("do not verify the certificates of upstreams")) },
	{ OPT(struct gateway_args, tokenizer, OPT_STRING, 0, "tokenizer", N_("FILE"),
	        N_("count tokens with this tokenizer.json or GGUF; without, they are "
	           "estimated")) },
};

const struct gateway_args gateway_args_default = {
	.balance = "least",
	.health = "/health",
	.in_flight = IN_FLIGHT_DEFAULT,
	.timeout_ns = TIMEOUT_DEFAULT_NS,
};

const struct opt *gateway_opt_rows(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(rows);
	return rows;
}

static bool is_given(const struct gateway_args *args)
{
	struct gateway_args others = *args;
	others.urls = gateway_args_default.urls;
	for (size_t i = 1; i < ARRAY_LEN(rows); i++) {
		const struct opt *o = &rows[i];
		/* Texts by address: one that the user wrote is never the default's. */
		size_t n = o->type == OPT_FLAG ? sizeof(bool) : sizeof(int64_t);
		if (memcmp((const char *)&others + o->offset,
		            (const char *)&gateway_args_default + o->offset, n) != 0)
			return true;
	}
	return false;
}

bool gateway_args_check(const struct gateway_args *args, struct err *err)
{
	if (args->urls.n == 0 && is_given(args))
		return err_set(
		        err, ERR_USAGE, "%s", _("the options about upstreams need '--upstream'"));
	if (args->health[0] != '/')
		return err_set(err, ERR_USAGE, _("'%s' must begin with '/'"), "--upstream-health");
	return true;
}

bool gateway_service_open(const struct gateway_args *args, const struct encode_plan *plan,
        const struct faults *faults, struct metrics *metrics, struct executor **ret_x,
        struct err *err)
{
	struct gateway_options options = {
		.urls = args->urls.items,
		.n_urls = args->urls.n,
		.insecure = args->insecure,
		.round_robin = strcmp(args->balance, "round-robin") == 0,
		.timeout_ns = args->timeout_ns,
		.in_flight = args->in_flight,
		.pass_in_flight = args->pass_in_flight,
		.deadline_ns = plan->serving.deadline_ns,
		.health_path = args->health,
		.tokenizer = args->tokenizer,
		.batching = plan->batching,
		.unbalanced_ratio = faults->unbalanced_ratio,
	};
	options.batching.padded = !plan->serving.packed;
	return gateway_open(&options, metrics, ret_x, err);
}
