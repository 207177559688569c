/*
 * signal_json.h - the one way in which a signal is written as JSON, whoever read it: a service's
 * page of metrics or this machine.
 */
#ifndef VENTURI_REPORT_SIGNAL_JSON_H
#define VENTURI_REPORT_SIGNAL_JSON_H

#include "record/signal.h"

#include <stdbool.h>

struct json;

/*
 * An object: name, unit, source, page, state; instance, reason, delta, last, text and series where
 * there are such. What has no values has none of their figures, but a reason.
 */
void signal_json(struct json *j, const struct signal *s, bool series);
void signal_json_page(struct json *j, const struct signal_page *page);

#endif
