/* What an encoder does badly when it is told to, beside its products (linear_faults.c). */
#include "engine/encoder_parts.h"

#include <string.h>

bool encoder_faults_need_operators(const struct engine_faults *f)
{
	return f->recompile || f->dequantize || f->reorders || f->pieces || f->dispatch_ns ||
	       f->alloc_churn || f->cold;
}

void encoder_faults_step(struct encoder_session *s)
{
	size_t bytes = (size_t)s->e->options.faults.copy_bytes;
	for (int i = 0; bytes && i < 2; i++) {
		int64_t start = profile_start(s->profile);
		memcpy(s->copies[1 - i], s->copies[i], bytes);
		profile_copy(s->profile, i == 0, (int64_t)bytes, start);
	}
}
