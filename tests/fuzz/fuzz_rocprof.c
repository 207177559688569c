/*
 * fuzz_rocprof.c - any bytes as JSON or CSV of rocprof.
 */
#include "trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_check_bytes(data, size);
	return 0;
}
