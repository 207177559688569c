#include "trace/readers/rocprof_names.h"

#include "text/json_scan.h"
#include "trace/readers/rocprof.h"
#include "trace/readers/rocprof_fields.h"

#include <stdlib.h>
#include <string.h>

enum {
	KERNEL_IDS_MAX = 1 << 24, /* larger ids have no name; they are given from 1 up */
	OPERATIONS_MAX = 4096,
};

struct rocprof_label {
	int64_t key;
	struct str text;
};

static void labels_add(struct rocprof_labels *l, int64_t key, struct str text)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->v = mem_realloc(l->v, l->cap * sizeof *l->v);
	}
	l->v[l->n++] = (struct rocprof_label){ key, text };
	l->sorted = false;
}

static int by_key(const void *a, const void *b)
{
	const struct rocprof_label *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

struct str rocprof_names_label(struct rocprof_labels *l, int64_t number)
{
	struct rocprof_label wanted = { .key = number };
	if (l->n == 0)
		return STR("");
	if (!l->sorted)
		qsort(l->v, l->n, sizeof *l->v, by_key);
	l->sorted = true;
	const struct rocprof_label *hit = bsearch(&wanted, l->v, l->n, sizeof *l->v, by_key);
	return hit ? hit->text : STR("");
}

struct str rocprof_names_text(struct rocprof_names *p, struct str raw)
{
	if (raw.len == 0 || !memchr(raw.s, '\\', raw.len))
		return raw;
	buf_clear(&p->tmp);
	if (json_unescape(raw, &p->tmp))
		return buf_str(&p->tmp);
	p->t->lost[LOST_BAD_ESCAPE]++;
	return raw;
}

static void read_metadata(struct rocprof_names *p, struct loose_json *j)
{
	struct str pid = { 0 };
	static const struct rocprof_field fields[] = { { STR_INIT("pid"), SHAPE_PLAIN, 0 } };
	rocprof_read_object(j, fields, ARRAY_LEN(fields), &pid);
	p->pid = pid;
}

struct agent_text {
	struct str handle, type, gpu, name, product, units, waves, wave, group, lds, memory;
};

static const struct rocprof_field agent_fields[] = {
	{ STR_INIT("id"), SHAPE_HANDLE, offsetof(struct agent_text, handle) },
	{ STR_INIT("type"), SHAPE_PLAIN, offsetof(struct agent_text, type) },
	{ STR_INIT("logical_node_type_id"), SHAPE_PLAIN, offsetof(struct agent_text, gpu) },
	{ STR_INIT("name"), SHAPE_PLAIN, offsetof(struct agent_text, name) },
	{ STR_INIT("product_name"), SHAPE_PLAIN, offsetof(struct agent_text, product) },
	{ STR_INIT("cu_count"), SHAPE_PLAIN, offsetof(struct agent_text, units) },
	{ STR_INIT("max_waves_per_cu"), SHAPE_PLAIN, offsetof(struct agent_text, waves) },
	{ STR_INIT("wave_front_size"), SHAPE_PLAIN, offsetof(struct agent_text, wave) },
	{ STR_INIT("workgroup_max_size"), SHAPE_PLAIN, offsetof(struct agent_text, group) },
	{ STR_INIT("lds_size_in_kb"), SHAPE_PLAIN, offsetof(struct agent_text, lds) },
	{ STR_INIT("mem_banks"), SHAPE_PLAIN, offsetof(struct agent_text, memory) },
};

/* A size that cannot be below 1; -1 otherwise. */
static int64_t size_of(struct str text, int64_t unit)
{
	int64_t value = rocprof_int(text), size;
	return value > 0 && !__builtin_mul_overflow(value, unit, &size) ? size : -1;
}

/* Bytes of all banks of memory; -1 when none is told. */
static int64_t memory_of(struct str banks)
{
	struct loose_json j = loose_json_of(banks);
	static const struct rocprof_field fields[] = { { STR_INIT("size_in_bytes"), SHAPE_PLAIN,
		0 } };
	int64_t sum = 0;
	if (!loose_json_enter(&j, '['))
		return -1;
	while (loose_json_element(&j)) {
		struct str size = { 0 };
		rocprof_read_object(&j, fields, ARRAY_LEN(fields), &size);
		int64_t bytes = size_of(size, 1);
		if (bytes > 0 && __builtin_add_overflow(sum, bytes, &sum))
			return -1;
	}
	return sum ? sum : -1;
}

static void add_gpu(struct rocprof_names *p, const struct agent_text *a, int64_t number)
{
	struct device_info *d = timeline_device(p->t, number);
	int64_t wave = size_of(a->wave, 1);
	d->name = timeline_name(p->t, rocprof_names_text(p, a->product.len ? a->product : a->name));
	d->n_sm = size_of(a->units, 1);
	d->warp_size = wave;
	d->max_threads_per_sm = wave > 0 ? size_of(a->waves, wave) : -1;
	d->max_threads_per_block = size_of(a->group, 1);
	d->shared_bytes_per_sm = size_of(a->lds, 1024);
	d->memory_bytes = memory_of(a->memory);
}

static void read_agents(struct rocprof_names *p, struct loose_json *j)
{
	enum { TYPE_GPU = 2 };
	int64_t n_gpus = 0;
	if (!loose_json_enter(j, '[')) {
		loose_json_value(j);
		return;
	}
	while (loose_json_element(j)) {
		struct agent_text text = { 0 };
		rocprof_read_object(j, agent_fields, ARRAY_LEN(agent_fields), &text);
		struct rocprof_agent agent = { rocprof_int(text.handle), TRACE_NONE };
		if (rocprof_int(text.type) == TYPE_GPU) {
			int64_t told = rocprof_int(text.gpu);
			agent.gpu = told == TRACE_NONE ? n_gpus : told;
			n_gpus++;
			add_gpu(p, &text, agent.gpu);
		}
		if (p->n_agents == p->cap_agents) {
			p->cap_agents = p->cap_agents ? p->cap_agents * 2 : 16;
			p->agents = mem_realloc(p->agents, p->cap_agents * sizeof *p->agents);
		}
		p->agents[p->n_agents++] = agent;
	}
}

int64_t rocprof_names_gpu(const struct rocprof_names *p, struct str handle)
{
	int64_t wanted = rocprof_int(handle);
	for (size_t i = 0; i < p->n_agents; i++)
		if (p->agents[i].handle == wanted)
			return p->agents[i].gpu;
	return wanted;
}

struct symbol_text {
	struct str id, formatted, mangled, vgpr, accum;
};

static const struct rocprof_field symbol_fields[] = {
	{ STR_INIT("kernel_id"), SHAPE_PLAIN, offsetof(struct symbol_text, id) },
	{ STR_INIT("formatted_kernel_name"), SHAPE_PLAIN, offsetof(struct symbol_text, formatted) },
	{ STR_INIT("kernel_name"), SHAPE_PLAIN, offsetof(struct symbol_text, mangled) },
	{ STR_INIT("arch_vgpr_count"), SHAPE_PLAIN, offsetof(struct symbol_text, vgpr) },
	{ STR_INIT("accum_vgpr_count"), SHAPE_PLAIN, offsetof(struct symbol_text, accum) },
};

static void add_symbol(struct rocprof_names *p, const struct symbol_text *text)
{
	int64_t id = rocprof_int(text->id), vgpr = size_of(text->vgpr, 1),
	        accum = size_of(text->accum, 1);
	if (id < 0 || id >= KERNEL_IDS_MAX)
		return;
	if ((size_t)id >= p->n_symbols) {
		size_t n = p->n_symbols ? p->n_symbols * 2 : 1024;
		while (n <= (size_t)id)
			n *= 2;
		p->symbols = mem_realloc(p->symbols, n * sizeof *p->symbols);
		memset(p->symbols + p->n_symbols, 0, (n - p->n_symbols) * sizeof *p->symbols);
		p->n_symbols = n;
	}
	p->symbols[id] = (struct rocprof_symbol){
		.name = text->formatted.len ? text->formatted : text->mangled,
		.registers = vgpr < 0 ? TRACE_NONE : vgpr + (accum > 0 ? accum : 0),
	};
}

static void read_symbols(struct rocprof_names *p, struct loose_json *j)
{
	p->complete = true;
	if (!loose_json_enter(j, '[')) {
		loose_json_value(j);
		return;
	}
	while (loose_json_element(j)) {
		struct symbol_text text = { 0 };
		rocprof_read_object(j, symbol_fields, ARRAY_LEN(symbol_fields), &text);
		add_symbol(p, &text);
	}
}

struct counter_text {
	struct str id, name;
};

static const struct rocprof_field counter_fields[] = {
	{ STR_INIT("id"), SHAPE_HANDLE, offsetof(struct counter_text, id) },
	{ STR_INIT("name"), SHAPE_PLAIN, offsetof(struct counter_text, name) },
};

static const struct rocprof_field message_fields[] = {
	{ STR_INIT("key"), SHAPE_PLAIN, offsetof(struct counter_text, id) },
	{ STR_INIT("value"), SHAPE_PLAIN, offsetof(struct counter_text, name) },
};

static void read_labels(
        struct loose_json *j, const struct rocprof_field fields[2], struct rocprof_labels *ret)
{
	if (!loose_json_enter(j, '[')) {
		loose_json_value(j);
		return;
	}
	while (loose_json_element(j)) {
		struct counter_text text = { 0 };
		rocprof_read_object(j, fields, 2, &text);
		labels_add(ret, rocprof_int(text.id), text.name);
	}
}

static void read_counters(struct rocprof_names *p, struct loose_json *j)
{
	read_labels(j, counter_fields, &p->counters);
}

struct operations_text {
	struct str kind, operations;
};

static const struct rocprof_field operations_fields[] = {
	{ STR_INIT("kind"), SHAPE_PLAIN, offsetof(struct operations_text, kind) },
	{ STR_INIT("operations"), SHAPE_PLAIN, offsetof(struct operations_text, operations) },
};

static void read_operations(struct rocprof_names *p, struct rocprof_kind *ret, struct str list)
{
	struct loose_json j = loose_json_of(list);
	size_t cap = 0;
	if (!loose_json_enter(&j, '['))
		return;
	while (loose_json_element(&j)) {
		struct str name = loose_json_value(&j);
		if (ret->n == OPERATIONS_MAX)
			return;
		if (ret->n == cap) {
			struct str *old = ret->operations;
			cap = cap ? cap * 2 : 16;
			ret->operations = arena_new_n(&p->arena, struct str, cap);
			if (ret->n)
				memcpy(ret->operations, old, ret->n * sizeof *old);
		}
		ret->operations[ret->n++] = name;
	}
}

/* [{"kind": "NONE", "operations": []}, ...]: the place in the list is the number of the kind. */
static void read_kinds(struct rocprof_names *p, struct loose_json *j)
{
	if (!loose_json_enter(j, '[')) {
		loose_json_value(j);
		return;
	}
	for (size_t i = 0; loose_json_element(j); i++) {
		struct operations_text text = { 0 };
		rocprof_read_object(j, operations_fields, ARRAY_LEN(operations_fields), &text);
		if (i >= ROCPROF_KINDS_MAX)
			continue;
		p->kinds[i] = (struct rocprof_kind){ .name = text.kind };
		read_operations(p, &p->kinds[i], text.operations);
	}
}

static void read_strings(struct rocprof_names *p, struct loose_json *j)
{
	struct str key;
	if (!loose_json_enter(j, '{')) {
		loose_json_value(j);
		return;
	}
	while (loose_json_key(j, &key)) {
		if (str_eq(key, STR("buffer_records")))
			read_kinds(p, j);
		else if (str_eq(key, STR("marker_api")))
			read_labels(j, message_fields, &p->messages);
		else
			loose_json_value(j);
	}
}

static const struct {
	struct str key;
	void (*read)(struct rocprof_names *p, struct loose_json *j);
} members[] = {
	{ STR_INIT("metadata"), read_metadata },
	{ STR_INIT("agents"), read_agents },
	{ STR_INIT("counters"), read_counters },
	{ STR_INIT("strings"), read_strings },
	{ STR_INIT("kernel_symbols"), read_symbols },
};

bool rocprof_names_read(struct rocprof_names *p, struct str key, struct loose_json *j)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (!str_eq(members[i].key, key))
			continue;
		members[i].read(p, j);
		return true;
	}
	return false;
}

const struct rocprof_symbol *rocprof_names_symbol(const struct rocprof_names *p, int64_t id)
{
	bool listed = id >= 0 && (uint64_t)id < p->n_symbols && p->symbols[id].name.len;
	return listed ? &p->symbols[id] : NULL;
}

const struct rocprof_kind *rocprof_names_kind(const struct rocprof_names *p, int64_t kind)
{
	bool listed = kind >= 0 && kind < ROCPROF_KINDS_MAX && p->kinds[kind].name.len;
	return listed ? &p->kinds[kind] : NULL;
}

void rocprof_names_release(struct rocprof_names *p)
{
	free(p->symbols);
	free(p->agents);
	free(p->messages.v);
	free(p->counters.v);
	buf_release(&p->tmp);
	arena_release(&p->arena);
	*p = (struct rocprof_names){ 0 };
}
