/*
 * The only file that knows oneDNN.
 *
 * A primitive with rows known only when it runs is several times slower, and making one takes
 * milliseconds: so there is one for each of a few row counts, made when the shape is opened, and m
 * is rounded up to the next. The layout of the weights is the one that the library wants for the
 * most rows; the others take it too.
 */
#include "engine/gemm_onednn.h"

#include "base/attr.h"

#include <assert.h>
#include <dlfcn.h>
#include <dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Multiples of 16 as soon as they can be: the height of a tile register of AMX. */
static const int row_counts[] = { 1, 2, 4, 8, 16, 32, 48, 64, 96, GEMM_ROWS_MAX };

enum {
	N_COUNTS = ARRAY_LEN(row_counts),
	ALIGN = 64,
	SLOTS = 512 /* shapes times row counts that a thread keeps memory objects of */
};

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t desc;
typedef const_dnnl_memory_desc_t desc_view;
#else
typedef dnnl_memory_desc_t desc;
typedef const dnnl_memory_desc_t *desc_view;
#endif

struct gemm_onednn {
	unsigned id; /* never used again */
	int n_in, n_out;
	dnnl_data_type_t x_type, w_type, acc_type;
	dnnl_primitive_desc_t descs[N_COUNTS];
	dnnl_primitive_t primitives[N_COUNTS];
	size_t scratch_bytes; /* of the one that wants most */
};

/* The library's objects that a thread puts its pointers into, made when it first meets a shape. */
struct slot {
	unsigned id;
	int i_count;
	dnnl_memory_t x, acc, scratch;
};

struct thread {
	dnnl_stream_t stream;
	void *scratch;
	size_t scratch_bytes;
	struct slot slots[SLOTS];
};

static dnnl_engine_t engine;
static pthread_key_t thread_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct thread *this_thread;

/* Out of memory, or a mistake of ours: neither can be told to a request. */
static void must(dnnl_status_t status)
{
	assert(status == dnnl_success);
}

static void release_slot(struct slot *s)
{
	if (s->x)
		dnnl_memory_destroy(s->x);
	if (s->acc)
		dnnl_memory_destroy(s->acc);
	if (s->scratch)
		dnnl_memory_destroy(s->scratch);
	*s = (struct slot){ 0 };
}

static void end_thread(void *arg)
{
	struct thread *t = arg;
	for (size_t i = 0; i < SLOTS; i++)
		release_slot(&t->slots[i]);
	dnnl_stream_destroy(t->stream);
	free(t->scratch);
	free(t);
}

static void start(void)
{
	if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
		engine = NULL;
	pthread_key_create(&thread_key, end_thread);
}

/*
 * Threads are the pool's business. The call is looked up and not linked because which OpenMP there
 * is, if any, depends on how the library was built.
 */
static void one_openmp_thread(void)
{
	void *set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
	void (*set_num_threads)(int);
	memcpy(&set_num_threads, &set, sizeof(set));
	if (set_num_threads)
		set_num_threads(1);
}

static struct thread *thread(void)
{
	if (this_thread)
		return this_thread;
	one_openmp_thread();
	struct thread *t = calloc(1, sizeof(*t));
	assert(t);
	must(dnnl_stream_create(&t->stream, engine, dnnl_stream_default_flags));
	pthread_setspecific(thread_key, t);
	return this_thread = t;
}

static void reserve_scratch(struct thread *t, size_t bytes)
{
	if (bytes <= t->scratch_bytes)
		return;
	free(t->scratch);
	t->scratch_bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	t->scratch = aligned_alloc(ALIGN, t->scratch_bytes);
	assert(t->scratch);
}

static desc_view query(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	return dnnl_primitive_desc_query_md(pd, what, 0);
}

static size_t desc_bytes(desc_view d)
{
	return d ? dnnl_memory_desc_get_size(d) : 0;
}

static bool make_attributes(dnnl_primitive_attr_t *ret_attr)
{
	return dnnl_primitive_attr_create(ret_attr) == dnnl_success &&
	       dnnl_primitive_attr_set_scratchpad_mode(*ret_attr, dnnl_scratchpad_mode_user) ==
	               dnnl_success;
}

/* weights: the layout that they have already; NULL: any. false: refused. */
#if DNNL_VERSION_MAJOR >= 3
static bool describe(const struct gemm_onednn *g, int rows, desc_view weights,
        dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *ret_desc)
{
	dnnl_dims_t x_dims = { rows, g->n_in }, w_dims = { g->n_in, g->n_out },
	            acc_dims = { rows, g->n_out };
	desc x = NULL, w = NULL, acc = NULL;
	bool ok = dnnl_memory_desc_create_with_tag(&x, 2, x_dims, g->x_type, dnnl_ab) ==
	                  dnnl_success &&
	          dnnl_memory_desc_create_with_tag(&w, 2, w_dims, g->w_type, dnnl_format_tag_any) ==
	                  dnnl_success &&
	          dnnl_memory_desc_create_with_tag(&acc, 2, acc_dims, g->acc_type, dnnl_ab) ==
	                  dnnl_success &&
	          dnnl_matmul_primitive_desc_create(ret_desc, engine, x, weights ? weights : w,
	                  NULL, acc, attr) == dnnl_success;
	dnnl_memory_desc_destroy(x);
	dnnl_memory_desc_destroy(w);
	dnnl_memory_desc_destroy(acc);
	return ok;
}

