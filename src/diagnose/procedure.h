/*
 * procedure.h - which loads are applied, in which order and for how long.
 *
 * First contact, one request at a time, a ramp of concurrencies around the load in use, the
 * generator's own ceiling, and then interleaved pairs: half the load when the service is at fault,
 * more load when it is not, quick acknowledgements when delays near 40 ms were seen. Everything
 * stays inside the budget; what there is no time for is left out.
 */
#ifndef VENTURI_DIAGNOSE_PROCEDURE_H
#define VENTURI_DIAGNOSE_PROCEDURE_H

#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"

/*
 * errors   of the first measurement only; later ones end the procedure and leave the evidence
 *          partial
 */
bool procedure_run(const struct diagnose_config *config, const struct diagnose_hooks *hooks,
        struct load *load, struct arena *run, struct evidence *ret, struct err *err) NODISCARD;

/*
 * The concurrencies of the ramp beyond 1, in ascending order: powers of two up to 64, and half,
 * once and twice the load in use.
 *
 * ret      EVIDENCE_MAX_POINTS of them fit
 * returns  how many
 */
int procedure_ramp(int64_t concurrency, int64_t *ret);

#endif
