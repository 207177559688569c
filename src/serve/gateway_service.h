/*
 * gateway_service.h - a gateway as the options of the command line want it.
 */
#ifndef VENTURI_SERVE_GATEWAY_SERVICE_H
#define VENTURI_SERVE_GATEWAY_SERVICE_H

#include "base/opt.h"
#include "serve/encode_service.h"
#include "serve/gateway.h"

enum { GATEWAY_BATCH_TOKENS = 16384 }; /* of a call, when not said */

/* What the user wrote. */
struct gateway_args {
	struct opt_list urls; /* empty: no gateway is wanted */
	const char *balance, *health, *tokenizer;
	int64_t in_flight, pass_in_flight, timeout_ns;
	bool insecure;
};

extern const struct gateway_args gateway_args_default;

/* The rows of struct gateway_args; that of --upstream is not among them. */
const struct opt *gateway_opt_rows(size_t *ret_n);

/* errors   ERR_USAGE that names the option */
bool gateway_args_check(const struct gateway_args *args, struct err *err) NODISCARD;

/* How it batches is said by the options that encoders share. */
bool gateway_service_open(const struct gateway_args *args, const struct encode_plan *plan,
        const struct faults *faults, struct metrics *metrics, struct executor **ret_x,
        struct err *err) NODISCARD;

#endif