/* w [n_out, n_in] as the library sees it: its transpose. */
static dnnl_memory_t plain_weights(const struct gemm_onednn *g, void *w)
{
	dnnl_dims_t dims = { g->n_in, g->n_out };
	desc d;
	dnnl_memory_t memory;
	must(dnnl_memory_desc_create_with_tag(&d, 2, dims, g->w_type, dnnl_ba));
	must(dnnl_memory_create(&memory, d, engine, w));
	dnnl_memory_desc_destroy(d);
	return memory;
}
#else
static bool describe(const struct gemm_onednn *g, int rows, desc_view weights,
        dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *ret_desc)
{
	dnnl_dims_t x_dims = { rows, g->n_in }, w_dims = { g->n_in, g->n_out },
	            acc_dims = { rows, g->n_out };
	desc x, w, acc;
	dnnl_matmul_desc_t matmul;
	return dnnl_memory_desc_init_by_tag(&x, 2, x_dims, g->x_type, dnnl_ab) == dnnl_success &&
	       dnnl_memory_desc_init_by_tag(&w, 2, w_dims, g->w_type, dnnl_format_tag_any) ==
	               dnnl_success &&
	       dnnl_memory_desc_init_by_tag(&acc, 2, acc_dims, g->acc_type, dnnl_ab) ==
	               dnnl_success &&
	       dnnl_matmul_desc_init(&matmul, &x, weights ? weights : &w, NULL, &acc) ==
	               dnnl_success &&
	       dnnl_primitive_desc_create(ret_desc, &matmul, attr, engine, NULL) == dnnl_success;
}

/* w [n_out, n_in] as the library sees it: its transpose. */
static dnnl_memory_t plain_weights(const struct gemm_onednn *g, void *w)
{
	dnnl_dims_t dims = { g->n_in, g->n_out };
	desc d;
	dnnl_memory_t memory;
	must(dnnl_memory_desc_init_by_tag(&d, 2, dims, g->w_type, dnnl_ba));
	must(dnnl_memory_create(&memory, &d, engine, w));
	return memory;
}
#endif

/*
 * Only its "brgemm" code takes weights in a layout of its own choosing; all else that it has would
 * pack them again in each call.
 */
static bool is_fast(const_dnnl_primitive_desc_t pd)
{
	const char *name = "";
	return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
	       strncmp(name, "brg", 3) == 0;
}

static bool make_primitive(struct gemm_onednn *g, int i_count, dnnl_primitive_attr_t attr)
{
	desc_view weights = NULL;
	if (i_count < N_COUNTS - 1)
		weights = query(g->descs[N_COUNTS - 1], dnnl_query_weights_md);
	if (!describe(g, row_counts[i_count], weights, attr, &g->descs[i_count]) ||
	        !is_fast(g->descs[i_count]) ||
	        dnnl_primitive_create(&g->primitives[i_count], g->descs[i_count]) != dnnl_success)
		return false;
	size_t bytes = desc_bytes(query(g->descs[i_count], dnnl_query_scratchpad_md));
	g->scratch_bytes = bytes > g->scratch_bytes ? bytes : g->scratch_bytes;
	return true;
}

/*
 * Whether sums of products of bytes are exact: without VNNI they are taken in 16 bits first, which
 * are too few. And whether bfloat16 is the machine's own, else it costs more than float32.
 */
static bool has_instructions(enum dtype type)
{
	int isa = (int)dnnl_get_effective_cpu_isa();
	int need = type == DTYPE_S8     ? (int)dnnl_cpu_isa_avx512_core_vnni
	           : type == DTYPE_BF16 ? (int)dnnl_cpu_isa_avx512_core_bf16
	                                : (int)dnnl_cpu_isa_avx2;
	return (isa & need) == need;
}

bool gemm_onednn_has_tiles(enum dtype type)
{
	int isa = (int)dnnl_get_effective_cpu_isa(), amx = (int)dnnl_cpu_isa_avx512_core_amx;
	return type != DTYPE_F32 && (isa & amx) == amx;
}

static void set_types(struct gemm_onednn *g, enum dtype type)
{
	g->x_type = type == DTYPE_S8 ? dnnl_u8 : type == DTYPE_BF16 ? dnnl_bf16 : dnnl_f32;
	g->w_type = type == DTYPE_S8 ? dnnl_s8 : g->x_type;
	g->acc_type = type == DTYPE_S8 ? dnnl_s32 : dnnl_f32;
}

