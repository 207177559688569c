/*
 * fuzz_xplane.c - any bytes as an XPlane file.
 */
#include "trace_reads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as_trace(&xplane_reader, data, size);
	return 0;
}
