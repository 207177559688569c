#include "trace/readers/nsys_words.h"

#include <string.h>

/* ENUM_CUDA_MEMCPY_OPER. An array is memory of the device. */
static const struct nsys_copy_word copy_words[] = {
	{ "unknown", "Unknown", COPY_OTHER },
	{ "HtoD", "Host-to-Device", COPY_HTOD },
	{ "DtoH", "Device-to-Host", COPY_DTOH },
	{ "HtoA", "Host-to-Array", COPY_HTOD },
	{ "AtoH", "Array-to-Host", COPY_DTOH },
	{ "AtoA", "Array-to-Array", COPY_DTOD },
	{ "AtoD", "Array-to-Device", COPY_DTOD },
	{ "DtoA", "Device-to-Array", COPY_DTOD },
	{ "DtoD", "Device-to-Device", COPY_DTOD },
	{ "HtoH", "Host-to-Host", COPY_HTOH },
	{ "PtoP", "Peer-to-Peer", COPY_PTOP },
	{ "UVM HtoD", "Unified Host-to-Device", COPY_HTOD },
	{ "UVM DtoH", "Unified Device-to-Host", COPY_DTOH },
	{ "UVM DtoD", "Unified Device-to-Device", COPY_DTOD },
};

/* ENUM_CUDA_MEM_KIND. */
static const struct nsys_memory_word memory_words[] = {
	{ "Pageable", MEMORY_PAGEABLE },
	{ "Pinned", MEMORY_PINNED },
	{ "Device", MEMORY_DEVICE },
	{ "Array", MEMORY_DEVICE },
	{ "Managed", MEMORY_MANAGED },
	{ "Device Static", MEMORY_DEVICE },
	{ "Managed Static", MEMORY_MANAGED },
	{ NULL, MEMORY_UNKNOWN },
};

enum { N_MEMORY_WORDS = ARRAY_LEN(memory_words) };

const struct nsys_copy_word *nsys_copy_word(int64_t kind)
{
	return &copy_words[kind > 0 && kind < (int64_t)ARRAY_LEN(copy_words) ? kind : 0];
}

const struct nsys_copy_word *nsys_copy_word_find(struct str word)
{
	for (size_t i = 0; i < ARRAY_LEN(copy_words); i++)
		if (str_eq(word, str_of(copy_words[i].name)) ||
		        str_eq(word, str_of(copy_words[i].label)))
			return &copy_words[i];
	return &copy_words[0];
}

const struct nsys_memory_word *nsys_memory_word(int64_t kind)
{
	return &memory_words[kind >= 0 && kind < N_MEMORY_WORDS ? kind : N_MEMORY_WORDS - 1];
}

const struct nsys_memory_word *nsys_memory_word_find(struct str word)
{
	int i = 0;
	while (memory_words[i].name && !str_eq(word, str_of(memory_words[i].name)))
		i++;
	return &memory_words[i];
}

static void set(struct timeline *t, struct event *e, struct copy_detail detail, const char *name)
{
	e->name = timeline_name(t, str_of(name));
	e->detail = timeline_detail(t, DETAIL_COPY, &detail);
}

void nsys_name_copy(struct timeline *t, struct event *e, const struct nsys_copy_word *word,
        const struct nsys_memory_word *from, const struct nsys_memory_word *to, int64_t bytes)
{
	char name[96];
	bool both = from->name && to->name;
	snprintf(name, sizeof name, both ? "Memcpy %s (%s -> %s)" : "Memcpy %s", word->name,
	        from->name, to->name);
	e->kind = DEVICE_MEMCPY;
	set(t, e,
	        (struct copy_detail){
	                .bytes = bytes,
	                .kind = word->kind,
	                .kind_name = timeline_name(t, str_of(word->name)),
	                .from = from->kind,
	                .to = to->kind,
	        },
	        name);
}

void nsys_name_memset(
        struct timeline *t, struct event *e, const struct nsys_memory_word *to, int64_t bytes)
{
	char name[64];
	snprintf(name, sizeof name, to->name ? "Memset (%s)" : "Memset", to->name);
	e->kind = DEVICE_MEMSET;
	set(t, e, (struct copy_detail){ .bytes = bytes, .kind = COPY_OTHER, .to = to->kind }, name);
}
