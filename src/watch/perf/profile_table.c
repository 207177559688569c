#include "watch/perf/profile_table.h"

#include "watch/perf/profile_code.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 32768 };
#define PATIENCE_NS (2 * NS_PER_S)

struct spot {
	uint64_t address; /* 0: the slot is free */
	struct code_place where;
	int64_t n;
	uint16_t process, module;
};

struct process {
	int pid, watched;
	struct profile_maps maps;
	bool maps_are_new; /* read since the rings were read */
	int64_t n, n_without_place;
};

struct profile_table {
	struct spot *slots; /* [N_SLOTS], open addressing */
	size_t n_spots;
	struct process *processes; /* [PROFILE_PROCESSES_MAX] */
	size_t n_processes;
	struct code *code;
	bool thorough;
	int64_t reported_ns;
};

struct profile_table *profile_table_new(void)
{
	struct profile_table *t = mem_zeroed(1, sizeof(*t));
	t->slots = mem_zeroed(N_SLOTS, sizeof(*t->slots));
	t->processes = mem_zeroed(PROFILE_PROCESSES_MAX, sizeof(*t->processes));
	t->code = code_new();
	return t;
}

void profile_table_free(struct profile_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_processes; i++)
		profile_maps_release(&t->processes[i].maps);
	code_free(t->code);
	free(t->processes);
	free(t->slots);
	free(t);
}

int profile_table_process(struct profile_table *t, int pid, int watched)
{
	for (size_t i = t->n_processes; i-- > 0;)
		if (t->processes[i].pid == pid)
			return (int)i;
	if (t->n_processes == PROFILE_PROCESSES_MAX)
		return -1;
	struct process *p = &t->processes[t->n_processes];
	*p = (struct process){ .pid = pid, .watched = watched };
	/* Before its first sample: it may have ended when that is read. */
	p->maps_are_new = profile_maps_read(&p->maps, pid);
	return (int)t->n_processes++;
}

int profile_table_pid(const struct profile_table *t, int process)
{
	return t->processes[process].pid;
}

int profile_table_watched(const struct profile_table *t, int process)
{
	return t->processes[process].watched;
}

/* splitmix64's last steps, by Steele, Lea and Flood 2014. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static struct spot *slot_of(const struct profile_table *t, int process, uint64_t address)
{
	uint64_t i = mix(address + ((uint64_t)process << 48));
	for (;; i++) {
		struct spot *s = &t->slots[i % N_SLOTS];
		if (s->address == 0 || (s->address == address && s->process == process))
			return s;
	}
}

static void set_place(struct profile_table *t, struct spot *s, bool in_kernel)
{
	struct process *p = &t->processes[s->process];
	s->where.place = s->address;
	if (in_kernel) {
		s->module = (uint16_t)code_kernel(t->code);
		return;
	}
	const struct profile_map *map = profile_maps_find(&p->maps, s->address);
	if (!map && !p->maps_are_new) {
		p->maps_are_new = true;
		if (profile_maps_read(&p->maps, p->pid))
			map = profile_maps_find(&p->maps, s->address);
	}
	if (map)
		s->module = (uint16_t)code_module(
		        t->code, p->pid, &p->maps, map, s->address, &s->where.place);
}

void profile_table_count(struct profile_table *t, int process, uint64_t address, bool in_kernel)
{
	struct process *p = &t->processes[process];
	struct spot *s = slot_of(t, process, address);
	p->n++;
	if (s->address == 0) {
		if (t->n_spots == PROFILE_SPOTS_MAX || address == 0) {
			p->n_without_place++;
			return;
		}
		t->n_spots++;
		*s = (struct spot){ .address = address, .process = (uint16_t)process };
		set_place(t, s, in_kernel);
	}
	s->n++;
}

void profile_table_drained(struct profile_table *t)
{
	for (size_t i = 0; i < t->n_processes; i++)
		t->processes[i].maps_are_new = false;
}

void profile_table_begin(struct profile_table *t)
{
	for (size_t i = 0; i < N_SLOTS; i++)
		t->slots[i].n = 0;
	for (size_t i = 0; i < t->n_processes; i++)
		t->processes[i].n = t->processes[i].n_without_place = 0;
}

void profile_table_thorough(struct profile_table *t)
{
	t->thorough = true;
}

static int64_t n_nameless(struct spot *const *spots, size_t n)
{
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += spots[i]->where.asked ? 0 : spots[i]->n;
	return sum;
}

static void name_module(struct profile_table *t, struct spot **spots, size_t n)
{
	struct code_place **places = mem_zeroed(n + 1, sizeof(struct code_place *));
	for (size_t i = 0; i < n; i++)
		places[i] = &spots[i]->where;
	code_name(t->code, spots[0]->module, places, n);
	free(places);
}

static int by_module(const void *a, const void *b)
{
	const struct spot *x = *(struct spot *const *)a, *y = *(struct spot *const *)b;
	return (x->module > y->module) - (x->module < y->module);
}

/* How many at the start are of one module. */
static size_t of_one_module(struct spot *const *spots, size_t n)
{
	size_t i = 0;
	while (i < n && spots[i]->module == spots[0]->module)
		i++;
	return i;
}

