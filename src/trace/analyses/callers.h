/*
 * callers.h - which operators had a piece of device work done: the innermost around its launch and
 * those around that. For the analyses.
 */
#ifndef VENTURI_TRACE_ANALYSES_CALLERS_H
#define VENTURI_TRACE_ANALYSES_CALLERS_H

#include "trace/view/view.h"

enum { CALLERS_MAX_DEPTH = 64 }; /* of operators within operators that are looked at */

/* GROUP_OPERATOR; NONE32 where the launch or its operator is not in the trace. */
static inline uint32_t caller_of(const struct trace_view *v, uint32_t device_event)
{
	uint32_t call = v->launch[device_event];
	return call == NONE32 ? NONE32 : v->call_operator[call];
}

static inline const struct event *operator_event(const struct trace_view *v, uint32_t op)
{
	return op == NONE32 ? NULL : &v->t->lists[GROUP_OPERATOR].v[op];
}

/* What the operator is: the type of a node where there is one, else its name. Number in names. */
static inline uint32_t operator_type(const struct timeline *t, const struct event *op)
{
	const struct operator_detail *o = timeline_operator(t, op);
	return o && o->op_type ? o->op_type : op->name;
}

static inline uint32_t operator_dims(const struct timeline *t, const struct event *op)
{
	const struct operator_detail *o = op ? timeline_operator(t, op) : NULL;
	return o ? o->dims : 0;
}

#endif
