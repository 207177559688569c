#include "engine/gemm.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "engine/products.h"
#ifdef VENTURI_ONEDNN
#include "engine/gemm_onednn.h"
#endif

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct gemm {
	struct gemm_spec spec;
	const struct products *products; /* NULL: the library's */
	struct gemm_onednn *onednn;
	struct gemm *next;
	int n_users;
};

/* All that are open: layers of one shape find theirs here. */
static struct gemm *gemms;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same(const struct gemm_spec *a, const struct gemm_spec *b)
{
	return a->type == b->type && a->n_in == b->n_in && a->n_out == b->n_out &&
	       (a->isa == b->isa || (a->isa && b->isa && strcmp(a->isa, b->isa) == 0));
}

static const struct products *products_for(const char *isa)
{
	const struct products *named = isa ? products_named(isa) : NULL;
	return named ? named : products_best();
}

/* Of the plain ones nothing is known but that they are right. */
static bool wants_library(enum dtype type, const char *isa)
{
#ifdef VENTURI_ONEDNN
	if (isa)
		return strcmp(isa, "onednn") == 0;
	return gemm_onednn_has_tiles(type) || products_best() == products_named("plain");
#else
	(void)type, (void)isa;
	return false;
#endif
}

int gemm_block(enum dtype type, const char *isa)
{
	return wants_library(type, isa) ? 128 : 64;
}

static void choose(struct gemm *g)
{
#ifdef VENTURI_ONEDNN
	if (wants_library(g->spec.type, g->spec.isa) && (g->onednn = gemm_onednn_open(&g->spec)))
		return;
#endif
	g->products = products_for(g->spec.isa);
}

static struct gemm *find_or_make(const struct gemm_spec *spec)
{
	for (struct gemm *g = gemms; g; g = g->next)
		if (same(&g->spec, spec))
			return g;
	struct gemm *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->spec = *spec;
	choose(g);
	g->next = gemms;
	gemms = g;
	return g;
}

bool gemm_open(const struct gemm_spec *spec, struct gemm **ret_gemm, struct err *err)
{
	pthread_mutex_lock(&lock);
	struct gemm *g = find_or_make(spec);
	if (g)
		g->n_users++;
	pthread_mutex_unlock(&lock);
	if (!g)
		return err_set(err, ERR_SYSTEM, _("cannot reserve %zu bytes of memory: %s"),
		        sizeof(*g), strerror(ENOMEM));
	*ret_gemm = g;
	return true;
}

void gemm_close(struct gemm *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&lock);
	bool last = --g->n_users == 0;
	if (last) {
		struct gemm **at = &gemms;
		while (*at != g)
			at = &(*at)->next;
		*at = g->next;
	}
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
#ifdef VENTURI_ONEDNN
	gemm_onednn_close(g->onednn);
#endif
	free(g);
}

int gemm_ld_acc(const struct gemm *g)
{
	if (!g->products)
		return g->spec.n_out;
	int panel = g->products->panel;
	return (g->spec.n_out + panel - 1) / panel * panel;
}

size_t gemm_packed_bytes(const struct gemm *g)
{
#ifdef VENTURI_ONEDNN
	if (g->onednn)
		return gemm_onednn_packed_bytes(g->onednn);
#endif
	return products_packed_bytes(g->products, g->spec.type, g->spec.n_in, g->spec.n_out);
}

bool gemm_bind(
        const struct gemm *g, void *packed, struct gemm_weights *ret_weights, struct err *err)
{
	*ret_weights = (struct gemm_weights){ .packed = packed };
	(void)g, (void)err;
#ifdef VENTURI_ONEDNN
	if (g->onednn && !(ret_weights->handle = gemm_onednn_bind(g->onednn, packed)))
		return err_set(err, ERR_SYSTEM, _("cannot reserve %zu bytes of memory: %s"),
		        gemm_packed_bytes(g), strerror(ENOMEM));
#endif
	return true;
}

void gemm_unbind(struct gemm_weights *weights)
{
#ifdef VENTURI_ONEDNN
	gemm_onednn_unbind(weights->handle);
#endif
	*weights = (struct gemm_weights){ 0 };
}

void gemm_pack(const struct gemm *g, const void *w, const struct gemm_weights *weights)
{
#ifdef VENTURI_ONEDNN
	if (g->onednn) {
		gemm_onednn_pack(g->onednn, w, weights->handle);
		return;
	}
#endif
	products_pack(g->products, g->spec.type, g->spec.n_in, g->spec.n_out, w, weights->packed);
}

void gemm_run(
        const struct gemm *g, const struct gemm_weights *weights, const void *x, int m, void *acc)
{
	assert(m > 0 && m <= GEMM_ROWS_MAX);
#ifdef VENTURI_ONEDNN
	if (g->onednn) {
		gemm_onednn_run(g->onednn, weights->handle, x, m, acc);
		return;
	}
#endif
	g->products->run(g->spec.type, weights->packed, g->spec.n_in, g->spec.n_out, x,
	        g->spec.n_in, m, acc, gemm_ld_acc(g));
}

/*
 * Our own are compiled long before; packing weights again and again for as long as a library takes
 * for a primitive is what comes nearest.
 */
void gemm_compile(const struct gemm *g, const struct gemm_weights *weights, int m)
{
	(void)m;
#ifdef VENTURI_ONEDNN
	if (g->onednn) {
		gemm_onednn_compile(g->onednn, m);
		return;
	}
#endif
	size_t bytes = gemm_packed_bytes(g);
	void *scratch = malloc(bytes);
	if (!scratch)
		return;
	products_pack(
	        g->products, g->spec.type, g->spec.n_in, g->spec.n_out, weights->packed, scratch);
	free(scratch);
}