/* Of all modules, or only of that which has most of the samples that nobody has asked about. */
static void name_all(struct profile_table *t, struct spot **spots, size_t n, bool all)
{
	size_t most_at = 0, most_n = 0;
	int64_t most = 0;
	qsort(spots, n, sizeof(*spots), by_module);
	for (size_t i = 0, part; i < n; i += part) {
		part = of_one_module(spots + i, n - i);
		if (all)
			name_module(t, spots + i, part);
		int64_t nameless = n_nameless(spots + i, part);
		if (nameless > most) {
			most = nameless;
			most_at = i;
			most_n = part;
		}
	}
	if (most > 0)
		name_module(t, spots + most_at, most_n);
}

static int by_symbol(const void *a, const void *b)
{
	const struct spot *x = *(struct spot *const *)a, *y = *(struct spot *const *)b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return strcmp(x->where.name ? x->where.name : "", y->where.name ? y->where.name : "");
}

static int by_count(const void *a, const void *b)
{
	const struct signal_symbol *x = a, *y = b;
	return (x->n < y->n) - (x->n > y->n);
}

static struct signal_symbol symbol_of(
        const struct profile_table *t, const struct spot *s, struct arena *run)
{
	const struct code_module *m = &t->code->modules[s->module];
	return (struct signal_symbol){
		.pid = t->processes[s->process].pid,
		.symbol = arena_strdup(run, s->where.name ? s->where.name : "[unknown]"),
		.module = arena_strdup(run, m->name),
		.build_id = m->build_id[0] ? arena_strdup(run, m->build_id) : NULL,
	};
}

static size_t add_symbols(const struct profile_table *t, struct spot **spots, size_t n,
        struct arena *run, struct signal_symbol *symbols)
{
	size_t n_symbols = 0;
	qsort(spots, n, sizeof(*spots), by_symbol);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || by_symbol(&spots[i - 1], &spots[i]) != 0)
			symbols[n_symbols++] = symbol_of(t, spots[i], run);
		symbols[n_symbols - 1].n += spots[i]->n;
	}
	for (size_t i = 0; i < t->n_processes; i++)
		if (t->processes[i].n_without_place > 0)
			symbols[n_symbols++] = (struct signal_symbol){
				.pid = t->processes[i].pid,
				.symbol = "[unknown]",
				.module = "[unknown]",
				.n = t->processes[i].n_without_place,
			};
	return n_symbols;
}

static void set_ratios(const struct profile_table *t, struct signal_symbol *symbols, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < t->n_processes; j++)
			if (t->processes[j].pid == symbols[i].pid)
				symbols[i].ratio = (double)symbols[i].n / (double)t->processes[j].n;
}

void profile_table_report(struct profile_table *t, struct arena *run, struct signal_system *to)
{
	int64_t now_ns = clock_now_ns();
	struct arena tmp = { 0 };
	struct spot **spots = arena_new_n(&tmp, struct spot *, t->n_spots + 1);
	size_t n = 0;
	for (size_t i = 0; i < N_SLOTS; i++)
		if (t->slots[i].n > 0)
			spots[n++] = &t->slots[i];
	name_all(t, spots, n, t->thorough || now_ns - t->reported_ns > PATIENCE_NS);
	t->thorough = false;
	t->reported_ns = now_ns;
	struct signal_symbol *symbols =
	        arena_new_n(&tmp, struct signal_symbol, n + t->n_processes + 1);
	size_t n_symbols = add_symbols(t, spots, n, run, symbols);
	qsort(symbols, n_symbols, sizeof(*symbols), by_count);
	n_symbols = n_symbols < PROFILE_SYMBOLS_MAX ? n_symbols : PROFILE_SYMBOLS_MAX;
	set_ratios(t, symbols, n_symbols);
	to->symbols = arena_new_n(run, struct signal_symbol, n_symbols + 1);
	memcpy(to->symbols, symbols, n_symbols * sizeof(*symbols));
	to->n_symbols = n_symbols;
	arena_release(&tmp);
}
