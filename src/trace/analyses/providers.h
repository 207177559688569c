/*
 * providers.h - where an operator ran, as ONNX Runtime's profiles tell it.
 */
#ifndef VENTURI_TRACE_ANALYSES_PROVIDERS_H
#define VENTURI_TRACE_ANALYSES_PROVIDERS_H

#include "trace/view/view.h"

/* Whether any operator tells: only ONNX Runtime's do. */
bool trace_tells_providers(const struct trace_view *v);

#endif
