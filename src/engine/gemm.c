#include "engine/gemm.h"

#include "base/i18n.h"
#include "engine/products.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gemm {
	struct gemm_spec spec;
	const struct products *products;
};

static const struct products *products_for(const char *isa)
{
	const struct products *named = isa ? products_named(isa) : NULL;
	return named ? named : products_best();
}

bool gemm_open(const struct gemm_spec *spec, struct gemm **ret_gemm, struct err *err)
{
	struct gemm *g = calloc(1, sizeof(*g));
	if (!g)
		return err_set(err, ERR_SYSTEM, _("cannot reserve %zu bytes of memory: %s"),
		        sizeof(*g), strerror(ENOMEM));
	g->spec = *spec;
	g->products = products_for(spec->isa);
	*ret_gemm = g;
	return true;
}

void gemm_close(struct gemm *g)
{
	free(g);
}

size_t gemm_packed_bytes(const struct gemm *g)
{
	return products_packed_bytes(g->products, g->spec.type, g->spec.n_in, g->spec.n_out);
}

void gemm_pack(const struct gemm *g, const void *w, void *packed)
{
	products_pack(g->products, g->spec.type, g->spec.n_in, g->spec.n_out, w, packed);
}

int gemm_ld_acc(const struct gemm *g)
{
	int panel = g->products->panel;
	return (g->spec.n_out + panel - 1) / panel * panel;
}

void gemm_run(const struct gemm *g, const void *packed, const void *x, int m, void *acc)
{
	g->products->run(g->spec.type, packed, g->spec.n_in, g->spec.n_out, x, g->spec.n_in, m, acc,
	        gemm_ld_acc(g));
}
