/*
 * fuzz_ncu.c - any bytes as a table of Nsight Compute.
 */
#include "trace_reads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as_trace(&ncu_reader, data, size);
	return 0;
}
