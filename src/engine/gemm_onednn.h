/*
 * gemm_onednn.h - what gemm.c asks of oneDNN; the same meaning as in gemm.h.
 */
#ifndef VENTURI_ENGINE_GEMM_ONEDNN_H
#define VENTURI_ENGINE_GEMM_ONEDNN_H

#include "engine/gemm.h"

struct gemm_onednn;

/* Whether this machine has matrix registers for the type, and the library uses them. */
bool gemm_onednn_has_tiles(enum dtype type);

/* NULL: the library has no code for this type and shape that is worth its name on this machine. */
struct gemm_onednn *gemm_onednn_open(const struct gemm_spec *spec);
void gemm_onednn_close(struct gemm_onednn *g);
size_t gemm_onednn_packed_bytes(const struct gemm_onednn *g);
void *gemm_onednn_bind(const struct gemm_onednn *g, void *packed); /* NULL: no memory */
void gemm_onednn_unbind(void *handle);
void gemm_onednn_pack(const struct gemm_onednn *g, const void *w, void *handle);
void gemm_onednn_run(const struct gemm_onednn *g, void *handle, const void *x, int m, void *acc);
void gemm_onednn_compile(const struct gemm_onednn *g, int m);

#endif