struct gemm_onednn *gemm_onednn_open(const struct gemm_spec *spec)
{
	static atomic_uint last_id;
	pthread_once(&once, start);
	if (!engine || !has_instructions(spec->type))
		return NULL;
	(void)thread(); /* the primitives are made for as many threads as there are when they are */
	struct gemm_onednn *g = calloc(1, sizeof(*g));
	dnnl_primitive_attr_t attr = NULL;
	if (!g || !make_attributes(&attr))
		goto failed;
	g->id = atomic_fetch_add(&last_id, 1) + 1;
	g->n_in = spec->n_in;
	g->n_out = spec->n_out;
	set_types(g, spec->type);
	for (int i = N_COUNTS - 1; i >= 0; i--)
		if (!make_primitive(g, i, attr))
			goto failed;
	dnnl_primitive_attr_destroy(attr);
	return g;
failed:
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	gemm_onednn_close(g);
	return NULL;
}

void gemm_onednn_close(struct gemm_onednn *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < N_COUNTS; i++) {
		if (g->primitives[i])
			dnnl_primitive_destroy(g->primitives[i]);
		if (g->descs[i])
			dnnl_primitive_desc_destroy(g->descs[i]);
	}
	free(g);
}

static desc_view packed_desc(const struct gemm_onednn *g)
{
	return query(g->descs[N_COUNTS - 1], dnnl_query_weights_md);
}

size_t gemm_onednn_packed_bytes(const struct gemm_onednn *g)
{
	return desc_bytes(packed_desc(g));
}

void *gemm_onednn_bind(const struct gemm_onednn *g, void *packed)
{
	dnnl_memory_t memory = NULL;
	if (dnnl_memory_create(&memory, packed_desc(g), engine, packed) != dnnl_success)
		return NULL;
	return memory;
}

void gemm_onednn_unbind(void *handle)
{
	if (handle)
		dnnl_memory_destroy(handle);
}

void gemm_onednn_pack(const struct gemm_onednn *g, const void *w, void *handle)
{
	struct thread *t = thread();
	dnnl_memory_t from = plain_weights(g, (void *)(uintptr_t)w);
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t reorder;
	desc_view plain, packed = packed_desc(g);
	must(dnnl_memory_get_memory_desc(from, &plain));
	must(dnnl_reorder_primitive_desc_create(&pd, plain, engine, packed, engine, NULL));
	must(dnnl_primitive_create(&reorder, pd));
	dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, handle } };
	must(dnnl_primitive_execute(reorder, t->stream, ARRAY_LEN(args), args));
	must(dnnl_stream_wait(t->stream));
	dnnl_primitive_destroy(reorder);
	dnnl_primitive_desc_destroy(pd);
	dnnl_memory_destroy(from);
}

static int count_of(int m)
{
	int i = 0;
	while (row_counts[i] < m)
		i++;
	return i;
}

static dnnl_memory_t empty_memory(desc_view d)
{
	dnnl_memory_t memory;
	must(dnnl_memory_create(&memory, d, engine, DNNL_MEMORY_NONE));
	return memory;
}

static struct slot *slot_of(struct thread *t, const struct gemm_onednn *g, int i_count)
{
	struct slot *s = &t->slots[(g->id * N_COUNTS + (unsigned)i_count) % SLOTS];
	if (s->id == g->id && s->i_count == i_count)
		return s;
	const_dnnl_primitive_desc_t pd = g->descs[i_count];
	release_slot(s);
	s->id = g->id;
	s->i_count = i_count;
	s->x = empty_memory(query(pd, dnnl_query_src_md));
	s->acc = empty_memory(query(pd, dnnl_query_dst_md));
	s->scratch = empty_memory(query(pd, dnnl_query_scratchpad_md));
	return s;
}

void gemm_onednn_run(const struct gemm_onednn *g, void *handle, const void *x, int m, void *acc)
{
	struct thread *t = thread();
	int i = count_of(m);
	struct slot *s = slot_of(t, g, i);
	reserve_scratch(t, g->scratch_bytes);
	must(dnnl_memory_set_data_handle(s->x, (void *)(uintptr_t)x));
	must(dnnl_memory_set_data_handle(s->acc, acc));
	must(dnnl_memory_set_data_handle(s->scratch, t->scratch));
	dnnl_exec_arg_t args[] = {
		{ DNNL_ARG_SRC, s->x },
		{ DNNL_ARG_WEIGHTS, handle },
		{ DNNL_ARG_DST, s->acc },
		{ DNNL_ARG_SCRATCHPAD, s->scratch },
	};
	must(dnnl_primitive_execute(g->primitives[i], t->stream, ARRAY_LEN(args), args));
}

void gemm_onednn_compile(const struct gemm_onednn *g, int m)
{
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t primitive;
	(void)thread();
	int capacity;
	must(dnnl_get_primitive_cache_capacity(&capacity));
	must(dnnl_set_primitive_cache_capacity(0)); /* or only the first would take its time */
	if (make_attributes(&attr) && describe(g, m, packed_desc(g), attr, &pd)) {
		if (dnnl_primitive_create(&primitive, pd) == dnnl_success)
			dnnl_primitive_destroy(primitive);
		dnnl_primitive_desc_destroy(pd);
	}
	dnnl_primitive_attr_destroy(attr);
	must(dnnl_set_primitive_cache_capacity(capacity));
}
